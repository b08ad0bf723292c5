# verdict: incomplete
# exit: 1
# launches: 1
# reason: program ended with exit code 1
# output: before
import numpy as np
from numba import cuda


@cuda.jit
def fill(x):
    x[cuda.grid(1)] = 1


fill[1, 32](np.zeros(32))
print("before")
raise ValueError("the program's own")
