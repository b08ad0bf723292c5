"""Runs the blocks of a launch: which thread goes on when, and what happens where threads meet.

Semantics: a thread runs until it meets others, yields or exits. A block barrier completes when all
threads of the block that have not exited wait at it; a warp operation when all lanes that its mask names
and that have not exited wait with the same operation and mask. Several blocks are resident and take
turns, so that a block may wait for another one's stores. A round in which every thread yields with
unchanged registers and no memory changed will repeat for ever: a livelock.

A barrier orders the accesses of those that take part. Where a thread has exited with accesses that no
barrier ordered since, the barrier is not counted in the shadow words (the word knows only barriers of all
threads): alarms that this raises are refuted when they are explained.

Plain functions over the records of `layout`, compiled by Numba (runtime.py). Not handled: `bar.arrive`.
"""

from __future__ import annotations

from typing import Any

from numba.extending import register_jitable
from racedart.shadow import word
from racedart.shadow.cpu.layout import Context, Fault, FaultKind, Frame, Operation, Schedule, Slot, Status
from racedart.shadow.cpu.primitives import add_word, load_word, step_thread, store_word

_READY, _EXITED, _BARRIER, _WARP, _YIELDED = (
    int(s) for s in (Status.READY, Status.EXITED, Status.BARRIER, Status.WARP, Status.YIELDED)
)
_UNMODELLED, _TRAPPED = int(Status.UNMODELLED), int(Status.TRAPPED)

_F_MINE, _F_CONTEXT, _F_RESUME = int(Frame.MINE) * 8, int(Frame.CONTEXT) * 8, int(Frame.RESUME) * 8
_F_TID, _F_CTAID, _F_LINEAR, _F_BLOCK = (
    int(f) * 8 for f in (Frame.TID_X, Frame.CTAID_X, Frame.LINEAR, Frame.BLOCK)
)
_F_BARRIERS, _F_SYNCS, _F_SHARED, _F_SHADOW, _F_LOCAL, _F_STATUS = (
    int(f) * 8
    for f in (
        Frame.BARRIERS,
        Frame.SYNCS,
        Frame.SHARED_HOST,
        Frame.SHARED_SHADOW,
        Frame.LOCAL_HOST,
        Frame.STATUS,
    )
)
_F_OPERATION, _F_MASK, _F_SITE, _F_VALUE, _F_OPERAND, _F_CLAMP = (
    int(f) * 8 for f in (Frame.OPERATION, Frame.MASK, Frame.SITE, Frame.VALUE, Frame.LANE_OPERAND, Frame.CLAMP)
)
_F_RESULT, _F_PREDICATE, _F_UNCHANGED, _F_ACCESSED = (
    int(f) * 8 for f in (Frame.RESULT, Frame.RESULT_PREDICATE, Frame.UNCHANGED, Frame.ACCESSED)
)

_C_STOP, _C_MODIFIED, _C_GROUPS, _C_CONSERVATIVE = (
    int(c) * 8 for c in (Context.STOP, Context.MODIFIED, Context.SITE_GROUPS, Context.CONSERVATIVE)
)
_C_NTID_X, _C_NTID_Y, _C_GRID_X, _C_GRID_Y = (
    int(c) * 8 for c in (Context.NTID_X, Context.NTID_Y, Context.NCTAID_X, Context.NCTAID_Y)
)
_C_FAULTS, _C_FAULTS_CAPACITY, _C_FAULTS_COUNT = (
    int(c) * 8 for c in (Context.FAULTS, Context.FAULTS_CAPACITY, Context.FAULTS_COUNT)
)
(
    _S_STEP,
    _S_CONTEXT,
    _S_THREADS,
    _S_BLOCKS,
    _S_RESIDENT,
    _S_FRAMES,
    _S_FRAME_BYTES,
    _S_SHARED,
    _S_SHARED_BYTES,
    _S_SHADOW,
    _S_SHADOW_BYTES,
    _S_LOCAL,
    _S_LOCAL_BYTES,
    _S_SEED,
    _S_ORDER,
    _S_SLOTS,
    _S_WATCHED,
    _S_WATCHED_COUNT,
    _S_EXITS,
    _S_NEXT,
    _S_CAPACITY,
) = (int(s) * 8 for s in list(Schedule)[: int(Schedule.SIZE)])
_SLOT_BYTES = int(Slot.SIZE) * 8
_B_BLOCK, _B_LIVE, _B_TAINTED = int(Slot.BLOCK) * 8, int(Slot.LIVE) * 8, int(Slot.TAINTED) * 8
_FAULT_BYTES = int(Fault.SIZE) * 8
_T_KIND, _T_SITE, _T_THREAD, _T_BLOCK, _T_ADDRESS, _T_OTHER_SITE, _T_OTHER_THREAD = (
    int(f) * 8 for f in list(Fault)[:7]
)

