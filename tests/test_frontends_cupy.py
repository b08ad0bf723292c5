"""CuPy raw kernels, as objects and in the text of a program: found, compiled with its own lines, or refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import racedart
from racedart.finding.errors import RacedartError
from racedart.shadow.frontends import load_target

PROGRAM = """import os
import textwrap
import cupy as cp

MIRROR = cp.RawKernel(r'''
extern "C" __global__
void mirror(const float* in, float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];                 // line 9
#ifdef SYNC
  __syncthreads();
#endif
  out[threadIdx.x] = tile[63 - threadIdx.x];           // line 13
}
''', 'mirror', options=('-DUNUSED=1',))

code = '''
template<typename T> __global__ void add(T* x, T v) {
  x[0] = v;                                            // line 19
}
extern "C" __global__ void other(int* x) { x[1] = 1; } // line 21
'''
module = cp.RawModule(code=code, options=('-std=c++14',), name_expressions=['add<float>', 'add<int>'])

def inner():
    indented = textwrap.dedent('''
        extern "C" __global__ void deep(int* x) {
            x[2] = 1;                                  // line 28
        }
    ''').strip()
    return cp.RawKernel(indented, name='deep')

joined = cp.RawKernel('extern "C" __global__ void joined(int* x)' + '{\\n x[3] = 1; }', 'joined')
from_file = cp.RawKernel(open(os.path.join(os.path.dirname(__file__), 'side.cu')).read(), 'side')
computed = cp.RawKernel(f'extern "C" __global__ void computed(int* x) {{ x[{len(code)}] = 1; }}', 'computed')
changing = 'extern "C" __global__ void changed(int* x) { x[0] = 1; }'
changing = changing.replace('1', '2')
changed = cp.RawKernel(changing, 'changed')
square = cp.ElementwiseKernel('float32 x', 'float32 y', 'y = x * x', 'square')
"""
SIDE = 'extern "C" __global__ void side(int* x) {\n  x[4] = 1;\n}\n'


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("cupy")
    (folder / "side.cu").write_text(SIDE)
    (folder / "program.py").write_text(PROGRAM)
    return str(folder / "program.py")


def check(target: str, **options: tuple[str, ...]) -> racedart.Run:
    kernel = load_target(target, **options)
    if kernel.name == "mirror":
        return racedart.check(kernel, 1, 64, np.zeros(64, np.float32), np.zeros(64, np.float32))
    if kernel.name.startswith("add"):
        dtype = np.float32 if "float" in kernel.name else np.int32
        return racedart.check(kernel, 1, 64, np.zeros(8, dtype), dtype(1))
    return racedart.check(kernel, 1, 64, np.zeros(8, np.int32))


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("mirror", [9, 13]),
        ("MIRROR", [9, 13]),
        ("add<float>", [19, 19]),
        ("add<int>", [19, 19]),
        ("other", [21, 21]),
        ("deep", [28, 28]),
    ],
)
def test_findings_have_the_lines_of_the_program(program: str, name: str, lines: list[int]) -> None:
    (finding,) = check(f"{program}::{name}").findings
    places = (finding.location, *finding.related)
    assert sorted(place.line for place in places) == lines
    assert {place.file for place in places} == {program}


def test_options_of_the_command_line_count(program: str) -> None:
    assert check(f"{program}::mirror", defines=("SYNC",)).verdict == "clean"


def test_a_string_that_is_not_in_the_file_as_it_is_keeps_lines_of_its_own(program: str) -> None:
    run = check(f"{program}::joined")
    (finding,) = run.findings
    assert finding.location.line == 2
    assert finding.location.file in run.sources


def test_a_kernel_of_another_file(program: str) -> None:
    (finding,) = check(f"{program}::side").findings
    assert (Path(finding.location.file).name, finding.location.line) == ("side.cu", 2)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("computed", r"program\.py:35: this part of the kernel is computed"),
        ("changed", r"program\.py:38: this part of the kernel is computed"),
        ("square", r"program\.py:39: square is a kernel that CuPy makes itself"),
        ("missing", r"has no CuPy kernel 'missing'; those there: mirror, add<float>, add<int>"),
        ("", r"CuPy kernels there: mirror"),
    ],
)
def test_what_is_refused(program: str, name: str, what: str) -> None:
    with pytest.raises(RacedartError, match=what):
        load_target(f"{program}::{name}")


@dataclass
class RawKernel:
    """The public attributes of CuPy's."""

    code: str
    name: str
    options: tuple[str, ...] = ()
    backend: str = "nvrtc"


def test_an_object() -> None:
    code = 'extern "C" __global__ void fill(int* x) {\n  x[INDEX] = 1;\n}\n'
    x = np.zeros(64, np.int32)
    assert racedart.check(RawKernel(code, "fill", ("-DINDEX=threadIdx.x",)), 1, 64, x).verdict == "clean"
    assert x.all()
    (finding,) = racedart.check(RawKernel(code, "fill", ("-DINDEX=0",)), 1, 64, x).findings
    assert finding.location.line == 2
