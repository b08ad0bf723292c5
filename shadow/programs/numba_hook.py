"""Launches of numba.cuda, intercepted: the kernel object behind a dispatcher hands each launch to a Session.

`install` replaces numba-cuda's `_Kernel`, which its dispatcher makes for each tuple of argument types and whose
`launch` gets every launch (configured, `forall`, specialised, ufuncs, reductions, assignments to device arrays).
Arguments are treated as numba-cuda treats them: device arrays are passed as they are, host arrays are copied to the
device and back, In and Out hints and registered extensions are honoured.

Not modelled: device arrays that a kernel captures from its surroundings, and machine code that it links, with which
it does not compile; callbacks of linked code at its loading, which are a reason. With debug=True a kernel raises
exceptions on a real device; here it does not, which is a reason as well where the kernel has a `raise` or an
`assert`.
"""

from __future__ import annotations

import dis
import os
import sys
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from racedart.finding.model import Location, Reason
from racedart.shadow.frontends.dimensions import check_dimensions
from racedart.shadow.frontends.numba_kernel import compile_kernel, launch_of, record_memory
from racedart.shadow.launch import Kernel, Launch, short_text
from racedart.shadow.programs.session import RefusedLaunch, Session
from racedart.shadow.programs.simulated_driver import ATTRIBUTES, SimulatedDriver

REGISTERS = 32
"""Registers of a thread that a program is told: the kernel is not compiled to machine code."""


def install(session: Session, driver: SimulatedDriver) -> None:
    """Have every kernel of numba.cuda in this process checked by a session."""
    from numba.cuda import dispatcher

    class Checked(CheckedKernel):
        def __init__(self, function: Any, types: tuple[Any, ...], **options: Any) -> None:
            super().__init__(session, driver, function, types, options)

    dispatcher._Kernel = Checked
    # The user's cache keeps kernels that are compiled for the GPU.
    dispatcher.CUDADispatcher.enable_caching = lambda self: None


