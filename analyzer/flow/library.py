"""Calls of functions whose bodies are not seen.

Those of the C and C++ libraries have the effects that effects.py lists; allocators, releases, std::swap and
functions that end the program are described here. Any other function is taken to touch only what its arguments
lead to, and to write only what its parameters do not declare const.
"""

from __future__ import annotations

from dataclasses import replace

from racedart.analyzer.flow.allocation import Allocation
from racedart.analyzer.flow.effects import ALLOCATORS, DEFINED, EFFECTS, ENDS, RELEASES, Effect
from racedart.analyzer.flow.kinds import OTHER, is_integer, is_vector
from racedart.analyzer.flow.state import NOTHING, Access, Base, Loc, Ptr, Value
from racedart.analyzer.flow.symbolic import ONE, ZERO, Poly
from racedart.analyzer.flow.vectors import Vectors
from racedart.analyzer.source.tree import Function, Node, Type

COPIES = EFFECTS["memcpy"]


class Library(Vectors, Allocation):
    """Effects of functions without a body."""

    def library_call(self, node: Node, function: Function) -> Value:
        """A call of a function of the C or C++ library."""
        name = function.name
        arguments = list(node.children)
        this = frozenset[Ptr]()
        object_type: Type | None = None
        if node.op == "member":
            callee = arguments.pop(0)
            this = self.member_object(callee)
            object_type = callee.children[0].type if callee.children else None
            if object_type is not None and object_type.kind == "pointer":
                object_type = object_type.element
        elif node.op == "operator" and arguments and is_vector(arguments[0].type):
            object_type = arguments[0].type
            this = self.lval(arguments.pop(0))
        if is_vector(object_type):
            return self.vector_call(this, name, [self.rval(a) for a in arguments], node)
        if name == "swap" and len(arguments) == 2:
            return self.swap(arguments[0], arguments[1], node)
        if name in {"move", "forward", "as_const", "addressof"} and len(arguments) == 1:
            return Value(self.lval(arguments[0]))
        values = [self.rval(a) for a in arguments]
        if name in ALLOCATORS:
            sizes = [values[k].number for k in ALLOCATORS[name] if k < len(values)]
            size: Poly | None = ONE
            for part in sizes:
                size = size * part if size is not None and part is not None else None
            return self.allocate(node, size, self.allocated_type(node), name in DEFINED)
        if name == "posix_memalign" and len(values) == 3:
            made = self.allocate(node, values[2].number, None, False)
            kind = Type("pointer", "void *", 8)
            self.access(values[0].ptrs, kind, True, node)
            self.write(values[0].ptrs, made, kind, node)
            return NOTHING
        if name in RELEASES:
            if values:
                self.release(values[0].ptrs, node)
            return NOTHING
        if name in ENDS:
            self.ended = not self.in_branch(node)
            return NOTHING
        if name in {"min", "max"} and len(values) == 2:
            numbers = [v.number for v in values]
            if numbers[0] is not None and numbers[1] is not None:
                return Value(frozenset(), self.atoms.operation(name, numbers[0], numbers[1]))
            return NOTHING
        effect = EFFECTS.get(name)
        if effect is None:
            return self.unknown_call(node, function, arguments, values, this)
        return self.effect(node, effect, arguments, values)

    @staticmethod
    def in_branch(node: Node) -> bool:
        """Whether an expression is evaluated only under a condition of its own statement."""
        for parent in node.ancestors():
            if parent.kind.endswith("_STMT"):
                return False
            if parent.kind == "CONDITIONAL_OPERATOR" or parent.op in {"&&", "||"}:
                return True
        return False

    def swap(self, left: Node, right: Node, node: Node) -> Value:
        """Exchange two values, or the data of two containers."""
        a, b = self.lval(left), self.lval(right)
        if is_vector(left.type):
            old_a, old_b = self.vector_data(a), self.vector_data(b)
            for targets, data in ((a, old_b), (b, old_a)):
                for ptr in targets:
                    self.state.store[Loc(ptr.base, (*ptr.path, "data()"))] = Value(data)
            return NOTHING
        first, second = self.load(a, left.type, left), self.load(b, right.type, right)
        for ptrs, value, place in ((a, second, left), (b, first, right)):
            self.access(ptrs, place.type, False, node)
            self.access(ptrs, place.type, True, node)
            self.write(ptrs, value, place.type, node)
        return NOTHING

    def effect(self, node: Node, effect: Effect, arguments: list[Node], values: list[Value]) -> Value:
        """Do what effects.py says of a function."""
        size: Poly | None = ONE if effect.size else None
        for k in effect.size:
            number = values[k].number if k < len(values) else None
            size = size * number if size is not None and number is not None else None
        for k, (argument, value) in enumerate(zip(arguments, values, strict=True)):
            reads = k in effect.reads or (effect.open_reads is not None and k >= effect.open_reads)
            writes = k in effect.writes or (effect.open_writes is not None and k >= effect.open_writes)
            if not value.ptrs or not (reads or writes):
                continue
            one = effect.open_writes is not None and k >= effect.open_writes
            extent = self.size(self.pointee(argument.type)) if one else size
            if reads:
                self.access(value.ptrs, OTHER, False, node, extent, True)
            if writes:
                self.whole_write(value.ptrs, node, extent, effect.must or one, arguments[k], effect is COPIES)
        if effect.returns is not None and effect.returns < len(values):
            return values[effect.returns]
        return NOTHING

    def whole_write(
        self, ptrs: frozenset[Ptr], node: Node, size: Poly | None, must: bool, argument: Node, copies: bool = False
    ) -> None:
        """Write `size` bytes of unknown values; `must`: all of them are written for sure."""
        before = len(self.actions)
        self.access(ptrs, OTHER, True, node, size, True)
        if not must:
            self.actions[before:] = [
                replace(a, certain=False) if isinstance(a, Access) else a for a in self.actions[before:]
            ]
        kind = self.pointee(argument.type)
        for ptr in ptrs:
            for loc, value in list(self.state.store.items()):
                inside = loc.base is ptr.base and loc.path[: len(ptr.path)] == ptr.path
                if inside and value.number is not None:
                    fresh = self.atoms.poly("written", self.context.number, id(node), loc)
                    self.state.store[loc] = Value(value.ptrs, fresh)
            if is_integer(kind) and len(ptrs) == 1 and not self.is_weak(ptr):
                self.found.types.setdefault(ptr.loc, kind)
                self.state.store[ptr.loc] = Value(
                    frozenset(), self.atoms.poly("written", self.context.number, id(node), ptr.loc)
                )

    def unknown_call(
        self, node: Node, function: Function, arguments: list[Node], values: list[Value], this: frozenset[Ptr]
    ) -> Value:
        """A function whose body is not seen: by the constness of what its parameters lead to."""
        for k, (argument, value) in enumerate(zip(arguments, values, strict=False)):
            if not value.ptrs:
                continue
            parameter = function.parameters[k].type if k < len(function.parameters) else argument.type
            target = self.pointee(parameter) if parameter.kind in {"pointer", "reference"} else parameter
            reached = self.reachable(value.ptrs) if not function.is_system else value.ptrs
            const = target.const or "const" in target.spelling.split("*")[0] or parameter.kind == "scalar"
            self.access(value.ptrs, OTHER, False, node, None, True)
            if not const and parameter.kind in {"pointer", "reference", "array"}:
                self.whole_write(value.ptrs, node, None, False, argument)
            for ptr in reached - value.ptrs:
                self.access({ptr}, OTHER, False, node, None, True)
                self.whole_write(frozenset({ptr}), node, None, False, argument)
        for ptr in this:
            self.access({ptr}, OTHER, False, node, None, True)
            self.whole_write(frozenset({ptr}), node, None, False, node)
        if function.result.kind in {"pointer", "reference"}:
            key = ("returned", id(node), self.context)
            base = self.base(
                key,
                Base("outside", f"{function.name}()", function.result.element, None, defined=True, foreign=True),
            )
            alike = {p for v in values for p in v.ptrs if not function.is_system}
            return Value(self.join_ptrs(frozenset({Ptr(base, (), ZERO), *alike})))
        return NOTHING

    def reachable(self, ptrs: frozenset[Ptr]) -> frozenset[Ptr]:
        """The objects that pointers lead to, and all that pointers in these lead to."""
        found = set(ptrs)
        bases = {p.base for p in ptrs}
        while True:
            more = {
                target
                for loc, value in self.state.store.items()
                if loc.base in bases
                for target in value.ptrs
                if target.base not in bases and target.base.kind not in {"string", "unknown"}
            }
            if not more:
                return frozenset(found)
            found |= more
            bases |= {p.base for p in more}
