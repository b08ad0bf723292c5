"""What a check of one launch asks for and what it gives: Options and Outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from racedart.finding.model import Finding, Json, Reason

Mode = Literal["exact", "hirace"]
Engine = Literal["cpu", "gpu"]


@dataclass(frozen=True, slots=True)
class Options:
    """How a launch is checked.

    engine: where the kernel runs.
    mode: "exact" (the derived table) or "hirace" (the published table and its conventions).
    seed: of the order in which threads run; equal seeds give equal findings. schedules: how many orders are
    tried (seed, seed + 1, ...). timeout: seconds for one run of the launch, None for no limit; a launch with
    alarms runs again to explain them. memory: bytes that the engine may take for the device memory, its shadow
    and its snapshot. write_back: whether the launch's buffers are given what the kernel wrote. jobs: cores to
    use, 0 for all; findings do not depend on it, results only by the rounding of floating-point atomics.
    progress: called now and then with the blocks that ended and all blocks. prove: leave accesses unchecked that
    are proved free of races (in exact mode).
    """

    engine: Engine = "cpu"
    mode: Mode = "exact"
    seed: int = 0
    schedules: int = 1
    timeout: float | None = None
    memory: int = 8 << 30
    write_back: bool = True
    jobs: int = 0
    progress: Callable[[int, int], None] | None = None
    prove: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of checking one launch; the launch's buffers hold what the kernel wrote.

    reasons: why the check is incomplete; empty when it is complete. statistics: counts by name.
    """

    findings: tuple[Finding, ...]
    reasons: tuple[Reason, ...]
    statistics: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))
