"""Whether the blocks of a kernel can observe each other without a race.

They cannot iff no instruction that may touch global memory (1) is a strong read that is not volatile, or
(2) is an atomic operation whose old value is used, (3) no call reaches outside the module, and (4) no barrier of
the grid stands in the kernel. Every other read of global memory is plain to the checker: if another block wrote
there, that is an alarm. Volatile reads are plain to it as well. A clock is the thread's own.

Not looked for: kernels that observe only their own block's atomics in global memory count as observing.
"""

from __future__ import annotations

from racedart.shadow.instrument.plan import Plan
from racedart.shadow.ptx.cfg import destinations
from racedart.shadow.ptx.model import Instruction, Symbol

_SILENT_CALLS = frozenset({"__assertfail"})
"""Functions of the device runtime on which blocks cannot differ; the order of what they print could."""


def blocks_are_independent(plan: Plan) -> bool:
    """Whether each block does the same in every interleaving that raises no alarm."""
    return not plan.grids.meets and not any(_observes(plan, site) for site in range(len(plan.graph.instructions)))


def _observes(plan: Plan, site: int) -> bool:
    instruction = plan.graph.instructions[site]
    if instruction.opcode == "call" and not _SILENT_CALLS & _names(instruction):
        return True
    event = plan.events.get(site)
    if event is None or event.space == "shared" or not event.strong or event.volatile:
        return False
    if event.kind == "atomic":
        return bool(set(destinations(instruction)) & _live_after(plan, site))
    return event.kind == "read"


def _names(instruction: Instruction) -> set[str]:
    return {operand.name for operand in instruction.operands if isinstance(operand, Symbol)}


def _live_after(plan: Plan, site: int) -> frozenset[str]:
    following = site + 1
    return plan.graph.live_before[following] if following < len(plan.graph.instructions) else frozenset()
