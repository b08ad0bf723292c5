"""M107: device code goes beyond the section that is mapped."""

from __future__ import annotations

from collections.abc import Iterator

from racedart.analyzer.checks.environment import Environment, Short
from racedart.analyzer.checks.report import item_name, place, section_text, spoken
from racedart.finding.model import Finding, Fix, Level

RULE = "M107"


def check(environment: Environment) -> Iterator[Finding]:
    """One finding for each object and construct."""
    for event in environment.events:
        if isinstance(event, Short):
            name = spoken(environment, event.access)
            needed = section_text(environment, event.step, event.access, name)
            yield Finding(
                RULE,
                Level.ERROR,
                f"the section {item_name(event.mapped)} is too small: the device accesses {needed}",
                place(environment, event.mapped.node, event.step, "mapped here"),
                (place(environment, event.access.ast, event.step, f"{name} is accessed here"),),
                Fix(f"map all of it: {needed}"),
                {"variable": name},
            )
