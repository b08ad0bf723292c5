"""Memory primitives of the native engine, as Numba intrinsics on 64-bit addresses.

Loads and stores of shadow words are relaxed atomics, so that several workers may share them. Nothing is
range-checked: callers pass addresses of memory that the engine owns.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, register_jitable

_WORD = ir.IntType(64)


def _pointer(builder: Any, address: Any, width: int = 64) -> Any:
    return builder.inttoptr(address, ir.IntType(width).as_pointer())


@intrinsic  # type: ignore[untyped-decorator]  # Numba carries no types
def load_word(typing_context: Any, address: Any) -> Any:
    """The 64-bit word at an aligned address, as a relaxed atomic load."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_pointer(builder, arguments[0]), "monotonic", 8)

    return types.int64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]  # Numba carries no types
def store_word(typing_context: Any, address: Any, value: Any) -> Any:
    """Store a 64-bit word at an aligned address, as a relaxed atomic store."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(arguments[1], _pointer(builder, arguments[0]), "monotonic", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]  # Numba carries no types
def load_unaligned(typing_context: Any, address: Any) -> Any:
    """Eight bytes at any address, as a plain load."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_pointer(builder, arguments[0]), align=1)

    return types.int64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]  # Numba carries no types
def swap_word(typing_context: Any, address: Any, old: Any, new: Any) -> Any:
    """Store `new` if the word is still `old`; whether it was."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(builder, arguments[0])
        pair = builder.cmpxchg(pointer, arguments[1], arguments[2], "monotonic", "monotonic")
        return builder.extract_value(pair, 1)

    return types.boolean(types.int64, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]  # Numba carries no types
def add_word(typing_context: Any, address: Any, value: Any) -> Any:
    """Add to the word at an address and give what it held."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.atomic_rmw("add", _pointer(builder, arguments[0]), arguments[1], "monotonic")

    return types.int64(types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]  # Numba carries no types
def step_thread(typing_context: Any, function: Any, frame: Any) -> Any:
    """Call the native code of a kernel, `int32 function(int64 frame)`, by its address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(32), [_WORD])
        target = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.sext(builder.call(target, [arguments[1]]), _WORD)

    return types.int64(types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]  # Numba carries no types
def call_report(
    typing_context: Any, thread: Any, place: Any, address: Any, access: Any, site: Any, old: Any
) -> Any:
    """Call `racedart_report`, compiled apart so that the rare path stays out of the inlined checker."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [_WORD] * 6)
        function = cgutils.get_or_insert_function(builder.module, kind, "racedart_report")
        builder.call(function, arguments)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), generate


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def get(record: Any, field: Any) -> Any:
    """A word of a record of `layout`, by its field."""
    return load_word(record + field * 8)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def put(record: Any, field: Any, value: Any) -> None:
    """Store a word of a record."""
    store_word(record + field * 8, value)


@register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
def add(record: Any, field: Any, value: Any) -> Any:
    """Add to a word of a record and give what it held."""
    return add_word(record + field * 8, value)
