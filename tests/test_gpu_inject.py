"""Injected PTX, without a GPU: it assembles, computes the machine's transition, and covers every access."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from ptx_kernels import launch_of, module
from racedart import fsm
from racedart.finding.errors import InputError
from racedart.shadow import checker
from racedart.shadow.cpu.program import load_program
from racedart.shadow.frontends import cuda_kernel
from racedart.shadow.gpu.assemble import assemble
from racedart.shadow.gpu.checks import first_state, skip_masks, table_text
from racedart.shadow.gpu.engine import unhandled
from racedart.shadow.gpu.inject import foreign_calls, unchecked_sites
from racedart.shadow.gpu.program import injected
from racedart.shadow.outcome import Mode

TARGET = (9, 0)


@pytest.mark.parametrize("logged", [False, True])
def test_instrumented_samples_assemble(compiled_sample: str, logged: bool) -> None:
    entry = re.findall(r"\.entry\s+(\w+)", compiled_sample)[0]
    program = load_program(compiled_sample, entry, "exact")
    text = injected(program, "exact", TARGET, logged=logged)
    assert assemble(text.text, TARGET).startswith(b"\x7fELF")
    assert text.checks == len(program.plan.access)


@pytest.mark.parametrize("mode", ["exact", "hirace"])
def test_the_table_is_the_machine(mode: Mode) -> None:
    """Every state, access and event of the CPU engine's table, as PTX spells it."""
    numbers = np.array(table_text(mode).split(", "), np.uint8)
    assert numbers.tolist() == checker.transition_bytes(mode).tolist()
    assert len(numbers) == 32 * checker.ACCESSES * len(fsm.COLUMNS)


def test_every_access_is_preceded_by_its_check() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    ld.global.u32 %r1, [%rd1];
    st.global.v2.u32 [%rd1+8], {%r1, %r1};
    red.shared.add.u32 [tile+4], %r1;
    ld.u64 %rd2, [%rd1];
    ret;
    """
    program = load_program(module(text, ["u64"], ".shared .align 4 .b8 tile[32];"), "k", "exact")
    text = injected(program, "exact", TARGET, logged=True).text
    body = text[text.index(".entry k(") :]
    for site, granules, function in ((1, 1, "r"), (2, 2, "w"), (3, 1, "ga"), (4, 2, "r")):
        start, end = body.index(f"$racedart_ready_{site}:"), body.index(f"$racedart_next_{site}:")
        before = body[:start].rsplit("$racedart_next_", 1)[-1]
        assert before.count(f"call (racedart_r), racedart_on_{function},") == granules
        assert body[start:end].strip().count("\n") == 1


@pytest.mark.parametrize("mode", ["exact", "hirace"])
@pytest.mark.parametrize("access", list(fsm.Access))
def test_nothing_is_skipped_in_line_that_the_machine_would_change(mode: Mode, access: fsm.Access) -> None:
    """Each state of each mask against the table itself, for every event that the mask stands for."""
    table = checker.transition_bytes(mode).reshape(32, checker.ACCESSES, checker.EVENTS)[:, int(access)]
    masks = skip_masks(mode, access)
    for state in range(32):
        for event, (sync, relation) in enumerate(fsm.COLUMNS):
            same_block = sync != fsm.Sync.B and relation != fsm.Relation.G
            own = (sync, relation) == (fsm.Sync.U, fsm.Relation.S)
            covered = masks.any >> state & 1 or (same_block and masks.block >> state & 1)
            if covered or (own and masks.thread >> state & 1):
                assert table[state, event] & checker.SKIP
    assert table[0, 0] & ~np.uint8(checker.SKIP) == first_state(mode, access)


def test_calls_and_copies_that_no_check_covers_are_named() -> None:
    extern = ".extern .func (.param .b64 r) malloc(.param .b64 n);"
    text = """
    { .param .b64 n; .param .b64 r; st.param.b64 [n], 8; call (r), malloc, (n); }
    ret;
    """
    assert foreign_calls(load_program(module(text, [], extern), "k", "exact").plan) == ["malloc"]
    copy = "cp.async.ca.shared.global [tile], [%rd1], 4;\nret;"
    program = load_program(module(copy, [], ".shared .align 4 .b8 tile[32];"), "k", "exact")
    assert unchecked_sites(program.plan) == [0]


def test_what_the_engine_does_not_handle_is_named() -> None:
    plain = launch_of(module("ret;"))
    assert unhandled(load_program(plain.kernel.ptx, "k", "exact"), plain) == ""
    grid = cuda_kernel(
        "#include <cooperative_groups.h>\n"
        'extern "C" __global__ void k() { cooperative_groups::this_grid().sync(); }',
        "k",
    ).launch((2, 1, 1), (32, 1, 1), [], 0)
    assert "all blocks of the grid" in unhandled(load_program(grid.kernel.ptx, "k", "exact"), grid)
    text = module("ld.const.u32 %r1, [factor];\nret;", [], ".const .align 4 .u32 factor;")
    constant = replace(launch_of(text), variables={"factor": np.zeros(4, np.uint8)})
    assert "constant variable factor set" in unhandled(load_program(text, "k", "exact"), constant)
    table = module("ret;", [], ".global .u32 x;\n.const .align 8 .u64 table[1] = {x};")
    assert "holds addresses" in unhandled(load_program(table, "k", "exact"), launch_of(table))


def test_what_does_not_assemble_says_why() -> None:
    with pytest.raises(InputError, match="does not assemble"):
        assemble(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { nonsense; }", TARGET)
