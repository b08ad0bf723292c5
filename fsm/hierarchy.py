"""A small grid for exhaustive search: blocks x warps x lanes, with threads numbered from 0."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from racedart.fsm.vocabulary import EventClass, Relation, Sync, class_of


@dataclass(frozen=True)
class Hierarchy:
    """Thread t lies in warp t // lanes (numbered over the grid) and block t // (warps * lanes)."""

    blocks: int
    warps: int
    lanes: int

    @property
    def threads(self) -> int:
        """Number of threads of the grid."""
        return self.blocks * self.warps * self.lanes

    def warp(self, thread: int) -> int:
        """Number of a thread's warp, over the grid."""
        return thread // self.lanes

    def block(self, thread: int) -> int:
        """Number of a thread's block."""
        return thread // (self.lanes * self.warps)

    @cached_property
    def warp_masks(self) -> tuple[int, ...]:
        """For each warp the set of its threads, as bits."""
        return tuple(((1 << self.lanes) - 1) << w * self.lanes for w in range(self.blocks * self.warps))

    @cached_property
    def block_masks(self) -> tuple[int, ...]:
        """For each block the set of its threads, as bits."""
        size = self.lanes * self.warps
        return tuple(((1 << size) - 1) << b * size for b in range(self.blocks))

    def relation(self, thread: int, last: int) -> Relation:
        """How a thread relates to the last accessor."""
        if thread == last:
            return Relation.S
        if self.warp(thread) == self.warp(last):
            return Relation.W
        return Relation.B if self.block(thread) == self.block(last) else Relation.G

    def seen(self, thread: int, last: int, warp_synced: bool, block_synced: bool) -> tuple[Sync, Relation]:
        """What a thread sees of the last access, by whether its accessor's warp and block have synchronised."""
        relation = self.relation(thread, last)
        if relation == Relation.G:
            return Sync.U, relation
        if block_synced:
            return Sync.B, relation
        return (Sync.W if warp_synced and relation != Relation.B else Sync.U), relation

    def event_class(self, thread: int, last: int, warp_synced: bool, block_synced: bool) -> EventClass:
        """Class of an event; whether warp and block of the last accessor have synchronised since."""
        return class_of(*self.seen(thread, last, warp_synced, block_synced))

    def __str__(self) -> str:
        return f"{self.blocks}x{self.warps}x{self.lanes}"
