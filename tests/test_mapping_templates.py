"""Directives in code of which the program holds several trees: the instantiations of a template share one text."""

from __future__ import annotations

from pathlib import Path

import pytest
from racedart.analyzer import Mapping, infer
from racedart.analyzer.verify import Unit, find_toolchain, verify
from racedart.finding.errors import MissingDependencyError

try:
    find_toolchain()
    MISSING = ""
except MissingDependencyError as error:
    MISSING = str(error)

SAME = """
#include <stdio.h>
#include <stdlib.h>

template <typename T>
void scale(T* a, int n, T by) {
  #pragma omp target teams distribute parallel for
  for (int i = 0; i < n; i++)
    a[i] *= by;
  #pragma omp target teams distribute parallel for
  for (int i = 0; i < n; i++)
    a[i] += by;
}

template <typename T>
double run(int n, T by) {
  T* a = (T*)malloc(n * sizeof(T));
  for (int i = 0; i < n; i++)
    a[i] = (T)i;
  scale<T>(a, n, by);
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += a[i];
  free(a);
  return sum;
}

int main() {
  printf("%f\\n", run<double>(100, 1.5));
  printf("%f\\n", run<float>(100, 2.5f));
  printf("%f\\n", run<int>(100, 3));
}
"""

DIFFERENT = """
#include <stdio.h>
#include <stdlib.h>

template <bool Shown>
void twice(double* a, int n) {
  #pragma omp target teams distribute parallel for
  for (int i = 0; i < n; i++)
    a[i] = 2 * i;
  if constexpr (Shown)
    printf("%f\\n", a[n - 1]);
  #pragma omp target teams distribute parallel for
  for (int i = 0; i < n; i++)
    a[i] += 1;
}

int main() {
  int n = 100;
  double* a = (double*)malloc(n * sizeof(double));
  double* b = (double*)malloc(n * sizeof(double));
  twice<true>(a, n);
  twice<false>(b, n);
  printf("%f %f\\n", a[n - 1], b[n - 1]);
  free(a);
  free(b);
}
"""


def mapping_of(text: str, folder: Path) -> tuple[str, Mapping]:
    program = folder / "program.cpp"
    program.write_text(text)
    return str(program), infer([str(program)], ("-std=c++17",))


def test_instantiations_that_agree_share_each_directive(tmp_path: Path) -> None:
    program, mapping = mapping_of(SAME, tmp_path)
    assert mapping.complete, mapping.findings
    added = [line.strip("+ ") for line in mapping.diff().splitlines() if line.startswith("+ ")]
    pragmas = [line for line in added if line.startswith("#pragma")]
    assert pragmas
    assert len(set(pragmas)) == len(pragmas), mapping.diff()
    assert len(set(mapping.decisions)) == len(mapping.decisions)
    if MISSING:
        pytest.skip(MISSING)
    after = verify([Unit(program)], {program: mapping.result(program)}).after
    assert after is not None
    assert after.verdict == "right", (after.reasons, mapping.diff())


def test_instantiations_that_disagree_are_refused(tmp_path: Path) -> None:
    _, mapping = mapping_of(DIFFERENT, tmp_path)
    assert not mapping.complete
    assert not mapping.changes
    assert any("need different directives" in finding.message for finding in mapping.findings), mapping.findings
