// $ racedart check samples/tile_halo.cu::blur --grid 2 --block 64 --arg arange:128:i4 --arg zeros:128:i4
// R102 error tile lines 10 16
// $ racedart check samples/tile_halo.cu::blur --grid 2 --block 64 --arg arange:128:i4 --arg zeros:128:i4 --define FIXED
// clean
// result: np.array([0, *(3 * np.arange(1, 127)), 0])
// A tile with its halo in shared memory: the edge threads load what others read.
extern "C" __global__ void blur(const int* in, int* out) {
  __shared__ int tile[66];
  int t = threadIdx.x, i = blockIdx.x * 64 + t, last = gridDim.x * 64 - 1;
  tile[t + 1] = in[i];
  if (t == 0) tile[0] = i > 0 ? in[i - 1] : 0;
  if (t == 63) tile[65] = i < last ? in[i + 1] : 0;
#ifdef FIXED
  __syncthreads();
#endif
  if (i > 0 && i < last) out[i] = tile[t] + tile[t + 1] + tile[t + 2];
}
