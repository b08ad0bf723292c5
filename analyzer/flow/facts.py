"""What an interpretation finds out about a program: contexts, objects, types of places, and what it did not see.

The facts are filled by `interpret` and read by inference and the checks. A place that was never written has a
value by its type: an atom for an integer, an object outside of the program for a pointer that comes from there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import networkx as nx
from racedart.analyzer.flow.certain import Certainty
from racedart.analyzer.flow.context import Context
from racedart.analyzer.flow.kinds import is_integer
from racedart.analyzer.flow.state import NOTHING, Base, Loc, Ptr, Value
from racedart.analyzer.flow.symbolic import ZERO, Atoms
from racedart.analyzer.source.tree import Node, Program, Type


@dataclass(eq=False)
class Interpretation:
    """The program and everything that was found out about it."""

    program: Program
    atoms: Atoms = field(default_factory=Atoms)
    contexts: list[Context] = field(default_factory=list)
    roots: list[Context] = field(default_factory=list)
    bases: dict[tuple[object, ...], Base] = field(default_factory=dict)
    types: dict[Loc, Type] = field(default_factory=dict)
    graphs: dict[str, tuple[nx.DiGraph, list[int], dict[int, int]]] = field(default_factory=dict)
    incomplete: dict[str, Node] = field(default_factory=dict)
    unknown: Base = field(default_factory=lambda: Base("unknown", "unknown memory", None, many=True))
    closed: bool = True
    certainty: Certainty = field(default_factory=Certainty)
    with_device: set[str] = field(default_factory=set)

    def initial_value(self, loc: Loc, kind: Type) -> Value | None:
        """The value of a place of a type that was never written; None if it has none."""
        if not loc.base.defined:
            return None
        if kind.kind in {"pointer", "reference"}:
            return Value(frozenset({self.outside(loc, kind)})) if loc.base.foreign else NOTHING
        if is_integer(kind):
            return Value(frozenset(), self.atoms.poly("init", loc))
        return NOTHING

    def outside(self, loc: Loc, kind: Type) -> Ptr:
        """What a pointer that comes from outside leads to."""
        depth = 0
        handle: Loc | None = loc
        while handle is not None and handle.base.kind == "outside":
            handle = handle.base.handle
            depth += 1
        if depth > 3 or loc.base.kind in {"unknown", "string"}:
            return Ptr(self.unknown, (), None, True)
        name = ".".join((f"*{loc.base.name}", *loc.path))
        made = Base("outside", name, kind.element, None, defined=True, handle=loc, many=loc.base.many, foreign=True)
        return Ptr(self.bases.setdefault(("outside", loc), made), (), ZERO)
