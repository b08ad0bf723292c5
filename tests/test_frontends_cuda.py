"""CUDA C++ and PTX kernels: names, parameters, argument checks and errors."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import racedart
from racedart.finding.errors import InputError, RacedartError, UsageError
from racedart.shadow.frontends import cuda_kernel, load_target, make_launch

SOURCE = """
namespace ns {
__device__ int tickets = 0;
struct Pair { float a; double b; };
template <typename T, int N> __global__ void scale(T* out, T factor, Pair p, long n) {
  __shared__ T tile[N * 32];
  tile[threadIdx.x] = factor + p.b;
  __syncthreads();
  out[threadIdx.x] = tile[n] + atomicAdd(&tickets, 1);
}
}
extern __shared__ float dyn[];
extern "C" __global__ void __launch_bounds__(128) plain(float4* v, bool b, void* x, unsigned char c, double d) {
  dyn[threadIdx.x] = v[0].x + c + d;
  __syncthreads();
  if (b) v[1].y = dyn[0] + (x != nullptr);
}
__global__ void twice(int* first, int second) { first[0] = second; }
__global__ void twice(float* third, float fourth) { third[0] = fourth; }
"""


def kernel(name: str, **more: Any) -> Any:
    return cuda_kernel(SOURCE, name, **more)


def test_import_is_light() -> None:
    code = """
import sys
import racedart.shadow.frontends
print([name for name in sys.modules if name.startswith(("numba", "cuda", "clang"))])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_names_of_memory() -> None:
    made = make_launch(kernel("ns::scale<float, 4>"), 1, 32, (np.zeros(32, "f4"), 2.0, bytes(16), 3)).kernel
    assert [v for k, v in made.shared_names.items() if "scale" in k] == ["tile"]
    assert [v for k, v in made.global_names.items() if "tickets" in k] in (["tickets"], ["ns::tickets"])
    dynamic = make_launch(kernel("plain"), 1, 32, (np.zeros(8, "f4"), True, None, 1, 1.0), 128).kernel
    assert dynamic.shared_names[""] == dynamic.shared_names["dyn"] == "dyn"


@pytest.mark.parametrize("factor", [2.0, 2, np.float32(2)])
def test_a_number_for_a_float_of_a_template_is_a_float(factor: Any) -> None:
    made = make_launch(kernel("ns::scale<float, 4>"), 1, 32, (np.zeros(32, "f4"), factor, bytes(16), 3))
    assert made.params[1].data == struct.pack("<f", 2.0)


def test_values_of_parameters() -> None:
    made = make_launch(kernel("plain"), 1, 32, (np.zeros(8, "f4"), True, None, 200, 3))
    assert [p.data for p in made.params[1:]] == [b"\1", bytes(8), b"\xc8", struct.pack("<d", 3)]
    assert made.buffers[0].name == "v"


def test_overload_is_told_by_its_cast() -> None:
    expression = "static_cast<void (*)(float*, float)>(twice)"
    made = make_launch(kernel(expression), 1, 1, (np.zeros(1, "f4"), 2))
    assert made.params[1].data == struct.pack("<f", 2)


