"""The values that parsing gives: a directive, its clauses, their list items and array sections.

Terms are those of OpenMP 5.2, chapter 3 (directive and construct syntax). Offsets are of bytes in the file;
a value that was made and not parsed has start = end = -1.
"""

from __future__ import annotations

from dataclasses import dataclass

from racedart.analyzer.pragma.directives import DIRECTIVES, Association, DirectiveRule


@dataclass(frozen=True, slots=True)
class Member:
    """`.name`, or `->name` if arrow."""

    name: str
    arrow: bool


@dataclass(frozen=True, slots=True)
class Section:
    """`[index]`, or `[lower : length : stride]` where a part that is not written is "".

    index: the subscript of an array element, "" for a section.
    """

    lower: str
    length: str
    stride: str
    index: str = ""

    @property
    def is_element(self) -> bool:
        """A subscript, not a section."""
        return bool(self.index)


@dataclass(frozen=True, slots=True)
class Dereference:
    """A unary `*` applied to what stands before it among the steps."""


Step = Member | Section | Dereference


@dataclass(frozen=True, slots=True)
class Item:
    """One list item. text: as written, comments and line ends as one space.

    base: the (qualified) name that the item starts from, "this" too; "" for an expression of another form, which
    has no steps. steps: from the base outwards. shape: extents of a shape-operator `([n][m])`.
    """

    text: str
    base: str
    steps: tuple[Step, ...] = ()
    shape: tuple[str, ...] = ()
    start: int = -1
    end: int = -1

    @property
    def path(self) -> tuple[str, ...]:
        """Names of the members that lead from the base to the object."""
        return tuple(step.name for step in self.steps if isinstance(step, Member))

    @property
    def sections(self) -> tuple[Section, ...]:
        """The subscripts and sections behind the last member."""
        found: list[Section] = []
        for step in self.steps:
            if isinstance(step, Section):
                found.append(step)
            else:
                found.clear()
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Modifier:
    """A modifier, map-type, reduction identifier or dependence type; argument: the text in its parentheses."""

    name: str
    argument: str | None = None

    def __str__(self) -> str:
        return self.name if self.argument is None else f"{self.name}({self.argument})"


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause. text: its source, byte for byte, decoded.

    modifiers: all that a colon sets apart, the map-type among them. items: the list, for clauses that have one.
    argument: the expression or keyword, for those that have none; None without parentheses. variant: the directive
    in a `when` or `otherwise` clause. known: the name is one of OpenMP 5.2's.
    """

    name: str
    modifiers: tuple[Modifier, ...] = ()
    items: tuple[Item, ...] = ()
    argument: str | None = None
    text: str = ""
    start: int = -1
    end: int = -1
    known: bool = True
    variant: Directive | None = None

    def modifier(self, *names: str) -> Modifier | None:
        """The first modifier of one of these names."""
        return next((modifier for modifier in self.modifiers if modifier.name in names), None)

    @property
    def map_type(self) -> str:
        """The map-type of a map clause; "tofrom" where none is written (OpenMP 5.2, 5.8.3)."""
        found = self.modifier("to", "from", "tofrom", "alloc", "release", "delete")
        return found.name if found is not None else "tofrom"


@dataclass(frozen=True, slots=True)
class Directive:
    """One directive. kind: its canonical name, e.g. "target teams distribute parallel for".

    arguments: the list behind the name, as in `flush(a, b)`; argument: its text, None without parentheses.
    start, end: the range of the whole pragma. head_end: where the name and its argument end. tail: where the last
    token ends, and a clause can be appended. raw: the source of the range, byte for byte, decoded with
    surrogateescape. known: the name is one of OpenMP 5.2's; an unknown directive has no clauses, and passes
    through. operator: written as `_Pragma("...")`.
    """

    kind: str
    clauses: tuple[Clause, ...] = ()
    arguments: tuple[Item, ...] = ()
    argument: str | None = None
    start: int = -1
    end: int = -1
    head_end: int = -1
    tail: int = -1
    raw: str = ""
    known: bool = True
    operator: bool = False

    @property
    def rule(self) -> DirectiveRule | None:
        """The entry of the grammar."""
        return DIRECTIVES.get(self.kind)

    @property
    def leaves(self) -> tuple[str, ...]:
        """The constructs that a combined or composite one consists of, outermost first."""
        rule = self.rule
        return rule.leaves if rule is not None else ()

    @property
    def association(self) -> Association:
        """What the directive governs."""
        rule = self.rule
        if rule is None:
            return Association.NONE
        names = {clause.name for clause in self.clauses}
        if self.kind == "ordered" and names & {"depend", "doacross"}:
            return Association.NONE
        if self.kind == "declare target" and (self.argument is not None or names & {"enter", "to", "link"}):
            return Association.NONE
        return rule.association

    def named(self, *names: str) -> tuple[Clause, ...]:
        """The clauses of these names, in order."""
        return tuple(clause for clause in self.clauses if clause.name in names)


@dataclass(frozen=True, slots=True)
class Malformed:
    """A pragma that is no directive: what is wrong, and where. column: in bytes, from 1, as compilers count."""

    message: str
    start: int
    end: int
    offset: int
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}"
