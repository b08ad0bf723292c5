"""Directives, clauses and items back to text, and the byte ranges that removing one of them takes.

An unchanged directive prints as its source, byte for byte; a changed one as its head and its clauses, each of which
prints as its source where it has one. A clause that was made prints canonically.
"""

from __future__ import annotations

from collections.abc import Sequence

from racedart.analyzer.pragma.clauses import CLAUSES
from racedart.analyzer.pragma.model import Clause, Directive, Item, Modifier
from racedart.analyzer.pragma.parser import parse_pragma


def make_clause(name: str, items: Sequence[str] = (), modifiers: Sequence[str] = (), argument: str = "") -> Clause:
    """A new clause of list items, or of an argument. Raises ValueError for what is no clause."""
    main = ", ".join(items) if items else argument
    prefix = f"{', '.join(modifiers)}: " if modifiers else ""
    text = f"{name}({prefix}{main})" if main or modifiers else name
    parsed = parse_pragma(f"#pragma omp target {text}".encode())
    if not isinstance(parsed, Directive) or len(parsed.clauses) != 1:
        raise ValueError(f"no clause: {text!r}")
    clause = parsed.clauses[0]
    placeless = tuple(Item(item.text, item.base, item.steps, item.shape) for item in clause.items)
    return Clause(name, clause.modifiers, placeless, clause.argument, text, known=clause.known)


def print_clause(clause: Clause) -> str:
    """The text of a clause."""
    if clause.text:
        return clause.text
    main = ", ".join(item.text for item in clause.items) if clause.items else clause.argument
    if main is None and not clause.modifiers:
        return clause.name
    rule = CLAUSES.get(clause.name)
    if rule is not None and rule.suffix and clause.modifiers:
        return f"{clause.name}({main} : {', '.join(map(str, clause.modifiers))})"
    return f"{clause.name}({_prefix(clause.modifiers, main)}{main or ''})"


def _prefix(modifiers: tuple[Modifier, ...], main: str | None) -> str:
    if not modifiers:
        return ""
    return ", ".join(map(str, modifiers)) + (": " if main else "")


def print_directive(directive: Directive) -> str:
    """The text of a directive."""
    if not directive.raw:
        head = f"#pragma omp {directive.kind}"
        if directive.argument is not None:
            head += f"({directive.argument})"
        return " ".join((head, *map(print_clause, directive.clauses)))
    source = directive.raw.encode("utf-8", "surrogateescape")
    parsed = parse_pragma(source, 0, len(source))
    if not isinstance(parsed, Directive) or [c.text for c in parsed.clauses] == [c.text for c in directive.clauses]:
        return directive.raw
    head = source[: parsed.head_end].decode("utf-8", "surrogateescape")
    tail = source[parsed.tail :].decode("utf-8", "surrogateescape")
    return " ".join((head, *map(print_clause, directive.clauses))) + tail


def clause_removal(directive: Directive, index: int) -> tuple[int, int]:
    """The byte range that removes a clause with the white space, comma or joined line that set it apart."""
    clauses = directive.clauses
    if index + 1 < len(clauses):
        return clauses[index].start, clauses[index + 1].start
    return (clauses[index - 1].end if index else directive.head_end), clauses[index].end


def item_removal(clause: Clause, index: int) -> tuple[int, int]:
    """The byte range that removes one of several items of a clause, with its comma."""
    items = clause.items
    if index + 1 < len(items):
        return items[index].start, items[index + 1].start
    return items[index - 1].end, items[index].end
