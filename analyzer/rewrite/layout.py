"""Lines, columns and indentation of a source, and new lines that look like those around them.

Lines end in LF, CRLF or CR, as clang counts them; columns are bytes, from 1. A new line takes the line end and the
indentation of the statement that it is set before or behind.
"""

from __future__ import annotations

import bisect
import re

from racedart.analyzer.pragma.tokens import BLANK, SPLICE, Spliced, matches
from racedart.analyzer.rewrite.edits import ByteEdit
from racedart.finding.model import Edit

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class Layout:
    """A source and where its lines are."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        ends = list(_LINE_END.finditer(source))
        self._starts = [0, *(match.end() for match in ends)]
        self._line_ends = [match.group().decode() for match in ends]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        line = bisect.bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column. Raises ValueError for a place that the source does not have."""
        if not 1 <= line <= len(self._starts):
            raise ValueError(f"line {line} of a source of {len(self._starts)} lines")
        offset = self._starts[line - 1] + column - 1
        last = self._starts[line] if line < len(self._starts) else len(self.source)
        if column < 1 or offset > last:
            raise ValueError(f"column {column} of line {line}, which has {last - self._starts[line - 1]} bytes")
        return offset

    def to_edit(self, file: str, edit: ByteEdit) -> Edit:
        """A byte edit as findings hold it."""
        return Edit(file, *self.position(edit.start), *self.position(edit.end), edit.text)

    def from_edit(self, edit: Edit) -> ByteEdit:
        """An edit of a finding by its offsets. Raises ValueError for a place that the source does not have."""
        return ByteEdit(self.offset(edit.line, edit.column), self.offset(edit.end_line, edit.end_column), edit.text)

    def line_end(self, offset: int) -> str:
        """The line end of the line of an offset; of the file's first line where that one has none."""
        line = self.position(offset)[0]
        if line <= len(self._line_ends):
            return self._line_ends[line - 1]
        return self._line_ends[0] if self._line_ends else "\n"

    def indentation(self, offset: int) -> str:
        """The white space that the line of an offset begins with."""
        start = self._line_start(offset)
        match = re.compile(rb"[ \t\v\f]*").match(self.source, start)
        assert match is not None
        return match.group().decode()

    def before(self, offset: int, *lines: str) -> ByteEdit:
        """New lines before the statement that begins at an offset, indented like it."""
        end, indent = self.line_end(offset), self.indentation(offset)
        leading = self.source[self._line_start(offset) : offset]
        if leading.strip():
            # The statement shares its line with what precedes it: it moves to a line of its own.
            text = "".join(f"{end}{indent}{line}" for line in lines) + f"{end}{indent}"
            return ByteEdit(offset - len(leading) + len(leading.rstrip()), offset, text)
        text = "".join(f"{line}{end}{indent}" for line in lines)
        return ByteEdit(offset, offset, text)

    def behind(self, offset: int, *lines: str) -> ByteEdit:
        """New lines behind the statement that ends before an offset, indented like the line it ends in.

        A comment at the end of that line stays with the statement; code there moves to a line of its own.
        """
        end, indent = self.line_end(offset), self.indentation(offset)
        text = "".join(f"{end}{indent}{line}" for line in lines)
        stop = self._rest_of_line(offset)
        if stop is None:
            return ByteEdit(offset, offset, text + end + indent)
        return ByteEdit(stop, stop, text)

    def is_joined(self, offset: int) -> bool:
        """Whether the line of an offset goes on in the next one by a backslash: a macro's, or a directive's."""
        start = self._line_start(offset)
        match = SPLICE.search(self.source, start)
        line = self.position(offset)[0]
        return match is not None and line < len(self._starts) and match.end() == self._starts[line]

    def _line_start(self, offset: int) -> int:
        start = self._starts[self.position(offset)[0] - 1]
        return start + len(_BOM) if start == 0 and self.source.startswith(_BOM) else start

    def _rest_of_line(self, offset: int) -> int | None:
        """Where the line ends behind blanks and comments; None where there is something else before that."""
        line = self.position(offset)[0]
        stop = self._starts[line] if line < len(self._starts) else len(self.source)
        while True:
            spliced = Spliced(self.source, offset, stop)
            end = 0
            for group, match in matches(spliced.text):
                if group not in BLANK:
                    return None
                if group == "space" and re.search(r"[\r\n]", match.group()):
                    return spliced.end_offset(end) if end else offset
                if group == "comment":
                    if match.end() == len(spliced.text) and stop < len(self.source):
                        break  # it may go on in the next line
                    end = match.end()
            else:
                return spliced.end_offset(end) if end else offset
            line += 1
            stop = self._starts[line] if line < len(self._starts) else len(self.source)
