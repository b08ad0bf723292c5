"""Which mapping each object gets: candidates for its regions, the cheapest plan that keeps every read valid.

The objects are the pieces of memory that device code touches. Candidates, from the inside out: map clauses on the
kernels themselves; the smallest statement, or range of statements of one block, that holds all kernels that use the
object; every statement around that, through the callers. A candidate counts only if the object has a name there,
its extent can be written there, and it begins and ends its life outside. Costs are bytes first and copies second,
each transfer times the trip counts of the loops around it (10 where unknown).

A record whose member points to a mapped object is mapped in the same region, so that the pointer is attached.
A scalar needs a clause only where a kernel's value of it is read later; else it is firstprivate (OpenMP, 5.8.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from racedart.analyzer.flow.context import Context
from racedart.analyzer.flow.facts import Interpretation
from racedart.analyzer.flow.state import Access, Base, Birth, Release, State
from racedart.analyzer.flow.symbolic import ZERO, Poly
from racedart.analyzer.mapping.extent import (
    Hull,
    Scope,
    hull,
    loops_inside,
    merge_hulls,
    scope_at,
    write_section,
)
from racedart.analyzer.mapping.model import Plan, Region
from racedart.analyzer.mapping.solve import Solver, passes_end
from racedart.analyzer.mapping.supergraph import LOOPS, Step, Supergraph, build_supergraph
from racedart.analyzer.source.tree import Node, Type

UNKNOWN_TRIPS = 10.0
UNKNOWN_SIZE = 1000.0


@dataclass(slots=True)
class Refusal:
    """Why an object, or a kernel, gets no mapping."""

    message: str
    at: Node


@dataclass(eq=False)
class Inference:
    """The plans of all objects, or why there are none."""

    facts: Interpretation
    graph: Supergraph
    plans: list[Plan] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)


def infer_plans(facts: Interpretation) -> Inference:
    """Plans for every object that device code uses."""
    graph = build_supergraph(facts)
    found = Inference(facts, graph)
    _Planner(found).plan()
    return found


class Names:
    """Names and states at places of the program, remembered."""

    def __init__(self, facts: Interpretation) -> None:
        self.facts = facts
        self.scopes: dict[tuple[int, int, bool], Scope | None] = {}

    def state(self, context: Context, at: Node, after: bool) -> State | None:
        """The state in front of a statement, or behind it."""
        inside = [
            n
            for n in context.order
            if n in context.states and (ast := context.graph.nodes[n]["ast"]) is not None and at.holds(ast)
        ]
        if not inside:
            return None
        if not after:
            return context.states[min(inside, key=lambda n: context.rank[n])]
        members = set(inside)
        for node in reversed(inside):
            for successor in context.graph.successors(node):
                if successor not in members and successor in context.states:
                    return context.states[successor]
        return None

    def scope(self, context: Context, at: Node, after: bool = False) -> Scope | None:
        """What can be named in front of a statement, or behind it."""
        key = (context.number, id(at), after)
        if key not in self.scopes:
            state = self.state(context, at, after)
            self.scopes[key] = None if state is None else scope_at(self.facts, context, at, state)
        return self.scopes[key]

    def handles(self, scope: Scope, base: Base, many: bool = False) -> list[tuple[str, Type, str]]:
        """Names of an object in a scope, best first: (text, type of the variable or pointer, root variable)."""
        if base.kind == "variable" and base.variable is not None:
            visible = scope.variables.get(base.variable.name)
            if visible is not None and visible.key == base.variable.key:
                return [(base.variable.name, base.variable.type, base.variable.key)]
            return []
        found = []
        for text, ptrs, kind, root in scope.pointers:
            mine = [p for p in ptrs if p.base is base]
            if not mine or (len(ptrs) > 1 and not many):
                continue
            if any(p.path or p.offset is None or p.offset.terms for p in mine):
                continue
            found.append((text, kind, root))
        return sorted(found, key=lambda h: (h[0].count("->") + h[0].count("."), len(h[0]), h[0]))


class _Planner:
    def __init__(self, found: Inference) -> None:
        self.found = found
        self.facts = found.facts
        self.graph = found.graph
        self.atoms = found.facts.atoms
        self.names = Names(found.facts)
        self.kernels = [s for s in self.graph.steps if s.kind == "kernel"]
        self.trips = self.trip_counts()
        self.captured: dict[int, set[str]] = {}
        self.device_globals = declare_target_variables(found.facts)

    # --- which objects

    def objects(self) -> dict[Base, list[Step]]:
        found: dict[Base, list[Step]] = {}
        for step in self.kernels:
            for action in step.actions:
                if isinstance(action, Access) and action.device:
                    steps = found.setdefault(action.base, [])
                    if step not in steps:
                        steps.append(step)
        return found

    def plan(self) -> None:
        for what, node in self.facts.incomplete.items():
            if what.startswith("recursion"):
                self.refuse(f"{what}: its accesses are not known", node)
        objects = self.objects()
        managed = self.managed_objects()
        plans: dict[Base, Plan] = {}
        records: list[Base] = []
        for base, kernels in objects.items():
            if base in managed or base.kind in {"string", "device"}:
                continue
            if base is self.facts.unknown:
                self.refuse("a kernel follows a pointer whose target is not known", self.first_access(base))
                continue
            if base.kind == "variable" and (base.type is None or base.type.kind in {"pointer", "reference"}):
                continue
            if base.variable is not None and base.variable.key in self.device_globals:
                self.permanent(base, plans)
                continue
            if self.unreachable_global(base, kernels):
                continue
            if self.holds_mapped_pointers(base, objects):
                records.append(base)
                continue
            self.choose(base, kernels, plans)
        for base in self.outermost_last(records):
            self.choose_record(base, objects, plans)
        self.found.plans = list(plans.values())

    def refuse(self, message: str, at: Node) -> None:
        self.found.refusals.append(Refusal(message, at))

    def first_access(self, base: Base) -> Node:
        for step in self.kernels:
            for action in step.actions:
                if isinstance(action, Access) and action.device and action.base is base:
                    return action.ast
        return self.kernels[0].root

    def unreachable_global(self, base: Base, kernels: list[Step]) -> bool:
        """A global that only functions called on the device name: it must be a declare target variable."""
        variable = base.variable
        if variable is None or not (variable.is_global or variable.is_static):
            return False
        if variable.type.kind == "scalar" and variable.type.const:
            return True
        outside = [
            a.ast
            for s in kernels
            for a in s.actions
            if isinstance(a, Access)
            and a.base is base
            and a.device
            and not a.implicit
            and variable.key not in self.captured_by(s)
        ]
        if outside:
            self.refuse(
                f"{variable.name} is used by a function that runs on the device: declare it there with "
                "`#pragma omp declare target`",
                outside[0],
            )
            return True
        return False

    def captured_by(self, kernel: Step) -> set[str]:
        key = id(kernel.root)
        if key not in self.captured:
            names = {n.ref for n in kernel.root.walk() if n.kind == "DECL_REF_EXPR" and n.ref}
            if any(
                n.kind == "CXX_THIS_EXPR" or (n.kind == "MEMBER_REF_EXPR" and not n.children)
                for n in kernel.root.walk()
            ):
                names.add("this")
            self.captured[key] = names
        return self.captured[key]

    def holds_mapped_pointers(self, base: Base, objects: dict[Base, list[Step]]) -> bool:
        return bool(self.payloads(base, objects))

    def payloads(self, base: Base, objects: dict[Base, list[Step]]) -> set[Base]:
        """Objects that device code reaches through pointers stored in a record or array."""
        found: set[Base] = set()
        if base.kind == "variable" and base.type is not None and base.type.kind not in {"record", "array"}:
            return found
        for step in objects.get(base, ()):
            state = step.context.states.get(step.cfg_nodes[0])
            if state is None:
                continue
            read = {a.path for a in step.actions if isinstance(a, Access) and a.device and a.base is base}
            for loc, value in state.store.items():
                if loc.base is base and loc.path in read:
                    found |= {p.base for p in value.ptrs if p.base in objects and p.base is not base}
            for path in read:
                made = self.facts.bases.get(("outside", (base, path)))
                if made is not None and made in objects:
                    found.add(made)
        return found

    def outermost_last(self, records: list[Base]) -> list[Base]:
        objects = self.objects()
        order: list[Base] = []

        def visit(base: Base, path: tuple[Base, ...]) -> None:
            if base in order or base in path:
                return
            for inner in self.payloads(base, objects):
                if inner in records:
                    visit(inner, (*path, base))
            order.append(base)

        for base in records:
            visit(base, ())
        return order

    def managed_objects(self) -> set[Base]:
        """Objects that data directives of the program name already: their mapping is the programmer's."""
        found: set[Base] = set()
        for context in self.facts.contexts:
            if context.owner is not None:
                continue
            for node in context.order:
                data = context.graph.nodes[node]
                ast = data["ast"]
                if data["role"] not in {"alone", "begin"} or ast.directive is None or node not in context.states:
                    continue
                if not ast.directive.kind.startswith("target"):
                    continue
                scope = scope_at(self.facts, context, ast, context.states[node])
                for clause in ast.directive.named("map", "to", "from"):
                    for item in clause.items:
                        found |= self.named_objects(item.base, tuple(item.path), scope, context)
        return found

    def named_objects(self, name: str, path: tuple[str, ...], scope: Scope, context: Context) -> set[Base]:
        variable = scope.variables.get(name)
        found: set[Base] = set()
        if variable is not None and not path:
            owner = None if variable.is_global or variable.is_static else context.home
            base = self.facts.bases.get(("variable", variable.key, owner))
            if base is not None:
                found.add(base)
        for text, ptrs, _, _ in scope.pointers:
            if text.replace("->", ".") == ".".join((name, *path)):
                found |= {p.base for p in ptrs}
        return found

    # --- candidates

    def choose(
        self, base: Base, kernels: list[Step], plans: dict[Base, Plan], forced: list[list[Region]] | None = None
    ) -> None:
        best: Plan | None = None
        reasons: list[str] = []
        scalar = base.kind == "variable" and base.type is not None and base.type.kind == "scalar"
        groups = forced if forced is not None else list(self.candidates(kernels, scalar or base.many))
        for regions in groups:
            plan = self.evaluate(base, regions, reasons)
            if plan is not None and (best is None or (plan.size, plan.copies) < (best.size, best.copies)):
                best = plan
        if best is None:
            if scalar:
                return
            why = "; ".join(dict.fromkeys(reasons)) or "no placement of transfers keeps both copies valid"
            self.refuse(f"no mapping for {base.name}: {why}", self.first_access(base))
            return
        if scalar and not any(best.from_):
            return
        plans[base] = best

    def choose_record(self, base: Base, objects: dict[Base, list[Step]], plans: dict[Base, Plan]) -> None:
        inner = [plans[p] for p in self.payloads(base, objects) if p in plans]
        regions = [r for p in inner for r in p.regions if r.kind != "kernel"]
        if not regions:
            self.choose(base, objects[base], plans)
            if base in plans and inner and any(r.kind != "kernel" for r in plans[base].regions):
                return
            return
        widest = max(regions, key=lambda r: len(r.steps))
        groups = [
            g for g in self.candidates(objects[base], False) if g[0].kind != "kernel" and widest.steps <= g[0].steps
        ]
        self.choose(
            base, objects[base], plans, [[widest], *groups] if self.holds_all(widest, objects[base]) else groups
        )

    @staticmethod
    def holds_all(region: Region, kernels: list[Step]) -> bool:
        return all(k in region.steps for k in kernels)

    def candidates(self, kernels: list[Step], only_kernels: bool) -> Iterator[list[Region]]:
        yield [Region("kernel", k.context, k.root, k.root, frozenset({k})) for k in kernels]
        if only_kernels:
            return
        paths = [self.path(k) for k in kernels]
        depth = 0
        while (
            all(len(p) > depth for p in paths)
            and len({(c.number, id(n)) for c, n in (p[depth] for p in paths)}) == 1
        ):
            depth += 1
        common = paths[0][:depth]
        for at in range(len(common) - 1, -1, -1):
            context, node = common[at]
            region = self.region_at(context, node, kernels, at == len(common) - 1)
            if region is not None:
                yield [region]

    @staticmethod
    def path(step: Step) -> list[tuple[Context, Node]]:
        found = []
        for context, node in step.spine:
            found += [(context, n) for n in [*node.ancestors()][::-1]] + [(context, node)]
        return found

    def region_at(self, context: Context, node: Node, kernels: list[Step], innermost: bool) -> Region | None:
        if node.kind == "COMPOUND_STMT":
            if not innermost:
                return None
            holders = [c for c in node.children if any(k in self.graph.within(context, c) for k in kernels)]
            if len(holders) < 2:
                return None
            first, last = holders[0], holders[-1]
            children = node.children
            between = children[children.index(first) : children.index(last) + 1]
            steps = frozenset(s for c in between for s in self.graph.within(context, c))
            return Region("range", context, first, last, steps, node)
        if (
            node.parent is None
            or node.parent.kind != "COMPOUND_STMT"
            or node.kind
            in {
                "DECL_STMT",
                "CASE_STMT",
                "DEFAULT_STMT",
                "LABEL_STMT",
                "RETURN_STMT",
            }
        ):
            return None
        return Region("statement", context, node, node, self.graph.within(context, node))

    def evaluate(self, base: Base, regions: list[Region], reasons: list[str]) -> Plan | None:
        """The plan for one candidate, with its cost; None (and why) where it does not serve."""
        total: Hull | None = (ZERO, base.extent) if base.extent is not None else None
        for region in regions:
            if not self.suits(base, region, reasons):
                return None
        if regions[0].kind != "kernel":
            section = self.region_section(base, regions[0], reasons)
            if section is None:
                return None
            total = section
        else:
            total = self.kernel_section(base, regions, reasons)
            if total is None:
                return None
        solver = Solver(self.graph, base, regions, total, self.can_write(base), self.live_at_end(base))
        plan = solver.solve()
        if plan is None:
            reasons.append("no placement of updates keeps the host and the device copy valid")
            return None
        self.price(plan)
        return plan

    def live_at_end(self, base: Base) -> bool:
        if self.facts.closed:
            return False
        return base.context is None or base.kind in {"heap", "outside", "vector"}

    def suits(self, base: Base, region: Region, reasons: list[str]) -> bool:
        for step in region.steps:
            for action in step.actions:
                if isinstance(action, (Birth, Release)) and action.base is base:
                    reasons.append("its memory begins or ends between the kernels")
                    return False
        if region.kind == "kernel":
            scope = self.names.scope(region.context, region.first)
            if scope is None:
                return False
            (kernel,) = region.steps
            handles = [h for h in self.names.handles(scope, base, True) if h[2] in self.captured_by(kernel)]
            if not handles:
                reasons.append("the kernel has no name for it that points to its beginning")
                return False
            return True
        scope = self.names.scope(region.context, region.first)
        if scope is None or not self.names.handles(scope, base):
            reasons.append(f"no variable surely points to it at line {region.first.line}")
            return False
        if region.kind == "statement" and self.leaves(region, region.first):
            reasons.append(f"control leaves the statement at line {region.first.line} early")
            return False
        if region.kind == "range":
            assert region.block is not None
            children = region.block.children
            between = children[children.index(region.first) : children.index(region.last) + 1]
            if any(self.leaves(region, c) for c in between):
                reasons.append(f"control leaves the statements from line {region.first.line} early")
                return False
        return True

    def leaves(self, region: Region, statement: Node) -> bool:
        return any(
            s.kind == "jump"
            and s.context is region.context
            and not passes_end(s, statement)
            and s.root.kind != "CONTINUE_STMT"
            for s in self.graph.within(region.context, statement)
        )

    # --- sections

    def element(self, base: Base, kind: Type) -> int:
        """Bytes per element of what a handle of a type leads to."""
        if kind.kind == "array":
            return max(kind.innermost.size, 1)
        if kind.kind == "pointer" and kind.element is not None and kind.element.size > 0:
            return kind.element.size
        return 1

    def region_section(self, base: Base, region: Region, reasons: list[str]) -> Hull | None:
        scope = self.names.scope(region.context, region.first)
        assert scope is not None
        _, kind, _ = self.names.handles(scope, base)[0]
        if base.kind == "variable":
            if base.extent is None:
                reasons.append("its size is not known")
                return None
            return ZERO, base.extent
        if base.extent is not None:
            if write_section(self.atoms, ZERO, base.extent, self.element(base, kind), scope) is not None:
                return ZERO, base.extent
            reasons.append(f"its size cannot be written at line {region.first.line}")
        found = None
        if base.extent is None:
            inside = loops_inside(self.facts, region.context, region.block or region.first)
            found = merge_hulls(
                self.atoms,
                [
                    hull(self.atoms, a, inside)
                    for s in region.steps
                    for a in s.actions
                    if isinstance(a, Access) and a.device and a.base is base
                ],
            )
            if found is None:
                reasons.append("neither its size nor the range that the kernels use is known")
                return None
            found = (ZERO, found[1])
            if write_section(self.atoms, *found, self.element(base, kind), scope) is None:
                reasons.append(f"the range that the kernels use cannot be written at line {region.first.line}")
                return None
        return found

    def kernel_section(self, base: Base, regions: list[Region], reasons: list[str]) -> Hull | None:
        merged: Hull | None = None
        texts = True
        for region in regions:
            (kernel,) = region.steps
            scope = self.names.scope(region.context, region.first)
            assert scope is not None
            _, kind, _ = self.names.handles(scope, base, True)[0]
            if kind.kind in {"scalar", "record"} and base.kind == "variable":
                return (ZERO, base.extent) if base.extent is not None else None
            inside = loops_inside(self.facts, kernel.context, kernel.root)
            found = merge_hulls(
                self.atoms,
                [
                    hull(self.atoms, a, inside)
                    for a in kernel.actions
                    if isinstance(a, Access) and a.device and a.base is base
                ],
            )
            element = self.element(base, kind)
            if kind.kind == "array" and kind.element is not None and kind.element.kind == "array":
                found = None
            if found is not None and write_section(self.atoms, *found, element, scope) is None:
                found = None
            if found is not None:
                merged = found if merged is None else merge_hulls(self.atoms, [merged, found])
                texts = texts and merged is not None
            else:
                texts = False
            sized = base.extent is not None and base.kind != "variable" and found is None
            if sized and self.section_text(base.extent, element, scope) is None:
                reasons.append(f"its size cannot be written at line {region.first.line}")
                return None
        whole: Hull | None = (ZERO, base.extent) if base.extent is not None else None
        if not texts or merged is None:
            if whole is None:
                reasons.append("neither its size nor the range that the kernel uses is known")
            elif base.kind != "variable":
                for region in regions:
                    scope = self.names.scope(region.context, region.first)
                    assert scope is not None
                    _, kind, _ = self.names.handles(scope, base, True)[0]
                    if write_section(self.atoms, *whole, self.element(base, kind), scope) is None:
                        reasons.append(f"its size cannot be written at line {region.first.line}")
                        return None
            return whole
        if whole is None:
            return merged
        if (
            any(
                write_section(self.atoms, *whole, 1, s) is None
                for r in regions
                if (s := self.names.scope(r.context, r.first)) is not None
            )
            and base.kind != "variable"
        ):
            return merged
        return merged if self.bytes(merged) < self.bytes(whole) else whole

    def section_text(self, extent: Poly | None, element: int, scope: Scope) -> tuple[str, str] | None:
        return None if extent is None else write_section(self.atoms, ZERO, extent, element, scope)

    def can_write(self, base: Base):  # type: ignore[no-untyped-def]  # the signature is Solver's
        def check(section: Hull | None, context: Context, at: Node, after: bool) -> bool:
            return self.update_text(base, section, context, at, after) is not None

        return check

    def update_text(self, base: Base, section: Hull | None, context: Context, at: Node, after: bool) -> str | None:
        """A list item for an update at a place."""
        scope = self.names.scope(context, at, after)
        if scope is None:
            return None
        handles = self.names.handles(scope, base)
        if not handles:
            return None
        return self.item(base, section, scope, handles[0])

    def item(self, base: Base, section: Hull | None, scope: Scope, handle: tuple[str, Type, str]) -> str | None:
        text, kind, _ = handle
        if section is None:
            if base.kind == "variable":
                return text
            if base.extent is None:
                return None
            section = (ZERO, base.extent)
        if kind.kind in {"scalar", "record"}:
            return text
        if kind.kind == "array":
            if base.extent is not None and section == (ZERO, base.extent):
                return text
            if kind.element is None or kind.element.kind == "array":
                return None
        parts = write_section(self.atoms, section[0], section[1], self.element(base, kind), scope)
        return None if parts is None else f"{text}[{parts[0]}:{parts[1]}]"

    # --- cost

    def bytes(self, section: Hull | None) -> float:
        return UNKNOWN_SIZE * 8 if section is None else (section[1] - section[0]).evaluate({}, UNKNOWN_SIZE)

    def trip_counts(self) -> dict[tuple[int, int], float]:
        found: dict[tuple[int, int], float] = {}
        for atom, loop in self.atoms.ranges.items():
            place = self.atoms.known[atom].arguments[0]
            count = (loop.high - loop.low).value
            if count is None or not isinstance(place, tuple) or not isinstance(place[0], int):
                continue
            context = self.facts.contexts[place[0]]
            ast = context.graph.nodes[place[1]]["ast"]
            found[context.number, id(ast)] = max((count + 1) / loop.step, 0.0)
        return found

    def frequency(self, context: Context, at: Node) -> float:
        product = 1.0
        here: Context | None = context
        node = at
        while here is not None:
            for parent in node.ancestors():
                if parent.kind in LOOPS:
                    product *= self.trips.get((here.number, id(parent)), UNKNOWN_TRIPS)
            if here.call is None:
                break
            node = here.call
            here = here.parent
            if here is not None:
                here = here.home
        return product

    def price(self, plan: Plan) -> None:
        for region, to, from_ in zip(plan.regions, plan.to, plan.from_, strict=True):
            if region.kind == "always":
                continue
            copies = self.frequency(region.context, region.first) * (int(to) + int(from_))
            plan.copies += copies
            plan.size += copies * self.bytes(plan.section)
        for update in plan.updates:
            at = update.at
            times = 0.0
            for context in self.facts.contexts:
                if context.function is update.context.function and context.owner is None:
                    times += self.frequency(context, at)
            plan.copies += times
            plan.size += times * self.bytes(update.section if update.section is not None else plan.section)

    def permanent(self, base: Base, plans: dict[Base, Plan]) -> None:
        """A declare target variable: on the device from start to end."""
        root = self.facts.roots[0]
        body = root.function.body
        assert body is not None
        region = Region("always", root, body, body, frozenset(self.graph.steps))
        total: Hull | None = (ZERO, base.extent) if base.extent is not None else None
        solver = Solver(self.graph, base, [region], total, self.can_write(base), False)
        plan = solver.solve()
        if plan is None:
            self.refuse(f"no updates keep both copies of {base.name} valid", self.first_access(base))
            return
        self.price(plan)
        plans[base] = plan


def declare_target_variables(facts: Interpretation) -> set[str]:
    """Keys of global variables that declare target directives put on the device."""
    found: set[str] = set()
    globals_ = [v for v in facts.program.variables.values() if v.is_global or v.is_static]
    for path, source in facts.program.files.items():
        opened: list[int] = []
        for directive in source.directives:
            if directive.kind in {"declare target", "begin declare target"}:
                names = [i for c in directive.named("to", "enter", "link") for i in c.items]
                names += list(directive.arguments)
                if names or (directive.kind == "declare target" and directive.argument is not None):
                    found |= {v.key for v in globals_ if v.name in {i.base for i in names}}
                else:
                    opened.append(directive.end)
            elif directive.kind == "end declare target" and opened:
                start = opened.pop()
                found |= {
                    v.key
                    for v in globals_
                    if v.node is not None and v.node.file == path and start <= v.node.start < directive.start
                }
    return found
