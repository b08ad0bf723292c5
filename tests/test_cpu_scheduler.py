"""Meetings of threads on the CPU engine: barriers, warp operations, spins, and what goes wrong there."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_kernels import assert_clean, check_ptx, line_pairs, module, rules
from racedart.shadow.outcome import Options, Outcome

STORE_RESULT = """
ld.param.u64 %rd1, [p0];
mov.u32 %r20, %tid.x;
mad.wide.u32 %rd2, %r20, 4, %rd1;
st.global.u32 [%rd2], %r9;
ret;
"""


def warp_result(text: str, threads: int = 32) -> list[int]:
    """The word %r9 of each thread after `text`."""
    out = np.zeros(threads, np.uint32)
    outcome = check_ptx(module(text + STORE_RESULT, ["u64"]), out, block=(threads, 1, 1))
    assert not outcome.findings
    assert not outcome.reasons
    return [int(x) for x in out]


LANE = "mov.u32 %r1, %laneid;\n"
LANES = range(32)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("shfl.sync.up.b32 %r9, %r1, 3, 0, -1;", [x - 3 if x >= 3 else x for x in LANES]),
        ("shfl.sync.down.b32 %r9, %r1, 5, 31, -1;", [x + 5 if x < 27 else x for x in LANES]),
        ("shfl.sync.bfly.b32 %r9, %r1, 7, 31, -1;", [x ^ 7 for x in LANES]),
        ("shfl.sync.idx.b32 %r9, %r1, 9, 31, -1;", [9] * 32),
        # Width 8: the segment mask is 0x18, in bits 8 to 12 of the clamp operand.
        ("shfl.sync.idx.b32 %r9, %r1, 2, 0x181F, -1;", [x // 8 * 8 + 2 for x in LANES]),
        ("shfl.sync.up.b32 %r9|%p1, %r1, 1, 0, -1; selp.u32 %r9, 1, 0, %p1;", [int(x >= 1) for x in LANES]),
        ("setp.lt.u32 %p1, %r1, 5; vote.sync.ballot.b32 %r9, %p1, -1;", [31] * 32),
        ("setp.lt.u32 %p1, %r1, 5; vote.ballot.sync.b32 %r9, !%p1, -1;", [0xFFFFFFE0] * 32),
        ("setp.lt.u32 %p1, %r1, 5; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r9, 1, 0, %p2;", [1] * 32),
        ("setp.lt.u32 %p1, %r1, 5; vote.sync.all.pred %p2, %p1, -1; selp.u32 %r9, 1, 0, %p2;", [0] * 32),
        (
            "and.b32 %r2, %r1, 1; match.any.sync.b32 %r9, %r2, -1;",
            [0xAAAAAAAA if x & 1 else 0x55555555 for x in LANES],
        ),
        ("match.all.sync.b32 %r9|%p1, 7, -1;", [0xFFFFFFFF] * 32),
        ("redux.sync.add.u32 %r9, %r1, -1;", [496] * 32),
        ("sub.s32 %r2, %r1, 9; redux.sync.min.s32 %r9, %r2, -1;", [2**32 - 9] * 32),
        ("activemask.b32 %r9;", [0xFFFFFFFF] * 32),
        ("mov.u32 %r9, %lanemask_lt;", [(1 << x) - 1 for x in LANES]),
    ],
)
def test_warp_operations(text: str, expected: list[int]) -> None:
    assert warp_result(LANE + text.replace("; ", ";\n") + "\n") == expected


def test_a_half_warp_exchanges_among_its_mask() -> None:
    text = """
    mov.u32 %r9, 99;
    setp.ge.u32 %p1, %r1, 16;
    @%p1 bra $done;
    shfl.sync.bfly.b32 %r9, %r1, 1, 31, 0xFFFF;
    $done:
    """
    assert warp_result(LANE + text) == [x ^ 1 for x in range(16)] + [99] * 16


def test_barrier_reductions() -> None:
    text = """
    setp.lt.u32 %p1, %r1, 3;
    bar.red.popc.u32 %r9, 0, %p1;
    """
    assert warp_result("mov.u32 %r1, %tid.x;\n" + text, 96) == [3] * 96


def neighbour_kernel(barrier: str) -> str:
    """Each thread writes its shared word and reads its neighbour's."""
    return module(
        f"""
        mov.u32 %r1, %tid.x;
        shl.b32 %r2, %r1, 2;
        mov.u32 %r3, tile;
        add.u32 %r4, %r3, %r2;
        st.shared.u32 [%r4], %r1;
        {barrier}
        xor.b32 %r5, %r4, 128;
        ld.shared.u32 %r9, [%r5];
        """
        + STORE_RESULT,
        ["u64"],
        ".shared .align 256 .b8 tile[512];",
    )


