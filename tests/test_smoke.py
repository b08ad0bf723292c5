"""The whole stack in a second: a kernel goes in, a race with both lines comes out."""

from __future__ import annotations

import numpy as np
import racedart

KERNEL = """
__global__ void mirror(const int* in, int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  SYNC
  out[threadIdx.x] = tile[63 - threadIdx.x];
}
"""


def test_racy() -> None:
    values, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    run = racedart.check(racedart.cuda_kernel(KERNEL, "mirror", defines=["SYNC="]), 1, 64, values, out)
    assert run.verdict == "findings"
    (finding,) = run.findings
    assert (finding.rule, finding.level) == ("R102", "error")
    assert {finding.location.line, finding.related[0].line} == {4, 6}
    assert finding.properties["variable"] == "tile"
    assert "__syncthreads()" in str(finding.fix)


def test_repaired() -> None:
    values, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    run = racedart.check(
        racedart.cuda_kernel(KERNEL, "mirror", defines=["SYNC=__syncthreads();"]), 1, 64, values, out
    )
    assert run.verdict == "clean"
    assert out.tolist() == values[::-1].tolist()
