"""CuPy's raw kernels: as objects, and in the text of a program, which need not run and needs no CuPy.

`RawKernel(code, name, options)` and `RawModule(code=..., options=..., name_expressions=...)` hold CUDA C++ (CuPy
reference, "Raw kernels"). In a source file the code is a string constant, a name bound to one, constants joined
with +, `textwrap.dedent`/`strip` of one, or `open(path).read()` or `Path(path).read_text()` of a constant path. A
string that stands in the file as it is keeps the file's own lines in findings.

Code that is computed in any other way is refused with the line; so are ElementwiseKernel, ReductionKernel and
kernels of `cupyx.jit`, of which the CUDA C++ is made by CuPy itself.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from racedart.finding.errors import InputError
from racedart.shadow.frontends.cuda_cpp import CudaKernel, cuda_kernel

RAW = ("RawKernel", "RawModule")
MADE_BY_CUPY = ("ElementwiseKernel", "ReductionKernel", "rawkernel")


@dataclass(frozen=True)
class Raw:
    """A call that makes a raw kernel or module. variable: the name it is bound to, or "". names: of its kernels."""

    kind: str
    variable: str
    names: tuple[str, ...]
    line: int
    call: ast.Call

    @property
    def shown(self) -> str:
        """The names by which a kernel of it is chosen."""
        return ", ".join(self.names) or f"{self.variable or 'RawModule'} (line {self.line})"


@dataclass(frozen=True)
class _Text:
    """A string and the place in the file where it stands literally: its first line, or 0."""

    value: str
    line: int = 0
    path: str = ""


@dataclass
class CupySource:
    """The raw kernels of a Python file."""

    path: str
    text: str
    raws: list[Raw] = field(default_factory=list)
    made_by_cupy: dict[str, int] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)

    def kernel(self, name: str) -> CudaKernel | None:
        """The raw kernel that a name means, its own or that of the variable that holds it; None if there is none.

        Raises InputError for a kernel whose code cannot be read from the file.
        """
        if name in self.made_by_cupy:
            raise InputError(
                f"{self.path}:{self.made_by_cupy[name]}: {name} is a kernel that CuPy makes itself "
                f"({', '.join(MADE_BY_CUPY)}), which cannot be checked: write it as a RawKernel"
            )
        plain = name.split("<")[0].split("(")[0].strip()
        named = [raw for raw in self.raws if name in raw.names]
        named += [raw for raw in self.raws if raw.kind == "RawKernel" and raw.variable == name]
        if not named:
            # A kernel of a module is named only where the program fetches it, or by its code.
            named = [raw for raw in self.raws if raw.kind == "RawModule" and self._declares(raw, plain)]
        if not named:
            return None
        raw = named[0]
        chosen = name if name in raw.names or raw.kind == "RawModule" else raw.names[0]
        code = self._argument(raw, 0, "code")
        path = self._argument(raw, 1, "path") if raw.kind == "RawModule" else None
        if code is None and path is not None:
            return cuda_kernel(self._beside(self._string(path, raw.line).value), chosen, self._options(raw))
        if code is None:
            raise InputError(f"{self.path}:{raw.line}: the {raw.kind} of {name} has no code")
        text = self._string(code, raw.line)
        if text.path:
            return cuda_kernel(text.path, chosen, self._options(raw))
        return self._literal(text, chosen, raw)

    def _literal(self, text: _Text, name: str, raw: Raw) -> CudaKernel:
        options = (*self._options(raw), *_cupy_headers())
        folder = (os.path.dirname(os.path.abspath(self.path)),)
        if text.line:
            return CudaKernel(f'#line {text.line} "{self.path}"\n{text.value}', self.path, name, options, folder)
        return CudaKernel(text.value, "", name, options, folder)

    def _declares(self, raw: Raw, plain: str) -> bool:
        code = self._argument(raw, 0, "code")
        if code is None:
            return False
        try:
            return f" {plain}(" in self._string(code, raw.line).value.replace("\n", " ")
        except InputError:
            return False

    def _argument(self, raw: Raw, position: int, keyword: str) -> ast.expr | None:
        for given in raw.call.keywords:
            if given.arg == keyword:
                return given.value
        return raw.call.args[position] if len(raw.call.args) > position else None

    def _options(self, raw: Raw) -> tuple[str, ...]:
        given = self._argument(raw, 2, "options")
        if given is None:
            return ()
        value = self.constants.get(given.id, given) if isinstance(given, ast.Name) else given
        if not isinstance(value, (ast.Tuple, ast.List)):
            raise InputError(
                f"{self.path}:{given.lineno}: the options are no tuple of strings that stand in the file"
            )
        return tuple(self._string(item, raw.line).value for item in value.elts)

    def _string(self, node: ast.expr, line: int) -> _Text:
        """The text of an expression. Raises InputError where it is computed in a way that is not followed."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return _Text(node.value, self._first_line(node))
        if isinstance(node, ast.Name) and node.id in self.constants:
            return self._string(self.constants[node.id], line)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return _Text(self._string(node.left, line).value + self._string(node.right, line).value)
        if isinstance(node, ast.Call):
            name = _last_name(node.func)
            if name == "dedent" and len(node.args) == 1:
                inner = self._string(node.args[0], line)
                return _Text(textwrap.dedent(inner.value), inner.line)
            if name in {"strip", "lstrip", "rstrip"} and isinstance(node.func, ast.Attribute) and not node.args:
                inner = self._string(node.func.value, line)
                skipped = len(inner.value) - len(inner.value.lstrip())
                before = inner.value[:skipped].count("\n") if name != "rstrip" else 0
                return _Text(getattr(inner.value, name)(), inner.line and inner.line + before)
            opened = _opened(node)
            if opened is not None:
                path = self._beside(self._path(opened, line))
                try:
                    return _Text(Path(path).read_text(encoding="utf-8"), 1, path)
                except (OSError, UnicodeDecodeError) as error:
                    raise InputError(f"{self.path}:{line}: {path} cannot be read: {error}") from error
        raise InputError(
            f"{self.path}:{getattr(node, 'lineno', line)}: this part of the kernel is computed when the program "
            f"runs ({ast.unparse(node)[:60]}): save the CUDA code to a .cu file, or bind it to a constant"
        )

    def _path(self, node: ast.expr, line: int) -> str:
        """A path, with `__file__`, `os.path.dirname` and `os.path.join` followed."""
        if isinstance(node, ast.Name) and node.id == "__file__":
            return os.path.abspath(self.path)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return os.path.join(self._path(node.left, line), self._path(node.right, line))
        if isinstance(node, ast.Attribute) and node.attr == "parent":
            return os.path.dirname(self._path(node.value, line))
        if isinstance(node, ast.Call):
            parts = [self._path(argument, line) for argument in node.args]
            name = _last_name(node.func)
            if name == "dirname" and parts:
                return os.path.dirname(parts[0])
            if name in {"join", "Path", "abspath"} and parts:
                return os.path.join(*parts)
        return self._string(node, line).value

    def _beside(self, path: str) -> str:
        """A path as the program would find it: from the current folder, else from its own."""
        beside = os.path.join(os.path.dirname(self.path), path)
        return path if os.path.exists(path) or not os.path.exists(beside) else beside

    def _first_line(self, node: ast.Constant) -> int:
        """The line of the file on which a literal's text begins, 0 if its lines are not those of the file."""
        lines = self.text.split("\n")
        content = str(node.value).split("\n")
        begin = node.lineno
        if len(content) == 1 or (node.end_lineno or 0) - begin != len(content) - 1:
            return 0
        inner = range(1, len(content) - 1)
        same = all(content[k] == lines[begin - 1 + k] for k in inner)
        return begin if same and lines[begin - 1].endswith(content[0]) else 0


