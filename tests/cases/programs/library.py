# verdict: clean
# output: ufunc [[0.0, 2.0], [4.0, 6.0]] reduced 45.0
# output: gufunc [1.0, 5.0], reduction 499500.0
# output: random True
# output: specialised [4.0, 5.0] declared [1.0, 1.0, 1.0]
# output: device True 1 9.0 132
import numpy as np
from numba import cuda, float32, guvectorize, vectorize
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32


@vectorize(["float32(float32, float32)"], target="cuda")
def add(x, y):
    return x + y


@guvectorize(["void(float32[:], float32[:])"], "(n)->()", target="cuda")
def row_sum(x, out):
    value = float32(0)
    for i in range(x.shape[0]):
        value += x[i]
    out[0] = value


@cuda.jit
def draw(states, out):
    i = cuda.grid(1)
    out[i] = xoroshiro128p_uniform_float32(states, i)


@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@cuda.jit("void(float32[:])", fastmath=True, max_registers=32, cache=True)
def one(x):
    x[cuda.grid(1)] = 1


a = np.arange(4, dtype=np.float32).reshape(2, 2)
print("ufunc", add(a, a).tolist(), "reduced", add.reduce(np.arange(10, dtype=np.float32)))
print(f"gufunc {row_sum(a).tolist()}, reduction {cuda.reduce(lambda x, y: x + y)(np.arange(1000.0))}")
numbers = np.zeros(64, np.float32)
draw[1, 64](create_xoroshiro128p_states(64, seed=1), numbers)
print("random", bool((numbers >= 0).all() and (numbers < 1).all() and len(set(numbers.tolist())) > 60))
special = increment.specialize(a[1])
special[1, 32](a[1])
special.forall(2)(a[1])
declared = np.zeros(3, np.float32)
one[1, 3](declared)
print("specialised", a[1].tolist(), "declared", declared.tolist())
device = cuda.get_current_device()
print(
    "device",
    cuda.is_available(),
    len(cuda.gpus),
    ".".join(map(str, device.compute_capability)),
    device.MULTIPROCESSOR_COUNT,
)
