// $ racedart check samples/particle_forces.cu::forces --grid 1 --block 32 --arg arange:32:i4 --arg zeros:32:i4
// R102 error force lines 16 17
// R102 error force lines 17 17
// $ racedart check samples/particle_forces.cu::forces --grid 1 --block 32 --arg arange:32:i4 --arg zeros:32:i4 --define FIXED
// clean
// result: 32 * np.arange(32) - np.arange(32).sum()
// Each pair of particles is computed once, and its force added to both.
extern "C" __global__ void forces(const int* x, int* force) {
  int i = threadIdx.x;
  for (int j = i + 1; j < blockDim.x; ++j) {
    int f = x[i] - x[j];
#ifdef FIXED
    atomicAdd(&force[i], f);
    atomicSub(&force[j], f);
#else
    force[i] += f;
    force[j] -= f;
#endif
  }
}
