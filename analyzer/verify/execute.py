"""One run of a program on the host device: its output, what was copied, which memory device code touched.

Device memory is separately allocated and copied for real (libomptarget's x86_64 plugin); fresh blocks are poisoned
and never recycled, so that a missing copy shows as a wrong value. One thread unless told otherwise, so that
reductions are reproducible. Copies are counted from libomptarget's own log (LIBOMPTARGET_INFO).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_INFO = 0x20 | 0x10  # data transfers, kernel launches
_COPY = re.compile(rb"Copying data from (host to device|device to host),[^\n]*?Size=(\d+)")
_KERNEL = re.compile(rb"Launching kernel ")
_LOG = re.compile(rb"(?:Libomptarget|omptarget|PluginInterface|\"PluginInterface\")[^\n]*info:")

_ENVIRONMENT = {
    "OMP_TARGET_OFFLOAD": "MANDATORY",
    "OMP_PROC_BIND": "false",
    "LIBOMPTARGET_INFO": str(_INFO),
    "LIBOMPTARGET_MEMORY_MANAGER_THRESHOLD": "0",  # a recycled block would keep its old bytes
    "KMP_TEAMS_THREAD_LIMIT": "1024",
    "KMP_DEVICE_THREAD_LIMIT": "8192",
    "MALLOC_PERTURB_": "173",
}
_REFERENCE = {
    "OMP_TARGET_OFFLOAD": "DISABLED",
    "KMP_TEAMS_THREAD_LIMIT": "1024",
    "MALLOC_PERTURB_": "173",
}


@dataclass(frozen=True, slots=True)
class Transfers:
    """Copies and bytes in each direction, and kernels launched."""

    to_device: int
    bytes_to_device: int
    from_device: int
    bytes_from_device: int
    kernels: int

    @property
    def copies(self) -> int:
        """In both directions."""
        return self.to_device + self.from_device

    @property
    def bytes(self) -> int:
        """In both directions."""
        return self.bytes_to_device + self.bytes_from_device


@dataclass(frozen=True, slots=True)
class Access:
    """What device code touched: accesses in all, and those to host memory or behind a section, by kind."""

    accesses: int
    host: Mapping[str, int]

    @property
    def host_accesses(self) -> int:
        """Accesses that a GPU would have failed on."""
        return sum(self.host.values())


@dataclass(frozen=True, slots=True)
class Execution:
    """One run. exit_code: negative for a signal, None after the time limit. access: None if it did not end well."""

    exit_code: int | None
    output: bytes
    errors: str
    transfers: Transfers
    access: Access | None


def execute(
    program: str,
    arguments: Sequence[str],
    timeout: float,
    libraries: str,
    checker: str | None,
    cwd: str | None,
    threads: int = 1,
) -> Execution:
    """Run a program; with a checker on the device and watched, without one on the host alone.

    Raises InputError if it cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="racedart_") as folder:
        report = Path(folder) / "access.json"
        environment = {**os.environ, **(_ENVIRONMENT if checker else _REFERENCE), "OMP_NUM_THREADS": str(threads)}
        inherited = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = f"{libraries}:{inherited}" if inherited else libraries
        if checker:
            environment["LD_PRELOAD"] = checker
            environment["RACEDART_HOST_CHECK"] = str(report)
        with open(Path(folder) / "out", "w+b") as out, open(Path(folder) / "err", "w+b") as err:
            code = _wait([program, *arguments], environment, out, err, timeout, cwd)
            out.seek(0)
            err.seek(0)
            transfers, own = _read_log(err)
            return Execution(code, out.read(), own, transfers, _read_access(report))


def _wait(
    command: Sequence[str],
    environment: Mapping[str, str],
    out: IO[bytes],
    err: IO[bytes],
    timeout: float,
    cwd: str | None,
) -> int | None:
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        env=environment,
        cwd=cwd,
        start_new_session=True,
    )
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # What the program started itself belongs to its session, and ends with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _read_log(log: IO[bytes]) -> tuple[Transfers, str]:
    """The transfers, and the end of what the program itself wrote."""
    counts = {b"host to device": [0, 0], b"device to host": [0, 0]}
    kernels = 0
    own: list[bytes] = []
    for line in log:
        copies = _COPY.findall(line)
        for direction, size in copies:
            counts[direction][0] += 1
            counts[direction][1] += int(size)
        launched = len(_KERNEL.findall(line))
        kernels += launched
        if not copies and not launched and not _LOG.search(line):
            own = [*own[-9:], line]
    (to, bytes_to), (back, bytes_back) = counts[b"host to device"], counts[b"device to host"]
    return Transfers(to, bytes_to, back, bytes_back, kernels), b"".join(own).decode("utf-8", "replace")


def _read_access(report: Path) -> Access | None:
    try:
        counts = json.loads(report.read_text())
    except (OSError, ValueError):
        return None  # killed or aborted before its end
    return Access(int(counts["accesses"]), {kind: int(count) for kind, count in counts["host"].items() if count})
