"""The commands `racedart map` and `racedart lint`, end to end."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import racedart
from racedart.analyzer.verify import find_toolchain
from racedart.cli import main
from racedart.finding.errors import MissingDependencyError

SOURCE = """#include <stdlib.h>
#include <stdio.h>
int main(void) {
  double *a = malloc(SIZE * sizeof *a);
  for (int i = 0; i < SIZE; i++) a[i] = i;
  for (int t = 0; t < 3; t++) {
    #pragma omp target teams distribute parallel for
    for (int i = 0; i < SIZE; i++) a[i] += 1;
  }
  printf("%g\\n", a[SIZE - 1]);
  free(a);
  return 0;
}
"""
FLAGS = ["--", "-DSIZE=1000"]
LINE = "#pragma omp target data map(tofrom: a[0:1000])"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "program.c"
    path.write_text(SOURCE)
    return path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_the_diff_goes_to_standard_output_and_applies(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("map", "program.c", *FLAGS) == 0
    shown = capsys.readouterr()
    assert f"+  {LINE}\n" in shown.out
    assert "--write makes them" in shown.err
    assert source.read_text() == SOURCE
    if shutil.which("patch"):
        subprocess.run(["patch", "-p1"], input=shown.out, text=True, check=True, capture_output=True)
        assert LINE in source.read_text()


def test_write_keeps_a_backup_and_is_idempotent(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("map", "--check", "program.c", *FLAGS) == 1
    assert source.read_text() == SOURCE
    assert run("map", "--write", "--backup", "program.c", *FLAGS) == 0
    written = source.read_text()
    assert written.replace(f"  {LINE}\n", "") == SOURCE
    assert Path("program.c.orig").read_text() == SOURCE
    assert run("map", "--check", "program.c", *FLAGS) == 0
    assert run("map", "--write", "program.c", *FLAGS) == 0
    assert source.read_text() == written
    assert run("lint", "--fail-on", "note", "program.c", *FLAGS) == 0


def test_output_file(source: Path) -> None:
    assert run("map", "program.c", "-o", "mapped.c", *FLAGS) == 0
    assert LINE in Path("mapped.c").read_text()
    assert source.read_text() == SOURCE


def test_json(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("map", "program.c", "--output-format", "json", *FLAGS) == 0
    (program,) = json.loads(capsys.readouterr().out)["programs"]
    assert program["complete"]
    assert LINE in program["diff"]
    assert program["edits"]
    assert program["decisions"][0]["reason"]


def test_explain(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("map", "program.c", "--explain", *FLAGS) == 0
    shown = capsys.readouterr().err
    assert "program.c:6: map(tofrom: a[0:1000])" in shown
    assert "the host reads it afterwards" in shown


def test_graph(source: Path) -> None:
    assert run("map", "program.c", "--graph", "out.dot", *FLAGS) == 0
    text = Path("out.dot").read_text()
    assert text.startswith("digraph")
    assert "target teams distribute parallel for" in text
    assert run("map", "program.c", "--graph", "out.png", *FLAGS) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["map", "none.c"], "none.c: no such file"),
        (["map", "program.c", "program.c", "other.c", "-o", "x.c"], "-o takes the one changed source"),
        (["map", "program.c", "--backup"], "--backup is for --write"),
        (["map", "program.c", "-p", "nowhere"], "-p takes the folder that holds compile_commands.json"),
        (["lint", "none.c"], "none.c: no such file"),
        (["map"], "Missing argument"),
    ],
)
def test_usage_errors(arguments: list[str], message: str, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.c").write_text("int x;\n")
    assert run(*arguments, *FLAGS) == 2
    assert message in capsys.readouterr().err
    assert source.read_text() == SOURCE


def test_many_programs_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(4):
        (tmp_path / f"p{number}.c").write_text(SOURCE.replace("1)", f"{number} + 1)"))
    files = sorted(map(str, tmp_path.glob("*.c")))
    assert run("map", "--write", "--jobs", "2", *files, *FLAGS) == 0
    assert all(LINE in Path(file).read_text() for file in files)
    assert run("lint", "--jobs", "2", str(tmp_path), *FLAGS) == 0
    assert "0 errors, 0 warnings: clean" in capsys.readouterr().out


def test_lint_reports(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source.write_text(SOURCE.replace("  for (int t", f"  {LINE.replace('1000', '10')}\n  for (int t"))
    assert run("lint", "program.c", *FLAGS) == 1
    assert "the section a[0:10] is too small: the device accesses a[0:1000]" in capsys.readouterr().out
    assert run("lint", "program.c", "--output-format", "json", "-o", "report.json", *FLAGS) == 1
    found = racedart.load_run("report.json")
    assert [finding.rule for finding in found.findings] == ["M107"]


def test_lint_of_a_missing_header_is_incomplete(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source.write_text('#include "nowhere.h"\n' + SOURCE)
    assert run("lint", "program.c", *FLAGS) in (1, 3)
    assert "'nowhere.h' file not found" in capsys.readouterr().out


def test_the_python_interface(source: Path) -> None:
    mapping = racedart.infer_mapping(source, args=["-DSIZE=1000"])
    assert LINE in mapping.diff()
    assert mapping.edits
    assert mapping.findings == ()
    assert {finding.rule for finding in racedart.lint(source, args=["-DSIZE=1000"])} >= {"M101"}


def test_verify(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        find_toolchain()
    except MissingDependencyError as error:
        pytest.skip(str(error))
    assert run("map", "program.c", "--verify", *FLAGS) == 0
    shown = capsys.readouterr().err
    assert "verify before: wrong" in shown
    assert "verify after: right; 2 copies, 16,000 bytes" in shown
