/* racedart lint: M201 M202 M203 at MAP-HERE; clean with -DFIXED */
/* A read-only table and a write-only result share one tofrom clause inside a loop. */
#include <stdio.h>
#define N 4096
#define STEPS 10

static double table[N], result[N];

int main(void) {
  for (int i = 0; i < N; i++)
    table[i] = i * 0.5;
#ifdef FIXED
#pragma omp target data map(to : table) map(from : result)
#endif
  for (int s = 0; s < STEPS; s++) {
#ifdef FIXED
#pragma omp target teams distribute parallel for
#else
#pragma omp target teams distribute parallel for map(tofrom : table, result) /* MAP-HERE */
#endif
    for (int i = 0; i < N; i++)
      result[i] = table[i] * s;
  }
  printf("%g\n", result[N - 1]);
  return result[N - 1] != (N - 1) * 0.5 * (STEPS - 1);
}
