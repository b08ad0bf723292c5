"""What the transfers of a mapping are good for: who uses an object while it is mapped, and afterwards.

Only mappings that end where they begin, on a `target` construct or `target data`, and that surely transfer, because
the object is not present before. An object that anything unknown may use is taken as used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from racedart.analyzer.checks.environment import Environment, Mapped, role
from racedart.analyzer.flow.state import Access, Base, Birth
from racedart.analyzer.mapping.solve import full_write
from racedart.analyzer.mapping.supergraph import LOOPS, Step
from racedart.analyzer.source.tree import Node

SHOWN = ("map",)


@dataclass(frozen=True, slots=True)
class Use:
    """The uses of an object in the steps of one mapping.

    reads: device reads of what was there before. writes: device writes. filled: one kernel surely writes the
    whole section. host_reads, host_writes: accesses of the host meanwhile. needed_after: the host, or a later
    mapping, may read it behind the mapping.
    """

    mapped: Mapped
    step: Step
    kernels: tuple[Step, ...]
    reads: bool
    writes: bool
    filled: bool
    host_reads: bool
    host_writes: bool
    needed_after: bool


def uses(environment: Environment) -> Iterator[Use]:
    """The use of every mapping that surely transfers."""
    if environment.facts.incomplete:
        return
    graph = environment.graph
    for step in graph.steps:
        state = environment.before.get(step.number)
        if state is None or (step.kind != "kernel" and role(step) != "begin"):
            continue
        directive = step.root.directive
        assert directive is not None
        if directive.named("if", "device", "use_device_ptr", "use_device_addr"):
            continue
        region = frozenset({step}) if step.kind == "kernel" else graph.within(step.context, step.root)
        kernels = tuple(s for s in region if s.kind == "kernel")
        for mapped in environment.mappings.get(step.number, ()):
            before = state.get(mapped.base)
            present = before.high > 0 if before is not None else mapped.base.kind in {"outside", "unknown"}
            if kernels and not present and (mapped.clause is None or mapped.clause.name in SHOWN):
                yield _use(environment, mapped, step, region, kernels)


def _use(
    environment: Environment, mapped: Mapped, step: Step, region: frozenset[Step], kernels: tuple[Step, ...]
) -> Use:
    base, target = mapped.base, mapped.target
    total = None if target.low is None or target.size is None else (target.low, target.low + target.size)
    reads = writes = filled = host_reads = host_writes = False
    for inner in region:
        mine = [a for a in inner.actions if isinstance(a, Access) and a.base is base]
        device = [a for a in mine if a.device]
        reads = reads or any(not a.write and a.exposed for a in device)
        written = [a for a in device if a.write]
        writes = writes or bool(written)
        if written and total is not None and not base.many:
            filled = filled or full_write(environment.graph, inner, written, total)
        host_reads = host_reads or any(not a.device and not a.write for a in mine)
        host_writes = host_writes or any(not a.device and a.write for a in mine)
    needed = _needed_after(environment, base, region)
    return Use(mapped, step, kernels, reads, writes, filled, host_reads, host_writes, needed)


def _needed_after(environment: Environment, base: Base, region: frozenset[Step]) -> bool:
    if base.kind in {"outside", "unknown"} or not environment.facts.closed:
        return True
    pending = [after for step in region for after in step.successors if after not in region]
    seen = set(pending)
    while pending:
        step = pending.pop()
        mine = [a for a in step.actions if isinstance(a, (Access, Birth)) and a.base is base]
        if any(isinstance(a, Access) and not a.write for a in mine):
            return True
        if any(isinstance(a, Birth) for a in mine):
            continue
        for after in step.successors:
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return False


def hoisting_loop(environment: Environment, use: Use) -> Node | None:
    """The outermost loop around a mapping, in its function, in which the host does not touch the object."""
    best: Node | None = None
    context, base = use.step.context, use.mapped.base
    for loop in use.step.root.ancestors():
        if loop.kind not in LOOPS:
            continue
        steps = environment.graph.within(context, loop)
        actions = [a for step in steps for a in step.actions if not hasattr(a, "function") and a.base is base]
        if any(not isinstance(a, Access) or not a.device for a in actions):
            break
        if base.context is context and base.origin is None and base.variable is not None:
            declared = base.variable.node
            if declared is not None and any(p is loop for p in declared.ancestors()):
                break
        best = loop
    return best
