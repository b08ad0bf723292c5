# $ racedart check samples/shared_count.py::racy --grid 2 --block 64 --arg zeros:2:i4
# R102 error hits lines 17 17
# $ racedart check samples/shared_count.py::fixed --grid 2 --block 64 --arg zeros:2:i4
# clean
# result: np.full(2, 64)
"""Threads count with `+=` into one element of shared memory: updates get lost."""

from numba import cuda, int32


@cuda.jit
def racy(out):
    hits = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        hits[0] = 0
    cuda.syncthreads()
    hits[0] += 1
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = hits[0]


@cuda.jit
def fixed(out):
    hits = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        hits[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(hits, 0, 1)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = hits[0]
