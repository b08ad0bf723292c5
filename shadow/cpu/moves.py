"""Comparison, selection, moves and conversions (PTX ISA 9.7.6, 9.7.9) as LLVM IR.

`slct.f32` on NaN follows its comparison with zero. Not handled: stochastic rounding.
"""

from __future__ import annotations

from collections.abc import Callable

from racedart.shadow.cpu.emitter import Emitter, Unmodelled, last_type
from racedart.shadow.cpu.floats import flush, saturate
from racedart.shadow.cpu.layout import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW, Frame
from racedart.shadow.cpu.narrow import narrow_conversion
from racedart.shadow.cpu.rounding import compute, directed, stepped
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
        x, y = emitter.read_float(a, type_), emitter.read_float(b, type_)
        return _float_comparison(emitter, instruction, type_, x, y)
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


def _float_comparison(emitter: Emitter, instruction: Instruction, type_: Type, x: str, y: str) -> str:
    operator = instruction.modifiers[0]
    if operator not in _FLOAT:
        raise Unmodelled(f"the comparison .{operator}")
    x, y = flush(emitter, instruction, type_, x), flush(emitter, instruction, type_, y)
    return emitter.new(f"fcmp {_FLOAT[operator]} {emitter.compute_type(type_)} {x}, {y}")


def _packed_comparisons(emitter: Emitter, instruction: Instruction, type_: Type) -> list[str]:
    """The comparisons of the low and the high halves of two packed pairs."""
    half = TYPES[type_.name.removesuffix("x2")]
    pairs = [emitter.read(operand, TYPES["b32"]) for operand in instruction.operands[1:3]]
    results = []
    for k in (0, 16):
        parts = [emitter.new(f"trunc i32 {emitter.new(f'lshr i32 {v}, {k}')} to i16") for v in pairs]
        x, y = (emitter.as_float(part, half) for part in parts)
        value = _float_comparison(emitter, instruction, half, x, y)
        results.append(_combined(emitter, instruction, value, instruction.operands))
    return results


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
    if type_.kind == "packed":
        results = _packed_comparisons(emitter, instruction, type_)
        for target, result in zip((d.first, d.second) if isinstance(d, Pair) else (d,), results, strict=False):
            emitter.write(target, PRED, result)
        return
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
    if type_.kind == "packed":
        ones = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(result.name, 0xFFFF)
        total = "0"
        for k, holds in enumerate(_packed_comparisons(emitter, instruction, type_)):
            part = emitter.new(f"select i1 {holds}, i32 {ones << 16 * k}, i32 0")
            total = emitter.new(f"or i32 {total}, {part}")
        emitter.write(d, TYPES["b32"], total)
        return
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
    special = narrow_conversion(instruction)
    if special is not None:
        special(emitter, instruction)
        return
    types = [TYPES[m] for m in instruction.modifiers if m in TYPES]
    if len(types) != 2 or any(m[:1] in "efu" and "x" in m and m not in TYPES for m in instruction.modifiers):
        raise Unmodelled("a conversion of this type")
    result, source = types
    d, a = instruction.operands[:2]
    if result.kind == "packed":
        _pack_halves(emitter, instruction, TYPES[result.name.removesuffix("x2")])
    elif source.is_float and result.is_float:
        value = flush(emitter, instruction, source, emitter.read_float(a, source))
        emitter.write(d, result, _float_to_float(emitter, instruction, source, result, value))
    elif source.is_float:
        emitter.write(d, result, _float_to_integer(emitter, instruction, source, result, a))
    elif result.is_float:
        emitter.write(d, result, _integer_to_float(emitter, instruction, source, result, a))
    else:
        _integer_to_integer(emitter, instruction, source, result, d, a)


def _integer_to_float(emitter: Emitter, instruction: Instruction, source: Type, result: Type, a: Operand) -> str:
    mode = directed(instruction)
    operation = "sitofp" if source.is_signed else "uitofp"
    value = emitter.read(a, source)
    llvm = "double" if mode or result.bits == 16 else emitter.compute_type(result)
    if mode and source.bits == 64:
        # Both halves are exact; one addition rounds.
        high = emitter.new(f"{'ashr' if source.is_signed else 'lshr'} i64 {value}, 32")
        low = emitter.new(f"and i64 {value}, 4294967295")
        scaled = emitter.new(f"fmul double {emitter.new(f'{operation} i64 {high} to double')}, 4294967296.0")
        rest = emitter.new(f"uitofp i64 {low} to double")
        number = compute(emitter, "fadd", "double", mode, ("double", scaled), ("double", rest))
    else:
        number = emitter.new(f"{operation} i{source.bits} {value} to {llvm}")
    if instruction.has("sat"):
        number = saturate(emitter, llvm, number)
    return _narrowed(emitter, llvm, result, number, mode)


def _narrowed(emitter: Emitter, llvm: str, result: Type, value: str, mode: str) -> str:
    """Bits of a float type for a float or double, rounded once: to nearest, or in a directed mode."""
    target = emitter.compute_type(result)
    if result.bits >= 32 or llvm == "float":
        if llvm == "double" and target == "float" and mode:
            value = compute(emitter, "fptrunc", "float", mode, ("double", value))
        elif llvm != target:
            value = emitter.new(f"{'fpext' if target == 'double' else 'fptrunc'} {llvm} {value} to {target}")
        bits = emitter.as_bits(value, result)
        if not mode or result.bits >= 32:
            return bits
    else:
        bits = emitter.as_bits(_to_odd(emitter, value), result)
    if not mode:
        return bits
    back = emitter.as_float(bits, result)
    if llvm == "double":
        back = emitter.new(f"fpext float {back} to double")
    return stepped(emitter, mode, bits, result.bits, back, value, llvm)


