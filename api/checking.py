"""The Python interface: check a kernel, name a kernel of a CUDA source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from racedart.finding.errors import UsageError
from racedart.finding.model import Finding, Reason
from racedart.finding.run import LaunchRecord, Run
from racedart.version import __version__

if TYPE_CHECKING:
    from racedart.shadow.frontends import CudaKernel
    from racedart.shadow.launch import Launch
    from racedart.shadow.outcome import Engine, Outcome

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
) -> Run:
    """Check one launch of a kernel.

    kernel: a Numba `@cuda.jit` dispatcher, or `cuda_kernel(...)`. grid in blocks, block in threads. args: NumPy
    arrays, which are written back as the kernel leaves them, and scalars. shared_bytes: dynamic shared
    memory. mode: "exact", or "hirace" for the published table and HiRace's conventions. seed: of the order
    in which threads run. schedules: how many orders are tried. timeout: seconds for each run, None for no
    limit. thorough: also check the unoptimised build, where every access of the source stands, and mark what only
    that one shows.

    Raises UsageError for a launch that does not fit the kernel, InputError for code that does not compile,
    MissingDependencyError where a package is needed that is not installed.
    """
    from racedart.shadow import frontends
    from racedart.shadow.check import check_launch
    from racedart.shadow.outcome import Options

    _require(engine in ENGINES, f"engine is {engine!r}; give one of {', '.join(ENGINES)}")
    where = _engine(engine)
    _require(mode in MODES, f"mode is {mode!r}; give one of {', '.join(MODES)}")
    _require(isinstance(schedules, int) and schedules >= 1, f"schedules is {schedules!r}; give 1 or more")
    _require(isinstance(seed, int) and 0 <= seed < 2**31, f"seed is {seed!r}; give a number from 0 to 2^31 - 1")
    _require(timeout is None or timeout > 0, f"timeout is {timeout!r}; give seconds above 0")
    launch = frontends.make_launch(kernel, grid, block, args, shared_bytes)
    options = Options(where, "hirace" if mode == "hirace" else "exact", seed, schedules, timeout)
    records = []

    def checked(made: Launch, build: str) -> Outcome:
        outcome = check_launch(made, replace(options, write_back=build == "optimised"))
        records.append(
            LaunchRecord(
                made.kernel.name,
                made.kernel.language,
                made.grid,
                made.block,
                made.shared_bytes,
                where,
                mode,
                seed,
                build,
                tuple(_short(value) for value in args),
                outcome.statistics,
            )
        )
        return outcome

    findings: tuple[Finding, ...] = ()
    reasons: tuple[Reason, ...] = ()
    if thorough:
        # First, on the inputs as they are: the optimised build writes its results back.
        literal = checked(frontends.make_launch(kernel, grid, block, args, shared_bytes, False), "unoptimised")
        outcome = checked(launch, "optimised")
        known = {_key(finding) for finding in outcome.findings}
        findings = tuple(_only_unoptimised(f) for f in literal.findings if _key(f) not in known)
        reasons = tuple(replace(r, message=f"unoptimised build: {r.message}") for r in literal.reasons)
    else:
        outcome = checked(launch, "optimised")
    return Run(
        (*outcome.findings, *findings),
        (*outcome.reasons, *reasons),
        tuple(records),
        __version__,
        None,
        dict(launch.kernel.sources),
    )


def _engine(engine: str) -> Engine:
    if engine != "gpu":
        return "cpu"
    from racedart.shadow.gpu.driver import missing

    reason = missing()
    _require(not reason, f"there is no GPU to run on ({reason}): use engine 'cpu', which needs none")
    return "gpu"


def _key(finding: Finding) -> tuple[object, ...]:
    """What two builds' findings have in common when they are one."""
    places = sorted((place.file, place.line) for place in (finding.location, *finding.related))
    return finding.rule, finding.properties.get("variable"), *places


def _only_unoptimised(finding: Finding) -> Finding:
    message = f"{finding.message}; the optimised build has no such pair of accesses"
    return replace(finding, message=message, properties={**finding.properties, "build": "unoptimised"})


def _require(condition: bool, text: str) -> None:
    if not condition:
        raise UsageError(text)


def _short(value: Any) -> str:
    shape, dtype = getattr(value, "shape", ()), getattr(value, "dtype", None)
    if dtype is not None and shape:
        return f"{dtype}[{', '.join(map(str, shape))}]"
    return repr(value)[:80]
