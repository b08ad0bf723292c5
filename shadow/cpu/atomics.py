"""Atomic operations (PTX ISA 9.7.13.14 to 9.7.13.16) as LLVM IR.

A vector is updated element by element, as PTX defines it. `.noftz` and cache hints change nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from racedart.shadow.cpu.emitter import FLOATS, Emitter, Unmodelled, last_type
from racedart.shadow.cpu.layout import Context
from racedart.shadow.cpu.memory import Site, place_of
from racedart.shadow.instrument.events import vector_count
from racedart.shadow.ptx.model import DISCARD, Instruction, Operand, Vector
from racedart.shadow.ptx.types import TYPES, Type

_READ_MODIFY_WRITE = {"add": "add", "and": "and", "or": "or", "xor": "xor", "exch": "xchg"}
_ORDERED = {("min", True): "min", ("max", True): "max", ("min", False): "umin", ("max", False): "umax"}
_FLOAT_MODIFY = {"add": "fadd", "min": "fmin", "max": "fmax"}


def atomic(emitter: Emitter, instruction: Instruction, site: Site) -> None:
    """atom and red on scalars of 16 to 128 bits, on packed 16-bit floats, and on vectors, element by element."""
    type_ = last_type(instruction)
    operation = next((m for m in instruction.modifiers if m in _OPERATIONS), None)
    if operation is None:
        raise Unmodelled("this atomic operation")
    place = place_of(emitter, instruction, site)
    has_result = instruction.opcode == "atom"
    target = instruction.operands[0] if has_result else DISCARD
    values = instruction.operands[2 if has_result else 1 :]
    if vector_count(instruction) == 1:
        emitter.write(target, type_, _element(emitter, operation, type_, place, values))
        return
    sources, targets = values[0], target
    if not isinstance(sources, Vector):
        raise Unmodelled("this form of an atomic operation")
    old = []
    for k, source in enumerate(sources.elements):
        element = emitter.new(f"getelementptr i8, ptr {place}, i64 {k * type_.bytes}")
        old.append(_element(emitter, operation, type_, element, (source,)))
    if isinstance(targets, Vector):
        for register, value in zip(targets.elements, old, strict=True):
            emitter.write(register, type_, value)


def _element(emitter: Emitter, operation: str, type_: Type, place: str, values: tuple[Operand, ...]) -> str:
    """One atomic operation; the bits that it found."""
    bits = f"i{type_.bits}"
    operand = emitter.read(values[0], type_)
    if operation == "cas":
        new = emitter.read(values[1], type_)
        pair = emitter.new(f"cmpxchg ptr {place}, {bits} {operand}, {bits} {new} monotonic monotonic")
        old = emitter.new(f"extractvalue {{{bits}, i1}} {pair}, 0")
        swapped = emitter.new(f"extractvalue {{{bits}, i1}} {pair}, 1")
        stored = emitter.new(f"select i1 {swapped}, {bits} {new}, {bits} {old}")
    elif (type_.is_float or type_.kind == "packed") and operation != "exch":
        old, stored = _float_atomic(emitter, operation, type_, place, operand)
    else:
        if operation in _READ_MODIFY_WRITE:
            name = _READ_MODIFY_WRITE[operation]
        elif operation in {"inc", "dec"}:
            name = "uinc_wrap" if operation == "inc" else "udec_wrap"
        else:
            name = _ORDERED[operation, type_.is_signed]
        old = emitter.new(f"atomicrmw {name} ptr {place}, {bits} {operand} monotonic")
        stored = emitter.new(f"load {bits}, ptr {place}")
    _note_change(emitter, bits, old, stored)
    return old


_OPERATIONS = {*_READ_MODIFY_WRITE, "min", "max", "inc", "dec", "cas"}


def _note_change(emitter: Emitter, bits: str, old: str, stored: str) -> None:
    """Set the modified flag where the memory changed, so that a spinning lock counts as no progress."""
    changed = emitter.new(f"zext i1 {emitter.new(f'icmp ne {bits} {old}, {stored}')} to i64")
    pointer = emitter.context_pointer(Context.MODIFIED)
    before = emitter.new(f"load i64, ptr {pointer}")
    emitter.do(f"store i64 {emitter.new(f'or i64 {before}, {changed}')}, ptr {pointer}")


def _float_atomic(emitter: Emitter, operation: str, type_: Type, place: str, operand: str) -> tuple[str, str]:
    bits = f"i{type_.bits}"
    if operation not in _FLOAT_MODIFY:
        raise Unmodelled(f"the atomic operation .{operation} on {type_.name}")
    if type_.kind == "float" and type_.bits >= 32:
        llvm = FLOATS[type_.bits]
        value = emitter.new(f"bitcast {bits} {operand} to {llvm}")
        old_float = emitter.new(f"atomicrmw {_FLOAT_MODIFY[operation]} ptr {place}, {llvm} {value} monotonic")
        old = emitter.new(f"bitcast {llvm} {old_float} to {bits}")
        return old, emitter.new(f"load {bits}, ptr {place}")
    # Half-width floats: a compare-and-swap loop around the computation in float.
    number = emitter.name()
    first = emitter.new(f"load atomic {bits}, ptr {place} monotonic, align {type_.bytes}")
    emitter.jump_into(f"before{number}")
    emitter.do(f"br label %try{number}")
    emitter.label(f"try{number}")
    seen = f"%seen{number}"
    emitter.do(f"{seen} = phi {bits} [ {first}, %before{number} ], [ %now{number}, %again{number} ]")
    total = _half_sum(emitter, operation, type_, seen, operand)
    pair = emitter.new(f"cmpxchg ptr {place}, {bits} {seen}, {bits} {total} monotonic monotonic")
    emitter.do(f"%now{number} = extractvalue {{{bits}, i1}} {pair}, 0")
    done = emitter.new(f"extractvalue {{{bits}, i1}} {pair}, 1")
    emitter.jump_into(f"again{number}")
    emitter.do(f"br i1 {done}, label %done{number}, label %try{number}")
    emitter.label(f"done{number}")
    return seen, total


def _half_sum(emitter: Emitter, operation: str, type_: Type, seen: str, operand: str) -> str:
    half = TYPES[type_.name.removesuffix("x2")]
    total = "0"
    for k in range(type_.bits // 16):
        parts = []
        for value in (seen, operand):
            moved = emitter.new(f"lshr i{type_.bits} {value}, {16 * k}")
            parts.append(emitter.as_float(emitter.resize(moved, type_.bits, 16, signed=False), half))
        if operation == "add":
            result = emitter.new(f"fadd float {parts[0]}, {parts[1]}")
        else:
            result = emitter.call("float", f"llvm.{operation}num.f32", ("float", parts[0]), ("float", parts[1]))
        wide = emitter.resize(emitter.as_bits(result, half), 16, type_.bits, signed=False)
        total = emitter.new(f"or i{type_.bits} {total}, {emitter.new(f'shl i{type_.bits} {wide}, {16 * k}')}")
    return total


ATOMICS: dict[str, Callable[[Emitter, Instruction, Site], None]] = {"atom": atomic, "red": atomic}
