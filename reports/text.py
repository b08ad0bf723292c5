"""The report for people: each finding with its source lines, its threads and its fix; the summary last.

Plain text, or coloured by rich for a terminal. Lines are never wrapped, so that a path stays one word.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

from racedart.finding.model import Finding, Level, Location, Reason, Suppressed, Verdict
from racedart.finding.run import STATEMENT, Run
from racedart.reports.excerpt import shown, source_line
from racedart.reports.options import PLAIN, Options

_STYLES = {Level.ERROR: "bold red", Level.WARNING: "bold yellow", Level.NOTE: "bold cyan"}
_VERDICTS = {Verdict.CLEAN: "bold green", Verdict.FINDINGS: "bold red", Verdict.INCOMPLETE: "bold yellow"}

WIDTH = 160
"""Longest excerpt of a source line."""

Span = tuple[str, str]
"""Text and its rich style."""
Line = list[Span]


def render_text(run: Run, options: Options = PLAIN) -> str:
    """The report, ending with the one-line summary."""
    from rich.console import Console
    from rich.text import Text

    buffer = io.StringIO()
    console = Console(
        file=buffer,
        force_terminal=options.color,
        no_color=not options.color,
        color_system="standard" if options.color else None,
        force_jupyter=False,  # in a notebook rich would display the report instead of returning it
        width=10_000,
    )
    for line in _short_report(run) if options.quiet else _report(run, options):
        text = Text()
        for span, style in line:
            text.append(span, style or None)
        console.print(text, soft_wrap=True, highlight=False)
    return buffer.getvalue()


def summary(run: Run) -> str:
    """Counts and verdict in one line."""
    errors = sum(finding.level == Level.ERROR for finding in run.findings)
    warnings = sum(finding.level == Level.WARNING for finding in run.findings)
    notes = len(run.findings) - errors - warnings
    counts = [_count(errors, "error"), _count(warnings, "warning")]
    if notes:
        counts.append(_count(notes, "note"))
    remarks = [f"incomplete: {_count(len(run.reasons), 'reason')}"] if run.findings and run.reasons else []
    if run.suppressed:
        remarks.append(f"{len(run.suppressed)} suppressed")
    verdict = f"{run.verdict} ({', '.join(remarks)})" if remarks else str(run.verdict)
    if not _has_launches(run):
        return f"{', '.join(counts)}: {verdict}"
    # A thorough check has two records of a launch, one for each build.
    numbered = {launch.index for launch in run.launches if launch.index}
    launches = _count(len(numbered) or len(run.launches), "launch", "launches")
    if run.program is not None and run.program.unchecked:
        launches += f" ({run.program.unchecked:,} more not checked)"
    return f"{', '.join(counts)} in {launches}: {verdict}"


def _has_launches(run: Run) -> bool:
    """Whether the run executed code; the lint of a source does not."""
    return bool(run.launches) or run.program is not None


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _report(run: Run, options: Options) -> Iterator[Line]:
    for finding in run.findings:
        yield from _finding(finding, run.sources)
        yield []
    for reason in run.reasons:
        yield from _reason(reason, run.sources)
        yield []
    for item in run.suppressed if options.show_suppressed else ():
        yield from _suppressed(item)
    yield from _coverage(run)
    if _has_launches(run):
        yield [(STATEMENT, "dim")]
    for notice in run.notices:
        yield [("notice: ", "bold cyan"), (notice, "")]
    yield _last_line(run)


def _short_report(run: Run) -> Iterator[Line]:
    for finding in run.findings:
        yield _headline(finding)
    for reason in run.reasons:
        yield _reason_headline(reason)
    yield _last_line(run)


def _last_line(run: Run) -> Line:
    return [("racedart: ", ""), (summary(run), _VERDICTS[run.verdict])]


def _coverage(run: Run) -> Iterator[Line]:
    """How many access sites were checked as they ran, and how many were proved beforehand."""
    counts = {"checked_sites": 0, "proved_sites": 0}
    for launch in run.launches:
        for key in counts:
            number = launch.statistics.get(key, 0)
            counts[key] += number if isinstance(number, int) else 0
    if counts["proved_sites"]:
        text = "{checked_sites} access sites checked, {proved_sites} proved free of races".format(**counts)
        yield [(text, "dim")]


def _headline(finding: Finding) -> Line:
    return [
        (f"{shown(finding.location)}: ", "bold"),
        (str(finding.level), _STYLES[finding.level]),
        (f": {finding.message} ", "bold"),
        (f"[{finding.rule}]", "cyan"),
    ]


def _finding(finding: Finding, sources: Mapping[str, str]) -> Iterator[Line]:
    yield _headline(finding)
    for place in (finding.location, *finding.related):
        yield from _place(place, sources)
    yield from _facts(finding)
    if finding.fix is not None:
        yield [("  fix: ", "bold green"), (finding.fix.description, "")]


def _suppressed(item: Suppressed) -> Iterator[Line]:
    """The finding in one line, and what keeps it out in the next."""
    finding = item.finding
    where = f" at {shown(item.location)}" if item.location is not None else ""
    yield [(f"{shown(finding.location)}: suppressed: {finding.message} [{finding.rule}]", "dim")]
    yield [(f"  {item.kind}{where}: {item.justification}", "dim")]


def _place(place: Location, sources: Mapping[str, str]) -> Iterator[Line]:
    if place.message:
        yield [(f"  {shown(place)}: ", ""), (place.message, "")]
    text = source_line(place, sources)
    if text is not None:
        number = str(place.line)
        # Compilers count columns in bytes.
        column = len(text.encode(errors="replace")[: max(place.column - 1, 0)].decode(errors="ignore"))
        caret = max(column, len(text) - len(text.lstrip()))
        line, at = _cut(text.expandtabs(4).rstrip(), len(text[:caret].expandtabs(4)))
        yield [(f"    {number} | ", "dim"), (line, "")]
        yield [(f"    {' ' * len(number)} | ", "dim"), (" " * at + "^", "bold red")]
    caller = place.inlined_at
    while caller is not None:
        name = f" in {place.function}" if place.function else ""
        yield [(f"    inlined{name} at {shown(caller)}", "dim")]
        place, caller = caller, caller.inlined_at


def _cut(text: str, caret: int) -> tuple[str, int]:
    """A line of at most WIDTH characters around the caret, and the caret's place in it."""
    if len(text) <= WIDTH:
        return text, caret
    start = max(min(caret - WIDTH // 2, len(text) - WIDTH), 0)
    before, after = "..." if start else "", "..." if start + WIDTH < len(text) else ""
    return before + text[start : start + WIDTH] + after, caret - start + len(before)


def _facts(finding: Finding) -> Iterator[Line]:
    properties = finding.properties
    accesses = properties.get("accesses")
    if isinstance(accesses, (list, tuple)):
        for access in accesses:
            if isinstance(access, Mapping):
                yield [(f"  {_access(access)}", "dim")]
    facts = []
    if isinstance(properties.get("count"), int) and properties["count"] != 1:
        facts.append(f"seen at {properties['count']} addresses of {properties.get('variable', '')}")
    if isinstance(properties.get("launches"), int):
        number, place = properties.get("launch"), properties.get("launched_at", "an unknown place")
        if properties["launches"] == 1:
            facts.append(f"in launch {number}, at {place}")
        else:
            facts.append(f"in {properties['launches']} launches, first in launch {number}, at {place}")
    if properties.get("hazard"):
        facts.append(f"hazard {properties['hazard']}")
    if facts:
        yield [(f"  {', '.join(facts)}", "dim")]
    if isinstance(properties.get("reproduce"), str):
        yield [("  reproduce: ", "dim"), (str(properties["reproduce"]), "dim")]


def _access(access: Mapping[str, Any]) -> str:
    text = f"{access.get('role', '')}: {access.get('instruction', '')}"
    if "value_before" in access:
        text += f"; value {access['value_before']}"
        if access.get("value_after", access["value_before"]) != access["value_before"]:
            text += f" -> {access['value_after']}"
    return text


def _reason_headline(reason: Reason) -> Line:
    where = f"{shown(reason.location)}: " if reason.location is not None else ""
    return [(where, "bold"), ("incomplete", "bold yellow"), (f": {reason.message}", "bold")]


def _reason(reason: Reason, sources: Mapping[str, str]) -> Iterator[Line]:
    yield _reason_headline(reason)
    if reason.location is not None:
        yield from _place(reason.location, sources)
    if reason.instruction:
        yield [(f"  instruction: {reason.instruction}", "dim")]
