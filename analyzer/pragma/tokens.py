"""Preprocessing tokens of C and C++ with their byte ranges: spliced lines, comments, digraphs, raw strings.

A source is read as Latin-1, one character for a byte, so that any bytes have tokens and offsets are of bytes. Lines
that end in a backslash (blanks behind it allowed, as compilers do) are joined first; a token may span the join.
Trigraphs are not translated: no compiler does by default.
"""

from __future__ import annotations

import bisect
import enum
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


class TokenKind(enum.Enum):
    """The kind of a token."""

    WORD = "word"
    NUMBER = "number"
    STRING = "string"
    PUNCTUATOR = "punctuator"


@dataclass(frozen=True, slots=True)
class Token:
    """One token. text: its spelling without joins, digraphs as what they stand for. gap: blanks are before it."""

    kind: TokenKind
    text: str
    start: int
    end: int
    gap: bool = False


BLANK = frozenset({"space", "comment"})

SPLICE = re.compile(rb"\\[ \t\v\f]*(?:\r\n|\n|\r(?!\n))")
_LITERAL = re.compile(SPLICE.pattern + rb"|\\(?P<kept>[\"\\])")

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>/\*.*?(?:\*/|\Z)|//[^\r\n]*)
  | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
  | (?P<string>(?:u8|[uUL])?(?:"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))
  | (?P<word>[A-Za-z_$\x80-\xff][\w$\x80-\xff]*)
  | (?P<number>\.?[0-9](?:[eEpP][+-]|'[\w]|[\w.])*)
  | (?P<punctuator>%:%:|<:(?!:[^:>])|:>|<%|%>|%:|\.\.\.|->\*|<<=|>>=|<=>|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\|
      |[-+*/%&|^]=|::|\#\#|\.\*|.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_KINDS = {
    "raw": TokenKind.STRING,
    "string": TokenKind.STRING,
    "word": TokenKind.WORD,
    "number": TokenKind.NUMBER,
    "punctuator": TokenKind.PUNCTUATOR,
}
_DIGRAPHS = {"<:": "[", ":>": "]", "<%": "{", "%>": "}", "%:": "#", "%:%:": "##"}


class Spliced:
    """A range of a source with its lines joined, and the way back to byte offsets.

    literal: the range is the inside of a string literal, whose escapes of quotes and backslashes are undone.
    """

    def __init__(self, source: bytes, start: int, end: int, literal: bool = False) -> None:
        parts: list[bytes] = []
        self._joined: list[int] = [0]
        self._origin: list[int] = [start]
        at, length = start, 0
        for match in (_LITERAL if literal else SPLICE).finditer(source, start, end):
            parts.append(source[at : match.start()])
            length += match.start() - at
            at = match.end() - len(match.group("kept") or b"") if literal else match.end()
            self._joined.append(length)
            self._origin.append(at)
        parts.append(source[at:end])
        self.text = b"".join(parts).decode("latin-1")

    def offset(self, index: int) -> int:
        """The offset in the source of a character of the text."""
        part = bisect.bisect_right(self._joined, index) - 1
        return self._origin[part] + index - self._joined[part]

    def end_offset(self, index: int) -> int:
        """The offset behind the character before `index`."""
        return self.offset(index - 1) + 1 if index else self._origin[0]


def matches(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Everything in a text, white space and comments too, each with the name of its kind."""
    for match in _TOKEN.finditer(text):
        assert match.lastgroup is not None
        yield match.lastgroup, match


def decode(text: str) -> str:
    """Latin-1 characters that stand for bytes, as the UTF-8 text that the bytes are."""
    return text.encode("latin-1").decode("utf-8", "surrogateescape")


def make_token(spliced: Spliced, group: str, match: re.Match[str], gap: bool) -> Token:
    """The token of a match that is neither white space nor a comment."""
    text = match.group()
    if group == "punctuator":
        text = _DIGRAPHS.get(text, text)
    start, end = spliced.offset(match.start()), spliced.end_offset(match.end())
    return Token(_KINDS[group], decode(text), start, end, gap)


def tokens(source: bytes, start: int = 0, end: int | None = None, literal: bool = False) -> Iterator[Token]:
    """The tokens of a range of bytes; white space and comments are none."""
    spliced = Spliced(source, start, len(source) if end is None else end, literal)
    gap = False
    for group, match in matches(spliced.text):
        if group in BLANK:
            gap = True
        else:
            yield make_token(spliced, group, match, gap)
            gap = False


def join(parts: Sequence[Token]) -> str:
    """The text of tokens; white space and comments between them become one blank."""
    return "".join((" " if token.gap and index else "") + token.text for index, token in enumerate(parts))
