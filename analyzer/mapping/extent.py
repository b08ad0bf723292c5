"""Byte ranges of accesses: their hull over loops, whether they cover it, and the text of a bound in a scope.

A polynomial can be written at a place if every atom in it is the value of a variable, or member, that is visible
there (value numbering makes the names irrelevant), or an operation on such values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from racedart.analyzer.flow.context import Context
from racedart.analyzer.flow.facts import Interpretation
from racedart.analyzer.flow.kinds import is_integer
from racedart.analyzer.flow.state import Access, Loc, Ptr, State
from racedart.analyzer.flow.symbolic import Atoms, Poly, constant
from racedart.analyzer.source.tree import Node, Type, Variable

Hull = tuple[Poly, Poly]
Inside = Callable[[int], bool]


def loops_inside(facts: Interpretation, context: Context, root: Node) -> Inside:
    """Whether the loop that defines an atom lies in a piece of a context's tree, called functions included."""

    def inside(atom: int) -> bool:
        known = facts.atoms.known[atom]
        if known.kind != "phi":
            return False
        place = known.arguments[0]
        if not isinstance(place, tuple) or not isinstance(place[0], int) or not isinstance(place[1], int):
            return False
        inner: Context | None = facts.contexts[place[0]]
        node: Node | None = inner.graph.nodes[place[1]]["ast"] if inner is not None else None
        while inner is not None and inner is not context:
            node = inner.call
            inner = inner.parent
        return inner is context and node is not None and (node is root or any(p is root for p in node.ancestors()))

    return inside


def hull(atoms: Atoms, access: Access, inside: Inside) -> Hull | None:
    """Bytes [low, high) that an access may touch while the loops inside run."""
    if access.low is None or access.size is None:
        return None
    keep = frozenset(a for a in access.low.atoms | access.size.atoms if a in atoms.ranges and not inside(a))
    ends = atoms.bounds(access.low, access.low + access.size, keep)
    if ends is None:
        return None
    for end in ends:
        if any(inside(a) for a in end.atoms):
            return None
    return ends


def merge_hulls(atoms: Atoms, hulls: Iterable[Hull | None]) -> Hull | None:
    """The hull of hulls, if their ends can be compared."""
    merged: Hull | None = None
    for found in hulls:
        if found is None:
            return None
        if merged is None:
            merged = found
            continue
        low, high = merged
        below, above = atoms.sign(found[0] - low), atoms.sign(found[1] - high)
        if below is None or above is None:
            return None
        merged = (found[0] if below < 0 else low, found[1] if above > 0 else high)
    return merged


def covered(facts: Interpretation, writes: Iterable[Access], inside: Inside, root: Node) -> list[Hull]:
    """Byte ranges that writes fill without a gap in each execution of a piece."""
    atoms = facts.atoms
    groups: dict[Poly, list[tuple[int, int, Access]]] = {}
    found: list[Hull] = []
    for access in writes:
        if (
            not access.certain
            or not facts.certainty.always(access.sites, root)
            or access.low is None
            or access.size is None
        ):
            continue
        size = access.size.value
        if size is None:
            ends = hull(atoms, access, inside)
            if ends is not None and not any(inside(a) for a in access.low.atoms):
                found.append(ends)
            continue
        start = dict(access.low.terms).get((), 0)
        groups.setdefault(access.low - constant(start), []).append((start, start + size, access))
    for moving, pieces in groups.items():
        pieces.sort(key=lambda p: (p[0], p[1]))
        low, high = pieces[0][0], pieces[0][1]
        merged = []
        for a, b, _ in pieces[1:]:
            if a > high:
                merged.append((low, high))
                low, high = a, b
            else:
                high = max(high, b)
        merged.append((low, high))
        for low, high in merged:
            ends = _dense(atoms, moving + constant(low), constant(high - low), inside)
            if ends is not None:
                found.append(ends)
    return found


def _dense(atoms: Atoms, low: Poly, size: Poly, inside: Inside) -> Hull | None:
    """The range that [low, low + size) sweeps as the loops inside run, if it leaves no gap."""
    block = size
    loops = [a for a in low.atoms if a in atoms.ranges and inside(a)]
    if any(inside(a) for a in low.atoms if a not in atoms.ranges):
        return None
    while loops:
        for atom in loops:
            loop = atoms.ranges[atom]
            parts = low.linear_in(atom)
            if parts is None or not loop.complete:
                return None
            slope, rest = parts
            step = slope * constant(loop.step)
            if any(a in atoms.ranges and inside(a) for a in loop.low.atoms | loop.high.atoms):
                return None
            if step == block:
                low = rest + slope * loop.low
                block = block + slope * (loop.high - loop.low) if loop.step == 1 else block
                if loop.step != 1:
                    return None
                loops.remove(atom)
                break
        else:
            return None
    return low, low + block


def includes(atoms: Atoms, outer: Hull, inner: Hull) -> bool:
    """Whether one range surely holds another."""
    below, above = atoms.sign(inner[0] - outer[0]), atoms.sign(outer[1] - inner[1])
    return below is not None and below >= 0 and above is not None and above >= 0


@dataclass(slots=True)
class Scope:
    """What can be named at a place: integers by value and pointers by target."""

    integers: dict[Poly, str]
    pointers: list[tuple[str, frozenset[Ptr], Type, str]]
    variables: dict[str, Variable]
    state: State


