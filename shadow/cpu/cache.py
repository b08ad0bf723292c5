"""Text kept between processes under the user's cache directory, by the fingerprint of what made it.

The cache is an accelerator only: where the directory cannot be written, everything is made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def fingerprint(*parts: str | bytes) -> str:
    """A key that changes with any of the parts."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:40]


def is_cached(name: str, key: str) -> bool:
    """Whether a text is stored."""
    return (_directory() / f"{name}-{key}.txt").exists()


def cached_text(name: str, key: str, make: Callable[[], str]) -> str:
    """The text stored as (name, key), made and stored if it is not there."""
    path = _directory() / f"{name}-{key}.txt"
    try:
        return path.read_text()
    except OSError:
        pass
    text = make()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Another process may write the same entry: each writes its own file and renames it.
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.replace(temporary, path)
    return text


def _directory() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(root) / "racedart"