_SYNC, _UP, _DOWN, _BUTTERFLY, _INDEX = (
    int(o)
    for o in (
        Operation.SYNC,
        Operation.SHUFFLE_UP,
        Operation.SHUFFLE_DOWN,
        Operation.SHUFFLE_BUTTERFLY,
        Operation.SHUFFLE_INDEX,
    )
)
_ALL, _ANY, _UNIFORM, _BALLOT, _MATCH_ANY, _MATCH_ALL = (
    int(o)
    for o in (
        Operation.VOTE_ALL,
        Operation.VOTE_ANY,
        Operation.VOTE_UNIFORM,
        Operation.VOTE_BALLOT,
        Operation.MATCH_ANY,
        Operation.MATCH_ALL,
    )
)
_R_ADD, _R_MIN_S, _R_MAX_S, _R_MIN, _R_MAX, _R_AND, _R_OR, _R_XOR = (
    int(o) for o in list(Operation)[int(Operation.REDUCE_ADD) : int(Operation.REDUCE_XOR) + 1]
)
_ACTIVE, _B_AND, _B_OR = int(Operation.ACTIVE), int(Operation.BARRIER_AND), int(Operation.BARRIER_OR)

_DIVERGENT, _DEADLOCK, _MISSING, _LIVELOCK, _FAULT_UNMODELLED, _FAULT_TRAP = (
    int(f)
    for f in (
        FaultKind.DIVERGENT_BARRIER,
        FaultKind.BARRIER_DEADLOCK,
        FaultKind.MISSING_LANES,
        FaultKind.LIVELOCK,
        FaultKind.UNMODELLED,
        FaultKind.TRAP,
    )
)
_PARTIAL_BARRIER, _PARTIAL_SYNC, _OWN_LANE = (
    int(f) for f in (FaultKind.PARTIAL_BARRIER, FaultKind.PARTIAL_WARP_SYNC, FaultKind.OWN_LANE_MISSING)
)
_BARRIER_SHIFT, _SYNC_SHIFT = word.BARRIER_SHIFT, word.SYNC_SHIFT
_BARRIER_FIELD, _SYNC_FIELD = (1 << word.BARRIER_BITS) - 1, (1 << word.SYNC_BITS) - 1
_EPOCH_WORD = word.EPOCH << word.EPOCH_SHIFT
_LANE_SHIFT, _BLOCK_SHIFT, _WATCHED_WORD = word.LANE_SHIFT, word.BLOCK_SHIFT, word.special(word.WATCHED)
_UNSHIFTED_BARRIERS = ~word.BARRIER_MASK
_UNSHIFTED_SYNCS = ~word.SYNC_MASK


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def record_fault(context: Any, kind: Any, site: Any, thread: Any, block: Any, other_site: Any, other: Any) -> None:
    """Append a fault of a meeting, unless the last one of this kind and site was recorded already."""
    count = load_word(context + _C_FAULTS_COUNT)
    capacity = load_word(context + _C_FAULTS_CAPACITY)
    faults = load_word(context + _C_FAULTS)
    for k in range(min(count, capacity)):
        entry = faults + k * _FAULT_BYTES
        if (
            load_word(entry + _T_KIND) == kind
            and load_word(entry + _T_SITE) == site
            and load_word(entry + _T_OTHER_SITE) == other_site
        ):
            return
    at = add_word(context + _C_FAULTS_COUNT, 1)
    if at < capacity:
        entry = faults + at * _FAULT_BYTES
        store_word(entry + _T_KIND, kind)
        store_word(entry + _T_SITE, site)
        store_word(entry + _T_THREAD, thread)
        store_word(entry + _T_BLOCK, block)
        store_word(entry + _T_ADDRESS, 0)
        store_word(entry + _T_OTHER_SITE, other_site)
        store_word(entry + _T_OTHER_THREAD, other)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def start_block(schedule: Any, slot: Any, block: Any) -> None:
    """Put a block into a slot: fresh shared and local memory, fresh shadow, all threads at the entry."""
    context = load_word(schedule + _S_CONTEXT)
    threads = load_word(schedule + _S_THREADS)
    frame_bytes = load_word(schedule + _S_FRAME_BYTES)
    shared_bytes = load_word(schedule + _S_SHARED_BYTES)
    shadow_bytes = load_word(schedule + _S_SHADOW_BYTES)
    local_bytes = load_word(schedule + _S_LOCAL_BYTES)
    record = load_word(schedule + _S_SLOTS) + slot * _SLOT_BYTES
    store_word(record + _B_BLOCK, block)
    store_word(record + _B_LIVE, threads)
    store_word(record + _B_TAINTED, 0)
    shared = load_word(schedule + _S_SHARED) + slot * shared_bytes
    shadow = load_word(schedule + _S_SHADOW) + slot * shadow_bytes
    for i in range(0, shared_bytes, 8):
        store_word(shared + i, 0)
    for i in range(0, shadow_bytes, 8):
        store_word(shadow + i, 0)
    watch_shared(schedule, block, shadow)
    x = load_word(context + _C_NTID_X)
    xy = x * load_word(context + _C_NTID_Y)
    grid_x = load_word(context + _C_GRID_X)
    grid_xy = grid_x * load_word(context + _C_GRID_Y)
    frames = load_word(schedule + _S_FRAMES) + slot * threads * frame_bytes
    local = load_word(schedule + _S_LOCAL) + slot * threads * local_bytes
    for i in range(0, threads * local_bytes, 8):
        store_word(local + i, 0)
    for t in range(threads):
        frame = frames + t * frame_bytes
        for i in range(0, frame_bytes, 8):
            store_word(frame + i, 0)
        store_word(frame + _F_CONTEXT, context)
        store_word(frame + _F_TID, t % x)
        store_word(frame + _F_TID + 8, t % xy // x)
        store_word(frame + _F_TID + 16, t // xy)
        store_word(frame + _F_CTAID, block % grid_x)
        store_word(frame + _F_CTAID + 8, block % grid_xy // grid_x)
        store_word(frame + _F_CTAID + 16, block // grid_xy)
        store_word(frame + _F_LINEAR, t)
        store_word(frame + _F_BLOCK, block)
        store_word(frame + _F_SHARED, shared)
        store_word(frame + _F_SHADOW, shadow)
        store_word(frame + _F_LOCAL, local + t * local_bytes)
        store_word(frame + _F_MINE, _EPOCH_WORD | block << _BLOCK_SHIFT | t << _LANE_SHIFT)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def watch_shared(schedule: Any, block: Any, shadow: Any) -> None:
    """Mark the shared granules of this block whose accesses are to be logged."""
    pairs = load_word(schedule + _S_WATCHED)
    low, high = 0, load_word(schedule + _S_WATCHED_COUNT)
    count = high
    while low < high:
        middle = (low + high) // 2
        if load_word(pairs + middle * 16) < block:
            low = middle + 1
        else:
            high = middle
    while low < count and load_word(pairs + low * 16) == block:
        store_word(shadow + load_word(pairs + low * 16 + 8) * 8, _WATCHED_WORD)
        low += 1


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def shuffle_order(order: Any, threads: Any, state: Any) -> Any:
    """A random permutation of 0..threads-1 (Fisher and Yates) and the generator's next state."""
    for t in range(threads):
        store_word(order + t * 8, t)
    for t in range(threads - 1, 0, -1):
        state = (state * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
        other = (state >> 20) % (t + 1)
        mine = load_word(order + t * 8)
        store_word(order + t * 8, load_word(order + other * 8))
        store_word(order + other * 8, mine)
    return state


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def leave_block(schedule: Any, slot: Any, frame: Any) -> None:
    """A thread of a slot has exited."""
    record = load_word(schedule + _S_SLOTS) + slot * _SLOT_BYTES
    store_word(frame + _F_STATUS, _EXITED)
    store_word(record + _B_LIVE, load_word(record + _B_LIVE) - 1)
    if load_word(frame + _F_ACCESSED):
        store_word(record + _B_TAINTED, 1)
    exits = load_word(schedule + _S_EXITS)
    if exits:
        threads = load_word(schedule + _S_THREADS)
        entry = exits + (load_word(frame + _F_BLOCK) * threads + load_word(frame + _F_LINEAR)) * 16
        store_word(entry, load_word(frame + _F_BARRIERS))
        store_word(entry + 8, load_word(frame + _F_SYNCS))


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def combine_lanes(frames: Any, frame_bytes: Any, first: Any, lanes: Any, lane: Any, operation: Any) -> None:
    """Give one lane of a completed warp operation its result. lanes: mask of those that take part."""
    frame = frames + (first + lane) * frame_bytes
    mine = load_word(frame + _F_VALUE)
    result = mine
    predicate = 0
    if _UP <= operation <= _INDEX:
        by = load_word(frame + _F_OPERAND) & 31
        clamp = load_word(frame + _F_CLAMP)
        segment = (clamp >> 8) & 31
        bound = (lane & segment) | (clamp & 31 & ~segment)
        if operation == _UP:
            source = lane - by
            inside = source >= bound
        elif operation == _DOWN:
            source = lane + by
            inside = source <= bound
        elif operation == _BUTTERFLY:
            source = lane ^ by
            inside = source <= bound
        else:
            source = (lane & segment) | (by & ~segment)
            inside = source <= bound
        if inside:
            predicate = 1
            # Reading a lane that does not take part is undefined; the own value stands in.
            if 0 <= source < 32 and lanes >> source & 1:
                result = load_word(frames + (first + source) * frame_bytes + _F_VALUE)
    elif _R_ADD <= operation <= _R_XOR:
        result = 0
        begun = 0
        for other in range(32):
            if lanes >> other & 1:
                value = load_word(frames + (first + other) * frame_bytes + _F_VALUE)
                if begun == 0:
                    result = value
                elif operation == _R_ADD:
                    result = result + value
                elif operation in (_R_MIN_S, _R_MIN):
                    result = min(result, value)
                elif operation in (_R_MAX_S, _R_MAX):
                    result = max(result, value)
                elif operation == _R_AND:
                    result = result & value
                elif operation == _R_OR:
                    result = result | value
                else:
                    result = result ^ value
                begun = 1
        result = result & 0xFFFFFFFF
    elif operation != _SYNC:
        ones = 0
        equal = 0
        for other in range(32):
            if lanes >> other & 1:
                value = load_word(frames + (first + other) * frame_bytes + _F_VALUE)
                if value & 1:
                    ones |= 1 << other
                if value == mine:
                    equal |= 1 << other
        if operation == _ALL:
            predicate = 1 if ones == lanes else 0
        elif operation == _ANY:
            predicate = 1 if ones != 0 else 0
        elif operation == _UNIFORM:
            predicate = 1 if ones == lanes or ones == 0 else 0
        elif operation == _BALLOT:
            result = ones
        elif operation == _MATCH_ANY:
            result = equal
        elif operation == _MATCH_ALL:
            predicate = 1 if equal == lanes else 0
            result = lanes if equal == lanes else 0
        elif operation == _ACTIVE:
            result = lanes
    store_word(frame + _F_RESULT, result)
    store_word(frame + _F_PREDICATE, predicate)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def count_sync(frame: Any, counted: Any) -> None:
    """One more warp synchronisation of a thread; counted: whether the shadow word may know."""
    syncs = load_word(frame + _F_SYNCS) + 1
    store_word(frame + _F_SYNCS, syncs)
    if counted:
        mine = load_word(frame + _F_MINE)
        field = ((mine >> _SYNC_SHIFT) + 1) & _SYNC_FIELD
        store_word(frame + _F_MINE, (mine & _UNSHIFTED_SYNCS) | field << _SYNC_SHIFT)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def meet_lanes(schedule: Any, slot: Any, frames: Any, first: Any, idle: Any) -> Any:
    """Complete what can be completed among the waiting lanes of one warp; whether anything was.

    idle: no lane of the warp can run, so that `activemask` may take those that wait.
    """
    context = load_word(schedule + _S_CONTEXT)
    frame_bytes = load_word(schedule + _S_FRAME_BYTES)
    threads = load_word(schedule + _S_THREADS)
    width = min(32, threads - first)
    live = 0
    tainted = 0
    for lane in range(width):
        frame = frames + (first + lane) * frame_bytes
        if load_word(frame + _F_STATUS) != _EXITED:
            live |= 1 << lane
        elif load_word(frame + _F_ACCESSED):
            tainted = 1
    done = 0
    for lane in range(width):
        frame = frames + (first + lane) * frame_bytes
        if load_word(frame + _F_STATUS) != _WARP:
            continue
        operation = load_word(frame + _F_OPERATION)
        mask = load_word(frame + _F_MASK)
        site = load_word(frame + _F_SITE)
        lanes = mask & live
        if operation == _ACTIVE:
            if not idle:
                continue
            lanes = 0
            for other in range(width):
                there = frames + (first + other) * frame_bytes
                if load_word(there + _F_STATUS) == _WARP and load_word(there + _F_SITE) == site:
                    lanes |= 1 << other
        elif not lanes >> lane & 1:
            record_fault(context, _OWN_LANE, site, first + lane, load_word(frame + _F_BLOCK), site, first + lane)
            lanes = 1 << lane
        else:
            complete = 1
            for other in range(width):
                if lanes >> other & 1:
                    there = frames + (first + other) * frame_bytes
                    if (
                        load_word(there + _F_STATUS) != _WARP
                        or load_word(there + _F_OPERATION) != operation
                        or load_word(there + _F_MASK) != mask
                    ):
                        complete = 0
                        break
            if not complete:
                continue
        if operation == _SYNC and lanes != live:
            record_fault(
                context, _PARTIAL_SYNC, site, first + lane, load_word(frame + _F_BLOCK), site, first + lane
            )
        if operation == _SYNC and tainted:
            store_word(context + _C_CONSERVATIVE, 1)
        for other in range(width):
            if lanes >> other & 1:
                combine_lanes(frames, frame_bytes, first, lanes, other, operation)
        for other in range(width):
            if lanes >> other & 1:
                there = frames + (first + other) * frame_bytes
                store_word(there + _F_STATUS, _READY)
                if operation == _SYNC and lanes == live:
                    count_sync(there, tainted == 0)
        done = 1
    return done


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def meet_block(schedule: Any, slot: Any, frames: Any) -> Any:
    """Complete the block barriers that can be completed; whether any was."""
    context = load_word(schedule + _S_CONTEXT)
    frame_bytes = load_word(schedule + _S_FRAME_BYTES)
    threads = load_word(schedule + _S_THREADS)
    record = load_word(schedule + _S_SLOTS) + slot * _SLOT_BYTES
    live = load_word(record + _B_LIVE)
    groups = load_word(context + _C_GROUPS)
    done = 0
    seen = 0
    for leader in range(threads):
        frame = frames + leader * frame_bytes
        if load_word(frame + _F_STATUS) != _BARRIER:
            continue
        number = load_word(frame + _F_MASK)
        if seen >> (number & 31) & 1:
            continue
        seen |= 1 << (number & 31)
        count = load_word(frame + _F_OPERAND)
        whole = count == 0 or count >= threads
        waiting = 0
        ones = 0
        divergent = -1
        site = load_word(frame + _F_SITE)
        for t in range(threads):
            there = frames + t * frame_bytes
            if load_word(there + _F_STATUS) == _BARRIER and load_word(there + _F_MASK) == number:
                waiting += 1
                ones += load_word(there + _F_VALUE)
                if load_word(groups + load_word(there + _F_SITE) * 8) != load_word(groups + site * 8):
                    divergent = t
        if waiting < (live if whole else count):
            continue
        block = load_word(frame + _F_BLOCK)
        if divergent >= 0:
            other = load_word(frames + divergent * frame_bytes + _F_SITE)
            record_fault(context, _DIVERGENT, site, leader, block, other, divergent)
        counted = 0
        if whole:
            counted = 1
            if load_word(record + _B_TAINTED):
                counted = 0
                store_word(context + _C_CONSERVATIVE, 1)
        else:
            record_fault(context, _PARTIAL_BARRIER, site, leader, block, site, leader)
        for t in range(threads):
            there = frames + t * frame_bytes
            if load_word(there + _F_STATUS) == _BARRIER and load_word(there + _F_MASK) == number:
                operation = load_word(there + _F_OPERATION)
                predicate = 1 if ones != 0 else 0
                if operation == _B_AND:
                    predicate = 1 if ones == waiting else 0
                store_word(there + _F_RESULT, ones)
                store_word(there + _F_PREDICATE, predicate)
                store_word(there + _F_STATUS, _READY)
                if whole:
                    store_word(there + _F_BARRIERS, load_word(there + _F_BARRIERS) + 1)
                if counted:
                    store_word(there + _F_ACCESSED, 0)
                    mine = load_word(there + _F_MINE)
                    field = ((mine >> _BARRIER_SHIFT) + 1) & _BARRIER_FIELD
                    store_word(there + _F_MINE, (mine & _UNSHIFTED_BARRIERS) | field << _BARRIER_SHIFT)
        done = 1
    return done


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def name_deadlock(schedule: Any, slot: Any, frames: Any) -> None:
    """No thread of the block can go on: record who waits for whom, and end the block."""
    context = load_word(schedule + _S_CONTEXT)
    frame_bytes = load_word(schedule + _S_FRAME_BYTES)
    threads = load_word(schedule + _S_THREADS)
    first = -1
    for t in range(threads):
        frame = frames + t * frame_bytes
        status = load_word(frame + _F_STATUS)
        if status == _WARP:
            first = t
            break
        if status == _BARRIER and first < 0:
            first = t
    frame = frames + first * frame_bytes
    status = load_word(frame + _F_STATUS)
    site = load_word(frame + _F_SITE)
    mask = load_word(frame + _F_MASK)
    other = first
    for t in range(threads):
        there = frames + t * frame_bytes
        waits = load_word(there + _F_STATUS)
        if waits == _EXITED or t == first:
            continue
        if status == _WARP and (t // 32 != first // 32 or not mask >> (t & 31) & 1):
            continue
        if waits != status or load_word(there + _F_SITE) != site or load_word(there + _F_MASK) != mask:
            other = t
            break
    kind = _MISSING if status == _WARP else _DEADLOCK
    other_site = load_word(frames + other * frame_bytes + _F_SITE)
    record_fault(context, kind, site, first, load_word(frame + _F_BLOCK), other_site, other)
    for t in range(threads):
        there = frames + t * frame_bytes
        if load_word(there + _F_STATUS) != _EXITED:
            leave_block(schedule, slot, there)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def run_slot(schedule: Any, slot: Any, state: Any) -> Any:
    """Run the block of a slot until every thread has yielded or exited; whether anything changed."""
    context = load_word(schedule + _S_CONTEXT)
    step = load_word(schedule + _S_STEP)
    frame_bytes = load_word(schedule + _S_FRAME_BYTES)
    threads = load_word(schedule + _S_THREADS)
    record = load_word(schedule + _S_SLOTS) + slot * _SLOT_BYTES
    frames = load_word(schedule + _S_FRAMES) + slot * threads * frame_bytes
    order = load_word(schedule + _S_ORDER)
    seed = load_word(schedule + _S_SEED)
    progress = 0
    yielded = 0
    for t in range(threads):
        frame = frames + t * frame_bytes
        if load_word(frame + _F_STATUS) == _YIELDED:
            store_word(frame + _F_STATUS, _READY)
    while True:
        if seed != 0:
            state = shuffle_order(order, threads, state)
        at_warp = 0
        at_barrier = 0
        for k in range(threads):
            t = k if seed == 0 else load_word(order + k * 8)
            frame = frames + t * frame_bytes
            status = load_word(frame + _F_STATUS)
            if status == _READY:
                status = step_thread(step, frame)
                store_word(frame + _F_STATUS, status)
                if status == _EXITED:
                    progress = 1
                    leave_block(schedule, slot, frame)
                elif status == _YIELDED:
                    yielded += 1
                    if not load_word(frame + _F_UNCHANGED):
                        progress = 1
                elif status in (_UNMODELLED, _TRAPPED):
                    kind = _FAULT_UNMODELLED if status == _UNMODELLED else _FAULT_TRAP
                    site = load_word(frame + _F_SITE)
                    record_fault(context, kind, site, t, load_word(frame + _F_BLOCK), site, t)
                    store_word(context + _C_STOP, 2)
                    return progress
            if status == _WARP:
                at_warp = 1
            elif status == _BARRIER:
                at_barrier = 1
        if load_word(context + _C_STOP):
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
        if load_word(record + _B_LIVE) == 0 or yielded > 0:
            return progress
        name_deadlock(schedule, slot, frames)
        return 1


def run_blocks(schedule: Any) -> Any:
    """Run all blocks: 0 when done, 1 when stopped, 2 where a thread cannot go on, 3 at a livelock."""
    context = load_word(schedule + _S_CONTEXT)
    blocks = load_word(schedule + _S_BLOCKS)
    resident = load_word(schedule + _S_RESIDENT)
    slots = load_word(schedule + _S_SLOTS)
    seed = load_word(schedule + _S_SEED)
    capacity = load_word(schedule + _S_CAPACITY)
    next_block = 0
    empty = 0
    for slot in range(resident):
        if next_block < blocks:
            start_block(schedule, slot, next_block)
            next_block += 1
        else:
            store_word(slots + slot * _SLOT_BYTES + _B_BLOCK, -1)
            empty += 1
    turn = 0
    while empty < resident:
        store_word(context + _C_MODIFIED, 0)
        progress = 0
        for slot in range(resident):
            record = slots + slot * _SLOT_BYTES
            block = load_word(record + _B_BLOCK)
            if block < 0:
                continue
            turn += 1
            if run_slot(schedule, slot, (seed * 1000003 + block * 7919 + turn) & 0x7FFFFFFFFFFFFFFF):
                progress = 1
            stop = load_word(context + _C_STOP)
            if stop:
                return stop
            if load_word(record + _B_LIVE) == 0:
                progress = 1
                if next_block < blocks:
                    start_block(schedule, slot, next_block)
                    next_block += 1
                else:
                    store_word(record + _B_BLOCK, -1)
                    empty += 1
            store_word(schedule + _S_NEXT, next_block)
        if progress == 0 and load_word(context + _C_MODIFIED) == 0:
            # They may spin for a block that has not started: make room for one more.
            if next_block < blocks and resident < capacity:
                start_block(schedule, resident, next_block)
                next_block += 1
                resident += 1
                store_word(schedule + _S_RESIDENT, resident)
                continue
            name_livelock(schedule)
            return 3
    return 0


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def name_livelock(schedule: Any) -> None:
    """Every resident thread spins without effect: record one of them."""
    context = load_word(schedule + _S_CONTEXT)
    threads = load_word(schedule + _S_THREADS)
    frame_bytes = load_word(schedule + _S_FRAME_BYTES)
    frames = load_word(schedule + _S_FRAMES)
    for k in range(load_word(schedule + _S_RESIDENT) * threads):
        frame = frames + k * frame_bytes
        record = load_word(schedule + _S_SLOTS) + k // threads * _SLOT_BYTES
        if load_word(record + _B_BLOCK) >= 0 and load_word(frame + _F_STATUS) == _YIELDED:
            site = load_word(frame + _F_SITE)
            thread, block = load_word(frame + _F_LINEAR), load_word(frame + _F_BLOCK)
            record_fault(context, _LIVELOCK, site, thread, block, site, thread)
            return
