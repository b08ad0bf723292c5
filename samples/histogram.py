# $ racedart check samples/histogram.py::racy --grid 4 --block 64 --arg arange:256:i4 --arg zeros:16:i4
# R102 error bins lines 15 15
# $ racedart check samples/histogram.py::fixed --grid 4 --block 64 --arg arange:256:i4 --arg zeros:16:i4
# clean
# result: np.full(16, 16)
"""Threads of all blocks add into the bins of one histogram."""

from numba import cuda


@cuda.jit
def racy(keys, bins):
    i = cuda.grid(1)
    if i < keys.size:
        bins[keys[i] % bins.size] += 1


@cuda.jit
def fixed(keys, bins):
    i = cuda.grid(1)
    if i < keys.size:
        cuda.atomic.add(bins, keys[i] % bins.size, 1)
