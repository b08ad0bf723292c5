"""Values of `__constant__` and `__device__` variables of a kernel's module, set for one launch.

An array gives its bytes from the first byte of the variable on, and must not be longer than it; the rest is zero. A
number is taken as the type of a variable that holds one. What the kernel leaves in a variable is not given back.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from racedart.finding.errors import UsageError
from racedart.shadow.launch import Kernel
from racedart.shadow.ptx import Variable, parse_module


def variable_bytes(kernel: Kernel, values: Mapping[str, Any]) -> dict[str, NDArray[np.uint8]]:
    """PTX symbol -> bytes, of variables given by the user's names. Raises UsageError."""
    if not values:
        return {}
    module = parse_module(kernel.ptx)
    known = {v.name: v for v in module.variables if v.space in {"global", "const"}}
    found = {}
    for name, value in values.items():
        plain = name.split("::")[-1]
        symbols = [s for s in known if s == name or kernel.global_names.get(s, s).split("::")[-1] == plain]
        if len(symbols) != 1:
            raise UsageError(_unknown(kernel, name, [kernel.global_names.get(s, s) for s in known], len(symbols)))
        found[symbols[0]] = _bytes(kernel, name, known[symbols[0]], value)
    return found


def _bytes(kernel: Kernel, name: str, variable: Variable, value: Any) -> NDArray[np.uint8]:
    size = variable.size or variable.type.bytes
    if not isinstance(value, (np.ndarray, np.generic)):
        kind = {"f": "f", "s": "i", "u": "u", "b": "i"}[variable.type.name[0]]
        if variable.is_array or isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UsageError(
                f"variable {name} of kernel {kernel.name} has {size} bytes; {value!r} does not say how to fill "
                "them: give an array or a NumPy number"
            )
        try:
            if kind != "f" and value != int(value):
                raise OverflowError
            value = np.array(value if kind == "f" else int(value), f"{kind}{variable.type.bytes}")
        except (OverflowError, ValueError):
            raise UsageError(f"variable {name} of kernel {kernel.name}: {value!r} is no value of it") from None
    array = np.asarray(value)
    if array.dtype.hasobject or array.nbytes > size:
        raise UsageError(f"variable {name} of kernel {kernel.name} has {size} bytes; {array.nbytes} were given")
    whole = np.zeros(size, np.uint8)
    whole[: array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)
    return whole


def _unknown(kernel: Kernel, name: str, known: list[str], count: int) -> str:
    if count:
        return f"kernel {kernel.name} uses {count} variables called {name}: give the PTX symbol"
    close = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"kernel {kernel.name} uses no variable {name!r}{hint} Its variables: {', '.join(known) or 'none'}"
