"""The lint's entry point: the sources of a program in, findings about its data mappings out."""

from __future__ import annotations

import os
from dataclasses import dataclass

from racedart.analyzer.checks import lint_graph
from racedart.analyzer.flow.interpret import interpret
from racedart.analyzer.mapping.supergraph import build_supergraph
from racedart.analyzer.programs import Program
from racedart.analyzer.source.clang import parse_units
from racedart.finding.model import Finding, Location, Reason


@dataclass(frozen=True, slots=True)
class Linted:
    """findings: in the order of the source. reasons: what the analysis did not see."""

    findings: tuple[Finding, ...]
    reasons: tuple[Reason, ...]


def lint_program(program: Program) -> Linted:
    """Check the data mappings of a program. Raises InputError for a source that cannot be read."""
    parsed = parse_units([(unit.path, unit.arguments, unit.folder) for unit in program.units])
    facts = interpret(parsed)
    findings = lint_graph(build_supergraph(facts))
    reasons = [
        Reason("source", f"not seen by the analysis: {message}", Location(file, line, column))
        for file, line, column, message in parsed.errors
    ]
    reasons += [
        Reason("program", f"not modelled: {what}", Location(node.file, node.line, node.column))
        for what, node in facts.incomplete.items()
    ]
    wanted = {os.path.realpath(unit.path) for unit in program.units}
    return Linted(
        tuple(f for f in findings if f.level.rank or os.path.realpath(f.location.file) in wanted), tuple(reasons)
    )
