"""Blocks over several workers: the same findings and results as one worker gives, whatever the kernel does."""

from __future__ import annotations

import _thread
import threading
from typing import Any

import numpy as np
import pytest
from ptx_kernels import assert_clean, check_ptx, module
from racedart.shadow.cpu.program import load_program
from racedart.shadow.outcome import Options, Outcome

BLOCKS, THREADS = 96, 64

INDEX = """
ld.param.u64 %rd1, [p0];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ntid.x;
mad.lo.u32 %r4, %r1, %r3, %r2;
mul.wide.u32 %rd2, %r4, 4;
add.u64 %rd3, %rd1, %rd2;
"""
SHARED = ".shared .align 4 .b8 tile[256];\n"

KERNELS = {
    "own element": "st.global.u32 [%rd3], %r4;\nret;",
    "neighbouring block": """
        st.global.u32 [%rd3], %r4;
        setp.ne.u32 %p1, %r1, 70;
        @%p1 ret;
        ld.global.u32 %r5, [%rd3+256];
        st.global.u32 [%rd3], %r5;
        ret;""",
    "one word for all": "st.global.u32 [%rd1], %r4;\nret;",
    "only the last block races": """
        setp.lt.u32 %p1, %r1, 95;
        @%p1 ret;
        st.global.u32 [%rd1], %r2;
        ret;""",
    "out of bounds in one block": """
        setp.ne.u32 %p1, %r1, 50;
        @%p1 bra $end;
        ld.global.u32 %r5, [%rd3+40000];
        st.global.u32 [%rd3], %r5;
        $end:
        ret;""",
    "shared race in every block": """
        st.shared.u32 [tile], %r2;
        ld.shared.u32 %r5, [tile];
        st.global.u32 [%rd3], %r5;
        ret;""",
    "counter": "red.global.add.u32 [%rd1], 1;\nret;",
    "counter read without order": """
        red.global.add.u32 [%rd1], 1;
        ld.global.u32 %r5, [%rd1];
        st.global.u32 [%rd3+256], %r5;
        ret;""",
    "tickets": """
        atom.global.add.u32 %r5, [%rd1], 1;
        mul.wide.u32 %rd4, %r5, 4;
        add.u64 %rd5, %rd1, %rd4;
        st.global.u32 [%rd5+256], %r5;
        ret;""",
    "lock in shared memory": """
        setp.eq.u32 %p1, %r2, 0;
        @%p1 st.shared.u32 [tile], 0;
        bar.sync 0;
        $try:
        atom.shared.cas.b32 %r5, [tile], 0, 1;
        setp.ne.u32 %p2, %r5, 0;
        @%p2 bra $try;
        atom.shared.exch.b32 %r6, [tile], 0;
        st.global.u32 [%rd3], %r6;
        ret;""",
    "plain wait for another block": """
        setp.eq.u32 %p1, %r1, 95;
        @%p1 bra $set;
        setp.ne.u32 %p3, %r2, 0;
        @%p3 ret;
        $spin:
        ld.global.u32 %r5, [%rd1];
        setp.eq.u32 %p2, %r5, 0;
        @%p2 bra $spin;
        ret;
        $set:
        st.global.u32 [%rd1], 1;
        ret;""",
    "wait that nothing ends": """
        $spin:
        ld.global.u32 %r5, [%rd1];
        setp.eq.u32 %p2, %r5, 0;
        @%p2 bra $spin;
        ret;""",
    "no translation": "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];\nret;",
    "trap in one block": "setp.eq.u32 %p1, %r4, 5000;\n@%p1 trap;\nst.global.u32 [%rd3], %r4;\nret;",
    "partial warp synchronisation": """
        setp.ge.u32 %p1, %r2, 16;
        @%p1 bra $end;
        bar.warp.sync 0xffff;
        $end:
        st.global.u32 [%rd3], %r4;
        ret;""",
}


def check(text: str, jobs: int, **options: Any) -> tuple[Outcome, np.ndarray[Any, Any]]:
    memory = np.zeros(BLOCKS * THREADS + 128, np.uint32)
    outcome = check_ptx(
        module(INDEX + text, ["u64"], SHARED),
        memory,
        grid=(BLOCKS, 1, 1),
        block=(THREADS, 1, 1),
        options=Options(jobs=jobs, **options),
    )
    return outcome, memory


