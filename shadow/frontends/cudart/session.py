"""Run a compiled CUDA program and answer its runtime's requests: modules, variables, functions, launches.

The other end, with the form of the requests, is `runtime.c`. One request at a time is answered, so launches are
in the order in which the program made them, whatever their streams.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from racedart.finding.errors import InputError, RacedartError
from racedart.shadow.cpu.device import initial_bytes
from racedart.shadow.cpu.layout import ARENA, GUARD
from racedart.shadow.cpu.program import module_layout
from racedart.shadow.frontends.binding import Parameter
from racedart.shadow.frontends.cuda_cpp import module_kernel
from racedart.shadow.frontends.cudart.fatbin import embedded_ptx
from racedart.shadow.frontends.cudart.stand_in import require_program, runtime_library
from racedart.shadow.launch import Buffer, Kernel, Launch, Param, Pointer
from racedart.shadow.ptx import Module, parse_module

OnLaunch = Callable[[Launch], None]
OnProblem = Callable[[RacedartError], None]

MODULE, VARIABLE, FUNCTION, LAUNCH = 1, 2, 3, 4
SUCCESS, INVALID_CONFIGURATION, INVALID_SYMBOL, INVALID_FUNCTION, NOT_SUPPORTED = 0, 9, 13, 98, 801
"""Values of cudaError_t."""


def run_program(
    argv: Sequence[str],
    on_launch: OnLaunch,
    on_problem: OnProblem,
    memory: int = 8 << 30,
) -> int:
    """Run a program with its arguments; its exit code, negative for a signal.

    on_launch: called for every launch, whose arrays are the program's device memory itself. It raises
    RacedartError for a launch that cannot run, which the program then sees as an error of the runtime.
    on_problem: called with what on_launch raised, and for a kernel whose PTX cannot be read. memory: bytes of
    device memory.

    Raises InputError for a file that is no such program, MissingDependencyError without a C compiler.
    """
    require_program(Path(argv[0]))
    library = runtime_library()
    handle = os.memfd_create("racedart")
    ours, theirs = socket.socketpair()
    try:
        os.ftruncate(handle, memory)
        environment = dict(
            os.environ,
            LD_PRELOAD=str(library),
            RACEDART_CUDART_SOCKET=str(theirs.fileno()),
            RACEDART_CUDART_MEMORY=str(handle),
        )
        # Unmapped when the last array of a launch is gone.
        arena = np.frombuffer(mmap.mmap(handle, memory), np.uint8)
        child = subprocess.Popen(
            [os.path.abspath(argv[0]), *argv[1:]], env=environment, pass_fds=(theirs.fileno(), handle)
        )
        theirs.close()
        try:
            _Session(ours, arena, on_launch, on_problem).serve()
        except BaseException:
            child.terminate()
            raise
        finally:
            code = child.wait()
        return code
    finally:
        ours.close()
        theirs.close()
        os.close(handle)


@dataclass
class _Module:
    """A registered module: its PTX, and where its variables are in the program's device memory."""

    ptx: str
    parsed: Module
    offsets: Mapping[str, int]
    addresses: dict[str, tuple[int, int]] = field(default_factory=dict)


