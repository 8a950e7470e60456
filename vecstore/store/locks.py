"""Files that one process at a time has: locks of the system's own, which no fork hands on.

``flock``, and on Windows ``msvcrt.locking``: they are gone when the process is, however it ended,
so that a killed one leaves nothing locked. A child that is forked would hold its parent's locks as
well, and may outlive it; it closes its copies of the open files before anything else runs in it,
which leaves the parent's locks as they are.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import threading
from contextlib import suppress

from vecstore import process

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30
else:
    import fcntl

_NO_LOCKS = frozenset(
    getattr(errno, name)
    for name in ("ENOLCK", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EINVAL")
    if hasattr(errno, name)
)
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)

_MODES = {os.O_RDONLY: "rb", os.O_WRONLY: "wb", os.O_RDWR: "r+b"}

_open: set[io.FileIO] = set()
_forking = threading.RLock()
"""Held while a file is opened and noted, and while a child is forked."""


class InUseElsewhere(Exception):
    """Somebody else holds the lock."""


class LockedFile:
    """An open file with a lock on it that forked children do not inherit.

    Args:
        path: Of the file.
        flags: As of ``os.open``.
        shared: Whether others may have a shared lock on it as well.

    Attributes:
        path: Of the file.
        file: The open file, unbuffered.
        locked: False where the file system has no locks.

    Raises:
        InUseElsewhere: If somebody else has it locked.
        OSError: If it cannot be opened.
    """

    file: io.FileIO | None = None

    def __init__(self, path: str, flags: int, *, shared: bool = False) -> None:
        self.path = path
        try:
            with _forking:
                self.file = io.FileIO(
                    path,
                    _MODES[flags & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR)],
                    opener=lambda path, _: os.open(path, flags | _FLAGS, 0o666),  # less the umask
                )
                _open.add(self.file)
            self.locked = _locked(self.file.fileno(), shared)
        except BaseException:
            self.close()
            raise

    @property
    def is_open(self) -> bool:
        """Whether this process still has it; a forked child never does."""
        return self.file is not None and not self.file.closed

    @property
    def descriptor(self) -> int:
        """Of the open file."""
        assert self.file is not None
        return self.file.fileno()

    def is_in_place(self) -> bool:
        """Whether the path still leads to this file, and not to a later one or to nothing."""
        try:
            there = os.stat(self.path, follow_symlinks=False)
            return os.path.samestat(there, os.fstat(self.descriptor))
        except OSError:
            return False

    def close(self) -> None:
        """Give the lock back, once."""
        if self.file is not None:
            self.file.close()
            _open.discard(self.file)

    def __del__(self) -> None:
        self.close()


def _locked(descriptor: int, shared: bool) -> bool:
    """Lock an open file; False where the file system cannot."""
    try:
        if sys.platform == "win32":
            # Of one byte, far behind the content, which stays readable.
            os.lseek(descriptor, _FAR, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return False
        if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            raise InUseElsewhere from None
        raise
    return True


@process.in_forked_child
def _forget_inherited() -> None:
    global _forking
    _forking = threading.RLock()
    for file in list(_open):
        with suppress(OSError):
            file.close()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _forking.acquire() and None, after_in_parent=lambda: _forking.release()
    )
