"""Fixtures for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

SAMPLES_PTX = sorted((Path(__file__).parent / "ptx").glob("*.ptx"))


@pytest.fixture(params=SAMPLES_PTX, ids=lambda path: path.stem)
def compiled_sample(request: pytest.FixtureRequest) -> str:
    """PTX text as a compiler emitted it for a sample kernel."""
    path: Path = request.param
    return path.read_text()
