# $ racedart check samples/prefix_scan.py::racy --grid 1 --block 64 --arg ones:64:i4
# R102 error sums lines 19 21
# $ racedart check samples/prefix_scan.py::fixed --grid 1 --block 64 --arg ones:64:i4
# clean
# result: np.arange(1, 65)
"""Prefix sums in place (Hillis and Steele): the writes of a step must wait for its reads."""

from numba import cuda, int32


@cuda.jit
def racy(values):
    sums = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    sums[t] = values[t]
    cuda.syncthreads()
    step = 1
    while step < 64:
        left = sums[t - step] if t >= step else 0
        # Without a barrier here a thread overwrites what its right neighbour has yet to read.
        sums[t] += left
        cuda.syncthreads()
        step *= 2
    values[t] = sums[t]


@cuda.jit
def fixed(values):
    sums = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    sums[t] = values[t]
    cuda.syncthreads()
    step = 1
    while step < 64:
        left = sums[t - step] if t >= step else 0
        cuda.syncthreads()
        sums[t] += left
        cuda.syncthreads()
        step *= 2
    values[t] = sums[t]
