"""Speed of launches whose accesses are proved free of races, against the same launches with no access checked.

Prints a Markdown table: kernel, sites proved of all sites, the times of a run with every access checked, with the
proof and with no check at all, the ratio of the latter two, and the time that the proof takes once.
Run it on an idle machine: `python benchmarks/proved_kernels.py > benchmarks/results/proved_kernels-DATE.md`.
"""

from __future__ import annotations

import datetime
import platform
import time

import numpy as np
from cpu_engine import launches
from racedart.shadow.cpu.device import Device
from racedart.shadow.cpu.engine import run
from racedart.shadow.cpu.program import load_program, read_kernel
from racedart.shadow.frontends import cuda_kernel, make_launch
from racedart.shadow.instrument.flow import Shape
from racedart.shadow.instrument.proof import prove
from racedart.shadow.launch import Launch

TRANSPOSE = """
extern "C" __global__ void transpose(int n, const float* a, float* b) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = a[y * n + x];
  __syncthreads();
  b[(blockIdx.x * 16 + threadIdx.y) * n + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""
SIDE = 512
REPEATS = 7


def transpose() -> Launch:
    """The launch of a tiled transpose."""
    square = np.ones((SIDE, SIDE), np.float32)
    grid = (SIDE // 16, SIDE // 16)
    return make_launch(cuda_kernel(TRANSPOSE, "transpose"), grid, (16, 16), (SIDE, square, square.copy()))


def seconds(launch: Launch, plans: list[frozenset[int]]) -> list[float]:
    """Least time of a run for each set of unchecked sites, on fresh memory, without compilation.

    The runs take turns, so that whatever else the machine does meets all of them.
    """
    programs = [load_program(launch.kernel.ptx, launch.kernel.entry, "exact", "", sites) for sites in plans]
    best = [float("inf")] * len(plans)
    for _ in range(REPEATS):
        for k, program in enumerate(programs):
            device = Device(program, launch)
            start = time.perf_counter()
            run(program, launch, device, seed=0, deadline=lambda: None)
            best[k] = min(best[k], time.perf_counter() - start)
    return best


def main() -> None:
    """Print the table."""
    print(f"# Launches that are proved free of races, {datetime.date.today()}, {platform.machine()}")
    print(f"\nLeast of {REPEATS} runs each, taking turns; times in ms.\n")
    print("| kernel | sites proved | all checked | proved | unchecked | proved / unchecked | proof |")
    print("|---|---|---|---|---|---|---|")
    for name, launch in {
        **{name: made for name, (made, _) in launches().items()},
        "transpose": transpose(),
    }.items():
        module, plan = read_kernel(launch.kernel.ptx, launch.kernel.entry)
        start = time.perf_counter()
        proved = prove(module, plan, Shape.of(launch))
        took = time.perf_counter() - start
        full, some, none = seconds(launch, [frozenset(), proved, frozenset(plan.access)])
        print(
            f"| {name} | {len(proved)} of {len(plan.access)} | {full * 1e3:.1f} | {some * 1e3:.1f} | "
            f"{none * 1e3:.1f} | {some / none:.2f} | {took * 1e3:.0f} |"
        )


if __name__ == "__main__":
    main()
