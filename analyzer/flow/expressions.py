"""Expressions: the places that they name and the values that they have.

`lval` gives the places of an expression, `rval` its value, each by the method that bears the kind of the node
(`rval_binary_operator`); a kind without a method evaluates its children. All operands are evaluated, both sides of
`&&`, `||` and `?:` included, since either may execute. Integers are taken not to wrap around; numbers of
floating-point type are not tracked. A lambda counts where it is written; calls of it are not
followed.
"""

from __future__ import annotations

from racedart.analyzer.flow.kinds import is_integer
from racedart.analyzer.flow.memory import Memory
from racedart.analyzer.flow.state import NOTHING, Base, Loc, Ptr, Value
from racedart.analyzer.flow.symbolic import ONE, ZERO, Poly, constant
from racedart.analyzer.source.tree import Node

EVALUATED = {"BINARY_OPERATOR", "CALL_EXPR", "COMPOUND_ASSIGNMENT_OPERATOR", "UNARY_OPERATOR"}


class Expressions(Memory):
    """Places and values of expressions without calls."""

    def lval(self, node: Node) -> frozenset[Ptr]:
        """The places that an expression names."""
        method = getattr(self, f"lval_{node.kind.lower()}", None)
        if method is not None:
            found: frozenset[Ptr] = method(node)
            return found
        return self.rval(node).ptrs

    def lval_decl_ref_expr(self, node: Node) -> frozenset[Ptr]:
        """The variable, or what it refers to."""
        variable = self.program.variables.get(node.ref)
        if variable is None:
            return frozenset()
        base = self.variable_base(node.ref)
        if variable.type.kind == "reference":
            value = self.state.store.get(Loc(base))
            if value is None:
                self.found.types.setdefault(Loc(base), variable.type)
                value = self.initial(Loc(base)) or NOTHING
            return value.ptrs
        return frozenset({Ptr(base, (), ZERO)})

    def lval_member_ref_expr(self, node: Node) -> frozenset[Ptr]:
        """The member of each object that the expression in front of it names."""
        if node.children:
            inner = node.children[0]
            if inner.type.kind == "pointer":
                objects = self.targets(self.rval(inner))
            else:
                objects = self.lval(inner)
            record = inner.type
            while record.kind in {"pointer", "reference", "array"} and record.element is not None:
                record = record.element
        else:
            objects = self.this().ptrs
            record = None
        if node.ref in self.program.variables:  # a static member
            return frozenset({Ptr(self.variable_base(node.ref), (), ZERO)})
        return frozenset(self.member(p, node.spelling, record) for p in objects)

    lval_member_ref = lval_member_ref_expr

    def lval_array_subscript_expr(self, node: Node) -> frozenset[Ptr]:
        """The element."""
        array, index = node.children
        if array.type.kind == "scalar":
            array, index = index, array
        ptrs = self.lval(array) if array.type.kind == "array" else self.targets(self.rval(array))
        return self.shift(ptrs, self.rval(index).number, array.type)

    def lval_unary_operator(self, node: Node) -> frozenset[Ptr]:
        """What `*` leads to; the operand of `++` and `--`."""
        if node.op == "*":
            return self.targets(self.rval(node.children[0]))
        if node.op in {"++", "--"}:
            self.rval(node)
            return self.lval(node.children[0])
        return self.rval(node).ptrs

    def lval_binary_operator(self, node: Node) -> frozenset[Ptr]:
        """The left side of `=`, the right side of a comma."""
        if node.op == "=":
            self.rval(node)
            return self.lval(node.children[0])
        if node.op == ",":
            self.rval(node.children[0])
            return self.lval(node.children[1])
        return self.rval(node).ptrs

    def lval_compound_assignment_operator(self, node: Node) -> frozenset[Ptr]:
        """The left side."""
        self.rval(node)
        return self.lval(node.children[0])

    def lval_conditional_operator(self, node: Node) -> frozenset[Ptr]:
        """The places of both branches."""
        self.rval(node.children[0])
        return self.join_ptrs(self.lval(node.children[1]) | self.lval(node.children[2]))

    def lval_cast(self, node: Node) -> frozenset[Ptr]:
        """The places of the operand."""
        return self.lval(node.children[0]) if node.children else frozenset()

    def lval_string_literal(self, node: Node) -> frozenset[Ptr]:
        """One object for all strings."""
        base = self.base(("string",), Base("string", "a string", None, many=True, defined=True))
        return frozenset({Ptr(base, (), None, True)})

    # --- values

    def rval(self, node: Node) -> Value:
        """The value of an expression, or what a statement leaves."""
        if node.value is not None:
            return Value(frozenset(), constant(node.value))
        method = getattr(self, f"rval_{node.kind.lower()}", None)
        if method is not None:
            found: Value = method(node)
            return found
        value = NOTHING
        for child in node.children:
            value = self.rval(child)
        return value if len(node.children) == 1 else NOTHING

    def quiet(self, node: Node) -> Value:
        """The value of an expression that was evaluated already."""
        actions, self.actions = self.actions, []
        value = self.rval(node)
        self.actions = actions
        return value

    def rval_place(self, node: Node) -> Value:
        """Read a place that an expression names."""
        if node.kind == "DECL_REF_EXPR" and node.ref not in self.program.variables:
            return NOTHING
        return self.read(self.lval(node), node)

    rval_decl_ref_expr = rval_member_ref_expr = rval_array_subscript_expr = rval_member_ref = rval_place

    def rval_string_literal(self, node: Node) -> Value:
        """A pointer to the string."""
        return Value(self.lval_string_literal(node))

    def rval_cxx_this_expr(self, node: Node) -> Value:
        """The pointer `this`."""
        return self.this()

    def rval_cast(self, node: Node) -> Value:
        """The operand's value, where a value of the new type can be tracked."""
        if not node.children:
            return NOTHING
        inner = node.children[0]
        if node.type.kind == "reference":
            return Value(self.lval(inner))
        value = self.rval(inner)
        if node.type.kind == "scalar" and not is_integer(inner.type):
            return NOTHING
        return value

    def rval_unary_operator(self, node: Node) -> Value:
        """Address-of, dereference, steps and signs."""
        inner = node.children[0]
        op = node.op
        if op == "&":
            return Value(self.lval(inner))
        if op == "*":
            return self.read(self.lval(node), node)
        if op in {"++", "--", "p++", "p--"}:
            return self.step(node, inner, ONE, 1 if "+" in op else -1, op.startswith("p"))
        value = self.rval(inner)
        if op == "-" and value.number is not None:
            return Value(frozenset(), ZERO - value.number)
        return value if op == "+" else NOTHING

    def step(self, node: Node, target: Node, count: Poly | None, sign: int, old: bool) -> Value:
        """Add to a variable, or move a pointer; the value before (`old`) or after."""
        ptrs = self.lval(target)
        self.access(ptrs, target.type, False, target)
        before = self.load(ptrs, target.type, target)
        if target.type.kind == "pointer":
            after = Value(self.shift(before.ptrs, count, target.type, sign))
        elif before.number is not None and count is not None:
            after = Value(frozenset(), before.number + count * constant(sign))
        else:
            after = NOTHING
        self.access(ptrs, target.type, True, node)
        self.write(ptrs, after, target.type, node)
        return before if old else after

    def rval_binary_operator(self, node: Node) -> Value:
        """Assignment, pointer and integer arithmetic; anything else only evaluates its operands."""
        op = node.op
        left, right = node.children
        if op == "=":
            return self.assign(node, left, right)
        if op == ",":
            self.rval(left)
            return self.rval(right)
        a, b = self.rval(left), self.rval(right)
        if op in {"+", "-"} and node.type.kind == "pointer":
            if left.type.kind in {"pointer", "array"}:
                return Value(self.shift(a.ptrs, b.number, left.type, 1 if op == "+" else -1))
            return Value(self.shift(b.ptrs, a.number, right.type))
        if (
            op in {"+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^"}
            and is_integer(node.type)
            and a.number
            and b.number
        ):
            return Value(frozenset(), self.atoms.operation(op, a.number, b.number))
        return NOTHING

    def assign(self, node: Node, left: Node, right: Node) -> Value:
        """Evaluate and store the right side, as a value or record."""
        if left.type.kind == "record":
            value = self.rval(right)
            ptrs = self.lval(left)
            self.access(ptrs, left.type, True, node)
            self.copy_record(value.ptrs, ptrs)
            return Value(ptrs)
        value = self.rval(right)
        ptrs = self.lval(left)
        self.access(ptrs, left.type, True, node)
        self.write(ptrs, value, left.type, node)
        return value

    def rval_compound_assignment_operator(self, node: Node) -> Value:
        """Read, compute and store."""
        left, right = node.children
        amount = self.rval(right)
        if node.op in {"+=", "-="}:
            return self.step(node, left, amount.number, 1 if node.op == "+=" else -1, False)
        ptrs = self.lval(left)
        self.access(ptrs, left.type, False, left)
        before = self.load(ptrs, left.type, left)
        after = NOTHING
        if before.number is not None and amount.number is not None and is_integer(left.type):
            after = Value(frozenset(), self.atoms.operation(node.op[:-1], before.number, amount.number))
        self.access(ptrs, left.type, True, node)
        self.write(ptrs, after, left.type, node)
        return after

    def rval_conditional_operator(self, node: Node) -> Value:
        """Either value; what one branch writes is not certain to be written."""
        self.rval(node.children[0])
        fresh = self.state.fresh
        a, b = self.rval(node.children[1]), self.rval(node.children[2])
        self.state.fresh = fresh
        if a == b:
            return a
        number = self.atoms.poly("choice", id(node), self.context.number) if a.number or b.number else None
        return Value(self.join_ptrs(a.ptrs | b.ptrs), number)

    def rval_init_list_expr(self, node: Node) -> Value:
        """Evaluate the items."""
        for child in node.children:
            self.rval(child)
        return NOTHING

    def rval_return_stmt(self, node: Node) -> Value:
        """Nothing: the node of the return evaluates it."""
        return NOTHING

    def rval_lambda_expr(self, node: Node) -> Value:
        """Evaluate the body once, where it is written."""
        # Executed where it is written: its accesses may happen, and its calls are not followed.
        for child in node.children:
            for inner in child.walk():
                statement = inner.parent is not None and inner.parent.kind.endswith("_STMT")
                if statement and inner.kind in EVALUATED:
                    self.rval(inner)
        return NOTHING

    def member_object(self, callee: Node) -> frozenset[Ptr]:
        """The object of a member call."""
        if not callee.children:
            return self.this().ptrs
        inner = callee.children[0]
        return self.rval(inner).ptrs if inner.type.kind == "pointer" else self.lval(inner)
