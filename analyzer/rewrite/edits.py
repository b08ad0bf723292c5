"""Replacements of byte ranges, applied together: every offset is one of the original."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ByteEdit:
    """Replace the bytes [start, end) by a text; start == end inserts.

    Surrogates in the text stand for bytes that are no UTF-8.
    """

    start: int
    end: int
    text: str

    @property
    def data(self) -> bytes:
        """The text as the bytes that go into the file."""
        return self.text.encode("utf-8", "surrogateescape")


def apply_edits(source: bytes, edits: Iterable[ByteEdit]) -> bytes:
    """The source with all edits made. Insertions at one place stand in the order given, before a replacement there.

    Raises ValueError for a range outside the source and for two that overlap; an insertion strictly inside a
    replaced range overlaps it.
    """
    # The sort is stable: insertions at one place keep their order.
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    parts: list[bytes] = []
    at = 0
    for edit in ordered:
        if not 0 <= edit.start <= edit.end <= len(source):
            raise ValueError(f"edit of [{edit.start}, {edit.end}) in a source of {len(source)} bytes")
        if edit.start < at:
            raise ValueError(f"edits overlap at byte {edit.start}: {edit.text!r} and the one before it")
        parts.append(source[at : edit.start])
        parts.append(edit.data)
        at = edit.end
    parts.append(source[at:])
    return b"".join(parts)
