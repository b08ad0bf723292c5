"""The text report: what stands in it, plain when piped, coloured on a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from racedart.finding.errors import UsageError
from racedart.finding.model import Finding, Fix, Level, Location, Reason, Suppressed, Suppressor
from racedart.finding.run import STATEMENT, LaunchRecord, Run
from racedart.reports import Options, render

SOURCE = "__global__ void k(int* a) {\n\ta[0] = 1;\n  a[0] += 2;  // later\n}\n"
LAUNCH = LaunchRecord("k", "cuda", (1, 1, 1), (32, 1, 1), 0, "cpu", "exact", 0)
CALLER = Location("main.cu", 40, 3)
RACE = Finding(
    "R102",
    Level.ERROR,
    "read of a[0] (global memory) is not ordered with a write by another lane of the same warp",
    Location("k.cu", 3, 3, "", "later read by thread (1, 0, 0) of block (0, 0, 0)"),
    (Location("k.cu", 2, 2, "helper", "earlier write by thread (0, 0, 0) of block (0, 0, 0)", CALLER),),
    Fix("put __syncwarp() between the write at line 2 and the read at line 3"),
    {
        "variable": "a",
        "count": 7,
        "hazard": "RAW",
        "accesses": [
            {"role": "later", "instruction": "ld.global.u32 %r1, [%rd1]", "value_before": "1", "value_after": "1"},
            {"role": "earlier", "instruction": "st.global.u32 [%rd1], 1", "value_before": "0", "value_after": "1"},
        ],
        "reproduce": "racedart check k.cu::k",
    },
)
REASON = Reason("fence", "the order of a fence is not modelled", Location("k.cu", 1, 1), "membar.gl")


def run_of(*findings: Finding, reasons: tuple[Reason, ...] = ()) -> Run:
    return Run(findings, reasons, (LAUNCH,), "0", None, {"k.cu": SOURCE})


EXPECTED = """\
k.cu:3:3: error: read of a[0] (global memory) is not ordered with a write by another lane of the same warp [R102]
  k.cu:3:3: later read by thread (1, 0, 0) of block (0, 0, 0)
    3 |   a[0] += 2;  // later
      |   ^
  k.cu:2:2: earlier write by thread (0, 0, 0) of block (0, 0, 0)
    2 |     a[0] = 1;
      |     ^
    inlined in helper at main.cu:40:3
  later: ld.global.u32 %r1, [%rd1]; value 1
  earlier: st.global.u32 [%rd1], 1; value 0 -> 1
  seen at 7 addresses of a, hazard RAW
  reproduce: racedart check k.cu::k
  fix: put __syncwarp() between the write at line 2 and the read at line 3

