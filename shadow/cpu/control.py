"""Where a thread waits for others: block barriers and warp operations (PTX ISA 9.7.13) as LLVM IR.

At such a point the thread publishes what it brings, saves its live registers and returns to the
scheduler, which completes the operation when all that it names have arrived, and resumes the thread
behind it. Named barriers with a count are scheduled; `bar.arrive`, cluster barriers and mbarriers are not
handled.
"""

from __future__ import annotations

from collections.abc import Callable

from racedart.shadow.cpu.emitter import Emitter, Unmodelled, last_type
from racedart.shadow.cpu.layout import Frame, Operation, Status
from racedart.shadow.ptx.model import Immediate, Instruction, Operand, Pair, Register
from racedart.shadow.ptx.types import TYPES

PRED, U32, U64 = TYPES["pred"], TYPES["u32"], TYPES["u64"]

Suspend = Callable[[Status, Operation, int], None]
"""Emit the return to the scheduler and the point of resumption; registers written by the instruction itself
are not saved."""

ALL_LANES = Immediate(0xFFFFFFFF)


def _publish(emitter: Emitter, mask: Operand, value: str = "0") -> None:
    wide = emitter.new(f"zext i32 {emitter.read(mask, U32)} to i64")
    emitter.set_frame(Frame.MASK, wide)
    emitter.set_frame(Frame.VALUE, value)


def _result(emitter: Emitter, bits: int) -> str:
    return emitter.resize(emitter.frame(Frame.RESULT), 64, bits, signed=False)


def _result_predicate(emitter: Emitter) -> str:
    return emitter.new(f"trunc i64 {emitter.frame(Frame.RESULT_PREDICATE)} to i1")


def barrier(emitter: Emitter, instruction: Instruction, site: int, suspend: Suspend) -> None:
    """bar.sync, bar.red, barrier{.cta}.sync and .red, bar.warp.sync."""
    if instruction.has("cluster", "arrive"):
        raise Unmodelled("this kind of barrier")
    if instruction.has("warp"):
        _publish(emitter, instruction.operands[0])
        suspend(Status.WARP, Operation.SYNC, site)
        return
    operands = list(instruction.operands)
    operation, value = Operation.SYNC, "0"
    destination = None
    if instruction.has("red"):
        destination = operands.pop(0)
        value = emitter.new(f"zext i1 {emitter.read(operands.pop(), PRED)} to i64")
        operation = next(
            op
            for name, op in (
                ("popc", Operation.BARRIER_POPC),
                ("and", Operation.BARRIER_AND),
                ("or", Operation.BARRIER_OR),
            )
            if instruction.has(name)
        )
    _publish(emitter, operands[0], value)
    count = emitter.read(operands[1], U32) if len(operands) > 1 else "0"
    emitter.set_frame(Frame.LANE_OPERAND, emitter.new(f"zext i32 {count} to i64"))
    suspend(Status.BARRIER, operation, site)
    if destination is not None:
        if operation == Operation.BARRIER_POPC:
            emitter.write(destination, U32, _result(emitter, 32))
        else:
            emitter.write(destination, PRED, _result_predicate(emitter))


_SHUFFLES = {
    "up": Operation.SHUFFLE_UP,
    "down": Operation.SHUFFLE_DOWN,
    "bfly": Operation.SHUFFLE_BUTTERFLY,
    "idx": Operation.SHUFFLE_INDEX,
}


def shuffle(emitter: Emitter, instruction: Instruction, site: int, suspend: Suspend) -> None:
    """shfl.sync."""
    if not instruction.has("sync"):
        raise Unmodelled("shfl without .sync")
    d, a, b, c, mask = instruction.operands
    operation = next(op for name, op in _SHUFFLES.items() if instruction.has(name))
    _publish(emitter, mask, emitter.new(f"zext i32 {emitter.read(a, U32)} to i64"))
    emitter.set_frame(Frame.LANE_OPERAND, emitter.new(f"zext i32 {emitter.read(b, U32)} to i64"))
    emitter.set_frame(Frame.CLAMP, emitter.new(f"zext i32 {emitter.read(c, U32)} to i64"))
    suspend(Status.WARP, operation, site)
    if isinstance(d, Pair):
        emitter.write(d.first, U32, _result(emitter, 32))
        emitter.write(d.second, PRED, _result_predicate(emitter))
    else:
        emitter.write(d, U32, _result(emitter, 32))


