"""A planned kernel -> the LLVM IR of `int32 step(int64 frame)`.

The function runs the thread of the frame from its resume point to its next meeting with other threads,
to a yield (every loop has a budget of iterations, so that a spinning thread lets others run), or to its
end, and returns a Status. Registers live across such a point are saved in the frame. An instruction
without a translation ends the launch when it is reached, and is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from racedart.shadow.cpu.atomics import ATOMICS
from racedart.shadow.cpu.calls import argument, give_back
from racedart.shadow.cpu.control import MEETINGS, NOTHING
from racedart.shadow.cpu.emitter import Emitter, Unmodelled, last_type
from racedart.shadow.cpu.floats import FLOAT_OPERATIONS
from racedart.shadow.cpu.initialised import needed_elements
from racedart.shadow.cpu.integers import INTEGERS
from racedart.shadow.cpu.layout import Context, Frame, Operation, Status
from racedart.shadow.cpu.memory import MEMORY, Site
from racedart.shadow.cpu.moves import MOVES
from racedart.shadow.cpu.video import VIDEO
from racedart.shadow.instrument.grids import HANDLE, SYNCHRONIZE, called
from racedart.shadow.instrument.plan import Plan
from racedart.shadow.ptx.cfg import Block, destinations
from racedart.shadow.ptx.model import Guard, Instruction, Negated, Register, Symbol
from racedart.shadow.ptx.types import TYPES

BUDGET = 512
"""Iterations of all loops of a thread between two yields."""

_UNTRANSLATED = (Unmodelled, ValueError, IndexError, KeyError, StopIteration, AssertionError)
"""Errors of an instruction without a translation; all but the first come from operands of the wrong form."""

ACCESSES = MEMORY | ATOMICS

U32 = TYPES["u32"]
PRED = TYPES["pred"]


@dataclass(frozen=True, slots=True)
class Translation:
    """ir: LLVM IR text of the kernel alone. saved: words that a frame needs for saved registers.

    unmodelled: instruction index -> what has no translation.
    """

    ir: str
    saved: int
    unmodelled: Mapping[int, str]


def translate(plan: Plan, symbols: Mapping[str, int], *, has_shared: bool) -> Translation:
    """Translate a kernel; symbols: variable name -> the address that its name stands for.

    has_shared: whether it declares shared memory, of which no thread may read what none has written.
    """
    return _Translator(plan, symbols, has_shared).run()


class _Translator:
    def __init__(self, plan: Plan, symbols: Mapping[str, int], has_shared: bool) -> None:
        self.has_shared = has_shared
        self.plan = plan
        self.graph = plan.graph
        clustered = any("cluster" in directive for directive in plan.function.tuning)
        self.emitter = Emitter(plan.function.registers, symbols, clustered=clustered)
        self.resumes: list[tuple[str, int]] = []
        self.saved = 0
        self.unmodelled: dict[int, str] = {}

    def run(self) -> Translation:
        emitter = self.emitter
        for index in sorted(self.graph.edges):
            self.block(self.graph.blocks[index])
        body = emitter.lines
        emitter.lines = []
        entry = [
            "define i32 @racedart_step(i64 %frame_address) {",
            "entry:",
            "  %frame = inttoptr i64 %frame_address to ptr",
            "  %carry = alloca i1",
            "  %budget = alloca i32",
            f"  store i32 {BUDGET}, ptr %budget",
        ]
        # A register that was never written must be the same number at every use: LLVM lets an undefined value
        # differ from use to use, so that a range check could see another address than the access.
        for name, slot in emitter.slots.items():
            bits = self.plan.function.registers[name].bits
            entry += [f"  %r{slot} = alloca i{bits}", f"  store i{bits} 0, ptr %r{slot}"]
        entry.append("  store i1 false, ptr %carry")
        context = emitter.frame(Frame.CONTEXT)
        emitter.do(f"%context = inttoptr i64 {context} to ptr")
        for name, word in (
            ("arena_host", Context.ARENA_HOST),
            ("arena_size", Context.ARENA_SIZE),
            ("global_shadow", Context.GLOBAL_SHADOW),
        ):
            pointer = emitter.context_pointer(word)
            emitter.do(f"%{name} = load i64, ptr {pointer}")
        resume = emitter.frame(Frame.RESUME)
        cases = " ".join(f"i64 {number}, label %{label}" for label, number in self.resumes)
        emitter.do(f"switch i64 {resume}, label %block0 [ {cases} ]")
        lines = [*entry, *emitter.lines, *body, "}"]
        weights = '!0 = !{!"branch_weights", i32 1000, i32 1}'
        text = "\n".join([*sorted(emitter.intrinsics), *lines, weights, ""])
        return Translation(text, self.saved, self.unmodelled)

    def block(self, block: Block) -> None:
        emitter = self.emitter
        emitter.label(f"block{block.index}")
        ended = False
        for site in range(block.start, block.end):
            ended = self.instruction(block, site)
            if ended:
                break
        if not ended:
            if block.start == block.end == len(self.graph.instructions):
                self.leave(Status.EXITED)
            else:
                self.branch(block.index, block.index + 1)

    def instruction(self, block: Block, site: int) -> bool:
        """Translate one instruction; True if it ended the LLVM block for good."""
        instruction = self.graph.instructions[site]
        guard = instruction.guard
        if instruction.opcode == "bra":
            return self.attempt(site, lambda: self.jump(block, instruction))
        if guard is None:
            return self.attempt(site, lambda: self.translated(block, site, instruction))
        return self.attempt(site, lambda: self.guarded(block, site, instruction, guard))

    def guarded(self, block: Block, site: int, instruction: Instruction, guard: Guard) -> bool:
        emitter = self.emitter
        condition = emitter.read(guard.register, PRED)
        run, skip = emitter.name("run"), emitter.name("skip")
        first, second = (skip, run) if guard.negated else (run, skip)
        emitter.do(f"br i1 {condition}, label %{first}, label %{second}")
        emitter.label(run)
        if not self.attempt(site, lambda: self.translated(block, site, instruction)):
            emitter.do(f"br label %{skip}")
        emitter.label(skip)
        return False

    def attempt(self, site: int, emit: Callable[[], bool]) -> bool:
        """What `emit` gives; where it fails, its code is dropped and the launch ends when it is reached."""
        emitter = self.emitter
        mark, names, resumes = len(emitter.lines), dict(emitter.slots), len(self.resumes)
        try:
            return emit()
        except _UNTRANSLATED as error:
            del emitter.lines[mark:]
            del self.resumes[resumes:]
            emitter.slots = names
            opcode = self.graph.instructions[site].opcode
            self.unmodelled[site] = str(error) if isinstance(error, Unmodelled) else f"this form of {opcode}"
            emitter.set_frame(Frame.SITE, site)
            self.leave(Status.UNMODELLED)
            return True

    def translated(self, block: Block, site: int, instruction: Instruction) -> bool:
        opcode = instruction.opcode
        emitter = self.emitter
        if opcode in {"ret", "exit"}:
            self.leave(Status.EXITED)
            return True
        if opcode in {"trap", "brkpt"} or called(instruction) == "__assertfail":
            failed = argument(emitter, instruction, 0, 64) if opcode == "call" else "0"
            emitter.set_frame(Frame.VALUE, failed)
            emitter.set_frame(Frame.SITE, site)
            self.leave(Status.TRAPPED)
            return True
        if opcode == "brx":
            self.indirect_jump(block, instruction)
            return True
        if site in self.plan.grids.handles:
            emitter.write(instruction.operands[0], last_type(instruction), str(_WORKSPACE))
            return False
        if site in self.plan.grids.polls:
            emitter.write(instruction.operands[0], last_type(instruction), str(_FLIPPED))
            return False
        if site in self.plan.grids.arrivals:
            self.suspend(Status.GRID, Operation.GRID_LEADER, site, set(destinations(instruction)))
            emitter.write(instruction.operands[0], last_type(instruction), "0")
            return False
        if opcode == "call" and called(instruction) in _RUNTIME:
            _RUNTIME[called(instruction)](self, site, instruction)
            return False
        if opcode == "call":
            if any(isinstance(operand, Register) for operand in instruction.operands):
                raise Unmodelled("an indirect call")
            raise Unmodelled(f"a call of {called(instruction)}, recursive or defined elsewhere,")
        if opcode in MEETINGS:
            written = set(destinations(instruction))
            MEETINGS[opcode](
                emitter, instruction, site, lambda status, op, at: self.suspend(status, op, at, written)
            )
        elif opcode in ACCESSES:
            plan = self.plan
            access = plan.access.get(site)
            event = plan.events.get(site)
            may_be_shared = self.has_shared and event is not None and event.space != "global"
            needed = needed_elements(plan, site) if may_be_shared else ()
            marks = may_be_shared and event is not None and event.kind != "read"
            shifts = plan.global_shift, plan.shared_shift
            ACCESSES[opcode](emitter, instruction, Site(site, access, *shifts, needed, marks))
        elif opcode in FLOAT_OPERATIONS and (opcode not in INTEGERS or _on_floats(instruction)):
            FLOAT_OPERATIONS[opcode](emitter, instruction)
        elif opcode in INTEGERS:
            INTEGERS[opcode](emitter, instruction)
        elif opcode in MOVES:
            MOVES[opcode](emitter, instruction)
        elif opcode in VIDEO:
            VIDEO[opcode](emitter, instruction)
        elif opcode not in NOTHING:
            raise Unmodelled(f"the instruction {_named(instruction)}")
        return False

    # Control flow

    def jump(self, block: Block, instruction: Instruction) -> bool:
        emitter = self.emitter
        label = next(o.name for o in instruction.operands if isinstance(o, Symbol))
        target = self.graph.block_of_label[label]
        if instruction.guard is None:
            self.branch(block.index, target)
            return True
        operand = instruction.guard.register
        condition = emitter.read(Negated(operand) if instruction.guard.negated else operand, PRED)
        taken, not_taken = emitter.name("taken"), emitter.name("next")
        emitter.do(f"br i1 {condition}, label %{taken}, label %{not_taken}")
        emitter.label(taken)
        self.branch(block.index, target)
        emitter.label(not_taken)
        self.branch(block.index, block.index + 1)
        return True

    def indirect_jump(self, block: Block, instruction: Instruction) -> None:
        emitter = self.emitter
        index = next(o for o in instruction.operands if isinstance(o, Register))
        table = next(o.name for o in instruction.operands if isinstance(o, Symbol))
        labels = self.graph.targets.get(table, ())
        value = emitter.read(index, U32)
        hops = [emitter.name("hop") for _ in labels]
        if not labels:
            raise Unmodelled("an indirect branch without targets")
        cases = " ".join(f"i32 {k}, label %{hop}" for k, hop in enumerate(hops))
        emitter.do(f"switch i32 {value}, label %{hops[0]} [ {cases} ]")
        for hop, label in zip(hops, labels, strict=True):
            emitter.label(hop)
            self.branch(block.index, self.graph.block_of_label[label])

    def branch(self, source: int, target: int) -> None:
        """Jump along an edge; a back edge spends the budget and may yield."""
        emitter = self.emitter
        if (source, target) not in self.graph.back_edges:
            emitter.do(f"br label %block{target}")
            return
        left = emitter.new(f"sub i32 {emitter.new('load i32, ptr %budget')}, 1")
        emitter.do(f"store i32 {left}, ptr %budget")
        spent = emitter.new(f"icmp slt i32 {left}, 0")
        pad = emitter.name("yield")
        emitter.do(f"br i1 {spent}, label %{pad}, label %block{target}")
        emitter.label(pad)
        start = self.graph.blocks[target].start
        live = self.graph.live_before[start] if start < len(self.graph.instructions) else frozenset()
        emitter.set_frame(Frame.SITE, self.graph.blocks[source].end - 1)
        self.save(live, compare=True)
        resumed = self.point()
        self.leave(Status.YIELDED)
        emitter.label(resumed)
        self.restore(live)
        emitter.do(f"br label %block{target}")

    def leave(self, status: Status) -> None:
        self.emitter.do(f"ret i32 {int(status)}")

    def suspend(self, status: Status, operation: Operation, site: int, written: set[str]) -> None:
        """Return to the scheduler at a meeting, and go on behind it."""
        emitter = self.emitter
        after = self.graph.live_before[site + 1] if site + 1 < len(self.graph.instructions) else frozenset()
        live = after - written
        emitter.set_frame(Frame.OPERATION, int(operation))
        emitter.set_frame(Frame.SITE, site)
        self.save(live, compare=False)
        resumed = self.point()
        self.leave(status)
        emitter.label(resumed)
        self.restore(live)

    def point(self) -> str:
        """A new resume point: note it in the frame and give its label."""
        label = self.emitter.name("resume")
        number = len(self.resumes) + 1
        self.resumes.append((label, number))
        self.emitter.set_frame(Frame.RESUME, number)
        return label

    def saved_words(self, live: frozenset[str]) -> list[tuple[str, int]]:
        """The 64-bit words to save: register and first bit."""
        registers = self.plan.function.registers
        names = sorted(name for name in live if name in registers)
        return [(name, bit) for name in names for bit in range(0, registers[name].bits, 64)]

    def save(self, live: frozenset[str], *, compare: bool) -> None:
        """Store registers in the frame; at a yield, note whether any of them changed since the last one."""
        emitter = self.emitter
        words = self.saved_words(live)
        self.saved = max(self.saved, len(words))
        changed = "0"
        for k, (name, bit) in enumerate(words):
            bits = self.plan.function.registers[name].bits
            value = emitter.new(f"load i{bits}, ptr {emitter.slot(name)}")
            if bit:
                value = emitter.new(f"lshr i{bits} {value}, {bit}")
            wide = emitter.resize(value, bits, 64, signed=False)
            if compare:
                before = emitter.frame(Frame.SAVED + k)
                changed = emitter.new(f"or i64 {changed}, {emitter.new(f'xor i64 {before}, {wide}')}")
            emitter.set_frame(Frame.SAVED + k, wide)
        if compare:
            number = len(self.resumes) + 1
            moved = emitter.new(f"xor i64 {emitter.frame(Frame.RESUME)}, {number}")
            total = emitter.new(f"or i64 {changed}, {moved}")
            same = emitter.new(f"zext i1 {emitter.new(f'icmp eq i64 {total}, 0')} to i64")
            emitter.set_frame(Frame.UNCHANGED, same)

    def restore(self, live: frozenset[str]) -> None:
        emitter = self.emitter
        for k, (name, bit) in enumerate(self.saved_words(live)):
            bits = self.plan.function.registers[name].bits
            value = emitter.resize(emitter.frame(Frame.SAVED + k), 64, bits, signed=False)
            if bit:
                low = emitter.new(f"load i{bits}, ptr {emitter.slot(name)}")
                value = emitter.new(f"or i{bits} {low}, {emitter.new(f'shl i{bits} {value}, {bit}')}")
            emitter.do(f"store i{bits} {value}, ptr {emitter.slot(name)}")


_WORKSPACE = 1
"""What stands in the registers that hold the address of a grid barrier's workspace; nothing lies there."""
_FLIPPED = -(1 << 31)
"""What a grid barrier's counter is when all blocks have arrived: its highest bit differs from an arrival's."""


