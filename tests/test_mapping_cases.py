"""Programs without mappings: what is inferred runs right, and moves no more than a mapping written by hand.

A case is NAME.c, the input, and NAME.ref.c, the hand-written mapping, whose output and transfers are the measure.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from racedart.analyzer import infer
from racedart.analyzer.verify import Unit, find_toolchain, verify
from racedart.finding.errors import MissingDependencyError

CASES = Path(__file__).parent / "cases" / "openmp"
NAMES = sorted(path.name[: -len(".ref.c")] for path in CASES.glob("*.ref.c"))
REFUSED = {"c13_malloc2d"}
try:
    find_toolchain()
    MISSING = ""
except MissingDependencyError as error:
    MISSING = str(error)


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str, tmp_path: Path) -> None:
    source = CASES / f"{name}.c"
    mapping = infer([str(source)])
    if name in REFUSED:
        assert mapping.findings
        assert not mapping.changes
        return
    assert mapping.complete
    assert mapping.changes
    if MISSING:
        pytest.skip(MISSING)
    program = tmp_path / f"{name}.c"
    program.write_bytes((CASES / f"{name}.ref.c").read_bytes())
    measured = verify([Unit(str(program))], {str(program): mapping.result(str(source))})
    assert measured.before.verdict == "right", measured.before.reasons
    assert measured.after is not None
    assert measured.after.verdict == "right", (measured.after.reasons, mapping.diff())
    assert measured.after.transfers.bytes <= measured.before.transfers.bytes, mapping.diff()
    assert measured.after.transfers.copies <= measured.before.transfers.copies, mapping.diff()


@pytest.mark.parametrize("name", sorted(set(NAMES) - REFUSED))
def test_result_is_stable(name: str, tmp_path: Path) -> None:
    program = tmp_path / "program.c"
    program.write_bytes((CASES / f"{name}.c").read_bytes())
    program.write_bytes(infer([str(program)]).result(str(program)))
    again = infer([str(program)])
    assert again.complete
    assert again.diff() == ""
