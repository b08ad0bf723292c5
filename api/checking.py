"""The Python interface: check a kernel, name a kernel of a CUDA source."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from racedart.finding.errors import UsageError
from racedart.finding.fingerprint import fingerprinted
from racedart.finding.run import Run
from racedart.version import __version__

if TYPE_CHECKING:
    from racedart.shadow.frontends import CudaKernel
    from racedart.shadow.launch import Launch
    from racedart.shadow.outcome import Engine, Options

ENGINES = ("auto", "cpu", "gpu")
MODES = ("exact", "hirace")


def cuda_kernel(
    source_or_path: str | os.PathLike[str],
    name: str,
    options: Sequence[str] = (),
    defines: Sequence[str] = (),
    include_dirs: Sequence[str | os.PathLike[str]] = (),
) -> CudaKernel:
    """A kernel of a CUDA C++ or PTX source, for `check`.

    source_or_path: path of a .cu or .ptx file, or the text itself. name: qualified, with template arguments
    if it is a template ("ns::scale<float, 4>"), or a PTX symbol. options: of NVRTC. defines: "NAME" or
    "NAME=VALUE". Raises InputError if the file cannot be read.
    """
    from racedart.shadow import frontends

    return frontends.cuda_kernel(source_or_path, name, options, defines, include_dirs)


def check(
    kernel: Any,
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    *args: Any,
    shared_bytes: int = 0,
    engine: str = "auto",
    mode: str = "exact",
    seed: int = 0,
    schedules: int = 1,
    timeout: float | None = None,
    thorough: bool = False,
    jobs: int = 0,
    prove: bool = True,
    progress: Callable[[int, int], None] | None = None,
    variables: Mapping[str, Any] = MappingProxyType({}),
) -> Run:
    """Check one launch of a kernel.

    kernel: a Numba `@cuda.jit` dispatcher, or `cuda_kernel(...)`. grid in blocks, block in threads. args: arrays
    of NumPy, Numba, CuPy or PyTorch, which are written back as the kernel leaves them, and scalars. shared_bytes:
    dynamic shared memory. mode: "exact", or "hirace" for the published table and HiRace's conventions. seed: of the
    order in which threads run. schedules: how many orders are tried. timeout: seconds for each run, None for no
    limit. thorough: also check the unoptimised build, where every access of the source stands, and mark what only
    that one shows. jobs: cores to use, 0 for all; findings do not depend on it. progress: called now and then
    with the blocks of a run that ended, and all its blocks. variables: values of the `__constant__` and
    `__device__` variables of CUDA C++, by name.

    Raises UsageError for a launch that does not fit the kernel, InputError for code that does not compile,
    MissingDependencyError where a package is needed that is not installed.
    """
    from racedart.shadow import frontends
    from racedart.shadow.builds import check_builds
    from racedart.shadow.frontends.device_arrays import on_host
    from racedart.shadow.launch import short_text

    options = replace(_options(engine, mode, seed, schedules, timeout, jobs), progress=progress, prove=prove)
    _require(options.engine == "cpu" or not variables, "variables can be set with the CPU engine only")

    host_args, give_back = on_host(args)

    def make(optimised: bool) -> Launch:
        return frontends.make_launch(kernel, grid, block, host_args, shared_bytes, optimised, variables)

    checked = check_builds(make, options, thorough, tuple(short_text(value) for value in args))
    give_back()
    findings = fingerprinted(checked.findings, checked.sources)
    return Run(findings, checked.reasons, checked.records, __version__, None, checked.sources)


def check_program(
    target: str,
    arguments: Sequence[str] = (),
    *,
    module: bool = False,
    engine: str = "auto",
    mode: str = "exact",
    seed: int = 0,
    schedules: int = 1,
    timeout: float | None = None,
    thorough: bool = False,
    jobs: int = 0,
    prove: bool = True,
    kernel: str | None = None,
    launches: tuple[int, int | None] = (1, None),
    sample: int = 1,
    output_to_stderr: bool = False,
) -> Run:
    """Run a Python program that uses numba.cuda, or a program built by nvcc, with every launch checked.

    target: path of a script or of a compiled program, or with module=True the name of a module. arguments: of
    the program. kernel: a regular expression; launches of kernels whose name it does not match run unchecked.
    launches: first and last launch to be checked, from 1. sample: check every n-th of the launches left.
    output_to_stderr: send the program's standard output to the standard error. The others are those of `check`,
    for each launch.

    Raises UsageError and InputError for a target or an option that cannot be used.
    """
    from racedart.shadow.programs.parent import Selection, run_program

    _require(sample >= 1, f"sample is {sample!r}; give 1 or more")
    first, last = launches
    _require(
        first >= 1 and (last is None or last >= first), f"launches are {launches!r}; give N-M with 1 <= N <= M"
    )
    options = replace(_options(engine, mode, seed, schedules, timeout, jobs), prove=prove)
    result = run_program(
        target, arguments, module, options, thorough, Selection(kernel, first, last, sample), output_to_stderr
    )
    findings = fingerprinted(result.findings, result.sources)
    return Run(findings, result.reasons, result.launches, __version__, result.program, result.sources)


def _options(engine: str, mode: str, seed: int, schedules: int, timeout: float | None, jobs: int) -> Options:
    from racedart.shadow.outcome import Options

    _require(engine in ENGINES, f"engine is {engine!r}; give one of {', '.join(ENGINES)}")
    _require(mode in MODES, f"mode is {mode!r}; give one of {', '.join(MODES)}")
    _require(isinstance(schedules, int) and schedules >= 1, f"schedules is {schedules!r}; give 1 or more")
    _require(isinstance(seed, int) and 0 <= seed < 2**31, f"seed is {seed!r}; give a number from 0 to 2^31 - 1")
    _require(timeout is None or timeout > 0, f"timeout is {timeout!r}; give seconds above 0")
    _require(isinstance(jobs, int) and jobs >= 0, f"jobs is {jobs!r}; give a number of cores, or 0 for all")
    return Options(_engine(engine), "hirace" if mode == "hirace" else "exact", seed, schedules, timeout, jobs=jobs)


def _engine(engine: str) -> Engine:
    if engine != "gpu":
        return "cpu"
    from racedart.shadow.gpu.driver import missing

    reason = missing()
    _require(not reason, f"there is no GPU to run on ({reason}): use engine 'cpu', which needs none")
    return "gpu"


def _require(condition: bool, text: str) -> None:
    if not condition:
        raise UsageError(text)
