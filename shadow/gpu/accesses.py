"""One memory access -> the PTX that checks it: range, shadow word, transition, and what is to be reported.

In line stand the range check and the frequent cases of the machine: a word that nobody has accessed, and a state
that the access does not change. All else is out of line: the transition itself (a function of the thread's and the
shadow's word, checks.py), reports, addresses of other windows of the generic address space, and faults.

Registers, all named `racedart_`: mine (the thread's word), b (the address), o (its offset in the arena or in shared
memory), s (address of the shadow word), w (the shadow word), r, t, x, y, p (scratch).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from racedart.fsm import Access
from racedart.shadow import word
from racedart.shadow.cpu.layout import ARENA, SHARED_WINDOW, FaultKind
from racedart.shadow.gpu.checks import first_state, skip_masks, word_function
from racedart.shadow.gpu.layout import CONTEXT, IN_SHARED, SHARED, Context
from racedart.shadow.instrument.events import Space
from racedart.shadow.outcome import Mode

REGISTERS = (
    "\t.reg .b64 %racedart_mine, %racedart_clock, %racedart_shadow, %racedart_a, %racedart_b, %racedart_o;",
    "\t.reg .b64 %racedart_r, %racedart_s, %racedart_t, %racedart_w;",
    "\t.reg .b32 %racedart_x, %racedart_y, %racedart_n, %racedart_threads, %racedart_lanes;",
    "\t.reg .pred %racedart_p, %racedart_q;",
)


def constant(register: str, field_: Context) -> str:
    """Load a word of the launch's record."""
    return f"ld.const.u64 {register}, [{CONTEXT}+{8 * int(field_)}];"


def call(symbol: str, *arguments: str) -> Iterator[str]:
    """Call a function of 64-bit arguments; its result goes to r."""
    yield "{"
    for k, argument in enumerate(arguments):
        yield f".param .b64 racedart_{k}; st.param.b64 [racedart_{k}], {argument};"
    names = ", ".join(f"racedart_{k}" for k in range(len(arguments)))
    yield f".param .b64 racedart_r; call (racedart_r), {symbol}, ({names});"
    yield "ld.param.b64 %racedart_r, [racedart_r];"
    yield "}"