@pytest.mark.parametrize(
    ("declaration", "array"),
    [
        (
            "#include <cuda/std/cstdint>\nusing cuda::std::int64_t;\n__global__ void k(int64_t* a) { a[0] = 1; }",
            np.zeros(1, "i8"),
        ),
        ("#include <cuda_fp16.h>\n__global__ void k(__half* a) { a[0] = a[1]; }", np.zeros(2, "f2")),
        ("__global__ void k(size_t* a) { a[0] = 1; }", np.zeros(1, "u8")),
        ("__global__ void k(float4* a) { a[0] = a[1]; }", np.zeros(8, "f4")),
        ("__global__ void k(double2* a) { a[0] = a[1]; }", np.zeros(4, "f8")),
        ("#include <cooperative_groups.h>\n__global__ void k(double* a) { a[0] = 1; }", np.zeros(2, "f8")),
        ("enum class E : short { x }; __global__ void k(E* a) { a[0] = E::x; }", np.zeros(2, "i2")),
        ("__global__ void k(char* a) { a[0] = 1; }", np.zeros(2, "u1")),
        ("typedef float real; __global__ void k(const real* __restrict__ b, real* a) { a[0] = b[0]; }", None),
    ],
    ids=["int64_t", "half", "size_t", "float4", "double2", "missing header", "enum", "char", "typedef"],
)
def test_pointer_types_take_the_arrays_that_they_mean(declaration: str, array: Any) -> None:
    args = (array,) if array is not None else (np.zeros(2, "f4"), np.zeros(2, "f4"))
    made = make_launch(cuda_kernel(declaration + "\n", "k"), 1, 1, args)
    assert [b.name for b in made.buffers] == (["a"] if array is not None else ["b", "a"])


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((np.zeros(4, "f4"), 1.0, bytes(16)), ["4", "3"]),
        ((np.zeros(4, "f8"), 1.0, bytes(16), 1), ["float64", "float"]),
        ((1.0, 1.0, bytes(16), 1), ["out"]),
        ((np.zeros(4, "f4"), np.zeros(1, "f4"), bytes(16), 1), ["factor"]),
        ((np.zeros(4, "f4"), 1.0, bytes(15), 1), ["16", "15"]),
        ((np.zeros(4, "f4"), 1.0, bytes(16), 1.5), ["1.5"]),
        ((np.zeros(4, "f4"), 1.0, bytes(16), 1 << 70), [str(1 << 70)]),
        ((np.zeros(4, "f4"), "x", bytes(16), 1), ["factor"]),
        ((np.zeros(4, "f4"), 1.0, 3, 1), ["p"]),
    ],
)
def test_wrong_arguments(args: Any, said: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        make_launch(kernel("ns::scale<float, 4>"), 1, 32, args)
    assert all(word in str(caught.value) for word in said), caught.value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1j, -1, 256, "3"])
def test_wrong_numbers(value: Any) -> None:
    with pytest.raises(UsageError):
        make_launch(kernel("plain"), 1, 32, (np.zeros(8, "f4"), True, None, value, 1.0))


@pytest.mark.parametrize("name", ["scale<float,4>", "nope", "plan", "ns::scale"])
def test_unknown_kernel_lists_the_kernels(name: str) -> None:
    with pytest.raises(InputError) as caught:
        make_launch(kernel(name), 1, 1, ())
    assert "plain" in str(caught.value)
    assert "ns::scale" in str(caught.value)


def test_error_has_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.cu"
    path.write_text("\n__global__ void k(int* a) {\n  a[0] = undefined_thing;\n}\n")
    with pytest.raises(InputError, match=r"bad\.cu.*3.*undefined_thing"):
        make_launch(cuda_kernel(str(path), "k"), 1, 1, (np.zeros(1, "i4"),))


@pytest.mark.parametrize(
    "options",
    [
        ("-std=c++14",),
        ("--std=c++20",),
        ("-arch=compute_80",),
        ("--gpu-architecture=compute_80",),
        ("-G",),
        ("-lineinfo",),
    ],
)
def test_an_option_replaces_the_default(options: tuple[str, ...]) -> None:
    make_launch(kernel("plain", options=options), 1, 32, (np.zeros(8, "f4"), True, None, 1, 1.0))


def test_defines_and_include_folders(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "size.h").write_text("constexpr int SIZE = N;\n")
    (tmp_path / "near.h").write_text("constexpr int NEAR = 1;\n")
    path = tmp_path / "k.cu"
    path.write_text('#include "near.h"\n#include "size.h"\n__global__ void k(int* a) { a[0] = SIZE + NEAR; }\n')
    made = make_launch(
        load_target(f"{path}::k", ["N=4"], [], [str(tmp_path / "include")]), 1, 1, (np.zeros(1, "i4"),)
    )
    assert ", 5;" in made.kernel.ptx


def test_lines_name_the_file_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cu").write_text("__global__ void k(int* a) { a[0] = 1; }\n")
    made = make_launch(load_target("k.cu::k"), 1, 1, (np.zeros(1, "i4"),))
    assert '"k.cu"' in made.kernel.ptx


