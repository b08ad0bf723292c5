"""CUDA C++ -> PTX by NVRTC, which needs neither driver nor GPU. Headers are those of the CUDA wheels."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from racedart.finding.errors import InputError, MissingDependencyError

DEFAULT_OPTIONS = ("--gpu-architecture=compute_90", "-std=c++17")
OPTIMISED, UNOPTIMISED = "-lineinfo", "-G"


_INTEGERS = "#include <cuda/std/cstdint>\n" + "".join(
    f"using cuda::std::{sign}int{bits}_t;\n" for sign in ("", "u") for bits in (8, 16, 32, 64)
)
_ASSERT = """#pragma once
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : __assertfail(#condition, __FILE__, __LINE__, __func__, 1))
#endif
"""
_LIMITS = """#pragma once
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295u
#define CHAR_BIT 8
#define LLONG_MAX 9223372036854775807LL
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623157e+308
#define DBL_EPSILON 2.2204460492503131e-16
"""
HEADERS = {
    # What kernels use of these is built into NVRTC; host code that uses the rest does not compile here.
    **dict.fromkeys(("cstdio", "stdio.h", "cstdlib", "stdlib.h", "cmath", "math.h", "cstring", "string.h"), ""),
    **dict.fromkeys(("cuda_runtime.h", "cuda.h", "device_launch_parameters.h"), ""),
    **dict.fromkeys(("cassert", "assert.h"), _ASSERT),
    **dict.fromkeys(("cstdint", "stdint.h"), "#pragma once\n" + _INTEGERS),
    **dict.fromkeys(("climits", "limits.h", "cfloat", "float.h"), _LIMITS),
}
"""Standard headers that NVRTC lacks, as far as kernels need them."""


class CompilationError(InputError):
    """CUDA C++ that does not compile; `log` is the compiler's."""

    def __init__(self, name: str, log: str) -> None:
        lines = [line for line in log.splitlines() if line.strip()]
        super().__init__(
            f"{name} does not compile:\n" + "\n".join(lines[:40] or ["no message"]) + "\n"
            "NVRTC compiles device code only: put host code under #ifndef __CUDACC_RTC__ (or give --option "
            "-default-device if it calls nothing of the host), and give the build's include folders (-I) and "
            "macros (--define); a whole program that nvcc built is checked by racedart check ./program"
        )
        self.log = log


@dataclass(frozen=True, slots=True)
class Compiled:
    """ptx: text; lowered: the symbol of the name expression."""

    ptx: str
    lowered: str


def compile_cuda(
    source: str, name: str, expression: str, options: Sequence[str], includes: Sequence[str]
) -> Compiled:
    """Compile a program and find the symbol of a kernel given as a C++ name expression.

    name: file name for messages and line information. Options of the caller come after the defaults and
    win. Raises CompilationError and MissingDependencyError.
    """
    nvrtc = _nvrtc()
    names, texts = [n.encode() for n in HEADERS], [t.encode() for t in HEADERS.values()]
    program = _checked(nvrtc, nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), len(names), texts, names))
    try:
        if expression:
            _checked(nvrtc, nvrtc.nvrtcAddNameExpression(program, expression.encode()))
        # Only lines of the user's program and of headers with code matter; the warning floods do not.
        all_options = [
            *DEFAULT_OPTIONS,
            *options,
            "-w",
            *(f"-I{path}" for path in (*includes, *header_folders())),
        ]
        encoded = [option.encode() for option in all_options]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise CompilationError(name, _log(nvrtc, program))
        size = _checked(nvrtc, nvrtc.nvrtcGetPTXSize(program))
        text = bytes(size)
        _checked(nvrtc, nvrtc.nvrtcGetPTX(program, text))
        lowered = ""
        if expression:
            lowered = _checked(nvrtc, nvrtc.nvrtcGetLoweredName(program, expression.encode())).decode()
        return Compiled(text.decode().rstrip("\0"), lowered)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


@functools.cache
def header_folders() -> tuple[str, ...]:
    """Include folders of the CUDA runtime and of CCCL, as far as they are installed."""
    try:
        import cuda.pathfinder as pathfinder
    except ImportError:
        return ()
    folders = []
    for name in ("cudart", "cccl"):
        try:
            folder = pathfinder.find_nvidia_header_directory(name)
        except Exception:  # a missing or unknown header set is no error here: only its users notice
            folder = None
        if folder:
            folders.append(str(folder))
    return tuple(folders)


def _nvrtc() -> Any:
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        raise MissingDependencyError(
            f"CUDA C++ needs NVRTC, which is not installed ({error}): pip install 'racedart[cuda]'"
        ) from error
    return nvrtc


def _checked(nvrtc: Any, result: tuple[Any, ...]) -> Any:
    status, *values = result
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise InputError(f"NVRTC failed: {status.name}")
    return values[0] if values else None


def _log(nvrtc: Any, program: Any) -> str:
    size = _checked(nvrtc, nvrtc.nvrtcGetProgramLogSize(program))
    text = bytes(size)
    _checked(nvrtc, nvrtc.nvrtcGetProgramLog(program, text))
    return text.decode("utf-8", "replace").rstrip("\0")
