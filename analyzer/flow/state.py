"""The values of the interpretation: memory, pointers into it, and the state at a point of the program.

A Base is a piece of memory that is allocated as a whole: a variable (of one call), what one allocation in one call
makes, what a pointer that comes from outside leads to. A Ptr is a place in it. Elements of arrays are not told
apart in the store, members of records are; both have a byte offset. A state maps places to values: which memory a
pointer may lead to, and which integer a variable holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from racedart.analyzer.flow.symbolic import Poly
from racedart.analyzer.source.tree import Node, Type, Variable

if TYPE_CHECKING:
    from racedart.analyzer.flow.context import Context


@dataclass(eq=False, slots=True)
class Base:
    """A piece of memory. kind: variable, heap, vector, outside, string, or unknown.

    extent: its size in bytes where it is known. defined: it has a value from the start. context: the call that it
    belongs to; None for what lives as long as the program. foreign: pointers
    in it may come from outside the program. many: one Base for several pieces (an allocation in a
    loop). handle: for memory outside, the place that holds the pointer to it.
    """

    kind: str
    name: str
    type: Type | None
    context: Context | None = None
    variable: Variable | None = None
    origin: Node | None = None
    extent: Poly | None = None
    defined: bool = False
    many: bool = False
    foreign: bool = False
    handle: Loc | None = None

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"


class Loc(NamedTuple):
    """A place as the store knows it: members of records are told apart, elements of arrays are not."""

    base: Base
    path: tuple[str, ...] = ()


class Ptr(NamedTuple):
    """A pointer value: a place, its byte offset in the base (None: unknown); weak: it stands for many places."""

    base: Base
    path: tuple[str, ...]
    offset: Poly | None
    weak: bool = False

    @property
    def loc(self) -> Loc:
        """The place without its offset."""
        return Loc(self.base, self.path)


class Value(NamedTuple):
    """What an expression evaluates to: pointers, or an integer (None: not known, or not an integer)."""

    ptrs: frozenset[Ptr] = frozenset()
    number: Poly | None = None


NOTHING = Value()


@dataclass(slots=True)
class State:
    """Values by place, and the elements that were surely written since the last kernel."""

    store: dict[Loc, Value] = field(default_factory=dict)
    fresh: frozenset[tuple[Loc, Poly]] = frozenset()

    def copy(self) -> State:
        """An independent copy."""
        return State(dict(self.store), self.fresh)


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One access to memory in the course of a node.

    low: byte offset in the base of the first byte, None where not known; size: bytes, None where not known.
    certain: a write to one place and no other. exposed: a read of what the same side did not write just before.
    sites: the expression, and the calls that lead to it from the node, innermost first. implicit:
    made by a clause and not by an expression.
    """

    base: Base
    path: tuple[str, ...]
    low: Poly | None
    size: Poly | None
    write: bool
    certain: bool
    device: bool
    exposed: bool
    sites: tuple[Node, ...]
    implicit: bool = False

    @property
    def ast(self) -> Node:
        """The expression that makes the access."""
        return self.sites[0]


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """The end of memory: free, delete."""

    base: Base
    ast: Node


@dataclass(frozen=True, slots=True, eq=False)
class Birth:
    """The start of memory: an allocation, or a declaration that is reached. It has no value yet."""

    base: Base
    ast: Node
