"""M104: `map(from: ...)` of an array that the device writes only in part.

The device copy starts without values, and all of it is copied back: what the device does not write is lost on the
host. Of error level where the host had values there and later reads bytes beyond those written.
"""

from __future__ import annotations

from collections.abc import Iterator

from racedart.analyzer.checks.environment import Environment, access_hull, positive
from racedart.analyzer.checks.report import item_name, place, retyped
from racedart.analyzer.checks.traffic import Use, uses
from racedart.analyzer.flow.state import Access
from racedart.analyzer.mapping.extent import Hull, merge_hulls
from racedart.finding.model import Finding, Fix, Level

RULE = "M104"


def check(environment: Environment) -> Iterator[Finding]:
    """One finding for each list item."""
    for use in uses(environment):
        mapped = use.mapped
        before = environment.before[use.step.number].get(mapped.base)
        had_values = before is not None and bool(before.device_lacks)
        if mapped.map_type != "from" or not use.writes or use.filled or not use.needed_after or not had_values:
            continue
        written = _written(environment, use)
        if written is None or mapped.target.low is None or mapped.target.size is None:
            continue
        section = (mapped.target.low, mapped.target.low + mapped.target.size)
        if not _beyond(section, written):
            continue
        name = item_name(mapped)
        yield Finding(
            RULE,
            Level.ERROR if _read_beyond(environment, use, written) else Level.WARNING,
            f"{name} is copied back whole, but the device writes only a part of it: the rest is lost",
            place(environment, mapped.node, use.step, "mapped here"),
            (),
            Fix(
                "copy it in as well: map(tofrom: ...), or map the part only", retyped(environment, mapped, "tofrom")
            ),
            {"variable": name},
        )


def _written(environment: Environment, use: Use) -> Hull | None:
    """All bytes that the device may write."""
    hulls = [
        access_hull(environment.graph, kernel, action)
        for kernel in use.kernels
        for action in kernel.actions
        if isinstance(action, Access) and action.device and action.write and action.base is use.mapped.base
    ]
    return merge_hulls(environment.facts.atoms, hulls)


def _beyond(outer: Hull, inner: Hull) -> bool:
    return positive(outer[1] - inner[1]) or positive(inner[0] - outer[0])


def _read_beyond(environment: Environment, use: Use, written: Hull) -> bool:
    for step in environment.graph.steps:
        for action in step.actions:
            if (
                isinstance(action, Access)
                and action.base is use.mapped.base
                and not action.write
                and not action.device
            ):
                touched = access_hull(environment.graph, step, action)
                if touched is not None and _beyond(touched, written):
                    return True
    return False
