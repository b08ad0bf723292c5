"""What was made once, kept between processes under the user's cache directory by the fingerprint of what made it.

The cache is an accelerator only: where the directory cannot be written, everything is made anew. Every entry
carries a digest of its contents, and one that does not fit it is made anew; entries are written beside their place
and renamed, so that processes may share the directory. What was not used for longest goes when it grows too large.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

LIMIT = 512 << 20
"""Bytes of all entries together, at most."""
_DIGEST = 32


def fingerprint(*parts: str | bytes) -> str:
    """A key that changes with any of the parts."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:40]


def is_cached(name: str, key: str) -> bool:
    """Whether an entry is stored."""
    return _path(name, key).exists()


def cached_text(name: str, key: str, make: Callable[[], str]) -> str:
    """The text stored as (name, key), made and stored if it is not there."""
    return cached_bytes(name, key, lambda: make().encode()).decode()


def cached_bytes(name: str, key: str, make: Callable[[], bytes]) -> bytes:
    """The bytes stored as (name, key), made and stored if they are not there."""
    path = _path(name, key)
    stored = _read(path)
    if stored is not None:
        return stored
    data = make()
    with contextlib.suppress(OSError):
        _write(path, data)
        _prune(path.parent)
    return data


def _read(path: Path) -> bytes | None:
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    data = raw[_DIGEST:]
    if hashlib.sha256(data).digest() != raw[:_DIGEST]:
        return None
    # The time of the last use, by which `_prune` chooses.
    with contextlib.suppress(OSError):
        os.utime(path)
    return data


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(data).digest() + data)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _prune(directory: Path) -> None:
    """Delete what was not used for longest, down to three quarters of the limit."""
    entries = []
    for entry in os.scandir(directory):
        # Another process may delete entries at the same time.
        with contextlib.suppress(OSError):
            status = entry.stat()
            entries.append((status.st_mtime, status.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    if total <= LIMIT:
        return
    for _, size, path in sorted(entries):
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size
        if total <= LIMIT * 3 // 4:
            return


def _path(name: str, key: str) -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(root) / "racedart" / f"{name}-{key}.bin"
