"""Validity of one object's two copies, and the transfers that keep every read valid.

Inside its regions an object has a host and a device copy. The state at a point is (host, device): for each copy the
writes of the other side that it lacks; ENTRY stands for what the host wrote before the region. A read needs nothing
to be lacking; a partial write on the device needs it too, because the whole section may be copied back. Where a
need is not met, a transfer is added: a map type `to` for ENTRY, else an update, placed behind the host write or in
front of the host read, outside all loops in which the other side does not interfere. After each addition the state
is computed anew, so that a plan that is returned has been checked as a whole.

No plan is returned where an update would overwrite newer data, or has no place in the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from racedart.analyzer.flow.context import Context
from racedart.analyzer.flow.facts import Interpretation
from racedart.analyzer.flow.state import Access, Base, Birth, Release
from racedart.analyzer.mapping.extent import Hull, covered, hull, includes, loops_inside, merge_hulls
from racedart.analyzer.mapping.model import Plan, Region, Update
from racedart.analyzer.mapping.supergraph import LOOPS, Step, Supergraph
from racedart.analyzer.source.tree import Node

ENTRY = None
Lack = frozenset["Step | None"]
Pair = tuple[Lack, Lack]
NONE: Lack = frozenset()


@dataclass(slots=True)
class Use:
    """What a step does with an object."""

    host_read: bool = False
    host_write: bool = False
    host_full: bool = False
    device_read: bool = False
    device_write: bool = False
    device_full: bool = False
    born: bool = False
    released: bool = False


def uses_of(graph: Supergraph, base: Base, total: Hull | None) -> dict[Step, Use]:
    """The uses of an object by step; a write is full if it covers the section that is mapped."""
    found: dict[Step, Use] = {}
    unknown = graph.facts.unknown
    shared = base.kind in {"heap", "outside", "vector"}
    for step in graph.steps:
        mine = [
            a
            for a in step.actions
            if not isinstance(a, Context)
            and (a.base is base or (shared and isinstance(a, Access) and not a.device and a.base is unknown))
        ]
        if not mine:
            continue
        use = found[step] = Use()
        accesses = [a for a in mine if isinstance(a, Access)]
        use.born = any(isinstance(a, Birth) for a in mine)
        use.released = any(isinstance(a, Release) for a in mine)
        for device in (False, True):
            side = [a for a in accesses if a.device is device]
            reads = any(not a.write and a.exposed for a in side)
            writes = [a for a in side if a.write]
            full = bool(writes) and total is not None and not base.many and full_write(graph, step, writes, total)
            if device:
                use.device_read, use.device_write, use.device_full = reads, bool(writes), full
            else:
                use.host_read, use.host_write, use.host_full = reads, bool(writes), full
    return found


def full_write(graph: Supergraph, step: Step, writes: list[Access], total: Hull) -> bool:
    """Whether writes of one step cover a range."""
    atoms = graph.facts.atoms
    inside = loops_inside(graph.facts, step.context, step.root)
    return any(includes(atoms, part, total) for part in covered(graph.facts, writes, inside, step.root))


class Solver:
    """Plans for one object in given regions."""

    def __init__(
        self,
        graph: Supergraph,
        base: Base,
        regions: list[Region],
        total: Hull | None,
        section_text: Callable[[Hull | None, Context, Node, bool], bool],
        live_at_end: bool,
    ) -> None:
        self.graph = graph
        self.facts: Interpretation = graph.facts
        self.base = base
        self.regions = regions
        self.total = total
        self.can_write = section_text
        self.live_at_end = live_at_end
        self.uses = uses_of(graph, base, total)
        self.to = [False] * len(regions)
        self.updates: list[Update] = []
        self.defined = self._defined_steps()
        self.members: dict[int, list[frozenset[Step]]] = {}

    # --- before and after

    def _defined_steps(self) -> set[Step]:
        """Steps before which the object may hold a value."""
        reached: set[Step] = set(self.graph.entries) if self.base.defined else set()
        pending = list(reached)
        for step, use in self.uses.items():
            if use.host_write or use.device_write:
                pending.extend(step.successors)
                reached.update(step.successors)
        while pending:
            step = pending.pop()
            use_here = self.uses.get(step)
            if use_here is not None and use_here.born and not use_here.host_write:
                continue
            for successor in step.successors:
                if successor not in reached:
                    reached.add(successor)
                    pending.append(successor)
        return reached

    def _live(self) -> set[Step]:
        """Steps in front of which the host's copy is still needed."""
        found: set[Step] = set()
        pending = [s for s, u in self.uses.items() if u.host_read]
        if self.live_at_end:
            pending += self.graph.exits
        for region, to in zip(self.regions, self.to, strict=True):
            if to:
                pending += [v for v in region.steps if any(u not in region.steps for u in v.predecessors)]
        found.update(pending)
        while pending:
            step = pending.pop()
            for before in step.predecessors:
                use = self.uses.get(before)
                if before in found:
                    continue
                if use is not None and ((use.host_full and not use.host_read) or use.born):
                    continue
                found.add(before)
                pending.append(before)
        return found

    # --- the state

    def _states(self) -> dict[Step, Pair]:
        found: dict[Step, Pair] = {}
        pending: list[Step] = []
        for k, region in enumerate(self.regions):
            start = self._start(k)
            for step in region.steps:
                if region.kind == "always":
                    if step in self.graph.entries:
                        self._put(found, pending, step, (NONE, NONE))
                    continue
                for before in step.predecessors:
                    if before not in region.steps:
                        self._put(found, pending, step, self._cross(before, step, start(before), True))
        where = {step: region for region in self.regions for step in region.steps}
        while pending:
            step = pending.pop()
            out = self._transfer(step, found[step])
            for successor in step.successors:
                if where.get(successor) is where[step]:
                    self._put(found, pending, successor, self._cross(step, successor, out))
        return found

    def _start(self, k: int) -> Callable[[Step], Pair]:
        def state(before: Step) -> Pair:
            use = self.uses.get(before)
            written = use is not None and (use.host_write or use.device_write)
            known = before in self.defined or written
            return NONE, (NONE if self.to[k] or not known else frozenset({ENTRY}))

        return state

    @staticmethod
    def _put(found: dict[Step, Pair], pending: list[Step], step: Step, state: Pair) -> None:
        old = found.get(step)
        new = state if old is None else (old[0] | state[0], old[1] | state[1])
        if new != old:
            found[step] = new
            pending.append(step)

    def _transfer(self, step: Step, state: Pair) -> Pair:
        host, device = state
        use = self.uses.get(step)
        if use is None:
            return state
        if use.host_write:
            if use.host_full:
                host, device = NONE, frozenset({step})
            else:
                device = device | {step}
        if use.device_write:
            if use.device_full:
                host, device = frozenset({step}), NONE
            else:
                host = host | {step}
        return host, device

    def _cross(self, source: Step, target: Step, state: Pair, entering: bool = False) -> Pair:
        """The state behind the updates that stand between two steps."""
        host, device = state
        for update in self._between(source, target, entering):
            if update.to:
                device = NONE if update.section is None else device - update.serves
            elif update.section is None:
                host = NONE
        return host, device

    def _between(self, source: Step, target: Step, entering: bool = False) -> list[Update]:
        found = []
        for update in self.updates:
            if update.after and not entering and passes_end(source, update.at):
                found += [update for steps in self._steps_of(update) if source in steps and target not in steps]
        for update in self.updates:
            if not update.after:
                found += [update for steps in self._steps_of(update) if target in steps and source not in steps]
        return found

    def _steps_of(self, update: Update) -> list[frozenset[Step]]:
        key = id(update.at)
        known = self.members.get(key)
        if known is None:
            known = self.members[key] = [
                self.graph.within(c, update.at)
                for c in self.facts.contexts
                if c.function is update.context.function and c.owner is None
            ]
        return known

    # --- the plan

    def solve(self) -> Plan | None:
        """The plan, or None where no placement keeps every read valid."""
        for _ in range(60):
            states = self._states()
            trouble = self._first_trouble(states)
            if trouble is None:
                from_ = self._finish(states)
                if self.failed:
                    return None
                if from_ is None:
                    continue
                return Plan(self.base, self.regions, list(self.to), from_, self.updates, self.total)
            if not self._mend(*trouble):
                return None
        return None

    def _first_trouble(self, states: dict[Step, Pair]) -> tuple[str, Step, Lack] | None:
        for step, (host, device) in states.items():
            use = self.uses.get(step)
            if use is None:
                continue
            partial = use.device_write and not use.device_full
            if (use.device_read or partial) and device:
                return "device", step, device
            if use.host_read and host and not self._served(step):
                return "host", step, host
        where = {step: region for region in self.regions for step in region.steps}
        for step, state in states.items():
            out = self._transfer(step, state)
            for successor in step.successors:
                if where.get(successor) is not where.get(step):
                    continue
                host, device = out
                for update in self._between(step, successor):
                    if update.to:
                        if host and not update.exact:
                            return "clobber", next(iter(update.serves)), host
                        device = NONE if update.section is None else device - update.serves
                    else:
                        if device:
                            return "device", step, device
                        if update.section is None:
                            host = NONE
        return None

    def _served(self, step: Step) -> bool:
        return any(not u.to and u.section is not None and step in u.serves for u in self.updates)

    def _mend(self, kind: str, step: Step, lack: Lack) -> bool:
        if kind == "device":
            if ENTRY in lack:
                changed = False
                for k, region in enumerate(self.regions):
                    if step in region.steps and not self.to[k]:
                        self.to[k] = changed = True
                return changed
            return all(
                self._update_to(origin) for origin in sorted(lack, key=lambda s: s.number if s else 0) if origin
            )
        return self._update_from(step, kind == "clobber")

    def _finish(self, states: dict[Step, Pair]) -> list[bool] | None:
        """Map types at the exits: whether each region copies back. None if something had to be added first."""
        live = self._live()
        result = []
        for k, region in enumerate(self.regions):
            back = False
            lacking: Lack = NONE
            if region.kind != "always":
                for step in region.steps:
                    if step not in states:
                        continue
                    for successor in step.successors:
                        if successor in region.steps:
                            continue
                        host, device = self._cross_leaving(step, states[step])
                        if host and successor in live:
                            back = True
                        lacking |= device
            if back and lacking:
                # The copy back brings the whole section.
                if ENTRY in lacking and not self.to[k]:
                    self.to[k] = True
                    return None
                if all(self._update_to(o) for o in lacking if o is not None):
                    return None
                self.failed = True
                return None
            result.append(back)
        return result

    failed = False

    def _cross_leaving(self, step: Step, state: Pair) -> Pair:
        host, device = self._transfer(step, state)
        for successor in step.successors:
            for update in self._between(step, successor):
                if update.after:
                    if update.to:
                        device = NONE if update.section is None else device - update.serves
                    elif update.section is None:
                        host = NONE
        return host, device

    # --- places

    def _region_of(self, step: Step) -> Region | None:
        return next((r for r in self.regions if step in r.steps), None)

    def _update_to(self, origin: Step) -> bool:
        region = self._region_of(origin)
        if region is None or region.kind == "kernel" or any(u.to and origin in u.serves for u in self.updates):
            return False
        place = statement_of(origin)
        if place is None:
            return False
        place = self._hoist(origin.context, place, region, lambda u: u.device_read or u.device_write)
        start = place
        place = self._sink(origin.context, place, region)
        if not self._strictly_inside(origin.context, place, region):
            return False
        if not self.can_write(None, origin.context, place, True):
            return False
        section, exact = self._written(origin, start)
        if section is not None and not self.can_write(section, origin.context, place, True):
            section, exact = None, False
        for other in self.updates:
            if other.to and other.at is place and other.after:
                merged = None
                if section is not None and other.section == section:
                    merged = section
                other.exact = other.exact and exact and merged is not None
                other.section = merged
                other.serves.add(origin)
                return True
        self.updates.append(Update(True, origin.context, place, True, section, {origin}, exact))
        return True

    def _written(self, origin: Step, place: Node) -> tuple[Hull | None, bool]:
        """The bytes that the host writes, over the loops up to the update, and whether all of them."""
        atoms = self.facts.atoms
        steps = self.graph.within(origin.context, place)
        writes = [
            a
            for s in steps
            for a in s.actions
            if isinstance(a, Access) and a.base is self.base and a.write and not a.device
        ]
        inside = loops_inside(self.facts, origin.context, place)
        found = merge_hulls(atoms, [hull(atoms, a, inside) for a in writes])
        if found is None or (self.total is not None and includes(atoms, found, self.total)):
            full = self.total is not None and any(
                includes(atoms, part, self.total) for part in covered(self.facts, writes, inside, place)
            )
            return None, full
        exact = any(includes(atoms, part, found) for part in covered(self.facts, writes, inside, place))
        return found, exact

    def _update_from(self, step: Step, for_write: bool) -> bool:
        region = self._region_of(step)
        if region is None or region.kind == "kernel":
            return False
        context = step.context
        loop = step.root if step.root.kind in LOOPS else None
        parent = step.root.parent
        if parent is not None and parent.kind in {"WHILE_STMT", "DO_STMT"} and step.root is not parent.children[-1]:
            loop = parent
        if parent is not None and parent.kind == "DO_STMT" and step.root is parent.children[-1]:
            loop = parent
        if parent is not None and parent.kind == "WHILE_STMT" and step.root is parent.children[0]:
            loop = parent
        added = False
        if loop is not None and not self._undisturbed(context, loop):
            body = loop.children[0] if loop.kind == "DO_STMT" else loop.children[-1]
            if body.kind != "COMPOUND_STMT" or not body.children:
                return False
            added = self._add_from(step, body.children[-1], True, None)
            if loop.kind == "DO_STMT":
                return added
        place = statement_of(step)
        if place is None:
            return False
        place = self._hoist(context, place, region, lambda u: u.device_write)
        if not self._strictly_inside(context, place, region):
            return added
        section = None if for_write else self._read_section(step, place)
        return self._add_from(step, place, False, section) or added

    def _undisturbed(self, context: Context, loop: Node) -> bool:
        return not any(
            (u := self.uses.get(s)) is not None and u.device_write for s in self.graph.within(context, loop)
        )

    def _add_from(self, step: Step, at: Node, after: bool, section: Hull | None) -> bool:
        for other in self.updates:
            if not other.to and other.at is at and other.after == after:
                if other.section is None:
                    return False
                if step in other.serves or other.section != section:
                    other.section = None
                else:
                    other.serves.add(step)
                return True
        if not self.can_write(None, step.context, at, after):
            return False
        self.updates.append(Update(False, step.context, at, after, section, {step}))
        return True

    def _read_section(self, step: Step, place: Node) -> Hull | None:
        """The bytes that the host reads, if they are few: less than half of the object."""
        atoms = self.facts.atoms
        inside = loops_inside(self.facts, step.context, place)
        steps = self.graph.within(step.context, place) if step in self.graph.within(step.context, place) else {step}
        reads = [
            a
            for s in steps
            for a in s.actions
            if isinstance(a, Access) and a.base is self.base and not a.write and not a.device
        ]
        found = merge_hulls(atoms, [hull(atoms, a, inside) for a in reads])
        if found is None or self.total is None or not self.can_write(found, step.context, place, False):
            return None
        size = (found[1] - found[0]).evaluate({}, 1000.0)
        whole = (self.total[1] - self.total[0]).evaluate({}, 1000.0)
        return found if size * 2 <= whole else None

    def _hoist(self, context: Context, place: Node, region: Region, disturbs: Callable[[Use], bool]) -> Node:
        """The outermost loop around a place, inside the region, in which nothing disturbs; else the place."""
        best = place
        for parent in place.ancestors():
            if parent.kind in LOOPS:
                steps = self.graph.within(context, parent)
                if any((u := self.uses.get(s)) is not None and disturbs(u) for s in steps):
                    break
                outer = statement_above(parent)
                if outer is None or not self._strictly_inside(context, outer, region):
                    break
                best = outer
        return best

    def _sink(self, context: Context, place: Node, region: Region) -> Node:
        """Past the following statements of the block that leave the object's device copy alone."""
        block = place.parent
        if block is None or block.kind != "COMPOUND_STMT":
            return place
        best = place
        at = next(k for k, c in enumerate(block.children) if c is place)
        for sibling in block.children[at + 1 :]:
            steps = self.graph.within(context, sibling)
            quiet = all(
                (u := self.uses.get(s)) is None or not (u.device_read or u.device_write or u.released)
                for s in steps
            )
            leaves = any(s.kind in {"jump", "directive"} for s in steps)
            if not quiet or leaves or not steps or not self._strictly_inside(context, sibling, region):
                break
            if any((u := self.uses.get(s)) is not None and u.host_write for s in steps):
                best = sibling
        return best

    def _strictly_inside(self, context: Context, place: Node, region: Region) -> bool:
        if region.kind == "always":
            return True
        steps = self.graph.within(context, place)
        if not steps or not steps <= region.steps:
            return False
        if region.context is context:
            if region.block is not None:
                return any(p is region.block for p in place.ancestors())
            return any(p is region.first for p in place.ancestors())
        return True


