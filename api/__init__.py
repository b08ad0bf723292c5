"""racedart: find data races in CUDA kernels, with or without a GPU; infer and lint OpenMP data mappings.

    run = racedart.check(kernel, grid, block, *args)
    run.verdict       # "clean", "findings" or "incomplete"
    run.findings      # each with both source lines and the fix

    mapping = racedart.infer_mapping("solver.c")
    mapping.diff()    # the directives that the program lacks
    racedart.lint("solver.c")

Nothing heavy is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from racedart.checking import check, cuda_kernel
    from racedart.finding.errors import InputError, MissingDependencyError, RacedartError, UsageError
    from racedart.finding.model import Edit, Finding, Fix, Level, Location, Reason, Suppressed, Suppressor, Verdict
    from racedart.finding.run import LaunchRecord, Run, load_run
    from racedart.mapping import infer_mapping, lint
    from racedart.version import __version__

_HOMES = {
    "check": "checking",
    "cuda_kernel": "checking",
    "infer_mapping": "mapping",
    "lint": "mapping",
    "InputError": "finding.errors",
    "MissingDependencyError": "finding.errors",
    "RacedartError": "finding.errors",
    "UsageError": "finding.errors",
    "Edit": "finding.model",
    "Finding": "finding.model",
    "Fix": "finding.model",
    "Level": "finding.model",
    "Location": "finding.model",
    "Reason": "finding.model",
    "Suppressed": "finding.model",
    "Suppressor": "finding.model",
    "Verdict": "finding.model",
    "LaunchRecord": "finding.run",
    "Run": "finding.run",
    "load_run": "finding.run",
    "__version__": "version",
}

__all__ = [
    "Edit",
    "Finding",
    "Fix",
    "InputError",
    "LaunchRecord",
    "Level",
    "Location",
    "MissingDependencyError",
    "RacedartError",
    "Reason",
    "Run",
    "Suppressed",
    "Suppressor",
    "UsageError",
    "Verdict",
    "__version__",
    "check",
    "cuda_kernel",
    "infer_mapping",
    "lint",
    "load_run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'racedart' has no attribute {name!r}")
    value = getattr(import_module(f"racedart.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
