"""Numba kernels without a driver: types, layout of arguments, names of shared arrays, lines of callees."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import racedart
from racedart.finding.errors import InputError, RacedartError, UsageError
from racedart.shadow.frontends import load_target, make_launch
from racedart.shadow.ptx import parse_module

SOURCE = """
import helpers
import numpy as np
from numba import cuda, float32, int32

@cuda.jit(device=True)
def helper(x, i):
    scratch = cuda.shared.array(8, int32)
    scratch[i % 8] = i
    return x[i] + scratch[0]                       # line 10

@cuda.jit("int32(int32[:], int32)", device=True)
def typed(x, i):
    return x[i] * 3                                # line 14

@cuda.jit(device=True, inline="always")
def inlined(x, i):
    inner = cuda.shared.array(4, int32)
    inner[i % 4] = x[i]
    return inner[0]

@cuda.jit
def uses(a, n):
    tile = cuda.shared.array(shape=(4, 8), dtype=int32)
    i = cuda.grid(1)
    tile[i % 4, i % 8] = a[i]
    cuda.syncthreads()
    a[i] = tile[0, n] + helper(a, i)

@cuda.jit
def again(a):
    a[0] = helper(a, cuda.grid(1))

@cuda.jit
def with_typed(a):
    a[1] = typed(a, cuda.grid(1))

@cuda.jit
def with_inlined(a):
    a[0] = inlined(a, cuda.grid(1))

@cuda.jit
def by_module(a):
    a[0] = helpers.far(a, cuda.grid(1))

@cuda.jit
def dynamic(a):
    dyn = cuda.shared.array(0, float32)
    dyn[cuda.threadIdx.x] = a[0]
    cuda.syncthreads()
    a[1] = dyn[0]

@cuda.jit("void(float32[:], int32)")
def declared(a, n):
    a[0] = n

@cuda.jit(["void(float32[:], float32)", "void(float64[:], float64)"])
def several(a, x):
    a[0] = x

@cuda.jit(debug=True, opt=False)
def debugged(a):
    a[0] = helper(a, cuda.grid(1))

@cuda.jit(launch_bounds=64)
def bounded(a):
    a[0] = 1

@cuda.jit(fastmath=True)
def fast(a):
    a[0] = a[1] / a[2]

@cuda.jit
def layout(a, flag, z, h, t, e):
    if flag:
        a[0, 0] = z.real + h + t[0] + t[1][1] + e

class ns:
    @staticmethod
    @cuda.jit
    def inner(a):
        a[0] = 1

value = 3
if __name__ == "__main__":
    raise SystemExit("ran as a program")
"""
HELPERS = """from numba import cuda


@cuda.jit(device=True)
def far(x, i):
    return x[i] + 1
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("numba")
    (folder / "kernels.py").write_text(SOURCE)
    (folder / "helpers.py").write_text(HELPERS)
    return str(folder / "kernels.py")


def launch(module: str, name: str, *args: Any) -> Any:
    return make_launch(load_target(f"{module}::{name}"), 1, 32, args, 128)


def q(*numbers: int) -> list[bytes]:
    return [struct.pack("<q", number) for number in numbers]


def test_array_layout(module: str) -> None:
    a = np.zeros((3, 4), np.float32)[:, ::2]
    made = launch(module, "layout", a, True, 2 + 3j, np.float16(1.5), (7, np.arange(3)), 5)
    words = [p.data for p in made.params]
    assert words[:4] == q(0, 0, a.size, 4)
    assert words[5:9] == q(3, 2, 16, 8)
    assert words[9:13] == [b"\1", struct.pack("<d", 2), struct.pack("<d", 3), struct.pack("<e", 1.5)]
    assert words[13:18] == q(7, 0, 0, 3, 8)
    assert words[19:] == q(3, 8, 5)
    declared = parse_module(made.kernel.ptx).kernels[made.kernel.entry].params
    assert [p.size for p in declared] == [len(w) for w in words]


def test_shared_names_also_of_callees(module: str) -> None:
    kernel = launch(module, "uses", np.zeros(32, "i4"), 1).kernel
    assert sorted(kernel.shared_names.values()) == ["scratch", "tile"]
    assert all(symbol in kernel.ptx for symbol in kernel.shared_names)


def test_shared_names_when_the_callee_was_compiled_before(module: str) -> None:
    a = np.zeros(32, "i4")
    loaded = load_target(f"{module}::uses")
    again = loaded.py_func.__globals__["again"]
    make_launch(loaded, 1, 32, (a, 1))
    assert list(make_launch(again, 1, 32, (a,)).kernel.shared_names.values()) == ["scratch"]


def test_shared_name_of_an_inlined_callee(module: str) -> None:
    (name,) = launch(module, "with_inlined", np.zeros(32, "i4")).kernel.shared_names.values()
    assert "inner" in name


def test_dynamic_shared_memory(module: str) -> None:
    assert launch(module, "dynamic", np.zeros(2, "f4")).kernel.shared_names[""] == "dyn"


