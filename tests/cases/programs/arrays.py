# verdict: clean
# output: element 6.0, rows [5.0, 4.0, 8.0], column [7.0, 8.0, 9.0]
# output: transposed [5.0, 7.0, 5.0, 5.0], viewed int32
# output: pinned 15.0 mapped 4.0 managed 5.0, mapped for a while [1.0, 2.0, 3.0, 4.0]
# output: records [(0, 0.0), (9, 2.5), (2, 5.0)]
# output: events True True, callback 0 of 3
# output: empty 0, grid-stride 499500.0, In unchanged 3.0, Out 9.0
# output: interface (3, 4) <f4 True
import numpy as np
from numba import cuda

a = np.arange(12, dtype=np.float32).reshape(3, 4)
d = cuda.to_device(a)
element = d[1, 2]
d[0] = 5
rows = d.copy_to_host()[:, 0].tolist()
d[:, 1] = np.array([7, 8, 9], np.float32)
print(f"element {element}, rows {rows}, column {d.copy_to_host()[:, 1].tolist()}")
print(f"transposed {d.T.copy_to_host()[:, 0].tolist()}, viewed {d.view('i4').dtype}")


@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


pinned = cuda.pinned_array(5, np.float32)
pinned[:] = 3
mapped = cuda.mapped_array(5, np.float32)
mapped[:] = 3
managed = cuda.managed_array(5, np.float32)
managed[:] = 4
stream = cuda.stream()
increment[1, 32, stream](mapped)
increment[1, 32](managed)
stream.synchronize()
first = np.arange(4, dtype=np.float32)
with cuda.pinned(a), cuda.mapped(first) as on_device:
    increment[1, 32](on_device)
print(f"pinned {pinned.sum()} mapped {mapped[0]} managed {managed[4]}, mapped for a while {first.tolist()}")


@cuda.jit
def fill(records):
    i = cuda.grid(1)
    if i < records.size:
        records[i].number = i
        records[i].value = i * 2.5


@cuda.jit
def mark(record):
    record.number = 9


records = cuda.to_device(np.zeros(3, np.dtype([("number", np.int32), ("value", np.float64)], align=True)))
fill[1, 32](records)
host = records.copy_to_host()
mark[1, 1](host[1])
print("records", host.tolist())

start, end = cuda.event(), cuda.event()
start.record(stream)
called = []
stream.add_callback(lambda s, status, arg: called.append((status, arg)), 3)
end.record(stream)
end.synchronize()
end.wait(stream)
print(f"events {start.elapsed_time(end) >= 0} {start.query()}, callback {called[0][0]} of {called[0][1]}")


@cuda.jit
def total(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(out, 0, x[i])


empty = cuda.device_array(0, np.float32)
increment[1, 32](empty)
out = np.zeros(1)
with stream.auto_synchronize(), cuda.defer_cleanup():
    x = cuda.to_device(np.arange(1000.0), stream)
    total[2, 64, stream](x, out)


@cuda.jit
def double_into(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * 3
        x[i] = 0


kept, given = np.full(4, 3.0), np.zeros(4)
double_into.forall(4)(cuda.In(kept), cuda.Out(given))
print(f"empty {empty.copy_to_host().size}, grid-stride {out[0]}, In unchanged {kept[0]}, Out {given[0]}")
d = cuda.to_device(a)
interface = d.__cuda_array_interface__
print("interface", interface["shape"], interface["typestr"], (cuda.as_cuda_array(d).copy_to_host() == a).all())
