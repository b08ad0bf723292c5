"""What a launch prints: the noted calls of printf as text, in the order of the run.

Source: CUDA C++ Programming Guide, formatted output: the host formats, and arguments are promoted as in C; they
stand behind each other at their own alignment. Python formats as C does, but for `%n` and `%a`, which are shown as
they stand. A call keeps the first 256 bytes of its arguments.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from racedart.shadow.cpu.engine import Words
from racedart.shadow.cpu.layout import Print

_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d*)(\.(?:\*|\d*))?(hh|h|ll|l|j|z|t|L)?([diouxXcsfFeEgGp%])")
_WIDE = {"l", "ll", "j", "z", "t"}
_NARROW = {"hh": 8, "h": 16}


def printed_text(rows: Words, count: int, text_at: Callable[[int], str]) -> str:
    """The text of the calls; text_at: the string at a device address. count: of all calls, kept or not."""
    texts = [formatted(text_at(int(row[Print.FORMAT])), row[Print.ARGUMENTS :].tobytes(), text_at) for row in rows]
    if count > len(rows):
        texts.append(f"\n[{count - len(rows):,} more calls of printf were not kept]\n")
    return "".join(texts)


def formatted(text: str, arguments: bytes, text_at: Callable[[int], str]) -> str:
    """One call, as C formats it."""
    at = 0

    def take(size: int) -> bytes:
        nonlocal at
        at = -(-at // size) * size
        data = arguments[at : at + size].ljust(size, b"\0")
        at += size
        return data

    def integer(length: str | None, *, signed: bool) -> int:
        wide = length in _WIDE
        number = int.from_bytes(take(8 if wide else 4), "little", signed=signed)
        bits = _NARROW.get(length or "", 64)
        if bits < 64:
            number &= (1 << bits) - 1
            number -= (1 << bits) if signed and number >> (bits - 1) else 0
        return number

    def shown(match: re.Match[str]) -> str:
        flags, width, precision, length, kind = match.groups()
        if kind == "%":
            return "%"
        if width == "*":
            width = str(integer(None, signed=True))
            if width[0] == "-":
                flags, width = flags + "-", width[1:]
        if precision == ".*":
            precision = f".{max(integer(None, signed=True), 0)}"
        plain = f"%{flags}{width}{precision or ''}"
        if kind == "s":
            return f"{plain}s" % text_at(int.from_bytes(take(8), "little"))
        if kind == "c":
            return f"{plain}s" % chr(take(4)[0])
        if kind == "p":
            return f"%{flags}{width}s" % f"{int.from_bytes(take(8), 'little'):#x}"
        if kind in "fFeEgG":
            value: float = struct.unpack("<d", take(8))[0]
            return f"{plain}{kind}" % value
        number = integer(length, signed=kind in "di")
        if kind == "o" and "#" in flags:
            return f"%{flags.replace('#', '')}{width}s" % f"0{number:o}"
        return f"{plain}{'d' if kind in 'iu' else kind}" % number

    return _CONVERSION.sub(shown, text)
