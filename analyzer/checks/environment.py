"""The device data environment along the program: what is present, and what each copy lacks.

A forward analysis over the supergraph (OpenMP 5.2, 5.8.3 and 13.3-13.9). Of every object the state says how many
times it is mapped at least and at most, and which writes of each side the other side's copy surely lacks, that
is, on all ways to this point. What is not sure is left out: a transfer of any part ends all lacks of that side,
and where two ways differ only what both have remains. So a check that reports what is in the state reports no
false lack; it may miss some.

Scalars that no clause maps are firstprivate and not followed. Not modelled: `use_device_ptr` and `omp_target_*`
calls (memory behind them is not followed), mappers, devices other than the default one. A construct with an `if`
clause may run on the host: it ends what is known of its objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from racedart.analyzer.checks.items import Names, Target
from racedart.analyzer.flow.context import Context
from racedart.analyzer.flow.facts import Interpretation
from racedart.analyzer.flow.state import Access, Base, Birth, Release
from racedart.analyzer.flow.symbolic import Poly
from racedart.analyzer.mapping.extent import Hull, covered, hull, includes, loops_inside
from racedart.analyzer.mapping.supergraph import Step, Supergraph
from racedart.analyzer.pragma import Clause, Directive, Item
from racedart.analyzer.source.tree import Node

MOST = 3
"""Reference counts above this are one."""


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A write that the other side's copy lacks: where, and which bytes (None: not known)."""

    access: Access
    step: Step
    hull: Hull | None


@dataclass(frozen=True, slots=True)
class Mapped:
    """One object of one list item of a directive, with the map-type that applies to it."""

    base: Base
    target: Target
    map_type: str
    always: bool
    clause: Clause | None
    item: Item | None
    directive: Directive
    node: Node

    @property
    def implicit(self) -> bool:
        """Mapped by the rules for variables that no clause names."""
        return self.clause is None


@dataclass(frozen=True, slots=True)
class Copy:
    """What is known of one object.

    low, high: bounds of its reference count. device_lacks: host writes that the device copy, present or not, has
    not got; host_lacks the reverse. ignored: directives that were to transfer since, and did not because the
    object was present. members: pointer members through which it was mapped, "" for none. by: the mappings that
    hold it.
    """

    low: int = 0
    high: int = 0
    device_lacks: frozenset[Written] = frozenset()
    host_lacks: frozenset[Written] = frozenset()
    ignored: frozenset[Node] = frozenset()
    members: frozenset[str] = frozenset()
    by: frozenset[Mapped] = frozenset()

    def joined(self, other: Copy) -> Copy:
        """What holds on either of two ways."""
        return Copy(
            min(self.low, other.low),
            max(self.high, other.high),
            self.device_lacks & other.device_lacks,
            self.host_lacks & other.host_lacks,
            self.ignored | other.ignored,
            self.members | other.members,
            self.by | other.by,
        )


ABSENT = Copy()
State = dict[Base, Copy]


@dataclass(frozen=True, slots=True)
class Lack:
    """A read of what its side's copy lacks. device: the side. exact: the bytes surely overlap."""

    read: Access
    written: Written
    step: Step
    device: bool
    ignored: frozenset[Node]
    by: frozenset[Mapped]
    exact: bool


@dataclass(frozen=True, slots=True)
class Unmapped:
    """A device access to memory that surely is not present, or (present) not attached to its pointer member."""

    access: Access
    step: Step
    member: str
    present: bool


@dataclass(frozen=True, slots=True)
class Short:
    """A device access behind the end, or before the start, of the section that is mapped."""

    access: Access
    step: Step
    mapped: Mapped
    section: Hull
    touched: Hull


@dataclass(frozen=True, slots=True)
class Absent:
    """A directive that releases, deletes or updates what is surely not present."""

    mapped: Mapped
    step: Step


@dataclass(frozen=True, slots=True)
class Freed:
    """Host memory that is freed while it is surely mapped."""

    release: Release
    step: Step
    by: frozenset[Mapped]


Event = Lack | Unmapped | Short | Absent | Freed


