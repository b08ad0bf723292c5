"""The lint of data mappings that a program already has: one module for each check, run in the order of CHECKS."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from racedart.analyzer.checks import (
    duplicate_item,
    hoistable,
    missing_map,
    needless_copy,
    partial_copy_back,
    release_mismatch,
    short_section,
    stale_copy,
    unattached_pointer,
)
from racedart.analyzer.checks.environment import Environment, build_environment
from racedart.analyzer.mapping.supergraph import Supergraph
from racedart.finding.model import Finding

Check = Callable[[Environment], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    missing_map.check,
    stale_copy.check,
    partial_copy_back.check,
    unattached_pointer.check,
    duplicate_item.check,
    short_section.check,
    release_mismatch.check,
    needless_copy.check,
    hoistable.check,
)


def lint_graph(graph: Supergraph) -> tuple[Finding, ...]:
    """The findings of all checks, each place and object once, in the order of the source."""
    environment = build_environment(graph)
    found: dict[tuple[object, ...], Finding] = {}
    for check in CHECKS:
        for finding in check(environment):
            where = finding.location
            key = (finding.rule, where.file, where.line, where.column, finding.properties.get("variable"))
            known = found.get(key)
            if known is None or known.level.rank < finding.level.rank:
                found[key] = finding
    return tuple(
        sorted(found.values(), key=lambda f: (f.location.file, f.location.line, f.location.column, f.rule))
    )
