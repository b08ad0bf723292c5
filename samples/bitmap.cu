// $ racedart check samples/bitmap.cu::mark --grid 2 --block 64 --arg arange:128:i4 --arg zeros:4:u4
// R102 error bits lines 13 13
// $ racedart check samples/bitmap.cu::mark --grid 2 --block 64 --arg arange:128:i4 --arg zeros:4:u4 --define FIXED
// clean
// result: np.packbits(np.arange(128) % 3 == 0, bitorder="little").view("u4")
// Threads set bits of shared words.
extern "C" __global__ void mark(const int* values, unsigned* bits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (values[i] % 3 == 0) {
#ifdef FIXED
    atomicOr(&bits[i / 32], 1u << (i % 32));
#else
    bits[i / 32] |= 1u << (i % 32);
#endif
  }
}
