"""The log of a replay: every access of the watched granules, in the order of the replay, with its clocks.

Order (happens-before) of two accesses, the first one earlier in the log, follows from their clocks alone:
each thread counts the block barriers and the warp synchronisations of all lanes in which it took part.
An access a of thread u happens before a later access b of thread t of the same block iff
 (1) u = t; or
 (2) same warp, t counted a warp synchronisation since, and u took part in one after a; or
 (3) t counted a block barrier since, and u took part in one after a, or u took part in a warp
     synchronisation after a and a lane of its warp took part in that barrier.
A barrier of the grid counts as one of every block, and orders the accesses of different blocks alike: from
GRID_SHIFT on, the count of block barriers holds that of grid barriers. Nothing else orders different blocks.
A thread that exits takes part in nothing afterwards, hence `exits`. Partial warp synchronisations, named
barriers and fences are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from racedart.shadow.word import GRID_SHIFT

Column = NDArray[np.int64]

WARP = 32


def split_by(rows: Column, *keys: Column) -> list[Column]:
    """The rows in groups of equal keys, each in the order given; the last key, one value per row, counts most."""
    order = np.lexsort(keys)
    changed = np.zeros(max(len(rows) - 1, 0), np.bool_)
    for key in keys:
        changed |= np.diff(key[order]) != 0
    return np.split(rows[order], np.flatnonzero(changed) + 1)


@dataclass(frozen=True)
class Trace:
    """Columns of equal length, one row per access of one granule.

    word: granule index; shared: 1 where the granule is in shared memory, else 0. thread: linear index in
    its block. site: instruction. barriers, syncs: the thread's clocks. before: the 8 bytes at the element
    before the access. place: byte offset of the element in the arena or in the block's shared memory.
    exits: clocks of each thread at its exit, [block * threads + thread, 2]. complete: no row is missing.
    """

    word: Column
    shared: Column
    thread: Column
    block: Column
    site: Column
    barriers: Column
    syncs: Column
    before: Column
    place: Column
    exits: Column
    threads: int
    complete: bool

    def __len__(self) -> int:
        return len(self.word)

    def words(self) -> Iterator[Column]:
        """For each memory word the indices of its rows, in order; each block has shared words of its own."""
        if not len(self):
            return
        home = np.where(self.shared == 1, self.block, -1)
        yield from split_by(np.arange(len(self)), self.word, home)

    def ordered(self, a: int, rows: Column) -> NDArray[np.bool_]:
        """For each of the rows, all later in the log than row a, whether a happens before it."""
        u = int(self.thread[a])
        base = int(self.block[a]) * self.threads
        left_barriers, left_syncs = self.exits[base + u]
        synced = left_syncs > self.syncs[a]
        reaches_barrier = left_barriers > self.barriers[a]
        if synced and not reaches_barrier:
            first = base + u // WARP * WARP
            last = min(first + WARP, base + self.threads)
            reaches_barrier = (self.exits[first:last, 0] > self.barriers[a]).any()
        same_warp = self.thread[rows] // WARP == u // WARP
        result = self.thread[rows] == u
        if synced:
            result = result | (same_warp & (self.syncs[rows] > self.syncs[a]))
        if reaches_barrier:
            result = result | (self.barriers[rows] > self.barriers[a])
        same_block = result & (self.block[rows] == self.block[a])
        ordered: NDArray[np.bool_] = same_block
        if left_barriers >> GRID_SHIFT > self.barriers[a] >> GRID_SHIFT:
            ordered = ordered | (self.barriers[rows] >> GRID_SHIFT > self.barriers[a] >> GRID_SHIFT)
        return ordered

    def shape(self, rows: Column) -> bytes:
        """All that the pairs of a word depend on, up to the numbers of blocks, threads, barriers and bytes.

        Words of equal shape have alike pairs: `ordered` compares clocks, and exits with clocks, no more.
        """
        home = self.block[rows] * self.threads + self.thread[rows]
        warp = home - self.thread[rows] % WARP
        barriers, syncs = self.barriers[rows], self.syncs[rows]
        columns = [
            self.site[rows],
            self.place[rows] - self.place[rows].min(),
            *(
                np.unique(c, return_inverse=True)[1].reshape(-1)
                for c in (self.block[rows], warp, home, barriers, syncs, barriers >> GRID_SHIFT)
            ),
            self.exits[home, 0] > barriers,
            self.exits[home, 1] > syncs,
            self.exits[home, 0] >> GRID_SHIFT > barriers >> GRID_SHIFT,
            self._last_of_warp[warp] > barriers,
        ]
        return np.stack(columns, axis=1).astype(np.int64).tobytes()

    @cached_property
    def _last_of_warp(self) -> Column:
        """At the index of each warp's first thread, the greatest count of barriers at an exit of its lanes."""
        starts = np.flatnonzero(np.arange(len(self.exits)) % self.threads % WARP == 0)
        last = np.zeros(len(self.exits), np.int64)
        last[starts] = np.maximum.reduceat(self.exits[:, 0], starts)
        return last
