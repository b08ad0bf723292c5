# verdict: incomplete
# exit: 1
# launches: 1
# reason: program ended with exit code 1
# output: [1.0, 2.0, 3.0, 4.0]
import numpy as np
from numba import cuda

frozen = np.array([1.0, 2.0, 3.0, 4.0])
on_device = cuda.to_device(frozen)


@cuda.jit
def copy_frozen(out):
    out[cuda.grid(1)] = frozen[cuda.grid(1)]


@cuda.jit
def copy_captured(out):
    out[cuda.grid(1)] = on_device[cuda.grid(1)]


out = np.zeros(4)
copy_frozen[1, 4](out)
print(out.tolist())
copy_captured[1, 4](out)
