"""Integer and logic instructions (PTX ISA 9.7.1, 9.7.2, 9.7.8) as LLVM IR.

Quotient and remainder by zero are all ones, as on an H200 (PTX leaves them open).
"""

from __future__ import annotations

from collections.abc import Callable

from racedart.shadow.cpu.emitter import Emitter, Unmodelled, last_type
from racedart.shadow.ptx.model import Immediate, Instruction, Operand, Pair
from racedart.shadow.ptx.types import TYPES, Type

Translate = Callable[[Emitter, Instruction], None]

U32 = TYPES["u32"]


def _widened(type_: Type) -> Type:
    return TYPES[f"{type_.name[0]}{type_.bits * 2}"]


def _extend(emitter: Emitter, value: str, type_: Type) -> str:
    return emitter.resize(value, type_.bits, type_.bits * 2, signed=type_.is_signed)


def _carried(instruction: Instruction) -> bool:
    return instruction.has("cc") or instruction.opcode in {"addc", "subc", "madc"}


def _sum(emitter: Emitter, instruction: Instruction, type_: Type, a: str, b: str, *, subtract: bool) -> str:
    """a + b or a - b with the carry in and out that the instruction asks for."""
    operation = "usub" if subtract else "uadd"
    bits = f"i{type_.bits}"

    def step(x: str, y: str) -> tuple[str, str]:
        name = f"llvm.{operation}.with.overflow.{bits}"
        emitter.intrinsics.add(f"declare {{{bits}, i1}} @{name}({bits}, {bits})")
        pair = emitter.new(f"call {{{bits}, i1}} @{name}({bits} {x}, {bits} {y})")
        return emitter.new(f"extractvalue {{{bits}, i1}} {pair}, 0"), emitter.new(
            f"extractvalue {{{bits}, i1}} {pair}, 1"
        )

    value, overflow = step(a, b)
    if instruction.opcode in {"addc", "subc", "madc"}:
        carry = emitter.new("load i1, ptr %carry")
        value, second = step(value, emitter.new(f"zext i1 {carry} to {bits}"))
        overflow = emitter.new(f"or i1 {overflow}, {second}")
    if instruction.has("cc"):
        emitter.do(f"store i1 {overflow}, ptr %carry")
    return value


def add_sub(emitter: Emitter, instruction: Instruction) -> None:
    """add, sub, addc, subc, with .cc and .sat.s32."""
    type_ = last_type(instruction)
    d, a, b = instruction.operands
    x, y = emitter.read(a, type_), emitter.read(b, type_)
    subtract = instruction.opcode.startswith("sub")
    if type_.kind == "pair":
        emitter.write(d, type_, _halves(emitter, "sub" if subtract else "add", x, y))
        return
    if _carried(instruction):
        value = _sum(emitter, instruction, type_, x, y, subtract=subtract)
    elif instruction.has("sat"):
        name = f"llvm.{'ssub' if subtract else 'sadd'}.sat.i32"
        value = emitter.call("i32", name, ("i32", x), ("i32", y))
    else:
        value = emitter.new(f"{'sub' if subtract else 'add'} i{type_.bits} {x}, {y}")
    emitter.write(d, type_, value)


def _halves(emitter: Emitter, operation: str, x: str, y: str) -> str:
    """An operation on both 16-bit halves of two words."""
    pair = "<2 x i16>"
    a, b = (emitter.new(f"bitcast i32 {value} to {pair}") for value in (x, y))
    if operation.startswith("llvm."):
        result = emitter.call(pair, f"{operation}.v2i16", (pair, a), (pair, b))
    else:
        result = emitter.new(f"{operation} {pair} {a}, {b}")
    return emitter.new(f"bitcast {pair} {result} to i32")


