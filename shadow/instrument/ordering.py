"""Which instructions can run in the same barrier interval of a block: uniform control flow and collective barriers.

Definitions. A register is uniform if at every execution of its definitions by the threads of a block, in order,
they all write the same value. A basic block is uniform if the threads of a thread block execute it equally
often, in the same order among the uniform blocks: no branch on a value that is not uniform decides, directly
or through other branches, whether it runs (iterated control dependence, Ferrante, Ottenstein and Warren 1987).
Both are computed together as the least set of divergent registers and blocks (Karrenberg and Hack 2012, without
their refinements: every definition in a divergent block is divergent).

If every barrier of the whole block stands in a uniform block and runs unguarded, then all threads of a block
go through one sequence of barriers, each at the same instruction, and two accesses can only be unordered if
both are reachable from the entry or from one barrier without meeting a barrier on the way. If some barrier does
not, nothing is ordered; nor if a barrier of some threads, or one whose number is not known, may be taken for one
of the whole block. Barriers of some threads or of a warp order nothing here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

import networkx as nx
from racedart.shadow.ptx.cfg import Graph, destinations, sources
from racedart.shadow.ptx.model import Immediate, Instruction

_EXIT = -1
_LEAVING = frozenset({"bra", "brx", "ret", "exit", "trap"})
_UNIFORM_SPECIALS = ("%ctaid.", "%ntid.", "%nctaid.", "%gridid")
_DIVERGENT = frozenset(
    {"ld", "ldu", "atom", "shfl", "vote", "match", "activemask", "redux", "bar", "barrier", "call", "tex", "elect"}
)
"""Opcodes whose result can differ between threads though their operands do not."""


def is_block_barrier(instruction: Instruction) -> bool:
    """Whether all threads of the block meet here: `bar.sync 0` and its kin, without a number of threads."""
    if instruction.opcode not in {"bar", "barrier"} or instruction.has("warp", "arrive", "cluster"):
        return False
    # bar.red has a destination in front and a predicate behind.
    operands = instruction.operands[1:-1] if instruction.has("red") else instruction.operands
    return len(operands) == 1 and isinstance(operands[0], Immediate)


def _takes_barrier(instruction: Instruction) -> bool:
    return instruction.opcode in {"bar", "barrier"} and not instruction.has("warp", "cluster")


def _number(instruction: Instruction) -> int | None:
    """The number of the barrier that an instruction is at, None where it is not known."""
    operand = instruction.operands[1 if instruction.has("red") else 0]
    return operand.value if isinstance(operand, Immediate) else None


@dataclass(frozen=True)
class Ordering:
    """Barrier intervals of a kernel. divergent_blocks and divergent_registers: as the module defines."""

    graph: Graph
    divergent_blocks: frozenset[int]
    divergent_registers: frozenset[str]

    @cached_property
    def barriers(self) -> frozenset[int] | None:
        """The barriers of the whole block; None if not all threads meet at each of them."""
        instructions = self.graph.instructions
        found = {i for i in self.graph.block_of if is_block_barrier(instructions[i])}
        numbers = {_number(instructions[i]) for i in found}
        for i in self.graph.block_of:
            # Threads that wait at one barrier meet, whichever instructions they wait at.
            if i not in found and _takes_barrier(instructions[i]) and _number(instructions[i]) in {None, *numbers}:
                return None
        for i in found:
            if self.graph.instructions[i].guard is not None or self.graph.block_of[i] in self.divergent_blocks:
                return None
        return frozenset(found)

    @cached_property
    def intervals(self) -> tuple[frozenset[int], ...]:
        """For the entry and each barrier the instructions that can run before the next barrier."""
        if self.barriers is None:
            return (frozenset(self.graph.block_of),)
        return tuple(self._reached(start, self.barriers) for start in self._starts)

    def concurrent(self, a: int, b: int) -> bool:
        """Whether two instructions can run in one interval."""
        return any(a in interval and b in interval for interval in self.intervals)

    def same_pass(self, header: int, a: int, b: int) -> bool:
        """Whether the last execution of a block is the same one for threads at a and b, in any one interval.

        True only for a uniform block that runs at most once in an interval.
        """
        if self.barriers is None or header in self.divergent_blocks:
            return False
        entry = self.graph.blocks[header].start
        after = self._reached(entry, self.barriers)
        if entry in after:
            return False
        after |= {entry}
        for start, interval in zip(self._starts, self.intervals, strict=True):
            if a in interval and b in interval and entry in interval:
                before = self._reached(start, self.barriers | {entry}) - {entry}
                if (a in after or b in after) and (a in before or b in before):
                    return False
        return True

    def same_count(self, header: int) -> bool:
        """Whether a loop's header is reached along the same edges by all threads of a block."""
        ways = (header, *self.graph.edges.predecessors(header))
        return not any(block in self.divergent_blocks or self._parts(block) for block in ways)

    def _parts(self, block: int) -> bool:
        """Whether threads can leave a uniform block on different ways."""
        return any(
            i.opcode == "brx" or (i.guard is not None and i.guard.register.name in self.divergent_registers)
            for i in instructions_of(self.graph, block)
            if i.opcode in _LEAVING
        )

    @property
    def _starts(self) -> tuple[int, ...]:
        return (_EXIT, *sorted(self.barriers or ()))

    def _reached(self, start: int, stops: frozenset[int]) -> frozenset[int]:
        """Instructions that can run after one (-1: after the entry) before a stop; stops that are met included."""
        graph = self.graph
        pending = [0] if start == _EXIT else self._next(start)
        seen: set[int] = set()
        while pending:
            i = pending.pop()
            if i in seen or i >= len(graph.instructions):
                continue
            seen.add(i)
            if i not in stops:
                pending += self._next(i)
        return frozenset(seen)

    def _next(self, i: int) -> list[int]:
        block = self.graph.block_of[i]
        if i + 1 < self.graph.blocks[block].end:
            return [i + 1]
        found: list[int] = []
        for successor in self.graph.edges.successors(block):
            start = self.graph.blocks[successor].start
            if start < len(self.graph.instructions):
                found.append(start)
        return found


