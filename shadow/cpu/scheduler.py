"""Runs the blocks of a launch: which thread goes on when.

Semantics: a thread runs until it meets others (meetings.py), yields or exits. Several blocks are resident
and take turns, so that a block may wait for another one's stores. A round in which every thread yields with
unchanged registers and no memory changed will repeat for ever: a livelock.

Plain functions over the records of `layout`, compiled by Numba (runtime.py).
"""

from __future__ import annotations

from typing import Any

from numba.extending import register_jitable
from racedart.shadow import word
from racedart.shadow.cpu.layout import Context, FaultKind, Frame, Schedule, Slot, Status
from racedart.shadow.cpu.meetings import leave_block, meet_block, meet_lanes, name_deadlock, record_fault
from racedart.shadow.cpu.primitives import get, put, step_thread

_SLOT_BYTES = int(Slot.SIZE) * 8
_EPOCH_WORD = word.EPOCH << word.EPOCH_SHIFT
_LANE_SHIFT, _BLOCK_SHIFT, _WATCHED_WORD = word.LANE_SHIFT, word.BLOCK_SHIFT, word.special(word.WATCHED)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def start_block(schedule: Any, slot: Any, block: Any) -> None:
    """Put a block into a slot: fresh shared and local memory, fresh shadow, all threads at the entry."""
    context = get(schedule, Schedule.CONTEXT)
    threads = get(schedule, Schedule.THREADS)
    frame_bytes = get(schedule, Schedule.FRAME_BYTES)
    shared_bytes = get(schedule, Schedule.SHARED_BYTES)
    shadow_bytes = get(schedule, Schedule.SHADOW_BYTES)
    local_bytes = get(schedule, Schedule.LOCAL_BYTES)
    record = get(schedule, Schedule.SLOTS) + slot * _SLOT_BYTES
    put(record, Slot.BLOCK, block)
    put(record, Slot.LIVE, threads)
    put(record, Slot.TAINTED, 0)
    shared = get(schedule, Schedule.SHARED) + slot * shared_bytes
    shadow = get(schedule, Schedule.SHARED_SHADOW) + slot * shadow_bytes
    for i in range(shared_bytes // 8):
        put(shared, i, 0)
    for i in range(shadow_bytes // 8):
        put(shadow, i, 0)
    watch_shared(schedule, block, shadow)
    x = get(context, Context.NTID_X)
    xy = x * get(context, Context.NTID_Y)
    grid_x = get(context, Context.NCTAID_X)
    grid_xy = grid_x * get(context, Context.NCTAID_Y)
    frames = get(schedule, Schedule.FRAMES) + slot * threads * frame_bytes
    local = get(schedule, Schedule.LOCAL) + slot * threads * local_bytes
    for i in range(threads * local_bytes // 8):
        put(local, i, 0)
    for t in range(threads):
        frame = frames + t * frame_bytes
        for i in range(frame_bytes // 8):
            put(frame, i, 0)
        put(frame, Frame.CONTEXT, context)
        put(frame, Frame.TID_X, t % x)
        put(frame, Frame.TID_Y, t % xy // x)
        put(frame, Frame.TID_Z, t // xy)
        put(frame, Frame.CTAID_X, block % grid_x)
        put(frame, Frame.CTAID_Y, block % grid_xy // grid_x)
        put(frame, Frame.CTAID_Z, block // grid_xy)
        put(frame, Frame.LINEAR, t)
        put(frame, Frame.BLOCK, block)
        put(frame, Frame.SHARED_HOST, shared)
        put(frame, Frame.SHARED_SHADOW, shadow)
        put(frame, Frame.LOCAL_HOST, local + t * local_bytes)
        put(frame, Frame.MINE, _EPOCH_WORD | block << _BLOCK_SHIFT | t << _LANE_SHIFT)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def watch_shared(schedule: Any, block: Any, shadow: Any) -> None:
    """Mark the shared granules of this block whose accesses are to be logged."""
    pairs = get(schedule, Schedule.WATCHED)
    low, high = 0, get(schedule, Schedule.WATCHED_COUNT)
    count = high
    while low < high:
        middle = (low + high) // 2
        if get(pairs, middle * 2) < block:
            low = middle + 1
        else:
            high = middle
    while low < count and get(pairs, low * 2) == block:
        put(shadow, get(pairs, low * 2 + 1), _WATCHED_WORD)
        low += 1


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def shuffle_order(order: Any, threads: Any, state: Any) -> Any:
    """A random permutation of 0..threads-1 (Fisher and Yates) and the generator's next state."""
    for t in range(threads):
        put(order, t, t)
    for t in range(threads - 1, 0, -1):
        state = (state * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
        other = (state >> 20) % (t + 1)
        mine = get(order, t)
        put(order, t, get(order, other))
        put(order, other, mine)
    return state


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def run_slot(schedule: Any, slot: Any, state: Any) -> Any:
    """Run the block of a slot until every thread has yielded or exited; whether anything changed."""
    context = get(schedule, Schedule.CONTEXT)
    step = get(schedule, Schedule.STEP)
    frame_bytes = get(schedule, Schedule.FRAME_BYTES)
    threads = get(schedule, Schedule.THREADS)
    record = get(schedule, Schedule.SLOTS) + slot * _SLOT_BYTES
    frames = get(schedule, Schedule.FRAMES) + slot * threads * frame_bytes
    order = get(schedule, Schedule.ORDER)
    seed = get(schedule, Schedule.SEED)
    progress = 0
    yielded = 0
    for t in range(threads):
        frame = frames + t * frame_bytes
        if get(frame, Frame.STATUS) == Status.YIELDED:
            put(frame, Frame.STATUS, Status.READY)
    while True:
        if seed != 0:
            state = shuffle_order(order, threads, state)
        at_warp = 0
        at_barrier = 0
        for k in range(threads):
            t = k if seed == 0 else get(order, k)
            frame = frames + t * frame_bytes
            status = get(frame, Frame.STATUS)
            if status == Status.READY:
                status = step_thread(step, frame)
                put(frame, Frame.STATUS, status)
                if status == Status.EXITED:
                    progress = 1
                    leave_block(schedule, slot, frame)
                elif status == Status.YIELDED:
                    yielded += 1
                    if not get(frame, Frame.UNCHANGED):
                        progress = 1
                elif status == Status.UNMODELLED or status == Status.TRAPPED:
                    kind = FaultKind.UNMODELLED if status == Status.UNMODELLED else FaultKind.TRAP
                    site = get(frame, Frame.SITE)
                    record_fault(context, kind, site, t, get(frame, Frame.BLOCK), site, t)
                    put(context, Context.STOP, 2)
                    return progress
            if status == Status.WARP:
                at_warp = 1
            elif status == Status.BARRIER:
                at_barrier = 1
        if get(context, Context.STOP):
            return progress
        released = 0
        if at_warp:
            for first in range(0, threads, 32):
                if meet_lanes(schedule, slot, frames, first, 0):
                    released = 1
            if released == 0:
                for first in range(0, threads, 32):
                    if meet_lanes(schedule, slot, frames, first, 1):
                        released = 1
        if at_barrier and released == 0:
            released = meet_block(schedule, slot, frames)
        if released:
            progress = 1
            continue
        if get(record, Slot.LIVE) == 0 or yielded > 0:
            return progress
        name_deadlock(schedule, slot, frames)
        return 1


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def name_livelock(schedule: Any) -> None:
    """Every resident thread spins without effect: record one of them."""
    context = get(schedule, Schedule.CONTEXT)
    threads = get(schedule, Schedule.THREADS)
    frame_bytes = get(schedule, Schedule.FRAME_BYTES)
    frames = get(schedule, Schedule.FRAMES)
    for k in range(get(schedule, Schedule.RESIDENT) * threads):
        frame = frames + k * frame_bytes
        record = get(schedule, Schedule.SLOTS) + k // threads * _SLOT_BYTES
        if get(record, Slot.BLOCK) >= 0 and get(frame, Frame.STATUS) == Status.YIELDED:
            site = get(frame, Frame.SITE)
            thread, block = get(frame, Frame.LINEAR), get(frame, Frame.BLOCK)
            record_fault(context, FaultKind.LIVELOCK, site, thread, block, site, thread)
            return


def run_blocks(schedule: Any) -> Any:
    """Run all blocks: 0 when done, 1 when stopped, 2 where a thread cannot go on, 3 at a livelock."""
    context = get(schedule, Schedule.CONTEXT)
    blocks = get(schedule, Schedule.BLOCKS)
    resident = get(schedule, Schedule.RESIDENT)
    slots = get(schedule, Schedule.SLOTS)
    seed = get(schedule, Schedule.SEED)
    capacity = get(schedule, Schedule.CAPACITY)
    next_block = 0
    empty = 0
    for slot in range(resident):
        if next_block < blocks:
            start_block(schedule, slot, next_block)
            next_block += 1
        else:
            put(slots + slot * _SLOT_BYTES, Slot.BLOCK, -1)
            empty += 1
    turn = 0
    while empty < resident:
        put(context, Context.MODIFIED, 0)
        progress = 0
        for slot in range(resident):
            record = slots + slot * _SLOT_BYTES
            block = get(record, Slot.BLOCK)
            if block < 0:
                continue
            turn += 1
            if run_slot(schedule, slot, (seed * 1000003 + block * 7919 + turn) & 0x7FFFFFFFFFFFFFFF):
                progress = 1
            stop = get(context, Context.STOP)
            if stop:
                return stop
            if get(record, Slot.LIVE) == 0:
                progress = 1
                if next_block < blocks:
                    start_block(schedule, slot, next_block)
                    next_block += 1
                else:
                    put(record, Slot.BLOCK, -1)
                    empty += 1
            put(schedule, Schedule.NEXT_BLOCK, next_block)
        if progress == 0 and get(context, Context.MODIFIED) == 0:
            # They may spin for a block that has not started: make room for one more.
            if next_block < blocks and resident < capacity:
                start_block(schedule, resident, next_block)
                next_block += 1
                resident += 1
                put(schedule, Schedule.RESIDENT, resident)
                continue
            name_livelock(schedule)
            return 3
    return 0