def statement_of(step: Step) -> Node | None:
    """The statement in front of which, or behind which, a directive for a step can stand."""
    return statement_above(step.root)


def statement_above(node: Node) -> Node | None:
    """The nearest statement, from a node outwards, that stands in a block or is a branch or body."""
    child = node
    for parent in [*node.ancestors()]:
        kind = parent.kind
        if kind == "COMPOUND_STMT":
            return child
        if kind == "IF_STMT" and child is not parent.children[0] and child.kind != "DECL_STMT":
            return child
        if kind in {"FOR_STMT", "WHILE_STMT", "CXX_FOR_RANGE_STMT"} and child is parent.children[-1]:
            return child
        if kind == "DO_STMT" and child is parent.children[0]:
            return child
        if kind in {"CASE_STMT", "DEFAULT_STMT", "LABEL_STMT"}:
            return None
        child = parent
    return None


def passes_end(step: Step, statement: Node) -> bool:
    """Whether leaving a statement from a step passes the place behind it."""
    if step.kind != "jump":
        return True
    if step.root.kind not in {"BREAK_STMT", "CONTINUE_STMT"}:
        return False
    kinds = LOOPS | ({"SWITCH_STMT"} if step.root.kind == "BREAK_STMT" else set())
    target = next((p for p in step.root.ancestors() if p.kind in kinds), None)
    return target is not None and statement.holds(target)
