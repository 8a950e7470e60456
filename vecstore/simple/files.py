"""Bytes to and from a path or an open file; a path is replaced as a whole."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any, Protocol

from vecstore.errors import StoreFileError
from vecstore.simple.locks import (
    COPY,
    FileOwner,
    not_owned,
    remove_left_over,
    temporary_file,
)
from vecstore.simple.sidecar import Sidecar, named_in, remove_unnamed
from vecstore.store.locks import LockedFile


class Readable(Protocol):
    """A file that is open for reading, as bytes or as text."""

    def read(self) -> Any:
        """All of it."""


class Writable(Protocol):
    """A file that is open for writing, as bytes or as text."""

    def write(self, data: Any, /) -> Any:
        """Take a piece."""


Path = str | os.PathLike[str]
Source = Path | Readable
Target = Path | Writable


def read_source(source: Source) -> tuple[bytes, str]:
    """Everything in a file, and what to call it.

    Raises:
        StoreFileError: If it cannot be read.
    """
    if not isinstance(source, str | os.PathLike):
        if not hasattr(source, "read"):
            raise TypeError(f"a path or an open file is needed, not {type(source).__name__}")
        data = source.read()
        return as_bytes(data), _name_of(source)
    path = os.fspath(source)
    try:
        with open(path, "rb") as file:
            return file.read(), f"{path!r}"
    except OSError as error:
        raise StoreFileError(f"{path!r} cannot be read: {_reason(error, path)}") from error


def as_bytes(data: Any) -> bytes:
    """Text as UTF-8; bytes as they are.

    Raises:
        StoreFileError: If the text holds lone surrogates.
    """
    if not isinstance(data, str):
        return bytes(data)
    try:
        return data.encode("utf-8")
    except UnicodeEncodeError:
        raise StoreFileError("the text holds a lone surrogate; it is not a saved store") from None


def write_target(
    target: Target,
    pieces: Iterable[bytes],
    owner: FileOwner | None = None,
    sidecar: Sidecar | None = None,
) -> None:
    """Write pieces one after the other; a path changes at the end, in one step.

    Args:
        target: A path, or a file that is open for writing.
        pieces: What to write.
        owner: The right to write a file, of the store that saves.
        sidecar: A file beside the path that has to be there before it.

    Raises:
        StoreFileError: If that fails, or the path belongs to another store that is open; a file
            that was at the path is still there, unchanged.
    """
    if isinstance(target, str | os.PathLike):
        _replace_file(os.fspath(target), pieces, owner, sidecar)
        return
    if not hasattr(target, "write"):
        raise TypeError(f"a path or an open file is needed, not {type(target).__name__}")
    as_text = isinstance(target, io.TextIOBase)
    for piece in pieces:
        target.write(piece.decode("utf-8") if as_text else piece)


def check_writable(path: str) -> None:
    """Refuse early what saving to a path would fail at.

    Raises:
        StoreFileError: If the folder or the file cannot be written to, with the reason.
    """
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    try:
        _status_of(target, path)
        if not os.access(folder, os.W_OK):
            raise StoreFileError(
                f"{path!r} cannot be written: nothing can be written to the folder {folder!r}"
            )
    except StoreFileError as error:
        raise StoreFileError(f"{error}; {COPY}") from None


def _replace_file(
    path: str, pieces: Iterable[bytes], owner: FileOwner | None, sidecar: Sidecar | None
) -> None:
    """Write a new file beside the old one, see it to the disk, and put it in its place.

    Whoever reads the path meanwhile, and whoever reads it after the process or the machine died
    on the way, finds the old file or the new one, whole. A link is followed, not replaced.
    """
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    free = nullcontext if owner is not None and owner.owns(target) else partial(not_owned, target)
    with free():
        before = _status_of(target, path)
    remove_left_over(target)
    beside: LockedFile | None = None
    place = None
    try:
        if sidecar is not None:
            beside = _written(target, path, sidecar.pieces, before)
            place = os.path.join(folder, sidecar.name)
            os.replace(beside.path, place)
            beside.path = place
            _sync_folder(folder)
        new = _written(target, path, pieces, before)
        try:
            with free():
                last = named_in(target)
                os.replace(new.path, target)
            place = None
        except BaseException:
            if new.is_in_place():
                _remove(new.path)
            else:  # broken off right after the step: the sidecar is named by now
                place = None
            raise
        finally:
            new.close()
    except OSError as error:
        raise _not_written(path, error, path, "; what was there before is unchanged") from error
    finally:
        if beside is not None:
            if place is not None:
                _remove(beside.path)
            beside.close()
    _sync_folder(folder)
    remove_unnamed(target, last)


def _written(
    target: str, path: str, pieces: Iterable[bytes | memoryview], before: os.stat_result | None
) -> LockedFile:
    """A new file beside ``target``, whole and on the disk, still locked."""
    try:
        temporary = temporary_file(target)
    except OSError as error:
        raise _not_written(path, error, os.path.dirname(target)) from error
    try:
        if before is not None:
            _take_over(temporary.descriptor, before)
        for piece in pieces:
            _write_all(temporary.descriptor, piece)
        os.fsync(temporary.descriptor)
    except BaseException:
        _remove(temporary.path)
        temporary.close()
        raise
    return temporary


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _not_written(path: str, error: OSError, place: str, rest: str = "") -> StoreFileError:
    return StoreFileError(f"{path!r} cannot be written: {_reason(error, place)}{rest}")


def _write_all(descriptor: int, piece: bytes | memoryview) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _status_of(target: str, path: str) -> os.stat_result | None:
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreFileError(f"{path!r} cannot be written: {_reason(error, path)}") from error
    if stat.S_ISDIR(status.st_mode):
        raise StoreFileError(f"{path!r} is a folder; name a file in it")
    if not stat.S_ISREG(status.st_mode):
        raise StoreFileError(f"{path!r} is no regular file; open it and pass the open file instead")
    if not os.access(target, os.W_OK):
        raise StoreFileError(f"{path!r} is write-protected")
    return status


def _take_over(descriptor: int, before: os.stat_result) -> None:
    """Give the new file the old one's owner, as far as that is allowed, and its permissions."""
    if not hasattr(os, "fchmod"):  # Windows
        return
    if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(OSError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def _sync_folder(folder: str) -> None:
    """See the new name to the disk; not every system lets a folder be opened for that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _name_of(file: object) -> str:
    name = getattr(file, "name", None)
    return repr(name) if isinstance(name, str) else "the file"


def _reason(error: OSError, place: str) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no {place!r}"
    if isinstance(error, IsADirectoryError):
        return "it is a folder"
    if isinstance(error, PermissionError):
        return "permission denied"
    return error.strerror or type(error).__name__
