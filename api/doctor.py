"""`racedart doctor`: what works here, tried rather than guessed, and what to install for the rest."""

from __future__ import annotations

import ctypes
import importlib.metadata
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from racedart.finding.errors import RacedartError

_INSTALL = "pip install 'racedart[cuda]'"

_CUDA = 'extern "C" __global__ void k(int* a) { a[threadIdx.x] = 1; }'


@dataclass(frozen=True, slots=True)
class Line:
    """One examined thing: "ok", "missing" or "note"."""

    status: str
    what: str
    detail: str

    def __str__(self) -> str:
        return f"{self.status:8} {self.what:22} {self.detail}"


def examine() -> Iterator[Line]:
    """Everything that racedart can use, in the order of need."""
    yield Line("ok", "Python", platform.python_version())
    for package in ("numba", "llvmlite", "numpy", "libclang"):
        yield _package(package)
    yield _tried("CPU engine", _engine, "checks need it: pip install --force-reinstall racedart")
    yield _tried("CUDA C++ (NVRTC)", _cuda, f"checks of .cu files need it: {_INSTALL}")
    yield _tried("Numba kernels (NVVM)", _numba, f"checks of Numba kernels need it: {_INSTALL}")
    yield _headers()
    for tool in ("nvcc", "ptxas"):
        path = shutil.which(tool)
        yield Line("ok" if path else "note", tool, _version(path) if path else "not on PATH; nothing needs it")
    yield _driver()
    yield _tried("map --verify (clang)", _offload, "only `racedart map --verify` needs it", "note")


def _package(name: str) -> Line:
    try:
        return Line("ok", name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Line("missing", name, "pip install racedart")


def _offload() -> str:
    from racedart.analyzer.verify import find_toolchain

    return find_toolchain().clang


def _tried(what: str, trial: Callable[[], str], remedy: str, status: str = "missing") -> Line:
    try:
        return Line("ok", what, trial())
    except RacedartError as error:
        return Line(status, what, f"{str(error).splitlines()[0]}; {remedy}")
    except Exception as error:  # a broken installation fails in any way; doctor is there to say so
        return Line(status, what, f"{type(error).__name__}: {error}; {remedy}")


_PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k() { .reg .b32 %r<2>; mov.u32 %r1, %tid.x; bar.sync 0; ret; }
"""


def _engine() -> str:
    from racedart import check, cuda_kernel

    run = check(cuda_kernel(_PTX, "k"), 1, 32)
    return f"runs kernels on the processor: a check gives {run.verdict}"


def _cuda() -> str:
    import numpy as np
    from racedart import check, cuda_kernel

    run = check(cuda_kernel(_CUDA, "k"), 1, 32, np.zeros(32, np.int32))
    return f"{_installed('nvidia-cuda-nvrtc')}: compiles and checks: {run.verdict}"


def _numba() -> str:
    import numpy as np
    from numba import cuda
    from racedart import check

    def kernel(a):  # type: ignore[no-untyped-def]  # Numba infers it
        a[cuda.threadIdx.x] = 1

    run = check(cuda.jit(kernel), 1, 32, np.zeros(32, np.int32))
    return f"numba-cuda {_installed('numba-cuda')}: compiles and checks: {run.verdict}"


def _installed(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"


def _headers() -> Line:
    from racedart.shadow.frontends.nvrtc import header_folders

    folders = header_folders()
    if folders:
        return Line("ok", "CUDA headers", ", ".join(folders))
    return Line(
        "note", "CUDA headers", f"none; kernels that include cooperative_groups.h or CUB need them: {_INSTALL}"
    )


def _version(path: str) -> str:
    try:
        output = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return path
    release = next((line.strip() for line in output.splitlines() if "release" in line), "")
    return f"{path}: {release}"


def _driver() -> Line:
    try:
        library = ctypes.CDLL("libcuda.so.1")
        version = ctypes.c_int()
        library.cuDriverGetVersion(ctypes.byref(version))
    except OSError:
        return Line("note", "GPU driver", "none; not needed: kernels run on the processor")
    return Line(
        "ok", "GPU driver", f"CUDA {version.value // 1000}.{version.value % 1000 // 10}; checks run on the CPU"
    )
