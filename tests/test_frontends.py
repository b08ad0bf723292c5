"""Front ends: argument texts, dimensions, names, declarations, and the launches that they make."""

from __future__ import annotations

import contextlib
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import racedart
from hypothesis import given
from hypothesis import strategies as st
from racedart.finding.errors import InputError, RacedartError, UsageError
from racedart.shadow.frontends import cuda_kernel, load_target, make_launch, parse_argument
from racedart.shadow.frontends.dimensions import check_dimensions
from racedart.shadow.frontends.names import variable_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zeros:3:f4", np.zeros(3, np.float32)),
        ("zeros:3", np.zeros(3, np.float32)),
        ("ones:2x2:i8", np.ones((2, 2), np.int64)),
        ("arange:6:u1", np.arange(6, dtype=np.uint8)),
        ("arange:2x3:f8", np.arange(6.0).reshape(2, 3)),
        ("full:2:7:i4", np.full(2, 7, np.int32)),
        ("full:2:1.5", np.full(2, 1.5, np.float32)),
        ("zeros:0:i4", np.zeros(0, np.int32)),
        ("1024", 1024),
        ("-3", -3),
        ("0x10", 16),
        ("2.5", 2.5),
        ("32:i4", np.int32(32)),
        ("1.5:f4", np.float32(1.5)),
        ("null", None),
    ],
)
def test_argument_texts(text: str, expected: Any) -> None:
    value = parse_argument(text)
    assert type(value) is type(expected)
    if isinstance(expected, np.ndarray):
        assert value.dtype == expected.dtype
        np.testing.assert_array_equal(value, expected)
    else:
        assert value == expected


def test_random_arguments_are_always_the_same() -> None:
    for text in ("random:100:f4", "random:100:i4", "random:9:u1"):
        first, second = parse_argument(text), parse_argument(text)
        np.testing.assert_array_equal(first, second)
        assert len(set(first.tolist())) > 1


WRONG_ARGUMENTS = """
: zeros zeros: zeros:x zeros:-1:f4 zeros:3:f4:f4 zeros:3:what zeros:3:O zeros:4:U3 zeros:99999999999:f4 full:3
full:3:i4 12:what 12:i1:x 300:u1 1.5:i4 nan:i4 inf:i4 abc
"""


@pytest.mark.parametrize("text", ["", *WRONG_ARGUMENTS.split()])
def test_wrong_argument_texts_say_what_is_expected(text: str) -> None:
    with pytest.raises(UsageError, match="argument"):
        parse_argument(text)


@given(st.text(max_size=20))
def test_no_argument_text_crashes(text: str) -> None:
    with contextlib.suppress(RacedartError):
        parse_argument(text.replace("9", "8"))


def test_saved_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(5))
    np.testing.assert_array_equal(parse_argument(str(tmp_path / "x.npy")), np.arange(5))
    (tmp_path / "bad.npy").write_bytes(b"no array")
    for name in ("bad.npy", "none.npy"):
        with pytest.raises(InputError, match=name):
            parse_argument(str(tmp_path / name))


def test_dimensions() -> None:
    assert check_dimensions(4, (8, 2), 0) == ((4, 1, 1), (8, 2, 1))
    assert check_dimensions((1, 2, 3), 1024, 48) == ((1, 2, 3), (1024, 1, 1))


@pytest.mark.parametrize(
    ("grid", "block", "shared", "what"),
    [
        (0, 1, 0, "grid.x is 0"),
        (1, -1, 0, "block.x is -1"),
        (1, 1025, 0, "block.x is 1025"),
        (1, (32, 32, 2), 0, "2048 threads"),
        (1, (1, 1, 65), 0, "block.z is 65"),
        ((1, 65536), 1, 0, "grid.y is 65536"),
        (2**31, 1, 0, "grid.x"),
        ((), 1, 0, "one to three"),
        ((1, 1, 1, 1), 1, 0, "one to three"),
        (1.5, 1, 0, "whole numbers"),
        ("1", 1, 0, "whole numbers"),
        (True, 1, 0, "whole numbers"),
        (1, 1, -1, "shared_bytes"),
        (1, 1, 10**9, "shared_bytes"),
    ],
)
def test_wrong_dimensions_are_named(grid: Any, block: Any, shared: int, what: str) -> None:
    with pytest.raises(UsageError) as error:
        check_dimensions(grid, block, shared)
    assert what in str(error.value)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZZ10mirror_addPKiPiiE4tile", "tile"),
        ("_ZN2ns7counterE", "counter"),
        ("_ZZN2ns5scaleIfLi4EEEvPKT_PS1_iE6buffer", "buffer"),
        ("plain", "plain"),
        ("_cudapy_smem_1", "_cudapy_smem_1"),
    ],
)
def test_variable_names(symbol: str, name: str) -> None:
    assert variable_name(symbol) == name