def visible_variables(facts: Interpretation, context: Context, at: Node) -> dict[str, Variable]:
    """Variables by name as a directive in front of a statement sees them."""
    program = facts.program
    names: dict[str, Variable] = {}
    for variable in program.variables.values():
        if variable.is_global and any(
            (file == at.file and offset < at.start) or file not in program.inputs
            for file, offset in variable.places
        ):
            names[variable.name] = variable
    for parameter in context.function.parameters:
        names[parameter.name] = parameter
    found: list[Variable] = []
    child = at
    for parent in at.ancestors():
        for sibling in parent.children:
            if sibling.start >= child.start:
                break
            if sibling.kind in {"DECL_STMT", "VAR_DECL"}:
                declared = [d for d in (sibling, *sibling.children) if d.kind == "VAR_DECL"]
                found += [program.variables[d.ref] for d in declared if d.ref in program.variables]
        child = parent
    for variable in reversed(found):
        names[variable.name] = variable
    return names


def scope_at(facts: Interpretation, context: Context, at: Node, state: State) -> Scope:
    """The names at a place and their values in a state."""
    variables = visible_variables(facts, context, at)
    scope = Scope({}, [], variables, state)
    program = facts.program
    records = program.records

    def add(text: str, loc: Loc, kind: Type, depth: int, root: str) -> None:
        if kind.kind == "reference" and kind.element is not None:
            value = state.store.get(loc)
            if value is not None and len(value.ptrs) == 1:
                (ptr,) = value.ptrs
                add(text, ptr.loc, kind.element, depth, root)
            return
        value = state.store.get(loc)
        if value is None and loc.base.defined and loc.base.kind in {"variable", "outside"}:
            value = facts.initial_value(loc, kind)
        if kind.kind == "scalar" and is_integer(kind):
            if value is not None and value.number is not None:
                scope.integers.setdefault(value.number, text)
        elif kind.kind == "pointer":
            if value is not None and value.ptrs:
                scope.pointers.append((text, value.ptrs, kind, root))
                target = kind.element
                if depth < 2 and len(value.ptrs) == 1 and target is not None and target.kind == "record":
                    (ptr,) = value.ptrs
                    for field in records.get(target.spelling.replace("const ", ""), ()):
                        add(
                            f"{text}->{field.name}",
                            Loc(ptr.base, (*ptr.path, field.name)),
                            field.type,
                            depth + 1,
                            root,
                        )
        elif kind.kind == "record" and depth < 3:
            for field in records.get(kind.spelling.replace("const ", ""), ()):
                add(f"{text}.{field.name}", Loc(loc.base, (*loc.path, field.name)), field.type, depth + 1, root)

    for name, variable in variables.items():
        owner = None if variable.is_global or variable.is_static else context.home
        base = facts.bases.get(("variable", variable.key, owner))
        if base is not None:
            add(name, Loc(base), variable.type, 0, variable.key)
    if context.function.is_method:
        this = state.store.get(Loc(context.this))
        if this is not None and len(this.ptrs) == 1:
            (ptr,) = this.ptrs
            kind = Type("pointer", f"{context.function.record} *", 8, Type("record", context.function.record))
            scope.pointers.append(("this", this.ptrs, kind, "this"))
            for field in records.get(context.function.record, ()):
                add(field.name, Loc(ptr.base, (*ptr.path, field.name)), field.type, 1, "this")
    return scope


def write_poly(atoms: Atoms, poly: Poly, scope: Scope, depth: int = 0) -> str | None:
    """The text of a polynomial in a scope; None if an atom has no name there."""
    if poly.value is not None:
        return str(poly.value)
    named = scope.integers.get(poly)
    if named is not None:
        return named
    if depth > 6:
        return None
    plus: list[str] = []
    minus: list[str] = []
    for monomial, coefficient in sorted(poly.terms, key=lambda t: (-len(t[0]), t[0])):
        factors = []
        rest = list(monomial)
        product = Poly(frozenset({(monomial, 1)})) if monomial else None
        if product is not None and product in scope.integers:
            factors.append(scope.integers[product])
            rest = []
        for atom in rest:
            text = _write_atom(atoms, atom, scope, depth)
            if text is None:
                return None
            factors.append(text)
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, str(abs(coefficient)))
        (plus if coefficient > 0 else minus).append(" * ".join(factors))
    text = " + ".join(plus) if plus else "0"
    return text + "".join(f" - {part}" for part in minus)


def _write_atom(atoms: Atoms, atom: int, scope: Scope, depth: int) -> str | None:
    named = scope.integers.get(Poly(frozenset({((atom,), 1)})))
    if named is not None:
        return named
    known = atoms.known[atom]
    if known.kind == "op":
        operator, left, right = known.arguments
        if isinstance(left, Poly) and isinstance(right, Poly):
            a, b = write_poly(atoms, left, scope, depth + 1), write_poly(atoms, right, scope, depth + 1)
            if a is not None and b is not None and operator in {"/", "%", "<<", ">>", "&", "|", "^"}:
                return f"({_group(a)} {operator} {_group(b)})"
    return None


def _group(text: str) -> str:
    return f"({text})" if " " in text else text


def write_section(atoms: Atoms, low: Poly, high: Poly, element: int, scope: Scope) -> tuple[str, str] | None:
    """The lower bound and length of [low, high) bytes in elements; None where they cannot be written."""
    parts = []
    for poly in (low, high - low):
        whole = poly.divided(element)
        text = write_poly(atoms, whole, scope) if whole is not None else None
        if text is None:
            size = write_poly(atoms, poly, scope)
            if size is None or poly is low:
                return None
            text = f"{_group(size)} / {element}"
        parts.append(text)
    return parts[0], parts[1]
