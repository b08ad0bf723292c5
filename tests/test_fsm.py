"""The machine: the exact table is what the model gives, is proved exact, and differs in the 15 named cells."""

from __future__ import annotations

import csv
import io
import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from racedart import fsm
from racedart.fsm import Access, EventClass, Relation, State, Sync, derive, difference, elide, search, tables
from racedart.fsm.hierarchy import Hierarchy
from racedart.fsm.minimise import minimise
from racedart.fsm.oracle import Oracle
from racedart.fsm.tables import Key, Table

SMALL = [(1, 1, 2), (1, 1, 3), (2, 1, 2), (2, 2, 1), (3, 1, 1), (1, 2, 2), (2, 2, 2)]
LARGE = [(2, 2, 3), (3, 2, 2), (1, 2, 4), (1, 3, 3)]

ATOMS = ("BA", "GA")
CORRECTIONS = {
    **{("READ", a, "W", r): ("WRITE", "WSYNC_ATOM") for a in ATOMS for r in "SW"},
    **{("READ", a, "B", r): ("WRITE", "BSYNC_ATOM") for a in ATOMS for r in "SWB"},
    **{("BATOM_B", a, "B", r): ("BATOM_B", "BATOM") for a in ATOMS for r in "SW"},
    ("WSYNC_ATOM", "GA", "U", "W"): ("WSYNC_ATOM", "WSYNC_ATOM_M"),
}


def test_the_tables_are_total() -> None:
    assert len(State) == 25
    assert len(fsm.EVENTS) == 48
    assert len(fsm.published()) == len(fsm.exact()) == 1200


def test_fifteen_cells_differ_from_the_published_table() -> None:
    found = {
        tuple(part.name for part in c.cell): (c.published.name, c.exact.name) for c in difference.corrections()
    }
    assert found == CORRECTIONS
    equal = sum(fsm.published()[key] == following for key, following in fsm.exact().items())
    assert equal == 1185


def test_the_exact_table_is_what_the_model_gives() -> None:
    assert tables.to_csv(fsm.exact()) == derive.derived_csv()


def test_the_classes_lose_nothing_of_the_exact_table() -> None:
    table = fsm.by_class(fsm.exact())
    for key, following in fsm.exact().items():
        if key[0] != State.RACE:
            assert table[key[0], key[1], fsm.class_of(key[2], key[3])] == following
    with pytest.raises(ValueError, match="BATOM_B"):
        fsm.by_class(fsm.published())


@pytest.mark.parametrize("shape", SMALL, ids=str)
def test_the_exact_table_is_exact(shape: tuple[int, int, int]) -> None:
    assert search.prove(Hierarchy(*shape), fsm.exact()).difference is None


@pytest.mark.parametrize("shape", SMALL, ids=str)
def test_all_skips_together_lose_nothing(shape: tuple[int, int, int]) -> None:
    assert search.prove(Hierarchy(*shape), fsm.exact(), fsm.skips()).difference is None


@pytest.mark.slow
@pytest.mark.parametrize("shape", LARGE, ids=str)
def test_the_exact_table_is_exact_on_larger_hierarchies(shape: tuple[int, int, int]) -> None:
    assert search.prove(Hierarchy(*shape), fsm.exact()).difference is None


@pytest.mark.slow
@pytest.mark.parametrize("shape", LARGE[:3], ids=str)
def test_skips_lose_nothing_on_larger_hierarchies(shape: tuple[int, int, int]) -> None:
    assert search.prove(Hierarchy(*shape), fsm.exact(), fsm.skips()).difference is None


def test_the_published_table_errs() -> None:
    found = search.prove(Hierarchy(1, 1, 2), fsm.published()).difference
    assert found is not None
    assert str(found) == "false alarm: R(t0) WARPSYNC(w0) BA(t0) BA(t1)"


@pytest.mark.parametrize("correction", difference.corrections(), ids=lambda c: "-".join(p.name for p in c.cell))
def test_each_correction_is_needed(correction: difference.Correction) -> None:
    found = correction.effect()
    assert found is not None
    missed = correction.cell[0] == State.WSYNC_ATOM
    assert found.kind == ("missed race" if missed else "false alarm")
    assert (
        replay(found.trace, {**fsm.exact(), correction.cell: correction.published}, Hierarchy(1, 2, 2))
        == found.kind
    )


