r"""Files of documents with their vectors: JSON lines and Parquet.

Both are written beside their name, under ``.partial``, and take their name when they are whole:
what has a name is complete. What an interrupted copy left is read again and gone on with.

A line is ``{"id": …, "text": …, "metadata": {…}, "embedding": […]}``, and ``"extra": …`` where the
document has one. A Parquet file has the same five columns, metadata and extra as JSON text. The
embedding of a document without a vector is null.
"""

from __future__ import annotations

import codecs
import errno
import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from vecstore.document import Document, stored_extra
from vecstore.errors import (
    BackendNotInstalledError,
    ConfigurationError,
    DocumentError,
    StoreFileError,
)
from vecstore.filter.tree import Expression
from vecstore.installing import install_line
from vecstore.simple.locks import FileOwner

SUFFIXES = (".jsonl", ".ndjson", ".parquet")
_FIELDS = ("id", "text", "metadata", "embedding")
_EXAMPLE = '{"id": "a", "text": "…", "metadata": {}, "embedding": [0.1, 0.2]}'


class DocumentFile(ABC):
    """A file of documents, whole or on its way.

    Args:
        path: Its name when it is whole.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.partial = path.with_name(f"{path.name}.partial")
        self._owner: FileOwner | None = None

    def scan(self, batch_size: int) -> Iterator[Document]:
        """The documents of the file.

        Raises:
            DocumentError: For what is no document, with its line or row.
            ConfigurationError: If there is no such file.
        """
        if not self.path.exists():
            fault = f"there is no file {self.path}"
            if self.partial.exists():
                fault += "; it is not whole yet: end the copy that writes it by running it again"
            raise ConfigurationError(fault)
        return self._read(batch_size)

    def _read(self, batch_size: int) -> Iterator[Document]:
        with self._told("read"):
            yield from self._documents(self.path, batch_size)

    def own(self) -> None:
        """Keep other copies from writing the file until it is closed.

        Raises:
            StoreFileError: If another copy is writing it, or nothing can be written there.
        """
        with self._told("written"):
            if self.path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(self.path))
            self._make_folder()
        try:
            self._owner = FileOwner(str(self.path))
        except StoreFileError as error:
            if isinstance(error.__cause__, OSError):
                raise self._fault(error.__cause__, "written") from error.__cause__
            raise StoreFileError(
                f"{self.path} is being written by another copy; wait for its end, or name another "
                "file"
            ) from error

    def count(self) -> int | None:
        """How many documents there are in the file; None where that needs reading it."""
        with self._told("read"):
            return self._count()

    def begin(self) -> set[str]:
        """Open the file for writing; the ids that an interrupted copy has left in it."""
        with self._told("written"):
            return self._begin()

    def add(self, documents: Sequence[Document]) -> None:
        """Write documents that are not there yet, so that they outlive the end of the process."""
        with self._told("written"):
            self._add(documents)

    def finish(self) -> None:
        """Give the file its name."""
        with self._told("written"):
            self._finish()

    def close(self) -> None:
        """Leave what was written for another time, and the file to other copies."""
        try:
            with self._told("written"):
                self._close()
        finally:
            if self._owner is not None:
                self._owner.release()

    @contextmanager
    def _told(self, verb: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._fault(error, verb) from error

    def _fault(self, error: OSError, verb: str) -> StoreFileError:
        place = error.filename or str(self.path)
        if isinstance(error, FileNotFoundError):
            reason = f"there is no {os.path.dirname(place) or '.'!r}, or it went; make the folder"
            if verb == "read":
                reason = "it is gone; run the copy again when it is there"
        elif isinstance(error, IsADirectoryError):
            reason = f"{place!r} is a folder; move it away, or name another file"
        elif isinstance(error, FileExistsError | NotADirectoryError):
            reason = f"a file is in the place of a folder in {place!r}; move it, or name another"
        elif isinstance(error, PermissionError):
            reason = f"permission denied for {place!r}; change its permissions, or name another"
        elif error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = "the disk is full; make room and run the copy again, which goes on from there"
        else:
            reason = f"{error.strerror or error}; mend that, and run the copy again"
        return StoreFileError(f"{self.path} cannot be {verb}: {reason}")

    def _make_folder(self) -> None:
        """Make the folder of the file, for kinds that do."""

    @abstractmethod
    def _count(self) -> int | None: ...

    @abstractmethod
    def _begin(self) -> set[str]: ...

    @abstractmethod
    def _add(self, documents: Sequence[Document]) -> None: ...

    @abstractmethod
    def _finish(self) -> None: ...

    @abstractmethod
    def _close(self) -> None: ...

    @abstractmethod
    def _documents(self, path: Path, batch_size: int) -> Iterator[Document]: ...


class JsonLinesFile(DocumentFile):
    """JSON lines."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._stream: Any = None

    def _count(self) -> int | None:
        return None

    def _begin(self) -> set[str]:
        ids: set[str] = set()
        end = 0
        if self.partial.exists():
            with self.partial.open("rb") as stream:
                for line in stream:
                    if not line.endswith(b"\n"):
                        break  # the line at which the process ended
                    ids.add(_read_line(line, self.partial, 0).id)
                    end += len(line)
        self._stream = self.partial.open("ab")
        self._stream.truncate(end)
        self._stream.seek(end)
        return ids

    def _add(self, documents: Sequence[Document]) -> None:
        for document in documents:
            self._stream.write(_line(document))
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def _finish(self) -> None:
        self._stream.close()
        os.replace(self.partial, self.path)

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.close()

    def _documents(self, path: Path, batch_size: int) -> Iterator[Document]:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if number == 1:  # which some editors and spreadsheets write
                    line = line.removeprefix(codecs.BOM_UTF8)
                if line.strip():
                    yield _read_line(line, path, number)