def _product(emitter: Emitter, instruction: Instruction, type_: Type, x: str, y: str) -> tuple[str, Type]:
    """The .lo, .hi or .wide product and its type."""
    if instruction.has("wide", "hi"):
        wide = type_.bits * 2
        product = emitter.new(f"mul i{wide} {_extend(emitter, x, type_)}, {_extend(emitter, y, type_)}")
        if instruction.has("wide"):
            return product, _widened(type_)
        high = emitter.new(f"lshr i{wide} {product}, {type_.bits}")
        return emitter.new(f"trunc i{wide} {high} to i{type_.bits}"), type_
    return emitter.new(f"mul i{type_.bits} {x}, {y}"), type_


def multiply(emitter: Emitter, instruction: Instruction) -> None:
    """mul.{lo,hi,wide}."""
    type_ = last_type(instruction)
    d, a, b = instruction.operands
    value, result = _product(emitter, instruction, type_, emitter.read(a, type_), emitter.read(b, type_))
    emitter.write(d, result, value)


def multiply_add(emitter: Emitter, instruction: Instruction) -> None:
    """mad.{lo,hi,wide}, madc, with .cc."""
    type_ = last_type(instruction)
    d, a, b, c = instruction.operands
    value, result = _product(emitter, instruction, type_, emitter.read(a, type_), emitter.read(b, type_))
    addend = emitter.read(c, result)
    if _carried(instruction):
        total = _sum(emitter, instruction, result, value, addend, subtract=False)
    elif instruction.has("sat"):
        total = emitter.call("i32", "llvm.sadd.sat.i32", ("i32", value), ("i32", addend))
    else:
        total = emitter.new(f"add i{result.bits} {value}, {addend}")
    emitter.write(d, result, total)


def multiply24(emitter: Emitter, instruction: Instruction) -> None:
    """mul24 and mad24, .lo and .hi: the product of the low 24 bits, bits 0..31 or 16..47."""
    type_ = last_type(instruction)
    shift = "ashr" if type_.is_signed else "lshr"
    factors = []
    for operand in instruction.operands[1:3]:
        high = emitter.new(f"shl i32 {emitter.read(operand, type_)}, 8")
        low = emitter.new(f"{shift} i32 {high}, 8")
        factors.append(emitter.resize(low, 32, 64, signed=type_.is_signed))
    product = emitter.new(f"mul i64 {factors[0]}, {factors[1]}")
    if instruction.has("hi"):
        product = emitter.new(f"lshr i64 {product}, 16")
    value = emitter.new(f"trunc i64 {product} to i32")
    if instruction.opcode == "mad24":
        value = emitter.new(f"add i32 {value}, {emitter.read(instruction.operands[3], type_)}")
    emitter.write(instruction.operands[0], type_, value)


def divide(emitter: Emitter, instruction: Instruction) -> None:
    """div and rem."""
    type_ = last_type(instruction)
    d, a, b = instruction.operands
    bits = f"i{type_.bits}"
    x, y = emitter.read(a, type_), emitter.read(b, type_)
    zero = emitter.new(f"icmp eq {bits} {y}, 0")
    safe = emitter.new(f"select i1 {zero}, {bits} 1, {bits} {y}")
    remainder = instruction.opcode == "rem"
    if type_.is_signed:
        # LLVM leaves INT_MIN / -1 undefined; the quotient by -1 is the negation, the remainder 0.
        minus = emitter.new(f"icmp eq {bits} {safe}, -1")
        safe = emitter.new(f"select i1 {minus}, {bits} 1, {bits} {safe}")
        value = emitter.new(f"{'srem' if remainder else 'sdiv'} {bits} {x}, {safe}")
        negated = "0" if remainder else emitter.new(f"sub {bits} 0, {x}")
        value = emitter.new(f"select i1 {minus}, {bits} {negated}, {bits} {value}")
    else:
        value = emitter.new(f"{'urem' if remainder else 'udiv'} {bits} {x}, {safe}")
    emitter.write(d, type_, emitter.new(f"select i1 {zero}, {bits} -1, {bits} {value}"))


def negate(emitter: Emitter, instruction: Instruction) -> None:
    """neg."""
    type_ = last_type(instruction)
    d, a = instruction.operands
    emitter.write(d, type_, emitter.new(f"sub i{type_.bits} 0, {emitter.read(a, type_)}"))


