"""A source without its data mappings: what inference starts from when the mappings that are there are put aside.

Removed: `target data`, `target enter data`, `target exit data` and `target update`, and the map and defaultmap
clauses of target constructs. Kept: the statement behind a `target data`, constructs, firstprivate, reduction,
is_device_ptr, `declare target`, and a `target data` that gives host code device addresses (use_device_ptr).
"""

from __future__ import annotations

from collections.abc import Iterator

from racedart.analyzer.pragma import Directive, Place, find_pragmas, parse_pragma
from racedart.analyzer.rewrite import ByteEdit

DATA = frozenset({"target data", "target enter data", "target exit data", "target update"})
CLAUSES = frozenset({"map", "defaultmap"})


def strip_mappings(source: bytes) -> tuple[ByteEdit, ...]:
    """The edits that remove all data mappings from a source."""
    edits: list[ByteEdit] = []
    for place in find_pragmas(source):
        parsed = parse_pragma(source, place.start, place.end)
        if not isinstance(parsed, Directive) or "target" not in parsed.kind.split():
            continue
        if parsed.kind in DATA:
            if not parsed.named("use_device_ptr", "use_device_addr"):
                edits.append(ByteEdit(*_line(source, place), ""))
        elif parsed.leaves and parsed.leaves[0] == "target":
            edits.extend(ByteEdit(start, end, "") for start, end in _clauses(parsed))
    return tuple(edits)


def _line(source: bytes, place: Place) -> tuple[int, int]:
    """The range of a pragma, with its line where it has that to itself."""
    start = source.rfind(b"\n", 0, place.start) + 1
    end = source.find(b"\n", place.end)
    end = len(source) if end < 0 else end + 1
    alone = not source[start : place.start].strip() and not source[place.end : end].strip()
    return (start, end) if alone and not place.operator else (place.start, place.end)


def _clauses(directive: Directive) -> Iterator[tuple[int, int]]:
    """The ranges of the clauses that map, neighbours together."""
    clauses = directive.clauses
    index = 0
    while index < len(clauses):
        first = index
        while index < len(clauses) and clauses[index].name in CLAUSES:
            index += 1
        if index > first:
            if index < len(clauses):
                yield clauses[first].start, clauses[index].start
            else:
                yield (clauses[first - 1].end if first else directive.head_end), clauses[index - 1].end
        index += 1
