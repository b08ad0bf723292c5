"""Source files are read and written as bytes; a write replaces the file at once or leaves it as it was.

The new text goes to a temporary file in the same folder, reaches the disk, and takes the old one's place and mode
by rename. A symbolic link keeps pointing to the file that it pointed to. Ownership is kept where the system allows
it; a hard link to the old file keeps the old text.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from racedart.finding.errors import InputError

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
        _replace(real, data)
    except OSError as error:
        raise InputError(f"{name}: cannot be written: {error.strerror}; the file is left as it was") from error


def _write_backup(name: str, original: bytes, status: os.stat_result) -> None:
    kept = name + BACKUP_SUFFIX
    if os.path.lexists(kept):
        raise InputError(f"{kept}: exists, and a backup would replace it; move it away. {name} is left as it is")
    _replace(kept, original, status)


def _replace(real: str, data: bytes, like: os.stat_result | None = None) -> None:
    folder = os.path.dirname(real) or "."
    if like is None and os.path.exists(real):
        like = os.stat(real)
    handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(real)}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if like is not None:
                # The mode last: a change of owner takes set-user-id bits away.
                with contextlib.suppress(PermissionError):
                    os.chown(file.fileno(), like.st_uid, like.st_gid)
                os.chmod(file.fileno(), stat.S_IMODE(like.st_mode))
            else:
                os.chmod(file.fileno(), 0o666 & ~_umask())
            os.fsync(file.fileno())
        os.replace(temporary, real)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    # The rename itself reaches the disk with its folder; some file systems cannot sync one.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