@pytest.mark.parametrize(
    ("barrier", "verdict"),
    [
        ("bar.sync 0;", set()),
        ("barrier.sync 0;", set()),
        ("barrier.cta.sync.aligned 3;", set()),
        ("bar.sync 1, 128;", set()),
        ("bar.warp.sync -1;", {("R102", 5, 8)}),
        ("", {("R102", 5, 8)}),
        ("shfl.sync.idx.b32 %r7, %r1, 0, 31, -1;", {("R102", 5, 8)}),
    ],
)
def test_only_a_block_barrier_orders_two_warps(barrier: str, verdict: set[tuple[str, int, int]]) -> None:
    out = np.zeros(128, np.uint32)
    outcome = check_ptx(neighbour_kernel(barrier), out, block=(128, 1, 1))
    assert line_pairs(outcome) == verdict
    if not verdict:
        assert out.tolist() == [t ^ 32 for t in range(128)]


def test_a_barrier_of_some_threads_is_named_when_it_could_order_what_races() -> None:
    out = np.zeros(128, np.uint32)
    text = neighbour_kernel("bar.sync 1, 64;").replace("xor.b32 %r5, %r4, 128", "xor.b32 %r5, %r4, 4")
    outcome = check_ptx(text, out, block=(128, 1, 1))
    assert not outcome.findings
    (reason,) = outcome.reasons
    assert reason.kind == "fence"
    assert reason.location is not None
    assert reason.location.line == 6
    assert "bar.sync 1, 64" in reason.instruction


PARTIAL = """
mov.u32 %r1, %tid.x;
mov.u32 %r3, tile;
shl.b32 %r2, %r1, 2;
add.u32 %r4, %r3, %r2;
setp.ge.u32 %p1, %r1, 16;
@%p1 bra $done;
st.shared.u32 [%r4], %r1;
bar.warp.sync 0xFFFF;
xor.b32 %r5, %r4, 4;
ld.shared.u32 %r9, [%r5];
$done:
bar.sync 0;
"""


def test_a_partial_warp_synchronisation_is_named_when_it_could_order_what_races() -> None:
    out = np.zeros(32, np.uint32)
    ptx = module(PARTIAL + STORE_RESULT, ["u64"], ".shared .align 4 .b8 tile[128];")
    outcome = check_ptx(ptx, out, block=(32, 1, 1))
    assert not outcome.findings
    assert [reason.kind for reason in outcome.reasons] == ["fence"]


def test_threads_that_exit_first_do_not_hold_up_a_barrier() -> None:
    text = """
    mov.u32 %r20, %tid.x;
    setp.ge.u32 %p1, %r20, 40;
    @%p1 ret;
    bar.sync 0;
    mov.u32 %r9, 7;
    """
    out = np.zeros(64, np.uint32)
    outcome = check_ptx(module(text + STORE_RESULT, ["u64"]), out, block=(64, 1, 1))
    assert_clean(outcome)
    assert out.tolist() == [7] * 40 + [0] * 24


