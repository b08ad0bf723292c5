"""M105: device code follows a pointer member that is not attached to device memory.

The record is on the device, and the pointer in it still holds a host address: the memory is not mapped, or it is
mapped through another pointer (OpenMP 5.2, 5.8.3: a pointer is attached by a list item that goes through it).
"""

from __future__ import annotations

from collections.abc import Iterator

from racedart.analyzer.checks.environment import Environment, Unmapped
from racedart.analyzer.checks.report import place, section_text, spoken
from racedart.finding.model import Finding, Fix, Level

RULE = "M105"


def check(environment: Environment) -> Iterator[Finding]:
    """One finding for each member and construct."""
    for event in environment.events:
        if isinstance(event, Unmapped) and event.member:
            name = spoken(environment, event.access)
            item = section_text(environment, event.step, event.access, name)
            state = "mapped through another pointer only" if event.present else "not mapped"
            yield Finding(
                RULE,
                Level.ERROR,
                f"{name} points to host memory inside the region: the memory behind it is {state}",
                place(environment, event.step.root, event.step, "the target construct"),
                (place(environment, event.access.ast, event.step, f"{name} is followed here"),),
                Fix(f"map the memory through the member, which attaches it: map(tofrom: {item})"),
                {"variable": name},
            )
