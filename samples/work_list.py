# $ racedart check samples/work_list.py::racy --grid 2 --block 64 --arg arange:128:i4 --arg zeros:64:i4 --arg zeros:1:i4
# R102 error length lines 16 17
# R102 error length lines 17 17
# $ racedart check samples/work_list.py::fixed --grid 2 --block 64 --arg arange:128:i4 --arg zeros:64:i4 --arg zeros:1:i4
# clean
# result: np.array([64])
"""Threads append the odd values to a list, whose length they all read and write."""

from numba import cuda


@cuda.jit
def racy(values, items, length):
    value = values[cuda.grid(1)]
    if value % 2:
        items[length[0]] = value
        length[0] += 1


@cuda.jit
def fixed(values, items, length):
    value = values[cuda.grid(1)]
    if value % 2:
        items[cuda.atomic.add(length, 0, 1)] = value
