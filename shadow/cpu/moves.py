"""Comparison, selection, moves and conversions (PTX ISA 9.7.6, 9.7.9) as LLVM IR.

Not handled: packed comparisons, `cvt` to 8-bit floats or with directed rounding (but `.rz` of a narrowing
one), `slct.f32` on NaN follows its comparison with zero.
"""

from __future__ import annotations

from collections.abc import Callable

from racedart.shadow.cpu.emitter import Emitter, Unmodelled, last_type
from racedart.shadow.cpu.floats import saturate
from racedart.shadow.cpu.layout import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW
from racedart.shadow.ptx.model import Instruction, Operand, Pair, Register
from racedart.shadow.ptx.types import TYPES, Type

PRED, U64 = TYPES["pred"], TYPES["u64"]

_UNSIGNED = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
_ORDERED = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
_FLOAT = {
    **{c: f"o{c}" for c in ("eq", "lt", "le", "gt", "ge")},
    "ne": "one",
    "equ": "ueq",
    "neu": "une",
    "ltu": "ult",
    "leu": "ule",
    "gtu": "ugt",
    "geu": "uge",
    "num": "ord",
    "nan": "uno",
}


def _comparison(emitter: Emitter, instruction: Instruction, type_: Type, a: Operand, b: Operand) -> str:
    operator = instruction.modifiers[0]
    if type_.kind == "packed":
        raise Unmodelled("a packed comparison")
    if type_.is_float:
        if operator not in _FLOAT:
            raise Unmodelled(f"the comparison .{operator}")
        x, y = emitter.read_float(a, type_), emitter.read_float(b, type_)
        return emitter.new(f"fcmp {_FLOAT[operator]} {emitter.compute_type(type_)} {x}, {y}")
    x, y = emitter.read(a, type_), emitter.read(b, type_)
    if operator in {"eq", "ne"}:
        condition = operator
    elif operator in _UNSIGNED:
        condition = _UNSIGNED[operator]
    elif operator in _ORDERED:
        condition = ("s" if type_.is_signed else "u") + operator
    else:
        raise Unmodelled(f"the comparison .{operator}")
    return emitter.new(f"icmp {condition} i{type_.bits} {x}, {y}")


def _combined(emitter: Emitter, instruction: Instruction, value: str, operands: tuple[Operand, ...]) -> str:
    """Join the comparison with a third predicate by .and, .or or .xor."""
    joiner = next((m for m in instruction.modifiers if m in {"and", "or", "xor"}), None)
    if joiner is None or len(operands) < 4:
        return value
    return emitter.new(f"{joiner} i1 {value}, {emitter.read(operands[3], PRED)}")


def set_predicate(emitter: Emitter, instruction: Instruction) -> None:
    """setp, with one or two destinations."""
    type_ = last_type(instruction)
    d, a, b = instruction.operands[:3]
    value = _comparison(emitter, instruction, type_, a, b)
    first = _combined(emitter, instruction, value, instruction.operands)
    if isinstance(d, Pair):
        opposite = emitter.new(f"xor i1 {value}, true")
        second = _combined(emitter, instruction, opposite, instruction.operands)
        emitter.write(d.first, PRED, first)
        emitter.write(d.second, PRED, second)
    else:
        emitter.write(d, PRED, first)


def set_value(emitter: Emitter, instruction: Instruction) -> None:
    """set: all ones (integers) or 1.0 where the comparison holds."""
    result, type_ = (TYPES[m] for m in instruction.modifiers if m in TYPES)
    d, a, b = instruction.operands[:3]
    value = _comparison(emitter, instruction, type_, a, b)
    value = _combined(emitter, instruction, value, instruction.operands)
    if result.is_float:
        one = emitter.as_bits("1.0", result)
        emitter.write(d, result, emitter.new(f"select i1 {value}, i{result.bits} {one}, i{result.bits} 0"))
    else:
        emitter.write(d, result, emitter.new(f"sext i1 {value} to i{result.bits}"))


def select(emitter: Emitter, instruction: Instruction) -> None:
    """selp."""
    type_ = last_type(instruction)
    d, a, b, p = instruction.operands
    x, y, condition = emitter.read(a, type_), emitter.read(b, type_), emitter.read(p, PRED)
    emitter.write(d, type_, emitter.new(f"select i1 {condition}, i{type_.bits} {x}, i{type_.bits} {y}"))


