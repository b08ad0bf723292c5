"""R302: results that depend on shared memory which no thread of the block has written."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_kernels import assert_clean, check_ptx, module, rules
from racedart.shadow.outcome import Options, Outcome

DECLARATIONS = ".shared .align 16 .b8 tile[256];\n"
INDEX = "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd3, %rd1, %rd2;\n"
OWN = "mov.u64 %rd4, tile;\nadd.u64 %rd5, %rd4, %rd2;\n"
GENERIC = "cvta.shared.u64 %rd6, %rd5;\n"
STORE = "st.global.u32 [%rd3], %r9;\nret;"


def check(body: str, block: int = 32, blocks: int = 1, jobs: int = 1) -> Outcome:
    memory = np.zeros(64, np.uint32)
    return check_ptx(
        module(INDEX + OWN + GENERIC + body, ["u64"], DECLARATIONS),
        memory,
        grid=(blocks, 1, 1),
        block=(block, 1, 1),
        options=Options(jobs=jobs),
    )


@pytest.mark.parametrize(
    "body",
    [
        "ld.shared.u32 %r9, [%rd5];\n" + STORE,
        "ld.u32 %r9, [%rd6];\n" + STORE,
        "ld.shared.u32 %r9, [%rd5];\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 st.global.u32 [%rd3], %r1;\nret;",
        "atom.shared.add.u32 %r9, [%rd5], 1;\n" + STORE,
        "red.shared.add.u32 [%rd5], 1;\nld.shared.u32 %r9, [%rd5];\n" + STORE,
        "atom.shared.cas.b32 %r9, [%rd5], 0, 1;\n" + STORE,
        "atom.shared.exch.b32 %r9, [%rd5], 5;\n" + STORE,
        # One byte of four was written: granules are bytes here.
        "st.shared.u8 [%rd5], 7;\nld.shared.u32 %r9, [%rd5];\n" + STORE,
        "st.shared.u32 [%rd5], 7;\nld.shared.u32 %r9, [%rd5+128];\n" + STORE,
        # A loop whose bound is what was there.
        "ld.shared.u32 %r9, [%rd5];\n$l:\nsetp.ne.u32 %p1, %r9, 0;\n@%p1 bra $l;\nret;",
    ],
)
def test_what_was_never_written_decides(body: str) -> None:
    assert rules(check(body)) == ["R302"]


@pytest.mark.parametrize(
    "body",
    [
        "st.shared.u32 [%rd5], 7;\nld.shared.u32 %r9, [%rd5];\n" + STORE,
        "st.u32 [%rd6], 7;\nld.shared.u32 %r9, [%rd5];\n" + STORE,
        "st.shared.u32 [%rd5], 7;\nld.u32 %r9, [%rd6];\n" + STORE,
        "st.shared.u16 [%rd5], 7;\nst.shared.u16 [%rd5+2], 7;\nld.shared.u32 %r9, [%rd5];\n" + STORE,
        "atom.shared.exch.b32 %r8, [%rd5], 5;\nld.shared.u32 %r9, [%rd5];\n" + STORE,
        "ld.shared.u32 %r9, [%rd5];\nret;",
        # The value is read and then not chosen.
        "ld.shared.u32 %r8, [%rd5];\nsetp.eq.u32 %p1, %r1, 99;\nselp.u32 %r9, %r8, 3, %p1;\n" + STORE,
        # What another block wrote is not this block's: but nothing is read here.
        "st.shared.u32 [%rd5], %r1;\nret;",
    ],
)
def test_what_decides_nothing_is_not_reported(body: str) -> None:
    assert_clean(check(body))


def test_vector_elements_count_one_by_one() -> None:
    """Two elements are written, four loaded, two of them used."""
    start = "mul.wide.u32 %rd7, %r1, 16;\nadd.u64 %rd8, %rd4, %rd7;\nst.shared.v2.u32 [%rd8], {%r1, %r1};\n"
    load = "ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%rd8];\n"
    assert_clean(check(start + load + "add.u32 %r9, %r5, %r6;\n" + STORE, block=16))
    assert rules(check(start + load + "add.u32 %r9, %r5, %r7;\n" + STORE, block=16)) == ["R302"]


def test_each_block_starts_anew() -> None:
    """Blocks after the first find nothing of what the first one wrote."""
    body = "mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 st.shared.u32 [%rd5], 7;\n"
    body += "@%p1 ret;\nsetp.ne.u32 %p2, %r2, 2;\n@%p2 ret;\nld.shared.u32 %r9, [%rd5];\n"
    outcome = check(body + STORE, blocks=3)
    assert rules(outcome) == ["R302"]
    assert "block (2, 0, 0)" in outcome.findings[0].message


def test_a_race_with_the_write_is_one_finding() -> None:
    body = "xor.b32 %r4, %r1, 1;\nmul.wide.u32 %rd7, %r4, 4;\nadd.u64 %rd8, %rd4, %rd7;\n"
    body += "ld.shared.u32 %r9, [%rd8];\nst.shared.u32 [%rd5], 7;\n"
    assert rules(check(body + STORE)) == ["R102"]


def test_workers_find_it_as_well() -> None:
    body = "ld.shared.u32 %r9, [%rd5];\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 trap;\nret;"
    assert rules(check(body, block=64, blocks=80, jobs=2)) == rules(check(body, block=64, blocks=80)) == []
    body = "mov.u32 %r2, %ctaid.x;\nsetp.ne.u32 %p1, %r2, 70;\n@%p1 ret;\nld.shared.u32 %r9, [%rd5];\n" + STORE
    assert rules(check(body, block=64, blocks=80, jobs=2)) == rules(check(body, block=64, blocks=80)) == ["R302"]
