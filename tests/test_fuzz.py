"""Damaged PTX: a verdict or a clear error, never an exception of another kind, a crash or a hang."""

from __future__ import annotations

import contextlib
import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from racedart.finding.errors import RacedartError
from racedart.shadow.check import check_launch
from racedart.shadow.frontends import cuda_kernel, make_launch
from racedart.shadow.launch import Launch
from racedart.shadow.outcome import Options
from racedart.shadow.ptx import parse_module
from racedart.shadow.ptx.tokens import PtxSyntaxError

ROOT = Path(__file__).parent.parent
TYPES = ("u8", "u64", "f64", "pred", "b16", "f16", "s32", "bf16", "f16x2")
OPCODES = (
    *("add", "mul", "ld", "st", "bar", "shfl", "atom", "cvt", "setp", "selp", "mov", "bra", "ret", "xyz", "red"),
    *("call", "fma", "vote", "lop3", "bfe", "prmt", "div", "brx", "match", "redux", "cvta", "isspacep", "shf"),
)
NAMES = ("%r1", "%rd1", "%f1", "%p1", "%tid.x", "%nothing")
NUMBERS = (0, 1, -1, 2**31, 2**63, 2**70, 7)


def launches() -> list[Launch]:
    smooth = cuda_kernel(ROOT / "samples/double_buffer.cu", "smooth")
    turn = cuda_kernel(ROOT / "samples/transpose.cu", "transpose")
    most = cuda_kernel(ROOT / "tests/cases/race/warp_tail.cu", "max_of_64")
    image = np.zeros((32, 32), np.int32)
    return [
        make_launch(smooth, 1, 64, [np.arange(64, dtype=np.float32), 4]),
        make_launch(turn, (2, 2), (16, 16), [image, np.zeros_like(image), 32]),
        make_launch(most, 1, 64, [np.zeros(64, np.int32), np.zeros(1, np.int32)]),
    ]


def damaged(text: str, generator: random.Random) -> str:
    """The text with one to three of its instructions changed, cut, swapped or removed."""
    lines = text.splitlines()
    body = [i for i, line in enumerate(lines) if re.match(r"\t[@a-z]", line)]
    for _ in range(generator.randint(1, 3)):
        i, j = generator.choice(body), generator.choice(body)
        match generator.randrange(8):
            case 0:
                lines[i] = ""
            case 1:
                lines[i], lines[j] = lines[j], lines[i]
            case 2:
                lines[i] = re.sub(r"%[\w.]+", lambda m: generator.choice([*NAMES, m.group()]), lines[i])
            case 3:
                lines[i] = re.sub(r"\.(u32|f32|s32|b32|u64)", lambda m: "." + generator.choice(TYPES), lines[i])
            case 4:
                lines[i] = lines[i].replace(",", "", 1)
            case 5:
                lines[i] = lines[i][: generator.randrange(len(lines[i]) + 1)]
            case 6:
                lines[i] = re.sub(r"\b\d+", lambda m: str(generator.choice(NUMBERS)), lines[i])
            case 7:
                lines[i] = re.sub(r"^\t(@\S+ )?\w+", "\t" + generator.choice(OPCODES), lines[i])
    return "\n".join(lines)


def survive(seed: int) -> None:
    generator = random.Random(seed)
    launch = generator.choice(launches())
    text = damaged(launch.kernel.ptx, generator)
    with contextlib.suppress(RacedartError):
        check_launch(replace(launch, kernel=replace(launch.kernel, ptx=text)), Options(timeout=1))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_damaged_instructions(seed: int) -> None:
    survive(seed)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_many_damaged_instructions(seed: int) -> None:
    survive(seed)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='%r1p,;[]{}()@!|+-=.: \n_axf0"/*', max_size=80))
def test_the_parser_on_any_text(text: str) -> None:
    head = ".version 8.0\n.target sm_90\n.address_size 64\n"
    for source in (text, head + text, f"{head}.entry k() {{ {text} }}"):
        with contextlib.suppress(PtxSyntaxError):
            parse_module(source)


def test_truncated_modules() -> None:
    text = launches()[0].kernel.ptx
    for end in range(0, len(text), 97):
        with contextlib.suppress(PtxSyntaxError):
            parse_module(text[:end])
