"""Compiled programs: their launches are those of the CUDA runtime that stands in for the real one."""

from __future__ import annotations

from collections.abc import Sequence

from racedart.finding.errors import InputError, RacedartError
from racedart.finding.model import Reason
from racedart.shadow.frontends.cudart import run_program
from racedart.shadow.launch import Launch
from racedart.shadow.programs.session import RefusedLaunch, Session


def run_compiled(session: Session, argv: Sequence[str]) -> int:
    """Run a compiled program, every launch through the session; its exit code, negative for a signal."""

    def on_launch(launch: Launch) -> None:
        try:
            session.launch(launch.kernel.name, lambda _: launch, _arguments(launch), None)
        except RefusedLaunch as error:
            raise InputError(str(error)) from None

    def on_problem(error: RacedartError) -> None:
        session.incomplete(Reason("launch", f"a kernel of {argv[0]} did not run: {error}"))

    return run_program(argv, on_launch, on_problem)


def _arguments(launch: Launch) -> tuple[str, ...]:
    texts = []
    for param in launch.params:
        if len(param.data) == 8 and param.pointers:
            texts.append(f"{launch.buffers[param.pointers[0].buffer].array.nbytes} bytes of device memory")
        elif len(param.data) <= 8:
            texts.append(f"{int.from_bytes(param.data, 'little'):#x}")
        else:
            texts.append(f"{len(param.data)} bytes")
    return tuple(texts)
