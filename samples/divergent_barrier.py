# $ racedart check samples/divergent_barrier.py::racy --grid 1 --block 64 --arg arange:64:i4 --arg zeros:64:i4
# R102 error held lines 19 21
# R201 error - lines 18 20
# $ racedart check samples/divergent_barrier.py::fixed --grid 1 --block 64 --arg arange:64:i4 --arg zeros:64:i4
# clean
# result: np.arange(1, 65)[::-1]
"""A barrier under a condition that is not the same for all threads of the block."""

from numba import cuda, int32


@cuda.jit
def racy(values, out):
    held = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    held[t] = values[t]
    if t < 40:
        cuda.syncthreads()
    held[t] += 1
    cuda.syncthreads()
    out[t] = held[63 - t]


@cuda.jit
def fixed(values, out):
    held = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    held[t] = values[t]
    cuda.syncthreads()
    held[t] += 1
    cuda.syncthreads()
    out[t] = held[63 - t]
