"""PTX -> machine code of one GPU, by nvJitLink of the installed wheel, so that no driver's PTX version matters.

Needs no GPU. Machine code is kept in the user's cache.
"""

from __future__ import annotations

import base64

from racedart.finding.errors import InputError, MissingDependencyError
from racedart.shadow.cpu.cache import cached_text, fingerprint


def assemble(text: str, target: tuple[int, int]) -> bytes:
    """A cubin for a compute capability. Raises InputError with the assembler's log if the PTX is wrong."""
    try:
        from cuda.bindings import nvjitlink
    except ImportError as error:
        raise MissingDependencyError("the GPU engine needs nvJitLink: pip install 'racedart[cuda]'") from error
    key = fingerprint(text, repr(target), repr(nvjitlink.version()))
    return base64.b85decode(cached_text("cubin", key, lambda: base64.b85encode(_linked(text, target)).decode()))


def _linked(text: str, target: tuple[int, int]) -> bytes:
    from cuda.bindings import nvjitlink

    options = [f"-arch=sm_{target[0]}{target[1]}", "-O3"]
    handle = nvjitlink.create(len(options), options)
    data = text.encode()
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, data, len(data), "kernel")
        nvjitlink.complete(handle)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
    except nvjitlink.nvJitLinkError as error:
        log = bytearray(max(nvjitlink.get_error_log_size(handle), 1))
        nvjitlink.get_error_log(handle, log)
        message = bytes(log).split(b"\0")[0].decode(errors="replace").strip()
        raise InputError(f"the instrumented kernel does not assemble: {message or error}") from error
    finally:
        nvjitlink.destroy(handle)
    return bytes(cubin)
