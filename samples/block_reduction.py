# $ racedart check samples/block_reduction.py::racy --grid 2 --block 128 --arg arange:256:i4 --arg zeros:2:i4
# R102 error sums lines 19 21
# $ racedart check samples/block_reduction.py::fixed --grid 2 --block 128 --arg arange:256:i4 --arg zeros:2:i4
# clean
# result: np.arange(256).reshape(2, 128).sum(1)
"""Warps sum their elements by shuffles; the first warp adds up their sums, which must be there by then."""

from numba import cuda, int32


@cuda.jit
def racy(values, out):
    sums = cuda.shared.array(4, int32)
    t = cuda.threadIdx.x
    part = values[cuda.grid(1)]
    for step in (16, 8, 4, 2, 1):
        part += cuda.shfl_down_sync(0xFFFFFFFF, part, step)
    if t % 32 == 0:
        sums[t // 32] = part
    if t == 0:
        out[cuda.blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3]


@cuda.jit
def fixed(values, out):
    sums = cuda.shared.array(4, int32)
    t = cuda.threadIdx.x
    part = values[cuda.grid(1)]
    for step in (16, 8, 4, 2, 1):
        part += cuda.shfl_down_sync(0xFFFFFFFF, part, step)
    if t % 32 == 0:
        sums[t // 32] = part
    cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3]
