"""One call of a function as the interpretation saw it: its graph, states and what each node does in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from racedart.analyzer.flow.state import Access, Base, Birth, Release, State, Value
from racedart.analyzer.source.tree import Function, Node


@dataclass(eq=False, slots=True)
class Context:
    """A function in one chain of calls.

    graph: its AST-CFG; order: nodes in reverse postorder. states: the state before each node that is reached.
    actions: what each node does, in order: accesses, and the calls (Contexts) that hold device code; other calls
    are dissolved into their accesses. ended: nodes that do not reach their end.
    """

    number: int
    function: Function
    parent: Context | None
    call: Node | None
    graph: Any
    order: list[int]
    rank: dict[int, int]
    this: Base
    result: Base
    owner: Context | None = None
    states: dict[int, State] = field(default_factory=dict)
    actions: dict[int, list[Action]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    loop_starts: dict[int, Value] = field(default_factory=dict)
    input: State | None = None
    output: State | None = None
    returned: Value = field(default_factory=Value)

    @property
    def home(self) -> Context:
        """The call whose variables this code uses: a kernel's body uses those of the call that launches it."""
        return self if self.owner is None else self.owner

    def chain(self) -> list[Context]:
        """The call and its callers, innermost first."""
        found: list[Context] = []
        context: Context | None = self
        while context is not None:
            found.append(context)
            context = context.parent
        return found


Action = Access | Birth | Release | Context
"""One thing that a node does."""
