"""Rarer PTX instructions on the CPU engine against Python integers, fractions and NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from ptx_kernels import assert_clean, check_ptx, module
from test_cpu_arithmetic import EDGES, apply, signed

MODES = ["rm", "rp", "rz"]


def neighbours(value: Fraction, dtype: Any) -> tuple[float, float]:
    """The largest number of a float type that is not above a fraction, and the smallest not below it."""
    infinity = dtype(np.inf)
    with np.errstate(over="ignore"):
        below = dtype(float(value))
    while Fraction(float(below)) > value:
        below = np.nextafter(below, -infinity)
    while Fraction(float(np.nextafter(below, infinity))) <= value:
        below = np.nextafter(below, infinity)
    above = below if Fraction(float(below)) == value else np.nextafter(below, infinity)
    return float(below), float(above)


def rounded(value: Fraction, mode: str, dtype: Any) -> float:
    below, above = neighbours(value, dtype)
    return below if mode == "rm" or (mode == "rz" and value > 0) else above


DOUBLES = np.array([1.0, -1.0, 1.5, 1 / 3, -2 / 3, 3e7, -1e-6, 1e20, 2.0**53 + 2, math.pi], np.float64)
SPACED = np.array([1.0, -1.0, 1.5, 1 / 3, -2 / 3, 3e7, -1e-6, 1e-30, 16777213.0, math.pi], np.float32)


@pytest.mark.parametrize(
    ("opcode", "kind", "mode"),
    [
        *itertools.product(["add", "mul", "div"], ["f32", "f64"], MODES),
        *[("sub", "f32", "rp"), ("sub", "f64", "rz"), ("fma", "f32", "rm"), ("fma", "f64", "rp")],
    ],
)
def test_directed_rounding(kind: str, opcode: str, mode: str) -> None:
    numbers, register = (SPACED, "f") if kind == "f32" else (DOUBLES, "fd")
    a, b = np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))
    operands = [a, b, b[::-1].copy()] if opcode == "fma" else [a, b]
    places = ", ".join(f"${k}" for k in range(len(operands)))
    names = " ".join([register] * (len(operands) + 1))
    got = apply(f"{opcode}.{mode}.{kind} $d, {places};", operands, numbers.dtype, registers=names)
    for row, result in zip(zip(*operands, strict=True), got, strict=True):
        p, q, *rest = (Fraction(float(v)) for v in row)
        exact = {"add": p + q, "sub": p - q, "mul": p * q, "fma": p * q + sum(rest), "div": p / q}[opcode]
        if exact:
            assert float(result) == rounded(exact, mode, numbers.dtype.type), row


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_directed_roots_and_reciprocals(kind: str, mode: str) -> None:
    numbers, register = (SPACED, "f") if kind == "f32" else (DOUBLES, "fd")
    positive = np.abs(numbers)
    inverse = apply(f"rcp.{mode}.{kind} $d, $0;", [numbers], numbers.dtype, registers=f"{register} {register}")
    roots = apply(f"sqrt.{mode}.{kind} $d, $0;", [positive], numbers.dtype, registers=f"{register} {register}")
    step = numbers.dtype.type(np.inf)
    for x, y in zip(numbers, inverse, strict=True):
        assert float(y) == rounded(1 / Fraction(float(x)), mode, numbers.dtype.type)
    for x, y in zip(positive, roots, strict=True):
        if mode == "rp":
            low, high = Fraction(float(np.nextafter(y, -step))), Fraction(float(y))
            assert low**2 < Fraction(float(x)) <= high**2
        else:
            low, high = Fraction(float(y)), Fraction(float(np.nextafter(y, step)))
            assert low**2 <= Fraction(float(x)) < high**2


@pytest.mark.parametrize(
    ("source", "result", "mode"),
    [
        (source, result, MODES[k % 3])
        for k, (source, result) in enumerate(itertools.product(["s32", "u64", "u32", "s64"], ["f16", "f32", "f64"]))
    ]
    + [("s64", "f64", "rz"), ("s64", "f32", "rm"), ("u64", "f64", "rm")],
)
def test_integers_become_floats_in_every_mode(source: str, result: str, mode: str) -> None:
    width = int(source[1:])
    edges = [x for x in EDGES[width] if result != "f16" or (abs(signed(x, width)) < 60000 and x < 60000)]
    values = np.array([*edges, 2049, 16777217 if result != "f16" else 4097], f"u{width // 8}")
    registers = {"f16": "h", "f32": "f", "f64": "fd"}[result] + {32: " r", 64: " rd"}[width]
    dtype = np.dtype(result.replace("f", "float"))
    text = f"cvt.{mode}.{result}.{source} $d, $0;"
    raw = apply(text, [values], np.uint16 if result == "f16" else dtype, registers=registers)
    for x, y in zip(values.tolist(), raw.view(dtype), strict=True):
        exact = Fraction(signed(x, width) if source[0] == "s" else x)
        assert float(y) == (rounded(exact, mode, dtype.type) if exact else 0.0), x


@pytest.mark.parametrize("mode", ["rn", *MODES])
@pytest.mark.parametrize(("result", "source"), [("f32", "f64"), ("f16", "f32"), ("f16", "f64"), ("bf16", "f64")])
def test_floats_become_narrower_in_every_mode(result: str, source: str, mode: str) -> None:
    generator = np.random.default_rng(3)
    exponents = generator.integers(-20, 12, 200)
    numbers = np.ldexp(generator.uniform(-2, 2, 200), exponents)
    # Just beside the middle of two narrow numbers: a second rounding would go wrong there.
    numbers[:20] = np.ldexp(1 + 2.0**-8 + generator.choice([-1, 1], 20) * 2.0**-40, exponents[:20])
    values = numbers.astype(source.replace("f", "float"))
    registers = {"f16": "h", "bf16": "h", "f32": "f"}[result] + {"f32": " f", "f64": " fd"}[source]
    target = np.dtype({"f16": "float16", "bf16": "uint16", "f32": "float32"}[result])
    got = apply(f"cvt.{mode}.{result}.{source} $d, $0;", [values], f"u{target.itemsize}", registers=registers)
    for x, y in zip(values, got, strict=True):
        exact = Fraction(float(x))
        if result == "bf16":
            number = float(np.uint32(int(y) << 16).view(np.float32))
            unit = Fraction(2) ** (math.frexp(float(x))[1] - 8)
            integral: dict[str, Callable[[Fraction], int]] = {
                "rm": math.floor,
                "rp": math.ceil,
                "rz": int,
                "rn": round,
            }
            steps = integral[mode](exact / unit)
            assert Fraction(number) == steps * unit, x
        elif mode == "rn":
            assert y == x.astype(target).view(got.dtype), x
        else:
            assert float(y.view(target)) == rounded(exact, mode, target.type), x


def test_numbers_that_are_none_become_the_integers_that_ptx_names() -> None:
    nan = np.array([np.nan], np.float32)
    assert apply("cvt.rzi.s32.f32 $d, $0;", [nan], "u4", registers="r f").tolist() == [0]
    assert apply("cvt.rzi.s64.f32 $d, $0;", [nan], "u8", registers="rd f").tolist() == [1 << 63]
    wide = nan.astype(np.float64)
    assert apply("cvt.rzi.u32.f64 $d, $0;", [wide], "u4", registers="r fd").tolist() == [1 << 31]


SUBNORMAL = np.array([1e-40, -1e-40, 1.5e-38, -1.0, 0.0, 3e38], np.float32)


def test_flushing_takes_subnormal_operands_and_results_for_zeros() -> None:
    got = apply("add.ftz.f32 $d, $0, $1;", [SUBNORMAL, SUBNORMAL], np.float32, registers="f f f")
    with np.errstate(over="ignore"):
        expected = np.where(np.abs(SUBNORMAL) < 1.2e-38, np.copysign(0, SUBNORMAL), SUBNORMAL + SUBNORMAL)
    np.testing.assert_array_equal(got, expected)
    assert np.signbit(got).tolist() == np.signbit(expected).tolist()
    half = np.full(6, 0.5, np.float32)
    small = apply("mul.ftz.f32 $d, $0, $1;", [SUBNORMAL, half], np.float32, registers="f f f")
    assert small[2] == 0
    text = "setp.gt.ftz.f32 %p1, $0, 0f00000000; selp.u32 $d, 1, 0, %p1;"
    assert apply(text, [SUBNORMAL], "u4", registers="r f").tolist() == [0, 0, 1, 0, 0, 1]


def test_extremes_with_the_signs_multiplied() -> None:
    a, b = np.array([3, -3, -5, 2], np.float32), np.array([-4, -4, 1, 9], np.float32)
    got = apply("min.xorsign.abs.f32 $d, $0, $1;", [a, b], np.float32, registers="f f f")
    assert got.tolist() == [-3, 3, -1, 2]


WORDS = np.array(
    [0, 1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x80FF017F, 0x12345678, 0xFF00FF00, 0x00010002], np.uint32
)
LEFT, RIGHT = np.repeat(WORDS, len(WORDS)), np.tile(WORDS, len(WORDS))
THIRD = (LEFT * np.uint32(2654435761) + RIGHT).astype(np.uint32)


def parts(word: int, width: int, kind: str) -> list[int]:
    fields = [word >> at & ((1 << width) - 1) for at in range(0, 32, width)]
    return [signed(f, width) if kind[0] == "s" else f for f in fields]


def joined(fields: list[int], width: int) -> int:
    return sum((f & ((1 << width) - 1)) << width * k for k, f in enumerate(fields))


def saturated(value: int, width: int, kind: str) -> int:
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
    return min(max(value, low), high)


LANES: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "avrg": lambda x, y: (x + y + (x + y >= 0)) >> 1,
    "absdiff": lambda x, y: abs(x - y),
    "min": min,
    "max": max,
}


@pytest.mark.parametrize(("width", "kind"), [(8, "u32"), (16, "s32")])
@pytest.mark.parametrize("name", LANES)
def test_video_instructions_on_lanes(name: str, width: int, kind: str) -> None:
    opcode = f"v{name}{32 // width}.{kind}.{kind}.{kind}"
    rows = list(zip(LEFT.tolist(), RIGHT.tolist(), THIRD.tolist(), strict=True))

    def lanes(x: int, y: int) -> list[int]:
        return [LANES[name](p, q) for p, q in zip(parts(x, width, kind), parts(y, width, kind), strict=True)]

    operands = [LEFT, RIGHT, THIRD]
    got = apply(f"{opcode}.sat $d, $0, $1, $2;", operands, "u4", registers="r r r r")
    assert got.tolist() == [joined([saturated(v, width, kind) for v in lanes(x, y)], width) for x, y, _ in rows]
    got = apply(f"{opcode} $d, $0, $1, $2;", operands, "u4", registers="r r r r")
    assert got.tolist() == [joined(lanes(x, y), width) for x, y, _ in rows]
    if name == "absdiff" and kind == "u32":
        got = apply(f"{opcode}.add $d, $0, $1, $2;", operands, "u4", registers="r r r r")
        assert got.tolist() == [(z + sum(lanes(x, y))) & 0xFFFFFFFF for x, y, z in rows]


def test_scalar_video_instructions() -> None:
    rows = list(zip(LEFT.tolist(), RIGHT.tolist(), THIRD.tolist(), strict=True))
    operands = [LEFT, RIGHT, THIRD]

    def run(text: str) -> list[int]:
        return [int(v) for v in apply(text, operands, "u4", registers="r r r r")]

    assert run("vadd.s32.s32.s32.sat $d, $0, $1;") == [
        saturated(signed(x, 32) + signed(y, 32), 32, "s") & 0xFFFFFFFF for x, y, _ in rows
    ]
    assert run("vsub.s32.u32.s32.add $d, $0.b1, $1.h1, $2;") == [
        ((x >> 8 & 255) - signed(y >> 16, 16) + z) & 0xFFFFFFFF for x, y, z in rows
    ]
    assert run("vabsdiff.u32.u32.u32.max $d, $0, $1, $2;") == [max(abs(x - y), z) for x, y, z in rows]
    assert run("vmad.s32.s32.s32.shr7 $d, $0.h0, $1.b3, $2;") == [
        (signed(x, 16) * signed(y >> 24, 8) + signed(z, 32)) >> 7 & 0xFFFFFFFF for x, y, z in rows
    ]
    assert run("vset.u32.u32.lt $d, $0, $1;") == [int(x < y) for x, y, _ in rows]
    assert run("vshl.u32.u32.u32.clamp $d, $0, $1;") == [x << min(y, 32) & 0xFFFFFFFF for x, y, _ in rows]


def test_pairs_of_short_integers() -> None:
    rows = list(zip(LEFT.tolist(), RIGHT.tolist(), strict=True))

    def expected(operation: Callable[[int, int], int], kind: str) -> list[int]:
        return [
            joined([operation(p, q) for p, q in zip(parts(x, 16, kind), parts(y, 16, kind), strict=True)], 16)
            for x, y in rows
        ]

    for text, operation, kind in (
        ("add.u16x2", lambda p, q: p + q, "u"),
        ("min.s16x2", min, "s"),
        ("max.u16x2", max, "u"),
        ("max.s16x2.relu", lambda p, q: max(p, q, 0), "s"),
    ):
        got = apply(f"{text} $d, $0, $1;", [LEFT, RIGHT], "u4", registers="r r r")
        assert got.tolist() == expected(operation, kind), text


@pytest.mark.parametrize("half", ["lo", "hi"])
@pytest.mark.parametrize("kinds", ["s32.s32", "u32.s32", "u32.u32"])
def test_dot_products_of_two(half: str, kinds: str) -> None:
    got = apply(f"dp2a.{half}.{kinds} $d, $0, $1, $2;", [LEFT, RIGHT, THIRD], "u4", registers="r r r r")
    of_a, of_b = kinds.split(".")
    first = 2 if half == "hi" else 0
    assert got.tolist() == [
        (z + sum(p * q for p, q in zip(parts(x, 16, of_a), parts(y, 8, of_b)[first:][:2], strict=True)))
        & 0xFFFFFFFF
        for x, y, z in zip(LEFT.tolist(), RIGHT.tolist(), THIRD.tolist(), strict=True)
    ]


def test_the_nth_bit_of_a_mask() -> None:
    rows = list(itertools.product([0, 0x80000001, 0xF0F0, 0xFFFFFFFF], [0, 5, 31], [0, 1, 3, -1, -4 & 0xFFFFFFFF]))
    rows = [(m, b, n & 0xFFFFFFFF) for m, b, n in rows]
    columns = [np.array(c, np.uint32) for c in zip(*rows, strict=True)]
    got = apply("fns.b32 $d, $0, $1, $2;", columns, "u4", registers="r r r r")

    def nth(mask: int, base: int, n: int) -> int:
        n = signed(n, 32)
        if n == 0:
            return base if mask >> base & 1 else 0xFFFFFFFF
        places = range(base, 32) if n > 0 else range(base, -1, -1)
        found = [p for p in places if mask >> p & 1]
        return found[abs(n) - 1] if len(found) >= abs(n) else 0xFFFFFFFF

    assert got.tolist() == [nth(*row) for row in rows]


def test_permutations_by_mode() -> None:
    """The table of PTX ISA 9.7.9.7: bytes of {b, a} that each mode picks, the most significant first."""
    modes: dict[str, Callable[[int], list[int]]] = {
        "f4e": lambda n: [3 + n, 2 + n, 1 + n, n],
        "b4e": lambda n: [(5 + n) % 8, (6 + n) % 8, (7 + n) % 8, n],
        "rc8": lambda n: [n] * 4,
        "ecl": lambda n: [3, max(2, n), max(1, n), n],
        "ecr": lambda n: [n, min(2, n), min(1, n), 0],
        "rc16": lambda n: [1 + 2 * (n % 2), 2 * (n % 2)] * 2,
    }
    low, high = np.full(4, 0x33221100, np.uint32), np.full(4, 0x77665544, np.uint32)
    selectors = np.arange(4, dtype=np.uint32)
    for mode, chosen in modes.items():
        got = apply(f"prmt.b32.{mode} $d, $0, $1, $2;", [low, high, selectors], "u4", registers="r r r r")
        expected = [int("".join(f"{k}{k}" for k in chosen(n)), 16) for n in range(4)]
        assert got.tolist() == expected, mode


def test_lookups_that_also_give_a_predicate() -> None:
    text = "setp.ne.u32 %p1, $2, 0; lop3.or.b32 %r15|%p2, $0, $1, $2, 0x80, %p1; selp.u32 $d, 1, 0, %p2;"
    got = apply(text, [LEFT, RIGHT, THIRD], "u4", registers="r r r r")
    expected = ((LEFT & RIGHT & THIRD) != 0) | (THIRD != 0)
    assert got.tolist() == expected.astype(int).tolist()


def test_integers_are_packed_with_saturation() -> None:
    got = apply("cvt.pack.sat.u8.s32.b32 $d, $0, $1, $2;", [LEFT, RIGHT, THIRD], "u4", registers="r r r r")
    assert got.tolist() == [
        (z << 16 | saturated(signed(x, 32), 8, "u") << 8 | saturated(signed(y, 32), 8, "u")) & 0xFFFFFFFF
        for x, y, z in zip(LEFT.tolist(), RIGHT.tolist(), THIRD.tolist(), strict=True)
    ]
    got = apply("cvt.pack.sat.s16.s32 $d, $0, $1;", [LEFT, RIGHT], "u4", registers="r r r")
    assert got.tolist() == [
        joined([saturated(signed(y, 32), 16, "s"), saturated(signed(x, 32), 16, "s")], 16)
        for x, y in zip(LEFT.tolist(), RIGHT.tolist(), strict=True)
    ]


def eight(code: int, fraction: int, bias: int, largest: int) -> float:
    """The value of an 8-bit float by its definition."""
    sign, rest = -1.0 if code >> 7 else 1.0, code & 127
    if rest > largest:
        return math.nan if fraction == 3 or rest > largest + 1 else sign * math.inf
    exponent, part = rest >> fraction, rest & ((1 << fraction) - 1)
    if exponent == 0:
        return sign * math.ldexp(part, 1 - bias - fraction)
    return sign * math.ldexp((1 << fraction) + part, exponent - bias - fraction)


@pytest.mark.parametrize(("name", "fraction", "bias", "largest"), [("e4m3", 3, 7, 0x7E), ("e5m2", 2, 15, 0x7B)])
def test_eight_bit_floats(name: str, fraction: int, bias: int, largest: int) -> None:
    codes = np.arange(256, dtype=np.uint16)
    text = f"mov.b16 %h10, $0; cvt.rn.f16x2.{name}x2 $d, %h10;"
    got = apply(text, [codes | codes << 8], "u4", registers="r h")
    values = np.array([eight(c, fraction, bias, largest) for c in range(256)])
    for half in (got.astype(np.uint16), (got >> 16).astype(np.uint16)):
        np.testing.assert_array_equal(half.view(np.float16).astype(float), values)
    finite = np.unique(np.abs(values[np.isfinite(values)]))
    middles = (finite[1:] + finite[:-1]) / 2
    numbers = np.concatenate(
        [finite, middles, middles * (1 + 2e-7), middles * (1 - 2e-7), finite * 3, [1e9, np.inf]]
    )
    numbers = np.concatenate([numbers, -numbers]).astype(np.float32)
    text = f"cvt.rn.satfinite.{name}x2.f32 %h10, $0, $1; cvt.u32.u16 $d, %h10;"
    packed = apply(text, [numbers, numbers[::-1].copy()], "u4", registers="r f f")
    exact = [abs(Fraction(float(x))) if np.isfinite(x) else Fraction(10) ** 12 for x in numbers]
    fractions = [Fraction(float(v)) for v in finite]
    for x, size, code in zip(numbers, exact, (packed >> 8).tolist(), strict=True):
        nearest = min(range(len(fractions)), key=lambda k: (abs(fractions[k] - size), k & 1))
        assert code & 127 == nearest, x
        assert code >> 7 == np.signbit(x)
    assert (packed & 255).tolist() == (packed >> 8).tolist()[::-1]


def test_tensor_floats_keep_ten_bits() -> None:
    generator = np.random.default_rng(5)
    raw = generator.integers(0x30000000, 0x50000000, 200).astype(np.uint32)
    raw[:50] = raw[:50] & ~np.uint32(0x1FFF) | np.uint32(0x1000)
    values = raw.view(np.float32)
    away = apply("cvt.rna.tf32.f32 $d, $0;", [values], "u4", registers="r f")
    assert away.tolist() == ((raw.astype(np.uint64) + 0x1000) & 0xFFFFE000).tolist()
    even = apply("cvt.rn.tf32.f32 $d, $0;", [values], "u4", registers="r f")
    assert even.tolist() == ((raw.astype(np.uint64) + 0xFFF + (raw >> 13 & 1)) & 0xFFFFE000).tolist()


def test_packed_halves_are_compared_one_by_one() -> None:
    a = np.array([1, 2, np.nan, 4, 5, 6, 7, 8], np.float16)
    b = np.array([2, 1, 1, 4, 5, 7, np.nan, 0], np.float16)
    inputs = [a.view(np.uint32), b.view(np.uint32)]
    ones = apply("set.lt.f16x2.f16x2 $d, $0, $1;", inputs, "u4", registers="r r r")
    assert ones.view(np.float16).tolist() == (a < b).astype(float).tolist()
    mask = apply("set.geu.u32.f16x2 $d, $0, $1;", inputs, "u4", registers="r r r")
    assert mask.view(np.uint16).tolist() == np.where(~(a < b), 0xFFFF, 0).tolist()
    text = "setp.eq.f16x2 %p1|%p2, $0, $1; selp.u32 $d, 1, 0, %p1; selp.u32 %r15, 2, 0, %p2; add.u32 $d, $d, %r15;"
    both = apply(text, inputs, "u4", registers="r r r")
    equal = (a == b).reshape(-1, 2).astype(int)
    assert both.tolist() == (equal[:, 0] + 2 * equal[:, 1]).tolist()


def test_vectors_are_updated_element_by_element() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    red.global.add.v2.f32 [%rd1], {0f3F800000, 0f40000000};
    atom.global.v4.f32.add {%f1, %f2, %f3, %f4}, [%rd1+16], {0f3F800000, 0f3F800000, 0f3F800000, 0f3F800000};
    st.global.f32 [%rd2], %f4;
    ret;
    """
    memory, found = np.zeros(8, np.float32), np.zeros(1, np.float32)
    memory[7] = 5
    outcome = check_ptx(module(text, ["u64", "u64"]), memory, found)
    assert_clean(outcome)
    assert memory.tolist() == [1, 2, 0, 0, 1, 1, 1, 6]
    assert found.tolist() == [5]