_VOTES = {
    "all": Operation.VOTE_ALL,
    "any": Operation.VOTE_ANY,
    "uni": Operation.VOTE_UNIFORM,
    "ballot": Operation.VOTE_BALLOT,
}


def vote(emitter: Emitter, instruction: Instruction, site: int, suspend: Suspend) -> None:
    """vote.sync, in both spellings of its modifiers."""
    if not instruction.has("sync"):
        raise Unmodelled("vote without .sync")
    d, a, mask = instruction.operands
    operation = next(op for name, op in _VOTES.items() if instruction.has(name))
    _publish(emitter, mask, emitter.new(f"zext i1 {emitter.read(a, PRED)} to i64"))
    suspend(Status.WARP, operation, site)
    if operation == Operation.VOTE_BALLOT:
        emitter.write(d, U32, _result(emitter, 32))
    else:
        emitter.write(d, PRED, _result_predicate(emitter))


def match_lanes(emitter: Emitter, instruction: Instruction, site: int, suspend: Suspend) -> None:
    """match.any.sync and match.all.sync."""
    type_ = last_type(instruction)
    d, a, mask = instruction.operands
    value = emitter.resize(emitter.read(a, type_), type_.bits, 64, signed=False)
    _publish(emitter, mask, value)
    suspend(Status.WARP, Operation.MATCH_ALL if instruction.has("all") else Operation.MATCH_ANY, site)
    if isinstance(d, Pair):
        emitter.write(d.first, U32, _result(emitter, 32))
        emitter.write(d.second, PRED, _result_predicate(emitter))
    else:
        emitter.write(d, U32, _result(emitter, 32))


def reduce_lanes(emitter: Emitter, instruction: Instruction, site: int, suspend: Suspend) -> None:
    """redux.sync on 32-bit integers."""
    type_ = last_type(instruction)
    d, a, mask = instruction.operands
    names = {
        "add": Operation.REDUCE_ADD,
        "min": Operation.REDUCE_MIN_SIGNED if type_.is_signed else Operation.REDUCE_MIN,
        "max": Operation.REDUCE_MAX_SIGNED if type_.is_signed else Operation.REDUCE_MAX,
        "and": Operation.REDUCE_AND,
        "or": Operation.REDUCE_OR,
        "xor": Operation.REDUCE_XOR,
    }
    operation = next((op for name, op in names.items() if instruction.has(name)), None)
    if operation is None or type_.is_float:
        raise Unmodelled("this reduction")
    value = emitter.resize(emitter.read(a, type_), 32, 64, signed=type_.is_signed)
    _publish(emitter, mask, value)
    suspend(Status.WARP, operation, site)
    emitter.write(d, U32, _result(emitter, 32))


def active_mask(emitter: Emitter, instruction: Instruction, site: int, suspend: Suspend) -> None:
    """activemask: the lanes of the warp that arrive here together."""
    _publish(emitter, ALL_LANES)
    suspend(Status.WARP, Operation.ACTIVE, site)
    emitter.write(instruction.operands[0], U32, _result(emitter, 32))


def elect_lane(emitter: Emitter, instruction: Instruction, site: int, suspend: Suspend) -> None:
    """elect.sync: the lowest of the lanes that the mask names."""
    d, mask = instruction.operands
    _publish(emitter, mask, "1")
    suspend(Status.WARP, Operation.VOTE_BALLOT, site)
    lanes = _result(emitter, 32)
    leader = emitter.call("i32", "llvm.cttz.i32", ("i32", lanes), ("i1", "false"))
    own = emitter.read(Register("%laneid"), U32)
    elected = emitter.new(f"icmp eq i32 {leader}, {own}")
    if not isinstance(d, Pair):
        raise Unmodelled("this form of elect")
    emitter.write(d.first, U32, leader)
    emitter.write(d.second, PRED, elected)


MEETINGS: dict[str, Callable[[Emitter, Instruction, int, Suspend], None]] = {
    "bar": barrier,
    "barrier": barrier,
    "shfl": shuffle,
    "vote": vote,
    "match": match_lanes,
    "redux": reduce_lanes,
    "activemask": active_mask,
    "elect": elect_lane,
}

NOTHING = frozenset(
    {
        *("membar", "fence", "nanosleep", "prefetch", "prefetchu", "discard", "applypriority", "pmevent"),
        *("setmaxnreg", "griddepcontrol"),
    }
)
"""Instructions that compute nothing here. The order that fences make is not modelled: the plan names it."""