class CheckedKernel:
    """A kernel for one tuple of argument types, in the place of numba-cuda's `_Kernel`."""

    objectmode = False
    entry_point = None
    launch_config_sensitive = False
    shared_memory_carveout = None

    def __init__(
        self,
        session: Session,
        driver: SimulatedDriver,
        function: Any,
        types: tuple[Any, ...],
        options: dict[str, Any],
    ) -> None:
        from numba.cuda.types import void
        from numba.cuda.typing import signature

        if options.get("device"):
            raise RuntimeError("Cannot compile a device function as a kernel")
        self.session = session
        self.driver = driver
        self.py_func = function
        self.options = options
        self.argument_types = self.argtypes = types
        self.signature = signature(void, *types)
        self.extensions = options.get("extensions") or []
        self.builds: dict[bool, Kernel] = {True: compile_kernel(function, options, types)}
        self._codelibrary = self.library = _Library(self)
        self.cooperative = "cudaCGSynchronize" in self.builds[True].ptx

    def bind(self) -> None:
        """Nothing is loaded before a launch."""

    def build(self, optimised: bool) -> Kernel:
        """The kernel, optimised or not; compiled when first asked for."""
        if optimised not in self.builds:
            self.builds[optimised] = compile_kernel(self.py_func, self.options, self.argument_types, optimised)
        return self.builds[optimised]

    def launch(self, args: Sequence[Any], griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> None:
        """Run the launch with its check; what the kernel writes is in the program's arrays afterwards."""
        place = _caller()
        self._note_what_is_not_modelled(place)
        transfers = _Transfers(self.driver)
        types, values = self._extended(args, stream, transfers.after)
        names = _names(self.py_func.__code__, len(types))
        try:
            resolved = [transfers.resolved(type_, value) for type_, value in zip(types, values, strict=True)]

            def make(optimised: bool) -> Launch:
                shape = check_dimensions(tuple(griddim), tuple(blockdim), int(sharedmem))
                return launch_of(self.build(optimised), *shape, int(sharedmem), names, types, resolved)

            shown = tuple(short_text(value) for value in resolved)
            self.session.launch(self.py_func.__name__, make, shown, place)
        except RefusedLaunch as error:
            from numba.cuda.cudadrv import driver as numba_driver

            code = numba_driver.binding.CUresult.CUDA_ERROR_INVALID_VALUE
            raise numba_driver.CudaAPIError(
                code, f"the launch of {self.py_func.__name__} failed: {error}"
            ) from None
        for finish in transfers.after:
            finish()

    def _extended(
        self, args: Sequence[Any], stream: Any, after: list[Callable[[], Any]]
    ) -> tuple[list[Any], list[Any]]:
        types, values = [], []
        for type_, value in zip(self.argument_types, args, strict=True):
            for extension in reversed(self.extensions):
                type_, value = extension.prepare_args(type_, value, stream=stream, retr=after)
            types.append(type_)
            values.append(value)
        return types, values

    def _note_what_is_not_modelled(self, place: Location | None) -> None:
        name = self.py_func.__name__
        if any(getattr(code, "setup_callback", None) for code in self.options.get("link") or ()):
            text = f"kernel {name} is linked with code that has a callback at its loading, which is not called here"
            self.session.incomplete(Reason("link", text, place))
        if self.options.get("debug") and _raises(self.py_func.__code__):
            text = f"kernel {name} is compiled with debug=True and raises exceptions, which have no effect here"
            self.session.incomplete(Reason("exception", text, place))

    def inspect_asm(self, cc: Any = None) -> str:
        """The PTX."""
        return self.builds[True].ptx

    @property
    def regs_per_thread(self) -> int:
        """An assumed number."""
        return REGISTERS

    @property
    def const_mem_size(self) -> int:
        """Constant memory is not measured."""
        return 0

    @property
    def local_mem_per_thread(self) -> int:
        """Local memory is not measured."""
        return 0

    @property
    def shared_mem_per_block(self) -> int:
        """Static shared memory in bytes."""
        from racedart.shadow.ptx import parse_module

        module = parse_module(self.builds[True].ptx)
        declared = [*module.variables, *(v for f in module.functions.values() for v in f.variables)]
        return sum(v.size for v in declared if v.space == "shared")

    @property
    def max_threads_per_block(self) -> int:
        """The bound of the decorator, or that of the device."""
        bounds = self.options.get("launch_bounds")
        first = bounds[0] if isinstance(bounds, (tuple, list)) else bounds
        return int(first) if first else ATTRIBUTES["MAX_THREADS_PER_BLOCK"]

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """Blocks of a cooperative grid: as many as the multiprocessors hold at once."""
        threads = int(np.prod(blockdim))
        shared = self.shared_mem_per_block + int(dynsmemsize)
        resident = min(
            ATTRIBUTES["MAX_THREADS_PER_MULTIPROCESSOR"] // threads, ATTRIBUTES["MAX_BLOCKS_PER_MULTIPROCESSOR"]
        )
        if shared:
            resident = min(resident, ATTRIBUTES["MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"] // shared)
        return resident * ATTRIBUTES["MULTIPROCESSOR_COUNT"]


class _Library:
    """What numba-cuda asks of a kernel's code library, of the function in it, and of the attributes of that."""

    def __init__(self, checked: CheckedKernel) -> None:
        self.checked = checked
        self.kernel = self.attributes = self

    def get_cufunc(self) -> _Library:
        """The function of the driver, of which only attributes are asked."""
        return self

    @property
    def max_threads_per_block(self) -> int:
        """Of cuda.core's kernel attributes."""
        return self.checked.max_threads_per_block

    def get_asm_str(self, cc: Any = None) -> str:
        """The PTX."""
        return self.checked.inspect_asm(cc)


class _Transfers:
    """The arguments of one launch as arrays over device memory; `after` brings back what was copied there."""

    def __init__(self, driver: SimulatedDriver) -> None:
        self.driver = driver
        self.after: list[Callable[[], Any]] = []

    def resolved(self, type_: Any, value: Any) -> Any:
        """A value with arrays over device memory in the place of arrays."""
        from numba.cuda import types
        from numba.cuda.args import ArgHint, In, Out

        copy_in, copy_out = True, True
        if isinstance(value, ArgHint):
            copy_out = not isinstance(value, In)
            copy_in = not isinstance(value, Out) or type(value).copy_input
            value = value.value
        if isinstance(type_, (types.Array, types.Record)):
            interface = getattr(value, "__cuda_array_interface__", None)
            if interface is not None:
                return self._on_device(interface, value)
            return self._copied(value, copy_in, copy_out)
        if isinstance(type_, types.BaseTuple):
            return tuple(self.resolved(t, v) for t, v in zip(type_, value, strict=True))
        return value

    def _on_device(self, interface: dict[str, Any], owner: Any) -> NDArray[Any]:
        dtype = getattr(owner, "dtype", None) or np.dtype(interface["typestr"])
        shape, strides = interface["shape"], interface["strides"]
        if 0 in shape:
            return np.zeros(shape, dtype)
        steps = strides or np.zeros(shape, [("", "V", dtype.itemsize)]).strides
        low = sum(min(step * (n - 1), 0) for n, step in zip(shape, steps, strict=True))
        high = sum(max(step * (n - 1), 0) for n, step in zip(shape, steps, strict=True)) + dtype.itemsize
        memory = self.driver.memory.bytes(interface["data"][0] + low, high - low)
        view: NDArray[Any] = np.ndarray(shape, dtype, memory.data, -low, steps)
        return view

    def _copied(self, value: Any, copy_in: bool, copy_out: bool) -> NDArray[Any]:
        host = value if isinstance(value, np.ndarray) else np.asanyarray(value)
        device = np.array(host, order="K", copy=True) if copy_in else np.zeros_like(host)
        if copy_out and isinstance(value, np.ndarray):
            self.after.append(lambda: np.copyto(host, device))
        elif copy_out and isinstance(value, np.void):
            self.after.append(lambda: np.copyto(record_memory(value), device))
        return device


def _names(code: CodeType, count: int) -> tuple[str, ...]:
    """Names of the arguments; those of a `*args` are numbered."""
    names = list(code.co_varnames[: code.co_argcount])[:count]
    star = code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if len(names) < count else ""
    return (*names, *(f"{star}[{k}]" for k in range(count - len(names))))


def _raises(code: CodeType) -> bool:
    return any(instruction.opname == "RAISE_VARARGS" for instruction in dis.get_instructions(code))


def _caller() -> Location | None:
    """The line of the program that launches: the innermost frame outside of racedart, Numba and NumPy."""
    import numba_cuda

    ours = tuple(
        os.path.dirname(os.path.abspath(path)) + os.sep for path in (__file__, numba_cuda.__file__, np.__file__)
    )
    numba_file = getattr(sys.modules.get("numba"), "__file__", None)
    if numba_file:
        ours += (os.path.dirname(os.path.abspath(numba_file)) + os.sep,)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        path = os.path.abspath(frame.f_code.co_filename)
        if not path.startswith(ours):
            return Location(path, frame.f_lineno, 0, frame.f_code.co_name)
        frame = frame.f_back
    return None
