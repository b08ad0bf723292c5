"""PTX modules linked into one text, as a linker of relocatable device code would.

A declaration `.extern` of a function that another module defines is dropped, and so is a second declaration of one
that none defines. File numbers of line information and labels of its strings are made distinct. Not handled:
variables that one module declares and another defines, and two of one name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADER = re.compile(r"^\s*\.(version|target|address_size)\b.*$", re.MULTILINE)
_DECLARED = re.compile(
    r"\.extern\s+\.func\s*(?:\([^)]*\)\s*)?([\w$]+)\s*(?:\([^)]*\))?\s*(?:\.noreturn\s*)?;", re.DOTALL
)
_DEFINED = re.compile(
    r"(?<!\.extern)\s\.func\s*(?:\([^)]*\)\s*)?([\w$]+)\s*(?:\([^)]*\))?\s*(?:\.\w+\s*)*\{", re.DOTALL
)
_FILE = re.compile(r"^(\s*\.file\s+)(\d+)", re.MULTILINE)
_LOC = re.compile(r"^(\s*\.loc\s+)(\d+)", re.MULTILINE)
_INLINED = re.compile(r"(\binlined_at\s+)(\d+)")


def link_ptx(main: str, others: Sequence[str]) -> str:
    """One module of a main module and those that define what it calls; the main module's header stands."""
    if not others:
        return main
    bodies = [main]
    first = _last_file(main) + 1
    for number, other in enumerate(others, 1):
        body = _renumbered(_HEADER.sub("", other), first)
        bodies.append(body.replace("$L__info_string", f"$L__linked{number}_info_string"))
        first += _last_file(other)
    defined = {match[1] for body in bodies for match in _DEFINED.finditer(body)}
    declared: set[str] = set()

    def kept(match: re.Match[str]) -> str:
        if match[1] in defined or match[1] in declared:
            return ""
        declared.add(match[1])
        return match[0]

    header = "\n".join(match[0].strip() for match in _HEADER.finditer(main))
    bodies[0] = _HEADER.sub("", bodies[0])
    # What is called stands before its caller.
    return "\n".join((header, *(_DECLARED.sub(kept, body) for body in (*bodies[1:], bodies[0]))))


def _last_file(ptx: str) -> int:
    return max((int(match[2]) for match in _FILE.finditer(ptx)), default=0)


def _renumbered(ptx: str, first: int) -> str:
    """Line information with file numbers from `first` on."""

    def moved(match: re.Match[str]) -> str:
        return f"{match[1]}{int(match[2]) + first - 1}"

    for pattern in (_FILE, _LOC, _INLINED):
        ptx = pattern.sub(moved, ptx)
    return ptx
