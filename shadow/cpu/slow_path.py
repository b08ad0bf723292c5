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
    Race,
)
from racedart.shadow.cpu.primitives import add_word, load_unaligned, load_word, store_word

TOUCH_LIMIT = 4
"""How many meetings with racing words are recorded for each site."""

_STATE, _RACE, _WATCHED, _OUTSIDE = word.STATE_MASK, word.RACE, word.WATCHED, word.OUTSIDE
_STOP, _SINK = int(Context.STOP) * 8, int(Context.SINK) * 8
_RACES, _RACES_CAPACITY, _RACES_COUNT = (
    int(c) * 8 for c in (Context.RACES, Context.RACES_CAPACITY, Context.RACES_COUNT)
)
_LOG, _LOG_CAPACITY, _LOG_COUNT = (int(c) * 8 for c in (Context.LOG, Context.LOG_CAPACITY, Context.LOG_COUNT))
_FAULTS, _FAULTS_CAPACITY, _FAULTS_COUNT = (
    int(c) * 8 for c in (Context.FAULTS, Context.FAULTS_CAPACITY, Context.FAULTS_COUNT)
)
_TOUCHED, _ARENA_HOST, _ARENA_SIZE = (int(c) * 8 for c in (Context.TOUCHED, Context.ARENA_HOST, Context.ARENA_SIZE))
_SHARED_SIZE, _LOCAL_SIZE = int(Context.SHARED_SIZE) * 8, int(Context.LOCAL_SIZE) * 8
_PARAMS_HOST, _PARAMS_SIZE = int(Context.PARAMS_HOST) * 8, int(Context.PARAMS_SIZE) * 8
_GLOBAL_SHADOW, _GLOBAL_SHIFT, _SHARED_SHIFT = (
    int(c) * 8 for c in (Context.GLOBAL_SHADOW, Context.GLOBAL_SHIFT, Context.SHARED_SHIFT)
)
_CONTEXT, _LINEAR, _BLOCK, _BARRIERS, _SYNCS = (
    int(f) * 8 for f in (Frame.CONTEXT, Frame.LINEAR, Frame.BLOCK, Frame.BARRIERS, Frame.SYNCS)
)
_SHARED_HOST, _SHARED_SHADOW, _LOCAL_HOST, _SHADOW_WORD = (
    int(f) * 8 for f in (Frame.SHARED_HOST, Frame.SHARED_SHADOW, Frame.LOCAL_HOST, Frame.SHADOW_WORD)
)
_RACE_BYTES, _LOG_BYTES, _FAULT_BYTES = int(Race.SIZE) * 8, int(Log.SIZE) * 8, int(Fault.SIZE) * 8
_R_WORD, _R_OLD, _R_THREAD, _R_BLOCK, _R_SITE, _R_ACCESS, _R_MET, _R_SHARED = (int(r) * 8 for r in list(Race)[:8])
_L_WORD, _L_THREAD, _L_BLOCK, _L_SITE, _L_BARRIERS, _L_SYNCS, _L_BEFORE, _L_PLACE = (
    int(entry) * 8 for entry in list(Log)[:8]
)
_F_KIND, _F_SITE, _F_THREAD, _F_BLOCK, _F_ADDRESS = (int(f) * 8 for f in list(Fault)[:5])
_OUT_OF_BOUNDS, _MISALIGNED = int(FaultKind.OUT_OF_BOUNDS), int(FaultKind.MISALIGNED)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def report(thread: Any, place: Any, address: Any, access: Any, site: Any, old: Any) -> None:
    """Record a race, the meeting with a racing word, a watched access or an access outside all objects."""
    context = load_word(thread + _CONTEXT)
    state = 0
    if (old >> word.EPOCH_SHIFT) & 0xFF == word.EPOCH:
        state = old & _STATE
    shared = load_word(thread + _SHARED_SHADOW)
    size = ((load_word(context + _SHARED_SIZE) >> load_word(context + _SHARED_SHIFT)) + 1) * 8
    in_shared = 0
    offset = address - load_word(context + _GLOBAL_SHADOW)
    if shared <= address < shared + size:
        in_shared = 1
        offset = address - shared
    if state == _WATCHED:
        at = add_word(context + _LOG_COUNT, 1)
        if at < load_word(context + _LOG_CAPACITY):
            entry = load_word(context + _LOG) + at * _LOG_BYTES
            store_word(entry + _L_WORD, (offset >> 3) | (in_shared << 62))
            store_word(entry + _L_THREAD, load_word(thread + _LINEAR))
            store_word(entry + _L_BLOCK, load_word(thread + _BLOCK))
            store_word(entry + _L_SITE, site)
            store_word(entry + _L_BARRIERS, load_word(thread + _BARRIERS))
            store_word(entry + _L_SYNCS, load_word(thread + _SYNCS))
            store_word(entry + _L_BEFORE, load_unaligned(place))
            store_word(entry + _L_PLACE, place - load_word(context + _ARENA_HOST))
            if in_shared:
                store_word(entry + _L_PLACE, place - load_word(thread + _SHARED_HOST))
        return
    if state == _OUTSIDE:
        device = place - load_word(context + _ARENA_HOST) + ARENA
        if in_shared:
            device = place - load_word(thread + _SHARED_HOST) + SHARED_WINDOW
        fault(thread, site, device, _OUT_OF_BOUNDS)
        return
    met = 1 if state == _RACE else 0
    if met:
        seen = load_word(context + _TOUCHED) + site * 8
        if load_word(seen) >= TOUCH_LIMIT:
            return
        add_word(seen, 1)
    at = add_word(context + _RACES_COUNT, 1)
    if at < load_word(context + _RACES_CAPACITY):
        entry = load_word(context + _RACES) + at * _RACE_BYTES
        store_word(entry + _R_WORD, offset >> 3)
        store_word(entry + _R_OLD, old)
        store_word(entry + _R_THREAD, load_word(thread + _LINEAR))
        store_word(entry + _R_BLOCK, load_word(thread + _BLOCK))
        store_word(entry + _R_SITE, site)
        store_word(entry + _R_ACCESS, access)
        store_word(entry + _R_MET, met)
        store_word(entry + _R_SHARED, in_shared)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def fault(thread: Any, site: Any, address: Any, kind: Any) -> Any:
    """Record a faulty access and give the host address of a sink that the access may use instead."""
    context = load_word(thread + _CONTEXT)
    at = add_word(context + _FAULTS_COUNT, 1)
    if at < load_word(context + _FAULTS_CAPACITY):
        entry = load_word(context + _FAULTS) + at * _FAULT_BYTES
        store_word(entry + _F_KIND, kind)
        store_word(entry + _F_SITE, site)
        store_word(entry + _F_THREAD, load_word(thread + _LINEAR))
        store_word(entry + _F_BLOCK, load_word(thread + _BLOCK))
        store_word(entry + _F_ADDRESS, address)
    sink = load_word(context + _SINK)
    for i in range(8):
        store_word(sink + i * 8, 0)
    return sink


