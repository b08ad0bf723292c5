# verdict: incomplete
# exit: 0
# launches: 1
# reason: launch block.x is 2048
# reason: exception raises exceptions
# output: CUDA_ERROR_INVALID_VALUE
# output: out of memory True
# output: ValueError: Kernel launch configuration was not specified
# output: no raise
import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import CudaAPIError


@cuda.jit
def fill(x):
    x[cuda.grid(1)] = 1


@cuda.jit(debug=True, opt=False)
def strict(x):
    if x[0] > 5:
        raise ValueError("too big")


x = cuda.to_device(np.zeros(2048))
try:
    fill[1, 2048](x)
except CudaAPIError as error:
    print(str(error))
try:
    cuda.device_array(1 << 40, np.uint8)
except CudaAPIError as error:
    print("out of memory", "OUT_OF_MEMORY" in str(error))
try:
    fill(x)
except ValueError as error:
    print("ValueError:", str(error).strip())
strict[1, 1](x)
print("no raise")
