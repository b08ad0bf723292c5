"""The transition of one shadow word: one Python source that Numba compiles for every engine.

`make_check` binds it to an engine's primitives: relaxed 64-bit load and compare-and-swap of a word, and
`report`, the rare path. What an engine does with a report (append, count, drop) is its own business.

A word tells nine pairs of (synchronisation, relation) apart (fsm/tables). A word of another epoch is INIT.
Where the state implies the result, nothing is written (fsm/elide): one load and one look-up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray
from racedart import fsm
from racedart.shadow import word
from racedart.shadow.outcome import Mode

ACCESSES, EVENTS = 4, len(fsm.COLUMNS)
SKIP = 0x80
REPORT = 0x40
NEXT = 0x1F


def transition_bytes(mode: Mode) -> NDArray[np.uint8]:
    """The machine as uint8[32 * 4 * 9], by state, access and event: next state | SKIP | REPORT.

    The special codes of the word (WATCHED, OUTSIDE) and every entry of RACE carry REPORT.
    """
    table = np.full((32, ACCESSES, EVENTS), REPORT | word.RACE, np.uint8)
    following = fsm.by_column(fsm.exact() if mode == "exact" else fsm.published())
    states = following.shape[0]
    table[:states] = following
    table[:states][following == word.RACE] |= REPORT
    table[word.RACE] = REPORT | word.RACE
    if mode == "exact":
        # The set of events that need no update is proved for the exact machine only.
        table[:states][fsm.skip_columns() & (following != word.RACE)] |= SKIP
    return table.reshape(-1)


def make_check(
    load: Callable[[Any], Any],
    compare_and_swap: Callable[[Any, Any, Any], Any],
    report: Callable[[Any, Any, Any, Any, Any, Any], None],
    mode: Mode,
    look_up: Callable[[Any], Any] | None = None,
) -> Callable[[Any, Any, Any, Any, Any, Any], Any]:
    """Build check(thread, mine, place, address, access, site) -> the word that was reported, else 0.

    look_up: gives a byte of the machine's table by its index, for engines that keep the table themselves.

    mine: the thread's word with state 0. address: of the shadow word. thread, place and site are only
    handed on: report(thread, place, address, access, site, old word).
    access: 0 read, 1 write, 2 block-scope atomic, 3 device-scope atomic.
    """
    table = transition_bytes(mode)
    state_mask, race = word.STATE_MASK, word.RACE
    epoch_mask, block_mask, barrier_mask = word.EPOCH_MASK, word.BLOCK_MASK, word.BARRIER_MASK
    warp_mask, sync_mask, lane_mask = word.WARP_MASK, word.SYNC_MASK, word.LANE_MASK
    per_state, per_access = ACCESSES * EVENTS, EVENTS
    same, lane, other_warp, other_block, warp_synced, block_synced = (
        fsm.COLUMNS.index(column)
        for column in (
            (fsm.Sync.U, fsm.Relation.S),
            (fsm.Sync.U, fsm.Relation.W),
            (fsm.Sync.U, fsm.Relation.B),
            (fsm.Sync.U, fsm.Relation.G),
            (fsm.Sync.W, fsm.Relation.S),
            (fsm.Sync.B, fsm.Relation.S),
        )
    )

    @register_jitable  # type: ignore[untyped-decorator]  # Numba carries no types
    def own_table(index: Any) -> Any:
        return table[index]

    entry_at = own_table if look_up is None else look_up

    def check(thread, mine, place, address, access, site):  # type: ignore[no-untyped-def]  # typed by Numba
        while True:
            old = load(address)
            differs = old ^ mine
            if differs & epoch_mask:
                state = 0
                event = same
            else:
                state = old & state_mask
                if differs & block_mask:
                    event = other_block
                elif differs & barrier_mask:
                    event = block_synced
                    if differs & warp_mask:
                        event += 2
                    elif differs & lane_mask:
                        event += 1
                elif differs & warp_mask:
                    event = other_warp
                elif differs & sync_mask:
                    event = warp_synced
                    if differs & lane_mask:
                        event += 1
                elif differs & lane_mask:
                    event = lane
                else:
                    event = same
            entry = entry_at(state * per_state + access * per_access + event)
            if entry & SKIP:
                return 0
            reported = 0
            if entry & REPORT:
                report(thread, place, address, access, site, old)
                if state >= race:
                    return old
                reported = old
            if compare_and_swap(address, old, mine | (entry & NEXT)):
                return reported

    return check
