// $ racedart check samples/shared_histogram.cu::histogram --grid 2 --block 128 --arg arange:256:u4 --arg zeros:16:u4
// R103 error local lines 10 14
// $ racedart check samples/shared_histogram.cu::histogram --grid 2 --block 128 --arg arange:256:u4 --arg zeros:16:u4 --define FIXED
// clean
// result: np.full(16, 16)
// Blocks count in shared memory; the bins must be zero before anyone counts, and complete before they are added.
extern "C" __global__ void histogram(const unsigned* keys, unsigned* bins) {
  __shared__ unsigned local[16];
  int t = threadIdx.x;
  if (t < 16) local[t] = 0;
#ifdef FIXED
  __syncthreads();
#endif
  atomicAdd(&local[keys[blockIdx.x * blockDim.x + t] % 16], 1u);
  __syncthreads();
  if (t < 16) atomicAdd(&bins[t], local[t]);
}