def absolute(emitter: Emitter, instruction: Instruction) -> None:
    """abs."""
    type_ = last_type(instruction)
    d, a = instruction.operands
    bits = f"i{type_.bits}"
    value = emitter.call(bits, f"llvm.abs.{bits}", (bits, emitter.read(a, type_)), ("i1", "false"))
    emitter.write(d, type_, value)


def difference(emitter: Emitter, instruction: Instruction) -> None:
    """sad: |a - b| + c."""
    type_ = last_type(instruction)
    d, a, b, c = instruction.operands
    bits = f"i{type_.bits}"
    x, y = emitter.read(a, type_), emitter.read(b, type_)
    less = emitter.new(f"icmp {'slt' if type_.is_signed else 'ult'} {bits} {x}, {y}")
    forward, back = emitter.new(f"sub {bits} {x}, {y}"), emitter.new(f"sub {bits} {y}, {x}")
    distance = emitter.new(f"select i1 {less}, {bits} {back}, {bits} {forward}")
    emitter.write(d, type_, emitter.new(f"add {bits} {distance}, {emitter.read(c, type_)}"))


def minimum_maximum(emitter: Emitter, instruction: Instruction) -> None:
    """min and max of integers."""
    type_ = last_type(instruction)
    d, a, b = instruction.operands
    bits = f"i{type_.bits}"
    if type_.kind == "pair":
        name = f"llvm.{type_.name[0]}{instruction.opcode}"
        result = _halves(emitter, name, emitter.read(a, type_), emitter.read(b, type_))
        if instruction.has("relu"):
            result = _halves(emitter, "llvm.smax", result, "0")
        emitter.write(d, type_, result)
        return
    name = f"llvm.{'s' if type_.is_signed else 'u'}{instruction.opcode}.{bits}"
    value = emitter.call(bits, name, (bits, emitter.read(a, type_)), (bits, emitter.read(b, type_)))
    if instruction.has("relu"):
        value = emitter.call(bits, f"llvm.smax.{bits}", (bits, value), (bits, "0"))
    emitter.write(d, type_, value)


def bitwise(emitter: Emitter, instruction: Instruction) -> None:
    """and, or, xor."""
    type_ = last_type(instruction)
    d, a, b = instruction.operands
    x, y = emitter.read(a, type_), emitter.read(b, type_)
    emitter.write(d, type_, emitter.new(f"{instruction.opcode} i{type_.bits} {x}, {y}"))


def invert(emitter: Emitter, instruction: Instruction) -> None:
    """not."""
    type_ = last_type(instruction)
    d, a = instruction.operands
    emitter.write(d, type_, emitter.new(f"xor i{type_.bits} {emitter.read(a, type_)}, -1"))


def is_zero(emitter: Emitter, instruction: Instruction) -> None:
    """cnot: 1 if the operand is 0, else 0."""
    type_ = last_type(instruction)
    d, a = instruction.operands
    zero = emitter.new(f"icmp eq i{type_.bits} {emitter.read(a, type_)}, 0")
    emitter.write(d, type_, emitter.new(f"zext i1 {zero} to i{type_.bits}"))


def shift(emitter: Emitter, instruction: Instruction) -> None:
    """shl and shr; amounts beyond the width shift everything out."""
    type_ = last_type(instruction)
    d, a, b = instruction.operands
    bits = f"i{type_.bits}"
    x = emitter.read(a, type_)
    amount = emitter.read(b, U32)
    beyond = emitter.new(f"icmp uge i32 {amount}, {type_.bits}")
    arithmetic = instruction.opcode == "shr" and type_.is_signed
    last = type_.bits - 1 if arithmetic else 0
    safe = emitter.new(f"select i1 {beyond}, i32 {last}, i32 {amount}")
    sized = emitter.resize(safe, 32, type_.bits, signed=False)
    operation = "shl" if instruction.opcode == "shl" else "ashr" if arithmetic else "lshr"
    value = emitter.new(f"{operation} {bits} {x}, {sized}")
    if not arithmetic:
        value = emitter.new(f"select i1 {beyond}, {bits} 0, {bits} {value}")
    emitter.write(d, type_, value)


