"""Vectors in a file of their own beside the JSON file: a ``.npy`` that memory can be mapped to.

The two are one state. A sidecar has a name that no other one ever had, ``kb.json.<20 digits>.npy``,
and is whole before a JSON file names it; that file changes in one step, and with it which sidecar
counts. Whoever is killed between the two leaves the old pair, and a sidecar that nobody names. The
next save removes it. Its writer keeps it locked until the JSON file names it, so that nobody takes
it for left behind.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecstore.errors import StoreFileError
from vecstore.simple.locks import hashed_name, host_mark, short_name
from vecstore.simple.table import Snapshot
from vecstore.store.locks import InUseElsewhere, LockedFile
from vecstore.vectors import Matrix

LITTLE_ENDIAN = np.dtype("<f4")

BEGIN = b'\n],"vectors":{"file":"'
"""What stands between the documents and the name of the sidecar."""

END = b'"}}\n'

_BYTES_A_PIECE = 1024 * 1024
_LONGEST_NAME = 1_024
_DIGITS = r"[0-9a-f]{20}"
_NAMED = re.compile(rf"\.({_DIGITS})\.npy".encode())
_AS_IT_STANDS = re.compile(r'[^"\\\x00-\x1f\ud800-\udfff]+')
"""What JSON writes without an escape, and UTF-8 can hold."""


class SidecarIsGone(StoreFileError):
    """The JSON file names a sidecar that is not there, or no more.

    Args:
        message: The error.
        name: Of the sidecar.
    """

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A sidecar that is to be written.

    Attributes:
        name: Of the file, in the folder of the JSON file.
        pieces: What to write.
    """

    name: str
    pieces: Iterator[bytes | memoryview]


def sidecar_of(target: str, snapshot: Snapshot) -> Sidecar:
    """A new one for what is saved at a path."""
    name = f"{_first_part(target)}.{host_mark()}{os.urandom(6).hex()}.npy"
    return Sidecar(name, _pieces(snapshot))


def _first_part(target: str) -> str:
    """What the names of a file's sidecars begin with; that file holds it as it stands."""
    base = short_name(target)
    return base if _AS_IT_STANDS.fullmatch(base) else hashed_name(base)


