"""Where a report goes and how it looks: the options that all commands share, and writing it.

The report goes to standard output, or with -o to a file that is replaced at once. Exit codes do not depend on it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, TextIO

import click
from racedart.finding.files import write_atomically
from racedart.finding.model import Level
from racedart.finding.run import Run, exit_code
from racedart.reports import FORMATS, Options, render

REPORT_OPTIONS = frozenset({"output", "output_format", "fail_on", "quiet", "no_color", "show_suppressed"})
"""Parameters of a command that concern only its report."""


def report_options(command: Any) -> Any:
    """Add the options of REPORT_OPTIONS to a command."""
    for option in (
        click.option(
            "--fail-on",
            type=click.Choice(["error", "warning", "note", "never"]),
            default="error",
            show_default=True,
            help="Lowest level of a finding that gives exit code 1.",
        ),
        click.option(
            "--no-color", is_flag=True, help="Plain text on a terminal too; so does the variable NO_COLOR."
        ),
        click.option("--quiet", "-q", is_flag=True, help="Text: only one line for each finding, and the summary."),
        click.option("--show-suppressed", is_flag=True, help="Text: list suppressed findings as well."),
        click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write the report here."),
        click.option("--output-format", type=click.Choice(list(FORMATS)), default="text", show_default=True),
    ):
        command = option(command)
    return command


def write_report(run: Run, given: Mapping[str, Any]) -> int:
    """Write the report of a run as the command's parameters say. Returns the exit code of the run.

    Raises InputError if the file cannot be written.
    """
    output = given["output"]
    color = output is None and colored(sys.stdout, given["no_color"])
    text = render(run, given["output_format"], Options(color, given["quiet"], given["show_suppressed"]))
    if output is None:
        click.echo(text, nl=False)
    else:
        write_atomically(output, text.encode("utf-8", errors="backslashreplace"), "the report")
    fail_on = given["fail_on"]
    return exit_code(run, None if fail_on == "never" else Level(fail_on))


def colored(stream: TextIO, no_color: bool = False) -> bool:
    """Whether the stream gets colours: on a terminal, unless NO_COLOR (no-color.org) or TERM=dumb forbids them."""
    return stream.isatty() and not no_color and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
