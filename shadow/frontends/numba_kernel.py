"""Numba `@cuda.jit` kernels: PTX for the types of the arguments, which are passed as numba-cuda passes them.

Source of the argument layout: numba-cuda's launcher. An array becomes its memory-info and parent pointers (0),
the number of elements, the element size, the data pointer, the shape and the strides in bytes; a record a
pointer to it; a tuple its items one after another. Device arrays and registered argument extensions belong to
the programs that make them (racedart.shadow.programs).
"""

from __future__ import annotations

import contextlib
import struct
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from racedart.finding.errors import InputError, UsageError
from racedart.shadow.frontends.buffers import Buffers, host_memory
from racedart.shadow.frontends.linking import link_ptx
from racedart.shadow.frontends.numba_code import helpers_of, own_nvrtc, ptx_of
from racedart.shadow.frontends.numba_device import COMPUTE_CAPABILITY, no_device, signatures_of
from racedart.shadow.launch import Dim3, Kernel, Launch
from racedart.shadow.ptx import parse_module


def numba_launch(
    dispatcher: Any, grid: Dim3, block: Dim3, args: Sequence[Any], shared_bytes: int, optimised: bool = True
) -> Launch:
    """A launch of a dispatcher. Raises UsageError for arguments and InputError for code that does not compile."""
    name = dispatcher.py_func.__name__
    names = _parameter_names(dispatcher)
    if len(args) != len(names):
        raise UsageError(
            f"kernel {name} takes {len(names)} arguments ({', '.join(names)}); {len(args)} were given: "
            f"give {len(names)}"
        )
    types = _types(name, names, args)
    types = _declared_types(dispatcher, name, names, types)
    kernel = _compiled(dispatcher, name, types, optimised)
    return launch_of(kernel, grid, block, shared_bytes, names, types, args)


def launch_of(
    kernel: Kernel,
    grid: Dim3,
    block: Dim3,
    shared_bytes: int,
    names: Sequence[str],
    types: Sequence[Any],
    args: Sequence[Any],
) -> Launch:
    """A launch of a compiled kernel with arguments of its types. Raises UsageError."""
    buffers = Buffers()
    words: list[bytes | int] = []
    for parameter, type_, value in zip(names, types, args, strict=True):
        _flatten(kernel.name, parameter, type_, value, buffers, words)
    return Launch(kernel, grid, block, shared_bytes, *buffers.finish(words))


def _parameter_names(dispatcher: Any) -> tuple[str, ...]:
    code = dispatcher.py_func.__code__
    return tuple(code.co_varnames[: code.co_argcount])


def _types(name: str, names: Sequence[str], args: Sequence[Any]) -> tuple[Any, ...]:
    import numba

    types = []
    for parameter, value in zip(names, args, strict=True):
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            raise UsageError(
                f"kernel {name}: argument {parameter!r} is an array of Python objects: give an array of numbers"
            )
        try:
            types.append(numba.typeof(value))
        except (ValueError, TypeError) as error:
            raise UsageError(
                f"kernel {name}: argument {parameter!r} is a {type(value).__name__}, which Numba cannot pass to a "
                "kernel: give a NumPy array, a number or a tuple of them"
            ) from error
    return tuple(types)


def _declared_types(dispatcher: Any, name: str, names: Sequence[str], types: tuple[Any, ...]) -> tuple[Any, ...]:
    """The types of the explicit signature that the arguments fit, or the arguments' own."""
    signatures = [s for s in signatures_of(dispatcher) if s]
    if not signatures:
        return types
    for signature in signatures:
        if len(signature) == len(types) and all(_fits(t, d) for t, d in zip(types, signature, strict=True)):
            return signature
    given = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
    declared = " or ".join(f"({', '.join(map(str, s))})" for s in signatures)
    raise UsageError(f"kernel {name} is declared for {declared}; the arguments are ({given})")


def _fits(given: Any, declared: Any) -> bool:
    from numba import types

    if isinstance(declared, types.Array):
        return (
            isinstance(given, types.Array)
            and given.dtype == declared.dtype
            and given.ndim == declared.ndim
            and declared.layout in {"A", given.layout}
        )
    return given == declared or (isinstance(given, types.Number) and isinstance(declared, types.Number))