def ordering_of(graph: Graph, declared: Collection[str]) -> Ordering:
    """The barrier intervals of a kernel; declared: its registers, other than special ones."""
    controls = _controls(graph)
    if controls is None:
        return Ordering(graph, frozenset(graph.edges), frozenset(declared))
    divergence = _Divergence(graph, frozenset(declared), controls)
    while divergence.grows():
        pass
    return Ordering(graph, frozenset(divergence.blocks), frozenset(divergence.registers))


@dataclass
class _Divergence:
    graph: Graph
    declared: frozenset[str]
    controls: dict[int, set[int]]
    registers: set[str] = field(default_factory=set)
    blocks: set[int] = field(default_factory=set)

    def grows(self) -> bool:
        """One pass over the kernel; whether it found more."""
        before = len(self.registers) + len(self.blocks)
        for block in self.graph.edges:
            instructions = instructions_of(self.graph, block)
            for instruction in instructions:
                if block in self.blocks or self._differs(instruction):
                    self.registers.update(destinations(instruction))
            leaving = any(self._reads_divergent(i) for i in instructions if i.opcode in _LEAVING)
            if block in self.blocks or leaving:
                self.blocks |= self.controls.get(block, set())
        return len(self.registers) + len(self.blocks) > before

    def _differs(self, instruction: Instruction) -> bool:
        """Whether an instruction in a uniform block can give threads different values."""
        unlike = instruction.opcode in _DIVERGENT and not instruction.has("param")
        return unlike or self._reads_divergent(instruction)

    def _reads_divergent(self, instruction: Instruction) -> bool:
        return any(
            name in self.registers or not (name in self.declared or name.startswith(_UNIFORM_SPECIALS))
            for name in sources(instruction)
        )


def instructions_of(graph: Graph, block: int) -> tuple[Instruction, ...]:
    """The instructions of a basic block."""
    return graph.instructions[graph.blocks[block].start : graph.blocks[block].end]


def _controls(graph: Graph) -> dict[int, set[int]] | None:
    """Branching block -> the blocks of which it decides whether they run; None where some never reach an end."""
    flow = nx.DiGraph(graph.edges)
    for block in list(graph.edges):
        if _may_end(graph, block):
            flow.add_edge(block, _EXIT)
    if _EXIT not in flow:
        return None
    backwards = flow.reverse()
    if len(nx.descendants(backwards, _EXIT)) + 1 < len(flow):
        return None
    following = nx.immediate_dominators(backwards, _EXIT)
    controls: dict[int, set[int]] = {}
    for block in graph.edges:
        ways = list(flow.successors(block))
        if len(ways) < 2:
            continue
        decided: set[int] = set()
        for way in ways:
            node = way
            while node not in {following[block], _EXIT}:
                decided.add(node)
                node = following[node]
        controls[block] = decided
    return controls


def _may_end(graph: Graph, block: int) -> bool:
    ends = any(i.opcode in {"ret", "exit", "trap"} for i in instructions_of(graph, block))
    return ends or not list(graph.edges.successors(block))
