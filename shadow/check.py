"""Check one launch: run, replay with a log of the racing words, explain.

The launch runs once for its results, which are the user's, and for its alarms. Alarms name words; the
launch is then replayed from its inputs with a log of these words, and every unordered conflicting pair in
the log is a race. An alarm that the complete log refutes (a wrapped counter, a pair of volatile accesses,
atomics of two widths, a barrier that exited threads missed) is dropped; one that could not be examined
makes the check incomplete, never clean.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable
from typing import Protocol

import numpy as np
from racedart.finding.errors import InputError, UsageError
from racedart.finding.model import Json, Location, Reason
from racedart.shadow import word
from racedart.shadow.cpu import engine
from racedart.shadow.cpu.device import Device
from racedart.shadow.cpu.layout import ARENA, SHARED_WINDOW, WINDOW, Fault, FaultKind, Log, Race, Stop
from racedart.shadow.cpu.prints import printed_text
from racedart.shadow.cpu.program import Program, load_program, read_kernel
from racedart.shadow.explain.faults import Faulty, fault_findings, fault_reasons
from racedart.shadow.explain.pairs import racing_pairs
from racedart.shadow.explain.places import location_of
from racedart.shadow.explain.races import Added, Named, RaceCollector
from racedart.shadow.explain.trace import Trace
from racedart.shadow.explain.values import element_text
from racedart.shadow.instrument.flow import Shape
from racedart.shadow.instrument.proof import prove
from racedart.shadow.launch import MAX_SHARED, Launch, LaunchError
from racedart.shadow.outcome import Options, Outcome
from racedart.shadow.ptx.printer import print_instruction

WORDS_OF_A_KIND = 16
"""Racing words that are examined first, for each kind of alarm (site, state before, access)."""
WORDS = 4096
LOG_ROWS = 1 << 18
FILLS = (0x4F1B_BCDC_BFA5_3E0B, ~0x4F1B_BCDC_BFA5_3E0B)
"""Numbers from which other contents of shared memory are made, to see whether a launch depends on them."""
PATIENCE = 5.0
"""How many times as long as the first run and a second a run with other contents of shared memory may take."""
STATIC_SHARED = 48 * 1024
"""Bytes of static shared memory that a block can have on current GPUs."""


def check_launch(launch: Launch, options: Options) -> Outcome:
    """Check a launch; its buffers hold what the kernel wrote in the first schedule.

    Raises InputError for PTX that cannot be read and UsageError for a launch that does not fit it.
    """
    kernel = launch.kernel
    named = kernel.ptx, kernel.entry, kernel.source_path
    # HiRace's conventions report pairs that do not race, which no proof may take away.
    proved = _proved(*named, Shape.of(launch)) if options.prove and options.mode == "exact" else frozenset[int]()
    program = load_program(kernel.ptx, kernel.entry, options.mode, kernel.source_path, proved)
    _require_fit(program, launch)
    _require_block(program, launch)
    needed = 2 * Device.bytes_needed(program, launch)
    if needed > options.memory:
        text = (
            f"the launch needs {needed:,} bytes of host memory with its shadow and a replay; "
            f"the limit is {options.memory:,}"
        )
        return Outcome((), (Reason("budget", text),))
    check = _Check(program, launch, options)
    for k in range(options.schedules):
        if not check.schedule(options.seed + k, first=k == 0):
            break
    return check.outcome()


@functools.lru_cache(maxsize=256)
def _proved(ptx: str, entry: str, path: str, shape: Shape) -> frozenset[int]:
    """The access sites of a kernel that need no check in launches of a shape."""
    return prove(*read_kernel(ptx, entry, path), shape)


def run_launch(launch: Launch, options: Options) -> tuple[Reason, ...]:
    """Run a launch for its results alone, which its buffers hold afterwards; why they are not those of the kernel.

    Raises what check_launch raises.
    """
    kernel = launch.kernel
    program = load_program(kernel.ptx, kernel.entry, options.mode, kernel.source_path)
    _require_fit(program, launch)
    _require_block(program, launch)
    raw, device = _first_run(program, launch, options, options.seed, Device(program, launch))
    _print(raw, device)
    device.write_back()
    if raw.status == Stop.DONE:
        return ()
    text = f"an unchecked launch of {kernel.name} did not run to its end; the results after it are wrong"
    return (Reason("unchecked", text),)


def _require_fit(program: Program, launch: Launch) -> None:
    blocks = int(np.prod([int(n) for n in launch.grid]))
    if blocks > word.MAX_BLOCKS:
        raise UsageError(
            f"the grid {launch.grid} has {blocks:,} blocks; at most {word.MAX_BLOCKS:,} can be told apart in "
            "one launch: check a smaller grid"
        )


def _require_block(program: Program, launch: Launch) -> None:
    """The bounds that the kernel itself declares, and the shared memory that a block can have."""
    threads = int(np.prod(launch.block))
    for directive in program.plan.function.tuning:
        word_, *numbers = directive.replace(",", " ").split()
        sizes = [int(n) for n in numbers if n.isdigit()]
        if word_ == ".maxntid" and sizes and threads > int(np.prod(sizes)):
            raise UsageError(
                f"kernel {launch.kernel.name} is compiled for at most {int(np.prod(sizes))} threads in a block "
                f"(__launch_bounds__); the launch has {threads}: launch fewer, or raise the bound"
            )
        if word_ == ".reqntid" and sizes and tuple(sizes) != launch.block[: len(sizes)]:
            raise UsageError(
                f"kernel {launch.kernel.name} needs blocks of {tuple(sizes)} threads, not {launch.block}"
            )
    if program.static_shared > STATIC_SHARED:
        raise InputError(
            f"kernel {launch.kernel.name} has {program.static_shared:,} bytes of static shared memory; a block "
            f"has at most {STATIC_SHARED:,}: use dynamic shared memory"
        )
    total = program.static_shared + launch.shared_bytes
    if total > MAX_SHARED:
        raise UsageError(
            f"kernel {launch.kernel.name} needs {total:,} bytes of shared memory ({program.static_shared:,} of "
            f"them static); a block has at most {MAX_SHARED:,}"
        )


def _deadline(timeout: float | None) -> Callable[[], float | None]:
    if timeout is None:
        return lambda: None
    end = time.monotonic() + timeout
    return lambda: end - time.monotonic()


class _Run(Protocol):
    """An engine's entry: run a launch on the memory of a device."""

    def __call__(
        self,
        program: Program,
        launch: Launch,
        device: Device,
        *,
        seed: int,
        deadline: Callable[[], float | None],
        watch: engine.Watch,
    ) -> engine.RawResult: ...