@pytest.mark.parametrize(("name", "seed"), [(name, k % 2) for k, name in enumerate(KERNELS)])
def test_findings_and_memory_do_not_depend_on_the_workers(name: str, seed: int) -> None:
    alone, left = check(KERNELS[name], 1, seed=seed)
    outcome, memory = check(KERNELS[name], 3, seed=seed)
    assert outcome == alone
    np.testing.assert_array_equal(memory, left)


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("own element", []),
        ("neighbouring block", ["R102"]),
        ("one word for all", ["R101"]),
        ("only the last block races", ["R101"]),
        ("out of bounds in one block", ["R301"]),
        ("counter read without order", ["R103"]),
        ("wait that nothing ends", ["R203"]),
    ],
)
def test_what_is_found(name: str, rules: list[str]) -> None:
    assert sorted({finding.rule for finding in check(KERNELS[name], 3)[0].findings}) == rules


@pytest.mark.parametrize(
    ("text", "independent"),
    [
        ("st.global.u32 [%rd1], 1;", True),
        ("ld.volatile.global.u32 %r5, [%rd1];\nst.global.u32 [%rd3], %r5;", True),
        ("st.relaxed.gpu.global.u32 [%rd1], 1;", True),
        ("atom.global.add.u32 %r5, [%rd1], 1;", True),
        ("atom.global.add.u32 %r5, [%rd1], 1;\nst.global.u32 [%rd3], %r5;", False),
        ("atom.add.u32 %r5, [%rd1], 1;\nst.global.u32 [%rd3], %r5;", False),
        ("atom.shared.add.u32 %r5, [tile], 1;\nst.global.u32 [%rd3], %r5;", True),
        ("ld.relaxed.gpu.global.u32 %r5, [%rd1];", False),
        ("ld.acquire.gpu.u32 %r5, [%rd1];", False),
        ("ld.relaxed.cta.shared.u32 %r5, [tile];", True),
    ],
)
def test_blocks_that_can_observe_each_other_run_on_one_worker(text: str, independent: bool) -> None:
    assert load_program(module(INDEX + text + "\nret;", ["u64"], SHARED), "k", "exact").independent == independent


def test_no_proof_without_alarms_in_the_published_mode() -> None:
    assert not load_program(module(INDEX + "ret;", ["u64"], SHARED), "k", "hirace").independent


@pytest.mark.parametrize(
    ("operation", "start", "expected"),
    [
        ("red.global.add.u32 [%rd1], 3;", 0, 3 * BLOCKS * THREADS),
        ("red.global.max.u32 [%rd1], %r4;", 0, BLOCKS * THREADS - 1),
        ("red.global.min.u32 [%rd1], %r4;", 77, 0),
        ("red.global.inc.u32 [%rd1], 9;", 0, BLOCKS * THREADS % 10),
        ("red.global.xor.b32 [%rd1], %r4;", 0, int(np.bitwise_xor.reduce(np.arange(BLOCKS * THREADS)))),
    ],
)
def test_atomics_of_many_workers_lose_nothing(operation: str, start: int, expected: int) -> None:
    memory = np.full(1, start, np.uint32)
    outcome = check_ptx(
        module(INDEX + operation + "\nret;", ["u64"]),
        memory,
        grid=(BLOCKS, 1, 1),
        block=(THREADS, 1, 1),
        options=Options(jobs=4),
    )
    assert_clean(outcome)
    assert memory[0] == expected


ENDLESS = "$loop:\nadd.u32 %r5, %r5, 1;\nbra $loop;"


def test_the_time_limit_stops_all_workers() -> None:
    outcome, _ = check(ENDLESS, 3, timeout=0.3)
    assert [reason.kind for reason in outcome.reasons] == ["timeout"]


def test_an_interrupt_stops_all_workers() -> None:
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        check(ENDLESS, 3)
    timer.join()


def test_progress_counts_blocks() -> None:
    seen: list[tuple[int, int]] = []
    check(KERNELS["own element"], 2, progress=lambda done, blocks: seen.append((done, blocks)))
    assert seen
    assert seen[-1] == (BLOCKS, BLOCKS)
