"""std::vector and its like: a container is an object, its data another, reached by a pointer in it.

The data are one object for the life of the container: a resize changes the number of elements and writes them, and
pointers into them stay valid. Described are access to elements, iterators (as pointers to the data), the number of
elements, and what changes it. Not handled: other members, which touch nothing.
"""

from __future__ import annotations

from racedart.analyzer.flow.expressions import Expressions
from racedart.analyzer.flow.kinds import OTHER
from racedart.analyzer.flow.state import NOTHING, Base, Loc, Ptr, Value
from racedart.analyzer.flow.symbolic import ZERO, Poly, constant
from racedart.analyzer.source.tree import Node, Type

VECTOR_ACCESS = {"operator[]", "at", "data", "front", "back", "begin", "end", "cbegin", "cend", "rbegin"}
VECTOR_RESIZE = {"resize", "assign", "reserve", "push_back", "emplace_back", "insert", "clear", "shrink_to_fit"}


class Vectors(Expressions):
    """Members of containers."""

    def vector_data(self, objects: frozenset[Ptr]) -> frozenset[Ptr]:
        """Pointers to the data of containers."""
        found: set[Ptr] = set()
        for ptr in objects:
            loc = Loc(ptr.base, (*ptr.path, "data()"))
            value = self.state.store.get(loc)
            if value is None:
                made = self.base(
                    ("vector", loc),
                    Base(
                        "vector",
                        f"{'.'.join((ptr.base.name, *ptr.path))}.data()",
                        None,
                        None,
                        many=ptr.base.many,
                        defined=ptr.base.defined,
                    ),
                )
                value = self.state.store[loc] = Value(frozenset({Ptr(made, (), ZERO, True)}))
            found |= value.ptrs
        return frozenset(found)

    def vector_call(self, objects: frozenset[Ptr], name: str, values: list[Value], node: Node) -> Value:
        """A call of a member, or of the constructor (`construct`), of containers."""
        data = self.vector_data(objects)
        first = values[0].number if values else None
        if name in {"operator[]", "at"}:
            element = node.type
            size = self.size(element.element if element.kind == "reference" and element.element else element)
            if size is None:
                return Value(frozenset(Ptr(p.base, p.path, None, True) for p in data))
            self.element_size(data, size)
            offset = first * size if first is not None else None
            return Value(
                frozenset(
                    Ptr(
                        p.base,
                        p.path,
                        p.offset + offset if p.offset is not None and offset is not None else None,
                        True,
                    )
                    for p in data
                )
            )
        if name in VECTOR_ACCESS or name == "get":
            if node.type.element is not None and node.type.element.size > 0:
                self.element_size(data, constant(node.type.element.size))
            return Value(data)
        if name in {"size", "length"}:
            for loc in (Loc(p.base, ("size()",)) for p in data):
                value = self.state.store.get(loc)
                if value is not None and len(data) == 1:
                    return value
                self.found.types.setdefault(loc, Type("scalar", "unsigned long", 8))
                return Value(frozenset(), self.atoms.poly("init", loc))
            return NOTHING
        if name in {"construct", "resize", "assign", "operator="} or name in VECTOR_RESIZE:
            for ptr in data:
                loc = Loc(ptr.base, ("size()",))
                known = name in {"construct", "resize", "assign"} and first is not None
                count = first if known else self.atoms.poly("value", self.context.number, id(node))
                self.found.types.setdefault(loc, Type("scalar", "unsigned long", 8))
                self.state.store[loc] = Value(frozenset(), count)
            self.access(data, OTHER, True, node, None, True)
            return NOTHING
        return NOTHING

    def element_size(self, data: frozenset[Ptr], size: Poly) -> None:
        """The extent of a vector's data, now that its elements are known."""
        for ptr in data:
            count = self.state.store.get(Loc(ptr.base, ("size()",)))
            if count is not None and count.number is not None and ptr.base.extent is None:
                ptr.base.extent = count.number * size
