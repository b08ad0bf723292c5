"""The rare paths of a memory access in native code: races, logging, faults, generic addresses.

Plain functions over the records of `layout`, compiled by Numba and called from the kernel's code.
"""

from __future__ import annotations

from typing import Any

from numba.extending import register_jitable
from racedart.shadow import word
from racedart.shadow.cpu.layout import (
    ARENA,
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_WINDOW,
    Context,
    Fault,
    FaultKind,
    Frame,
    Log,
    Print,
    Race,
    Stop,
    Team,
)
from racedart.shadow.cpu.primitives import add, get, load_unaligned, put

TOUCH_LIMIT = 4
"""How many meetings with racing words are recorded for each site."""
FAULT_LIMIT = 64
"""How many faulty accesses are recorded for each site, so that none hides what goes wrong elsewhere."""

_FAULT_COUNT = 0xFFFFFFFF
"""Bits of a site's word in FAULTED that count faulty accesses; those above, uninitialised reads."""
_STATE, _RACE, _WATCHED, _OUTSIDE = word.STATE_MASK, word.RACE, word.WATCHED, word.OUTSIDE
_FORMAT_LIMIT, _PERCENT, _PRINT_BYTES = 4096, ord("%"), int(Print.SIZE) * 8
_RACE_BYTES, _LOG_BYTES, _FAULT_BYTES = int(Race.SIZE) * 8, int(Log.SIZE) * 8, int(Fault.SIZE) * 8


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def stop_unless_alone(context: Any) -> None:
    """There is something to report: one worker alone must say what."""
    if not get(context, Context.ALONE):
        put(get(context, Context.TEAM), Team.STOP, Stop.REPORT)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def report(thread: Any, place: Any, address: Any, access: Any, site: Any, old: Any) -> None:
    """Record a race, the meeting with a racing word, a watched access or an access outside all objects."""
    context = get(thread, Frame.CONTEXT)
    state = 0
    if (old >> word.EPOCH_SHIFT) & 0xFF == word.EPOCH:
        state = old & _STATE
    shared = get(thread, Frame.SHARED_SHADOW)
    size = ((get(context, Context.SHARED_SIZE) >> get(context, Context.SHARED_SHIFT)) + 1) * 8
    in_shared = 0
    offset = address - get(context, Context.GLOBAL_SHADOW)
    if shared <= address < shared + size:
        in_shared = 1
        offset = address - shared
    if state == _WATCHED:
        at = add(context, Context.LOG_COUNT, 1)
        if at < get(context, Context.LOG_CAPACITY):
            entry = get(context, Context.LOG) + at * _LOG_BYTES
            put(entry, Log.WORD, (offset >> 3) | (in_shared << 62))
            put(entry, Log.THREAD, get(thread, Frame.LINEAR))
            put(entry, Log.BLOCK, get(thread, Frame.BLOCK))
            put(entry, Log.SITE, site)
            put(entry, Log.BARRIERS, get(thread, Frame.BARRIERS))
            put(entry, Log.SYNCS, get(thread, Frame.SYNCS))
            put(entry, Log.BEFORE, load_unaligned(place))
            put(entry, Log.PLACE, place - get(context, Context.ARENA_HOST))
            if in_shared:
                put(entry, Log.PLACE, place - get(thread, Frame.SHARED_HOST))
        return
    if state == _OUTSIDE:
        device = place - get(context, Context.ARENA_HOST) + ARENA
        if in_shared:
            device = place - get(thread, Frame.SHARED_HOST) + SHARED_WINDOW
        fault(thread, site, device, 0)
        return
    met = 1 if state == _RACE else 0
    if met:
        touched = get(context, Context.TOUCHED)
        if get(touched, site) >= TOUCH_LIMIT:
            return
        add(touched, site, 1)
    stop_unless_alone(context)
    at = add(context, Context.RACES_COUNT, 1)
    if at < get(context, Context.RACES_CAPACITY):
        entry = get(context, Context.RACES) + at * _RACE_BYTES
        put(entry, Race.WORD, offset >> 3)
        put(entry, Race.OLD, old)
        put(entry, Race.THREAD, get(thread, Frame.LINEAR))
        put(entry, Race.BLOCK, get(thread, Frame.BLOCK))
        put(entry, Race.SITE, site)
        put(entry, Race.ACCESS, access)
        put(entry, Race.MET, met)
        put(entry, Race.SHARED, in_shared)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def append_fault(
    context: Any, kind: Any, site: Any, thread: Any, block: Any, address: Any, other_site: Any, other: Any
) -> None:
    """Append a row to the faults, if there is room."""
    if kind != FaultKind.PARTIAL_BARRIER and kind != FaultKind.PARTIAL_WARP_SYNC:
        stop_unless_alone(context)
    at = add(context, Context.FAULTS_COUNT, 1)
    if at < get(context, Context.FAULTS_CAPACITY):
        entry = get(context, Context.FAULTS) + at * _FAULT_BYTES
        put(entry, Fault.KIND, kind)
        put(entry, Fault.SITE, site)
        put(entry, Fault.THREAD, thread)
        put(entry, Fault.BLOCK, block)
        put(entry, Fault.ADDRESS, address)
        put(entry, Fault.OTHER_SITE, other_site)
        put(entry, Fault.OTHER_THREAD, other)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def fault(thread: Any, site: Any, address: Any, size: Any) -> Any:
    """Record a faulty access and give the host address of a sink that the access may use instead.

    It is misaligned, or else outside all memory; size 0: outside whatever its address.
    """
    context = get(thread, Frame.CONTEXT)
    kind = FaultKind.MISALIGNED if size and address & (size - 1) else FaultKind.OUT_OF_BOUNDS
    faulted = get(context, Context.FAULTED)
    if get(faulted, site) & _FAULT_COUNT < FAULT_LIMIT:
        add(faulted, site, 1)
        append_fault(context, kind, site, get(thread, Frame.LINEAR), get(thread, Frame.BLOCK), address, 0, 0)
    sink = get(context, Context.SINK)
    for i in range(8):
        put(sink, i, 0)
    return sink