def cupy_source(path: str) -> CupySource | None:
    """The raw kernels of a Python file; None for a file that is not Python or has none."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError, RecursionError):
        return None
    source = CupySource(path, text)
    changing = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if node.id in source.constants:
                changing.add(node.id)
            source.constants[node.id] = node
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            source.constants[node.targets[0].id] = node.value
    # A name that is bound twice has no one value.
    for name in changing:
        del source.constants[name]
    for node, variable in _calls(tree):
        kind = _last_name(node.func)
        if kind in RAW:
            source.raws.append(Raw(kind, variable, _kernel_names(source, node, kind), node.lineno, node))
        elif kind in MADE_BY_CUPY and variable:
            source.made_by_cupy[variable] = node.lineno
    return source if source.raws or source.made_by_cupy else None


def raw_kernel(kernel: Any) -> CudaKernel | None:
    """The CUDA C++ of a CuPy RawKernel object, by its public attributes; None for anything else."""
    code, name = getattr(kernel, "code", None), getattr(kernel, "name", None)
    if not isinstance(code, str) or not isinstance(name, str) or not hasattr(kernel, "options"):
        return None
    return CudaKernel(code, "", name, (*(kernel.options or ()), *_cupy_headers()))


def _calls(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Every call, with the name that its value is bound to."""
    bound: Mapping[int, str] = {
        id(node.value): target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, bound.get(id(node), "")


def _kernel_names(source: CupySource, call: ast.Call, kind: str) -> tuple[str, ...]:
    keyword, position = ("name", 1) if kind == "RawKernel" else ("name_expressions", 4)
    given = next((k.value for k in call.keywords if k.arg == keyword), None)
    if given is None and len(call.args) > position:
        given = call.args[position]
    if isinstance(given, ast.Name):
        given = source.constants.get(given.id)
    items = given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]
    return tuple(i.value for i in items if isinstance(i, ast.Constant) and isinstance(i.value, str))


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _opened(node: ast.Call) -> ast.expr | None:
    """The path in `open(path).read()` and `Path(path).read_text()`."""
    if not isinstance(node.func, ast.Attribute):
        return None
    inner = node.func.value
    if node.func.attr == "read" and isinstance(inner, ast.Call) and _last_name(inner.func) == "open" and inner.args:
        return inner.args[0]
    return inner if node.func.attr == "read_text" else None


def _cupy_headers() -> tuple[str, ...]:
    """CuPy's own headers (cupy/complex.cuh and others), where CuPy is installed."""
    spec = importlib.util.find_spec("cupy")
    if spec is None or spec.origin is None:
        return ()
    return (f"-I{os.path.join(os.path.dirname(spec.origin), '_core', 'include')}",)