_cache: dict[tuple[int, tuple[Any, ...], bool], tuple[Any, Kernel]] = {}


def _compiled(dispatcher: Any, name: str, types: tuple[Any, ...], optimised: bool) -> Kernel:
    key = (id(dispatcher), types, optimised)
    # The dispatcher is kept with the entry, so that its id cannot be another one's.
    if key not in _cache:
        _cache[key] = (dispatcher, _compile(dispatcher, name, types, optimised))
    return _cache[key][1]


def _compile(dispatcher: Any, name: str, types: tuple[Any, ...], optimised: bool) -> Kernel:
    from numba.core.errors import NumbaError

    try:
        with no_device():
            return compile_kernel(dispatcher.py_func, dispatcher.targetoptions, types, optimised)
    except Exception as error:
        known = isinstance(error, NumbaError) or "numba" in type(error).__module__
        if not known and not isinstance(error, (NotImplementedError, TypeError)):
            raise
        code = dispatcher.py_func.__code__
        text = str(error).strip()
        raise InputError(
            f"{code.co_filename}:{code.co_firstlineno}: kernel {name} does not compile for "
            f"({', '.join(map(str, types))}): {text}"
        ) from error


def compile_kernel(
    function: Any, options: Mapping[str, Any], types: tuple[Any, ...], optimised: bool = True
) -> Kernel:
    """The kernel that a function becomes with the options of `@cuda.jit`. Raises what Numba raises."""
    from numba.cuda.compiler import compile_all

    shared_names: dict[str, str] = {}
    captured: list[Any] = []
    with (
        _recorded_names(shared_names),
        _callees_with_lines(),
        _captured_arrays(captured),
        own_nvrtc(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        codes, _ = compile_all(
            function,
            types,
            device=False,
            abi="numba",
            output="ptx",
            # debug=True makes a PTX module of each device function, and adds code that records exceptions.
            debug=False,
            lineinfo=True,
            fastmath=bool(options.get("fastmath")),
            opt=optimised and bool(options.get("opt", True)),
            launch_bounds=options.get("launch_bounds"),
            cc=COMPUTE_CAPABILITY,
        )
        kernel_ptx, *callees = codes
        linked = [ptx_of(code) for code in (*callees, *(options.get("link") or ()), *helpers_of(kernel_ptx))]
    if captured:
        raise NotImplementedError(
            f"kernel {function.__name__} captures {len(captured)} device array(s) from its surroundings, whose "
            "addresses become constants; racedart does not model this: pass them as arguments"
        )
    entry = next(iter(parse_module(kernel_ptx).kernels))
    ptx = link_ptx(kernel_ptx, linked)
    for symbol in list(shared_names):
        if f"{symbol}[]" in ptx:
            shared_names[""] = shared_names[symbol]
    return Kernel(ptx, entry, function.__name__, "numba", shared_names)


@contextlib.contextmanager
def _recorded_names(names: dict[str, str]) -> Iterator[None]:
    """Record, while a kernel is lowered, which variable each shared array is assigned to."""
    from numba.cuda import cudaimpl

    original = getattr(cudaimpl, "_get_unique_smem_id", None)
    if original is None:
        # Another release of numba-cuda: findings show the PTX symbol.
        yield
        return

    def record(name: str) -> str:
        symbol = str(original(name))
        variable = _assigned_variable()
        if variable:
            names[symbol] = variable
        return symbol

    cudaimpl._get_unique_smem_id = record
    try:
        yield
    finally:
        cudaimpl._get_unique_smem_id = original


@contextlib.contextmanager
def _captured_arrays(captured: list[Any]) -> Iterator[None]:
    """Collect, while a kernel is compiled, the device arrays whose addresses are put into its code."""
    from numba.cuda.codegen import CUDACodeLibrary

    original = CUDACodeLibrary.finalize

    def finalize(self: Any) -> None:
        captured.extend(getattr(self, "referenced_objects", {}).values())
        original(self)

    CUDACodeLibrary.finalize = finalize
    try:
        yield
    finally:
        CUDACodeLibrary.finalize = original


def _assigned_variable() -> str:
    """The target of the assignment that Numba is lowering, found in the frames of its lowering."""
    frame = sys._getframe(2)
    while frame is not None:
        target = getattr(frame.f_locals.get("inst"), "target", None)
        name = getattr(target, "name", "")
        if name and not name.startswith("$"):
            return str(name).split(".")[0]
        if frame.f_back is None:
            break
        frame = frame.f_back
    return ""


@contextlib.contextmanager
def _callees_with_lines() -> Iterator[None]:
    """Compile the device functions that a kernel calls anew: with lines of their own and recorded names.

    What was compiled before, for another kernel or by the user's program, is put back at the end.
    """
    from numba.cuda.dispatcher import CUDADispatcher

    original = CUDADispatcher.get_call_template
    changed: dict[int, tuple[Any, Any, Any]] = {}

    def get_call_template(self: Any, args: Any, kws: Any) -> Any:
        if id(self) not in changed:
            declared = self.overloads
            changed[id(self)] = self, declared, self.targetoptions
            self.overloads = type(declared)()
            self.targetoptions = {**self.targetoptions, "lineinfo": True, "debug": False}
            if not self._can_compile:
                for types, overload in declared.items():
                    self.compile_device(types, overload.signature.return_type)
        return original(self, args, kws)

    CUDADispatcher.get_call_template = get_call_template
    try:
        yield
    finally:
        CUDADispatcher.get_call_template = original
        for dispatcher, overloads, options in changed.values():
            dispatcher.overloads, dispatcher.targetoptions = overloads, options


def _flatten(kernel: str, name: str, type_: Any, value: Any, buffers: Buffers, words: list[bytes | int]) -> None:
    """Append the parameters of one argument: bytes, or the number of an array for its pointer."""
    from numba import types

    if isinstance(type_, types.Array):
        words += [
            bytes(8),
            bytes(8),
            _word(value.size),
            _word(value.dtype.itemsize),
            buffers.add(name, value),
        ]
        words += [_word(n) for n in value.shape]
        words += [_word(n) for n in value.strides]
    elif isinstance(type_, types.Boolean):
        words.append(struct.pack("<?", bool(value)))
    elif isinstance(type_, (types.Integer, types.Float)):
        words.append(_number(kernel, name, np.dtype(str(type_)), value))
    elif isinstance(type_, types.Complex):
        part = np.float32 if type_ == types.complex64 else np.float64
        words += [part(value.real).tobytes(), part(value.imag).tobytes()]
    elif isinstance(type_, types.Record):
        words.append(buffers.add(name, record_memory(value)))
    elif isinstance(type_, (types.NPDatetime, types.NPTimedelta)):
        words.append(_word(int(value.view(np.int64))))
    elif isinstance(type_, types.EnumMember):
        _flatten(kernel, name, type_.dtype, value.value, buffers, words)
    elif isinstance(type_, types.BaseTuple):
        for k, (item_type, item) in enumerate(zip(type_, value, strict=True)):
            _flatten(kernel, f"{name}[{k}]", item_type, item, buffers, words)
    else:
        raise UsageError(
            f"kernel {kernel}: argument {name!r} has type {type_}, which Numba does not pass to kernels: give "
            "arrays, records, numbers or tuples of them"
        )


def record_memory(value: Any) -> NDArray[Any]:
    """The memory of a record as an array of one element: a NumPy record is a view of memory."""
    if isinstance(value, np.ndarray):
        return value.reshape(1)
    address, read_only = value.__array_interface__["data"]
    memory = host_memory({"shape": (value.nbytes,), "typestr": "|u1", "data": (address, read_only)}, value)
    return memory.view(value.dtype)


def _number(kernel: str, name: str, dtype: np.dtype[Any], value: Any) -> bytes:
    """A number as the type of a declared signature, which must hold it."""
    try:
        if dtype.kind not in "iu":
            return np.asarray(value, dtype).tobytes()
        if float(value).is_integer():
            return np.asarray(int(value), dtype).tobytes()
    except (OverflowError, TypeError, ValueError):
        pass
    raise UsageError(f"kernel {kernel}: argument {name!r} is {value!r}, which is no value of {dtype.name}")


def _word(value: int) -> bytes:
    return struct.pack("<q", value)
