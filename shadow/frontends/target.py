"""Kernels named on a command line: `k.py::kernel`, `k.cu::ns::scale<float,4>`, `k.ptx::entry`."""

from __future__ import annotations

import difflib
import importlib.util
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from racedart.finding.errors import InputError, MissingDependencyError, UsageError
from racedart.shadow.frontends.cuda_cpp import SUFFIXES, CudaKernel, cuda_kernel, kernel_names
from racedart.shadow.frontends.cupy_source import cupy_source


def load_target(
    target: str, defines: Sequence[str] = (), options: Sequence[str] = (), include_dirs: Sequence[str] = ()
) -> Any:
    """The kernel that a target names.

    Raises UsageError for a target without a kernel, InputError for a file or kernel that is not there.
    """
    path, separator, name = target.partition("::")
    if not path:
        raise UsageError(f"{target!r} names no file: write FILE::KERNEL")
    if not os.path.exists(path):
        raise InputError(f"{path}: no such file: write FILE::KERNEL with the path of a .py, .cu or .ptx file")
    if not os.path.isfile(path):
        raise InputError(f"{path}: not a regular file: write FILE::KERNEL with the path of a .py, .cu or .ptx file")
    if path.endswith(".py"):
        source = cupy_source(path)
        raw = source.kernel(name) if source is not None and name else None
        if raw is not None:
            return _with_options(raw, defines, options, include_dirs)
        if source is not None and source.raws and not name:
            listed = ", ".join(raw.shown for raw in source.raws)
            raise UsageError(f"{target} names no kernel: write {path}::KERNEL; CuPy kernels there: {listed}")
        try:
            module = _imported(path)
        except InputError as error:
            if source is None:
                raise
            listed = ", ".join(raw.shown for raw in source.raws) or "none"
            raise InputError(f"{path} has no CuPy kernel {name!r}; those there: {listed}. {error}") from None
        kernels = _kernels_of(module)
        if not separator or not name:
            listed = ", ".join(kernels) or "none"
            raise UsageError(f"{target} names no kernel: write {path}::KERNEL; kernels there: {listed}")
        return _attribute(module, path, name, kernels)
    if path.endswith(SUFFIXES):
        kernel = cuda_kernel(path, name, options, defines, include_dirs)
        if not separator or not name:
            listed = ", ".join(kernel_names(kernel)) or "none"
            raise UsageError(f"{target} names no kernel: write '{path}::KERNEL'; kernels there: {listed}")
        return kernel
    raise UsageError(f"{path}: not a .py, .cu or .ptx file; write FILE::KERNEL")


def _with_options(
    kernel: CudaKernel, defines: Sequence[str], options: Sequence[str], include_dirs: Sequence[str]
) -> CudaKernel:
    """A kernel with further options, which come after its own and win."""
    given = (*kernel.options, *options, *(f"-D{define}" for define in defines))
    return replace(kernel, options=given, include_dirs=(*kernel.include_dirs, *include_dirs))


def _imported(path: str) -> ModuleType:
    """Import a file by its path, without running what stands under `if __name__ == "__main__"`."""
    from racedart.shadow.frontends.numba_device import no_device

    full = os.path.abspath(path)
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, full)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    folder = os.path.dirname(full)
    sys.path.insert(0, folder)
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        with no_device():
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and str(error.name).startswith("numba"):
            raise MissingDependencyError(
                f"{path} needs {error.name}, which is not installed: pip install 'racedart[cuda]'"
            ) from error
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == full]
        line = f":{frames[-1].lineno}" if frames else ""
        if isinstance(error, SyntaxError) and error.filename == full:
            line = f":{error.lineno}"
        raise InputError(f"{path}{line}: cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)
        if before is not None:
            sys.modules[name] = before
    return module


def _is_kernel(value: Any) -> bool:
    return hasattr(value, "py_func") and hasattr(value, "targetoptions") and not value.targetoptions.get("device")


def _kernels_of(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if _is_kernel(value)]


def _attribute(module: ModuleType, path: str, name: str, kernels: list[str]) -> Any:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            close = difflib.get_close_matches(name, kernels, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise InputError(
                f"{path} has no kernel {name!r}{hint or '.'} Its kernels: {', '.join(kernels) or 'none'}"
            )
        value = getattr(value, part)
    if not _is_kernel(value):
        what = "a device function" if hasattr(value, "py_func") else f"of type {type(value).__name__}"
        raise InputError(
            f"{path}::{name} is {what}, not a @cuda.jit kernel. Its kernels: {', '.join(kernels) or 'none'}"
        )
    return value
