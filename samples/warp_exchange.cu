// $ racedart check samples/warp_exchange.cu::reverse --grid 1 --block 64 --arg arange:64:i4 --arg zeros:64:i4
// R102 error lanes lines 10 14
// $ racedart check samples/warp_exchange.cu::reverse --grid 1 --block 64 --arg arange:64:i4 --arg zeros:64:i4 --define FIXED
// clean
// result: np.arange(64).reshape(2, 32)[:, ::-1].ravel()
// The lanes of a warp exchange values through shared memory and rely on running in lock-step.
extern "C" __global__ void reverse(const int* in, int* out) {
  __shared__ int lanes[64];
  int t = threadIdx.x;
  lanes[t] = in[t];
#ifdef FIXED
  __syncwarp();
#endif
  out[t] = lanes[t ^ 31];
}
