"""Where a source has OpenMP pragmas: `#pragma omp ...` and `_Pragma("omp ...")`.

Works on the bytes alone. Comments, strings, raw strings, joined lines and digraphs are respected; of conditional
compilation only what the text decides: literal 0 and 1, and `_OPENMP`, which is defined. Not found: directives that
macros produce from pieces, `__pragma`, and the attribute syntax `[[omp::...]]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from racedart.analyzer.pragma.tokens import BLANK, Spliced, Token, TokenKind, make_token, matches

_OMP_OPERATOR = re.compile(r'(?:u8|[uUL])?(?:"\s*omp\b|R"[^(]*\(\s*omp\b)')


@dataclass(frozen=True, slots=True)
class Place:
    """One pragma: [start, end) without the line end.

    operator: written as `_Pragma`. active: True or False where the text decides whether it is compiled, None where
    a macro does. macro: it stands in the replacement text of a `#define`.
    """

    start: int
    end: int
    operator: bool = False
    active: bool | None = True
    macro: bool = False


def find_pragmas(source: bytes) -> tuple[Place, ...]:
    """The OpenMP pragmas of a source, in order."""
    found: list[Place] = []
    conditions = _Conditions()
    for line in _logical_lines(source):
        if line[0].text == "#" and len(line) > 1:
            name = line[1].text
            if name == "pragma":
                if len(line) > 2 and line[2].text == "omp":
                    found.append(Place(line[0].start, line[-1].end, False, conditions.active()))
            elif name == "define":
                found.extend(_operators(line, conditions.active(), True))
            else:
                conditions.step(name, [token.text for token in line[2:]])
        else:
            found.extend(_operators(line, conditions.active(), False))
    return tuple(found)


def pragma_end(source: bytes, start: int) -> int:
    """Where the pragma that starts here ends: behind its last token or comment, before the line end."""
    size = 1024
    while True:
        stop = min(start + size, len(source))
        spliced = Spliced(source, start, stop)
        end = 0
        for group, match in matches(spliced.text):
            if group == "space" and _ends_line(match.group()):
                return spliced.end_offset(end)
            if group != "space":
                end = match.end()
        if stop == len(source):
            return spliced.end_offset(end)
        size *= 4


def _ends_line(space: str) -> bool:
    return "\n" in space or "\r" in space


def _logical_lines(source: bytes) -> Iterator[list[Token]]:
    """The tokens of each logical line that has any; a trailing comment counts for the end of the last token."""
    spliced = Spliced(source, 0, len(source))
    line: list[Token] = []
    gap = False
    bom = spliced.text.startswith("\xef\xbb\xbf")
    if bom:
        # A byte order mark is white space to compilers; here it would be part of a word.
        spliced.text = "   " + spliced.text[3:]
    for group, match in matches(spliced.text):
        if group == "space":
            gap = True
            if _ends_line(match.group()) and line:
                yield line
                line = []
        elif group in BLANK:
            gap = True
            if line:
                last = line[-1]
                end = spliced.end_offset(match.end())
                line[-1] = Token(last.kind, last.text, last.start, end, last.gap)
        else:
            line.append(make_token(spliced, group, match, gap))
            gap = False
    if line:
        yield line


def _operators(line: list[Token], active: bool | None, macro: bool) -> Iterator[Place]:
    for index, token in enumerate(line):
        if token.text == "_Pragma" and token.kind is TokenKind.WORD and len(line) > index + 3:
            opened, text, closed = line[index + 1 : index + 4]
            if opened.text == "(" and closed.text == ")" and _OMP_OPERATOR.match(text.text):
                yield Place(token.start, closed.end, True, active, macro)


class _Conditions:
    """The stack of `#if` groups: for each, whether the present branch is compiled, and whether one was taken."""

    def __init__(self) -> None:
        self._stack: list[tuple[bool | None, bool | None]] = []

    def active(self) -> bool | None:
        """Whether the present place is compiled: False if any group says no, None if one is undecided."""
        states = [branch for branch, _ in self._stack]
        if False in states:
            return False
        return None if None in states else True

    def step(self, name: str, words: list[str]) -> None:
        """A preprocessing directive."""
        if name in ("if", "ifdef", "ifndef"):
            value = self._value(name, words)
            self._stack.append((value, value))
        elif name in ("elif", "elifdef", "elifndef", "else") and self._stack:
            _, taken = self._stack.pop()
            value = True if name == "else" else self._value(name[2:], words)
            if taken is True:
                branch: bool | None = False
            elif taken is None and value is not False:
                branch = None
            else:
                branch = value
            after = True if taken or value else None if None in (taken, value) else False
            self._stack.append((branch, after))
        elif name == "endif" and self._stack:
            self._stack.pop()

    @staticmethod
    def _value(name: str, words: list[str]) -> bool | None:
        if name in ("ifdef", "ifndef"):
            return (name == "ifdef") if words == ["_OPENMP"] else None
        if words in (["defined", "(", "_OPENMP", ")"], ["defined", "_OPENMP"], ["_OPENMP"]):
            return True
        if words in (["!", "defined", "(", "_OPENMP", ")"], ["!", "defined", "_OPENMP"]):
            return False
        if len(words) == 1 and re.fullmatch(r"0|1", words[0]):
            return words[0] == "1"
        return None
