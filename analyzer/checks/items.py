"""Which memory a list item of a directive names: the object, its bytes, and the member that leads to it.

Items are resolved in the state of the program at the directive: `p[0:n]` is the memory that p points to there.
Expressions in sections are integer arithmetic over visible variables, members and object-like macros; of another
expression the value is not known.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from racedart.analyzer.flow.context import Context
from racedart.analyzer.flow.facts import Interpretation
from racedart.analyzer.flow.state import Base, Loc, Ptr, State, Value
from racedart.analyzer.flow.symbolic import ONE, ZERO, Poly, constant
from racedart.analyzer.mapping.extent import visible_variables
from racedart.analyzer.pragma import Dereference, Directive, Item, Member, Section, parse_pragma
from racedart.analyzer.pragma.tokens import Token, TokenKind, tokens
from racedart.analyzer.source.tree import Node, Type, Variable

_PRECEDENCE = {"*": 3, "/": 3, "%": 3, "+": 2, "-": 2, "<<": 1, ">>": 1}
_MACRO = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\r\n\\]+?)[ \t]*(?:/[*/][^\r\n]*)?\r?$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Target:
    """Bytes [low, low + size) of an object; None where not known.

    member: the pointer member through which the item reaches it, "" for none. whole: a variable as such.
    """

    base: Base
    low: Poly | None
    size: Poly | None
    member: str
    whole: bool


class Names:
    """What names mean in front of a statement of a call."""

    def __init__(self, facts: Interpretation, context: Context, at: Node, state: State) -> None:
        self.facts = facts
        self.context = context
        self.state = state
        self.variables = visible_variables(facts, context, at)
        self.macros = _macros(tuple(file.data for file in facts.program.files.values()))

    def resolve(self, item: Item) -> tuple[Target, ...]:
        """The memory of a list item; nothing where it is not known."""
        place = self._place(item)
        if place is None:
            return ()
        ptrs, kind, size, member, whole = place
        if size is None and whole:
            size = constant(kind.size) if kind.size > 0 else None
        found = []
        for ptr in ptrs:
            extent = ptr.base.extent if whole and size is None else size
            found.append(Target(ptr.base, ptr.offset, extent, member, whole))
        return tuple(found)

    def _base(self, variable: Variable) -> Base | None:
        owner = None if variable.is_global or variable.is_static else self.context.home
        return self.facts.bases.get(("variable", variable.key, owner))

    def _start(self, name: str) -> tuple[frozenset[Ptr], Type] | None:
        if name == "this":
            record = Type("record", self.context.function.record)
            value = self.state.store.get(Loc(self.context.this))
            return None if value is None else (value.ptrs, record)
        variable = self.variables.get(name)
        if variable is None:
            return self._member_of_this(name)
        base = self._base(variable)
        if base is None:
            return None
        ptrs, kind = frozenset({Ptr(base, (), ZERO)}), variable.type
        if kind.kind == "reference" and kind.element is not None:
            return self._load(ptrs, kind).ptrs, kind.element
        return ptrs, kind

    def _member_of_this(self, name: str) -> tuple[frozenset[Ptr], Type] | None:
        value = self.state.store.get(Loc(self.context.this))
        record = self.context.function.record
        if value is None or not record:
            return None
        return self._member(value.ptrs, Type("record", record), name)

    def _load(self, ptrs: frozenset[Ptr], kind: Type) -> Value:
        found: set[Ptr] = set()
        number: Poly | None = None
        for ptr in ptrs:
            value = self.state.store.get(ptr.loc)
            if value is None:
                value = self.facts.initial_value(ptr.loc, kind)
            if value is not None:
                found |= value.ptrs
                number = value.number
        return Value(frozenset(found), number if len(ptrs) == 1 else None)

    def _member(self, ptrs: frozenset[Ptr], kind: Type, name: str) -> tuple[frozenset[Ptr], Type] | None:
        for entry in self.facts.program.records.get(kind.spelling.replace("const ", ""), ()):
            if entry.name == name:
                moved = frozenset(
                    Ptr(
                        p.base,
                        (*p.path, name),
                        None if p.offset is None else p.offset + constant(entry.offset),
                        p.weak,
                    )
                    for p in ptrs
                )
                return moved, entry.type
        return None

    def _place(self, item: Item) -> tuple[frozenset[Ptr], Type, Poly | None, str, bool] | None:
        if not item.base or item.shape:
            return None
        start = self._start(item.base)
        if start is None:
            return None
        ptrs, kind = start
        size: Poly | None = None
        member, last_member, whole = "", "", True
        for number, step in enumerate(item.steps):
            if isinstance(step, Member):
                if kind.kind == "pointer" and kind.element is not None:
                    ptrs, kind = self._load(ptrs, kind).ptrs, kind.element
                found = self._member(ptrs, kind, step.name)
                if found is None:
                    return None
                ptrs, kind = found
                last_member, size, whole = step.name, None, True
                continue
            if kind.element is None:
                return None
            if kind.kind == "pointer":
                ptrs = self._load(ptrs, kind).ptrs
                member = last_member
            element = kind.element
            if isinstance(step, Dereference):
                kind, size, whole = element, constant(element.size) if element.size > 0 else None, False
                continue
            inner = isinstance(step, Section) and any(isinstance(s, Section) for s in item.steps[:number])
            ptrs, size = self._section(ptrs, step, kind, inner)
            kind, whole = element, False
        return ptrs, kind, size, member, whole

    def _section(
        self, ptrs: frozenset[Ptr], step: Section, kind: Type, inner: bool
    ) -> tuple[frozenset[Ptr], Poly | None]:
        element = kind.element
        unit = constant(element.size) if element is not None and element.size > 0 else None
        low = self.evaluate(step.index or step.lower or "0")
        length: Poly | None = ONE if step.is_element else self.evaluate(step.length) if step.length else None
        if not step.is_element and not step.length and kind.count is not None and low is not None:
            length = constant(kind.count) - low
        moved = frozenset(
            Ptr(p.base, p.path, None if None in (p.offset, low, unit) else _sum(p.offset, low, unit), p.weak)
            for p in ptrs
        )
        # Of a section of sections only the first may hold less than all; what is between is not described.
        size = length * unit if length is not None and unit is not None and not step.stride and not inner else None
        return moved, size

    # --- integer expressions

    def evaluate(self, text: str) -> Poly | None:
        """The value of an integer expression, None if it is not known."""
        return self._evaluate(tuple(tokens(text.encode())), 0)

    def _evaluate(self, parts: Sequence[Token], depth: int) -> Poly | None:
        if depth > 20 or not parts:
            return None
        level, at = 0, -1
        for index, token in enumerate(parts):
            if token.text in "([":
                level += 1
            elif token.text in ")]":
                level -= 1
            elif level == 0 and index and token.text in _PRECEDENCE and parts[index - 1].text not in _PRECEDENCE:
                if at < 0 or _PRECEDENCE[token.text] <= _PRECEDENCE[parts[at].text]:
                    at = index
            elif level == 0 and token.text in ("?", ",", "<", ">", "&", "|", "^", "==", "&&", "||"):
                return None
        if at > 0:
            left, right = self._evaluate(parts[:at], depth + 1), self._evaluate(parts[at + 1 :], depth + 1)
            if left is None or right is None:
                return None
            return self.facts.atoms.operation(parts[at].text, left, right)
        if parts[0].text == "(" and parts[-1].text == ")":
            return self._evaluate(parts[1:-1], depth + 1)
        if len(parts) == 1 and parts[0].kind is TokenKind.NUMBER:
            digits = parts[0].text.replace("'", "").rstrip("uUlLzZ")
            try:
                return constant(int(digits, 8 if re.fullmatch("0[0-7]+", digits) else 0))
            except ValueError:
                return None
        if len(parts) == 1 and parts[0].text in self.macros and parts[0].text not in self.variables:
            return self._evaluate(tuple(tokens(self.macros[parts[0].text])), depth + 1)
        return self._variable(parts)

    def _variable(self, parts: Sequence[Token]) -> Poly | None:
        text = "".join(token.text for token in parts)
        parsed = parse_pragma(f"#pragma omp flush({text})".encode())
        if not isinstance(parsed, Directive) or len(parsed.arguments) != 1:
            return None
        place = self._place(parsed.arguments[0])
        if place is None or place[1].kind != "scalar":
            return None
        return self._load(place[0], place[1]).number


def _sum(offset: Poly | None, low: Poly | None, unit: Poly | None) -> Poly:
    assert offset is not None
    assert low is not None
    assert unit is not None
    return offset + low * unit


@functools.lru_cache(maxsize=8)
def _macros(sources: tuple[bytes, ...]) -> dict[str, bytes]:
    """Object-like macros by name; of several definitions with different texts none counts."""
    found: dict[str, bytes] = {}
    for source in sources:
        for name, text in _MACRO.findall(source):
            known = found.setdefault(name.decode(), text)
            if known != text:
                found[name.decode()] = b"?"
    return found
