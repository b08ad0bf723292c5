"""What every engine and check of racedart reports: a finding at a source location.

Defines Level, Verdict, Location, Edit, Fix, Finding, Suppressed and Reason. All are immutable values; producers
make them, reporters and the run file only read them. Does not define how they are stored (run.py) or
what the rule ids mean (registry.py).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
"""A value that the run file can hold."""


class Level(str, enum.Enum):
    """How bad a finding is; ordered NOTE < WARNING < ERROR."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """0 for NOTE, 1 for WARNING, 2 for ERROR."""
        return list(Level).index(self)

    def __str__(self) -> str:
        return self.value


class Verdict(str, enum.Enum):
    """What a run says of the code as compiled, for its launches and inputs."""

    CLEAN = "clean"
    FINDINGS = "findings"
    INCOMPLETE = "incomplete"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a source file.

    file: path as the compiler was given it; "" when unknown. line, column: from 1; 0 when unknown.
    function: the function that contains the place. message: what happens there, for related locations.
    inlined_at: the call through which an inlined place was reached; the outermost frame is the user's.
    """

    file: str
    line: int
    column: int = 0
    function: str = ""
    message: str = ""
    inlined_at: Location | None = None

    def __str__(self) -> str:
        if not self.file:
            return "unknown location"
        column = f":{self.column}" if self.column else ""
        return f"{self.file}:{self.line}{column}"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text from (line, column) up to (end_line, end_column) by `text`; all from 1."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A remedy: a sentence for a person and, where they are certain, the edits that carry it out."""

    description: str
    edits: tuple[Edit, ...] = ()

    def __str__(self) -> str:
        return self.description


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, once per (rule, locations, variable).

    location: the later access of a race, or the faulty place. related: the other places, each with its
    own message. properties: further facts by name (threads, blocks, values, count, ...), JSON values.
    fingerprint: the name of the finding that survives edits elsewhere (fingerprint.py); "" where not computed yet.
    """

    rule: str
    level: Level
    message: str
    location: Location
    related: tuple[Location, ...] = ()
    fix: Fix | None = None
    properties: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))
    fingerprint: str = ""


class Suppressor(str, enum.Enum):
    """What keeps a finding out of the verdict: a comment in the source, a baseline file, the configuration."""

    INLINE = "inline"
    BASELINE = "baseline"
    CONFIGURATION = "configuration"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that does not count. justification: the reason that was given. location: where it was given."""

    finding: Finding
    kind: Suppressor
    justification: str
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a run is incomplete: what was not modelled or which limit was reached.

    kind: a stable word ("instruction", "fence", "budget", "timeout", ...). instruction: the PTX text
    concerned, where there is one.
    """

    kind: str
    message: str
    location: Location | None = None
    instruction: str = ""

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location is not None and self.location.file else ""
        what = f" [{self.instruction}]" if self.instruction else ""
        return f"{where}{self.message}{what}"