def funnel_shift(emitter: Emitter, instruction: Instruction) -> None:
    """shf.{l,r}.{clamp,wrap}: shift of the 64-bit value b:a."""
    d, a, b, c = instruction.operands
    low, high = emitter.read(a, U32), emitter.read(b, U32)
    amount = emitter.read(c, U32)
    if instruction.has("clamp"):
        amount = emitter.call("i32", "llvm.umin.i32", ("i32", amount), ("i32", "32"))
    else:
        amount = emitter.new(f"and i32 {amount}, 31")
    wide = emitter.new(f"shl i64 {emitter.new(f'zext i32 {high} to i64')}, 32")
    both = emitter.new(f"or i64 {wide}, {emitter.new(f'zext i32 {low} to i64')}")
    by = emitter.new(f"zext i32 {amount} to i64")
    if instruction.has("l"):
        moved = emitter.new(f"shl i64 {both}, {by}")
        moved = emitter.new(f"lshr i64 {moved}, 32")
    else:
        moved = emitter.new(f"lshr i64 {both}, {by}")
    emitter.write(d, U32, emitter.new(f"trunc i64 {moved} to i32"))


def lookup3(emitter: Emitter, instruction: Instruction) -> None:
    """lop3.b32: any function of three bits, given by its truth table."""
    d, a, b, c, table = instruction.operands[:5]
    if not isinstance(table, Immediate):
        raise Unmodelled("this form of lop3")
    inputs = [emitter.read(operand, U32) for operand in (a, b, c)]
    inverted = [emitter.new(f"xor i32 {value}, -1") for value in inputs]
    total = "0"
    for row in range(8):
        if table.value >> row & 1:
            x, y, z = (inputs[k] if row >> (2 - k) & 1 else inverted[k] for k in range(3))
            term = emitter.new(f"and i32 {emitter.new(f'and i32 {x}, {y}')}, {z}")
            total = emitter.new(f"or i32 {total}, {term}")
    if isinstance(d, Pair):
        joiner = "and" if instruction.has("and") else "or"
        some = emitter.new(f"icmp ne i32 {total}, 0")
        other = emitter.read(instruction.operands[5], TYPES["pred"])
        emitter.write(d.second, TYPES["pred"], emitter.new(f"{joiner} i1 {some}, {other}"))
        d = d.first
    emitter.write(d, U32, total)


def count_bits(emitter: Emitter, instruction: Instruction) -> None:
    """popc and clz, to a 32-bit result."""
    type_ = last_type(instruction)
    d, a = instruction.operands
    bits = f"i{type_.bits}"
    value = emitter.read(a, type_)
    if instruction.opcode == "popc":
        count = emitter.call(bits, f"llvm.ctpop.{bits}", (bits, value))
    else:
        count = emitter.call(bits, f"llvm.ctlz.{bits}", (bits, value), ("i1", "false"))
    emitter.write(d, U32, emitter.resize(count, type_.bits, 32, signed=False))


def reverse_bits(emitter: Emitter, instruction: Instruction) -> None:
    """brev."""
    type_ = last_type(instruction)
    d, a = instruction.operands
    bits = f"i{type_.bits}"
    emitter.write(d, type_, emitter.call(bits, f"llvm.bitreverse.{bits}", (bits, emitter.read(a, type_))))


def find_bit(emitter: Emitter, instruction: Instruction) -> None:
    """bfind: position of the highest significant bit, -1 if none; .shiftamt counts from the top."""
    type_ = last_type(instruction)
    d, a = instruction.operands
    bits = f"i{type_.bits}"
    value = emitter.read(a, type_)
    if type_.is_signed:
        negative = emitter.new(f"ashr {bits} {value}, {type_.bits - 1}")
        value = emitter.new(f"xor {bits} {value}, {negative}")
    none = emitter.new(f"icmp eq {bits} {value}, 0")
    leading = emitter.call(bits, f"llvm.ctlz.{bits}", (bits, value), ("i1", "false"))
    position = leading if instruction.has("shiftamt") else emitter.new(f"sub {bits} {type_.bits - 1}, {leading}")
    found = emitter.new(f"select i1 {none}, {bits} -1, {bits} {position}")
    emitter.write(d, U32, emitter.resize(found, type_.bits, 32, signed=True))