CUDA = """
namespace ns {
template <typename T, int N>
__global__ void scale(const T* in, T* out, int n) {
  __shared__ T buffer[N];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  buffer[threadIdx.x] = i < n ? in[i] : T(0);
  __syncthreads();
  if (i < n) out[i] = buffer[threadIdx.x] * T(2);
}
}
struct Pair { int a; float b; };
__device__ int total;
__constant__ int table[4] = {1, 2, 3, 4};
extern "C" __global__ void __launch_bounds__(128)
mixed(float* out, Pair pair, unsigned char small, double wide, bool flag) {
  out[threadIdx.x] = pair.a * pair.b + small + (flag ? wide : 0) + table[threadIdx.x % 4];
  if (threadIdx.x == 0) total = 1;
}
extern __shared__ float dynamic[];
__global__ void uses_dynamic(float* out) { dynamic[threadIdx.x] = 1; out[threadIdx.x] = dynamic[threadIdx.x]; }
"""


def test_a_template_kernel_in_a_namespace() -> None:
    values, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    run = racedart.check(cuda_kernel(CUDA, "ns::scale<float, 64>"), 2, 64, values, out, 100)
    assert run.verdict == "clean", run
    np.testing.assert_array_equal(out, values * 2)


def test_parameters_of_every_kind() -> None:
    out = np.zeros(8, np.float32)
    pair = struct.pack("<if", 3, 2.5)
    run = racedart.check(cuda_kernel(CUDA, "mixed"), 1, 8, out, pair, 5, 0.25, True)
    assert run.verdict == "clean", run
    np.testing.assert_array_equal(out, 3 * 2.5 + 5 + 0.25 + np.array([1, 2, 3, 4] * 2))


def test_a_structured_scalar_is_a_struct() -> None:
    out = np.zeros(4, np.float32)
    pair = np.array((3, 2.5), dtype=[("a", "i4"), ("b", "f4")])[()]
    racedart.check(cuda_kernel(CUDA, "mixed"), 1, 4, out, pair, np.uint8(0), 0.0, False)
    assert out[0] == 8.5


def test_dynamic_shared_memory_has_its_name() -> None:
    kernel = cuda_kernel(CUDA, "uses_dynamic")
    assert racedart.check(kernel, 1, 8, np.zeros(8, np.float32), shared_bytes=32).verdict == "clean"
    run = racedart.check(kernel, 1, 9, np.zeros(9, np.float32), shared_bytes=32)
    assert [f.rule for f in run.findings] == ["R301"]
    assert "dynamic[8]" in run.findings[0].message


@pytest.mark.parametrize(
    ("name", "args", "what"),
    [
        ("mixed", (), "takes 5 arguments (float * out, Pair pair, unsigned char small, double wide, bool flag)"),
        (
            "mixed",
            (np.zeros(4, np.int32), bytes(8), 1, 1.0, True),
            "'out' is an array of int32; the kernel takes float *",
        ),
        ("mixed", (np.zeros(4, np.float64), bytes(8), 1, 1.0, True), "array of float32"),
        ("mixed", (3, bytes(8), 1, 1.0, True), "give an array"),
        ("mixed", (None, bytes(7), 1, 1.0, True), "has 7 bytes; Pair has 8"),
        ("mixed", (None, bytes(8), 300, 1.0, True), "300, which is no value of unsigned char"),
        ("mixed", (None, bytes(8), np.float32(1), 1.0, True), "'small' is float32"),
        ("mixed", (None, bytes(8), 1, np.zeros(3), True), "'wide' is an array"),
        ("mixed", (None, bytes(8), 1, None, True), "null pointer"),
        ("mixed", ("text", bytes(8), 1, 1.0, True), "'text'"),
        ("mixed", (None, bytes(8), 1, "text", True), "is a str"),
    ],
)
def test_wrong_arguments_are_named(name: str, args: tuple[Any, ...], what: str) -> None:
    with pytest.raises(UsageError) as error:
        make_launch(cuda_kernel(CUDA, name), 1, 32, args)
    assert what in str(error.value).replace("float *out", "float * out")