def select_by_sign(emitter: Emitter, instruction: Instruction) -> None:
    """slct: a where c >= 0, else b."""
    type_, sign = (TYPES[m] for m in instruction.modifiers if m in TYPES)
    d, a, b, c = instruction.operands
    if sign.is_float:
        condition = emitter.new(f"fcmp oge float {emitter.read_float(c, sign)}, 0.0")
    else:
        condition = emitter.new(f"icmp sge i32 {emitter.read(c, sign)}, 0")
    x, y = emitter.read(a, type_), emitter.read(b, type_)
    emitter.write(d, type_, emitter.new(f"select i1 {condition}, i{type_.bits} {x}, i{type_.bits} {y}"))


def move(emitter: Emitter, instruction: Instruction) -> None:
    """mov, packing and unpacking vectors."""
    type_ = last_type(instruction)
    d, a = instruction.operands
    emitter.write(d, type_, emitter.read(a, type_))


_WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW}


def convert_address(emitter: Emitter, instruction: Instruction) -> None:
    """cvta and cvta.to; global and constant addresses are generic ones."""
    d, a = instruction.operands
    space = next((m.split("::")[0] for m in instruction.modifiers if m.split("::")[0] in _WINDOWS), None)
    value = emitter.read(a, U64)
    if space is not None:
        operation = "sub" if instruction.has("to") else "add"
        value = emitter.new(f"{operation} i64 {value}, {_WINDOWS[space]}")
    emitter.write(d, U64, value)


def is_space(emitter: Emitter, instruction: Instruction) -> None:
    """isspacep: whether a generic address lies in a window; global is what lies in no window."""
    p, a = instruction.operands
    value = emitter.read(a, U64)
    tests = {}
    for name, base in _WINDOWS.items():
        offset = emitter.new(f"sub i64 {value}, {base}")
        tests[name] = emitter.new(f"icmp ult i64 {offset}, {WINDOW}")
    space = instruction.modifiers[0].split("::")[0]
    if space in tests:
        result = tests[space]
    elif space == "global":
        tests_param = tests["param"]
        some = emitter.new(f"or i1 {tests['shared']}, {tests['local']}")
        result = emitter.new(f"xor i1 {emitter.new(f'or i1 {some}, {tests_param}')}, true")
    else:
        raise Unmodelled(f"isspacep.{space}")
    emitter.write(p, PRED, result)


_INTEGRAL = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


def convert(emitter: Emitter, instruction: Instruction) -> None:
    """cvt between integers and floats of any width, and cvt.rn.{f16x2,bf16x2}.f32."""
    types = [TYPES[m] for m in instruction.modifiers if m in TYPES]
    if len(types) != 2 or len([m for m in instruction.modifiers if m[:1] in "efu" and "x" in m]) > (
        types[0].kind == "packed"
    ):
        raise Unmodelled("a conversion of this type")
    result, source = types
    d, a = instruction.operands[:2]
    if result.kind == "packed":
        _pack_halves(emitter, instruction, TYPES[result.name.removesuffix("x2")])
    elif source.is_float and result.is_float:
        value = emitter.read_float(a, source)
        emitter.write(d, result, _float_to_float(emitter, instruction, source, result, value))
    elif source.is_float:
        emitter.write(d, result, _float_to_integer(emitter, instruction, source, result, a))
    elif result.is_float:
        if instruction.has("rz", "rm", "rp"):
            raise Unmodelled("a rounding mode other than to nearest")
        operation = "sitofp" if source.is_signed else "uitofp"
        llvm = emitter.compute_type(result)
        value = emitter.new(f"{operation} i{source.bits} {emitter.read(a, source)} to {llvm}")
        emitter.write_float(d, result, saturate(emitter, llvm, value) if instruction.has("sat") else value)
    else:
        _integer_to_integer(emitter, instruction, source, result, d, a)


def _pack_halves(emitter: Emitter, instruction: Instruction, half: Type) -> None:
    if instruction.has("rz") or len(instruction.operands) != 3:
        raise Unmodelled("this packed conversion")
    d, a, b = instruction.operands
    total = "0"
    for operand, by in ((b, 0), (a, 16)):
        value = emitter.read_float(operand, TYPES["f32"])
        if instruction.has("relu"):
            value = emitter.call("float", "llvm.maxnum.f32", ("float", value), ("float", "0.0"))
        bits = emitter.new(f"zext i16 {emitter.as_bits(value, half)} to i32")
        total = emitter.new(f"or i32 {total}, {emitter.new(f'shl i32 {bits}, {by}')}")
    emitter.write(d, TYPES["b32"], total)


