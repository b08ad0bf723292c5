"""A kernel with its checks, as machine code of the GPU in use: injected, assembled, loaded."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from racedart.shadow.cpu.program import Program
from racedart.shadow.gpu import driver
from racedart.shadow.gpu.assemble import assemble
from racedart.shadow.gpu.inject import Injected, Places, inject
from racedart.shadow.gpu.layout import CONTEXT
from racedart.shadow.outcome import Mode


@dataclass(frozen=True)
class Loaded:
    """kernel: for the driver. context: the memory of the launch's record."""

    injected: Injected
    code: driver.Code
    kernel: Any
    context: driver.Memory


def injected(program: Program, mode: Mode, target: tuple[int, int], *, logged: bool) -> Injected:
    """The instrumented module of a kernel; needs no GPU."""
    places = Places(program.module_offsets, program.shared_offsets, program.static_shared)
    return inject(program.module, program.plan, places, target, mode, logged=logged)


@functools.lru_cache(maxsize=64)
def load(program: Program, mode: Mode, logged: bool) -> Loaded:
    """Inject, assemble and load a kernel."""
    target = driver.compute_capability()
    module = injected(program, mode, target, logged=logged)
    code = driver.Code(assemble(module.text, target))
    return Loaded(module, code, code.kernel(program.plan.function.name), code.symbol(CONTEXT))
