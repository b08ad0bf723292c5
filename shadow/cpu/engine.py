"""Run a launch on the CPU, in native code: once to find races, and again to log the racing words."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from racedart.shadow import word
from racedart.shadow.cpu.device import Device
from racedart.shadow.cpu.layout import Context, Fault, Frame, Log, Race, Schedule, Slot
from racedart.shadow.cpu.program import Program
from racedart.shadow.cpu.runtime import run_blocks
from racedart.shadow.cpu.slow_path import FAULT_LIMIT
from racedart.shadow.launch import Launch

Words = NDArray[np.int64]

RESIDENT_THREADS = 2048
"""Threads of the blocks that take turns, at least; a lone block is joined by a second one."""
GROWTH_THREADS = 1 << 18
"""Threads that may be resident when all of the running ones wait for blocks that have not started."""
RACES = 1 << 18
MEETING_FAULTS = 4096
"""Room for faults of meetings, behind that for the faulty accesses of every instruction."""
SHARED_FIELD = 1 << 62
NEVER = 1 << 62
"""Clock of an exit that did not happen."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Granules whose accesses are to be logged. shared: rows of (block, granule), sorted."""

    global_granules: Words
    shared: Words
    log_capacity: int


NO_WATCH = Watch(np.zeros(0, np.int64), np.zeros((0, 2), np.int64), 0)


@dataclass(frozen=True, slots=True)
class RawResult:
    """What a run leaves: rows of `Race`, `Fault` and `Log`, each cut at its capacity, and true counts.

    exits: barriers and warp syncs that each thread had counted when it exited, [block * threads + thread, 2];
    empty unless a watch was set. status: 0 done, 1 timeout, 2 a thread could not go on, 3 livelock.
    conservative: some barrier was not counted in the shadow words, so that alarms may be refuted.
    unstarted: blocks that never started.
    """

    status: int
    races: Words
    race_count: int
    faults: Words
    log: Words
    log_count: int
    exits: Words
    conservative: bool
    unstarted: int