class ParquetFile(DocumentFile):
    """Parquet, by pyarrow.

    A Parquet file is readable when its end is written. So a copy writes a folder of whole files,
    and makes one of them at its end.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise BackendNotInstalledError(
                f"Parquet files need pyarrow: {install_line('parquet')}"
            ) from None
        self._arrow: Any = pyarrow
        self._parquet: Any = pyarrow.parquet
        self._parts = 0
        self._done = path.with_name(f"{path.name}.done")

    def _count(self) -> int | None:
        with self._opened(self.path) as file:
            return int(file.metadata.num_rows)

    def _begin(self) -> set[str]:
        if self._done.exists():
            shutil.rmtree(self._done)
        self.partial.mkdir(parents=True, exist_ok=True)
        ids: set[str] = set()
        for part in self._whole_parts():
            with self._whole(part):
                ids.update(self._parquet.read_table(part, columns=["id"])["id"].to_pylist())
            self._parts = int(part.stem) + 1
        return ids

    def _add(self, documents: Sequence[Document]) -> None:
        part = self.partial / f"{self._parts:09}.parquet"
        unfinished = part.with_suffix(".unfinished")
        self._parquet.write_table(self._table(documents), unfinished)
        with unfinished.open("rb") as stream:
            os.fsync(stream.fileno())
        os.replace(unfinished, part)
        self._parts += 1

    def _finish(self) -> None:
        parts = self._whole_parts()
        whole = self.partial / "whole"
        schema = self._schema() if not parts else self._parquet.read_schema(parts[0])
        with self._parquet.ParquetWriter(whole, schema) as writer:
            for part in parts:
                with self._whole(part):
                    table = self._parquet.read_table(part)
                writer.write_table(table)
        with whole.open("rb") as stream:
            os.fsync(stream.fileno())
        # What is left of the folder, wherever this ends, is no remainder that a copy goes on with.
        os.replace(self.partial, self._done)
        os.replace(self._done / whole.name, self.path)
        shutil.rmtree(self._done)

    def _close(self) -> None:
        """Every part is whole already."""

    def _make_folder(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def _whole(self, part: Path) -> Iterator[None]:
        """Say of a part that cannot be read what to do about it."""
        try:
            yield
        except (OSError, KeyError, self._arrow.ArrowException) as error:
            raise StoreFileError(
                f"{part}, which an interrupted copy left, cannot be read ({error}); delete it, and "
                "run the copy again, which writes what is missing"
            ) from error

    def _whole_parts(self) -> list[Path]:
        return sorted(part for part in self.partial.glob("*.parquet") if part.stem.isdecimal())

    def _schema(self) -> Any:
        arrow = self._arrow
        return arrow.schema(
            [
                ("id", arrow.string()),
                ("text", arrow.string()),
                ("metadata", arrow.string()),
                ("embedding", arrow.list_(arrow.float32())),
                ("extra", arrow.string()),
            ]
        )

    def _table(self, documents: Sequence[Document]) -> Any:
        columns = {
            "id": [document.id for document in documents],
            "text": [document.text for document in documents],
            "metadata": [_json(document.metadata) for document in documents],
            "embedding": [document.embedding for document in documents],
            "extra": [stored_extra(document) for document in documents],
        }
        return self._arrow.table(columns, schema=self._schema())

    def _opened(self, path: Path) -> Any:
        try:
            return self._parquet.ParquetFile(path)
        except self._arrow.ArrowInvalid as error:
            raise ConfigurationError(f"{path} is no Parquet file: {error}") from error

    def _documents(self, path: Path, batch_size: int) -> Iterator[Document]:
        with self._opened(path) as file:
            missing = [name for name in _FIELDS if name not in file.schema_arrow.names]
            if missing:
                raise ConfigurationError(
                    f"{path} has no column {missing[0]!r}; a file of documents has the columns "
                    + ", ".join(_FIELDS)
                )
            number = 0
            # Files of others, and of earlier versions, need have none.
            more = ["extra"] if "extra" in file.schema_arrow.names else []
            wanted = [*_FIELDS, *more]
            for batch in file.iter_batches(batch_size=batch_size, columns=wanted):
                columns = batch.select([*_FIELDS[:3], *more]).to_pydict()
                # As numpy arrays, not as lists of Python's floats.
                vectors = batch.column("embedding").to_numpy(zero_copy_only=False)
                for at in range(batch.num_rows):
                    number += 1
                    row = {name: columns[name][at] for name in (*_FIELDS[:3], *more)}
                    for name in ("metadata", *more):
                        if isinstance(row[name], str):
                            row[name] = _parsed(row[name], f"{path}, row {number}")
                    row["embedding"] = vectors[at]
                    yield _document(row, f"{path}, row {number}")


def document_file(path: Path) -> DocumentFile:
    """The file of that name.

    Raises:
        ConfigurationError: If its suffix is of no kind that is known.
        BackendNotInstalledError: For a Parquet file without pyarrow.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigurationError(
            f"{path} ends in none of {', '.join(SUFFIXES)}; for a store write its address, such as "
            f"memory:{path}"
        )
    return ParquetFile(path) if suffix == ".parquet" else JsonLinesFile(path)


