"""Grid barriers: which instructions of a kernel make one.

Source: cooperative_groups/details/sync.h of CUDA 11 to 13. `grid_group::sync` compiles to a counter in a
workspace whose address the driver leaves in %envreg1 and %envreg2: between two barriers of the block its first
thread adds to the counter (the arrival) and re-reads it until its highest bit flips (the poll). Numba calls
`cudaCGSynchronize` with a handle instead, in all threads.

A register is of the workspace if it is computed from those registers. Where one is used in any other way (stored,
passed on, as in unoptimised code), nothing is recognised, and reading the registers stays without a translation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from racedart.shadow.ptx.cfg import destinations, sources
from racedart.shadow.ptx.model import Address, Instruction, Register, Symbol

_WORKSPACE = {"%envreg1", "%envreg2"}
_COMPUTATIONS = frozenset(
    {"mov", "cvt", "cvta", "bfi", "add", "sub", "shl", "or", "setp", "selp", "mad", "mul", "and", "prmt"}
)
_FENCES = {"membar", "fence"}
_BARRIERS = {"bar", "barrier"}
SYNCHRONIZE, HANDLE = "cudaCGSynchronize", "cudaCGGetIntrinsicHandle"


@dataclass(frozen=True, slots=True)
class GridBarriers:
    """Indices of instructions.

    handles: what reads the workspace's address. arrivals: where the first thread of a block arrives for all.
    polls: what re-reads the counter. fences: those between the barriers around an arrival. calls: where every
    thread arrives for itself.
    """

    handles: frozenset[int] = frozenset()
    arrivals: frozenset[int] = frozenset()
    polls: frozenset[int] = frozenset()
    fences: frozenset[int] = frozenset()
    calls: frozenset[int] = frozenset()

    @property
    def sites(self) -> frozenset[int]:
        """Instructions that touch the counter, which is no memory of the launch."""
        return self.arrivals | self.polls

    @property
    def meets(self) -> bool:
        """Whether the blocks of the grid wait for each other."""
        return bool(self.arrivals or self.calls)


def called(instruction: Instruction) -> str:
    """Name of the function that a direct call calls, "" for any other instruction."""
    if instruction.opcode != "call":
        return ""
    return next((o.name for o in instruction.operands if isinstance(o, Symbol)), "")


def grid_barriers(instructions: Sequence[Instruction]) -> GridBarriers:
    """The grid barriers among the instructions of a kernel, in their order."""
    calls = frozenset(i for i, x in enumerate(instructions) if called(x) == SYNCHRONIZE)
    handles = frozenset(
        i
        for i, x in enumerate(instructions)
        if x.opcode == "mov" and any(isinstance(o, Register) and o.name in _WORKSPACE for o in x.operands)
    )
    found = GridBarriers(calls=calls)
    if not handles:
        return found
    derived = _derived(instructions, handles)
    arrivals: set[int] = set()
    polls: set[int] = set()
    for i, instruction in enumerate(instructions):
        if i in handles or not derived.intersection(sources(instruction)):
            continue
        address = next((o for o in instruction.operands if isinstance(o, Address)), None)
        of_workspace = address is not None and isinstance(address.base, Register) and address.base.name in derived
        if of_workspace and instruction.opcode in {"atom", "ld"}:
            (arrivals if instruction.opcode == "atom" else polls).add(i)
        elif address is not None or instruction.opcode not in _COMPUTATIONS:
            return found
    fences: set[int] = set()
    for i in arrivals:
        for step in (-1, 1):
            k = i
            while 0 <= k < len(instructions) and instructions[k].opcode not in _BARRIERS:
                if instructions[k].opcode in _FENCES:
                    fences.add(k)
                k += step
    return GridBarriers(handles, frozenset(arrivals), frozenset(polls), frozenset(fences), calls)


def _derived(instructions: Sequence[Instruction], handles: frozenset[int]) -> frozenset[str]:
    """Registers computed from what the handles write; predicates hide the address and are left out."""
    derived = {name for i in handles for name in destinations(instructions[i])}
    grown = True
    while grown:
        grown = False
        for instruction in instructions:
            if instruction.opcode not in _COMPUTATIONS or instruction.opcode in {"setp", "selp"}:
                continue
            if derived.intersection(sources(instruction)):
                new = set(destinations(instruction)) - derived
                derived |= new
                grown |= bool(new)
    return frozenset(derived)
