"""The clang that compiles for its own host as an OpenMP device, and the run-time libraries that go with it."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from racedart.finding.errors import MissingDependencyError

VERSIONS = ("19", "20", "21", "18", "17")
"""Versions that are looked for, the one that the measurements were made with first; then plain `clang`."""

INSTALL = "apt-get install clang-19 clang-tools-19 lld-19 libomp-19-dev"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Paths of the compilers, and the folder of libomp and libomptarget."""

    clang: str
    clangxx: str
    libraries: str


@functools.cache
def find_toolchain() -> Toolchain:
    """The first clang that has all that is needed. Raises MissingDependencyError, which says what is missing."""
    lacks = "clang is not installed"
    for suffix in (*(f"-{version}" for version in VERSIONS), ""):
        clang, clangxx = shutil.which(f"clang{suffix}"), shutil.which(f"clang++{suffix}")
        if clang is None or clangxx is None:
            continue
        missing = [name for name in _helpers(suffix) if shutil.which(name) is None]
        libraries = next((path for path in _folders(clang) if (path / "libomptarget.so").exists()), None)
        if libraries is not None and not missing:
            return Toolchain(clang, clangxx, str(libraries))
        lacks = f"{clang} lacks {', '.join(missing) or 'libomptarget.so'}"
    raise MissingDependencyError(
        f"--verify needs clang with its OpenMP host device: {lacks}. Install it: {INSTALL}"
    )


def _helpers(suffix: str) -> tuple[str, ...]:
    return f"clang-linker-wrapper{suffix}", f"ld.lld{suffix}"


def _folders(clang: str) -> Iterator[Path]:
    done = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode == 0:
        # PREFIX/lib/clang/VERSION
        yield Path(done.stdout.strip()).parent.parent
    yield Path(clang).resolve().parent.parent / "lib"
