"""The entry point of mapping inference: files in, edits, decisions and findings out.

All files are one program: calls are followed across them. If any object that a kernel uses cannot be mapped safely,
there are no edits at all: a program that is mapped in part is wrong. The same holds where the parse had errors.
"""

from __future__ import annotations

import os
from collections.abc import Mapping as MappingType
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from racedart.analyzer.flow.interpret import interpret
from racedart.analyzer.mapping.emit import emit
from racedart.analyzer.mapping.infer import infer_plans
from racedart.analyzer.programs import Program as SourceProgram
from racedart.analyzer.programs import one_program
from racedart.analyzer.rewrite import ByteEdit, Layout, apply_edits, unified_diff
from racedart.analyzer.source.clang import parse_units
from racedart.analyzer.source.tree import Node, Program
from racedart.finding.model import Edit, Finding, Level, Location

REFUSED = "M101"


@dataclass(frozen=True, slots=True)
class Decision:
    """A directive or clause that is inserted: at which place, for which object, and why."""

    location: Location
    directive: str
    object: str
    reason: str


@dataclass(frozen=True, slots=True)
class Mapping:
    """The result of inference. changes: byte edits by file; findings: why something is refused or was not seen.

    complete: a mapping was found for everything that the kernels use.
    """

    sources: MappingType[str, bytes]
    changes: MappingType[str, tuple[ByteEdit, ...]]
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = ()
    complete: bool = True
    problems: tuple[Finding, ...] = field(default=())

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All edits by line and column."""
        return tuple(
            Layout(self.sources[path]).to_edit(path, edit) for path, edits in self.changes.items() for edit in edits
        )

    def result(self, path: str) -> bytes:
        """A file with its edits made."""
        path = os.path.abspath(path)
        source = self.sources[path] if path in self.sources else Path(path).read_bytes()
        return apply_edits(source, self.changes.get(path, ()))

    def diff(self) -> str:
        """The unified diff of all files that change; "" if none does."""
        return "".join(
            unified_diff(os.path.relpath(path), self.sources[path], self.result(path))
            for path in sorted(self.changes)
        )


def infer(paths: Sequence[str], args: Sequence[str] = (), build: str | None = None) -> Mapping:
    """The data mapping of the program that the files make up.

    args: compiler flags. build: a folder with compile_commands.json, whose flags are used for files that it names.
    """
    return infer_program(one_program(paths, args, build))


def infer_program(program: SourceProgram) -> Mapping:
    """The data mapping of a program. Raises InputError for a source that cannot be read."""
    parsed = parse_units([(unit.path, unit.arguments, unit.folder) for unit in program.units])
    facts = interpret(parsed)
    found = infer_plans(facts)
    emission = emit(found)
    refusals = [*found.refusals, *emission.refusals]
    unseen = _unseen(parsed)
    findings = (*(Finding(REFUSED, Level.ERROR, r.message, _location(r.at)) for r in refusals), *unseen)
    problems = tuple(
        Finding(REFUSED, Level.NOTE, f"not seen by the analysis: {message}", Location(file, line, column))
        for file, line, column, message in parsed.errors
    )
    safe = not findings and not parsed.errors
    changes = {path: tuple(edits) for path, edits in emission.edits.items() if edits and safe}
    decisions = tuple(
        Decision(Location(c.file, c.line), c.text, c.object, c.reason) for c in emission.choices if safe
    )
    sources = {path: source.data for path, source in parsed.files.items()}
    return Mapping(sources, changes, decisions, findings, safe, problems)


def _unseen(program: Program) -> tuple[Finding, ...]:
    """Target constructs that belong to no function whose tree was built: in templates, or in code with errors."""
    seen: dict[str, set[int]] = {}
    for function in program.functions.values():
        if function.body is not None:
            for node in function.body.walk():
                if node.directive is not None:
                    seen.setdefault(node.file, set()).add(node.directive.start)
    found = []
    for path, source in program.files.items():
        layout = Layout(source.data)
        for directive in source.directives:
            hidden = any(a <= directive.start < b for a, b in source.skipped)
            if "target" in directive.leaves and directive.start not in seen.get(path, ()) and not hidden:
                line, column = layout.position(directive.start)
                message = (
                    "this target construct is in code that the analysis does not see (a template, or an error)"
                )
                found.append(Finding(REFUSED, Level.ERROR, message, Location(path, line, column)))
    return tuple(found)


def _location(node: Node) -> Location:
    return Location(node.file, node.line, node.column)
