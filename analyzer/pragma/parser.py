"""The text of one pragma to a Directive, or to Malformed with line and column; never an exception.

OpenMP 5.2, 3.1 (directive format) and 3.2 (clause format). What a clause holds is read by the table in clauses.py:
nothing here knows a clause by name but where the grammar does (an `if` may hold a conditional operator). The parser
does not judge whether a directive takes a clause, nor expressions: they stay text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from racedart.analyzer.pragma.clauses import BEHAVIORS, CLAUSES, ClauseRule, Form, Prefix
from racedart.analyzer.pragma.directives import DIRECTIVES, LONGEST_NAME
from racedart.analyzer.pragma.finder import pragma_end
from racedart.analyzer.pragma.model import (
    Clause,
    Dereference,
    Directive,
    Item,
    Malformed,
    Member,
    Modifier,
    Section,
    Step,
)
from racedart.analyzer.pragma.tokens import Token, TokenKind, join, tokens

_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_OPENING.values())
_UNKNOWN = ClauseRule("", Form.OPAQUE, optional=True)

_DEEPEST = 64
"""Nesting of parentheses in a locator, and of directives in metadirectives, that is followed."""

Tokens = Sequence[Token]


class _SyntaxFault(Exception):
    """What is wrong, and the offset where; becomes Malformed before parse_pragma returns."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


