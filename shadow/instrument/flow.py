"""Which addresses a kernel's memory instructions form, as affine forms: abstract interpretation over the CFG.

Every register that holds an integer is followed as a form (integers.py), every predicate as a formula. Where
paths with different values join, a register becomes a symbol of the hull of their ranges. At the header of a
natural loop each register that the loop writes is assumed to be unchanged, then to grow by a constant in each
iteration, then to lie in an interval, and finally to be anything; the first assumption that one pass over the
loop confirms is an inductive invariant. A pass assumes all of them and weakens those that it refutes, until it
refutes none. Symbols are of one instance each: what a loop carries over goes through its header, where it is
named anew, so that no form mixes the instances of two iterations.

Not handled (no result): irreducible loops. Values loaded from memory are symbols of their type's range.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf

import networkx as nx
from racedart.shadow.instrument.affine import EVERYTHING, Form, Interval, Known, Number, Terms, hull, symbol
from racedart.shadow.instrument.events import Event, address_of, element_size, vector_count
from racedart.shadow.instrument.integers import OPERATIONS, Reader, Symbols, any_value, limits
from racedart.shadow.instrument.plan import Plan
from racedart.shadow.instrument.predicates import Both, Formula, Not, Unknown, assume, decided, either
from racedart.shadow.launch import Dim3, Launch, Param
from racedart.shadow.ptx.cfg import Graph, destinations
from racedart.shadow.ptx.model import (
    Address,
    Guard,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Pair,
    Register,
    Symbol,
    Vector,
)
from racedart.shadow.ptx.types import TYPES, Type

PASSES = 60
"""After so many passes without a fixed point the analysis gives up."""
JOINS = 3
"""Growths of a loop value's interval before a bound that still moves is dropped."""

Value = Form | Formula
OBJECT = "&"
"""First character of the symbols that stand for addresses of objects; the space follows, then the name."""


