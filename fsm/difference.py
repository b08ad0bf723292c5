"""The cells in which the exact table differs from the published one, each with its effect.

The effect of a cell is found by putting the published entry alone back into the exact machine and
searching for the shortest trace on which it then errs.
"""

from __future__ import annotations

from dataclasses import dataclass

from racedart.fsm.hierarchy import Hierarchy
from racedart.fsm.search import Difference, prove
from racedart.fsm.tables import Key, exact, published
from racedart.fsm.vocabulary import State

SEARCHED = Hierarchy(1, 2, 2)


@dataclass(frozen=True, slots=True)
class Correction:
    """A cell: (state, access, sync, relation), the published next state and the exact one."""

    cell: Key
    published: State
    exact: State

    def effect(self, hierarchy: Hierarchy = SEARCHED) -> Difference | None:
        """The shortest trace on which the exact machine with this published cell errs, and how."""
        return prove(hierarchy, {**exact(), self.cell: self.published}).difference


def corrections() -> tuple[Correction, ...]:
    """The cells that differ, in the order of their codes."""
    return tuple(
        Correction(cell, published()[cell], following)
        for cell, following in sorted(exact().items())
        if published()[cell] != following
    )