def test_wide_words_are_moved_and_exchanged() -> None:
    text = """
    .reg .b128 %q<4>;
    ld.param.u64 %rd1, [p0];
    ld.global.b128 %q1, [%rd1];
    mov.b128 {%rd2, %rd3}, %q1;
    mov.b128 %q2, {%rd3, %rd2};
    atom.global.cas.b128 %q3, [%rd1], %q1, %q2;
    atom.global.exch.b128 %q3, [%rd1+16], %q1;
    st.global.b128 [%rd1+32], %q3;
    ret;
    """
    memory = np.arange(1, 7, dtype=np.uint64)
    assert_clean(check_ptx(module(text, ["u64"]), memory))
    assert memory.tolist() == [2, 1, 1, 2, 3, 4]


def test_special_registers_describe_one_machine() -> None:
    names = ["%smid", "%nsmid", "%nwarpid", "%gridid", "%envreg3", "%total_smem_size"]
    names += ["%clusterid.x", "%nclusterid.x", "%cluster_ctarank", "%cluster_nctarank", "%clock", "%clock"]
    lines = [
        "ld.param.u64 %rd1, [p0];",
        "mov.u32 %r1, %ctaid.x;",
        f"mad.wide.u32 %rd2, %r1, {4 * len(names)}, %rd1;",
    ]
    for k, name in enumerate(names):
        lines += [f"mov.u32 %r2, {name};", f"st.global.u32 [%rd2+{4 * k}], %r2;"]
    out = np.zeros((140, len(names)), np.uint32)
    outcome = check_ptx(module("\n".join([*lines, "ret;"]), ["u64"]), out, grid=(140, 1, 1), shared_bytes=64)
    assert_clean(outcome)
    assert out[135].tolist() == [3, 132, 64, 1, 0, 64, 135, 140, 0, 1, 1000, 2000]


def test_one_lane_is_elected() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 5;
    @%p1 bra out;
    elect.sync %r2|%p2, 0xFFFFFFE0;
    selp.u32 %r3, 100, 0, %p2;
    add.u32 %r3, %r3, %r2;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    st.global.u32 [%rd2], %r3;
    out:
    ret;
    """
    out = np.zeros(32, np.uint32)
    assert_clean(check_ptx(module(text, ["u64"]), out, block=(32, 1, 1)))
    assert out.tolist() == [0] * 5 + [105] + [5] * 26