def replay(trace: tuple[search.Step, ...], table: Table, hierarchy: Hierarchy) -> str:
    """The kind of the difference at the end of a trace, by the vector-clock oracle; "" for none."""
    runner = Runner(hierarchy, table)
    for step in trace[:-1]:
        races, alarm = runner.step(step)
        assert races == alarm
        assert not races
    races, alarm = runner.step(trace[-1])
    return "" if races == alarm else "false alarm" if alarm else "missed race"


class Runner:
    """Machine and oracle side by side on one trace. The machine's clocks are counters, as in a shadow word."""

    def __init__(self, hierarchy: Hierarchy, table: Table) -> None:
        self.hierarchy = hierarchy
        self.table = table
        self.oracle: Oracle[int] = Oracle(hierarchy.block)
        self.state = State.INIT
        self.last = 0
        self.stamp = (0, 0)
        self.warps = [0] * (hierarchy.blocks * hierarchy.warps)
        self.blocks = [0] * hierarchy.blocks

    def step(self, step: search.Step) -> tuple[bool, bool]:
        """Whether the oracle sees a race, and whether the machine does."""
        h = self.hierarchy
        if step.what == "warp":
            self.warps[step.number] += 1
            self.oracle.sync(range(step.number * h.lanes, (step.number + 1) * h.lanes))
            return False, False
        if step.what == "block":
            self.blocks[step.number] += 1
            size = h.lanes * h.warps
            self.oracle.sync(range(step.number * size, (step.number + 1) * size))
            return False, False
        access, thread = Access[step.what], step.number
        races = bool(self.oracle.access(thread, access))
        relation = h.relation(thread, self.last) if self.state != State.INIT else Relation.S
        sync = Sync.U
        if relation != Relation.G and self.blocks[h.block(thread)] != self.stamp[0]:
            sync = Sync.B
        elif relation in {Relation.S, Relation.W} and self.warps[h.warp(thread)] != self.stamp[1]:
            sync = Sync.W
        key: Key = (self.state, access, sync, relation)
        self.state = self.table[key]
        self.last = thread
        self.stamp = (self.blocks[h.block(thread)], self.warps[h.warp(thread)])
        return races, self.state == State.RACE


def every_step(hierarchy: Hierarchy) -> list[search.Step]:
    accesses = [search.Step(a.name, t) for t in range(hierarchy.threads) for a in Access]
    warps = [search.Step("warp", w) for w in range(hierarchy.blocks * hierarchy.warps)]
    return [*accesses, *warps, *(search.Step("block", b) for b in range(hierarchy.blocks))]


def test_every_short_trace_agrees_with_vector_clocks() -> None:
    """All traces of length 4 on 1 x 2 x 2, against the literal oracle and literal counters."""
    hierarchy = Hierarchy(1, 2, 2)
    steps = every_step(hierarchy)
    checked = 0
    for first in steps[:4]:  # by symmetry the first access may be thread 0's
        for rest in itertools.product(steps, repeat=3):
            runner = Runner(hierarchy, fsm.exact())
            for step in (first, *rest):
                races, alarm = runner.step(step)
                assert races == alarm, (first, rest)
                checked += 1
                if races:
                    break
    assert checked > 10_000


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_long_traces_agree_with_vector_clocks(seed: int) -> None:
    """Random traces on 3 x 4 x 32 whose threads are few, so that they meet, until the first race."""
    generator = random.Random(seed)
    hierarchy = Hierarchy(3, 4, 32)
    runner = Runner(hierarchy, fsm.exact())
    threads = generator.sample(range(hierarchy.threads), 5)
    threads += [t ^ 1 for t in threads]
    favourites = generator.choice([[0], [2, 3], [0, 2, 3], [0, 1, 2, 3]])
    for _ in range(60):
        kind = generator.random()
        if kind < 0.2:
            step = search.Step("warp", hierarchy.warp(generator.choice(threads)))
        elif kind < 0.45:
            step = search.Step("block", hierarchy.block(generator.choice(threads)))
        else:
            step = search.Step(Access(generator.choice(favourites)).name, generator.choice(threads))
        races, alarm = runner.step(step)
        assert races == alarm
        if races:
            return


