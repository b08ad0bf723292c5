"""Runs as text: for people, and for programs.

Each format is one module; FORMATS registers them. A format never changes what is found, nor the exit code.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from racedart.finding.errors import UsageError
from racedart.finding.run import Run
from racedart.reports.json_report import render_json
from racedart.reports.options import PLAIN, Options
from racedart.reports.text import render_text

__all__ = ["FORMATS", "Options", "render"]

FORMATS = MappingProxyType[str, Callable[[Run, Options], str]](
    {
        "text": render_text,
        "json": render_json,
    }
)


def render(run: Run, output_format: str = "text", options: Options = PLAIN) -> str:
    """The run in one of FORMATS. Raises UsageError for another one."""
    if output_format not in FORMATS:
        raise UsageError(f"no output format {output_format!r}; there are {', '.join(FORMATS)}")
    return FORMATS[output_format](run, options)