def _bits(emitter: Emitter, operand: Operand, width: int) -> str:
    """Position or length of a bit field: the low 8 bits of an operand, at most the width."""
    number = emitter.new(f"and i32 {emitter.read(operand, U32)}, 255")
    return emitter.call("i32", "llvm.umin.i32", ("i32", number), ("i32", str(width)))


def extract_field(emitter: Emitter, instruction: Instruction) -> None:
    """bfe: the field of `len` bits from `pos` on, widened by its sign."""
    type_ = last_type(instruction)
    d, a, b, c = instruction.operands
    bits, width = f"i{type_.bits}", type_.bits
    value = emitter.read(a, type_)
    position, length = _bits(emitter, b, width), _bits(emitter, c, width)
    # Bits from position + length on are zero (or the sign) as if the value had unlimited width.
    wide = emitter.resize(value, width, 128, signed=type_.is_signed)
    right = "ashr" if type_.is_signed else "lshr"
    moved = emitter.new(f"{right} i128 {wide}, {emitter.resize(position, 32, 128, signed=False)}")
    unused = emitter.resize(emitter.new(f"sub i32 128, {length}"), 32, 128, signed=False)
    empty = emitter.new(f"icmp eq i32 {length}, 0")
    safe = emitter.new(f"select i1 {empty}, i128 0, i128 {unused}")
    top = emitter.new(f"shl i128 {moved}, {safe}")
    field = emitter.new(f"{right} i128 {top}, {safe}")
    field = emitter.new(f"select i1 {empty}, i128 0, i128 {field}")
    emitter.write(d, type_, emitter.new(f"trunc i128 {field} to {bits}"))


def insert_field(emitter: Emitter, instruction: Instruction) -> None:
    """bfi: the low `len` bits of a placed at `pos` of b."""
    type_ = last_type(instruction)
    d, a, b, c, e = instruction.operands
    bits, width = f"i{type_.bits}", type_.bits
    source, target = emitter.read(a, type_), emitter.read(b, type_)
    position, length = _bits(emitter, c, width), _bits(emitter, e, width)
    one = emitter.new(f"shl i128 1, {emitter.resize(length, 32, 128, signed=False)}")
    ones = emitter.new(f"sub i128 {one}, 1")
    by = emitter.resize(position, 32, 128, signed=False)
    mask = emitter.new(f"shl i128 {ones}, {by}")
    placed = emitter.new(f"shl i128 {emitter.resize(source, width, 128, signed=False)}, {by}")
    inside = emitter.new(f"and i128 {placed}, {mask}")
    outside = emitter.new(
        f"and i128 {emitter.resize(target, width, 128, signed=False)}, {emitter.new(f'xor i128 {mask}, -1')}"
    )
    emitter.write(d, type_, emitter.new(f"trunc i128 {emitter.new(f'or i128 {inside}, {outside}')} to {bits}"))


_PERMUTATIONS = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}
"""The selector of prmt's default mode for each mode and value of the low two bits of c."""


