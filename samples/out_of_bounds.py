# $ racedart check samples/out_of_bounds.py::racy --grid 2 --block 64 --arg arange:100:i4 --arg zeros:100:i4
# R301 error out line 15
# R301 error values line 15
# $ racedart check samples/out_of_bounds.py::fixed --grid 2 --block 64 --arg arange:100:i4 --arg zeros:100:i4
# clean
# result: np.arange(1, 101) % 100
"""The grid has more threads than the arrays have elements."""

from numba import cuda


@cuda.jit
def racy(values, out):
    i = cuda.grid(1)
    out[i] = (values[i] + 1) % 100


@cuda.jit
def fixed(values, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = (values[i] + 1) % 100
