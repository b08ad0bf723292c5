"""The state of the interpretation: contexts, objects, and how values from several ways are joined.

A context is one call of a function, found again by its call site and caller. An object (`Base`) is made once for
each variable and context, or for what else identifies it, so that the fixpoint meets the same ones in each round.
Numbers that differ are joined into an atom that stands for the place where they meet; pointers that differ, into
the set of all. Which code changes the state is said by the layers above: memory, expressions, calls, kernels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace

import networkx as nx
from racedart.analyzer.flow import cfg
from racedart.analyzer.flow.callgraph import reaches_device
from racedart.analyzer.flow.context import Action, Context
from racedart.analyzer.flow.facts import Interpretation
from racedart.analyzer.flow.state import Access, Base, Loc, Ptr, State, Value
from racedart.analyzer.flow.symbolic import constant
from racedart.analyzer.source.tree import Function, Node, Type


class Machine(ABC):
    """What is being interpreted: a context, one of its nodes, and the state there."""

    def __init__(self, found: Interpretation) -> None:
        self.found = found
        self.program = found.program
        self.atoms = found.atoms
        self.with_device = found.with_device = reaches_device(found.program)
        self.context: Context = None  # type: ignore[assignment]  # set by root, before anything is evaluated
        self.node = 0
        self.state = State()
        self.actions: list[Action] = []
        self.device = False
        self.ended = False
        self.private: set[Base] = set()
        self.memo: dict[tuple[object, ...], Context] = {}

    @abstractmethod
    def run(self, context: Context, entry: State) -> State | None:
        """Interpret a body to its fixpoint; the state at its exit, None if it does not return."""

    @abstractmethod
    def construct(self, target: frozenset[Ptr], kind: Type, node: Node) -> None:
        """Run the constructor that a node calls, on objects of a type."""

    # --- contexts

    def make_context(self, function: Function, parent: Context | None, call: Node | None) -> Context:
        """The context of a call of a function, made at its first call."""
        key = (parent, id(call), function.key, self.device)
        known = self.memo.get(key)
        if known is not None:
            return known
        graph, order, rank = self.graph(function.key, function.body)
        number = len(self.found.contexts)
        this = Base("variable", "this", None, None)
        result = Base("variable", f"{function.name}()", None, None, defined=True)
        context = Context(number, function, parent, call, graph, order, rank, this, result)
        this.context = result.context = context
        self.found.contexts.append(context)
        self.memo[key] = context
        return context

    def graph(self, key: str, body: Node | None) -> tuple[nx.DiGraph, list[int], dict[int, int]]:
        """The AST-CFG of a body, its nodes in reverse postorder, and the rank of each in it."""
        known = self.found.graphs.get(key)
        if known is None:
            assert body is not None
            graph = cfg.build_cfg(body)
            order = cfg.reverse_postorder(graph)
            known = self.found.graphs[key] = (graph, order, {n: k for k, n in enumerate(order)})
        return known

    def dissolved(self, context: Context, site: Node) -> Iterable[Action]:
        """What a call does, as actions of its caller's node."""
        for node in context.order:
            for action in context.actions.get(node, ()):
                if isinstance(action, Access):
                    if action.base not in self.private and action.base.context is not context:
                        yield replace(action, sites=(*action.sites, site))
                else:
                    yield action

    # --- objects

    def base(self, key: tuple[object, ...], made: Base) -> Base:
        """The object of a key: the one that was made for it first."""
        return self.found.bases.setdefault(key, made)

    def variable_base(self, key: str) -> Base:
        """The object of a variable in this context."""
        variable = self.program.variables[key]
        context = None if variable.is_global or variable.is_static else self.context.home
        known = self.found.bases.get(("variable", key, context))
        if known is None:
            known = Base("variable", variable.name, variable.type, context, variable)
            known.defined = context is None
            known.foreign = context is None and not self.found.closed
            if variable.type.size > 0:
                known.extent = constant(variable.type.size)
            self.found.bases[("variable", key, context)] = known
        return known

    def own(self, key: str) -> None:
        """A declaration inside device code: private to it."""
        if self.device:
            self.private.add(self.variable_base(key))

    # --- joins

    def join(self, old: State, new: State, place: tuple[object, ...]) -> None:
        """Join `new` into `old`."""
        store = old.store
        for loc, value in new.store.items():
            mine = store.get(loc)
            if mine is value:
                continue
            if mine is None:
                mine = self.initial(loc)
            store[loc] = value if mine is None else self.join_values(mine, value, loc, place)
        for loc, value in list(store.items()):
            if loc not in new.store:
                missing = self.initial(loc)
                if missing is not None:
                    store[loc] = self.join_values(value, missing, loc, place)
        old.fresh &= new.fresh

    def join_values(self, old: Value, new: Value, loc: Loc, place: tuple[object, ...]) -> Value:
        """What a place may hold if it holds one of two values; `place` names where they meet."""
        if old == new:
            return old
        number = old.number
        if old.number != new.number:
            number = self.atoms.poly("phi", place, loc)
        ptrs = old.ptrs
        if new.ptrs != old.ptrs:
            ptrs = self.join_ptrs(old.ptrs | new.ptrs)
        return Value(ptrs, number)

    @staticmethod
    def join_ptrs(ptrs: frozenset[Ptr]) -> frozenset[Ptr]:
        """Pointers without those that differ from another in nothing but the offset, which is then not known."""
        places: dict[Loc, Ptr] = {}
        for ptr in ptrs:
            known = places.get(ptr.loc)
            if known is None:
                places[ptr.loc] = ptr
            elif known != ptr:
                offset = known.offset if known.offset == ptr.offset else None
                places[ptr.loc] = Ptr(ptr.base, ptr.path, offset, known.weak or ptr.weak)
        return frozenset(places.values())

    def initial(self, loc: Loc) -> Value | None:
        """The value of a place that was never written here: None if it has none."""
        kind = self.found.types.get(loc)
        return None if kind is None else self.found.initial_value(loc, kind)