def permute_bytes(emitter: Emitter, instruction: Instruction) -> None:
    """prmt.b32: each result byte is chosen by four bits of c, or all of them by a mode."""
    d, a, b, c = instruction.operands
    low, high, selector = (emitter.read(operand, U32) for operand in (a, b, c))
    mode = next((m for m in instruction.modifiers if m in _PERMUTATIONS), None)
    if mode is not None:
        row = emitter.new(f"and i32 {selector}, 3")
        selector = str(_PERMUTATIONS[mode][0])
        for k, value in list(enumerate(_PERMUTATIONS[mode]))[1:]:
            selector = emitter.new(
                f"select i1 {emitter.new(f'icmp eq i32 {row}, {k}')}, i32 {value}, i32 {selector}"
            )
    wide = emitter.new(f"shl i64 {emitter.new(f'zext i32 {high} to i64')}, 32")
    both = emitter.new(f"or i64 {wide}, {emitter.new(f'zext i32 {low} to i64')}")
    total = "0"
    for k in range(4):
        nibble = emitter.new(f"lshr i32 {selector}, {4 * k}")
        index = emitter.new(f"and i32 {nibble}, 7")
        by = emitter.new(f"zext i32 {emitter.new(f'shl i32 {index}, 3')} to i64")
        byte = emitter.new(f"trunc i64 {emitter.new(f'lshr i64 {both}, {by}')} to i8")
        sign = emitter.new(f"ashr i8 {byte}, 7")
        replicate = emitter.new(f"trunc i32 {emitter.new(f'lshr i32 {nibble}, 3')} to i1")
        chosen = emitter.new(f"select i1 {replicate}, i8 {sign}, i8 {byte}")
        placed = emitter.new(f"shl i32 {emitter.new(f'zext i8 {chosen} to i32')}, {8 * k}")
        total = emitter.new(f"or i32 {total}, {placed}")
    emitter.write(d, U32, total)


def bit_mask(emitter: Emitter, instruction: Instruction) -> None:
    """bmsk.{clamp,wrap}.b32: ones in b bits from position a on."""
    d, a, b = instruction.operands
    position, length = _clamped(emitter, instruction, a), _clamped(emitter, instruction, b)
    one = emitter.new(f"shl i128 1, {emitter.resize(length, 32, 128, signed=False)}")
    ones = emitter.new(f"sub i128 {one}, 1")
    mask = emitter.new(f"shl i128 {ones}, {emitter.resize(position, 32, 128, signed=False)}")
    emitter.write(d, U32, emitter.new(f"trunc i128 {mask} to i32"))


def extend(emitter: Emitter, instruction: Instruction) -> None:
    """szext.{clamp,wrap}: the low b bits of a, widened by sign or by zeros."""
    type_ = last_type(instruction)
    d, a, b = instruction.operands
    length = _clamped(emitter, instruction, b)
    unused = emitter.resize(emitter.new(f"sub i32 64, {length}"), 32, 64, signed=False)
    empty = emitter.new(f"icmp eq i32 {length}, 0")
    by = emitter.new(f"select i1 {empty}, i64 0, i64 {unused}")
    wide = emitter.resize(emitter.read(a, type_), 32, 64, signed=False)
    top = emitter.new(f"shl i64 {wide}, {by}")
    value = emitter.new(f"{'ashr' if type_.is_signed else 'lshr'} i64 {top}, {by}")
    value = emitter.new(f"select i1 {empty}, i64 0, i64 {value}")
    emitter.write(d, type_, emitter.new(f"trunc i64 {value} to i32"))


def _clamped(emitter: Emitter, instruction: Instruction, operand: Operand) -> str:
    """A bit count or position: at most 32, or modulo 32 in .wrap mode."""
    value = emitter.read(operand, U32)
    if instruction.has("wrap"):
        return emitter.new(f"and i32 {value}, 31")
    return emitter.call("i32", "llvm.umin.i32", ("i32", value), ("i32", "32"))