def _pieces(snapshot: Snapshot) -> Iterator[bytes | memoryview]:
    dimension = snapshot.dimension or 0
    head = io.BytesIO()
    fields = {"descr": "<f4", "fortran_order": False, "shape": (snapshot.live, dimension)}
    np.lib.format.write_array_header_1_0(head, fields)
    yield head.getvalue()
    step = max(1, _BYTES_A_PIECE // (4 * max(1, dimension)))
    for piece in snapshot.vectors(step):
        yield piece.astype(LITTLE_ENDIAN, copy=False).data.cast("B")


def read_sidecar(folder: str, name: str, count: int, dimension: int, *, mapped: bool) -> Matrix:
    """The vectors in a sidecar.

    Args:
        folder: Of the JSON file.
        name: As the JSON file has it.
        count: How many vectors there must be.
        dimension: Their length.
        mapped: Whether to leave them in the file, and let the system read what is looked at.

    Raises:
        SidecarIsGone: If there is no such file.
        StoreFileError: If it is not what the JSON file says.
    """
    # A name from a file decides what is opened: it leads nowhere else.
    if not re.fullmatch(rf".*\.{_DIGITS}\.npy", name) or os.path.basename(name) != name:
        raise StoreFileError(
            f"the vectors cannot be in {name[:100]!r}: that is no name of a sidecar"
        )
    path = os.path.join(folder, name)
    try:
        fits = _fits(path, count, dimension)
        if not fits:
            vectors: NDArray[Any] = np.empty((0, 0), LITTLE_ENDIAN)
        elif mapped and count and dimension:  # of nothing, nothing can be mapped
            vectors = np.lib.format.open_memmap(path, mode="r")
        else:
            with open(path, "rb") as file:
                vectors = np.lib.format.read_array(file, allow_pickle=False)
    except FileNotFoundError:
        raise SidecarIsGone(
            f"the vectors belong to it and are missing: there is no {path!r}; the two files of a "
            "store are moved and copied together",
            name,
        ) from None
    except (OSError, ValueError, EOFError) as error:
        raise StoreFileError(f"its vectors in {path!r} cannot be read: {error}") from None
    if not fits:
        raise StoreFileError(
            f"{path!r} does not hold {count:,} vectors of {dimension:,} dimensions in float32, "
            "as the store's file says"
        )
    matrix: Matrix = np.asarray(vectors).astype(np.float32, copy=False)
    return matrix


def _fits(path: str, count: int, dimension: int) -> bool:
    """Whether a sidecar says of itself what the JSON file says, before room is made for it.

    Raises:
        ValueError: If it is no such file, or is not as long as it says.
    """
    with open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, by_column, dtype = np.lib.format.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, by_column, dtype = np.lib.format.read_array_header_2_0(file)
        else:
            raise ValueError(f"its format is {version[0]}.{version[1]}")
        if dtype.hasobject:
            raise ValueError("it holds Python objects")
        if dtype != LITTLE_ENDIAN or shape != (count, dimension) or by_column:
            return False
        excess = os.fstat(file.fileno()).st_size - file.tell() - 4 * count * dimension
    if excess:
        what = "come after its vectors" if excess > 0 else "of its vectors are missing"
        raise ValueError(f"{abs(excess):,} bytes {what}")
    return True


def named_in(path: str) -> str | None:
    """The sidecar that a store file names; ``""`` for none.

    Returns:
        None where that cannot be told: no file, or none that was written here.
    """
    text = _last_of(path)
    # No text of JSON holds a raw end of line, so that no document looks like this.
    place = text.rfind(BEGIN)
    if place >= 0 and text.endswith(END):
        with suppress(UnicodeDecodeError):
            return text[place + len(BEGIN) : -len(END)].decode()
        return None
    return "" if text.endswith(b'"}\n') else None


def _last_of(path: str) -> bytes:
    """The end of a file; nothing of one that cannot be read."""
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _LONGEST_NAME))
            return file.read()
    except OSError:
        return b""


def remove_unnamed(target: str, last: str | None = None) -> None:
    """Remove sidecars beside a store file that no file there names and nobody is writing.

    Args:
        target: The store file.
        last: What it named before it was replaced: nobody writes that one, whatever locks say.
    """
    named = named_in(target)
    if named is None:
        return
    folder = os.path.dirname(target)
    pattern = re.compile(rf"{re.escape(_first_part(target))}\.{_DIGITS}\.npy")
    with suppress(OSError):
        with os.scandir(folder) as entries:
            unnamed = {
                entry.name: entry.path
                for entry in entries
                if entry.name != named and pattern.fullmatch(entry.name)
            }
        kept = _named_by_copies(folder, target) if unnamed else set()
        for name in unnamed:
            if _digits_of(name) in kept:
                continue
            with suppress(OSError, InUseElsewhere):
                if name == last:
                    os.unlink(unnamed[name])
                else:
                    _remove_if_unnamed(unnamed[name], target)


def _digits_of(name: str) -> bytes:
    return name[-24:-4].encode()


def _named_by_copies(folder: str, target: str) -> set[bytes]:
    """The digits of sidecars that files beside a store file name, in whatever layout.

    They are its copies, or it under a former name.
    """
    with os.scandir(folder) as entries:
        # A lock says nothing; what is on its way to be a store file has its sidecar locked.
        others = [
            entry.path
            for entry in entries
            if entry.name != os.path.basename(target)
            and not entry.name.endswith((".lock", ".tmp", ".npy"))
            and entry.is_file()
        ]
    return {digits for path in others for digits in _NAMED.findall(_last_of(path))}


def _remove_if_unnamed(path: str, target: str) -> None:
    file = LockedFile(path, os.O_RDONLY)
    try:
        # Only now: whoever had the lock may have named it meanwhile.
        if file.locked and named_in(target) not in (None, os.path.basename(path)):
            os.unlink(path)
    finally:
        file.close()
