"""Conversions to and from formats narrower than a register (PTX ISA 9.7.9.21): tf32, fp8 pairs, packed integers.

fp8 are e4m3 (3 bits of fraction, exponents from -6, no infinity) and e5m2 (2 bits, from -14); both are rounded to
nearest even and saturate. Not handled: fp6, fp4 and ue8m0, which need an architecture beyond sm_90.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from racedart.shadow.cpu.emitter import Emitter, Unmodelled
from racedart.shadow.ptx.model import Instruction
from racedart.shadow.ptx.types import TYPES

B16, B32, F16, F32 = TYPES["b16"], TYPES["b32"], TYPES["f16"], TYPES["f32"]


@dataclass(frozen=True, slots=True)
class Eight:
    """An 8-bit float: bits of fraction, least exponent of a normal number, code of the largest finite one."""

    fraction: int
    least: int
    largest: int


EIGHTS = {"e4m3x2": Eight(3, -6, 0x7E), "e5m2x2": Eight(2, -14, 0x7B)}
_NOT_A_NUMBER = 0x7F


def _power(exponent: int) -> str:
    """A power of two as an LLVM constant."""
    return f"0x{(1023 + exponent) << 52:016X}"


def to_tf32(emitter: Emitter, instruction: Instruction) -> None:
    """cvt.{rna,rn,rz}.tf32.f32: ten bits of fraction, the others zero."""
    d, a = instruction.operands
    value = emitter.read_float(a, F32)
    if instruction.has("relu"):
        value = emitter.call("float", "llvm.maxnum.f32", ("float", value), ("float", "0.0"))
    bits = emitter.as_bits(value, F32)
    if instruction.has("rz"):
        added = bits
    elif instruction.has("rna"):
        added = emitter.new(f"add i32 {bits}, 4096")
    else:
        odd = emitter.new(f"and i32 {emitter.new(f'lshr i32 {bits}, 13')}, 1")
        added = emitter.new(f"add i32 {bits}, {emitter.new(f'add i32 {odd}, 4095')}")
    rounded = emitter.new(f"and i32 {added}, -8192")
    if instruction.has("satfinite"):
        magnitude = emitter.new(f"and i32 {rounded}, 2147483647")
        least = emitter.call("i32", "llvm.umin.i32", ("i32", magnitude), ("i32", str(0x7F7FE000)))
        sign = emitter.new(f"and i32 {rounded}, -2147483648")
        rounded = emitter.new(f"or i32 {least}, {sign}")
    nan = emitter.new(f"fcmp uno float {value}, {value}")
    emitter.write(d, B32, emitter.new(f"select i1 {nan}, i32 2147483647, i32 {rounded}"))


def to_eights(emitter: Emitter, instruction: Instruction, format_: Eight) -> None:
    """cvt.rn.satfinite.{e4m3x2,e5m2x2} of two f32 (the first one in the high byte) or of f16x2."""
    d, *sources = instruction.operands
    if instruction.has("f16x2"):
        both = emitter.read(sources[0], B32)
        halves = [emitter.new(f"trunc i32 {emitter.new(f'lshr i32 {both}, {k}')} to i16") for k in (0, 16)]
        values = [emitter.as_float(half, F16) for half in halves]
    elif len(sources) == 2:
        values = [emitter.read_float(operand, F32) for operand in reversed(sources)]
    else:
        raise Unmodelled("this conversion to 8-bit floats")
    total = "0"
    for k, value in enumerate(values):
        code = _encoded(emitter, instruction, format_, value)
        total = emitter.new(f"or i32 {total}, {emitter.new(f'shl i32 {code}, {8 * k}')}")
    emitter.write(d, B16, emitter.new(f"trunc i32 {total} to i16"))


def _encoded(emitter: Emitter, instruction: Instruction, format_: Eight, value: str) -> str:
    """The 8-bit code of a float, as i32."""
    if instruction.has("relu"):
        value = emitter.call("float", "llvm.maxnum.f32", ("float", value), ("float", "0.0"))
    bits = emitter.as_bits(value, F32)
    magnitude = emitter.new(f"and i32 {bits}, 2147483647")
    dropped = 23 - format_.fraction
    odd = emitter.new(f"and i32 {emitter.new(f'lshr i32 {magnitude}, {dropped}')}, 1")
    bias = emitter.new(f"add i32 {odd}, {(1 << (dropped - 1)) - 1}")
    kept = emitter.new(f"lshr i32 {emitter.new(f'add i32 {magnitude}, {bias}')}, {dropped}")
    normal = emitter.new(f"sub i32 {kept}, {(126 + format_.least) << format_.fraction}")
    # Below the least normal number the codes count multiples of the smallest subnormal.
    size = emitter.as_float(magnitude, F32)
    scaled = emitter.new(f"fmul float {size}, {_power(format_.fraction - format_.least)}")
    whole = emitter.call("float", "llvm.roundeven.f32", ("float", scaled))
    subnormal = emitter.call("i32", "llvm.fptoui.sat.i32.f32", ("float", whole))
    small = emitter.new(f"icmp ult i32 {magnitude}, {(127 + format_.least) << 23}")
    code = emitter.new(f"select i1 {small}, i32 {subnormal}, i32 {normal}")
    code = emitter.call("i32", "llvm.umin.i32", ("i32", code), ("i32", str(format_.largest)))
    sign = emitter.new(f"and i32 {emitter.new(f'lshr i32 {bits}, 24')}, 128")
    code = emitter.new(f"or i32 {code}, {sign}")
    nan = emitter.new(f"fcmp uno float {value}, {value}")
    return emitter.new(f"select i1 {nan}, i32 {_NOT_A_NUMBER}, i32 {code}")


def from_eights(emitter: Emitter, instruction: Instruction, format_: Eight) -> None:
    """cvt.rn.f16x2.{e4m3x2,e5m2x2}; every 8-bit float is an f16."""
    d, a = instruction.operands
    both = emitter.resize(emitter.read(a, B16), 16, 32, signed=False)
    total = "0"
    for k in range(2):
        code = emitter.new(f"and i32 {emitter.new(f'lshr i32 {both}, {8 * k}')}, 255")
        sign = emitter.new(f"shl i32 {emitter.new(f'and i32 {code}, 128')}, 8")
        rest = emitter.new(f"and i32 {code}, 127")
        if format_.fraction == 2:
            # e5m2 is the high byte of an f16.
            half = emitter.new(f"shl i32 {rest}, 8")
        else:
            placed = emitter.new(f"shl i32 {rest}, 20")
            value = emitter.new(f"fmul float {emitter.as_float(placed, F32)}, {_power(120)}")
            bits = emitter.new(f"zext i16 {emitter.as_bits(value, F16)} to i32")
            nan = emitter.new(f"icmp eq i32 {rest}, 127")
            half = emitter.new(f"select i1 {nan}, i32 {0x7FFF}, i32 {bits}")
        half = emitter.new(f"or i32 {half}, {sign}")
        if instruction.has("relu"):
            negative = emitter.new(f"icmp ne i32 {sign}, 0")
            half = emitter.new(f"select i1 {negative}, i32 0, i32 {half}")
        total = emitter.new(f"or i32 {total}, {emitter.new(f'shl i32 {half}, {16 * k}')}")
    emitter.write(d, B32, total)


def pack_integers(emitter: Emitter, instruction: Instruction) -> None:
    """cvt.pack.sat: a and b saturated to 16 or 8 bits, above the rest of c where there is one."""
    target = next(TYPES[m] for m in instruction.modifiers if m in TYPES)
    source = TYPES["s32"]
    d, a, b, *rest = instruction.operands
    low = -(1 << (target.bits - 1)) if target.is_signed else 0
    high = (1 << (target.bits - target.is_signed)) - 1
    total = "0"
    for k, operand in enumerate((b, a)):
        value = emitter.call("i32", "llvm.smax.i32", ("i32", emitter.read(operand, source)), ("i32", str(low)))
        value = emitter.call("i32", "llvm.smin.i32", ("i32", value), ("i32", str(high)))
        value = emitter.new(f"and i32 {value}, {(1 << target.bits) - 1}")
        total = emitter.new(f"or i32 {total}, {emitter.new(f'shl i32 {value}, {target.bits * k}')}")
    if rest:
        above = emitter.new(f"shl i32 {emitter.read(rest[0], B32)}, {2 * target.bits}")
        total = emitter.new(f"or i32 {total}, {above}")
    emitter.write(d, B32, total)


def narrow_conversion(instruction: Instruction) -> Callable[[Emitter, Instruction], None] | None:
    """The conversion of this file that an instruction is, if it is one."""
    if instruction.has("pack"):
        return pack_integers
    if instruction.modifiers[-2:] == ("tf32", "f32"):
        return to_tf32
    for name, format_ in EIGHTS.items():
        if instruction.has(name):
            convert = from_eights if instruction.modifiers[-1] == name else to_eights
            return lambda emitter, cvt: convert(emitter, cvt, format_)
    return None
