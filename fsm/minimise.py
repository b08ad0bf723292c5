"""Minimisation of a machine over its 24 events: states that no sequence of events tells apart are one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from racedart.fsm.vocabulary import State


def minimise(table: NDArray[np.uint8]) -> list[frozenset[State]]:
    """The classes of equivalent states of a table uint8[25, 4, 6] (tables.by_class), by their first state."""
    flat = table.reshape(len(State), -1)
    number = np.array([int(state == State.RACE) for state in State])
    while True:
        signatures = np.concatenate([number[:, None], number[flat]], axis=1)
        # RACE is absorbing whatever its row says.
        signatures[State.RACE] = number[State.RACE]
        _, refined = np.unique(signatures, axis=0, return_inverse=True)
        refined = refined.reshape(-1)
        if len(set(refined)) == len(set(number)):
            break
        number = refined
    classes: dict[int, set[State]] = {}
    for state in State:
        classes.setdefault(int(number[state]), set()).add(state)
    return sorted((frozenset(states) for states in classes.values()), key=min)
