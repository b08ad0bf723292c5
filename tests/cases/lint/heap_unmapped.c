/* racedart lint: M101 at MAP-HERE; clean with -DFIXED */
/* Heap arrays used in a target region with no map clause: only the pointers travel. */
#include <stdio.h>
#include <stdlib.h>
#define N 1000

int main(void) {
  float *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b), *c = malloc(N * sizeof *c);
  for (int i = 0; i < N; i++) {
    a[i] = (float)i;
    b[i] = 1.0f;
  }
#ifdef FIXED
#pragma omp target teams distribute parallel for map(to : a[0 : N], b[0 : N]) map(from : c[0 : N])
#else
#pragma omp target teams distribute parallel for /* MAP-HERE */
#endif
  for (int i = 0; i < N; i++)
    c[i] = a[i] + b[i];
  printf("%g\n", c[N - 1]);
  int bad = c[N - 1] != (float)N;
  free(a);
  free(b);
  free(c);
  return bad;
}
