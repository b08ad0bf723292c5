"""Memory instructions on the CPU engine: spaces, widths, atomics, ranges, granules, and their events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ptx_kernels import assert_clean, check_ptx, launch_of, line_pairs, module, rules
from racedart.shadow.check import check_launch
from racedart.shadow.outcome import Options


def test_vectors_of_every_width_are_copied() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd3, %r1, 32, %rd1;
    mad.wide.u32 %rd4, %r1, 32, %rd2;
    ld.global.nc.v4.u32 {%r2, %r3, %r4, %r5}, [%rd3];
    st.global.v4.u32 [%rd4], {%r2, %r3, %r4, %r5};
    ld.global.v2.f64 {%fd1, %fd2}, [%rd3+16];
    st.global.v2.f64 [%rd4+16], {%fd1, %fd2};
    ret;
    """
    source = np.arange(64, dtype=np.uint32)
    target = np.zeros_like(source)
    outcome = check_ptx(module(text, ["u64", "u64"]), source, target, block=(8, 1, 1))
    assert_clean(outcome)
    assert target.tolist() == source.tolist()


def test_narrow_elements_widen_by_their_type() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    ld.global.s8 %r1, [%rd1];
    ld.global.u8 %r2, [%rd1];
    ld.global.s16 %r3, [%rd1];
    st.global.u32 [%rd2], %r1;
    st.global.u32 [%rd2+4], %r2;
    st.global.u32 [%rd2+8], %r3;
    st.global.u8 [%rd2+12], %r1;
    ret;
    """
    out = np.zeros(4, np.uint32)
    check_ptx(module(text, ["u64", "u64"]), np.array([0xFFFE], np.uint16), out)
    assert out.tolist() == [0xFFFFFFFE, 0xFE, 0xFFFFFFFE, 0xFE]


def test_variables_of_the_module_and_the_thread() -> None:
    declarations = ".global .u32 counter = 40;\n.const .f32 table[2] = {0f3FC00000, 0f40000000};"
    text = """
    .local .align 4 .b8 depot[8];
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    mov.u64 %rd2, depot;
    cvta.local.u64 %rd3, %rd2;
    st.u32 [%rd3+4], %r1;
    ld.local.u32 %r2, [%rd2+4];
    ld.global.u32 %r3, [counter];
    add.u32 %r4, %r2, %r3;
    ld.const.f32 %f1, [table+4];
    cvt.rzi.u32.f32 %r5, %f1;
    add.u32 %r4, %r4, %r5;
    mad.wide.u32 %rd4, %r1, 4, %rd1;
    st.u32 [%rd4], %r4;
    ret;
    """
    out = np.zeros(4, np.uint32)
    outcome = check_ptx(module(text, ["u64"], declarations), out, block=(4, 1, 1))
    assert_clean(outcome)
    assert out.tolist() == [42, 43, 44, 45]


def test_generic_addresses_reach_shared_memory_of_the_own_block() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, tile;
    cvt.u64.u32 %rd2, %r2;
    cvta.shared.u64 %rd3, %rd2;
    setp.eq.u32 %p3, %r1, 0;
    @%p3 st.u32 [%rd3], 0;
    bar.sync 0;
    isspacep.shared %p1, %rd3;
    isspacep.global %p2, %rd3;
    selp.u32 %r3, 1, 0, %p1;
    selp.u32 %r4, 2, 0, %p2;
    add.u32 %r3, %r3, %r4;
    atom.add.u32 %r5, [%rd3], %r3;
    bar.sync 0;
    ld.u32 %r6, [%rd3];
    mad.wide.u32 %rd4, %r1, 4, %rd1;
    st.u32 [%rd4], %r6;
    ret;
    """
    out = np.zeros(48, np.uint32)
    outcome = check_ptx(module(text, ["u64"], ".shared .align 4 .b8 tile[4];"), out, block=(48, 1, 1))
    assert_clean(outcome)
    assert out.tolist() == [48] * 48


ATOMICS: dict[str, tuple[str, str, Any]] = {
    "add.u32": ("u4", "r", lambda v: v.sum()),
    "add.u64": ("u8", "rd", lambda v: v.sum()),
    "add.f32": ("f4", "f", lambda v: v.sum()),
    "add.f64": ("f8", "fd", lambda v: v.sum()),
    "min.u32": ("u4", "r", lambda v: min(v.min(), 0)),
    "max.u32": ("u4", "r", lambda v: v.max()),
    "max.s64": ("i8", "rd", lambda v: v.max()),
    "and.b32": ("u4", "r", lambda v: 0),
    "or.b32": ("u4", "r", lambda v: np.bitwise_or.reduce(v)),
    "xor.b64": ("u8", "rd", lambda v: np.bitwise_xor.reduce(v)),
}
LOADS = {"r": "u32", "rd": "u64", "f": "f32", "fd": "f64"}


