"""The plan of a kernel: every instruction that is an event, and how memory is divided into granules.

Both engines realise the plan; site numbers are indices of instructions in the kernel's graph, so that a
raw race, a log entry or a fault leads back to its instruction and source line.

Where strong accesses of several widths meet in one state space, two of them may overlap partly, which
the machine of one granule cannot see: they are then judged as plain accesses, and the pairs found are
examined one by one when they are explained (`examined`). The same holds for volatile accesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from racedart.fsm import Access
from racedart.shadow.instrument.events import Event, event_of
from racedart.shadow.instrument.grids import GridBarriers, grid_barriers
from racedart.shadow.ptx.cfg import Graph, control_flow
from racedart.shadow.ptx.model import Function, Instruction, Label, Loc, Statement

MAX_GRANULE_SHIFT = 2
"""A word stands for 4 bytes, or fewer where the plan has narrower accesses."""


@dataclass(frozen=True)
class Plan:
    """events: instruction index -> its event. access: instruction index -> what the machine is told.

    global_shift, shared_shift: log2 of the granule in bytes. fences: indices of instructions whose
    ordering of memory is not modelled. examined: alarms may be refuted when they are explained. grids: the barriers
    of the grid. proved: sites that need no check in the launch that the plan is for; they are missing in access.
    """

    function: Function
    graph: Graph
    events: dict[int, Event]
    access: dict[int, Access]
    global_shift: int
    shared_shift: int
    fences: tuple[int, ...]
    examined: bool
    grids: GridBarriers
    proved: frozenset[int] = frozenset()

    def without_checks(self, proved: frozenset[int]) -> Plan:
        """The plan for launches in which some sites need no check."""
        access = {site: access for site, access in self.access.items() if site not in proved}
        return replace(self, access=access, proved=self.proved | proved)

    def instruction(self, site: int) -> Instruction:
        """The instruction of a site."""
        return self.graph.instructions[site]


def make_plan(function: Function) -> Plan:
    """Plan the checks of a kernel whose device functions have been inlined."""
    function = with_known_lines(function)
    graph = control_flow(function)
    reachable = [i for k in sorted(graph.edges) for i in range(graph.blocks[k].start, graph.blocks[k].end)]
    grids = grid_barriers(graph.instructions)
    events = {
        i: event
        for i in reachable
        if i not in grids.sites and (event := event_of(graph.instructions[i])) is not None
    }
    mixed = {space for space in ("global", "shared") if len(_strong_sizes(events, space)) > 1}
    access = {
        i: _plain(event) if event.strong and _spaces(event) & mixed else event.access for i, event in events.items()
    }
    return Plan(
        function,
        graph,
        events,
        access,
        _granule_shift(events, "global"),
        _granule_shift(events, "shared"),
        tuple(
            i for i in reachable if _orders_memory(graph.instructions[i]) and i not in grids.sites | grids.fences
        ),
        bool(mixed) or any(event.volatile for event in events.values()),
        grids,
    )


def with_known_lines(function: Function) -> Function:
    """The function with a place for every instruction that the compiler gave line 0.

    Line 0 marks code that stands for several lines, such as a store that two branches share. It is shown at
    the nearest line of its basic block, the one before it if there is one, else at the last line seen.
    """
    body = list(function.body or ())
    known: Loc | None = None
    last: Loc | None = None
    for i, statement in enumerate(body):
        if isinstance(statement, Label):
            known = None
        if not isinstance(statement, Instruction):
            continue
        if statement.loc is not None and statement.loc.line == 0:
            body[i] = replace(statement, loc=known or _next_line(body, i) or last or statement.loc)
        elif statement.loc is not None:
            known = last = statement.loc
    return replace(function, body=tuple(body))


def _next_line(body: Sequence[Statement], i: int) -> Loc | None:
    """The first line after a statement in its basic block."""
    for statement in body[i + 1 :]:
        if isinstance(statement, Label):
            return None
        if isinstance(statement, Instruction) and statement.loc is not None and statement.loc.line:
            return statement.loc
    return None


def _spaces(event: Event) -> set[str]:
    return {"global", "shared"} if event.space == "generic" else {event.space}


def _strong_sizes(events: dict[int, Event], space: str) -> set[int]:
    return {e.size for e in events.values() if e.strong and not e.volatile and space in _spaces(e)}


def _plain(event: Event) -> Access:
    return Access.R if event.kind == "read" else Access.W


def _granule_shift(events: dict[int, Event], space: str) -> int:
    sizes = [event.size for event in events.values() if space in _spaces(event)]
    return min([(size).bit_length() - 1 for size in sizes] + [MAX_GRANULE_SHIFT])


def _orders_memory(instruction: Instruction) -> bool:
    """Whether it orders memory by other means than a barrier of a whole block or warp."""
    if instruction.opcode in {"membar", "fence"}:
        return True
    event = event_of(instruction)
    return event is not None and event.orders
