"""Derives the exact table from the happens-before model.

1. Explore every configuration of the model on a small hierarchy.
2. Two configurations are equivalent if no continuation tells them apart: partition refinement with race or
   not as output, over the events (access, class). A class must have one successor class for each event,
   whichever thread makes the access: otherwise the events would not determine the verdict.
3. A state name stands for the class in which its defining trace ends (`WITNESSES`).
4. The next state of a cell is the name of the successor class. Where several names are equivalent, the
   published table's choice stands. Where its choice is not in the class, the name is taken whose witness
   has the same history of plain and atomic accesses as the witness of the cell's state with the access.

`python -m racedart.fsm.derive` prints the table as it is stored in exact.csv.
"""

from __future__ import annotations

from dataclasses import dataclass

from racedart.fsm.conflict import ATOMICS
from racedart.fsm.hierarchy import Hierarchy
from racedart.fsm.model import EMPTY, Past, renamed, successors
from racedart.fsm.tables import Key, published, to_csv
from racedart.fsm.vocabulary import EVENTS, Access, EventClass, State, class_of

DERIVATION = Hierarchy(2, 2, 2)

Event = tuple[Access, EventClass]
Edges = dict[Event, frozenset[Past | None]]

R, W, BA, GA = Access.R, Access.W, Access.BA, Access.GA
US, UW, UB, G, WW, BB = EventClass

WITNESSES: dict[State, tuple[Event, ...]] = {
    State.INIT: (),
    State.READ: ((R, US),),
    State.WRITE: ((W, US),),
    State.WREAD: ((R, US), (R, UW)),
    State.BREAD: ((R, US), (R, UB)),
    State.GREAD: ((R, US), (R, G)),
    State.WSYNC: ((W, US), (R, WW)),
    State.BSYNC: ((W, US), (R, BB)),
    State.MR_WSYNC: ((W, US), (R, WW), (R, UW)),
    State.BWSYNC: ((W, US), (R, BB), (R, WW)),
    State.B_MR_BSYNC: ((W, US), (R, BB), (R, UB)),
    State.W_MR_BWSYNC: ((W, US), (R, BB), (R, UW)),
    State.BATOM: ((BA, US),),
    State.BATOM_W: ((BA, US), (BA, UW)),
    State.BATOM_B: ((BA, US), (BA, UB)),
    State.GATOM: ((GA, US),),
    State.GATOM_W: ((GA, US), (GA, UW)),
    State.GATOM_B: ((GA, US), (GA, UB)),
    State.GATOM_G: ((GA, US), (GA, G)),
    State.WSYNC_ATOM: ((W, US), (BA, WW)),
    State.WSYNC_ATOM_M: ((W, US), (BA, WW), (BA, UW)),
    State.BSYNC_ATOM: ((W, US), (BA, BB)),
    State.BSYNC_ATOM_W: ((W, US), (BA, BB), (BA, UW)),
    State.BSYNC_ATOM_B: ((W, US), (BA, BB), (BA, UB)),
}
"""A defining trace of every state but RACE, as events from the first access on."""


@dataclass(frozen=True)
class Classes:
    """The model's configurations in classes. following: class and event -> class, None for a race."""

    of: dict[Past, int]
    following: dict[tuple[int, Event], int | None]

    def after(self, trace: tuple[Event, ...]) -> int:
        """The class in which a trace of events ends."""
        current = self.of[EMPTY]
        for event in trace:
            reached = self.following[current, event]
            if reached is None:
                raise ValueError(f"the trace {trace} races")
            current = reached
        return current


def explore(hierarchy: Hierarchy) -> dict[Past, Edges]:
    """Every configuration that a trace without a race reaches, with its successors."""
    graph: dict[Past, Edges] = {}
    pending = [EMPTY]
    while pending:
        past = pending.pop()
        if past in graph:
            continue
        edges: dict[Event, set[Past | None]] = {}
        for access, event, following in successors(hierarchy, past):
            target = None if following is None else renamed(hierarchy, following)
            edges.setdefault((access, event), set()).add(target)
            if target is not None and target not in graph:
                pending.append(target)
        graph[past] = {event: frozenset(targets) for event, targets in edges.items()}
    return graph


def classify(graph: dict[Past, Edges]) -> Classes:
    """The coarsest partition that no event tells apart.

    Raises ValueError if events do not determine the class that follows.
    """
    of = dict.fromkeys(graph, 0)
    while True:
        signatures: dict[object, int] = {}
        refined = {}
        for past, edges in graph.items():
            signature = (
                of[past],
                frozenset(
                    (event, frozenset(-1 if target is None else of[target] for target in targets))
                    for event, targets in edges.items()
                ),
            )
            refined[past] = signatures.setdefault(signature, len(signatures))
        stable = len(signatures) == len(set(of.values()))
        of = refined
        if stable:
            break
    following: dict[tuple[int, Event], int | None] = {}
    for past, edges in graph.items():
        for event, targets in edges.items():
            reached = {None if target is None else of[target] for target in targets}
            if len(reached) != 1:
                raise ValueError(f"{event} after {past} does not determine what follows")
            following[of[past], event] = reached.pop()
    return Classes(of, following)


def derive(hierarchy: Hierarchy = DERIVATION) -> dict[Key, State]:
    """The exact table over all 25 states and 48 events."""
    classes = classify(explore(hierarchy))
    class_of_state = {state: classes.after(trace) for state, trace in WITNESSES.items()}
    table: dict[Key, State] = {}
    for state in State:
        for event in EVENTS:
            key = (state, event.access, event.sync, event.relation)
            kind = class_of(event.sync, event.relation)
            table[key] = _next(classes, class_of_state, state, event.access, kind, published()[key])
    return table


def _next(
    classes: Classes,
    class_of_state: dict[State, int],
    state: State,
    access: Access,
    event: EventClass,
    choice: State,
) -> State:
    if state == State.RACE:
        return choice
    # Before the first access there is no last accessor: every event is like a first one.
    seen = US if state == State.INIT else event
    reached = classes.following[class_of_state[state], (access, seen)]
    if reached is None:
        return State.RACE
    names = [name for name, number in class_of_state.items() if number == reached]
    if choice in names:
        return choice
    history = _history((*WITNESSES[state], (access, seen)))
    matching = [name for name in names if _history(WITNESSES[name]) == history]
    if len(matching) != 1:
        raise ValueError(f"{state.name} {access.name} {event.name}: no single name among {names}")
    return matching[0]


def _history(trace: tuple[Event, ...]) -> frozenset[bool]:
    """Whether a trace has plain accesses, atomics, or both."""
    return frozenset(access in ATOMICS for access, _ in trace)


def derived_csv() -> str:
    """The text of exact.csv."""
    return to_csv(derive())


if __name__ == "__main__":
    print(derived_csv(), end="")
