"""LLVM IR text for one kernel while it is written: registers, operands, frame and context access.

PTX registers are stack slots of integer type (LLVM turns them into values); floats are bit casts.
Translation functions (arithmetic, conversions, memory, control) take an Emitter and an instruction.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from racedart.shadow.cpu.layout import Context, Frame
from racedart.shadow.ptx.model import (
    DISCARD,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Register,
    Symbol,
    Vector,
)
from racedart.shadow.ptx.types import TYPES, Type

FLOATS = {16: "half", 32: "float", 64: "double"}

DIMENSIONS = {
    "%ntid.x": Context.NTID_X,
    "%ntid.y": Context.NTID_Y,
    "%ntid.z": Context.NTID_Z,
    "%nctaid.x": Context.NCTAID_X,
    "%nctaid.y": Context.NCTAID_Y,
    "%nctaid.z": Context.NCTAID_Z,
    "%dynamic_smem_size": Context.DYNAMIC_SHARED,
}
INDICES = {
    "%tid.x": Frame.TID_X,
    "%tid.y": Frame.TID_Y,
    "%tid.z": Frame.TID_Z,
    "%ctaid.x": Frame.CTAID_X,
    "%ctaid.y": Frame.CTAID_Y,
    "%ctaid.z": Frame.CTAID_Z,
}


MULTIPROCESSORS = 132
"""Of the machine that special registers describe, an H200."""
CONSTANTS = {"%nsmid": MULTIPROCESSORS, "%nwarpid": 64, "%gridid": 1, "%current_graph_exec": 0}
CONSTANTS |= {f"%envreg{k}": 0 for k in range(32)}
_ALONE: dict[str, int | str] = {
    **{f"%clusterid.{axis}": f"%ctaid.{axis}" for axis in "xyz"},
    **{f"%nclusterid.{axis}": f"%nctaid.{axis}" for axis in "xyz"},
    **{f"%cluster_ctaid.{axis}": 0 for axis in "xyz"},
    **{f"%cluster_nctaid.{axis}": 1 for axis in "xyz"},
    "%cluster_ctarank": 0,
    "%cluster_nctarank": 1,
    "%is_explicit_cluster": 0,
}
"""Cluster registers of a launch without clusters, where each block is one."""


class Unmodelled(Exception):
    """The instruction, or this form of it, has no translation; the text says which part."""


@dataclass
class Emitter:
    """The IR of one function.

    registers: PTX name -> type. symbols: variable -> the number that its name stands for in PTX.
    clustered: the kernel is launched in clusters of blocks.
    """

    registers: Mapping[str, Type]
    symbols: Mapping[str, int]
    lines: list[str] = field(default_factory=list)
    slots: dict[str, int] = field(default_factory=dict)
    intrinsics: set[str] = field(default_factory=set)
    counter: int = 0
    clustered: bool = False

    def name(self, prefix: str = "v") -> str:
        """A fresh name, without its sigil."""
        self.counter += 1
        return f"{prefix}{self.counter}"

    def new(self, text: str) -> str:
        """Emit an instruction and give its value."""
        value = f"%{self.name()}"
        self.lines.append(f"  {value} = {text}")
        return value

    def do(self, text: str) -> None:
        """Emit an instruction without a value."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Start a basic block; the one before must have ended."""
        self.lines.append(f"{name}:")

    def jump_into(self, name: str) -> None:
        """End the block with a jump to the next one, and start that."""
        self.do(f"br label %{name}")
        self.label(name)

    def call(self, result: str, function: str, *arguments: tuple[str, str]) -> str:
        """Call an LLVM intrinsic or C function, declaring it."""
        types = ", ".join(t for t, _ in arguments)
        self.intrinsics.add(f"declare {result} @{function}({types})")
        return self.new(f"call {result} @{function}({', '.join(f'{t} {v}' for t, v in arguments)})")

    # Registers and operands

    def slot(self, name: str) -> str:
        """The stack slot of a register."""
        if name not in self.registers:
            raise Unmodelled(f"register {name} is not declared")
        return f"%r{self.slots.setdefault(name, len(self.slots))}"

    def read(self, operand: Operand, type_: Type) -> str:
        """The operand as an integer of the type's width; narrower registers are widened by its sign."""
        bits = type_.bits
        match operand:
            case Immediate():
                return self._immediate(operand, type_)
            case Symbol("WARP_SZ", 0):
                return "32"
            case Symbol(name, offset):
                if name not in self.symbols:
                    raise Unmodelled(f"the address of {name}")
                return str(self.symbols[name] + offset)
            case Negated(register):
                value = self.read(register, TYPES["pred"])
                return self.new(f"xor i1 {value}, true")
            case Vector(elements):
                return self._pack(elements, type_)
            case Register(name) if name in self.registers:
                width = self.registers[name].bits
                value = self.new(f"load i{width}, ptr {self.slot(name)}")
                return self.resize(value, width, bits, signed=type_.is_signed)
            case Register(name):
                return self.resize(self._special(name), 32, bits, signed=False)
        raise Unmodelled("this kind of operand")

    def write(self, operand: Operand, type_: Type, value: str) -> None:
        """Write an integer of the type's width to a register, widened or cut to the register's."""
        if operand == DISCARD:
            return
        if isinstance(operand, Vector):
            self._unpack(operand.elements, type_, value)
            return
        if not isinstance(operand, Register):
            raise Unmodelled("this kind of destination")
        slot = self.slot(operand.name)
        width = self.registers[operand.name].bits
        value = self.resize(value, type_.bits, width, signed=type_.is_signed)
        self.do(f"store i{width} {value}, ptr {slot}")

    def resize(self, value: str, width: int, bits: int, *, signed: bool) -> str:
        """Cut or widen an integer value."""
        if width == bits:
            return value
        if width > bits:
            return self.new(f"trunc i{width} {value} to i{bits}")
        return self.new(f"{'sext' if signed else 'zext'} i{width} {value} to i{bits}")

    def read_float(self, operand: Operand, type_: Type) -> str:
        """The operand as a float; f16 and bf16 as the float that they stand for."""
        value = self.read(operand, type_)
        return self.as_float(value, type_)

    def write_float(self, operand: Operand, type_: Type, value: str) -> None:
        """Write a float value, rounded to f16 or bf16 where the type says so."""
        self.write(operand, type_, self.as_bits(value, type_))

    def compute_type(self, type_: Type) -> str:
        """The LLVM type in which arithmetic of a PTX float type is done; f16 and bf16 are done in float."""
        return "double" if type_.bits == 64 else "float"

    def as_float(self, value: str, type_: Type) -> str:
        """Bits of the PTX type -> a value of compute_type."""
        if type_.name == "bf16":
            wide = self.new(f"zext i16 {value} to i32")
            shifted = self.new(f"shl i32 {wide}, 16")
            return self.new(f"bitcast i32 {shifted} to float")
        if type_.bits == 16:
            half = self.new(f"bitcast i16 {value} to half")
            return self.new(f"fpext half {half} to float")
        return self.new(f"bitcast i{type_.bits} {value} to {FLOATS[type_.bits]}")

    def as_bits(self, value: str, type_: Type) -> str:
        """A value of compute_type -> bits of the PTX type, rounded to nearest even."""
        if type_.name == "bf16":
            bits = self.new(f"bitcast float {value} to i32")
            low = self.new(f"lshr i32 {bits}, 16")
            odd = self.new(f"and i32 {low}, 1")
            bias = self.new(f"add i32 {odd}, 32767")
            rounded = self.new(f"add i32 {bits}, {bias}")
            high = self.new(f"lshr i32 {rounded}, 16")
            nan = self.new(f"fcmp uno float {value}, {value}")
            chosen = self.new(f"select i1 {nan}, i32 32767, i32 {high}")
            return self.new(f"trunc i32 {chosen} to i16")
        if type_.bits == 16:
            half = self.new(f"fptrunc float {value} to half")
            return self.new(f"bitcast half {half} to i16")
        return self.new(f"bitcast {FLOATS[type_.bits]} {value} to i{type_.bits}")

    def _immediate(self, operand: Immediate, type_: Type) -> str:
        if type_.bits == 1:
            return "true" if operand.value else "false"
        if not operand.is_float:
            if not type_.is_float:
                return str(_wrapped(operand.value, type_.bits))
            operand = Immediate(struct.unpack("<Q", struct.pack("<d", float(operand.value)))[0], 64)
        if operand.width == type_.bits or not type_.is_float:
            return str(_wrapped(operand.value, type_.bits))
        if operand.width == 64 and type_.bits == 32:
            number = struct.unpack("<d", struct.pack("<Q", operand.value))[0]
            return str(struct.unpack("<I", struct.pack("<f", number))[0])
        if operand.width == 32 and type_.bits == 64:
            number = struct.unpack("<f", struct.pack("<I", operand.value))[0]
            return str(struct.unpack("<Q", struct.pack("<d", number))[0])
        raise Unmodelled(f"a {operand.width}-bit constant as {type_.name}")

    def _pack(self, elements: tuple[Operand, ...], type_: Type) -> str:
        """`{a, b}` as one value: a in the low bits."""
        part = type_.bits // len(elements)
        total = "0"
        for k, element in enumerate(elements):
            value = self.read(element, TYPES[f"b{part}"])
            wide = self.new(f"zext i{part} {value} to i{type_.bits}")
            shifted = self.new(f"shl i{type_.bits} {wide}, {k * part}")
            total = self.new(f"or i{type_.bits} {total}, {shifted}")
        return total

    def _unpack(self, elements: tuple[Operand, ...], type_: Type, value: str) -> None:
        part = type_.bits // len(elements)
        for k, element in enumerate(elements):
            shifted = self.new(f"lshr i{type_.bits} {value}, {k * part}")
            self.write(element, TYPES[f"b{part}"], self.new(f"trunc i{type_.bits} {shifted} to i{part}"))

    def _special(self, name: str) -> str:
        """A special register (PTX ISA 10), as i32. The clocks are read by moves.py."""
        if name in DIMENSIONS:
            return self.new(f"trunc i64 {self.context(DIMENSIONS[name])} to i32")
        if name in INDICES:
            return self.new(f"trunc i64 {self.frame(INDICES[name])} to i32")
        if name in {"%laneid", "%warpid"} or name.startswith("%lanemask_"):
            linear = self.new(f"trunc i64 {self.frame(Frame.LINEAR)} to i32")
            if name == "%warpid":
                return self.new(f"lshr i32 {linear}, 5")
            lane = self.new(f"and i32 {linear}, 31")
            if name == "%laneid":
                return lane
            own = self.new(f"shl i32 1, {lane}")
            below = self.new(f"sub i32 {own}, 1")
            match name.removeprefix("%lanemask_"):
                case "eq":
                    return own
                case "lt":
                    return below
                case "le":
                    return self.new(f"or i32 {own}, {below}")
                case "gt":
                    return self.new(f"xor i32 {self.new(f'or i32 {own}, {below}')}, -1")
                case "ge":
                    return self.new(f"xor i32 {below}, -1")
        if name in {"%total_smem_size", "%aggr_smem_size"}:
            return self.new(f"trunc i64 {self.context(Context.SHARED_SIZE)} to i32")
        if name == "%smid":
            return self.new(
                f"urem i32 {self.new(f'trunc i64 {self.frame(Frame.BLOCK)} to i32')}, {MULTIPROCESSORS}"
            )
        if name in CONSTANTS:
            return str(CONSTANTS[name])
        if name in _ALONE and not self.clustered:
            other = _ALONE[name]
            return self._special(other) if isinstance(other, str) else str(other)
        raise Unmodelled(f"the special register {name}")

    # Records

    def frame_pointer(self, offset: int) -> str:
        """Pointer to a word of the thread's frame."""
        return self.new(f"getelementptr i64, ptr %frame, i64 {int(offset)}")

    def frame(self, offset: int) -> str:
        """A word of the thread's frame."""
        return self.new(f"load i64, ptr {self.frame_pointer(offset)}")

    def set_frame(self, offset: int, value: str | int) -> None:
        """Store a word of the thread's frame."""
        self.do(f"store i64 {value}, ptr {self.frame_pointer(offset)}")

    def context_pointer(self, offset: int) -> str:
        """Pointer to a word of the launch's record."""
        return self.new(f"getelementptr i64, ptr %context, i64 {int(offset)}")

    def context(self, offset: int) -> str:
        """A word of the launch's record."""
        return self.new(f"load i64, ptr {self.context_pointer(offset)}")


def _wrapped(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def last_type(instruction: Instruction) -> Type:
    """The last type among the modifiers, which is the operation's."""
    for modifier in reversed(instruction.modifiers):
        if modifier in TYPES:
            return TYPES[modifier]
    raise Unmodelled("no type")
