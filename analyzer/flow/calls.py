"""Calls: the callee's body is interpreted anew in the context of the call, with its parameters bound.

What the callee did becomes part of the caller's actions: as one action where directives may be met in it on the
host, else access by access. Recursion, and calls nested deeper than DEPTH, are taken as calls of a function whose
body is not seen, and reported as incomplete if device code can be reached. So are calls through pointers.
"""

from __future__ import annotations

from racedart.analyzer.flow.kinds import is_integer, is_vector
from racedart.analyzer.flow.library import Library
from racedart.analyzer.flow.state import NOTHING, Base, Loc, Ptr, Value
from racedart.analyzer.flow.symbolic import ZERO
from racedart.analyzer.source.tree import Function, Node, Type, Variable

DEPTH = 60


class Calls(Library):
    """Calls of functions, members and constructors."""

    def rval_call_expr(self, node: Node) -> Value:
        """The value of a call; one that returns a reference is read."""
        value = self.call(node)
        if node.type.kind in {"reference"} or (node.ref and self.returns_reference(node)):
            return self.read(value.ptrs, node)
        return value

    def returns_reference(self, node: Node) -> bool:
        """Whether a call gives a reference."""
        function = self.program.functions.get(node.ref)
        return function is not None and function.result.kind == "reference"

    def lval_call_expr(self, node: Node) -> frozenset[Ptr]:
        """The places that the result of a call refers to."""
        return self.call(node).ptrs

    def call(self, node: Node) -> Value:
        """Execute a call of any kind."""
        function = self.program.functions.get(node.ref)
        if function is None:
            for child in node.children:
                self.rval(child)
            if node.op == "indirect":
                self.found.incomplete.setdefault("a call through a pointer or of an unknown function", node)
            return NOTHING
        if function.record.replace("const ", "").startswith("std::") or function.is_system:
            return self.library_call(node, function)
        if function.name == "operator=" and function.body is None and len(node.children) == 2:
            return self.assign(node, node.children[0], node.children[1])
        arguments = list(node.children)
        this = frozenset[Ptr]()
        if node.op == "member":
            this = self.member_object(arguments.pop(0))
        elif node.op == "operator" and function.is_method and arguments:
            this = self.lval(arguments.pop(0))
        elif node.op == "construct":
            temporary = self.base(
                ("temporary", id(node), self.context), Base("variable", "temporary", node.type, self.context)
            )
            this = frozenset({Ptr(temporary, (), ZERO)})
            self.construct(this, node.type, node)
            return Value(this)
        return self.invoke(node, function, arguments, this)

    def construct(self, target: frozenset[Ptr], kind: Type, node: Node) -> None:
        """Run the constructor that a node calls, on objects of a type."""
        function = self.program.functions.get(node.ref)
        if is_vector(kind):
            self.vector_call(target, "construct", [self.rval(a) for a in node.children], node)
        elif function is not None and function.body is not None and not function.is_system:
            self.invoke(node, function, node.children, target)
        else:
            values = [self.rval(a) for a in node.children]
            if len(values) == 1 and node.children[0].type.kind == "record":
                self.copy_record(values[0].ptrs, target)
            self.access(target, kind, True, node)

    def invoke(self, node: Node, function: Function, arguments: list[Node], this: frozenset[Ptr]) -> Value:
        """Call a function with arguments, on the object `this`."""
        values = []
        for k, argument in enumerate(arguments):
            parameter = function.parameters[k] if k < len(function.parameters) else None
            if parameter is not None and parameter.type.kind == "reference":
                values.append(Value(self.lval(argument)))
            else:
                values.append(self.rval(argument))
        chain = self.context.chain()
        if function.body is None or len(chain) > DEPTH or any(c.function is function for c in chain):
            if function.body is not None and function.key in self.with_device:
                self.found.incomplete.setdefault("recursion that reaches device code", node)
            return self.unknown_call(node, function, arguments, values, this)
        context = self.make_context(function, self.context, node)
        entry = self.state.copy()
        if self.device or function.key not in self.with_device:
            pass
        else:
            entry.fresh = frozenset()
        caller = self.context
        self.context = context
        if this:
            entry.store[Loc(context.this)] = Value(this)
        outer, self.state = self.state, entry
        for parameter, value, argument in zip(function.parameters, values, arguments, strict=False):
            self.own(parameter.key)
            self.bind(parameter, value, argument)
        self.state = outer
        self.context = caller
        if context.input is None or context.input.store != entry.store or context.input.fresh != entry.fresh:
            context.input = entry.copy()
            context.output = self.run(context, entry)
        self.ended = False
        if function.key in self.with_device and not self.device:
            self.actions.append(context)
        else:
            self.actions.extend(self.dissolved(context, node))
        if context.output is None:
            self.ended = not self.in_branch(node)
            return NOTHING
        self.state = context.output.copy()
        for loc in [
            loc for loc in self.state.store if loc.base.context is context and loc.base is not context.result
        ]:
            del self.state.store[loc]
        return context.returned

    def bind(self, parameter: Variable, value: Value, argument: Node) -> None:
        """Store an argument in a parameter."""
        base = self.variable_base(parameter.key)
        loc = Loc(base)
        self.found.types.setdefault(loc, parameter.type)
        if parameter.type.kind == "record":
            self.copy_record(value.ptrs, frozenset({Ptr(base, (), ZERO)}))
        else:
            if is_integer(parameter.type) and value.number is None:
                value = Value(frozenset(), self.atoms.poly("value", self.context.number, id(argument)))
            self.state.store[loc] = value
        base.defined = True
