"""Run a launch on the GPU: once to find races, and again to log the racing words.

Gives what the CPU engine gives (`cpu.engine.RawResult`), on the same device memory layout, so that both are
explained alike. The order of threads is the GPU's own: a seed has no effect.

Not handled: divergent barriers and missing lanes are not named, and a launch that hangs there ends at its time
limit; R302; what `unhandled` names.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from racedart.shadow import word
from racedart.shadow.cpu.device import Bytes, Device
from racedart.shadow.cpu.engine import MEETING_FAULTS, NEVER, NO_WATCH, RACES, RawResult, Watch, Words
from racedart.shadow.cpu.layout import ARENA, Fault, FaultKind, Log, Race
from racedart.shadow.cpu.program import Program
from racedart.shadow.cpu.slow_path import FAULT_LIMIT
from racedart.shadow.gpu import driver
from racedart.shadow.gpu.inject import foreign_calls
from racedart.shadow.gpu.layout import Context, Record
from racedart.shadow.gpu.program import load
from racedart.shadow.launch import Launch, LaunchError
from racedart.shadow.outcome import Mode
from racedart.shadow.ptx.model import Symbol

PADDING = 64
WIDEST = 32
"""Bytes of the widest access."""


_hung: list[str] = []


def run(
    program: Program,
    launch: Launch,
    device: Device,
    *,
    seed: int,
    deadline: Callable[[], float | None],
    watch: Watch = NO_WATCH,
    mode: Mode = "exact",
) -> RawResult:
    """Run all blocks of a launch on the device's memory.

    deadline: seconds left, or None. Raises LaunchError when the GPU has too little memory, or the kernel fails.
    """
    name = launch.kernel.name
    if _hung:
        raise LaunchError(f"kernel {_hung[0]} was given up at its time limit and may still run on the GPU")
    obstacle = unhandled(program, launch)
    if obstacle:
        raise LaunchError(f"kernel {name} {obstacle}, which the GPU engine does not handle: use --engine cpu")
    logged = watch.log_capacity > 0
    try:
        loaded = load(program, mode, logged)
        with driver.Allocations() as memory:
            memories = Memories(program, launch, device, watch, memory)
            _require_memory(memories, name)
            loaded.context.upload(memories.context())
            seconds = driver.launch(
                loaded.kernel, launch.grid, launch.block, launch.shared_bytes, memories.params(), deadline
            )
            if seconds is None:
                # Freeing memory would wait for the kernel.
                memory.pop_all()
                _hung.append(name)
                return memories.nothing()
            return memories.result()
    except driver.DriverError as error:
        raise LaunchError(f"kernel {name} failed on the GPU: {error}") from error


def unhandled(program: Program, launch: Launch) -> str:
    """What of a launch this engine does not handle; "" if nothing. Needs no GPU."""
    called = foreign_calls(program.plan)
    if program.plan.grids.meets or program.plan.grids.handles:
        return "waits for all blocks of the grid"
    if called:
        return f"calls {', '.join(called)}"
    if any(buffer.address is not None for buffer in launch.buffers):
        return "is of a program whose memory holds its own addresses"
    # Constant memory is the module's own on a GPU.
    for variable in program.module.variables:
        if variable.space == "const" and variable.name in launch.variables:
            return f"has the constant variable {variable.name} set for the launch"
        if variable.space == "const" and any(isinstance(value, Symbol) for value in variable.initial):
            return f"has the constant variable {variable.name}, which holds addresses"
    return ""


class Memories:
    """The device memory of one run."""

    def __init__(
        self, program: Program, launch: Launch, device: Device, watch: Watch, memory: driver.Allocations
    ) -> None:
        self.program, self.launch, self.device, self.watch, self.memory = program, launch, device, watch, memory
        self.threads = int(np.prod(launch.block))
        self.blocks = int(np.prod([int(n) for n in launch.grid]))
        self.instructions = max(len(program.plan.graph.instructions), 1)
        self.shared_size = program.static_shared + launch.shared_bytes
        self.shadow_words = (self.shared_size >> program.plan.shared_shift) + 1
        self.faults_capacity = FAULT_LIMIT * self.instructions + MEETING_FAULTS
        self.logged = watch.log_capacity > 0

    def bytes_needed(self) -> int:
        """Device memory of the run."""
        shared = self.blocks * self.shadow_words * 8 if self.shared_size else 0
        exits = self.blocks * self.threads * 16 if self.logged else 0
        records = RACES * int(Race.SIZE) * 8 + self.faults_capacity * int(Fault.SIZE) * 8
        log = self.watch.log_capacity * int(Log.SIZE) * 8
        return self.device.size + self.device.shadow.nbytes + shared + exits + records + log

    def context(self) -> Words:
        """Allocate and fill everything; the launch's record."""
        device, memory = self.device, self.memory
        device.shadow[self.watch.global_granules] = word.special(word.WATCHED)
        self.arena = memory.zeros(device.size + PADDING)
        self.arena.upload(self.relocated())
        shadow = memory.copy(device.shadow)
        shared_shadow = memory.zeros(self.blocks * self.shadow_words * 8 if self.shared_size else 8)
        watched = np.array([word.special(word.WATCHED)], np.int64)
        for block, granule in self.watch.shared:
            shared_shadow.upload(watched, (int(block) * self.shadow_words + int(granule)) * 8)
        self.records = memory.zeros(int(Record.SIZE) * 8)
        self.races = memory.zeros(RACES * int(Race.SIZE) * 8)
        self.faults = memory.zeros(self.faults_capacity * int(Fault.SIZE) * 8)
        self.log = memory.zeros(self.watch.log_capacity * int(Log.SIZE) * 8)
        self.exits = memory.copy(np.full((self.blocks * self.threads if self.logged else 0, 2), -1, np.int64))
        touched, faulted = (memory.zeros(8 * self.instructions) for _ in range(2))
        values = {
            Context.ARENA: self.arena.address,
            Context.ARENA_LIMIT: max(device.size - WIDEST + 1, 0),
            Context.GLOBAL_SHADOW: shadow.address,
            Context.SHARED_SHADOW: shared_shadow.address,
            Context.SHADOW_BYTES: self.shadow_words * 8,
            Context.SHARED_SIZE: self.shared_size,
            Context.RECORDS: self.records.address,
            Context.RACES: self.races.address,
            Context.RACES_CAPACITY: RACES,
            Context.FAULTS: self.faults.address,
            Context.FAULTS_CAPACITY: self.faults_capacity,
            Context.LOG: self.log.address,
            Context.LOG_CAPACITY: self.watch.log_capacity,
            Context.EXITS: self.exits.address,
            Context.TOUCHED: touched.address,
            Context.FAULTED: faulted.address,
        }
        record = np.zeros(int(Context.SIZE), np.int64)
        for field, value in values.items():
            record[field] = value
        return record

    def relocated(self) -> Bytes:
        """The arena with the addresses that it holds as this GPU knows them."""
        arena: Bytes = self.device.arena[: self.device.size].copy()
        for at in self.device.addresses:
            arena[at : at + 8].view(np.int64)[0] += self.arena.address - ARENA
        return arena

    def params(self) -> list[bytes]:
        """The bytes of each parameter."""
        result = []
        for offset, param in zip(self.program.param_offsets, self.launch.params, strict=True):
            data = self.device.params[offset : offset + len(param.data)].copy()
            for pointer in param.pointers:
                data[pointer.at : pointer.at + 8].view(np.int64)[0] += self.arena.address - ARENA
            result.append(data.tobytes())
        return result

    def nothing(self) -> RawResult:
        """The result of a run that was given up."""
        empty = np.zeros((0, 8), np.int64)
        return RawResult(1, empty, 0, empty, empty, 0, np.zeros((0, 2), np.int64), True, 0)

    def result(self) -> RawResult:
        """What the run left; the device's arena holds what the kernel wrote."""
        device = self.device
        arena = np.zeros(device.size, np.uint8)
        self.arena.download(arena)
        for at in device.addresses:
            arena[at : at + 8].view(np.int64)[0] -= self.arena.address - ARENA
        device.arena[: device.size] = arena
        counts = np.zeros(int(Record.SIZE), np.int64)
        self.records.download(counts)
        race_count, fault_count, log_count = (int(counts[r]) for r in (Record.RACES, Record.FAULTS, Record.LOG))
        races = _rows(self.races, min(race_count, RACES), int(Race.SIZE))
        faults = _rows(self.faults, min(fault_count, self.faults_capacity), int(Fault.SIZE))
        log = _rows(self.log, min(log_count, self.watch.log_capacity), int(Log.SIZE))
        exits = _rows(self.exits, self.blocks * self.threads if self.logged else 0, 2)
        exits[exits < 0] = NEVER
        trapped = bool((faults[:, Fault.KIND] == FaultKind.TRAP).any())
        return RawResult(
            2 if trapped else 0,
            races,
            race_count,
            faults,
            log,
            log_count,
            exits,
            bool(counts[Record.CONSERVATIVE]),
            0,
        )


def _rows(memory: driver.Memory, count: int, width: int) -> Words:
    rows = np.zeros((count, width), np.int64)
    memory.download(rows)
    return rows


def _require_memory(memories: Memories, name: str) -> None:
    needed, free = memories.bytes_needed(), driver.free_memory()
    if needed > free:
        raise LaunchError(
            f"kernel {name} needs {needed:,} bytes of GPU memory with its shadow, {free:,} are free: launch fewer "
            "blocks or smaller arrays, or use --engine cpu"
        )
