// $ racedart check samples/double_buffer.cu::smooth --grid 1 --block 64 --arg arange:64:f4 --arg 4
// R102 error now lines 19 21
// R102 error now lines 19 22
// $ racedart check samples/double_buffer.cu::smooth --grid 1 --block 64 --arg arange:64:f4 --arg 4 --define FIXED
// clean
// Two buffers alternate, so that one barrier a step is enough; with one buffer it is not.
#ifdef FIXED
constexpr int BUFFERS = 2;
#else
constexpr int BUFFERS = 1;
#endif

extern "C" __global__ void smooth(float* row, int steps) {
  __shared__ float now[BUFFERS][66];
  int t = threadIdx.x;
  float mine = row[t];
  for (int s = 0; s < steps; ++s) {
    float* buffer = now[s % BUFFERS];
    buffer[t + 1] = mine;
    __syncthreads();
    float left = t > 0 ? buffer[t] : mine;
    float right = t < 63 ? buffer[t + 2] : mine;
    mine = (left + mine + right) / 3;
  }
  row[t] = mine;
}
