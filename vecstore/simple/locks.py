"""Files that one process at a time works on: who writes a store file, who a temporary one.

The locks are those of :mod:`vecstore.store.locks`, which go with the process, however it ends.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import stat
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from vecstore import process
from vecstore.errors import StoreFileError
from vecstore.store.locks import InUseElsewhere, LockedFile

COPY = "to work on a copy of it in memory: SimpleVectorStore(...).load(path)"
"""What to do about a file that cannot be opened for writing."""

_PATIENCE = 0.1
"""Seconds: for as long as another process may put a finished file in its place."""

_ABANDONED = 3_600.0
"""Seconds without a change after which another machine's temporary file has no writer."""


class FileOwner:
    """The right to write one store file: one store at a time has it.

    It stands on a lock on a small file beside the store file, ``.kb.json.lock`` for ``kb.json``,
    which names the process and goes when the owner does. One that a killed owner left behind is not
    locked, and is taken over.

    Args:
        path: The store file, which need not be there.

    Raises:
        StoreFileError: If another store has it, or the folder cannot be written to.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        self._lock: LockedFile | None = None
        self._take(path)

    def _take(self, path: str) -> None:
        place = _beside(self.path, ".lock")
        give_up = time.monotonic() + _PATIENCE
        while self._lock is None:
            try:
                lock = _opened(place)
            except InUseElsewhere:
                if time.monotonic() < give_up:
                    # Somebody who only saves to the path has it for a moment.
                    time.sleep(_PATIENCE / 10)
                    continue
                raise in_use(path) from None
            except OSError as error:
                raise StoreFileError(
                    f"{path!r} cannot be opened as a store, which saves to it: "
                    f"{_reason(error, os.path.dirname(self.path))}; {COPY}"
                ) from error
            if not lock.locked:
                warnings.warn(
                    f"the file system of {path!r} has no locks: nothing keeps two stores from "
                    "being opened from this file, and the last one to close would win",
                    RuntimeWarning,
                    stacklevel=2,
                )
                self._lock = lock
            elif lock.is_in_place():  # else its owner went in between, and took the file along
                self._lock = lock
            else:
                lock.close()
        with suppress(OSError):
            os.ftruncate(self._lock.descriptor, 0)
            os.write(self._lock.descriptor, f"{process.pid} {_host()}\n".encode())

    def owns(self, path: str) -> bool:
        """Whether this is the right to write that file, in this process."""
        return self._lock is not None and self._lock.is_open and self.path == path

    def release(self) -> None:
        """Let others have the file."""
        lock = self._lock
        if lock is None or not lock.is_open:
            return
        with suppress(OSError):
            if lock.is_in_place():
                os.unlink(lock.path)
        lock.close()
        self._lock = None


@contextmanager
def not_owned(path: str) -> Iterator[None]:
    """Keep stores from being opened from a file while it is replaced; none must own it already.

    Raises:
        StoreFileError: If one does.
    """
    lock: LockedFile | None = None
    try:
        lock = LockedFile(_beside(path, ".lock"), os.O_RDONLY, shared=True)
    except InUseElsewhere:
        raise in_use(path) from None
    except OSError:
        pass  # no owner has left such a file, or it is none of ours
    try:
        yield
    finally:
        if lock is not None:
            lock.close()


def in_use(path: str) -> StoreFileError:
    """The error for a file that another store owns."""
    return StoreFileError(
        f"{path!r} is open in another store{_holder(os.path.realpath(path))}; one store at a time "
        f"writes a file: close that one first. {COPY[0].upper()}{COPY[1:]}"
    )


def temporary_file(target: str) -> LockedFile:
    """A new, locked file beside ``target`` to write the next version of it to.

    Raises:
        OSError: If it cannot be made.
    """
    while True:
        # Two writers, even two threads of one process, never share a temporary file.
        name = f".{process.pid}-{host_mark()}-{os.urandom(4).hex()}.tmp"
        try:
            file = LockedFile(_beside(target, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except InUseElsewhere:  # by somebody who looks for what dead writers left behind
            continue
        if file.is_in_place():
            return file
        file.close()


def remove_left_over(target: str) -> None:
    """Remove what killed processes left beside ``target``: temporary files, and an owner's lock.

    What is in use is locked. Where a folder is shared between machines that do not see each
    other's locks, the files of another machine go when nothing has been written to them for long.
    """
    folder = os.path.dirname(target)
    stem = os.path.basename(_beside(target, ""))
    pattern = re.compile(re.escape(stem) + r"\.\d+-(?:([0-9a-f]{8})-)?[0-9a-f]{8}\.tmp")
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = pattern.fullmatch(entry.name)
            if match is not None:
                with suppress(OSError, InUseElsewhere):
                    _remove_if_dead(entry.path, here=match[1] == host_mark())
    lock = _beside(target, ".lock")
    with suppress(OSError, InUseElsewhere):
        _remove_if_dead(lock, here=_read_owner(lock)[1] == _host())


def _remove_if_dead(path: str, *, here: bool) -> None:
    file = LockedFile(path, os.O_RDONLY)
    try:
        status = os.fstat(file.descriptor)
        if not stat.S_ISREG(status.st_mode) or not file.locked or not file.is_in_place():
            return
        if here or time.time() - status.st_mtime > _ABANDONED:
            os.unlink(path)
    finally:
        file.close()


def _opened(place: str) -> LockedFile:
    try:
        return LockedFile(place, os.O_RDWR | os.O_CREAT)
    except PermissionError:
        if not os.path.exists(place):
            raise
        # Left behind by another user's process; it can be locked without being written to.
        return LockedFile(place, os.O_RDONLY)


def _beside(target: str, ending: str) -> str:
    """A hidden name in the folder of a file, made from the file's own."""
    return os.path.join(os.path.dirname(target), f".{short_name(target)}{ending}")


def short_name(target: str) -> str:
    """The name of a file, or what stands for one that nothing can be added to."""
    base = os.path.basename(target)
    # Names end at 255 bytes.
    return hashed_name(base) if len(os.fsencode(base)) > 180 else base


def hashed_name(base: str) -> str:
    """Digits that stand for the name of a file."""
    return hashlib.sha256(os.fsencode(base)).hexdigest()[:32]


def _holder(target: str) -> str:
    pid, host = _read_owner(_beside(target, ".lock"))
    if not pid:
        return ""
    if host != _host():
        return f", of process {pid} on {host}"
    return " of this process" if pid == process.pid else f", of process {pid}"


def _read_owner(lock: str) -> tuple[int, str]:
    """The process that a lock names, and its machine; 0 where it names none."""
    try:
        with open(lock, encoding="utf-8") as file:
            words = file.read(300).split()
    except (OSError, ValueError):
        return 0, ""
    if len(words) != 2 or not re.fullmatch("[0-9]{1,10}", words[0]):
        return 0, ""
    return int(words[0]), words[1]


def _host() -> str:
    return "".join(socket.gethostname().split()) or "localhost"


def host_mark() -> str:
    """Eight digits that stand for this machine."""
    return hashlib.sha256(_host().encode()).hexdigest()[:8]


def _reason(error: OSError, folder: str) -> str:
    if isinstance(error, PermissionError):
        return f"nothing can be written to the folder {folder!r} (permission denied)"
    return f"{error.strerror or type(error).__name__} (the folder is {folder!r})"
