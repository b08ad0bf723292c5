// $ racedart check samples/blelloch_scan.cu::scan --grid 1 --block 64 --arg ones:64:i4
// R102 error tree lines 24 33
// R102 error tree lines 25 33
// $ racedart check samples/blelloch_scan.cu::scan --grid 1 --block 64 --arg ones:64:i4 --define FIXED
// clean
// result: np.arange(64)
// Exclusive prefix sums (Blelloch): a tree of sums up, then the same tree down.
extern "C" __global__ void scan(int* values) {
  __shared__ int tree[64];
  int t = threadIdx.x;
  tree[t] = values[t];
  __syncthreads();
  for (int step = 1; step < 64; step *= 2) {
    int at = (t + 1) * 2 * step - 1;
    if (at < 64) tree[at] += tree[at - step];
    __syncthreads();
  }
  if (t == 0) tree[63] = 0;
  __syncthreads();
  for (int step = 32; step > 0; step /= 2) {
    int at = (t + 1) * 2 * step - 1;
    if (at < 64) {
      int left = tree[at - step];
      tree[at - step] = tree[at];
      tree[at] += left;
    }
#ifdef FIXED
    __syncthreads();
#else
    __syncwarp();
#endif
  }
  values[t] = tree[t];
}
