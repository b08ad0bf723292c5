# $ racedart check samples/stencil.py::racy --grid 2 --block 64 --arg arange:128:i4 --arg zeros:128:i4
# R102 error values lines 15 15
# $ racedart check samples/stencil.py::fixed --grid 2 --block 64 --arg arange:128:i4 --arg zeros:128:i4
# clean
# result: np.array([0, *(4 * np.arange(1, 127)), 0])
"""A three-point stencil: in place it reads neighbours that other threads are writing."""

from numba import cuda


@cuda.jit
def racy(values, out):
    i = cuda.grid(1)
    if 0 < i < values.size - 1:
        values[i] = values[i - 1] + 2 * values[i] + values[i + 1]
    out[i] = values[i]


@cuda.jit
def fixed(values, out):
    i = cuda.grid(1)
    if 0 < i < values.size - 1:
        out[i] = values[i - 1] + 2 * values[i] + values[i + 1]
