"""The functions that injected code calls, compiled from Python to PTX, and what stands in line of them.

- `racedart_on_r(mine, address)`, and so for every kind of access, makes the transition of one shadow word and gives
  the word that it met if that is to be reported, else 0. It is `checker.make_check`, the same source as the CPU
  engine's.
- `racedart_report(place, address, access, site, old[, clock])` records a race or a watched access.
- `racedart_fault(site, address, kind)` records what must not be done.

They call nothing themselves: a function that calls others takes all the registers that these might use.
Numba-CUDA compiles them without a GPU; their text is kept in the user's cache.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata, resources
from typing import Any

from racedart import fsm
from racedart.fsm import Access
from racedart.shadow import checker, word
from racedart.shadow.cpu.cache import cached_text, fingerprint
from racedart.shadow.cpu.layout import ARENA, SHARED_WINDOW, Fault, FaultKind, Log, Race
from racedart.shadow.cpu.slow_path import FAULT_LIMIT, TOUCH_LIMIT
from racedart.shadow.gpu.layout import IN_SHARED, Context, Record
from racedart.shadow.outcome import Mode


@dataclass(frozen=True, slots=True)
class SkipMasks:
    """States, as bits, in which an access changes nothing.

    any: whoever made the last access. block: when that was a thread of the same block, and no barrier has come
    since. thread: when it was the thread itself, without any synchronisation since.
    """

    any: int
    block: int
    thread: int


@functools.cache
def skip_masks(mode: Mode, access: Access) -> SkipMasks:
    """The masks of an access, read off the machine's table."""
    table = checker.transition_bytes(mode).reshape(32, checker.ACCESSES, checker.EVENTS)[:, int(access)]
    skipped = (table & checker.SKIP) != 0

    def states(columns: list[int]) -> int:
        return sum(1 << state for state in range(32) if skipped[state, columns].all())

    block = [
        k for k, (sync, relation) in enumerate(fsm.COLUMNS) if sync != fsm.Sync.B and relation != fsm.Relation.G
    ]
    own = fsm.COLUMNS.index((fsm.Sync.U, fsm.Relation.S))
    return SkipMasks(states(list(range(checker.EVENTS))), states(block), states([own]))


def first_state(mode: Mode, access: Access) -> int:
    """The state after an access to a word that nobody has accessed."""
    table = checker.transition_bytes(mode).reshape(32, checker.ACCESSES, checker.EVENTS)
    return int(table[0, int(access), 0]) & checker.NEXT


def table_text(mode: Mode) -> str:
    """The machine's table as elements of a PTX initialiser."""
    return ", ".join(map(str, checker.transition_bytes(mode)))


def word_function(access: Access) -> str:
    """PTX name of the transition of one word."""
    return f"racedart_on_{access.name.lower()}"


def functions_text(mode: Mode, target: tuple[int, int], *, logged: bool) -> str:
    """PTX of all functions, for a compute capability."""
    key = fingerprint(mode, repr(target), repr(logged), _sources())

    def make() -> str:
        parts = [_compiled(word_function(access), _transition(mode, access), 2, target) for access in Access]
        parts.append(_compiled("racedart_report", _report(logged), 6 if logged else 5, target))
        parts.append(_compiled("racedart_fault", _fault(), 3, target))
        return "".join(parts)

    return cached_text("gpu-functions", key, make)


def _transition(mode: Mode, access: Access) -> Callable[..., Any]:
    from numba.cuda.extending import register_jitable
    from racedart.shadow.gpu import primitives as p

    swapped_out = p.swapped_out

    @register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
    def swap(address: Any, old: Any, new: Any) -> Any:
        return swapped_out(address, old, new) == old

    @register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
    def nothing(thread: Any, place: Any, address: Any, kind: Any, site: Any, old: Any) -> None:
        """The caller reports."""

    check = register_jitable(checker.make_check(p.load_word, swap, nothing, mode, p.table_entry))
    kind = int(access)

    def transition(mine: Any, address: Any) -> Any:
        return check(0, mine, 0, address, kind, 0)

    return transition


