"""What Numba kernels take and use: arrays of any layout, records, tuples, numbers, memories; against NumPy."""

from __future__ import annotations

import collections
import enum
import math
from typing import Any

import numpy as np
import pytest
import racedart
from numba import cuda, float32
from numba.cuda.random import init_xoroshiro128p_states_cpu, xoroshiro128p_dtype, xoroshiro128p_uniform_float64

Pair = collections.namedtuple("Pair", "x y")
TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)
FROZEN = np.array([3, 1, 2], dtype=np.int32)
RECORD = np.dtype([("number", np.int32), ("values", np.float32, (3,)), ("weight", np.float64)], align=True)


class Color(enum.IntEnum):
    RED = 1
    BLUE = 2


@cuda.jit
def double_3d(a, out):  # type: ignore[no-untyped-def]  # typed by Numba
    i, j, k = cuda.grid(3)
    if i < a.shape[0] and j < a.shape[1] and k < a.shape[2]:
        out[i, j, k] = a[i, j, k] * 2


CUBE = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "a",
    [
        CUBE,
        np.asfortranarray(CUBE),
        CUBE[::-1, ::-1, ::-1],
        CUBE.transpose(2, 0, 1),
        CUBE[:, ::2],
        np.broadcast_to(CUBE[0], (2, 3, 4)),
        CUBE[:, :0],
    ],
    ids=["C", "F", "negative strides", "transposed", "strided", "broadcast", "empty"],
)
def test_layouts(a: Any) -> None:
    out = np.zeros(a.shape)
    assert racedart.check(double_3d, 1, (4, 4, 4), a, out).verdict == "clean"
    assert (out == a * 2).all()


@cuda.jit
def scalar_array(a, out):  # type: ignore[no-untyped-def]  # typed by Numba
    out[()] = a[()] + 1


@cuda.jit
def memories(out):  # type: ignore[no-untyped-def]  # typed by Numba
    table = cuda.const.array_like(TABLE)
    mine = cuda.local.array(4, float32)
    i = cuda.grid(1)
    for k in range(4):
        mine[k] = table[i // 4, k]
    out[i] = mine[i % 4] + FROZEN[i % 3]


def test_memories() -> None:
    value, result, out = np.array(3.0), np.zeros(()), np.zeros(12, np.float32)
    assert racedart.check(scalar_array, 1, 1, value, result).verdict == "clean"
    assert result == 4
    assert racedart.check(memories, 1, 12, out).verdict == "clean"
    assert (out == TABLE.ravel() + np.tile(FROZEN, 4)).all()


@cuda.jit
def use_records(records, one, pair, mixed, color, out):  # type: ignore[no-untyped-def]  # typed by Numba
    i = cuda.grid(1)
    records[i].number = i
    records[i].values[1] = pair.x[i] * mixed[1]
    records[i].weight = one.weight + pair.y
    out[i] = (mixed[0] if color == Color.BLUE else 0) + 1j * i


def test_records_tuples_and_enumerations() -> None:
    records, one = np.zeros(8, RECORD), np.zeros(2, RECORD)
    one["weight"] = 2.5
    out = np.zeros(8, np.complex64)
    run = racedart.check(use_records, 1, 8, records, one[1], Pair(np.arange(8.0), 4), (2, 1.5), Color.BLUE, out)
    assert run.verdict == "clean"
    assert records["number"].tolist() == list(range(8))
    assert (records["values"][:, 1] == 1.5 * np.arange(8)).all()
    assert set(records["weight"].tolist()) == {6.5}
    assert (out == 2 + 1j * np.arange(8)).all()


@cuda.jit
def count(i4, f8, u8):  # type: ignore[no-untyped-def]  # typed by Numba
    i = cuda.grid(1)
    cuda.atomic.add(i4, 0, 1)
    cuda.atomic.sub(i4, 1, 1)
    cuda.atomic.max(i4, 2, i)
    cuda.atomic.min(i4, 3, -i)
    cuda.atomic.and_(i4, 4, ~(1 << (i % 8)))
    cuda.atomic.or_(i4, 5, 1 << (i % 8))
    cuda.atomic.xor(i4, 6, i)
    cuda.atomic.exch(i4, 7, 5)
    cuda.atomic.cas(i4, 8, 0, 9)
    cuda.atomic.add(f8, 0, 2.5)
    cuda.atomic.max(f8, 1, i)
    cuda.atomic.inc(u8, 0, 7)
    cuda.atomic.dec(u8, 1, 7)


def test_atomics() -> None:
    i4, f8, u8 = np.zeros(9, np.int32), np.zeros(2), np.zeros(2, np.uint64)
    i4[4] = -1
    assert racedart.check(count, 2, 32, i4, f8, u8).verdict == "clean"
    assert i4.tolist() == [64, -64, 63, -63, -256, 255, 0, 5, 9]
    assert (f8.tolist(), u8.tolist()) == ([160, 63], [0, 0])


def test_closures_and_random_numbers() -> None:
    factor = 7

    @cuda.jit
    def draw(states, out):  # type: ignore[no-untyped-def]  # typed by Numba
        i = cuda.grid(1)
        out[i] = factor + math.floor(8 * xoroshiro128p_uniform_float64(states, i))

    states, out = np.zeros(64, xoroshiro128p_dtype), np.zeros(64)
    init_xoroshiro128p_states_cpu(states, 1, 0)
    before = states.copy()
    assert racedart.check(draw, 1, 64, states, out).verdict == "clean"
    assert set(out.tolist()) == {7.0 + k for k in range(8)}
    assert (states != before).all()


@cuda.jit
def mirror(x, synchronise):  # type: ignore[no-untyped-def]  # typed by Numba
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    x[i] = i
    if synchronise:
        grid.sync()
    x[x.size - 1 - i] += 1


def test_a_grid_barrier_orders_blocks() -> None:
    x = np.zeros(128, np.float32)
    assert racedart.check(mirror, 2, 64, x, True).verdict == "clean"
    assert (x == np.arange(128) + 1).all()
    assert racedart.check(mirror, 2, 64, x, False).verdict == "findings"
