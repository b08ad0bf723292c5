"""The proof of race freedom: what it claims, against every access that a run makes; what it must not claim.

Random kernels are nearly private: strides, widths, guards, wraps and barriers that are right or off by a
little. The claim is held against the log of all accesses of an unproved run, and the findings with the proof
against those without it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_kernels import check_ptx, launch_of, line_pairs, module, rules
from racedart.fsm import Access
from racedart.shadow.cpu import engine
from racedart.shadow.cpu.device import Device
from racedart.shadow.cpu.layout import Log
from racedart.shadow.cpu.program import load_program, read_kernel
from racedart.shadow.instrument.flow import Shape
from racedart.shadow.instrument.proof import prove
from racedart.shadow.launch import Dim3, Pointer
from racedart.shadow.outcome import Options

BYTES = 4096
INDEX = """
ld.param.u64 %rd1, [p0];
ld.param.u32 %r9, [p1];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %tid.y;
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %ntid.x;
mad.lo.s32 %r5, %r3, %r4, %r1;
mov.u64 %rd3, tile;
"""
TILE = f".shared .align 8 .b8 tile[{BYTES}];"


def kernel(body: str) -> str:
    """A kernel with the thread's indices: %r1 tid.x, %r2 tid.y, %r3 ctaid.x, %r4 ntid.x, %r5 global index."""
    return module(INDEX + body + "\nret;", ["u64", "u32"], TILE)


ONE_DIMENSION: tuple[Dim3, Dim3] = ((3, 1, 1), (32, 1, 1))
TWO_DIMENSIONS: tuple[Dim3, Dim3] = ((2, 1, 1), (32, 2, 1))
ONE_BLOCK: tuple[Dim3, Dim3] = ((1, 1, 1), (64, 1, 1))
MINE = "mul.wide.s32 %rd2, %r5, 4;\nadd.s64 %rd4, %rd1, %rd2;\n"
"""%rd4: the thread's own element of the buffer."""
OWN_TILE = "mul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd5, %rd3, %rd2;\n"
"""%rd5: the thread's own element of the tile."""
WRITE_READ = "st.shared.u32 [%rd5], %r1;\nbar.sync 0;\nld.shared.u32 %r11, [%rd5+4];\n"
LOOP = (
    OWN_TILE
    + "mov.u32 %r12, 0;\nAGAIN:\n{body}\nadd.s32 %r12, %r12, 1;\nsetp.ne.s32 %p3, %r12, 4;\n@%p3 bra AGAIN;"
)
REDUCE = (
    OWN_TILE
    + "st.shared.u32 [%rd5], %r1;\nbar.sync 0;\nmov.u32 %r12, {first};\nAGAIN:\nsetp.{compare}.s32 %p1, %r1, "
    "%r12;\n@%p1 bra DONE;\nadd.s32 %r13, %r12, %r1;\nmul.wide.s32 %rd6, %r13, 4;\nadd.s64 %rd7, %rd3, %rd6;\n"
    "ld.shared.u32 %r14, [%rd7];\nst.shared.u32 [%rd5], %r14;\nDONE:\n{barrier}\nshr.u32 %r15, %r12, 1;\n"
    "setp.gt.u32 %p2, %r12, 1;\nmov.u32 %r12, %r15;\n@%p2 bra AGAIN;"
)
STRIDED = (
    "mov.u32 %r6, %r5;\nAGAIN:\nsetp.ge.s32 %p1, %r6, 1000;\n@%p1 bra DONE;\nmul.wide.s32 %rd2, %r6, 4;\n"
    "add.s64 %rd4, %rd1, %rd2;\nst.global.u32 [%rd4], %r6;\nadd.s32 %r6, %r6, {step};\nbra AGAIN;\nDONE:"
)
ROTATED = (
    "mov.u32 %r6, %r5;\nsetp.ge.s32 %p1, %r6, 1000;\n@%p1 bra DONE;\nAGAIN:\nmul.wide.s32 %rd2, %r6, 4;\n"
    "add.s64 %rd4, %rd1, %rd2;\nst.global.u32 [%rd4], %r6;\nadd.s32 %r6, %r6, 96;\nsetp.lt.s32 %p2, %r6, {limit};\n"
    "@%p2 bra AGAIN;\nDONE:"
)
STALE = (
    "mov.u32 %r13, 0;\nmov.u32 %r12, 0;\nAGAIN:\nld.global.u32 %r14, [%rd1];\nsub.s32 %r15, %r14, %r13;\n"
    "mul.wide.s32 %rd2, %r15, 4;\nadd.s64 %rd5, %rd3, %rd2;\nsetp.eq.s32 %p1, %r1, 0;\n"
    "@%p1 st.shared.u32 [%rd5], %r1;\n"
    "mov.u32 %r13, {carried};\nadd.s32 %r12, %r12, 1;\nsetp.ne.s32 %p3, %r12, 4;\n@%p3 bra AGAIN;"
)

