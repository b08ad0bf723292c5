"""What the checks' findings have in common: places, names of objects, sizes, and edits of clauses."""

from __future__ import annotations

from racedart.analyzer.checks.environment import Environment, Mapped, access_hull
from racedart.analyzer.flow.state import Access
from racedart.analyzer.flow.symbolic import Poly
from racedart.analyzer.mapping.extent import scope_at, write_poly, write_section
from racedart.analyzer.mapping.supergraph import Step
from racedart.analyzer.pragma import Clause, Directive, clause_removal, item_removal
from racedart.analyzer.rewrite import ByteEdit, Layout
from racedart.analyzer.source.tree import Node
from racedart.finding.model import Edit, Location

_OUTER = {"BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR", "CAST", "ARRAY_SUBSCRIPT_EXPR", "UNARY_OPERATOR"}


def place(environment: Environment, node: Node, step: Step, message: str = "") -> Location:
    """Where a node is; a directive's place is that of its pragma."""
    line, column = node.line, node.column
    if node.directive is not None:
        line, column = layout(environment, node).position(node.directive.start)
    return Location(node.file, line, column, step.context.function.name, message)


def layout(environment: Environment, node: Node) -> Layout:
    """The lines of the file of a node."""
    return Layout(environment.facts.program.files[node.file].data)


def spoken(environment: Environment, access: Access) -> str:
    """What the source calls the object of an access: `a` for `a[i] += 1`, `s.p` for `s.p[i]`."""
    node = access.ast
    while node.children and node.kind in _OUTER:
        node = node.children[0]
    if node.kind in {"DECL_REF_EXPR", "MEMBER_REF_EXPR", "MEMBER_REF"}:
        return environment.facts.program.text(node)
    return access.base.name


def item_name(mapped: Mapped) -> str:
    """What a directive calls an object."""
    return mapped.item.text if mapped.item is not None else mapped.base.name


def size_text(environment: Environment, step: Step, size: Poly | None) -> str:
    """A number of bytes for people: "32,768 bytes", "8 * n bytes", "an unknown number of bytes"."""
    if size is not None and size.value is not None:
        return f"{size.value:,} bytes"
    if size is not None:
        state = step.context.states[step.cfg_nodes[0]]
        text = write_poly(
            environment.facts.atoms, size, scope_at(environment.facts, step.context, step.root, state)
        )
        if text is not None:
            return f"{text} bytes"
    return "an unknown number of bytes"


def section_text(environment: Environment, step: Step, access: Access, name: str) -> str:
    """The list item that maps what an access touches, without a section where its bounds have no text."""
    touched = access_hull(environment.graph, step, access)
    element = access.size.value if access.size is not None else None
    if touched is None or not element:
        return f"{name}[...]"
    state = step.context.states[step.cfg_nodes[0]]
    scope = scope_at(environment.facts, step.context, step.root, state)
    section = write_section(environment.facts.atoms, *touched, element, scope)
    return f"{name}[...]" if section is None else f"{name}[{section[0]}:{section[1]}]"


def retyped(environment: Environment, mapped: Mapped, map_type: str) -> tuple[Edit, ...]:
    """The edits that give one item of a map clause another map-type."""
    clause, item = mapped.clause, mapped.item
    if (
        clause is None
        or item is None
        or any(m.name not in {"to", "from", "tofrom", "alloc"} for m in clause.modifiers)
    ):
        return ()
    changed = f"map({map_type}: {item.text})"
    if len(clause.items) == 1:
        return _edits(environment, mapped.node, ByteEdit(clause.start, clause.end, changed))
    removal = item_removal(clause, clause.items.index(item))
    return _edits(environment, mapped.node, ByteEdit(*removal, ""), ByteEdit(clause.end, clause.end, f" {changed}"))


def removed(
    environment: Environment, directive: Directive, clause: Clause, index: int, node: Node
) -> tuple[Edit, ...]:
    """The edits that remove one item of a clause; none if the directive needs it."""
    if len(clause.items) > 1:
        return _edits(environment, node, ByteEdit(*item_removal(clause, index), ""))
    if "data" in directive.kind and len(directive.named("map", "use_device_ptr", "use_device_addr")) == 1:
        return ()
    return _edits(environment, node, ByteEdit(*clause_removal(directive, directive.clauses.index(clause)), ""))


def _edits(environment: Environment, node: Node, *edits: ByteEdit) -> tuple[Edit, ...]:
    lines = layout(environment, node)
    return tuple(lines.to_edit(node.file, edit) for edit in edits)
