"""From C and C++ sources with OpenMP `target` directives to data mappings and findings.

    mapping = infer(["solver.c"], args=("-DN=100",))
    mapping.diff()          # the inserted directives as a unified diff
    mapping.decisions       # each with its reason
    mapping.findings        # why there is no mapping, where there is none

The way: source (libclang trees, with the directives that pragma reads) -> flow (graphs, points-to, accesses) ->
mapping (regions, map types, updates) -> rewrite (edits); verify compiles and runs the result.
"""

from __future__ import annotations

from racedart.analyzer.inference import Decision, Mapping, infer, infer_program

__all__ = ["Decision", "Mapping", "infer", "infer_program"]