def _grid_handle(translator: _Translator, site: int, instruction: Instruction) -> None:
    """cudaCGGetIntrinsicHandle: any number but 0."""
    give_back(translator.emitter, instruction, 64, str(_WORKSPACE))


def _grid_call(translator: _Translator, site: int, instruction: Instruction) -> None:
    """cudaCGSynchronize: wait for all threads of the grid; 0 is success."""
    translator.suspend(Status.GRID, Operation.GRID_ALL, site, set())
    give_back(translator.emitter, instruction, 32, "0")


def _print(translator: _Translator, site: int, instruction: Instruction) -> None:
    """vprintf(format, arguments): noted, and printed after the run; gives the number of arguments."""
    emitter = translator.emitter
    text, values = (argument(emitter, instruction, k, 64) for k in range(2))
    count = emitter.new(f"call i64 @racedart_printed(i64 %frame_address, i64 {text}, i64 {values}, i64 {site})")
    give_back(emitter, instruction, 32, emitter.new(f"trunc i64 {count} to i32"))


_RUNTIME: dict[str, Callable[[_Translator, int, Instruction], None]] = {
    HANDLE: _grid_handle,
    SYNCHRONIZE: _grid_call,
    "vprintf": _print,
}
"""Functions of the device runtime."""


def _named(instruction: Instruction) -> str:
    """The opcode, with the modifiers that say which of its operations it is: `cp.async.bulk`, `wgmma.fence`."""
    named = instruction.opcode
    for modifier in instruction.modifiers:
        if modifier not in _OPERATIONS:
            break
        named += f".{modifier}"
    return named


_OPERATIONS = frozenset(
    {
        *("async", "bulk", "tensor", "reduce", "prefetch", "commit_group", "wait_group", "wait_all", "mbarrier"),
        *("load", "store", "mma", "mma_async", "fence", "init", "inval", "arrive", "arrive_drop", "expect_tx"),
        *("complete_tx", "test_wait", "try_wait", "pending_count", "noinc"),
    }
)
"""Modifiers that tell operations of one opcode apart (cp, red, mbarrier, wmma, wgmma)."""


def _on_floats(instruction: Instruction) -> bool:
    type_ = last_type(instruction)
    return type_.is_float or type_.kind == "packed"