@dataclass
class AccessCheck:
    """The code of one access, whose address stands in b.

    total, element: bytes of the whole access and of one element. shift: log2 of the granule by memory. After
    `lines`, control is at the label `ready`, or at `failed` where the access must not be made; `cold` goes to the
    end of the kernel.
    """

    site: int
    space: Space
    access: Access | None
    total: int
    element: int
    global_shift: int
    shared_shift: int
    mode: Mode
    logged: bool
    cold: list[str] = field(default_factory=list)

    @property
    def failed(self) -> str:
        """Label of the code for an access that is not made."""
        return f"$racedart_failed_{self.site}"

    def label(self, part: str) -> str:
        """A label of this access."""
        return f"$racedart_{part}_{self.site}"

    def lines(self) -> Iterator[str]:
        """The code in front of the access."""
        if self.space == "shared":
            yield "mov.b64 %racedart_o, %racedart_b;"
            yield from self.in_shared("", self.label("ready"))
        else:
            yield constant("%racedart_o", Context.ARENA)
            yield "sub.s64 %racedart_o, %racedart_b, %racedart_o;"
            outside = self.label("elsewhere" if self.space == "generic" else "outside")
            yield constant("%racedart_r", Context.ARENA_LIMIT)
            yield "setp.ge.u64 %racedart_p, %racedart_o, %racedart_r;"
            yield f"@%racedart_p bra {outside};"
            yield from self.aligned(self.label("outside"))
            yield from self.words("", self.global_shift, shared=False, ready=self.label("ready"))
            self.out_of_line(self.label("outside"), lambda: self.fault(ARENA))
            if self.space == "generic":
                self.out_of_line(self.label("elsewhere"), self.elsewhere)
        yield f"{self.label('ready')}:"

    def out_of_line(self, label: str, lines: Callable[[], Iterator[str]]) -> None:
        """Put code at the end of the kernel."""
        made = list(lines())
        self.cold += [f"{label}:", *(line if line.endswith(":") else f"\t{line}" for line in made)]

    def aligned(self, otherwise: str) -> Iterator[str]:
        """Jump where the offset is not a multiple of the access's bytes."""
        if self.total > 1:
            yield f"and.b64 %racedart_r, %racedart_o, {self.total - 1};"
            yield "setp.ne.u64 %racedart_p, %racedart_r, 0;"
            yield f"@%racedart_p bra {otherwise};"

    def in_shared(self, part: str, ready: str) -> Iterator[str]:
        """Check an access at offset o of shared memory."""
        outside = self.label(f"outside{part}_shared")
        window = SHARED_WINDOW if self.space == "generic" else 0
        yield constant("%racedart_r", Context.SHARED_SIZE)
        # One comparison for each end: the sum of a negative offset and the width would wrap.
        yield "setp.ge.u64 %racedart_p, %racedart_o, %racedart_r;"
        yield f"add.s64 %racedart_t, %racedart_o, {self.total};"
        yield "setp.gt.or.u64 %racedart_p, %racedart_t, %racedart_r, %racedart_p;"
        yield f"@%racedart_p bra {outside};"
        yield from self.aligned(outside)
        yield from self.words(f"{part}_shared", self.shared_shift, shared=True, ready=ready)
        self.out_of_line(outside, lambda: self.fault(window))

    def elsewhere(self) -> Iterator[str]:
        """A generic address outside of the arena: shared memory, memory of the thread, or nothing."""
        fault = self.label("nowhere")
        yield "isspacep.shared %racedart_p, %racedart_b;"
        yield f"@!%racedart_p bra {self.label('private')};"
        yield "cvta.to.shared.u64 %racedart_o, %racedart_b;"
        yield f"mov.u64 %racedart_r, {SHARED};"
        yield "sub.s64 %racedart_o, %racedart_o, %racedart_r;"
        yield from self.in_shared("_generic", self.label("ready"))
        yield f"bra {self.label('ready')};"
        yield f"{self.label('private')}:"
        for space in ("local", "const", "param"):
            yield f"isspacep.{space} %racedart_q, %racedart_b;"
            yield "or.pred %racedart_p, %racedart_p, %racedart_q;"
        yield f"@!%racedart_p bra {fault};"
        yield f"and.b64 %racedart_r, %racedart_b, {self.total - 1};"
        yield "setp.eq.u64 %racedart_p, %racedart_r, 0;"
        yield f"@%racedart_p bra {self.label('ready')};"
        yield f"{fault}:"
        yield from self.fault(ARENA)

    def fault(self, window: int) -> Iterator[str]:
        """Record the address as the explanation knows it; the access is not made."""
        yield f"add.s64 %racedart_t, %racedart_o, {window};"
        yield f"and.b64 %racedart_r, %racedart_o, {self.total - 1};"
        yield "setp.eq.u64 %racedart_p, %racedart_r, 0;"
        kinds = f"{int(FaultKind.OUT_OF_BOUNDS)}, {int(FaultKind.MISALIGNED)}"
        yield f"selp.b64 %racedart_r, {kinds}, %racedart_p;"
        yield from call("racedart_fault", str(self.site), "%racedart_t", "%racedart_r")
        yield f"bra {self.failed};"

    def words(self, part: str, shift: int, *, shared: bool, ready: str) -> Iterator[str]:
        """Give the machine every granule of the access at offset o."""
        if self.access is None:
            return
        if shift:
            yield f"shr.u64 %racedart_s, %racedart_o, {shift};"
            yield "shl.b64 %racedart_s, %racedart_s, 3;"
        else:
            yield "shl.b64 %racedart_s, %racedart_o, 3;"
        if shared:
            yield "add.s64 %racedart_s, %racedart_s, %racedart_shadow;"
        else:
            yield constant("%racedart_r", Context.GLOBAL_SHADOW)
            yield "add.s64 %racedart_s, %racedart_s, %racedart_r;"
        granules = self.total >> shift
        if granules == 1 and not self.logged:
            slow = self.label(f"slow{part}")
            yield from self.frequent(part, slow, ready)
            self.out_of_line(slow, lambda: iter([*self.transition(part, 0, 0, shared), f"bra {ready};"]))
            return
        per_element = max(self.element >> shift, 1)
        for granule in range(granules):
            if granule:
                yield "add.s64 %racedart_s, %racedart_s, 8;"
            yield from self.transition(part, granule, granule // per_element * self.element, shared)

    def transition(self, part: str, granule: int, place: int, shared: bool) -> Iterator[str]:
        """Call the machine for the word at s, and report what it says; place: of the element in the access."""
        assert self.access is not None
        report, done = self.label(f"report{part}_{granule}"), self.label(f"done{part}_{granule}")
        yield from call(word_function(self.access), "%racedart_mine", "%racedart_s")
        yield "setp.ne.s64 %racedart_p, %racedart_r, 0;"
        yield f"@%racedart_p bra {report};"
        yield f"{done}:"

        def reported() -> Iterator[str]:
            yield "mov.b64 %racedart_w, %racedart_r;"
            yield f"add.s64 %racedart_t, %racedart_o, {place + (IN_SHARED if shared else 0)};"
            arguments = ["%racedart_t", "%racedart_s", str(int(self.access or 0)), str(self.site), "%racedart_w"]
            if self.logged:
                arguments.append("%racedart_clock")
            yield from call("racedart_report", *arguments)
            yield f"bra {done};"

        self.out_of_line(report, reported)

    def frequent(self, part: str, slow: str, ready: str) -> Iterator[str]:
        """An untouched word, and a state that the access does not change; all else goes to `slow`."""
        assert self.access is not None
        masks = skip_masks(self.mode, self.access)
        touched = self.label(f"touched{part}")
        yield "ld.relaxed.gpu.global.u64 %racedart_w, [%racedart_s];"
        yield "setp.ne.s64 %racedart_p, %racedart_w, 0;"
        yield f"@%racedart_p bra {touched};"
        yield f"or.b64 %racedart_w, %racedart_mine, {first_state(self.mode, self.access)};"
        yield "atom.relaxed.gpu.global.cas.b64 %racedart_w, [%racedart_s], 0, %racedart_w;"
        yield "setp.eq.s64 %racedart_p, %racedart_w, 0;"
        yield f"@%racedart_p bra {ready};"
        yield f"{touched}:"
        yield "xor.b64 %racedart_r, %racedart_w, %racedart_mine;"
        yield f"and.b64 %racedart_t, %racedart_r, {word.EPOCH_MASK | word.BLOCK_MASK | word.BARRIER_MASK};"
        yield "setp.eq.s64 %racedart_p, %racedart_t, 0;"
        yield f"selp.b32 %racedart_x, {masks.block}, {masks.any}, %racedart_p;"
        yield f"setp.le.u64 %racedart_p, %racedart_r, {word.STATE_MASK};"
        yield f"selp.b32 %racedart_x, {masks.thread}, %racedart_x, %racedart_p;"
        yield f"shr.u64 %racedart_r, %racedart_r, {word.EPOCH_SHIFT};"
        yield "setp.eq.s64 %racedart_p, %racedart_r, 0;"
        yield "selp.b32 %racedart_x, %racedart_x, 0, %racedart_p;"
        yield "cvt.u32.u64 %racedart_y, %racedart_w;"
        yield f"and.b32 %racedart_y, %racedart_y, {word.STATE_MASK};"
        yield "shr.u32 %racedart_x, %racedart_x, %racedart_y;"
        yield "and.b32 %racedart_x, %racedart_x, 1;"
        yield "setp.eq.s32 %racedart_p, %racedart_x, 0;"
        yield f"@%racedart_p bra {slow};"
