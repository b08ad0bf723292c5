"""Which functions reach device code: the closure over direct calls.

Not handled: calls through pointers. The interpretation reports those as incomplete where it meets them.
"""

from __future__ import annotations

from racedart.analyzer.source.tree import Program


def reaches_device(program: Program) -> set[str]:
    """Keys of the functions in whose calls a data or target directive can be met."""
    calls: dict[str, set[str]] = {}
    found = set()
    for function in program.functions.values():
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
