"""Findings, the run file and its schema, exit codes, and the rule registry."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from racedart.finding.errors import InputError, UsageError
from racedart.finding.model import Edit, Finding, Fix, Level, Location, Reason, Suppressed, Suppressor, Verdict
from racedart.finding.registry import parse_rule, rule, rules
from racedart.finding.run import LaunchRecord, Program, Run, exit_code, load_run, run_from_json, schema
from racedart.finding.schema import misfit
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
    st.sampled_from(["", "0123456789abcdef" * 2]),
)
suppressions = st.builds(Suppressed, findings, st.sampled_from(Suppressor), texts, st.none() | locations)
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
    st.lists(suppressions, max_size=2).map(tuple),
    st.lists(texts, max_size=2).map(tuple),
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


def test_what_is_suppressed_does_not_count() -> None:
    item = Suppressed(finding(Level.ERROR), Suppressor.BASELINE, "known")
    assert exit_code(Run((), (), (), "1", suppressed=(item,)), Level.NOTE) == 0
    assert Run((), (), (), "1", suppressed=(item,)).verdict == Verdict.CLEAN
    assert Run((), (REASON,), (), "1", suppressed=(item,)).verdict == Verdict.INCOMPLETE


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
        ('{"racedart_run": 99}', "version 99; this racedart reads version 2"),
        ('{"racedart_run": 2}', "the file lacks 'tool_version', 'verdict'"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_files_that_are_no_runs_are_refused(content: str | None, what: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=r"run\.json") as error:
        load_run(path)
    assert what in str(error.value)


FULL = Run(
    (
        Finding(
            "R102",
            Level.ERROR,
            "m",
            Location("k.cu", 3, 1, "f", "x", Location("m.cu", 1)),
            (Location("k.cu", 4),),
            Fix("d", (Edit("k.cu", 1, 1, 1, 2, "t"),)),
            {"count": 1},
        ),
    ),
    (Reason("fence", "m", Location("k.cu", 1), "membar.gl"),),
    (LaunchRecord("k", "cuda", (1, 1, 1), (2, 1, 1), 0, "cpu", "exact", 0),),
    "1",
    Program(("a.py",), 0),
    {"k.cu": "x"},
    (
        Suppressed(
            Finding("M101", Level.NOTE, "m", Location("k.c", 1)), Suppressor.INLINE, "why", Location("k.c", 2)
        ),
    ),
    ("a notice",),
)


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (
            ("findings", 0, "location", "line"),
            math.inf,
            "findings[0].location.line is Infinity; expected of type inte",
        ),
        (("findings", 0, "location", "line"), True, "findings[0].location.line is true; expected of type integer"),
        (("findings", 0, "level"), "fatal", 'findings[0].level is "fatal"; expected one of note, warning, error'),
        (("findings", 0, "rule"), "X1", 'findings[0].rule is "X1"; expected text that matches'),
        (("findings", 0, "fix", "edits", 0), {}, "findings[0].fix.edits[0] lacks 'file', 'line'"),
        (("findings", 0, "fingerprint"), "f", 'findings[0].fingerprint is "f"; expected text that matches'),
        (("suppressed", 0, "kind"), "no", 'suppressed[0].kind is "no"; expected one of inline, baseline, conf'),
        (("suppressed", 0, "finding"), {}, "suppressed[0].finding lacks 'rule', 'level'"),
        (("launches", 0, "grid"), "123", 'launches[0].grid is "123"; expected of type array'),
        (("launches", 0, "grid"), [1, 1], "launches[0].grid is [1, 1]; expected 3 items or more"),
        (("launches", 0, "block", 2), 0, "launches[0].block[2] is 0; expected 1 or more"),
        (("program", "argv"), "app.py", 'program.argv is "app.py"; expected of type array'),
        (("sources", "k.cu"), 5, "sources['k.cu'] is 5; expected of type string"),
        (("racedart_run",), True, "run file version True; this racedart reads version 2"),
        (("new",), 5, "the file has 'new', which this version does not know"),
        (("verdict",), "clean", "verdict is clean, its findings and reasons say findings"),
    ],
)
def test_a_malformed_run_is_refused_with_the_place(path: tuple[str | int, ...], value: Any, what: str) -> None:
    data = json.loads(json.dumps(FULL.to_json()))
    target = data
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    with pytest.raises(InputError) as error:
        run_from_json(data)
    assert what in str(error.value)


def places_of(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all values below one."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [inner for key, item in pairs for inner in [(*path, key), *places_of(item, (*path, key))]]


damages = st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | texts | st.lists(numbers, max_size=4)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(places_of(FULL.to_json())), damages | st.dictionaries(texts, numbers, max_size=2), st.booleans()
)
def test_the_reader_refuses_what_the_schema_refuses(path: tuple[str | int, ...], value: Any, remove: bool) -> None:
    data = json.loads(json.dumps(FULL.to_json()))
    target = data
    for key in path[:-1]:
        target = target[key]
    if remove:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    assert (misfit(data, schema()) is None) == jsonschema.Draft202012Validator(schema()).is_valid(data)


def test_a_schema_keyword_that_is_not_implemented_is_not_passed_over() -> None:
    with pytest.raises(ValueError, match="uniqueItems"):
        misfit([1, 1], {"uniqueItems": True})


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
    languages = ("```c\n",) if str(registered.id).startswith("M") else ("```python", "```cuda")
    for section in ("Bad", "Good"):
        assert registered.sections[section].startswith(languages)


@pytest.mark.parametrize(
    "text",
    ["no front matter", "---\nid: R1\n---\n", "---\nid: R1\nname: n\nlevel: error\nsummary: s\n---\n## Fix\nx"],
)
def test_malformed_rule_files_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"r\.md"):
        parse_rule(text, "r.md")