@dataclass(eq=False)
class Environment:
    """The analysed program: mappings by step, the state in front of each step, and what happened."""

    graph: Supergraph
    mappings: dict[int, tuple[Mapped, ...]] = field(default_factory=dict)
    before: dict[int, State] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    unified: bool = False

    @property
    def facts(self) -> Interpretation:
        """The interpretation of the program."""
        return self.graph.facts


def build_environment(graph: Supergraph) -> Environment:
    """Follow the data environment through the program."""
    found = Environment(graph)
    directives = [d for file in graph.facts.program.files.values() for d in file.directives]
    found.unified = any(d.kind == "requires" and d.named("unified_shared_memory") for d in directives)
    if not found.unified:
        _Follower(found).follow()
    return found


def role(step: Step) -> str:
    """The role of a step's node in its graph: begin and end of a region, alone, kernel, ..."""
    return str(step.context.graph.nodes[step.cfg_nodes[0]]["role"]) if step.cfg_nodes else ""


def access_hull(graph: Supergraph, step: Step, access: Access) -> Hull | None:
    """The bytes that an access touches while its step runs; None if a loop outside decides."""
    facts = graph.facts
    found = hull(facts.atoms, access, loops_inside(facts, step.context, step.root))
    if found is None or any(atom in facts.atoms.ranges for end in found for atom in end.atoms):
        return None
    return found


def _filled(graph: Supergraph, step: Step, accesses: Iterable[Access]) -> list[Hull]:
    facts = graph.facts
    return covered(facts, accesses, loops_inside(facts, step.context, step.root), step.root)


def positive(poly: Poly) -> bool:
    """Surely above zero, sizes and counts being at least zero."""
    terms = dict(poly.terms)
    return terms.get((), 0) > 0 and all(coefficient > 0 for coefficient in terms.values())