def parse_pragma(source: bytes, start: int = 0, end: int | None = None) -> Directive | Malformed:
    """Parse the pragma in [start, end) of a source; without an end it is the rest of the logical line.

    The range begins at `#` or `_Pragma` (blanks before it are allowed).
    """
    if end is None:
        end = pragma_end(source, start)
    try:
        return _pragma(source, start, end)
    except _SyntaxFault as fault:
        offset = min(fault.offset, end)
        line_start = max(source.rfind(b"\n", 0, offset), source.rfind(b"\r", 0, offset)) + 1
        line = len(source[:offset].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"))
        return Malformed(fault.message, start, end, offset, line, offset - line_start + 1)


def _pragma(source: bytes, start: int, end: int) -> Directive:
    parts = list(tokens(source, start, end))
    raw = source[start:end].decode("utf-8", "surrogateescape")
    words = [token.text for token in parts[:3]]
    operator = words[:1] == ["_Pragma"]
    if operator:
        body = _operator_body(source, parts, start)
    elif words == ["#", "pragma", "omp"]:
        body = parts[3:]
    else:
        raise _SyntaxFault('no OpenMP pragma: expected `#pragma omp` or `_Pragma("omp ...")`', start)
    head_end = body[0].start if body else parts[-1].end
    return _directive(source, body, start, end, raw, operator, head_end)


def _operator_body(source: bytes, parts: Tokens, start: int) -> list[Token]:
    if len(parts) < 4 or parts[1].text != "(" or parts[2].kind is not TokenKind.STRING or parts[3].text != ")":
        raise _SyntaxFault('expected one string literal: `_Pragma("omp ...")`', start)
    text = parts[2]
    written = source[text.start : text.end]
    raw_string = written.split(b'"', 1)[0].endswith(b"R")
    opening = written.index(b"(") if raw_string else written.index(b'"') if b'"' in written else 0
    closing = written.rindex(b")") if raw_string else len(written) - 1
    inner = list(tokens(source, text.start + opening + 1, text.start + closing, not raw_string))
    if not inner or inner[0].text != "omp":
        raise _SyntaxFault('no OpenMP pragma: expected `_Pragma("omp ...")`', text.start)
    return inner[1:] or [Token(TokenKind.PUNCTUATOR, "", inner[0].end, inner[0].end)]


def _directive(
    source: bytes, body: Tokens, start: int, end: int, raw: str, operator: bool, head_end: int, depth: int = 0
) -> Directive:
    if depth > _DEEPEST:
        raise _SyntaxFault(f"directives nested more than {_DEEPEST} deep", head_end)
    name, count = _directive_name(body)
    if name is None:
        first = body[0] if body else None
        if first is None or first.kind is not TokenKind.WORD:
            raise _SyntaxFault("expected the name of an OpenMP directive", head_end)
        return Directive(
            first.text,
            start=start,
            end=end,
            head_end=first.end,
            tail=body[-1].end,
            raw=raw,
            known=False,
            operator=operator,
        )
    rule = DIRECTIVES[name]
    position = count
    head_end = body[count - 1].end
    arguments: tuple[Item, ...] = ()
    argument: str | None = None
    if rule.argument and position < len(body) and body[position].text == "(":
        inner, position = _parenthesised(body, position)
        argument = join(inner)
        head_end = body[position - 1].end
        if rule.argument == "list":
            arguments = tuple(_item(part) for part in _split(inner, ",") if part)
    clauses = []
    while position < len(body):
        if body[position].text == ",":
            position += 1
            continue
        clause, position = _clause(source, body, position, name, depth)
        clauses.append(clause)
    return Directive(
        name,
        tuple(clauses),
        arguments,
        argument,
        start,
        end,
        head_end,
        max(body[-1].end, head_end),
        raw,
        operator=operator,
    )


def _directive_name(body: Tokens) -> tuple[str | None, int]:
    """The longest directive name that the tokens begin with, and of how many words it is."""
    words: list[str] = []
    best: tuple[str | None, int] = (None, 0)
    for token in body[:LONGEST_NAME]:
        if token.kind is not TokenKind.WORD:
            break
        words.append(token.text)
        name = " ".join(words)
        if name in DIRECTIVES:
            best = (name, len(words))
    return best


def _clause(source: bytes, body: Tokens, position: int, directive: str, depth: int) -> tuple[Clause, int]:
    first = body[position]
    if first.kind is not TokenKind.WORD:
        raise _SyntaxFault(f"expected a clause of `{directive}`, found `{first.text}`", first.start)
    rule = CLAUSES.get(first.text, _UNKNOWN)
    if directive in ("metadirective", "begin metadirective") and first.text == "default":
        rule = CLAUSES["otherwise"]
    position += 1
    inner: Tokens | None = None
    if position < len(body) and body[position].text == "(":
        inner, position = _parenthesised(body, position)
        if rule.form is Form.BARE:
            # A later OpenMP gives some of them an argument.
            rule = _UNKNOWN
    elif rule.form is not Form.BARE and not rule.optional:
        raise _SyntaxFault(f"the clause `{first.text}` lacks its argument in parentheses", first.end)
    end = body[position - 1].end
    text = source[first.start : end].decode("utf-8", "surrogateescape")
    known = rule is not _UNKNOWN
    if inner is None:
        return Clause(first.text, text=text, start=first.start, end=end, known=known), position
    modifiers, main = _modifiers(rule, inner)
    items: tuple[Item, ...] = ()
    argument: str | None = None
    variant: Directive | None = None
    if rule.form is Form.LIST:
        if rule.suffix:
            main, suffix = _split_colon(main)
            modifiers += tuple(Modifier(join(part)) for part in _split(suffix or [], ",") if part)
        # `depend(source)` has a type alone.
        alone = not main and any(modifier.name == "source" for modifier in modifiers)
        items = () if alone else tuple(_item(part) for part in _split(main, ","))
        empty = next((number for number, item in enumerate(items, 1) if not item.text), None)
        if empty is not None:
            place = main[0].start if main else first.end + 1
            raise _SyntaxFault(f"item {empty} of the list of `{first.text}` is missing", place)
    else:
        argument = join(main)
        if rule.form is Form.DIRECTIVE and main:
            variant = _directive(source, main, main[0].start, main[-1].end, "", False, main[0].start, depth + 1)
    return Clause(first.text, modifiers, items, argument, text, first.start, end, known, variant), position


def _modifiers(rule: ClauseRule, inner: Tokens) -> tuple[tuple[Modifier, ...], Tokens]:
    """What stands before the first colon, as the rule reads it, and the rest."""
    if rule.prefix is Prefix.NONE:
        return (), inner
    before, after = _split_colon(inner)
    if after is None:
        if rule.prefix is Prefix.BEHAVIOR and join(inner) in BEHAVIORS:
            return (Modifier(join(inner)),), ()
        words = tuple(_words(inner)) if rule.name in ("doacross", "depend") else ()
        return (words, ()) if len(words) == 1 and words[0].name in ("source", "sink") else ((), inner)
    if rule.prefix is Prefix.DIRECTIVE:
        name, count = _directive_name(before)
        if name is None or count != len(before):
            return (), inner
        return (Modifier(name),), after
    if rule.prefix is Prefix.TEXT:
        return tuple(Modifier(join(part)) for part in _split(before, ",") if part), after
    return tuple(_words(before)), after


def _words(parts: Tokens) -> Iterator[Modifier]:
    """Modifiers: words, each perhaps with an argument; commas between them are optional (5.8.3)."""
    position = 0
    while position < len(parts):
        token = parts[position]
        position += 1
        if token.text == ",":
            continue
        argument: str | None = None
        if position < len(parts) and parts[position].text == "(":
            inner, position = _parenthesised(parts, position)
            argument = join(inner)
        yield Modifier(token.text, argument)


def _parenthesised(parts: Tokens, position: int) -> tuple[Tokens, int]:
    """The tokens within the brackets that open at a position, and the position behind them."""
    expected: list[str] = []
    opened: list[Token] = []
    for index in range(position, len(parts)):
        text = parts[index].text
        if parts[index].kind is not TokenKind.PUNCTUATOR:
            continue
        if text in _OPENING:
            expected.append(_OPENING[text])
            opened.append(parts[index])
        elif text in _CLOSING:
            if text != expected[-1]:
                raise _SyntaxFault(f"expected `{expected[-1]}`, found `{text}`", parts[index].start)
            expected.pop()
            opened.pop()
            if not expected:
                return parts[position + 1 : index], index + 1
    raise _SyntaxFault(f"`{opened[-1].text}` is never closed", opened[-1].start)


def _split(parts: Tokens, separator: str) -> list[Tokens]:
    """The tokens between separators that stand in no brackets."""
    pieces: list[Tokens] = []
    depth, begin = 0, 0
    for index, token in enumerate(parts):
        if token.kind is not TokenKind.PUNCTUATOR:
            continue
        if token.text in _OPENING:
            depth += 1
        elif token.text in _CLOSING:
            depth -= 1
        elif token.text == separator and depth == 0:
            pieces.append(parts[begin:index])
            begin = index + 1
    pieces.append(parts[begin:])
    return pieces


def _split_colon(parts: Tokens) -> tuple[Tokens, Tokens | None]:
    """What stands before and behind the first colon that belongs to no brackets and to no `?`."""
    depth, questions = 0, 0
    for index, token in enumerate(parts):
        if token.kind is not TokenKind.PUNCTUATOR:
            continue
        if token.text in _OPENING:
            depth += 1
        elif token.text in _CLOSING:
            depth -= 1
        elif depth == 0 and token.text == "?":
            questions += 1
        elif depth == 0 and token.text == ":":
            if questions == 0:
                return parts[:index], parts[index + 1 :]
            questions -= 1
    return parts, None


def _item(parts: Tokens) -> Item:
    if not parts:
        return Item("", "")
    text, start, end = join(parts), parts[0].start, parts[-1].end
    shape: tuple[str, ...] = ()
    rest = parts
    if len(parts) > 2 and parts[0].text == "(" and parts[1].text == "[":
        inner, position = _parenthesised(parts, 0)
        shape, rest = _shape(inner), parts[position:]
    lvalue = _lvalue(rest)
    if lvalue is None:
        return Item(text, "", (), shape, start, end)
    base, steps = lvalue
    return Item(text, base, steps, shape, start, end)


def _shape(parts: Tokens) -> tuple[str, ...]:
    extents = []
    position = 0
    while position < len(parts) and parts[position].text == "[":
        inner, position = _parenthesised(parts, position)
        extents.append(join(inner))
    return tuple(extents)


def _lvalue(parts: Tokens, depth: int = 0) -> tuple[str, tuple[Step, ...]] | None:
    """Base and steps of a locator; None for an expression of another form."""
    stars = next((index for index, token in enumerate(parts) if token.text != "*"), len(parts))
    parts = parts[stars:]
    if not parts or depth > _DEEPEST:
        return None
    found: list[Step] = []
    if parts[0].text == "(":
        enclosed, position = _parenthesised(parts, 0)
        inner = _lvalue(enclosed, depth + 1)
        if inner is None:
            return None
        base = inner[0]
        found.extend(inner[1])
    else:
        base, position = _qualified_name(parts)
        if not base:
            return None
    while position < len(parts):
        token = parts[position]
        if token.text == "[":
            bracketed, position = _parenthesised(parts, position)
            found.append(_section(bracketed))
        elif token.text in (".", "->") and position + 1 < len(parts):
            if parts[position + 1].kind is not TokenKind.WORD:
                return None
            found.append(Member(parts[position + 1].text, token.text == "->"))
            position += 2
        else:
            return None
    found.extend(Dereference() for _ in range(stars))
    return base, tuple(found)


def _qualified_name(parts: Tokens) -> tuple[str, int]:
    position = 1 if parts[0].text == "::" else 0
    while position < len(parts) and parts[position].kind is TokenKind.WORD:
        position += 1
        if position + 1 < len(parts) and parts[position].text == "::":
            position += 1
        else:
            return "".join(token.text for token in parts[:position]), position
    return "", 0


def _section(parts: Tokens) -> Section:
    pieces: list[list[Token]] = [[]]
    depth, questions = 0, 0
    for index, token in enumerate(parts):
        punctuator = token.kind is TokenKind.PUNCTUATOR
        if punctuator and token.text in _OPENING:
            depth += 1
        elif punctuator and token.text in _CLOSING:
            depth -= 1
        elif punctuator and depth == 0 and token.text == "?":
            questions += 1
        elif punctuator and depth == 0 and token.text == ":":
            if questions == 0:
                pieces.append([])
                continue
            questions -= 1
        elif punctuator and depth == 0 and token.text == "::" and not _qualifies(parts, index):
            pieces.extend(([], []))
            continue
        pieces[-1].append(token)
    if len(pieces) == 1:
        return Section("", "", "", join(parts))
    if len(pieces) > 3:
        raise _SyntaxFault("an array section has at most `lower : length : stride`", parts[0].start)
    texts = [join(piece) for piece in pieces] + [""]
    return Section(texts[0], texts[1], texts[2])


def _qualifies(parts: Tokens, index: int) -> bool:
    """Whether a `::` in brackets belongs to a name (`[ns::n]`) and not to a section (`[0::2]`)."""
    if index == 0 or index + 1 == len(parts):
        return False
    return parts[index - 1].kind is TokenKind.WORD and parts[index + 1].kind is TokenKind.WORD
