"""The progress bar: nothing for a short run, blocks done for a long one, gone at the end."""

from __future__ import annotations

import io

import pytest
from racedart import progress
from rich.console import Console


def shown(monkeypatch: pytest.MonkeyPatch, moments: list[tuple[float, int]]) -> str:
    """What the bar writes when 8 blocks are at `done` at these moments."""
    text = io.StringIO()
    now = 0.0
    monkeypatch.setattr("racedart.progress.time.monotonic", lambda: now)
    with progress.BlockBar(Console(file=text, force_terminal=True, width=80)) as bar:
        for moment, done in moments:
            now = moment
            bar.update(done, 8)
    return text.getvalue()


def test_a_short_run_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, [(1.0, 0), (1.5, 3), (1.9, 8)]) == ""


def test_a_long_run_shows_its_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "3/8" in shown(monkeypatch, [(1.0, 0), (2.5, 3), (3.0, 5)])


def test_each_run_has_its_own_second(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, [(1.0, 0), (1.9, 8), (2.0, 0), (2.9, 3)]) == ""