def exit_kernel(sync: str) -> str:
    """Thread 33 writes a shared word, joins `sync`, and exits; the others pass a barrier and read it."""
    return module(
        f"""
        mov.u32 %r1, %tid.x;
        setp.ne.u32 %p1, %r1, 33;
        @%p1 bra $others;
        st.shared.u32 [tile], %r1;
        {sync}
        ret;
        $others:
        {sync}
        bar.sync 0;
        ld.shared.u32 %r9, [tile];
        """
        + STORE_RESULT,
        ["u64"],
        ".shared .align 4 .b8 tile[4];",
    )


def test_a_barrier_does_not_order_what_an_exited_thread_did() -> None:
    out = np.zeros(64, np.uint32)
    outcome = check_ptx(exit_kernel(""), out, block=(64, 1, 1))
    assert line_pairs(outcome) == {("R102", 4, 10)}


def test_a_warp_synchronisation_hands_an_exited_threads_accesses_on() -> None:
    out = np.zeros(64, np.uint32)
    outcome = check_ptx(exit_kernel("bar.warp.sync -1;"), out, block=(64, 1, 1))
    assert not line_pairs(outcome)
    assert not outcome.reasons


def test_a_barrier_in_a_branch_that_some_threads_miss() -> None:
    text = """
    mov.u32 %r20, %tid.x;
    setp.ge.u32 %p1, %r20, 32;
    @%p1 bra $else;
    bar.sync 0;
    bra $end;
    $else:
    bar.sync 0;
    $end:
    ret;
    """
    outcome = check_ptx(module(text), block=(64, 1, 1))
    assert rules(outcome) == ["R201"]
    finding = outcome.findings[0]
    assert {finding.location.line, finding.related[0].line} == {4, 7}


def test_copies_of_one_barrier_of_the_source_do_not_diverge() -> None:
    text = module(
        """
        mov.u32 %r20, %tid.x;
        setp.ge.u32 %p1, %r20, 32;
        @%p1 bra $else;
        bar.sync 0;
        bra $end;
        $else:
        bar.sync 0;
        $end:
        ret;
        """
    )
    outcome = check_ptx(text.replace(".loc 1 7 1", ".loc 1 4 1"), block=(64, 1, 1))
    assert outcome.findings == ()


def test_two_barriers_that_wait_for_each_other() -> None:
    text = """
    mov.u32 %r20, %tid.x;
    setp.ge.u32 %p1, %r20, 32;
    @%p1 bra $else;
    bar.sync 1;
    bra $end;
    $else:
    bar.sync 2;
    $end:
    ret;
    """
    outcome = check_ptx(module(text), block=(64, 1, 1))
    assert rules(outcome) == ["R201"]
    assert "never go on" in outcome.findings[0].message


def test_lanes_that_a_mask_names_but_that_wait_elsewhere() -> None:
    text = """
    mov.u32 %r1, %laneid;
    setp.ge.u32 %p1, %r1, 16;
    @%p1 bra $else;
    bar.warp.sync -1;
    bra $end;
    $else:
    bar.sync 0;
    $end:
    ret;
    """
    outcome = check_ptx(module(text), block=(32, 1, 1))
    assert rules(outcome) == ["R202"]
    assert {outcome.findings[0].location.line, outcome.findings[0].related[0].line} == {4, 7}


def test_a_mask_without_the_lane_itself() -> None:
    text = "vote.sync.any.pred %p1, 1, 0xFFFF;\nret;"
    outcome = check_ptx(module(text.replace(" 1, 0x", " %p2, 0x")), block=(32, 1, 1))
    assert rules(outcome) == ["R202"]


FLAG = """
ld.param.u64 %rd1, [p0];
mov.u32 %r1, %ctaid.x;
setp.eq.u32 %p1, %r1, 0;
@!%p1 bra $set;
$spin:
ld.relaxed.gpu.global.u32 %r2, [%rd1];
setp.eq.u32 %p2, %r2, 0;
@%p2 bra $spin;
ret;
$set:
"""


