/* racedart lint: M105 M202 at MAP-HERE; clean with -DFIXED */
/* A struct is mapped, the heap block behind its pointer member is not. */
#include <stdio.h>
#include <stdlib.h>

struct series {
  int n;
  double *y;
};

int main(void) {
  struct series s = {64, calloc(64, sizeof(double))};
#ifdef FIXED
#pragma omp target teams distribute parallel for map(to : s.n) map(tofrom : s.y[0 : s.n])
#else
#pragma omp target teams distribute parallel for map(tofrom : s) /* MAP-HERE */
#endif
  for (int i = 0; i < s.n; i++)
    s.y[i] += 2.0 * i;
  printf("%g\n", s.y[63]);
  int bad = s.y[63] != 126.0;
  free(s.y);
  return bad;
}
