"""Launch dimensions: one to three numbers, within what a GPU can launch (CUDA programming guide, table 27)."""

from __future__ import annotations

from typing import Any

from racedart.finding.errors import UsageError
from racedart.shadow.launch import MAX_SHARED, Dim3

MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024


def check_dimensions(grid: Any, block: Any, shared_bytes: Any) -> tuple[Dim3, Dim3]:
    """Grid and block as (x, y, z).

    Raises UsageError with the value that is wrong.
    """
    blocks = _three("grid", grid, MAX_GRID)
    threads = _three("block", block, MAX_BLOCK)
    count = threads[0] * threads[1] * threads[2]
    if count > MAX_THREADS:
        raise UsageError(f"block {threads} has {count} threads; a block has at most {MAX_THREADS}")
    if isinstance(shared_bytes, bool) or not isinstance(shared_bytes, int) or not 0 <= shared_bytes <= MAX_SHARED:
        raise UsageError(f"shared_bytes is {shared_bytes!r}; give a whole number from 0 to {MAX_SHARED}")
    return blocks, threads


def _three(name: str, value: Any, limits: Dim3) -> Dim3:
    parts = list(value) if isinstance(value, (tuple, list)) else [value]
    if not 1 <= len(parts) <= 3:
        raise UsageError(f"{name} is {value!r}; give one to three numbers")
    try:
        numbers = [int(part.__index__()) for part in parts if not isinstance(part, bool)]
    except AttributeError:
        numbers = []
    if len(numbers) != len(parts):
        raise UsageError(f"{name} is {value!r}; give whole numbers")
    x, y, z = (*numbers, 1, 1)[:3]
    for axis, number, limit in zip("xyz", (x, y, z), limits, strict=True):
        if not 1 <= number <= limit:
            raise UsageError(f"{name}.{axis} is {number}; it must lie between 1 and {limit}")
    return x, y, z
