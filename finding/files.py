"""Files that are replaced at once or stay as they were.

The new contents go to a temporary file in the same folder, reach the disk, and take the old file's place and mode
by rename. Ownership is kept where the system allows it; a hard link to the old file keeps the old contents.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile

from racedart.finding.errors import InputError


def write_atomically(path: str | os.PathLike[str], data: bytes, what: str) -> None:
    """Replace the contents of a file, or make it; what: its name in the error, "the report".

    A symbolic link is followed. A terminal, a pipe or another thing that is no regular file is written to. Raises
    InputError, with the file as it was, if it cannot be written.
    """
    name = os.fspath(path)
    real = os.path.realpath(name)
    try:
        if os.path.exists(name) and not os.path.isfile(real):
            with open(name, "wb") as file:
                file.write(data)
            return
        if os.path.exists(real) and not os.access(real, os.W_OK):
            raise InputError(f"{name}: {what} cannot be written: the file is read-only")
        replace(real, data)
    except OSError as error:
        raise InputError(f"{name}: {what} cannot be written: {error.strerror}") from error


def replace(real: str, data: bytes, like: os.stat_result | None = None) -> None:
    """Replace a regular file by rename, with the owner and mode of `like` or of the old one. Raises OSError."""
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
