"""The source texts that findings point into, and their names within the repository.

Sources that are no files (strings given to racedart) come with the run; files are read once for each Sources, and
may have changed or vanished since the run. A line ends at a newline only, as for a compiler; a form feed ends none.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path, PurePath

from racedart.finding.model import Location


class Sources:
    """Reads each source once. given: text of the sources that are no files, by the name that locations use."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self.given = given
        self._lines: dict[str, tuple[str, ...]] = {}

    def text(self, file: str) -> str | None:
        """The text of a source, None where it cannot be read; bytes that are no UTF-8 become U+FFFD."""
        if file in self.given:
            return self.given[file]
        try:
            return Path(file).read_bytes().decode(errors="replace")
        except (OSError, ValueError):
            return None

    def lines(self, file: str) -> tuple[str, ...]:
        """The lines of a source without their newlines; none where it cannot be read."""
        if file not in self._lines:
            text = self.text(file)
            self._lines[file] = () if text is None else tuple(text.split("\n"))
        return self._lines[file]

    def line(self, place: Location) -> str | None:
        """The line of a place without its newline, None where the source cannot be read or is shorter."""
        lines = self.lines(place.file)
        return lines[place.line - 1] if 1 <= place.line <= len(lines) else None

    def name(self, file: str) -> str:
        """The same name on every machine: the path from the root of the repository, with `/`.

        Outside a repository it is the path from the working directory, and for a file that is not below that either
        its last part. The name of a source that is no file stays as it is.
        """
        if not file or file in self.given or "\0" in file:
            return file
        path = os.path.realpath(file)
        root = repository_root(os.path.dirname(path)) or os.path.realpath(os.curdir)
        parts = PurePath(os.path.relpath(path, root)).parts
        return "/".join(parts) if parts[0] != os.pardir else parts[-1]


@functools.lru_cache(maxsize=4096)
def repository_root(folder: str) -> str | None:
    """The nearest folder at or above one that holds `.git`, None where there is none."""
    if os.path.lexists(os.path.join(folder, ".git")):
        return folder
    parent = os.path.dirname(folder)
    return None if parent == folder else repository_root(parent)
