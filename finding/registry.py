"""The rules, read from one Markdown file for each (finding/rules).

A file has a front matter of simple `key: value` lines between two `---` (id, name, level, summary) and the
sections Definition, Why it matters, Bad, Good and Fix.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from racedart.finding.errors import UsageError
from racedart.finding.model import Level

SECTIONS = ("Definition", "Why it matters", "Bad", "Good", "Fix")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. sections: heading -> Markdown text. text: the whole page without its front matter."""

    id: str
    name: str
    level: Level
    summary: str
    sections: Mapping[str, str]
    text: str


@functools.cache
def rules() -> tuple[Rule, ...]:
    """All rules, by id."""
    folder = resources.files("racedart.finding.rules")
    files = [entry for entry in folder.iterdir() if entry.name.endswith(".md")]
    return tuple(
        sorted(
            (parse_rule(entry.read_text(encoding="utf-8"), entry.name) for entry in files), key=lambda rule: rule.id
        )
    )


def rule(rule_id: str) -> Rule:
    """The rule of an id or a name. Raises UsageError for one that does not exist."""
    for candidate in rules():
        if rule_id.lower() in {candidate.id.lower(), candidate.name.lower()}:
            return candidate
    known = [candidate.id for candidate in rules()] + [candidate.name for candidate in rules()]
    close = difflib.get_close_matches(rule_id, known, 1, 0.5)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise UsageError(f"no rule {rule_id!r}{hint or '.'} `racedart rules` lists them")


def parse_rule(text: str, name: str) -> Rule:
    """A rule from the text of its file. Raises ValueError naming what is missing."""
    match = re.fullmatch(r"---\n(.*?)\n---\n(.*)", text, re.DOTALL)
    if match is None:
        raise ValueError(f"{name}: no front matter between two lines of ---")
    fields = dict(line.split(": ", 1) for line in match.group(1).splitlines())
    missing = {"id", "name", "level", "summary"} - fields.keys()
    if missing:
        raise ValueError(f"{name}: the front matter lacks {', '.join(sorted(missing))}")
    body = match.group(2).strip()
    parts = re.split(r"^## (.+)$", body, flags=re.MULTILINE)
    sections = {heading: content.strip() for heading, content in zip(parts[1::2], parts[2::2], strict=True)}
    if tuple(sections) != SECTIONS:
        raise ValueError(f"{name}: the sections are {', '.join(sections)}, not {', '.join(SECTIONS)}")
    return Rule(fields["id"], fields["name"], Level(fields["level"]), fields["summary"], sections, body)
