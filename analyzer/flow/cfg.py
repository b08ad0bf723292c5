"""The AST-CFG of a function body: one networkx DiGraph whose nodes are pieces of its tree.

Node attributes: `role` and `ast`. Roles: entry, exit; statement (an expression or declaration that is evaluated);
condition (of if, switch, while, do); head (the test of a for, executed once more than the body), step; range (a
C++ range-for and its variable); return; kernel (a target construct as a whole: its body has a graph of its own);
alone (a stand-alone directive); begin and end of a `target data` region. Edge attribute `branch`: True, False, or
None where control does not depend on a value.

Control flow inside an expression (`?:`, `&&`, `||`) is left to the evaluation of the expression. An exception may
leave a try block after each of its nodes.
"""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx
from racedart.analyzer.source.tree import Node

Ends = list[tuple[int, bool | None]]
ENTRY, EXIT = 0, 1
REGION = "target data"


def is_kernel(node: Node) -> bool:
    """Whether a node is a target construct that executes on the device."""
    return node.kind == "OMP_STMT" and node.directive is not None and "target" in node.directive.leaves


def is_region(node: Node) -> bool:
    """Whether a node is a `target data` construct."""
    return node.kind == "OMP_STMT" and node.spelling == REGION


class _Builder:
    def __init__(self) -> None:
        self.graph = nx.DiGraph()
        self.graph.add_node(ENTRY, role="entry", ast=None)
        self.graph.add_node(EXIT, role="exit", ast=None)
        self.breaks: list[Ends] = []
        self.continues: list[Ends] = []
        self.labels: dict[str, int] = {}
        self.gotos: list[tuple[int, str]] = []
        self.cases: list[list[tuple[int, Node]]] = []

    def add(self, role: str, ast: Node, ends: Iterable[tuple[int, bool | None]]) -> int:
        number: int = self.graph.number_of_nodes()
        self.graph.add_node(number, role=role, ast=ast)
        self.join(ends, number)
        return number

    def join(self, ends: Iterable[tuple[int, bool | None]], node: int) -> None:
        for end, branch in ends:
            if self.graph.has_edge(end, node) and self.graph[end][node]["branch"] != branch:
                branch = None
            self.graph.add_edge(end, node, branch=branch)

    def build(self, node: Node, ends: Ends) -> Ends:
        method = getattr(self, f"build_{node.kind.lower()}", None)
        if method is not None:
            built: Ends = method(node, ends)
            return built
        return [(self.add("statement", node, ends), None)]

    def build_absent(self, node: Node, ends: Ends) -> Ends:
        return ends

    build_null_stmt = build_absent

    def build_compound_stmt(self, node: Node, ends: Ends) -> Ends:
        for child in node.children:
            ends = self.build(child, ends)
        return ends

    def build_if_stmt(self, node: Node, ends: Ends) -> Ends:
        # C++17: a declaration may stand before the test.
        declared = node.children[0].kind in {"DECL_STMT", "VAR_DECL"} and len(node.children) > 2
        condition = node.children[: 2 if declared else 1]
        test = ends
        for part in condition[:-1]:
            test = [(self.add("statement", part, test), None)]
        at = self.add("condition", condition[-1], test)
        branches = node.children[len(condition) :]
        after = self.build(branches[0], [(at, True)]) if branches else [(at, True)]
        return after + (self.build(branches[1], [(at, False)]) if len(branches) > 1 else [(at, False)])

    def loop(self, body: Node, ends: Ends) -> tuple[Ends, Ends, Ends]:
        self.breaks.append([])
        self.continues.append([])
        after = self.build(body, ends)
        return after, self.breaks.pop(), self.continues.pop()

    def build_for_stmt(self, node: Node, ends: Ends) -> Ends:
        init, test, step, body = node.children
        ends = self.build(init, ends)
        head = self.add("head", node, ends)
        after, breaks, continues = self.loop(body, [(head, True)])
        after += continues
        if step.kind != "ABSENT" and after:
            after = [(self.add("step", step, after), None)]
        self.join(after, head)
        return breaks + ([(head, False)] if test.kind != "ABSENT" else [])

    def build_while_stmt(self, node: Node, ends: Ends) -> Ends:
        head = self.add("condition", node.children[0], ends)
        after, breaks, continues = self.loop(node.children[-1], [(head, True)])
        self.join(after + continues, head)
        endless = node.children[0].value not in (None, 0)
        return breaks + ([] if endless else [(head, False)])

    def build_do_stmt(self, node: Node, ends: Ends) -> Ends:
        start = self.add("label", node, ends)
        after, breaks, continues = self.loop(node.children[0], [(start, None)])
        if not after + continues:
            return breaks
        test = self.add("condition", node.children[-1], after + continues)
        self.join([(test, True)], start)
        return [*breaks, (test, False)]

    def build_cxx_for_range_stmt(self, node: Node, ends: Ends) -> Ends:
        head = self.add("range", node, ends)
        after, breaks, continues = self.loop(node.children[-1], [(head, True)])
        self.join(after + continues, head)
        return [*breaks, (head, False)]

    def build_switch_stmt(self, node: Node, ends: Ends) -> Ends:
        at = self.add("condition", node.children[0], ends)
        self.breaks.append([])
        self.cases.append([])
        after = self.build(node.children[-1], [])
        cases = self.cases.pop()
        for number, _ in cases:
            self.join([(at, None)], number)
        default = any(case.kind == "DEFAULT_STMT" for _, case in cases)
        return after + self.breaks.pop() + ([] if default else [(at, None)])

    def build_case_stmt(self, node: Node, ends: Ends) -> Ends:
        at = self.add("label", node, ends)
        if self.cases:
            self.cases[-1].append((at, node))
        return self.build(node.children[-1], [(at, None)]) if node.children else [(at, None)]

    build_default_stmt = build_case_stmt

    def build_label_stmt(self, node: Node, ends: Ends) -> Ends:
        at = self.add("label", node, ends)
        self.labels[node.spelling] = at
        return self.build(node.children[-1], [(at, None)]) if node.children else [(at, None)]

    def build_goto_stmt(self, node: Node, ends: Ends) -> Ends:
        self.gotos.append((self.add("jump", node, ends), node.spelling))
        return []

    def build_break_stmt(self, node: Node, ends: Ends) -> Ends:
        at = self.add("jump", node, ends)
        if self.breaks:
            self.breaks[-1].append((at, None))
        return []

    def build_continue_stmt(self, node: Node, ends: Ends) -> Ends:
        at = self.add("jump", node, ends)
        if self.continues:
            self.continues[-1].append((at, None))
        return []

    def build_return_stmt(self, node: Node, ends: Ends) -> Ends:
        self.join([(self.add("return", node, ends), None)], EXIT)
        return []

    def build_cxx_try_stmt(self, node: Node, ends: Ends) -> Ends:
        first = self.graph.number_of_nodes()
        after = self.build(node.children[0], ends)
        thrown: Ends = [*ends, *((n, None) for n in range(first, self.graph.number_of_nodes()))]
        for handler in node.children[1:]:
            after += self.build(handler.children[-1], list(thrown)) if handler.children else list(thrown)
        return after

    def build_omp_alone(self, node: Node, ends: Ends) -> Ends:
        return [(self.add("alone", node, ends), None)]

    def build_omp_stmt(self, node: Node, ends: Ends) -> Ends:
        if is_kernel(node):
            return [(self.add("kernel", node, ends), None)]
        if is_region(node):
            ends = [(self.add("begin", node, ends), None)]
            return [(self.add("end", node, self.build(node.children[0], ends)), None)]
        return self.build(node.children[0], ends)


def build_cfg(body: Node) -> nx.DiGraph:
    """The graph of a body; unreachable nodes stay without predecessors."""
    builder = _Builder()
    ends = builder.build(body, [(ENTRY, None)])
    builder.join(ends, EXIT)
    for at, label in builder.gotos:
        if label in builder.labels:
            builder.join([(at, None)], builder.labels[label])
        else:
            builder.join([(at, None)], EXIT)
    return builder.graph


def reverse_postorder(graph: nx.DiGraph) -> list[int]:
    """Reverse postorder in which the body of a loop comes before what follows the loop."""
    order: list[int] = []
    seen = {ENTRY}
    stack = [(ENTRY, iter(reversed(list(graph.successors(ENTRY)))))]
    while stack:
        node, successors = stack[-1]
        for successor in successors:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(reversed(list(graph.successors(successor))))))
                break
        else:
            order.append(node)
            stack.pop()
    return order[::-1]
