"""The module model: what a PTX file says, as immutable values.

Scopes inside a function body are flattened: registers and variables that an inner scope declares get
names that are unique in the function. Debug sections are dropped, except for the function names that
inlined `.loc` directives refer to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from racedart.shadow.ptx.types import Type


@dataclass(frozen=True, slots=True)
class Register:
    """A register or special register, with its sigil: `%r1`, `%tid.x`, or a user's name of inline asm."""

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant: an integer (width 0), or the bit pattern of a float of `width` 32 or 64 (0f..., 0d...)."""

    value: int
    width: int = 0

    @property
    def is_float(self) -> bool:
        """Whether the constant was written as a floating-point bit pattern."""
        return self.width != 0


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, function or label by name, with a byte offset."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`; base is a register, a symbol or an absolute address."""

    base: Register | Symbol | Immediate
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, ...}`."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """`!%p`."""

    register: Register


@dataclass(frozen=True, slots=True)
class Selected:
    """`%r1.h0`: bytes of a register, as video instructions choose them."""

    register: Register
    part: str


@dataclass(frozen=True, slots=True)
class Pair:
    """`%a|%b`: a destination with a second one; `_` stands for a discarded one."""

    first: Register
    second: Register


@dataclass(frozen=True, slots=True)
class Arguments:
    """A parenthesised list of a call."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Composite:
    """`[a, {b, c}]`: the address of a texture, surface or tensor access; kept for printing only."""

    text: str


Operand = Register | Immediate | Symbol | Address | Vector | Negated | Selected | Pair | Arguments | Composite

DISCARD = Register("_")


@dataclass(frozen=True, slots=True)
class Loc:
    """A `.loc` directive: file index, line and column, and the call it was inlined at."""

    file: int
    line: int
    column: int
    function: str = ""
    inlined_at: Loc | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """`@%p` or `@!%p`."""

    register: Register
    negated: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """opcode and modifiers without dots; ptx_line: line of the PTX text, from 1; loc: line of the source."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None = None
    loc: Loc | None = None
    ptx_line: int = 0

    @property
    def name(self) -> str:
        """The full dotted name, such as `ld.global.f32`."""
        return ".".join((self.opcode, *self.modifiers))

    def has(self, *modifiers: str) -> bool:
        """Whether one of the modifiers is present."""
        return any(m in self.modifiers for m in modifiers)


@dataclass(frozen=True, slots=True)
class Label:
    """A branch target."""

    name: str


@dataclass(frozen=True, slots=True)
class Pragma:
    """A directive of the body that orders no data (`.pragma`, `.branchtargets`, call prototypes)."""

    text: str


@dataclass(frozen=True, slots=True)
class BranchTargets:
    """`name: .branchtargets a, b;` of an indirect branch."""

    name: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallPrototype:
    """`name: .callprototype ...;` of an indirect call."""

    name: str
    text: str


Statement = Instruction | Label | Pragma | BranchTargets | CallPrototype


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared variable: space is a state space (`global`, `const`, `shared`, `local`, `param`).

    count: number of elements, 0 for an array of unspecified size. initial: numbers by element, or the
    symbols whose address stands there; empty when zero.
    """

    name: str
    space: str
    type: Type
    count: int = 1
    align: int = 0
    is_array: bool = False
    linkage: tuple[str, ...] = ()
    initial: tuple[Immediate | Symbol, ...] = ()
    attributes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.type.bytes * self.count

    @property
    def alignment(self) -> int:
        """Declared or natural alignment in bytes."""
        return self.align or self.type.bytes


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel (kind "entry") or device function (kind "func"); body is None for a declaration.

    registers: name -> type, without special registers. variables: shared, local and param variables
    declared in the body. tuning: performance and launch directives such as `.maxntid 256`.
    """

    name: str
    kind: Literal["entry", "func"]
    params: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    body: tuple[Statement, ...] | None
    registers: Mapping[str, Type]
    variables: tuple[Variable, ...]
    linkage: tuple[str, ...] = ()
    tuning: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Module:
    """A PTX module. files: `.file` index -> path."""

    version: str
    target: tuple[str, ...]
    address_size: int
    variables: tuple[Variable, ...]
    functions: Mapping[str, Function]
    files: Mapping[int, str]

    @property
    def kernels(self) -> dict[str, Function]:
        """The entry functions by PTX name."""
        return {name: f for name, f in self.functions.items() if f.kind == "entry"}