def locate(thread: Any, address: Any, size: Any, site: Any) -> Any:
    """Host address of `size` bytes at a generic device address; records a fault and gives the sink.

    Leaves the address of the shadow word in the thread's frame, 0 where nothing is checked.
    """
    context = load_word(thread + _CONTEXT)
    store_word(thread + _SHADOW_WORD, 0)
    if address & (size - 1):
        return fault(thread, site, address, _MISALIGNED)
    offset = address - ARENA
    if offset >= 0 and offset + size <= load_word(context + _ARENA_SIZE):
        shift = load_word(context + _GLOBAL_SHIFT)
        store_word(thread + _SHADOW_WORD, load_word(context + _GLOBAL_SHADOW) + (offset >> shift) * 8)
        return load_word(context + _ARENA_HOST) + offset
    offset = address - SHARED_WINDOW
    if offset >= 0 and offset + size <= load_word(context + _SHARED_SIZE):
        shift = load_word(context + _SHARED_SHIFT)
        store_word(thread + _SHADOW_WORD, load_word(thread + _SHARED_SHADOW) + (offset >> shift) * 8)
        return load_word(thread + _SHARED_HOST) + offset
    offset = address - LOCAL_WINDOW
    if offset >= 0 and offset + size <= load_word(context + _LOCAL_SIZE):
        return load_word(thread + _LOCAL_HOST) + offset
    offset = address - PARAM_WINDOW
    if offset >= 0 and offset + size <= load_word(context + _PARAMS_SIZE):
        return load_word(context + _PARAMS_HOST) + offset
    return fault(thread, site, address, _OUT_OF_BOUNDS)