k.cu:1:1: incomplete: the order of a fence is not modelled
    1 | __global__ void k(int* a) {
      | ^
  instruction: membar.gl

A verdict speaks of the code as compiled, for these launches and inputs.
racedart: 1 error, 0 warnings in 1 launch: findings (incomplete: 1 reason)
"""


def test_the_whole_report() -> None:
    assert render(run_of(RACE, reasons=(REASON,))) == EXPECTED


def test_a_clean_run() -> None:
    assert render(run_of()) == f"{STATEMENT}\nracedart: 0 errors, 0 warnings in 1 launch: clean\n"


def test_colour_changes_nothing_but_colour() -> None:
    colored = render(run_of(RACE, reasons=(REASON,)), options=Options(color=True))
    assert "\x1b[" in colored
    import re

    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == EXPECTED


def test_long_lines_stay_whole() -> None:
    place = Location("/" + "long/" * 60 + "k.cu", 1, 1, "", "x" * 300)
    text = render(run_of(Finding("R101", Level.WARNING, "m " * 200, place)))
    assert max(len(line) for line in text.splitlines()) > 600
    assert place.file in text


def test_text_that_looks_like_markup_is_shown_as_it_is() -> None:
    text = render(run_of(Finding("R101", Level.NOTE, "a[bold] of [red]x[/red]", Location("", 0))))
    assert "unknown place: note: a[bold] of [red]x[/red] [R101]" in text
    assert "1 note" in text


def test_sources_are_read_from_disk(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("int x;\nint y;\n")
    shown = render(run_of(Finding("R101", Level.ERROR, "m", Location(str(path), 2, 5))))
    assert "    2 | int y;\n      |     ^\n" in shown
    beyond = render(run_of(Finding("R101", Level.ERROR, "m", Location(str(path), 9, 1))))
    assert " | " not in beyond


def test_other_formats_are_named() -> None:
    with pytest.raises(UsageError, match="text, json"):
        render(run_of(), "sarif")


def test_a_very_long_source_line_is_cut_around_the_caret() -> None:
    run = Run((RACE,), (), (LAUNCH,), "0", None, {"k.cu": "\n\n" + "x" * 5000 + "HERE" + "y" * 5000})
    far = Finding("R101", Level.ERROR, "m", Location("k.cu", 3, 5001))
    text = render(Run((far,), (), (LAUNCH,), "0", None, run.sources))
    excerpt, caret = text.splitlines()[1:3]
    assert len(excerpt) < 200
    assert excerpt[caret.index("^") :].startswith("HERE")


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("one\n\f\nHERE\n", 3, 1),
        ("one\r\n\x0b\r\n  HERE\r\n", 3, 3),
        ("one\n/* \u00e9\u00e9 */ HERE\n", 2, 12),
        ("one\n\u2028 HERE\n", 2, 5),
    ],
    ids=["form feed", "CR LF", "bytes", "line separator"],
)
def test_lines_and_columns_are_the_compilers(source: str, line: int, column: int) -> None:
    """Compilers end a line at a newline only, and count columns in bytes."""
    found = Finding("R101", Level.ERROR, "m", Location("k.cu", line, column))
    excerpt, caret = render(Run((found,), (), (LAUNCH,), "0", None, {"k.cu": source})).split("\n")[1:3]
    assert excerpt[caret.index("^") :] == "HERE"


def test_a_place_that_is_no_path_is_tolerated() -> None:
    assert "[R101]" in render(run_of(Finding("R101", Level.ERROR, "m", Location("a\0b", 1, 1))))


def test_suppressed_findings_are_counted_and_listed_on_request() -> None:
    suppressed = (
        Suppressed(RACE, Suppressor.INLINE, "the values are equal", Location("k.cu", 2, 3)),
        Suppressed(RACE, Suppressor.BASELINE, "known"),
    )
    run = Run((), (), (LAUNCH,), "0", None, {}, suppressed, ("the baseline holds 1 finding that is gone",))
    ending = (
        f"{STATEMENT}\nnotice: the baseline holds 1 finding that is gone\n"
        "racedart: 0 errors, 0 warnings in 1 launch: clean (2 suppressed)\n"
    )
    assert render(run) == ending
    assert render(run, options=Options(show_suppressed=True)) == (
        f"k.cu:3:3: suppressed: {RACE.message} [R102]\n  inline at k.cu:2:3: the values are equal\n"
        f"k.cu:3:3: suppressed: {RACE.message} [R102]\n  baseline: known\n{ending}"
    )
    both = Run((RACE,), (REASON,), (LAUNCH,), "0", None, {}, suppressed)
    assert render(both).endswith("in 1 launch: findings (incomplete: 1 reason, 2 suppressed)\n")


def test_a_quiet_report_has_one_line_for_each_finding_and_the_summary() -> None:
    lines = render(run_of(RACE, reasons=(REASON,)), options=Options(quiet=True)).splitlines()
    expected = EXPECTED.splitlines()
    reason = next(line for line in expected if "incomplete:" in line)
    assert lines == [expected[0], reason, expected[-1]]
