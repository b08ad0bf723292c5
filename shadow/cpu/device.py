"""Device memory of one run: an arena with guards around every object, its shadow, and the parameters.

A fresh arena is filled from the launch's host arrays, so that a run can be repeated on equal inputs;
`write_back` copies the results to the host arrays.
"""

from __future__ import annotations

import bisect
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from racedart.finding.errors import UsageError
from racedart.shadow import word
from racedart.shadow.cpu.layout import ALIGNMENT, ARENA, GUARD
from racedart.shadow.cpu.program import Program
from racedart.shadow.launch import Launch
from racedart.shadow.ptx.model import Immediate, Variable

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Object:
    """An allocation: a buffer of the launch (index >= 0) or a variable of the module (index -1)."""

    name: str
    offset: int
    size: int
    buffer: int


class Device:
    """arena, shadow and params: host arrays that native code reads and writes through their addresses.

    addresses: offsets in the arena of words that hold addresses of the arena.
    """

    def __init__(self, program: Program, launch: Launch) -> None:
        self.program = program
        self.launch = launch
        self.shift = program.plan.global_shift
        self.addresses: list[int] = []
        self.objects = [
            Object(v.name, program.module_offsets[v.name], v.size, -1)
            for v in program.module.variables
            if v.name in program.module_offsets
        ]
        at = max(program.module_bytes, GUARD)
        # Buffers with addresses of their own first: the others lie behind them.
        for index, buffer in sorted(enumerate(launch.buffers), key=lambda item: item[1].address or sys.maxsize):
            at = -(-at // ALIGNMENT) * ALIGNMENT if buffer.address is None else buffer.address - ARENA
            self.objects.append(Object(buffer.name, at, buffer.array.nbytes, index))
            at += buffer.array.nbytes + GUARD
        size = -(-at // 4096) * 4096
        self.arena: Bytes = np.zeros(size + 64, np.uint8)
        self.size = size
        self.shadow: NDArray[np.int64] = np.zeros((size >> self.shift) + 8, np.int64)
        for item in self.objects:
            if item.buffer >= 0:
                source = launch.buffers[item.buffer].array
                self.arena[item.offset : item.offset + item.size] = _bytes_of(source)
        for variable in program.module.variables:
            if variable.name in program.module_offsets:
                offset = program.module_offsets[variable.name]
                given = launch.variables.get(variable.name)
                data = initial_bytes(variable, program.module_offsets) if given is None else given
                self.arena[offset : offset + len(data)] = data
                self.addresses += [offset + k for k in _addresses(variable, program.module_offsets)]
        self._guard()
        self.params: Bytes = np.zeros(program.param_bytes + 64, np.uint8)
        self._bind()

    @staticmethod
    def bytes_needed(program: Program, launch: Launch) -> int:
        """Host memory of the arena and its shadow, in bytes."""
        size = program.module_bytes + sum(b.array.nbytes + GUARD + ALIGNMENT for b in launch.buffers) + 8192
        size = max([size, *(b.address - ARENA + b.array.nbytes + GUARD for b in launch.buffers if b.address)])
        return size + (size >> program.plan.global_shift) * 8

    def find(self, offset: int) -> Object | None:
        """The object that holds a byte of the arena, or the nearest one before it."""
        starts = [item.offset for item in self.objects]
        at = bisect.bisect_right(starts, offset) - 1
        return self.objects[at] if at >= 0 else None

    def text_at(self, address: int) -> str:
        """The string that ends with a zero byte at a device address; "" outside the arena."""
        offset = address - ARENA
        if not 0 <= offset < self.size:
            return ""
        data = self.arena[offset : min(offset + 4096, self.size)].tobytes()
        return data.split(b"\0")[0].decode("utf-8", "replace")

    def write_back(self) -> None:
        """Copy every buffer, and every variable that the launch gives, to its host array."""
        for item in self.objects:
            if item.buffer >= 0 and item.size:
                target = self.launch.buffers[item.buffer].array
                if target.flags.writeable:
                    _bytes_of(target)[:] = self.arena[item.offset : item.offset + item.size]
        for name, data in self.launch.variables.items():
            offset = self.program.module_offsets[name]
            data[:] = self.arena[offset : offset + len(data)]

    def _guard(self) -> None:
        """Mark the shadow of every byte that belongs to no object."""
        outside = word.special(word.OUTSIDE)
        at = 0
        granule = 1 << self.shift
        for item in [*self.objects, Object("", self.size, 0, -1)]:
            self.shadow[-(-at // granule) : item.offset // granule] = outside
            at = item.offset + item.size

    def _bind(self) -> None:
        """Write the kernel's parameters, with the addresses of this arena."""
        base = {item.buffer: item.offset for item in self.objects if item.buffer >= 0}
        declared = self.program.plan.function.params
        if len(declared) != len(self.launch.params):
            raise UsageError(
                f"kernel {self.launch.kernel.name} takes {len(declared)} parameters in its PTX, "
                f"the launch gives {len(self.launch.params)}"
            )
        for variable, offset, param in zip(declared, self.program.param_offsets, self.launch.params, strict=True):
            if len(param.data) != variable.size:
                raise UsageError(
                    f"kernel {self.launch.kernel.name}: parameter {variable.name} has {variable.size} bytes, "
                    f"the launch gives {len(param.data)}"
                )
            data = bytearray(param.data)
            for pointer in param.pointers:
                address = ARENA + base[pointer.buffer] + pointer.offset
                data[pointer.at : pointer.at + 8] = struct.pack("<Q", address)
            self.params[offset : offset + len(data)] = np.frombuffer(bytes(data), np.uint8)


def initial_bytes(variable: Variable, module_offsets: Mapping[str, int]) -> Bytes:
    """What a module variable holds at first, as far as the module says it; the rest is zero."""
    width = variable.type.bytes
    values = []
    for value in variable.initial:
        if isinstance(value, Immediate):
            number = value.value
            if value.is_float and value.width != variable.type.bits:
                number = _float_bits(value, variable.type.bits)
        else:
            number = ARENA + module_offsets.get(value.name, -ARENA) + value.offset
        values.append((number & ((1 << 8 * width) - 1)).to_bytes(width, "little"))
    return np.frombuffer(b"".join(values), np.uint8)


def _addresses(variable: Variable, module_offsets: Mapping[str, int]) -> list[int]:
    """At which bytes of a module variable addresses of module variables stand at first."""
    values = enumerate(variable.initial)
    return [k * variable.type.bytes for k, v in values if not isinstance(v, Immediate) and v.name in module_offsets]


def _bytes_of(array: NDArray[np.generic]) -> Bytes:
    """The array's memory as bytes; a view, as buffers are C-contiguous."""
    return array.reshape(-1).view(np.uint8)


def _float_bits(value: Immediate, bits: int) -> int:
    source, target = ("<I", "<f") if value.width == 32 else ("<Q", "<d")
    number = struct.unpack(target, struct.pack(source, value.value))[0]
    return int(
        struct.unpack("<Q", struct.pack("<d", number))[0] if bits == 64 else np.float32(number).view(np.uint32)
    )
