"""Speed of the CPU engine: time of a checked launch and of the same launch with no access checked.

Prints a Markdown table: kernel, accesses, time of a run without checks, with checks, with checks on two cores,
and nanoseconds for each checked access. Times of one core are processor time, which other programs disturb least.
Run it on an idle machine: `python benchmarks/cpu_engine.py > benchmarks/results/cpu_engine-DATE.md`.
"""

from __future__ import annotations

import datetime
import platform
import time
from typing import Any

import numpy as np
from racedart.shadow.cpu.device import Device
from racedart.shadow.cpu.engine import run
from racedart.shadow.cpu.program import load_program, read_kernel
from racedart.shadow.cpu.runtime import target_machine
from racedart.shadow.frontends import cuda_kernel, make_launch
from racedart.shadow.launch import Launch

SOURCE = """
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void stencil(int n, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i + 1 < n) y[i] = 0.25f * (x[i - 1] + 2 * x[i] + x[i + 1]);
}
extern "C" __global__ void reduce(int n, const float* x, float* out) {
  __shared__ float part[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  part[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int step = 128; step > 0; step >>= 1) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}
extern "C" __global__ void histogram(int n, const unsigned* keys, unsigned* bins) {
  __shared__ unsigned local[64];
  if (threadIdx.x < 64) local[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&local[keys[i] % 64], 1u);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
extern "C" __global__ void matmul(int n, const float* a, const float* b, float* c) {
  __shared__ float left[16][16], right[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int at = 0; at < n; at += 16) {
    left[threadIdx.y][threadIdx.x] = a[row * n + at + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
"""

N, SIDE = 1 << 20, 256


def launches() -> dict[str, tuple[Launch, int]]:
    """Each kernel's launch and the number of accesses that it makes."""
    x, y = np.ones(N, np.float32), np.ones(N, np.float32)
    keys = np.random.default_rng(0).integers(0, 64, N).astype(np.uint32)
    square = np.ones((SIDE, SIDE), np.float32)

    def launch(name: str, grid: Any, block: Any, *args: Any) -> Launch:
        return make_launch(cuda_kernel(SOURCE, name), grid, block, args)

    blocks = N // 256
    tiles = SIDE // 16
    return {
        "saxpy": (launch("saxpy", blocks, 256, N, 2.0, x, y), 3 * N),
        "stencil": (launch("stencil", blocks, 256, N, x, y), 4 * (N - 2)),
        "block reduction": (
            launch("reduce", blocks, 256, N, x, np.zeros(blocks, np.float32)),
            2 * N + blocks * (255 * 3 + 2),
        ),
        "histogram": (
            launch("histogram", blocks, 256, N, keys, np.zeros(64, np.uint32)),
            2 * N + blocks * 64 * 3,
        ),
        "tiled matmul": (
            launch("matmul", (tiles, tiles), (16, 16), SIDE, square, square.copy(), np.zeros_like(square)),
            SIDE * SIDE * tiles * (4 + 32) + SIDE * SIDE,
        ),
    }


def seconds(launch: Launch, *, checked: bool, repeats: int = 7, workers: int = 1) -> tuple[float, float]:
    """Best processor time and wall time of a run on fresh device memory, without compilation."""
    kernel = launch.kernel
    _, plan = read_kernel(kernel.ptx, kernel.entry)
    program = load_program(
        kernel.ptx, kernel.entry, "exact", "", frozenset() if checked else frozenset(plan.access)
    )
    spent, passed = [], []
    for _ in range(repeats):
        device = Device(program, launch)
        start, used = time.perf_counter(), time.process_time()
        run(program, launch, device, seed=0, deadline=lambda: None, workers=workers)
        passed.append(time.perf_counter() - start)
        spent.append(time.process_time() - used)
    return min(spent), min(passed)


def main() -> None:
    """Print the table."""
    print(f"# CPU engine, {datetime.date.today()}, {platform.processor() or platform.machine()}")
    print(f"\n{target_machine().triple}; best of 7 runs; plans without checks for comparison.\n")
    print("| kernel | accesses | unchecked | checked | per checked access | two cores, wall time |")
    print("|---|---|---|---|---|---|")
    for name, (launch, accesses) in launches().items():
        plain, _ = seconds(launch, checked=False)
        full, alone = seconds(launch, checked=True)
        _, both = seconds(launch, checked=True, workers=2)
        each = (full - plain) / accesses * 1e9
        times = f"{plain * 1e3:.0f} ms | {full * 1e3:.0f} ms | {each:.1f} ns | {alone / both:.2f} times faster"
        print(f"| {name} | {accesses / 1e6:.1f} M | {times} |")


if __name__ == "__main__":
    main()
