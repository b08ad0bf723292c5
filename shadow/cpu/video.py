"""Video instructions (PTX ISA 9.7.15) as LLVM IR: scalar ones on selected bytes, and SIMD ones on bytes or halves.

vadd, vsub, vabsdiff, vmin, vmax, vavrg, vset, vshl, vshr and vmad, computed in 64 bits, then saturated and joined
with the third operand. Not handled: negated operands and .po of vmad, a destination or SIMD operand with a
selector.
"""

from __future__ import annotations

from collections.abc import Callable

from racedart.shadow.cpu.emitter import Emitter, Unmodelled
from racedart.shadow.ptx.model import Instruction, Operand, Selected
from racedart.shadow.ptx.types import TYPES, Type

U32 = TYPES["u32"]


def _clamped(emitter: Emitter, value: str, low: int, high: int) -> str:
    value = emitter.call("i64", "llvm.smax.i64", ("i64", value), ("i64", str(low)))
    return emitter.call("i64", "llvm.smin.i64", ("i64", value), ("i64", str(high)))


def _range(type_: Type, bits: int) -> tuple[int, int]:
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type_.is_signed else (0, (1 << bits) - 1)


def _selected(emitter: Emitter, operand: Operand, type_: Type) -> str:
    """A scalar operand as i64: the whole register, or the byte or half that its selector names."""
    width, shift = 32, 0
    if isinstance(operand, Selected):
        kind, number = operand.part[0], operand.part[1:]
        if len(number) != 1:
            raise Unmodelled("this selector")
        width = 8 if kind == "b" else 16
        shift = int(number) * width
        operand = operand.register
    value = emitter.read(operand, U32)
    if width < 32:
        value = emitter.new(f"trunc i32 {emitter.new(f'lshr i32 {value}, {shift}')} to i{width}")
    return emitter.resize(value, width, 64, signed=type_.is_signed)


_COMPARISONS = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}


def _operate(emitter: Emitter, instruction: Instruction, name: str, x: str, y: str) -> str:
    """The operation on two values of 64 bits, both within their 32-bit range."""
    match name:
        case "add" | "sub":
            return emitter.new(f"{name} i64 {x}, {y}")
        case "absdiff":
            return emitter.call("i64", "llvm.abs.i64", ("i64", emitter.new(f"sub i64 {x}, {y}")), ("i1", "false"))
        case "min" | "max":
            return emitter.call("i64", f"llvm.s{name}.i64", ("i64", x), ("i64", y))
        case "avrg":
            # Halves are rounded away from zero.
            total = emitter.new(f"add i64 {x}, {y}")
            rounding = emitter.new(f"zext i1 {emitter.new(f'icmp sge i64 {total}, 0')} to i64")
            return emitter.new(f"ashr i64 {emitter.new(f'add i64 {total}, {rounding}')}, 1")
        case "set":
            condition = next((c for m, c in _COMPARISONS.items() if instruction.has(m)), None)
            if condition is None:
                raise Unmodelled("this comparison")
            return emitter.new(f"zext i1 {emitter.new(f'icmp {condition} i64 {x}, {y}')} to i64")
    raise Unmodelled(f"the video operation {name}")


def _joined(emitter: Emitter, instruction: Instruction, value: str, third: str, signed: bool) -> str:
    """The secondary operation with the third operand: its sum, the smaller or the larger one."""
    for name in ("add", "min", "max"):
        if instruction.has(name):
            if name == "add":
                return emitter.new(f"add i32 {value}, {third}")
            return emitter.call("i32", f"llvm.{'s' if signed else 'u'}{name}.i32", ("i32", value), ("i32", third))
    raise Unmodelled("this secondary operation")