def test_correcting_only_some_cells_is_not_enough() -> None:
    corrected = difference.corrections()
    some = {**fsm.published(), **{c.cell: c.exact for c in corrected[:-1]}}
    assert search.prove(Hierarchy(1, 2, 2), some).difference is not None
    everything = {**fsm.published(), **{c.cell: c.exact for c in corrected}}
    assert search.prove(Hierarchy(1, 2, 2), everything).difference is None


def test_the_machine_minimises_to_21_states() -> None:
    classes = minimise(fsm.by_class(fsm.exact()))
    assert len(classes) == 21
    merged = {frozenset(s.name for s in states) for states in classes if len(states) > 1}
    assert merged == {
        frozenset({"BSYNC", "BWSYNC"}),
        frozenset({"BATOM", "BSYNC_ATOM"}),
        frozenset({"BATOM_W", "BSYNC_ATOM_W"}),
        frozenset({"BATOM_B", "BSYNC_ATOM_B"}),
    }


SAME_BLOCK = ("US", "UW", "UB", "WW")
SKIPPED: dict[tuple[str, str], tuple[str, ...]] = {
    **{(s, a): tuple(c.name for c in EventClass) for s, a in (("GREAD", "R"), ("GATOM_G", "GA"))},
    **{(s, "R"): SAME_BLOCK for s in ("BREAD", "B_MR_BSYNC")},
    **{(s, a): SAME_BLOCK for s in ("BATOM_B", "BSYNC_ATOM_B") for a in ATOMS},
    ("GATOM_B", "GA"): SAME_BLOCK,
    **{(s, "R"): ("US", "UW") for s in ("WREAD", "MR_WSYNC", "W_MR_BWSYNC")},
    **{(s, a): ("US", "UW") for s in ("BATOM_W", "BSYNC_ATOM_W", "WSYNC_ATOM_M") for a in ATOMS},
    ("GATOM_W", "GA"): ("US", "UW"),
    **{(s, "R"): ("US",) for s in ("READ", "WSYNC", "BSYNC", "BWSYNC")},
    **{("WRITE", a): ("US",) for a in ("R", "W", *ATOMS)},
    **{(s, a): ("US",) for s in ("WSYNC_ATOM", "BSYNC_ATOM", "BATOM") for a in ATOMS},
    ("GATOM", "GA"): ("US",),
}
"""The events that need no update of the word, written out by hand from the published analysis."""


def test_the_events_that_need_no_update() -> None:
    derived = elide.derive()
    assert derived == fsm.skips()
    expected = {(s, a, c) for (s, a), classes in SKIPPED.items() for c in classes}
    assert {(s.name, a.name, c.name) for s, a, c in derived if s != State.RACE} == expected


def test_one_skip_too_many_is_refused() -> None:
    """The proof can fail: a self-loop that must be written loses races when it is skipped."""
    wrong = (State.READ, Access.R, EventClass.WW)
    assert wrong not in fsm.skips()
    proof = search.prove(Hierarchy(1, 2, 2), fsm.exact(), frozenset({*fsm.skips(), wrong}))
    assert proof.difference is not None


def test_renderings() -> None:
    rows = list(csv.reader(io.StringIO(fsm.render("csv"))))
    assert tuple(rows[0]) == ("state", "access", "sync", "relation", "next")
    assert len(rows) == 1201
    assert {tuple(row[:4]): row[4] for row in rows[1:]} == {
        tuple(part.name for part in key): following.name for key, following in fsm.exact().items()
    }
    markdown = fsm.render("md")
    assert all(state.name in markdown for state in State)
    dot = fsm.render("dot")
    assert dot.startswith("digraph")
    assert dot.count("{") == dot.count("}")
    assert fsm.render("csv", "hirace") == tables.to_csv(fsm.published())
    with pytest.raises(ValueError, match="svg"):
        fsm.render("svg")


def test_columns_agree_with_the_table() -> None:
    table = fsm.by_column(fsm.exact())
    assert table.shape == (25, 4, 9)
    assert table.dtype == np.uint8
    for (state, access, column), following in np.ndenumerate(table):
        assert fsm.exact()[tables.cell(State(state), Access(access), fsm.COLUMNS[column])] == following
