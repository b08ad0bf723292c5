# $ racedart check samples/tree_sum.py::racy --grid 2 --block 128 --arg arange:256:i4 --arg zeros:2:i4
# R102 error part lines 17 20
# R102 error part lines 20 20
# $ racedart check samples/tree_sum.py::fixed --grid 2 --block 128 --arg arange:256:i4 --arg zeros:2:i4
# clean
# result: np.arange(256).reshape(2, 128).sum(1)
"""A block sums its elements in a tree; each level needs the level below to be complete."""

from numba import cuda, int32


@cuda.jit
def racy(values, out):
    part = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    # The first level reads what other threads have just written here.
    part[t] = values[cuda.grid(1)]
    step = 64
    while step > 0:
        part[t] += part[t + step] if t < step else 0
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


@cuda.jit
def fixed(values, out):
    part = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    part[t] = values[cuda.grid(1)]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = part[0]