def test_a_block_may_wait_for_a_later_block() -> None:
    flag = np.zeros(1, np.uint32)
    text = FLAG + "setp.ne.u32 %p3, %r1, 39;\n@%p3 ret;\nst.relaxed.gpu.global.u32 [%rd1], 1;\nret;"
    outcome = check_ptx(module(text, ["u64"]), flag, grid=(40, 1, 1), block=(1024, 1, 1))
    assert_clean(outcome)
    assert flag[0] == 1


def test_a_wait_that_nothing_ends_is_a_livelock() -> None:
    flag = np.zeros(1, np.uint32)
    outcome = check_ptx(module(FLAG + "ret;", ["u64"]), flag, grid=(4, 1, 1), block=(64, 1, 1))
    assert rules(outcome) == ["R203"]
    assert outcome.findings[0].location.line == 8


def test_an_endless_loop_ends_at_the_time_limit() -> None:
    text = "mov.u64 %rd1, 0;\n$loop:\nadd.u64 %rd1, %rd1, 1;\nbra $loop;"
    outcome = check_ptx(module(text), options=Options(timeout=0.3))
    assert [reason.kind for reason in outcome.reasons] == ["timeout"]


@pytest.mark.parametrize(
    ("wait", "threads", "wrap", "count"),
    [
        *[("bar.sync 0;", 64, 2048, count) for count in (2048, 4096, 2047, 65536)],
        *[("bar.warp.sync -1;", 32, 256, count) for count in (256, 512, 255, 1024, 1023 * 1024)],
    ],
)
def test_a_wrapped_count_gives_no_false_alarm(wait: str, threads: int, wrap: int, count: int) -> None:
    """The shadow word counts modulo 2^11 or 2^8: at exactly a multiple the alarm is refuted in the replay."""
    text = f"""
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra $skip;
    st.shared.u32 [tile], 5;
    $skip:
    mov.u32 %r2, {count};
    $loop:
    {wait}
    sub.u32 %r2, %r2, 1;
    setp.ne.u32 %p2, %r2, 0;
    @%p2 bra $loop;
    ld.shared.u32 %r9, [tile];
    """
    out = np.zeros(threads, np.uint32)
    ptx = module(text + STORE_RESULT, ["u64"], ".shared .align 4 .b8 tile[4];")
    outcome = check_ptx(ptx, out, block=(threads, 1, 1), options=Options(prove=False))
    assert_clean(outcome)
    assert outcome.statistics["refuted"] == (1 if count % wrap == 0 else 0)


def every_block(text: str, blocks: int, threads: int = 32) -> Outcome:
    ptx = module(text, ["u64"], ".shared .align 4 .b8 tile[4];")
    return check_ptx(ptx, np.zeros(1, np.uint32), grid=(blocks, 1, 1), block=(threads, 1, 1))


@pytest.mark.parametrize("block", [0, 1, 32768, 65535, 69999])
def test_a_race_in_shared_memory_of_any_block_is_found(block: int) -> None:
    text = f"""
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %r1, {block};
    @%p1 ret;
    st.shared.u32 [tile], %r1;
    ret;
    """
    outcome = every_block(text, 70000, threads=2)
    assert rules(outcome) == ["R101"]
    access = outcome.findings[0].properties["accesses"]
    assert isinstance(access, list)
    assert isinstance(access[0], dict)
    assert access[0]["block"] == [block, 0, 0]


def test_blocks_far_apart_are_told_apart() -> None:
    """Block ids beyond 65,534, where a 16-bit field would alias."""
    text = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %ctaid.x;
    and.b32 %r2, %r1, 0xFFFF;
    setp.ne.u32 %p1, %r2, 5;
    @%p1 ret;
    st.global.u32 [%rd1], %r1;
    ret;
    """
    outcome = every_block(text, 70000, threads=1)
    assert rules(outcome) == ["R101"]


def test_seeds_change_the_order_and_not_the_findings() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    st.global.u32 [%rd1], %r1;
    ret;
    """
    last = set()
    for seed in range(6):
        out = np.zeros(1, np.uint32)
        outcome = check_ptx(module(text, ["u64"]), out, block=(64, 1, 1), options=Options(seed=seed))
        assert line_pairs(outcome) == {("R101", 3, 3)}
        last.add(int(out[0]))
    assert len(last) > 1


