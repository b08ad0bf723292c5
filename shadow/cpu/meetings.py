"""Where threads meet: warp operations and block barriers, and what goes wrong there.

A block barrier completes when all threads of the block that have not exited wait at it; a warp operation when
all lanes that its mask names and that have not exited wait with the same operation and mask.

A barrier orders the accesses of those that take part. Where a thread has exited with accesses that no
barrier ordered since, the barrier is not counted in the shadow words (the word knows only barriers of all
threads): alarms that this raises are refuted when they are explained.

Plain functions over the records of `layout`, compiled by Numba (runtime.py). Not handled: `bar.arrive`.
"""

from __future__ import annotations

from typing import Any

from numba.extending import register_jitable
from racedart.shadow import word
from racedart.shadow.cpu.layout import (
    Context,
    Fault,
    FaultKind,
    Frame,
    Operation,
    Schedule,
    Slot,
    Status,
)
from racedart.shadow.cpu.primitives import get, put
from racedart.shadow.cpu.slow_path import append_fault

_SLOT_BYTES, _FAULT_BYTES = int(Slot.SIZE) * 8, int(Fault.SIZE) * 8
_BARRIER_SHIFT, _SYNC_SHIFT = word.BARRIER_SHIFT, word.SYNC_SHIFT
_BARRIER_FIELD, _SYNC_FIELD = (1 << word.BARRIER_BITS) - 1, (1 << word.SYNC_BITS) - 1
_UNSHIFTED_BARRIERS = ~word.BARRIER_MASK
_UNSHIFTED_SYNCS = ~word.SYNC_MASK
_GRID = 1 << word.GRID_SHIFT
_STATE, _FIRST_SPECIAL = word.STATE_MASK, word.WATCHED


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def record_fault(context: Any, kind: Any, site: Any, thread: Any, block: Any, other_site: Any, other: Any) -> None:
    """Append a fault of a meeting, unless the last one of this kind and site was recorded already."""
    count = get(context, Context.FAULTS_COUNT)
    capacity = get(context, Context.FAULTS_CAPACITY)
    faults = get(context, Context.FAULTS)
    for k in range(min(count, capacity)):
        entry = faults + k * _FAULT_BYTES
        if (
            get(entry, Fault.KIND) == kind
            and get(entry, Fault.SITE) == site
            and get(entry, Fault.OTHER_SITE) == other_site
        ):
            return
    append_fault(context, kind, site, thread, block, 0, other_site, other)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def leave_block(schedule: Any, slot: Any, frame: Any) -> None:
    """A thread of a slot has exited."""
    record = get(schedule, Schedule.SLOTS) + slot * _SLOT_BYTES
    put(frame, Frame.STATUS, Status.EXITED)
    put(record, Slot.LIVE, get(record, Slot.LIVE) - 1)
    if get(frame, Frame.ACCESSED):
        put(record, Slot.TAINTED, 1)
    exits = get(schedule, Schedule.EXITS)
    if exits:
        threads = get(schedule, Schedule.THREADS)
        entry = exits + (get(frame, Frame.BLOCK) * threads + get(frame, Frame.LINEAR)) * 16
        put(entry, 0, get(frame, Frame.BARRIERS))
        put(entry, 1, get(frame, Frame.SYNCS))


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def combine_lanes(frames: Any, frame_bytes: Any, first: Any, lanes: Any, lane: Any, operation: Any) -> None:
    """Give one lane of a completed warp operation its result. lanes: mask of those that take part."""
    frame = frames + (first + lane) * frame_bytes
    mine = get(frame, Frame.VALUE)
    result = mine
    predicate = 0
    if Operation.SHUFFLE_UP <= operation <= Operation.SHUFFLE_INDEX:
        by = get(frame, Frame.LANE_OPERAND) & 31
        clamp = get(frame, Frame.CLAMP)
        segment = (clamp >> 8) & 31
        bound = (lane & segment) | (clamp & 31 & ~segment)
        if operation == Operation.SHUFFLE_UP:
            source = lane - by
            inside = source >= bound
        elif operation == Operation.SHUFFLE_DOWN:
            source = lane + by
            inside = source <= bound
        elif operation == Operation.SHUFFLE_BUTTERFLY:
            source = lane ^ by
            inside = source <= bound
        else:
            source = (lane & segment) | (by & ~segment)
            inside = source <= bound
        if inside:
            predicate = 1
            if 0 <= source < 32 and lanes >> source & 1:
                result = get(frames + (first + source) * frame_bytes, Frame.VALUE)
            else:
                # Reading a lane that does not take part is undefined; the own value stands in.
                site = get(frame, Frame.SITE)
                block = get(frame, Frame.BLOCK)
                context = get(frame, Frame.CONTEXT)
                record_fault(context, FaultKind.UNDEFINED_LANE, site, first + lane, block, site, first + source)
    elif Operation.REDUCE_ADD <= operation <= Operation.REDUCE_XOR:
        result = 0
        begun = 0
        for other in range(32):
            if lanes >> other & 1:
                value = get(frames + (first + other) * frame_bytes, Frame.VALUE)
                if begun == 0:
                    result = value
                elif operation == Operation.REDUCE_ADD:
                    result = result + value
                elif operation == Operation.REDUCE_MIN_SIGNED or operation == Operation.REDUCE_MIN:
                    result = min(result, value)
                elif operation == Operation.REDUCE_MAX_SIGNED or operation == Operation.REDUCE_MAX:
                    result = max(result, value)
                elif operation == Operation.REDUCE_AND:
                    result = result & value
                elif operation == Operation.REDUCE_OR:
                    result = result | value
                else:
                    result = result ^ value
                begun = 1
        result = result & 0xFFFFFFFF
    elif operation != Operation.SYNC:
        ones = 0
        equal = 0
        for other in range(32):
            if lanes >> other & 1:
                value = get(frames + (first + other) * frame_bytes, Frame.VALUE)
                if value & 1:
                    ones |= 1 << other
                if value == mine:
                    equal |= 1 << other
        if operation == Operation.VOTE_ALL:
            predicate = 1 if ones == lanes else 0
        elif operation == Operation.VOTE_ANY:
            predicate = 1 if ones != 0 else 0
        elif operation == Operation.VOTE_UNIFORM:
            predicate = 1 if ones == lanes or ones == 0 else 0
        elif operation == Operation.VOTE_BALLOT:
            result = ones
        elif operation == Operation.MATCH_ANY:
            result = equal
        elif operation == Operation.MATCH_ALL:
            predicate = 1 if equal == lanes else 0
            result = lanes if equal == lanes else 0
        elif operation == Operation.ACTIVE:
            result = lanes
    put(frame, Frame.RESULT, result)
    put(frame, Frame.RESULT_PREDICATE, predicate)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def count_sync(frame: Any, counted: Any) -> None:
    """One more warp synchronisation of a thread; counted: whether the shadow word may know."""
    syncs = get(frame, Frame.SYNCS) + 1
    put(frame, Frame.SYNCS, syncs)
    if counted:
        mine = get(frame, Frame.MINE)
        field = ((mine >> _SYNC_SHIFT) + 1) & _SYNC_FIELD
        put(frame, Frame.MINE, (mine & _UNSHIFTED_SYNCS) | field << _SYNC_SHIFT)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def meet_lanes(schedule: Any, slot: Any, frames: Any, first: Any, idle: Any) -> Any:
    """Complete what can be completed among the waiting lanes of one warp; whether anything was.

    idle: no lane of the warp can run, so that `activemask` may take those that wait.
    """
    context = get(schedule, Schedule.CONTEXT)
    frame_bytes = get(schedule, Schedule.FRAME_BYTES)
    threads = get(schedule, Schedule.THREADS)
    width = min(32, threads - first)
    live = 0
    tainted = 0
    for lane in range(width):
        frame = frames + (first + lane) * frame_bytes
        if get(frame, Frame.STATUS) != Status.EXITED:
            live |= 1 << lane
        elif get(frame, Frame.ACCESSED):
            tainted = 1
    done = 0
    for lane in range(width):
        frame = frames + (first + lane) * frame_bytes
        if get(frame, Frame.STATUS) != Status.WARP:
            continue
        operation = get(frame, Frame.OPERATION)
        mask = get(frame, Frame.MASK)
        site = get(frame, Frame.SITE)
        block = get(frame, Frame.BLOCK)
        lanes = mask & live
        if operation == Operation.ACTIVE:
            if not idle:
                continue
            lanes = 0
            for other in range(width):
                there = frames + (first + other) * frame_bytes
                if get(there, Frame.STATUS) == Status.WARP and get(there, Frame.SITE) == site:
                    lanes |= 1 << other
        elif not lanes >> lane & 1:
            record_fault(context, FaultKind.OWN_LANE_MISSING, site, first + lane, block, site, first + lane)
            lanes = 1 << lane
        else:
            complete = 1
            for other in range(width):
                if lanes >> other & 1:
                    there = frames + (first + other) * frame_bytes
                    if (
                        get(there, Frame.STATUS) != Status.WARP
                        or get(there, Frame.OPERATION) != operation
                        or get(there, Frame.MASK) != mask
                    ):
                        complete = 0
                        break
            if not complete:
                continue
        if operation == Operation.SYNC and lanes != live:
            record_fault(context, FaultKind.PARTIAL_WARP_SYNC, site, first + lane, block, site, first + lane)
        if operation == Operation.SYNC and tainted:
            put(context, Context.CONSERVATIVE, 1)
        for other in range(width):
            if lanes >> other & 1:
                combine_lanes(frames, frame_bytes, first, lanes, other, operation)
        for other in range(width):
            if lanes >> other & 1:
                there = frames + (first + other) * frame_bytes
                put(there, Frame.STATUS, Status.READY)
                if operation == Operation.SYNC and lanes == live:
                    count_sync(there, tainted == 0)
        done = 1
    return done


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def release_thread(frame: Any, ones: Any, waiting: Any, whole: Any, counted: Any) -> None:
    """Let a thread go on behind a completed barrier.

    ones: how many of the waiting threads brought a true predicate. whole: a barrier of the whole block.
    counted: whether the shadow word may know.
    """
    operation = get(frame, Frame.OPERATION)
    if operation != Operation.SYNC:
        predicate = 1 if ones != 0 else 0
        if operation == Operation.BARRIER_AND:
            predicate = 1 if ones == waiting else 0
        put(frame, Frame.RESULT, ones)
        put(frame, Frame.RESULT_PREDICATE, predicate)
    put(frame, Frame.STATUS, Status.READY)
    if whole:
        put(frame, Frame.BARRIERS, get(frame, Frame.BARRIERS) + 1)
    if counted:
        put(frame, Frame.ACCESSED, 0)
        mine = get(frame, Frame.MINE)
        field = ((mine >> _BARRIER_SHIFT) + 1) & _BARRIER_FIELD
        put(frame, Frame.MINE, (mine & _UNSHIFTED_BARRIERS) | field << _BARRIER_SHIFT)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def meet_block(schedule: Any, slot: Any, frames: Any) -> Any:
    """Complete the block barriers that can be completed; whether any was."""
    context = get(schedule, Schedule.CONTEXT)
    frame_bytes = get(schedule, Schedule.FRAME_BYTES)
    threads = get(schedule, Schedule.THREADS)
    record = get(schedule, Schedule.SLOTS) + slot * _SLOT_BYTES
    live = get(record, Slot.LIVE)
    groups = get(context, Context.SITE_GROUPS)
    done = 0
    seen = 0
    for leader in range(threads):
        frame = frames + leader * frame_bytes
        if get(frame, Frame.STATUS) != Status.BARRIER:
            continue
        number = get(frame, Frame.MASK)
        if seen >> (number & 31) & 1:
            continue
        seen |= 1 << (number & 31)
        count = get(frame, Frame.LANE_OPERAND)
        whole = count == 0 or count >= threads
        waiting = 0
        ones = 0
        divergent = -1
        site = get(frame, Frame.SITE)
        for t in range(threads):
            there = frames + t * frame_bytes
            if get(there, Frame.STATUS) == Status.BARRIER and get(there, Frame.MASK) == number:
                waiting += 1
                ones += get(there, Frame.VALUE)
                if get(groups, get(there, Frame.SITE)) != get(groups, site):
                    divergent = t
        if waiting < (live if whole else count):
            continue
        block = get(frame, Frame.BLOCK)
        if divergent >= 0:
            other = get(frames + divergent * frame_bytes, Frame.SITE)
            record_fault(context, FaultKind.DIVERGENT_BARRIER, site, leader, block, other, divergent)
        counted = 0
        if whole:
            counted = 1
            if get(record, Slot.TAINTED):
                counted = 0
                put(context, Context.CONSERVATIVE, 1)
        else:
            record_fault(context, FaultKind.PARTIAL_BARRIER, site, leader, block, site, leader)
        for t in range(threads):
            there = frames + t * frame_bytes
            if get(there, Frame.STATUS) == Status.BARRIER and get(there, Frame.MASK) == number:
                release_thread(there, ones, waiting, whole, counted)
        done = 1
    return done


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def release_grid(schedule: Any) -> None:
    """All blocks wait at a barrier of the grid: let them go on, with all that they did behind them.

    What happened before in global memory is ordered with everything that follows, so its shadow is cleared, but for
    the words that hold no accessor. Where a thread has exited with accesses that nothing ordered, the shadow stays.
    """
    context = get(schedule, Schedule.CONTEXT)
    threads = get(schedule, Schedule.THREADS)
    frame_bytes = get(schedule, Schedule.FRAME_BYTES)
    tainted = 0
    for slot in range(get(schedule, Schedule.RESIDENT)):
        record = get(schedule, Schedule.SLOTS) + slot * _SLOT_BYTES
        put(record, Slot.AT_GRID, 0)
        of_block = get(record, Slot.TAINTED)
        if of_block:
            tainted = 1
        frames = get(schedule, Schedule.FRAMES) + slot * threads * frame_bytes
        for t in range(threads):
            frame = frames + t * frame_bytes
            status = get(frame, Frame.STATUS)
            if status == Status.EXITED:
                continue
            put(frame, Frame.BARRIERS, get(frame, Frame.BARRIERS) + _GRID)
            if status == Status.GRID:
                put(frame, Frame.STATUS, Status.READY)
                if get(frame, Frame.OPERATION) == Operation.GRID_ALL and of_block == 0:
                    put(frame, Frame.ACCESSED, 0)
                    mine = get(frame, Frame.MINE)
                    field = ((mine >> _BARRIER_SHIFT) + 1) & _BARRIER_FIELD
                    put(frame, Frame.MINE, (mine & _UNSHIFTED_BARRIERS) | field << _BARRIER_SHIFT)
    if tainted:
        put(context, Context.CONSERVATIVE, 1)
        return
    shadow = get(context, Context.GLOBAL_SHADOW)
    for i in range(get(context, Context.ARENA_SIZE) >> get(context, Context.GLOBAL_SHIFT)):
        state = get(shadow, i) & _STATE
        if state != 0 and state < _FIRST_SPECIAL:
            put(shadow, i, 0)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def name_one(schedule: Any, status: Any, kind: Any) -> None:
    """Record as a fault of a kind the first resident thread that has a status."""
    context = get(schedule, Schedule.CONTEXT)
    threads = get(schedule, Schedule.THREADS)
    frame_bytes = get(schedule, Schedule.FRAME_BYTES)
    frames = get(schedule, Schedule.FRAMES)
    for k in range(get(schedule, Schedule.RESIDENT) * threads):
        frame = frames + k * frame_bytes
        record = get(schedule, Schedule.SLOTS) + k // threads * _SLOT_BYTES
        if get(record, Slot.BLOCK) >= 0 and get(frame, Frame.STATUS) == status:
            site, thread = get(frame, Frame.SITE), get(frame, Frame.LINEAR)
            record_fault(context, kind, site, thread, get(frame, Frame.BLOCK), site, thread)
            return


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def name_deadlock(schedule: Any, slot: Any, frames: Any) -> None:
    """No thread of the block can go on: record who waits for whom, and end the block."""
    context = get(schedule, Schedule.CONTEXT)
    frame_bytes = get(schedule, Schedule.FRAME_BYTES)
    threads = get(schedule, Schedule.THREADS)
    first = -1
    for t in range(threads):
        frame = frames + t * frame_bytes
        status = get(frame, Frame.STATUS)
        if status == Status.WARP:
            first = t
            break
        if status == Status.BARRIER and first < 0:
            first = t
    frame = frames + first * frame_bytes
    status = get(frame, Frame.STATUS)
    site = get(frame, Frame.SITE)
    mask = get(frame, Frame.MASK)
    other = first
    for t in range(threads):
        there = frames + t * frame_bytes
        waits = get(there, Frame.STATUS)
        if waits == Status.EXITED or t == first:
            continue
        if status == Status.WARP and (t // 32 != first // 32 or not mask >> (t & 31) & 1):
            continue
        if waits != status or get(there, Frame.SITE) != site or get(there, Frame.MASK) != mask:
            other = t
            break
    kind = FaultKind.MISSING_LANES if status == Status.WARP else FaultKind.BARRIER_DEADLOCK
    other_site = get(frames + other * frame_bytes, Frame.SITE)
    record_fault(context, kind, site, first, get(frame, Frame.BLOCK), other_site, other)
    for t in range(threads):
        there = frames + t * frame_bytes
        if get(there, Frame.STATUS) != Status.EXITED:
            leave_block(schedule, slot, there)