def _runner(options: Options) -> _Run:
    if options.engine == "cpu":
        return functools.partial(engine.run, progress=options.progress)
    from racedart.shadow.gpu import engine as gpu

    return functools.partial(gpu.run, mode=options.mode)


def _first_run(
    program: Program, launch: Launch, options: Options, seed: int, device: Device
) -> tuple[engine.RawResult, Device]:
    """Run a launch on a fresh device, on all cores if it turns out that there is nothing to report.

    Gives the device with the results, another one if the launch had to run again.
    """
    jobs = options.jobs or _cores()
    workers = engine.worker_count(program, launch, jobs) if options.engine == "cpu" else 1
    if workers > 1:
        raw = engine.run(
            program,
            launch,
            device,
            seed=seed,
            deadline=_deadline(options.timeout),
            workers=workers,
            progress=options.progress,
        )
        if raw.status in {Stop.DONE, Stop.TIMEOUT}:
            return raw, device
        device = Device(program, launch)
    deadline = _deadline(options.timeout)
    return _runner(options)(program, launch, device, seed=seed, deadline=deadline, watch=engine.NO_WATCH), device


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _print(raw: engine.RawResult, device: Device) -> None:
    """Pass on what the kernel printed."""
    if raw.print_count:
        sys.stdout.write(printed_text(raw.prints, raw.print_count, device.text_at))
        sys.stdout.flush()


