"""The code of every rule page: the bad example breaks the rule, the good one is clean.

Examples of mapping errors are run on clang's host device too: there the bad ones are wrong, the good ones right.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import racedart
from racedart.analyzer.verify import Unit, find_toolchain, verify
from racedart.finding.errors import MissingDependencyError
from racedart.finding.model import Level
from racedart.finding.registry import rules
from racedart.shadow.frontends import load_target

WORDS = np.dtype(np.int32)

LAUNCHES: dict[tuple[str, str], tuple[int, int, tuple[Any, ...]]] = {
    # rule and kernel -> grid, block, arguments
    ("R101", "last_hit"): (2, 32, (np.arange(64, dtype=WORDS) % 8, np.zeros(8, WORDS))),
    ("R102", "mirror"): (1, 64, (np.arange(64, dtype=WORDS), np.zeros(64, WORDS))),
    ("R103", "count"): (1, 64, (np.ones(64, WORDS), np.zeros(1, WORDS), np.zeros(1, WORDS))),
    ("R104", "histogram"): (2, 32, (np.arange(64, dtype=np.uint32), np.zeros(16, np.uint32))),
    ("R105", "sum"): (1, 32, (np.ones(32, WORDS), np.zeros(1, WORDS))),
    ("R201", "shift"): (1, 64, (np.zeros(65, WORDS),)),
    ("R202", "top"): (1, 32, (np.ones(32, WORDS), np.zeros(32, WORDS))),
    ("R203", "relay"): (2, 32, (np.zeros(1, WORDS),)),
    ("R301", "double"): (2, 32, (np.zeros(50, WORDS),)),
    ("R302", "total"): (1, 64, (np.ones(50, WORDS), np.zeros(1, WORDS), 50)),
}


def code(text: str) -> tuple[str, str]:
    """Language and text of the code block of a section."""
    match = re.search(r"```(\w+)\n(.*?)```", text, re.DOTALL)
    assert match is not None
    return match.group(1), match.group(2)


def check(rule_id: str, section: str, tmp_path: Path) -> racedart.Run:
    page = next(r for r in rules() if r.id == rule_id)
    language, text = code(page.sections[section])
    name = re.findall(r"(?:def|void) (\w+)\(", text)[0]
    grid, block, arguments = LAUNCHES[rule_id, name]
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    if language == "python":
        path = tmp_path / f"{rule_id}_{section}.py"
        path.write_text(text)
        return racedart.check(load_target(f"{path}::{name}"), grid, block, *copies, timeout=60)
    return racedart.check(racedart.cuda_kernel(text, name), grid, block, *copies, timeout=60)


LAUNCHED = [r.id for r in rules() if r.id.startswith("R")]
MAPPED = [r.id for r in rules() if r.id.startswith("M")]
RUNNABLE = [r.id for r in rules() if r.id.startswith("M") and r.level is Level.ERROR]
# Clang takes the repeated item as one.
RUNNABLE.remove("M106")

try:
    find_toolchain()
    MISSING = ""
except MissingDependencyError as error:
    MISSING = str(error)


def source(rule_id: str, section: str, tmp_path: Path) -> Path:
    page = next(r for r in rules() if r.id == rule_id)
    path = tmp_path / f"{rule_id}_{section}.c"
    path.write_text(code(page.sections[section])[1])
    return path


@pytest.mark.parametrize("rule_id", LAUNCHED)
def test_bad(rule_id: str, tmp_path: Path) -> None:
    page = next(r for r in rules() if r.id == rule_id)
    run = check(rule_id, "Bad", tmp_path)
    assert rule_id in {finding.rule for finding in run.findings}
    assert {f.level for f in run.findings if f.rule == rule_id} == {page.level}


@pytest.mark.parametrize("rule_id", LAUNCHED)
def test_good(rule_id: str, tmp_path: Path) -> None:
    run = check(rule_id, "Good", tmp_path)
    assert run.verdict == "clean", (run.findings, run.reasons)


@pytest.mark.parametrize("rule_id", MAPPED)
def test_bad_mapping(rule_id: str, tmp_path: Path) -> None:
    page = next(r for r in rules() if r.id == rule_id)
    findings = racedart.lint(source(rule_id, "Bad", tmp_path))
    assert {f.rule for f in findings} == {rule_id}
    assert {f.level for f in findings} == {page.level}


@pytest.mark.parametrize("rule_id", MAPPED)
def test_good_mapping(rule_id: str, tmp_path: Path) -> None:
    assert racedart.lint(source(rule_id, "Good", tmp_path)) == ()


@pytest.mark.skipif(bool(MISSING), reason=MISSING or "clang is there")
@pytest.mark.parametrize("rule_id", RUNNABLE)
def test_a_device_agrees(rule_id: str, tmp_path: Path) -> None:
    bad, good = source(rule_id, "Bad", tmp_path), source(rule_id, "Good", tmp_path)
    verification = verify([Unit(str(bad))], {str(bad): good.read_bytes()})
    assert verification.after is not None
    # Each variant is compared with the host run of the bad one: they compute the same there.
    assert (verification.before.verdict, verification.after.verdict) == ("wrong", "right"), verification