@pytest.mark.parametrize("scope", ["", ".cta", ".gpu", ".sys", ".relaxed.gpu"])
@pytest.mark.parametrize("name", ATOMICS)
def test_atomics_of_a_block_give_the_total_and_do_not_race(name: str, scope: str) -> None:
    dtype, register, expected = ATOMICS[name]
    size = np.dtype(dtype).itemsize
    text = f"""
    ld.param.u64 %rd20, [p0];
    ld.param.u64 %rd21, [p1];
    mov.u32 %r20, %tid.x;
    mad.wide.u32 %rd22, %r20, {size}, %rd20;
    ld.global.{LOADS[register]} %{register}1, [%rd22];
    atom{scope}.global.{name} %{register}2, [%rd21], %{register}1;
    red{scope}.global.{name.replace("xor", "and") if "xor" in name else name} [%rd21+{size}], %{register}1;
    ret;
    """
    values = np.arange(1, 65).astype(dtype)
    out = np.zeros(2, dtype)
    outcome = check_ptx(module(text, ["u64", "u64"]), values, out, block=(64, 1, 1))
    assert_clean(outcome)
    assert out[0] == expected(values)


def test_compare_and_swap_exchange_and_wrapping_counters() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    atom.global.inc.u32 %r1, [%rd1], 4;
    atom.global.dec.u32 %r2, [%rd1+4], 4;
    atom.global.exch.b32 %r3, [%rd1+8], 77;
    atom.global.cas.b32 %r4, [%rd1+12], 5, 6;
    atom.global.cas.b32 %r5, [%rd1+16], 1, 6;
    ret;
    """
    memory = np.array([4, 0, 9, 5, 5], np.uint32)
    outcome = check_ptx(module(text, ["u64"]), memory)
    assert_clean(outcome)
    assert memory.tolist() == [0, 4, 77, 6, 5]


def two_accesses(first: str, second: str, barrier: str = "", separate: bool = True) -> str:
    """Thread 0 of block 0 makes one access of [%rd1], thread `other` the second one."""
    return module(
        f"""
        ld.param.u64 %rd1, [p0];
        ld.param.u32 %r10, [p1];
        mov.u32 %r2, %tid.x;
        mov.u32 %r3, %ctaid.x;
        mad.lo.u32 %r1, %r3, 64, %r2;
        setp.eq.u32 %p1, %r1, 0;
        setp.eq.u32 %p2, %r1, %r10;
        @%p1 {first}
        {barrier}
        @%p2 {second}
        ret;
        """,
        ["u64", "u32"],
    )


READ = "ld.global.u32 %r5, [%rd1];"
WRITE = "st.global.u32 [%rd1], %r1;"
ATOM = "atom.global.add.u32 %r5, [%rd1], 1;"
CTA = "atom.global.cta.add.u32 %r5, [%rd1], 1;"
CLUSTER = "atom.global.cluster.add.u32 %r5, [%rd1], 1;"
SYS = "atom.global.sys.add.u32 %r5, [%rd1], 1;"
STRONG_READ = "ld.relaxed.gpu.global.u32 %r5, [%rd1];"
STRONG_WRITE = "st.relaxed.gpu.global.u32 [%rd1], %r1;"
VOLATILE_READ = "ld.volatile.global.u32 %r5, [%rd1];"
VOLATILE_WRITE = "st.volatile.global.u32 [%rd1], %r1;"

LANE, WARP, BLOCK = 5, 40, 70


@pytest.mark.parametrize(
    ("first", "second", "other", "rule"),
    [
        (READ, READ, BLOCK, ""),
        (READ, WRITE, LANE, "R102"),
        (WRITE, READ, WARP, "R102"),
        (WRITE, WRITE, BLOCK, "R101"),
        (ATOM, ATOM, BLOCK, ""),
        (ATOM, SYS, BLOCK, ""),
        (CTA, CTA, WARP, ""),
        (CTA, ATOM, WARP, ""),
        (CTA, CTA, BLOCK, "R104"),
        (CTA, ATOM, BLOCK, "R104"),
        (CLUSTER, CLUSTER, BLOCK, "R104"),
        (ATOM, READ, LANE, "R103"),
        (WRITE, ATOM, BLOCK, "R103"),
        (STRONG_READ, STRONG_WRITE, BLOCK, ""),
        (STRONG_READ, ATOM, BLOCK, ""),
        (STRONG_READ, WRITE, BLOCK, "R103"),
        (STRONG_READ, READ, BLOCK, ""),
        (VOLATILE_WRITE, VOLATILE_READ, LANE, "R105"),
        (VOLATILE_WRITE, VOLATILE_READ, WARP, ""),
        (VOLATILE_WRITE, VOLATILE_WRITE, BLOCK, ""),
        (VOLATILE_READ, VOLATILE_READ, LANE, ""),
        (VOLATILE_WRITE, READ, WARP, "R102"),
        (VOLATILE_WRITE, ATOM, BLOCK, ""),
        (VOLATILE_READ, CTA, BLOCK, "R104"),
    ],
)
def test_which_pairs_race(first: str, second: str, other: int, rule: str) -> None:
    memory = np.zeros(1, np.uint32)
    ptx = two_accesses(first, second)
    outcome = check_ptx(ptx, memory, np.uint32(other), grid=(2, 1, 1), block=(64, 1, 1))
    assert line_pairs(outcome) == ({(rule, 8, 10)} if rule else set())
    assert not outcome.reasons


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_execution_does_not_matter(seed: int) -> None:
    memory = np.zeros(1, np.uint32)
    outcome = check_ptx(
        two_accesses(READ, ATOM),
        memory,
        np.uint32(WARP),
        grid=(2, 1, 1),
        block=(64, 1, 1),
        options=Options(seed=seed),
    )
    assert line_pairs(outcome) == {("R103", 8, 10)}


@pytest.mark.parametrize(("other", "races"), [(WARP, False), (BLOCK, True)])
def test_a_barrier_orders_one_block(other: int, races: bool) -> None:
    memory = np.zeros(1, np.uint32)
    ptx = two_accesses(WRITE, WRITE, "bar.sync 0;")
    outcome = check_ptx(ptx, memory, np.uint32(other), grid=(2, 1, 1), block=(64, 1, 1))
    assert bool(line_pairs(outcome)) == races


def test_neighbouring_bytes_do_not_race() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd2, %r1;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u8 [%rd3], %r1;
    ret;
    """
    memory = np.zeros(64, np.uint8)
    outcome = check_ptx(module(text, ["u64"]), memory, block=(64, 1, 1))
    assert_clean(outcome)
    assert memory.tolist() == list(range(64))


