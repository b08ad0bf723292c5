"""The oracle: full history of one location with vector clocks; independent of machine, model and tables.

Definition: every thread has a clock of what it knows of every other thread's progress. An access a of
thread u happens before the present of thread t iff t's clock has reached a's time at u. A collective
barrier joins the clocks of all that take part. Clocks are shared until they differ, and hold no entry
for threads that were never heard of, so that logs of large launches stay affordable.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from racedart.fsm.conflict import conflicts
from racedart.fsm.vocabulary import Access

Thread = TypeVar("Thread", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Past(Generic[Thread]):
    """An access of the history: who, of which kind, at which time of the thread, and the caller's tag."""

    thread: Thread
    access: Access
    time: int
    tag: object


@dataclass
class Oracle(Generic[Thread]):
    """The history of one location. block_of: the block of a thread, which atomic scopes depend on."""

    block_of: Callable[[Thread], Hashable]
    history: list[Past[Thread]] = field(default_factory=list)
    _clocks: dict[Thread, dict[Thread, int]] = field(default_factory=dict)
    _times: dict[Thread, int] = field(default_factory=dict)

    def access(self, thread: Thread, access: Access, tag: object = None) -> list[Past[Thread]]:
        """Perform an access; the earlier ones that conflict with it and that nothing orders before it."""
        clock = self._clocks.get(thread, {})
        block = self.block_of(thread)
        races = [
            past
            for past in self.history
            if past.thread != thread
            and past.time > clock.get(past.thread, 0)
            and conflicts(past.access, access, self.block_of(past.thread) == block)
        ]
        time = self._times.get(thread, 0) + 1
        self._times[thread] = time
        self.history.append(Past(thread, access, time, tag))
        return races

    def sync(self, threads: Iterable[Thread]) -> None:
        """A barrier in which all of the threads take part."""
        members = list(threads)
        joined: dict[Thread, int] = {}
        for thread in members:
            for other, time in self._clocks.get(thread, {}).items():
                joined[other] = max(joined.get(other, 0), time)
        for thread in members:
            if thread in self._times:
                joined[thread] = self._times[thread]
        for thread in members:
            self._clocks[thread] = joined
