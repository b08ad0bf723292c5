"""The arrays of a launch as buffers over the user's own memory: aliases share it, odd layouts stay as they are.

Two arguments whose memory overlaps become pointers into one buffer that spans both, so that a race through
an alias is seen. An array that is not C-contiguous keeps its strides inside the span of its memory. Memory of
which every view is read-only is not written back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from racedart.finding.errors import UsageError
from racedart.shadow.launch import Buffer, Param, Pointer


@dataclass(frozen=True, slots=True)
class Composite:
    """The bytes of a parameter that holds pointers: at byte `at` the address of the array `number`."""

    data: bytes
    pointers: tuple[tuple[int, int], ...]


Word = bytes | int | Composite
"""What a parameter holds: bytes, an array by its number, or both."""


@dataclass
class Buffers:
    """Collects array arguments; `finish` makes the parameters and the buffers."""

    names: list[str] = field(default_factory=list)
    arrays: list[NDArray[Any]] = field(default_factory=list)

    def add(self, name: str, array: NDArray[Any]) -> int:
        """Register an array; its number in what `finish` gives. Raises UsageError for an array of objects."""
        if array.dtype.hasobject:
            raise UsageError(
                f"argument {name!r} is an array of {array.dtype}, which holds Python objects: give numbers"
            )
        self.names.append(name)
        self.arrays.append(array)
        return len(self.arrays) - 1

    def finish(self, words: Iterable[Word]) -> tuple[tuple[Param, ...], tuple[Buffer, ...]]:
        """Parameters and buffers of a launch; words: of each parameter, in order."""
        order = sorted(range(len(self.arrays)), key=lambda k: np.lib.array_utils.byte_bounds(self.arrays[k])[0])
        groups: list[list[int]] = []
        end = -1
        for k in order:
            low, high = np.lib.array_utils.byte_bounds(self.arrays[k])
            if groups and low < end:
                groups[-1].append(k)
                end = max(end, high)
            else:
                groups.append([k])
                end = high
        pointers: dict[int, Pointer] = {}
        buffers = []
        for number, group in enumerate(sorted(groups, key=min)):
            buffer, start = self._buffer(group)
            buffers.append(buffer)
            for k in group:
                address = self.arrays[k].__array_interface__["data"][0]
                pointers[k] = Pointer(0, number, address - start)
        return tuple(_param(word, pointers) for word in words), tuple(buffers)

    def _buffer(self, group: list[int]) -> tuple[Buffer, int]:
        """One buffer over all arrays of a group, and the host address of its first byte."""
        arrays = [self.arrays[k] for k in group]
        name = "/".join(dict.fromkeys(self.names[k] for k in sorted(group)))
        if len(arrays) == 1 and arrays[0].flags.c_contiguous:
            return Buffer(name, arrays[0]), int(arrays[0].__array_interface__["data"][0])
        bounds = [np.lib.array_utils.byte_bounds(array) for array in arrays]
        low, high = min(b[0] for b in bounds), max(b[1] for b in bounds)
        # The host memory that the arrays span, itself: writing the buffer back writes them all.
        writeable = any(array.flags.writeable for array in arrays)
        window = host_memory({"shape": (high - low,), "typestr": "|u1", "data": (low, not writeable)}, arrays)
        item = max(arrays, key=lambda a: a.nbytes).dtype
        return Buffer(name, window.view(item) if window.nbytes % item.itemsize == 0 else window), low


def _param(word: Word, pointers: Mapping[int, Pointer]) -> Param:
    if isinstance(word, bytes):
        return Param(word)
    if isinstance(word, int):
        return Param(bytes(8), (pointers[word],))
    return Param(word.data, tuple(replace(pointers[number], at=at) for at, number in word.pointers))


class _Window:
    """Host memory as NumPy reads it; keeps what owns it alive."""

    def __init__(self, interface: Mapping[str, Any], owner: Any) -> None:
        self.owner = owner
        self.__array_interface__ = dict(interface)


def host_memory(interface: Mapping[str, Any], owner: Any) -> NDArray[Any]:
    """The array that an `__array_interface__` (version 3) describes, without a copy; it keeps `owner` alive."""
    return np.asarray(_Window({"version": 3, **interface}, owner))
