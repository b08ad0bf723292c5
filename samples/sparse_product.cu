// $ racedart check samples/sparse_product.cu::product --grid 2 --block 64 --arg arange:128:i4 --arg zeros:16:i4
// R102 error y lines 12 12
// $ racedart check samples/sparse_product.cu::product --grid 2 --block 64 --arg arange:128:i4 --arg zeros:16:i4 --define FIXED
// clean
// result: np.arange(128).reshape(16, 8).sum(1)
// Sparse matrix times vector with one thread an entry: eight entries of a row add into one element.
extern "C" __global__ void product(const int* entries, int* y) {
  int e = blockIdx.x * blockDim.x + threadIdx.x, row = e / 8;
#ifdef FIXED
  atomicAdd(&y[row], entries[e]);
#else
  y[row] += entries[e];
#endif
}