def matching(documents: Iterator[Document], filter: Expression | None) -> Iterator[Document]:
    """The documents that a filter selects."""
    if filter is None:
        return documents
    matches = filter.matcher()
    return (document for document in documents if matches(document.metadata))


def batches(documents: Iterator[Document], size: int) -> Iterator[list[Document]]:
    """The documents in lists of that size."""
    while batch := list(islice(documents, size)):
        yield batch


def _line(document: Document) -> bytes:
    embedding = document.embedding
    row = {
        "id": document.id,
        "text": document.text,
        "metadata": document.metadata,
        "embedding": None if embedding is None else embedding.tolist(),
    }
    if (extra := document.extra) is not None:
        row["extra"] = extra
    return _json(row).encode("utf-8") + b"\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _read_line(line: bytes, path: Path, number: int) -> Document:
    where = f"{path}, line {number}" if number else str(path)
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(f"{where}: this is not UTF-8 ({error.reason})") from None
    return _document(_parsed(text, where), where)


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DocumentError(
            f"{where}: this is not JSON: {error.msg} (column {error.colno})"
        ) from None
    except RecursionError:
        raise DocumentError(f"{where}: the JSON is nested too deep to be read") from None
    except ValueError:  # Python does not read integers past 4,300 digits
        raise DocumentError(f"{where}: it holds an integer that is too long to be read") from None


def _document(row: Any, where: str) -> Document:
    if not isinstance(row, dict):
        raise DocumentError(f"{where}: a document is an object, not this: {_EXAMPLE}")
    if not isinstance(row.get("id"), str) or not isinstance(row.get("text"), str):
        raise DocumentError(f"{where}: a document has an id and a text: {_EXAMPLE}")
    if "embedding" not in row:
        raise DocumentError(
            f"{where}: the document has no embedding, and nothing is embedded while copying; "
            "add it to a store that has an embedder, as vecstore index does, or say that it has "
            'none: "embedding": null'
        )
    metadata = row.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise DocumentError(f"{where}: metadata is an object: {_EXAMPLE}")
    try:
        return Document(row["text"], metadata, row["id"], row["embedding"], extra=row.get("extra"))
    except DocumentError as error:
        raise DocumentError(
            f"{where}: {error}", document_id=error.document_id, key=error.key
        ) from None
