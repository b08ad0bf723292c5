"""Single PTX instructions on the CPU engine against Python integers and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from ptx_kernels import bits, check_ptx, module

Array = NDArray[Any]

EDGES = {
    8: [0, 1, 2, 0x7F, 0x80, 0xFF],
    16: [0, 1, 2, 3, 7, 15, 16, 17, 0x7FFF, 0x8000, 0xFFFF],
    32: [0, 1, 2, 3, 5, 31, 32, 33, 40, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 0x12345678],
    64: [0, 1, 3, 63, 64, 65, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0x123456789ABCDEF],
}


def apply(
    instruction: str, inputs: list[Array], output: Any, *, registers: str, result: str = "", extra: str = ""
) -> Array:
    """Run `instruction` on each row of the inputs, one thread per row.

    In its text $d is the destination and $0, $1, ... the operands; registers: kind of register of each,
    the destination first.
    """
    n = len(inputs[0])
    kinds = registers.split()
    names = {"d": f"%{kinds[0]}9"} | {str(k): f"%{kinds[k + 1]}{k + 1}" for k in range(len(inputs))}
    types = {"r": "u32", "rd": "u64", "h": "u16", "f": "f32", "fd": "f64"}
    lines = ["mov.u32 %r20, %tid.x;"]
    for k, array in enumerate(inputs):
        lines += [
            f"ld.param.u64 %rd20, [p{k}];",
            f"mad.wide.u32 %rd21, %r20, {array.dtype.itemsize}, %rd20;",
            f"ld.global.{types[kinds[k + 1]]} {names[str(k)]}, [%rd21];",
        ]
    text = instruction
    for key, name in names.items():
        text = text.replace(f"${key}", name)
    lines += [extra, text] if extra else [text]
    lines += [
        f"ld.param.u64 %rd20, [p{len(inputs)}];",
        f"mad.wide.u32 %rd21, %r20, {np.dtype(output).itemsize}, %rd20;",
        f"st.global.{types[kinds[0]]} [%rd21], {result or names['d']};",
        "ret;",
    ]
    ptx = module("\n".join(lines), ["u64"] * (len(inputs) + 1))
    target = np.zeros(n, output)
    outcome = check_ptx(ptx, *inputs, target, block=(n, 1, 1))
    assert not outcome.findings
    assert not outcome.reasons, outcome.reasons
    return target


def pairs(width: int) -> tuple[Array, Array]:
    edge = EDGES[width]
    a = np.array([x for x in edge for _ in edge], f"u{width // 8}")
    b = np.array([y for _ in edge for y in edge], f"u{width // 8}")
    return a, b


def signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def shift_left(x: int, y: int, width: int) -> int:
    return x << y if y < width else 0


def bit_field(x: int, position: int, length: int, width: int) -> int:
    field = x >> position if position < 256 else 0
    return field & ((1 << min(length, width)) - 1)


BINARY: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "add.u32": (32, lambda x, y: x + y),
    "add.s64": (64, lambda x, y: x + y),
    "add.u16": (16, lambda x, y: x + y),
    "add.sat.s32": (32, lambda x, y: min(max(signed(x, 32) + signed(y, 32), -(2**31)), 2**31 - 1)),
    "sub.u32": (32, lambda x, y: x - y),
    "sub.sat.s32": (32, lambda x, y: min(max(signed(x, 32) - signed(y, 32), -(2**31)), 2**31 - 1)),
    "mul.lo.s32": (32, lambda x, y: x * y),
    "mul.hi.u32": (32, lambda x, y: x * y >> 32),
    "mul.hi.s32": (32, lambda x, y: signed(x, 32) * signed(y, 32) >> 32),
    "mul.hi.u64": (64, lambda x, y: x * y >> 64),
    "mul24.lo.u32": (32, lambda x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF)),
    "mul24.hi.s32": (32, lambda x, y: signed(x, 24) * signed(y, 24) >> 16),
    "min.s32": (32, lambda x, y: min(signed(x, 32), signed(y, 32))),
    "max.u64": (64, max),
    "min.u16": (16, min),
    "and.b32": (32, lambda x, y: x & y),
    "or.b64": (64, lambda x, y: x | y),
    "xor.b16": (16, lambda x, y: x ^ y),
}


@pytest.mark.parametrize("name", BINARY)
def test_integer_operations(name: str) -> None:
    width, expected = BINARY[name]
    a, b = pairs(width)
    kind = {16: "h", 32: "r", 64: "rd"}[width]
    got = apply(f"{name} $d, $0, $1;", [a, b], a.dtype, registers=f"{kind} {kind} {kind}")
    mask = (1 << width) - 1
    assert got.tolist() == [expected(int(x), int(y)) & mask for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("kind", ["u32", "s32"])
@pytest.mark.parametrize("opcode", ["shl", "shr"])
def test_shifts_clamp_their_amount(opcode: str, kind: str) -> None:
    a, b = pairs(32)
    type_ = kind if opcode == "shr" else "b32"
    got = apply(f"{opcode}.{type_} $d, $0, $1;", [a, b], "u4", registers="r r r")
    for x, y, z in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        if opcode == "shl":
            expected = shift_left(x, y, 32)
        else:
            expected = (signed(x, 32) if kind == "s32" else x) >> min(y, 64)
        assert z == expected & 0xFFFFFFFF, (x, y)


@pytest.mark.parametrize(("kind", "width"), [("u32", 32), ("s32", 32), ("u64", 64), ("s64", 64)])
@pytest.mark.parametrize("opcode", ["div", "rem"])
def test_division_truncates_and_never_traps(opcode: str, kind: str, width: int) -> None:
    a, b = pairs(width)
    register = "r" if width == 32 else "rd"
    got = apply(f"{opcode}.{kind} $d, $0, $1;", [a, b], a.dtype, registers=f"{register} {register} {register}")
    mask = (1 << width) - 1
    for x, y, z in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        if y == 0:
            assert z == mask
            continue
        if kind[0] == "s":
            x, y = signed(x, width), signed(y, width)
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        assert z == (quotient if opcode == "div" else x - quotient * y) & mask


UNARY: dict[str, tuple[int, int, Callable[[int], int]]] = {
    "popc.b32": (32, 32, lambda x: x.bit_count()),
    "popc.b64": (64, 32, lambda x: x.bit_count()),
    "clz.b32": (32, 32, lambda x: 32 - x.bit_length()),
    "clz.b64": (64, 32, lambda x: 64 - x.bit_length()),
    "brev.b32": (32, 32, lambda x: int(f"{x:032b}"[::-1], 2)),
    "not.b32": (32, 32, lambda x: ~x),
    "cnot.b32": (32, 32, lambda x: int(x == 0)),
    "neg.s32": (32, 32, lambda x: -x),
    "abs.s32": (32, 32, lambda x: abs(signed(x, 32))),
    "bfind.u32": (32, 32, lambda x: x.bit_length() - 1),
    "bfind.s32": (32, 32, lambda x: (x ^ (signed(x, 32) >> 31) & 0xFFFFFFFF).bit_length() - 1),
    "bfind.shiftamt.u32": (32, 32, lambda x: 32 - x.bit_length() if x else -1),
}


@pytest.mark.parametrize("name", UNARY)
def test_bit_operations(name: str) -> None:
    width, result, expected = UNARY[name]
    a = np.array(EDGES[width], f"u{width // 8}")
    kinds = {32: "r", 64: "rd"}
    got = apply(f"{name} $d, $0;", [a], f"u{result // 8}", registers=f"{kinds[result]} {kinds[width]}")
    assert got.tolist() == [expected(int(x)) & ((1 << result) - 1) for x in a]


words = st.integers(0, 2**32 - 1)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(words, words, words, words), min_size=32, max_size=32))
def test_operations_on_three_and_four_words(rows: list[tuple[int, int, int, int]]) -> None:
    a, b, c, e = (np.array(column, np.uint32) for column in zip(*rows, strict=True))
    small = (c % 70).astype(np.uint32)
    length = (e % 70).astype(np.uint32)

    def run(text: str, *arrays: Array) -> list[int]:
        return [int(x) for x in apply(text, list(arrays), "u4", registers="r " + "r " * len(arrays))]

    assert run("lop3.b32 $d, $0, $1, $2, 0xCA;", a, b, c) == ((a & b) | (~a & c)).tolist()
    assert run("prmt.b32 $d, $0, $1, 0x6240;", a, b) == [
        sum((((y << 32 | x) >> 8 * k) & 0xFF) << 8 * i for i, k in enumerate((0, 4, 2, 6)))
        for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    assert run("shf.l.wrap.b32 $d, $0, $1, $2;", a, b, c) == [
        ((y << 32 | x) << (z & 31) >> 32) & 0xFFFFFFFF
        for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    ]
    assert run("shf.r.clamp.b32 $d, $0, $1, $2;", a, b, small) == [
        ((y << 32 | x) >> min(z, 32)) & 0xFFFFFFFF
        for x, y, z in zip(a.tolist(), b.tolist(), small.tolist(), strict=True)
    ]
    assert run("bfe.u32 $d, $0, $1, $2;", a, small, length) == [
        bit_field(x, p, n, 32) & 0xFFFFFFFF
        for x, p, n in zip(a.tolist(), small.tolist(), length.tolist(), strict=True)
    ]
    assert run("bfi.b32 $d, $0, $1, $2, $3;", a, b, small, length) == [
        (y & ~(((1 << min(n, 32)) - 1) << p) | ((x & ((1 << min(n, 32)) - 1)) << p)) & 0xFFFFFFFF if p < 32 else y
        for x, y, p, n in zip(a.tolist(), b.tolist(), small.tolist(), length.tolist(), strict=True)
    ]
    assert run("mad.lo.u32 $d, $0, $1, $2;", a, b, c) == (a * b + c).tolist()
    assert run("sad.u32 $d, $0, $1, $2;", a, b, c) == [
        (abs(x - y) + z) & 0xFFFFFFFF for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    ]
    assert run("dp4a.u32.u32 $d, $0, $1, $2;", a, b, c) == [
        (z + sum((x >> s & 255) * (y >> s & 255) for s in (0, 8, 16, 24))) & 0xFFFFFFFF
        for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    ]


def test_carry_chains_add_128_bits() -> None:
    a, b = pairs(64)
    text = "add.cc.u64 %rd10, $0, $1; addc.u64 $d, 0, 0;"
    got = apply(text, [a, b], "u8", registers="rd rd rd")
    assert got.tolist() == [(int(x) + int(y)) >> 64 for x, y in zip(a, b, strict=True)]


FLOATS = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.7, 1e-40, 1e30, 3e38, np.inf, -np.inf, np.nan, 7.25],
    np.float32,
)


def float_pairs() -> tuple[Array, Array]:
    return np.repeat(FLOATS, len(FLOATS)), np.tile(FLOATS, len(FLOATS))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add.rn.f32", np.add),
        ("sub.f32", np.subtract),
        ("mul.f32", np.multiply),
        ("div.rn.f32", np.divide),
        ("min.f32", np.fmin),
        ("max.f32", np.fmax),
        ("max.NaN.f32", np.maximum),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_float_operations(name: str, expected: Callable[[Array, Array], Array]) -> None:
    a, b = float_pairs()
    got = apply(f"{name} $d, $0, $1;", [a, b], np.float32, registers="f f f")
    np.testing.assert_array_equal(got, expected(a, b))


def test_fused_multiply_add_rounds_once() -> None:
    a = np.full(4, 1 + 2**-12, np.float32)
    c = np.full(4, -1.0, np.float32)
    got = apply("fma.rn.f32 $d, $0, $1, $2;", [a, a, c], np.float32, registers="f f f f")
    assert got[0] == np.float32((1 + 2**-12) ** 2 - 1)
    assert got[0] != np.float32(a[0] * a[0]) + c[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cvt.rni.s32.f32", lambda x: np.round(x)),
        ("cvt.rzi.s32.f32", np.trunc),
        ("cvt.rmi.s32.f32", np.floor),
        ("cvt.rpi.s32.f32", np.ceil),
    ],
)
def test_float_to_integer_rounds_and_saturates(text: str, expected: Callable[[Array], Array]) -> None:
    got = apply(f"{text} $d, $0;", [FLOATS], np.int32, registers="r f")
    wide = np.nan_to_num(expected(FLOATS.astype(np.float64)), nan=0.0, posinf=1e300, neginf=-1e300)
    np.testing.assert_array_equal(got, np.clip(wide, -(2**31), 2**31 - 1).astype(np.int64))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_float_widths_convert_like_numpy() -> None:
    halves = apply("cvt.rn.f16.f32 %h10, $0; cvt.f32.f16 $d, %h10;", [FLOATS], np.float32, registers="f f")
    np.testing.assert_array_equal(bits(halves)[:14], bits(FLOATS.astype(np.float16).astype(np.float32))[:14])
    doubles = apply("cvt.f64.f32 $d, $0;", [FLOATS], np.float64, registers="fd f")
    np.testing.assert_array_equal(doubles, FLOATS.astype(np.float64))


def test_bfloat16_rounds_to_nearest_even() -> None:
    values = np.array([1.0, 1.00390625, 1.01171875, 3.14159, -2.7, 1e-30, np.inf], np.float32)
    got = apply("cvt.rn.bf16.f32 %h10, $0; cvt.f32.bf16 $d, %h10;", [values], np.float32, registers="f f")
    raw = values.view(np.uint32).astype(np.uint64)
    rounded = ((raw + 0x7FFF + (raw >> 16 & 1)) >> 16 << 16).astype(np.uint32)
    np.testing.assert_array_equal(got.view(np.uint32), rounded)


@pytest.mark.parametrize("operator", ["eq", "ne", "lt", "le", "gt", "ge", "ltu", "neu", "num", "nan"])
def test_float_comparisons_treat_nan_as_ptx_says(operator: str) -> None:
    a, b = float_pairs()
    text = f"setp.{operator}.f32 %p1, $0, $1; selp.u32 $d, 1, 0, %p1;"
    got = apply(text, [a, b], np.uint32, registers="r f f")
    unordered = np.isnan(a) | np.isnan(b)
    ordered: dict[str, Array] = {
        "eq": a == b,
        "ne": (a != b) & ~unordered,
        "lt": a < b,
        "le": a <= b,
        "gt": a > b,
        "ge": a >= b,
        "ltu": (a < b) | unordered,
        "neu": (a != b) | unordered,
        "num": ~unordered,
        "nan": unordered,
    }
    np.testing.assert_array_equal(got == 1, ordered[operator])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cvt.s32.s8", lambda x: signed(x, 8)),
        ("cvt.u32.u8", lambda x: x & 0xFF),
        ("cvt.s32.s16", lambda x: signed(x, 16)),
        ("cvt.sat.u8.s32", lambda x: min(max(signed(x, 32), 0), 255)),
        ("cvt.sat.s8.s32", lambda x: min(max(signed(x, 32), -128), 127)),
    ],
)
def test_integer_conversions(text: str, expected: Callable[[int], int]) -> None:
    a = np.array([*EDGES[32], 0x80, 0x7F, 0xFF, 0x8000, 200], np.uint32)
    got = apply(f"{text} $d, $0;", [a], np.uint32, registers="r r")
    width = 32 if text.split(".")[-2][1:] == "32" or "sat.s8" in text else 8
    mask = (1 << width) - 1 if "sat.u8" in text else 0xFFFFFFFF
    assert [g & mask for g in got.tolist()] == [expected(int(x)) & mask for x in a]


def test_packed_halves() -> None:
    values = np.arange(64, dtype=np.float16) / 4
    a = values.view(np.uint32)
    b = values[::-1].copy().view(np.uint32)
    got = apply("add.f16x2 $d, $0, $1;", [a, b], np.uint32, registers="r r r")
    np.testing.assert_array_equal(got.view(np.float16), values + values[::-1])
    got = apply("fma.rn.f16x2 $d, $0, $1, $0;", [a, b], np.uint32, registers="r r r")
    exact = values.astype(np.float64) * values[::-1].astype(np.float64) + values.astype(np.float64)
    np.testing.assert_array_equal(got.view(np.float16), exact.astype(np.float16))


@pytest.mark.parametrize("mode", ["clamp", "wrap"])
def test_bit_masks_and_extensions(mode: str) -> None:
    a, b = pairs(32)
    position, length = (a % 40).astype(np.uint32), (b % 40).astype(np.uint32)

    def limited(x: int) -> int:
        return x & 31 if mode == "wrap" else min(x, 32)

    got = apply(f"bmsk.{mode}.b32 $d, $0, $1;", [position, length], "u4", registers="r r r")
    assert got.tolist() == [
        ((1 << limited(n)) - 1) << limited(p) & 0xFFFFFFFF
        for p, n in zip(position.tolist(), length.tolist(), strict=True)
    ]
    unsigned = apply(f"szext.{mode}.u32 $d, $0, $1;", [a, length], "u4", registers="r r r")
    assert unsigned.tolist() == [
        x & ((1 << limited(n)) - 1) for x, n in zip(a.tolist(), length.tolist(), strict=True)
    ]
    wide = apply(f"szext.{mode}.s32 $d, $0, $1;", [a, length], "u4", registers="r r r")
    assert wide.tolist() == [
        signed(x, limited(n)) & 0xFFFFFFFF if limited(n) else 0
        for x, n in zip(a.tolist(), length.tolist(), strict=True)
    ]


def test_opposite_numbers_cancel_to_minus_zero_when_rounding_down() -> None:
    a, b = np.array([1, -3, 0, -0.0], np.float32), np.array([-1, 3, 0, 0], np.float32)
    down = apply("add.rm.f32 $d, $0, $1;", [a, b], np.float32, registers="f f f")
    assert np.signbit(down).tolist() == [True, True, False, True]
    nearest = apply("add.rn.f32 $d, $0, $1;", [a, b], np.float32, registers="f f f")
    assert np.signbit(nearest).tolist() == [False, False, False, False]


def test_zeros_are_ordered_by_their_sign() -> None:
    a, b = np.array([0.0, -0.0, 0.0, -0.0], np.float32), np.array([-0.0, 0.0, 0.0, -0.0], np.float32)
    least = apply("min.f32 $d, $0, $1;", [a, b], np.float32, registers="f f f")
    most = apply("max.f32 $d, $0, $1;", [a, b], np.float32, registers="f f f")
    assert np.signbit(least).tolist() == [True, True, False, True]
    assert np.signbit(most).tolist() == [False, False, False, True]
