# $ racedart check samples/shift_in_place.py::racy --grid 1 --block 96 --arg arange:96:f4
# R102 error row lines 15 15
# $ racedart check samples/shift_in_place.py::fixed --grid 1 --block 96 --arg arange:96:f4
# clean
# result: np.append(np.arange(1, 96), 95)
"""Every thread moves its right neighbour's element to its own place."""

from numba import cuda


@cuda.jit
def racy(row):
    t = cuda.threadIdx.x
    if t + 1 < row.size:
        row[t] = row[t + 1]


@cuda.jit
def fixed(row):
    t = cuda.threadIdx.x
    right = row[t]
    if t + 1 < row.size:
        right = row[t + 1]
    cuda.syncthreads()
    row[t] = right
