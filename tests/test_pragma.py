"""The OpenMP grammar, parser, finder and printer."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from racedart.analyzer.pragma import (
    CLAUSES,
    DIRECTIVES,
    Association,
    Clause,
    Dereference,
    Directive,
    Form,
    Malformed,
    Member,
    Section,
    clause_removal,
    find_pragmas,
    item_removal,
    make_clause,
    parse_pragma,
    print_clause,
    print_directive,
)

CLANG = next((name for name in ("clang-19", "clang") if shutil.which(name)), None)


def parse(text: str) -> Directive:
    parsed = parse_pragma(text.encode())
    assert isinstance(parsed, Directive), parsed
    return parsed


def clause(text: str, directive: str = "target") -> Clause:
    (only,) = parse(f"#pragma omp {directive} {text}").clauses
    return only


@pytest.mark.parametrize("name", DIRECTIVES)
def test_every_directive_name_is_read(name: str) -> None:
    parsed = parse(f"#  pragma omp   {name.replace(' ', chr(9))} unheard_of(x)")
    assert parsed.kind == name
    assert parsed.known
    assert " ".join(parsed.leaves) == name
    assert [c.known for c in parsed.clauses] == [False]


@pytest.mark.skipif(CLANG is None, reason="clang is not installed")
def test_clang_knows_every_directive_and_the_clauses_it_takes(tmp_path: Path) -> None:
    # Clang 19 lacks these of OpenMP 5.2, or has them with the rules of another version.
    lacks = {"begin metadirective", "end metadirective", "allocate", "assume", "assumes", "depobj", "dispatch"}
    lacks_clauses = {"to", "memory_order", "otherwise", "in_reduction", "filter", "default"}
    lacks_pairs = {
        ("cancel", "if"),
        ("flush", "relaxed"),
        ("flush", "seq_cst"),
        ("scope", "allocate"),
        ("scope", "firstprivate"),
        ("section", ""),
        ("teams distribute parallel for simd", "copyin"),
    }
    lines, meant = [], {}
    for name, rule in DIRECTIVES.items():
        if name in lacks or rule.association is Association.DELIMITED:
            continue
        for taken in sorted(rule.clauses - lacks_clauses) or [""]:
            if (name, taken) not in lacks_pairs:
                bare = not taken or CLAUSES[taken].form is Form.BARE or CLAUSES[taken].optional
                lines.append(f"#pragma omp {name} {taken}{'' if bare else '('}")
                meant[len(lines)] = (name, taken)
    path = tmp_path / "all.c"
    path.write_text("void f(int x) {\n" + "".join(f"{line}\n  ;\n" for line in lines) + "}\n")
    assert CLANG is not None
    done = subprocess.run(
        [CLANG, "-fopenmp", "-fopenmp-version=52", "-fsyntax-only", "-ferror-limit=0", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    wrong = re.findall(
        r":(\d+):\d+: (?:error|warning): (expected an OpenMP directive|unexpected OpenMP clause.*|extra tokens.*)",
        done.stderr,
    )
    refused = {meant.get(int(line) // 2) for line, _ in wrong}
    assert not refused, "\n".join(sorted(map(str, refused)))


@pytest.mark.parametrize(
    ("name", "association"),
    [
        ("target data", Association.BLOCK),
        ("target enter data", Association.NONE),
        ("target teams distribute parallel for simd", Association.LOOP),
        ("target parallel", Association.BLOCK),
        ("declare simd", Association.DECLARATION),
        ("declare target", Association.DELIMITED),
        ("declare target(x)", Association.NONE),
        ("declare target enter(x)", Association.NONE),
        ("ordered", Association.BLOCK),
        ("ordered depend(source)", Association.NONE),
        ("section", Association.SEPARATING),
    ],
)
def test_association(name: str, association: Association) -> None:
    assert parse(f"#pragma omp {name}").association is association


@pytest.mark.parametrize(
    ("text", "modifiers", "items", "argument"),
    [
        ("map(a)", [], ["a"], None),
        ("map(to: a[0:n], b)", ["to"], ["a[0:n]", "b"], None),
        ("map(always close, mapper(id), to : a)", ["always", "close", "mapper(id)", "to"], ["a"], None),
        ("map(iterator(int i=0:n), from: p[i][:m])", ["iterator(int i=0:n)", "from"], ["p[i][:m]"], None),
        ("map(to: a[c ? 0 : 1 : n])", ["to"], ["a[c ? 0 : 1 : n]"], None),
        ("map(to: f(a, b)[0:n], c)", ["to"], ["f(a, b)[0:n]", "c"], None),
        ("reduction(+:x,y)", ["+"], ["x", "y"], None),
        ("reduction(inscan, ns::op : x)", ["inscan", "ns::op"], ["x"], None),
        ("if(target: n > 0)", ["target"], [], "n > 0"),
        ("if(c ? a : b)", [], [], "c ? a : b"),
        ("if(target data: c ? a : b)", ["target data"], [], "c ? a : b"),
        ("device(ancestor: 1)", ["ancestor"], [], "1"),
        ("depend(iterator(i=0:n), inout: a[i], *p)", ["iterator(i=0:n)", "inout"], ["a[i]", "*p"], None),
        ("defaultmap(none)", ["none"], [], ""),
        ("defaultmap(tofrom: scalar)", ["tofrom"], [], "scalar"),
        ("num_teams(n / 2 : n)", ["n / 2"], [], "n"),
        ("schedule(monotonic, simd: static, 4)", ["monotonic", "simd"], [], "static, 4"),
        ("schedule(static)", [], [], "static"),
        ("linear(i, j : 2)", ["2"], ["i", "j"], None),
        ("linear(i : val, step(n ? 1 : 2))", ["val", "step(n ? 1 : 2)"], ["i"], None),
        ("to(present, mapper(m): a)", ["present", "mapper(m)"], ["a"], None),
        ("uses_allocators(traits(t): mine)", ["traits(t)"], [], "mine"),
        ("nowait", [], [], None),
        ("doacross(source:)", ["source"], [], ""),
        ("depend(source)", ["source"], [], None),
        ("OFFLOAD_CLAUSES(x:1)", [], [], "x:1"),
    ],
)  # fmt: skip
def test_parts_of_a_clause(text: str, modifiers: list[str], items: list[str], argument: str | None) -> None:
    found = clause(text)
    assert list(map(str, found.modifiers)) == modifiers
    assert [item.text for item in found.items] == items
    assert found.argument == argument
    assert found.text == text
    remade = clause(print_clause(Clause(found.name, found.modifiers, found.items, found.argument)))
    assert set(map(str, remade.modifiers)) == set(modifiers)
    assert [item.text for item in remade.items] == items


@pytest.mark.parametrize(
    ("text", "base", "steps"),
    [
        ("a", "a", ()),
        ("a[0:n]", "a", (Section("0", "n", ""),)),
        ("a[:]", "a", (Section("", "", ""),)),
        ("a[::2]", "a", (Section("", "", "2"),)),
        ("a[0::2]", "a", (Section("0", "", "2"),)),
        ("a[1:n:2]", "a", (Section("1", "n", "2"),)),
        ("a[ns::k:3]", "a", (Section("ns::k", "3", ""),)),
        ("a<:0:n:>", "a", (Section("0", "n", ""),)),
        ("a[i][0:m]", "a", (Section("", "", "", "i"), Section("0", "m", ""))),
        ("s->p[0:n]", "s", (Member("p", True), Section("0", "n", ""))),
        ("this->x", "this", (Member("x", True),)),
        ("this[:1]", "this", (Section("", "1", ""),)),
        ("ns::v.q[0:2].r", "ns::v", (Member("q", False), Section("0", "2", ""), Member("r", False))),
        ("*p", "p", (Dereference(),)),
        ("(*p)[0:n]", "p", (Dereference(), Section("0", "n", ""))),
        ("(*(s.p)).q", "s", (Member("p", False), Dereference(), Member("q", False))),
        ("a + 1", "", ()),
        ("f(x)", "", ()),
    ],
)
def test_locators(text: str, base: str, steps: tuple[object, ...]) -> None:
    (item,) = clause(f"map({text})").items
    assert (item.base, item.steps) == (base, steps)
    assert item.text == text.replace("<:", "[").replace(":>", "]")


def test_path_sections_and_shape() -> None:
    item = clause("to(([n][m + 1]) p->q[0:2].r[1:3])", "target update").items[0]
    assert item.shape == ("n", "m + 1")
    assert item.path == ("q", "r")
    assert item.sections == (Section("1", "3", ""),)


def test_ranges_are_of_bytes_in_the_file() -> None:
    source = (
        'int é; // "\n  #pragma omp target \\\r\n  map ( to : é[0:n] /* , z */ , b ) nowait // tail\r\n  ;'.encode()
    )
    (place,) = find_pragmas(source)
    parsed = parse_pragma(source, place.start, place.end)
    assert isinstance(parsed, Directive)
    assert source[place.start : place.end].startswith(b"#pragma")
    assert source[place.start : place.end].endswith(b"// tail")
    assert source[parsed.tail :].startswith(b" // tail")
    first = parsed.clauses[0]
    assert source[first.start : first.end].decode() == first.text == "map ( to : é[0:n] /* , z */ , b )"
    assert [source[i.start : i.end].decode() for i in first.items] == ["é[0:n]", "b"]


def test_a_name_split_over_lines() -> None:
    source = b"#pragma omp tar\\\nget ma\\\np(a)"
    parsed = parse_pragma(source)
    assert isinstance(parsed, Directive)
    assert parsed.kind == "target"
    assert parsed.clauses[0].name == "map"
    assert source[parsed.clauses[0].start : parsed.clauses[0].end] == b"ma\\\np(a)"


def test_operator_form_keeps_places() -> None:
    source = rb'x; _Pragma("omp target map(to: a[0:n]) depend(in: \"s\"[0])") y;'
    (place,) = find_pragmas(source)
    parsed = parse_pragma(source, place.start, place.end)
    assert isinstance(parsed, Directive)
    assert parsed.operator
    first, second = parsed.clauses
    assert source[first.start : first.end] == b"map(to: a[0:n])"
    assert second.items[0].text == '"s"[0]'


def test_metadirective_variants() -> None:
    parsed = parse(
        "#pragma omp metadirective when(device={arch(nvptx)}: target teams map(a)) default(parallel for)"
    )
    kinds = [c.variant.kind for c in parsed.clauses if c.variant is not None]
    assert kinds == ["target teams", "parallel for"]


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("#pragma omp target map(a", "`(` is never closed", 1, 23),
        ("#pragma omp target map(a[0:n)", "expected `]`, found `)`", 1, 29),
        ("#pragma omp target \\\n  map(to: a,, b)", "item 2 of the list of `map` is missing", 2, 11),
        ("#pragma omp target map", "the clause `map` lacks its argument in parentheses", 1, 23),
        ("#pragma omp target 3", "expected a clause of `target`, found `3`", 1, 20),
        ("#pragma omp", "expected the name of an OpenMP directive", 1, 12),
        ("#pragma once", "no OpenMP pragma", 1, 1),
        ("#pragma omp target map(a[0:1:2:3])", "at most `lower : length : stride`", 1, 26),
    ],
)
def test_malformed(text: str, message: str, line: int, column: int) -> None:
    parsed = parse_pragma(text.encode())
    assert isinstance(parsed, Malformed)
    assert message in parsed.message
    assert (parsed.line, parsed.column) == (line, column)


def test_unknown_directive_passes_through() -> None:
    text = "#pragma omp frobnicate  everything(1) /* c */"
    parsed = parse(text)
    assert (parsed.kind, parsed.known, parsed.clauses) == ("frobnicate", False, ())
    assert print_directive(parsed) == text


FILES = [
    ("#pragma omp barrier", ["#pragma omp barrier"]),
    ("%:pragma omp barrier", ["%:pragma omp barrier"]),
    ("\ufeff#pragma omp barrier\n", ["#pragma omp barrier"]),
    ("/* x\n */ # /**/ pragma omp barrier /* goes\n on */ \nint x;", ["# /**/ pragma omp barrier /* goes\n on */"]),
    ("// #pragma omp barrier\\\n#pragma omp barrier", []),
    ("/*\n#pragma omp barrier\n*/", []),
    ('char *s = "\\\n#pragma omp barrier";', []),
    ('auto s = R"x(\n#pragma omp barrier\n)x";', []),
    ("int x; #pragma omp barrier", []),
    ("#pragma ompx bare\n#pragma once\n#pragma omp_x", []),
    ('f("_Pragma(\\"omp barrier\\")");', []),
    ('_Pragma("GCC unroll 4") _Pragma ( "omp barrier" )', ['_Pragma ( "omp barrier" )']),
]


@pytest.mark.parametrize(("text", "expected"), FILES)
def test_finding(text: str, expected: list[str]) -> None:
    source = text.encode()
    assert [source[p.start : p.end].decode() for p in find_pragmas(source)] == expected


@pytest.mark.parametrize(
    ("before", "active"),
    [
        ("#if 0", False),
        ("#if 1", True),
        ("#if 0\n#else", True),
        ("#if 1\n#elif X", False),
        ("#ifdef _OPENMP", True),
        ("#ifndef _OPENMP", False),
        ("#if defined(_OPENMP)", True),
        ("#ifdef X", None),
        ("#ifdef X\n#else", None),
        ("#ifdef X\n#if 0", False),
        ("#if 0\n#if 1\n#endif", False),
        ("#if 0\n#endif", True),
        ("#if X\n#elif 1\n#else", False),
    ],
)
def test_conditional_compilation(before: str, active: bool | None) -> None:
    (place,) = find_pragmas(f"{before}\n#pragma omp barrier\n".encode())
    assert place.active is active


def test_pragma_in_a_macro_is_marked() -> None:
    (place,) = find_pragmas(b'#define P(x) _Pragma("omp barrier") x\n')
    assert place.macro


@pytest.mark.parametrize(
    ("text", "index", "expected"),
    [
        ("#pragma omp target map(a) map(b), nowait // c", 0, "#pragma omp target map(b), nowait // c"),
        ("#pragma omp target map(a) map(b), nowait // c", 1, "#pragma omp target map(a) nowait // c"),
        ("#pragma omp target map(a) map(b), nowait // c", 2, "#pragma omp target map(a) map(b) // c"),
        ("#pragma omp target \\\n map(a)\n", 0, "#pragma omp target\n"),
    ],
)
def test_removing_a_clause(text: str, index: int, expected: str) -> None:
    source = text.encode()
    start, end = clause_removal(parse(text), index)
    assert (source[:start] + source[end:]).decode() == expected


@pytest.mark.parametrize(("index", "expected"), [(0, "map(to: b, c)"), (1, "map(to: a, c)"), (2, "map(to: a, b)")])
def test_removing_an_item(index: int, expected: str) -> None:
    text = "#pragma omp target map(to: a, b, c)"
    start, end = item_removal(parse(text).clauses[0], index)
    assert text[:start] + text[end:] == f"#pragma omp target {expected}"


def test_printing_a_changed_directive() -> None:
    parsed = parse("#pragma  omp target  map(a)   nowait // why")
    assert print_directive(parsed) == "#pragma  omp target  map(a)   nowait // why"
    changed = replace(parsed, clauses=(make_clause("map", ["a[0:n]"], ["to"]), parsed.clauses[1]))
    assert print_directive(changed) == "#pragma  omp target map(to: a[0:n]) nowait // why"
    assert print_directive(Directive("target update", (make_clause("from", ["s.p[0:n]"]),))) == (
        "#pragma omp target update from(s.p[0:n])"
    )


names = st.sampled_from(["a", "b", "s.p", "q->r", "ns::x", "this->y", "*p", "a[i].b"])
bounds = st.sampled_from(["", "0", "n", "n - 1", "f(x, y)", "(c ? 1 : 2)"])
sections = st.builds(lambda low, length: f"[{low}:{length}]", bounds, bounds)
locators = st.builds(lambda name, parts: name + "".join(parts), names, st.lists(sections, max_size=2))
blanks = st.sampled_from(["", " ", "\t", " \\\n ", "/* , ) */", " /* a\n b */ "])
spaces = st.sampled_from([" ", "\t", " \\\n ", " /* , ) */", " /* a\n b */ "])


@given(st.data())
def test_what_is_written_is_what_is_read(data: st.DataObject) -> None:
    draw = data.draw
    kind = draw(st.sampled_from(sorted(DIRECTIVES)))
    text = "#pragma" + draw(spaces) + "omp" + draw(spaces) + draw(spaces).join(kind.split())
    expected = []
    for _ in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from(["map", "to", "firstprivate", "private", "nowait"]))
        text += draw(spaces)
        begin = len(text.encode())
        items: list[str] = []
        text += name
        if CLAUSES[name].form is Form.LIST:
            items = draw(st.lists(locators, min_size=1, max_size=3))
            text += draw(blanks) + "(" + draw(blanks)
            if name == "map":
                text += draw(st.sampled_from(["to", "always, from"])) + draw(blanks) + ":" + draw(blanks)
            text += (draw(blanks) + "," + draw(blanks)).join(items) + draw(blanks) + ")"
        expected.append((name, items, begin, len(text.encode())))
    source = (text + "\nint x;").encode()
    parsed = parse_pragma(source)
    assert isinstance(parsed, Directive)
    assert parsed.kind == kind
    assert [(c.name, [i.text for i in c.items], c.start, c.end) for c in parsed.clauses] == expected
    assert parsed.raw == print_directive(parsed) == text


pieces = st.sampled_from(
    [
        *"()[]{}<>:,;*&.#\"'\\/?+-\n\r\t x0",
        "#pragma omp ",
        "target",
        "map(",
        "to:",
        "_Pragma(",
        '"omp ',
        "//",
        "/*",
        "*/",
        'R"(',
        "::",
        "\\\n",
        "é",
        "metadirective when(",
        "default(",
    ]
)


@given(st.lists(pieces, max_size=60).map("".join))
def test_no_text_makes_the_parser_raise(text: str) -> None:
    source = text.encode()
    for place in find_pragmas(source):
        parsed = parse_pragma(source, place.start, place.end)
        assert parsed.start == place.start
        if isinstance(parsed, Directive):
            assert print_directive(parsed).encode("utf-8", "surrogateescape") == source[place.start : place.end]
    parse_pragma(source)
    parse_pragma(b"#pragma omp target " + source)
    parse_pragma(b"#pragma omp " + source)


@given(st.binary(max_size=200))
def test_no_bytes_make_the_parser_raise(source: bytes) -> None:
    find_pragmas(source)
    parse_pragma(source)
    parsed = parse_pragma(b"#pragma omp target map(" + source)
    if isinstance(parsed, Directive):
        whole = b"#pragma omp target map(" + source
        assert print_directive(parsed).encode("utf-8", "surrogateescape") == whole[parsed.start : parsed.end]


@pytest.mark.parametrize(
    "text", ["map(" + "(" * 5000, "map(" + "*" * 5000 + "p)", "map(" + "(" * 999 + "p" + ")" * 1000]
)
def test_deep_nesting_is_no_fault(text: str) -> None:
    parse_pragma(f"#pragma omp target {text}".encode())


def test_deep_metadirectives_are_no_fault() -> None:
    text = "#pragma omp " + "metadirective default(" * 200 + "nothing" + ")" * 200
    assert isinstance(parse_pragma(text.encode()), Malformed)
