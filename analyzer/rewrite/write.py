"""Source files are read and written as bytes; a write replaces the file at once or leaves it as it was.

A symbolic link keeps pointing to the file that it pointed to.
"""

from __future__ import annotations

import os
from pathlib import Path

from racedart.finding.errors import InputError
from racedart.finding.files import replace

BACKUP_SUFFIX = ".orig"

_WIDE = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x00\x00\xfe\xff": "UTF-32"}


def read_source(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a source. Raises InputError for what cannot be read, and for encodings that compilers refuse."""
    try:
        source = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: cannot be read: {error.strerror}") from error
    for mark, name in _WIDE.items():
        if source.startswith(mark):
            raise InputError(f"{os.fspath(path)}: the file is {name}; convert it to UTF-8, which compilers read")
    return source


def write_source(
    path: str | os.PathLike[str], data: bytes, original: bytes | None = None, backup: bool = False
) -> None:
    """Replace the contents of a file, or make it.

    original: what the file must still hold. backup: keep that as FILE.orig, which must not exist. Raises
    InputError, with the file as it was, if it changed meanwhile or cannot be written.
    """
    name = os.fspath(path)
    real = os.path.realpath(name)
    try:
        if original is not None:
            if Path(real).read_bytes() != original:
                raise InputError(f"{name}: changed since it was read, and is left as it is; run the command again")
            if not os.access(real, os.W_OK):
                raise InputError(f"{name}: cannot be written: the file is read-only; it is left as it is")
        if backup and original is not None:
            _write_backup(name, original, os.stat(real))
        replace(real, data)
    except OSError as error:
        raise InputError(f"{name}: cannot be written: {error.strerror}; the file is left as it was") from error


def _write_backup(name: str, original: bytes, status: os.stat_result) -> None:
    kept = name + BACKUP_SUFFIX
    if os.path.lexists(kept):
        raise InputError(f"{kept}: exists, and a backup would replace it; move it away. {name} is left as it is")
    replace(kept, original, status)
