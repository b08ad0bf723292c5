"""Accesses through pointers: what is recorded of them, and the values that they read and leave.

A write replaces the value of a place only where it must hit that place and nothing else: one pointer, to one
object, at a known element (a strong update); else the old value remains possible. A read of an integer from one of
several elements gives a new atom. Accesses to private objects of a kernel, to string literals and to memory that
only the device has are left out. Not handled: members of a union as one place, and values seen through a pointer
of another type.
"""

from __future__ import annotations

from collections.abc import Iterable

from racedart.analyzer.flow.kinds import is_integer
from racedart.analyzer.flow.machine import Machine
from racedart.analyzer.flow.state import NOTHING, Access, Base, Loc, Ptr, Value
from racedart.analyzer.flow.symbolic import ZERO, Poly, constant
from racedart.analyzer.source.tree import Node, Type


class Memory(Machine):
    """Places and pointers."""

    def access(
        self, ptrs: Iterable[Ptr], kind: Type, write: bool, ast: Node, size: Poly | None = None, sized: bool = False
    ) -> None:
        """Record an access through pointers, to an object of a type (or of `size` bytes where sized)."""
        listed = list(ptrs)
        if not sized:
            size = constant(kind.size) if kind.size > 0 else None
        for ptr in listed:
            if ptr.base in self.private or ptr.base.kind in {"string", "device"}:
                continue
            single = len(listed) == 1
            certain = write and single and not ptr.base.many
            fresh = (ptr.loc, ptr.offset) if ptr.offset is not None else None
            exposed = not write and not (fresh in self.state.fresh and single)
            self.actions.append(
                Access(ptr.base, ptr.path, ptr.offset, size, write, certain, self.device, exposed, (ast,))
            )
            if write and single and fresh is not None and not ptr.base.many:
                self.state.fresh |= {fresh}

    def load(self, ptrs: Iterable[Ptr], kind: Type, ast: Node) -> Value:
        """The value that a read through pointers gives."""
        found: Value | None = None
        for ptr in ptrs:
            value = self.load_one(ptr, kind, ast)
            found = value if found is None else self.join_values(found, value, ptr.loc, ("load", id(ast)))
        if found is None:
            return NOTHING
        if is_integer(kind) and found.number is None:
            return Value(frozenset(), self.atoms.poly("value", self.context.number, id(ast)))
        return found

    def load_one(self, ptr: Ptr, kind: Type, ast: Node) -> Value:
        """The value that a read through one pointer gives."""
        loc = ptr.loc
        if loc.base is self.found.unknown or loc.base.kind == "device":
            if kind.kind in {"pointer", "reference"}:
                return Value(frozenset({Ptr(loc.base, (), None, True)}))
            return NOTHING
        value = self.state.store.get(loc)
        if value is None:
            self.found.types.setdefault(loc, kind)
            value = self.initial(loc) or NOTHING
        if is_integer(kind) and (self.is_weak(ptr) or value.number is None):
            return Value(value.ptrs, self.atoms.poly("value", self.context.number, id(ast)))
        return value

    def is_weak(self, ptr: Ptr) -> bool:
        """Whether a write through a pointer may leave the old value where its place is read."""
        return ptr.weak or ptr.base.many or (ptr.base.kind in {"heap", "outside"} and ptr.base.type is None)

    def read(self, ptrs: frozenset[Ptr], node: Node) -> Value:
        """Record a read of an expression's places, and give its value; arrays and records are their places."""
        kind = node.type
        if kind.kind == "reference" and kind.element is not None:
            kind = kind.element
        if kind.kind == "array":
            return Value(ptrs)
        self.access(ptrs, kind, False, node)
        if kind.kind == "record":
            return Value(ptrs)
        return self.load(ptrs, kind, node)

    def write(self, ptrs: Iterable[Ptr], value: Value, kind: Type, ast: Node) -> None:
        """Store a value in every place that is pointed to."""
        listed = list(ptrs)
        if is_integer(kind):
            if value.number is None:
                value = Value(frozenset(), self.atoms.poly("value", self.context.number, id(ast)))
        elif kind.kind not in {"pointer", "reference"} and not value.ptrs:
            return
        for ptr in listed:
            loc = ptr.loc
            if loc.base is self.found.unknown:
                continue
            self.found.types.setdefault(loc, kind)
            if len(listed) == 1 and not self.is_weak(ptr):
                self.state.store[loc] = value
            else:
                old = self.state.store.get(loc) or self.initial(loc)
                self.state.store[loc] = (
                    value
                    if old is None
                    else self.join_values(old, value, loc, ("weak", self.context.number, id(ast)))
                )

    def copy_record(self, sources: frozenset[Ptr], targets: frozenset[Ptr]) -> None:
        """Copy the values of all members of records."""
        for target in targets:
            strong = len(targets) == 1 and not self.is_weak(target)
            if strong and len(sources) == 1 and target.base not in {p.base for p in sources}:
                at = len(target.path)
                for loc in [loc for loc in self.state.store if loc.base is target.base]:
                    if len(loc.path) > at and loc.path[:at] == target.path:
                        del self.state.store[loc]
            for source in sources:
                depth = len(source.path)
                for loc, value in list(self.state.store.items()):
                    if loc.base is source.base and loc.path[:depth] == source.path and len(loc.path) > depth:
                        to = Loc(target.base, target.path + loc.path[depth:])
                        if loc in self.found.types:
                            self.found.types.setdefault(to, self.found.types[loc])
                        if strong and len(sources) == 1:
                            self.state.store[to] = value
                        else:
                            old = self.state.store.get(to) or self.initial(to) or value
                            self.state.store[to] = self.join_values(old, value, to, ("copy", self.context.number))

    # --- pointers

    def targets(self, value: Value) -> frozenset[Ptr]:
        """What a pointer that is followed leads to: unknown memory where nothing is known of it."""
        return value.ptrs or frozenset({Ptr(self.found.unknown, (), None, True)})

    def this(self) -> Value:
        """The pointer `this` of the context."""
        loc = Loc(self.context.this)
        value = self.state.store.get(loc)
        if value is None:
            base = self.base(
                ("this", self.context), Base("outside", "*this", None, None, defined=True, handle=loc, foreign=True)
            )
            value = self.state.store[loc] = Value(frozenset({Ptr(base, (), ZERO)}))
        return value

    def member(self, ptr: Ptr, name: str, record: Type | None) -> Ptr:
        """The pointer to a member of what a pointer leads to."""
        if ptr.base is self.found.unknown or ptr.base.kind == "device":
            return Ptr(ptr.base, (), None, True)
        spelling = record.spelling if record is not None else self.context.function.record
        offset = None
        for entry in self.program.records.get(spelling.replace("const ", ""), ()):
            if entry.name == name and ptr.offset is not None:
                offset = ptr.offset + constant(entry.offset)
        return Ptr(ptr.base, (*ptr.path, name), offset, ptr.weak)

    def shift(self, ptrs: frozenset[Ptr], count: Poly | None, kind: Type, sign: int = 1) -> frozenset[Ptr]:
        """Pointers moved by a number of elements."""
        size = self.size(kind.element) if kind.element is not None else None
        moved = []
        for ptr in ptrs:
            offset = None
            if ptr.offset is not None and count is not None and size is not None:
                offset = ptr.offset + count * size * constant(sign)
            weak = ptr.weak or count is None or bool(count.terms) or kind.kind == "array"
            moved.append(Ptr(ptr.base, ptr.path, offset, weak))
        return frozenset(moved)

    def size(self, kind: Type) -> Poly | None:
        """The size of a type in bytes; None if it is not known."""
        return constant(kind.size) if kind.size > 0 else None

    def pointee(self, kind: Type) -> Type:
        """What a type leads to; the type itself if it leads to nothing."""
        return kind.element if kind.kind in {"pointer", "array", "reference"} and kind.element else kind
