"""Whether a piece of code surely executes whenever something around it does.

Decided on the tree: what stands under a condition, in a loop that may end early or of which nothing is known, or
behind a return, is not certain. The body of a `for` counts as certain: that it may run zero times is the concern of
the range of its variable.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from racedart.analyzer.source.tree import Node

LOOPS = {"FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT"}
GUARDED = {
    "WHILE_STMT", "CXX_FOR_RANGE_STMT", "CXX_CATCH_STMT", "LAMBDA_EXPR", "CASE_STMT", "DEFAULT_STMT", "LABEL_STMT",
    "CXX_TRY_STMT",
}  # fmt: skip
BRANCHING = {"IF_STMT", "SWITCH_STMT", "CONDITIONAL_OPERATOR"}


@dataclass(slots=True)
class Certainty:
    """Answers, remembered."""

    answers: dict[tuple[int, int], bool] = field(default_factory=dict)

    def always(self, sites: tuple[Node, ...], root: Node) -> bool:
        """Whether an access, through the calls that lead to it, happens in each execution of `root`."""
        return all(self.at_site(site, root) for site in sites)

    def at_site(self, site: Node, root: Node) -> bool:
        """Whether one place is reached in each execution of `root`, or else of its own function."""
        key = (id(site), id(root))
        known = self.answers.get(key)
        if known is None:
            known = self.answers[key] = _always(site, root)
        return known


def _always(site: Node, root: Node) -> bool:
    if site is root:
        return True
    child = site
    for parent in site.ancestors():
        kind = parent.kind
        if kind == "FOR_STMT":
            if child is parent.children[3] and leaves_iteration(child):
                return False
        elif kind in BRANCHING or (kind == "BINARY_OPERATOR" and parent.op in {"&&", "||"}):
            if child is not parent.children[0]:
                return False
        elif kind in GUARDED or (kind == "DO_STMT" and leaves_iteration(parent.children[0])):
            return False
        child = parent
        if parent is root:
            break
    exits = (
        n
        for n in child.walk()
        if n.kind in {"RETURN_STMT", "GOTO_STMT"} and n.parent is not child and n.start < site.start
    )
    return next(exits, None) is None


def leaves_iteration(body: Node) -> bool:
    """Whether control can leave an iteration early: break, continue, return, goto of this loop."""
    stack = [(body, False, False)]
    while stack:
        node, in_loop, in_switch = stack.pop()
        if node.kind in {"RETURN_STMT", "GOTO_STMT"}:
            return True
        if node.kind == "CONTINUE_STMT" and not in_loop:
            return True
        if node.kind == "BREAK_STMT" and not in_loop and not in_switch:
            return True
        inside = in_loop or node.kind in LOOPS
        switch = in_switch or node.kind == "SWITCH_STMT"
        stack.extend((c, inside, switch) for c in node.children if c.kind != "LAMBDA_EXPR")
    return False