def test_equal_seeds_give_equal_runs() -> None:
    outcomes = []
    for _ in range(2):
        out = np.zeros(128, np.uint32)
        outcomes.append(check_ptx(neighbour_kernel(""), out, block=(128, 1, 1), options=Options(seed=3)))
    assert outcomes[0] == outcomes[1]


def test_a_launch_that_is_stopped_keeps_the_order_of_its_barriers() -> None:
    """Threads that have not exited took part in the barriers before: their accesses are ordered by them."""
    text = """
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 st.shared.u32 [tile], 1;
    bar.sync 0;
    @!%p1 st.shared.u32 [tile], %r1;
    $loop:
    add.u32 %r2, %r2, 1;
    bra $loop;
    """
    ptx = module(text, (), ".shared .align 4 .b8 tile[4];")
    outcome = check_ptx(ptx, block=(64, 1, 1), options=Options(timeout=1))
    assert line_pairs(outcome) == {("R101", 5, 5)}
    assert [reason.kind for reason in outcome.reasons] == ["timeout"]


def test_alarms_that_could_be_false_are_all_examined_or_named() -> None:
    """Volatile accesses of lanes at more words than are examined: the check says that it did not see them all."""
    text = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    shr.u32 %r3, %r1, 1;
    mad.lo.u32 %r3, %r2, 512, %r3;
    mad.wide.u32 %rd2, %r3, 4, %rd1;
    st.volatile.global.u32 [%rd2], %r1;
    ret;
    """
    few = check_ptx(module(text, ["u64"]), np.zeros(512, np.uint32), block=(1024, 1, 1))
    assert rules(few) == ["R105"]
    assert not few.reasons
    many = check_ptx(module(text, ["u64"]), np.zeros(8192, np.uint32), grid=(16, 1, 1), block=(1024, 1, 1))
    assert rules(many) == ["R105"]
    assert [reason.kind for reason in many.reasons] == ["budget"]


def test_a_shuffle_from_a_lane_that_takes_no_part_is_undefined() -> None:
    text = """
    mov.u32 %r1, %laneid;
    setp.ge.u32 %p1, %r1, 8;
    @%p1 ret;
    shfl.sync.down.b32 %r9, %r1, 1, 31, -1;
    """
    outcome = check_ptx(module(text + STORE_RESULT, ["u64"]), np.zeros(32, np.uint32), block=(32, 1, 1))
    (finding,) = outcome.findings
    assert (finding.rule, finding.level, finding.location.line) == ("R202", "warning", 4)
    assert "thread (7, 0, 0)" in finding.message
    assert "lane 8" in finding.message


def test_line_0_stands_for_the_nearest_line() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    st.global.u32 [%rd1], %r1;
    ret;
    """
    ptx = module(text, ["u64"]).replace(".loc 1 3 1", ".loc 1 0 1")
    outcome = check_ptx(ptx, np.zeros(1, np.uint32), block=(2, 1, 1))
    assert line_pairs(outcome) == {("R101", 2, 2)}


def test_a_race_in_every_round_of_a_long_loop_is_explained_once() -> None:
    """Rounds that are alike are looked at once: thousands of barriers do not make the explanation slow."""
    text = """
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, 3000;
    $loop:
    bar.sync 0;
    st.shared.u32 [tile], %r1;
    sub.u32 %r2, %r2, 1;
    setp.ne.u32 %p2, %r2, 0;
    @%p2 bra $loop;
    ret;
    """
    outcome = check_ptx(module(text, (), ".shared .align 4 .b8 tile[4];"), block=(64, 1, 1))
    assert line_pairs(outcome) == {("R101", 5, 5)}
    assert not outcome.reasons
