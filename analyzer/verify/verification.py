"""Before and after: the same program with two mappings, against its own run on the host alone.

A mapping is right if the output and the exit code are those of the host run, device code touched no host memory and
nothing behind a mapped section, and it did touch memory. Output lines that differ between two host runs (times) are
not compared. Not seen: accesses that library code makes for a kernel (libm, libc), and jumps from one device block
far into another.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from racedart.analyzer.verify.build import Builder, Unit
from racedart.analyzer.verify.execute import Access, Execution, Transfers, execute
from racedart.analyzer.verify.toolchain import find_toolchain
from racedart.finding.model import Json

COMPILATION = 120.0
"""Seconds that each compilation has at least: a short limit is meant for the program's run."""

RIGHT, WRONG, UNKNOWN = "right", "wrong", "unknown"


@dataclass(frozen=True, slots=True)
class Options:
    """How to build and run.

    flags: for every unit and the link. ignore: pattern of output lines that are not compared. timeout: seconds of
    each compilation and run. cwd: where the program runs. threads: of a parallel region; more than one for programs
    that divide work by thread numbers, whose reductions then may differ.
    """

    flags: tuple[str, ...] = ()
    ignore: str = ""
    timeout: float = 60.0
    cwd: str | None = None
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """One variant of the program. reasons: why it is not right; empty if it is."""

    verdict: str
    reasons: tuple[str, ...]
    transfers: Transfers
    access: Access | None = None

    def to_json(self) -> dict[str, Json]:
        """JSON values."""
        moved = self.transfers
        return {
            "verdict": self.verdict,
            "reasons": list(self.reasons),
            "copies": moved.copies,
            "bytes": moved.bytes,
            "copies_to_device": moved.to_device,
            "bytes_to_device": moved.bytes_to_device,
            "copies_from_device": moved.from_device,
            "bytes_from_device": moved.bytes_from_device,
            "kernels": moved.kernels,
            "accesses": None if self.access is None else self.access.accesses,
            "host_accesses": None if self.access is None else self.access.host_accesses,
        }


@dataclass(frozen=True, slots=True)
class Verification:
    """before: the sources as they are. after: with the changes, None where nothing changes."""

    before: Measured
    after: Measured | None

    @property
    def verdict(self) -> str:
        """That of the program as it would be left."""
        return (self.after or self.before).verdict

    def to_json(self) -> dict[str, Json]:
        """JSON values."""
        return {
            "verdict": self.verdict,
            "before": self.before.to_json(),
            "after": None if self.after is None else self.after.to_json(),
        }


@dataclass(slots=True)
class _Reference:
    """The host run that outputs are compared with, and the lines of it that are."""

    exit_code: int | None
    lines: list[bytes]
    changing: set[int] = field(default_factory=set)
    doubt: str = ""


def verify(
    units: Sequence[Unit],
    changed: Mapping[str, bytes],
    arguments: Sequence[str] = (),
    options: Options | None = None,
) -> Verification:
    """Build and run a program as it is and with changed contents of some of its files.

    changed: contents by path. Raises MissingDependencyError without clang, InputError for a program that does not
    compile.
    """
    options = options or Options()
    toolchain = find_toolchain()
    with tempfile.TemporaryDirectory(prefix="racedart_verify_") as name:
        builder = Builder(toolchain, Path(name), max(options.timeout, COMPILATION))

        def run(program: str, checker: str | None) -> Execution:
            return execute(
                program, arguments, options.timeout, toolchain.libraries, checker, options.cwd, options.threads
            )

        program = builder.program("before", units, {}, options.flags)
        reference = _reference(run(program, None), run(program, None), options)
        before = _judge(run(program, builder.checker), reference, options)
        if not changed:
            return Verification(before, None)
        program = builder.program("after", units, changed, options.flags)
        return Verification(before, _judge(run(program, builder.checker), reference, options))


def _compared(output: bytes, ignore: str) -> list[bytes]:
    lines = output.split(b"\n")
    pattern = re.compile(ignore.encode()) if ignore else None
    return [line for line in lines if pattern is None or not pattern.search(line)]


def _reference(first: Execution, second: Execution, options: Options) -> _Reference:
    one, two = _compared(first.output, options.ignore), _compared(second.output, options.ignore)
    reference = _Reference(first.exit_code, one)
    if first.exit_code is None:
        reference.doubt = f"the host run took more than {options.timeout:g} s: give smaller inputs, or more time"
    elif first.exit_code < 0:
        reference.doubt = f"the host run ended by signal {-first.exit_code}: {first.errors[-300:].strip()}"
    elif first.exit_code != second.exit_code or len(one) != len(two):
        reference.doubt = "two host runs gave different exit codes or numbers of lines: nothing to compare with"
    reference.changing = {number for number, pair in enumerate(zip(one, two, strict=False)) if pair[0] != pair[1]}
    return reference


def _judge(run: Execution, reference: _Reference, options: Options) -> Measured:
    if reference.doubt:
        return Measured(UNKNOWN, (reference.doubt,), run.transfers, run.access)
    reasons = []
    if run.exit_code is None:
        reasons.append(f"it took more than {options.timeout:g} s")
    elif run.exit_code != reference.exit_code:
        how = f"signal {-run.exit_code}" if run.exit_code < 0 else f"exit code {run.exit_code}"
        reasons.append(f"it ended with {how}, the host run with {reference.exit_code}: {run.errors[-300:].strip()}")
    difference = _difference(reference, _compared(run.output, options.ignore))
    if difference:
        reasons.append(difference)
    if run.access is None:
        reasons.append("it ended before device accesses were reported")
    else:
        kinds = ", ".join(f"{count} {kind}" for kind, count in run.access.host.items())
        if run.access.host_accesses:
            reasons.append(f"device code touched memory that is not mapped: {kinds}")
        if not run.access.accesses:
            reasons.append("device code touched no memory: nothing ran on the device")
    return Measured(WRONG if reasons else RIGHT, tuple(reasons), run.transfers, run.access)


def _difference(reference: _Reference, lines: list[bytes]) -> str:
    if len(lines) != len(reference.lines):
        return f"it wrote {len(lines)} lines, the host run {len(reference.lines)}"
    for number, (expected, actual) in enumerate(zip(reference.lines, lines, strict=True)):
        if expected != actual and number not in reference.changing:
            shown = [text.decode("utf-8", "replace")[:120] for text in (actual, expected)]
            return f"output line {number + 1} is {shown[0]!r}, of the host run {shown[1]!r}"
    return ""
