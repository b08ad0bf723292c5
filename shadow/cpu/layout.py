"""The addresses and record layouts that native code, scheduler and Python share.

Device addresses are virtual: the arena of device memory starts at ARENA, and windows of the generic
address space stand for the shared, local and parameter memory of the running thread. All records are
rows of 64-bit words.
"""

from __future__ import annotations

import enum

ARENA = 0x7F_0000_0000
"""Device address of the first byte of the arena."""
SHARED_WINDOW = 0x7E_0100_0000
LOCAL_WINDOW = 0x7E_0200_0000
PARAM_WINDOW = 0x7E_0300_0000
WINDOW = 0x100_0000
"""Bytes of each window of the generic address space."""
GUARD = 4096
"""Bytes around every allocation that belong to none."""
ALIGNMENT = 256


class Team(enum.IntEnum):
    """Word offsets in the record that all workers of a run share, each on a cache line of its own.

    STOP: what ended the run early, a `Stop`, or 0. NEXT_BLOCK: blocks handed out. DONE: blocks that ended.
    """

    STOP = 0
    NEXT_BLOCK = 8
    DONE = 16
    SIZE = 24


class Stop(enum.IntEnum):
    """How a run ended.

    REPORT: a worker that is not alone met something that a report would name, or can go on only when another
    block does.
    """

    DONE = 0
    TIMEOUT = 1
    STUCK = 2
    LIVELOCK = 3
    REPORT = 4


class Context(enum.IntEnum):
    """Word offsets in a worker's record of the launch. ALONE: whether it is the only worker."""

    TEAM = 0
    MODIFIED = 1
    ARENA_HOST = 2
    ARENA_SIZE = 3
    GLOBAL_SHADOW = 4
    GLOBAL_SHIFT = 5
    SHARED_SIZE = 6
    SHARED_SHIFT = 7
    LOCAL_SIZE = 8
    PARAMS_HOST = 9
    PARAMS_SIZE = 10
    RACES = 11
    RACES_CAPACITY = 12
    RACES_COUNT = 13
    TOUCHED = 14
    LOG = 15
    LOG_CAPACITY = 16
    LOG_COUNT = 17
    FAULTS = 18
    FAULTS_CAPACITY = 19
    FAULTS_COUNT = 20
    SINK = 21
    NTID_X = 22
    NTID_Y = 23
    NTID_Z = 24
    NCTAID_X = 25
    NCTAID_Y = 26
    NCTAID_Z = 27
    DYNAMIC_SHARED = 28
    SITE_GROUPS = 29
    CONSERVATIVE = 30
    FAULTED = 31
    ALONE = 32
    PRINTS = 33
    PRINTS_CAPACITY = 34
    PRINTS_COUNT = 35
    SIZE = 36


class Schedule(enum.IntEnum):
    """Word offsets in the record of a scheduler.

    FRAMES, SHARED, SHARED_SHADOW, LOCAL: memory of all resident slots, with the bytes of one thread or slot;
    they have room for CAPACITY slots, of which RESIDENT are in use. A slot's shared memory begins with MARK_BYTES
    of marks (initialised.py). FILL: a number that its contents at the start of a block are made from, 0 for zeros.
    ORDER: scratch, a word per thread. SLOTS: records of `Slot`. WATCHED: pairs (block, granule) of watched shared
    memory, sorted. EXITS: barrier and warp-sync counts at the exit of every thread, or 0.
    """

    STEP = 0
    CONTEXT = 1
    THREADS = 2
    BLOCKS = 3
    RESIDENT = 4
    FRAMES = 5
    FRAME_BYTES = 6
    SHARED = 7
    SHARED_BYTES = 8
    SHARED_SHADOW = 9
    SHADOW_BYTES = 10
    LOCAL = 11
    LOCAL_BYTES = 12
    SEED = 13
    ORDER = 14
    SLOTS = 15
    WATCHED = 16
    WATCHED_COUNT = 17
    EXITS = 18
    CAPACITY = 19
    MARK_BYTES = 20
    FILL = 21
    SIZE = 22


class Slot(enum.IntEnum):
    """Word offsets in the record of a place for a resident block. BLOCK is -1 when it is empty.

    TAINTED: a thread has exited with accesses that no later barrier orders. YIELDED: threads that yielded in
    the block's last turn. TURN: turns that it had. USED: whether a block was here before. AT_GRID:
    the block waits at a barrier of the grid.
    """

    BLOCK = 0
    LIVE = 1
    TAINTED = 2
    YIELDED = 3
    TURN = 4
    USED = 5
    AT_GRID = 6
    SIZE = 8


