"""Which accesses conflict: the semantics that the machine decides.

Two accesses by different threads conflict unless both are reads, or both are atomics whose scopes cover
both threads (same block, or both of device scope). A race is a conflicting pair that happens-before does
not order; happens-before is program order and the collective barriers of warps and blocks, transitively.
Atomics create no order, and the lanes of a warp run in no particular one.
"""

from __future__ import annotations

from racedart.fsm.vocabulary import Access

ATOMICS = frozenset({Access.BA, Access.GA})


def conflicts(a: Access, b: Access, same_block: bool) -> bool:
    """Whether accesses of two different threads conflict when nothing orders them."""
    if a == b == Access.R:
        return False
    if a in ATOMICS and b in ATOMICS:
        return not (same_block or a == b == Access.GA)
    return True


STRONGER: dict[Access, frozenset[Access]] = {
    # An access of a thread makes an earlier one of the same thread superfluous if it conflicts with all
    # that the earlier one conflicts with.
    Access.R: frozenset({Access.R, Access.W}),
    Access.W: frozenset({Access.W}),
    Access.BA: frozenset({Access.BA, Access.W}),
    Access.GA: frozenset({Access.GA, Access.BA, Access.W}),
}
"""For each access those that conflict with whatever it conflicts with."""
