"""Exhaustive search of the machine against full happens-before knowledge, to a fixpoint.

A configuration of the search is the exact knowledge about one location, the past accesses each with the
set of threads that know of it (what vector clocks say, as one set for each access), together with the
shadow word: state, last accessor, and whether its warp and its block have synchronised since. All accesses
and all barriers are tried in every configuration. If the search ends without a difference between verdict
of machine and of knowledge, they agree on traces of any length.

The configurations are few because an access is dropped when another one makes it superfluous: whatever would
race with the one races with the other. Configurations that differ by a renaming of blocks, of warps in a
block, or of lanes in a warp are one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from racedart.fsm.conflict import STRONGER, conflicts
from racedart.fsm.hierarchy import Hierarchy
from racedart.fsm.model import Past, renamed
from racedart.fsm.tables import Table, cell
from racedart.fsm.vocabulary import Access, EventClass, Relation, State, Sync, class_of

Skips = frozenset[tuple[State, Access, EventClass]]

Item = tuple[int, Access, int]
"""(thread, access, set of threads that know of it as bits)."""


@dataclass(frozen=True, slots=True)
class Word:
    """The shadow word, as far as verdicts depend on it; last is -1 in INIT."""

    state: State = State.INIT
    last: int = -1
    warp_synced: bool = False
    block_synced: bool = False


@dataclass(frozen=True, slots=True)
class Configuration:
    """Knowledge and word after some trace without a race."""

    items: frozenset[Item]
    word: Word


@dataclass(frozen=True, slots=True)
class Step:
    """What happened: an access ("R", "W", "BA", "GA") of a thread, or a barrier of a warp or block."""

    what: str
    number: int

    def __str__(self) -> str:
        if self.what in {"warp", "block"}:
            return f"{self.what.upper()}SYNC({'w' if self.what == 'warp' else 'b'}{self.number})"
        return f"{self.what}(t{self.number})"


@dataclass(frozen=True, slots=True)
class Difference:
    """A shortest trace on which machine and knowledge disagree at the last access."""

    kind: str
    trace: tuple[Step, ...]

    def __str__(self) -> str:
        return f"{self.kind}: {' '.join(map(str, self.trace))}"


@dataclass(frozen=True, slots=True)
class Proof:
    """configurations: how many were seen. differences: the first one found, if any."""

    configurations: int
    difference: Difference | None


def prove(hierarchy: Hierarchy, table: Table, skips: Skips = frozenset()) -> Proof:
    """Search all traces on a hierarchy, breadth first. skips: events that leave the word unwritten."""
    start = Configuration(frozenset(), Word())
    first = _canonical(hierarchy, start)[0]
    parent: dict[object, object] = {first: None}
    queue = deque([(first, start)])
    while queue:
        name, configuration = queue.popleft()
        for _, following, races, alarm in moves(hierarchy, configuration, table, skips):
            if races != alarm:
                trace = _trace_to(hierarchy, table, skips, parent, name, alarm)
                return Proof(len(parent), Difference("false alarm" if alarm else "missed race", trace))
            if following is None:
                continue
            next_name, representative = _canonical(hierarchy, following)
            if next_name not in parent:
                parent[next_name] = name
                queue.append((next_name, representative))
    return Proof(len(parent), None)


def _trace_to(
    hierarchy: Hierarchy,
    table: Table,
    skips: Skips,
    parent: dict[object, object],
    name: object,
    alarm: bool,
) -> tuple[Step, ...]:
    """A trace through the named configurations to the difference, in one naming of the threads."""
    path = [name]
    while parent[path[-1]] is not None:
        path.append(parent[path[-1]])
    configuration = Configuration(frozenset(), Word())
    steps: list[Step] = []
    for target in path[-2::-1]:
        step, configuration = next(
            (step, following)
            for step, following, _, _ in moves(hierarchy, configuration, table, skips)
            if following is not None and _canonical(hierarchy, following)[0] == target
        )
        steps.append(step)
    last = next(
        step
        for step, _, races, said in moves(hierarchy, configuration, table, skips)
        if races != said and said == alarm
    )
    return (*steps, last)


def moves(
    hierarchy: Hierarchy, configuration: Configuration, table: Table, skips: Skips = frozenset()
) -> Iterator[tuple[Step, Configuration | None, bool, bool]]:
    """(step, configuration after it, whether the access races, whether the machine says so)."""
    items, word = configuration.items, configuration.word
    for number, mask in enumerate(hierarchy.warp_masks):
        following = _joined(hierarchy, items, mask)
        mine = word.last >= 0 and hierarchy.warp(word.last) == number
        synced = Word(word.state, word.last, True, word.block_synced) if mine else word
        if following != items or synced != word:
            yield Step("warp", number), Configuration(following, synced), False, False
    for number, mask in enumerate(hierarchy.block_masks):
        following = _joined(hierarchy, items, mask)
        mine = word.last >= 0 and hierarchy.block(word.last) == number
        synced = Word(word.state, word.last, True, True) if mine else word
        if following != items or synced != word:
            yield Step("block", number), Configuration(following, synced), False, False
    for thread in range(hierarchy.threads):
        for access in Access:
            races = any(
                other != thread
                and not known >> thread & 1
                and conflicts(kind, access, hierarchy.block(other) == hierarchy.block(thread))
                for other, kind, known in items
            )
            written = next_word(hierarchy, word, thread, access, table, skips)
            alarm = written.state == State.RACE
            after = None if races or alarm else Configuration(_added(hierarchy, items, thread, access), written)
            yield Step(access.name, thread), after, races, alarm


def next_word(hierarchy: Hierarchy, word: Word, thread: int, access: Access, table: Table, skips: Skips) -> Word:
    """The word after an access."""
    seen = (Sync.U, Relation.S)
    if word.last >= 0:
        seen = hierarchy.seen(thread, word.last, word.warp_synced, word.block_synced)
    if (word.state, access, class_of(*seen)) in skips:
        return word
    return Word(table[cell(word.state, access, seen)], thread)


def _joined(hierarchy: Hierarchy, items: frozenset[Item], mask: int) -> frozenset[Item]:
    """Knowledge after a barrier of the threads in the mask: what one of them knows, all know."""
    if all(not known & mask or known & mask == mask for _, _, known in items):
        return items
    return _reduced(hierarchy, [(t, a, known | mask if known & mask else known) for t, a, known in items])


def _added(hierarchy: Hierarchy, items: frozenset[Item], thread: int, access: Access) -> frozenset[Item]:
    return _reduced(hierarchy, [*items, (thread, access, 1 << thread)])


def _reduced(hierarchy: Hierarchy, items: list[Item]) -> frozenset[Item]:
    """Without what no later verdict depends on.

    Verdicts depend on an access's kind, on who knows of it, and on the block of its thread, so that of the
    threads of one block who know of it any may stand for its thread: the first one does. An access is
    superfluous if another one of the same block is known to no more threads and conflicts with all that it
    conflicts with.
    """
    kept = set()
    for thread, access, known in items:
        inside = known & hierarchy.block_masks[hierarchy.block(thread)]
        kept.add(((inside & -inside).bit_length() - 1, access, known))
    for item in sorted(kept):
        thread, access, known = item
        for other in kept:
            if (
                other != item
                and other[1] in STRONGER[access]
                and other[2] & known == other[2]
                and hierarchy.block(other[0]) == hierarchy.block(thread)
            ):
                kept.discard(item)
                break
    return frozenset(kept)


def _forms(hierarchy: Hierarchy, thread: int) -> tuple[int, int, int]:
    """The sets of threads that can know of an access: its thread, warp or block."""
    warp, block = hierarchy.warp(thread), hierarchy.block(thread)
    return 1 << thread, hierarchy.warp_masks[warp], hierarchy.block_masks[block]


def _canonical(hierarchy: Hierarchy, configuration: Configuration) -> tuple[object, Configuration]:
    """A name that renamings share, and the representative with that name.

    Sets of knowers are always a thread, a warp or a block, as barriers are collective; the name needs only
    which, and that it is one of these is verified here.
    """
    live = [
        (thread, access, _forms(hierarchy, thread).index(known)) for thread, access, known in configuration.items
    ]
    word = configuration.word
    past = renamed(hierarchy, Past(frozenset(live), word.last))
    items = frozenset((t, access, _forms(hierarchy, t)[form]) for t, access, form in past.live)
    representative = Configuration(items, Word(word.state, past.last, word.warp_synced, word.block_synced))
    return (past, word.state, word.warp_synced, word.block_synced), representative