def _to_odd(emitter: Emitter, value: str) -> str:
    """A double cut to a float whose last bit says that something was cut off: rounding it again is exact."""
    cut = compute(emitter, "fptrunc", "float", "rz", ("double", value))
    inexact = emitter.new(f"fcmp one double {emitter.new(f'fpext float {cut} to double')}, {value}")
    bits = emitter.new(f"bitcast float {cut} to i32")
    sticky = emitter.new(f"zext i1 {inexact} to i32")
    return emitter.new(f"bitcast i32 {emitter.new(f'or i32 {bits}, {sticky}')} to float")


def _pack_halves(emitter: Emitter, instruction: Instruction, half: Type) -> None:
    if len(instruction.operands) != 3 or not instruction.modifiers[-1] == "f32" or instruction.has("rs"):
        raise Unmodelled("this packed conversion")
    d, a, b = instruction.operands
    total = "0"
    for operand, by in ((b, 0), (a, 16)):
        value = emitter.read_float(operand, TYPES["f32"])
        if instruction.has("relu"):
            value = emitter.call("float", "llvm.maxnum.f32", ("float", value), ("float", "0.0"))
        bits = emitter.new(f"zext i16 {_narrowed(emitter, 'float', half, value, directed(instruction))} to i32")
        total = emitter.new(f"or i32 {total}, {emitter.new(f'shl i32 {bits}, {by}')}")
    emitter.write(d, TYPES["b32"], total)


def _float_to_float(emitter: Emitter, instruction: Instruction, source: Type, result: Type, value: str) -> str:
    llvm = emitter.compute_type(source)
    suffix = "f64" if llvm == "double" else "f32"
    for mode, name in _INTEGRAL.items():
        if instruction.has(mode):
            value = emitter.call(llvm, f"llvm.{name}.{suffix}", (llvm, value))
    if instruction.has("sat"):
        value = saturate(emitter, llvm, value)
    if instruction.has("relu"):
        value = emitter.call(llvm, f"llvm.maxnum.{suffix}", (llvm, value), (llvm, "0.0"))
    bits = _narrowed(emitter, llvm, result, value, directed(instruction))
    if result.name == "f32" and instruction.has("ftz"):
        bits = emitter.as_bits(flush(emitter, instruction, result, emitter.as_float(bits, result)), result)
    return bits


def _float_to_integer(emitter: Emitter, instruction: Instruction, source: Type, result: Type, a: Operand) -> str:
    llvm = emitter.compute_type(source)
    suffix = "f64" if llvm == "double" else "f32"
    original = value = flush(emitter, instruction, source, emitter.read_float(a, source))
    name = next((n for mode, n in _INTEGRAL.items() if instruction.has(mode)), "trunc")
    value = emitter.call(llvm, f"llvm.{name}.{suffix}", (llvm, value))
    operation = "fptosi" if result.is_signed else "fptoui"
    bits = f"i{result.bits}"
    number = emitter.call(bits, f"llvm.{operation}.sat.{bits}.{suffix}", (llvm, value))
    if source.bits < 64 and result.bits < 64:
        return number
    nan = emitter.new(f"fcmp uno {llvm} {original}, {original}")
    return emitter.new(f"select i1 {nan}, {bits} {-(1 << (result.bits - 1))}, {bits} {number}")


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


_CLOCKS = {
    "%clock": 0,
    "%clock64": 0,
    "%clock_hi": 32,
    "%globaltimer": 0,
    "%globaltimer_lo": 0,
    "%globaltimer_hi": 32,
}
"""Clock registers, and the bit of the thread's clock that each begins at."""
TICKS = 1000
"""Cycles (and nanoseconds) that pass for a thread from one read of a clock to the next."""


def read_clock(emitter: Emitter, instruction: Instruction) -> bool:
    """A mov from a clock register: the thread's own time, which passes when it is read. False if it is none."""
    a = instruction.operands[-1]
    if not (isinstance(a, Register) and a.name in _CLOCKS):
        return False
    type_ = last_type(instruction)
    now = emitter.new(f"add i64 {emitter.frame(Frame.CLOCK)}, {TICKS}")
    emitter.set_frame(Frame.CLOCK, now)
    ticks = emitter.new(f"lshr i64 {now}, {_CLOCKS[a.name]}")
    emitter.write(instruction.operands[0], type_, emitter.resize(ticks, 64, type_.bits, signed=False))
    return True


def cluster_address(emitter: Emitter, instruction: Instruction) -> None:
    """mapa and getctarank where each block is a cluster of its own: the same address, and rank 0."""
    if emitter.clustered:
        raise Unmodelled("an address in another block of a cluster")
    type_ = last_type(instruction)
    rank = instruction.opcode == "getctarank"
    emitter.write(instruction.operands[0], type_, "0" if rank else emitter.read(instruction.operands[1], type_))


def cache_policy(emitter: Emitter, instruction: Instruction) -> None:
    """createpolicy: an opaque value that only cache hints use."""
    emitter.write(instruction.operands[0], TYPES["b64"], "0")


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
    "mapa": cluster_address,
    "getctarank": cluster_address,
    "createpolicy": cache_policy,
}
