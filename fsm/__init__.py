"""The machine: 25 states, 48 events, the exact transition table, and the oracle that proves it.

States, events and published table: HiRace (SC 2024). The exact table differs from the published one in 15
cells (`difference`); it is derived from the happens-before model (`derive`) and proved against full
knowledge on small hierarchies, for traces of any length (`search`).
"""

from racedart.fsm.render import render
from racedart.fsm.tables import COLUMNS, by_class, by_column, exact, published, skip_columns, skips
from racedart.fsm.vocabulary import EVENTS, Access, Event, EventClass, Relation, State, Sync, class_of

__all__ = [
    "COLUMNS",
    "EVENTS",
    "Access",
    "Event",
    "EventClass",
    "Relation",
    "State",
    "Sync",
    "by_class",
    "by_column",
    "class_of",
    "exact",
    "published",
    "render",
    "skip_columns",
    "skips",
]
