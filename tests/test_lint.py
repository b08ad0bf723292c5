"""The lint of data mappings: corpus files that say what is expected, what must not be reported, and fixes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import racedart
from racedart.finding.model import Finding

CASES = sorted((Path(__file__).parent / "cases" / "lint").glob("*.c"))


def expected(path: Path) -> tuple[set[str], int]:
    """The rules that the first line names, and the line that is marked."""
    lines = path.read_text().splitlines()
    match = re.fullmatch(r"/\* racedart lint: (.*) at MAP-HERE; clean with -DFIXED \*/", lines[0])
    assert match is not None
    (marked,) = [number for number, line in enumerate(lines, 1) if "/* MAP-HERE */" in line]
    return set(match.group(1).split()), marked


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_corpus(path: Path) -> None:
    rules, line = expected(path)
    findings = racedart.lint(path)
    assert {finding.rule for finding in findings} == rules
    assert {finding.location.line for finding in findings} == {line}
    assert racedart.lint(path, args=["-DFIXED"]) == ()


BEFORE = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100;
  double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
  for (int i = 0; i < n; i++) a[i] = b[i] = i;
"""
AFTER = """
  for (int i = 0; i < n; i++) printf("%g %g\\n", a[i], b[i]);
  free(a);
  free(b);
}
"""
KERNEL = "#pragma omp target teams distribute parallel for\n  for (int i = 0; i < n; i++) a[i] += b[i];\n"


def lint(body: str, tmp_path: Path) -> tuple[Finding, ...]:
    path = tmp_path / "case.c"
    path.write_text(BEFORE + body + AFTER)
    return racedart.lint(path)


REGION = "#pragma omp target data map(tofrom: a[0:n]) map(to: b[0:n])\n  {\n"
ENTER = "#pragma omp target enter data map(to: a[0:n], b[0:n])\n"
EXIT = "#pragma omp target exit data map(from: a[0:n]) map(delete: b[0:n])\n"
HOST_WRITE = "for (int i = 0; i < n; i++) b[i] *= 2;\n"
UPDATE = "#pragma omp target update to(b[0:n])\n"


@pytest.mark.parametrize(
    "body",
    [
        REGION + KERNEL + "}",
        ENTER + KERNEL + EXIT,
        REGION + KERNEL + HOST_WRITE + UPDATE + KERNEL + "}",
        # The host writes what the device does not read afterwards.
        REGION + KERNEL + HOST_WRITE + "}",
        # One way transfers: whether the other is taken is not known.
        REGION + HOST_WRITE + "if (argc > 1) {\n" + UPDATE + KERNEL + "}\n}",
        # An update of a part that is all that changed.
        REGION + KERNEL + "b[3] = 1;\n#pragma omp target update to(b[3:1])\n" + KERNEL + "}",
        # A second mapping of what did not change since.
        ENTER + ENTER + KERNEL + EXIT + EXIT,
        REGION + "for (int t = 0; t < 5; t++) {\n" + KERNEL + HOST_WRITE + UPDATE + "}\n}",
        # `always` transfers in spite of the reference count.
        ENTER + HOST_WRITE + KERNEL.replace("for\n", "for map(always, to: b[0:n])\n", 1) + EXIT,
        # A construct that may run on the host.
        KERNEL.replace("for\n", "for if(n > 1000) map(tofrom: a[0:n]) map(to: b[0:n])\n", 1),
    ],
)
def test_right_mappings_have_no_error(body: str, tmp_path: Path) -> None:
    assert [f for f in lint(body, tmp_path) if f.level == "error"] == []


@pytest.mark.parametrize(
    ("body", "rule", "variable"),
    [
        (REGION + HOST_WRITE + KERNEL + "}", "M102", "b"),
        (REGION + KERNEL + HOST_WRITE + KERNEL + "}", "M102", "b"),
        (REGION.replace("b[0:n]", "b[0:n-1]") + KERNEL + "}", "M107", "b"),
        (REGION.replace(" map(to: b[0:n])", "") + KERNEL + "}", "M101", "b"),
        (REGION.replace("tofrom", "to") + KERNEL + "}", "M103", "a"),
        (REGION.replace("tofrom", "alloc") + KERNEL + "}", "M102", "a"),
        (ENTER + HOST_WRITE + KERNEL + EXIT, "M102", "b"),
        (ENTER + HOST_WRITE + ENTER + KERNEL + EXIT + EXIT, "M108", "b"),
        (ENTER + KERNEL + EXIT.replace("from", "release"), "M103", "a"),
        (REGION + "for (int t = 0; t < 5; t++) {\n" + HOST_WRITE + KERNEL + "}\n" + UPDATE + "}", "M102", "b"),
    ],
)
def test_faults_are_errors(body: str, rule: str, variable: str, tmp_path: Path) -> None:
    errors = {(f.rule, f.properties["variable"]) for f in lint(body, tmp_path) if f.level == "error"}
    assert (rule, variable) in errors


def test_fixes_lead_to_a_clean_source(tmp_path: Path) -> None:
    from racedart.analyzer.programs import programs
    from racedart.mapping import fix

    path = tmp_path / "case.c"
    region = "#pragma omp target data map(tofrom: a[0:n], b[0:n], argc)\n  {\n"
    path.write_text(BEFORE + region + KERNEL + "}\n" + AFTER)
    before = racedart.lint(path)
    assert {f.rule for f in before} == {"M202"}
    made = fix(programs([str(path)]), 1)
    assert made >= 1
    assert "map(tofrom: a[0:n], argc) map(to: b[0:n])" in path.read_text()
    assert [f for f in racedart.lint(path) if f.fix is not None and f.fix.edits] == []


def test_an_array_parameter_is_what_it_points_to(tmp_path: Path) -> None:
    path = tmp_path / "case.c"
    function = f"void add(int n, double a[], double b[n]) {{\n{REGION}{KERNEL}}}\n}}\n"
    path.write_text(BEFORE.replace("int main", function + "int main") + "add(n, a, b);\n" + AFTER)
    assert racedart.lint(path) == ()
    path.write_text(path.read_text().replace("map(to: b[0:n])", ""))
    assert [(f.rule, f.properties["variable"]) for f in racedart.lint(path)] == [("M101", "b")]


def test_a_type_that_libclang_cannot_name_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "case.c"
    path.write_text("void half(_Float16 *p) { *p = 0; }\n" + BEFORE + REGION + KERNEL + "}\n" + AFTER)
    assert racedart.lint(path) == ()
