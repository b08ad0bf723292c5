"""Code that numba-cuda links into a kernel, as PTX: its own CUDA C++ for half precision and reshaping, and `link=`.

numba-cuda compiles CUDA C++ through cuda.core, which asks the driver for its version; `own_nvrtc` puts our call of
NVRTC in its place. Machine code (cubin, fatbin, object, archive) and LTO-IR are refused.
"""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator
from typing import Any

from racedart.shadow.frontends.nvrtc import OPTIMISED, compile_cuda

RESHAPING = ("nocopy_empty_reshape", "numba_attempt_nocopy_reshape")
"""Functions that numba-cuda defines in its file reshape_funcs.cu."""


@contextlib.contextmanager
def own_nvrtc() -> Iterator[None]:
    """Let numba-cuda compile CUDA C++ without a driver."""
    from numba.cuda.cudadrv import nvrtc

    original = nvrtc.compile
    nvrtc.compile = lambda source, name, *_, **__: (_compiled(source, name), "")
    try:
        yield
    finally:
        nvrtc.compile = original


def ptx_of(code: Any) -> str:
    """PTX of a code that numba-cuda would link: PTX as it is, a path, or a LinkableCode.

    Raises NotImplementedError for machine code.
    """
    from numba.cuda import LinkableCode, PTXSource

    if isinstance(code, str) and ".version" in code:
        return code
    linkable = LinkableCode.from_path_or_obj(code)
    if linkable.kind == "cu":
        return _compiled(linkable.data, linkable.name)
    if isinstance(linkable, PTXSource):
        return _text(linkable.data)
    raise NotImplementedError(
        f"{linkable.name} is linked as {type(linkable).__name__}, which racedart cannot read: link CUDA C++ or PTX"
    )


def helpers_of(ptx: str) -> list[str]:
    """Paths of numba-cuda's own sources for what a kernel calls."""
    import numba_cuda

    if not any(name in ptx for name in RESHAPING):
        return []
    return [os.path.join(os.path.dirname(numba_cuda.__file__), "numba", "cuda", "reshape_funcs.cu")]


def _compiled(source: Any, name: str) -> str:
    import numba_cuda
    from numba.cuda.core import config

    folder = os.path.join(os.path.dirname(numba_cuda.__file__), "numba", "cuda")
    # One folder of headers for each major version of CUDA; the newest fits the NVRTC of the wheels.
    versions = sorted(glob.glob(os.path.join(folder, "include", "*")), key=lambda p: os.path.basename(p).zfill(4))
    given = [path for path in str(config.CUDA_NVRTC_EXTRA_SEARCH_PATHS or "").split(":") if path]
    includes = [*versions[-1:], os.path.join(folder, "memory_management"), *given]
    return compile_cuda(_text(source), name, "", ("-rdc=true", OPTIMISED), includes).ptx


def _text(data: Any) -> str:
    return data.decode() if isinstance(data, bytes) else str(data)
