"""Which shared memory a block has written, as LLVM IR: every write marks its granules, every read looks at them.

Each granule has a byte, 1 once it is written, below the block's shared memory: the byte of granule g stands
at SHARED_HOST - 1 - g. An access of n granules touches n neighbouring bytes. An atomic operation is a read and a
write; an exchange without a result, or a loaded element whose register is not used, is no read.
"""

from __future__ import annotations

from racedart.shadow.cpu.emitter import Emitter
from racedart.shadow.cpu.layout import Frame
from racedart.shadow.instrument.plan import Plan
from racedart.shadow.ptx.cfg import destinations
from racedart.shadow.ptx.model import Register, Vector


def needed_elements(plan: Plan, site: int) -> tuple[int, ...]:
    """The elements of an access whose value counts."""
    event, instruction = plan.events[site], plan.instruction(site)
    if event.kind == "write":
        return ()
    following = site + 1
    instructions = plan.graph.instructions
    live = plan.graph.live_before[following] if following < len(instructions) else frozenset()
    if event.kind == "atomic":
        is_read = not instruction.has("exch") or bool(set(destinations(instruction)) & live)
        return tuple(range(event.count)) if is_read else ()
    target = instruction.operands[0]
    elements = target.elements if isinstance(target, Vector) else (target,)
    return tuple(k for k, e in enumerate(elements) if isinstance(e, Register) and e.name in live)


def track(
    emitter: Emitter,
    number: int,
    needed: tuple[int, ...],
    marks: bool,
    offset: str,
    size: int,
    count: int,
    shift: int,
) -> None:
    """Emit the look at the elements needed, and the marks of a write. offset: of the access in shared memory."""
    if not needed and not marks:
        return
    each = max(size >> shift, 1)
    granule = emitter.new(f"lshr i64 {offset}, {shift}")
    end = emitter.new(f"sub i64 {emitter.frame(Frame.SHARED_HOST)}, {granule}")
    for k in needed:
        bits, place = each * 8, _place(emitter, end, (k + 1) * each)
        found = emitter.new(f"load i{bits}, ptr {place}, align 1")
        written = emitter.new(f"icmp eq i{bits} {found}, {_ones(each)}")
        name = emitter.name()
        emitter.do(f"br i1 {written}, label %written{name}, label %unwritten{name}, !prof !0")
        emitter.label(f"unwritten{name}")
        element = emitter.new(f"add i64 {offset}, {k * size}")
        emitter.do(f"call void @racedart_uninitialised(i64 %frame_address, i64 {number}, i64 {element})")
        emitter.do(f"br label %written{name}")
        emitter.label(f"written{name}")
    if marks:
        total = each * count
        emitter.do(f"store i{total * 8} {_ones(total)}, ptr {_place(emitter, end, total)}, align 1")


def _place(emitter: Emitter, end: str, below: int) -> str:
    return emitter.new(f"inttoptr i64 {emitter.new(f'sub i64 {end}, {below}')} to ptr")


def _ones(count: int) -> int:
    return int.from_bytes(b"\1" * count, "little")