class _Follower:
    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.graph = environment.graph
        self.facts = environment.graph.facts
        self.atoms = self.facts.atoms
        self.resident = frozenset(_resident(self.facts))
        self.report = False
        self.written: dict[tuple[int, int], Written] = {}
        self.begun: dict[tuple[int, int], tuple[Mapped, ...]] = {}

    def follow(self) -> None:
        states = self.environment.before
        for entry in self.graph.entries:
            states[entry.number] = {}
        pending = list(reversed(self.graph.entries))
        rounds: dict[int, int] = {}
        while pending:
            step = pending.pop()
            rounds[step.number] = rounds.get(step.number, 0) + 1
            if rounds[step.number] > 50:
                continue
            out = self.transfer(step, dict(states[step.number]))
            for successor in step.successors:
                if self.join(successor, out) and successor not in pending:
                    pending.append(successor)
        self.report = True
        for step in self.graph.steps:
            if step.number in states:
                self.transfer(step, dict(states[step.number]))

    def join(self, step: Step, out: State) -> bool:
        states = self.environment.before
        old = states.get(step.number)
        if old is None:
            states[step.number] = dict(out)
            return True
        changed = False
        for base in {*old, *out}:
            mine, other = old.get(base), out.get(base)
            joined = (mine or self.initial(base)).joined(other or self.initial(base))
            if joined != mine:
                old[base] = joined
                changed = True
        return changed

    def initial(self, base: Base) -> Copy:
        """What is known of an object before anything happens to it."""
        if base in self.resident:
            return Copy(MOST, MOST)
        if base.kind in {"outside", "unknown"} or (not self.facts.closed and base.context is None):
            return Copy(0, MOST)
        return ABSENT

    def get(self, state: State, base: Base) -> Copy:
        return state.get(base) or self.initial(base)

    # --- steps

    def transfer(self, step: Step, state: State) -> State:
        if step.kind == "kernel":
            self.kernel(step, state)
        elif step.kind == "directive" and step.root.directive is not None:
            self.directive(step, state, step.root.directive)
        else:
            self.host(step, state)
        return state

    def host(self, step: Step, state: State) -> None:
        for action in step.actions:
            if isinstance(action, Birth):
                state[action.base] = self.initial(action.base)
            elif isinstance(action, Release):
                copy = self.get(state, action.base)
                if self.report and copy.low > 0 and not action.base.many:
                    self.environment.events.append(Freed(action, step, copy.by))
                state[action.base] = ABSENT
            elif isinstance(action, Access):
                self.access(step, state, action, False)

    def access(self, step: Step, state: State, access: Access, device: bool) -> None:
        """A read is checked against what its side lacks; a write is lacking on the other side."""
        base = access.base
        copy = self.get(state, base)
        lacks = copy.device_lacks if device else copy.host_lacks
        if not access.write:
            if self.report and access.exposed and (copy.low > 0 or not device):
                self.environment.events.extend(self.lacking(step, access, lacks, device, copy))
            return
        touched = access_hull(self.graph, step, access)
        mine = frozenset(w for w in lacks if self.apart(w.hull, touched))
        # One value for one write, so that what two ways have in common is seen.
        written = self.written.setdefault((id(access), step.number), Written(access, step, touched))
        other = copy.host_lacks if device else copy.device_lacks
        if access.certain and not base.many and self.facts.certainty.always(access.sites, step.root):
            other = other | {written}
        ignored = copy.ignored if device else frozenset[Node]()
        if device:
            state[base] = replace(copy, device_lacks=mine, host_lacks=other, ignored=ignored)
        else:
            state[base] = replace(copy, host_lacks=mine, device_lacks=other, ignored=ignored)

    def apart(self, one: Hull | None, other: Hull | None) -> bool:
        """Whether two ranges surely have no byte in common."""
        if one is None or other is None:
            return False
        first, second = self.atoms.sign(other[0] - one[1]), self.atoms.sign(one[0] - other[1])
        return (first is not None and first >= 0) or (second is not None and second >= 0)

    def lacking(
        self, step: Step, read: Access, lacks: frozenset[Written], device: bool, copy: Copy
    ) -> Iterator[Lack]:
        touched = access_hull(self.graph, step, read)
        for written in lacks:
            if self.apart(written.hull, touched):
                continue
            filled = _filled(self.graph, written.step, [written.access])
            swept = _filled(self.graph, step, [replace(read, write=True, certain=True)])
            exact = touched is not None and (
                any(includes(self.atoms, part, touched) for part in filled)
                or (written.hull is not None and any(includes(self.atoms, part, written.hull) for part in swept))
            )
            if any(atom in self.atoms.ranges for part in filled for end in part for atom in end.atoms):
                exact = False
            yield Lack(read, written, step, device, copy.ignored, copy.by, exact)

    # --- kernels

    def kernel(self, step: Step, state: State) -> None:
        directive = step.root.directive
        assert directive is not None
        accesses = [a for a in step.actions if isinstance(a, Access)]
        mapped = self.kernel_mappings(step, directive, accesses)
        self.environment.mappings[step.number] = mapped
        conditional = bool(directive.named("if", "device")) or any(
            c.modifier("mapper", "iterator") for c in directive.named("map")
        )
        for entry in mapped:
            self.enter(state, entry)
        bases = {a.base for a in accesses}
        if conditional:
            for base in bases | {m.base for m in mapped}:
                state[base] = replace(self.initial(base), low=0, high=MOST)
            return
        for access in accesses:
            if access.device and self.followed(access.base, state):
                if self.report:
                    self.environment.events.extend(self.out_of_reach(step, access, self.get(state, access.base)))
                if not access.write:
                    self.access(step, state, access, True)
        for access in accesses:
            if access.device and access.write and self.followed(access.base, state):
                self.access(step, state, access, True)
        for base in {a.base for a in accesses if a.device and a.write}:
            # Together they may fill what no single one does.
            self.fill(step, state, base, [a for a in accesses if a.base is base and a.write])
        for entry in mapped:
            self.leave(state, entry)

    def fill(self, step: Step, state: State, base: Base, writes: list[Access]) -> None:
        copy = self.get(state, base)
        parts = _filled(self.graph, step, writes)
        rest = frozenset(
            w
            for w in copy.device_lacks
            if w.hull is None or not any(includes(self.atoms, p, w.hull) for p in parts)
        )
        if rest != copy.device_lacks:
            state[base] = replace(copy, device_lacks=rest)

    def followed(self, base: Base, state: State) -> bool:
        """Whether device accesses to an object are to memory that has to be present."""
        if base.kind in {"unknown", "string", "device"}:
            return False
        if base.kind == "variable":
            return self.get(state, base).high > 0
        return True

    def out_of_reach(self, step: Step, access: Access, copy: Copy) -> Iterator[Event]:
        base = access.base
        member = _pointer_member(access.ast)
        if base.kind in {"heap", "vector"} and self.facts.closed and copy.high == 0:
            yield Unmapped(access, step, member, False)
        elif copy.low > 0 and member and copy.by and member not in copy.members and base.kind in {"heap", "vector"}:
            yield Unmapped(access, step, member, True)
        touched = access_hull(self.graph, step, access)
        record = base.kind == "variable" and base.type is not None and base.type.kind == "record"
        if touched is None or base.many or record or not copy.by or copy.low == 0:
            return
        sections = [(m, self.section(m)) for m in copy.by]
        if all(found is not None and self.exceeds(touched, found) for _, found in sections):
            mapped, section = sections[0]
            assert section is not None
            yield Short(access, step, mapped, section, touched)

    @staticmethod
    def section(mapped: Mapped) -> Hull | None:
        low, size = mapped.target.low, mapped.target.size
        return None if low is None or size is None else (low, low + size)

    @staticmethod
    def exceeds(touched: Hull, section: Hull) -> bool:
        """Whether a range surely has bytes outside a section."""
        return positive(touched[1] - section[1]) or positive(section[0] - touched[0])

    def kernel_mappings(self, step: Step, directive: Directive, accesses: list[Access]) -> tuple[Mapped, ...]:
        known = self.begun.get((step.number, 0))
        if known is not None:
            return known
        found = list(self.items(step, directive))
        named = {entry.base for entry in found}
        private = {
            target.base
            for clause in directive.named("private", "firstprivate", "is_device_ptr", "has_device_addr")
            for item in clause.items
            for target in self.names(step).resolve(item)
        }
        for access in accesses:
            base = access.base
            implicit = base.kind == "variable" and base.type is not None and base.type.kind in {"array", "record"}
            if access.device and implicit and base not in named and base not in private:
                named.add(base)
                target = Target(base, Poly(frozenset()), base.extent, "", True)
                found.append(Mapped(base, target, "tofrom", False, None, None, directive, step.root))
        self.begun[(step.number, 0)] = tuple(found)
        return tuple(found)

    # --- directives

    def directive(self, step: Step, state: State, directive: Directive) -> None:
        if directive.named("if", "device"):
            for entry in self.items(step, directive):
                state[entry.base] = replace(self.get(state, entry.base), low=0, high=MOST, device_lacks=frozenset(),
                                            host_lacks=frozenset())  # fmt: skip
            return
        at = role(step)
        if directive.kind == "target data":
            key = (step.context.number, id(step.root))
            if at == "begin":
                self.begun[key] = tuple(self.items(step, directive))
                self.environment.mappings[step.number] = self.begun[key]
                for entry in self.begun[key]:
                    self.enter(state, entry)
            else:
                for entry in self.begun.get(key, ()):
                    self.leave(state, entry)
            return
        entries = tuple(self.items(step, directive))
        self.environment.mappings[step.number] = entries
        for entry in entries:
            if directive.kind == "target enter data":
                self.enter(state, entry)
            elif directive.kind == "target exit data":
                self.check_present(step, state, entry)
                self.leave(state, entry)
            elif directive.kind == "target update":
                self.update(step, state, entry)

    def names(self, step: Step) -> Names:
        return Names(self.facts, step.context, step.root, step.context.states[step.cfg_nodes[0]])

    def items(self, step: Step, directive: Directive) -> Iterator[Mapped]:
        names = self.names(step)
        for clause in directive.clauses:
            if clause.name in {"map", "to", "from"}:
                kind = clause.map_type if clause.name == "map" else clause.name
                always = clause.modifier("always") is not None
            elif (
                clause.name in {"reduction", "in_reduction", "lastprivate", "linear"}
                and "target" in directive.leaves
            ):
                kind, always = "tofrom", False
            else:
                continue
            for item in clause.items:
                for target in names.resolve(item):
                    if target.base.kind not in {"unknown", "device"}:
                        yield Mapped(target.base, target, kind, always, clause, item, directive, step.root)

    def enter(self, state: State, entry: Mapped) -> None:
        copy = self.get(state, entry.base)
        lacks, ignored = copy.device_lacks, copy.ignored
        to = entry.map_type in {"to", "tofrom"}
        if to and (copy.high == 0 or entry.always):
            lacks, ignored = frozenset(), frozenset()
        elif to and copy.low == 0:
            lacks = frozenset()
        elif to and not entry.implicit:
            ignored = ignored | {entry.node}
        state[entry.base] = replace(
            copy,
            low=min(copy.low + 1, MOST),
            high=min(copy.high + 1, MOST),
            device_lacks=lacks,
            ignored=ignored,
            members=copy.members | {entry.target.member},
            by=copy.by | {entry},
        )

    def leave(self, state: State, entry: Mapped) -> None:
        copy = self.get(state, entry.base)
        resident = entry.base in self.resident
        delete = entry.map_type == "delete"
        # A count at its bound is not known any more, except that of what is always present.
        low = MOST if resident else 0 if delete else max(copy.low - 1, 0)
        high = MOST if resident else 0 if delete else copy.high - 1 if 0 < copy.high < MOST else copy.high
        lacks = copy.host_lacks
        if entry.map_type in {"from", "tofrom"} and (entry.always or low == 0):
            lacks = frozenset()
        gone = high == 0
        state[entry.base] = replace(
            copy,
            low=low,
            high=high,
            host_lacks=lacks,
            ignored=frozenset() if gone else copy.ignored,
            members=frozenset() if gone else copy.members,
            by=frozenset() if gone else copy.by,
        )

    def check_present(self, step: Step, state: State, entry: Mapped) -> None:
        if self.report and self.get(state, entry.base).high == 0 and not entry.base.many:
            self.environment.events.append(Absent(entry, step))

    def update(self, step: Step, state: State, entry: Mapped) -> None:
        self.check_present(step, state, entry)
        copy = self.get(state, entry.base)
        if entry.map_type == "to":
            state[entry.base] = replace(copy, device_lacks=frozenset(), ignored=frozenset())
        else:
            state[entry.base] = replace(copy, host_lacks=frozenset())


