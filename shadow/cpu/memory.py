"""Memory instructions (PTX ISA 9.7.9, 9.7.13) as LLVM IR, with the checker in front of each access.

Every access is range-checked before it is made; a faulty one is recorded and goes to a sink. `check`,
`locate` and `fault` are the functions of `slow_path` and `checker`, linked into the same module.
Atomics are in atomics.py. Not handled: asynchronous copies, textures and surfaces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from racedart.fsm import Access
from racedart.shadow.cpu.emitter import Emitter, Unmodelled, last_type
from racedart.shadow.cpu.initialised import track
from racedart.shadow.cpu.layout import ARENA, Context, Frame
from racedart.shadow.instrument.events import address_of, element_size, vector_count
from racedart.shadow.ptx.model import Address, Instruction, Symbol, Vector
from racedart.shadow.ptx.types import TYPES

U32, U64 = TYPES["u32"], TYPES["u64"]


@dataclass(frozen=True, slots=True)
class Site:
    """What memory code needs of the plan for one instruction; access is None where nothing is checked.

    needed: elements that must be initialised if they are in shared memory. marks: whether the access initialises
    what it touches there.
    """

    number: int
    access: Access | None
    global_shift: int
    shared_shift: int
    needed: tuple[int, ...] = ()
    marks: bool = False


def load_store(emitter: Emitter, instruction: Instruction, site: Site) -> None:
    """ld, ldu, st, of any space and vector width."""
    if len([m for m in instruction.modifiers if m in TYPES]) > 1:
        raise Unmodelled("this type")
    type_ = last_type(instruction)
    count = vector_count(instruction)
    place = place_of(emitter, instruction, site)
    if instruction.opcode == "st":
        source = instruction.operands[1]
        elements = source.elements if isinstance(source, Vector) else (source,)
        for k, element in enumerate(elements[:count]):
            value = emitter.read(element, type_)
            pointer = emitter.new(f"getelementptr i8, ptr {place}, i64 {k * type_.bytes}")
            emitter.do(f"store i{type_.bits} {value}, ptr {pointer}, align {type_.bytes}")
        if not instruction.has("local"):
            _mark_modified(emitter)
        return
    target = instruction.operands[0]
    elements = target.elements if isinstance(target, Vector) else (target,)
    values = []
    for k in range(len(elements)):
        pointer = emitter.new(f"getelementptr i8, ptr {place}, i64 {k * type_.bytes}")
        values.append(emitter.new(f"load i{type_.bits}, ptr {pointer}, align {type_.bytes}"))
    for element, value in zip(elements, values, strict=True):
        emitter.write(element, type_, value)


def _mark_modified(emitter: Emitter) -> None:
    emitter.do(f"store i64 1, ptr {emitter.context_pointer(Context.MODIFIED)}")


def place_of(emitter: Emitter, instruction: Instruction, site: Site) -> str:
    """Emit the range check and the race check of a memory instruction; give the host pointer."""
    address = address_of(instruction)
    if address is None:
        raise Unmodelled("this kind of address")
    size, count = element_size(instruction), vector_count(instruction)
    total = size * count
    spaces = {m.split("::")[0] for m in instruction.modifiers}
    if "param" in spaces:
        return _window(emitter, site, _address(emitter, address), total, Context.PARAMS_SIZE, Context.PARAMS_HOST)
    if "local" in spaces:
        return _window(emitter, site, _address(emitter, address), total, Context.LOCAL_SIZE, Frame.LOCAL_HOST)
    if "shared" in spaces:
        return _shared(emitter, site, _address(emitter, address), size, count)
    if "const" in spaces or "global" in spaces:
        return _global(emitter, site, _address(emitter, address), size, count)
    return _generic(emitter, site, _address(emitter, address), size, count)


def _address(emitter: Emitter, address: Address) -> str:
    base = emitter.read(address.base, U64)
    if isinstance(address.base, Symbol):
        return str(int(base) + address.offset)
    return emitter.new(f"add i64 {base}, {address.offset}") if address.offset else base


def _in_range(emitter: Emitter, offset: str, limit: str, total: int) -> str:
    """Whether [offset, offset + total) lies below the limit and is aligned."""
    last = emitter.new(f"sub i64 {limit}, {total}")
    inside = emitter.new(f"icmp ule i64 {offset}, {last}")
    # A limit below the access's own size wraps `last`; the unsigned test of the limit catches it.
    fits = emitter.new(f"icmp uge i64 {limit}, {total}")
    both = emitter.new(f"and i1 {inside}, {fits}")
    low = emitter.new(f"and i64 {offset}, {total - 1}")
    aligned = emitter.new(f"icmp eq i64 {low}, 0")
    return emitter.new(f"and i1 {both}, {aligned}")


def _guarded(
    emitter: Emitter,
    site: Site,
    offset: str,
    limit: str,
    total: int,
    device_base: int,
    good: Callable[[], str],
) -> str:
    """`good()` gives the host address where the access is in range; else the fault's sink."""
    number = emitter.name()
    ok = _in_range(emitter, offset, limit, total)
    emitter.do(f"br i1 {ok}, label %in{number}, label %out{number}, !prof !0")
    emitter.label(f"out{number}")
    device = emitter.new(f"add i64 {offset}, {device_base}")
    sink = emitter.new(
        f"call i64 @racedart_fault(i64 %frame_address, i64 {site.number}, i64 {device}, i64 {total})"
    )
    emitter.do(f"br label %join{number}")
    emitter.label(f"in{number}")
    host = good()
    emitter.jump_into(f"good{number}")
    emitter.do(f"br label %join{number}")
    emitter.label(f"join{number}")
    chosen = emitter.new(f"phi i64 [ {sink}, %out{number} ], [ {host}, %good{number} ]")
    return emitter.new(f"inttoptr i64 {chosen} to ptr")


