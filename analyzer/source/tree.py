"""The syntax tree that the analyses read: plain values, free of libclang.

Defines Type, Node, Function, Field, Directed statements and Program. A Node is a statement, an expression or a
declaration as libclang names it (`CursorKind`), with three simplifications: parentheses and implicit casts are
left out, explicit casts have the one kind CAST, and the optional parts of a `for` are always present (kind ABSENT
where the source has none). Offsets are bytes of the file as it is stored; a token that a macro expands to stands
where the macro's name stands.

An OpenMP directive with a statement is the node OMP_STMT (children: the statement); a stand-alone directive is the
node OMP_ALONE, a child of the compound statement in which it stands.

Not represented: template patterns (their instantiations are), types beyond what mapping needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from racedart.analyzer.pragma import Directive


@dataclass(frozen=True, slots=True)
class Type:
    """A canonical type: kind is scalar, pointer, reference, array, record, function, or other.

    size: bytes, -1 where the language gives none. element: what is pointed to, referred to or repeated.
    count: elements of an array of constant size. const: of the object itself, not of what it points to.
    """

    kind: str
    spelling: str
    size: int = -1
    element: Type | None = None
    count: int | None = None
    const: bool = False

    @property
    def innermost(self) -> Type:
        """The element type behind all dimensions of an array; the type itself otherwise."""
        inner = self
        while inner.kind == "array" and inner.element is not None:
            inner = inner.element
        return inner


@dataclass(frozen=True, slots=True)
class Field:
    """A data member of a record: its offset is in bytes."""

    name: str
    type: Type
    offset: int


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """A statement, expression or declaration; ref is the key of what a name refers to."""

    kind: str
    type: Type
    file: str
    line: int
    column: int
    start: int
    end: int
    spelling: str = ""
    op: str = ""
    ref: str = ""
    value: int | None = None
    children: list[Node] = field(default_factory=list)
    parent: Node | None = None
    directive: Directive | None = None

    def walk(self) -> Iterator[Node]:
        """The node and everything below it, in source order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def ancestors(self) -> Iterator[Node]:
        """The nodes that enclose this one, innermost first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def holds(self, inner: Node) -> bool:
        """Whether a node is this one, or lies inside it."""
        return self is inner or any(parent is self for parent in inner.ancestors())


@dataclass(slots=True, eq=False)
class Variable:
    """A declared variable or parameter: its key is unique in the program. places: where a global is declared."""

    key: str
    name: str
    type: Type
    is_global: bool
    is_static: bool
    node: Node | None = None
    places: set[tuple[str, int]] = field(default_factory=set)


@dataclass(slots=True, eq=False, repr=False)
class Function:
    """A function; body is None where only a declaration was seen."""

    key: str
    name: str
    file: str
    line: int
    result: Type
    parameters: tuple[Variable, ...]
    body: Node | None
    is_system: bool
    is_method: bool
    is_static: bool
    record: str = ""


@dataclass(slots=True)
class SourceFile:
    """A file of the program as it is stored, with its directives in order, and the ranges that are not compiled."""

    path: str
    data: bytes
    directives: tuple[Directive, ...]
    skipped: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Program:
    """All translation units that are analysed together."""

    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    records: dict[str, tuple[Field, ...]] = field(default_factory=dict)
    files: dict[str, SourceFile] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    errors: list[tuple[str, int, int, str]] = field(default_factory=list)

    def text(self, node: Node) -> str:
        """The source text of a node; a macro is spelled as it is used."""
        return self.files[node.file].data[node.start : node.end].decode("utf-8", "replace")
