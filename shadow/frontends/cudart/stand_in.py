"""The library that stands in for libcudart, compiled by the C compiler of the machine and kept for later runs."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from importlib import resources
from pathlib import Path

from racedart.finding.errors import InputError, MissingDependencyError
from racedart.shadow.frontends.cudart.fatbin import BUILD

MAJOR = "13"
"""Major version of the CUDA runtime whose interface the library has; programs bind to it by name and version."""
_ELF = b"\x7fELF"
_NEEDED = re.compile(rb"libcudart\.so\.(\d+)")


def is_program(path: str) -> bool:
    """Whether a path is that of a compiled program, of whatever kind."""
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        return False
    with open(path, "rb") as file:
        return file.read(4) == _ELF


def require_program(path: Path) -> None:
    """Raise InputError for a file that is no program built with the shared CUDA runtime of our version."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if not content.startswith(_ELF):
        raise InputError(f"{path} is no program of this machine: give a .py file or a program built by nvcc")
    majors = set(_NEEDED.findall(content))
    if not majors:
        raise InputError(f"{path} has no shared CUDA runtime in it: build it with nvcc {BUILD}")
    if MAJOR.encode() not in majors:
        found = ", ".join(sorted(m.decode() for m in majors))
        raise InputError(f"{path} was built by CUDA {found}; CUDA {MAJOR} is needed: build it anew")


def runtime_library() -> Path:
    """The stand-in, compiled when its source has changed. Raises MissingDependencyError without a C compiler."""
    source = (resources.files("racedart.shadow.frontends.cudart") / "runtime.c").read_text(encoding="utf-8")
    headers = toolkit_headers()
    key = hashlib.sha256("\0".join([source, headers]).encode()).hexdigest()[:16]
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    target = Path(base) / "racedart" / f"cudart-{key}" / f"libcudart.so.{MAJOR}"
    if not target.exists():
        _compile(source, headers, target)
    return target


def toolkit_headers() -> str:
    """The include folder of the CUDA toolkit. Raises MissingDependencyError if there is none."""
    nvcc = shutil.which("nvcc")
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    homes += [os.path.dirname(os.path.dirname(os.path.realpath(nvcc))) if nvcc else None, "/usr/local/cuda"]
    for home in homes:
        if home and os.path.exists(os.path.join(home, "include", "crt", "host_defines.h")):
            return os.path.join(home, "include")
    raise MissingDependencyError(
        "a compiled program needs the headers of the CUDA toolkit: set CUDA_HOME to its folder"
    )


def _compile(source: str, headers: str, target: Path) -> None:
    compiler = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
    if compiler is None:
        raise MissingDependencyError("a compiled program needs a C compiler: apt-get install gcc")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        code, versions, made = (os.path.join(folder, n) for n in ("runtime.c", "versions", "made.so"))
        Path(code).write_text(source, encoding="utf-8")
        Path(versions).write_text(f"libcudart.so.{MAJOR} {{ global: cuda*; __cuda*; local: *; }};\n")
        command = [compiler, "-shared", "-fPIC", "-O1", code, "-o", made, f"-I{headers}", "-lpthread"]
        command += [f"-Wl,-soname,libcudart.so.{MAJOR}", f"-Wl,--version-script={versions}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
            raise MissingDependencyError(
                f"the stand-in for the CUDA runtime does not compile with the headers in {headers} ({first}): "
                f"set CUDA_HOME to the folder of CUDA {MAJOR}"
            )
        os.replace(made, target)