def lines(ptx: str, text: str) -> set[int]:
    """Source lines of the instructions that contain a text."""
    line, found = 0, set()
    for row in ptx.splitlines():
        if match := re.match(r"\s*\.loc\s+\d+\s+(\d+)", row):
            line = int(match[1])
        elif text in row:
            found.add(line)
    return found


@pytest.mark.parametrize(("name", "line"), [("again", 10), ("with_typed", 14), ("by_module", 6)])
def test_callees_have_their_own_lines(module: str, name: str, line: int) -> None:
    assert line in lines(launch(module, name, np.zeros(32, "i4")).kernel.ptx, "ld.")


@pytest.mark.parametrize("n", [3, np.int64(3), np.int32(3)])
def test_declared_signature(module: str, n: Any) -> None:
    made = launch(module, "declared", np.zeros(2, "f4"), n)
    assert made.params[-1].data == struct.pack("<i", 3)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_one_of_several_signatures(module: str, dtype: str) -> None:
    made = launch(module, "several", np.zeros(2, dtype), 1.5)
    assert made.params[-1].data == np.dtype(dtype).type(1.5).tobytes()


@pytest.mark.parametrize("n", [1 << 40, 1.5, 1j, "x", None, float("nan")])
def test_declared_signature_refuses(module: str, n: Any) -> None:
    with pytest.raises(UsageError):
        launch(module, "declared", np.zeros(2, "f4"), n)


@pytest.mark.parametrize("name", ["debugged", "bounded", "fast"])
def test_options_of_the_decorator(module: str, name: str) -> None:
    kernel = launch(module, name, np.ones(32, "i4" if name == "debugged" else "f4")).kernel
    if name == "bounded":
        assert ".maxntid" in kernel.ptx
    if name == "fast":
        assert "div.approx" in kernel.ptx or "div.full" in kernel.ptx or "rcp.approx" in kernel.ptx


@pytest.mark.parametrize("value", [{}, "text", [1], object(), np.array(["a"]), np.array([{}], object)])
def test_values_that_numba_cannot_pass(module: str, value: Any) -> None:
    with pytest.raises(RacedartError):
        launch(module, "by_module", value)


@pytest.mark.parametrize("name", ["helper", "value", "ns", "missing", "ns.missing", "np"])
def test_not_a_kernel(module: str, name: str) -> None:
    with pytest.raises(RacedartError, match="uses"):
        load_target(f"{module}::{name}")


def test_dotted_kernel(module: str) -> None:
    launch(module, "ns.inner", np.zeros(1, "i4"))


@pytest.mark.parametrize(
    "text", ["x = 1 / 0", "def f(:", "import not_there", "raise SystemExit(3)", "raise KeyError('k')"]
)
def test_a_file_that_fails(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.py"
    path.write_text(f"\n{text}\n")
    with pytest.raises(InputError, match=r"broken\.py:2"):
        load_target(f"{path}::k")


def test_code_that_numba_cannot_compile(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("from numba import cuda\n\n@cuda.jit\ndef k(a):\n    a[0] = undefined_name\n")
    with pytest.raises(InputError, match=r"undefined_name"):
        make_launch(load_target(f"{path}::k"), 1, 1, (np.zeros(1),))


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        (0, 1),
        (1, 0),
        (1, 1025),
        ((1, 65536), 1),
        (1, (1, 1, 65)),
        (1, (32, 33)),
        ((1,) * 4, 1),
        (1.5, 1),
        ("a", 1),
        ((), 1),
    ],
)
def test_dimensions(module: str, grid: Any, block: Any) -> None:
    with pytest.raises(UsageError):
        make_launch(load_target(f"{module}::fast"), grid, block, (np.zeros(3, "f4"),))


@pytest.mark.parametrize("thing", [len, lambda a: a, 3, None, "k"])
def test_no_kernel(thing: Any) -> None:
    with pytest.raises(UsageError, match="kernel"):
        make_launch(thing, 1, 1, ())


class DeviceArray:
    """A device array as Numba's and CuPy's look from outside."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.__cuda_array_interface__ = {"shape": values.shape, "version": 3}


class OfNumba(DeviceArray):
    def copy_to_host(self) -> Any:
        return self.values.copy()

    def copy_to_device(self, values: Any) -> None:
        self.values = values.copy()


class OfCupy(DeviceArray):
    def get(self) -> Any:
        return self.values.copy()

    def set(self, values: Any) -> None:
        self.values = values.copy()


@pytest.mark.parametrize("kind", [OfNumba, OfCupy])
def test_device_arrays_are_given_back_what_the_kernel_leaves(module: str, kind: Any) -> None:
    array = kind(np.zeros(32, np.float32))
    assert racedart.check(load_target(f"{module}::declared"), 1, 1, array, 3).verdict == "clean"
    assert array.values[0] == 3


def test_a_device_array_that_cannot_be_copied(module: str) -> None:
    with pytest.raises(UsageError, match="DeviceArray"):
        racedart.check(load_target(f"{module}::declared"), 1, 1, DeviceArray(np.zeros(1)), 3)
