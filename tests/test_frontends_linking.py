"""Code linked into Numba kernels: half precision, reshaping, CUDA C++ and PTX given by `link=`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import racedart
from racedart.finding.errors import InputError
from racedart.shadow.frontends import cuda_kernel, load_target
from racedart.shadow.frontends.linking import link_ptx
from racedart.shadow.ptx import parse_module

KERNELS = """
import os
from numba import cuda, types

HERE = os.path.dirname(__file__)
thrice = cuda.declare_device("thrice", "int32(int32)", link=os.path.join(HERE, "thrice.cu"))
plus_two = cuda.declare_device("plus_two", "int32(int32)")

@cuda.jit
def half(a, b, out):
    i = cuda.grid(1)
    out[i] = cuda.fp16.hfma(a[i], b[i], a[i]) - b[i] / a[i] + abs(b[i])

@cuda.jit
def reshaped(a, out):
    i = cuda.grid(1)
    out[i] = a.reshape((2, 8))[i // 8, i % 8]

@cuda.jit
def declared(out):
    out[cuda.grid(1)] = thrice(cuda.grid(1))

@cuda.jit(link=[os.path.join(HERE, "two.ptx")])
def linked(out):
    out[cuda.grid(1)] = plus_two(cuda.grid(1))

@cuda.jit(link=[os.path.join(HERE, "two.cubin")])
def machine_code(out):
    out[cuda.grid(1)] = plus_two(cuda.grid(1))
"""
THRICE = """#include <cuda_fp16.h>
extern "C" __device__ int thrice(int* result, int x) {
  *result = 3 * x;
  return 0;
}
"""
TWO = """.version 8.0
.target sm_90
.address_size 64
.visible .func (.param .b32 func_retval0) plus_two(.param .b64 result, .param .b32 x)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [result];
  ld.param.u32 %r1, [x];
  add.s32 %r2, %r1, 2;
  st.u32 [%rd1], %r2;
  mov.u32 %r3, 0;
  st.param.b32 [func_retval0], %r3;
  ret;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("linked")
    (made / "kernels.py").write_text(KERNELS)
    (made / "two.ptx").write_text(TWO)
    (made / "two.cubin").write_bytes(b"\x7fELF")
    (made / "thrice.cu").write_text(THRICE)
    return made


def check(folder: Path, name: str, *args: Any) -> racedart.Run:
    return racedart.check(load_target(f"{folder / 'kernels.py'}::{name}"), 1, 16, *args)


def test_half_precision(folder: Path) -> None:
    a, b = np.linspace(1, 4, 16).astype(np.float16), np.linspace(-3, 3, 16).astype(np.float16)
    out = np.zeros(16, np.float16)
    assert check(folder, "half", a, b, out).verdict == "clean"
    np.testing.assert_allclose(out, a * b + a - b / a + abs(b), rtol=0.01, atol=0.01)


def test_reshaping(folder: Path) -> None:
    a, out = np.arange(16.0), np.zeros(16)
    assert check(folder, "reshaped", a, out).verdict == "clean"
    assert (out == a).all()


def test_ptx_given_by_the_decorator(folder: Path) -> None:
    out = np.zeros(16, np.int32)
    assert check(folder, "linked", out).verdict == "clean"
    assert out.tolist() == list(range(2, 18))


def test_cuda_cpp_of_a_declared_function(folder: Path) -> None:
    out = np.zeros(16, np.int32)
    assert check(folder, "declared", out).verdict == "clean"
    assert out.tolist() == [3 * k for k in range(16)]


def test_machine_code_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="two is linked as Cubin"):
        check(folder, "machine_code", np.zeros(16, np.int32))


def test_lines_and_declarations_of_linked_modules_are_their_own() -> None:
    main = (
        cuda_kernel(
            "extern __device__ int far(int*);\n__global__ void k(int* x) {\n  x[0] = far(x);\n}\n",
            "k",
            options=["-rdc=true"],
        )
        .compile()[0]
        .ptx
    )
    other = (
        cuda_kernel(
            "__device__ int far(int* x) {\n\n\n  x[1] = 2;\n  return 3;\n}\n"
            "__global__ void unused(int* x) { far(x); }\n",
            "unused",
            options=["-rdc=true"],
        )
        .compile()[0]
        .ptx
    )
    module = parse_module(link_ptx(main, [other]))
    names = [name for name in module.functions if "far" in name]
    assert len(names) == 1
    entry = next(name for name in module.kernels if "1k" in name)
    linked = racedart.cuda_kernel(link_ptx(main, [other]), entry)
    x = np.zeros(4, np.int32)
    run = racedart.check(linked, 1, 64, x)
    assert x.tolist() == [3, 2, 0, 0]
    places = {(Path(f.location.file).name, f.location.line) for f in run.findings}
    assert places == {("k.cu", 3), ("unused.cu", 4)}
    assert link_ptx(main, []) == main
