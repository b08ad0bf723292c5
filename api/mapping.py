"""The interface to data mappings: infer those that a program lacks, lint those that it has."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Union

from racedart.finding.errors import RacedartError
from racedart.finding.fingerprint import fingerprinted
from racedart.finding.model import Finding

if TYPE_CHECKING:
    from racedart.analyzer import Mapping
    from racedart.analyzer.lint import Linted
    from racedart.analyzer.programs import Program
    from racedart.analyzer.rewrite import ByteEdit
    from racedart.analyzer.verify import Options, Verification

_ROUNDS = 20
"""Rounds of --fix: each makes at least one change, and a clause has few items."""

Path = Union[str, "os.PathLike[str]"]


def infer_mapping(*paths: Path, args: Sequence[str] = (), build: Path | None = None) -> Mapping:
    """The data mapping of the program that C and C++ sources form.

    args: compiler flags. build: a folder with compile_commands.json. Mappings that are there are kept. The result
    has `.edits`, `.diff()`, `.decisions` and `.findings`; nothing is written.

    Raises UsageError without a source, InputError for a source that cannot be read.
    """
    from racedart.analyzer.programs import collect, one_program

    return _infer(one_program(collect(paths), tuple(args), build))


def lint(*paths: Path, args: Sequence[str] = (), build: Path | None = None) -> tuple[Finding, ...]:
    """The findings about the data mappings of C and C++ sources, and of those in folders.

    args: compiler flags. build: a folder with compile_commands.json. Files with a `main` are programs of their own.

    Raises UsageError without a source, InputError for a source that cannot be read.
    """
    from racedart.analyzer.programs import collect, programs

    found = [f for program in programs(collect(paths), tuple(args), build) for f in _lint(program).findings]
    return fingerprinted(found, {})


def infer_all(
    programs: Sequence[Program], jobs: int | None, done: Callable[[Program], None]
) -> list[Mapping | RacedartError]:
    """The mappings of many programs, on all cores."""
    from racedart.analyzer.parallel import each

    return each(_infer, programs, jobs, done)


def lint_all(
    programs: Sequence[Program], jobs: int | None, done: Callable[[Program], None]
) -> list[Linted | RacedartError]:
    """The findings of many programs, on all cores."""
    from racedart.analyzer.parallel import each

    return each(_lint, programs, jobs, done)


def verify_mapping(program: Program, mapping: Mapping, arguments: Sequence[str], options: Options) -> Verification:
    """Run a program as it is and with its mapping. Raises MissingDependencyError without clang."""
    from racedart.analyzer.verify import Unit, verify

    units = []
    for unit in program.units:
        folder = () if unit.folder is None else (f"-working-directory={unit.folder}",)
        units.append(Unit(os.path.abspath(unit.path), (*unit.arguments, *folder)))
    changed = {path: mapping.result(path) for path in mapping.changes}
    return verify(units, changed, arguments, options)


def _infer(program: Program) -> Mapping:
    from racedart.analyzer import infer_program

    mapping = infer_program(program)
    findings = fingerprinted(_plain(mapping.findings), {})
    return replace(mapping, findings=findings, problems=_plain(mapping.problems))


def _lint(program: Program) -> Linted:
    from racedart.analyzer.lint import lint_program

    found = lint_program(program)
    return replace(found, findings=_plain(found.findings))


def _plain(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings that can go from one process to another."""
    return tuple(replace(finding, properties=dict(finding.properties)) for finding in findings)


def fix(programs: Sequence[Program], jobs: int | None) -> int:
    """Make the edits of all findings that have some, until none is left; how many changes were made.

    Edits that overlap wait for the next round. Raises InputError for a file that cannot be written.
    """
    from racedart.analyzer.rewrite import Layout, apply_edits, read_source, write_source

    made = 0
    for _ in range(_ROUNDS):
        edits: dict[str, list[ByteEdit]] = {}
        layouts: dict[str, Layout] = {}
        before = made
        for result in lint_all(programs, jobs, lambda program: None):
            for finding in () if isinstance(result, RacedartError) else result.findings:
                wanted = finding.fix.edits if finding.fix is not None else ()
                for file in {edit.file for edit in wanted}:
                    layouts.setdefault(file, Layout(read_source(file)))
                own = [(edit.file, layouts[edit.file].from_edit(edit)) for edit in wanted]
                if own and not any(_overlap(edit, other) for file, edit in own for other in edits.get(file, ())):
                    for file, edit in own:
                        edits.setdefault(file, []).append(edit)
                    made += 1
        for file, changes in edits.items():
            source = layouts[file].source
            write_source(file, apply_edits(source, changes), source)
        if made == before:
            break
    return made


def _overlap(one: ByteEdit, other: ByteEdit) -> bool:
    return one.start <= other.end and other.start <= one.end
