"""The event of a memory instruction: (opcode, semantics, scope) -> access kind and strength.

Source: PTX ISA, memory consistency model (8.3 to 8.9): weak and `.nc` operations are plain; relaxed,
acquire, release and volatile operations are strong, and two of them race only when their scopes do not
include each other or they overlap partly. `.volatile` means relaxed at system scope, but programs use it
in the pre-Volta manner between the lanes of a warp, so it is judged as a plain access and the pair is
looked at when it is explained (shadow/explain). Acquire and release order other accesses: that order is
not modelled here and is named (`orders`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from racedart.fsm import Access
from racedart.shadow.ptx.model import Address, Instruction
from racedart.shadow.ptx.types import TYPES

Space = Literal["global", "shared", "generic"]
Kind = Literal["read", "write", "atomic"]
Scope = Literal["", "cta", "cluster", "gpu", "sys"]

_SCOPES = {"cta", "cluster", "gpu", "sys"}
_STRONG = {"relaxed", "acquire", "release", "acq_rel", "volatile", "mmio"}
_ORDERING = {"acquire", "release", "acq_rel", "sc"}
_UNCHECKED = {"param", "local", "const"}


@dataclass(frozen=True, slots=True)
class Event:
    """What the checker is told of one memory instruction.

    access: the machine's event. kind: for people. size: bytes of one element; count: elements (vectors).
    scope: of a strong operation, else "". orders: it also orders other accesses (not modelled).
    """

    space: Space
    access: Access
    kind: Kind
    size: int
    count: int
    scope: Scope
    volatile: bool
    orders: bool

    @property
    def strong(self) -> bool:
        """Whether the operation is strong in the sense of the memory consistency model."""
        return self.scope != ""


def event_of(instruction: Instruction) -> Event | None:
    """The event of an instruction, None for one that touches no checked memory."""
    opcode = instruction.opcode
    if opcode not in {"ld", "st", "atom", "red", "ldu"} or instruction.has(*_UNCHECKED):
        return None
    address = address_of(instruction)
    if address is None:
        return None
    modifiers = {m.split("::")[0] for m in instruction.modifiers}
    space: Space = "global" if "global" in modifiers else "shared" if "shared" in modifiers else "generic"
    volatile = "volatile" in modifiers
    atomic = opcode in {"atom", "red"}
    strong = atomic or bool(modifiers & _STRONG)
    found = modifiers & _SCOPES
    scope = _scope(found.pop() if found else "sys" if volatile or "mmio" in modifiers else "gpu") if strong else ""
    if strong and not volatile:
        access = Access.BA if scope in {"cta", "cluster"} else Access.GA
    else:
        access = Access.R if opcode in {"ld", "ldu"} else Access.W
    kind: Kind = "atomic" if atomic else "read" if access == Access.R or opcode == "ld" else "write"
    return Event(
        space,
        access,
        kind,
        element_size(instruction),
        vector_count(instruction),
        scope,
        volatile,
        bool(modifiers & _ORDERING),
    )


def _scope(text: str) -> Scope:
    match text:
        case "cta":
            return "cta"
        case "cluster":
            return "cluster"
        case "sys":
            return "sys"
    return "gpu"


def element_size(instruction: Instruction) -> int:
    """Bytes of one element of a memory access, from the last type among the modifiers."""
    for modifier in reversed(instruction.modifiers):
        if modifier in TYPES:
            return TYPES[modifier].bytes
    return 4


def vector_count(instruction: Instruction) -> int:
    """Elements that a memory access moves: 1, or the width of its vector."""
    return next((int(m[1:]) for m in instruction.modifiers if m in {"v2", "v4", "v8"}), 1)


def address_of(instruction: Instruction) -> Address | None:
    """The address operand of a memory instruction."""
    return next((o for o in instruction.operands if isinstance(o, Address)), None)