def scalar(name: str, emitter: Emitter, instruction: Instruction) -> None:
    """vadd, vsub, vabsdiff, vmin, vmax, vset, vshl, vshr, vmad of 32 bits."""
    types = [TYPES[m] for m in instruction.modifiers if m in {"u32", "s32"}]
    if name == "set":
        types.insert(0, U32)
    result, of_a, of_b = types[:3]
    d, a, b, *rest = instruction.operands
    if isinstance(d, Selected) or instruction.has("po"):
        raise Unmodelled("this form of a video instruction")
    x, y = _selected(emitter, a, of_a), _selected(emitter, b, of_b)
    if name in {"shl", "shr"}:
        amount = emitter.call("i64", "llvm.umin.i64", ("i64", y), ("i64", "32"))
        if instruction.has("wrap"):
            amount = emitter.new(f"and i64 {y}, 31")
        operation = "shl" if name == "shl" else "ashr" if of_a.is_signed else "lshr"
        value = emitter.new(f"{operation} i64 {x}, {amount}")
    elif name == "mad":
        product = emitter.new(f"mul i64 {x}, {y}")
        value = emitter.new(f"add i64 {product}, {_selected(emitter, rest.pop(0), result)}")
        shift = next((int(m[3:]) for m in instruction.modifiers if m in {"shr7", "shr15"}), 0)
        value = emitter.new(f"{'ashr' if result.is_signed else 'lshr'} i64 {value}, {shift}")
    else:
        value = _operate(emitter, instruction, name, x, y)
    if instruction.has("sat"):
        value = _clamped(emitter, value, *_range(result, 32))
    low = emitter.new(f"trunc i64 {value} to i32")
    if rest:
        low = _joined(emitter, instruction, low, emitter.read(rest[0], U32), result.is_signed)
    emitter.write(d, U32, low)


def lanes(name: str, width: int, emitter: Emitter, instruction: Instruction) -> None:
    """The SIMD forms: two halves or four bytes at once; .add sums the results onto the third operand."""
    types = [TYPES[m] for m in instruction.modifiers if m in {"u32", "s32"}]
    if name == "set":
        types.insert(0, U32)
    result, of_a, of_b = types[:3]
    d, a, b, c = instruction.operands
    if any(isinstance(operand, Selected) for operand in instruction.operands):
        raise Unmodelled("a selector of a SIMD video instruction")
    x, y, total = (emitter.read(operand, U32) for operand in (a, b, c))
    accumulate = instruction.has("add")
    if not accumulate:
        total = "0"
    for at in range(0, 32, width):
        parts = []
        for value, type_ in ((x, of_a), (y, of_b)):
            part = emitter.new(f"trunc i32 {emitter.new(f'lshr i32 {value}, {at}')} to i{width}")
            parts.append(emitter.resize(part, width, 64, signed=type_.is_signed))
        value = _operate(emitter, instruction, name, *parts)
        if instruction.has("sat"):
            value = _clamped(emitter, value, *_range(result, width))
        part = emitter.new(f"trunc i64 {value} to i{width}")
        wide = emitter.resize(part, width, 32, signed=accumulate and result.is_signed)
        if accumulate:
            total = emitter.new(f"add i32 {total}, {wide}")
        else:
            total = emitter.new(f"or i32 {total}, {emitter.new(f'shl i32 {wide}, {at}')}")
    emitter.write(d, U32, total)


def _scalar(name: str) -> Callable[[Emitter, Instruction], None]:
    return lambda emitter, instruction: scalar(name, emitter, instruction)


def _lanes(name: str, width: int) -> Callable[[Emitter, Instruction], None]:
    return lambda emitter, instruction: lanes(name, width, emitter, instruction)


VIDEO: dict[str, Callable[[Emitter, Instruction], None]] = {
    **{f"v{name}": _scalar(name) for name in ("add", "sub", "absdiff", "min", "max", "set", "shl", "shr", "mad")},
    **{
        f"v{name}{32 // width}": _lanes(name, width)
        for name in ("add", "sub", "avrg", "absdiff", "min", "max", "set")
        for width in (8, 16)
    },
}