def test_source_text_is_kept_under_its_name() -> None:
    made = make_launch(kernel("plain"), 1, 32, (np.zeros(8, "f4"), True, None, 1, 1.0)).kernel
    (name,) = made.sources
    assert f'"{name}"' in made.ptx
    assert made.sources[name] == SOURCE


@pytest.fixture
def ptx_file(tmp_path: Path) -> Path:
    made = make_launch(kernel("ns::scale<float, 4>"), 1, 32, (np.zeros(32, "f4"), 2.0, bytes(16), 3)).kernel
    path = tmp_path / "k.ptx"
    path.write_text(made.ptx)
    return path


@pytest.mark.parametrize("name", ["ns::scale", "symbol"])
@pytest.mark.parametrize("factor", [2, 2.0])
def test_ptx_file(ptx_file: Path, name: str, factor: Any) -> None:
    if name == "symbol":
        name = "_ZN2ns5scaleIfLi4EEEvPT_S1_NS_4PairEl"
    made = make_launch(load_target(f"{ptx_file}::{name}"), 1, 32, (np.zeros(32, "f4"), factor, bytes(16), 3))
    assert made.params[1].data == struct.pack("<f", 2)
    assert made.kernel.language == "ptx"


def test_broken_ptx_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "b.ptx").write_text(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k( {\n")
    with pytest.raises(InputError, match=r"b\.ptx"):
        make_launch(load_target(f"{tmp_path / 'b.ptx'}::k"), 1, 1, ())


@pytest.mark.parametrize(
    "target", ["{}.cu", "{}.cu::", "{}.ptx", "{}.py", "{}.txt", "missing.cu::k", "{}.py::nope"]
)
def test_bad_target_is_a_users_error(tmp_path: Path, target: str) -> None:
    (tmp_path / "k.cu").write_text(SOURCE)
    (tmp_path / "k.txt").write_text("")
    (tmp_path / "k.py").write_text("from numba import cuda\n@cuda.jit\ndef plain(a):\n    a[0] = 1\n")
    (tmp_path / "k.ptx").write_text(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry plain()\n{\nret;\n}\n"
    )
    text = target.format(tmp_path / "k")
    with pytest.raises(RacedartError) as caught:
        load_target(text)
    if "missing" not in text and ".txt" not in text:
        assert "plain" in str(caught.value)


def test_standard_headers_and_assertions() -> None:
    source = """
    #include <cassert>
    #include <cstdint>
    #include <cstdio>
    #include <cfloat>
    #include <cuda_runtime.h>
    __global__ void k(int32_t* out, int n) {
      assert(n > 2);
      printf("%d\\n", n);
      out[threadIdx.x] = FLT_MAX > 1 ? n : 0;
    }
    """
    out = np.zeros(4, np.int32)
    assert racedart.check(racedart.cuda_kernel(source, "k"), 1, 4, out, 3).verdict == "clean"
    assert out.tolist() == [3] * 4
    run = racedart.check(racedart.cuda_kernel(source, "k"), 1, 4, out, 1)
    assert run.verdict == "incomplete"
    assert [reason.kind for reason in run.reasons] == ["trap"]
    assert "assertion failed" in run.reasons[0].message
    assert run.reasons[0].location is not None
    assert run.reasons[0].location.line == 8


def test_launches_that_a_gpu_refuses() -> None:
    bounded = "__global__ void __launch_bounds__(64) k(int* o) { o[threadIdx.x] = 1; }"
    out = np.zeros(128, np.int32)
    assert racedart.check(racedart.cuda_kernel(bounded, "k"), 1, 64, out).verdict == "clean"
    with pytest.raises(UsageError, match="at most 64 threads"):
        racedart.check(racedart.cuda_kernel(bounded, "k"), 1, 128, out)
    big = "__global__ void k(int* o) { __shared__ int s[20000]; s[threadIdx.x] = o[0]; o[threadIdx.x] = s[0]; }"
    with pytest.raises(InputError, match="80,000 bytes of static shared memory"):
        racedart.check(racedart.cuda_kernel(big, "k"), 1, 1, out)
    small = big.replace("20000", "1000")
    with pytest.raises(UsageError, match="4,000 of them static"):
        racedart.check(racedart.cuda_kernel(small, "k"), 1, 1, out, shared_bytes=227 * 1024)
