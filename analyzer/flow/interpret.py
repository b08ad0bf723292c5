"""The interpretation of a program: which memory each piece of code reads and writes, on which device.

An abstract interpretation over the AST-CFG of every function, from the roots (main, else functions that nobody
calls). A call is interpreted anew in each context, so facts are context-sensitive; locals, members and pointers
are flow-sensitive. A target construct executes its body with the device as the side of all accesses; what a clause
makes private, and what is declared inside, is left out.

Sound for: assignments, address-of, pointer arithmetic, members, references, calls of functions whose body is seen,
the library functions of effects.py and, for std::vector, access to its data. Taken on trust: a function without a
body touches only what its arguments lead to; integer arithmetic does not wrap around. `incomplete` holds what was
met and is not described: recursion that reaches device code, calls through pointers.

The machine is built in layers, each in a module: machine (contexts, objects, joins), memory (accesses),
expressions, declarations, allocation, vectors, library, calls, loops and kernels. This one drives them over the
nodes.
"""

from __future__ import annotations

import heapq

from racedart.analyzer.flow import cfg
from racedart.analyzer.flow.calls import Calls
from racedart.analyzer.flow.context import Context
from racedart.analyzer.flow.declarations import Declarations
from racedart.analyzer.flow.facts import Interpretation
from racedart.analyzer.flow.kernels import Kernels
from racedart.analyzer.flow.state import NOTHING, Loc, Ptr, State, Value
from racedart.analyzer.flow.symbolic import ZERO
from racedart.analyzer.source.tree import Function, Node, Program


def interpret(program: Program) -> Interpretation:
    """Interpret the whole program."""
    found = Interpretation(program)
    machine = _Interpreter(found)
    called = {n.ref for f in program.functions.values() if f.body for n in f.body.walk() if n.ref != f.key}
    bodies = [f for f in program.functions.values() if f.body is not None and not f.is_system]
    roots = [f for f in bodies if f.name == "main" and not f.record]
    found.closed = bool(roots)
    if not roots:
        roots = [f for f in bodies if f.key not in called and f.key in machine.with_device]
    for function in roots:
        machine.root(function)
    return found


class _Interpreter(Calls, Declarations, Kernels):
    """The fixpoint over the nodes of every context."""

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
