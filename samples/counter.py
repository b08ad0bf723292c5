# $ racedart check samples/counter.py::racy --grid 2 --block 64 --arg arange:128:i4 --arg zeros:1:i4
# R102 error hits lines 14 14
# $ racedart check samples/counter.py::fixed --grid 2 --block 64 --arg arange:128:i4 --arg zeros:1:i4
# clean
# result: np.array([43])
"""All threads count into one element of global memory."""

from numba import cuda


@cuda.jit
def racy(values, hits):
    if values[cuda.grid(1)] % 3 == 0:
        hits[0] += 1


@cuda.jit
def fixed(values, hits):
    if values[cuda.grid(1)] % 3 == 0:
        cuda.atomic.add(hits, 0, 1)
