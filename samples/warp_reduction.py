# $ racedart check samples/warp_reduction.py::racy --grid 1 --block 64 --arg arange:64:i4 --arg zeros:2:i4
# R102 error part lines 20 20
# $ racedart check samples/warp_reduction.py::fixed --grid 1 --block 64 --arg arange:64:i4 --arg zeros:2:i4
# clean
# result: np.arange(64).reshape(2, 32).sum(1)
"""Each warp sums in shared memory; its lanes do not run in lock-step, so every step needs a warp barrier."""

from numba import cuda, int32


@cuda.jit
def racy(values, out):
    part = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    part[t] = values[t]
    cuda.syncwarp()
    step = 16
    while step > 0:
        if t % 32 < step:
            part[t] += part[t + step]
        step //= 2
    if t % 32 == 0:
        out[t // 32] = part[t]


@cuda.jit
def fixed(values, out):
    part = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    part[t] = values[t]
    cuda.syncwarp()
    step = 16
    while step > 0:
        if t % 32 < step:
            part[t] += part[t + step]
        cuda.syncwarp()
        step //= 2
    if t % 32 == 0:
        out[t // 32] = part[t]
