"""OpenMP 5.2 directives as C and C++ sources hold them: found, parsed, printed.

    for place in find_pragmas(source):
        parsed = parse_pragma(source, place.start, place.end)   # Directive, or Malformed with line and column

The grammar is data: directives.py (names, what they are associated with, how they combine) and clauses.py (what
stands between a clause's parentheses). All positions are byte offsets in the file.
"""

from __future__ import annotations

from racedart.analyzer.pragma.clauses import CLAUSES, ClauseRule, Form
from racedart.analyzer.pragma.directives import DIRECTIVES, Association, Category, DirectiveRule
from racedart.analyzer.pragma.finder import Place, find_pragmas
from racedart.analyzer.pragma.model import (
    Clause,
    Dereference,
    Directive,
    Item,
    Malformed,
    Member,
    Modifier,
    Section,
    Step,
)
from racedart.analyzer.pragma.parser import parse_pragma
from racedart.analyzer.pragma.printer import (
    clause_removal,
    item_removal,
    make_clause,
    print_clause,
    print_directive,
)

__all__ = [
    "CLAUSES",
    "DIRECTIVES",
    "Association",
    "Category",
    "Clause",
    "ClauseRule",
    "Dereference",
    "Directive",
    "DirectiveRule",
    "Form",
    "Item",
    "Malformed",
    "Member",
    "Modifier",
    "Place",
    "Section",
    "Step",
    "clause_removal",
    "find_pragmas",
    "item_removal",
    "make_clause",
    "parse_pragma",
    "print_clause",
    "print_directive",
]
