"""The control-flow graph of a PTX function and the registers live at its instructions.

Definition: a basic block is a maximal run of statements entered at its first and left at its last; an
edge (a, b) stands when b can run right after a. A register is live before an instruction if some path
from there reads it before an unguarded write. Unstructured jumps, indirect branches and several exits
are handled. Code that no path from the entry reaches is kept out of the graph.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import networkx as nx
from racedart.finding.errors import InputError
from racedart.shadow.ptx.model import (
    DISCARD,
    Address,
    Arguments,
    BranchTargets,
    Function,
    Instruction,
    Label,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Symbol,
    Vector,
)

NO_DESTINATION = frozenset(
    {
        *("st", "red", "bra", "brx", "bar", "barrier", "membar", "fence", "ret", "exit", "trap", "brkpt"),
        *("call", "prefetch", "prefetchu", "nanosleep", "cp", "pmevent", "stackrestore", "discard"),
        *("applypriority", "griddepcontrol", "wgmma", "setmaxnreg", "multimem", "tcgen05", "mbarrier"),
        *("sust", "sured"),
    }
)
"""Opcodes whose first operand is not written; `bar.red` and some mbarrier forms are treated apart."""


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions index..end (exclusive) of `Graph.instructions`; labels that name its start."""

    index: int
    start: int
    end: int
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Graph:
    """instructions: of the body in order. edges: a networkx DiGraph over block indices, from 0."""

    instructions: tuple[Instruction, ...]
    blocks: tuple[Block, ...]
    edges: nx.DiGraph
    block_of_label: dict[str, int]
    targets: dict[str, tuple[str, ...]]

    @cached_property
    def back_edges(self) -> frozenset[tuple[int, int]]:
        """Edges whose removal leaves no cycle: those that a depth-first search meets upwards."""
        found: set[tuple[int, int]] = set()
        state: dict[int, int] = {}
        for root in self.edges:
            if root in state:
                continue
            stack: list[tuple[int, Iterator[int]]] = [(root, iter(self.edges.successors(root)))]
            state[root] = 1
            while stack:
                node, successors = stack[-1]
                for successor in successors:
                    if successor not in state:
                        state[successor] = 1
                        stack.append((successor, iter(self.edges.successors(successor))))
                        break
                    if state[successor] == 1:
                        found.add((node, successor))
                else:
                    state[node] = 2
                    stack.pop()
        return frozenset(found)

    @cached_property
    def block_of(self) -> dict[int, int]:
        """For each instruction that can run the index of its block."""
        return {i: k for k in self.edges for i in range(self.blocks[k].start, self.blocks[k].end)}

    def leads_to(self, a: int, b: int, stops: frozenset[int]) -> bool:
        """Whether b can run after instruction a on a path that meets none of the stops in between."""
        block_of = self.block_of
        pending = [a + 1] if a + 1 < self.blocks[block_of[a]].end else self._starts(block_of[a])
        seen: set[int] = set()
        while pending:
            i = pending.pop()
            if i in seen or i in stops:
                continue
            if i == b:
                return True
            seen.add(i)
            pending += [i + 1] if i + 1 < self.blocks[block_of[i]].end else self._starts(block_of[i])
        return False

    def _starts(self, block: int) -> list[int]:
        """First instructions of the blocks that follow."""
        found = [self.blocks[s].start for s in self.edges.successors(block)]
        return [i for i in found if i < len(self.instructions)]

    @cached_property
    def live_before(self) -> tuple[frozenset[str], ...]:
        """For each instruction the registers live before it."""
        uses = [frozenset(sources(i)) for i in self.instructions]
        kills = [frozenset(destinations(i)) if i.guard is None else frozenset() for i in self.instructions]
        block_in: dict[int, frozenset[str]] = dict.fromkeys(self.edges, frozenset())
        pending = list(self.edges)
        while pending:
            index = pending.pop()
            live = self._live_out(index, block_in)
            block = self.blocks[index]
            for i in range(block.end - 1, block.start - 1, -1):
                live = (live - kills[i]) | uses[i]
            if live != block_in[index]:
                block_in[index] = live
                pending.extend(self.edges.predecessors(index))
        before: list[frozenset[str]] = [frozenset()] * len(self.instructions)
        for index in self.edges:
            live = self._live_out(index, block_in)
            block = self.blocks[index]
            for i in range(block.end - 1, block.start - 1, -1):
                live = (live - kills[i]) | uses[i]
                before[i] = live
        return tuple(before)

    def _live_out(self, index: int, block_in: dict[int, frozenset[str]]) -> frozenset[str]:
        return frozenset().union(*(block_in[s] for s in self.edges.successors(index)))


