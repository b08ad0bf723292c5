"""The launches of one program: which are checked, what they gave, written down as they happen.

The record is a file of JSON lines, one for each event, so that whatever ends the program leaves what was found:
`{"launch": a run of this launch alone, "again": [numbers of earlier findings]}`, `{"unchecked": kernel}`,
`{"reason": a run with this reason}`, `{"internal": traceback}`. A finding or reason that an earlier launch had is
written once; later ones refer to it by its number.
"""

from __future__ import annotations

import json
import os
import re
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from racedart.finding.errors import RacedartError
from racedart.finding.model import Finding, Location, Reason
from racedart.finding.run import Run
from racedart.shadow.builds import Checked, check_builds, identity
from racedart.shadow.check import run_launch
from racedart.shadow.launch import Launch
from racedart.shadow.outcome import Options


@dataclass(frozen=True, slots=True)
class Selection:
    """Which launches are checked: kernels whose name a regular expression matches, a range, each n-th of these."""

    kernel: str | None = None
    first: int = 1
    last: int | None = None
    sample: int = 1


class RefusedLaunch(Exception):
    """A launch that a driver refuses; the text says why."""


@dataclass
class Session:
    """Checks the launches of a program one after another, whatever thread they come from."""

    record: str
    options: Options
    thorough: bool
    selection: Selection
    count: int = 0
    matched: int = 0
    seen: dict[object, int] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def launch(
        self, kernel: str, make: Callable[[bool], Launch], arguments: tuple[str, ...], place: Location | None
    ) -> None:
        """Check a launch, or run it unchecked if it is not selected.

        make: gives the launch of the optimised build (True) or of the unoptimised one. Raises RefusedLaunch for a
        launch that cannot be made or does not fit the kernel. A fault of racedart ends the process.
        """
        with self.lock:
            self._launch(kernel, make, arguments, place)

    def _launch(
        self, kernel: str, make: Callable[[bool], Launch], arguments: tuple[str, ...], place: Location | None
    ) -> None:
        self.count += 1
        try:
            if self._selected(kernel):
                self._write_launch(check_builds(make, self.options, self.thorough, arguments), place)
            else:
                for reason in run_launch(make(True), self.options):
                    self.incomplete(replace(reason, location=place))
                self._write({"unchecked": kernel})
        except RacedartError as error:
            self.incomplete(Reason("launch", f"launch {self.count}, of {kernel}, did not run: {error}", place))
            raise RefusedLaunch(str(error)) from None
        except Exception:  # the program must not go on as if its launch had been checked
            self._write({"internal": traceback.format_exc()})
            os._exit(70)

    def incomplete(self, reason: Reason) -> None:
        """Note why the check of the program is incomplete."""
        key = ("reason", reason.kind, reason.message, reason.location)
        if key not in self.seen:
            self.seen[key] = -1
            self._write({"reason": Run((), (reason,), (), "").to_json()})

    def _selected(self, kernel: str) -> bool:
        chosen = self.selection
        if self.count < chosen.first or (chosen.last is not None and self.count > chosen.last):
            return False
        if chosen.kernel is not None and not re.search(chosen.kernel, kernel):
            return False
        self.matched += 1
        return (self.matched - 1) % chosen.sample == 0

    def _write_launch(self, checked: Checked, place: Location | None) -> None:
        fresh: list[Finding] = []
        again: list[int] = []
        for finding in checked.findings:
            key = identity(finding)
            if key in self.seen:
                again.append(self.seen[key])
            else:
                self.seen[key] = sum(number >= 0 for number in self.seen.values())
                fresh.append(finding)
        reasons = []
        for reason in checked.reasons:
            key = ("reason", reason.kind, reason.message, reason.location)
            if key not in self.seen:
                self.seen[key] = -1
                reasons.append(reason)
        records = tuple(replace(record, index=self.count, place=place) for record in checked.records)
        run = Run(tuple(fresh), tuple(reasons), records, "", None, checked.sources)
        self._write({"launch": run.to_json(), "again": again})

    def _write(self, event: dict[str, Any]) -> None:
        line = json.dumps(event) + "\n"
        # One write for a line: processes that the program forks append to the same file.
        file = os.open(self.record, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)
