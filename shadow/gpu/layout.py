"""The records that injected code, the driver's side and Python share; words of 64 bits."""

from __future__ import annotations

import enum

CONTEXT = "racedart_context"
"""Symbol of the launch's record, in constant memory: words of `Context`."""
SHARED = "racedart_shared"
"""Symbol of the first byte of the kernel's shared memory."""
TABLE = "racedart_table"
"""Symbol of the machine's table, in constant memory."""

IN_SHARED = 1 << 62
"""Flag of a place that is an offset in shared memory."""


class Context(enum.IntEnum):
    """What injected code knows of its launch.

    ARENA: global address of the first byte of the launch's objects. ARENA_LIMIT: no access whose offset is below
    reaches outside, and none above it is inside an object. RECORDS: of the words of `Record`.
    SHARED_SHADOW: shadow of the shared memory of block 0, SHADOW_BYTES for each block. EXITS: two words for each
    thread, or 0.
    """

    ARENA = 0
    GLOBAL_SHADOW = 1
    SHARED_SHADOW = 2
    SHADOW_BYTES = 3
    SHARED_SIZE = 4
    RECORDS = 5
    RACES = 6
    RACES_CAPACITY = 7
    FAULTS = 8
    FAULTS_CAPACITY = 9
    LOG = 10
    LOG_CAPACITY = 11
    EXITS = 12
    TOUCHED = 13
    FAULTED = 14
    ARENA_LIMIT = 15
    SIZE = 16


class Record(enum.IntEnum):
    """Counters that injected code leaves."""

    RACES = 0
    FAULTS = 1
    LOG = 2
    CONSERVATIVE = 3
    SIZE = 4
