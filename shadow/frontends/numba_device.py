"""numba.cuda without a driver: a stand-in for the current device while kernels are declared and compiled.

numba-cuda asks the current device for its compute capability in several modules, and compiles kernels with
an explicit signature where they are declared. Inside `no_device` it is told COMPUTE_CAPABILITY, and
signatures are kept for later (`signatures_of`).
"""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Iterator
from typing import Any

COMPUTE_CAPABILITY = (9, 0)

_signatures: weakref.WeakKeyDictionary[Any, list[tuple[Any, ...]]] = weakref.WeakKeyDictionary()


@contextlib.contextmanager
def no_device(capability: tuple[int, int] = COMPUTE_CAPABILITY) -> Iterator[None]:
    """Let numba.cuda declare and compile kernels without a driver; a no-op where it is not installed."""

    class Device:
        compute_capability = capability
        id = 0
        name = b"none"

    try:
        from numba import cuda
        from numba.cuda import dispatcher
    except ImportError:
        yield
        return
    modules = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith(("numba.cuda", "numba_cuda")) and "get_current_device" in vars(module)
    ]
    saved = [
        (module, module.get_current_device) for module in {*modules, cuda} if hasattr(module, "get_current_device")
    ]
    kind = dispatcher.CUDADispatcher
    compile_, disable = kind.compile, kind.disable_compile

    def remember(self: Any, signature: Any) -> None:
        arguments = getattr(signature, "args", signature)
        _signatures.setdefault(self, []).append(tuple(arguments))

    try:
        for module, _ in saved:
            module.get_current_device = Device
        kind.compile = remember
        # A kernel has no overload yet; a device function keeps to the signatures that it declares.
        kind.disable_compile = lambda self, value=True: disable(self, value) if self.overloads else None
        yield
    finally:
        for module, function in saved:
            module.get_current_device = function
        kind.compile, kind.disable_compile = compile_, disable


def signatures_of(dispatcher: Any) -> list[tuple[Any, ...]]:
    """The argument types of the explicit signatures that a kernel was declared with."""
    if dispatcher in _signatures:
        return _signatures[dispatcher]
    return [tuple(types) for types in getattr(dispatcher, "overloads", {})]
