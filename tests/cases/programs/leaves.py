# verdict: findings
# exit: 7
# launches: 1
# finding: R101 x 13 13 in 1 launches
# reason: program ended with exit code 7
import os

import numpy as np
from numba import cuda

@cuda.jit
def clash(x):
    x[0] = cuda.threadIdx.x


clash[1, 64](np.zeros(4))
os._exit(7)
