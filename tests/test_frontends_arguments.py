"""Argument texts: their grammar, and nothing but a user's error for anything outside it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from racedart.finding.errors import RacedartError, UsageError
from racedart.shadow.frontends import parse_argument


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zeros:4:f4", np.zeros(4, np.float32)),
        ("ones:2x3:i4", np.ones((2, 3), np.int32)),
        ("arange:2x2:i8", np.arange(4).reshape(2, 2)),
        ("full:3:7:u1", np.full(3, 7, np.uint8)),
        ("full:2:-1.5:f8", np.full(2, -1.5)),
        ("1024", 1024),
        ("-3", -3),
        ("0x10", 16),
        ("3.5", 3.5),
        ("32:i4", np.int32(32)),
        ("1.5:f4", np.float32(1.5)),
        ("null", None),
    ],
)
def test_value(text: str, expected: Any) -> None:
    value = parse_argument(text)
    assert type(value) is type(expected)
    if isinstance(expected, (np.ndarray, np.generic)):
        assert value.dtype == expected.dtype
    np.testing.assert_array_equal(value, expected)


def test_random_is_the_same_each_time_and_not_constant() -> None:
    for dtype in ("f4", "i4", "u1", "b1"):
        first, second = parse_argument(f"random:100:{dtype}"), parse_argument(f"random:100:{dtype}")
        np.testing.assert_array_equal(first, second)
        assert len(np.unique(first)) > 1, dtype


def test_file(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3))
    np.testing.assert_array_equal(parse_argument(str(tmp_path / "a.npy")), np.arange(3))


@pytest.mark.parametrize("content", [b"", b"no array", b"\x93NUMPY"])
def test_bad_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(RacedartError, match=r"a\.npy"):
        parse_argument(str(tmp_path / "a.npy"))


def test_pickled_objects_are_not_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(RacedartError, match=r"o\.npy"):
        parse_argument(str(tmp_path / "o.npy"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "zeros",
        "zeros:4:q9",
        "zeros:ax2:f4",
        "zeros:-1:f4",
        "full:3:i4",
        "a:b:c:d",
        "12q",
        "300:u1",
        "-1:u4",
        "1.5:i4",
        "inf:i4",
        "nan:i4",
        "1e400:u8",
        "full:2:inf:i4",
        "zeros:4:O",
        "zeros:4:>i4",
        "ones:99999999999:f8",
    ],
)
def test_wrong_text_is_a_usage_error_that_quotes_it(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_argument(text)
    assert repr(text) in str(caught.value)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.text(max_size=12),
        st.from_regex(r"(zeros|full|[0-9.e-]{1,4}|inf|nan):[0-9x]{0,3}(:[a-z0-9<>]{0,3}){0,2}", fullmatch=True),
    )
)
@example("zeros:2:f4,")
def test_any_text_gives_a_value_or_a_users_error(text: str) -> None:
    with contextlib.suppress(RacedartError):
        parse_argument(text)
