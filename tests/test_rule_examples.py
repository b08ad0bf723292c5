"""The code of every rule page: the bad example breaks the rule, the good one is clean."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import racedart
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
    copies = [np.array(a) for a in arguments]
    if language == "python":
        path = tmp_path / f"{rule_id}_{section}.py"
        path.write_text(text)
        return racedart.check(load_target(f"{path}::{name}"), grid, block, *copies, timeout=60)
    return racedart.check(racedart.cuda_kernel(text, name), grid, block, *copies, timeout=60)


@pytest.mark.parametrize("rule_id", [r.id for r in rules()])
def test_bad(rule_id: str, tmp_path: Path) -> None:
    page = next(r for r in rules() if r.id == rule_id)
    run = check(rule_id, "Bad", tmp_path)
    assert rule_id in {finding.rule for finding in run.findings}
    assert {f.level for f in run.findings if f.rule == rule_id} == {page.level}


@pytest.mark.parametrize("rule_id", [r.id for r in rules()])
def test_good(rule_id: str, tmp_path: Path) -> None:
    run = check(rule_id, "Good", tmp_path)
    assert run.verdict == "clean", (run.findings, run.reasons)
