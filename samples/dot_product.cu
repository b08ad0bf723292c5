// $ racedart check samples/dot_product.cu::dot --grid 2 --block 64 --arg arange:128:f4 --arg ones:128:f4 --arg zeros:1:f4
// R102 error out lines 20 20
// $ racedart check samples/dot_product.cu::dot --grid 2 --block 64 --arg arange:128:f4 --arg ones:128:f4 --arg zeros:1:f4 --define FIXED
// clean
// result: np.array([8128])
// The sums of all blocks go into one element.
extern "C" __global__ void dot(const float* a, const float* b, float* out) {
  __shared__ float part[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  part[t] = a[i] * b[i];
  __syncthreads();
  for (int step = 32; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) {
#ifdef FIXED
    atomicAdd(out, part[0]);
#else
    *out += part[0];
#endif
  }
}
