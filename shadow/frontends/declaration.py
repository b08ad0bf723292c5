"""The kernels that a CUDA C++ source declares, by libclang, which needs no CUDA installation.

The source is parsed as C++ after a prelude that defines the CUDA keywords away and declares what NVRTC
predeclares; headers that are not found are passed over. What libclang cannot see (a kernel made by a macro of
a missing header, a type of a missing header) stays unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from racedart.shadow.frontends.binding import Member, Parameter

_ARGUMENTS = ["-x", "c++", "-std=c++17", "-ferror-limit=0", "-w"]
_KEEP_GOING = 0x200  # CXTranslationUnit_KeepGoing: a missing header does not end the parse
_POINTER = "racedart_kernel_pointer"


def _vector_types() -> Iterator[str]:
    bases = {
        1: {"char": "signed char", "uchar": "unsigned char"},
        2: {"short": "short", "ushort": "unsigned short"},
        4: {"int": "int", "uint": "unsigned int", "float": "float"},
        8: {"long": "long", "ulong": "unsigned long", "double": "double"},
    }
    for size, names in bases.items():
        for name, base in names.items():
            for n in (1, 2, 3, 4):
                align = size if n == 3 else min(size * n, 16)
                yield f"struct alignas({align}) {name}{n} {{ {base} {', '.join('xyzw'[:n])}; }};"


_PRELUDE = "\n".join(
    (
        "#define __CUDACC_RTC__ 1",
        "#define __CUDACC__ 1",
        "#define __CUDA_ARCH__ 900",
        '#define __global__ __attribute__((annotate("racedart_kernel")))',
        "#define __device__",
        "#define __host__",
        "#define __constant__",
        "#define __managed__",
        "#define __shared__ static",
        "#define __forceinline__ inline",
        "#define __noinline__",
        "#define __grid_constant__",
        "#define __launch_bounds__(...)",
        "#define __cluster_dims__(...)",
        "#define __restrict__ __restrict",
        "#define __align__(n) __attribute__((aligned(n)))",
        "typedef unsigned long size_t;",
        *_vector_types(),
        "struct dim3 { unsigned int x, y, z; };",
        "extern const dim3 threadIdx, blockIdx, blockDim, gridDim;",
        "",
    )
)

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

    unit = _parsed(source, name, options, includes)
    found: dict[str, Declared] = {}
    if unit is None:
        return found
    broken = _broken(unit)
    for cursor in _kernels(unit.cursor, clang):
        kernel = _declared(cursor, clang, broken)
        found.setdefault(kernel.name, kernel)
    return found


def declared_parameters(
    source: str, name: str, expression: str, options: Sequence[str], includes: Sequence[str]
) -> tuple[Parameter, ...] | None:
    """The parameters of the kernel that a C++ name expression means; None where libclang cannot tell.

    libclang resolves namespaces, overloads and template arguments in the address of the kernel.
    """
    unit = _parsed(f"{source}\nauto {_POINTER} = &{expression};\n", name, options, includes)
    if unit is None:
        return None
    broken = _broken(unit)
    for variable in unit.cursor.get_children():
        if variable.spelling != _POINTER:
            continue
        for inner in variable.walk_preorder():
            function = inner.referenced
            if (
                inner.kind.name == "DECL_REF_EXPR"
                and function is not None
                and function.kind.name == "FUNCTION_DECL"
            ):
                return tuple(_parameter(p, k, broken) for k, p in enumerate(function.get_arguments()))
    return None


def _parsed(source: str, name: str, options: Sequence[str], includes: Sequence[str]) -> Any:
    """The translation unit of a source after the prelude; None if libclang gives none."""
    import clang.cindex as clang

    kept = [o for o in options if o.startswith(("-D", "-U"))]
    arguments = [*_ARGUMENTS, *kept, *(f"-I{path}" for path in includes)]
    try:
        return clang.Index.create().parse(name, arguments, [(name, _PRELUDE + source)], _KEEP_GOING)
    except clang.TranslationUnitLoadError:
        return None


def _broken(unit: Any) -> list[int]:
    """Where in the text clang found errors."""
    return [d.location.offset for d in unit.diagnostics if d.severity >= d.Error]


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


def _declared(cursor: Any, clang: Any, broken: Sequence[int]) -> Declared:
    names = [cursor.spelling]
    parent = cursor.semantic_parent
    while parent is not None and parent.kind != clang.CursorKind.TRANSLATION_UNIT:
        if parent.spelling and parent.kind != clang.CursorKind.LINKAGE_SPEC:
            names.append(parent.spelling)
        parent = parent.semantic_parent
    parameters = tuple(
        _parameter(child, k, broken)
        for k, child in enumerate(c for c in cursor.get_children() if c.kind == clang.CursorKind.PARM_DECL)
    )
    return Declared("::".join(reversed(names)), cursor.kind == clang.CursorKind.FUNCTION_TEMPLATE, parameters)


def _parameter(cursor: Any, number: int, broken: Sequence[int]) -> Parameter:
    type_ = cursor.type
    canonical = type_.get_canonical()
    name = cursor.spelling or f"#{number}"
    written = type_.spelling
    # After an error in a declaration clang goes on with int in the place of the type.
    if any(cursor.extent.start.offset <= at <= cursor.extent.end.offset for at in broken):
        tokens = [token.spelling for token in cursor.get_tokens()]
        end = tokens.index(name) if name in tokens else len(tokens)
        return Parameter(name, " ".join(tokens[:end]), 0)
    if canonical.kind.name == "POINTER":
        target = canonical.get_pointee().get_canonical()
        if target.kind.name == "ENUM":
            target = target.get_declaration().enum_type.get_canonical()
        pointee = _SCALARS.get(target.kind.name)
        return Parameter(name, written, 8, True, np.dtype(pointee) if pointee else None)
    scalar = _SCALARS.get(canonical.kind.name)
    if scalar is not None:
        dtype = np.dtype(scalar)
        return Parameter(name, written, dtype.itemsize, False, None, dtype)
    known = canonical.kind.name in {"RECORD", "ENUM"}
    return Parameter(name, written, 0, False if known else None, members=_members(canonical, broken))


def _members(struct: Any, broken: Sequence[int]) -> tuple[Member, ...]:
    """The members of a struct with their offsets; none for a union, a bit field or what libclang cannot lay out."""
    if struct.kind.name != "RECORD" or struct.get_declaration().kind.name == "UNION_DECL":
        return ()
    members = []
    for k, cursor in enumerate(struct.get_fields()):
        bits = cursor.get_field_offsetof()
        parameter = _parameter(cursor, k, broken)
        size = cursor.type.get_size()
        if bits < 0 or bits % 8 or cursor.is_bitfield() or size <= 0 or cursor.type.kind.name == "CONSTANTARRAY":
            return ()
        members.append(Member(bits // 8, replace(parameter, size=size)))
    return tuple(members)
