"""The transition of one shadow word: one Python source that Numba compiles for every engine.

`make_check` binds it to an engine's primitives: relaxed 64-bit load and compare-and-swap of a word, and
`report`, the rare path. What an engine does with a report (append, count, drop) is its own business.

The exact machine sees six classes of (synchronisation, relation); the published machine has the same
six (fsm/tables). A word of another epoch is INIT. Where the state implies the result, nothing is written
(fsm/elide): one load and one look-up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from racedart import fsm
from racedart.shadow import word
from racedart.shadow.outcome import Mode

ACCESSES, CLASSES = 4, 6
SKIP = 0x80
REPORT = 0x40
NEXT = 0x1F


def transition_bytes(mode: Mode) -> NDArray[np.uint8]:
    """The machine as uint8[32 * 4 * 6], by state, access and class: next state | SKIP | REPORT.

    The special codes of the word (WATCHED, OUTSIDE) and every entry of RACE carry REPORT.
    """
    table = np.full((32, ACCESSES, CLASSES), REPORT | word.RACE, np.uint8)
    exact = fsm.exact_table() if mode == "exact" else fsm.published_classes()
    states = exact.shape[0]
    table[:states] = exact
    table[:states][exact == word.RACE] |= REPORT
    if mode == "exact":
        # The sets that need no update are proved for the exact machine only.
        quiet = fsm.skip_table() & (exact != word.RACE)
        table[:states][quiet] |= SKIP
    return table.reshape(-1)


def make_check(
    load: Callable[[Any], Any],
    compare_and_swap: Callable[[Any, Any, Any], Any],
    report: Callable[[Any, Any, Any, Any, Any, Any], None],
    mode: Mode,
) -> Callable[[Any, Any, Any, Any, Any, Any], None]:
    """Build check(thread, mine, place, address, access, site).

    mine: the thread's word with state 0. address: of the shadow word. thread, place and site are only
    handed on: report(thread, place, address, access, site, old word).
    access: 0 read, 1 write, 2 block-scope atomic, 3 device-scope atomic.
    """
    table = transition_bytes(mode)
    state_mask, race = word.STATE_MASK, word.RACE
    epoch_mask, block_mask, barrier_mask = word.EPOCH_MASK, word.BLOCK_MASK, word.BARRIER_MASK
    warp_mask, sync_mask, lane_mask = word.WARP_MASK, word.SYNC_MASK, word.LANE_MASK
    per_state, per_access = ACCESSES * CLASSES, CLASSES
    same, lane, other_warp, other_block, warp_synced, block_synced = (
        int(c)
        for c in (
            fsm.EventClass.US,
            fsm.EventClass.UW,
            fsm.EventClass.UB,
            fsm.EventClass.G,
            fsm.EventClass.WW,
            fsm.EventClass.BB,
        )
    )

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
                elif differs & warp_mask:
                    event = other_warp
                elif differs & sync_mask:
                    event = warp_synced
                elif differs & lane_mask:
                    event = lane
                else:
                    event = same
            entry = table[state * per_state + access * per_access + event]
            if entry & SKIP:
                return
            if entry & REPORT:
                report(thread, place, address, access, site, old)
                if state >= race:
                    return
            if compare_and_swap(address, old, mine | (entry & NEXT)):
                return

    return check
