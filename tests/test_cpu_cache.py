"""The cache on disk: made once, made anew when damaged, bounded, an accelerator only."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from ptx_kernels import assert_clean, check_ptx, module
from racedart.shadow.cpu import cache, program
from racedart.shadow.cpu.cache import cached_bytes, cached_text, fingerprint
from racedart.shadow.outcome import Mode


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "racedart"


def test_an_entry_is_made_once(folder: Path) -> None:
    made = [cached_bytes("a", "k", partial(bytes, n)) for n in (3, 4, 5)]
    assert made == [bytes(3)] * 3
    assert cached_bytes("a", "other", lambda: b"x") == b"x"
    assert cached_text("b", "k", lambda: "ü") == cached_text("b", "k", lambda: "never") == "ü"


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 200])
def test_a_damaged_entry_is_made_anew(folder: Path, damage: bytes) -> None:
    cached_bytes("a", "k", lambda: b"first")
    (entry,) = folder.iterdir()
    entry.write_bytes(damage)
    assert cached_bytes("a", "k", lambda: b"second") == b"second"
    assert cached_bytes("a", "k", lambda: b"third") == b"second"


def test_what_was_not_used_for_longest_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LIMIT", 4000)
    for number in range(4):
        cached_bytes("a", str(number), lambda: bytes(900))
        os.utime(folder / f"a-{number}.bin", (number, number))
    cached_bytes("a", "0", lambda: b"never made")
    cached_bytes("a", "4", lambda: bytes(900))
    assert sorted(entry.name for entry in folder.iterdir()) == ["a-0.bin", "a-3.bin", "a-4.bin"]


def test_without_a_directory_everything_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(occupied))
    assert [cached_bytes("a", "k", partial(bytes, n)) for n in (1, 2)] == [bytes(1), bytes(2)]


@pytest.mark.parametrize(("one", "other"), [(("ab", "c"), ("a", "bc")), (("a",), ("a", "")), (("a",), ("b",))])
def test_fingerprints_tell_parts_apart(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert fingerprint(*one) != fingerprint(*other)


def test_a_kernel_from_the_cache_does_what_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    ptx = module("ld.param.u64 %rd1, [p0];\nst.global.u32 [%rd1], 77;\nret;", ["u64"])
    results = []
    for _ in range(2):
        program.load_program.cache_clear()
        out = np.zeros(1, np.uint32)
        assert_clean(check_ptx(ptx, out))
        results.append(int(out[0]))
        monkeypatch.setattr(program, "_compiled", lambda *_: pytest.fail("compiled again"))
    assert results == [77, 77]


@pytest.mark.parametrize(("vectors", "inlined"), [(12, True), (13, False)])
def test_the_checks_of_vectors_count_one_by_one_when_code_is_kept_small(
    vectors: int, inlined: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = "".join(f"ld.global.v4.f32 {{%f1, %f2, %f3, %f4}}, [%rd1 + {16 * k}];\n" for k in range(vectors))
    seen: list[bool] = []

    def noted(ir: str, mode: Mode, big: bool, inlined: bool) -> bytes:
        seen.append(inlined)
        return compiled(ir, mode, big, inlined)

    compiled = program._compiled
    monkeypatch.setattr(program, "_compiled", noted)
    program.load_program(module(f"{loads}ret;"), "k", "exact")
    assert seen == [inlined]
