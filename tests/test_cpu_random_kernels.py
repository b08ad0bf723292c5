"""Random kernels: memory against a direct evaluation, and race findings against brute force.

A kernel is a sequence of steps; in each step the threads that a predicate selects access an element that
an affine function of their index chooses, and between steps may stand a barrier. Both predictions use
nothing of racedart: results come from running the steps in order (in kernels without races any order
gives the same), races from comparing every two accesses.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_kernels import check_ptx, line_pairs, module
from racedart.shadow.outcome import Options

ELEMENTS = 8
KINDS = ("read", "write", "block atomic", "device atomic")
TEXT = {
    "read": "ld.{space}.u32 %r12, [{address}]; ",
    "write": "st.{space}.u32 [{address}], %r11; ",
    "block atomic": "red.{space}.cta.add.u32 [{address}], %r11; ",
    "device atomic": "red.{space}.gpu.add.u32 [{address}], %r11; ",
}


@dataclass(frozen=True)
class Step:
    """Threads with lowest <= index % modulus < highest access element (scale * index + start) % ELEMENTS."""

    kind: str
    shared: bool
    modulus: int
    lowest: int
    highest: int
    scale: int
    start: int
    barrier: str

    def element(self, thread: int) -> int | None:
        inside = self.lowest <= thread % self.modulus < self.highest
        return (self.scale * thread + self.start) % ELEMENTS if inside else None

    def text(self) -> list[str]:
        space = "shared" if self.shared else "global"
        base, address = ("%rd3", "%rd5") if self.shared else ("%rd1", "%rd5")
        return [
            f"rem.u32 %r5, %r4, {self.modulus};",
            f"setp.ge.u32 %p1, %r5, {self.lowest};",
            f"setp.lt.and.u32 %p1, %r5, {self.highest}, %p1;",
            f"mad.lo.u32 %r6, %r4, {self.scale}, {self.start};",
            f"and.b32 %r6, %r6, {ELEMENTS - 1};",
            f"mad.wide.u32 {address}, %r6, 4, {base};",
            "add.u32 %r11, %r4, 1;",
            f"@%p1 {TEXT[self.kind].format(space=space, address=address)}",
            self.barrier,
        ]


steps = st.builds(
    Step,
    kind=st.sampled_from(KINDS),
    shared=st.booleans(),
    modulus=st.sampled_from([1, 2, 3, 8, 33, 64]),
    lowest=st.integers(0, 3),
    highest=st.integers(1, 40),
    scale=st.integers(0, 3),
    start=st.integers(0, 7),
    barrier=st.sampled_from(["", "bar.sync 0;", "bar.warp.sync -1;"]),
)


def kernel(program: list[Step]) -> tuple[str, list[int]]:
    """The PTX, and the line of each step's access."""
    lines = [
        "ld.param.u64 %rd1, [p0];",
        "mov.u32 %r1, %tid.x;",
        "mov.u32 %r2, %ctaid.x;",
        "mov.u32 %r3, %ntid.x;",
        "mad.lo.u32 %r4, %r2, %r3, %r1;",
        "mov.u64 %rd3, tile;",
    ]
    places = []
    for step in program:
        lines += step.text()
        places.append(len(lines) - 1)
    return module("\n".join([*lines, "ret;"]), ["u64"], ".shared .align 4 .b8 tile[32];"), places


@dataclass(frozen=True)
class Made:
    """An access as brute force sees it. memory: block (-1 for global memory) and element."""

    memory: tuple[int, int]
    thread: int
    block: int
    warp: int
    barriers: int
    syncs: int
    kind: str
    line: int


def brute_force(program: list[Step], places: list[int], blocks: int, threads: int) -> set[tuple[int, int]]:
    """Line pairs of unordered conflicting accesses of different threads."""
    accesses: dict[tuple[int, int], list[Made]] = {}
    for thread in range(blocks * threads):
        block, warp = thread // threads, thread % threads // 32
        barriers = syncs = 0
        for step, line in zip(program, places, strict=True):
            element = step.element(thread)
            if element is not None:
                memory = (block if step.shared else -1, element)
                made = Made(memory, thread, block, warp, barriers, syncs, step.kind, line)
                accesses.setdefault(memory, []).append(made)
            barriers += step.barrier == "bar.sync 0;"
            syncs += step.barrier == "bar.warp.sync -1;"
    return {
        (min(a.line, b.line), max(a.line, b.line))
        for group in accesses.values()
        for a, b in itertools.combinations(group, 2)
        if races(a, b)
    }


def races(a: Made, b: Made) -> bool:
    if a.thread == b.thread or a.kind == b.kind == "read":
        return False
    atomics = a.kind.endswith("atomic") and b.kind.endswith("atomic")
    if atomics and (a.block == b.block or a.kind == b.kind == "device atomic"):
        return False
    if a.block != b.block:
        return True
    return a.barriers == b.barriers and not (a.warp == b.warp and a.syncs != b.syncs)


def evaluated(program: list[Step], blocks: int, threads: int) -> list[int]:
    """Global memory after the steps, all threads of a step before the next."""
    memory = [0] * ELEMENTS
    for step in program:
        for thread in range(blocks * threads):
            element = step.element(thread)
            if element is not None and not step.shared:
                if step.kind == "write":
                    memory[element] = thread + 1
                elif step.kind != "read":
                    memory[element] += thread + 1
    return memory


def compare(program: list[Step], blocks: int, threads: int, seed: int) -> None:
    ptx, places = kernel(program)
    memory = np.zeros(ELEMENTS, np.uint32)
    outcome = check_ptx(ptx, memory, grid=(blocks, 1, 1), block=(threads, 1, 1), options=Options(seed=seed))
    assert not outcome.reasons
    expected = brute_force(program, places, blocks, threads)
    assert {(a, b) for _, a, b in line_pairs(outcome)} == expected
    if not expected:
        assert memory.tolist() == evaluated(program, blocks, threads)


launches = st.sampled_from([(1, 2), (1, 40), (1, 64), (2, 33), (3, 64), (2, 7)])


@settings(max_examples=60, deadline=None)
@given(st.lists(steps, min_size=1, max_size=5), launches, st.integers(0, 3))
def test_random_kernels(program: list[Step], shape: tuple[int, int], seed: int) -> None:
    compare(program, *shape, seed)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(st.lists(steps, min_size=1, max_size=8), launches, st.integers(0, 5))
def test_a_thousand_random_kernels(program: list[Step], shape: tuple[int, int], seed: int) -> None:
    compare(program, *shape, seed)
