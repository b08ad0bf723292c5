"""A progress bar on a terminal for runs that take more than a second."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

PATIENCE = 1.0
"""Seconds before a bar appears."""


class BlockBar:
    """Shows the blocks of a run that have ended, on standard error; gone when the run ends."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._bar: Progress | None = None
        self._begun = 0.0

    def __enter__(self) -> BlockBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def update(self, done: int, blocks: int) -> None:
        """Take note of a run's progress; all blocks done ends it."""
        now = time.monotonic()
        if done >= blocks:
            self._end()
        elif not self._begun:
            self._begun = now
        elif self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=blocks)
        elif now - self._begun > PATIENCE:
            columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TextColumn("blocks"))
            self._bar = Progress(*columns, TimeRemainingColumn(), console=self._console, transient=True)
            self._bar.add_task("", completed=done, total=blocks)
            self._bar.start()

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._bar, self._begun = None, 0.0
