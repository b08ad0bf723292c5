"""Fingerprints survive edits elsewhere, and code scanning's line hash is the published one."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from racedart.finding.fingerprint import fingerprinted, line_hashes
from racedart.finding.model import Finding, Level, Location

LINES = (
    "__global__ void k(int* a) {",
    "  a[0] = 1;",
    "  a[1] = 2;",
    "  a[0] = 1;",
    "  use(a);",
    "}",
)
PAIRS = ((1, 2), (2, 3), (1, 4), (3, 4), (1, 1), (3, 3))
"""Pairs of racing lines, from 0. Line 1 and line 3 are alike."""


def races(numbers: list[int], file: str = "k.cu", later_first: bool = True) -> list[Finding]:
    """A finding for each of PAIRS; numbers: where each of LINES stands, from 1."""
    found = []
    for one, other in PAIRS:
        places = [Location(file, numbers[one], 3, "", "now"), Location(file, numbers[other], 3)]
        if not later_first:
            places.reverse()
        found.append(Finding("R102", Level.ERROR, f"{places}", places[0], (places[1],), None, {"variable": "a"}))
    return found


def names(findings: list[Finding], text: str) -> list[str]:
    return [finding.fingerprint for finding in fingerprinted(findings, {"k.cu": text})]


STANDING = [1, 2, 3, 4, 5, 6]
PLAIN = names(races(STANDING), "\n".join(LINES))


def test_every_finding_has_a_name_of_its_own() -> None:
    assert len({*PLAIN}) == len(PAIRS)
    assert all(len(name) == 32 and int(name, 16) >= 0 for name in PLAIN)


unrelated = st.lists(st.sampled_from(["", "// a[0] = 1;", "  b[0] = 1;", "\f", "a[7] = 1;"]), max_size=4)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(unrelated, min_size=len(LINES), max_size=len(LINES)),
    st.lists(st.sampled_from(["", "\t", "    ", "  \t "]), min_size=len(LINES), max_size=len(LINES)),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_names_survive_other_lines_and_indentation(
    before: list[list[str]], indents: list[str], newline: str, later_first: bool, shuffler: random.Random
) -> None:
    written: list[str] = []
    numbers: list[int] = []
    for line, others, indent in zip(LINES, before, indents, strict=True):
        written += [*others, indent + line.lstrip()]
        numbers.append(len(written))
    order = list(range(len(PAIRS)))
    shuffler.shuffle(order)
    found = races(numbers, later_first=later_first)
    assert names([found[at] for at in order], newline.join(written)) == [PLAIN[at] for at in order]


def test_a_suppression_comment_changes_no_name() -> None:
    text = "\n".join(LINES).replace("a[1] = 2;", "a[1] = 2;  // racedart: ignore[R102] why")
    assert names(races(STANDING), text) == PLAIN


@pytest.mark.parametrize(
    ("old", "new"), [("a[1] = 2;", "a[1] = 3;"), ("a[1] = 2;", "a[1] = 2; // not so")], ids=["code", "comment"]
)
def test_an_edit_of_the_line_itself_changes_the_names_of_its_findings_only(old: str, new: str) -> None:
    changed = names(races(STANDING), "\n".join(LINES).replace(old, new))
    assert [one == other for one, other in zip(changed, PLAIN, strict=True)] == [2 not in pair for pair in PAIRS]


@pytest.mark.parametrize(
    "change",
    [{"rule": "R101"}, {"properties": {"variable": "b"}}, {"related": ()}, {"location": Location("other.cu", 2)}],
    ids=str,
)
def test_rule_variable_places_and_file_have_a_part(change: dict[str, object]) -> None:
    (found,) = races(STANDING)[:1]
    other = replace(found, **change)  # type: ignore[arg-type]
    assert names([other], "\n".join(LINES)) != names([found], "\n".join(LINES))


@pytest.mark.parametrize(
    "change",
    [
        {"message": "otherwise"},
        {"level": Level.NOTE},
        {"properties": {"variable": "a", "kernel": "other", "count": 9}},
        {"fingerprint": "f" * 32},
    ],
    ids=str,
)
def test_message_level_kernel_and_count_have_none(change: dict[str, object]) -> None:
    (found,) = races(STANDING)[:1]
    other = replace(found, **change)  # type: ignore[arg-type]
    assert names([other], "\n".join(LINES)) == names([found], "\n".join(LINES))


def test_of_findings_alike_the_order_in_the_source_tells() -> None:
    # Lines 1 and 3 race with themselves and have one text.
    alike = [PAIRS.index((1, 1)), PAIRS.index((3, 3))]
    found = races(STANDING)
    first, second = (found[at] for at in alike)
    assert names([second, first], "\n".join(LINES)) == [PLAIN[alike[1]], PLAIN[alike[0]]]
    assert names([second], "\n".join(LINES)) == [PLAIN[alike[0]]]


def repository(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    source = folder / "src" / "k \u00e9.cu"
    source.write_text("\n".join(LINES))
    return source


def test_names_survive_a_move_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = repository(tmp_path / "one")
    found = [f.fingerprint for f in fingerprinted(races(STANDING, str(source)), {})]
    shutil.move(tmp_path / "one", tmp_path / "other place")
    moved = tmp_path / "other place" / "src" / source.name
    assert [f.fingerprint for f in fingerprinted(races(STANDING, str(moved)), {})] == found
    monkeypatch.chdir(moved.parent)
    assert [f.fingerprint for f in fingerprinted(races(STANDING, source.name), {})] == found
    (tmp_path / "link").symlink_to(tmp_path / "other place")
    linked = tmp_path / "link" / "src" / source.name
    assert [f.fingerprint for f in fingerprinted(races(STANDING, str(linked)), {})] == found
    os.rename(moved, moved.with_name("l.cu"))
    renamed = fingerprinted(races(STANDING, "l.cu"), {})
    assert all(f.fingerprint not in found for f in renamed)


def test_outside_a_repository_the_folder_has_no_part(tmp_path: Path) -> None:
    made = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "k.cu").write_text("\n".join(LINES))
        made.append([f.fingerprint for f in fingerprinted(races(STANDING, str(tmp_path / name / "k.cu")), {})])
    assert made[0] == made[1]


def test_sources_that_cannot_be_read_still_give_different_names() -> None:
    for file in ("gone.cu", "", "a\0b"):
        assert len({f.fingerprint for f in fingerprinted(races(STANDING, file), {})}) == len(PAIRS)


# Inputs and values are those of fingerprints.test.ts of github/codeql-action.
GREETINGS = " hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End"
GREETED = (
    "e9496ae3ebfced30:1 fb7c023a8b9ccb3f:1 ce8ba1a563dcdaca:1 e20e36e16fcb0cc8:1 b3edc88f2938467e:1 "
    "c8e28b0b4002a3a0:1 c129715d7a2bc9a3:1"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "c129715d7a2bc9a3:1"),
        (" a\nb\n  \t\tc\n d", "271789c17abda88f:1 54703d4cd895b18:1 180aee12dab6264:1 a23a3dc5e078b07b:1"),
        (
            GREETINGS,
            "8b7cf3e952e7aeb2:1 b1ae1287ec4718d9:1 bff680108adb0fcc:1 c6805c5e1288b612:1 b86d3392aea1be30:1 "
            "e6ceba753e1a442:1",
        ),
        (f"{GREETINGS}\n", GREETED),
        (f"{GREETINGS}\n".replace("\n", "\r"), GREETED),
        (f"{GREETINGS}\n".replace("\n", "\r\n"), GREETED),
        (" hello; \t\nworld!!!\r\n\n\r  \t\tGreetings\r End\r\n", GREETED),
        (
            "Lorem ipsum dolor sit amet.\n" * 10,
            "a7f2ff13bc495cf2:1 a7f2ff13bc495cf2:2 a7f2ff13bc495cf2:3 a7f2ff13bc495cf2:4 a7f2ff13bc495cf2:5 "
            "a7f2ff13bc495cf2:6 a7f2ff1481e87703:1 a9cf91f7bbf1862b:1 55ec222b86bcae53:1 cc97dc7b1d7d8f7b:1 "
            "c129715d7a2bc9a3:1",
        ),
    ],
    ids=["empty", "short", "no last newline", "LF", "CR", "CR LF", "mixed", "alike"],
)
def test_line_hashes_are_the_published_ones(text: str, expected: str) -> None:
    assert " ".join(line_hashes(text)) == expected


def test_line_hashes_count_utf16_units() -> None:
    # 49 pairs and LF are 99 units, so that only the first unit of the next character is in the window.
    first = "\U0001f600" * 49 + "\n"
    assert line_hashes(first + "\U0001f600")[0] == line_hashes(first + "\U0001f601")[0]
    assert line_hashes(first + "\U0001f600")[0] != line_hashes(first + "x")[0]
