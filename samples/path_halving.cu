// $ racedart check samples/path_halving.cu::compress --grid 1 --block 64 --arg arange:64:i4 --arg zeros:64:i4
// R102 error parent lines 18 19
// $ racedart check samples/path_halving.cu::compress --grid 1 --block 64 --arg arange:64:i4 --arg zeros:64:i4 --define FIXED
// clean
// result: np.zeros(64)
// Union-find: every node looks for its root while others shorten the paths on which it walks.
extern "C" __global__ void compress(const int* order, int* parent) {
  int v = order[threadIdx.x];
  // A chain: each node under the one before it.
  parent[v] = v > 0 ? v - 1 : 0;
  __syncthreads();
#ifdef FIXED
  int at = v;
  while (atomicOr(&parent[at], 0) != at) at = atomicOr(&parent[at], 0);
  atomicExch(&parent[v], at);
#else
  int at = v;
  while (parent[at] != at) at = parent[at];
  parent[v] = at;
#endif
}
