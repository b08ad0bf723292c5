"""Arguments that live on a GPU: copied to the host for a check, and given back what the kernel leaves there.

Known by `__cuda_array_interface__`, and copied by what their library offers: `copy_to_host` and `copy_to_device` of
Numba, `get` and `set` of CuPy, `cpu` and `copy_` of PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from racedart.finding.errors import UsageError


def on_host(args: Sequence[Any]) -> tuple[list[Any], Callable[[], None]]:
    """The arguments with host arrays in the place of device arrays, and what copies these back.

    One device array given twice is one host array. Raises UsageError for an array that cannot be copied.
    """
    hosts: dict[int, Any] = {}
    back: list[Callable[[], Any]] = []
    result = []
    for value in args:
        if isinstance(value, np.ndarray) or not hasattr(value, "__cuda_array_interface__"):
            result.append(value)
            continue
        if id(value) not in hosts:
            hosts[id(value)], give = _copied(value)
            back.append(give)
        result.append(hosts[id(value)])

    def give_back() -> None:
        for give in back:
            give()

    return result, give_back


def _copied(value: Any) -> tuple[Any, Callable[[], Any]]:
    if hasattr(value, "copy_to_host") and hasattr(value, "copy_to_device"):
        host = value.copy_to_host()
        return host, lambda: value.copy_to_device(host)
    if hasattr(value, "get") and hasattr(value, "set"):
        host = value.get()
        return host, lambda: value.set(host)
    if hasattr(value, "cpu") and hasattr(value, "copy_"):
        tensor = value.detach().cpu()
        return tensor.numpy(), lambda: value.copy_(tensor)
    raise UsageError(
        f"an argument is a device array of type {type(value).__name__}, which offers no way to copy it to the "
        "host: give a NumPy array"
    )
