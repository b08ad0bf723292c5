"""Every command in the first lines of every sample gives what the lines below it say."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from racedart.cli import cli
from racedart.shadow.frontends import load_target, make_launch, parse_argument
from racedart.shadow.launch import Launch

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Expectation:
    """A command, the findings it gives as (rule, level, variable, lines...), and a NumPy expression."""

    command: str
    findings: frozenset[tuple[str | int, ...]]
    result: str

    def launch(self) -> Launch:
        """The launch that the command checks."""
        words = shlex.split(self.command)

        def options(key: str) -> list[str]:
            return [words[i + 1] for i, word in enumerate(words) if word == key]

        arguments = [parse_argument(text) for text in options("--arg")]
        grid, block = (tuple(int(n) for n in options(key)[0].split(",")) for key in ("--grid", "--block"))
        return make_launch(load_target(words[2], options("--define")), grid, block, arguments)


def expectations() -> list[Expectation]:
    found = []
    for path in sorted((ROOT / "samples").iterdir()):
        if path.suffix not in {".py", ".cu"}:
            continue
        command, result = "", ""
        findings: list[tuple[str | int, ...]] = []
        for line in path.read_text().splitlines():
            text = re.sub(r"^(#|//) ", "", line)
            if text == line:
                break
            if text.startswith("$ "):
                if command:
                    found.append(Expectation(command, frozenset(findings), result))
                command, findings, result = text[2:], [], ""
            elif match := re.fullmatch(r"(R\d+) (\w+) (\w+|-) lines? ([\d ]+)", text):
                rule, level, variable, lines = match.groups()
                findings.append((rule, level, variable, *map(int, lines.split())))
            elif text.startswith("result: "):
                result = text.removeprefix("result: ")
        found.append(Expectation(command, frozenset(findings), result))
    return found


def name(expectation: Expectation) -> str:
    words = shlex.split(expectation.command)
    return words[2].removeprefix("samples/") + ("-fixed" if "FIXED" in words else "")


def test_there_are_samples() -> None:
    assert len({shlex.split(e.command)[2].split("::")[0] for e in expectations()}) >= 30


@pytest.mark.parametrize("expectation", expectations(), ids=name)
def test_sample(expectation: Expectation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    words = shlex.split(expectation.command)
    assert words[:2] == ["racedart", "check"]
    result = CliRunner().invoke(cli, [*words[1:], "--output-format", "json"], standalone_mode=False)
    assert result.exception is None, result.exception
    run = json.loads(result.stdout)
    assert not run["reasons"]
    found = {
        (
            finding["rule"],
            finding["level"],
            finding["properties"].get("variable", "-"),
            *sorted(place["line"] for place in (finding["location"], *finding["related"][:1])),
        )
        for finding in run["findings"]
    }
    assert found == expectation.findings
    assert result.return_value == (1 if any(level == "error" for _, level, *_ in expectation.findings) else 0)


@pytest.mark.parametrize("expectation", [e for e in expectations() if e.result], ids=name)
def test_repaired_sample_computes_what_it_should(expectation: Expectation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of the CPU engine against NumPy."""
    from racedart.shadow.check import check_launch
    from racedart.shadow.outcome import Options

    monkeypatch.chdir(ROOT)
    launch = expectation.launch()
    check_launch(launch, Options())
    np.testing.assert_array_equal(launch.buffers[-1].array, eval(expectation.result, {"np": np}))