def uninitialised(thread: Any, site: Any, offset: Any) -> None:
    """Record a read of shared memory that no thread of the block has written, once for each site."""
    context = get(thread, Frame.CONTEXT)
    faulted = get(context, Context.FAULTED)
    if get(faulted, site) <= _FAULT_COUNT:
        add(faulted, site, _FAULT_COUNT + 1)
        who, block = get(thread, Frame.LINEAR), get(thread, Frame.BLOCK)
        append_fault(context, FaultKind.UNINITIALISED, site, who, block, offset + SHARED_WINDOW, 0, 0)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def locate(thread: Any, address: Any, size: Any, site: Any) -> Any:
    """Host address of `size` bytes at a generic device address; records a fault and gives the sink.

    Leaves the address of the shadow word in the thread's frame, 0 where nothing is checked.
    """
    context = get(thread, Frame.CONTEXT)
    put(thread, Frame.SHADOW_WORD, 0)
    if address & (size - 1):
        return fault(thread, site, address, size)
    offset = address - ARENA
    if offset >= 0 and offset + size <= get(context, Context.ARENA_SIZE):
        shift = get(context, Context.GLOBAL_SHIFT)
        put(thread, Frame.SHADOW_WORD, get(context, Context.GLOBAL_SHADOW) + (offset >> shift) * 8)
        return get(context, Context.ARENA_HOST) + offset
    offset = address - SHARED_WINDOW
    if offset >= 0 and offset + size <= get(context, Context.SHARED_SIZE):
        shift = get(context, Context.SHARED_SHIFT)
        put(thread, Frame.SHADOW_WORD, get(thread, Frame.SHARED_SHADOW) + (offset >> shift) * 8)
        return get(thread, Frame.SHARED_HOST) + offset
    offset = address - LOCAL_WINDOW
    if offset >= 0 and offset + size <= get(context, Context.LOCAL_SIZE):
        return get(thread, Frame.LOCAL_HOST) + offset
    offset = address - PARAM_WINDOW
    if offset >= 0 and offset + size <= get(context, Context.PARAMS_SIZE):
        return get(context, Context.PARAMS_HOST) + offset
    return fault(thread, site, address, 0)


def printed(thread: Any, text: Any, arguments: Any, site: Any) -> Any:
    """Note a call of printf whose format stands in global memory; how many conversions the format has."""
    context = get(thread, Frame.CONTEXT)
    locate(thread, text, 1, site)
    count = 0
    before = 0
    for k in range(_FORMAT_LIMIT):
        offset = text - ARENA + k
        if not 0 <= offset < get(context, Context.ARENA_SIZE):
            break
        character = load_unaligned(get(context, Context.ARENA_HOST) + offset) & 0xFF
        if character == 0:
            break
        if character == _PERCENT and before == _PERCENT:
            count -= 1
            character = 0
        elif character == _PERCENT:
            count += 1
        before = character
    row = add(context, Context.PRINTS_COUNT, 1)
    if row < get(context, Context.PRINTS_CAPACITY):
        entry = get(context, Context.PRINTS) + row * _PRINT_BYTES
        put(entry, Print.FORMAT, text)
        put(entry, Print.THREAD, get(thread, Frame.LINEAR))
        put(entry, Print.BLOCK, get(thread, Frame.BLOCK))
        at = arguments - LOCAL_WINDOW
        for k in range(Print.SIZE - Print.ARGUMENTS):
            if 0 <= at < get(context, Context.LOCAL_SIZE):
                put(entry, Print.ARGUMENTS + k, load_unaligned(get(thread, Frame.LOCAL_HOST) + at))
            at += 8
    return count
