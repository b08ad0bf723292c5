"""Declarations: the life of a variable begins, and its initialiser is written.

Variables, references, records (member by member, or by their constructor), arrays (as one place, whose elements
are not told apart), and arrays of variable length. Not handled: designators, whose
values are taken in the order of the members.
"""

from __future__ import annotations

from racedart.analyzer.flow.expressions import Expressions
from racedart.analyzer.flow.kinds import is_vector
from racedart.analyzer.flow.state import NOTHING, Birth, Loc, Ptr, Value
from racedart.analyzer.flow.symbolic import ZERO
from racedart.analyzer.source.tree import Node, Type


class Declarations(Expressions):
    """Variables and their initialisers."""

    def rval_decl_stmt(self, node: Node) -> Value:
        """Declare the variables of the statement."""
        for child in node.children:
            if child.kind == "VAR_DECL":
                self.declare(child)
        return NOTHING

    def rval_var_decl(self, node: Node) -> Value:
        """Declare the variable."""
        self.declare(node)
        return NOTHING

    def declare(self, node: Node) -> None:
        """Begin the life of a variable and write its initialiser."""
        variable = self.program.variables[node.ref]
        base = self.variable_base(node.ref)
        self.own(node.ref)
        kind = variable.type
        if base.context is not None and base not in self.private:
            self.actions.append(Birth(base, node))
        if kind.kind == "array" and kind.size < 0 and base.extent is None:
            extent = self.size(kind.innermost)
            for dimension in node.children:
                number = self.rval(dimension).number
                extent = extent * number if extent is not None and number is not None else None
            base.extent = extent
            return
        if node.op != "=":
            if is_vector(kind):
                return
            if base.context is not None:
                for loc in [loc for loc in self.state.store if loc.base is base]:
                    del self.state.store[loc]
            return
        init = node.children[0]
        target = frozenset({Ptr(base, (), ZERO)})
        if kind.kind == "reference":
            self.found.types.setdefault(Loc(base), kind)
            ptrs = self.lval(init)
            self.state.store[Loc(base)] = Value(ptrs)
        elif kind.kind == "record":
            self.initialise_record(target, kind, init, node)
        elif kind.kind == "array":
            self.initialise_array(target, kind, init)
            self.access(target, kind, True, node)
        else:
            value = self.rval(init)
            self.access(target, kind, True, node)
            self.write(target, value, kind, node)

    def initialise_record(self, target: frozenset[Ptr], kind: Type, init: Node, node: Node) -> None:
        """Write the initialiser of a record: a list, a constructor or another record."""
        if init.kind == "INIT_LIST_EXPR":
            fields = self.program.records.get(kind.spelling.replace("const ", ""), ())
            for entry, value in zip(fields, init.children, strict=False):
                member = frozenset(self.member(p, entry.name, kind) for p in target)
                if entry.type.kind == "record":
                    self.initialise_record(member, entry.type, value, node)
                else:
                    self.write(member, self.rval(value), entry.type, value)
            self.access(target, kind, True, node)
        elif init.kind == "CALL_EXPR" and init.op == "construct":
            self.construct(target, kind, init)
        else:
            source = self.rval(init)
            self.access(target, kind, True, node)
            self.copy_record(source.ptrs, target)

    def initialise_array(self, target: frozenset[Ptr], kind: Type, init: Node) -> None:
        """Write the items of an array's initialiser to its elements, any of which may hold each."""
        element = kind.element
        if element is None:
            return
        weak = frozenset(Ptr(p.base, p.path, None, True) for p in target)
        for child in init.children:
            if element.kind == "array":
                self.initialise_array(weak, element, child)
            elif element.kind == "record":
                self.initialise_record(weak, element, child, child)
            else:
                self.write(weak, self.rval(child), element, child)
