"""The transition table as text: Markdown for people, csv for programs, dot for a picture."""

from __future__ import annotations

from racedart.fsm.tables import CLASS_KEYS, Table, cell, exact, published, to_csv
from racedart.fsm.vocabulary import MEANINGS, Access, EventClass, State

FORMATS = ("md", "csv", "dot")

_COLUMNS = {
    EventClass.US: "same thread",
    EventClass.UW: "same warp",
    EventClass.UB: "same block",
    EventClass.G: "other block",
    EventClass.WW: "same warp, warp-synced",
    EventClass.BB: "same block, block-synced",
}


def render(output_format: str, mode: str = "exact") -> str:
    """The exact ("exact") or the published ("hirace") machine in one of FORMATS.

    Raises ValueError for another format or mode.
    """
    tables = {"exact": exact, "hirace": published}
    if mode not in tables or output_format not in FORMATS:
        raise ValueError(f"no rendering {output_format!r} of {mode!r}")
    table = tables[mode]()
    if output_format == "csv":
        return to_csv(table)
    return _markdown(table) if output_format == "md" else _dot(table)


def _next(table: Table, state: State, access: Access, event: EventClass) -> State:
    return table[cell(state, access, CLASS_KEYS[event])]


def _markdown(table: Table) -> str:
    lines = ["| state | meaning |", "|---|---|"]
    lines += [f"| {state.name} | {MEANINGS[state]} |" for state in State]
    for access in Access:
        lines += ["", f"**{access.name}**", ""]
        lines.append("| state | " + " | ".join(_COLUMNS[event] for event in EventClass) + " |")
        lines.append("|---" * (len(EventClass) + 1) + "|")
        for state in State:
            row = [_next(table, state, access, event).name for event in EventClass]
            lines.append(f"| {state.name} | " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def _dot(table: Table) -> str:
    """One edge for each pair of states, labelled with the events that lead along it; no edges into RACE."""
    labels: dict[tuple[State, State], dict[EventClass, list[str]]] = {}
    for state in State:
        if state == State.RACE:
            continue
        for access in Access:
            for event in EventClass:
                target = _next(table, state, access, event)
                if target not in {State.RACE, state}:
                    labels.setdefault((state, target), {}).setdefault(event, []).append(access.name)
    lines = [
        "digraph machine {",
        "  rankdir=LR;",
        '  label="Events that are not shown lead to RACE or change nothing.";',
        '  node [shape=box, style=rounded, fontname="sans-serif"];',
    ]
    lines += [f'  {state.name} [tooltip="{MEANINGS[state]}"];' for state in State if state != State.RACE]
    for (state, target), events in labels.items():
        text = "\\n".join(f"{'/'.join(names)} {event.name}" for event, names in events.items())
        lines.append(f'  {state.name} -> {target.name} [label="{text}"];')
    return "\n".join([*lines, "}"]) + "\n"
