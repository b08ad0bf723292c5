"""Device memory of a program that runs without a GPU: allocations in host memory, found by address.

An address belongs to one allocation or to none; copies and fills outside of an allocation are refused, as a
driver refuses them. Fresh memory is zero.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 512
CAPACITY = 16 << 30
"""Bytes of device memory that a program is told there are."""

Bytes = NDArray[np.uint8]


class OutOfDeviceMemory(Exception):
    """More memory was asked for than there is."""


class NoSuchMemory(Exception):
    """An address range outside of every allocation."""


@dataclass
class Memory:
    """Allocations by address; `registered` are ranges of the program's own host memory, mapped to the device."""

    starts: list[int] = field(default_factory=list)
    blocks: dict[int, Bytes] = field(default_factory=dict)
    owners: dict[int, Bytes] = field(default_factory=dict)
    registered: dict[int, int] = field(default_factory=dict)
    used: int = 0

    def allocate(self, size: int) -> int:
        """The address of fresh memory. Raises OutOfDeviceMemory."""
        if size <= 0:
            raise NoSuchMemory(f"an allocation of {size} bytes")
        if self.used + size > CAPACITY:
            raise OutOfDeviceMemory(f"{size:,} bytes; {CAPACITY - self.used:,} are free")
        owner: Bytes = np.zeros(size + ALIGNMENT, np.uint8)
        first = int(owner.ctypes.data)
        address = -(-first // ALIGNMENT) * ALIGNMENT
        self._insert(address, owner[address - first :][:size])
        self.owners[address] = owner
        self.used += size
        return address

    def free(self, address: int) -> None:
        """Give an allocation back."""
        if address not in self.owners:
            raise NoSuchMemory(f"{address:#x} is no allocation")
        self.used -= len(self.blocks[address])
        del self.owners[address]
        self._remove(address)

    def register(self, address: int, size: int) -> None:
        """Make a range of host memory device memory as well. Raises NoSuchMemory if it is already."""
        if self.registered.get(address):
            raise NoSuchMemory(f"{address:#x} is registered already")
        self.registered[address] = size
        if size:
            self._insert(address, host_bytes(address, size))

    def unregister(self, address: int) -> None:
        """End a registration."""
        if self.registered.pop(address, 0):
            self._remove(address)

    def extent(self, address: int) -> tuple[int, int]:
        """Start and size of the allocation that holds an address. Raises NoSuchMemory."""
        at = bisect.bisect_right(self.starts, address) - 1
        if at >= 0 and address < self.starts[at] + len(self.blocks[self.starts[at]]):
            return self.starts[at], len(self.blocks[self.starts[at]])
        raise NoSuchMemory(f"{address:#x} is in no allocation")

    def bytes(self, address: int, size: int) -> Bytes:
        """The memory from an address on, within one allocation. Raises NoSuchMemory."""
        if size == 0:
            return np.zeros(0, np.uint8)
        start, length = self.extent(address)
        if address + size > start + length:
            raise NoSuchMemory(
                f"{size:,} bytes from {address:#x}, {address + size - start - length:,} beyond their allocation"
            )
        return self.blocks[start][address - start :][:size]

    def _insert(self, address: int, block: Bytes) -> None:
        bisect.insort(self.starts, address)
        self.blocks[address] = block

    def _remove(self, address: int) -> None:
        self.starts.remove(address)
        del self.blocks[address]


class _Range:
    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


def host_bytes(address: int, size: int) -> Bytes:
    """Host memory as bytes; its owner has to keep it alive."""
    if size == 0:
        return np.zeros(0, np.uint8)
    return np.asarray(_Range({"version": 3, "shape": (size,), "typestr": "|u1", "data": (address, False)}))
