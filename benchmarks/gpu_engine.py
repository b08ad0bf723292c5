"""Slowdown of kernels under the GPU engine: kernel time by CUDA events, cold shadow, median of 7.

Prints a Markdown table: kernel, time without checks, slowdown with every access checked and with those unchecked
that are proved race-free, and registers. Every run has fresh device memory, so that each shadow word is touched
for the first time. Needs a GPU: `python benchmarks/gpu_engine.py > benchmarks/results/gpu_engine-DATE.md`.
"""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
from cpu_engine import SOURCE as CPU_SOURCE
from racedart.shadow.cpu.device import Device
from racedart.shadow.cpu.engine import NO_WATCH
from racedart.shadow.cpu.program import Program, load_program, read_kernel
from racedart.shadow.frontends import cuda_kernel, make_launch
from racedart.shadow.gpu import driver
from racedart.shadow.gpu.assemble import assemble
from racedart.shadow.gpu.engine import Memories
from racedart.shadow.gpu.program import Loaded, load
from racedart.shadow.instrument.flow import Shape
from racedart.shadow.instrument.proof import prove
from racedart.shadow.launch import Launch

SOURCE = (
    CPU_SOURCE
    + """
extern "C" __global__ void scatter(int n, const int* to, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[to[i]] = i;
}
extern "C" __global__ void counter(int n, const float* x, int* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) atomicAdd(count, 1);
}
extern "C" __global__ void maximum(int n, const int* x, int* best) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > atomicAdd(best, 0)) atomicMax(best, x[i]);
}
extern "C" __global__ void long_histogram(int n, const unsigned* keys, unsigned* bins) {
  __shared__ unsigned local[64];
  if (threadIdx.x < 64) local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[keys[i] % 64], 1u);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
"""
)

N, SIDE = 1 << 24, 1024


def launches() -> Iterator[tuple[str, Launch]]:
    """Each kernel and its launch."""
    random = np.random.default_rng(0)
    x, y = random.random(N, np.float32), np.ones(N, np.float32)
    keys = random.integers(0, 64, N).astype(np.uint32)
    order = random.permutation(N).astype(np.int32)
    square = np.ones((SIDE, SIDE), np.float32)

    def launch(name: str, grid: Any, block: Any, *args: Any) -> Launch:
        return make_launch(cuda_kernel(SOURCE, name), grid, block, args)

    blocks, tiles = N // 256, SIDE // 16
    yield "saxpy", launch("saxpy", blocks, 256, N, 2.0, x, y)
    yield "stencil", launch("stencil", blocks, 256, N, x, y)
    yield "scatter by a permutation", launch("scatter", blocks, 256, N, order, y)
    yield "one hot counter", launch("counter", blocks, 256, N, x, np.zeros(1, np.int32))
    yield "one hot maximum", launch("maximum", blocks, 256, N, order, np.zeros(1, np.int32))
    yield "block reduction", launch("reduce", blocks, 256, N, x, np.zeros(blocks, np.float32))
    yield "block histogram", launch("long_histogram", 1024, 256, N, keys, np.zeros(64, np.uint32))
    yield "tiled matmul", launch("matmul", (tiles, tiles), (16, 16), SIDE, square, square.copy(), square * 0)


def seconds(launch: Launch, program: Program, kernel: Any, loaded: Loaded, repeats: int = 7) -> float:
    """Median kernel time on fresh device memory, after a run to warm up."""
    times = []
    for _ in range(repeats + 1):
        with driver.Allocations() as memory:
            made = Memories(program, launch, Device(program, launch), NO_WATCH, memory)
            loaded.context.upload(made.context())
            took = driver.launch(
                kernel, launch.grid, launch.block, launch.shared_bytes, made.params(), lambda: None
            )
            assert took is not None
            assert made.result().race_count == 0
            times.append(took)
    return statistics.median(times[1:])


def main() -> None:
    """Print the table."""
    print(f"# GPU engine, {datetime.date.today()}, {driver.name()}\n")
    print(
        "Kernel time by CUDA events, fresh shadow for every run, median of 7. `python benchmarks/gpu_engine.py`.\n"
    )
    print("| kernel | threads | without checks | all checked | proved | sites proved | registers |")
    print("|---|---|---|---|---|---|---|")
    for name, launch in launches():
        ptx, entry = launch.kernel.ptx, launch.kernel.entry
        proved = prove(*read_kernel(ptx, entry), Shape.of(launch))
        full, some = load_program(ptx, entry, "exact"), load_program(ptx, entry, "exact", "", proved)
        plain = driver.Code(assemble(ptx, driver.compute_capability())).kernel(entry)
        base = seconds(launch, full, plain, load(full, "exact", False))
        row = [seconds(launch, p, load(p, "exact", False).kernel, load(p, "exact", False)) for p in (full, some)]
        registers = [
            driver.registers(kernel)[0]
            for kernel in (plain, *(load(p, "exact", False).kernel for p in (full, some)))
        ]
        threads = int(np.prod(launch.grid)) * int(np.prod(launch.block))
        print(
            f"| {name} | {threads / 1e6:.1f} M | {base * 1e3:.3f} ms | {row[0] / base:.1f}x | {row[1] / base:.1f}x "
            f"| {len(proved)} of {len(full.plan.access)} | {' -> '.join(map(str, registers))} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
