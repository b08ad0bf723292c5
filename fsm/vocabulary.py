"""The words of the state machine: accesses, synchronisation, relations, states, events and their classes.

Source: HiRace (SC 2024) for the 25 states and the 48 events. An event is what the machine is told of an
access: its kind, the strongest synchronisation since the last access to the location that the current
thread has seen, and how the current thread relates to the last accessor.

The 12 pairs of synchronisation and relation fall into six classes: a warp synchronisation says nothing
about another warp, and no barrier orders two blocks.
"""

from __future__ import annotations

import enum
import itertools
from dataclasses import dataclass


class Access(enum.IntEnum):
    """Kind of an access: plain read, plain write, block-scope atomic, device- or system-scope atomic."""

    R = 0
    W = 1
    BA = 2
    GA = 3


class Sync(enum.IntEnum):
    """What the current thread has seen since the last access: nothing, a warp or a block barrier."""

    U = 0
    W = 1
    B = 2


class Relation(enum.IntEnum):
    """The last accessor is the same thread, or another one of the warp, the block, the grid."""

    S = 0
    W = 1
    B = 2
    G = 3


class EventClass(enum.IntEnum):
    """Classes of (sync, relation) that no history can tell apart further.

    US: same thread; UW: its warp; UB: another warp of the block, no block barrier since; G: another block;
    WW: warp-synchronised in one warp; BB: behind a block barrier in one block.
    """

    US = 0
    UW = 1
    UB = 2
    G = 3
    WW = 4
    BB = 5


class State(enum.IntEnum):
    """What is known of a location. MEANINGS says what each name stands for."""

    INIT = 0
    READ = 1
    WRITE = 2
    WREAD = 3
    BREAD = 4
    GREAD = 5
    WSYNC = 6
    BSYNC = 7
    MR_WSYNC = 8
    BWSYNC = 9
    B_MR_BSYNC = 10
    W_MR_BWSYNC = 11
    BATOM = 12
    BATOM_W = 13
    BATOM_B = 14
    GATOM = 15
    GATOM_W = 16
    GATOM_B = 17
    GATOM_G = 18
    WSYNC_ATOM = 19
    WSYNC_ATOM_M = 20
    BSYNC_ATOM = 21
    BSYNC_ATOM_W = 22
    BSYNC_ATOM_B = 23
    RACE = 24


@dataclass(frozen=True, slots=True)
class Event:
    """One of the 48 events."""

    access: Access
    sync: Sync
    relation: Relation


EVENTS = tuple(Event(a, s, r) for a, s, r in itertools.product(Access, Sync, Relation))


def class_of(sync: Sync, relation: Relation) -> EventClass:
    """The class of a pair of synchronisation and relation."""
    if relation == Relation.G:
        return EventClass.G
    if sync == Sync.B:
        return EventClass.BB
    if relation == Relation.B:
        return EventClass.UB
    if sync == Sync.W:
        return EventClass.WW
    return EventClass.US if relation == Relation.S else EventClass.UW


MEANINGS: dict[State, str] = {
    State.INIT: "not accessed in this epoch",
    State.READ: "read by one thread",
    State.WRITE: "written (or touched in conflicting ways) by one thread, whose accesses nobody else has seen",
    State.WREAD: "read by several threads of one warp",
    State.BREAD: "read by several warps of one block",
    State.GREAD: "read by several blocks",
    State.WSYNC: "read by one thread, behind a warp synchronisation of earlier accesses of its warp",
    State.BSYNC: "read by one thread, behind a block barrier of earlier accesses of its block",
    State.MR_WSYNC: "read by several threads of one warp, behind a warp synchronisation of earlier accesses",
    State.BWSYNC: "read behind a block barrier, then behind a warp synchronisation of the reader's warp",
    State.B_MR_BSYNC: "read by several warps behind a block barrier of earlier accesses",
    State.W_MR_BWSYNC: "read by several threads of one warp behind a block barrier of earlier accesses",
    State.BATOM: "updated by one thread, by an atomic of block scope",
    State.BATOM_W: "updated by several threads of one warp, some atomic of block scope",
    State.BATOM_B: "updated by several warps of one block, some atomic of block scope",
    State.GATOM: "updated by one thread, by atomics of device scope",
    State.GATOM_W: "updated by several threads of one warp, by atomics of device scope",
    State.GATOM_B: "updated by several warps of one block, by atomics of device scope",
    State.GATOM_G: "updated by several blocks, by atomics of device scope",
    State.WSYNC_ATOM: "updated by one thread, behind a warp synchronisation of earlier plain accesses",
    State.WSYNC_ATOM_M: "updated by several threads of a warp, behind a warp synchronisation of plain accesses",
    State.BSYNC_ATOM: "updated by one thread, behind a block barrier of earlier plain accesses",
    State.BSYNC_ATOM_W: "updated by several threads of a warp, behind a block barrier of plain accesses",
    State.BSYNC_ATOM_B: "updated by several warps, behind a block barrier of earlier plain accesses",
    State.RACE: "a race has been found; absorbing",
}
