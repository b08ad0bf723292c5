"""The graph on which validity of data is followed: the program with its device-relevant calls in place.

A step is a kernel, a directive, or a maximal piece of host code without device code inside and without a way out
other than its end: its loops are one step, so a transfer never needs to stand inside it. Steps of different calls
of a function are different steps. Steps know their place in the tree (context and statement), from the outside in,
which is where directives can be put.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from racedart.analyzer.flow import cfg
from racedart.analyzer.flow.context import Action, Context
from racedart.analyzer.flow.facts import Interpretation
from racedart.analyzer.source.tree import Node


@dataclass(eq=False, slots=True)
class Step:
    """kind: host, kernel, directive, jump (return, break, goto), entry, exit. root: its piece of the tree."""

    number: int
    kind: str
    context: Context
    cfg_nodes: list[int]
    root: Node
    actions: list[Action] = field(default_factory=list)
    successors: list[Step] = field(default_factory=list)
    predecessors: list[Step] = field(default_factory=list)
    spine: tuple[tuple[Context, Node], ...] = ()


Place = tuple[Context, Node]
LEAVES = {"RETURN_STMT", "BREAK_STMT", "CONTINUE_STMT", "GOTO_STMT", "LABEL_STMT", "CASE_STMT", "DEFAULT_STMT"}
WHOLE = {"FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT", "SWITCH_STMT", "CXX_TRY_STMT", "OMP_STMT"}
LOOPS = {"FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT"}


@dataclass(eq=False)
class Supergraph:
    """All steps of all calls from the roots."""

    facts: Interpretation
    steps: list[Step] = field(default_factory=list)
    entries: list[Step] = field(default_factory=list)
    exits: list[Step] = field(default_factory=list)
    roots: dict[int, dict[int, Node]] = field(default_factory=dict)
    inside: dict[tuple[int, int], frozenset[Step]] = field(default_factory=dict)

    def within(self, context: Context, node: Node) -> frozenset[Step]:
        """The steps that a statement of a call consists of, calls that it makes included."""
        key = (context.number, id(node))
        known = self.inside.get(key)
        if known is None:
            known = self.inside[key] = frozenset(
                s for s in self.steps if any(c is context and node.holds(n) for c, n in s.spine)
            )
        return known


def build_supergraph(facts: Interpretation) -> Supergraph:
    """The supergraph of an interpreted program."""
    graph = Supergraph(facts)
    builder = _Builder(graph)
    for root in facts.roots:
        entry, exit_ = builder.context(root, ())
        graph.entries.append(entry)
        graph.exits.append(exit_)
    return graph


class _Builder:
    def __init__(self, graph: Supergraph) -> None:
        self.graph = graph
        self.device: dict[int, bool] = {}

    def step(self, kind: str, context: Context, root: Node, prefix: tuple[Place, ...]) -> Step:
        step = Step(len(self.graph.steps), kind, context, [], root)
        step.spine = (*prefix, (context, root))
        self.graph.steps.append(step)
        return step

    @staticmethod
    def link(source: Step, target: Step) -> None:
        if target not in source.successors:
            source.successors.append(target)
            target.predecessors.append(source)

    def context(self, context: Context, prefix: tuple[Place, ...]) -> tuple[Step, Step]:
        body = context.function.body
        assert body is not None
        firsts: dict[int, Step] = {}
        lasts: dict[int, Step] = {}
        pieces: dict[int, Step] = {}
        for node in context.order:
            if node not in context.states:
                continue
            data = context.graph.nodes[node]
            role, ast = data["role"], data["ast"]
            if role in {"entry", "exit"}:
                firsts[node] = lasts[node] = self.step(role, context, body, prefix)
                continue
            kind = {"kernel": "kernel", "alone": "directive", "begin": "directive", "end": "directive",
                    "return": "jump", "jump": "jump"}.get(role, "host")  # fmt: skip
            root = self.piece(ast, role) if kind == "host" else ast
            key = id(root)
            whole = kind == "host" and not self.has_device(root) and root is not None
            if whole and key in pieces:
                step = pieces[key]
                step.cfg_nodes.append(node)
                step.actions.extend(context.actions.get(node, ()))
                firsts[node] = lasts[node] = step
                continue
            step = self.step(kind, context, root, prefix)
            step.cfg_nodes.append(node)
            firsts[node] = step
            if whole:
                pieces[key] = step
            for action in context.actions.get(node, ()):
                if isinstance(action, Context):
                    entry, exit_ = self.context(action, (*prefix, (context, action.call or root)))
                    self.link(step, entry)
                    after = self.step("host", context, root, prefix)
                    after.cfg_nodes.append(node)
                    if action.output is not None:
                        self.link(exit_, after)
                    step = after
                else:
                    step.actions.append(action)
            lasts[node] = step
        for source, target in context.graph.edges:
            if source in context.ended:
                continue
            if source in lasts and target in firsts and lasts[source] is not firsts[target]:
                self.link(lasts[source], firsts[target])
        if cfg.EXIT not in firsts:
            firsts[cfg.EXIT] = self.step("exit", context, body, prefix)
        return firsts[cfg.ENTRY], firsts[cfg.EXIT]

    def has_device(self, node: Node) -> bool:
        """Whether a piece holds device code, or a way out of it."""
        known = self.device.get(id(node))
        if known is None:
            known = any(self.is_device(n, node) for n in node.walk())
            self.device[id(node)] = known
        return known

    def is_device(self, node: Node, piece: Node) -> bool:
        if node.directive is not None and node.directive.kind.startswith("target"):
            return True
        if node.kind == "CALL_EXPR" and node.ref in self.graph.facts.with_device:
            return True
        if node.kind in {"RETURN_STMT", "GOTO_STMT", "LABEL_STMT"}:
            return True
        return node.kind in LEAVES and not self.kept_inside(node, piece)

    @staticmethod
    def kept_inside(node: Node, piece: Node) -> bool:
        kinds = LOOPS if node.kind == "CONTINUE_STMT" else LOOPS | {"SWITCH_STMT"}
        if node.kind in {"CASE_STMT", "DEFAULT_STMT"}:
            kinds = {"SWITCH_STMT"}
        if node is piece:
            return False
        for parent in node.ancestors():
            if parent.kind in kinds:
                return True
            if parent is piece:
                return False
        return False

    def piece(self, ast: Node, role: str) -> Node:
        """The largest statement around a node that is one step."""
        best = ast
        for parent in ast.ancestors():
            if self.has_device(parent):
                break
            if parent.kind in WHOLE:
                best = parent
        return best
