"""A CUDA driver for numba.cuda on a machine without one: memory, streams, events and one device, in this process.

numba-cuda reaches the driver through `numba.cuda.cudadrv.driver.driver`, whose attributes are the functions
of the driver API (CUDA driver API reference, modules 6.3 to 6.20), and through cuda.core's Device, Stream and
launch. `install` puts this module in their place; all else of numba.cuda (device arrays, contexts, pinned,
mapped and managed memory, events) is its own code.

Every operation is complete when its call returns, in the order of the program: a legal order of its streams.
An event measures the time of the host. Graphs, IPC between processes and modules loaded by hand are refused.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from typing import Any

from racedart.shadow.frontends.numba_device import COMPUTE_CAPABILITY
from racedart.shadow.programs.memory import CAPACITY, Memory, NoSuchMemory, OutOfDeviceMemory, host_bytes

DRIVER_VERSION = 13000

ATTRIBUTES = {
    "ASYNC_ENGINE_COUNT": 3,
    "CAN_MAP_HOST_MEMORY": 1,
    "CLOCK_RATE": 1_980_000,
    "COMPUTE_CAPABILITY_MAJOR": COMPUTE_CAPABILITY[0],
    "COMPUTE_CAPABILITY_MINOR": COMPUTE_CAPABILITY[1],
    "COMPUTE_MODE": 0,
    "COMPUTE_PREEMPTION_SUPPORTED": 1,
    "CONCURRENT_KERNELS": 1,
    "CONCURRENT_MANAGED_ACCESS": 1,
    "COOPERATIVE_LAUNCH": 1,
    "ECC_ENABLED": 1,
    "GLOBAL_L1_CACHE_SUPPORTED": 1,
    "GLOBAL_MEMORY_BUS_WIDTH": 5120,
    "GPU_OVERLAP": 1,
    "HOST_NATIVE_ATOMIC_SUPPORTED": 0,
    "INTEGRATED": 0,
    "KERNEL_EXEC_TIMEOUT": 0,
    "L2_CACHE_SIZE": 50 << 20,
    "LOCAL_L1_CACHE_SUPPORTED": 1,
    "MANAGED_MEMORY": 1,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": 32,
    "MAX_BLOCK_DIM_X": 1024,
    "MAX_BLOCK_DIM_Y": 1024,
    "MAX_BLOCK_DIM_Z": 64,
    "MAX_GRID_DIM_X": 2**31 - 1,
    "MAX_GRID_DIM_Y": 65535,
    "MAX_GRID_DIM_Z": 65535,
    "MAX_REGISTERS_PER_BLOCK": 65536,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
    "MAX_SHARED_MEMORY_PER_BLOCK": 48 << 10,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 227 << 10,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 228 << 10,
    "MAX_THREADS_PER_BLOCK": 1024,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "MEMORY_CLOCK_RATE": 2_619_000,
    "MULTIPROCESSOR_COUNT": 132,
    "MULTI_GPU_BOARD": 0,
    "PAGEABLE_MEMORY_ACCESS": 0,
    "PCI_BUS_ID": 0,
    "PCI_DEVICE_ID": 0,
    "PCI_DOMAIN_ID": 0,
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": 2,
    "STREAM_PRIORITIES_SUPPORTED": 1,
    "TCC_DRIVER": 0,
    "TOTAL_CONSTANT_MEMORY": 64 << 10,
    "UNIFIED_ADDRESSING": 1,
    "WARP_SIZE": 32,
}
"""Attributes of the device: those of a GPU of compute capability 9.0 (CUDA programming guide, table 27)."""

NOTHING = (
    *("cuInit", "cuCtxSynchronize", "cuCtxPushCurrent", "cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxReset"),
    *("cuStreamDestroy", "cuStreamSynchronize", "cuStreamWaitEvent"),
    *("cuEventDestroy", "cuEventQuery", "cuEventSynchronize"),
    *("cuProfilerStart", "cuProfilerStop"),
)
"""Functions after which nothing is left to do, as every operation is complete when it returns."""


class Refused(Exception):
    """A call that the simulated driver does not carry out; code: name of the driver's error."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class SimulatedDriver:
    """The driver's functions by name; state of one process."""

    def __init__(self, binding: Any) -> None:
        self.binding = binding
        self.memory = Memory()
        self.context = binding.CUcontext(1)
        self.handles = itertools.count(0x1000)
        self.recorded: dict[int, float] = {}
        copy: Callable[..., None] = self._copy
        self.functions: dict[str, Callable[..., Any]] = {
            **dict.fromkeys(NOTHING, _nothing),
            "cuCtxGetCurrent": lambda: self.context,
            "cuCtxPopCurrent": lambda: self.context,
            "cuCtxGetDevice": lambda: 0,
            "cuDeviceGetCount": lambda: 1,
            "cuDeviceGetAttribute": self._attribute,
            "cuDeviceCanAccessPeer": lambda device, peer: 0,
            "cuDriverGetVersion": lambda: DRIVER_VERSION,
            "cuEventCreate": lambda flags: binding.CUevent(next(self.handles)),
            "cuEventRecord": self._record,
            "cuEventElapsedTime": self._elapsed,
            "cuStreamCreate": lambda flags: binding.CUstream(next(self.handles)),
            "cuMemAlloc": lambda size: binding.CUdeviceptr(self.memory.allocate(int(size))),
            "cuMemAllocManaged": lambda size, flags: binding.CUdeviceptr(self.memory.allocate(int(size))),
            "cuMemHostAlloc": lambda size, flags: self.memory.allocate(int(size)),
            "cuMemFree": lambda address: self.memory.free(int(address)),
            "cuMemFreeHost": lambda address: self.memory.free(int(address)),
            "cuMemHostRegister": lambda address, size, flags: self.memory.register(int(address), int(size)),
            "cuMemHostUnregister": lambda address: self.memory.unregister(int(address)),
            "cuMemHostGetDevicePointer": lambda address, flags: binding.CUdeviceptr(int(address)),
            "cuMemGetAddressRange": lambda address: self.memory.extent(int(address)),
            "cuMemGetInfo": lambda: (CAPACITY - self.memory.used, CAPACITY),
            "cuPointerGetAttribute": self._pointer_attribute,
            "cuMemsetD8": self._fill,
            "cuMemsetD8Async": self._fill,
            **dict.fromkeys(
                ("cuMemcpyHtoD", "cuMemcpyHtoDAsync"), lambda to, at, size, *_: copy(to, at, size, True, False)
            ),
            **dict.fromkeys(
                ("cuMemcpyDtoH", "cuMemcpyDtoHAsync"), lambda to, at, size, *_: copy(to, at, size, False, True)
            ),
            **dict.fromkeys(
                ("cuMemcpyDtoD", "cuMemcpyDtoDAsync"), lambda to, at, size, *_: copy(to, at, size, True, True)
            ),
        }

    def call(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Carry out a function of the driver API. Raises Refused."""
        if name not in self.functions:
            raise Refused("CUDA_ERROR_NOT_SUPPORTED", f"{name} is not simulated without a GPU")
        try:
            return self.functions[name](*arguments)
        except OutOfDeviceMemory as error:
            raise Refused("CUDA_ERROR_OUT_OF_MEMORY", str(error)) from None
        except NoSuchMemory as error:
            raise Refused("CUDA_ERROR_INVALID_VALUE", str(error)) from None

    def _copy(self, to: Any, source: Any, size: int, to_device: bool, from_device: bool) -> None:
        target, origin = int(to), int(source)
        written = self.memory.bytes(target, size) if to_device else host_bytes(target, size)
        read = self.memory.bytes(origin, size) if from_device else host_bytes(origin, size)
        written[:] = read

    def _fill(self, address: Any, value: int, count: int, *_: Any) -> None:
        self.memory.bytes(int(address), int(count))[:] = int(value) & 0xFF

    def _attribute(self, code: Any, device: Any) -> int:
        name = str(getattr(code, "name", code)).removeprefix("CU_DEVICE_ATTRIBUTE_")
        if name not in ATTRIBUTES:
            raise Refused("CUDA_ERROR_NOT_SUPPORTED", f"the device attribute {name} is not simulated")
        return ATTRIBUTES[name]

    def _pointer_attribute(self, attribute: Any, address: Any) -> Any:
        if getattr(attribute, "name", "") != "CU_POINTER_ATTRIBUTE_DEVICE_POINTER":
            raise Refused("CUDA_ERROR_NOT_SUPPORTED", f"the pointer attribute {attribute} is not simulated")
        self.memory.extent(int(address))
        return self.binding.CUdeviceptr(int(address))

    def _record(self, event: Any, stream: Any) -> None:
        self.recorded[int(event)] = time.perf_counter()

    def _elapsed(self, start: Any, end: Any) -> float:
        if int(start) not in self.recorded or int(end) not in self.recorded:
            raise Refused("CUDA_ERROR_INVALID_HANDLE", "an event that was not recorded has no time")
        return (self.recorded[int(end)] - self.recorded[int(start)]) * 1000.0


def _nothing(*_: Any) -> None:
    """Every operation is complete already."""


class _CoreContext:
    def __init__(self, handle: Any) -> None:
        self.handle = self._handle = handle


class _CoreDevice:
    """What numba-cuda asks of cuda.core's Device."""

    device_id = 0
    compute_capability = COMPUTE_CAPABILITY
    name = "simulated by racedart"
    uuid = "00000000-0000-0000-0000-000000000000"
    memory_resource = None
    handle: Any = None

    def __init__(self, number: int = 0) -> None:
        self.context = _CoreContext(self.handle)

    def set_current(self) -> None:
        """The one device is always current."""


class _CoreStream:
    """What numba-cuda asks of cuda.core's Stream."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    @classmethod
    def from_handle(cls, handle: Any) -> _CoreStream:
        """The stream of a driver's handle."""
        return cls(handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, int(self.handle)

    def sync(self) -> None:
        """Every operation is complete already."""


def install() -> SimulatedDriver:
    """Put the simulated driver under numba.cuda in this process."""
    from numba.cuda.cudadrv import driver as numba_driver

    simulated = SimulatedDriver(numba_driver.binding)

    def wrapped(self: Any, name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            try:
                return simulated.call(name, arguments)
            except Refused as refused:
                code = getattr(numba_driver.binding.CUresult, refused.code)
                text = f"Call to {name} results in {refused.code} ({refused})"
                raise numba_driver.CudaAPIError(code, text) from None

        call.__name__ = name
        setattr(self, name, call)
        return call

    def add_callback(self: Any, callback: Callable[[Any, int, Any], None], arg: Any = None) -> None:
        callback(self, 0, arg)

    numba_driver.Driver._cuda_python_wrap_fn = wrapped
    the_driver = numba_driver.driver
    the_driver.is_initialized, the_driver.initialization_error = True, None
    the_driver.pid = os.getpid()
    numba_driver._logger = numba_driver.make_logger()
    _CoreDevice.handle = simulated.context
    numba_driver.ExperimentalDevice = _CoreDevice
    numba_driver.ExperimentalStream = _CoreStream
    numba_driver.Stream.add_callback = add_callback
    return simulated
