"""A planned kernel -> a PTX module in which every access is checked before it is made.

Source: PTX ISA 9.7.9 (memory), 9.7.13 (barriers). One 64-bit register of each thread holds what its shadow words
say of it (epoch, block, thread, barrier and warp-sync counts); barriers add to it. An access out of range is
recorded and not made: it reads zero. The frequent cases of the machine stand in line, a function makes the others.
Variables of the module live in the launch's arena, static shared
memory in one array with the layout of the plan, so that both engines number granules alike.

A block barrier counts when every thread of the block took part (`barrier.red.popc` tells how many), a warp sync
when every lane did. Where threads have exited, the count stays and the launch is marked conservative: the alarms
that this raises are refuted in the replay. `logged` code also keeps both counts in full, and notes them at every
exit.

Not handled: calls of functions that are not inlined (`foreign_calls`), and instructions in UNCHECKED, which access
memory in ways that no check covers (`unchecked_sites`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from racedart.shadow import word
from racedart.shadow.cpu.layout import FaultKind
from racedart.shadow.gpu.accesses import REGISTERS, AccessCheck, call
from racedart.shadow.gpu.checks import functions_text, table_text
from racedart.shadow.gpu.layout import CONTEXT, SHARED, TABLE, Context, Record
from racedart.shadow.instrument.events import address_of, element_size, vector_count
from racedart.shadow.instrument.plan import Plan
from racedart.shadow.outcome import Mode
from racedart.shadow.ptx.model import (
    DISCARD,
    Address,
    Arguments,
    Immediate,
    Instruction,
    Module,
    Operand,
    Register,
    Symbol,
    Variable,
    Vector,
)
from racedart.shadow.ptx.printer import (
    print_functions,
    print_instruction,
    print_operand,
    print_statement,
    print_variable,
)

UNCHECKED = frozenset(
    {"tex", "tld4", "suld", "sust", "sured", "wmma", "wgmma", "ldmatrix", "stmatrix", "multimem", "mbarrier"}
)
"""Opcodes that may access shared or global memory where no check is made."""
HARMLESS = frozenset({"vprintf"})
"""Functions of the CUDA runtime that touch no memory of the program."""

_BARRIER_ONE, _SYNC_ONE = 1 << word.BARRIER_SHIFT, 1 << word.SYNC_SHIFT
_CLOCK_BARRIER, _CLOCK_SYNC = 1 << 32, 1


@dataclass(frozen=True, slots=True)
class Injected:
    """text: the module. checks: how many sites call a check."""

    text: str
    checks: int


@dataclass(frozen=True, slots=True)
class Places:
    """Byte offsets of variables: of the module in the arena, of shared arrays; static_shared: bytes."""

    module: Mapping[str, int]
    shared: Mapping[str, int]
    static_shared: int


def unchecked_sites(plan: Plan) -> list[int]:
    """Sites that may access memory and are not covered by a check."""
    return [
        site
        for site, instruction in enumerate(plan.graph.instructions)
        if instruction.opcode in UNCHECKED
        or (instruction.opcode == "cp" and instruction.has("async"))
        or (instruction.opcode in {"bar", "barrier"} and instruction.has("cluster", "arrive"))
    ]


def foreign_calls(plan: Plan) -> list[str]:
    """Names of the functions that a kernel calls and that are not its own code."""
    calls = [i for i in plan.graph.instructions if i.opcode == "call"]
    return sorted({_callee(i) for i in calls} - HARMLESS - {ASSERT})


ASSERT = "__assertfail"


def _callee(instruction: Instruction) -> str:
    return next((o.name for o in instruction.operands if isinstance(o, Symbol)), "a function pointer")


def inject(
    module: Module, plan: Plan, places: Places, target: tuple[int, int], mode: Mode, *, logged: bool
) -> Injected:
    """The module with one kernel, checked; target: compute capability of the GPU."""
    writer = _Writer(module, plan, places, mode, logged)
    body = list(writer.body())
    version = max(module.version, "8.5", key=lambda text: tuple(map(int, text.split("."))))
    parts = [
        f".version {version}",
        f".target {', '.join(module.target)}",
        f".address_size {module.address_size}",
        f".visible .const .align 8 .b64 {CONTEXT}[{int(Context.SIZE)}];",
        f".const .align 4 .b8 {TABLE}[{table_text(mode).count(',') + 1}] = {{{table_text(mode)}}};",
        *(f"{print_variable(v)};" for v in module.variables if v.space not in {"global", "shared"}),
        *(f"{print_variable(v)};" for v in module.variables if v.space == "shared" and not v.size),
        # Static shared memory has the layout of the plan; dynamic memory begins where it ends.
        f".shared .align 128 .b8 {SHARED}[{places.static_shared}];"
        if places.static_shared
        else f".extern .shared .align 128 .b8 {SHARED}[];",
        print_functions(f for f in module.functions.values() if f.body is None and f.name in HARMLESS),
        functions_text(mode, target, logged=logged),
        *body,
    ]
    return Injected("\n".join(parts) + "\n", writer.count)


@dataclass
class _Writer:
    module: Module
    plan: Plan
    places: Places
    mode: Mode
    logged: bool
    cold: list[str] = field(default_factory=list)
    count: int = 0

    def body(self) -> Iterator[str]:
        function = self.plan.function
        head = "".join(f".{word_} " for word_ in function.linkage) + f".entry {function.name}("
        yield head
        yield ",\n".join(f"\t{print_variable(param)}" for param in function.params)
        yield ")"
        yield from (f"{d};" if d.startswith(".pragma") else d for d in function.tuning)
        yield "{"
        for name, type_ in function.registers.items():
            if "." not in name:
                yield f"\t.reg .{type_.name} {name};"
        yield from REGISTERS
        for variable in function.variables:
            if variable.space != "shared" or not variable.size:
                yield f"\t{print_variable(variable)};"
        yield from (f"\t{line}" for line in self.prologue())
        site = 0
        for statement in function.body or ():
            if isinstance(statement, Instruction):
                yield from (f"\t{line}" for line in self.instruction(site, statement))
                site += 1
            else:
                yield print_statement(statement)
        # Falling off the end is an exit.
        yield from (f"\t{line}" for line in self.leaving())
        yield "\tret;"
        yield from self.cold
        yield "}"

    def shared_variables(self) -> list[Variable]:
        """All shared variables of the kernel and its module."""
        variables = (*self.module.variables, *self.plan.function.variables)
        return [v for v in variables if v.space == "shared"]

    def prologue(self) -> Iterator[str]:
        yield "mov.u32 %racedart_x, %tid.z;"
        yield "mov.u32 %racedart_n, %ntid.y;"
        yield "mov.u32 %racedart_y, %tid.y;"
        yield "mad.lo.u32 %racedart_x, %racedart_x, %racedart_n, %racedart_y;"
        yield "mov.u32 %racedart_threads, %ntid.x;"
        yield "mov.u32 %racedart_y, %tid.x;"
        yield "mad.lo.u32 %racedart_x, %racedart_x, %racedart_threads, %racedart_y;"
        yield "mul.lo.u32 %racedart_threads, %racedart_threads, %racedart_n;"
        yield "mov.u32 %racedart_n, %ntid.z;"
        yield "mul.lo.u32 %racedart_threads, %racedart_threads, %racedart_n;"
        yield "cvt.u64.u32 %racedart_mine, %racedart_x;"
        yield f"shl.b64 %racedart_mine, %racedart_mine, {word.LANE_SHIFT};"
        # The lanes that exist in this warp: the last one may be short.
        yield "and.b32 %racedart_x, %racedart_x, -32;"
        yield "sub.u32 %racedart_x, %racedart_threads, %racedart_x;"
        yield "min.u32 %racedart_x, %racedart_x, 32;"
        yield "sub.u32 %racedart_x, 32, %racedart_x;"
        yield "mov.u32 %racedart_lanes, -1;"
        yield "shr.u32 %racedart_lanes, %racedart_lanes, %racedart_x;"
        yield "mov.u32 %racedart_x, %ctaid.z;"
        yield "mov.u32 %racedart_n, %nctaid.y;"
        yield "mov.u32 %racedart_y, %ctaid.y;"
        yield "mad.lo.u32 %racedart_x, %racedart_x, %racedart_n, %racedart_y;"
        yield "mov.u32 %racedart_n, %nctaid.x;"
        yield "mov.u32 %racedart_y, %ctaid.x;"
        yield "mad.lo.u32 %racedart_x, %racedart_x, %racedart_n, %racedart_y;"
        yield "cvt.u64.u32 %racedart_a, %racedart_x;"
        yield f"shl.b64 %racedart_a, %racedart_a, {word.BLOCK_SHIFT};"
        yield "or.b64 %racedart_mine, %racedart_mine, %racedart_a;"
        yield f"or.b64 %racedart_mine, %racedart_mine, {word.EPOCH << word.EPOCH_SHIFT};"
        if self.logged:
            yield "mov.u64 %racedart_clock, 0;"
        if any(event.space == "shared" for event in self.plan.events.values()):
            yield f"ld.const.u64 %racedart_r, [{CONTEXT}+{8 * int(Context.SHADOW_BYTES)}];"
            yield "cvt.u64.u32 %racedart_a, %racedart_x;"
            yield f"ld.const.u64 %racedart_shadow, [{CONTEXT}+{8 * int(Context.SHARED_SHADOW)}];"
            yield "mad.lo.s64 %racedart_shadow, %racedart_a, %racedart_r, %racedart_shadow;"

    # Statements

    def instruction(self, site: int, instruction: Instruction) -> Iterator[str]:
        """An instruction with what belongs before and after it."""
        opcode = instruction.opcode
        guard = instruction.guard
        if opcode == "bra" or opcode == "brx":
            yield f"{print_instruction(instruction)};"
            return
        special = self.special(site, replace(instruction, guard=None))
        if special is None:
            yield from self.relocated(instruction)
            return
        if guard is None:
            yield from special
            return
        skip = f"$racedart_skip_{site}"
        sign = "" if guard.negated else "!"
        yield f"@{sign}{guard.register.name} bra {skip};"
        yield from special
        yield f"{skip}:"

    def special(self, site: int, instruction: Instruction) -> Iterator[str] | None:
        """What stands for an instruction that needs more than itself."""
        opcode = instruction.opcode
        if opcode in {"ret", "exit"}:
            return iter([*self.leaving(), f"{opcode};"])
        if opcode == "trap" or (opcode == "call" and _callee(instruction) == ASSERT):
            return iter([*self.faulted(site, FaultKind.TRAP), *self.leaving(), "exit;"])
        if opcode in {"bar", "barrier"} and not instruction.has("cluster", "arrive"):
            return self.warp_sync(site, instruction) if instruction.has("warp") else self.barrier(site, instruction)
        if site in self.plan.events:
            return self.access(site, instruction)
        return None

    def relocated(self, instruction: Instruction) -> Iterator[str]:
        """An instruction whose symbols of module and shared variables are addresses of their new places."""
        lines: list[str] = []
        operands = tuple(self.operand(o, lines) for o in instruction.operands)
        yield from lines
        yield f"{print_instruction(replace(instruction, operands=operands))};"

    def operand(self, operand: Operand, lines: list[str]) -> Operand:
        match operand:
            case Symbol(name, offset) if name in self.places.shared:
                return self.shared_symbol(name, offset, lines)
            case Symbol(name, offset) if name in self.places.module and self.is_global(name):
                lines += self.arena_address("%racedart_a", self.places.module[name] + offset)
                return Register("%racedart_a")
            case Address(Symbol() as base, offset):
                moved = self.operand(Symbol(base.name, base.offset + offset), lines)
                return Address(moved) if isinstance(moved, Register | Symbol) else operand
            case Vector(elements):
                return Vector(tuple(self.operand(o, lines) for o in elements))
            case Arguments(elements):
                return Arguments(tuple(self.operand(o, lines) for o in elements))
        return operand

    def is_global(self, name: str) -> bool:
        return any(v.name == name and v.space == "global" for v in self.module.variables)

    def shared_symbol(self, name: str, offset: int, lines: list[str]) -> Operand:
        """Dynamic arrays keep their own name: they start where the static ones end."""
        if any(v.name == name and not v.size for v in self.shared_variables()):
            return Symbol(name, offset)
        return Symbol(SHARED, self.places.shared[name] + offset)

    def arena_address(self, register: str, offset: int) -> list[str]:
        return [
            f"ld.const.u64 {register}, [{CONTEXT}+{8 * int(Context.ARENA)}];",
            f"add.s64 {register}, {register}, {offset};",
        ]

    # Accesses

    def access(self, site: int, instruction: Instruction) -> Iterator[str]:
        plan, event = self.plan, self.plan.events[site]
        element = element_size(instruction)
        check = AccessCheck(
            site,
            event.space,
            plan.access.get(site),
            element * vector_count(instruction),
            element,
            plan.global_shift,
            plan.shared_shift,
            self.mode,
            self.logged,
        )
        self.count += 1
        address = address_of(instruction)
        assert address is not None
        lines: list[str] = []
        moved = self.operand(address, lines)
        yield from lines
        assert isinstance(moved, Address)
        yield from self.into("%racedart_b", moved, event.space)
        yield from check.lines()
        operands = tuple(moved if o == address else o for o in instruction.operands)
        yield f"{print_instruction(replace(instruction, operands=operands))};"
        following = check.label("next")
        yield f"{following}:"
        self.cold += [*check.cold, f"{check.failed}:"]
        self.cold += [f"\t{line}" for line in self.zeroed(instruction)]
        self.cold.append(f"\tbra {following};")

    def into(self, register: str, address: Address, space: str) -> Iterator[str]:
        """The address as a 64-bit number; of shared memory, the offset in the kernel's own."""
        base, offset = address.base, address.offset
        if space == "shared" and isinstance(base, Symbol) and base.name == SHARED:
            yield f"mov.u64 {register}, {base.offset + offset};"
            return
        match base:
            case Symbol():
                yield f"mov.u64 {register}, {base.name};"
                offset += base.offset
            case Immediate():
                yield f"mov.u64 {register}, {base.value};"
            case Register(name):
                # Shared addresses may stand in registers of 32 bits.
                narrow = self.plan.function.registers[name].bits == 32 if name != "%racedart_a" else False
                yield f"cvt.u64.u32 {register}, {name};" if narrow else f"mov.b64 {register}, {name};"
        if space == "shared":
            yield f"mov.u64 %racedart_r, {SHARED};"
            yield f"sub.s64 {register}, {register}, %racedart_r;"
        if offset:
            yield f"add.s64 {register}, {register}, {offset};"

    def zeroed(self, instruction: Instruction) -> Iterator[str]:
        """What an access that is not made leaves in its destination."""
        if instruction.opcode in {"st", "red"}:
            return
        target = instruction.operands[0]
        for element in target.elements if isinstance(target, Vector) else (target,):
            if isinstance(element, Register) and element != DISCARD:
                type_ = self.plan.function.registers[element.name]
                if type_.bits == 128:
                    yield f"mov.b128 {element.name}, {{0, 0}};"
                elif type_.bits == 8:
                    yield f"cvt.u8.u32 {element.name}, 0;"
                else:
                    yield f"mov.b{type_.bits} {element.name}, 0;"

    # Meetings

    def faulted(self, site: int, kind: FaultKind) -> Iterator[str]:
        yield from call("racedart_fault", str(site), "0", str(int(kind)))

    def conservative(self) -> Iterator[str]:
        yield f"ld.const.u64 %racedart_a, [{CONTEXT}+{8 * int(Context.RECORDS)}];"
        yield f"mov.u64 %racedart_b, 1; st.global.u64 [%racedart_a+{8 * int(Record.CONSERVATIVE)}], %racedart_b;"

    def counted(self, one: int, mask: int) -> Iterator[str]:
        """Add to a count of the thread's word, modulo its width."""
        yield f"add.s64 %racedart_a, %racedart_mine, {one};"
        yield f"and.b64 %racedart_a, %racedart_a, {mask};"
        yield f"and.b64 %racedart_mine, %racedart_mine, {~mask};"
        yield "or.b64 %racedart_mine, %racedart_mine, %racedart_a;"

    def barrier(self, site: int, instruction: Instruction) -> Iterator[str]:
        """A block barrier that also counts who takes part."""
        operands = list(instruction.operands)
        if instruction.has("red"):
            yield f"{print_instruction(instruction)};"
            operands = operands[1:-1]
        kept = [m for m in instruction.modifiers if m in {"cta", "aligned"}]
        order = [*(m for m in kept if m == "cta"), "red", "popc", *(m for m in kept if m == "aligned"), "u32"]
        name = ".".join([instruction.opcode, *order])
        yield "setp.eq.u32 %racedart_p, %racedart_threads, %racedart_threads;"
        text = ", ".join(["%racedart_n", *map(print_operand, operands), "%racedart_p"])
        yield f"{name} {text};"
        label = f"$racedart_barrier_{site}"
        if len(operands) > 1:
            yield f"mov.u32 %racedart_x, {print_operand(operands[1])};"
            yield "setp.ne.u32 %racedart_q, %racedart_x, %racedart_threads;"
            yield f"@%racedart_q bra {label}_partial;"
            self.cold.append(f"{label}_partial:")
            self.cold += [f"\t{line}" for line in self.faulted(site, FaultKind.PARTIAL_BARRIER)]
            self.cold.append(f"\tbra {label}_done;")
        if self.logged:
            yield f"add.s64 %racedart_clock, %racedart_clock, {_CLOCK_BARRIER};"
        yield "setp.ne.u32 %racedart_q, %racedart_n, %racedart_threads;"
        yield f"@%racedart_q bra {label}_exited;"
        yield from self.counted(_BARRIER_ONE, word.BARRIER_MASK)
        yield f"{label}_done:"
        self.cold.append(f"{label}_exited:")
        self.cold += [f"\t{line}" for line in self.conservative()]
        self.cold.append(f"\tbra {label}_done;")

    def warp_sync(self, site: int, instruction: Instruction) -> Iterator[str]:
        """A warp sync that also counts which lanes take part."""
        mask = print_operand(instruction.operands[0])
        label = f"$racedart_sync_{site}"
        yield f"mov.b32 %racedart_y, {mask};"
        yield "bar.warp.sync %racedart_y;"
        yield "setp.eq.u32 %racedart_p, %racedart_y, %racedart_y;"
        yield "vote.sync.ballot.b32 %racedart_n, %racedart_p, %racedart_y;"
        yield "and.b32 %racedart_y, %racedart_y, %racedart_lanes;"
        yield "setp.ne.u32 %racedart_q, %racedart_y, %racedart_lanes;"
        yield f"@%racedart_q bra {label}_partial;"
        if self.logged:
            yield f"add.s64 %racedart_clock, %racedart_clock, {_CLOCK_SYNC};"
        yield "setp.ne.u32 %racedart_q, %racedart_n, %racedart_lanes;"
        yield f"@%racedart_q bra {label}_exited;"
        yield from self.counted(_SYNC_ONE, word.SYNC_MASK)
        yield f"{label}_done:"
        self.cold.append(f"{label}_partial:")
        self.cold += [f"\t{line}" for line in self.faulted(site, FaultKind.PARTIAL_WARP_SYNC)]
        self.cold.append(f"\tbra {label}_done;")
        self.cold.append(f"{label}_exited:")
        self.cold += [f"\t{line}" for line in self.conservative()]
        self.cold.append(f"\tbra {label}_done;")

    def leaving(self) -> Iterator[str]:
        """Note the clocks of a thread that exits."""
        if not self.logged:
            return
        yield "{"
        yield ".reg .b64 %e, %t, %n;"
        yield f"ld.const.u64 %e, [{CONTEXT}+{8 * int(Context.EXITS)}];"
        yield f"shr.u64 %t, %racedart_mine, {word.LANE_SHIFT};"
        yield f"and.b64 %t, %t, {(1 << (word.LANE_BITS + word.WARP_BITS)) - 1};"
        yield f"shr.u64 %n, %racedart_mine, {word.BLOCK_SHIFT};"
        yield f"and.b64 %n, %n, {word.MAX_BLOCKS - 1};"
        yield "{ .reg .b64 %w; cvt.u64.u32 %w, %racedart_threads; mad.lo.u64 %t, %n, %w, %t; }"
        yield "shl.b64 %t, %t, 4;"
        yield "add.s64 %e, %e, %t;"
        yield "shr.u64 %t, %racedart_clock, 32;"
        yield "st.global.u64 [%e], %t;"
        yield "and.b64 %t, %racedart_clock, 4294967295;"
        yield "st.global.u64 [%e+8], %t;"
        yield "}"
