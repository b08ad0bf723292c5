"""The explanation of races: order and pairs of a trace against the vector-clock oracle."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from racedart.fsm import Access
from racedart.fsm.oracle import Oracle
from racedart.shadow.explain.pairs import racing_pairs
from racedart.shadow.explain.trace import Trace
from racedart.shadow.instrument.events import Event, Kind, Scope

KINDS: tuple[Kind, ...] = ("read", "write", "atomic", "atomic")
SCOPES: tuple[Scope, ...] = ("", "", "cta", "gpu")


def events() -> dict[int, Event]:
    """Sites 0..7: two of each access kind."""
    return {
        site: Event(
            "global",
            Access(site % 4),
            KINDS[site % 4],
            4,
            1,
            SCOPES[site % 4],
            volatile=False,
            orders=False,
        )
        for site in range(8)
    }


class Simulation:
    """Random accesses of one word by the threads of a launch, with barriers and exits, in some order."""

    def __init__(self, seed: int, blocks: int, threads: int) -> None:
        self.random = random.Random(seed)
        self.blocks, self.threads = blocks, threads
        self.clocks = np.zeros((blocks * threads, 2), np.int64)
        self.alive = [True] * (blocks * threads)
        self.oracle: Oracle[int] = Oracle(lambda t: t // threads)
        self.rows: list[tuple[int, int]] = []
        self.stamps: list[tuple[int, int]] = []
        self.racing: set[tuple[int, int]] = set()

    def run(self, steps: int) -> None:
        for _ in range(steps):
            choice = self.random.random()
            living = [t for t, alive in enumerate(self.alive) if alive]
            if not living:
                return
            thread = self.random.choice(living)
            if choice < 0.15:
                self.meet(0, [t for t in self.block_of(thread) if self.alive[t]])
            elif choice < 0.3:
                first = thread % self.threads // 32 * 32 + thread // self.threads * self.threads
                last = min(first + 32, (thread // self.threads + 1) * self.threads)
                self.meet(1, [t for t in range(first, last) if self.alive[t]])
            elif choice < 0.36:
                self.alive[thread] = False
            else:
                self.access(thread, self.random.randrange(8))

    def block_of(self, thread: int) -> Iterator[int]:
        first = thread // self.threads * self.threads
        yield from range(first, first + self.threads)

    def meet(self, kind: int, members: list[int]) -> None:
        self.oracle.sync(members)
        self.clocks[members, kind] += 1

    def access(self, thread: int, site: int) -> None:
        number = len(self.rows)
        for past in self.oracle.access(thread, Access(site % 4), number):
            self.racing.add((self.rows[int(str(past.tag))][1], site))
        self.rows.append((thread, site))
        self.stamps.append((int(self.clocks[thread, 0]), int(self.clocks[thread, 1])))

    def trace(self) -> Trace:
        thread = np.array([t for t, _ in self.rows], np.int64)
        zeros = np.zeros(len(self.rows), np.int64)
        return Trace(
            word=zeros,
            shared=zeros,
            thread=thread % self.threads,
            block=thread // self.threads,
            site=np.array([s for _, s in self.rows], np.int64),
            barriers=np.array([b for b, _ in self.stamps], np.int64),
            syncs=np.array([w for _, w in self.stamps], np.int64),
            before=zeros,
            place=zeros,
            exits=self.clocks,
            threads=self.threads,
            complete=True,
        )


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([(1, 2), (1, 40), (2, 33), (3, 3), (1, 70)]), st.integers(2, 120))
def test_the_pairs_of_sites_are_those_of_the_oracle(seed: int, shape: tuple[int, int], steps: int) -> None:
    """Order with barriers, warp synchronisations and exits; thinning loses no pair of sites."""
    simulation = Simulation(seed, *shape)
    simulation.run(steps)
    trace = simulation.trace()
    found = set()
    for rows in trace.words():
        for pair in racing_pairs(trace, rows, events()):
            found.add((int(trace.site[pair.earlier]), int(trace.site[pair.later])))
    assert {tuple(sorted(p)) for p in found} == {tuple(sorted(p)) for p in simulation.racing}


def test_every_pair_that_is_named_races() -> None:
    simulation = Simulation(7, 2, 40)
    simulation.run(300)
    trace = simulation.trace()
    assert simulation.racing
    for rows in trace.words():
        for pair in racing_pairs(trace, rows, events()):
            assert pair.earlier < pair.later
            assert (int(trace.site[pair.earlier]), int(trace.site[pair.later])) in simulation.racing


def test_words_of_equal_shape_have_alike_pairs() -> None:
    """Only the first word of a shape is examined; its threads and clocks may have other numbers."""
    known: dict[tuple[tuple[int, int], bytes], set[tuple[int, int, str, str]]] = {}
    alike = 0
    for shape in ((1, 2), (2, 3), (1, 40)):
        for seed in range(1000):
            simulation = Simulation(seed, *shape)
            simulation.run(3)
            trace = simulation.trace()
            for rows in trace.words():
                found = {
                    (int(trace.site[p.earlier]), int(trace.site[p.later]), p.rule, p.relation)
                    for p in racing_pairs(trace, rows, events())
                }
                key = shape, trace.shape(rows)
                alike += key in known and bool(found)
                assert known.setdefault(key, found) == found
    assert alike > 20
