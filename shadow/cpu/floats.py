"""Floating-point instructions (PTX ISA 9.7.3, 9.7.4) as LLVM IR.

f16 and bf16 are computed in float and rounded once more; packed pairs half by half. `.approx` functions use
the host's mathematical library and differ from a GPU in the last bits. A NaN that an operation makes has the
host's bits, not the GPU's canonical ones.
Not handled: stochastic rounding, directed rounding of f16, `.ftz` of an f64 approximation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from racedart.shadow.cpu import rounding
from racedart.shadow.cpu.emitter import Emitter, Unmodelled, last_type
from racedart.shadow.ptx.model import Instruction, Operand
from racedart.shadow.ptx.types import TYPES, Type

Compute = Callable[[Emitter, Instruction, str, list[str]], str]
"""(emitter, instruction, LLVM type, operand values) -> value."""

_SUFFIX = {"float": "f32", "double": "f64"}


def elementwise(compute: Compute, emitter: Emitter, instruction: Instruction) -> None:
    """Apply a computation to one float, or to both halves of a packed pair."""
    type_ = last_type(instruction)
    if instruction.has("rz", "rm", "rp", "rs"):
        _directed(emitter, instruction, type_)
        return
    if type_.kind == "packed":
        _packed(compute, emitter, instruction, TYPES[type_.name.removesuffix("x2")])
        return
    llvm = emitter.compute_type(type_)
    values = [_flushed_operand(emitter, instruction, operand, type_) for operand in instruction.operands[1:]]
    _write_finished(emitter, instruction, type_, compute(emitter, instruction, llvm, values))


_SMALLEST_NORMAL = {"f32": "0x3810000000000000", "f16": "0x3F10000000000000", "bf16": "0x3810000000000000"}


def flush(emitter: Emitter, instruction: Instruction, type_: Type, value: str) -> str:
    """A value of compute_type; where the instruction has .ftz, a subnormal one as zero of its sign."""
    if not instruction.has("ftz") or type_.name not in _SMALLEST_NORMAL:
        return value
    magnitude = emitter.call("float", "llvm.fabs.f32", ("float", value))
    tiny = emitter.new(f"fcmp olt float {magnitude}, {_SMALLEST_NORMAL[type_.name]}")
    zero = emitter.call("float", "llvm.copysign.f32", ("float", "0.0"), ("float", value))
    return emitter.new(f"select i1 {tiny}, float {zero}, float {value}")


def _flushed_operand(emitter: Emitter, instruction: Instruction, operand: Operand, type_: Type) -> str:
    return flush(emitter, instruction, type_, emitter.read_float(operand, type_))


def _write_finished(emitter: Emitter, instruction: Instruction, type_: Type, value: str) -> None:
    value = _finish(emitter, instruction, emitter.compute_type(type_), value)
    emitter.write_float(instruction.operands[0], type_, flush(emitter, instruction, type_, value))


_CONSTRAINED = {
    "add": "fadd",
    "sub": "fsub",
    "mul": "fmul",
    "div": "fdiv",
    "fma": "fma",
    "mad": "fma",
    "sqrt": "sqrt",
}


def _directed(emitter: Emitter, instruction: Instruction, type_: Type) -> None:
    """add, sub, mul, fma, div, rcp and sqrt of f32 and f64 in a directed rounding mode."""
    opcode = instruction.opcode
    if type_.name not in {"f32", "f64"} or instruction.has("rs") or opcode not in {*_CONSTRAINED, "rcp"}:
        raise Unmodelled("a rounding mode other than to nearest")
    llvm = emitter.compute_type(type_)
    values = [_flushed_operand(emitter, instruction, operand, type_) for operand in instruction.operands[1:]]
    if opcode == "rcp":
        opcode, values = "div", ["1.0", *values]
    result = rounding.compute(
        emitter, _CONSTRAINED[opcode], llvm, rounding.directed(instruction), *((llvm, value) for value in values)
    )
    _write_finished(emitter, instruction, type_, result)


def _packed(compute: Compute, emitter: Emitter, instruction: Instruction, half: Type) -> None:
    both = TYPES["b32"]
    operands = [emitter.read(operand, both) for operand in instruction.operands[1:]]
    total = "0"
    for k in range(2):
        parts = [emitter.new(f"trunc i32 {emitter.new(f'lshr i32 {v}, {16 * k}')} to i16") for v in operands]
        values = [flush(emitter, instruction, half, emitter.as_float(part, half)) for part in parts]
        result = _finish(emitter, instruction, "float", compute(emitter, instruction, "float", values))
        result = flush(emitter, instruction, half, result)
        bits = emitter.new(f"zext i16 {emitter.as_bits(result, half)} to i32")
        total = emitter.new(f"or i32 {total}, {emitter.new(f'shl i32 {bits}, {16 * k}')}")
    emitter.write(instruction.operands[0], both, total)


def _finish(emitter: Emitter, instruction: Instruction, llvm: str, value: str) -> str:
    if instruction.has("sat"):
        return saturate(emitter, llvm, value)
    if instruction.has("relu"):
        return emitter.call(llvm, f"llvm.maxnum.{_SUFFIX[llvm]}", (llvm, value), (llvm, "0.0"))
    return value


def saturate(emitter: Emitter, llvm: str, value: str) -> str:
    """Clamp to [0, 1]; NaN gives 0."""
    suffix = _SUFFIX[llvm]
    low = emitter.call(llvm, f"llvm.maxnum.{suffix}", (llvm, value), (llvm, "0.0"))
    return emitter.call(llvm, f"llvm.minnum.{suffix}", (llvm, low), (llvm, "1.0"))


def _operator(name: str) -> Compute:
    return lambda emitter, instruction, llvm, values: emitter.new(f"{name} {llvm} {', '.join(values)}")


def _function(name: str) -> Compute:
    def compute(emitter: Emitter, instruction: Instruction, llvm: str, values: list[str]) -> str:
        return emitter.call(llvm, f"llvm.{name}.{_SUFFIX[llvm]}", *((llvm, value) for value in values))

    return compute


def _extreme(emitter: Emitter, instruction: Instruction, llvm: str, values: list[str]) -> str:
    signs = values
    # Both order -0 below +0, as the hardware does.
    name = f"{instruction.opcode}imum" if instruction.has("NaN") else f"{instruction.opcode}imumnum"
    result = values[0]
    if instruction.has("abs", "xorsign"):
        values = [emitter.call(llvm, f"llvm.fabs.{_SUFFIX[llvm]}", (llvm, value)) for value in values]
        result = values[0]
    for value in values[1:]:
        result = emitter.call(llvm, f"llvm.{name}.{_SUFFIX[llvm]}", (llvm, result), (llvm, value))
    if instruction.has("xorsign"):
        width = 64 if llvm == "double" else 32
        bits = [emitter.new(f"bitcast {llvm} {value} to i{width}") for value in signs]
        sign = emitter.new(f"bitcast i{width} {emitter.new(f'xor i{width} {bits[0]}, {bits[1]}')} to {llvm}")
        result = emitter.call(llvm, f"llvm.copysign.{_SUFFIX[llvm]}", (llvm, result), (llvm, sign))
    return result


def _reciprocal(emitter: Emitter, instruction: Instruction, llvm: str, values: list[str]) -> str:
    return emitter.new(f"fdiv {llvm} 1.0, {values[0]}")


def _reciprocal_root(emitter: Emitter, instruction: Instruction, llvm: str, values: list[str]) -> str:
    root = emitter.call(llvm, f"llvm.sqrt.{_SUFFIX[llvm]}", (llvm, values[0]))
    return emitter.new(f"fdiv {llvm} 1.0, {root}")


def _hyperbolic_tangent(emitter: Emitter, instruction: Instruction, llvm: str, values: list[str]) -> str:
    return emitter.call(llvm, "tanhf" if llvm == "float" else "tanh", (llvm, values[0]))


def _negated(emitter: Emitter, instruction: Instruction, llvm: str, values: list[str]) -> str:
    return emitter.new(f"fneg {llvm} {values[0]}")


def copy_sign(emitter: Emitter, instruction: Instruction) -> None:
    """copysign: the magnitude of b with the sign of a."""
    type_ = last_type(instruction)
    d, a, b = instruction.operands
    llvm = emitter.compute_type(type_)
    sign, magnitude = emitter.read_float(a, type_), emitter.read_float(b, type_)
    value = emitter.call(llvm, f"llvm.copysign.{_SUFFIX[llvm]}", (llvm, magnitude), (llvm, sign))
    emitter.write_float(d, type_, value)


_CLASSES = {
    # llvm.is.fpclass test bits: 3 NaN, 516 infinity, 264 normal, 144 subnormal, 504 finite (with zero).
    "notanumber": 3,
    "number": 1020,
    "infinite": 516,
    "finite": 504,
    "normal": 264,
    "subnormal": 144,
}


def test_property(emitter: Emitter, instruction: Instruction) -> None:
    """testp: the class of a float."""
    type_ = last_type(instruction)
    d, a = instruction.operands
    llvm = emitter.compute_type(type_)
    mask = next((_CLASSES[m] for m in instruction.modifiers if m in _CLASSES), None)
    if mask is None:
        raise Unmodelled("this property")
    value = emitter.read_float(a, type_)
    result = emitter.call("i1", f"llvm.is.fpclass.{_SUFFIX[llvm]}", (llvm, value), ("i32 immarg", str(mask)))
    emitter.write(d, TYPES["pred"], result)


_COMPUTE: dict[str, Compute] = {
    "add": _operator("fadd"),
    "sub": _operator("fsub"),
    "mul": _operator("fmul"),
    "div": _operator("fdiv"),
    "fma": _function("fma"),
    "mad": _function("fma"),
    "neg": _negated,
    "abs": _function("fabs"),
    "min": _extreme,
    "max": _extreme,
    "rcp": _reciprocal,
    "sqrt": _function("sqrt"),
    "rsqrt": _reciprocal_root,
    "sin": _function("sin"),
    "cos": _function("cos"),
    "lg2": _function("log2"),
    "ex2": _function("exp2"),
    "tanh": _hyperbolic_tangent,
}

FLOAT_OPERATIONS: dict[str, Callable[[Emitter, Instruction], None]] = {
    **{opcode: partial(elementwise, compute) for opcode, compute in _COMPUTE.items()},
    "copysign": copy_sign,
    "testp": test_property,
}
