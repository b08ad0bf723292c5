"""The PTX in a fat binary, the container that nvcc embeds in host code.

Layout, little endian: a header (u32 magic, u16 version, u16 bytes of the header, u64 bytes of all entries), then
entries, each followed by its payload (u16 kind: 1 PTX, 2 cubin; u16; u32 bytes of the entry's header; u64 bytes of
the payload; u32 compressed bytes; u32; u16 minor, u16 major; u32 architecture; u32, u32; u64 flags). Compressed
payloads are not read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from racedart.finding.errors import InputError

MAGIC = 0xBA55ED50
PTX = 1
COMPRESSED = 0xA000
"""Flags of a payload compressed by LZ4 (0x2000) or zstd (0x8000)."""

BUILD = "-cudart shared -gencode arch=compute_90,code=compute_90 -no-compress -lineinfo"
"""Options of nvcc that make a program which can be checked."""


def embedded_ptx(data: bytes) -> str:
    """The newest PTX of a fat binary. Raises InputError saying how to build the program."""
    best: tuple[int, bytes] | None = None
    compressed = False
    for architecture, kind, flags, payload in _entries(data):
        if kind == PTX and flags & COMPRESSED:
            compressed = True
        elif kind == PTX and (best is None or architecture > best[0]):
            best = architecture, payload
    if best is None:
        what = "only compressed PTX" if compressed else "no PTX"
        raise InputError(f"the program holds {what}: build it with nvcc {BUILD}, and without -dc or -rdc=true")
    return best[1].split(b"\0", 1)[0].decode("utf-8", "replace")


def _entries(data: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Architecture, kind, flags and payload of each entry."""
    at = 0
    while at + 16 <= len(data):
        magic, _, header, size = struct.unpack_from("<IHHQ", data, at)
        if magic != MAGIC:
            return
        at += header
        end = min(at + size, len(data))
        while at + 48 <= end:
            kind, _, entry_header, payload = struct.unpack_from("<HHIQ", data, at)
            architecture = struct.unpack_from("<I", data, at + 28)[0]
            flags = struct.unpack_from("<Q", data, at + 40)[0]
            start = at + entry_header
            yield architecture, kind, flags, data[start : start + payload]
            at = start + payload
        at = end
