"""Verification by clang's host device: each kind of wrong mapping is told from a right one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from racedart.analyzer.verify import Options, Unit, find_toolchain, verify
from racedart.finding.errors import InputError, MissingDependencyError

try:
    find_toolchain()
    MISSING = ""
except MissingDependencyError as error:
    MISSING = str(error)
needs_clang = pytest.mark.skipif(bool(MISSING), reason=MISSING or "clang is there")

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
int offset = 1;
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 500, sum = 0;
  int *a = malloc(n * sizeof *a);
  for (int i = 0; i < n; ++i) a[i] = i;
  #pragma omp target teams distribute parallel for MAP
  for (int i = 0; i < n; ++i) a[i] += offset;
  UPDATE
  for (int i = 0; i < n; ++i) sum += a[i];
  printf("%d\\n", sum);
  free(a);
  return 3;
}
"""


def variant(mapping: str, update: str = "") -> str:
    return PROGRAM.replace("MAP", mapping).replace("UPDATE", update)


@needs_clang
@pytest.mark.parametrize(
    ("text", "verdict", "reason", "copies"),
    [
        (variant("map(tofrom: a[0:n])"), "right", "", 2),
        (variant(""), "wrong", "500 heap reads, 500 heap writes", 0),
        (variant("map(tofrom: a[0:n-1])"), "wrong", "1 bounds reads, 1 bounds writes", 2),
        (variant("map(to: a[0:n])"), "wrong", "output line 1", 1),
        (variant("map(from: a[0:n])"), "wrong", "output line 1", 1),
        (variant("map(tofrom: a[0:n])", "abort();"), "unknown", "the host run ended by signal 6", 2),
    ],
)  # fmt: skip
def test_verdict(text: str, verdict: str, reason: str, copies: int, tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(text)
    measured = verify([Unit(str(path))], {}, (), Options(timeout=60)).before
    assert measured.verdict == verdict
    assert reason in " ".join(measured.reasons)
    # Scalars go as arguments of the kernel; only the array is copied.
    assert measured.transfers.copies == copies
    assert measured.transfers.kernels == 1


@needs_clang
def test_before_and_after_with_an_overlay_and_two_languages(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "size.h").write_text("#define SIZE 100\n")
    (tmp_path / "kernel.c").write_text(
        '#include "inc/size.h"\nvoid add(double *x) {\n'
        "#pragma omp target teams distribute parallel for\nfor (int i = 0; i < SIZE * K; ++i) x[i] += 1;\n}\n"
    )
    (tmp_path / "main.cpp").write_text(
        '#include "inc/size.h"\n#include <iostream>\nextern "C" void add(double *);\n'
        "int main() { double x[SIZE * K] = {}; add(x); std::cout << x[7] << std::endl; }\n"
    )
    kernel = str(tmp_path / "kernel.c")
    changed = {kernel: (tmp_path / "kernel.c").read_bytes().replace(b" for\n", b" for map(x[0:SIZE*K])\n")}
    units = [Unit(kernel, ("-DK=2",)), Unit(str(tmp_path / "main.cpp"), ("-DK=2",))]
    result = verify(units, changed)
    assert result.before.verdict == "wrong"
    assert result.after is not None
    assert result.verdict == result.after.verdict == "right"
    assert (result.after.transfers.copies, result.after.transfers.bytes) == (2, 2 * 200 * 8)


@needs_clang
def test_a_program_without_kernels_and_one_that_does_not_end(tmp_path: Path) -> None:
    path = tmp_path / "loop.c"
    path.write_text("int main(int argc, char **argv) { while (argc > 1); return 0; }\n")
    units = [Unit(str(path))]
    idle = verify(units, {}).before
    assert idle.verdict == "wrong"
    assert idle.reasons == ("device code touched no memory: nothing ran on the device",)
    endless = verify(units, {}, ("x",), Options(timeout=5)).before
    assert endless.verdict == "unknown"
    assert "took more than 5 s" in endless.reasons[0]


@needs_clang
def test_what_does_not_compile_is_an_error_with_the_compilers_words(tmp_path: Path) -> None:
    path = tmp_path / "bad.c"
    path.write_text("int main() { return nothing; }\n")
    with pytest.raises(InputError, match=r"bad\.c: clang cannot compile it(.|\n)*undeclared identifier 'nothing'"):
        verify([Unit(str(path))], {})


def test_without_clang_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find_toolchain.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"clang is not installed\. Install it: apt-get install"):
        find_toolchain()
    find_toolchain.cache_clear()
