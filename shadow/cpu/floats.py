"""Floating-point instructions (PTX ISA 9.7.3, 9.7.4) as LLVM IR.

f16 and bf16 are computed in float and rounded once more; packed pairs half by half. Directed rounding of
f32 sums and products follows from their exact value, as an unevaluated sum of two doubles. `.approx` functions use
the host's mathematical library and differ from a GPU in the last bits. `.ftz` is not applied, and a NaN that an
operation makes has the host's bits, not the GPU's canonical ones.
Not handled: directed rounding of f64 and of quotients and roots, `testp` of other kinds than listed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from racedart.shadow.cpu.emitter import Emitter, Unmodelled, last_type
from racedart.shadow.ptx.model import Instruction
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
    values = [emitter.read_float(operand, type_) for operand in instruction.operands[1:]]
    result = _finish(emitter, instruction, llvm, compute(emitter, instruction, llvm, values))
    emitter.write_float(instruction.operands[0], type_, result)


def _directed(emitter: Emitter, instruction: Instruction, type_: Type) -> None:
    """add, sub, mul and fma of f32 in a directed rounding mode.

    The exact result is s + t with doubles s and t (Knuth's two-sum; a product of two floats is exact in
    double). The result to nearest is moved by one unit where it lies on the wrong side of it.
    """
    opcode = instruction.opcode
    if type_.name != "f32" or opcode not in {"add", "sub", "mul", "fma", "mad"} or instruction.has("rs"):
        raise Unmodelled("a rounding mode other than to nearest")
    wide = [
        emitter.new(f"fpext float {emitter.read_float(operand, type_)} to double")
        for operand in instruction.operands[1:]
    ]
    if opcode in {"add", "sub"}:
        a, b = wide[0], wide[1] if opcode == "add" else emitter.new(f"fneg double {wide[1]}")
    else:
        a, b = emitter.new(f"fmul double {wide[0]}, {wide[1]}"), wide[2] if len(wide) > 2 else "0.0"
    total = emitter.new(f"fadd double {a}, {b}")
    part = emitter.new(f"fsub double {total}, {a}")
    rest_a = emitter.new(f"fsub double {a}, {emitter.new(f'fsub double {total}, {part}')}")
    rest = emitter.new(f"fadd double {rest_a}, {emitter.new(f'fsub double {b}, {part}')}")
    nearest = emitter.new(f"fptrunc double {total} to float")
    back = emitter.new(f"fpext float {nearest} to double")
    bits = emitter.as_bits(nearest, type_)
    # exact - nearest, whose sign alone matters.
    error = emitter.new(f"fadd double {emitter.new(f'fsub double {total}, {back}')}, {rest}")
    below, above = emitter.new(f"fcmp olt double {error}, 0.0"), emitter.new(f"fcmp ogt double {error}, 0.0")
    negative = emitter.new(f"icmp slt i32 {bits}, 0")
    if instruction.has("rz"):
        positive = emitter.new(f"xor i1 {negative}, true")
        wrong = emitter.new(
            f"or i1 {emitter.new(f'and i1 {below}, {positive}')}, {emitter.new(f'and i1 {above}, {negative}')}"
        )
        moved = emitter.new(f"sub i32 {bits}, 1")
    else:
        down = instruction.has("rm")
        wrong = below if down else above
        magnitude = emitter.new(f"and i32 {bits}, 2147483647")
        zero = emitter.new(f"icmp eq i32 {magnitude}, 0")
        grow, shrink = emitter.new(f"add i32 {bits}, 1"), emitter.new(f"sub i32 {bits}, 1")
        outward, inward = (grow, shrink) if down else (shrink, grow)
        moved = emitter.new(f"select i1 {negative}, i32 {outward}, i32 {inward}")
        smallest = "-2147483647" if down else "1"
        moved = emitter.new(f"select i1 {zero}, i32 {smallest}, i32 {moved}")
    result = emitter.new(f"select i1 {wrong}, i32 {moved}, i32 {bits}")
    if instruction.has("rm") and opcode != "mul":
        # A sum of opposite numbers is -0 when rounding down (IEEE 754, 6.3).
        cancelled = emitter.new(f"fcmp oeq double {total}, 0.0")
        exact = emitter.new(f"fcmp oeq double {error}, 0.0")
        signs = [emitter.new(f"lshr i64 {emitter.new(f'bitcast double {v} to i64')}, 63") for v in (a, b)]
        opposite = emitter.new(f"icmp ne i64 {signs[0]}, {signs[1]}")
        both = emitter.new(f"and i1 {emitter.new(f'and i1 {cancelled}, {exact}')}, {opposite}")
        result = emitter.new(f"select i1 {both}, i32 {-(2**31)}, i32 {result}")
    value = _finish(emitter, instruction, "float", emitter.as_float(result, type_))
    emitter.write_float(instruction.operands[0], type_, value)


def _packed(compute: Compute, emitter: Emitter, instruction: Instruction, half: Type) -> None:
    both = TYPES["b32"]
    operands = [emitter.read(operand, both) for operand in instruction.operands[1:]]
    total = "0"
    for k in range(2):
        parts = [emitter.new(f"trunc i32 {emitter.new(f'lshr i32 {v}, {16 * k}')} to i16") for v in operands]
        values = [emitter.as_float(part, half) for part in parts]
        result = _finish(emitter, instruction, "float", compute(emitter, instruction, "float", values))
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
    if instruction.has("xorsign"):
        raise Unmodelled("min or max with .xorsign")
    # Both order -0 below +0, as the hardware does.
    name = f"{instruction.opcode}imum" if instruction.has("NaN") else f"{instruction.opcode}imumnum"
    result = values[0]
    if instruction.has("abs"):
        values = [emitter.call(llvm, f"llvm.fabs.{_SUFFIX[llvm]}", (llvm, value)) for value in values]
        result = values[0]
    for value in values[1:]:
        result = emitter.call(llvm, f"llvm.{name}.{_SUFFIX[llvm]}", (llvm, result), (llvm, value))
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