class _Session:
    def __init__(
        self, channel: socket.socket, arena: NDArray[np.uint8], on_launch: OnLaunch, on_problem: OnProblem
    ) -> None:
        self.channel = channel
        self.arena = arena
        self.on_launch = on_launch
        self.on_problem = on_problem
        self.modules: dict[int, _Module] = {}
        self.functions: dict[int, tuple[_Module, Kernel, tuple[Parameter, ...]]] = {}
        self.variables_end = GUARD
        self.unreadable: dict[int, InputError] = {}

    def serve(self) -> None:
        """Answer requests until the program ends."""
        answers = {MODULE: self._module, VARIABLE: self._variable, FUNCTION: self._function, LAUNCH: self._launch}
        while header := self._received(8):
            operation, size = struct.unpack("<II", header)
            try:
                status, reply = answers[operation](self._received(size))
            except RacedartError as error:
                self.on_problem(error)
                status, reply = NOT_SUPPORTED, b""
            self.channel.sendall(struct.pack("<iI", status, len(reply)) + reply)

    def _received(self, size: int) -> bytes:
        """So many bytes, or none when the program has ended."""
        parts = []
        while size:
            try:
                part = self.channel.recv(min(size, 1 << 20))
            except ConnectionResetError:
                part = b""
            if not part:
                return b""
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _module(self, data: bytes) -> tuple[int, bytes]:
        (number,) = struct.unpack_from("<I", data)
        try:
            ptx = embedded_ptx(data[4:])
            parsed = parse_module(ptx)
        except InputError as error:
            # The linker's own modules are empty: it matters only when a kernel is asked for.
            self.unreadable[number] = error
            return SUCCESS, b""
        offsets, end = module_layout(parsed)
        self.modules[number] = _Module(ptx, parsed, offsets)
        # Room for the variables of every module: those of the first keep their addresses in the kernels.
        self.variables_end = max(self.variables_end, end)
        return SUCCESS, struct.pack("<Q", ARENA + self.variables_end)

    def _variable(self, data: bytes) -> tuple[int, bytes]:
        number, _, size = struct.unpack_from("<IIQ", data)
        name = data[16:].decode()
        module = self.modules.get(number)
        if module is None or name not in module.offsets:
            return INVALID_SYMBOL, b""
        offset = module.offsets[name]
        if number != min(self.modules):
            offset = self.variables_end
            self.variables_end += -(-(size + GUARD) // 256) * 256
        module.addresses[name] = offset, size
        variable = next(v for v in module.parsed.variables if v.name == name)
        initial = initial_bytes(variable, module.offsets)
        self.arena[offset : offset + len(initial)] = initial
        return SUCCESS, struct.pack("<Q", ARENA + offset)

    def _function(self, data: bytes) -> tuple[int, bytes]:
        number, function = struct.unpack_from("<II", data)
        name = data[8:].decode()
        if number in self.unreadable:
            raise self.unreadable[number]
        module = self.modules[number]
        if name not in module.parsed.kernels:
            return INVALID_FUNCTION, b""
        kernel, parameters = module_kernel(module.ptx, module.parsed, name)
        self.functions[function] = module, kernel, parameters
        entry = module.parsed.kernels[name]
        shared = sum(v.size for v in (*module.parsed.variables, *entry.variables) if v.space == "shared")
        sizes = [p.size for p in entry.params]
        return SUCCESS, struct.pack(f"<4I{len(sizes)}I", len(sizes), shared, 0, 0, *sizes)

    def _launch(self, data: bytes) -> tuple[int, bytes]:
        function, gx, gy, gz, bx, by, bz, size, shared, count = struct.unpack_from("<8I2Q", data)
        at = struct.calcsize("<8I2Q")
        blob = data[at : at + size]
        table = np.frombuffer(data, np.uint64, 2 * count, at + size).reshape(count, 2).astype(np.int64)
        grid, block = (gx, gy, gz), (bx, by, bz)
        if min(*grid, *block) < 1 or bx * by * bz > 1024 or max(gy, gz) > 65535 or shared > 227 * 1024:
            return INVALID_CONFIGURATION, b""
        module, kernel, declared = self.functions[function]
        params = []
        named: dict[int, Parameter] = {}
        for variable, parameter in zip(module.parsed.kernels[kernel.entry].params, declared, strict=True):
            value, blob = blob[: variable.size], blob[variable.size :]
            pointers = tuple(_pointers(value, table))
            for pointer in pointers:
                named.setdefault(pointer.buffer, parameter)
            params.append(Param(value, pointers))
        buffers = tuple(
            self._buffer(int(start), int(length), named.get(k)) for k, (start, length) in enumerate(table)
        )
        variables = {n: self.arena[start : start + length] for n, (start, length) in module.addresses.items()}
        self.on_launch(Launch(kernel, grid, block, shared, tuple(params), buffers, variables))
        return SUCCESS, b""

    def _buffer(self, address: int, size: int, parameter: Parameter | None) -> Buffer:
        """An allocation, with the name and the element type of the parameter that points to it."""
        memory = self.arena[address - ARENA : address - ARENA + size]
        element = np.dtype("V1") if parameter is None or parameter.pointee is None else parameter.pointee
        if size % element.itemsize:
            element = np.dtype("V1")
        name = f"device memory at {address:#x}" if parameter is None else parameter.name
        return Buffer(name, memory.view(element), address)


def _pointers(value: bytes, table: NDArray[np.int64]) -> list[Pointer]:
    """Which words of a parameter are addresses in allocations, given as rows (address, bytes) in order."""
    found = []
    for at in range(0, len(value) - 7, 8):
        (word,) = struct.unpack_from("<Q", value, at)
        k = int(np.searchsorted(table[:, 0], word, "right")) - 1 if word < 1 << 62 else -1
        if k >= 0 and word < table[k, 0] + table[k, 1]:
            found.append(Pointer(at, k, int(word - table[k, 0])))
    return found
