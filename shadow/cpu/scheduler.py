"""Runs the blocks of a launch: which thread goes on when.

Semantics: a thread runs until it meets others (meetings.py), yields or exits. Workers, one scheduler each,
take blocks from one counter. Several blocks of a worker are resident and take turns, so that a block may wait
for another one's stores. A round in which every thread yields with unchanged registers and no memory changed
will repeat for ever: a livelock, where the worker is alone. A worker that is not alone stops the run there,
and at whatever a report would name (engine.py says why).

Plain functions over the records of `layout`, compiled by Numba (runtime.py).
"""

from __future__ import annotations

from typing import Any

from numba.extending import register_jitable
from racedart.shadow import word
from racedart.shadow.cpu.layout import (
    Context,
    FaultKind,
    Frame,
    Operation,
    Schedule,
    Slot,
    Status,
    Stop,
    Team,
)
from racedart.shadow.cpu.meetings import (
    leave_block,
    meet_block,
    meet_lanes,
    name_deadlock,
    name_one,
    release_grid,
    release_thread,
)
from racedart.shadow.cpu.primitives import add, get, put, step_thread
from racedart.shadow.cpu.slow_path import append_fault

_SLOT_BYTES = int(Slot.SIZE) * 8
_EPOCH_WORD = word.EPOCH << word.EPOCH_SHIFT
_LANE_SHIFT, _BLOCK_SHIFT, _WATCHED_WORD = word.LANE_SHIFT, word.BLOCK_SHIFT, word.special(word.WATCHED)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def prepare_frames(schedule: Any, slot: Any) -> None:
    """Fill in what the frames of a slot keep for all blocks."""
    context = get(schedule, Schedule.CONTEXT)
    threads = get(schedule, Schedule.THREADS)
    frame_bytes = get(schedule, Schedule.FRAME_BYTES)
    local_bytes = get(schedule, Schedule.LOCAL_BYTES)
    frames = get(schedule, Schedule.FRAMES) + slot * threads * frame_bytes
    local = get(schedule, Schedule.LOCAL) + slot * threads * local_bytes
    shared = get(schedule, Schedule.SHARED) + slot * get(schedule, Schedule.SHARED_BYTES)
    shared += get(schedule, Schedule.MARK_BYTES)
    shadow = get(schedule, Schedule.SHARED_SHADOW) + slot * get(schedule, Schedule.SHADOW_BYTES)
    x = get(context, Context.NTID_X)
    xy = x * get(context, Context.NTID_Y)
    for t in range(threads):
        frame = frames + t * frame_bytes
        put(frame, Frame.CONTEXT, context)
        put(frame, Frame.TID_X, t % x)
        put(frame, Frame.TID_Y, t % xy // x)
        put(frame, Frame.TID_Z, t // xy)
        put(frame, Frame.LINEAR, t)
        put(frame, Frame.SHARED_HOST, shared)
        put(frame, Frame.SHARED_SHADOW, shadow)
        put(frame, Frame.LOCAL_HOST, local + t * local_bytes)


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
    if not get(record, Slot.USED):
        prepare_frames(schedule, slot)
        put(record, Slot.USED, 1)
    put(record, Slot.BLOCK, block)
    put(record, Slot.LIVE, threads)
    put(record, Slot.TAINTED, 0)
    put(record, Slot.YIELDED, 0)
    put(record, Slot.TURN, 0)
    put(record, Slot.AT_GRID, 0)
    shared = get(schedule, Schedule.SHARED) + slot * shared_bytes
    shadow = get(schedule, Schedule.SHARED_SHADOW) + slot * shadow_bytes
    fill = get(schedule, Schedule.FILL)
    marks = get(schedule, Schedule.MARK_BYTES) // 8
    for i in range(marks):
        put(shared, i, 0)
    for i in range(marks, shared_bytes // 8):
        put(shared, i, fill * (2 * i + 1))
    for i in range(shadow_bytes // 8):
        put(shadow, i, 0)
    watch_shared(schedule, block, shadow)
    local = get(schedule, Schedule.LOCAL) + slot * threads * local_bytes
    for i in range(threads * local_bytes // 8):
        put(local, i, 0)
    grid_x = get(context, Context.NCTAID_X)
    grid_xy = grid_x * get(context, Context.NCTAID_Y)
    block_x, block_y, block_z = block % grid_x, block % grid_xy // grid_x, block // grid_xy
    mine = _EPOCH_WORD | block << _BLOCK_SHIFT
    frames = get(schedule, Schedule.FRAMES) + slot * threads * frame_bytes
    for t in range(threads):
        frame = frames + t * frame_bytes
        put(frame, Frame.STATUS, Status.READY)
        put(frame, Frame.MINE, mine | t << _LANE_SHIFT)
        put(frame, Frame.RESUME, 0)
        put(frame, Frame.BARRIERS, 0)
        put(frame, Frame.SYNCS, 0)
        put(frame, Frame.ACCESSED, 0)
        put(frame, Frame.UNCHANGED, 0)
        put(frame, Frame.CLOCK, 0)
        put(frame, Frame.BLOCK, block)
        put(frame, Frame.CTAID_X, block_x)
        put(frame, Frame.CTAID_Y, block_y)
        put(frame, Frame.CTAID_Z, block_z)


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
    """Run the block of a slot until every thread has yielded or exited; whether anything changed.

    A barrier of the whole block at which all live threads wait, at one instruction, is completed by the scan
    that runs them next (`released`): each thread is visited once for a barrier.
    """
    context = get(schedule, Schedule.CONTEXT)
    team = get(context, Context.TEAM)
    step = get(schedule, Schedule.STEP)
    frame_bytes = get(schedule, Schedule.FRAME_BYTES)
    threads = get(schedule, Schedule.THREADS)
    record = get(schedule, Schedule.SLOTS) + slot * _SLOT_BYTES
    frames = get(schedule, Schedule.FRAMES) + slot * threads * frame_bytes
    order = get(schedule, Schedule.ORDER)
    seed = get(schedule, Schedule.SEED)
    progress = 0
    yielded = 0
    if get(record, Slot.YIELDED):
        for t in range(threads):
            frame = frames + t * frame_bytes
            if get(frame, Frame.STATUS) == Status.YIELDED:
                put(frame, Frame.STATUS, Status.READY)
        put(record, Slot.YIELDED, 0)
    released = 0
    counted = 0
    ones = 0
    waiting = 0
    while True:
        if seed != 0:
            state = shuffle_order(order, threads, state)
        at_warp = 0
        at_barrier = 0
        at_grid = 0
        all_at_grid = 0
        site, number, count = -1, -1, -1
        uniform = 1
        total = 0
        for k in range(threads):
            t = k if seed == 0 else get(order, k)
            frame = frames + t * frame_bytes
            status = get(frame, Frame.STATUS)
            if released and status == Status.BARRIER:
                release_thread(frame, ones, waiting, 1, counted)
                status = Status.READY
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
                    at = get(frame, Frame.SITE)
                    said = get(frame, Frame.VALUE) if status == Status.TRAPPED else 0
                    append_fault(context, kind, at, t, get(frame, Frame.BLOCK), said, at, t)
                    put(team, Team.STOP, Stop.STUCK)
                    return progress
            if status == Status.BARRIER:
                if at_barrier == 0:
                    site = get(frame, Frame.SITE)
                    number = get(frame, Frame.MASK)
                    count = get(frame, Frame.LANE_OPERAND)
                elif (
                    site != get(frame, Frame.SITE)
                    or number != get(frame, Frame.MASK)
                    or count != get(frame, Frame.LANE_OPERAND)
                ):
                    uniform = 0
                total += get(frame, Frame.VALUE)
                at_barrier += 1
            elif status == Status.WARP:
                at_warp = 1
            elif status == Status.GRID:
                at_grid += 1
                if get(frame, Frame.OPERATION) == Operation.GRID_ALL:
                    all_at_grid = 1
        if get(team, Team.STOP):
            return progress
        released = 0
        if at_barrier > 0 and uniform and at_barrier == get(record, Slot.LIVE) and (count == 0 or count >= threads):
            released = 1
            ones, waiting = total, at_barrier
            counted = 1
            if get(record, Slot.TAINTED):
                counted = 0
                put(context, Context.CONSERVATIVE, 1)
            progress = 1
            continue
        met = 0
        if at_warp:
            for first in range(0, threads, 32):
                if meet_lanes(schedule, slot, frames, first, 0):
                    met = 1
            if met == 0:
                for first in range(0, threads, 32):
                    if meet_lanes(schedule, slot, frames, first, 1):
                        met = 1
        if at_barrier and met == 0:
            met = meet_block(schedule, slot, frames)
        if met:
            progress = 1
            continue
        if get(record, Slot.LIVE) == 0 or yielded > 0:
            put(record, Slot.YIELDED, yielded)
            return progress
        if at_grid > 0 and at_grid + (0 if all_at_grid else at_barrier) == get(record, Slot.LIVE):
            put(record, Slot.AT_GRID, 1)
            return 1
        name_deadlock(schedule, slot, frames)
        return 1


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def next_block(schedule: Any) -> Any:
    """Take a block that has not started; -1 when there is none."""
    team = get(get(schedule, Schedule.CONTEXT), Context.TEAM)
    blocks = get(schedule, Schedule.BLOCKS)
    if get(team, Team.NEXT_BLOCK) >= blocks:
        return -1
    block = add(team, Team.NEXT_BLOCK, 1)
    return block if block < blocks else -1


def run_blocks(schedule: Any) -> Any:
    """Run blocks until none is left; a `Stop`."""
    context = get(schedule, Schedule.CONTEXT)
    team = get(context, Context.TEAM)
    resident = get(schedule, Schedule.RESIDENT)
    slots = get(schedule, Schedule.SLOTS)
    seed = get(schedule, Schedule.SEED)
    capacity = get(schedule, Schedule.CAPACITY)
    while True:
        put(context, Context.MODIFIED, 0)
        progress = 0
        running = 0
        parked = 0
        for slot in range(resident):
            record = slots + slot * _SLOT_BYTES
            while True:
                if get(record, Slot.BLOCK) >= 0 and get(record, Slot.AT_GRID):
                    running += 1
                    parked += 1
                    break
                if get(record, Slot.BLOCK) < 0:
                    block = next_block(schedule)
                    if block < 0:
                        break
                    start_block(schedule, slot, block)
                block = get(record, Slot.BLOCK)
                turn = get(record, Slot.TURN) + 1
                put(record, Slot.TURN, turn)
                # The order of a block's threads depends on the block alone, wherever and whenever it runs.
                state = (seed * 1000003 + block * 7919 + turn) & 0x7FFFFFFFFFFFFFFF
                if run_slot(schedule, slot, state):
                    progress = 1
                stop = get(team, Team.STOP)
                if stop:
                    return stop
                if get(record, Slot.LIVE) > 0:
                    running += 1
                    break
                put(record, Slot.BLOCK, -1)
                add(team, Team.DONE, 1)
        if running == 0:
            return Stop.DONE
        if parked == running:
            if get(team, Team.NEXT_BLOCK) < get(schedule, Schedule.BLOCKS):
                if resident == capacity:
                    return Stop.LIVELOCK
                resident += 1
                put(schedule, Schedule.RESIDENT, resident)
            elif running < get(schedule, Schedule.BLOCKS):
                # Some blocks wait at a barrier of the grid, and the others have ended.
                name_one(schedule, Status.GRID, FaultKind.GRID_DEADLOCK)
                return Stop.STUCK
            else:
                release_grid(schedule)
            continue
        if progress == 0 and get(context, Context.MODIFIED) == 0:
            if not get(context, Context.ALONE):
                put(team, Team.STOP, Stop.REPORT)
                return Stop.REPORT
            # They may spin for a block that has not started: make room for one more.
            if get(team, Team.NEXT_BLOCK) < get(schedule, Schedule.BLOCKS) and resident < capacity:
                resident += 1
                put(schedule, Schedule.RESIDENT, resident)
                continue
            # Every resident thread spins without effect.
            name_one(schedule, Status.YIELDED, FaultKind.LIVELOCK)
            return Stop.LIVELOCK
