"""Edits by byte offset, new lines in the file's manner, diffs that `patch` applies, writes that damage nothing."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from racedart.analyzer.rewrite import ByteEdit, Layout, apply_edits, read_source, unified_diff, write_source
from racedart.finding.errors import InputError


@st.composite
def edited(draw: st.DrawFn) -> tuple[bytes, list[ByteEdit]]:
    """A source and edits that do not overlap, in any order."""
    source = draw(st.binary(max_size=60))
    cuts = sorted(draw(st.lists(st.integers(0, len(source)), max_size=8)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    edits = [ByteEdit(start, end, draw(st.text("aé\n", max_size=5))) for start, end in pairs]
    return source, draw(st.permutations(edits))


@given(edited())
def test_edits_replace_their_ranges_and_nothing_else(case: tuple[bytes, list[ByteEdit]]) -> None:
    source, edits = case
    result = apply_edits(source, edits)
    # From the last to the first, each by slicing: what an editor would do by hand.
    expected = source
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        expected = expected[: edit.start] + edit.text.encode() + expected[edit.end :]
    if len({edit.start for edit in edits}) == len(edits):
        assert result == expected
    assert len(result) == len(source) + sum(len(e.data) - (e.end - e.start) for e in edits)


@given(st.binary(max_size=100))
def test_no_edits_change_nothing(source: bytes) -> None:
    assert apply_edits(source, []) == source


def test_insertions_at_one_place_keep_their_order() -> None:
    edits = [ByteEdit(1, 1, "x"), ByteEdit(1, 2, "R"), ByteEdit(1, 1, "y")]
    assert apply_edits(b"abc", edits) == b"axyRc"


@pytest.mark.parametrize(
    "edits",
    [
        [ByteEdit(0, 3, "x"), ByteEdit(2, 4, "y")],
        [ByteEdit(0, 3, "x"), ByteEdit(1, 1, "y")],
        [ByteEdit(0, 3, "x"), ByteEdit(0, 3, "x")],
        [ByteEdit(2, 9, "x")],
        [ByteEdit(-1, 0, "x")],
        [ByteEdit(2, 1, "x")],
    ],
)
def test_overlapping_or_outside_edits_are_refused(edits: list[ByteEdit]) -> None:
    with pytest.raises(ValueError, match="edit"):
        apply_edits(b"abcde", edits)


@given(st.binary(max_size=60), st.data())
def test_offsets_and_positions_are_inverse(source: bytes, data: st.DataObject) -> None:
    layout = Layout(source)
    offset = data.draw(st.integers(0, len(source)))
    line, column = layout.position(offset)
    assert layout.offset(line, column) == offset
    before = re.split(rb"\r\n|\n|\r", source[:offset])
    if not (source[offset - 1 : offset] == b"\r" and source[offset : offset + 1] == b"\n"):
        assert (line, column) == (len(before), len(before[-1]) + 1)
    edit = ByteEdit(offset, offset, "x")
    assert layout.from_edit(layout.to_edit("f.c", edit)) == edit


BEFORE = [
    ("  f();\n", "f", "  #P\n  f();\n"),
    ("\tf();\r\n", "f", "\t#P\r\n\tf();\r\n"),
    ("f();", "f", "#P\nf();"),
    ("int x;\r\nf();", "f", "int x;\r\n#P\r\nf();"),
    ("\ufefff();\n", "f", "\ufeff#P\nf();\n"),
    ("  if (c) f();\n", "f()", "  if (c)\n  #P\n  f();\n"),
    ("  é; f();\n", "f", "  é;\n  #P\n  f();\n"),
]


@pytest.mark.parametrize(("source", "at", "expected"), BEFORE)
def test_a_line_before_a_statement(source: str, at: str, expected: str) -> None:
    data = source.encode()
    edit = Layout(data).before(data.index(at.encode()), "#P")
    assert apply_edits(data, [edit]).decode() == expected


BEHIND = [
    ("  f();\n  g();\n", "  f();\n  #P\n  g();\n"),
    ("  f();\r\n", "  f();\r\n  #P\r\n"),
    ("  f();", "  f();\n  #P"),
    ("\tf();  // why\n", "\tf();  // why\n\t#P\n"),
    ("f(); /* a\n b */\ng();\n", "f(); /* a\n b */\n#P\ng();\n"),
    ("f(); /* a\n b */ g();\n", "f();\n#P\n /* a\n b */ g();\n"),
    ("  { f(); g(); }\n", "  { f();\n  #P\n   g(); }\n"),
    ("f(); // a \\\n b\ng();", "f(); // a \\\n b\n#P\ng();"),
    ("f();   \n", "f();\n#P   \n"),
]


@pytest.mark.parametrize(("source", "expected"), BEHIND)
def test_a_line_behind_a_statement(source: str, expected: str) -> None:
    data = source.encode()
    edit = Layout(data).behind(data.index(b"f();") + 4, "#P")
    assert apply_edits(data, [edit]).decode() == expected


def test_joined_lines_are_known() -> None:
    layout = Layout(b"#define F f(); \\\n  g();\nh();\n")
    assert layout.is_joined(3)
    assert not layout.is_joined(20)
    assert not layout.is_joined(26)


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\nb\nc\n", b"a\nB\nc\n"),
        (b"a\nb\nc", b"a\nb\nc\nd"),
        (b"a\r\nb\r\n", b"a\r\nx\r\nb\r\n"),
        (b"\xff\nb\n", b"\xff\nx\nb\n"),
        (b"", b"a\n"),
        (b"a\x0cb\nc\n", b"a\x0cb\nd\n"),
    ],
)
def test_patch_applies_the_diff(before: bytes, after: bytes, tmp_path: Path) -> None:
    (tmp_path / "f.c").write_bytes(before)
    diff = unified_diff("f.c", before, after).encode("utf-8", "surrogateescape")
    subprocess.run(["patch", "--binary", "-p1"], input=diff, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "f.c").read_bytes() == after


def test_an_unchanged_source_has_no_diff() -> None:
    assert unified_diff("f.c", b"a\n", b"a\n") == ""


def test_writing_keeps_mode_and_link_and_leaves_nothing_behind(tmp_path: Path) -> None:
    target, link = tmp_path / "real.c", tmp_path / "link.c"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to("real.c")
    write_source(link, b"new", b"old", backup=True)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert (tmp_path / "link.c.orig").read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["link.c", "link.c.orig", "real.c"]


def test_a_new_file_is_made(tmp_path: Path) -> None:
    write_source(tmp_path / "new.c", b"x")
    assert (tmp_path / "new.c").read_bytes() == b"x"


def test_a_file_that_changed_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_bytes(b"by somebody else")
    with pytest.raises(InputError, match=r"a\.c: changed since it was read"):
        write_source(path, b"new", b"old")
    assert path.read_bytes() == b"by somebody else"


def test_a_backup_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_bytes(b"old")
    (tmp_path / "a.c.orig").write_bytes(b"older")
    with pytest.raises(InputError, match=r"a\.c\.orig: exists"):
        write_source(path, b"new", b"old", backup=True)
    assert path.read_bytes() == b"old"
    assert (tmp_path / "a.c.orig").read_bytes() == b"older"


@pytest.mark.parametrize("failing", ["fsync", "replace", "chmod"])
def test_a_failing_write_leaves_the_source(failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.c"
    path.write_bytes(b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, failing, fail)
        with pytest.raises(InputError, match=r"a\.c: cannot be written: No space left on device"):
            write_source(path, b"new", b"old")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.c"]


def test_a_missing_folder_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        write_source(tmp_path / "none" / "a.c", b"x")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_read_only_file_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(InputError, match="read-only"):
        write_source(path, b"new", b"old")


def test_reading_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.c: cannot be read: No such file"):
        read_source(tmp_path / "none.c")
    (tmp_path / "wide.c").write_text("int x;", encoding="utf-16")
    with pytest.raises(InputError, match=r"wide\.c: the file is UTF-16"):
        read_source(tmp_path / "wide.c")
