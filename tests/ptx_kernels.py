"""Small kernels in PTX for tests of the engine: text, launch and check in one call."""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from racedart.shadow.check import check_launch
from racedart.shadow.launch import Buffer, Kernel, Launch, Param, Pointer
from racedart.shadow.outcome import Options, Outcome

REGISTERS = """
\t.reg .pred %p<16>;
\t.reg .b16 %h<16>;
\t.reg .b32 %r<32>;
\t.reg .b64 %rd<32>;
\t.reg .f32 %f<16>;
\t.reg .f64 %fd<16>;
"""


def module(body: str, params: Sequence[str] = (), declarations: str = "") -> str:
    """A PTX module with one kernel `k`; params: PTX types of p0, p1, ...

    Each line of the body is given a `.loc` of its own: line n of the body is line n of `k.cu`, from 1.
    """
    lines = []
    for number, line in enumerate(body.strip("\n").splitlines(), 1):
        text = line.strip()
        lines.append(f"\t{text}" if text.endswith(":") or not text else f"\t.loc 1 {number} 1\n\t{text}")
    declared = ", ".join(f".param .{kind} p{k}" for k, kind in enumerate(params))
    return (
        f".version 8.0\n.target sm_90\n.address_size 64\n{declarations}\n"
        f".visible .entry k({declared})\n{{{REGISTERS}" + "\n".join(lines) + '\n}\n.file 1 "k.cu"\n'
    )


COMPARE_WITH_GPU = bool(os.environ.get("RACEDART_COMPARE_WITH_GPU"))


def assert_same(here: NDArray[Any], on_gpu: NDArray[Any]) -> None:
    """Equal bytes, but for the bits of a NaN, which are the host's."""
    if here.dtype.kind == "f":
        np.testing.assert_array_equal(np.isnan(here), np.isnan(on_gpu))
        here, on_gpu = np.nan_to_num(here, nan=0.0), np.nan_to_num(on_gpu, nan=0.0)
    np.testing.assert_array_equal(bits(here), bits(on_gpu))


def run_on_gpu(launch: Launch, arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Run a launch through CuPy on copies of the arrays, one for each buffer; what it leaves in them."""
    import cupy

    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(launch.kernel.ptx)
        file.flush()
        function = cupy.RawModule(path=file.name).get_function(launch.kernel.entry)
    memory = [cupy.asarray(array) for array in arrays]
    arguments: list[Any] = []
    for param in launch.params:
        if param.pointers:
            (pointer,) = param.pointers
            arguments.append(np.uint64(memory[pointer.buffer].data.ptr + pointer.offset))
        else:
            arguments.append(np.frombuffer(param.data, f"u{len(param.data)}")[0])
    function(launch.grid, launch.block, tuple(arguments), shared_mem=launch.shared_bytes)
    cupy.cuda.Device().synchronize()
    return [cupy.asnumpy(array) for array in memory]


def launch_of(
    ptx: str,
    arguments: Sequence[Any] = (),
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (1, 1, 1),
    shared_bytes: int = 0,
    entry: str = "k",
) -> Launch:
    """A launch: arrays become buffers named a0, a1, ... by parameter, NumPy scalars parameters."""
    params: list[Param] = []
    buffers: list[Buffer] = []
    for number, argument in enumerate(arguments):
        if isinstance(argument, np.ndarray):
            params.append(Param(struct.pack("<Q", 0), (Pointer(0, len(buffers)),)))
            buffers.append(Buffer(f"a{number}", argument))
        else:
            params.append(Param(argument.tobytes()))
    kernel = Kernel(ptx, entry, entry, "ptx")
    return Launch(kernel, grid, block, shared_bytes, tuple(params), tuple(buffers))


def check_ptx(ptx: str, *arguments: Any, options: Options | None = None, **launch: Any) -> Outcome:
    """Check a launch of kernel `k`; arrays are written back.

    With RACEDART_COMPARE_WITH_GPU set, a launch without a finding also runs on the GPU, and must leave the same
    bytes in every array.
    """
    made = launch_of(ptx, arguments, **launch)
    before = [buffer.array.copy() for buffer in made.buffers]
    outcome = check_launch(made, options or Options())
    if COMPARE_WITH_GPU and not outcome.findings and not outcome.reasons:
        for buffer, on_gpu in zip(made.buffers, run_on_gpu(made, before), strict=True):
            assert_same(buffer.array, on_gpu)
    return outcome


def assert_clean(outcome: Outcome) -> None:
    """Neither a finding nor a reason to doubt that there is none."""
    assert not outcome.findings
    assert not outcome.reasons


def line_pairs(outcome: Outcome) -> set[tuple[str, int, int]]:
    """Rule and lines of each race finding, the smaller line first."""
    return {
        (f.rule, *sorted((f.location.line, f.related[0].line)))  # type: ignore[misc]  # sorted gives two
        for f in outcome.findings
        if f.rule.startswith("R1")
    }


def rules(outcome: Outcome) -> list[str]:
    """The rules of the findings, in order."""
    return [finding.rule for finding in outcome.findings]


def bits(array: NDArray[Any]) -> NDArray[Any]:
    """An array's bits, so that NaN compares equal to itself."""
    return array.view(f"u{array.dtype.itemsize}")