Case = tuple[str, tuple[Dim3, Dim3], int, int]
CASES: dict[str, Case] = {
    # name: body, launch, sites proved, sites in all
    "own element": (MINE + "st.global.u32 [%rd4], %r1;", ONE_DIMENSION, 1, 1),
    "own element, generic": (MINE + "st.u32 [%rd4], %r1;", ONE_DIMENSION, 1, 1),
    "blocks overlap": (
        "mad.lo.s32 %r5, %r3, 31, %r1;\n" + MINE + "st.global.u32 [%rd4], %r1;",
        ONE_DIMENSION,
        0,
        1,
    ),
    "too wide": (MINE + "st.global.v2.u32 [%rd4], {%r1, %r2};", ONE_DIMENSION, 0, 1),
    "neighbour read": (MINE + "st.global.u32 [%rd4], %r1;\nld.global.u32 %r11, [%rd4+4];", ONE_DIMENSION, 0, 2),
    "only read": (MINE + "ld.global.u32 %r11, [%rd4+4];\nld.global.u32 %r11, [%rd4];", ONE_DIMENSION, 2, 2),
    "row unused": (MINE + "st.global.u32 [%rd4], %r1;", TWO_DIMENSIONS, 0, 1),
    "one row": (
        "setp.eq.s32 %p1, %r2, 0;\n" + MINE + "@%p1 st.global.u32 [%rd4], %r1;",
        TWO_DIMENSIONS,
        1,
        1,
    ),
    "two rows": (
        "setp.le.s32 %p1, %r2, 1;\n" + MINE + "@%p1 st.global.u32 [%rd4], %r1;",
        TWO_DIMENSIONS,
        0,
        1,
    ),
    "one thread": ("setp.eq.s32 %p1, %r5, 7;\n@%p1 st.global.u32 [%rd1], %r1;", ONE_DIMENSION, 1, 1),
    "one thread of each block": ("setp.eq.s32 %p1, %r1, 7;\n@%p1 st.global.u32 [%rd1], %r1;", ONE_DIMENSION, 0, 1),
    "out of range": ("add.s32 %r5, %r5, 1000;\n" + MINE + "st.global.u32 [%rd4], %r1;", ONE_DIMENSION, 0, 1),
    "kept in range": (
        "add.s32 %r5, %r5, 1000;\nsetp.lt.s32 %p1, %r5, 1024;\n" + MINE + "@%p1 st.global.u32 [%rd4], %r1;",
        ONE_DIMENSION,
        1,
        1,
    ),
    "below the buffer": ("sub.s32 %r5, %r5, 5;\n" + MINE + "st.global.u32 [%rd4], %r1;", ONE_DIMENSION, 0, 1),
    "negative index excluded": (
        "sub.s32 %r5, %r5, 5;\nsetp.lt.u32 %p1, %r5, 90;\n" + MINE + "@%p1 st.global.u32 [%rd4], %r1;",
        ONE_DIMENSION,
        1,
        1,
    ),
    "wraps": ("mul.lo.u32 %r5, %r5, 1073741824;\n" + MINE + "st.global.u32 [%rd4], %r1;", ONE_DIMENSION, 0, 1),
    "wraps back": (
        "add.u32 %r5, %r5, -100;\nadd.u32 %r5, %r5, 100;\n" + MINE + "st.global.u32 [%rd4], %r1;",
        ONE_DIMENSION,
        1,
        1,
    ),
    "wrapped to few": (
        "shl.b32 %r5, %r5, 30;\nshr.u32 %r5, %r5, 30;\n" + MINE + "st.global.u32 [%rd4], %r1;",
        ONE_DIMENSION,
        0,
        1,
    ),
    "quotient and remainder": (
        "div.u32 %r6, %r5, 7;\nrem.u32 %r7, %r5, 7;\nmad.lo.u32 %r5, %r6, 7, %r7;\n"
        + MINE
        + "st.global.u32 [%rd4], %r1;",
        ONE_DIMENSION,
        1,
        1,
    ),
    "quotient alone": ("div.u32 %r5, %r5, 7;\n" + MINE + "st.global.u32 [%rd4], %r1;", ONE_DIMENSION, 0, 1),
    "quotient of a negative number": (
        "sub.s32 %r6, %r5, 48;\ndiv.s32 %r7, %r6, 2;\nadd.s32 %r5, %r7, 48;\nsetp.ge.s32 %p1, %r5, 48;\n"
        + MINE
        + "@!%p1 st.global.u32 [%rd4], %r1;",
        ONE_DIMENSION,
        0,
        1,
    ),
    "foreign pointer": (
        MINE + "st.global.u32 [%rd4], %r1;\nld.global.u64 %rd6, [%rd1+2048];\nst.global.u32 [%rd6], %r1;",
        ONE_DIMENSION,
        0,
        3,
    ),
    "unknown element of the tile": (
        MINE + "ld.global.u32 %r11, [%rd4];\nmul.wide.u32 %rd6, %r11, 4;\nadd.s64 %rd7, %rd3, %rd6;\n"
        "st.shared.u32 [%rd7], %r1;",
        ONE_DIMENSION,
        1,
        2,
    ),
    "unknown generic address": (
        MINE + "ld.global.u32 %r11, [%rd4];\nmul.wide.u32 %rd6, %r11, 4;\nadd.s64 %rd7, %rd3, %rd6;\n"
        "st.u32 [%rd7], %r1;",
        ONE_DIMENSION,
        0,
        2,
    ),
    "device atomics": ("red.global.gpu.add.u32 [%rd1], 1;", ONE_DIMENSION, 1, 1),
    "block atomics of many blocks": ("red.global.cta.add.u32 [%rd1], 1;", ONE_DIMENSION, 0, 1),
    "block atomics of one block": ("red.global.cta.add.u32 [%rd1], 1;", ONE_BLOCK, 1, 1),
    "atomics and a read": ("red.global.gpu.add.u32 [%rd1], 1;\nld.global.u32 %r11, [%rd1];", ONE_BLOCK, 0, 2),
    "atomics before a barrier": (
        "red.global.gpu.add.u32 [%rd1], 1;\nbar.sync 0;\nld.global.u32 %r11, [%rd1];",
        ONE_BLOCK,
        2,
        2,
    ),
    "barrier in another block": (
        "red.global.gpu.add.u32 [%rd1], 1;\nbar.sync 0;\nld.global.u32 %r11, [%rd1];",
        ONE_DIMENSION,
        0,
        2,
    ),
    "tile": (OWN_TILE + WRITE_READ, ONE_BLOCK, 2, 2),
    "tile without barrier": (OWN_TILE + WRITE_READ.replace("bar.sync 0;", ""), ONE_BLOCK, 0, 2),
    "warp barrier": (OWN_TILE + WRITE_READ.replace("bar.sync 0;", "bar.warp.sync -1;"), ONE_BLOCK, 0, 2),
    "barrier of some": (OWN_TILE + WRITE_READ.replace("bar.sync 0;", "bar.sync 0, 32;"), ONE_BLOCK, 0, 2),
    "barrier of some as well": (OWN_TILE + "bar.sync 0, 32;\n" + WRITE_READ, ONE_BLOCK, 0, 2),
    "other barrier of some as well": (OWN_TILE + "bar.sync 1, 32;\n" + WRITE_READ, ONE_BLOCK, 2, 2),
    "barrier of unknown number as well": (OWN_TILE + "bar.sync %r12;\n" + WRITE_READ, ONE_BLOCK, 0, 2),
    "tile by a widened address": (
        "mov.u32 %r6, tile;\nshl.b32 %r7, %r1, 2;\nadd.u32 %r6, %r6, %r7;\ncvt.u64.u32 %rd5, %r6;\n" + WRITE_READ,
        ONE_BLOCK,
        2,
        2,
    ),
    "guarded barrier": (
        "setp.lt.s32 %p1, %r1, 32;\n" + OWN_TILE + WRITE_READ.replace("bar.sync", "@%p1 bar.sync"),
        ONE_BLOCK,
        0,
        2,
    ),
    "barrier in a branch": (
        "setp.lt.s32 %p1, %r1, 32;\n"
        + OWN_TILE
        + WRITE_READ.replace("bar.sync 0;", "@%p1 bra OVER;\nbar.sync 0;\nOVER:"),
        ONE_BLOCK,
        0,
        2,
    ),
    "barrier in a branch that all take": (
        "setp.lt.s32 %p1, %r9, 32;\n"
        + OWN_TILE
        + WRITE_READ.replace("bar.sync 0;", "@%p1 bra OVER;\nbar.sync 0;\nOVER:"),
        ONE_BLOCK,
        2,
        2,
    ),
    "some exit before the barrier": (
        "setp.lt.s32 %p1, %r1, 32;\n" + OWN_TILE + WRITE_READ.replace("bar.sync", "@%p1 ret;\nbar.sync"),
        ONE_BLOCK,
        0,
        2,
    ),
    "some trap before the barrier": (
        "setp.lt.s32 %p1, %r1, 32;\n" + OWN_TILE + WRITE_READ.replace("bar.sync", "@%p1 trap;\nbar.sync"),
        ONE_BLOCK,
        0,
        2,
    ),
    "branch on a vote": (
        "setp.lt.s32 %p1, %r1, 3;\nvote.sync.any.pred %p2, %p1, -1;\n"
        + OWN_TILE
        + WRITE_READ.replace("bar.sync 0;", "@%p2 bra OVER;\nbar.sync 0;\nOVER:"),
        ONE_BLOCK,
        0,
        2,
    ),
    "tile in a loop": (LOOP.format(body=WRITE_READ + "bar.sync 0;"), ONE_BLOCK, 2, 2),
    "tile in a loop, one barrier": (LOOP.format(body=WRITE_READ), ONE_BLOCK, 0, 2),
    "reduction": (REDUCE.format(first=32, compare="ge", barrier="bar.sync 0;"), ONE_BLOCK, 3, 3),
    "reduction without barrier": (REDUCE.format(first=32, compare="ge", barrier=""), ONE_BLOCK, 0, 3),
    "reduction of one too many": (REDUCE.format(first=32, compare="gt", barrier="bar.sync 0;"), ONE_BLOCK, 0, 3),
    "reduction by the thread's own step": (
        REDUCE.format(first="%r1", compare="ge", barrier="bar.sync 0;"),
        ONE_BLOCK,
        0,
        3,
    ),
    "grid stride": (STRIDED.format(step=96), ONE_DIMENSION, 1, 1),
    "grid stride, rotated loop": (ROTATED.format(limit=1000), ONE_DIMENSION, 1, 1),
    "rotated loop past the end": (ROTATED.format(limit=1100), ONE_DIMENSION, 0, 1),
    "stride too short": (STRIDED.format(step=95), ONE_DIMENSION, 0, 1),
    "stride of the block": (STRIDED.format(step=32), ONE_DIMENSION, 0, 1),
    "value of the iteration before": (STALE.format(carried="%r14"), ONE_BLOCK, 1, 2),
    "no value of the iteration before": (STALE.format(carried="0"), ONE_BLOCK, 1, 2),
    "asynchronous copy": (
        MINE + "st.global.u32 [%rd4], %r1;\ncp.async.ca.shared.global [%rd3], [%rd1], 4;",
        ONE_DIMENSION,
        0,
        1,
    ),
    "volatile": (MINE + "st.volatile.global.u32 [%rd4], %r1;", ONE_DIMENSION, 1, 1),
    "two sizes": (
        "red.global.gpu.add.u32 [%rd1], 1;\nred.global.gpu.add.u64 [%rd1], %rd3;",
        ONE_DIMENSION,
        0,
        2,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_is_proved(case: Case) -> None:
    body, (grid, block), expected, total = case
    launch = launch_of(kernel(body), [np.zeros(BYTES, np.uint8), np.uint32(64)], grid, block)
    read, plan = read_kernel(launch.kernel.ptx, "k")
    proved = prove(read, plan, Shape.of(launch))
    assert (len(proved), len(plan.access)) == (expected, total)


def test_pointers_into_one_buffer() -> None:
    """Two parameters that point into one buffer are one object."""
    body = (
        MINE + "ld.param.u64 %rd6, [p1];\nadd.s64 %rd7, %rd6, %rd2;\n"
        "st.global.u32 [%rd4], %r1;\nld.global.u32 %r11, [%rd7];"
    )
    ptx = module(INDEX.replace("ld.param.u32 %r9, [p1];", "") + body + "\nret;", ["u64", "u64"], TILE)
    for offset, expected in ((0, 2), (4, 0), (384, 2)):
        launch = launch_of(ptx, [np.zeros(BYTES, np.uint8)], *ONE_DIMENSION)
        first = launch.params[0]
        second = replace(first, pointers=(Pointer(0, 0, offset),))
        shape = replace(Shape.of(launch), params=(first, second))
        assert len(prove(*read_kernel(ptx, "k"), shape)) == expected


def test_unknown_functions_end_the_proof() -> None:
    call = MINE + "st.global.u32 [%rd4], %r1;\ncall.uni f;"
    for name, expected in (("f", 0), ("vprintf", 1)):
        text = kernel(call.replace("f;", f"{name};")).replace(
            ".visible .entry", f".extern .func {name};\n.visible .entry"
        )
        launch = launch_of(text, [np.zeros(BYTES, np.uint8), np.uint32(64)], *ONE_DIMENSION)
        assert len(prove(*read_kernel(text, "k"), Shape.of(launch))) == expected


def test_hirace_conventions_are_not_proved_away() -> None:
    memory = np.zeros(BYTES, np.uint8)
    for mode, expected in (("exact", 1), ("hirace", 0)):
        text = kernel(MINE + "st.global.u32 [%rd4], %r1;")
        outcome = check_ptx(text, memory, np.uint32(1), block=(32, 1, 1), options=Options(mode=mode))  # type: ignore[arg-type]  # a loop over literals
        assert outcome.statistics["proved_sites"] == expected


def accesses(body: str, grid: Dim3, block: Dim3, n: int) -> tuple[Any, Any, frozenset[int]]:
    """The log of every access of an unproved run, its plan, and the sites that the proof claims."""
    launch = launch_of(kernel(body), [np.zeros(BYTES, np.uint8), np.uint32(n)], grid, block)
    program = load_program(launch.kernel.ptx, "k", "exact")
    proved = prove(program.module, program.plan, Shape.of(launch))
    device = Device(program, launch)
    words = np.arange(len(device.shadow) - 8)
    per_block = np.arange(BYTES >> program.plan.shared_shift)
    blocks = int(np.prod(grid))
    shared = np.stack([np.repeat(np.arange(blocks), len(per_block)), np.tile(per_block, blocks)], axis=1)
    watch = engine.Watch(words, np.ascontiguousarray(shared), 1 << 16)
    raw = engine.run(program, launch, device, seed=0, deadline=lambda: 20.0, watch=watch)
    assert raw.log_count <= 1 << 16
    return raw.log, program.plan, proved


def assert_claim(body: str, grid: Dim3, block: Dim3, n: int) -> frozenset[int]:
    """No granule that a proved site touches has a checked access or an unordered conflict."""
    log, plan, proved = accesses(body, grid, block, n)
    by_word: dict[tuple[int, int], set[tuple[int, int, int, int]]] = {}
    for row in log:
        word, owner = int(row[Log.WORD]), int(row[Log.BLOCK])
        key = (word, owner if word & engine.SHARED_FIELD else -1)
        entry = (int(row[Log.THREAD]), owner, int(row[Log.BARRIERS]), int(row[Log.SITE]))
        by_word.setdefault(key, set()).add(entry)
    for entries in by_word.values():
        sites = {site for *_, site in entries}
        if not sites & proved:
            continue
        assert sites <= proved, "a checked access meets a proved object"
        for a, b in itertools.combinations(entries, 2):
            assert not conflict(a, b, plan.access), (a, b)
    return proved


def conflict(a: tuple[int, int, int, int], b: tuple[int, int, int, int], access: dict[int, Access]) -> bool:
    """Whether two logged accesses (thread, block, barriers, site) are an unordered conflicting pair."""
    if a[:2] == b[:2] or (a[1] == b[1] and a[2] != b[2]):
        return False
    one, two = access[a[3]], access[b[3]]
    if one == two == Access.R:
        return False
    atomics = {one, two} <= {Access.BA, Access.GA}
    return not (atomics and (a[1] == b[1] or one == two == Access.GA))


TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}
REGISTER = {1: "%h1", 2: "%h1", 4: "%r11", 8: "%rd11"}
BENDS = (
    *("", "", "", "", "and.b32 %r6, %r6, 31;", "and.b32 %r6, %r6, 63;", "shr.u32 %r6, %r6, 1;"),
    *("rem.u32 %r6, %r6, 48;", "div.s32 %r6, %r6, 3;", "or.b32 %r6, %r6, 1;", "xor.b32 %r6, %r6, 1;"),
    *("min.s32 %r6, %r6, 20;", "max.s32 %r6, %r6, 5;", "mul.lo.u32 %r6, %r6, 1073741825;"),
    *("mul.lo.u32 %r6, %r6, 134217728;\nshr.u32 %r6, %r6, 27;", "sub.s32 %r6, 40, %r6;"),
    *("sub.s32 %r6, %r6, 16;\nsetp.lt.s32 %p2, %r6, 0;\nadd.s32 %r7, %r6, 64;\nselp.b32 %r6, %r7, %r6, %p2;",),
    *("shl.b32 %r7, %r6, 3;\nand.b32 %r8, %r6, 7;\nadd.s32 %r6, %r7, %r8;", "and.b32 %r6, %r6, -2;"),
)
GUARDS = (
    *("", "", "setp.lt.s32 %p1, %r6, %r9;", "setp.lt.u32 %p1, %r6, %r9;", "setp.eq.s32 %p1, %r1, 0;"),
    *(
        "setp.ge.s32 %p1, %r1, 16;",
        "setp.eq.s32 %p1, %r5, 3;",
        "setp.lt.s32 %p1, %r1, 16;",
        "setp.ne.s32 %p1, %r2, 0;",
    ),
    *("setp.gt.u32 %p1, %r9, %r6;", "setp.le.s32 %p1, %r6, 30;\nsetp.ge.and.s32 %p1, %r6, 2, %p1;"),
)
WIDEN = ("s32", "s32", "u32")
SPACES = ("global", "shared", "generic global")


@dataclass(frozen=True)
class Phase:
    """One access: element x * tid.x + y * tid.y + b * ctaid.x + start, bent and guarded, in a loop or not."""

    space: str
    kind: str
    x: int
    y: int
    b: int
    start: int
    size: int
    stride: int
    bend: str
    guard: str
    widen: str
    loop: tuple[int, int] | None
    barrier: str

    def text(self, number: int) -> str:
        """PTX of the phase."""
        base = "%rd3" if self.space == "shared" else "%rd1"
        space = "" if self.space.startswith("generic") else f".{self.space}"
        register = REGISTER[self.size]
        operation = {
            "read": f"ld{space}.{TYPES[self.size]} {register}, [%rd5];",
            "write": f"st{space}.{TYPES[self.size]} [%rd5], {register};",
            "add": f"red{space}.gpu.add.u32 [%rd5], %r11;",
            "block add": f"red{space}.cta.add.u32 [%rd5], %r11;",
        }[self.kind if self.size == 4 or "add" not in self.kind else "read"]
        lines = [
            f"mul.lo.s32 %r6, %r1, {self.x};",
            f"mad.lo.s32 %r6, %r2, {self.y}, %r6;",
            f"mad.lo.s32 %r6, %r3, {self.b}, %r6;",
            f"add.s32 %r6, %r6, {self.start};",
        ]
        if self.loop is not None:
            lines += ["mov.u32 %r12, 0;", f"LOOP{number}:"]
        lines += [
            *("mov.u32 %r13, %r6;", self.bend, self.guard),
            f"mul.wide.{self.widen} %rd5, %r6, {self.stride};",
            f"add.s64 %rd5, {base}, %rd5;",
            f"@%p1 {operation}" if self.guard else operation,
        ]
        if self.loop is not None:
            step, times = self.loop
            lines += [
                *(self.barrier, f"add.s32 %r6, %r13, {step};", "add.s32 %r12, %r12, 1;"),
                f"setp.ne.s32 %p3, %r12, {times};",
                f"@%p3 bra LOOP{number};",
            ]
        return "\n".join(line for line in [*lines, self.barrier] if line)


strides = st.sampled_from([(4, 4), (4, 4), (4, 8), (8, 8), (8, 4), (1, 1), (2, 2), (2, 4), (1, 4), (4, 1)])
phases = strides.flatmap(
    lambda pair: st.builds(
        Phase,
        space=st.sampled_from(SPACES),
        kind=st.sampled_from(["read", "read", "write", "write", "add", "block add"]),
        x=st.sampled_from([1, 1, 1, 2, 0, -1, 3]),
        y=st.sampled_from([32, 32, 31, 33, 1, 0, 64]),
        b=st.sampled_from([32, 64, 64, 63, 65, 0, 1]),
        start=st.sampled_from([0, 0, 1, 2, 31, 32, 40]),
        size=st.just(pair[0]),
        stride=st.just(pair[1]),
        bend=st.sampled_from(BENDS),
        guard=st.sampled_from(GUARDS),
        widen=st.sampled_from(WIDEN),
        loop=st.sampled_from([None, None, None, (192, 2), (32, 3), (1, 3), (64, 2), (96, 1)]),
        barrier=st.sampled_from(["", "bar.sync 0;", "bar.sync 0;", "bar.warp.sync -1;"]),
    )
)
shapes = st.sampled_from(
    [((3, 1, 1), (32, 1, 1)), ((2, 1, 1), (32, 2, 1)), ((1, 1, 1), (33, 2, 1)), ((2, 1, 1), (64, 1, 1))]
)


@settings(max_examples=25, deadline=None)
@given(st.lists(phases, min_size=1, max_size=3), shapes, st.sampled_from([64, 30, 100]))
def test_proved_sites_never_conflict(made: list[Phase], shape: tuple[Dim3, Dim3], n: int) -> None:
    assert_claim("\n".join(phase.text(k) for k, phase in enumerate(made)), *shape, n)


@settings(max_examples=10, deadline=None)
@given(st.lists(phases, min_size=1, max_size=3), shapes, st.sampled_from([64, 30, 100]))
def test_findings_are_the_same_without_the_proof(made: list[Phase], shape: tuple[Dim3, Dim3], n: int) -> None:
    ptx = kernel("\n".join(phase.text(k) for k, phase in enumerate(made)))
    found = []
    for proving in (True, False):
        memory = np.zeros(BYTES, np.uint8)
        outcome = check_ptx(
            ptx, memory, np.uint32(n), grid=shape[0], block=shape[1], options=Options(prove=proving)
        )
        found.append((line_pairs(outcome), rules(outcome), outcome.reasons))
    assert found[0] == found[1]


@pytest.mark.slow
@settings(max_examples=1500, deadline=None)
@given(st.lists(phases, min_size=1, max_size=4), shapes, st.sampled_from([64, 30, 100]))
def test_thousands_of_proved_kernels(made: list[Phase], shape: tuple[Dim3, Dim3], n: int) -> None:
    assert_claim("\n".join(phase.text(k) for k, phase in enumerate(made)), *shape, n)
