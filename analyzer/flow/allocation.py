"""Allocation on the heap: one object for each place of the program that allocates, in each context.

An object stands for many pieces where its loop may make a second one while the first is in use. Not handled:
`realloc` as one that moves, placement new, and what a program's own pool of memory hands out, piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterable

from racedart.analyzer.flow.expressions import Expressions
from racedart.analyzer.flow.state import NOTHING, Access, Base, Birth, Ptr, Release, Value
from racedart.analyzer.flow.symbolic import ZERO, Poly
from racedart.analyzer.source.tree import Node, Type


class Allocation(Expressions):
    """Memory that is made and released by expressions."""

    def allocate(self, node: Node, size: Poly | None, kind: Type | None, defined: bool) -> Value:
        """A pointer to the object that an expression makes, of `size` bytes."""
        chain = tuple(c.number for c in self.context.chain())
        base = self.base(("heap", id(node), chain), Base("heap", "", kind, None, origin=node))
        base.extent = size
        base.defined = False
        base.name = f"memory allocated at line {node.line}"
        if kind is not None and (kind.kind != "record" or size is None or size.value != kind.size):
            base.type = None if kind.kind != "record" else kind
        base.many = self.in_loop(node)
        self.actions.append(Birth(base, node))
        if defined:
            self.actions.append(Access(base, (), ZERO, size, True, True, self.device, False, (node,), True))
        return Value(frozenset({Ptr(base, (), ZERO)}))

    def allocated_type(self, node: Node) -> Type | None:
        """What an allocation is cast to, or assigned to."""
        for parent in node.ancestors():
            if parent.kind in {"CAST", "VAR_DECL", "BINARY_OPERATOR"}:
                kind = parent.children[0].type if parent.kind == "BINARY_OPERATOR" else parent.type
                return kind.element if kind.kind == "pointer" else None
            if parent.kind.endswith("_STMT"):
                return None
        return None

    def in_loop(self, node: Node) -> bool:
        """Whether an allocation may execute twice while what it made first is in use."""
        if any(p.kind in {"FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT"} for p in node.ancestors()):
            return self.outlives_iteration(node)
        return False

    def outlives_iteration(self, node: Node) -> bool:
        """Whether what an iteration allocates may be in use in the next one."""
        # Stored in a variable that the loop's body declares: one piece for each iteration, at most one at a time.
        for parent in node.ancestors():
            if parent.kind == "VAR_DECL":
                return False
            if parent.kind in {"BINARY_OPERATOR"} and parent.op == "=":
                return parent.children[0].kind != "DECL_REF_EXPR"
        return True

    def release(self, ptrs: Iterable[Ptr], node: Node) -> None:
        """Record that the memory behind pointers ends."""
        self.actions.extend(Release(p.base, node) for p in ptrs if p.base.kind in {"heap", "outside"})

    def rval_cxx_new_expr(self, node: Node) -> Value:
        """Allocate, and run constructors."""
        element = node.type.element
        size = self.size(element) if element is not None else None
        if node.op == "[]" and node.children:
            count = self.rval(node.children[0]).number
            size = size * count if size is not None and count is not None else None
            return self.allocate(node, size, element, len(node.children) > 1)
        value = self.allocate(node, size, element, False)
        for child in node.children:
            if child.kind == "CALL_EXPR" and child.op == "construct" and element is not None:
                self.construct(value.ptrs, element, child)
            else:
                self.rval(child)
        return value

    def rval_cxx_delete_expr(self, node: Node) -> Value:
        """Release."""
        for child in node.children:
            self.release(self.rval(child).ptrs, node)
        return NOTHING
