// $ racedart check samples/transpose.cu::transpose --grid 2,2 --block 16,16 --arg arange:32x32:i4 --arg zeros:32x32:i4 --arg 32
// R102 error tile lines 13 17
// $ racedart check samples/transpose.cu::transpose --grid 2,2 --block 16,16 --arg arange:32x32:i4 --arg zeros:32x32:i4 --arg 32 --define FIXED
// clean
// result: np.arange(1024).reshape(32, 32).T
// A tile is transposed through shared memory; its columns are read by other threads than wrote its rows.
constexpr int SIDE = 16;

__global__ void transpose(const int* in, int* out, int width) {
  __shared__ int tile[SIDE][SIDE + 1];
  int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
  // The row of this thread.
  tile[threadIdx.y][threadIdx.x] = in[y * width + x];
#ifdef FIXED
  __syncthreads();
#endif
  int turned = tile[threadIdx.x][threadIdx.y];
  x = blockIdx.y * SIDE + threadIdx.x;
  y = blockIdx.x * SIDE + threadIdx.y;
  out[y * width + x] = turned;
}
