"""Findings, the run file and its schema, exit codes, and the rule registry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from racedart.finding.errors import InputError, UsageError
from racedart.finding.model import Edit, Finding, Fix, Level, Location, Reason, Verdict
from racedart.finding.registry import parse_rule, rule, rules
from racedart.finding.run import LaunchRecord, Program, Run, exit_code, load_run, run_from_json, schema
from racedart.shadow.explain.pairs import RULES

texts = st.text(max_size=12)
numbers = st.integers(0, 10**6)
places = st.builds(Location, texts, numbers, numbers, texts, texts)
locations = st.one_of(places, st.builds(Location, texts, numbers, numbers, texts, texts, places))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
properties = st.dictionaries(texts, values, max_size=3)
edits = st.builds(Edit, texts, numbers, numbers, numbers, numbers, texts)
fixes = st.builds(Fix, texts, st.lists(edits, max_size=2).map(tuple))
findings = st.builds(
    Finding,
    st.sampled_from(["R101", "R102", "M105"]),
    st.sampled_from(Level),
    texts,
    locations,
    st.lists(locations, max_size=2).map(tuple),
    st.none() | fixes,
    properties,
)
reasons = st.builds(Reason, texts, texts, st.none() | locations, texts)
shapes = st.tuples(*[st.integers(1, 1024)] * 3)
launches = st.builds(
    LaunchRecord,
    texts,
    texts,
    shapes,
    shapes,
    numbers,
    texts,
    st.sampled_from(["exact", "hirace"]),
    numbers,
    st.sampled_from(["optimised", "unoptimised"]),
    st.lists(texts, max_size=2).map(tuple),
    properties,
)
runs = st.builds(
    Run,
    st.lists(findings, max_size=3).map(tuple),
    st.lists(reasons, max_size=2).map(tuple),
    st.lists(launches, max_size=2).map(tuple),
    texts,
    st.none() | st.builds(Program, st.lists(texts, max_size=2).map(tuple), st.integers(-1, 255)),
    st.dictionaries(texts, texts, max_size=2),
)


@settings(max_examples=100, deadline=None)
@given(runs)
def test_a_run_survives_its_file_and_fits_the_schema(run: Run) -> None:
    data = json.loads(json.dumps(run.to_json()))
    jsonschema.Draft202012Validator(schema()).validate(data)
    assert run_from_json(data) == run


def test_the_schema_is_one_and_refuses_what_is_no_run() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    data = Run((), (), (), "1").to_json()
    for broken in (
        {**data, "verdict": "fine"},
        {**data, "extra": 1},
        {k: v for k, v in data.items() if k != "findings"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema())


def finding(level: Level) -> Finding:
    return Finding("R102", level, "m", Location("k.cu", 1))


REASON = Reason("fence", "not modelled")


@pytest.mark.parametrize(
    ("levels", "reasons", "program", "fail_on", "verdict", "code"),
    [
        ([], [], None, Level.ERROR, "clean", 0),
        ([Level.ERROR], [], None, Level.ERROR, "findings", 1),
        ([Level.WARNING], [], None, Level.ERROR, "findings", 0),
        ([Level.WARNING], [], None, Level.WARNING, "findings", 1),
        ([Level.NOTE], [], None, Level.WARNING, "findings", 0),
        ([Level.NOTE], [], None, Level.NOTE, "findings", 1),
        ([Level.ERROR], [], None, None, "findings", 0),
        ([], [REASON], None, Level.ERROR, "incomplete", 3),
        ([Level.ERROR], [REASON], None, Level.ERROR, "findings", 1),
        ([Level.WARNING], [REASON], None, Level.ERROR, "findings", 3),
        ([Level.ERROR], [REASON], None, None, "findings", 3),
        ([], [], Program(("app.py",), 1), Level.ERROR, "clean", 3),
        ([], [], Program(("app.py",), 0), Level.ERROR, "clean", 0),
    ],
)
def test_verdict_and_exit_code(
    levels: list[Level],
    reasons: list[Reason],
    program: Program | None,
    fail_on: Level | None,
    verdict: str,
    code: int,
) -> None:
    run = Run(tuple(finding(level) for level in levels), tuple(reasons), (), "1", program)
    assert run.verdict == Verdict(verdict)
    assert exit_code(run, fail_on) == code


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (None, "cannot be read"),
        ("{", "not JSON"),
        ("[]", "'racedart_run' is missing"),
        ('{"racedart_run": 99}', "version 99; this racedart reads version 1"),
        ('{"racedart_run": 1}', "'program' is missing"),
        ('{"racedart_run": 1, "program": 5, "findings": 3}', "malformed"),
    ],
)
def test_files_that_are_no_runs_are_refused(content: str | None, what: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=r"run\.json") as error:
        load_run(path)
    assert what in str(error.value)


def test_a_run_is_saved_and_loaded(tmp_path: Path) -> None:
    run = Run((finding(Level.ERROR),), (REASON,), (), "1")
    run.save(tmp_path / "run.json")
    assert load_run(tmp_path / "run.json") == run
    with pytest.raises(InputError, match="cannot be written"):
        run.save(tmp_path / "no" / "run.json")


def test_levels_are_ordered() -> None:
    assert Level.NOTE.rank < Level.WARNING.rank < Level.ERROR.rank


def test_every_rule_that_the_engine_reports_is_registered() -> None:
    assert {r.id for r in rules()} >= {*RULES, "R201", "R202", "R203", "R301"}
    assert [r.id for r in rules()] == sorted({r.id for r in rules()})


def test_rules_are_found_by_id_and_name() -> None:
    assert rule("r102") is rule("read-write-race")
    with pytest.raises(UsageError, match="did you mean R102"):
        rule("R1022")


@pytest.mark.parametrize("registered", rules(), ids=lambda r: str(r.id))
def test_rule_examples_say_what_they_are_about(registered: Any) -> None:
    """The bad example has findings of the rule in the engine, the good one none: see test_rule_examples."""
    for section in ("Bad", "Good"):
        assert registered.sections[section].startswith(("```python", "```cuda"))


@pytest.mark.parametrize(
    "text",
    ["no front matter", "---\nid: R1\n---\n", "---\nid: R1\nname: n\nlevel: error\nsummary: s\n---\n## Fix\nx"],
)
def test_malformed_rule_files_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"r\.md"):
        parse_rule(text, "r.md")
