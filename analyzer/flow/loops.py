"""Loops: the range of a loop's variable, and the variable of a range-based one.

A variable has a range where the loop alone steps it, by an amount of known sign, towards a bound that does not
depend on it; the range is exact if no way leaves the iteration early. A step that multiplies or divides gives a
range as well, but no exact one. Not handled: further variables of a step (the first counts), and steps in the
body.
"""

from __future__ import annotations

from racedart.analyzer.flow.certain import leaves_iteration
from racedart.analyzer.flow.context import Context
from racedart.analyzer.flow.kinds import is_vector
from racedart.analyzer.flow.state import NOTHING, Loc, Ptr, Value
from racedart.analyzer.flow.symbolic import ONE, ZERO, Poly, Range
from racedart.analyzer.flow.vectors import Vectors
from racedart.analyzer.source.tree import Node

LVALUES = {"DECL_REF_EXPR", "MEMBER_REF_EXPR", "ARRAY_SUBSCRIPT_EXPR", "MEMBER_REF"}


class Loops(Vectors):
    """Heads of loops."""

    def loop_variable(self, loop: Node) -> str | None:
        """The key of the variable that the step of a loop changes."""
        step = loop.children[2]
        while step.kind == "BINARY_OPERATOR" and step.op == ",":
            step = step.children[0]
        if step.kind in {"UNARY_OPERATOR", "BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"} and step.children:
            target = step.children[0]
            if target.kind == "DECL_REF_EXPR" and target.ref in self.program.variables:
                return target.ref
        return None

    def loop_head(self, context: Context, node: int, loop: Node) -> None:
        """Evaluate the test of a for loop, and find the range of its variable."""
        test, step, body = loop.children[1], loop.children[2], loop.children[3]
        if test.kind != "ABSENT":
            self.rval(test)
        key = self.loop_variable(loop)
        start = context.loop_starts.get(node)
        if key is None or start is None or start.number is None:
            return
        loc = Loc(self.variable_base(key))
        value = self.state.store.get(loc, NOTHING).number
        if value is None or len(value.atoms) != 1 or value != self.atoms.poly("phi", (context.number, node), loc):
            return
        (atom,) = value.atoms
        while test.kind == "BINARY_OPERATOR" and test.op == "&&":
            test = test.children[0]
        bound = self.loop_bound(test, key)
        stride = self.stride(step, key)
        if bound is None or stride is None or stride == 0 or self.writes_variable(body, key):
            self.atoms.ranges.pop(atom, None)
            return
        op, limit = bound
        if atom in limit.atoms or atom in start.number.atoms:
            return
        whole = loop.children[1] is test and not leaves_iteration(body)
        if stride > 0 and op in {"<", "<=", "!="}:
            high = limit if op == "<=" else limit - ONE
            self.atoms.ranges[atom] = Range(start.number, high, abs(stride), whole and self.exact(step))
        elif stride < 0 and op in {">", ">=", "!="}:
            low = limit if op == ">=" else limit + ONE
            self.atoms.ranges[atom] = Range(low, start.number, abs(stride), whole and self.exact(step))

    @staticmethod
    def exact(step: Node) -> bool:
        """Whether a step adds or subtracts, so that a range with a stride tells all values."""
        return step.op in {"++", "--", "p++", "p--", "+=", "-="}

    def loop_bound(self, test: Node, key: str) -> tuple[str, Poly] | None:
        """The comparison of the variable in a test, and what it is compared with."""
        if test.kind != "BINARY_OPERATOR" or len(test.children) != 2:
            return None
        left, right = test.children
        op = test.op
        if left.kind == "CAST" and left.children:
            left = left.children[0]
        if right.kind == "DECL_REF_EXPR" and right.ref == key:
            left, right = right, left
            op = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)
        if left.kind != "DECL_REF_EXPR" or left.ref != key or op not in {"<", "<=", ">", ">=", "!="}:
            return None
        limit = self.quiet(right).number
        return (op, limit) if limit is not None else None

    def stride(self, step: Node, key: str) -> int | None:
        """What a step adds to the variable, at least by its sign; None if the sign is not known."""
        while step.kind == "BINARY_OPERATOR" and step.op == ",":
            step = step.children[0]
        if step.kind == "UNARY_OPERATOR":
            return {"++": 1, "p++": 1, "--": -1, "p--": -1}.get(step.op)
        if step.kind == "COMPOUND_ASSIGNMENT_OPERATOR":
            amount = self.quiet(step.children[1]).number
            if amount is None:
                return None
            if step.op in {"*=", "<<="}:
                return 1 if amount.value is not None and amount.value > 1 - (step.op == "<<=") else None
            if step.op in {"/=", ">>="}:
                return -1
            if step.op in {"+=", "-="}:
                size = amount.value if amount.value is not None else 2 if self.atoms.sign(amount) == 1 else None
                return None if size is None else size if step.op == "+=" else -size
            return None
        if step.kind == "BINARY_OPERATOR" and step.op == "=":
            right = step.children[1]
            if right.kind == "BINARY_OPERATOR" and len(right.children) == 2:
                left, other = right.children
                if left.kind == "DECL_REF_EXPR" and left.ref == key:
                    amount = self.quiet(other).number
                    value = amount.value if amount is not None else None
                    if value is None:
                        return None
                    if right.op in {"+", "-"}:
                        return value if right.op == "+" else -value
                    if right.op == "*" and value > 1:
                        return 2
                    if right.op == "/" and value > 1:
                        return -2
        return None

    @staticmethod
    def writes_variable(body: Node, key: str) -> bool:
        """Whether a body assigns to a variable or takes its address."""
        for node in body.walk():
            assigns = (
                node.kind in {"BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"}
                and node.op.endswith("=")
                and node.op not in {"==", "<=", ">=", "!="}
            )
            if assigns or (node.kind == "UNARY_OPERATOR" and node.op in {"++", "--", "p++", "p--", "&"}):
                target = node.children[0]
                if target.kind == "DECL_REF_EXPR" and target.ref == key:
                    return True
        return False

    def range_head(self, loop: Node) -> None:
        """Give the variable of a range-based loop an element."""
        variable = next((n for n in loop.walk() if n.kind == "VAR_DECL" and n.ref), None)
        for child in loop.children[:-1]:
            if child.kind in LVALUES:
                ptrs = self.lval(child)
                data = self.vector_data(ptrs) if is_vector(child.type) else ptrs
                data = frozenset(Ptr(p.base, p.path, None, True) for p in data)
                if variable is not None:
                    declared = self.program.variables[variable.ref]
                    self.own(variable.ref)
                    if declared.type.kind == "reference":
                        self.state.store[Loc(self.variable_base(variable.ref))] = Value(data)
                    else:
                        self.access(data, declared.type, False, loop)
                        value = self.load(data, declared.type, loop)
                        self.write({Ptr(self.variable_base(variable.ref), (), ZERO)}, value, declared.type, loop)
