"""Places and their source lines as every report shows them.

Sources that are no files (strings given to racedart) come with the run; files are read when the report is made, and
may have changed or vanished since.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from racedart.finding.model import Location


def shown(place: Location) -> str:
    """The place as file:line:column; relative where the file is below the working directory."""
    if not place.file:
        return "unknown place"
    path = os.path.relpath(place.file) if os.path.isabs(place.file) else place.file
    if path.startswith(".."):
        path = place.file
    column = f":{place.column}" if place.column else ""
    return f"{path}:{place.line}{column}"


def source_line(place: Location, sources: Mapping[str, str]) -> str | None:
    """The text of the line without its newline, None where the source cannot be read."""
    text = sources.get(place.file)
    if text is None:
        try:
            with open(place.file, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except (OSError, ValueError):
            return None
    # Not splitlines: to a compiler a form feed ends no line.
    lines = text.split("\n")
    return lines[place.line - 1] if 1 <= place.line <= len(lines) else None
