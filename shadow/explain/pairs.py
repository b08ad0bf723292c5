"""Unordered conflicting pairs of accesses in a trace, and the rule that each breaks.

Conflict (PTX ISA 8.3 to 8.9): two accesses of overlapping bytes, at least one of which writes. Strong
operations that overlap completely and whose scopes include both threads do not race. Volatile accesses are
strong at system scope, but an unordered pair of them in one warp is reported under a rule of its own:
programs written before independent thread scheduling rely on lock-step there.

Candidates are thinned before pairs are formed: of accesses that no pair can tell apart (same site and
clocks in one warp, or, between blocks, same site) a few stand for all, so that a word that a million
threads touch costs little. Whether a pair of sites races is not changed by that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from racedart.shadow.explain.trace import WARP, Column, Trace, split_by
from racedart.shadow.instrument.events import Event
from racedart.shadow.word import GRID_SHIFT

RULES = ("R102", "R101", "R103", "R104", "R105")
"""Rules of races; where a pair of lines breaks several, the first of these names the finding."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Rows of a trace, the earlier access first, and the rule that they break.

    relation: "warp", "block" or "grid", how far apart the threads are.
    """

    earlier: int
    later: int
    rule: str
    relation: str


def racing_pairs(trace: Trace, rows: Column, events: Mapping[int, Event]) -> Iterator[Pair]:
    """The racing pairs among the accesses of one word, one for each (site, site, rule, relation)."""
    seen: set[tuple[int, int, str, str]] = set()
    sites = np.unique(trace.site[rows])
    writing = [site for site in sites if events[int(site)].kind != "read"]
    for earlier, candidates in _candidates(trace, rows, np.isin(trace.site[rows], writing)):
        for later in candidates:
            rule = broken_rule(trace, earlier, int(later), events)
            if not rule:
                continue
            pair = Pair(earlier, int(later), rule, relation(trace, earlier, int(later)))
            key = (int(trace.site[earlier]), int(trace.site[later]), rule, pair.relation)
            if key not in seen:
                seen.add(key)
                yield pair


def relation(trace: Trace, a: int, b: int) -> str:
    """How far apart the threads of two rows are."""
    if trace.block[a] != trace.block[b]:
        return "grid"
    return "warp" if trace.thread[a] // WARP == trace.thread[b] // WARP else "block"


def broken_rule(trace: Trace, a: int, b: int, events: Mapping[int, Event]) -> str:
    """The rule that two accesses of different threads break when they are unordered, "" for none."""
    x, y = events[int(trace.site[a])], events[int(trace.site[b])]
    if x.kind == y.kind == "read":
        return ""
    overlap = trace.place[a] < trace.place[b] + y.size and trace.place[b] < trace.place[a] + x.size
    if not overlap:
        return ""
    same_block = trace.block[a] == trace.block[b]
    whole = trace.place[a] == trace.place[b] and x.size == y.size
    if x.strong and y.strong and whole:
        if x.volatile and y.volatile:
            return "R105" if relation(trace, a, b) == "warp" else ""
        narrow = {"cta", "cluster"} & {x.scope, y.scope}
        return "R104" if narrow and not same_block else ""
    atomic = (x.strong and not x.volatile, y.strong and not y.volatile)
    if any(atomic):
        return "R103"
    return "R101" if x.kind == y.kind == "write" else "R102"


def _candidates(trace: Trace, rows: Column, writes: NDArray[np.bool_]) -> Iterator[tuple[int, Column]]:
    """Rows, each with later rows that it may race with; writes: which rows are no reads."""
    blocks = split_by(rows, trace.block[rows])
    writers = set(trace.block[rows[writes]].tolist())
    for of_block in blocks:
        # A word that everyone reads is read in thousands of blocks, and written in few.
        if int(trace.block[of_block[0]]) in writers and (trace.thread[of_block] != trace.thread[of_block[0]]).any():
            yield from _within_block(trace, of_block)
    if len(blocks) > 1:
        intervals = trace.barriers[rows] >> GRID_SHIFT
        for of_interval in split_by(rows, intervals):
            yield from _across_blocks(trace, of_interval)
        # A barrier of the grid does not order what threads did that had exited before it.
        gone = trace.exits[trace.block[rows] * trace.threads + trace.thread[rows], 0] >> GRID_SHIFT <= intervals
        gone &= intervals < intervals.max()
        if gone.any():
            few = _few_of_each_site(trace, rows)
            for a in _few_of_each_site(trace, rows[gone]):
                later = few[(few > a) & (trace.barriers[few] >> GRID_SHIFT > trace.barriers[a] >> GRID_SHIFT)]
                yield int(a), later[trace.block[later] != trace.block[a]]


def _few_of_each_site(trace: Trace, rows: Column) -> Column:
    """For each site the first rows of two blocks, in order."""
    kept: list[int] = []
    for of_site in split_by(rows, trace.site[rows]):
        _, first = np.unique(trace.block[of_site], return_index=True)
        kept += [int(r) for r in of_site[np.sort(first)][:2]]
    return np.array(sorted(kept), np.int64)


def _across_blocks(trace: Trace, rows: Column) -> Iterator[tuple[int, Column]]:
    """Candidates of different blocks between two barriers of the grid."""
    few = _few_of_each_site(trace, rows)
    for a in few:
        yield int(a), few[(few > a) & (trace.block[few] != trace.block[a])]


def _within_block(trace: Trace, rows: Column) -> Iterator[tuple[int, Column]]:
    """Candidates among the threads of one block.

    A later barrier interval is ordered behind an earlier one unless a thread of the earlier one exited, so
    intervals are compared only with themselves, and across for those threads.
    """
    kept = _thinned(trace, rows)
    intervals = trace.barriers[kept]
    gone = trace.exits[trace.block[kept] * trace.threads + trace.thread[kept], 0] <= intervals
    seen: set[bytes] = set()
    for group in split_by(kept, intervals):
        # The rounds of a loop are alike: one of them stands for all.
        signature = _signature(trace, group)
        if signature in seen:
            continue
        seen.add(signature)
        for a in group:
            later = group[(group > a) & (trace.thread[group] != trace.thread[a])]
            yield int(a), _one_of_each_kind(trace, later, int(a))
    for a in kept[gone]:
        later = kept[(kept > a) & (intervals > trace.barriers[a])]
        yield int(a), _one_of_each_kind(trace, later, int(a))


def _signature(trace: Trace, group: Column) -> bytes:
    """What the pairs of one barrier interval depend on: equal for two intervals whose pairs are alike."""
    warps = trace.thread[group] // WARP
    syncs = trace.syncs[group].copy()
    for warp in np.unique(warps):
        syncs[warps == warp] -= syncs[warps == warp].min()
    left = trace.exits[trace.block[group] * trace.threads + trace.thread[group]]
    exits = left > np.stack([trace.barriers[group], trace.syncs[group]], axis=1)
    columns = [trace.site[group], trace.place[group], trace.thread[group], syncs, exits[:, 0], exits[:, 1]]
    return np.stack(columns, axis=1).astype(np.int64).tobytes()


def _one_of_each_kind(trace: Trace, rows: Column, a: int) -> Column:
    """Of rows that are unordered with a: one for each (site, element, whether in a's warp)."""
    free = rows[~trace.ordered(a, rows)]
    near = trace.thread[free] // WARP == trace.thread[a] // WARP
    keys = np.stack([trace.site[free], trace.place[free], near.astype(np.int64)], axis=1)
    _, first = np.unique(keys, axis=0, return_index=True)
    return free[np.sort(first)]


def _thinned(trace: Trace, rows: Column) -> Column:
    """Of rows with equal site, element, warp and clocks, the first ones of two threads."""
    base = trace.block[rows] * trace.threads + trace.thread[rows]
    keys = np.stack(
        [
            trace.site[rows],
            trace.place[rows],
            trace.thread[rows] // WARP,
            trace.barriers[rows],
            trace.syncs[rows],
            # Threads that exit at different clocks are ordered differently with what follows.
            trace.exits[base, 0],
            trace.exits[base, 1],
        ],
        axis=1,
    )
    _, group = np.unique(keys, axis=0, return_inverse=True)
    kept: list[int] = []
    threads: dict[int, set[int]] = {}
    for row, number in zip(rows, group.reshape(-1), strict=True):
        known = threads.setdefault(int(number), set())
        thread = int(trace.thread[row])
        if thread not in known and len(known) < 2:
            known.add(thread)
            kept.append(int(row))
    return np.array(kept, np.int64)
