"""Sources without their data mappings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from racedart.analyzer.pragma import Directive, find_pragmas, parse_pragma
from racedart.analyzer.rewrite import apply_edits
from racedart.analyzer.strip import strip_mappings

TARGET = "#pragma omp target"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"{TARGET} data map(a)\n{{ f(); }}\n", "{ f(); }\n"),
        (f"  {TARGET} update to(a) \\\n  if(x) // c\r\nf();\n", "f();\n"),
        (f"{TARGET} map(a) teams\n", f"{TARGET} teams\n"),
        (f"{TARGET} teams map(a) map(b) nowait map(c)\n", f"{TARGET} teams nowait\n"),
        (f"{TARGET} nowait \\\n  map(a) \\\n  defaultmap(none)\n;", f"{TARGET} nowait\n;"),
        (f"{TARGET} firstprivate(n) reduction(+:s)\n", f"{TARGET} firstprivate(n) reduction(+:s)\n"),
        (f"{TARGET} data map(a) use_device_ptr(a)\n", f"{TARGET} data map(a) use_device_ptr(a)\n"),
        ('_Pragma("omp target enter data map(to: a)") f();', " f();"),
        (f"// {TARGET} update to(a)\n", f"// {TARGET} update to(a)\n"),
        (
            "#pragma omp declare mapper(m: struct s v) map(v)\n",
            "#pragma omp declare mapper(m: struct s v) map(v)\n",
        ),
    ],
)
def test_stripping(source: str, expected: str) -> None:
    assert apply_edits(source.encode(), strip_mappings(source.encode())).decode() == expected


pieces = st.sampled_from(["map(to: a[0:n]) ", "private(k) ", "nowait ", "map(b) \\\n ", ", ", "// c", "if(x) "])
kinds = st.sampled_from(["", "teams ", "data ", "update ", "parallel for "])


@given(kinds, st.lists(pieces, max_size=8).map("".join))
def test_what_remains_is_a_directive_without_mappings(kind: str, text: str) -> None:
    source = f"int x;\n#pragma omp target {kind}{text}\nint y;\n".encode()
    stripped = apply_edits(source, strip_mappings(source))
    assert stripped.startswith(b"int x;\n")
    assert stripped.endswith(b"int y;\n")
    before = parse_pragma(source, 7)
    for place in find_pragmas(stripped):
        parsed = parse_pragma(stripped, place.start, place.end)
        assert isinstance(parsed, Directive) == isinstance(before, Directive)
        if isinstance(parsed, Directive) and isinstance(before, Directive):
            assert parsed.kind == before.kind
            kept = [c.text for c in before.clauses if c.name not in {"map", "defaultmap"}]
            assert [c.text for c in parsed.clauses] == kept
