"""The same work on many programs, on all cores; an error in one leaves the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

from racedart.finding.errors import RacedartError

Item = TypeVar("Item")
Result = TypeVar("Result")


def each(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    jobs: int | None = None,
    done: Callable[[Item], None] = lambda item: None,
) -> list[Result | RacedartError]:
    """What `work` gives for each item, in order, or the user's error that it raised.

    work, items and results must be picklable. jobs: processes, all cores by default. done: called here as items
    end.
    """
    workers = min(jobs or os.cpu_count() or 1, len(items))
    if workers <= 1:
        found = []
        for item in items:
            found.append(_caught(work, item))
            done(item)
        return found
    with ProcessPoolExecutor(workers) as pool:
        futures = {pool.submit(_caught, work, item): number for number, item in enumerate(items)}
        for future in as_completed(futures):
            done(items[futures[future]])
        return [future.result() for future in futures]


def _caught(work: Callable[[Item], Result], item: Item) -> Result | RacedartError:
    try:
        return work(item)
    except RacedartError as error:
        return error
