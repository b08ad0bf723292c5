"""Programs for the host as an OpenMP device, their device code instrumented.

`-fsanitize=kernel-address` with outlined calls makes every load, store, atomic and memory intrinsic of device code
call a function that host_check.c defines: an access to host memory is seen there, which on a GPU would fail and
here, in one address space, would silently work. Sources that are to be seen in a changed form are overlaid
(`-ivfsoverlay`), so that includes and `__FILE__` are as they were.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from racedart.analyzer.verify.toolchain import Toolchain
from racedart.finding.errors import InputError

_CXX = frozenset({".cc", ".cpp", ".cxx", ".c++", ".C", ".CPP", ".cu", ".hpp"})
_INSTRUMENT = (
    *("-Xarch_device", "-fsanitize=kernel-address", "-Xarch_device", "-fno-builtin"),
    *("-mllvm", "-asan-instrumentation-with-call-threshold=0"),
    *("-mllvm", "-asan-stack=0"),
    *("-mllvm", "-asan-globals=0"),
    *("-mllvm", "-asan-kernel-mem-intrinsic-prefix=1"),
    *("-mllvm", "-asan-opt=0"),
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A source of the program and the flags that it is compiled with."""

    path: str
    flags: tuple[str, ...] = ()

    @property
    def is_cxx(self) -> bool:
        """C++, by its suffix."""
        return os.path.splitext(self.path)[1] in _CXX


class Builder:
    """Compiles in a folder for temporary files; each compiler call has `timeout` seconds."""

    def __init__(self, toolchain: Toolchain, folder: Path, timeout: float) -> None:
        self.toolchain = toolchain
        self.folder = folder
        self.timeout = timeout
        self.checker = str(folder / "libracedart_host_check.so")
        source = folder / "host_check.c"
        source.write_text(resources.files(__package__).joinpath("host_check.c").read_text(encoding="utf-8"))
        flags = ("-O2", "-shared", "-fPIC", "-w")
        self._run((toolchain.clang, *flags, "-o", self.checker, str(source), "-ldl"), "the host checker")

    def program(self, name: str, units: Sequence[Unit], changed: Mapping[str, bytes], flags: Sequence[str]) -> str:
        """Build the units to a program; `changed` holds contents by path that take the place of the files'.

        flags: for the compilation of every unit and for the link. Raises InputError with the compiler's own words.
        """
        made = self.folder / name
        made.mkdir()
        common = ["-O1", "-w", "-gline-tables-only", "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"]
        overlay = self._overlay(made, changed)
        objects = []
        for number, unit in enumerate(units):
            target = str(made / f"{number}.o")
            compiler = self.toolchain.clangxx if unit.is_cxx else self.toolchain.clang
            language = ("-x", "c++") if unit.path.endswith(".cu") else ()
            own = (*common, *_INSTRUMENT, *overlay, *unit.flags, *flags)
            self._run((compiler, *own, "-c", *language, unit.path, "-o", target), unit.path)
            objects.append(target)
        compiler = self.toolchain.clangxx if any(unit.is_cxx for unit in units) else self.toolchain.clang
        libraries = self.toolchain.libraries
        program = str(made / "program")
        link = (
            *common,
            *objects,
            "-Xoffload-linker",
            self.checker,
            f"-L{libraries}",
            f"-Wl,-rpath,{libraries}",
            *flags,
            "-lm",
        )
        self._run((compiler, *link, "-o", program), "the link")
        return program

    def _overlay(self, folder: Path, changed: Mapping[str, bytes]) -> tuple[str, ...]:
        if not changed:
            return ()
        roots = []
        for number, (path, content) in enumerate(changed.items()):
            real = folder / f"changed{number}"
            real.write_bytes(content)
            roots.append({"name": os.path.abspath(path), "type": "file", "external-contents": str(real)})
        overlay = folder / "overlay.yaml"
        overlay.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": roots}))
        return ("-ivfsoverlay", str(overlay))

    def _run(self, command: Sequence[str], what: str) -> None:
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=self.timeout, check=False, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            raise InputError(f"{what}: clang took more than {self.timeout:g} s; raise --verify-timeout") from None
        if done.returncode != 0:
            log = done.stderr.decode("utf-8", "replace").strip()[-2000:]
            raise InputError(
                f"{what}: clang cannot compile it for --verify; give its flags behind `--`. clang says:\n{log}"
            )
