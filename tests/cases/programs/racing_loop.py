# arguments: 3
# verdict: findings
# exit: 0
# launches: 4
# finding: R102 tile 17 18 in 3 launches
# output: ['racing_loop.py', '3'] __main__
import os
import sys
import threading
import numpy as np
from numba import cuda, float32

@cuda.jit
def reverse(a, out, together):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = a[t]
    out[t] = tile[63 - t] if together else tile[t]


a = np.arange(64, dtype=np.float32)
out = np.zeros(64, np.float32)
reverse[1, 64](a, out, False)
assert (out == a).all()
for _ in range(int(sys.argv[1])):
    launcher = threading.Thread(target=lambda: reverse[1, 64](a, out, True))
    launcher.start()
    launcher.join()
print([os.path.basename(sys.argv[0]), *sys.argv[1:]], __name__)
