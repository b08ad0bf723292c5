"""M203: a mapping that is repeated in a loop, though the host does not touch the object there."""

from __future__ import annotations

from collections.abc import Iterator

from racedart.analyzer.checks.environment import Environment
from racedart.analyzer.checks.report import item_name, place, size_text
from racedart.analyzer.checks.traffic import hoisting_loop, uses
from racedart.finding.model import Finding, Fix, Level

RULE = "M203"


def check(environment: Environment) -> Iterator[Finding]:
    """One finding for each object and construct."""
    for use in uses(environment):
        if use.mapped.map_type == "alloc" or (
            use.mapped.base.type is not None and use.mapped.base.type.kind == "scalar"
        ):
            continue
        loop = hoisting_loop(environment, use)
        if loop is None:
            continue
        name, size = item_name(use.mapped), use.mapped.target.size
        kind = use.mapped.map_type
        each = size_text(environment, use.step, size)
        yield Finding(
            RULE,
            Level.WARNING,
            f"{name} is mapped in each iteration, and the host does not touch it there ({kind}, {each} each time)",
            place(environment, use.mapped.node, use.step, "mapped here"),
            (place(environment, loop, use.step, "the loop"),),
            Fix(f"map it once, around the loop: #pragma omp target data map({kind}: {name})"),
            {"variable": name, "bytes": None if size is None else size.value},
        )
