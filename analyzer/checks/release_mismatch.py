"""M109: the end of a mapping that is not there, or the end of memory that is still mapped.

`target exit data` and `target update` of what is surely not present do nothing; memory that is freed while it is
mapped leaves a device copy that a later allocation at the same address is taken for.
"""

from __future__ import annotations

from collections.abc import Iterator

from racedart.analyzer.checks.environment import Absent, Environment, Freed
from racedart.analyzer.checks.report import item_name, place
from racedart.finding.model import Finding, Fix, Level

RULE = "M109"


def check(environment: Environment) -> Iterator[Finding]:
    """One finding for each directive and item, and for each release of memory."""
    for event in environment.events:
        if isinstance(event, Absent):
            name = item_name(event.mapped)
            yield Finding(
                RULE,
                Level.WARNING,
                f"{name} is not mapped here: `{event.mapped.directive.kind}` has no effect on it",
                place(environment, event.mapped.node, event.step, "here"),
                (),
                Fix("map it before, or remove the item"),
                {"variable": name},
            )
        elif isinstance(event, Freed):
            mapped = sorted(event.by, key=lambda m: (m.node.file, m.node.start))
            name = item_name(mapped[0]) if mapped else event.release.base.name
            yield Finding(
                RULE,
                Level.WARNING,
                f"the memory of {name} is freed while it is mapped",
                place(environment, event.release.ast, event.step, "freed here"),
                tuple(place(environment, m.node, event.step, "mapped here") for m in mapped[:1]),
                Fix("end the mapping before: #pragma omp target exit data map(delete: ...)"),
                {"variable": name},
            )
