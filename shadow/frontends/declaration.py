"""The kernels that a CUDA C++ source declares, by libclang, which needs no CUDA installation.

The source is parsed as C++ with the CUDA keywords defined away; headers that are not found are passed
over. What libclang cannot see (a kernel made by a macro of a missing header, dependent types of templates)
stays unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from racedart.shadow.frontends.binding import Parameter

_ARGUMENTS = [
    "-x",
    "c++",
    "-std=c++17",
    "-ferror-limit=0",
    "-D__CUDACC_RTC__",
    "-D__CUDACC__",
    '-D__global__=__attribute__((annotate("racedart_kernel")))',
    "-D__device__=",
    "-D__host__=",
    "-D__constant__=",
    "-D__managed__=",
    "-D__shared__=static",
    "-D__forceinline__=inline",
    "-D__noinline__=",
    "-D__grid_constant__=",
    "-D__launch_bounds__(...)=",
]

_SCALARS = {
    "BOOL": "b1",
    "CHAR_S": "i1",
    "SCHAR": "i1",
    "UCHAR": "u1",
    "SHORT": "i2",
    "USHORT": "u2",
    "INT": "i4",
    "UINT": "u4",
    "LONG": "i8",
    "ULONG": "u8",
    "LONGLONG": "i8",
    "ULONGLONG": "u8",
    "FLOAT": "f4",
    "DOUBLE": "f8",
}


@dataclass(frozen=True, slots=True)
class Declared:
    """A kernel: its qualified name, whether it is a template, and its parameters (sizes 0 where unknown)."""

    name: str
    template: bool
    parameters: tuple[Parameter, ...]


def declared_kernels(
    source: str, name: str, options: Sequence[str], includes: Sequence[str]
) -> dict[str, Declared]:
    """The kernels of a source by qualified name, as far as libclang can read it; empty if not at all."""
    import clang.cindex as clang

    kept = [o for o in options if o.startswith(("-D", "-U"))]
    arguments = [*_ARGUMENTS, *kept, *(f"-I{path}" for path in includes)]
    try:
        unit = clang.Index.create().parse(name, args=arguments, unsaved_files=[(name, source)])
    except clang.TranslationUnitLoadError:
        return {}
    found: dict[str, Declared] = {}
    for cursor in _kernels(unit.cursor, clang):
        kernel = _declared(cursor, clang)
        found.setdefault(kernel.name, kernel)
    return found


def _kernels(cursor: Any, clang: Any) -> list[Any]:
    kinds = clang.CursorKind
    functions = []
    pending = [cursor]
    while pending:
        for child in pending.pop().get_children():
            if child.kind in {kinds.FUNCTION_DECL, kinds.FUNCTION_TEMPLATE}:
                marks = [c for c in child.get_children() if c.kind == kinds.ANNOTATE_ATTR]
                if any(mark.spelling == "racedart_kernel" for mark in marks):
                    functions.append(child)
            elif child.kind in {kinds.NAMESPACE, kinds.LINKAGE_SPEC, kinds.UNEXPOSED_DECL, kinds.STRUCT_DECL}:
                pending.append(child)
    return functions


def _declared(cursor: Any, clang: Any) -> Declared:
    names = [cursor.spelling]
    parent = cursor.semantic_parent
    while parent is not None and parent.kind != clang.CursorKind.TRANSLATION_UNIT:
        if parent.spelling and parent.kind != clang.CursorKind.LINKAGE_SPEC:
            names.append(parent.spelling)
        parent = parent.semantic_parent
    parameters = tuple(
        _parameter(child, k)
        for k, child in enumerate(c for c in cursor.get_children() if c.kind == clang.CursorKind.PARM_DECL)
    )
    return Declared("::".join(reversed(names)), cursor.kind == clang.CursorKind.FUNCTION_TEMPLATE, parameters)


def _parameter(cursor: Any, number: int) -> Parameter:
    type_ = cursor.type
    canonical = type_.get_canonical()
    name = cursor.spelling or f"#{number}"
    written = type_.spelling
    if canonical.kind.name == "POINTER":
        pointee = _SCALARS.get(canonical.get_pointee().get_canonical().kind.name)
        return Parameter(name, written, 8, True, np.dtype(pointee) if pointee else None)
    scalar = _SCALARS.get(canonical.kind.name)
    if scalar is not None:
        dtype = np.dtype(scalar)
        return Parameter(name, written, dtype.itemsize, False, None, dtype)
    known = canonical.kind.name in {"RECORD", "ENUM"}
    return Parameter(name, written, 0, False if known else None)
