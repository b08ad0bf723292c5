"""Start a checked program in a process of its own and gather what its launches gave."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from racedart.finding.errors import InputError, MissingDependencyError, UsageError
from racedart.finding.model import Finding, Location, Reason
from racedart.finding.run import LaunchRecord, Program, run_from_json
from racedart.shadow.frontends.cudart import is_program, require_program
from racedart.shadow.frontends.cupy_source import cupy_source
from racedart.shadow.outcome import Options
from racedart.shadow.programs.session import Selection

__all__ = ["Gathered", "Selection", "run_program"]


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that the launches of a program gave."""

    findings: tuple[Finding, ...]
    reasons: tuple[Reason, ...]
    launches: tuple[LaunchRecord, ...]
    program: Program
    sources: Mapping[str, str]


def run_program(
    target: str,
    arguments: Sequence[str],
    module: bool,
    options: Options,
    thorough: bool,
    selection: Selection,
    output_to_stderr: bool,
) -> Gathered:
    """Run a script, a module by its name or a compiled program, and gather its launches.

    Raises InputError for a target that is not there and UsageError for a selection that cannot be used.
    """
    _require_target(target, module)
    compiled = not module and is_program(target)
    if compiled:
        _require_compiled(target, options, thorough)
    elif importlib.util.find_spec("numba_cuda") is None:
        raise MissingDependencyError(
            "programs are checked through numba-cuda, which is not installed: pip install 'racedart[cuda]'"
        )
    if selection.kernel is not None:
        try:
            re.compile(selection.kernel)
        except re.error as error:
            raise UsageError(f"kernel is {selection.kernel!r}, no regular expression: {error}") from None
    with tempfile.TemporaryDirectory(prefix="racedart-") as folder:
        record = os.path.join(folder, "launches.jsonl")
        with open(record, "wb"):
            pass
        settings = {
            "record": record,
            "options": asdict(options),
            "thorough": thorough,
            "selection": asdict(selection),
            "target": target,
            "module": module,
            "compiled": compiled,
        }
        command = [sys.executable, "-m", "racedart.shadow.programs.child", json.dumps(settings), *arguments]
        process = subprocess.Popen(command, env=_environment(options), stdout=2 if output_to_stderr else None)
        code = _wait(process)
        with open(record, encoding="utf-8") as file:
            events = [json.loads(line) for line in file if line.endswith("\n")]
    return _gathered(events, Program((target, *arguments), code), selection)


def _require_target(target: str, module: bool) -> None:
    if module:
        return
    if not os.path.exists(target):
        raise InputError(f"{target}: no such file: give the path of a Python program")
    if not os.path.isfile(target):
        raise InputError(f"{target}: not a regular file: give the path of a Python program")


def _require_compiled(target: str, options: Options, thorough: bool) -> None:
    require_program(Path(target))
    if thorough:
        raise UsageError(f"{target} is compiled already: for its unoptimised code build it with nvcc -G")
    if options.engine != "cpu":
        raise UsageError(f"{target} is a compiled program, which is checked on the CPU: use --engine cpu")


def _environment(options: Options) -> dict[str, str]:
    """The environment of the program: real kernels are compiled, and none can reach a GPU past the CPU engine."""
    kept = {k: v for k, v in os.environ.items() if k not in {"NUMBA_ENABLE_CUDASIM", "NUMBA_DISABLE_CUDA"}}
    return kept if options.engine == "gpu" else {**kept, "CUDA_VISIBLE_DEVICES": "-1"}


def _wait(process: subprocess.Popen[bytes]) -> int:
    """The exit code; an interrupt is the program's own business first."""
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
            raise


def _gathered(events: Sequence[dict[str, Any]], program: Program, selection: Selection) -> Gathered:
    findings: list[Finding] = []
    first: list[LaunchRecord] = []
    counts: list[int] = []
    reasons: list[Reason] = []
    launches: list[LaunchRecord] = []
    sources: dict[str, str] = {}
    unchecked = 0
    for event in events:
        if "internal" in event:
            raise RuntimeError(f"the checker failed in the process of the program:\n{event['internal']}")
        if "unchecked" in event:
            unchecked += 1
            continue
        run = run_from_json(event["launch"] if "launch" in event else event["reason"])
        reasons += run.reasons
        launches += run.launches
        sources.update(run.sources)
        findings += run.findings
        first += run.launches[:1] * len(run.findings)
        counts += [1] * len(run.findings)
        for number in event.get("again", ()):
            counts[number] += 1
    numbered = tuple(
        replace(
            finding, properties={**finding.properties, "launches": count, "launch": launch.index, **_place(launch)}
        )
        for finding, count, launch in zip(findings, counts, first, strict=True)
    )
    program = replace(program, unchecked=unchecked)
    reasons += _of_the_program(program, launches, reasons)
    return Gathered(numbered, tuple(reasons), tuple(launches), program, sources)


def _place(launch: LaunchRecord) -> dict[str, str]:
    return {} if launch.place is None else {"launched_at": str(launch.place)}


def _of_the_program(program: Program, launches: Sequence[LaunchRecord], reasons: Sequence[Reason]) -> list[Reason]:
    """Why the run as a whole says less than its launches."""
    found = _cupy_kernels(program.argv[0])
    name = program.argv[0]
    if program.exit_code < 0:
        try:
            ended = signal.Signals(-program.exit_code).name
        except ValueError:
            ended = f"signal {-program.exit_code}"
        found.append(Reason("program", f"{name} was ended by {ended}; launches after that are not checked"))
    elif program.exit_code:
        text = f"{name} ended with exit code {program.exit_code}; launches that it did not reach are not checked"
        found.append(Reason("program", text))
    if not launches and not any(reason.kind == "launch" for reason in reasons):
        if program.unchecked:
            text = f"none of the {program.unchecked:,} launches of {name} was selected to be checked"
        else:
            text = (
                f"{name} launched no kernel that can be seen, so nothing was checked; one kernel of a file is "
                "checked by racedart check FILE::KERNEL --grid N --block N [--arg ...]"
            )
        found.append(Reason("program", text))
    return found


def _cupy_kernels(path: str) -> list[Reason]:
    """The CuPy kernels in a script, whose launches are not intercepted."""
    source = cupy_source(path) if path.endswith(".py") else None
    found = []
    for raw in source.raws if source is not None else ():
        name = raw.names[0] if raw.names else raw.variable or "KERNEL"
        text = (
            f"launches of the CuPy {raw.kind} {raw.shown} are not intercepted: check it by itself, "
            f"racedart check '{path}::{name}' --grid N --block N [--arg ...]"
        )
        found.append(Reason("cupy", text, Location(path, raw.line)))
    for name, line in source.made_by_cupy.items() if source is not None else ():
        text = f"{name} is a kernel that CuPy makes itself, which cannot be checked"
        found.append(Reason("cupy", text, Location(path, line)))
    return found
