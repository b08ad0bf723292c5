"""M201, M202, M204: copies that nobody needs.

M201: copied to the device, where it is not read before it is wholly written. M202: copied back, though the device
did not write it, or nothing reads it on the host afterwards. M204: mapped, and no device code touches it.
"""

from __future__ import annotations

from collections.abc import Iterator

from racedart.analyzer.checks.environment import Environment
from racedart.analyzer.checks.report import item_name, place, removed, retyped, size_text
from racedart.analyzer.checks.traffic import Use, uses
from racedart.finding.model import Finding, Fix, Level

COPY_IN, COPY_OUT, UNUSED = "M201", "M202", "M204"


def check(environment: Environment) -> Iterator[Finding]:
    """The findings of every mapping that surely transfers."""
    for use in uses(environment):
        kind = use.mapped.map_type
        if not use.reads and not use.writes:
            if not use.mapped.implicit and not _is_handle(use):
                yield _unused(environment, use)
            continue
        if kind in {"to", "tofrom"} and not use.reads and (kind == "to" or use.filled):
            reason = "the device writes all of it first" if use.filled else "the device does not read it"
            yield _needless(environment, use, COPY_IN, "to the device", reason, {"to": "alloc", "tofrom": "from"})
        if kind in {"from", "tofrom"} and not use.writes and not use.host_writes:
            reason = "the device does not write it"
            yield _needless(environment, use, COPY_OUT, "back", reason, {"from": "alloc", "tofrom": "to"})
        elif kind in {"from", "tofrom"} and not use.needed_after:
            reason = "the host does not read it afterwards"
            yield _needless(environment, use, COPY_OUT, "back", reason, {"from": "alloc", "tofrom": "to"})


def _is_handle(use: Use) -> bool:
    """A scalar, a pointer or a record as such: cheap, and used in ways that are no accesses (as a base, say)."""
    kind = use.mapped.base.type
    return use.mapped.target.whole and kind is not None and kind.kind in {"scalar", "pointer", "record"}


def _needless(
    environment: Environment, use: Use, rule: str, way: str, reason: str, better: dict[str, str]
) -> Finding:
    mapped = use.mapped
    name, size = item_name(mapped), mapped.target.size
    wanted = better[mapped.map_type]
    return Finding(
        rule,
        Level.WARNING,
        f"{name} is copied {way} needlessly: {reason} ({size_text(environment, use.step, size)} each time)",
        place(environment, mapped.node, use.step, "mapped here, by default" if mapped.implicit else "mapped here"),
        (),
        Fix(f"map({wanted}: {name})", retyped(environment, mapped, wanted)),
        {"variable": name, "bytes": None if size is None else size.value},
    )


def _unused(environment: Environment, use: Use) -> Finding:
    mapped = use.mapped
    assert mapped.clause is not None
    assert mapped.item is not None
    name, size = item_name(mapped), mapped.target.size
    index = mapped.clause.items.index(mapped.item)
    return Finding(
        UNUSED,
        Level.WARNING,
        f"{name} is mapped, but no device code uses it ({size_text(environment, use.step, size)} each time)",
        place(environment, mapped.node, use.step, "mapped here"),
        (),
        Fix("remove the item", removed(environment, mapped.directive, mapped.clause, index, mapped.node)),
        {"variable": name, "bytes": None if size is None else size.value},
    )
