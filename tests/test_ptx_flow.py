"""Control flow, live registers, and the inlining of device functions."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_kernels import assert_clean, check_ptx, line_pairs, module
from racedart.finding.errors import InputError
from racedart.shadow.ptx import parse_module
from racedart.shadow.ptx.cfg import Graph, control_flow
from racedart.shadow.ptx.inline import inline_calls


def graph_of(body: str) -> Graph:
    return control_flow(parse_module(module(body)).functions["k"])


LOOP = """
mov.u32 %r1, 0;
$loop:
add.u32 %r1, %r1, 1;
setp.lt.u32 %p1, %r1, 9;
@%p1 bra $loop;
@%p2 ret;
mov.u32 %r2, %r1;
bra $end;
mov.u32 %r3, 0;
$end:
ret;
"""


def test_blocks_edges_and_back_edges() -> None:
    graph = graph_of(LOOP)
    names = {block.index: graph.instructions[block.start].name for block in graph.blocks if block.start < block.end}
    edges = {(names[a], names[b]) for a, b in graph.edges.edges}
    assert edges == {
        ("mov.u32", "add.u32"),
        ("add.u32", "add.u32"),
        ("add.u32", "ret"),
        ("ret", "mov.u32"),
        ("mov.u32", "ret"),
    }
    assert {(names[a], names[b]) for a, b in graph.back_edges} == {("add.u32", "add.u32")}


def test_code_that_nothing_reaches_is_left_out() -> None:
    graph = graph_of(LOOP)
    reached = {i for k in graph.edges for i in range(graph.blocks[k].start, graph.blocks[k].end)}
    assert len(graph.instructions) - len(reached) == 1


def test_live_registers() -> None:
    graph = graph_of(LOOP)
    live = [sorted(names) for names in graph.live_before]
    assert live[0] == ["%p2"]
    assert live[1] == ["%p2", "%r1"]
    assert live[5] == ["%r1"]
    assert live[6] == []


def test_a_guarded_write_does_not_end_a_register() -> None:
    graph = graph_of("@%p1 mov.u32 %r1, 1;\nmov.u32 %r2, %r1;\nret;")
    assert graph.live_before[0] == {"%p1", "%r1"}


def test_a_branch_to_nowhere_is_refused() -> None:
    with pytest.raises(InputError, match=r"\$nowhere"):
        graph_of("bra $nowhere;")


def test_paths_without_a_barrier() -> None:
    graph = graph_of(
        "mov.u32 %r1, 0;\n$loop:\nmov.u32 %r2, 0;\nbar.sync 0;\nmov.u32 %r3, 0;\n@%p1 bra $loop;\nret;"
    )
    stops = frozenset({2})
    assert not graph.leads_to(1, 3, stops)
    assert graph.leads_to(3, 1, stops)
    assert graph.leads_to(1, 3, frozenset())


def test_many_branches_by_an_index() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    $targets: .branchtargets $a, $b, $c;
    brx.idx %r1, $targets;
    $a:
    mov.u32 %r2, 10;
    bra $end;
    $b:
    mov.u32 %r2, 20;
    bra $end;
    $c:
    mov.u32 %r2, 30;
    $end:
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    st.global.u32 [%rd2], %r2;
    ret;
    """
    out = np.zeros(3, np.uint32)
    assert_clean(check_ptx(module(text, ["u64"]), out, block=(3, 1, 1)))
    assert out.tolist() == [10, 20, 30]


FUNCTIONS = """
.func (.param .b32 r) twice(.param .b32 x)
{
    .reg .b32 %r<4>;
    .reg .pred %p<2>;
    .loc 1 100 1
    ld.param.u32 %r1, [x];
    setp.gt.u32 %p1, %r1, 100;
    @%p1 bra $big;
    add.u32 %r2, %r1, %r1;
    st.param.b32 [r], %r2;
    ret;
$big:
    st.param.b32 [r], 0;
    ret;
}
.func bump(.param .b64 place)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<3>;
    .loc 1 200 1
    ld.param.u64 %rd1, [place];
    ld.global.u32 %r1, [%rd1];
    add.u32 %r1, %r1, 1;
    st.global.u32 [%rd1], %r1;
    ret;
}
.func meet()
{
    bar.sync 0;
    ret;
}
"""

CALLER = """
ld.param.u64 %rd1, [p0];
mov.u32 %r1, %tid.x;
{ .param .b32 a; st.param.b32 [a], %r1; .param .b32 b; call.uni (b), twice, (a); ld.param.b32 %r2, [b]; }
{ .param .b32 a; st.param.b32 [a], %r2; .param .b32 b; call.uni (b), twice, (a); ld.param.b32 %r3, [b]; }
call.uni meet;
mad.wide.u32 %rd2, %r1, 4, %rd1;
st.global.u32 [%rd2], %r3;
ret;
"""


def test_calls_are_inlined_with_their_parameters() -> None:
    out = np.zeros(64, np.uint32)
    assert_clean(check_ptx(module(CALLER, ["u64"], FUNCTIONS), out, block=(64, 1, 1)))
    assert out.tolist() == [4 * t if 2 * t <= 100 else 0 for t in range(64)]


def test_a_race_in_a_device_function_names_its_line_and_its_caller() -> None:
    text = "ld.param.u64 %rd1, [p0];\n{ .param .b64 a; st.param.b64 [a], %rd1; call.uni bump, (a); }\nret;"
    outcome = check_ptx(module(text, ["u64"], FUNCTIONS), np.zeros(1, np.uint32), block=(2, 1, 1))
    assert line_pairs(outcome) == {("R102", 200, 200)}
    caller = outcome.findings[0].location.inlined_at
    assert caller is not None
    assert caller.line == 2


def test_a_guarded_call_is_skipped_where_its_guard_is_false() -> None:
    text = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p1, %r1, 1;
    { .param .b64 a; st.param.b64 [a], %rd1; @%p1 call bump, (a); }
    ret;
    """
    out = np.zeros(1, np.uint32)
    assert_clean(check_ptx(module(text, ["u64"], FUNCTIONS), out, block=(8, 1, 1)))
    assert out[0] == 1


@pytest.mark.parametrize(
    ("declaration", "call"),
    [
        (".extern .func nowhere();", "call.uni nowhere;"),
        (".func again() { call.uni again; ret; }", "call.uni again;"),
    ],
)
def test_calls_that_cannot_be_inlined_are_named(declaration: str, call: str) -> None:
    (reason,) = check_ptx(module(f"{call}\nret;", (), declaration)).reasons
    assert reason.kind == "instruction"
    assert call.rstrip(";") in reason.instruction


def test_a_kernel_without_calls_is_left_as_it_is() -> None:
    parsed = parse_module(module(LOOP))
    assert inline_calls(parsed, parsed.functions["k"]) is parsed.functions["k"]