def nth_bit(emitter: Emitter, instruction: Instruction) -> None:
    """fns.b32: position of the n-th set bit of a mask from a base on, upwards for n > 0 and downwards for n < 0.

    For n = 0 the base itself where its bit is set. 0xffffffff where there is no such bit.
    """
    d, a, b, c = instruction.operands
    mask, base, offset = (emitter.read(operand, U32) for operand in (a, b, c))
    count = emitter.new(f"add i32 {offset}, 0")
    down = emitter.new(f"icmp slt i32 {count}, 0")
    found = "-1"
    wanted = emitter.call("i32", "llvm.abs.i32", ("i32", count), ("i1", "false"))
    wanted = emitter.call("i32", "llvm.umax.i32", ("i32", wanted), ("i32", "1"))
    only = emitter.new(f"icmp eq i32 {count}, 0")
    left = wanted
    for k in range(32):
        step = emitter.new(f"select i1 {down}, i32 {-k}, i32 {k}")
        at = emitter.new(f"add i32 {base}, {step}")
        inside = emitter.new(f"icmp ult i32 {at}, 32")
        by = emitter.new(f"and i32 {at}, 31")
        bit = emitter.new(f"trunc i32 {emitter.new(f'lshr i32 {mask}, {by}')} to i1")
        is_set = emitter.new(f"and i1 {inside}, {bit}")
        if k:
            is_set = emitter.new(f"and i1 {is_set}, {emitter.new(f'xor i1 {only}, true')}")
        left = emitter.new(f"sub i32 {left}, {emitter.new(f'zext i1 {is_set} to i32')}")
        here = emitter.new(f"and i1 {is_set}, {emitter.new(f'icmp eq i32 {left}, 0')}")
        found = emitter.new(f"select i1 {here}, i32 {at}, i32 {found}")
    emitter.write(d, U32, found)


def dot_product2(emitter: Emitter, instruction: Instruction) -> None:
    """dp2a: c plus the products of the two halves of a with the low or the high two bytes of b."""
    d, a, b, c = instruction.operands
    of_a, of_b = (TYPES[m] for m in instruction.modifiers if m in {"u32", "s32"})
    x, y, total = emitter.read(a, U32), emitter.read(b, U32), emitter.read(c, U32)
    start = 16 if instruction.has("hi") else 0
    for k in range(2):
        half = emitter.new(f"trunc i32 {emitter.new(f'lshr i32 {x}, {16 * k}')} to i16")
        byte = emitter.new(f"trunc i32 {emitter.new(f'lshr i32 {y}, {start + 8 * k}')} to i8")
        left = emitter.resize(half, 16, 32, signed=of_a.is_signed)
        right = emitter.resize(byte, 8, 32, signed=of_b.is_signed)
        total = emitter.new(f"add i32 {total}, {emitter.new(f'mul i32 {left}, {right}')}")
    emitter.write(d, U32, total)


def dot_product(emitter: Emitter, instruction: Instruction) -> None:
    """dp4a: c plus the products of the four bytes of a and b."""
    d, a, b, c = instruction.operands
    kinds = [m for m in instruction.modifiers if m in {"u32", "s32"}]
    x, y = emitter.read(a, U32), emitter.read(b, U32)
    total = emitter.read(c, U32)
    for k in range(4):
        factors = []
        for value, kind in zip((x, y), kinds, strict=True):
            byte = emitter.new(f"trunc i32 {emitter.new(f'lshr i32 {value}, {8 * k}')} to i8")
            factors.append(emitter.resize(byte, 8, 32, signed=kind == "s32"))
        total = emitter.new(f"add i32 {total}, {emitter.new(f'mul i32 {factors[0]}, {factors[1]}')}")
    emitter.write(d, U32, total)


INTEGERS: dict[str, Translate] = {
    "add": add_sub,
    "sub": add_sub,
    "addc": add_sub,
    "subc": add_sub,
    "mul": multiply,
    "mad": multiply_add,
    "madc": multiply_add,
    "mul24": multiply24,
    "mad24": multiply24,
    "div": divide,
    "rem": divide,
    "neg": negate,
    "abs": absolute,
    "sad": difference,
    "min": minimum_maximum,
    "max": minimum_maximum,
    "and": bitwise,
    "or": bitwise,
    "xor": bitwise,
    "not": invert,
    "cnot": is_zero,
    "shl": shift,
    "shr": shift,
    "shf": funnel_shift,
    "lop3": lookup3,
    "popc": count_bits,
    "clz": count_bits,
    "brev": reverse_bits,
    "bfind": find_bit,
    "bfe": extract_field,
    "bfi": insert_field,
    "prmt": permute_bytes,
    "dp4a": dot_product,
    "dp2a": dot_product2,
    "fns": nth_bit,
    "bmsk": bit_mask,
    "szext": extend,
}
