"""Faulty accesses and meetings -> findings, and what could not be modelled -> reasons."""

from __future__ import annotations

from dataclasses import dataclass

from racedart.finding.model import Finding, Fix, Json, Level, Location, Reason
from racedart.shadow.explain.places import location_of
from racedart.shadow.explain.races import NameOf
from racedart.shadow.explain.values import coordinates
from racedart.shadow.instrument.plan import Plan
from racedart.shadow.launch import Launch
from racedart.shadow.ptx.model import Module
from racedart.shadow.ptx.printer import print_instruction


@dataclass(frozen=True, slots=True)
class Faulty:
    """A fault of a run.

    kind: the name of a fault kind in lower case. address: (shared, byte offset), or None where it lies in
    no memory of the launch. raw: the device address. text: of a failed assertion.
    """

    kind: str
    site: int
    thread: int
    block: int
    raw: int = 0
    address: tuple[bool, int] | None = None
    other_site: int = 0
    other_thread: int = 0
    text: str = ""


def fault_findings(
    faults: list[Faulty], module: Module, plan: Plan, launch: Launch, name_of: NameOf
) -> list[Finding]:
    """A finding for each fault that is one, once per (rule, line, variable)."""
    found: dict[tuple[str, str, int, str], Finding] = {}
    for fault in faults:
        finding = _finding(fault, module, plan, launch, name_of)
        if finding is not None:
            variable = str(finding.properties.get("variable", ""))
            key = (finding.rule, finding.location.file, finding.location.line, variable)
            found.setdefault(key, finding)
    return list(found.values())


def _finding(fault: Faulty, module: Module, plan: Plan, launch: Launch, name_of: NameOf) -> Finding | None:
    here = location_of(module, plan.instruction(fault.site).loc)
    who = _thread(fault.thread, fault.block, launch)
    properties: dict[str, Json] = {
        "kernel": launch.kernel.name,
        "instruction": print_instruction(plan.instruction(fault.site)),
        "thread": list(coordinates(fault.thread, launch.block)),
        "block": list(coordinates(fault.block, launch.grid)),
    }
    rule, level = "R201", Level.ERROR
    waits_there = ""
    match fault.kind:
        case "out_of_bounds" | "misaligned":
            rule = "R301"
            text, fix, variable = _faulty_access(fault, plan, who, name_of)
            properties["variable"] = variable
        case "uninitialised":
            rule = "R302"
            named = name_of(*(fault.address or (True, 0)), _size(fault, plan))
            properties["variable"] = named.variable
            text = (
                f"{who} reads {named.element} (shared memory), which no thread of its block has written; the "
                "results change with what was there"
            )
            fix = "write every element before it is read, also those beyond the end of the data"
        case "divergent_barrier":
            text = f"threads of one block wait at different barriers: {who} waits here"
            call = "cuda.syncthreads()" if launch.kernel.language == "numba" else "__syncthreads()"
            fix = f"let all threads of the block reach the same {call}"
            waits_there = "waits here"
        case "barrier_deadlock":
            text = f"the block can never go on: {who} waits at a barrier that not all threads reach"
            fix = "move the barrier out of the condition that some threads do not enter"
            waits_there = "waits here"
        case "grid_deadlock":
            text = f"the grid can never go on: {who} waits at a barrier of the grid that not all blocks reach"
            fix = "let every block of the grid reach the barrier, also those that have nothing to do"
        case "missing_lanes" | "own_lane_missing":
            rule = "R202"
            fix = "compute the mask before the branch (by __ballot_sync, say) and let all its lanes arrive"
            if fault.kind == "own_lane_missing":
                text = f"the mask of this warp operation does not name the lane that executes it ({who})"
            else:
                text = f"{who} waits for lanes of its mask that wait elsewhere"
                waits_there = "of its warp waits here"
        case "undefined_lane":
            rule, level = "R202", Level.WARNING
            source = fault.other_thread % 32
            text = f"{who} reads the value of lane {source}, which takes no part in this shuffle: it is undefined"
            fix = "let all lanes of the mask execute the shuffle, or read only lanes that do"
        case "livelock":
            rule = "R203"
            text = f"every running thread spins without effect; {who} spins here"
            fix = "let the condition be met by a thread that can still run, and re-read it in every iteration"
        case _:
            return None
    related: tuple[Location, ...] = ()
    if waits_there:
        note = f"thread {_xyz(fault.other_thread, launch)} {waits_there}"
        related = (location_of(module, plan.instruction(fault.other_site).loc, note),)
    return Finding(rule, level, text, here, related, Fix(fix), properties)


def _size(fault: Faulty, plan: Plan) -> int:
    event = plan.events.get(fault.site)
    return event.size if event is not None else 1


def _faulty_access(fault: Faulty, plan: Plan, who: str, name_of: NameOf) -> tuple[str, str, str]:
    """Message, fix and variable of an access that is out of bounds or misaligned."""
    event = plan.events.get(fault.site)
    size = event.size * event.count if event is not None else 0
    kind = event.kind if event is not None else "access"
    place = f"address {fault.raw:#x}, which belongs to no memory of the launch"
    variable = ""
    if fault.address is not None:
        named = name_of(*fault.address, size or 1)
        variable = named.variable
        place = f"{named.element} ({named.space} memory)"
    if fault.kind == "misaligned":
        text = f"{kind} of {size} bytes at {place} is not aligned to its size; {who}"
        fix = "use an address that is a multiple of the size of the access"
    else:
        text = f"{kind} of {size} bytes at {place} is out of bounds; {who}"
        fix = "guard the access by the array's size, or launch with the size that the array has"
    return text, fix, variable


def fault_reasons(
    faults: list[Faulty], module: Module, plan: Plan, launch: Launch, unmodelled: dict[int, str]
) -> list[Reason]:
    """Why the run is incomplete: instructions without a translation, and traps."""
    reasons = []
    for fault in faults:
        instruction = plan.instruction(fault.site)
        place = location_of(module, instruction.loc)
        text = print_instruction(instruction)
        if fault.kind == "unmodelled":
            what = unmodelled.get(fault.site, "this instruction")
            reasons.append(Reason("instruction", f"{what} is not modelled; the launch ended there", place, text))
        elif fault.kind == "trap":
            who = _thread(fault.thread, fault.block, launch)
            failed = f"an assertion failed: {fault.text}," if fault.text else "an assertion failed"
            how = failed if instruction.opcode == "call" else "the kernel ended itself by a trap"
            reasons.append(Reason("trap", f"{how} and the launch ended there; {who}", place, text))
    return reasons


def _thread(thread: int, block: int, launch: Launch) -> str:
    bx, by, bz = coordinates(block, launch.grid)
    return f"thread {_xyz(thread, launch)} of block ({bx}, {by}, {bz})"


def _xyz(thread: int, launch: Launch) -> str:
    x, y, z = coordinates(thread, launch.block)
    return f"({x}, {y}, {z})"
