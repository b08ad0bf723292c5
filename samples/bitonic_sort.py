# $ racedart check samples/bitonic_sort.py::racy --grid 1 --block 64 --arg arange:64:i4 --arg zeros:64:i4
# R101 error keys lines 25 25
# R102 error keys lines 24 25
# R102 error keys lines 25 28
# $ racedart check samples/bitonic_sort.py::fixed --grid 1 --block 64 --arg arange:64:i4 --arg zeros:64:i4
# clean
# result: np.arange(64)
"""Bitonic sort of one block: every exchange needs the one before it to be complete."""

from numba import cuda, int32


@cuda.jit
def racy(values, out):
    keys = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    keys[t] = values[t] * 37 % 64
    size = 2
    while size <= 64:
        step = size // 2
        cuda.syncthreads()
        while step > 0:
            other = t ^ step
            if other > t and (keys[t] > keys[other]) == (t & size == 0):
                keys[t], keys[other] = keys[other], keys[t]
            step //= 2
        size *= 2
    out[t] = keys[t]


@cuda.jit
def fixed(values, out):
    keys = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    keys[t] = values[t] * 37 % 64
    size = 2
    while size <= 64:
        step = size // 2
        while step > 0:
            cuda.syncthreads()
            other = t ^ step
            if other > t and (keys[t] > keys[other]) == (t & size == 0):
                keys[t], keys[other] = keys[other], keys[t]
            step //= 2
        size *= 2
    cuda.syncthreads()
    out[t] = keys[t]