def test_a_wide_access_races_with_a_byte_that_it_covers() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 st.global.u8 [%rd1+7], %r1;
    @!%p1 ld.global.u64 %rd3, [%rd1];
    ret;
    """
    outcome = check_ptx(module(text, ["u64"]), np.zeros(1, np.uint64), block=(2, 1, 1))
    assert line_pairs(outcome) == {("R102", 4, 5)}


def test_atomics_of_two_widths_race_where_they_overlap_partly() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 atom.global.add.u32 %r2, [%rd1+4], 1;
    @!%p1 atom.global.add.u64 %rd3, [%rd1], 1;
    red.global.add.u32 [%rd1+8], 1;
    ret;
    """
    outcome = check_ptx(module(text, ["u64"]), np.zeros(2, np.uint64), block=(2, 1, 1))
    assert line_pairs(outcome) == {("R103", 4, 5)}
    assert outcome.reasons == ()


def access_at(offset: int, instruction: str = "ld.global.u32 %r9, [%rd2];") -> str:
    return module(
        f"""
        ld.param.u64 %rd1, [p0];
        add.s64 %rd2, %rd1, {offset};
        {instruction}
        ret;
        """,
        ["u64"],
    )


@pytest.mark.parametrize(
    ("offset", "what"),
    [
        (40, "a0[10]"),
        (-4, ""),
        (4000, "a0[1000]"),
        (1 << 40, "belongs to no memory"),
        (-(1 << 46), "belongs to no"),
    ],
)
@pytest.mark.parametrize(
    "instruction", ["ld.global.u32 %r9, [%rd2];", "st.u32 [%rd2], 1;", "red.add.u32 [%rd2], 1;"]
)
def test_out_of_bounds_accesses_are_findings_with_their_line(offset: int, what: str, instruction: str) -> None:
    memory = np.zeros(10, np.uint32)
    outcome = check_ptx(access_at(offset, instruction), memory)
    assert rules(outcome) == ["R301"]
    assert outcome.findings[0].location.line == 3
    assert what in outcome.findings[0].message
    assert memory.tolist() == [0] * 10


def test_a_null_pointer_is_a_finding() -> None:
    text = "mov.u64 %rd1, 0;\nst.global.u32 [%rd1], 1;\nret;"
    outcome = check_ptx(module(text))
    assert rules(outcome) == ["R301"]
    assert "0x0" in outcome.findings[0].message


