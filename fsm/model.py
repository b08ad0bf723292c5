"""The happens-before model of one location, in the form that the exact table is derived from.

A configuration after an access is the set of live accesses, each with the widest barrier that its thread
has passed since (none, warp, block), and who accessed last. It is an abstraction of the full knowledge
(`search`, `oracle`): barriers are collective, so an access is known to its thread, its warp or its block
and to nobody else. Between two accesses any warps and blocks may synchronise; the event of the next access
names only what its thread can see of that.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from racedart.fsm.conflict import STRONGER, conflicts
from racedart.fsm.hierarchy import Hierarchy
from racedart.fsm.vocabulary import Access, EventClass

Live = tuple[int, Access, int]
"""(thread, access, widest barrier passed since: 0 none, 1 warp, 2 block)."""


@dataclass(frozen=True, slots=True)
class Past:
    """Live accesses and the last accessor, -1 before the first access."""

    live: frozenset[Live]
    last: int


EMPTY = Past(frozenset(), -1)


def successors(hierarchy: Hierarchy, past: Past) -> Iterator[tuple[Access, EventClass, Past | None]]:
    """Every next access after any barriers: its kind, its event class, and what follows; None for a race."""
    seen: set[tuple[frozenset[Live], int]] = set()
    for live, level in _synchronised(hierarchy, past):
        if (live, level) in seen:
            continue
        seen.add((live, level))
        for thread in range(hierarchy.threads):
            event = EventClass.US
            if past.last >= 0:
                event = hierarchy.event_class(thread, past.last, level >= 1, level == 2)
            for access in Access:
                if _races(hierarchy, live, thread, access):
                    yield access, event, None
                else:
                    yield access, event, Past(reduced(hierarchy, [*live, (thread, access, 0)]), thread)


def _synchronised(hierarchy: Hierarchy, past: Past) -> Iterator[tuple[frozenset[Live], int]]:
    """The live accesses after every choice of barriers, and what the last accessor has passed."""
    blocks = sorted({hierarchy.block(thread) for thread, _, _ in past.live})
    warps = sorted({hierarchy.warp(thread) for thread, _, _ in past.live})
    for synced_blocks in _subsets(blocks):
        for synced_warps in _subsets(warps):
            live = []
            for thread, access, level in past.live:
                passed = 2 if hierarchy.block(thread) in synced_blocks else hierarchy.warp(thread) in synced_warps
                live.append((thread, access, max(level, int(passed))))
            last = 0
            if past.last >= 0:
                in_block = hierarchy.block(past.last) in synced_blocks
                last = 2 if in_block else int(hierarchy.warp(past.last) in synced_warps)
            yield reduced(hierarchy, live), last


def _subsets(numbers: list[int]) -> Iterator[tuple[int, ...]]:
    return itertools.chain.from_iterable(itertools.combinations(numbers, k) for k in range(len(numbers) + 1))


def _races(hierarchy: Hierarchy, live: frozenset[Live], thread: int, access: Access) -> bool:
    for other, kind, level in live:
        if other == thread:
            continue
        same_block = hierarchy.block(other) == hierarchy.block(thread)
        same_warp = hierarchy.warp(other) == hierarchy.warp(thread)
        ordered = (same_block and level == 2) or (same_warp and level >= 1)
        if not ordered and conflicts(kind, access, same_block):
            return True
    return False


def reduced(hierarchy: Hierarchy, live: Iterable[Live]) -> frozenset[Live]:
    """Without what cannot matter for any verdict.

    An access that its whole warp (block) has seen may stand under the first thread there: verdicts depend
    on who does not know of it and on the block of its thread. An access is superfluous if another of its
    thread has passed no wider barrier and conflicts with all that it conflicts with.
    """
    kept = set()
    for thread, access, level in live:
        size = (1, hierarchy.lanes, hierarchy.lanes * hierarchy.warps)[level]
        kept.add((thread // size * size, access, level))
    for item in sorted(kept):
        thread, access, level = item
        for other in kept:
            if other != item and other[1] in STRONGER[access] and _covers(hierarchy, other, thread, level):
                kept.discard(item)
                break
    return frozenset(kept)


def _covers(hierarchy: Hierarchy, other: Live, thread: int, level: int) -> bool:
    """Whether everybody who does not know of (thread, level) does not know of the other access either."""
    if other[2] > level:
        return False
    if level == 0:
        return other[0] == thread
    group = hierarchy.warp if level == 1 else hierarchy.block
    return group(other[0]) == group(thread)


def renamed(hierarchy: Hierarchy, past: Past) -> Past:
    """The same configuration under a renaming of blocks, warps and lanes that all equal ones share."""
    tree = shape(hierarchy, past.live, past.last)
    live: set[Live] = set()
    last = -1
    thread = 0
    for of_block, warps in tree:
        live |= {(thread, Access(access), 2) for access in of_block}
        for of_warp, lanes in warps:
            live |= {(thread, Access(access), 1) for access in of_warp}
            for is_last, of_lane in lanes:
                live |= {(thread, Access(access), 0) for access in of_lane}
                last = thread if is_last else last
                thread += 1
    return Past(frozenset(live), last)


Lane = tuple[bool, tuple[int, ...]]
Warp = tuple[tuple[int, ...], tuple[Lane, ...]]
Block = tuple[tuple[int, ...], tuple[Warp, ...]]


def shape(hierarchy: Hierarchy, live: Iterable[Live], last: int) -> tuple[Block, ...]:
    """Accesses by the block, warp or lane that has seen them, sorted so that renamings agree."""
    accesses: dict[tuple[int, int], list[int]] = {}
    for thread, access, level in live:
        size = (1, hierarchy.lanes, hierarchy.lanes * hierarchy.warps)[level]
        accesses.setdefault((level, thread // size), []).append(int(access))

    def seen_by(level: int, number: int) -> tuple[int, ...]:
        return tuple(sorted(accesses.get((level, number), ())))

    def warp(number: int) -> Warp:
        lanes = range(number * hierarchy.lanes, (number + 1) * hierarchy.lanes)
        return seen_by(1, number), tuple(sorted((t == last, seen_by(0, t)) for t in lanes))

    def block(number: int) -> Block:
        warps = range(number * hierarchy.warps, (number + 1) * hierarchy.warps)
        return seen_by(2, number), tuple(sorted(warp(w) for w in warps))

    return tuple(sorted(block(b) for b in range(hierarchy.blocks)))
