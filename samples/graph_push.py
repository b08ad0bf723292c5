# $ racedart check samples/graph_push.py::racy --grid 2 --block 64 --arg arange:128:i4 --arg zeros:16:i4
# R102 error ranks lines 15 15
# $ racedart check samples/graph_push.py::fixed --grid 2 --block 64 --arg arange:128:i4 --arg zeros:16:i4
# clean
# result: np.bincount(np.arange(128) * 5 % 16, np.arange(128) // 8 + 1)
"""One thread an edge pushes the rank of its source to its target; several edges have one target."""

from numba import cuda


@cuda.jit
def racy(edges, ranks):
    edge = edges[cuda.grid(1)]
    source, target = edge // 8, edge * 5 % 16
    ranks[target] += source + 1


@cuda.jit
def fixed(edges, ranks):
    edge = edges[cuda.grid(1)]
    source, target = edge // 8, edge * 5 % 16
    cuda.atomic.add(ranks, target, source + 1)
