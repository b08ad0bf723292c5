"""Run a launch on the CPU, in native code: once to find races, and again to log the racing words.

Workers: the blocks of a launch whose blocks do not observe each other (instrument/blocks.py) may run on all
cores. Such a run has nothing to report exactly if a run of one worker has nothing to report, and leaves the
same memory but for the rounding of floating-point atomics: without a race a plain read can see only what the
launch found in memory and what its own block wrote, so each block does the same in every interleaving. The
workers stop at the first thing that a report would name (`Stop.REPORT`). What a report says is then decided by
a run of one worker, whose every step is determined by the seed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from racedart.shadow import word
from racedart.shadow.cpu.device import Device
from racedart.shadow.cpu.layout import Context, Fault, Frame, Log, Print, Race, Schedule, Slot, Stop, Team
from racedart.shadow.cpu.program import Program
from racedart.shadow.cpu.runtime import run_blocks
from racedart.shadow.cpu.slow_path import FAULT_LIMIT
from racedart.shadow.launch import Launch

Words = NDArray[np.int64]

RESIDENT_THREADS = 2048
"""Threads of the blocks that take turns, at least; a lone block is joined by a second one."""
GROWTH_THREADS = 1 << 18
"""Threads that may be resident when all of the running ones wait for blocks that have not started."""
WORTHWHILE_THREADS = 1 << 12
"""Threads of a launch from which on a second worker pays."""
LINE_WORDS = 8
"""Words of a cache line."""
RACES = 1 << 18
PRINTS = 1 << 14
"""Calls of printf that are kept."""
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

    status: a `Stop`. exits: barriers and warp syncs that each thread had counted when it exited,
    [block * threads + thread, 2]; empty unless a watch was set. conservative: some barrier was not counted in the
    shadow words, so that alarms may be refuted. unstarted: blocks that never started. Of a run of several workers
    only the status says anything.
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
    prints: Words = field(default_factory=lambda: np.zeros((0, int(Print.SIZE)), np.int64))
    print_count: int = 0


def run(
    program: Program,
    launch: Launch,
    device: Device,
    *,
    seed: int,
    deadline: Callable[[], float | None],
    watch: Watch = NO_WATCH,
    workers: int = 1,
    fill: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> RawResult:
    """Run all blocks of a launch on the device's memory.

    deadline: seconds left, or None. fill: a number that the first contents of shared memory are made from, 0 for
    zeros. progress: called now and then with the blocks that ended and all blocks.
    Raises KeyboardInterrupt when the user interrupts.
    """
    blocks = int(np.prod(launch.grid))
    device.shadow[watch.global_granules] = word.special(word.WATCHED)
    team = np.zeros(int(Team.SIZE), np.int64)
    made = [_Worker(program, launch, device, team, seed, watch, fill, alone=workers == 1) for _ in range(workers)]

    def done() -> None:
        if progress is not None:
            progress(int(team[Team.DONE]), blocks)

    status = _run_interruptibly(made, team, deadline, done)
    done()
    unstarted = max(blocks - int(team[Team.NEXT_BLOCK]), 0)
    return made[0].result(status, unstarted)


def worker_count(program: Program, launch: Launch, jobs: int) -> int:
    """How many workers pay for a launch, at most `jobs`."""
    threads, blocks = int(np.prod(launch.block)), int(np.prod(launch.grid))
    if not program.independent or blocks < 2 or blocks * threads < WORTHWHILE_THREADS:
        return 1
    return min(jobs, blocks)


class _Worker:
    """The records of one scheduler and the memory of its resident blocks."""

    def __init__(
        self,
        program: Program,
        launch: Launch,
        device: Device,
        team: Words,
        seed: int,
        watch: Watch,
        fill: int,
        *,
        alone: bool,
    ) -> None:
        threads = int(np.prod(launch.block))
        blocks = int(np.prod(launch.grid))
        shared_size = program.static_shared + launch.shared_bytes
        shared_bytes = _padded(shared_size)
        mark_bytes = _padded(shared_bytes >> program.plan.shared_shift)
        shared_shift = program.plan.shared_shift
        resident = min(blocks, max(RESIDENT_THREADS // threads, 2))
        capacity = min(blocks, max(GROWTH_THREADS // threads, 2)) if alone else resident

        instructions = len(program.plan.graph.instructions)
        self.watch = watch
        self.context = np.zeros(int(Context.SIZE), np.int64)
        self.races = np.zeros((RACES if alone else 1, int(Race.SIZE)), np.int64)
        self.log = np.zeros((max(watch.log_capacity, 1), int(Log.SIZE)), np.int64)
        touched = np.zeros(max(instructions, 1), np.int64)
        faulted = np.zeros_like(touched)
        self.faults = np.zeros((FAULT_LIMIT * instructions + MEETING_FAULTS, int(Fault.SIZE)), np.int64)
        groups = _barrier_groups(program)
        sink = np.zeros(16, np.int64)
        watching = watch.log_capacity > 0
        capacity_of_prints = PRINTS if program.prints else 0
        self.prints = np.zeros((capacity_of_prints, int(Print.SIZE)), np.int64)
        self.exits = np.full((blocks * threads if watching else 0, 2), -1, np.int64)
        values = {
            Context.TEAM: _address(team),
            Context.ARENA_HOST: _address(device.arena),
            Context.ARENA_SIZE: device.size,
            Context.GLOBAL_SHADOW: _address(device.shadow),
            Context.GLOBAL_SHIFT: program.plan.global_shift,
            Context.SHARED_SIZE: shared_size,
            Context.SHARED_SHIFT: shared_shift,
            Context.LOCAL_SIZE: program.local_bytes,
            Context.PARAMS_HOST: _address(device.params),
            Context.PARAMS_SIZE: program.param_bytes,
            Context.RACES: _address(self.races),
            Context.RACES_CAPACITY: len(self.races),
            Context.TOUCHED: _address(touched),
            Context.LOG: _address(self.log),
            Context.LOG_CAPACITY: watch.log_capacity,
            Context.FAULTS: _address(self.faults),
            Context.FAULTS_CAPACITY: len(self.faults),
            Context.FAULTED: _address(faulted),
            Context.SINK: _address(sink),
            Context.DYNAMIC_SHARED: launch.shared_bytes,
            Context.SITE_GROUPS: _address(groups),
            Context.ALONE: int(alone),
            Context.PRINTS: _address(self.prints),
            Context.PRINTS_CAPACITY: len(self.prints),
        }
        for word_, value in values.items():
            self.context[word_] = value
        self.context[Context.NTID_X : Context.NTID_Z + 1] = launch.block
        self.context[Context.NCTAID_X : Context.NCTAID_Z + 1] = launch.grid

        frame_words = -(-(int(Frame.SAVED) + program.translation.saved) // LINE_WORDS) * LINE_WORDS
        shadow_words = (shared_bytes >> shared_shift) + 1
        frames = np.zeros(capacity * threads * frame_words + LINE_WORDS, np.int64)
        shared = np.zeros(capacity * (mark_bytes + shared_bytes) + 64, np.uint8)
        shared_shadow = np.zeros(capacity * shadow_words, np.int64)
        local_bytes = _padded(program.local_bytes)
        local = np.zeros(capacity * threads * local_bytes + 64, np.uint8)
        order = np.zeros(threads, np.int64)
        slots = np.zeros((capacity, int(Slot.SIZE)), np.int64)
        slots[:, Slot.BLOCK] = -1
        pairs = np.ascontiguousarray(watch.shared)
        self.schedule = np.zeros(int(Schedule.SIZE), np.int64)
        settings = {
            Schedule.STEP: program.step,
            Schedule.CONTEXT: _address(self.context),
            Schedule.THREADS: threads,
            Schedule.BLOCKS: blocks,
            Schedule.RESIDENT: resident,
            Schedule.FRAMES: -(-_address(frames) // 64) * 64,
            Schedule.FRAME_BYTES: frame_words * 8,
            Schedule.SHARED: _address(shared),
            Schedule.SHARED_BYTES: mark_bytes + shared_bytes,
            Schedule.MARK_BYTES: mark_bytes,
            Schedule.FILL: fill,
            Schedule.SHARED_SHADOW: _address(shared_shadow),
            Schedule.SHADOW_BYTES: shadow_words * 8,
            Schedule.LOCAL: _address(local),
            Schedule.LOCAL_BYTES: local_bytes,
            Schedule.SEED: seed,
            Schedule.ORDER: _address(order),
            Schedule.SLOTS: _address(slots),
            Schedule.WATCHED: _address(pairs),
            Schedule.WATCHED_COUNT: len(pairs),
            Schedule.EXITS: _address(self.exits) if watching else 0,
            Schedule.CAPACITY: capacity,
        }
        for setting, number in settings.items():
            self.schedule[setting] = number
        # Native code knows these by address only.
        self.kept = (touched, faulted, groups, sink, frames, shared, shared_shadow, local, order, slots, pairs)

    def result(self, status: Stop, unstarted: int) -> RawResult:
        """What the records say after the run."""
        context = self.context
        # A thread that was stopped before its exit took part in every barrier that completed.
        self.exits[self.exits < 0] = NEVER
        return RawResult(
            status,
            self.races[: min(int(context[Context.RACES_COUNT]), len(self.races))].copy(),
            int(context[Context.RACES_COUNT]),
            self.faults[: int(context[Context.FAULTS_COUNT])].copy(),
            self.log[: min(int(context[Context.LOG_COUNT]), self.watch.log_capacity)],
            int(context[Context.LOG_COUNT]),
            self.exits,
            bool(context[Context.CONSERVATIVE]),
            unstarted,
            self.prints[: min(int(context[Context.PRINTS_COUNT]), len(self.prints))],
            int(context[Context.PRINTS_COUNT]),
        )


def _run_interruptibly(
    workers: list[_Worker], team: Words, deadline: Callable[[], float | None], done: Callable[[], None]
) -> Stop:
    """Run native code in threads of its own, so that Ctrl-C and the deadline can stop it."""
    function = run_blocks()
    result: list[int] = []
    threads = [
        threading.Thread(target=lambda w=worker: result.append(function(_address(w.schedule))), daemon=True)
        for worker in workers
    ]
    for thread in threads:
        thread.start()
    try:
        while running := [thread for thread in threads if thread.is_alive()]:
            left = deadline()
            if left is not None and left <= 0:
                team[Team.STOP] = Stop.TIMEOUT
                break
            running[0].join(0.2 if left is None else min(left, 0.2))
            if running[0].is_alive():
                done()
    except KeyboardInterrupt:
        team[Team.STOP] = Stop.TIMEOUT
        raise
    finally:
        for thread in threads:
            thread.join()
    return Stop(max(result))


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
