"""M102, M103, M108: a read of a copy that the other side's write has not reached.

M102: the device reads what the host wrote since the last transfer. M103: the host reads what the device wrote.
M108: as M102, where a mapping in between was to transfer and did not, because the object is present. Of error
level where the bytes surely overlap, else a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from racedart.analyzer.checks.environment import Environment, Lack, Unmapped
from racedart.analyzer.checks.report import place, spoken
from racedart.finding.model import Finding, Fix, Level

ON_DEVICE, ON_HOST, NO_REFRESH = "M102", "M103", "M108"


def check(environment: Environment) -> Iterator[Finding]:
    """One finding for each object, read and write."""
    # Unmapped memory is the host's own: its rule has spoken.
    astray = {event.access.base for event in environment.events if isinstance(event, Unmapped)}
    for event in environment.events:
        if isinstance(event, Lack) and event.read.base not in astray:
            yield _finding(environment, event)


def _finding(environment: Environment, event: Lack) -> Finding:
    name = spoken(environment, event.read)
    reader, writer = ("device", "host") if event.device else ("host", "device")
    related = [
        place(environment, event.written.access.ast, event.written.step, f"the {writer} writes it here"),
    ]
    rule = ON_DEVICE if event.device else ON_HOST
    message = f"{name} is stale on the {reader}: it reads the value from before the {writer}'s write"
    direction = "to" if event.device else "from"
    fix = f"transfer it between the two: #pragma omp target update {direction}({name})"
    ignored = sorted(event.ignored, key=lambda node: (node.file, node.start))
    if event.device and ignored and any(node.start > event.written.access.ast.start for node in ignored):
        rule = NO_REFRESH
        message = f"{name} is not refreshed on the device: it is mapped already, so mapping it again copies nothing"
        related += [place(environment, node, event.step, "this transfers nothing") for node in ignored]
    return Finding(
        rule,
        Level.ERROR if event.exact else Level.WARNING,
        message,
        place(environment, event.read.ast, event.step, f"the {reader} reads it here"),
        tuple(related),
        Fix(fix),
        {"variable": name},
    )