def _report(logged: bool) -> Callable[..., Any]:
    """Report(place, address, access, site, old[, clock]): a race, a meeting, a watched or an outside access."""
    from numba.cuda.extending import register_jitable
    from racedart.shadow.gpu import primitives as p

    arena, global_shadow = p.context_word(Context.ARENA), p.context_word(Context.GLOBAL_SHADOW)
    shared_shadow, shadow_bytes = p.context_word(Context.SHARED_SHADOW), p.context_word(Context.SHADOW_BYTES)
    records, shared_start = p.context_word(Context.RECORDS), p.shared_start
    races, races_capacity = p.context_word(Context.RACES), p.context_word(Context.RACES_CAPACITY)
    log, log_capacity = p.context_word(Context.LOG), p.context_word(Context.LOG_CAPACITY)
    touched, shared_size = p.context_word(Context.TOUCHED), p.context_word(Context.SHARED_SIZE)
    put, add, byte, shared_byte = p.put_word, p.add_word, p.global_byte, p.shared_byte
    thread, block, fault = p.linear_thread, p.linear_block, register_jitable(_fault())
    epoch_shift, epoch, state_mask = word.EPOCH_SHIFT, word.EPOCH, word.STATE_MASK
    race, watched, outside = word.RACE, word.WATCHED, word.OUTSIDE
    race_bytes, log_bytes = 8 * int(Race.SIZE), 8 * int(Log.SIZE)
    race_fields = tuple(8 * int(f) for f in Race if f != Race.SIZE)
    log_fields = tuple(8 * int(f) for f in Log if f != Log.SIZE)
    races_at, log_at = 8 * int(Record.RACES), 8 * int(Record.LOG)
    out_of_bounds = int(FaultKind.OUT_OF_BOUNDS)

    @register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
    def report(place: Any, address: Any, access: Any, site: Any, old: Any, clock: Any) -> Any:
        state = 0
        if (old >> epoch_shift) & 0xFF == epoch:
            state = old & state_mask
        shared = (place >> 62) & 1
        offset = place & (IN_SHARED - 1)
        if shared:
            index = (address - shared_shadow() - block() * shadow_bytes()) >> 3
        else:
            index = (address - global_shadow()) >> 3
        if logged and state == watched:
            at = add(records() + log_at, 1)
            if at < log_capacity():
                before = 0
                for k in range(8):
                    if shared == 0:
                        before |= byte(arena() + offset + k) << (8 * k)
                    elif offset + k < shared_size():
                        before |= shared_byte(shared_start() + offset + k) << (8 * k)
                entry = log() + at * log_bytes
                put(entry + log_fields[0], index | shared << 62)
                put(entry + log_fields[1], thread())
                put(entry + log_fields[2], block())
                put(entry + log_fields[3], site)
                put(entry + log_fields[4], clock >> 32)
                put(entry + log_fields[5], clock & 0xFFFFFFFF)
                put(entry + log_fields[6], before)
                put(entry + log_fields[7], offset)
            return 0
        if state == outside:
            fault(site, offset + (SHARED_WINDOW if shared else ARENA), out_of_bounds)
            return 0
        met = 1 if state == race else 0
        if met and add(touched() + 8 * site, 1) >= TOUCH_LIMIT:
            return 0
        at = add(records() + races_at, 1)
        if at < races_capacity():
            entry = races() + at * race_bytes
            put(entry + race_fields[0], index)
            put(entry + race_fields[1], old)
            put(entry + race_fields[2], thread())
            put(entry + race_fields[3], block())
            put(entry + race_fields[4], site)
            put(entry + race_fields[5], access)
            put(entry + race_fields[6], met)
            put(entry + race_fields[7], shared)
        return 0

    if logged:

        def with_clock(place: Any, address: Any, access: Any, site: Any, old: Any, clock: Any) -> Any:
            return report(place, address, access, site, old, clock)

        return with_clock

    def without_clock(place: Any, address: Any, access: Any, site: Any, old: Any) -> Any:
        return report(place, address, access, site, old, 0)

    return without_clock


def _fault() -> Callable[..., Any]:
    """Fault(site, address, kind): record it, so many for each site that none hides another."""
    from racedart.shadow.gpu import primitives as p

    records, faults = p.context_word(Context.RECORDS), p.context_word(Context.FAULTS)
    capacity, faulted = p.context_word(Context.FAULTS_CAPACITY), p.context_word(Context.FAULTED)
    put, add, thread, block = p.put_word, p.add_word, p.linear_thread, p.linear_block
    fields = [8 * int(f) for f in (Fault.KIND, Fault.SITE, Fault.THREAD, Fault.BLOCK, Fault.ADDRESS)]
    kind_at, site_at, thread_at, block_at, address_at = fields
    other_site_at, other_thread_at = 8 * int(Fault.OTHER_SITE), 8 * int(Fault.OTHER_THREAD)
    faults_at, fault_bytes = 8 * int(Record.FAULTS), 8 * int(Fault.SIZE)

    def fault(site: Any, address: Any, kind: Any) -> Any:
        if add(faulted() + 8 * site, 1) >= FAULT_LIMIT:
            return 0
        at = add(records() + faults_at, 1)
        if at < capacity():
            entry = faults() + at * fault_bytes
            put(entry + kind_at, kind)
            put(entry + site_at, site)
            put(entry + thread_at, thread())
            put(entry + block_at, block())
            put(entry + address_at, address)
            put(entry + other_site_at, site)
            put(entry + other_thread_at, thread())
        return 0

    return fault


def _compiled(symbol: str, function: Callable[..., Any], arguments: int, target: tuple[int, int]) -> str:
    """The defined functions of a compiled Python function as PTX, without the module's head."""
    from numba import cuda
    from numba.core import types
    from racedart.shadow.frontends.numba_device import no_device
    from racedart.shadow.ptx.parser import parse_module
    from racedart.shadow.ptx.printer import print_functions

    # Functions that it calls are compiled for the current device, which need not exist.
    with no_device(target):
        text, _ = cuda.compile(
            function,
            types.int64(*([types.int64] * arguments)),
            device=True,
            abi="c",
            abi_info={"abi_name": symbol},
            output="ptx",
            cc=target,
        )
    module = parse_module(text)
    return print_functions([f for f in module.functions.values() if f.body is not None])


@functools.cache
def _sources() -> str:
    texts = [metadata.version("numba-cuda")]
    for package, names in (
        ("racedart.shadow", ("checker.py", "word.py")),
        ("racedart.shadow.gpu", ("checks.py", "layout.py", "primitives.py")),
        ("racedart.shadow.cpu", ("layout.py",)),
        ("racedart.fsm", ("exact.csv", "published.csv", "skip.csv", "vocabulary.py", "tables.py")),
    ):
        folder = resources.files(package)
        texts += [folder.joinpath(name).read_text() for name in names]
    return "\n".join(texts)
