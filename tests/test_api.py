"""The face: the Python interface and the command line, its exit codes and its messages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import racedart
from racedart import cli
from racedart.finding.run import load_run
from racedart.shadow.gpu.driver import missing

ROOT = Path(__file__).parent.parent
RACY = [
    "samples/histogram.py::racy",
    "--grid",
    "4",
    "--block",
    "64",
    "--arg",
    "arange:256:i4",
    "--arg",
    "zeros:16:i4",
]
FIXED = ["samples/histogram.py::fixed", *RACY[1:]]
WARNING = [
    "tests/cases/race/warp_tail.cu::max_of_64", "--grid", "1", "--block", "64", "--arg", "arange:64:i4", "--arg",
    "zeros:1:i4",
]  # fmt: skip
FENCED = [
    "tests/cases/race/last_block.cu::fold", "--grid", "64", "--block", "128", "--arg", "ones:8192:i4", "--arg",
    "zeros:64:i4", "--arg", "zeros:1:i4", "--define", "FIXED",
]  # fmt: skip


class Result:
    """What a command printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def racedart_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command line in this process, from the repository's root."""
    monkeypatch.chdir(ROOT)

    def run(*arguments: str) -> Result:
        with pytest.raises(SystemExit) as stop:
            cli.main(list(arguments))
        captured = capsys.readouterr()
        return Result(int(stop.value.code or 0), captured.out, captured.err)

    return run


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (RACY, 1),
        ([*RACY, "--fail-on", "never"], 0),
        (FIXED, 0),
        (WARNING, 0),
        ([*WARNING, "--fail-on", "warning"], 1),
        (FENCED, 3),
    ],
)
@pytest.mark.parametrize("output_format", ["text", "json"])
def test_exit_codes_do_not_depend_on_the_format(
    racedart_command: Any, arguments: list[str], code: int, output_format: str
) -> None:
    assert racedart_command("check", *arguments, "--output-format", output_format).code == code


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ([], "no target: give FILE::KERNEL or a program"),
        (["samples/histogram.py::racy"], "give --grid and --block"),
        (["samples/double_buffer.cu"], "not a Python program; name one kernel"),
        (["--grid", "4", "samples/histogram.py"], "--grid belongs to the check of one kernel"),
        (["--launch", "2-1", "samples/histogram.py"], "launches are (2, 1)"),
        (["--sample", "3", "samples/histogram.py"], "--sample is '3'"),
        ([*RACY, "--kernel", "r"], "--kernel selects launches of a program"),
        (["no_such.py", "--anything"], "no_such.py: no such file"),
        ([*RACY, "--no-such-option"], "--no-such-option"),
        ([*RACY, "--output-format", "sarif"], "sarif"),
        ([*RACY, "--engine", "none"], "is not one of"),
        ([*RACY, "--schedules", "0"], "schedules is 0"),
        ([*RACY, "--seed", "-1"], "seed is -1"),
        ([*RACY, "--timeout", "0"], "timeout is 0"),
        ([*RACY[:-1], "zeros:16:q9"], "q9"),
        ([*RACY, "--arg", "1"], "takes 2 arguments (keys, bins); 3 were given"),
        (["samples/histogram.py::rany", *RACY[1:]], "did you mean racy?"),
        (["samples/histogram.py::", *RACY[1:]], "kernels there: racy, fixed"),
        (["samples/none.py::k", *RACY[1:]], "samples/none.py: no such file"),
        (["README.md::k", *RACY[1:]], "not a .py, .cu or .ptx file"),
        ([RACY[0], "--grid", "four", *RACY[3:]], "--grid is 'four'"),
        ([RACY[0], "--grid", "4", "--block", "2000", *RACY[5:]], "block.x is 2000"),
        ([*RACY, "-o", "no/such/folder/report.txt"], "cannot be written"),
        ([*RACY, "--save", "no/such/folder/run.json"], "cannot be written"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what(racedart_command: Any, arguments: list[str], what: str) -> None:
    result = racedart_command("check", *arguments)
    assert result.code == 2
    assert what in result.err
    assert "Traceback" not in result.err


def test_a_fault_of_racedart_exits_with_4(racedart_command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("racedart.shadow.check.check_launch", fail)
    result = racedart_command("check", *RACY)
    assert result.code == 4
    assert "RuntimeError: a fault" in result.err
    assert "please report" in result.err


def test_a_saved_run_gives_the_same_report(racedart_command: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "run.json")
    first = racedart_command("check", *RACY, "--save", path)
    again = racedart_command("report", path)
    assert (again.code, again.out) == (first.code, first.out)
    as_json = racedart_command("report", path, "--output-format", "json")
    assert json.loads(as_json.out) == load_run(path).to_json()
    written = str(tmp_path / "report.txt")
    assert racedart_command("report", path, "-o", written, "--fail-on", "never").code == 0
    assert Path(written).read_text() == first.out


def test_a_finding_says_how_to_see_it_again(racedart_command: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    racedart_command("check", *RACY, "--seed", "3", "--save", str(path))
    command = load_run(path).findings[0].properties["reproduce"]
    assert command == " ".join(["racedart", "check", *RACY, "--seed", "3"])


def test_hirace_mode_finds_the_same_race(racedart_command: Any) -> None:
    assert racedart_command("check", *RACY, "--mode", "hirace").code == 1
    assert racedart_command("check", *FIXED, "--mode", "hirace").code == 0


def test_rules_and_explanations(racedart_command: Any) -> None:
    listed = racedart_command("rules")
    assert listed.code == 0
    assert [line.split()[0] for line in listed.out.splitlines()] == sorted(
        line.split()[0] for line in listed.out.splitlines()
    )
    assert "R102" in listed.out
    explained = racedart_command("explain", "R102")
    assert explained.code == 0
    assert "__syncthreads()" in explained.out
    assert racedart_command("explain", "R999").code == 2


@pytest.mark.parametrize(
    ("output_format", "begin"), [("md", "| state"), ("csv", "state,access"), ("dot", "digraph")]
)
def test_the_machine_is_printed(racedart_command: Any, output_format: str, begin: str) -> None:
    result = racedart_command("fsm", "--output-format", output_format)
    assert result.code == 0
    assert result.out.startswith(begin)


def test_doctor_tries_what_it_names(racedart_command: Any) -> None:
    result = racedart_command("doctor")
    assert result.code == 0
    lines = {line[9:31].strip(): line[:8].strip() for line in result.out.splitlines()}
    assert lines["CPU engine"] == "ok"
    assert {"CUDA C++ (NVRTC)", "Numba kernels (NVVM)", "CUDA headers", "GPU driver", "ptxas"} <= lines.keys()


def test_the_module_runs_and_knows_its_version() -> None:
    command = [sys.executable, "-m", "racedart", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=os.path.dirname(__file__))
    assert racedart.__version__ in result.stdout


def test_a_reader_that_has_gone_is_no_finding() -> None:
    """As `racedart rules | true`: exit code 1 would mean findings."""
    command = [sys.executable, "-m", "racedart", "rules"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait() == cli.INTERRUPTED
    assert process.stderr is not None
    assert process.stderr.read() == b""


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_a_source_line_that_the_terminal_cannot_encode_is_shown(encoding: str, tmp_path: Path) -> None:
    run = racedart.Run(
        (racedart.Finding("R101", racedart.Level.ERROR, "m", racedart.Location("k.cu", 1, 1)),),
        (),
        (),
        "1",
        sources={"k.cu": "int x;  // \u2192"},
    )
    run.save(tmp_path / "run.json")
    result = subprocess.run(
        [sys.executable, "-m", "racedart", "report", str(tmp_path / "run.json")],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert result.returncode == 1
    assert ("\u2192" if encoding == "utf-8" else "\\u2192") in result.stdout.decode(encoding)


def test_import_is_light() -> None:
    code = "import sys, racedart; print({'numba', 'numpy', 'click', 'rich', 'networkx'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


def test_everything_that_is_promised_is_there() -> None:
    for name in racedart.__all__:
        assert getattr(racedart, name) is not None
        assert name in dir(racedart)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = racedart.nothing


def test_the_record_of_a_launch() -> None:
    kernel = racedart.cuda_kernel("__global__ void k(int* a, float f) { a[threadIdx.x] = f; }", "k")
    run = racedart.check(kernel, 2, (4, 2), np.zeros((2, 4), np.int32), 1.5, shared_bytes=64, seed=5)
    (launch,) = run.launches
    assert (launch.kernel, launch.language, launch.engine, launch.mode) == ("k", "cuda", "cpu", "exact")
    assert (launch.grid, launch.block, launch.shared_bytes, launch.seed) == ((2, 1, 1), (4, 2, 1), 64, 5)
    assert launch.arguments == ("int32[2, 4]", "1.5")
    assert run.findings[0].properties["element"] == "a[0, 0]"


HIDDEN = """
__global__ void peek(int* cell) {
  int seen = cell[0];  // nobody uses it: the optimiser drops the read
  if (threadIdx.x == 5) cell[0] = 1;
}
"""


def test_a_thorough_check_sees_what_the_optimiser_removes() -> None:
    kernel = racedart.cuda_kernel(HIDDEN, "peek")
    cell = np.zeros(1, np.int32)
    assert racedart.check(kernel, 1, 32, cell).verdict == "clean"
    cell[0] = 0
    run = racedart.check(kernel, 1, 32, cell, thorough=True)
    (finding,) = run.findings
    assert (finding.rule, finding.properties["build"]) == ("R102", "unoptimised")
    assert {finding.location.line, finding.related[0].line} == {3, 4}
    assert [launch.build for launch in run.launches] == ["unoptimised", "optimised"]
    assert cell[0] == 1


def test_a_thorough_check_of_a_race_in_both_builds_finds_it_once(racedart_command: Any) -> None:
    result = racedart_command("check", *RACY, "--thorough")
    assert result.code == 1
    assert result.out.count("[R102]") == 1
    assert racedart_command("check", *FIXED, "--thorough").code == 0


@pytest.mark.skipif(not missing(), reason="there is a GPU")
def test_asking_for_a_gpu_that_is_not_there_says_so(racedart_command: Any) -> None:
    result = racedart_command("check", *RACY, "--engine", "gpu")
    assert result.code == 2
    assert "there is no GPU to run on" in result.err


def test_a_program_has_its_own_arguments(racedart_command: Any, tmp_path: Path) -> None:
    program = "tests/cases/programs/racing_loop.py"
    path = tmp_path / "run.json"
    result = racedart_command("check", "--launch", "2-", "--save", str(path), program, "2", "--grid")
    assert result.code == 1
    assert "in 2 launches, first in launch 2" in result.out
    assert "in 2 launches (1 more not checked): findings" in result.out
    run = load_run(path)
    assert run.program is not None
    assert run.program.argv == (program, "2", "--grid")
    assert run.findings[0].properties["reproduce"] == f"racedart check --launch 2- {program} 2 --grid"
