// $ racedart check samples/block_scope.cu::count --grid 4 --block 64 --arg arange:256:u4 --arg zeros:16:u4
// R104 error bins lines 13 13
// $ racedart check samples/block_scope.cu::count --grid 4 --block 64 --arg arange:256:u4 --arg zeros:16:u4 --define FIXED
// clean
// result: np.full(16, 16)
// An atomic of block scope on bins that all blocks share.
extern "C" __global__ void count(const unsigned* keys, unsigned* bins) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned bin = keys[i] % 16;
#ifdef FIXED
  atomicAdd(&bins[bin], 1u);
#else
  atomicAdd_block(&bins[bin], 1u);
#endif
}
