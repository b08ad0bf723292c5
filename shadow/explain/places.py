"""Source places and variable names of sites and addresses."""

from __future__ import annotations

from racedart.finding.model import Location
from racedart.shadow.ptx.model import Loc, Module

_LIBRARY_MARKS = (
    "/site-packages/",
    "/dist-packages/",
    "/include/cuda",
    "/include/cccl/",
    "/include/crt/",
    "/nvidia/",
)


def location_of(module: Module, loc: Loc | None, message: str = "") -> Location:
    """The place of an instruction: the innermost frame in the user's own code, with its callers.

    Frames of installed libraries and of the CUDA headers are passed over, unless there is no other.
    """
    if loc is None:
        return Location("", 0, message=message)
    frame: Loc | None = loc
    while frame is not None and _is_library(module, frame) and frame.inlined_at is not None:
        frame = frame.inlined_at
    if frame is None or _is_library(module, frame):
        frame = loc
    return _location(module, frame, message)


def _location(module: Module, loc: Loc, message: str) -> Location:
    caller = _location(module, loc.inlined_at, "") if loc.inlined_at is not None else None
    return Location(module.files.get(loc.file, ""), loc.line, loc.column, loc.function, message, caller)


def _is_library(module: Module, loc: Loc) -> bool:
    path = module.files.get(loc.file, "")
    # Line 0 stands for code that the compiler made up.
    return loc.line == 0 or any(mark in path for mark in _LIBRARY_MARKS)


def key_of(module: Module, loc: Loc | None) -> tuple[str, int]:
    """File and line under which findings are merged."""
    place = location_of(module, loc)
    return place.file, place.line