def _pointer_member(ast: Node) -> str:
    """The pointer member that an access goes through, "" if none: `s.p[i]`, `*s->p`."""
    node = ast
    while node.children and node.kind in {
        "BINARY_OPERATOR",
        "COMPOUND_ASSIGNMENT_OPERATOR",
        "UNARY_OPERATOR",
        "CAST",
    }:
        if node.kind == "UNARY_OPERATOR" and node.op == "*":
            break
        node = node.children[0]
    if node.kind in {"ARRAY_SUBSCRIPT_EXPR", "UNARY_OPERATOR"} and node.children:
        inner = node.children[0]
        while inner.kind in {"CAST", "BINARY_OPERATOR"} and inner.children:
            inner = inner.children[0]
        if inner.kind in {"MEMBER_REF_EXPR", "MEMBER_REF"} and inner.type.kind == "pointer":
            return inner.spelling
    return ""


def _resident(facts: Interpretation) -> Iterator[Base]:
    """Variables of `declare target`: they are on the device as long as the program runs."""
    names: set[str] = set()
    ranges: list[tuple[str, int, int]] = []
    for file in facts.program.files.values():
        opened: list[int] = []
        for directive in file.directives:
            if directive.kind in {"declare target", "begin declare target"}:
                if directive.argument is None and not directive.named("enter", "to", "link"):
                    opened.append(directive.end)
                names.update(item.base for item in directive.arguments)
                names.update(i.base for c in directive.named("enter", "to") for i in c.items)
            elif directive.kind == "end declare target" and opened:
                ranges.append((file.path, opened.pop(), directive.start))
    for base in facts.bases.values():
        variable = base.variable
        if variable is None or not (variable.is_global or variable.is_static):
            continue
        node = variable.node
        inside = node is not None and any(node.file == f and a <= node.start <= b for f, a, b in ranges)
        if inside or variable.name in names:
            yield base


def chain(context: Context) -> tuple[str, ...]:
    """The functions of a call and its callers, outermost first."""
    return tuple(call.function.name for call in reversed(context.chain()))
