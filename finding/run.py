"""The run: everything that one invocation found, and its file format.

A run file is JSON with a version; `run.schema.json` beside this module is its schema (JSON Schema 2020-12).
Readers refuse versions that they do not know.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from racedart.finding.errors import InputError
from racedart.finding.files import write_atomically
from racedart.finding.model import (
    Edit,
    Finding,
    Fix,
    Json,
    Level,
    Location,
    Reason,
    Suppressed,
    Suppressor,
    Verdict,
)
from racedart.finding.schema import misfit

VERSION = 2

STATEMENT = "A verdict speaks of the code as compiled, for these launches and inputs."


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    """One checked launch: grid in blocks, block in threads, arguments as short texts, counts by name.

    build: "optimised" or "unoptimised". index: number of the launch in its program, from 1; 0 for a launch without
    one. place: where the program launches.
    """

    kernel: str
    language: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    engine: str
    mode: str
    seed: int
    build: str = "optimised"
    arguments: tuple[str, ...] = ()
    statistics: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))
    index: int = 0
    place: Location | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """The program that was run under the checker, and its own exit code.

    unchecked: launches that ran without a check because they were not asked for.
    """

    argv: tuple[str, ...]
    exit_code: int
    unchecked: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a check.

    sources: text of the sources that are no files, by the name that locations use. suppressed: what was found and
    does not count. notices: sentences about the report itself, such as what a baseline holds that is gone.
    """

    findings: tuple[Finding, ...]
    reasons: tuple[Reason, ...]
    launches: tuple[LaunchRecord, ...]
    tool_version: str
    program: Program | None = None
    sources: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    suppressed: tuple[Suppressed, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Findings if there are any that count, else incomplete if there is a reason, else clean."""
        if self.findings:
            return Verdict.FINDINGS
        return Verdict.INCOMPLETE if self.reasons else Verdict.CLEAN

    def to_json(self) -> dict[str, Json]:
        """The run as JSON values."""
        return {
            "racedart_run": VERSION,
            "tool_version": self.tool_version,
            "verdict": str(self.verdict),
            "statement": STATEMENT,
            "findings": [_finding_json(finding) for finding in self.findings],
            "reasons": [_reason_json(reason) for reason in self.reasons],
            "launches": [_launch_json(launch) for launch in self.launches],
            "program": None
            if self.program is None
            else {
                "argv": list(self.program.argv),
                "exit_code": self.program.exit_code,
                "unchecked": self.program.unchecked,
            },
            "sources": dict(self.sources),
            "suppressed": [_suppressed_json(item) for item in self.suppressed],
            "notices": list(self.notices),
        }

    def save(self, path: str | Path) -> None:
        """Write the run file. Raises InputError if it cannot be written."""
        text = json.dumps(self.to_json(), indent=2) + "\n"
        write_atomically(path, text.encode("utf-8", errors="backslashreplace"), "the run")


def exit_code(run: Run, fail_on: Level | None) -> int:
    """The exit code of a run: 1 findings at or above the level, else 3 incomplete, else 0.

    fail_on None never gives 1. A checked program that failed makes the run incomplete.
    """
    if fail_on is not None and any(finding.level.rank >= fail_on.rank for finding in run.findings):
        return 1
    failed = run.program is not None and run.program.exit_code != 0
    return 3 if run.reasons or failed else 0


def load_run(path: str | Path) -> Run:
    """Read a run file.

    Raises InputError for a file that cannot be read, is no run file, or has another version.
    """
    try:
        return run_from_json(json.loads(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}; expected a file that --save wrote") from error
    except RecursionError:
        raise InputError(f"{path}: nested too deeply; expected a file that --save wrote") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def run_from_json(data: Any) -> Run:
    """A run from JSON values. Raises InputError naming the part that is wrong."""
    if not isinstance(data, dict) or "racedart_run" not in data:
        raise InputError("no racedart run: the key 'racedart_run' is missing")
    if data["racedart_run"] != VERSION:
        raise InputError(f"run file version {data['racedart_run']!r}; this racedart reads version {VERSION}")
    wrong = misfit(data, schema())
    if wrong is not None:
        raise InputError(f"a malformed run: {wrong}")
    program = data["program"]
    run = Run(
        tuple(_finding(item) for item in data["findings"]),
        tuple(_reason(item) for item in data["reasons"]),
        tuple(_launch(item) for item in data["launches"]),
        data["tool_version"],
        None
        if program is None
        else Program(tuple(program["argv"]), int(program["exit_code"]), int(program["unchecked"])),
        dict(data["sources"]),
        tuple(_suppressed(item) for item in data["suppressed"]),
        tuple(data["notices"]),
    )
    if data["verdict"] != run.verdict:
        raise InputError(
            f"a malformed run: verdict is {data['verdict']}, its findings and reasons say {run.verdict}"
        )
    return run


def schema() -> dict[str, Any]:
    """The JSON Schema of a run file."""
    text = resources.files("racedart.finding").joinpath("run.schema.json").read_text(encoding="utf-8")
    return cast(dict[str, Any], json.loads(text))


def _location_json(location: Location) -> dict[str, Json]:
    return {
        "file": location.file,
        "line": location.line,
        "column": location.column,
        "function": location.function,
        "message": location.message,
        "inlined_at": None if location.inlined_at is None else _location_json(location.inlined_at),
    }


def _location(data: Any) -> Location:
    caller = data["inlined_at"]
    return Location(
        str(data["file"]),
        int(data["line"]),
        int(data["column"]),
        str(data["function"]),
        str(data["message"]),
        None if caller is None else _location(caller),
    )


def _edit_json(edit: Edit) -> dict[str, Json]:
    return {
        "file": edit.file,
        "line": edit.line,
        "column": edit.column,
        "end_line": edit.end_line,
        "end_column": edit.end_column,
        "text": edit.text,
    }


def _finding_json(finding: Finding) -> dict[str, Json]:
    fix: Json = None
    if finding.fix is not None:
        fix = {"description": finding.fix.description, "edits": [_edit_json(edit) for edit in finding.fix.edits]}
    return {
        "rule": finding.rule,
        "level": str(finding.level),
        "message": finding.message,
        "location": _location_json(finding.location),
        "related": [_location_json(location) for location in finding.related],
        "fix": fix,
        "properties": dict(finding.properties),
        "fingerprint": finding.fingerprint,
    }


def _finding(data: Any) -> Finding:
    fix = data["fix"]
    return Finding(
        str(data["rule"]),
        Level(data["level"]),
        str(data["message"]),
        _location(data["location"]),
        tuple(_location(item) for item in data["related"]),
        None if fix is None else Fix(str(fix["description"]), tuple(Edit(**edit) for edit in fix["edits"])),
        dict(data["properties"]),
        str(data["fingerprint"]),
    )


def _suppressed_json(item: Suppressed) -> dict[str, Json]:
    return {
        "finding": _finding_json(item.finding),
        "kind": str(item.kind),
        "justification": item.justification,
        "location": None if item.location is None else _location_json(item.location),
    }


def _suppressed(data: Any) -> Suppressed:
    place = data["location"]
    return Suppressed(
        _finding(data["finding"]),
        Suppressor(data["kind"]),
        str(data["justification"]),
        None if place is None else _location(place),
    )


def _reason_json(reason: Reason) -> dict[str, Json]:
    return {
        "kind": reason.kind,
        "message": reason.message,
        "location": None if reason.location is None else _location_json(reason.location),
        "instruction": reason.instruction,
    }


def _reason(data: Any) -> Reason:
    place = data["location"]
    return Reason(
        str(data["kind"]),
        str(data["message"]),
        None if place is None else _location(place),
        str(data["instruction"]),
    )


def _launch_json(launch: LaunchRecord) -> dict[str, Json]:
    return {
        "kernel": launch.kernel,
        "language": launch.language,
        "grid": list(launch.grid),
        "block": list(launch.block),
        "shared_bytes": launch.shared_bytes,
        "engine": launch.engine,
        "mode": launch.mode,
        "seed": launch.seed,
        "build": launch.build,
        "arguments": list(launch.arguments),
        "statistics": dict(launch.statistics),
        "index": launch.index,
        "place": None if launch.place is None else _location_json(launch.place),
    }


def _launch(data: Any) -> LaunchRecord:
    return LaunchRecord(
        str(data["kernel"]),
        str(data["language"]),
        _dimensions(data["grid"]),
        _dimensions(data["block"]),
        int(data["shared_bytes"]),
        str(data["engine"]),
        str(data["mode"]),
        int(data["seed"]),
        str(data["build"]),
        tuple(str(item) for item in data["arguments"]),
        dict(data["statistics"]),
        int(data["index"]),
        None if data["place"] is None else _location(data["place"]),
    )


def _dimensions(data: Any) -> tuple[int, int, int]:
    x, y, z = data
    return int(x), int(y), int(z)
