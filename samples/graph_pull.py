# $ racedart check samples/graph_pull.py::racy --grid 2 --block 64 --arg arange:128:i4 --arg zeros:128:i4
# R102 error labels lines 15 15
# $ racedart check samples/graph_pull.py::fixed --grid 2 --block 64 --arg arange:128:i4 --arg zeros:128:i4
# clean
# result: np.minimum(np.arange(128), (np.arange(128) * 3 + 1) % 128)
"""One thread a node pulls the smallest label of its neighbour; labels that change meanwhile go to a second array."""

from numba import cuda


@cuda.jit
def racy(labels, out):
    node = cuda.grid(1)
    neighbour = (node * 3 + 1) % labels.size
    labels[node] = min(labels[node], labels[neighbour])


@cuda.jit
def fixed(labels, out):
    node = cuda.grid(1)
    neighbour = (node * 3 + 1) % labels.size
    out[node] = min(labels[node], labels[neighbour])
