"""Kernel arguments written as text, for the command line.

Grammar: `zeros:SHAPE:DTYPE`, `ones:SHAPE:DTYPE`, `arange:SHAPE:DTYPE`, `random:SHAPE:DTYPE` (always the same
numbers), `full:SHAPE:VALUE:DTYPE`, where SHAPE is 1024 or 32x32 and DTYPE a NumPy type such as f4 or i8
(default f4); a scalar `VALUE` or `VALUE:DTYPE`; `null` for a null pointer; `FILE.npy` for a saved array;
`{A, B}` or `{name=A, other=B}` for a struct, whose members are such texts.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from racedart.finding.errors import InputError, UsageError

MAX_ELEMENTS = 1 << 31

_GRAMMAR = (
    "expected zeros|ones|arange|random:SHAPE[:DTYPE], full:SHAPE:VALUE[:DTYPE], VALUE[:DTYPE], null, FILE.npy or "
    "{MEMBER, ...}, as in zeros:1024:f4, arange:32x32:i4, 1024, 2.5:f4"
)


def parse_argument(text: str) -> Any:
    """An array, a NumPy or Python scalar, or None for a null pointer.

    Raises UsageError for text outside the grammar, InputError for a file that cannot be read.
    """
    text = text.strip()
    if text == "null":
        return None
    if text.startswith("{"):
        return _struct(text)
    if text.endswith(".npy"):
        try:
            return np.load(text, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"argument {text!r}: the array cannot be read: {error}") from error
    word, *rest = text.split(":")
    if word in {"zeros", "ones", "arange", "random", "full"}:
        return _array(text, word, rest)
    if len(rest) > 1 or not word:
        raise UsageError(f"argument {text!r}: {_GRAMMAR}")
    value = _number(text, word)
    return _typed(text, value, rest[0]) if rest else value


def _struct(text: str) -> dict[str, Any] | tuple[Any, ...]:
    """The members between braces: by name if every one has a name, else in order."""
    parts, depth, start = [], 0, 1
    for at, character in enumerate(text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0 and at != len(text) - 1:
            raise UsageError(f"argument {text!r}: the struct ends at character {at + 1}; {_GRAMMAR}")
        if depth == 0 or (depth == 1 and character == ","):
            parts.append(text[start:at].strip())
            start = at + 1
    if depth:
        raise UsageError(f"argument {text!r}: a brace is not closed; {_GRAMMAR}")
    named = [re.match(r"([A-Za-z_]\w*)\s*=(.*)", part, re.DOTALL) for part in parts]
    if all(named):
        return {match[1]: parse_argument(match[2]) for match in named if match}
    return tuple(parse_argument(part) for part in parts)


def _array(text: str, word: str, rest: list[str]) -> Any:
    values = 1 if word == "full" else 0
    if not 1 + values <= len(rest) <= 2 + values:
        raise UsageError(f"argument {text!r}: {_GRAMMAR}")
    try:
        shape = tuple(int(part) for part in rest[0].split("x"))
    except ValueError:
        raise UsageError(f"argument {text!r}: {rest[0]!r} is no shape; {_GRAMMAR}") from None
    size = int(np.prod(shape, dtype=object))
    if min(shape) < 0 or size > MAX_ELEMENTS:
        raise UsageError(f"argument {text!r}: a shape of {size} elements; at most {MAX_ELEMENTS} can be made")
    dtype = _dtype(text, rest[1 + values]) if len(rest) == 2 + values else np.dtype(np.float32)
    if word == "zeros":
        return np.zeros(shape, dtype)
    if word == "ones":
        return np.ones(shape, dtype)
    if word == "arange":
        return np.arange(size).astype(dtype).reshape(shape)
    if word == "full":
        return np.full(shape, _typed(text, _number(text, rest[1]), dtype.str))
    generator = np.random.default_rng(0)
    if dtype.kind == "b":
        return generator.integers(0, 2, size).astype(dtype).reshape(shape)
    if dtype.kind in "iu":
        high = min(int(np.iinfo(dtype.type).max), 1 << 20)
        return generator.integers(0, high, size).astype(dtype).reshape(shape)
    return generator.random(size).astype(dtype).reshape(shape)


def _dtype(text: str, name: str) -> np.dtype[Any]:
    try:
        dtype = np.dtype(name)
    except (TypeError, ValueError, SyntaxError):
        raise UsageError(f"argument {text!r}: {name!r} is no NumPy type; {_GRAMMAR}") from None
    if dtype.kind not in "iufcb" or not dtype.isnative:
        raise UsageError(f"argument {text!r}: {name!r} is no number type of this machine; {_GRAMMAR}")
    return dtype


def _number(text: str, word: str) -> int | float:
    try:
        return int(word, 0)
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        raise UsageError(f"argument {text!r}: {word!r} is no number; {_GRAMMAR}") from None


def _typed(text: str, value: int | float, name: str) -> Any:
    dtype = _dtype(text, name)
    if dtype.kind in "iu":
        # value - value is not 0 for NaN and infinity.
        limits = np.iinfo(dtype)
        if value - value != 0 or value != int(value) or not limits.min <= value <= limits.max:
            raise UsageError(f"argument {text!r}: {value} is no value of type {dtype.name}")
    return dtype.type(value)
