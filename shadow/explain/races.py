"""Racing pairs -> findings: one for each (line, line, variable), with the fix.

Defines what a race finding says. Which pairs there are is decided in pairs.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from racedart.finding.model import Finding, Fix, Json, Level, Location
from racedart.shadow.explain.pairs import RULES, Pair
from racedart.shadow.explain.places import key_of, location_of
from racedart.shadow.explain.trace import Trace
from racedart.shadow.explain.values import coordinates, value_text
from racedart.shadow.instrument.events import Event
from racedart.shadow.instrument.plan import Plan
from racedart.shadow.launch import Launch
from racedart.shadow.ptx.model import Module
from racedart.shadow.ptx.printer import print_instruction
from racedart.shadow.ptx.types import TYPES, Type
from racedart.shadow.word import GRID_SHIFT


@dataclass(frozen=True, slots=True)
class Named:
    """What an address is called: the variable, the element, and its state space."""

    variable: str
    element: str
    space: str


NameOf = Callable[[bool, int, int], Named]
"""(shared, byte offset in the arena or in shared memory, bytes of the access) -> its name."""


Key = tuple[tuple[str, int], tuple[str, int], str]
"""What one finding is about: two lines, each with its file, and a variable."""


@dataclass(frozen=True, slots=True)
class Added:
    """What the pairs of a word are: the sites that take part, and the findings that they belong to."""

    sites: frozenset[int]
    groups: frozenset[Key]


@dataclass
class RaceCollector:
    """Gathers pairs of several traces and makes the findings."""

    module: Module
    plan: Plan
    launch: Launch
    name_of: NameOf
    groups: dict[Key, _Group] = field(default_factory=dict)

    def add(self, trace: Trace, pairs: Iterable[Pair], final: Callable[[int], int | None]) -> Added:
        """Add the pairs of one word; final: byte offset in the arena -> the 8 bytes there after the run."""
        sites: set[int] = set()
        met: set[Key] = set()
        for pair in pairs:
            first, second = int(trace.site[pair.earlier]), int(trace.site[pair.later])
            sites |= {first, second}
            size = self.plan.events[second].size
            named = self.name_of(bool(trace.shared[pair.later]), int(trace.place[pair.later]), size)
            lines = sorted(key_of(self.module, self.plan.instruction(site).loc) for site in (first, second))
            key = (lines[0], lines[1], named.variable)
            group = self.groups.setdefault(key, _Group())
            group.consider(_Witness(pair, trace, named, final), key not in met)
            met.add(key)
        return Added(frozenset(sites), frozenset(met))

    def repeat(self, added: Added) -> None:
        """Count one more word whose pairs are alike."""
        for key in added.groups:
            self.groups[key].words += 1

    def findings(self) -> list[Finding]:
        """One finding for each group, errors first, then by place."""
        found = [self._finding(group) for group in self.groups.values()]
        return sorted(found, key=lambda f: (-f.level.rank, f.location.file, f.location.line, f.rule))

    def _finding(self, group: _Group) -> Finding:
        witness = group.best
        pair, trace, named = witness.pair, witness.trace, witness.named
        earlier = self._access("earlier", trace, pair.earlier, witness)
        later = self._access("later", trace, pair.later, witness)
        events = [self.plan.events[int(trace.site[row])] for row in (pair.earlier, pair.later)]
        places = [
            self._place(trace, row, event, role)
            for row, event, role in zip((pair.earlier, pair.later), events, ("earlier", "later"), strict=True)
        ]
        sites = (int(trace.site[pair.earlier]), int(trace.site[pair.later]))
        # The barrier belongs behind the access that stands first in the program, whichever ran first.
        turn = -1 if self._follows(sites[1], sites[0], pair.relation) else 1
        updates = _is_update(trace, pair)
        language = self.launch.kernel.language
        fix = fix_for(pair.rule, events[::turn], places[::turn], group.relations, language, updates)
        properties: Mapping[str, Json] = {
            "kernel": self.launch.kernel.name,
            "space": named.space,
            "variable": named.variable,
            "element": named.element,
            "count": group.words,
            "hazard": _hazard(*events[::turn]),
            "relation": _widest(group.relations),
            "rules": sorted(group.rules),
            "accesses": [later, earlier],
        }
        message = (
            f"{_kind(events[1])} of {named.element} ({named.space} memory) is not ordered with "
            f"{_article(_kind(events[0]))} by {_THREADS[pair.relation]}"
        )
        level = Level.WARNING if pair.rule == "R105" else Level.ERROR
        return Finding(pair.rule, level, message, places[1], (places[0],), Fix(fix), properties)

    def _follows(self, first: int, second: int, relation: str) -> bool:
        """Whether the program runs from one site to the other without a barrier, and not the other way."""
        kinds = {"bar", "barrier"}
        stops = frozenset(
            i
            for i, instruction in enumerate(self.plan.graph.instructions)
            if instruction.opcode in kinds and (relation == "warp" or not instruction.has("warp"))
        )
        graph = self.plan.graph
        return graph.leads_to(first, second, stops) and not graph.leads_to(second, first, stops)

    def _place(self, trace: Trace, row: int, event: Event, role: str) -> Location:
        x, y, z = coordinates(int(trace.thread[row]), self.launch.block)
        bx, by, bz = coordinates(int(trace.block[row]), self.launch.grid)
        text = f"{role} {_kind(event)} by thread ({x}, {y}, {z}) of block ({bx}, {by}, {bz})"
        return location_of(self.module, self.plan.instruction(int(trace.site[row])).loc, text)

    def _access(self, role: str, trace: Trace, row: int, witness: _Witness) -> dict[str, Json]:
        site = int(trace.site[row])
        event = self.plan.events[site]
        instruction = self.plan.instruction(site)
        type_ = _element_type(instruction.modifiers, event)
        entry: dict[str, Json] = {
            "role": role,
            "kind": event.kind,
            "instruction": print_instruction(instruction),
            "thread": list(coordinates(int(trace.thread[row]), self.launch.block)),
            "block": list(coordinates(int(trace.block[row]), self.launch.grid)),
            "interval": int(trace.barriers[row]) & ((1 << GRID_SHIFT) - 1),
            "grid_interval": int(trace.barriers[row]) >> GRID_SHIFT,
            "value_before": value_text(int(trace.before[row]), type_),
            "scope": event.scope,
            "volatile": event.volatile,
        }
        after = _value_after(trace, row, witness.final)
        if after is not None:
            entry["value_after"] = value_text(after, type_)
        return entry


@dataclass(frozen=True, slots=True)
class _Witness:
    pair: Pair
    trace: Trace
    named: Named
    final: Callable[[int], int | None]


@dataclass
class _Group:
    """Pairs of one (line, line, variable)."""

    words: int = 0
    rules: set[str] = field(default_factory=set)
    relations: set[str] = field(default_factory=set)
    witnesses: list[_Witness] = field(default_factory=list)

    def consider(self, witness: _Witness, new_word: bool) -> None:
        self.words += new_word
        self.rules.add(witness.pair.rule)
        if not self.witnesses or _rank(witness) < _rank(self.witnesses[0]):
            self.witnesses = [witness]
        self.relations.add(witness.pair.relation)

    @property
    def best(self) -> _Witness:
        return self.witnesses[0]


def _rank(witness: _Witness) -> tuple[int, int]:
    # Of equal rules, the widest relation is shown: it is the one that the fix must reach.
    return RULES.index(witness.pair.rule), -_RELATIONS.index(witness.pair.relation)


_RELATIONS = ("warp", "block", "grid")
_THREADS = {
    "warp": "another lane of the same warp",
    "block": "another warp of the same block",
    "grid": "a thread of another block",
}


def _widest(relations: set[str]) -> str:
    return max(relations, key=_RELATIONS.index)


def _hazard(earlier: Event, later: Event) -> str:
    letters = {"read": "R", "write": "W", "atomic": "W"}
    return f"{letters[later.kind]}A{letters[earlier.kind]}"


def _kind(event: Event) -> str:
    if event.volatile:
        return f"volatile {event.kind}"
    if event.strong and event.kind != "atomic":
        return f"atomic {event.kind}"
    return {"atomic": "atomic update"}.get(event.kind, event.kind)


def _article(text: str) -> str:
    return f"{'an' if text[0] in 'aeiou' else 'a'} {text}"


def _element_type(modifiers: tuple[str, ...], event: Event) -> Type:
    name = next((m for m in reversed(modifiers) if m in TYPES), f"b{event.size * 8}")
    return TYPES[name]


def _value_after(trace: Trace, row: int, final: Callable[[int], int | None]) -> int | None:
    """What stood at the element after an access: what the next logged access of it found there."""
    same: NDArray[np.bool_] = (
        (trace.word == trace.word[row])
        & (trace.shared == trace.shared[row])
        & (trace.place == trace.place[row])
        & ((trace.block == trace.block[row]) | (trace.shared[row] == 0))
    )
    following = np.flatnonzero(same)
    following = following[following > row]
    if len(following):
        return int(trace.before[following[0]])
    if trace.shared[row] or not trace.complete:
        return None
    return final(int(trace.place[row]))


_CALLS = {
    "numba": {
        "block": "cuda.syncthreads()",
        "warp": "cuda.syncwarp()",
        "atomic": "an atomic operation such as cuda.atomic.add(array, index, value)",
        "grid": "a second launch, or cuda.cg.this_grid().sync() in a cooperative one",
        "device": "device scope",
    },
    "cuda": {
        "block": "__syncthreads()",
        "warp": "__syncwarp()",
        "atomic": "an atomic operation such as atomicAdd(&element, value)",
        "grid": "a second launch, or cooperative_groups::this_grid().sync() in a cooperative one",
        "device": "the device-scope operation (atomicAdd, not atomicAdd_block)",
    },
}


def _is_update(trace: Trace, pair: Pair) -> bool:
    """Whether the earlier thread makes both accesses of the element, as in `x[0] += 1`."""
    row = pair.earlier
    mine = (trace.thread == trace.thread[row]) & (trace.block == trace.block[row])
    same = mine & (trace.word == trace.word[row]) & (trace.shared == trace.shared[row])
    sites = {int(trace.site[row]), int(trace.site[pair.later])}
    return len(sites) == 2 and sites <= {int(site) for site in trace.site[same]}


def fix_for(
    rule: str,
    events: list[Event],
    places: list[Location],
    relations: set[str],
    language: str,
    updates: bool,
) -> str:
    """The missing synchronisation as a sentence.

    events, places: in the order of the program, if it has one. updates: each thread reads and writes the
    element.
    """
    calls = _CALLS.get(language, _CALLS["cuda"])
    widest = _widest(relations)
    earlier, later = places
    same_line = (earlier.file, earlier.line) == (later.file, later.line)
    if rule == "R105":
        return (
            f"volatile does not order the lanes of a warp since Volta: put {calls['warp']} between the "
            f"accesses at lines {min(earlier.line, later.line)} and {max(earlier.line, later.line)}, "
            "in every step"
        )
    if rule == "R104":
        return f"the threads are in different blocks: use {calls['device']} for both operations"
    if rule == "R103":
        plain = later if not _is_atomic(events[1]) else earlier
        if widest == "grid":
            return (
                f"make the plain access at line {plain.line} atomic as well, or order the blocks by {calls['grid']}"
            )
        return (
            f"make the plain access at line {plain.line} atomic as well, or put {calls[widest]} between "
            f"line {earlier.line} and line {later.line}"
        )
    if same_line and updates:
        return f"several threads update the same element at line {later.line}: use {calls['atomic']}"
    if same_line and rule == "R101":
        return (
            f"several threads write the same element at line {later.line}: let one thread own each element, or use "
            f"{calls['atomic']}"
        )
    if same_line and widest != "grid":
        return (
            f"line {later.line} reads what another thread writes there: read into a variable, put {calls[widest]}, "
            "and write then"
        )
    if same_line:
        return f"line {later.line} reads what another block writes there: write to another array than is read"
    if widest == "grid":
        return (
            f"no barrier orders the blocks of a launch: let each element belong to one block, use "
            f"{calls['atomic']}, or separate the accesses by {calls['grid']}"
        )
    loop = " of the next iteration" if later.line < earlier.line else ""
    return (
        f"put {calls[widest]} between the {_kind(events[0])} at line {earlier.line} and the "
        f"{_kind(events[1])} at line {later.line}{loop}"
    )


def _is_atomic(event: Event) -> bool:
    return event.strong and not event.volatile