class _Check:
    """The state of one check over its schedules."""

    def __init__(self, program: Program, launch: Launch, options: Options) -> None:
        self.program = program
        self.launch = launch
        self.options = options
        self.run = _runner(options)
        self.first_device = Device(program, launch)
        self.collector = RaceCollector(program.module, program.plan, launch, self.name_of)
        self.faults: list[Faulty] = []
        self.reasons: dict[str, Reason] = {}
        self.alarms = 0
        self.refuted = 0

    def schedule(self, seed: int, *, first: bool) -> bool:
        """Run one schedule; False when no further one makes sense."""
        device = self.first_device if first else Device(self.program, self.launch)
        start = time.monotonic()
        try:
            raw, device = _first_run(self.program, self.launch, self.options, seed, device)
        except LaunchError as error:
            self._reason("launch", str(error))
            return False
        if first:
            self.first_device = device
            _print(raw, device)
        faults = self._faults(raw, device)
        others = [fault for fault in faults if fault.kind != "uninitialised"]
        if len(others) < len(faults) and not self._depends_on_shared(raw, device, seed, time.monotonic() - start):
            faults = others
        self.faults += faults
        if raw.race_count:
            self.alarms += raw.race_count
            self._explain(raw, seed)
        if raw.status == Stop.TIMEOUT:
            self._reason(
                "timeout", f"the time limit of {self.options.timeout:g} s was reached before the launch ended"
            )
        if raw.status == Stop.LIVELOCK and raw.unstarted:
            text = (
                f"all resident blocks wait while {raw.unstarted:,} blocks of the grid have not started; "
                "a GPU with fewer multiprocessors would hang as well"
            )
            self._reason("residency", text)
            self.faults = [f for f in self.faults if f.kind != "livelock"]
        return raw.status == Stop.DONE

    def _depends_on_shared(self, raw: engine.RawResult, device: Device, seed: int, seconds: float) -> bool:
        """Whether the launch does something else when shared memory holds something else at the start of a block.

        Two further runs take exactly the same steps unless a value that was never written decides something, so any
        difference is its work. A run that takes much longer than the first one (seconds) is a difference as well.
        """
        if raw.status != Stop.DONE:
            return False
        for fill in FILLS:
            other = Device(self.program, self.launch)
            again = engine.run(
                self.program, self.launch, other, seed=seed, deadline=_deadline(PATIENCE * (1 + seconds)), fill=fill
            )
            if again.status != raw.status or not np.array_equal(other.arena, device.arena):
                return True
        return False

    def outcome(self) -> Outcome:
        """Everything found, with the buffers written back."""
        if self.options.write_back:
            self.first_device.write_back()
        program, launch = self.program, self.launch
        races = self.collector.findings()
        unordered = self._unmodelled_order()
        if races and unordered:
            for reason in unordered:
                lines = sorted({f"{f.related[0].line}/{f.location.line}" for f in races})
                text = f"{reason.message}; it may order the accesses of the lines {', '.join(lines)}"
                self.reasons.setdefault(text, Reason(reason.kind, text, reason.location, reason.instruction))
            races = []
        # What a race may have left unwritten is the race's matter.
        known = {(p.file, p.line, f.properties["variable"]) for f in races for p in (f.location, *f.related)}
        faulty = fault_findings(self.faults, program.module, program.plan, launch, self.name_of)
        findings = races + [
            f
            for f in faulty
            if f.rule != "R302" or (f.location.file, f.location.line, f.properties["variable"]) not in known
        ]
        unmodelled = dict(program.translation.unmodelled)
        reasons = [*self.reasons.values(), *self._uncovered()]
        for item in fault_reasons(self.faults, program.module, program.plan, launch, unmodelled):
            if item not in reasons:
                reasons.append(item)
        statistics: dict[str, Json] = {
            "threads": int(np.prod(launch.block)) * int(np.prod([int(n) for n in launch.grid])),
            "checked_sites": len(program.plan.access),
            "proved_sites": len(program.plan.proved),
            "alarms": self.alarms,
            "refuted": self.refuted,
            "schedules": self.options.schedules,
        }
        return Outcome(tuple(findings), tuple(reasons), statistics)

    def _uncovered(self) -> list[Reason]:
        """What runs on the GPU without a check."""
        if self.options.engine == "cpu":
            return []
        from racedart.shadow.gpu.inject import unchecked_sites

        found = []
        for site in unchecked_sites(self.program.plan):
            instruction = self.program.plan.instruction(site)
            text = f"the instruction {instruction.opcode} is not checked on the GPU"
            place = location_of(self.program.module, instruction.loc)
            found.append(Reason("instruction", text, place, print_instruction(instruction)))
        return found

    def name_of(self, shared: bool, offset: int, size: int) -> Named:
        """Variable, element and space of a byte of the arena or of shared memory."""
        kernel = self.launch.kernel
        if shared:
            symbol, start = "", 0
            for name, at in self.program.shared_offsets.items():
                if start <= at <= offset:
                    symbol, start = name, at
            variable = kernel.shared_names.get(symbol) or symbol or kernel.shared_names.get("") or "shared memory"
            return Named(variable, element_text(variable, offset - start, None, size), "shared")
        item = self.first_device.find(offset)
        if item is None:
            return Named("", f"device memory at {offset + ARENA:#x}", "global")
        variable = item.name if item.buffer >= 0 else kernel.global_names.get(item.name, item.name)
        array = self.launch.buffers[item.buffer].array if item.buffer >= 0 else None
        return Named(variable, element_text(variable, offset - item.offset, array, size), "global")

    # Explaining

    def _explain(self, raw: engine.RawResult, seed: int) -> None:
        order = _by_importance(raw.races)
        examined = min(len(order), WORDS)
        rows = LOG_ROWS
        while True:
            chosen = raw.races[order[:examined]]
            watch = _watch(chosen, rows)
            device = Device(self.program, self.launch)
            replay = self.run(
                self.program, self.launch, device, seed=seed, deadline=_deadline(self.options.timeout), watch=watch
            )
            if replay.log_count <= rows or examined <= WORDS_OF_A_KIND:
                break
            # Hot words: look at fewer of them, so that each log is whole.
            examined = max(examined // 8, WORDS_OF_A_KIND)
        complete = replay.log_count <= rows and replay.status == raw.status
        trace = trace_of(replay, int(np.prod(self.launch.block)), complete)
        device_word = _final_word(device)
        confirmed: set[int] = set()
        refuted = 0
        known: dict[tuple[bytes, str], Added] = {}
        for rows_of_word in trace.words():
            first = rows_of_word[0]
            variable = self.name_of(bool(trace.shared[first]), int(trace.place[first]), 1).variable
            shape = trace.shape(rows_of_word), variable
            if shape in known:
                self.collector.repeat(known[shape])
            else:
                pairs = list(racing_pairs(trace, rows_of_word, self.program.plan.events))
                known[shape] = self.collector.add(trace, pairs, device_word)
                confirmed |= known[shape].sites
            refuted += not known[shape].sites
        self.refuted += refuted
        left = raw.race_count - (examined if complete else 0)
        if left > 0 and (refuted or self.program.plan.examined or raw.conservative):
            # Alarms of such a launch can be true or false: what was found at other words says nothing of them.
            self._reason("budget", f"{left:,} alarms at other words were not examined")
        self._judge_rest(raw.races[order[examined:]] if complete else raw.races, confirmed)

    def _judge_rest(self, unexamined: engine.Words, confirmed: set[int]) -> None:
        """Alarms at words whose log was not seen, of sites of which no pair was found elsewhere."""
        sites: dict[int, int] = {}
        for race in unexamined:
            site = int(race[Race.SITE])
            if site not in confirmed:
                sites[site] = sites.get(site, 0) + 1
        for site, count in sites.items():
            instruction = self.program.plan.instruction(site)
            self._reason(
                "unexplained",
                f"{count} alarms of this access were neither confirmed nor refuted in the replay",
                location_of(self.program.module, instruction.loc),
                print_instruction(instruction),
            )

    def _unmodelled_order(self) -> list[Reason]:
        """What orders memory in this launch and is not modelled."""
        module, plan = self.program.module, self.program.plan
        partial = {f.site for f in self.faults if f.kind in {"partial_barrier", "partial_warp_sync"}}
        reasons = []
        for site in sorted({*plan.fences, *partial}):
            instruction = plan.instruction(site)
            what = (
                "a barrier of some threads"
                if site in partial
                else "the order that a fence, acquire or release makes"
            )
            place = location_of(module, instruction.loc)
            reasons.append(Reason("fence", f"{what} is not modelled", place, print_instruction(instruction)))
        return reasons

    def _faults(self, raw: engine.RawResult, device: Device) -> list[Faulty]:
        merged: dict[tuple[int, int, int], Faulty] = {}
        for row in raw.faults:
            kind, site, other = (int(row[f]) for f in (Fault.KIND, Fault.SITE, Fault.OTHER_SITE))
            address = int(row[Fault.ADDRESS])
            located: tuple[bool, int] | None = None
            if 0 <= address - SHARED_WINDOW < WINDOW:
                located = (True, address - SHARED_WINDOW)
            elif 0 <= address - ARENA < device.size:
                located = (False, address - ARENA)
            elif 0 <= address < WINDOW and kind in {FaultKind.OUT_OF_BOUNDS, FaultKind.MISALIGNED}:
                event = self.program.plan.events.get(site)
                located = (True, address) if event is not None and event.space == "shared" else None
            merged.setdefault(
                (kind, site, other),
                Faulty(
                    FaultKind(kind).name.lower(),
                    site,
                    int(row[Fault.THREAD]),
                    int(row[Fault.BLOCK]),
                    address,
                    located,
                    other,
                    int(row[Fault.OTHER_THREAD]),
                    device.text_at(address) if kind == FaultKind.TRAP else "",
                ),
            )
        return list(merged.values())

    def _reason(self, kind: str, text: str, place: Location | None = None, instruction: str = "") -> None:
        self.reasons.setdefault(f"{text}{place}", Reason(kind, text, place, instruction))


def _by_importance(races: engine.Words) -> engine.Words:
    """Order of the raw races in which each kind of alarm comes early, a few words of each kind first."""
    columns = [Race.SITE, Race.OLD, Race.ACCESS, Race.MET, Race.SHARED]
    kinds = races[:, columns].copy()
    kinds[:, 1] &= word.STATE_MASK
    _, group = np.unique(kinds, axis=0, return_inverse=True)
    group = group.reshape(-1)
    rank = np.zeros(len(races), np.int64)
    counts: dict[int, int] = {}
    for i, g in enumerate(group):
        rank[i] = counts.get(int(g), 0)
        counts[int(g)] = int(rank[i]) + 1
    return np.lexsort((np.arange(len(races)), np.maximum(rank - WORDS_OF_A_KIND + 1, 0)))


def _watch(races: engine.Words, rows: int) -> engine.Watch:
    shared = races[races[:, Race.SHARED] == 1]
    other = races[races[:, Race.SHARED] == 0]
    pairs = np.unique(shared[:, [Race.BLOCK, Race.WORD]], axis=0) if len(shared) else np.zeros((0, 2), np.int64)
    return engine.Watch(np.unique(other[:, Race.WORD]), np.ascontiguousarray(pairs), rows)


def trace_of(raw: engine.RawResult, threads: int, complete: bool) -> Trace:
    """The log of a run as a trace; threads: of one block."""

    def column(field: Log) -> engine.Words:
        return np.array(raw.log[:, field], np.int64)

    words = column(Log.WORD)
    return Trace(
        word=words & ~engine.SHARED_FIELD,
        shared=(words >> 62) & 1,
        thread=column(Log.THREAD),
        block=column(Log.BLOCK),
        site=column(Log.SITE),
        barriers=column(Log.BARRIERS),
        syncs=column(Log.SYNCS),
        before=column(Log.BEFORE),
        place=column(Log.PLACE),
        exits=raw.exits,
        threads=threads,
        complete=complete,
    )


def _final_word(device: Device) -> Callable[[int], int | None]:
    def read(offset: int) -> int | None:
        if not 0 <= offset <= device.size - 8:
            return None
        return int(device.arena[offset : offset + 8].view(np.int64)[0])

    return read
