"""Front ends: from a kernel as its user has it to PTX and a Launch, without a driver or a GPU.

`make_launch` takes a Numba dispatcher or a CudaKernel with launch dimensions and arguments; `load_target`
finds a kernel by the text of a command line. Nothing heavy is imported before it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from racedart.finding.errors import UsageError
from racedart.shadow.frontends.arguments import parse_argument
from racedart.shadow.frontends.cuda_cpp import CudaKernel, cuda_kernel
from racedart.shadow.frontends.cupy_source import raw_kernel
from racedart.shadow.frontends.dimensions import check_dimensions
from racedart.shadow.frontends.target import load_target
from racedart.shadow.launch import Launch

__all__ = ["CudaKernel", "cuda_kernel", "load_target", "make_launch", "parse_argument"]


def make_launch(
    kernel: Any,
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    args: Sequence[Any],
    shared_bytes: int = 0,
    optimised: bool = True,
    variables: Mapping[str, Any] = MappingProxyType({}),
) -> Launch:
    """The launch of a kernel: a Numba `@cuda.jit` dispatcher, a CudaKernel or a CuPy RawKernel.

    grid in blocks, block in threads: an int or up to three. args: NumPy arrays, which the run writes back in
    place, and scalars. shared_bytes: dynamic shared memory. optimised: False for a build in which every access
    of the source stands; PTX is what it is. variables: values of `__constant__` and `__device__` variables.

    Raises UsageError for dimensions or arguments that do not fit, InputError for code that does not compile.
    """
    shape = check_dimensions(grid, block, shared_bytes)
    if isinstance(kernel, CudaKernel):
        return kernel.launch(*shape, args, shared_bytes, optimised, variables)
    raw = raw_kernel(kernel)
    if raw is not None:
        return raw.launch(*shape, args, shared_bytes, optimised, variables)
    if hasattr(kernel, "py_func") and hasattr(kernel, "targetoptions"):
        from racedart.shadow.frontends.numba_kernel import numba_launch

        if variables:
            raise UsageError(f"a Numba kernel has no variables to be set: {', '.join(variables)}")

        return numba_launch(kernel, *shape, args, shared_bytes, optimised)
    raise UsageError(
        f"{kernel!r} is a {type(kernel).__name__}, not a kernel: give a function decorated with @cuda.jit, a CuPy "
        "RawKernel, or racedart.cuda_kernel(source or path, name)"
    )
