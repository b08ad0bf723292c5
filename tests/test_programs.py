"""Whole programs under the checker: scripts whose first lines say what they print and what is found.

`# arguments:` of the program; `# verdict:`; `# exit:` (0 if not given); `# launches:` (any number if not given);
`# finding: RULE VARIABLE LINE LINE in N launches`, together all findings; `# reason: KIND TEXT`, of a reason among
others; `# output:`, a line that the program prints.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import racedart
from racedart.checking import check_program
from racedart.finding.errors import RacedartError
from racedart.shadow.programs.memory import Memory, NoSuchMemory, OutOfDeviceMemory

FOLDER = Path(__file__).parent / "cases" / "programs"
CASES = sorted(FOLDER.glob("*.py"))


def header(path: Path) -> dict[str, list[str]]:
    said: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        if not line.startswith("# "):
            break
        key, _, value = line[2:].partition(": ")
        said.setdefault(key, []).append(value)
    return said


def found(run: racedart.Run) -> list[str]:
    texts = []
    for finding in run.findings:
        lines = sorted((finding.location.line, *(place.line for place in finding.related)))
        count = finding.properties["launches"]
        texts.append(
            f"{finding.rule} {finding.properties['variable']} {' '.join(map(str, lines))} in {count} launches"
        )
    return sorted(texts)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_program(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = header(path)
    run = check_program(str(path), said.get("arguments", [""])[0].split())
    out = capfd.readouterr().out
    for line in said.get("output", []):
        assert line in out
    assert run.verdict == said["verdict"][0], run.reasons
    assert found(run) == sorted(said.get("finding", []))
    assert run.program is not None
    assert run.program.exit_code == int(said.get("exit", ["0"])[0])
    if "launches" in said:
        assert len(run.launches) == int(said["launches"][0])
    for reason in said.get("reason", []):
        kind, _, text = reason.partition(" ")
        assert any(r.kind == kind and text in r.message for r in run.reasons), run.reasons
    for k, launch in enumerate(run.launches):
        assert launch.place is not None
        assert launch.place.file == str(path)
        assert launch.index > k


def test_launches_that_are_not_selected_run_all_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    path = str(FOLDER / "racing_loop.py")
    run = check_program(path, ["6"], launches=(2, 6), sample=2, kernel="rev.*")
    assert run.program is not None
    assert ([launch.index for launch in run.launches], run.program.unchecked) == ([2, 4, 6], 4)
    assert found(run) == ["R102 tile 17 18 in 3 launches"]
    none = check_program(path, ["1"], kernel="other")
    assert none.verdict == "incomplete"
    assert "none of the 2 launches" in none.reasons[0].message


def test_a_module_is_a_program(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(FOLDER)
    run = check_program("racing_loop", ["1"], module=True, thorough=True)
    assert found(run) == ["R102 tile 17 18 in 1 launches"]
    assert len(run.launches) == 4
    assert "['racing_loop.py', '1'] __main__" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("no_such.py", {}),
        (str(FOLDER), {}),
        (str(CASES[0]), {"kernel": "("}),
        (str(CASES[0]), {"sample": 0}),
        (str(CASES[0]), {"launches": (3, 2)}),
        (str(CASES[0]), {"engine": "gpu"}),
    ],
)
def test_wrong_use(target: str, options: dict[str, object]) -> None:
    with pytest.raises(RacedartError):
        check_program(target, **options)  # type: ignore[arg-type]  # each has the type of its option


def test_a_fault_of_the_checker_is_not_the_programs(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "import numpy as np\nfrom numba import cuda\nimport racedart.shadow.builds as builds\n"
        "def fail(*_): raise RuntimeError('a fault')\nbuilds.check.check_launch = fail\n"
        "@cuda.jit\ndef k(x): x[0] = 1\nk[1, 1](np.zeros(1))\n"
    )
    with pytest.raises(RuntimeError, match="a fault"):
        check_program(str(path))


def test_memory_is_found_by_address_and_given_back() -> None:
    memory = Memory()
    first, second = memory.allocate(100), memory.allocate(50)
    assert not memory.bytes(first, 100).any()
    memory.bytes(first + 10, 5)[:] = 7
    assert memory.bytes(first, 100).sum() == 35
    assert memory.extent(second + 49) == (second, 50)
    for address, size in [(first, 101), (first + 100, 1), (first - 1, 1), (second + 49, 2)]:
        with pytest.raises(NoSuchMemory):
            memory.bytes(address, size)
    memory.free(first)
    assert memory.used == 50
    for gone in (first, second + 1):
        with pytest.raises(NoSuchMemory):
            memory.free(gone)
    with pytest.raises(OutOfDeviceMemory):
        memory.allocate(sys.maxsize)
