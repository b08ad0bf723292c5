// $ racedart check 'samples/matmul.cu::multiply<8>' --grid 2,2 --block 8,8 --arg ones:16x16:f4 --arg ones:16x16:f4 --arg zeros:16x16:f4 --arg 16
// R102 error left lines 15 18
// R102 error right lines 16 18
// $ racedart check 'samples/matmul.cu::multiply<8>' --grid 2,2 --block 8,8 --arg ones:16x16:f4 --arg ones:16x16:f4 --arg zeros:16x16:f4 --arg 16 --define FIXED
// clean
// result: np.full((16, 16), 16)
// Tiled matrix product: the next tiles are loaded while slower threads still read the current ones.
template <int T>
__global__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float left[T][T];
  __shared__ float right[T][T];
  int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int at = 0; at < n; at += T) {
    left[threadIdx.y][threadIdx.x] = a[row * n + at + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < T; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
#ifdef FIXED
    __syncthreads();
#endif
  }
  c[row * n + column] = sum;
}
