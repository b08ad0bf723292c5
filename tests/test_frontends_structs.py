"""Structs by value, values of module variables, and overloads chosen by their parameters: kernels get them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import racedart
from racedart.finding.errors import RacedartError, UsageError
from racedart.shadow.frontends import cuda_kernel, parse_argument

SOURCE = """
struct Inner { float* data; char tag; };
struct View { int n; Inner inner; const double* weights; short step; };
namespace ns { __constant__ float coefficients[4]; __device__ int bias = 5; }
__constant__ double factor;
extern "C" __global__ void use(View v, int* out) {
  if (threadIdx.x < v.n) v.inner.data[threadIdx.x] = v.weights[threadIdx.x] * v.step + v.inner.tag;
  if (threadIdx.x == 0) out[0] = v.n;
}
extern "C" __global__ void same(View v) { v.inner.data[0] = threadIdx.x; }
extern "C" __global__ void constants(double* out) {
  out[threadIdx.x] = ns::coefficients[threadIdx.x % 4] * factor + ns::bias;
}
__global__ void twice(int* x, int n) { x[threadIdx.x] = n; }
__global__ void twice(float* x, float n) { x[threadIdx.x] = 2 * n; }
union Either { int i; float f; };
extern "C" __global__ void either(Either e, int* out) { out[threadIdx.x] = e.i; }
"""


def check(name: str, *args: Any, **options: Any) -> racedart.Run:
    return racedart.check(cuda_kernel(SOURCE, name), 1, 8, *args, **options)


@pytest.mark.parametrize("form", ["names", "order", "text"])
def test_a_struct_with_pointers_reaches_the_kernel(form: str) -> None:
    data, weights, out = np.zeros(8, np.float32), np.arange(8.0), np.zeros(1, np.int32)
    view: Any = {"weights": weights, "n": 6, "step": 3, "inner": {"data": data, "tag": 2}}
    if form == "order":
        view = (6, (data, 2), weights, 3)
    if form == "text":
        view = parse_argument("{n=6, inner={zeros:8:f4, 2}, weights=arange:8:f8, step=3}")
        data = view["inner"][0]
    assert check("use", view, out).verdict == "clean"
    assert data.tolist() == [*(weights * 3 + 2)[:6], 0, 0]
    assert out[0] == 6


def test_a_race_through_a_member_has_its_name() -> None:
    (finding,) = check("same", (1, (np.zeros(8, np.float32), 0), None, 0)).findings
    assert finding.properties["variable"] == "data"


@pytest.mark.parametrize(
    ("view", "what"),
    [
        ({"n": 1}, "has the members n; View has int n, Inner inner"),
        ((1, 2), "has 2 members; View has 4"),
        (
            (1, (np.zeros(1), 0), None, 0),
            "'inner' that has a member 'data' that is an array of float64",
        ),
        (np.zeros(3), "is an array"),
    ],
)
def test_structs_that_do_not_fit(view: Any, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        check("same", view)


def test_a_union_is_given_as_bytes() -> None:
    out = np.zeros(8, np.int32)
    with pytest.raises(UsageError, match="whose members can be seen: give its 4 bytes"):
        check("either", {"i": 3}, out)
    assert check("either", np.int32(7).tobytes(), out).verdict == "clean"
    assert set(out.tolist()) == {7}


def test_variables_are_set_for_a_launch() -> None:
    out = np.zeros(8)
    coefficients = np.array([1, 2, 3, 4], np.float32)
    run = check("constants", out, variables={"coefficients": coefficients, "factor": 10, "ns::bias": np.int32(7)})
    assert run.verdict == "clean"
    assert out.tolist() == [17, 27, 37, 47] * 2
    check("constants", out, variables={"factor": 10.0, "coefficients": coefficients[:1]})
    assert out.tolist() == [15, 5, 5, 5] * 2


@pytest.mark.parametrize(
    ("variables", "what"),
    [
        ({"coeficients": 1}, "uses no variable 'coeficients'; did you mean coefficients"),
        ({"coefficients": 1}, "has 16 bytes; 1 does not say how to fill"),
        ({"coefficients": np.zeros(5, np.float32)}, "has 16 bytes; 20 were given"),
        ({"bias": 1.5}, "1.5 is no value of it"),
    ],
)
def test_variables_that_do_not_fit(variables: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        check("constants", np.zeros(8), variables=variables)


@pytest.mark.parametrize(
    ("name", "dtype", "value"), [("twice(int*, int)", np.int32, 3), ("twice(float *, float)", np.float32, 6)]
)
def test_an_overload_is_chosen_by_its_parameters(name: str, dtype: Any, value: int) -> None:
    x = np.zeros(8, dtype)
    assert check(name, x, 3).verdict == "clean"
    assert set(x.tolist()) == {value}


def test_an_overload_that_is_not_there() -> None:
    with pytest.raises(RacedartError, match="twice"):
        check("twice(double*, double)", np.zeros(8), 3)


@pytest.mark.parametrize("text", ["{1, 2", "{1} 2", "{}", "{a=1, zeros:x}"])
def test_texts_of_structs_that_are_none(text: str) -> None:
    with pytest.raises(UsageError):
        parse_argument(text)
