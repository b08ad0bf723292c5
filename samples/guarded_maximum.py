# $ racedart check samples/guarded_maximum.py::racy --grid 2 --block 64 --arg arange:128:i4 --arg zeros:1:i4
# R103 error largest lines 14 15
# $ racedart check samples/guarded_maximum.py::fixed --grid 2 --block 64 --arg arange:128:i4 --arg zeros:1:i4
# clean
# result: np.array([127])
"""Reading the maximum before updating it saves atomics, and races with those of other threads."""

from numba import cuda


@cuda.jit
def racy(values, largest):
    value = values[cuda.grid(1)]
    if largest[0] < value:
        cuda.atomic.max(largest, 0, value)


@cuda.jit
def fixed(values, largest):
    cuda.atomic.max(largest, 0, values[cuda.grid(1)])