def _window(emitter: Emitter, site: Site, offset: str, total: int, size: Context, base: Context | Frame) -> str:
    def good() -> str:
        host = emitter.frame(base) if isinstance(base, Frame) else emitter.context(base)
        return emitter.new(f"add i64 {host}, {offset}")

    return _guarded(emitter, site, offset, emitter.context(size), total, 0, good)


def _check(emitter: Emitter, site: Site, host: str, shadow: str, shift: int, size: int, count: int) -> None:
    """Call the checker for each granule of each element; shadow: address of the first one's word."""
    if site.access is None:
        return
    mine = emitter.frame(Frame.MINE)
    emitter.set_frame(Frame.ACCESSED, 1)
    granule = 1 << shift
    per_element = max(size // granule, 1)
    if size < granule:
        raise AssertionError(f"an access of {size} bytes in granules of {granule}")
    for k in range(per_element * count):
        address = emitter.new(f"add i64 {shadow}, {8 * k}")
        place = emitter.new(f"add i64 {host}, {k // per_element * size}")
        emitter.do(
            f"call void @racedart_check(i64 %frame_address, i64 {mine}, i64 {place}, i64 {address}, "
            f"i64 {int(site.access)}, i64 {site.number})"
        )


def _shared(emitter: Emitter, site: Site, address: str, size: int, count: int) -> str:
    # Shared addresses are 32 bits wide; a register of 64 may carry them.
    offset = emitter.new(f"and i64 {address}, 4294967295")

    def good() -> str:
        host = emitter.new(f"add i64 {emitter.frame(Frame.SHARED_HOST)}, {offset}")
        word = emitter.new(f"lshr i64 {offset}, {site.shared_shift}")
        byte = emitter.new(f"shl i64 {word}, 3")
        shadow = emitter.new(f"add i64 {emitter.frame(Frame.SHARED_SHADOW)}, {byte}")
        _check(emitter, site, host, shadow, site.shared_shift, size, count)
        track(emitter, site.number, site.needed, site.marks, offset, size, count, site.shared_shift)
        return host

    return _guarded(emitter, site, offset, emitter.context(Context.SHARED_SIZE), size * count, 0, good)


def _global(emitter: Emitter, site: Site, address: str, size: int, count: int) -> str:
    offset = emitter.new(f"sub i64 {address}, {ARENA}")

    def good() -> str:
        host = emitter.new(f"add i64 %arena_host, {offset}")
        word = emitter.new(f"lshr i64 {offset}, {site.global_shift}")
        byte = emitter.new(f"shl i64 {word}, 3")
        shadow = emitter.new(f"add i64 %global_shadow, {byte}")
        _check(emitter, site, host, shadow, site.global_shift, size, count)
        return host

    return _guarded(emitter, site, offset, "%arena_size", size * count, ARENA, good)


def _generic(emitter: Emitter, site: Site, address: str, size: int, count: int) -> str:
    """Through `locate`, which finds the window and leaves the shadow word's address in the frame."""
    total = size * count
    host = emitter.new(
        f"call i64 @racedart_locate(i64 %frame_address, i64 {address}, i64 {total}, i64 {site.number})"
    )
    if site.access is not None:
        number = emitter.name()
        shadow = emitter.frame(Frame.SHADOW_WORD)
        checked = emitter.new(f"icmp ne i64 {shadow}, 0")
        emitter.do(f"br i1 {checked}, label %do{number}, label %skip{number}")
        emitter.label(f"do{number}")
        if site.global_shift == site.shared_shift:
            _check(emitter, site, host, shadow, site.global_shift, size, count)
        else:
            low = emitter.new(f"sub i64 {shadow}, %global_shadow")
            words = emitter.new(f"lshr i64 %arena_size, {site.global_shift}")
            is_global = emitter.new(f"icmp ult i64 {low}, {emitter.new(f'shl i64 {words}, 3')}")
            emitter.do(f"br i1 {is_global}, label %global{number}, label %shared{number}")
            emitter.label(f"global{number}")
            _check(emitter, site, host, shadow, site.global_shift, size, count)
            emitter.do(f"br label %skip{number}")
            emitter.label(f"shared{number}")
            _check(emitter, site, host, shadow, site.shared_shift, size, count)
        emitter.jump_into(f"skip{number}")
    if site.needed or site.marks:
        number = emitter.name()
        offset = emitter.new(f"sub i64 {host}, {emitter.frame(Frame.SHARED_HOST)}")
        is_shared = emitter.new(f"icmp ult i64 {offset}, {emitter.context(Context.SHARED_SIZE)}")
        emitter.do(f"br i1 {is_shared}, label %tracked{number}, label %untracked{number}")
        emitter.label(f"tracked{number}")
        track(emitter, site.number, site.needed, site.marks, offset, size, count, site.shared_shift)
        emitter.jump_into(f"untracked{number}")
    return emitter.new(f"inttoptr i64 {host} to ptr")


MEMORY: dict[str, Callable[[Emitter, Instruction, Site], None]] = {
    "ld": load_store,
    "ldu": load_store,
    "st": load_store,
}
