"""M101: device code accesses memory that nothing maps.

Reported for memory that the program allocates and that is surely not present: only the pointer reaches the device.
"""

from __future__ import annotations

from collections.abc import Iterator

from racedart.analyzer.checks.environment import Environment, Unmapped
from racedart.analyzer.checks.report import place, section_text, spoken
from racedart.finding.model import Finding, Fix, Level

RULE = "M101"


def check(environment: Environment) -> Iterator[Finding]:
    """One finding for each object and construct."""
    for event in environment.events:
        if isinstance(event, Unmapped) and not event.member:
            name = spoken(environment, event.access)
            kind = "written" if event.access.write else "read"
            item = section_text(environment, event.step, event.access, name)
            yield Finding(
                RULE,
                Level.ERROR,
                f"{name} is {kind} on the device, but the memory that it points to is not mapped",
                place(environment, event.step.root, event.step, "the target construct"),
                (place(environment, event.access.ast, event.step, f"{name} is {kind} here"),),
                Fix(f"map it: map({'tofrom' if event.access.write else 'to'}: {item}), or run `racedart map`"),
                {"variable": name},
            )
