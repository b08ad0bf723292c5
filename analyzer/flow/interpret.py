"""The interpretation of a program: which memory each piece of code reads and writes, on which device.

An abstract interpretation over the AST-CFG of every function, from the roots (main, else functions that nobody
calls). A call is interpreted anew in each context, so facts are context-sensitive; locals, members and pointers are
flow-sensitive. A target construct executes its body with the device as the side of all accesses; what a clause
makes private, and what is declared inside, is left out.

Sound for: assignments, address-of, pointer arithmetic, members, references, calls of functions whose body is seen,
the library functions of effects.py and, for std::vector, access to its data. Taken on trust: a function without a
body touches only what its arguments lead to; integer arithmetic does not wrap around. `incomplete` holds what was
met and is not described: recursion that reaches device code, calls through pointers.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import networkx as nx
from racedart.analyzer.flow import cfg
from racedart.analyzer.flow.certain import Certainty, leaves_iteration
from racedart.analyzer.flow.context import Action, Context
from racedart.analyzer.flow.effects import ALLOCATORS, DEFINED, EFFECTS, ENDS, RELEASES, Effect
from racedart.analyzer.flow.state import NOTHING, Access, Base, Birth, Loc, Ptr, Release, State, Value
from racedart.analyzer.flow.symbolic import ONE, ZERO, Atoms, Poly, Range, constant
from racedart.analyzer.source.tree import Function, Node, Program, Type, Variable

LVALUES = {"DECL_REF_EXPR", "MEMBER_REF_EXPR", "ARRAY_SUBSCRIPT_EXPR", "MEMBER_REF"}
DEPTH = 60
INTEGERS_NOT = ("float", "double", "half", "_Float16", "long double", "__fp16", "_Complex")
VECTOR_ACCESS = {"operator[]", "at", "data", "front", "back", "begin", "end", "cbegin", "cend", "rbegin"}
VECTOR_RESIZE = {"resize", "assign", "reserve", "push_back", "emplace_back", "insert", "clear", "shrink_to_fit"}


def is_integer(kind: Type) -> bool:
    """Whether values of a type are tracked as integers."""
    return kind.kind == "scalar" and not any(word in kind.spelling for word in INTEGERS_NOT)


def is_vector(kind: Type | None) -> bool:
    """std::vector, std::array, std::valarray, and smart pointers to arrays: records whose data lie behind them."""
    return (
        kind is not None
        and kind.kind == "record"
        and kind.spelling.replace("const ", "").startswith(
            ("std::vector<", "std::array<", "std::valarray<", "std::unique_ptr<", "std::shared_ptr<")
        )
    )


@dataclass(eq=False)
class Interpretation:
    """The program and everything that was found out about it."""

    program: Program
    atoms: Atoms = field(default_factory=Atoms)
    contexts: list[Context] = field(default_factory=list)
    roots: list[Context] = field(default_factory=list)
    bases: dict[tuple[object, ...], Base] = field(default_factory=dict)
    types: dict[Loc, Type] = field(default_factory=dict)
    graphs: dict[str, tuple[nx.DiGraph, list[int], dict[int, int]]] = field(default_factory=dict)
    incomplete: dict[str, Node] = field(default_factory=dict)
    unknown: Base = field(default_factory=lambda: Base("unknown", "unknown memory", None, many=True))
    closed: bool = True
    certainty: Certainty = field(default_factory=Certainty)
    with_device: set[str] = field(default_factory=set)

    def initial_value(self, loc: Loc, kind: Type) -> Value | None:
        """The value of a place of a type that was never written; None if it has none."""
        if not loc.base.defined:
            return None
        if kind.kind in {"pointer", "reference"}:
            return Value(frozenset({self.outside(loc, kind)})) if loc.base.foreign else NOTHING
        if is_integer(kind):
            return Value(frozenset(), self.atoms.poly("init", loc))
        return NOTHING

    def outside(self, loc: Loc, kind: Type) -> Ptr:
        """What a pointer that comes from outside leads to."""
        depth = 0
        handle: Loc | None = loc
        while handle is not None and handle.base.kind == "outside":
            handle = handle.base.handle
            depth += 1
        if depth > 3 or loc.base.kind in {"unknown", "string"}:
            return Ptr(self.unknown, (), None, True)
        name = ".".join((f"*{loc.base.name}", *loc.path))
        made = Base("outside", name, kind.element, None, defined=True, handle=loc, many=loc.base.many, foreign=True)
        return Ptr(self.bases.setdefault(("outside", loc), made), (), ZERO)


def interpret(program: Program) -> Interpretation:
    """Interpret the whole program."""
    found = Interpretation(program)
    machine = _Machine(found)
    called = {n.ref for f in program.functions.values() if f.body for n in f.body.walk() if n.ref != f.key}
    bodies = [f for f in program.functions.values() if f.body is not None and not f.is_system]
    roots = [f for f in bodies if f.name == "main" and not f.record]
    found.closed = bool(roots)
    if not roots:
        roots = [f for f in bodies if f.key not in called and f.key in machine.with_device]
    for function in roots:
        machine.root(function)
    return found


class _Machine:
    def __init__(self, found: Interpretation) -> None:
        self.found = found
        self.program = found.program
        self.atoms = found.atoms
        self.with_device = found.with_device = self.device_functions()
        self.context: Context = None  # type: ignore[assignment]  # set by enter, before anything is evaluated
        self.node = 0
        self.state = State()
        self.actions: list[Action] = []
        self.device = False
        self.private: set[Base] = set()
        self.memo: dict[tuple[object, ...], Context] = {}

    def device_functions(self) -> set[str]:
        """Functions in whose calls a data or target directive can be met."""
        calls: dict[str, set[str]] = {}
        found = set()
        for function in self.program.functions.values():
            if function.body is None:
                continue
            callees = calls.setdefault(function.key, set())
            for node in function.body.walk():
                if node.directive is not None and node.directive.kind.startswith("target"):
                    found.add(function.key)
                elif node.kind == "CALL_EXPR" and node.ref:
                    callees.add(node.ref)
        while True:
            more = {key for key, callees in calls.items() if key not in found and callees & found}
            if not more:
                return found
            found |= more

    # --- contexts

    def root(self, function: Function) -> None:
        state = State()
        context = self.make_context(function, None, None)
        self.context = context
        self.state = state
        for variable in self.program.variables.values():
            if (variable.is_global or variable.is_static) and variable.node is not None and variable.node.children:
                self.actions = []
                self.declare(variable.node)
        self.state.fresh = frozenset()
        for parameter in function.parameters:
            base = self.variable_base(parameter.key)
            base.defined = base.foreign = True
        self.found.roots.append(context)
        self.run(context, self.state)

    def make_context(self, function: Function, parent: Context | None, call: Node | None) -> Context:
        key = (parent, id(call), function.key, self.device)
        known = self.memo.get(key)
        if known is not None:
            return known
        graph, order, rank = self.graph(function.key, function.body)
        number = len(self.found.contexts)
        this = Base("variable", "this", None, None)
        result = Base("variable", f"{function.name}()", None, None, defined=True)
        context = Context(number, function, parent, call, graph, order, rank, this, result)
        this.context = result.context = context
        self.found.contexts.append(context)
        self.memo[key] = context
        return context

    def graph(self, key: str, body: Node | None) -> tuple[nx.DiGraph, list[int], dict[int, int]]:
        known = self.found.graphs.get(key)
        if known is None:
            assert body is not None
            graph = cfg.build_cfg(body)
            order = _reverse_postorder(graph)
            known = self.found.graphs[key] = (graph, order, {n: k for k, n in enumerate(order)})
        return known

    def run(self, context: Context, entry: State) -> State | None:
        """Interpret a body to its fixpoint; the state at its exit, None if it does not return."""
        outer = (self.context, self.node, self.state, self.actions)
        self.context = context
        context.states = {cfg.ENTRY: entry}
        context.loop_starts.clear()
        context.actions.clear()
        context.returned = NOTHING
        outs: dict[int, State] = {}
        pending = [(0, cfg.ENTRY)]
        queued = {cfg.ENTRY}
        while pending:
            _, node = heapq.heappop(pending)
            queued.discard(node)
            self.node = node
            self.state = context.states[node].copy()
            self.actions = []
            alive = self.transfer(context, node)
            context.actions[node] = self.actions
            context.ended.discard(node)
            if not alive:
                context.ended.add(node)
                continue
            outs[node] = self.state
            for successor in context.graph.successors(node):
                if self.merge(context, node, successor, outs) and successor not in queued:
                    queued.add(successor)
                    heapq.heappush(pending, (context.rank[successor], successor))
        self.context, self.node, self.state, self.actions = outer
        return context.states.get(cfg.EXIT)

    def merge(self, context: Context, source: int, target: int, outs: dict[int, State]) -> bool:
        """Make the state before a node anew from those behind its predecessors; whether it changed."""
        data = context.graph.nodes[target]
        if data["role"] == "head" and context.rank[source] < context.rank[target]:
            variable = self.loop_variable(data["ast"])
            if variable is not None:
                value = outs[source].store.get(Loc(self.variable_base(variable)), NOTHING)
                context.loop_starts[target] = value
        known = [outs[p] for p in context.graph.predecessors(target) if p in outs and p not in context.ended]
        new = known[0].copy()
        for other in known[1:]:
            self.join(new, other, (context.number, target))
        if new == context.states.get(target):
            return False
        context.states[target] = new
        return True

    def join(self, old: State, new: State, place: tuple[object, ...]) -> None:
        """Join `new` into `old`."""
        store = old.store
        for loc, value in new.store.items():
            mine = store.get(loc)
            if mine is value:
                continue
            if mine is None:
                mine = self.initial(loc)
            store[loc] = value if mine is None else self.join_values(mine, value, loc, place)
        for loc, value in list(store.items()):
            if loc not in new.store:
                missing = self.initial(loc)
                if missing is not None:
                    store[loc] = self.join_values(value, missing, loc, place)
        old.fresh &= new.fresh

    def join_values(self, old: Value, new: Value, loc: Loc, place: tuple[object, ...]) -> Value:
        if old == new:
            return old
        number = old.number
        if old.number != new.number:
            number = self.atoms.poly("phi", place, loc)
        ptrs = old.ptrs
        if new.ptrs != old.ptrs:
            ptrs = self.join_ptrs(old.ptrs | new.ptrs)
        return Value(ptrs, number)

    @staticmethod
    def join_ptrs(ptrs: frozenset[Ptr]) -> frozenset[Ptr]:
        places: dict[Loc, Ptr] = {}
        for ptr in ptrs:
            known = places.get(ptr.loc)
            if known is None:
                places[ptr.loc] = ptr
            elif known != ptr:
                offset = known.offset if known.offset == ptr.offset else None
                places[ptr.loc] = Ptr(ptr.base, ptr.path, offset, known.weak or ptr.weak)
        return frozenset(places.values())

    def initial(self, loc: Loc) -> Value | None:
        """The value of a place that was never written here: None if it has none."""
        kind = self.found.types.get(loc)
        return None if kind is None else self.found.initial_value(loc, kind)

    def base(self, key: tuple[object, ...], made: Base) -> Base:
        return self.found.bases.setdefault(key, made)

    def variable_base(self, key: str) -> Base:
        variable = self.program.variables[key]
        context = None if variable.is_global or variable.is_static else self.context.home
        known = self.found.bases.get(("variable", key, context))
        if known is None:
            known = Base("variable", variable.name, variable.type, context, variable)
            known.defined = context is None
            known.foreign = context is None and not self.found.closed
            if variable.type.size > 0:
                known.extent = constant(variable.type.size)
            self.found.bases[("variable", key, context)] = known
        return known

    # --- nodes

    def transfer(self, context: Context, node: int) -> bool:
        data = context.graph.nodes[node]
        role, ast = data["role"], data["ast"]
        self.ended = False
        if role in {"statement", "condition", "step"}:
            self.rval(ast)
        elif role == "head":
            self.loop_head(context, node, ast)
        elif role == "range":
            self.range_head(ast)
        elif role == "return":
            self.return_value(context, ast)
        elif role == "kernel":
            self.kernel(ast)
        elif role in {"alone", "begin", "end"}:
            self.state.fresh = frozenset()
        return not self.ended

    ended = False

    def return_value(self, context: Context, ast: Node) -> None:
        if not ast.children:
            return
        expression = ast.children[0]
        if context.function.result.kind == "reference":
            value = Value(self.lval(expression))
        elif context.function.result.kind == "record":
            value = self.rval(expression)
            self.copy_record(value.ptrs, frozenset({Ptr(context.result, (), ZERO)}))
            value = Value(frozenset({Ptr(context.result, (), ZERO)}))
        else:
            value = self.rval(expression)
        context.returned = (
            value
            if context.returned == NOTHING
            else self.join_values(context.returned, value, Loc(context.result), (context.number, "return"))
        )

    def loop_variable(self, loop: Node) -> str | None:
        step = loop.children[2]
        while step.kind == "BINARY_OPERATOR" and step.op == ",":
            step = step.children[0]
        if step.kind in {"UNARY_OPERATOR", "BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"} and step.children:
            target = step.children[0]
            if target.kind == "DECL_REF_EXPR" and target.ref in self.program.variables:
                return target.ref
        return None

    def loop_head(self, context: Context, node: int, loop: Node) -> None:
        test, step, body = loop.children[1], loop.children[2], loop.children[3]
        if test.kind != "ABSENT":
            self.rval(test)
        key = self.loop_variable(loop)
        start = context.loop_starts.get(node)
        if key is None or start is None or start.number is None:
            return
        loc = Loc(self.variable_base(key))
        value = self.state.store.get(loc, NOTHING).number
        if value is None or len(value.atoms) != 1 or value != self.atoms.poly("phi", (context.number, node), loc):
            return
        (atom,) = value.atoms
        while test.kind == "BINARY_OPERATOR" and test.op == "&&":
            test = test.children[0]
        bound = self.loop_bound(test, key)
        stride = self.stride(step, key)
        if bound is None or stride is None or stride == 0 or self.writes_variable(body, key):
            self.atoms.ranges.pop(atom, None)
            return
        op, limit = bound
        if atom in limit.atoms or atom in start.number.atoms:
            return
        whole = loop.children[1] is test and not leaves_iteration(body)
        if stride > 0 and op in {"<", "<=", "!="}:
            high = limit if op == "<=" else limit - ONE
            self.atoms.ranges[atom] = Range(start.number, high, abs(stride), whole and self.exact(step))
        elif stride < 0 and op in {">", ">=", "!="}:
            low = limit if op == ">=" else limit + ONE
            self.atoms.ranges[atom] = Range(low, start.number, abs(stride), whole and self.exact(step))

    @staticmethod
    def exact(step: Node) -> bool:
        return step.op in {"++", "--", "p++", "p--", "+=", "-="}

    def loop_bound(self, test: Node, key: str) -> tuple[str, Poly] | None:
        if test.kind != "BINARY_OPERATOR" or len(test.children) != 2:
            return None
        left, right = test.children
        op = test.op
        if left.kind == "CAST" and left.children:
            left = left.children[0]
        if right.kind == "DECL_REF_EXPR" and right.ref == key:
            left, right = right, left
            op = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)
        if left.kind != "DECL_REF_EXPR" or left.ref != key or op not in {"<", "<=", ">", ">=", "!="}:
            return None
        limit = self.quiet(right).number
        return (op, limit) if limit is not None else None

    def quiet(self, node: Node) -> Value:
        """The value of an expression that was evaluated already."""
        actions, self.actions = self.actions, []
        value = self.rval(node)
        self.actions = actions
        return value

    def stride(self, step: Node, key: str) -> int | None:
        while step.kind == "BINARY_OPERATOR" and step.op == ",":
            step = step.children[0]
        if step.kind == "UNARY_OPERATOR":
            return {"++": 1, "p++": 1, "--": -1, "p--": -1}.get(step.op)
        if step.kind == "COMPOUND_ASSIGNMENT_OPERATOR":
            amount = self.quiet(step.children[1]).number
            if amount is None:
                return None
            if step.op in {"*=", "<<="}:
                return 1 if amount.value is not None and amount.value > 1 - (step.op == "<<=") else None
            if step.op in {"/=", ">>="}:
                return -1
            if step.op in {"+=", "-="}:
                size = amount.value if amount.value is not None else 2 if self.atoms.sign(amount) == 1 else None
                return None if size is None else size if step.op == "+=" else -size
            return None
        if step.kind == "BINARY_OPERATOR" and step.op == "=":
            right = step.children[1]
            if right.kind == "BINARY_OPERATOR" and len(right.children) == 2:
                left, other = right.children
                if left.kind == "DECL_REF_EXPR" and left.ref == key:
                    amount = self.quiet(other).number
                    value = amount.value if amount is not None else None
                    if value is None:
                        return None
                    if right.op in {"+", "-"}:
                        return value if right.op == "+" else -value
                    if right.op == "*" and value > 1:
                        return 2
                    if right.op == "/" and value > 1:
                        return -2
        return None

    @staticmethod
    def writes_variable(body: Node, key: str) -> bool:
        for node in body.walk():
            assigns = (
                node.kind in {"BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"}
                and node.op.endswith("=")
                and node.op not in {"==", "<=", ">=", "!="}
            )
            if assigns or (node.kind == "UNARY_OPERATOR" and node.op in {"++", "--", "p++", "p--", "&"}):
                target = node.children[0]
                if target.kind == "DECL_REF_EXPR" and target.ref == key:
                    return True
        return False

    def range_head(self, loop: Node) -> None:
        variable = next((n for n in loop.walk() if n.kind == "VAR_DECL" and n.ref), None)
        for child in loop.children[:-1]:
            if child.kind in LVALUES:
                ptrs = self.lval(child)
                data = self.vector_data(ptrs) if is_vector(child.type) else ptrs
                data = frozenset(Ptr(p.base, p.path, None, True) for p in data)
                if variable is not None:
                    declared = self.program.variables[variable.ref]
                    self.own(variable.ref)
                    if declared.type.kind == "reference":
                        self.state.store[Loc(self.variable_base(variable.ref))] = Value(data)
                    else:
                        self.access(data, declared.type, False, loop)
                        value = self.load(data, declared.type, loop)
                        self.write({Ptr(self.variable_base(variable.ref), (), ZERO)}, value, declared.type, loop)

    def kernel(self, ast: Node) -> None:
        """Execute a target construct: its body with the accesses of the device."""
        directive = ast.directive
        assert directive is not None
        before = self.state.copy()
        outer_private, outer_device = self.private, self.device
        self.private, self.device = set(outer_private), True
        restored: set[Base] = set()
        names = self.names_at(ast)
        device_pointers: set[str] = set()
        for clause in directive.clauses:
            for item in clause.items:
                key = names.get(item.base)
                if key is None:
                    continue
                base = self.variable_base(key)
                if clause.name in {"private", "firstprivate", "lastprivate", "linear", "uses_allocators"}:
                    self.private.add(base)
                    restored.add(base)
                    if clause.name == "lastprivate":
                        restored.discard(base)
                elif clause.name in {"is_device_ptr", "has_device_addr"}:
                    device_pointers.add(key)
                elif clause.name in {"reduction", "in_reduction"} and not item.steps:
                    self.actions.append(self.clause_access(base, ast, False))
                    self.actions.append(self.clause_access(base, ast, True))
        for key in device_pointers:
            base = self.variable_base(key)
            self.state.store[Loc(base)] = Value(
                frozenset({Ptr(self.base(("device", base), Base("device", base.name, None, None)), (), ZERO)})
            )
            restored.add(base)
        self.state.fresh = frozenset()
        for loop_key in self.loop_variables(ast):
            base = self.variable_base(loop_key)
            self.private.add(base)
            restored.add(base)
        graph, order, rank = self.graph(f"kernel {id(ast)}", ast.children[0])
        inner = self.memo.get(("kernel", self.context, id(ast)))
        if inner is None:
            function = self.context.function
            inner = Context(
                len(self.found.contexts),
                function,
                self.context,
                ast,
                graph,
                order,
                rank,
                self.context.this,
                Base("variable", "kernel", None, self.context),
                self.context.home,
            )
            self.found.contexts.append(inner)
            self.memo["kernel", self.context, id(ast)] = inner
        outer_context, outer_actions, outer_node = self.context, self.actions, self.node
        end = self.run(inner, self.state.copy())
        self.context, self.actions, self.node = outer_context, outer_actions, outer_node
        self.actions.extend(self.dissolved(inner, ast))
        self.state = end if end is not None else before
        for base in restored:
            for loc in [loc for loc in self.state.store if loc.base is base]:
                del self.state.store[loc]
            for loc, value in before.store.items():
                if loc.base is base:
                    self.state.store[loc] = value
        self.state.fresh = frozenset()
        self.private, self.device = outer_private, outer_device
        self.ended = False

    def clause_access(self, base: Base, ast: Node, write: bool) -> Access:
        return Access(base, (), ZERO, base.extent, write, True, True, not write, (ast,), True)

    def loop_variables(self, kernel: Node) -> list[str]:
        """Variables of the loops that a kernel's directives distribute; they are private (OpenMP 5.2, 5.1.1)."""
        found = []
        for node in kernel.walk():
            if node.kind == "OMP_STMT" and node.directive is not None:
                depth = 1
                for clause in node.directive.named("collapse", "ordered"):
                    text = clause.argument or (clause.items[0].text if clause.items else "1")
                    depth = max(depth, int(text) if text.strip().isdigit() else 8)
                loop = node.children[0]
                if not {"for", "distribute", "loop", "simd"} & set(node.directive.leaves):
                    continue
                for _ in range(depth):
                    while loop.kind in {"COMPOUND_STMT", "OMP_STMT"} and loop.children:
                        loop = loop.children[0]
                    if loop.kind != "FOR_STMT":
                        break
                    key = self.loop_variable(loop)
                    if key is not None:
                        found.append(key)
                    loop = loop.children[3]
        return found

    def names_at(self, ast: Node) -> dict[str, str]:
        """Keys of the variables that a directive at this place can name."""
        names = {v.name: k for k, v in self.program.variables.items() if v.is_global}
        for parameter in self.context.function.parameters:
            names[parameter.name] = parameter.key
        visible = []
        child = ast
        for parent in ast.ancestors():
            for sibling in parent.children:
                if sibling.start >= child.start:
                    break
                if sibling.kind == "DECL_STMT":
                    visible += [d for d in sibling.children if d.kind == "VAR_DECL"]
            child = parent
        for declaration in reversed(visible):
            names[declaration.spelling] = declaration.ref
        return names

    def dissolved(self, context: Context, site: Node) -> Iterable[Action]:
        """What a call does, as actions of its caller's node."""
        for node in context.order:
            for action in context.actions.get(node, ()):
                if isinstance(action, Access):
                    if action.base not in self.private and action.base.context is not context:
                        yield replace(action, sites=(*action.sites, site))
                else:
                    yield action

    # --- accesses

    def own(self, key: str) -> None:
        """A declaration inside device code: private to it."""
        if self.device:
            self.private.add(self.variable_base(key))

    def access(
        self, ptrs: Iterable[Ptr], kind: Type, write: bool, ast: Node, size: Poly | None = None, sized: bool = False
    ) -> None:
        """Record an access through pointers, to an object of a type (or of `size` bytes where sized)."""
        listed = list(ptrs)
        if not sized:
            size = constant(kind.size) if kind.size > 0 else None
        for ptr in listed:
            if ptr.base in self.private or ptr.base.kind in {"string", "device"}:
                continue
            single = len(listed) == 1
            certain = write and single and not ptr.base.many
            fresh = (ptr.loc, ptr.offset) if ptr.offset is not None else None
            exposed = not write and not (fresh in self.state.fresh and single)
            self.actions.append(
                Access(ptr.base, ptr.path, ptr.offset, size, write, certain, self.device, exposed, (ast,))
            )
            if write and single and fresh is not None and not ptr.base.many:
                self.state.fresh |= {fresh}

    def load(self, ptrs: Iterable[Ptr], kind: Type, ast: Node) -> Value:
        found: Value | None = None
        for ptr in ptrs:
            value = self.load_one(ptr, kind, ast)
            found = value if found is None else self.join_values(found, value, ptr.loc, ("load", id(ast)))
        if found is None:
            return NOTHING
        if is_integer(kind) and found.number is None:
            return Value(frozenset(), self.atoms.poly("value", self.context.number, id(ast)))
        return found

    def load_one(self, ptr: Ptr, kind: Type, ast: Node) -> Value:
        loc = ptr.loc
        if loc.base is self.found.unknown or loc.base.kind == "device":
            if kind.kind in {"pointer", "reference"}:
                return Value(frozenset({Ptr(loc.base, (), None, True)}))
            return NOTHING
        value = self.state.store.get(loc)
        if value is None:
            self.found.types.setdefault(loc, kind)
            value = self.initial(loc) or NOTHING
        if is_integer(kind) and (self.is_weak(ptr) or value.number is None):
            return Value(value.ptrs, self.atoms.poly("value", self.context.number, id(ast)))
        return value

    def is_weak(self, ptr: Ptr) -> bool:
        return ptr.weak or ptr.base.many or (ptr.base.kind in {"heap", "outside"} and ptr.base.type is None)

    def write(self, ptrs: Iterable[Ptr], value: Value, kind: Type, ast: Node) -> None:
        """Store a value in every place that is pointed to."""
        listed = list(ptrs)
        if is_integer(kind):
            if value.number is None:
                value = Value(frozenset(), self.atoms.poly("value", self.context.number, id(ast)))
        elif kind.kind not in {"pointer", "reference"} and not value.ptrs:
            return
        for ptr in listed:
            loc = ptr.loc
            if loc.base is self.found.unknown:
                continue
            self.found.types.setdefault(loc, kind)
            if len(listed) == 1 and not self.is_weak(ptr):
                self.state.store[loc] = value
            else:
                old = self.state.store.get(loc) or self.initial(loc)
                self.state.store[loc] = (
                    value
                    if old is None
                    else self.join_values(old, value, loc, ("weak", self.context.number, id(ast)))
                )

    def copy_record(self, sources: frozenset[Ptr], targets: frozenset[Ptr]) -> None:
        for target in targets:
            strong = len(targets) == 1 and not self.is_weak(target)
            if strong and len(sources) == 1 and target.base not in {p.base for p in sources}:
                at = len(target.path)
                for loc in [loc for loc in self.state.store if loc.base is target.base]:
                    if len(loc.path) > at and loc.path[:at] == target.path:
                        del self.state.store[loc]
            for source in sources:
                depth = len(source.path)
                for loc, value in list(self.state.store.items()):
                    if loc.base is source.base and loc.path[:depth] == source.path and len(loc.path) > depth:
                        to = Loc(target.base, target.path + loc.path[depth:])
                        if loc in self.found.types:
                            self.found.types.setdefault(to, self.found.types[loc])
                        if strong and len(sources) == 1:
                            self.state.store[to] = value
                        else:
                            old = self.state.store.get(to) or self.initial(to) or value
                            self.state.store[to] = self.join_values(old, value, to, ("copy", self.context.number))

    # --- lvalues

    def lval(self, node: Node) -> frozenset[Ptr]:
        method = getattr(self, f"lval_{node.kind.lower()}", None)
        if method is not None:
            found: frozenset[Ptr] = method(node)
            return found
        return self.rval(node).ptrs

    def lval_decl_ref_expr(self, node: Node) -> frozenset[Ptr]:
        variable = self.program.variables.get(node.ref)
        if variable is None:
            return frozenset()
        base = self.variable_base(node.ref)
        if variable.type.kind == "reference":
            value = self.state.store.get(Loc(base))
            if value is None:
                self.found.types.setdefault(Loc(base), variable.type)
                value = self.initial(Loc(base)) or NOTHING
            return value.ptrs
        return frozenset({Ptr(base, (), ZERO)})

    def lval_member_ref_expr(self, node: Node) -> frozenset[Ptr]:
        if node.children:
            inner = node.children[0]
            if inner.type.kind == "pointer":
                objects = self.targets(self.rval(inner))
            else:
                objects = self.lval(inner)
            record = inner.type
            while record.kind in {"pointer", "reference", "array"} and record.element is not None:
                record = record.element
        else:
            objects = self.this().ptrs
            record = None
        if node.ref in self.program.variables:  # a static member
            return frozenset({Ptr(self.variable_base(node.ref), (), ZERO)})
        return frozenset(self.member(p, node.spelling, record) for p in objects)

    lval_member_ref = lval_member_ref_expr

    def member(self, ptr: Ptr, name: str, record: Type | None) -> Ptr:
        if ptr.base is self.found.unknown or ptr.base.kind == "device":
            return Ptr(ptr.base, (), None, True)
        spelling = record.spelling if record is not None else self.context.function.record
        offset = None
        for entry in self.program.records.get(spelling.replace("const ", ""), ()):
            if entry.name == name and ptr.offset is not None:
                offset = ptr.offset + constant(entry.offset)
        return Ptr(ptr.base, (*ptr.path, name), offset, ptr.weak)

    def targets(self, value: Value) -> frozenset[Ptr]:
        """What a pointer that is followed leads to: unknown memory where nothing is known of it."""
        return value.ptrs or frozenset({Ptr(self.found.unknown, (), None, True)})

    def this(self) -> Value:
        loc = Loc(self.context.this)
        value = self.state.store.get(loc)
        if value is None:
            base = self.base(
                ("this", self.context), Base("outside", "*this", None, None, defined=True, handle=loc, foreign=True)
            )
            value = self.state.store[loc] = Value(frozenset({Ptr(base, (), ZERO)}))
        return value

    def lval_array_subscript_expr(self, node: Node) -> frozenset[Ptr]:
        array, index = node.children
        if array.type.kind == "scalar":
            array, index = index, array
        ptrs = self.lval(array) if array.type.kind == "array" else self.targets(self.rval(array))
        return self.shift(ptrs, self.rval(index).number, array.type)

    def shift(self, ptrs: frozenset[Ptr], count: Poly | None, kind: Type, sign: int = 1) -> frozenset[Ptr]:
        """Pointers moved by a number of elements."""
        size = self.size(kind.element) if kind.element is not None else None
        moved = []
        for ptr in ptrs:
            offset = None
            if ptr.offset is not None and count is not None and size is not None:
                offset = ptr.offset + count * size * constant(sign)
            weak = ptr.weak or count is None or bool(count.terms) or kind.kind == "array"
            moved.append(Ptr(ptr.base, ptr.path, offset, weak))
        return frozenset(moved)

    def size(self, kind: Type) -> Poly | None:
        return constant(kind.size) if kind.size > 0 else None

    def lval_unary_operator(self, node: Node) -> frozenset[Ptr]:
        if node.op == "*":
            return self.targets(self.rval(node.children[0]))
        if node.op in {"++", "--"}:
            self.rval(node)
            return self.lval(node.children[0])
        return self.rval(node).ptrs

    def lval_binary_operator(self, node: Node) -> frozenset[Ptr]:
        if node.op == "=":
            self.rval(node)
            return self.lval(node.children[0])
        if node.op == ",":
            self.rval(node.children[0])
            return self.lval(node.children[1])
        return self.rval(node).ptrs

    def lval_compound_assignment_operator(self, node: Node) -> frozenset[Ptr]:
        self.rval(node)
        return self.lval(node.children[0])

    def lval_conditional_operator(self, node: Node) -> frozenset[Ptr]:
        self.rval(node.children[0])
        return self.join_ptrs(self.lval(node.children[1]) | self.lval(node.children[2]))

    def lval_cast(self, node: Node) -> frozenset[Ptr]:
        return self.lval(node.children[0]) if node.children else frozenset()

    def lval_string_literal(self, node: Node) -> frozenset[Ptr]:
        base = self.base(("string",), Base("string", "a string", None, many=True, defined=True))
        return frozenset({Ptr(base, (), None, True)})

    # --- rvalues

    def rval(self, node: Node) -> Value:
        if node.value is not None:
            return Value(frozenset(), constant(node.value))
        method = getattr(self, f"rval_{node.kind.lower()}", None)
        if method is not None:
            found: Value = method(node)
            return found
        value = NOTHING
        for child in node.children:
            value = self.rval(child)
        return value if len(node.children) == 1 else NOTHING

    def rval_place(self, node: Node) -> Value:
        if node.kind == "DECL_REF_EXPR" and node.ref not in self.program.variables:
            return NOTHING
        return self.read(self.lval(node), node)

    rval_decl_ref_expr = rval_member_ref_expr = rval_array_subscript_expr = rval_member_ref = rval_place

    def read(self, ptrs: frozenset[Ptr], node: Node) -> Value:
        kind = node.type
        if kind.kind == "reference" and kind.element is not None:
            kind = kind.element
        if kind.kind == "array":
            return Value(ptrs)
        self.access(ptrs, kind, False, node)
        if kind.kind == "record":
            return Value(ptrs)
        return self.load(ptrs, kind, node)

    def rval_string_literal(self, node: Node) -> Value:
        return Value(self.lval_string_literal(node))

    def rval_cxx_this_expr(self, node: Node) -> Value:
        return self.this()

    def rval_cast(self, node: Node) -> Value:
        if not node.children:
            return NOTHING
        inner = node.children[0]
        if node.type.kind == "reference":
            return Value(self.lval(inner))
        value = self.rval(inner)
        if node.type.kind == "scalar" and not is_integer(inner.type):
            return NOTHING
        return value

    def rval_unary_operator(self, node: Node) -> Value:
        inner = node.children[0]
        op = node.op
        if op == "&":
            return Value(self.lval(inner))
        if op == "*":
            return self.read(self.lval(node), node)
        if op in {"++", "--", "p++", "p--"}:
            return self.step(node, inner, ONE, 1 if "+" in op else -1, op.startswith("p"))
        value = self.rval(inner)
        if op == "-" and value.number is not None:
            return Value(frozenset(), ZERO - value.number)
        return value if op == "+" else NOTHING

    def step(self, node: Node, target: Node, count: Poly | None, sign: int, old: bool) -> Value:
        ptrs = self.lval(target)
        self.access(ptrs, target.type, False, target)
        before = self.load(ptrs, target.type, target)
        if target.type.kind == "pointer":
            after = Value(self.shift(before.ptrs, count, target.type, sign))
        elif before.number is not None and count is not None:
            after = Value(frozenset(), before.number + count * constant(sign))
        else:
            after = NOTHING
        self.access(ptrs, target.type, True, node)
        self.write(ptrs, after, target.type, node)
        return before if old else after

    def rval_binary_operator(self, node: Node) -> Value:
        op = node.op
        left, right = node.children
        if op == "=":
            return self.assign(node, left, right)
        if op == ",":
            self.rval(left)
            return self.rval(right)
        a, b = self.rval(left), self.rval(right)
        if op in {"+", "-"} and node.type.kind == "pointer":
            if left.type.kind in {"pointer", "array"}:
                return Value(self.shift(a.ptrs, b.number, left.type, 1 if op == "+" else -1))
            return Value(self.shift(b.ptrs, a.number, right.type))
        if (
            op in {"+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^"}
            and is_integer(node.type)
            and a.number
            and b.number
        ):
            return Value(frozenset(), self.atoms.operation(op, a.number, b.number))
        return NOTHING

    def assign(self, node: Node, left: Node, right: Node) -> Value:
        if left.type.kind == "record":
            value = self.rval(right)
            ptrs = self.lval(left)
            self.access(ptrs, left.type, True, node)
            self.copy_record(value.ptrs, ptrs)
            return Value(ptrs)
        value = self.rval(right)
        ptrs = self.lval(left)
        self.access(ptrs, left.type, True, node)
        self.write(ptrs, value, left.type, node)
        return value

    def rval_compound_assignment_operator(self, node: Node) -> Value:
        left, right = node.children
        amount = self.rval(right)
        if node.op in {"+=", "-="}:
            return self.step(node, left, amount.number, 1 if node.op == "+=" else -1, False)
        ptrs = self.lval(left)
        self.access(ptrs, left.type, False, left)
        before = self.load(ptrs, left.type, left)
        after = NOTHING
        if before.number is not None and amount.number is not None and is_integer(left.type):
            after = Value(frozenset(), self.atoms.operation(node.op[:-1], before.number, amount.number))
        self.access(ptrs, left.type, True, node)
        self.write(ptrs, after, left.type, node)
        return after

    def rval_conditional_operator(self, node: Node) -> Value:
        self.rval(node.children[0])
        fresh = self.state.fresh
        a, b = self.rval(node.children[1]), self.rval(node.children[2])
        self.state.fresh = fresh
        if a == b:
            return a
        number = self.atoms.poly("choice", id(node), self.context.number) if a.number or b.number else None
        return Value(self.join_ptrs(a.ptrs | b.ptrs), number)

    def rval_init_list_expr(self, node: Node) -> Value:
        for child in node.children:
            self.rval(child)
        return NOTHING

    def rval_decl_stmt(self, node: Node) -> Value:
        for child in node.children:
            if child.kind == "VAR_DECL":
                self.declare(child)
        return NOTHING

    def rval_var_decl(self, node: Node) -> Value:
        self.declare(node)
        return NOTHING

    def rval_return_stmt(self, node: Node) -> Value:
        return NOTHING

    def rval_lambda_expr(self, node: Node) -> Value:
        # Executed where it is written: its accesses may happen, and its calls are not followed.
        for child in node.children:
            for inner in child.walk():
                statement = inner.parent is not None and inner.parent.kind.endswith("_STMT")
                if statement and inner.kind in EVALUATED:
                    self.rval(inner)
        return NOTHING

    def declare(self, node: Node) -> None:
        variable = self.program.variables[node.ref]
        base = self.variable_base(node.ref)
        self.own(node.ref)
        kind = variable.type
        if base.context is not None and base not in self.private:
            self.actions.append(Birth(base, node))
        if kind.kind == "array" and kind.size < 0 and base.extent is None:
            extent = self.size(kind.innermost)
            for dimension in node.children:
                number = self.rval(dimension).number
                extent = extent * number if extent is not None and number is not None else None
            base.extent = extent
            return
        if node.op != "=":
            if is_vector(kind):
                return
            if base.context is not None:
                for loc in [loc for loc in self.state.store if loc.base is base]:
                    del self.state.store[loc]
            return
        init = node.children[0]
        target = frozenset({Ptr(base, (), ZERO)})
        if kind.kind == "reference":
            self.found.types.setdefault(Loc(base), kind)
            ptrs = self.lval(init)
            self.state.store[Loc(base)] = Value(ptrs)
        elif kind.kind == "record":
            self.initialise_record(target, kind, init, node)
        elif kind.kind == "array":
            self.initialise_array(target, kind, init)
            self.access(target, kind, True, node)
        else:
            value = self.rval(init)
            self.access(target, kind, True, node)
            self.write(target, value, kind, node)

    def initialise_record(self, target: frozenset[Ptr], kind: Type, init: Node, node: Node) -> None:
        if init.kind == "INIT_LIST_EXPR":
            fields = self.program.records.get(kind.spelling.replace("const ", ""), ())
            for entry, value in zip(fields, init.children, strict=False):
                member = frozenset(self.member(p, entry.name, kind) for p in target)
                if entry.type.kind == "record":
                    self.initialise_record(member, entry.type, value, node)
                else:
                    self.write(member, self.rval(value), entry.type, value)
            self.access(target, kind, True, node)
        elif init.kind == "CALL_EXPR" and init.op == "construct":
            self.construct(target, kind, init)
        else:
            source = self.rval(init)
            self.access(target, kind, True, node)
            self.copy_record(source.ptrs, target)

    def initialise_array(self, target: frozenset[Ptr], kind: Type, init: Node) -> None:
        element = kind.element
        if element is None:
            return
        weak = frozenset(Ptr(p.base, p.path, None, True) for p in target)
        for child in init.children:
            if element.kind == "array":
                self.initialise_array(weak, element, child)
            elif element.kind == "record":
                self.initialise_record(weak, element, child, child)
            else:
                self.write(weak, self.rval(child), element, child)

    # --- allocation

    def allocate(self, node: Node, size: Poly | None, kind: Type | None, defined: bool) -> Value:
        chain = tuple(c.number for c in self.context.chain())
        base = self.base(("heap", id(node), chain), Base("heap", "", kind, None, origin=node))
        base.extent = size
        base.defined = False
        base.name = f"memory allocated at line {node.line}"
        if kind is not None and (kind.kind != "record" or size is None or size.value != kind.size):
            base.type = None if kind.kind != "record" else kind
        base.many = self.in_loop(node)
        self.actions.append(Birth(base, node))
        if defined:
            self.actions.append(Access(base, (), ZERO, size, True, True, self.device, False, (node,), True))
        return Value(frozenset({Ptr(base, (), ZERO)}))

    def in_loop(self, node: Node) -> bool:
        """Whether an allocation may execute twice while what it made first is in use."""
        if any(p.kind in {"FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT"} for p in node.ancestors()):
            return self.outlives_iteration(node)
        return False

    def outlives_iteration(self, node: Node) -> bool:
        # Stored in a variable that the loop's body declares: one piece for each iteration, at most one at a time.
        for parent in node.ancestors():
            if parent.kind == "VAR_DECL":
                return False
            if parent.kind in {"BINARY_OPERATOR"} and parent.op == "=":
                return parent.children[0].kind != "DECL_REF_EXPR"
        return True

    def rval_cxx_new_expr(self, node: Node) -> Value:
        element = node.type.element
        size = self.size(element) if element is not None else None
        if node.op == "[]" and node.children:
            count = self.rval(node.children[0]).number
            size = size * count if size is not None and count is not None else None
            return self.allocate(node, size, element, len(node.children) > 1)
        value = self.allocate(node, size, element, False)
        for child in node.children:
            if child.kind == "CALL_EXPR" and child.op == "construct" and element is not None:
                self.construct(value.ptrs, element, child)
            else:
                self.rval(child)
        return value

    def rval_cxx_delete_expr(self, node: Node) -> Value:
        for child in node.children:
            self.release(self.rval(child).ptrs, node)
        return NOTHING

    def release(self, ptrs: Iterable[Ptr], node: Node) -> None:
        self.actions.extend(Release(p.base, node) for p in ptrs if p.base.kind in {"heap", "outside"})

    # --- calls

    def rval_call_expr(self, node: Node) -> Value:
        value = self.call(node)
        if node.type.kind in {"reference"} or (node.ref and self.returns_reference(node)):
            return self.read(value.ptrs, node)
        return value

    def returns_reference(self, node: Node) -> bool:
        function = self.program.functions.get(node.ref)
        return function is not None and function.result.kind == "reference"

    def lval_call_expr(self, node: Node) -> frozenset[Ptr]:
        return self.call(node).ptrs

    def call(self, node: Node) -> Value:
        function = self.program.functions.get(node.ref)
        if function is None:
            for child in node.children:
                self.rval(child)
            if node.op == "indirect":
                self.found.incomplete.setdefault("a call through a pointer or of an unknown function", node)
            return NOTHING
        if function.record.replace("const ", "").startswith("std::") or function.is_system:
            return self.library_call(node, function)
        if function.name == "operator=" and function.body is None and len(node.children) == 2:
            return self.assign(node, node.children[0], node.children[1])
        arguments = list(node.children)
        this = frozenset[Ptr]()
        if node.op == "member":
            this = self.member_object(arguments.pop(0))
        elif node.op == "operator" and function.is_method and arguments:
            this = self.lval(arguments.pop(0))
        elif node.op == "construct":
            temporary = self.base(
                ("temporary", id(node), self.context), Base("variable", "temporary", node.type, self.context)
            )
            this = frozenset({Ptr(temporary, (), ZERO)})
            self.construct(this, node.type, node)
            return Value(this)
        return self.invoke(node, function, arguments, this)

    def member_object(self, callee: Node) -> frozenset[Ptr]:
        if not callee.children:
            return self.this().ptrs
        inner = callee.children[0]
        return self.rval(inner).ptrs if inner.type.kind == "pointer" else self.lval(inner)

    def construct(self, target: frozenset[Ptr], kind: Type, node: Node) -> None:
        function = self.program.functions.get(node.ref)
        if is_vector(kind):
            self.vector_call(target, "construct", [self.rval(a) for a in node.children], node)
        elif function is not None and function.body is not None and not function.is_system:
            self.invoke(node, function, node.children, target)
        else:
            values = [self.rval(a) for a in node.children]
            if len(values) == 1 and node.children[0].type.kind == "record":
                self.copy_record(values[0].ptrs, target)
            self.access(target, kind, True, node)

    def invoke(self, node: Node, function: Function, arguments: list[Node], this: frozenset[Ptr]) -> Value:
        values = []
        for k, argument in enumerate(arguments):
            parameter = function.parameters[k] if k < len(function.parameters) else None
            if parameter is not None and parameter.type.kind == "reference":
                values.append(Value(self.lval(argument)))
            else:
                values.append(self.rval(argument))
        chain = self.context.chain()
        if function.body is None or len(chain) > DEPTH or any(c.function is function for c in chain):
            if function.body is not None and function.key in self.with_device:
                self.found.incomplete.setdefault("recursion that reaches device code", node)
            return self.unknown_call(node, function, arguments, values, this)
        context = self.make_context(function, self.context, node)
        entry = self.state.copy()
        if self.device or function.key not in self.with_device:
            pass
        else:
            entry.fresh = frozenset()
        caller = self.context
        self.context = context
        if this:
            entry.store[Loc(context.this)] = Value(this)
        outer, self.state = self.state, entry
        for parameter, value, argument in zip(function.parameters, values, arguments, strict=False):
            self.own(parameter.key)
            self.bind(parameter, value, argument)
        self.state = outer
        self.context = caller
        if context.input is None or context.input.store != entry.store or context.input.fresh != entry.fresh:
            context.input = entry.copy()
            context.output = self.run(context, entry)
        self.ended = False
        if function.key in self.with_device and not self.device:
            self.actions.append(context)
        else:
            self.actions.extend(self.dissolved(context, node))
        if context.output is None:
            self.ended = not self.in_branch(node)
            return NOTHING
        self.state = context.output.copy()
        for loc in [
            loc for loc in self.state.store if loc.base.context is context and loc.base is not context.result
        ]:
            del self.state.store[loc]
        return context.returned

    def bind(self, parameter: Variable, value: Value, argument: Node) -> None:
        base = self.variable_base(parameter.key)
        loc = Loc(base)
        self.found.types.setdefault(loc, parameter.type)
        if parameter.type.kind == "record":
            self.copy_record(value.ptrs, frozenset({Ptr(base, (), ZERO)}))
        else:
            if is_integer(parameter.type) and value.number is None:
                value = Value(frozenset(), self.atoms.poly("value", self.context.number, id(argument)))
            self.state.store[loc] = value
        base.defined = True

    # --- functions without a body

    def library_call(self, node: Node, function: Function) -> Value:
        name = function.name
        arguments = list(node.children)
        this = frozenset[Ptr]()
        object_type: Type | None = None
        if node.op == "member":
            callee = arguments.pop(0)
            this = self.member_object(callee)
            object_type = callee.children[0].type if callee.children else None
            if object_type is not None and object_type.kind == "pointer":
                object_type = object_type.element
        elif node.op == "operator" and arguments and is_vector(arguments[0].type):
            object_type = arguments[0].type
            this = self.lval(arguments.pop(0))
        if is_vector(object_type):
            return self.vector_call(this, name, [self.rval(a) for a in arguments], node)
        if name == "swap" and len(arguments) == 2:
            return self.swap(arguments[0], arguments[1], node)
        if name in {"move", "forward", "as_const", "addressof"} and len(arguments) == 1:
            return Value(self.lval(arguments[0]))
        values = [self.rval(a) for a in arguments]
        if name in ALLOCATORS:
            sizes = [values[k].number for k in ALLOCATORS[name] if k < len(values)]
            size: Poly | None = ONE
            for part in sizes:
                size = size * part if size is not None and part is not None else None
            return self.allocate(node, size, self.allocated_type(node), name in DEFINED)
        if name == "posix_memalign" and len(values) == 3:
            made = self.allocate(node, values[2].number, None, False)
            kind = Type("pointer", "void *", 8)
            self.access(values[0].ptrs, kind, True, node)
            self.write(values[0].ptrs, made, kind, node)
            return NOTHING
        if name in RELEASES:
            if values:
                self.release(values[0].ptrs, node)
            return NOTHING
        if name in ENDS:
            self.ended = not self.in_branch(node)
            return NOTHING
        if name in {"min", "max"} and len(values) == 2:
            numbers = [v.number for v in values]
            if numbers[0] is not None and numbers[1] is not None:
                return Value(frozenset(), self.atoms.operation(name, numbers[0], numbers[1]))
            return NOTHING
        effect = EFFECTS.get(name)
        if effect is None:
            return self.unknown_call(node, function, arguments, values, this)
        return self.effect(node, effect, arguments, values)

    @staticmethod
    def in_branch(node: Node) -> bool:
        """Whether an expression is evaluated only under a condition of its own statement."""
        for parent in node.ancestors():
            if parent.kind.endswith("_STMT"):
                return False
            if parent.kind == "CONDITIONAL_OPERATOR" or parent.op in {"&&", "||"}:
                return True
        return False

    def allocated_type(self, node: Node) -> Type | None:
        """What an allocation is cast to, or assigned to."""
        for parent in node.ancestors():
            if parent.kind in {"CAST", "VAR_DECL", "BINARY_OPERATOR"}:
                kind = parent.children[0].type if parent.kind == "BINARY_OPERATOR" else parent.type
                return kind.element if kind.kind == "pointer" else None
            if parent.kind.endswith("_STMT"):
                return None
        return None

    def swap(self, left: Node, right: Node, node: Node) -> Value:
        a, b = self.lval(left), self.lval(right)
        if is_vector(left.type):
            old_a, old_b = self.vector_data(a), self.vector_data(b)
            for targets, data in ((a, old_b), (b, old_a)):
                for ptr in targets:
                    self.state.store[Loc(ptr.base, (*ptr.path, "data()"))] = Value(data)
            return NOTHING
        first, second = self.load(a, left.type, left), self.load(b, right.type, right)
        for ptrs, value, place in ((a, second, left), (b, first, right)):
            self.access(ptrs, place.type, False, node)
            self.access(ptrs, place.type, True, node)
            self.write(ptrs, value, place.type, node)
        return NOTHING

    def pointee(self, kind: Type) -> Type:
        return kind.element if kind.kind in {"pointer", "array", "reference"} and kind.element else kind

    def effect(self, node: Node, effect: Effect, arguments: list[Node], values: list[Value]) -> Value:
        size: Poly | None = ONE if effect.size else None
        for k in effect.size:
            number = values[k].number if k < len(values) else None
            size = size * number if size is not None and number is not None else None
        for k, (argument, value) in enumerate(zip(arguments, values, strict=True)):
            reads = k in effect.reads or (effect.open_reads is not None and k >= effect.open_reads)
            writes = k in effect.writes or (effect.open_writes is not None and k >= effect.open_writes)
            if not value.ptrs or not (reads or writes):
                continue
            one = effect.open_writes is not None and k >= effect.open_writes
            extent = self.size(self.pointee(argument.type)) if one else size
            if reads:
                self.access(value.ptrs, OTHER, False, node, extent, True)
            if writes:
                self.whole_write(value.ptrs, node, extent, effect.must or one, arguments[k], effect is COPIES)
        if effect.returns is not None and effect.returns < len(values):
            return values[effect.returns]
        return NOTHING

    def whole_write(
        self, ptrs: frozenset[Ptr], node: Node, size: Poly | None, must: bool, argument: Node, copies: bool = False
    ) -> None:
        before = len(self.actions)
        self.access(ptrs, OTHER, True, node, size, True)
        if not must:
            self.actions[before:] = [
                replace(a, certain=False) if isinstance(a, Access) else a for a in self.actions[before:]
            ]
        kind = self.pointee(argument.type)
        for ptr in ptrs:
            for loc, value in list(self.state.store.items()):
                inside = loc.base is ptr.base and loc.path[: len(ptr.path)] == ptr.path
                if inside and value.number is not None:
                    fresh = self.atoms.poly("written", self.context.number, id(node), loc)
                    self.state.store[loc] = Value(value.ptrs, fresh)
            if is_integer(kind) and len(ptrs) == 1 and not self.is_weak(ptr):
                self.found.types.setdefault(ptr.loc, kind)
                self.state.store[ptr.loc] = Value(
                    frozenset(), self.atoms.poly("written", self.context.number, id(node), ptr.loc)
                )

    def unknown_call(
        self, node: Node, function: Function, arguments: list[Node], values: list[Value], this: frozenset[Ptr]
    ) -> Value:
        """A function whose body is not seen: by the constness of what its parameters lead to."""
        for k, (argument, value) in enumerate(zip(arguments, values, strict=False)):
            if not value.ptrs:
                continue
            parameter = function.parameters[k].type if k < len(function.parameters) else argument.type
            target = self.pointee(parameter) if parameter.kind in {"pointer", "reference"} else parameter
            reached = self.reachable(value.ptrs) if not function.is_system else value.ptrs
            const = target.const or "const" in target.spelling.split("*")[0] or parameter.kind == "scalar"
            self.access(value.ptrs, OTHER, False, node, None, True)
            if not const and parameter.kind in {"pointer", "reference", "array"}:
                self.whole_write(value.ptrs, node, None, False, argument)
            for ptr in reached - value.ptrs:
                self.access({ptr}, OTHER, False, node, None, True)
                self.whole_write(frozenset({ptr}), node, None, False, argument)
        for ptr in this:
            self.access({ptr}, OTHER, False, node, None, True)
            self.whole_write(frozenset({ptr}), node, None, False, node)
        if function.result.kind in {"pointer", "reference"}:
            key = ("returned", id(node), self.context)
            base = self.base(
                key,
                Base("outside", f"{function.name}()", function.result.element, None, defined=True, foreign=True),
            )
            alike = {p for v in values for p in v.ptrs if not function.is_system}
            return Value(self.join_ptrs(frozenset({Ptr(base, (), ZERO), *alike})))
        return NOTHING

    def reachable(self, ptrs: frozenset[Ptr]) -> frozenset[Ptr]:
        found = set(ptrs)
        bases = {p.base for p in ptrs}
        while True:
            more = {
                target
                for loc, value in self.state.store.items()
                if loc.base in bases
                for target in value.ptrs
                if target.base not in bases and target.base.kind not in {"string", "unknown"}
            }
            if not more:
                return frozenset(found)
            found |= more
            bases |= {p.base for p in more}

    # --- std::vector

    def vector_data(self, objects: frozenset[Ptr]) -> frozenset[Ptr]:
        found: set[Ptr] = set()
        for ptr in objects:
            loc = Loc(ptr.base, (*ptr.path, "data()"))
            value = self.state.store.get(loc)
            if value is None:
                made = self.base(
                    ("vector", loc),
                    Base(
                        "vector",
                        f"{'.'.join((ptr.base.name, *ptr.path))}.data()",
                        None,
                        None,
                        many=ptr.base.many,
                        defined=ptr.base.defined,
                    ),
                )
                value = self.state.store[loc] = Value(frozenset({Ptr(made, (), ZERO, True)}))
            found |= value.ptrs
        return frozenset(found)

    def vector_call(self, objects: frozenset[Ptr], name: str, values: list[Value], node: Node) -> Value:
        data = self.vector_data(objects)
        first = values[0].number if values else None
        if name in {"operator[]", "at"}:
            element = node.type
            size = self.size(element.element if element.kind == "reference" and element.element else element)
            if size is None:
                return Value(frozenset(Ptr(p.base, p.path, None, True) for p in data))
            self.element_size(data, size)
            offset = first * size if first is not None else None
            return Value(
                frozenset(
                    Ptr(
                        p.base,
                        p.path,
                        p.offset + offset if p.offset is not None and offset is not None else None,
                        True,
                    )
                    for p in data
                )
            )
        if name in VECTOR_ACCESS or name == "get":
            if node.type.element is not None and node.type.element.size > 0:
                self.element_size(data, constant(node.type.element.size))
            return Value(data)
        if name in {"size", "length"}:
            for loc in (Loc(p.base, ("size()",)) for p in data):
                value = self.state.store.get(loc)
                if value is not None and len(data) == 1:
                    return value
                self.found.types.setdefault(loc, Type("scalar", "unsigned long", 8))
                return Value(frozenset(), self.atoms.poly("init", loc))
            return NOTHING
        if name in {"construct", "resize", "assign", "operator="} or name in VECTOR_RESIZE:
            for ptr in data:
                loc = Loc(ptr.base, ("size()",))
                known = name in {"construct", "resize", "assign"} and first is not None
                count = first if known else self.atoms.poly("value", self.context.number, id(node))
                self.found.types.setdefault(loc, Type("scalar", "unsigned long", 8))
                self.state.store[loc] = Value(frozenset(), count)
            self.access(data, OTHER, True, node, None, True)
            return NOTHING
        return NOTHING

    def element_size(self, data: frozenset[Ptr], size: Poly) -> None:
        """The extent of a vector's data, now that its elements are known."""
        for ptr in data:
            count = self.state.store.get(Loc(ptr.base, ("size()",)))
            if count is not None and count.number is not None and ptr.base.extent is None:
                ptr.base.extent = count.number * size


def _reverse_postorder(graph: nx.DiGraph) -> list[int]:
    """Reverse postorder in which the body of a loop comes before what follows the loop."""
    order: list[int] = []
    seen = {cfg.ENTRY}
    stack = [(cfg.ENTRY, iter(reversed(list(graph.successors(cfg.ENTRY)))))]
    while stack:
        node, successors = stack[-1]
        for successor in successors:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(reversed(list(graph.successors(successor))))))
                break
        else:
            order.append(node)
            stack.pop()
    return order[::-1]


EVALUATED = {"BINARY_OPERATOR", "CALL_EXPR", "COMPOUND_ASSIGNMENT_OPERATOR", "UNARY_OPERATOR"}
OTHER = Type("other", "")
COPIES = EFFECTS["memcpy"]
