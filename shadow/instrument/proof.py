"""Which accesses of a launch cannot race, whatever its schedule and the contents of its memory.

The claim: no two conflicting accesses of a proved object by different threads are unordered, and every access
that can reach the object is one of the proved sites and lies inside it. So nothing is lost when none of its
accesses is checked, and no checked access can meet its shadow: an object is proved as a whole or not at all.

An object is a buffer of the launch, a variable of the module, or a shared variable. It is proved when
1. every access of its state space has an address that is known as object plus offset, with the offset inside
   the object (flow.py); one access that is not so may hit any object of the spaces that it can reach, and
   nothing of these is proved;
2. for every two sites of which one writes (or that are atomics whose scopes do not include each other), accesses
   by threads of different blocks are disjoint, and so are accesses by different threads of one block unless a
   barrier always stands between them (ordering.py).

Disjointness of two accesses, by threads t and t': the difference of their addresses is an affine form in the
symbols of both. If it can lie nowhere in the window of an overlap they are disjoint. Else, where a symbol has
the same coefficient c in both addresses and |c| exceeds what the rest of the difference spans by the window, an
overlap needs equal values of it in t and t'; it is set equal, and the next symbol is tried. If all indices of the
block (or of the thread) come out equal, t and t' are of one block (or one thread).

Threads of one block that are in one barrier interval share block indices, and values of uniform registers that
the interval cannot have changed in between.

What ends the proof of everything: calls of unknown functions, instructions that are not known to leave memory
alone, irreducible loops. Acquire, release and fences order nothing here. Grid barriers order nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf

import networkx as nx
from racedart.fsm import Access
from racedart.shadow.instrument.affine import Form, Interval, Known, normal
from racedart.shadow.instrument.flow import OBJECT, Flow, Shape, Touch, buffer_symbol
from racedart.shadow.instrument.ordering import Ordering, ordering_of
from racedart.shadow.instrument.plan import Plan
from racedart.shadow.ptx.model import Instruction, Module, Symbol

PAIRS = 4000
"""Pairs of sites of one kernel that are looked at; objects beyond stay checked."""
INSTRUCTIONS = 20_000
"""Longer kernels are not analysed."""

LEAVE_MEMORY_ALONE = frozenset(
    {
        *("abs", "activemask", "add", "addc", "and", "bfe", "bfi", "bfind", "bmsk", "bra", "brev", "brx", "clz"),
        *("cnot", "copysign", "cos", "cvt", "cvta", "div", "dp2a", "dp4a", "elect", "ex2", "exit", "fence", "fma"),
        *("fns", "isspacep", "lg2", "lop3", "mad", "mad24", "madc", "match", "max", "membar", "min", "mov", "mul"),
        *("mul24", "nanosleep", "neg", "not", "or", "popc", "prefetch", "prefetchu", "prmt", "rcp", "redux", "rem"),
        *("ret", "rsqrt", "sad", "selp", "set", "setp", "shf", "shfl", "shl", "shr", "sin", "slct", "sqrt", "sub"),
        *("subc", "szext", "tanh", "testp", "trap", "vote", "xor", "bar", "barrier", "griddepcontrol", "pmevent"),
    }
)
"""Opcodes that neither read nor write checked memory; those of events are looked at apart."""
HARMLESS_CALLS = frozenset({"vprintf", "__assertfail"})

_WINDOW, _GENERIC = 1 << 24, 1 << 62
"""Bounds of addresses: in the shared, local and constant state spaces, and of global and generic ones."""

_NARROW = {"shared", "local", "const"}

_BLOCK = ("%ctaid.x", "%ctaid.y", "%ctaid.z")
_THREAD = ("%tid.x", "%tid.y", "%tid.z")
_ATOMICS = {Access.BA, Access.GA}


MALFORMED = (ValueError, IndexError, KeyError, StopIteration, AssertionError)
"""Errors of instructions whose operands do not have the form that the opcode takes, or are not declared."""


def prove(module: Module, plan: Plan, launch: Shape) -> frozenset[int]:
    """The sites of a plan that need no check in launches of a shape; none of a kernel that is not well formed."""
    try:
        return _proved(module, plan, launch)
    except MALFORMED:
        return frozenset()


def _proved(module: Module, plan: Plan, launch: Shape) -> frozenset[int]:
    graph = plan.graph
    if len(graph.instructions) > INSTRUCTIONS or len(plan.function.params) != len(launch.params):
        return frozenset()
    if any(not _known(graph.instructions[i]) for i in graph.block_of):
        return frozenset()
    objects = _Objects.of(module, plan, launch)
    addresses = {name: (0, _WINDOW if _space(name) in _NARROW else _GENERIC) for name in objects.sizes}
    flow = Flow(plan, launch, objects.symbols, addresses)
    touches = flow.run()
    if touches is None:
        return frozenset()
    # Branches that the launch's parameters decide have one way.
    edges = nx.DiGraph(list(flow.taken))
    edges.add_node(0)
    ordering = ordering_of(replace(graph, edges=edges), plan.function.registers)
    return _Proof(plan, flow, objects, ordering, touches).sites()


def _space(name: str) -> str:
    """The state space of an object's symbol."""
    return name.removeprefix(OBJECT).split(" ")[0]