def run(
    program: Program,
    launch: Launch,
    device: Device,
    *,
    seed: int,
    deadline: Callable[[], float | None],
    watch: Watch = NO_WATCH,
) -> RawResult:
    """Run all blocks of a launch on the device's memory.

    deadline: seconds left, or None. Raises KeyboardInterrupt when the user interrupts.
    """
    threads = int(np.prod(launch.block))
    blocks = int(np.prod(launch.grid))
    shared_bytes = _padded(_shared_size(program, launch))
    shared_shift = program.plan.shared_shift
    capacity = min(blocks, max(GROWTH_THREADS // threads, 2))
    resident = min(blocks, max(RESIDENT_THREADS // threads, 2))

    context = np.zeros(int(Context.SIZE), np.int64)
    races = np.zeros((RACES, int(Race.SIZE)), np.int64)
    log = np.zeros((max(watch.log_capacity, 1), int(Log.SIZE)), np.int64)
    instructions = len(program.plan.graph.instructions)
    touched = np.zeros(max(instructions, 1), np.int64)
    faulted = np.zeros_like(touched)
    faults = np.zeros((FAULT_LIMIT * instructions + MEETING_FAULTS, int(Fault.SIZE)), np.int64)
    groups = _barrier_groups(program)
    sink = np.zeros(16, np.int64)
    watching = watch.log_capacity > 0
    exits = np.full((blocks * threads if watching else 0, 2), -1, np.int64)

    device.shadow[watch.global_granules] = word.special(word.WATCHED)
    values = {
        Context.ARENA_HOST: _address(device.arena),
        Context.ARENA_SIZE: device.size,
        Context.GLOBAL_SHADOW: _address(device.shadow),
        Context.GLOBAL_SHIFT: program.plan.global_shift,
        Context.SHARED_SIZE: _shared_size(program, launch),
        Context.SHARED_SHIFT: shared_shift,
        Context.LOCAL_SIZE: program.local_bytes,
        Context.PARAMS_HOST: _address(device.params),
        Context.PARAMS_SIZE: program.param_bytes,
        Context.RACES: _address(races),
        Context.RACES_CAPACITY: RACES,
        Context.TOUCHED: _address(touched),
        Context.LOG: _address(log),
        Context.LOG_CAPACITY: watch.log_capacity,
        Context.FAULTS: _address(faults),
        Context.FAULTS_CAPACITY: len(faults),
        Context.FAULTED: _address(faulted),
        Context.SINK: _address(sink),
        Context.DYNAMIC_SHARED: launch.shared_bytes,
        Context.SITE_GROUPS: _address(groups),
    }
    for field, value in values.items():
        context[field] = value
    context[Context.NTID_X : Context.NTID_Z + 1] = launch.block
    context[Context.NCTAID_X : Context.NCTAID_Z + 1] = launch.grid

    frame_words = int(Frame.SAVED) + program.translation.saved
    frame_words += frame_words % 2
    shadow_words = (shared_bytes >> shared_shift) + 1
    frames = np.zeros((capacity * threads, frame_words), np.int64)
    shared = np.zeros(capacity * shared_bytes + 64, np.uint8)
    shared_shadow = np.zeros(capacity * shadow_words, np.int64)
    local_bytes = _padded(program.local_bytes)
    local = np.zeros(capacity * threads * local_bytes + 64, np.uint8)
    order = np.zeros(threads, np.int64)
    slots = np.full((capacity, int(Slot.SIZE)), -1, np.int64)
    pairs = np.ascontiguousarray(watch.shared)

    schedule = np.zeros(int(Schedule.SIZE), np.int64)
    settings = {
        Schedule.STEP: program.step,
        Schedule.CONTEXT: _address(context),
        Schedule.THREADS: threads,
        Schedule.BLOCKS: blocks,
        Schedule.RESIDENT: resident,
        Schedule.FRAMES: _address(frames),
        Schedule.FRAME_BYTES: frame_words * 8,
        Schedule.SHARED: _address(shared),
        Schedule.SHARED_BYTES: shared_bytes,
        Schedule.SHARED_SHADOW: _address(shared_shadow),
        Schedule.SHADOW_BYTES: shadow_words * 8,
        Schedule.LOCAL: _address(local),
        Schedule.LOCAL_BYTES: local_bytes,
        Schedule.SEED: seed,
        Schedule.ORDER: _address(order),
        Schedule.SLOTS: _address(slots),
        Schedule.WATCHED: _address(pairs),
        Schedule.WATCHED_COUNT: len(pairs),
        Schedule.EXITS: _address(exits) if watching else 0,
        Schedule.CAPACITY: capacity,
    }
    for setting, value in settings.items():
        schedule[setting] = value
    status = _run_interruptibly(schedule, context, deadline)
    # A thread that was stopped before its exit took part in every barrier that completed.
    exits[exits < 0] = NEVER
    return RawResult(
        status,
        races[: min(int(context[Context.RACES_COUNT]), RACES)].copy(),
        int(context[Context.RACES_COUNT]),
        faults[: int(context[Context.FAULTS_COUNT])].copy(),
        log[: min(int(context[Context.LOG_COUNT]), watch.log_capacity)],
        int(context[Context.LOG_COUNT]),
        exits,
        bool(context[Context.CONSERVATIVE]),
        blocks - int(schedule[Schedule.NEXT_BLOCK]),
    )


def _run_interruptibly(schedule: Words, context: Words, deadline: Callable[[], float | None]) -> int:
    """Run native code in a thread of its own, so that Ctrl-C and the deadline can stop it."""
    function = run_blocks()
    result: list[int] = []
    worker = threading.Thread(target=lambda: result.append(function(_address(schedule))), daemon=True)
    worker.start()
    try:
        while worker.is_alive():
            left = deadline()
            if left is not None and left <= 0:
                context[Context.STOP] = 1
                worker.join()
                break
            worker.join(0.2 if left is None else min(left, 0.2))
    except KeyboardInterrupt:
        context[Context.STOP] = 1
        worker.join()
        raise
    return result[0]


def _shared_size(program: Program, launch: Launch) -> int:
    return program.static_shared + launch.shared_bytes


def _padded(size: int) -> int:
    return -(-size // 16) * 16


def _address(array: NDArray[np.generic]) -> int:
    return int(array.ctypes.data)


def _barrier_groups(program: Program) -> Words:
    """For each instruction a number that is equal for equal source places.

    Compilers copy barriers (unrolled loops, duplicated tails): threads that wait at copies of one barrier
    of the source do not diverge. Without line information all barriers count as one place.
    """
    numbers: dict[object, int] = {}
    groups = [numbers.setdefault(i.loc, len(numbers)) for i in program.plan.graph.instructions]
    return np.array([*groups, 0], np.int64)
