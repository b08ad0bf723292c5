"""The GPU engine against the CPU engine, brute force and NumPy, on a real GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_kernels import assert_same, check_ptx, line_pairs, module
from racedart.finding.model import Finding
from racedart.shadow.check import check_launch
from racedart.shadow.gpu.driver import missing
from racedart.shadow.outcome import Options
from test_cases_race import CASES, ORDERED_BY_FENCES, run_case
from test_cpu_random_kernels import ELEMENTS, Step, brute_force, evaluated, kernel, launches, steps
from test_samples import Expectation, expectations, name

ROOT = Path(__file__).parent.parent
REASON = missing()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(bool(REASON), reason=f"no GPU: {REASON}")]
GPU = Options(engine="gpu", timeout=60)


def keys(findings: tuple[Finding, ...]) -> set[tuple[object, ...]]:
    """What both engines must agree in."""
    return {
        (f.rule, f.level, f.properties.get("variable"), *sorted((p.file, p.line) for p in (f.location, *f.related)))
        for f in findings
    }


def ends_on_a_gpu(expectation: Expectation) -> bool:
    """Whether no thread waits for one that never comes: the CPU engine names it, a GPU hangs."""
    return not any(str(rule).startswith("R2") for rule, *_ in expectation.findings)


def depends_on_the_order(expectation: Expectation) -> bool:
    """Whether the order of threads decides where values are stored."""
    return "work_list" in expectation.command


@pytest.mark.parametrize("expectation", [e for e in expectations() if ends_on_a_gpu(e)], ids=name)
def test_samples_as_on_the_cpu(expectation: Expectation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    here, there = expectation.launch(), expectation.launch()
    expected = check_launch(here, Options())
    outcome = check_launch(there, GPU)
    if depends_on_the_order(expectation):
        # Updates that are lost on the GPU alone make later accesses race as well.
        assert keys(outcome.findings) >= keys(expected.findings)
    else:
        assert keys(outcome.findings) == keys(expected.findings)
    assert [r.kind for r in outcome.reasons] == [r.kind for r in expected.reasons]
    if not expected.findings:
        for ours, theirs in zip(here.buffers, there.buffers, strict=True):
            if depends_on_the_order(expectation):
                np.testing.assert_array_equal(np.sort(ours.array), np.sort(theirs.array))
            else:
                assert_same(ours.array, theirs.array)


@pytest.mark.parametrize("variant", ["racy", "fixed"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_cases_as_on_the_cpu(case: dict[str, Any], variant: str) -> None:
    expected, run = run_case(case, variant), run_case(case, variant, engine="gpu")
    assert keys(run.findings) == keys(expected.findings)
    assert run.verdict == expected.verdict
    if case["id"] == ORDERED_BY_FENCES and variant == "fixed":
        assert [r.kind for r in run.reasons] == ["fence"]


@settings(max_examples=300, deadline=None)
@given(st.lists(steps, min_size=1, max_size=8), launches)
def test_random_kernels_against_brute_force(program: list[Step], shape: tuple[int, int]) -> None:
    ptx, places = kernel(program)
    memory = np.zeros(ELEMENTS, np.uint32)
    blocks, threads = shape
    outcome = check_ptx(ptx, memory, grid=(blocks, 1, 1), block=(threads, 1, 1), options=GPU)
    assert not outcome.reasons
    expected = brute_force(program, places, blocks, threads)
    assert {(a, b) for _, a, b in line_pairs(outcome)} == expected
    if not expected:
        assert memory.tolist() == evaluated(program, blocks, threads)


def test_an_access_out_of_bounds_is_named_and_not_made() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3+4];
    add.u32 %r2, %r2, 7;
    st.global.u32 [%rd3], %r2;
    ld.global.u32 %r4, [%rd1+1048576];
    ret;
    """
    memory = np.arange(4, dtype=np.uint32)
    outcome = check_ptx(module(text, ["u64"]), memory, block=(1, 1, 1), options=GPU)
    assert [(f.rule, f.location.line) for f in outcome.findings] == [("R301", 8)]
    assert memory.tolist() == [8, 1, 2, 3]


def test_wild_and_misaligned_addresses_do_not_end_the_process() -> None:
    text = """
    mov.u64 %rd1, 4096;
    st.u32 [%rd1], 1;
    ld.param.u64 %rd2, [p0];
    st.global.u32 [%rd2+2], 1;
    mov.u64 %rd3, -8;
    ld.global.u64 %rd4, [%rd3];
    ret;
    """
    outcome = check_ptx(module(text, ["u64"]), np.zeros(4, np.uint32), options=GPU)
    assert {(f.rule, f.location.line) for f in outcome.findings} == {("R301", 2), ("R301", 4), ("R301", 6)}


def test_a_trap_ends_the_thread_and_is_named() -> None:
    outcome = check_ptx(module("trap;\nret;"), options=GPU)
    assert [r.kind for r in outcome.reasons] == ["trap"]


def test_threads_that_left_before_a_barrier_raise_no_false_alarm() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %p1, %r1, 40;
    @%p1 ret;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    bar.sync 0;
    xor.b32 %r2, %r1, 33;
    rem.u32 %r2, %r2, 40;
    mul.wide.u32 %rd4, %r2, 4;
    add.u64 %rd5, %rd1, %rd4;
    ld.global.u32 %r3, [%rd5];
    ret;
    """
    outcome = check_ptx(module(text, ["u64"]), np.zeros(64, np.uint32), block=(64, 1, 1), options=GPU)
    assert not outcome.findings
    assert not outcome.reasons


def test_shared_memory_of_every_block_is_checked() -> None:
    text = """
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %r1, 39999;
    @%p1 ret;
    mov.u64 %rd1, tile;
    mov.u32 %r2, %tid.x;
    st.shared.u32 [%rd1], %r2;
    ret;
    """
    ptx = module(text, [], ".shared .align 4 .b8 tile[32];")
    outcome = check_ptx(ptx, grid=(40000, 1, 1), block=(2, 1, 1), options=GPU)
    assert line_pairs(outcome) == {("R101", 6, 6)}


def test_a_kernel_without_end_is_given_up() -> None:
    """In a process of its own: a kernel that is given up goes on running."""
    import subprocess
    import sys

    program = """
import numpy as np
from ptx_kernels import check_ptx, module
from racedart.shadow.outcome import Options
loop = module("$again:\\nbra $again;")
outcome = check_ptx(loop, options=Options(engine="gpu", timeout=1))
print([r.kind for r in outcome.reasons], flush=True)
outcome = check_ptx(module("ret;"), options=Options(engine="gpu", timeout=1))
print([r.kind for r in outcome.reasons], flush=True)
"""
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=60
    )
    assert result.stdout.splitlines() == ["['timeout']", "['launch']"]