def control_flow(function: Function) -> Graph:
    """Build the graph of a function that has a body.

    Raises InputError at a branch to a label that the function does not define.
    """
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    targets: dict[str, tuple[str, ...]] = {}
    for statement in function.body or ():
        match statement:
            case Label(name):
                labels[name] = len(instructions)
            case BranchTargets(name, names):
                targets[name] = names
            case Instruction():
                instructions.append(statement)
    starts = {0, *(position for position in labels.values() if position < len(instructions))}
    starts |= {i + 1 for i, instruction in enumerate(instructions[:-1]) if _ends_block(instruction)}
    bounds = [*sorted(starts), len(instructions)] if instructions else [0, 0]
    names_at: dict[int, list[str]] = {}
    for name, position in labels.items():
        names_at.setdefault(position, []).append(name)
    blocks = [
        Block(k, start, end, tuple(names_at.get(start, ())))
        for k, (start, end) in enumerate(itertools.pairwise(bounds))
    ]
    # A label after the last instruction names the fall out of the body, which returns.
    end_block = len(blocks)
    blocks.append(
        Block(end_block, len(instructions), len(instructions), tuple(names_at.get(len(instructions), ())))
    )
    block_of_label = {name: block.index for block in blocks for name in block.labels}

    edges = nx.DiGraph()
    edges.add_node(0)
    pending, seen = [0], {0}
    while pending:
        block = blocks[pending.pop()]
        for successor in _successors(block, instructions, block_of_label, targets):
            edges.add_edge(block.index, successor)
            if successor not in seen:
                seen.add(successor)
                pending.append(successor)
    return Graph(tuple(instructions), tuple(blocks), edges, block_of_label, targets)


def _ends_block(instruction: Instruction) -> bool:
    return instruction.opcode in {"bra", "brx", "ret", "exit", "trap"}


def _successors(
    block: Block,
    instructions: list[Instruction],
    block_of_label: dict[str, int],
    targets: dict[str, tuple[str, ...]],
) -> list[int]:
    if block.start == block.end == len(instructions):
        return []
    last = instructions[block.end - 1]
    found: list[int] = []
    names: tuple[str, ...] = ()
    if last.opcode == "bra":
        names = tuple(o.name for o in last.operands if isinstance(o, Symbol))
        if len(names) != 1:
            raise InputError(f"PTX line {last.ptx_line}: a branch needs one label")
    elif last.opcode == "brx":
        names = next((targets.get(o.name, ()) for o in last.operands if isinstance(o, Symbol)), ())
    for name in names:
        if name not in block_of_label:
            raise InputError(f"PTX line {last.ptx_line}: branch to the label {name!r}, which is not defined")
        found.append(block_of_label[name])
    if not _ends_block(last) or last.guard is not None:
        found.append(block.index + 1)
    return found


def destination_count(instruction: Instruction) -> int:
    """How many leading operands the instruction writes (0 or 1; a Pair or Vector counts as one)."""
    if instruction.opcode in {"bar", "barrier"}:
        return int(instruction.has("red"))
    if instruction.opcode == "mbarrier":
        return int(instruction.has("arrive", "arrive_drop", "test_wait", "try_wait", "pending_count"))
    return 0 if instruction.opcode in NO_DESTINATION else 1


def destinations(instruction: Instruction) -> Iterator[str]:
    """Registers that the instruction writes."""
    if instruction.opcode == "call":
        lists = [o for o in instruction.operands if isinstance(o, Arguments)]
        if len(lists) >= 2 or (lists and instruction.operands[0] is lists[0]):
            yield from _registers(lists[0])
        return
    for operand in instruction.operands[: destination_count(instruction)]:
        yield from _registers(operand)


def sources(instruction: Instruction) -> Iterator[str]:
    """Registers that the instruction reads, its guard included."""
    if instruction.guard is not None:
        yield instruction.guard.register.name
    skip = destination_count(instruction)
    if instruction.opcode == "call" and instruction.operands and isinstance(instruction.operands[0], Arguments):
        skip = 1
    for operand in instruction.operands[skip:]:
        yield from _registers(operand)


def _registers(operand: Operand) -> Iterator[str]:
    match operand:
        case Register() if operand != DISCARD:
            yield operand.name
        case Negated(register) | Selected(register):
            yield register.name
        case Address(Register(name), _):
            yield name
        case Vector(elements) | Arguments(elements):
            for element in elements:
                yield from _registers(element)
        case Pair(first, second):
            yield from _registers(first)
            yield from _registers(second)
