"""The unified diff of two versions of a source, as `patch` and `git apply` read it.

Lines end in LF only here: a CR belongs to its line, so that a diff of a CRLF file applies to it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator


def unified_diff(path: str, before: bytes, after: bytes, context: int = 3) -> str:
    """The diff, "" where nothing changes. Bytes that are no UTF-8 are surrogates in it."""
    if before == after:
        return ""
    name = path.lstrip("/")
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}", n=context)
    return "".join(_marked(lines))


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "surrogateescape")
    return [line + "\n" for line in text.split("\n")[:-1]] + [last for last in [text.rsplit("\n", 1)[-1]] if last]


def _marked(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
