"""Memory primitives of the GPU engine, as Numba-CUDA intrinsics of inline PTX.

Addresses are 64-bit numbers: global addresses, or byte offsets in the shared window. Shadow words are read
and swapped as relaxed operations at gpu scope (PTX ISA 8.4), so that all blocks may share them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.cuda.extending import intrinsic
from racedart.shadow.gpu.layout import CONTEXT, SHARED, TABLE, Context

_WORD = ir.IntType(64)


def _assembly(text: str, constraints: str, count: int) -> Callable[..., Any]:
    """An intrinsic of `count` 64-bit arguments and a 64-bit result that is one piece of inline PTX."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.asm(ir.FunctionType(_WORD, [_WORD] * count), text, constraints, arguments, True)

    return _intrinsic(count, generate)


def _intrinsic(count: int, generate: Callable[..., Any]) -> Callable[..., Any]:
    """An intrinsic of so many 64-bit arguments; Numba reads their number from the function that types it."""
    typed = types.int64(*([types.int64] * count)), generate
    by_count: dict[int, Callable[..., Any]] = {
        0: lambda typing_context: typed,
        1: lambda typing_context, a: typed,
        2: lambda typing_context, a, b: typed,
        3: lambda typing_context, a, b, c: typed,
    }
    return intrinsic(by_count[count])  # type: ignore[no-any-return]  # Numba carries no types


def context_word(word: Context) -> Callable[[], Any]:
    """An intrinsic that gives a word of the launch's record, which lies in constant memory."""
    return _assembly(f"ld.const.u64 $0, [{CONTEXT}+{8 * int(word)}];", "=l", 0)


load_word = _assembly("ld.relaxed.gpu.global.u64 $0, [$1];", "=l,l", 1)
swapped_out = _assembly("atom.relaxed.gpu.global.cas.b64 $0, [$1], $2, $3;", "=l,l,l,l", 3)
add_word = _assembly("atom.relaxed.gpu.global.add.u64 $0, [$1], $2;", "=l,l,l", 2)
put_word = _assembly("st.global.u64 [$1], $2; mov.u64 $0, 0;", "=l,l,l", 2)
global_byte = _assembly("ld.volatile.global.u8 $0, [$1];", "=l,l", 1)
shared_byte = _assembly("{ .reg .b32 %a; cvt.u32.u64 %a, $1; ld.volatile.shared.u8 $0, [%a]; }", "=l,l", 1)
table_entry = _assembly(
    f"{{ .reg .b64 %a; mov.u64 %a, {TABLE}; add.u64 %a, %a, $1; ld.const.u8 $0, [%a]; }}", "=l,l", 1
)
shared_start = _assembly(f"mov.u64 $0, {SHARED};", "=l", 0)
linear_thread = _assembly(
    "{ .reg .b32 %x, %y, %n; mov.u32 %x, %tid.z; mov.u32 %n, %ntid.y; mov.u32 %y, %tid.y; "
    "mad.lo.u32 %x, %x, %n, %y; mov.u32 %n, %ntid.x; mov.u32 %y, %tid.x; mad.lo.u32 %x, %x, %n, %y; "
    "cvt.u64.u32 $0, %x; }",
    "=l",
    0,
)
linear_block = _assembly(
    "{ .reg .b32 %x, %y, %n; mov.u32 %x, %ctaid.z; mov.u32 %n, %nctaid.y; mov.u32 %y, %ctaid.y; "
    "mad.lo.u32 %x, %x, %n, %y; mov.u32 %n, %nctaid.x; mov.u32 %y, %ctaid.x; mad.lo.u32 %x, %x, %n, %y; "
    "cvt.u64.u32 $0, %x; }",
    "=l",
    0,
)
