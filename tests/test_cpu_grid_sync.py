"""Barriers of the grid on the CPU engine: order, results, deadlock, in CUDA C++ and in Numba."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import racedart
from numba import cuda
from racedart.finding.run import Run

HEAD = """#include <cooperative_groups.h>
__device__ int flag;
extern "C" __global__ void k(int* a, int* b, int n) {
  auto g = cooperative_groups::this_grid();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int far = (i + blockDim.x) % n;
"""


def check(body: str, *, blocks: int = 4, threads: int = 64) -> tuple[Run, np.ndarray[Any, Any]]:
    """Check a kernel whose body begins at line 7."""
    n = blocks * threads
    a, b = np.zeros(n, np.int32), np.zeros(n, np.int32)
    run = racedart.check(racedart.cuda_kernel(HEAD + body + "\n}\n", "k"), blocks, threads, a, b, n)
    return run, b


def lines(run: Run) -> set[tuple[str, int, int]]:
    return {
        (f.rule, *sorted((f.location.line, f.related[0].line)))  # type: ignore[misc]  # sorted gives two
        for f in run.findings
    }


def test_a_grid_barrier_orders_the_blocks() -> None:
    run, b = check("a[i] = i;\ng.sync();\nb[i] = a[far];")
    assert run.verdict == "clean", (run.findings, run.reasons)
    assert b.tolist() == [(i + 64) % 256 for i in range(256)]


def test_without_it_they_race() -> None:
    run, _ = check("a[i] = i;\n\nb[i] = a[far] + g.size();")
    assert lines(run) == {("R102", 7, 9)}


def test_many_grid_barriers() -> None:
    run, b = check("for (int s = 0; s < 300; ++s) {\n b[i] = a[far];\n g.sync();\n a[i] = b[i] + 1;\n g.sync();\n}")
    assert run.verdict == "clean", (run.findings, run.reasons)
    assert b.tolist() == [299] * 256


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a[i] = 1;\ng.sync();\na[i] = 2;\nb[i] = a[far];", {("R102", 9, 10)}),
        ("a[i] = b[i];\ng.sync();\nif (threadIdx.x == 0) flag = i;", {("R101", 9, 9)}),
        ("b[i] = a[far];\na[i] = 2;\ng.sync();\nb[i] += a[far];", {("R102", 7, 8)}),
    ],
    ids=["behind", "another variable", "before"],
)
def test_races_on_one_side_of_it_are_found(body: str, expected: set[tuple[str, int, int]]) -> None:
    assert lines(check(body)[0]) == expected


def test_what_a_thread_did_that_had_exited_is_not_ordered() -> None:
    run, _ = check("if (threadIdx.x == 5) { a[far + 1] = 7; return; }\ng.sync();\nb[i] = a[i];")
    assert lines(run) == {("R102", 7, 9)}


def test_a_block_that_does_not_come_is_named() -> None:
    run, _ = check("if (blockIdx.x == 1) return;\ng.sync();\nb[i] = a[far];")
    (finding,) = run.findings
    assert finding.rule == "R201"
    assert "grid" in finding.message
    assert finding.location.line == 8


def test_a_grid_that_is_only_asked_its_size() -> None:
    run, b = check("b[i] = g.thread_rank();")
    assert run.verdict == "clean", run.reasons
    assert b.tolist() == list(range(256))


def test_more_blocks_than_take_turns_at_first() -> None:
    run, b = check("a[i] = i;\ng.sync();\nb[i] = a[far];", blocks=300, threads=32)
    assert run.verdict == "clean", (run.findings, run.reasons)
    assert b[0] == 32


@cuda.jit
def exchange(a, b):  # type: ignore[no-untyped-def]  # compiled by Numba
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    a[i] = i
    grid.sync()
    b[i] = a[(i + 64) % a.size]
    a[i] = 0


@cuda.jit
def exchange_twice(a, b):  # type: ignore[no-untyped-def]  # compiled by Numba
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    a[i] = i
    grid.sync()
    b[i] = a[(i + 64) % a.size]
    grid.sync()
    a[i] = 0


def test_grid_barriers_of_numba() -> None:
    a, b = np.zeros(256, np.int32), np.zeros(256, np.int32)
    run = racedart.check(exchange_twice, 4, 64, a, b)
    assert run.verdict == "clean", (run.findings, run.reasons)
    assert b.tolist() == [(i + 64) % 256 for i in range(256)]
    run = racedart.check(exchange, 4, 64, a, b)
    assert [f.rule for f in run.findings] == ["R102"]