class Frame(enum.IntEnum):
    """Word offsets in the record of a resident thread; saved registers follow from SAVED on.

    What a thread needs at every meeting comes first, so that it shares two cache lines.
    """

    STATUS = 0
    MINE = 1
    CONTEXT = 2
    RESUME = 3
    BARRIERS = 4
    ACCESSED = 5
    OPERATION = 6
    SITE = 7
    MASK = 8
    VALUE = 9
    LANE_OPERAND = 10
    SHARED_HOST = 11
    SHARED_SHADOW = 12
    TID_X = 13
    TID_Y = 14
    TID_Z = 15
    CTAID_X = 16
    CTAID_Y = 17
    CTAID_Z = 18
    LINEAR = 19
    BLOCK = 20
    SYNCS = 21
    LOCAL_HOST = 22
    SHADOW_WORD = 23
    UNCHANGED = 24
    CLAMP = 25
    RESULT = 26
    RESULT_PREDICATE = 27
    CLOCK = 28
    SAVED = 29


class Status(enum.IntEnum):
    """What a thread's native code says when it returns, and what the scheduler keeps of it."""

    READY = 0
    EXITED = 1
    BARRIER = 2
    WARP = 3
    YIELDED = 4
    UNMODELLED = 5
    TRAPPED = 6
    GRID = 7


class Operation(enum.IntEnum):
    """What the threads of a warp or block do together where they wait."""

    SYNC = 0
    SHUFFLE_UP = 1
    SHUFFLE_DOWN = 2
    SHUFFLE_BUTTERFLY = 3
    SHUFFLE_INDEX = 4
    VOTE_ALL = 5
    VOTE_ANY = 6
    VOTE_UNIFORM = 7
    VOTE_BALLOT = 8
    MATCH_ANY = 9
    MATCH_ALL = 10
    REDUCE_ADD = 11
    REDUCE_MIN_SIGNED = 12
    REDUCE_MAX_SIGNED = 13
    REDUCE_MIN = 14
    REDUCE_MAX = 15
    REDUCE_AND = 16
    REDUCE_OR = 17
    REDUCE_XOR = 18
    ACTIVE = 19
    BARRIER_AND = 20
    BARRIER_OR = 21
    BARRIER_POPC = 22
    GRID_LEADER = 23
    GRID_ALL = 24


class Race(enum.IntEnum):
    """Words of a raw race: an access that met an unordered one, or that met a racing word (met = 1)."""

    WORD = 0
    OLD = 1
    THREAD = 2
    BLOCK = 3
    SITE = 4
    ACCESS = 5
    MET = 6
    SHARED = 7
    SIZE = 8


class Log(enum.IntEnum):
    """Words of a logged access of a watched granule; PLACE: host address of the element."""

    WORD = 0
    THREAD = 1
    BLOCK = 2
    SITE = 3
    BARRIERS = 4
    SYNCS = 5
    BEFORE = 6
    PLACE = 7
    SIZE = 8


class Print(enum.IntEnum):
    """Words of a call of printf: the address of its format, who called, and its arguments as in memory."""

    FORMAT = 0
    THREAD = 1
    BLOCK = 2
    ARGUMENTS = 4
    SIZE = 36


class Fault(enum.IntEnum):
    """Words of a faulty access or wait. ADDRESS: device address; KIND: a FaultKind."""

    KIND = 0
    SITE = 1
    THREAD = 2
    BLOCK = 3
    ADDRESS = 4
    OTHER_SITE = 5
    OTHER_THREAD = 6
    SIZE = 8


class FaultKind(enum.IntEnum):
    """What went wrong."""

    OUT_OF_BOUNDS = 1
    MISALIGNED = 2
    DIVERGENT_BARRIER = 3
    BARRIER_DEADLOCK = 4
    MISSING_LANES = 5
    LIVELOCK = 6
    UNMODELLED = 7
    TRAP = 8
    PARTIAL_BARRIER = 9
    PARTIAL_WARP_SYNC = 10
    OWN_LANE_MISSING = 11
    UNDEFINED_LANE = 12
    GRID_DEADLOCK = 13
    UNINITIALISED = 14