@pytest.mark.parametrize(
    ("source", "name", "what"),
    [
        ("__global__ void k( {", "k", "does not compile"),
        ("__global__ void k(int* a) { a[0] = undefined_thing; }", "k", "undefined_thing"),
        ('#include "nothing.h"\n__global__ void k() {}', "k", "nothing.h"),
        (CUDA, "mixt", "did you mean mixed?"),
        (CUDA, "ns::scale", "ns::scale<...>"),
        ("", "k", "has no kernel"),
        ("__device__ void f() {}\n", "f", "f"),
        (".version 8.0\n.target sm_90\n.address_size 64\n", "k", "has no kernel"),
    ],
)
def test_sources_without_the_kernel_are_refused(source: str, name: str, what: str) -> None:
    with pytest.raises(InputError) as error:
        make_launch(cuda_kernel(source, name), 1, 1, [])
    assert what in str(error.value)


def test_compile_options_and_includes(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "two.h").write_text("#define TWO 2\n")
    (tmp_path / "beside.h").write_text("#define SEVEN 7\n")
    path = tmp_path / "k.cu"
    path.write_text(
        '#include "two.h"\n#include "beside.h"\n__global__ void k(int* a) { a[0] = TWO + SEVEN + MORE; }\n'
    )
    out = np.zeros(1, np.int32)
    kernel = cuda_kernel(path, "k", options=["-DMORE=100"], include_dirs=[tmp_path / "inc"])
    racedart.check(kernel, 1, 1, out)
    assert out[0] == 109
    racedart.check(cuda_kernel(path, "k", defines=["MORE=0"], include_dirs=[str(tmp_path / "inc")]), 1, 1, out)
    assert out[0] == 9


PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z4markPji(.param .u64 a, .param .u32 n) {
  .reg .b64 %rd<2>; .reg .b32 %r<3>;
  ld.param.u64 %rd1, [a];
  ld.param.u32 %r1, [n];
  st.global.u32 [%rd1], %r1;
  ret;
}
"""


def test_ptx_files_show_their_own_lines(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(PTX)
    for name in ("_Z4markPji", "mark"):
        run = racedart.check(load_target(f"{path}::{name}"), 1, 2, np.zeros(1, np.uint32), 7)
        assert [(f.rule, f.location.line, f.location.file) for f in run.findings] == [("R101", 8, str(path))]


def test_numba_arguments_of_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(
        "from numba import cuda\n"
        "@cuda.jit\n"
        "def k(c, f, s, pair, flag, z, out):\n"
        "    i = cuda.threadIdx.x\n"
        "    if flag:\n"
        "        out[i] = c[i, 1] + f[1, i] + s[i] + pair[0] * pair[1] + z.real\n"
    )
    c = np.arange(8.0).reshape(4, 2)
    f = np.asfortranarray(np.arange(8.0).reshape(2, 4))
    s = np.arange(20.0)[3:15:3]
    out = np.zeros(8)[::2]
    run = racedart.check(load_target(f"{path}::k"), 1, 4, c, f, s, (3, 0.5), True, 2 + 1j, out)
    assert run.verdict == "clean", run
    np.testing.assert_array_equal(out, c[:, 1] + f[1] + s + 1.5 + 2)


def test_overlapping_arrays_share_their_memory(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(
        "from numba import cuda\n@cuda.jit\ndef copy(a, b):\n    i = cuda.threadIdx.x\n    b[i] = a[i] + 1\n"
    )
    memory = np.zeros(33, np.float32)
    kernel = load_target(f"{path}::copy")
    run = racedart.check(kernel, 1, 32, memory[:32], memory[1:])
    assert [f.rule for f in run.findings] == ["R102"]
    assert memory[1] == 1
    assert racedart.check(kernel, 1, 32, memory[:32], memory[:32]).verdict == "clean"


def test_device_functions_keep_their_lines_and_names(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(
        "from numba import cuda, int32\n"
        "@cuda.jit(device=True)\n"
        "def bump(cell):\n"
        "    box = cuda.shared.array(1, int32)\n"
        "    box[0] = cell[0]\n"
        "    cell[0] += 1\n"
        "@cuda.jit\n"
        "def k(total):\n"
        "    bump(total)\n"
    )
    run = racedart.check(load_target(f"{path}::k"), 1, 2, np.zeros(1, np.int32))
    found = {
        (f.rule, f.properties["variable"], *sorted((f.location.line, f.related[0].line))) for f in run.findings
    }
    # The compiler loads cell[0] once, for both lines.
    assert found == {("R101", "box", 5, 5), ("R102", "total", 5, 6), ("R101", "total", 6, 6)}


def test_an_explicit_signature_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(
        "from numba import cuda\n@cuda.jit('void(float32[:], int32)')\ndef k(a, n):\n    a[cuda.threadIdx.x] = n\n"
    )
    kernel = load_target(f"{path}::k")
    out = np.zeros(4, np.float32)
    assert racedart.check(kernel, 1, 4, out, 5).verdict == "clean"
    assert out.tolist() == [5] * 4
    with pytest.raises(UsageError, match="declared for"):
        racedart.check(kernel, 1, 4, np.zeros(4, np.float64), 5)


@pytest.mark.parametrize(
    ("text", "name", "what"),
    [
        ("def k(:\n", "k", "k.py:1: cannot be imported: SyntaxError"),
        ("x = 1\nraise ValueError('no')\n", "k", "k.py:2: cannot be imported: ValueError: no"),
        ("import sys\nsys.exit(3)\n", "k", "k.py:2: cannot be imported: SystemExit"),
        ("import nothing_of_this_name\n", "k", "k.py:1"),
        ("x = 1\n", "x", "is of type int, not a @cuda.jit kernel"),
        ("x = 1\n", "k", "has no kernel 'k'"),
        ("from numba import cuda\n@cuda.jit\ndef kernel(a): a[0] = 1\n", "kernal", "did you mean kernel?"),
        ("from numba import cuda\n@cuda.jit(device=True)\ndef f(a): return a\n", "f", "a device function"),
        ("from numba import cuda\n@cuda.jit\ndef k(a): a[0] = missing\n", "k", "does not compile"),
        ("from numba import cuda\n@cuda.jit\ndef k(a): a.no_such()\n", "k", "does not compile"),
        ("from numba import cuda\n@cuda.jit\ndef k(a): return a[0]\n", "k", "does not compile"),
    ],
)
def test_python_files_without_the_kernel_are_refused(text: str, name: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        make_launch(load_target(f"{path}::{name}"), 1, 1, [np.zeros(1, np.int32)])
    assert what in str(error.value)


def test_arguments_that_numba_cannot_pass(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text("from numba import cuda\n@cuda.jit\ndef k(a): pass\n")
    kernel = load_target(f"{path}::k")
    for value in (object(), "text", None, np.array([object()])):
        with pytest.raises(UsageError, match="'a'"):
            make_launch(kernel, 1, 1, [value])
    with pytest.raises(UsageError, match=r"takes 1 arguments \(a\); 2 were given"):
        make_launch(kernel, 1, 1, [1, 2])


def test_what_is_no_kernel_is_refused() -> None:
    with pytest.raises(UsageError, match="not a kernel"):
        make_launch(print, 1, 1, [])


def test_importing_the_front_ends_is_light() -> None:
    code = (
        "import sys, racedart.shadow.frontends; print({'numba.cuda', 'cuda.bindings', 'clang'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
