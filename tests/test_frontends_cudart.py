"""Compiled CUDA programs: their own checks of their results pass, and races have lines and names."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from racedart.cli import cli
from racedart.finding.errors import InputError, RacedartError
from racedart.shadow.check import check_launch
from racedart.shadow.frontends.cudart import require_program, run_program
from racedart.shadow.frontends.cudart.fatbin import BUILD, embedded_ptx
from racedart.shadow.launch import Launch
from racedart.shadow.outcome import Options, Outcome

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")

# Each program checks its own results and exits with 1 if they are wrong.
PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
__constant__ float factors[4];
__device__ int calls = 40;
__managed__ int managed = 5;
struct Node { int value; Node* next; };

__global__ void scale(const float* in, float* out, int n, char plus) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * factors[i % 4] + plus;
  if (i == 0) { calls += 1; managed *= 2; }
}
__global__ void follow(Node* head, int* sum) {
  for (Node* at = head; at; at = at->next) *sum += at->value;
}
template <int N> __global__ void count(int* cell) { cell[1] += N; }
void require(bool condition, const char* what) { if (!condition) { printf("FAIL %s\n", what); exit(1); } }

int main(int argc, char** argv) {
  const int n = 100;
  float host[n], *in, *out, f[4] = {1, 2, 3, 4};
  for (int i = 0; i < n; ++i) host[i] = i;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, sizeof host);
  cudaMemcpyToSymbol(factors, f, sizeof f);
  for (int turn = 0; turn < 2; ++turn) {
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    scale<<<2, 64>>>(in, out, n, 1);
    float back[n];
    cudaMemcpy(back, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i) require(back[i] == host[i] * f[i % 4] + 1, "scale");
  }
  int c;
  cudaMemcpyFromSymbol(&c, calls, sizeof c);
  require(c == 42, "device variable");
  require(managed == 20, "managed variable");

  Node* nodes;
  int* sum;
  cudaMallocManaged(&nodes, 3 * sizeof(Node));
  cudaMallocManaged(&sum, 2 * sizeof(int));
  for (int i = 0; i < 3; ++i) nodes[i] = {i + 1, i < 2 ? nodes + i + 1 : nullptr};
  *sum = 0;
  follow<<<1, 1>>>(nodes, sum);
  cudaDeviceSynchronize();
  require(*sum == 6, "pointers in device memory");

  scale<<<1, 2048>>>(in, out, n, 1);
  require(cudaGetLastError() == cudaErrorInvalidConfiguration, "launch error");
  if (argc > 1) count<3><<<1, 32>>>(sum);
  puts("PASS");
  return argc > 2 ? 7 : 0;
}
"""

RACE = next(k for k, text in enumerate(PROGRAM.splitlines(), 1) if "cell[1] += N" in text)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    source = folder / "program.cu"
    source.write_text(PROGRAM)
    made = folder / "program"
    subprocess.run(["nvcc", *BUILD.split(), str(source), "-o", str(made)], check=True, capture_output=True)
    return made


def checked(program: Path, *arguments: str) -> tuple[int, list[tuple[Launch, Outcome]]]:
    seen: list[tuple[Launch, Outcome]] = []
    problems: list[RacedartError] = []
    code = run_program(
        [str(program), *arguments],
        lambda made: seen.append((made, check_launch(made, Options()))),
        problems.append,
    )
    assert not problems
    return code, seen


@needs_nvcc
def test_program_finds_its_results_right(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, seen = checked(program)
    assert capfd.readouterr().out == "PASS\n"
    assert code == 0
    assert [made.kernel.name for made, _ in seen] == ["scale", "scale", "follow"]
    assert not [f for _, outcome in seen for f in (*outcome.findings, *outcome.reasons)]
    first = seen[0][0]
    assert first.grid == (2, 1, 1)
    assert first.block == (64, 1, 1)
    assert [b.name for b in first.buffers if b.array.nbytes == 400] == ["in", "out"]


@needs_nvcc
def test_race_in_a_program_has_lines_and_names(program: Path) -> None:
    code, seen = checked(program, "race", "and", "fail")
    assert code == 7
    (finding,) = seen[-1][1].findings
    assert (finding.rule, finding.location.line) == ("R102", RACE)
    assert finding.properties["element"] == "cell[1]"


@needs_nvcc
def test_program_from_the_command_line(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result = CliRunner().invoke(cli, ["check", str(program), "race"], standalone_mode=False)
    assert result.exception is None
    assert result.return_value == 1
    assert "R102" in result.stdout
    assert f"program.cu:{RACE}:" in result.stdout
    assert "PASS" in capfd.readouterr().out
    result = CliRunner().invoke(cli, ["check", str(program), "1", "2"], standalone_mode=False)
    assert "exit code 7" in result.stdout


@needs_nvcc
def test_program_with_the_static_runtime_is_an_error(program: Path, tmp_path: Path) -> None:
    made = tmp_path / "static"
    subprocess.run(["nvcc", str(program.with_suffix(".cu")), "-o", str(made)], check=True, capture_output=True)
    with pytest.raises(InputError, match=r"no shared CUDA runtime.*-cudart shared"):
        require_program(made)


def test_other_files_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no program")
    with pytest.raises(InputError, match="is no program"):
        require_program(path)
    with pytest.raises(InputError, match="cannot be read"):
        require_program(tmp_path / "missing")


def fat_binary(*entries: tuple[int, int, int, bytes]) -> bytes:
    """A fat binary of entries (kind, architecture, flags, payload)."""
    body = b""
    for kind, architecture, flags, payload in entries:
        body += struct.pack("<HHIQIIHHIIIQ", kind, 0, 48 + 16, len(payload), 0, 0, 0, 9, architecture, 0, 0, flags)
        body += bytes(16) + payload
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def test_newest_ptx_of_a_fat_binary() -> None:
    data = fat_binary((2, 90, 0, b"\x7fELF"), (1, 80, 0, b"old\0"), (1, 90, 0, b"new\0\0\0"))
    assert embedded_ptx(data) == "new"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (fat_binary((1, 90, 0x8000, b"zstd")), "only compressed PTX"),
        (fat_binary((2, 90, 0, b"\x7fELF")), "no PTX"),
        (b"", "no PTX"),
    ],
)
def test_fat_binary_without_readable_ptx(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        embedded_ptx(data)
