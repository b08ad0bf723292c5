"""The CPU engine against a GPU: clean kernels leave the same bytes in memory.

With RACEDART_COMPARE_WITH_GPU=1 all other tests that check PTX kernels compare as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ptx_kernels import assert_same, run_on_gpu
from racedart.shadow.check import check_launch
from racedart.shadow.outcome import Options
from test_samples import Expectation, expectations, name

ROOT = Path(__file__).parent.parent


def gpu_is_missing() -> str:
    """Why there is no GPU to compare with, "" if there is one."""
    try:
        import cupy

        return "" if cupy.cuda.runtime.getDeviceCount() else "no GPU"
    except Exception as error:  # without a driver CuPy fails in several ways
        return f"no GPU: {type(error).__name__}"


pytestmark = [pytest.mark.gpu, pytest.mark.skipif(bool(gpu_is_missing()), reason=gpu_is_missing() or "GPU")]


@pytest.mark.parametrize("expectation", [e for e in expectations() if not e.findings], ids=name)
def test_repaired_samples(expectation: Expectation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    launch = expectation.launch()
    before = [buffer.array.copy() for buffer in launch.buffers]
    outcome = check_launch(launch, Options())
    assert not outcome.findings
    for buffer, on_gpu in zip(launch.buffers, run_on_gpu(launch, before), strict=True):
        assert_same(buffer.array, on_gpu)