def test_a_misaligned_access_is_a_finding() -> None:
    outcome = check_ptx(access_at(2), np.zeros(10, np.uint32))
    assert rules(outcome) == ["R301"]
    assert "not aligned" in outcome.findings[0].message


def test_shared_memory_ends_where_it_ends() -> None:
    text = """
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %r1, 4, %r2;
    st.shared.u32 [%r3], %r1;
    ret;
    """
    ptx = module(text, (), ".extern .shared .align 4 .b8 tile[];")
    assert rules(check_ptx(ptx, block=(8, 1, 1), shared_bytes=32)) == []
    outcome = check_ptx(ptx, block=(9, 1, 1), shared_bytes=32)
    assert rules(outcome) == ["R301"]
    assert "tile[8]" in outcome.findings[0].message


def test_an_instruction_without_a_translation_is_named_when_it_is_reached() -> None:
    text = """
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p1, %r1, {thread};
    @%p1 tex.1d.v4.f32.s32 {{%f1, %f2, %f3, %f4}}, [%rd1, {{%r1}}];
    ret;
    """
    reached = check_ptx(module(text.format(thread=3)), block=(8, 1, 1))
    (reason,) = reached.reasons
    assert reason.kind == "instruction"
    assert reason.location is not None
    assert reason.location.line == 3
    assert "tex.1d.v4.f32.s32" in reason.instruction
    assert check_ptx(module(text.format(thread=99)), block=(8, 1, 1)).reasons == ()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("cp.async.ca.shared.global [%r1], [%rd1], 4;", "cp.async"),
        ("cp.async.wait_group 0;", "cp.async.wait_group"),
        ("mbarrier.init.shared.b64 [%r1], 32;", "mbarrier.init"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1, %r2}, [%rd1];", "wmma.load"),
        ("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1, %r2}, {%r1}, {%r2}, {%r1, %r2};", "mma"),
    ],
)
def test_an_operation_without_a_translation_is_named_apart_from_others_of_its_opcode(text: str, named: str) -> None:
    (reason,) = check_ptx(module(f"{text}\nret;")).reasons
    assert f"the instruction {named} " in f"{reason.message} "


def test_a_trap_ends_the_launch_and_is_named() -> None:
    (reason,) = check_ptx(module("trap;\nret;")).reasons
    assert reason.kind == "trap"


@pytest.mark.parametrize(("end", "kind"), [("trap;", "trap"), ("tex.1d.v4.f32.s32 {%f1}, [%rd1];", "instruction")])
def test_many_faulty_accesses_hide_nothing_that_goes_wrong_later(end: str, kind: str) -> None:
    text = f"""
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, 8;
    $loop:
    st.global.u32 [%rd1+400000], %r1;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra $loop;
    bar.sync 0;
    st.global.u32 [%rd1+2], %r1;
    bar.sync 0;
    {end}
    ret;
    """
    outcome = check_ptx(module(text, ["u64"]), np.zeros(4, np.uint32), block=(1024, 1, 1))
    assert [(f.rule, f.location.line) for f in outcome.findings] == [("R301", 4), ("R301", 9)]
    assert [(reason.kind, reason.location and reason.location.line) for reason in outcome.reasons] == [(kind, 11)]


def test_a_launch_beyond_the_memory_budget_is_refused_with_the_figures() -> None:
    launch = launch_of(access_at(0), [np.zeros(1 << 20, np.uint32)])
    (reason,) = check_launch(launch, Options(memory=1 << 20)).reasons
    assert reason.kind == "budget"
    assert "1,048,576" in reason.message


def test_values_before_and_after_are_those_of_the_memory() -> None:
    memory = np.array([5], np.uint32)
    outcome = check_ptx(
        two_accesses("st.global.u32 [%rd1], 17;", READ),
        memory,
        np.uint32(WARP),
        grid=(2, 1, 1),
        block=(64, 1, 1),
    )
    accesses = outcome.findings[0].properties["accesses"]
    assert isinstance(accesses, list)
    later, earlier = accesses
    assert isinstance(later, dict)
    assert isinstance(earlier, dict)
    assert (earlier["value_before"], earlier["value_after"]) == ("5", "17")
    assert (later["role"], later["value_before"]) == ("later", "17")


def test_a_register_that_was_never_written_is_one_number() -> None:
    """LLVM may give an undefined value another number at each use, past the range check."""
    outcome = check_ptx(module("st.global.u32 [%rd9], 1;\nld.global.u32 %r1, [%rd9+8];\nret;"))
    assert rules(outcome) == ["R301", "R301"]
