"""Kernels rebuilt from public threads: verdict, rule, level, variable and lines, racy and fixed."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import racedart
from racedart.shadow.frontends import load_target, parse_argument

FOLDER = Path(__file__).parent / "cases"
CASES: list[dict[str, Any]] = json.loads((FOLDER / "race.json").read_text())
ORDERED_BY_FENCES = "last_block"


def module_of(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_case(case: dict[str, Any], variant: str, engine: str = "cpu") -> racedart.Run:
    path = FOLDER / case["file"]
    chosen = case["variants"][variant]
    if case["frontend"] == "numba":
        kernel = load_target(f"{path}::{chosen}")
        arguments = kernel.py_func.__globals__["arguments"]()
    else:
        if case["frontend"] == "cupy":
            kernel = racedart.cuda_kernel(getattr(module_of(path), chosen), case["kernel"])
        else:
            kernel = racedart.cuda_kernel(path, case["kernel"], chosen)
        arguments = [parse_argument(text) for text in case["args"]]
    return racedart.check(kernel, case["launch"]["grid"], case["launch"]["block"], *arguments, engine=engine)


def expected_lines(case: dict[str, Any]) -> set[tuple[int, ...]]:
    """Pairs of a RACE-A and a RACE-B line, in the kernel's own numbering."""
    # The kernel of a RawKernel is a string that begins on line 3 of its file.
    shift = 2 if case["frontend"] == "cupy" else 0
    lines = case["expected"]["racy"]["lines"]
    return {tuple(sorted((a - shift, b - shift))) for a in lines["RACE-A"] for b in lines["RACE-B"]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_racy(case: dict[str, Any]) -> None:
    expected = case["expected"]["racy"]
    run = run_case(case, "racy")
    assert run.verdict == "findings"
    assert not run.reasons
    for finding in run.findings:
        assert finding.rule == expected["rule"]
        assert finding.level == expected["level"]
        assert finding.properties["variable"] == expected["variable"]
        assert finding.properties["space"] == expected["space"]
        assert finding.fix is not None
    found = {tuple(sorted((f.location.line, f.related[0].line))) for f in run.findings}
    assert found == expected_lines(case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_fixed(case: dict[str, Any]) -> None:
    run = run_case(case, "fixed")
    assert not run.findings
    if case["id"] == ORDERED_BY_FENCES:
        # Fences are not modelled: the check says so instead of a verdict.
        assert run.verdict == "incomplete"
        assert [reason.kind for reason in run.reasons] == ["fence"]
        assert "membar" in run.reasons[0].instruction
        assert run.reasons[0].location is not None
        assert run.reasons[0].location.line == 21
    else:
        assert run.verdict == "clean"
