"""A kernel launch as the engines see it: PTX, dimensions, parameters and memory.

Front ends make a Launch; engines run it. A Launch holds host arrays only: an engine copies every buffer
into its own device memory, and writes the buffers back after the run.
Does not define streams or the order of several launches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from racedart.finding.errors import RacedartError


class LaunchError(RacedartError):
    """An engine could not carry a launch out; what the kernel did is not known."""


Dim3 = tuple[int, int, int]

MAX_SHARED = 227 * 1024
"""Bytes of shared memory, static and dynamic, that a block can have on current GPUs."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """Device memory that parameters point to.

    name: the kernel's parameter. array: C-contiguous host array of any dtype and shape; it holds the
    contents before the run, and after it. address: the device address that the program knows and may have stored
    in device memory, None where any will do.
    """

    name: str
    array: NDArray[Any]
    address: int | None = None


@dataclass(frozen=True, slots=True)
class Pointer:
    """At byte `at` of a parameter's data stands the address of `buffer` (an index) plus `offset` bytes."""

    at: int
    buffer: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Param:
    """One PTX kernel parameter: its bytes (little endian), and which of them are device addresses."""

    data: bytes
    pointers: tuple[Pointer, ...] = ()


@dataclass(frozen=True, slots=True)
class Kernel:
    """A compiled kernel: its PTX and what its source said that PTX does not.

    entry: the PTX symbol. name: the user's name for it. language: "numba", "cuda" or "ptx".
    shared_names: PTX symbol of a shared array -> the user's variable ("" as key: dynamic shared memory).
    global_names: PTX symbol of a module variable -> the user's variable.
    sources: path of a source that is no file on disk -> its text. source_path: the PTX file, whose own lines
    are shown where the PTX has no line information.
    """

    ptx: str
    entry: str
    name: str
    language: str
    shared_names: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    global_names: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    sources: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    source_path: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch: grid in blocks, block in threads (x, y, z), dynamic shared memory in bytes.

    params: one per PTX parameter, in order. variables: PTX symbol of a module variable -> its bytes, before the run
    and after it; others start as the module says.
    """

    kernel: Kernel
    grid: Dim3
    block: Dim3
    shared_bytes: int
    params: tuple[Param, ...]
    buffers: tuple[Buffer, ...]
    variables: Mapping[str, NDArray[np.uint8]] = field(default_factory=lambda: MappingProxyType({}))


def short_text(value: Any) -> str:
    """An argument of a launch in a few words: type and shape of an array, else its value."""
    shape, dtype = getattr(value, "shape", ()), getattr(value, "dtype", None)
    if dtype is not None and shape:
        return f"{dtype}[{', '.join(map(str, shape))}]"
    return repr(value)[:80]
