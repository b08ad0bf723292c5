"""Target constructs: their body with the device as the side of all accesses.

The body is a context of its own, inside that of its function. What clauses make private, what is declared inside
and the variables of the loops that are distributed leave no accesses (OpenMP 5.2, 5.1.1); pointers of
`is_device_ptr` lead to memory of the device. A reduction reads and writes its variable. Not handled: `if` and
`device` clauses, which may have the host execute the body: it is described as if the device did.
"""

from __future__ import annotations

from racedart.analyzer.flow.context import Context
from racedart.analyzer.flow.loops import Loops
from racedart.analyzer.flow.state import Access, Base, Loc, Ptr, Value
from racedart.analyzer.flow.symbolic import ZERO
from racedart.analyzer.source.tree import Node


class Kernels(Loops):
    """Execution of target constructs."""

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
        """The access to an object that a clause makes."""
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