def buffer_symbol(number: int) -> str:
    """The symbol of a buffer's address."""
    return f"{OBJECT}global buffer {number}"


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of a launch before it runs: dimensions, parameters, and the bytes of each buffer."""

    grid: Dim3
    block: Dim3
    shared_bytes: int
    params: tuple[Param, ...]
    sizes: tuple[int, ...]

    @staticmethod
    def of(launch: Launch) -> Shape:
        """The shape of a launch."""
        sizes = tuple(buffer.array.nbytes for buffer in launch.buffers)
        return Shape(launch.grid, launch.block, launch.shared_bytes, launch.params, sizes)


@dataclass
class State:
    """Registers and knowledge at one place; a register that is missing holds anything."""

    registers: dict[str, Value]
    known: Known

    def copy(self) -> State:
        """The same state, to be changed on its own."""
        return State(dict(self.registers), self.known.copy())


@dataclass(frozen=True, slots=True)
class Touch:
    """An access of memory: `size` bytes at an address; knowledge: what holds where it is made."""

    site: int
    event: Event
    address: Form
    size: int
    known: Known


@dataclass
class Assumption:
    """What is assumed of one register at a loop header, or (register "") of the loop's iteration count.

    step: growth in each iteration, None when the value is only known to lie in `interval`.
    """

    step: int | None = 0
    interval: Interval = (0, 0)
    joins: int = 0


@dataclass
class Flow:
    """The analysis of one launch; `run` gives the accesses that can happen, None when it gives up.

    objects: variable -> the symbol of its address. addresses: such symbol -> its interval.
    taken: after `run`, the edges that can be taken.
    """

    plan: Plan
    launch: Shape
    objects: Mapping[str, str]
    addresses: Mapping[str, Interval]
    symbols: Symbols = field(default_factory=Symbols)
    assumptions: dict[tuple[int, str], Assumption] = field(default_factory=dict)
    bounds: dict[int, set[int]] = field(default_factory=dict)
    invariants: dict[int, dict[Terms, Interval]] = field(default_factory=dict)
    refuted: set[tuple[int, Terms]] = field(default_factory=set)
    touches: list[Touch] = field(default_factory=list)
    taken: set[tuple[int, int]] = field(default_factory=set)

    def run(self) -> list[Touch] | None:
        """Pass over the kernel until nothing assumed is refuted."""
        graph = self.plan.graph
        loops = loops_of(graph)
        if loops is None:
            return None
        self.loops = loops
        self.written = {
            header: {r for b in body for i in _instructions(graph, b) for r in destinations(graph.instructions[i])}
            for header, body in loops.items()
        }
        forward = nx.DiGraph(graph.edges)
        forward.remove_edges_from(graph.back_edges)
        self.order = list(nx.topological_sort(forward))
        for _ in range(PASSES):
            if self._confirmed():
                return self.touches
        return None

    def _confirmed(self) -> bool:
        """One pass; whether it confirms every assumption."""
        graph = self.plan.graph
        self.touches = []
        self.taken = set()
        self.symbols = Symbols()
        self.symbols.intervals.update(self.addresses)
        for name, extent in zip(
            ("%tid.x", "%tid.y", "%tid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z"),
            (*self.launch.block, *self.launch.grid),
            strict=True,
        ):
            self.symbols.intervals[name] = (0, extent - 1)
        arriving: dict[int, list[State]] = {0: [State({}, Known(self.symbols.intervals, self.symbols.always))]}
        returning: dict[int, list[State]] = {}
        entries: dict[int, State] = {}
        headers: dict[int, State] = {}
        for block in self.order:
            states = arriving.pop(block, [])
            if not states:
                continue
            state = self._joined(block, states)
            if block in self.loops:
                entries[block] = state.copy()
                self._enter(block, state)
                headers[block] = state.copy()
            for successor, after in self._executed(block, state):
                target = returning if (block, successor) in graph.back_edges else arriving
                target.setdefault(successor, []).append(after)
                self.taken.add((block, successor))
        confirmed = True
        for header, backs in returning.items():
            for back in backs:
                if not self._holds(header, entries[header], headers[header], back):
                    confirmed = False
        for header, backs in returning.items():
            if not self._invariant(header, entries[header], backs, adopt=confirmed):
                confirmed = False
        return confirmed

    # Joins and loops

    def _live(self, block: int) -> frozenset[str]:
        start = self.plan.graph.blocks[block].start
        instructions = self.plan.graph.instructions
        return self.plan.graph.live_before[start] if start < len(instructions) else frozenset()

    def _bits(self, register: str) -> int:
        return self.plan.function.registers[register].bits

    def _joined(self, block: int, states: list[State]) -> State:
        if len(states) == 1:
            return states[0]
        first, *others = states
        registers: dict[str, Value] = {}
        for name in self._live(block):
            values = [s.registers.get(name) for s in states]
            if values[0] is None:
                continue
            if all(v == values[0] for v in values):
                registers[name] = values[0]
            elif all(isinstance(v, Form) for v in values):
                ranges = [s.known.range(v) for s, v in zip(states, values, strict=True) if isinstance(v, Form)]
                whole = ranges[0]
                for part in ranges[1:]:
                    whole = hull(whole, part)
                registers[name] = self._named(f"{name}@{block}", whole, self._bits(name))
        return State(registers, first.known.joined([s.known for s in others]))

    def _named(self, name: str, interval: Interval, bits: int) -> Form:
        """A symbol for a register's content; one without bounds gets those of the register."""
        if interval[0] == -inf or interval[1] == inf:
            interval = any_value(bits)
        return self.symbols.new(name, interval)

    def _enter(self, header: int, state: State) -> None:
        """Put what is assumed of the loop's iterations into the state at its header."""
        count = self.assumptions.setdefault((header, ""), Assumption(None, (0, 1)))
        counter = self.symbols.new(f"#{header}", count.interval)
        for name in self.written[header]:
            value = state.registers.get(name)
            assumption = self.assumptions.setdefault((header, name), Assumption())
            if value is None or assumption.step == 0:
                continue
            if not isinstance(value, Form):
                del state.registers[name]
            elif assumption.step is not None:
                state.registers[name] = value + counter.times(assumption.step)
            else:
                interval = hull(assumption.interval, state.known.range(value))
                state.registers[name] = self._named(f"{name}^{header}", interval, self._bits(name))
        for key, interval in self.invariants.get(header, {}).items():
            state.known.facts[key] = interval

    def _holds(self, header: int, entry: State, inside: State, back: State) -> bool:
        """Whether a path back to the header confirms what is assumed there; weaken what it refutes."""
        confirmed = True
        for name in self.written[header] & self._live(header):
            before = inside.registers.get(name)
            if before is None:
                continue
            after = back.registers.get(name)
            assumption = self.assumptions[header, name]
            if not self._kept(name, assumption, entry, before, after, back):
                confirmed = False
        # Guards speak of the iteration count once the registers that grow with it are known.
        if confirmed and any(a.step for (h, n), a in self.assumptions.items() if h == header and n):
            _, greatest = back.known.range(symbol(f"#{header}").plus(1))
            count = self.assumptions[header, ""]
            if greatest > count.interval[1]:
                count.interval = (0, self._next_bound(header, greatest))
                confirmed = False
        return confirmed

    def _invariant(self, header: int, entry: State, backs: list[State], *, adopt: bool) -> bool:
        """Whether the linear facts that are assumed at a header hold; drop the others, and adopt new ones.

        A guard of the loop's last iteration bounds the next value: with `x + c*k <= b` on the way back, where k
        is the iteration count, `x + c*k <= b + c` holds at the header from the second iteration on.
        """
        counter = f"#{header}"
        assumed = self.invariants.setdefault(header, {})
        # What the loop itself names anew would be of another instance at the header.
        kept = {s for v in entry.registers.values() if isinstance(v, Form) for s, _ in v.terms} | {counter}
        found: dict[Terms, Interval] = {}
        for key in {key for back in backs for key in back.known.facts} | set(assumed):
            growth = dict(key).get(counter)
            if growth is None or len(key) < 2 or not kept.issuperset(s for s, _ in key):
                continue
            whole = entry.known.range(Form(0, key).without(counter))
            for back in backs:
                low, high = back.known.range(Form(growth, key))
                whole = hull(whole, (low, high))
            found[key] = whole
        holds = True
        for key, (low, high) in list(assumed.items()):
            if key not in found or found[key][0] < low or found[key][1] > high:
                del assumed[key]
                self.refuted.add((header, key))
                holds = False
        for key, interval in found.items() if adopt and holds else ():
            if key not in assumed and (header, key) not in self.refuted and interval != EVERYTHING:
                assumed[key] = interval
                holds = False
        return holds

    def _next_bound(self, header: int, reached: Number) -> Number:
        """The least bound that guards of the loop suggest for its iteration count, from `reached` on."""
        return min((bound for bound in self.bounds.get(header, ()) if bound >= reached), default=inf)

    def _kept(
        self,
        name: str,
        assumption: Assumption,
        entry: State,
        before: Value,
        after: Value | None,
        back: State,
    ) -> bool:
        if after == before and assumption.step in {0, None}:
            return True
        if not isinstance(before, Form) or not isinstance(after, Form):
            # The register is anything from now on: no value at the header, and none is claimed.
            if isinstance(before, Form):
                return self._forget(assumption, any_value(self._bits(name)), self._bits(name))
            assumption.step = None
            return False
        size = 1 << self._bits(name)
        growth = after - before
        if not growth.terms:
            step = (growth.constant + size // 2) % size - size // 2
            if assumption.step is not None and step == assumption.step:
                return True
            if assumption.step == 0:
                assumption.step = step
                return False
        start = entry.registers[name]
        assert isinstance(start, Form)
        reached = hull(entry.known.range(start), back.known.range(after))
        return self._forget(assumption, reached, self._bits(name))

    def _forget(self, assumption: Assumption, reached: Interval, bits: int) -> bool:
        """Assume no more than an interval; whether it is assumed already."""
        if assumption.step is not None:
            assumption.step, assumption.interval = None, reached
            return False
        low, high = assumption.interval
        if low <= reached[0] and reached[1] <= high:
            return True
        assumption.joins += 1
        low, high = hull(assumption.interval, reached)
        if assumption.joins > JOINS:
            least, greatest = any_value(bits)
            if reached[0] < assumption.interval[0]:
                low = next((bound for bound in (0, least) if bound <= low), -inf)
            if reached[1] > assumption.interval[1]:
                high = greatest if high <= greatest else inf
        assumption.interval = low, high
        return False

    # Instructions

    def _executed(self, block: int, state: State) -> Iterable[tuple[int, State]]:
        """The states in which the block is left, by successor."""
        graph = self.plan.graph
        span = list(_instructions(graph, block))
        for site in span:
            instruction = graph.instructions[site]
            if instruction.opcode in {"bra", "brx", "ret", "exit"}:
                continue
            if instruction.guard is None:
                self._execute(site, instruction, state)
                continue
            condition = self._guard(instruction.guard, state)
            inside = state.copy()
            if not assume(condition, True, inside.known):
                continue
            self._execute(site, instruction, inside)
            certain = decided(condition, state.known) is True
            for name in destinations(instruction):
                old, new = state.registers.pop(name, None), inside.registers.get(name)
                if certain and new is not None:
                    state.registers[name] = new
                elif isinstance(old, Form) and isinstance(new, Form):
                    interval = hull(state.known.range(old), inside.known.range(new))
                    state.registers[name] = self._named(f"{name}?{site}", interval, self._bits(name))
        last = graph.instructions[span[-1]] if span else None
        successors = list(graph.edges.successors(block))
        if last is None or last.opcode not in {"bra", "ret", "exit"} or last.guard is None:
            return [(s, state.copy()) for s in successors]
        condition = self._guard(last.guard, state)
        self._note_bounds(condition, state.known)
        taken = None
        if last.opcode == "bra":
            label = next(o.name for o in last.operands if isinstance(o, Symbol))
            taken = graph.block_of_label[label]
        found = []
        for successor in successors:
            after = state.copy()
            only = taken == block + 1
            if only or assume(condition, successor == taken, after.known):
                found.append((successor, after))
        return found

    def _note_bounds(self, condition: Formula, known: Known) -> None:
        """Remember numbers of iterations at which a guard changes its truth: candidates for a loop's bound."""
        for form, interval in _comparisons(condition):
            for name, coefficient in form.terms:
                if not name.startswith("#"):
                    continue
                rest = known.range(form.without(name))
                for end in interval:
                    for other in rest:
                        if isinstance(end, int) and isinstance(other, int):
                            at = (end - other) // coefficient
                            self.bounds.setdefault(int(name[1:]), set()).update((at - 1, at, at + 1, at + 2))

    def _execute(self, site: int, instruction: Instruction, state: State) -> None:
        event = self.plan.events.get(site)
        if event is not None:
            address = address_of(instruction)
            assert address is not None
            form = self._address(site, address, event, state)
            self.touches.append(Touch(site, event, form, event.size * event.count, state.known.copy()))
        written = list(destinations(instruction))
        if instruction.opcode in {"ld", "ldu"}:
            for name in written:
                state.registers.pop(name, None)
            self._loaded(site, instruction, written, state)
            return
        value = self._result(site, instruction, state) if len(written) == 1 else None
        for name in written:
            state.registers.pop(name, None)
        if value is not None:
            state.registers[written[0]] = value

    def _address(self, site: int, address: Address, event: Event, state: State) -> Form:
        form = self._form(address.base, state, f"address{site}")
        if isinstance(address.base, Register) and self._bits_of(address.base) < 64 and event.space != "shared":
            reader = Reader(self.symbols, state.known, f"address{site}")
            form = reader.read(form, TYPES["u32"])
        return form.plus(address.offset)

    def _bits_of(self, register: Register) -> int:
        declared = self.plan.function.registers.get(register.name)
        return declared.bits if declared is not None else 32

    def _loaded(self, site: int, instruction: Instruction, written: list[str], state: State) -> None:
        """What a load leaves in its registers: the parameters' own values, else anything of the type."""
        type_ = _last_type(instruction)
        if type_ is None or type_.is_float or type_.bits > 64 or type_.kind in {"pred", "packed"}:
            return
        elements = instruction.operands[0]
        names = (
            [e.name for e in elements.elements if isinstance(e, Register)]
            if isinstance(elements, Vector)
            else written
        )
        for k, name in enumerate(names):
            value = None
            if instruction.has("param"):
                value = self._parameter(instruction, k)
            if value is None:
                interval = limits(type_) if type_.bits < self._bits(name) else any_value(type_.bits)
                value = self.symbols.new(f"{site}.{k}", interval)
            if name in self.plan.function.registers:
                state.registers[name] = value

    def _parameter(self, instruction: Instruction, element: int) -> Form | None:
        address = address_of(instruction)
        if address is None or not isinstance(address.base, Symbol):
            return None
        for variable, param in zip(self.plan.function.params, self.launch.params, strict=True):
            if variable.name != address.base.name:
                continue
            size = element_size(instruction)
            at = address.base.offset + address.offset + element * size
            for pointer in param.pointers:
                if pointer.at == at and size == 8:
                    return symbol(buffer_symbol(pointer.buffer)).plus(pointer.offset)
                if pointer.at < at + size and at < pointer.at + 8:
                    return None
            if not 0 <= at <= len(param.data) - size or vector_count(instruction) * size > len(param.data):
                return None
            type_ = _last_type(instruction)
            return Form(
                int.from_bytes(param.data[at : at + size], "little", signed=type_ is not None and type_.is_signed)
            )
        return None

    def _result(self, site: int, instruction: Instruction, state: State) -> Value | None:
        """The value of an instruction with one destination, None when nothing is known of it."""
        opcode, operands = instruction.opcode, instruction.operands
        if opcode == "setp":
            return self._comparison(site, instruction, state)
        type_ = _last_type(instruction)
        if type_ is None:
            return None
        if type_.kind == "pred":
            return self._logic(instruction, state)
        if opcode == "cvt":
            return self._converted(site, instruction, state)
        if type_.is_float or type_.kind == "packed" or instruction.has("sat", "cc") or type_.bits > 64:
            return None
        if any(isinstance(o, Immediate) and o.is_float for o in operands):
            return None
        name = str(site)
        reader = Reader(self.symbols, state.known, name)
        if opcode == "mov":
            return None if isinstance(operands[1], Vector) else self._form(operands[1], state, name)
        if opcode == "cvta":
            return self._converted_address(instruction, self._form(operands[1], state, name))
        if opcode == "selp":
            return self._selected(site, instruction, state)
        form = next((m for m in ("lo", "hi", "wide", "24") if m in instruction.modifiers), "")
        operation = OPERATIONS.get((opcode, form))
        if operation is None or not {form, type_.name} >= set(instruction.modifiers):
            return self.symbols.new(name, any_value(self._bits_of_destination(instruction)))
        args = [self._form(o, state, f"{name}:{k}") for k, o in enumerate(operands[1:])]
        return operation(reader, type_, args)

    def _bits_of_destination(self, instruction: Instruction) -> int:
        target = instruction.operands[0]
        return self._bits_of(target) if isinstance(target, Register) else 64

    def _selected(self, site: int, instruction: Instruction, state: State) -> Form | None:
        formula = self._formula(instruction.operands[3], state)
        chosen = []
        for truth, operand in ((True, instruction.operands[1]), (False, instruction.operands[2])):
            known = state.known.copy()
            if assume(formula, truth, known):
                value = self._form(operand, state, f"{site}:{truth}")
                chosen.append((value, known.range(value)))
        if len(chosen) == 1 or (chosen and chosen[0][0] == chosen[1][0]):
            return chosen[0][0]
        if not chosen:
            return None
        return self._named(str(site), hull(chosen[0][1], chosen[1][1]), self._bits_of_destination(instruction))

    def _converted(self, site: int, instruction: Instruction, state: State) -> Form | None:
        types = [TYPES[m] for m in instruction.modifiers if m in TYPES]
        if len(types) != 2 or any(t.is_float or t.kind in {"pred", "packed"} for t in types):
            return None
        target, source = types
        if instruction.has("sat"):
            return None
        form = self._form(instruction.operands[1], state, f"{site}:0")
        reader = Reader(self.symbols, state.known, str(site))
        # Widening copies the sign of the source type; narrowing keeps the low bits, which the form has as well.
        if target.bits > source.bits:
            return reader.read(form, source)
        if target.bits < self._bits_of_destination(instruction):
            return reader.read(form, target)
        return form

    def _converted_address(self, instruction: Instruction, form: Form) -> Form | None:
        """cvta: global addresses are generic ones; those of the other windows are moved by an unknown amount."""
        space = next((m.split("::")[0] for m in instruction.modifiers if m.split("::")[0] in _WINDOWS), "")
        if space == "global":
            return form
        bases = [s for s, c in form.terms if s.startswith(OBJECT) and c == 1]
        if len(bases) != 1 or not space:
            return None
        before, after = (f"{OBJECT}generic-{space} ", f"{OBJECT}{space} ")
        if not instruction.has("to"):
            before, after = after, before
        if not bases[0].startswith(before):
            return None
        return form.without(bases[0]) + symbol(after + bases[0].removeprefix(before))

    def _comparison(self, site: int, instruction: Instruction, state: State) -> Formula | None:
        operands = list(instruction.operands)
        type_ = _last_type(instruction)
        if type_ is None or isinstance(operands[0], Pair):
            return None
        formula: Formula = Unknown()
        if not type_.is_float and type_.kind != "packed":
            a, b = (self._form(o, state, f"{site}:{k}") for k, o in enumerate(operands[1:3]))
            reader = Reader(self.symbols, state.known, str(site))
            formula = reader.compare(instruction.modifiers[0], a, b, type_)
        if len(operands) == 4:
            other = self._formula(operands[3], state)
            combine = next((m for m in instruction.modifiers[1:] if m in {"and", "or", "xor"}), "")
            return _combined(combine, formula, other)
        return formula

    def _logic(self, instruction: Instruction, state: State) -> Formula | None:
        parts = [self._formula(o, state) for o in instruction.operands[1:]]
        if instruction.opcode == "mov":
            return parts[0]
        if instruction.opcode == "not":
            return Not(parts[0])
        return _combined(instruction.opcode, parts[0], parts[1]) if len(parts) == 2 else None

    # Operands

    def _guard(self, guard: Guard, state: State) -> Formula:
        formula = self._formula(guard.register, state)
        return Not(formula) if guard.negated else formula

    def _formula(self, operand: Operand, state: State) -> Formula:
        match operand:
            case Negated(register):
                return Not(self._formula(register, state))
            case Register(name):
                value = state.registers.get(name)
                return Unknown() if value is None or isinstance(value, Form) else value
        return Unknown()

    def _form(self, operand: Operand, state: State, name: str) -> Form:
        """The form of an operand; a symbol with the given name where it is not known."""
        match operand:
            case Immediate(number, 0):
                return Form(number)
            case Symbol(variable, offset) if variable in self.objects:
                return symbol(self.objects[variable]).plus(offset)
            case Register(register):
                value = state.registers.get(register)
                if isinstance(value, Form):
                    return value
                special = self._special(register, state, name)
                if special is not None:
                    return special
                bits = self._bits_of(operand)
                if value is None and register in self.plan.function.registers:
                    return self.symbols.new(f"{name}/{register}", any_value(bits))
        return self.symbols.new(name, any_value(64))

    def _special(self, register: str, state: State, name: str) -> Form | None:
        if register in self.symbols.intervals and register.startswith(("%tid.", "%ctaid.")):
            return self.symbols.new(register, self.symbols.intervals[register])
        axis = "xyz".find(register[-1])
        if register.startswith("%ntid.") and axis >= 0:
            return Form(self.launch.block[axis])
        if register.startswith("%nctaid.") and axis >= 0:
            return Form(self.launch.grid[axis])
        if register == "%laneid":
            x, y, _ = self.launch.block
            linear = Form(0)
            for part, factor in (("%tid.x", 1), ("%tid.y", x), ("%tid.z", x * y)):
                linear += self.symbols.new(part, self.symbols.intervals[part]).times(factor)
            return Reader(self.symbols, state.known, name).divide(linear, 32)[1]
        return None


_WINDOWS = {"global", "shared", "local", "const", "param"}


def _combined(operator: str, first: Formula, second: Formula) -> Formula:
    if operator == "and":
        return Both(first, second)
    return either(first, second) if operator == "or" else Unknown()


def _comparisons(formula: Formula) -> Iterable[tuple[Form, Interval]]:
    match formula:
        case Not(part):
            yield from _comparisons(part)
        case Both(first, second):
            yield from _comparisons(first)
            yield from _comparisons(second)
        case Unknown():
            return
        case _:
            yield formula.form, formula.interval


def _last_type(instruction: Instruction) -> Type | None:
    return next((TYPES[m] for m in reversed(instruction.modifiers) if m in TYPES), None)


def _instructions(graph: Graph, block: int) -> range:
    return range(graph.blocks[block].start, graph.blocks[block].end)


def loops_of(graph: Graph) -> dict[int, set[int]] | None:
    """Header -> blocks of its natural loops; None if some cycle has no single header."""
    dominators = nx.immediate_dominators(graph.edges, 0)
    loops: dict[int, set[int]] = {}
    for tail, header in graph.back_edges:
        node = tail
        while node not in {header, 0}:
            node = dominators[node]
        if node != header:
            return None
        body = loops.setdefault(header, {header})
        pending = [tail]
        while pending:
            block = pending.pop()
            if block not in body:
                body.add(block)
                pending.extend(graph.edges.predecessors(block))
    return loops
