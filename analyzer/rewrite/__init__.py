"""Edits of source files: by byte offset, touching nothing else, written so that no failure damages the source."""

from __future__ import annotations

from racedart.analyzer.rewrite.diff import unified_diff
from racedart.analyzer.rewrite.edits import ByteEdit, apply_edits
from racedart.analyzer.rewrite.layout import Layout
from racedart.analyzer.rewrite.write import BACKUP_SUFFIX, read_source, write_source

__all__ = ["BACKUP_SUFFIX", "ByteEdit", "Layout", "apply_edits", "read_source", "unified_diff", "write_source"]