def _known(instruction: Instruction) -> bool:
    """Whether the instruction is an event, or leaves checked memory alone."""
    opcode = instruction.opcode
    if opcode in {"ld", "ldu", "st", "atom", "red"}:
        return True
    if opcode == "call":
        return any(isinstance(o, Symbol) and o.name in HARMLESS_CALLS for o in instruction.operands)
    return opcode in LEAVE_MEMORY_ALONE and not instruction.has("async")


@dataclass(frozen=True)
class _Objects:
    """symbols: variable -> symbol of its address. sizes: symbol -> bytes of the object."""

    symbols: Mapping[str, str]
    sizes: Mapping[str, int]

    @staticmethod
    def of(module: Module, plan: Plan, launch: Shape) -> _Objects:
        symbols: dict[str, str] = {}
        sizes = {buffer_symbol(k): size for k, size in enumerate(launch.sizes)}
        for variable in (*module.variables, *plan.function.variables):
            if variable.space not in {"global", "shared", "local", "const"}:
                continue
            # All shared arrays of unspecified size begin at the same place.
            dynamic = variable.space == "shared" and not variable.size
            name = f"{OBJECT}{variable.space} {'' if dynamic else variable.name}"
            symbols[variable.name] = name
            sizes[name] = launch.shared_bytes if dynamic else variable.size
        for name in list(sizes):
            space, _, rest = name.removeprefix(OBJECT).partition(" ")
            if space != "global":
                sizes[f"{OBJECT}generic-{space} {rest}"] = sizes[name]
        return _Objects(symbols, sizes)


@dataclass(frozen=True)
class _Reach:
    """One access inside an object."""

    touch: Touch
    offset: Form
    access: Access


@dataclass
class _Proof:
    plan: Plan
    flow: Flow
    objects: _Objects
    ordering: Ordering
    touches: list[Touch]
    pairs: int = 0
    both: dict[str, Interval] = field(default_factory=dict)

    def sites(self) -> frozenset[int]:
        reached: dict[str, list[_Reach]] = {}
        lost: set[str] = set()
        found: set[int] = set()
        for touch in self.touches:
            place = self._place(touch)
            if place is None:
                lost |= {"global", "shared"} if touch.event.space == "generic" else {touch.event.space}
                continue
            name, offset = place
            if name.startswith((f"{OBJECT}generic-local", f"{OBJECT}generic-const")):
                # Private to the thread, or written by none.
                found.add(touch.site)
                continue
            name = name.replace(f"{OBJECT}generic-", OBJECT)
            reached.setdefault(name, []).append(_Reach(touch, offset, self.plan.access[touch.site]))
        intervals = self.flow.symbols.intervals
        self.both = intervals | {name + "'": interval for name, interval in intervals.items()}
        for name, reaches in reached.items():
            space = _space(name)
            if space not in lost and self._race_free(reaches, shared=space == "shared"):
                found |= {r.touch.site for r in reaches}
        return frozenset(found)

    def _place(self, touch: Touch) -> tuple[str, Form] | None:
        """The object that an access lies in, and its offset; None where that is not certain."""
        bases = [(s, c) for s, c in touch.address.terms if s.startswith(OBJECT)]
        if len(bases) != 1 or bases[0][1] != 1 or bases[0][0] not in self.objects.sizes:
            return None
        name = bases[0][0]
        space = _space(name)
        if touch.event.space == "generic":
            if space != "global" and not space.startswith("generic-"):
                return None
        elif space != touch.event.space:
            return None
        offset = touch.address.without(name)
        low, high = touch.known.range(offset)
        return (name, offset) if low >= 0 and high <= self.objects.sizes[name] - touch.size else None

    def _race_free(self, reaches: list[_Reach], *, shared: bool) -> bool:
        for a, b in itertools.combinations_with_replacement(reaches, 2):
            if a.access != Access.R or b.access != Access.R:
                self.pairs += 1
                if self.pairs > PAIRS or not self._ordered(a, b, shared=shared):
                    return False
        return True

    def _ordered(self, a: _Reach, b: _Reach, *, shared: bool) -> bool:
        """Whether no two accesses at two sites by different threads race."""
        atomic = {a.access, b.access} <= _ATOMICS and a.touch.event.size == b.touch.event.size
        across = shared or (atomic and a.access == b.access == Access.GA)
        # Threads of different blocks: nothing is common to them.
        if not across and not self._disjoint(a, b, _BLOCK, lambda _: False):
            return False
        if atomic or not self.ordering.concurrent(a.touch.site, b.touch.site):
            return True
        return self._disjoint(a, b, _THREAD, lambda name: self._common(name, a.touch.site, b.touch.site))

    def _common(self, name: str, a: int, b: int) -> bool:
        """Whether a symbol is one number for all threads of a block that are at two sites in one interval."""
        if name in _BLOCK:
            return True
        if name in self.flow.symbols.quotients:
            return all(self._common(s, a, b) for s, _ in self.flow.symbols.quotients[name].terms)
        if name.startswith("#"):
            header = int(name[1:])
            return self.ordering.same_count(header) and self.ordering.same_pass(header, a, b)
        register, separator, at = name.rpartition("^")
        if separator and register not in self.ordering.divergent_registers:
            low, high = self.flow.symbols.intervals[name]
            # Equal bits are equal numbers where the interval holds each content once.
            once = high - low < 1 << self.plan.function.registers[register].bits
            return once and self.ordering.same_pass(int(at), a, b)
        return False

    def _disjoint(self, a: _Reach, b: _Reach, indices: Iterable[str], common: Callable[[str], bool]) -> bool:
        """Whether an overlap of two accesses needs equal indices, or cannot be."""

        def other(name: str) -> str:
            return name if common(name) else name + "'"

        pair = _Pair(a, b, other, self.flow, self.both)
        pair.unify()
        if pair.apart:
            return True
        return all(pair.equal(name) for name in indices if self.flow.symbols.intervals[name] != (0, 0))


