"""How a report is to look; what it says does not depend on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """color: with terminal colours. quiet: the findings and the summary only."""

    color: bool = False
    quiet: bool = False


PLAIN = Options()
