"""Numbers as people write them: values of memory, element names, thread coordinates."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray
from racedart.shadow.launch import Dim3
from racedart.shadow.ptx.types import Type

_FORMATS = {"f32": "<f", "f64": "<d", "f16": "<e"}


def value_text(word: int, type_: Type) -> str:
    """The low bytes of a 64-bit word as a value of a PTX type; untyped bits as an unsigned number."""
    data = (word & (1 << 64) - 1).to_bytes(8, "little")[: type_.bytes]
    if type_.name in _FORMATS:
        number = struct.unpack(_FORMATS[type_.name], data)[0]
        return f"{number:.9g}"
    return str(int.from_bytes(data, "little", signed=type_.is_signed))


def coordinates(index: int, shape: Dim3) -> Dim3:
    """(x, y, z) of a linear index."""
    x, y, _ = shape
    return index % x, index // x % y, index // (x * y)


def element_text(name: str, byte: int, array: NDArray[np.generic] | None, size: int) -> str:
    """`name[i, j]` for the byte offset into an array, or `name[k]` in elements of `size` bytes.

    Of untyped memory (an array of V1) only the size of the access is known as well.
    """
    if array is None or array.dtype == np.dtype("V1"):
        return f"{name}[{byte // size}]" if byte % size == 0 else f"{name} byte {byte}"
    item = max(array.dtype.itemsize, 1)
    flat = byte // item
    if array.ndim <= 1 or not 0 <= flat < array.size:
        return f"{name}[{flat}]"
    index = ", ".join(str(int(k)) for k in np.unravel_index(flat, array.shape))
    return f"{name}[{index}]"
