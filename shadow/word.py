"""The shadow word: what is remembered of the last access to a granule, in 64 bits.

From bit 0: state 5, lane 5, warp 5 (lane and warp are the linear thread index in its block), block 22,
block-barrier count 11, warp-sync count 8, epoch 8. Counts are kept modulo their width: two counts that
differ are different, two that agree may be a multiple of 2^11 (2^8) apart, which can raise a false
alarm (refuted when the race is explained) and can hide nothing. Epoch 0 is never current, so zeroed
memory reads as INIT. More blocks than 2^22 are refused, never aliased.
"""

from __future__ import annotations

from racedart.fsm import State

STATE_BITS, LANE_BITS, WARP_BITS, BLOCK_BITS, BARRIER_BITS, SYNC_BITS, EPOCH_BITS = 5, 5, 5, 22, 11, 8, 8

LANE_SHIFT = STATE_BITS
WARP_SHIFT = LANE_SHIFT + LANE_BITS
BLOCK_SHIFT = WARP_SHIFT + WARP_BITS
BARRIER_SHIFT = BLOCK_SHIFT + BLOCK_BITS
SYNC_SHIFT = BARRIER_SHIFT + BARRIER_BITS
EPOCH_SHIFT = SYNC_SHIFT + SYNC_BITS


def _mask(bits: int, shift: int) -> int:
    """The field as a mask, as a signed 64-bit number."""
    value = ((1 << bits) - 1) << shift
    return value - (1 << 64) if value >> 63 else value


STATE_MASK = _mask(STATE_BITS, 0)
LANE_MASK = _mask(LANE_BITS, LANE_SHIFT)
WARP_MASK = _mask(WARP_BITS, WARP_SHIFT)
BLOCK_MASK = _mask(BLOCK_BITS, BLOCK_SHIFT)
BARRIER_MASK = _mask(BARRIER_BITS, BARRIER_SHIFT)
SYNC_MASK = _mask(SYNC_BITS, SYNC_SHIFT)
EPOCH_MASK = _mask(EPOCH_BITS, EPOCH_SHIFT)

GRID_SHIFT = 40
"""A thread's count of barriers, kept beside the word, holds those of its block, and from this bit on the grid's."""
MAX_BLOCKS = 1 << BLOCK_BITS
EPOCH = 1
"""Epoch of the words of the launch under check; its shadow starts zeroed."""

RACE = int(State.RACE)
WATCHED = 29
"""Not a state: accesses of this granule are logged, not judged."""
OUTSIDE = 30
"""Not a state: no object lives at this granule; an access is out of bounds."""


def special(state: int) -> int:
    """A word of the current epoch that holds one of the codes above and no accessor."""
    return state | EPOCH << EPOCH_SHIFT
