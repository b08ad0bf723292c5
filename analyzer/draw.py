"""The AST-CFG of a program as a drawing: Graphviz's dot language, or SVG where Graphviz is installed.

One cluster for each function that holds device code, or is called from one that does: a node for each statement,
its line and text; kernels and data directives filled.
"""

from __future__ import annotations

import shutil
import subprocess

from racedart.analyzer.flow import cfg
from racedart.analyzer.programs import Program
from racedart.analyzer.source.clang import parse_units
from racedart.analyzer.source.tree import Node
from racedart.analyzer.source.tree import Program as Parsed
from racedart.finding.errors import InputError, MissingDependencyError, UsageError

_FILLS = {"kernel": "lightsalmon", "alone": "lightblue", "begin": "lightblue", "end": "lightblue"}
_SHAPES = {"condition": "diamond", "head": "diamond", "entry": "circle", "exit": "doublecircle"}
FORMATS = ("dot", "svg")


def draw(program: Program, output_format: str) -> str:
    """The drawing. Raises MissingDependencyError for SVG without Graphviz, UsageError for another format."""
    if output_format not in FORMATS:
        raise UsageError(f"a graph is drawn as .dot or .svg, not {output_format!r}")
    text = dot(parse_units([(unit.path, unit.arguments, unit.folder) for unit in program.units]))
    if output_format == "dot":
        return text
    program_path = shutil.which("dot")
    if program_path is None:
        raise MissingDependencyError(
            "an SVG needs Graphviz: apt-get install graphviz; or give a file that ends in .dot"
        )
    done = subprocess.run(
        [program_path, "-Tsvg"], input=text, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode != 0:
        raise InputError(f"Graphviz cannot draw the graph: {done.stderr.strip()[:500]}")
    return done.stdout


def dot(parsed: Parsed) -> str:
    """All functions with a body in dot."""
    lines = ["digraph program {", '  node [shape=box, fontname="monospace", fontsize=10];']
    functions = [f for f in parsed.functions.values() if f.body is not None and not f.is_system]
    for number, function in enumerate(functions):
        assert function.body is not None
        graph = cfg.build_cfg(function.body)
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(function.name)};"]
        for node, data in graph.nodes(data=True):
            role, ast = data["role"], data["ast"]
            style = f', style=filled, fillcolor="{_FILLS[role]}"' if role in _FILLS else ""
            shape = f", shape={_SHAPES[role]}" if role in _SHAPES else ""
            lines.append(f"    n{number}_{node} [label={_quoted(_label(parsed, role, ast))}{shape}{style}];")
        for source, target, branch in graph.edges(data="branch"):
            label = {True: ' [label="yes"]', False: ' [label="no"]'}.get(branch, "")
            lines.append(f"    n{number}_{source} -> n{number}_{target}{label};")
        lines.append("  }")
    return "\n".join([*lines, "}", ""])


def _label(parsed: Parsed, role: str, ast: Node | None) -> str:
    if ast is None:
        return role
    if ast.directive is not None:
        return f"{ast.line}: {'end of ' if role == 'end' else ''}{ast.directive.kind}"
    node = ast.children[1] if role == "head" and ast.kind == "FOR_STMT" else ast
    text = " ".join(parsed.text(node).split())
    return f"{ast.line}: {text[:60]}{'...' if len(text) > 60 else ''}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