class _Pair:
    """The difference of two addresses while symbols of both threads are found equal."""

    def __init__(
        self, a: _Reach, b: _Reach, other: Callable[[str], str], flow: Flow, both: Mapping[str, Interval]
    ) -> None:
        self.sizes = a.touch.size, b.touch.size
        self.difference = a.offset - b.offset.renamed(other)
        always = dict(flow.symbols.always)
        facts = dict(a.touch.known.facts)
        self.known = Known(both, always, facts)
        for target, source in ((always, flow.symbols.always), (facts, b.touch.known.facts)):
            for key, interval in source.items():
                self._add(target, Form(0, key).renamed(other), interval)
        self.apart = False
        self.joined: set[str] = set()

    @staticmethod
    def _add(target: dict[tuple[tuple[str, int], ...], Interval], form: Form, interval: Interval) -> None:
        if form.terms:
            key, factor = normal(form.terms)
            low, high = interval if factor > 0 else (-interval[1], -interval[0])
            before = target.get(key, (-inf, inf))
            target[key] = max(before[0], low), min(before[1], high)

    def unify(self) -> None:
        """Set symbols equal that an overlap needs to be, until there are no more."""
        progress = True
        while progress and not self.apart:
            low, high = self.known.range(self.difference)
            if low >= self.sizes[1] or high <= -self.sizes[0]:
                self.apart = True
                return
            progress = any(self._needed(name) and self._join(name) for name in self._candidates())

    def _candidates(self) -> list[str]:
        """Symbols with opposite coefficients in the difference, the largest first."""
        terms = dict(self.difference.terms)
        names = [name for name in terms if not name.endswith("'") and terms.get(name + "'") == -terms[name]]
        return sorted(names, key=lambda name: -abs(terms[name]))

    def _needed(self, name: str) -> bool:
        """Whether an overlap needs equal values of a symbol."""
        step = abs(self.difference.coefficient(name))
        rest = self.difference.without(name).without(name + "'")
        low, high = self.known.range(rest)
        return step + low >= self.sizes[1] and high - step <= -self.sizes[0]

    def _join(self, name: str) -> bool:
        def joined(symbol: str) -> str:
            return name if symbol == name + "'" else symbol

        self.joined.add(name)
        self.difference = self.difference.renamed(joined)
        for target in (self.known.facts, self.known.always):
            assert isinstance(target, dict)
            for key, interval in list(target.items()):
                if any(symbol == name + "'" for symbol, _ in key):
                    del target[key]
                    self._add(target, Form(0, key).renamed(joined), interval)
        return True

    def equal(self, name: str) -> bool:
        """Whether both threads have one value of a symbol."""
        if name in self.joined:
            return True
        return self.known.range(Form(0, ((name, 1), (name + "'", -1)))) == (0, 0)
