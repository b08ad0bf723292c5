"""How a report is to look; what it says does not depend on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """color: with terminal colours. quiet: findings and summary only. show_suppressed: those findings too."""

    color: bool = False
    quiet: bool = False
    show_suppressed: bool = False


PLAIN = Options()
