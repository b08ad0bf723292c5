// $ racedart check samples/reused_storage.cu::spread --grid 1 --block 64 --arg arange:64:i4 --arg zeros:64:i4
// R102 error held lines 9 11
// $ racedart check samples/reused_storage.cu::spread --grid 1 --block 64 --arg arange:64:i4 --arg zeros:64:i4 --define FIXED
// clean
// result: 64 * np.arange(64) - 2016
// Two uses of one shared array: the second must wait until everyone has read the first.
__device__ int total(int value, int* held) {
  int t = threadIdx.x, sum = 0;
  held[t] = value;
  __syncthreads();
  for (int k = 0; k < 64; ++k) sum += held[k];
#ifdef FIXED
  __syncthreads();
#endif
  return sum;
}

extern "C" __global__ void spread(const int* values, int* out) {
  __shared__ int held[64];
  int t = threadIdx.x;
  int count = total(1, held);
  out[t] = count * values[t] - total(values[t], held);
}
