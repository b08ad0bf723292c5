"""The CUDA driver as the GPU engine uses it: a context, memory, modules, launches that end or are given up.

Wraps cuda.bindings.driver; every failing call raises DriverError with the driver's own name for it. Uses
plain allocations only.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from racedart.finding.errors import MissingDependencyError, RacedartError


class DriverError(RacedartError):
    """A call of the CUDA driver failed."""


@functools.cache
def _driver() -> Any:
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise MissingDependencyError("the GPU engine needs cuda.bindings: pip install 'racedart[cuda]'") from error
    return driver


def _call(name: str, *arguments: Any) -> Any:
    driver = _driver()
    status, *values = getattr(driver, name)(*arguments)
    if status != driver.CUresult.CUDA_SUCCESS:
        raise DriverError(f"{name}: {status.name.removeprefix('CUDA_ERROR_').lower().replace('_', ' ')}")
    return values[0] if len(values) == 1 else tuple(values)


def missing() -> str:
    """Why there is no GPU to run on; "" if there is one."""
    try:
        _call("cuInit", 0)
        return "" if _call("cuDeviceGetCount") else "the driver sees no GPU"
    except (RacedartError, RuntimeError) as error:
        # cuda.bindings raises RuntimeError where the driver's library is not installed.
        return str(error).splitlines()[0]


@functools.cache
def context() -> int:
    """Make the primary context of the first GPU current; gives its device."""
    _call("cuInit", 0)
    device = _call("cuDeviceGet", 0)
    _call("cuCtxSetCurrent", _call("cuDevicePrimaryCtxRetain", device))
    return int(device)


def compute_capability() -> tuple[int, int]:
    """Of the GPU in use."""
    attributes = _driver().CUdevice_attribute
    names = ("CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR", "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR")
    major, minor = (int(_call("cuDeviceGetAttribute", getattr(attributes, n), context())) for n in names)
    return major, minor


def name() -> str:
    """The product name of the GPU in use."""
    return str(_call("cuDeviceGetName", 96, context()).decode().split("\0")[0])


def free_memory() -> int:
    """Bytes of device memory that can be allocated now."""
    context()
    free, _ = _call("cuMemGetInfo")
    return int(free)


@dataclass(frozen=True, slots=True)
class Memory:
    """An allocation: address and bytes."""

    address: int
    size: int

    def upload(self, array: NDArray[Any], at: int = 0) -> None:
        """Copy a C-contiguous host array to the memory, from byte `at` on."""
        if array.nbytes:
            _call("cuMemcpyHtoD", self.address + at, array.ctypes.data, array.nbytes)

    def download(self, array: NDArray[Any]) -> None:
        """Fill a C-contiguous host array from the start of the memory."""
        if array.nbytes:
            _call("cuMemcpyDtoH", array.ctypes.data, self.address, array.nbytes)


class Allocations(contextlib.ExitStack):
    """Memory that is freed when the block is left."""

    def zeros(self, size: int) -> Memory:
        """Device memory of so many bytes, zeroed. Raises DriverError when there is not enough."""
        context()
        memory = Memory(int(_call("cuMemAlloc", max(size, 16))), size)
        self.callback(_free, memory.address)
        _call("cuMemsetD8", memory.address, 0, max(size, 16))
        return memory

    def copy(self, array: NDArray[Any]) -> Memory:
        """Device memory with the contents of a C-contiguous host array."""
        memory = self.zeros(array.nbytes)
        memory.upload(array)
        return memory


def _free(address: int) -> None:
    # After a kernel that failed the context is gone, and its memory with it.
    with contextlib.suppress(DriverError):
        _call("cuMemFree", address)


class Code:
    """A loaded cubin."""

    def __init__(self, cubin: bytes) -> None:
        context()
        self._module = _call("cuModuleLoadData", np.frombuffer(cubin, np.uint8).ctypes.data)

    def symbol(self, name: str) -> Memory:
        """The memory of a variable."""
        address, size = _call("cuModuleGetGlobal", self._module, name.encode())
        return Memory(int(address), int(size))

    def kernel(self, name: str) -> Any:
        """A kernel by its PTX name."""
        return _call("cuModuleGetFunction", self._module, name.encode())


def registers(kernel: Any) -> tuple[int, int]:
    """Registers and bytes of stack that one thread of a kernel takes."""
    kinds = _driver().CUfunction_attribute
    names = ("CU_FUNC_ATTRIBUTE_NUM_REGS", "CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES")
    count, stack = (int(_call("cuFuncGetAttribute", getattr(kinds, name), kernel)) for name in names)
    return count, stack


def launch(
    kernel: Any,
    grid: Sequence[int],
    block: Sequence[int],
    shared_bytes: int,
    params: Sequence[bytes],
    deadline: Callable[[], float | None],
) -> float | None:
    """Run a kernel to its end; its time in seconds, None if the deadline came first.

    params: the bytes of each parameter. A kernel that was given up goes on running: the process must end.
    Raises DriverError when the kernel fails.
    """
    driver = _driver()
    if shared_bytes > 48 * 1024:
        kind = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        _call("cuFuncSetAttribute", kernel, kind, shared_bytes)
    buffers = [ctypes.create_string_buffer(data, max(len(data), 1)) for data in params]
    pointers = (ctypes.c_void_p * max(len(buffers), 1))(*(ctypes.addressof(b) for b in buffers))
    start, end = (_call("cuEventCreate", 0) for _ in range(2))
    _call("cuEventRecord", start, 0)
    _call("cuLaunchKernel", kernel, *grid, *block, shared_bytes, 0, ctypes.addressof(pointers), 0)
    _call("cuEventRecord", end, 0)
    pause = 0.0
    while True:
        (status,) = driver.cuEventQuery(end)
        if status == driver.CUresult.CUDA_SUCCESS:
            break
        if status != driver.CUresult.CUDA_ERROR_NOT_READY:
            raise DriverError(status.name.removeprefix("CUDA_ERROR_").lower().replace("_", " "))
        left = deadline()
        if left is not None and left <= 0:
            return None
        time.sleep(pause)
        pause = min(pause + 0.0002, 0.02)
    seconds = float(_call("cuEventElapsedTime", start, end)) / 1000
    for event in (start, end):
        _call("cuEventDestroy", event)
    return seconds
