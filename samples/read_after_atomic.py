# $ racedart check samples/read_after_atomic.py::racy --grid 1 --block 64 --arg arange:64:i4 --arg zeros:1:i4 --arg zeros:64:i4
# R103 error total lines 14 15
# $ racedart check samples/read_after_atomic.py::fixed --grid 1 --block 64 --arg arange:64:i4 --arg zeros:1:i4 --arg zeros:64:i4
# clean
# result: np.full(64, 2016)
"""Threads add to a total and read it while others are still adding."""

from numba import cuda


@cuda.jit
def racy(values, total, out):
    t = cuda.threadIdx.x
    cuda.atomic.add(total, 0, values[t])
    out[t] = total[0]


@cuda.jit
def fixed(values, total, out):
    t = cuda.threadIdx.x
    cuda.atomic.add(total, 0, values[t])
    cuda.syncthreads()
    out[t] = total[0]
