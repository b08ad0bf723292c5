"""The PTX parser and printer on the constructs that compilers emit."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from racedart.finding.errors import InputError
from racedart.shadow.ptx import parse_module, print_module
from racedart.shadow.ptx.model import (
    Address,
    Composite,
    Guard,
    Immediate,
    Instruction,
    Label,
    Negated,
    Pair,
    Register,
    Symbol,
    Vector,
)

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"


def body_of(text: str) -> tuple[object, ...]:
    registers = ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;"
    module = parse_module(f"{HEADER}.visible .entry k(.param .u64 a) {{ {registers} {text} }}")
    body = module.functions["k"].body
    assert body is not None
    return body


def instruction_of(text: str) -> Instruction:
    (instruction,) = body_of(text)
    assert isinstance(instruction, Instruction)
    return instruction


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("mov.u32 %r1, -5;", (Register("%r1"), Immediate(-5))),
        ("mov.u32 %r1, 0x1F;", (Register("%r1"), Immediate(31))),
        ("mov.u32 %r1, 017;", (Register("%r1"), Immediate(15))),
        ("mov.u32 %r1, 0b101U;", (Register("%r1"), Immediate(5))),
        ("mov.f32 %f1, 0f3F800000;", (Register("%f1"), Immediate(0x3F800000, 32))),
        ("mov.f32 %f1, -0f3F800000;", (Register("%f1"), Immediate(0xBF800000, 32))),
        ("mov.f32 %f1, 1.5;", (Register("%f1"), Immediate(0x3FF8000000000000, 64))),
        ("ld.global.f32 %f1, [ %rd1 + 0 ];", (Register("%f1"), Address(Register("%rd1"), 0))),
        ("ld.global.f32 %f1, [%rd1+-8];", (Register("%f1"), Address(Register("%rd1"), -8))),
        ("ld.param.u64 %rd1, [a];", (Register("%rd1"), Address(Symbol("a"), 0))),
        (
            "ld.global.v2.f32 {%f1, _}, [%rd1];",
            (Vector((Register("%f1"), Register("_"))), Address(Register("%rd1"), 0)),
        ),
        (
            "setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;",
            (
                Pair(Register("%p1"), Register("%p2")),
                Register("%r1"),
                Register("%r2"),
                Negated(Register("%p3")),
            ),
        ),
        ("mov.u32 %r1, %tid.x;", (Register("%r1"), Register("%tid.x"))),
    ],
)
def test_operands_are_read_by_form(text: str, operands: tuple[object, ...]) -> None:
    assert instruction_of(text).operands == operands


def test_a_tensor_address_is_kept_as_text() -> None:
    instruction = instruction_of("cp.async.bulk.tensor.2d.shared::cluster.global [%rd1], [%rd2, {%r1, %r2}];")
    assert instruction.modifiers[:4] == ("async", "bulk", "tensor", "2d")
    assert isinstance(instruction.operands[1], Composite)


def test_guards_and_labels() -> None:
    body = body_of("@!%p1 bra $L;\n$L: ret;")
    assert isinstance(body[0], Instruction)
    assert body[0].guard == Guard(Register("%p1"), negated=True)
    assert body[1] == Label("$L")


def test_scopes_give_inner_registers_their_own_names() -> None:
    first, second, third = body_of("mov.u32 %r1, 1; { .reg .u32 %r1; mov.u32 %r1, 2; } mov.u32 %r1, 3;")
    assert isinstance(first, Instruction)
    assert isinstance(second, Instruction)
    assert isinstance(third, Instruction)
    assert first.operands[0] == third.operands[0] != second.operands[0]


def test_user_registers_of_inline_assembly_have_no_percent_sign() -> None:
    inner = body_of("{ .reg .b32 t; add.u32 t, %r1, 1; }")[0]
    assert isinstance(inner, Instruction)
    assert inner.operands[0] == Register("t")


def test_variables() -> None:
    module = parse_module(
        HEADER
        + ".global .align 4 .u32 table[] = {1, 2, 3};\n"
        + ".visible .const .align 8 .b8 bytes[16];\n"
        + ".extern .shared .align 16 .b8 dynamic[];\n"
        + ".global .u64 pointer = generic(table)+4;\n"
        + ".global .v4 .f32 quad;\n"
    )
    table, data, dynamic, pointer, quad = module.variables
    assert (table.count, table.size, len(table.initial)) == (3, 12, 3)
    assert (data.space, data.alignment, data.size) == ("const", 8, 16)
    assert (dynamic.size, dynamic.linkage) == (0, ("extern",))
    assert pointer.initial == (Symbol("table", 4),)
    assert (quad.size, quad.alignment) == (16, 16)


def test_inlined_places_name_function_and_call_site() -> None:
    text = (
        HEADER
        + ".visible .entry k() {\n.loc 1 10 3\n.loc 2 7 5, function_name $name, inlined_at 1 10 3\nret;\n}\n"
        + '.file 1 "user.cu"\n.file 2 "lib.h"\n'
        + ".section .debug_str { $name:\n.b8 115, 117, 109, 0 }\n"
    )
    body = parse_module(text).functions["k"].body
    assert body is not None
    instruction = body[0]
    assert isinstance(instruction, Instruction)
    assert instruction.loc is not None
    assert (instruction.loc.file, instruction.loc.line, instruction.loc.function) == (2, 7, "sum")
    assert instruction.loc.inlined_at is not None
    assert instruction.loc.inlined_at.line == 10


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "no .version"),
        ("int main() { return 0; }", 1, "'int'"),
        (HEADER + ".visible .entry k() {\n  mov.u32 %r1, ;\n}", 5, "';'"),
        (HEADER + ".visible .entry k() {\n  ret;\n", 4, "ends inside a function body"),
        (HEADER + ".global .u33 x;", 4, ".u33"),
        (HEADER + "§", 4, "unexpected character"),
        (".version 8.0\n.target sm_90\n.address_size 32\n", 1, "32"),
    ],
)
def test_text_that_is_no_ptx_is_refused_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(InputError, match=f"PTX line {line}: ") as error:
        parse_module(text)
    assert what in str(error.value)


def statements(text: str) -> list[object]:
    module = parse_module(text)
    return [
        (s.name, s.operands, s.guard) if isinstance(s, Instruction) else s
        for f in module.functions.values()
        for s in f.body or ()
    ]


def test_a_printed_module_reads_back_equal(compiled_sample: str) -> None:
    printed = print_module(parse_module(compiled_sample))
    assert statements(printed) == statements(compiled_sample)
    assert parse_module(printed).variables == parse_module(compiled_sample).variables


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="needs ptxas of a CUDA toolkit")
def test_a_printed_module_assembles_to_the_same_code(compiled_sample: str, tmp_path: Path) -> None:
    codes = []
    for name, text in (("given", compiled_sample), ("printed", print_module(parse_module(compiled_sample)))):
        # The toolkit at hand may be older than the compiler; the text itself uses nothing newer.
        version = parse_module(text).version
        source = tmp_path / f"{name}.ptx"
        source.write_text(text.replace(f".version {version}", ".version 8.0"))
        output = tmp_path / f"{name}.cubin"
        subprocess.run(["ptxas", "-arch=sm_90", str(source), "-o", str(output)], check=True)
        codes.append(text_sections(output.read_bytes()))
    assert codes[0]
    assert codes[0] == codes[1]


def text_sections(elf: bytes) -> dict[bytes, bytes]:
    """The machine code of an ELF file, by section name."""
    offset = int.from_bytes(elf[0x28:0x30], "little")
    size, count, names = (int.from_bytes(elf[a : a + 2], "little") for a in (0x3A, 0x3C, 0x3E))

    def header(index: int) -> tuple[int, int, int]:
        at = offset + index * size
        fields = (elf[at : at + 4], elf[at + 0x18 : at + 0x20], elf[at + 0x20 : at + 0x28])
        name, start, length = (int.from_bytes(field, "little") for field in fields)
        return name, start, length

    strings = header(names)[1]
    found = {}
    for index in range(count):
        name, start, length = header(index)
        text = elf[strings + name : elf.index(b"\0", strings + name)]
        if text.startswith(b".text."):
            found[text] = elf[start : start + length]
    return found


def test_a_call_chain_is_followed_beyond_the_place_before() -> None:
    text = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k() {
.loc 1 7 3
.loc 2 182 9, function_name $s0, inlined_at 1 7 3
.loc 4 377 13, function_name $s0, inlined_at 2 182 9
bar.sync 0;
.loc 1 9 3
.loc 4 394 13, function_name $s0, inlined_at 1 9 3
bar.sync 1;
.loc 5 126 1, function_name $s0, inlined_at 4 377 13
ret;
}
.file 1 "k.cu"
.file 2 "a.h"
.file 4 "b.h"
.file 5 "c.h"
"""
    body = parse_module(text).functions["k"].body
    assert body is not None
    chains = []
    for statement in body:
        assert isinstance(statement, Instruction)
        chain, loc = [], statement.loc
        while loc is not None:
            chain.append((loc.file, loc.line))
            loc = loc.inlined_at
        chains.append(chain)
    assert chains == [[(4, 377), (2, 182), (1, 7)], [(4, 394), (1, 9)], [(5, 126), (4, 377), (2, 182), (1, 7)]]
