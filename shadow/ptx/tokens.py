"""The PTX tokenizer (PTX ISA 4.1 to 4.5).

A dotted instruction or directive name is one token. Comments and blank space separate tokens and are
dropped. Preprocessor lines are not handled; compilers do not emit them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from racedart.finding.errors import InputError

_TOKEN = re.compile(
    r"""
      (?P<space>   (?: [ \t\r\f\n]+ | //[^\n]* | /\*.*?\*/ )+ )
    | (?P<string>  "(?:[^"\\\n]|\\.)*" )
    | (?P<float>   0[fF][0-9A-Fa-f]{8}(?![0-9A-Fa-f]) | 0[dD][0-9A-Fa-f]{16}(?![0-9A-Fa-f])
                 | \d+\.\d*(?:[eE][+-]?\d+)? | \d+[eE][+-]?\d+ )
    | (?P<int>     0[xX][0-9A-Fa-f]+U? | 0[bB][01]+U? | \d+U? )
    | (?P<name>    [A-Za-z_$%][\w$.%]*(?:::[\w$.]+)* | \.[\w$]+(?:::\w+)* )
    | (?P<mark>    [\[\]{}()<>,;:|!+\-=@*] )
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """kind: "string", "float", "int", "name", "mark" or "end"; line from 1."""

    kind: str
    text: str
    line: int


class PtxSyntaxError(InputError):
    """PTX text that does not follow the grammar; names the line and the token."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"PTX line {line}: {message}; expected PTX 7.x to 9.x as nvcc or NVRTC emit it")
        self.line = line


def tokenize(text: str) -> list[Token]:
    """Split PTX text into tokens, ending with one of kind "end".

    Raises PtxSyntaxError at a character that begins no token.
    """
    tokens: list[Token] = []
    line, position = 1, 0
    for match in iter(_TOKEN.scanner(text).match, None):  # type: ignore[attr-defined]  # not in the stubs
        kind = match.lastgroup
        value = match.group()
        position = match.end()
        if kind == "space":
            line += value.count("\n")
        else:
            tokens.append(Token(kind, value, line))
    if position < len(text):
        rest = text[position : position + 20].split("\n")[0]
        raise PtxSyntaxError(f"unexpected character at {rest!r}", line)
    tokens.append(Token("end", "", line))
    return tokens
