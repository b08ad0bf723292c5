"""Runs as text: for people, and for programs."""

from __future__ import annotations

from collections.abc import Callable

from racedart.finding.errors import UsageError
from racedart.finding.run import Run
from racedart.reports.json_report import render_json
from racedart.reports.text import render_text

FORMATS: dict[str, Callable[[Run, bool], str]] = {
    "text": render_text,
    "json": lambda run, color: render_json(run),
}


def render(run: Run, output_format: str = "text", color: bool = False) -> str:
    """The run in one of FORMATS. Raises UsageError for another one."""
    if output_format not in FORMATS:
        raise UsageError(f"no output format {output_format!r}; there are {', '.join(FORMATS)}")
    return FORMATS[output_format](run, color)