def _float_to_float(emitter: Emitter, instruction: Instruction, source: Type, result: Type, value: str) -> str:
    llvm = emitter.compute_type(source)
    suffix = "f64" if llvm == "double" else "f32"
    for mode, name in _INTEGRAL.items():
        if instruction.has(mode):
            value = emitter.call(llvm, f"llvm.{name}.{suffix}", (llvm, value))
    if instruction.has("rm", "rp"):
        raise Unmodelled("a rounding mode other than to nearest or zero")
    if instruction.has("sat"):
        value = saturate(emitter, llvm, value)
    if instruction.has("relu"):
        value = emitter.call(llvm, f"llvm.maxnum.{suffix}", (llvm, value), (llvm, "0.0"))
    target = emitter.compute_type(result)
    if result.bits == 16 and source.bits == 64:
        # One rounding, not two: through float a double could be rounded twice.
        if result.name == "bf16":
            raise Unmodelled("a conversion of f64 to bf16")
        half = emitter.new(f"fptrunc double {value} to half")
        return emitter.new(f"bitcast half {half} to i16")
    if llvm == "double" and target == "float":
        narrow = emitter.new(f"fptrunc double {value} to float")
    elif llvm == "float" and target == "double":
        narrow = emitter.new(f"fpext float {value} to double")
    else:
        narrow = value
    bits = emitter.as_bits(narrow, result)
    if instruction.has("rz") and result.bits < source.bits:
        back = emitter.as_float(bits, result)
        if llvm == "double" and target == "float":
            back = emitter.new(f"fpext float {back} to double")
        x, y = (emitter.call(llvm, f"llvm.fabs.{suffix}", (llvm, v)) for v in (back, value))
        away = emitter.new(f"fcmp ogt {llvm} {x}, {y}")
        toward = emitter.new(f"sub i{result.bits} {bits}, 1")
        bits = emitter.new(f"select i1 {away}, i{result.bits} {toward}, i{result.bits} {bits}")
    return bits


def _float_to_integer(emitter: Emitter, instruction: Instruction, source: Type, result: Type, a: Operand) -> str:
    llvm = emitter.compute_type(source)
    suffix = "f64" if llvm == "double" else "f32"
    value = emitter.read_float(a, source)
    name = next((n for mode, n in _INTEGRAL.items() if instruction.has(mode)), "trunc")
    value = emitter.call(llvm, f"llvm.{name}.{suffix}", (llvm, value))
    operation = "fptosi" if result.is_signed else "fptoui"
    bits = f"i{result.bits}"
    return emitter.call(bits, f"llvm.{operation}.sat.{bits}.{suffix}", (llvm, value))


def _integer_to_integer(
    emitter: Emitter, instruction: Instruction, source: Type, result: Type, d: Operand, a: Operand
) -> None:
    value = emitter.read(a, source)
    if instruction.has("sat"):
        value = emitter.resize(value, source.bits, 128, signed=source.is_signed)
        low = -(1 << (result.bits - 1)) if result.is_signed else 0
        high = (1 << (result.bits - result.is_signed)) - 1
        value = emitter.call("i128", "llvm.smax.i128", ("i128", value), ("i128", str(low)))
        value = emitter.call("i128", "llvm.smin.i128", ("i128", value), ("i128", str(high)))
        value = emitter.new(f"trunc i128 {value} to i{result.bits}")
    else:
        value = emitter.resize(value, source.bits, result.bits, signed=source.is_signed)
    emitter.write(d, result, value)


def read_clock(emitter: Emitter, instruction: Instruction) -> bool:
    """A mov from a clock register: time passes from one read to the next. False if it is none."""
    a = instruction.operands[-1]
    if not (isinstance(a, Register) and a.name in {"%clock", "%clock64", "%clock_hi", "%globaltimer"}):
        return False
    type_ = last_type(instruction)
    ticks = emitter.call("i64", "llvm.readcyclecounter")
    emitter.write(instruction.operands[0], type_, emitter.resize(ticks, 64, type_.bits, signed=False))
    return True


def move_or_clock(emitter: Emitter, instruction: Instruction) -> None:
    """mov, with the clock registers."""
    if not read_clock(emitter, instruction):
        move(emitter, instruction)


MOVES: dict[str, Callable[[Emitter, Instruction], None]] = {
    "mov": move_or_clock,
    "cvt": convert,
    "cvta": convert_address,
    "isspacep": is_space,
    "setp": set_predicate,
    "set": set_value,
    "selp": select,
    "slct": select_by_sign,
}
