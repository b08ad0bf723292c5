// $ racedart check samples/last_warp.cu::sum --grid 1 --block 64 --arg arange:64:i4 --arg zeros:1:i4
// R105 warning part lines 15 15
// $ racedart check samples/last_warp.cu::sum --grid 1 --block 64 --arg arange:64:i4 --arg zeros:1:i4 --define FIXED
// clean
// result: np.array([2016])
// The last steps of a reduction by one warp, as written for GPUs whose warps ran in lock-step.
__device__ void last_steps(volatile int* part, int t) {
  for (int step = 16; step > 0; step /= 2) {
#ifdef FIXED
    int right = part[t + step];
    __syncwarp();
    part[t] += right;
    __syncwarp();
#else
    part[t] += part[t + step];
#endif
  }
}

extern "C" __global__ void sum(const int* values, int* out) {
  __shared__ int part[64];
  int t = threadIdx.x;
  part[t] = values[t];
  __syncthreads();
  if (t < 32) part[t] += part[t + 32];
  __syncthreads();
  if (t < 32) last_steps(part, t);
  if (t == 0) out[0] = part[0];
}
