"""The file of the in-memory store: one JSON document, written whole or not at all.

.. code-block:: text

    {"format":"vecstore-simple","version":1,"metric":"cosine","dimension":384,"count":2,"documents":[
    {"id":"a","text":"...","metadata":{...}},
    {"id":"b","text":"...","metadata":{...}}
    ],"vectors":"..."}

``vectors`` is the matrix of float32, little-endian, row after row, in base64. It stands last, so
that whoever only wants the documents can stop reading there. In version 2 it names the file beside
this one that holds the matrix instead: ``{"file":"kb.json.<20 digits>.npy"}``
(:mod:`vecstore.simple.sidecar`).

Version 3 is that of either layout where some document has no vector: it is written with
``"vector":null`` behind its metadata, and its row of the matrix is zeros. The dimension is null
where no document has a vector and nobody has said how long they are.

Version 4 is that of any of these where some document has something beside its metadata: it stands
behind that as ``"extra"``, a text of JSON, which no reader of numbers rounds.
"""

from __future__ import annotations

import binascii
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from vecstore.document import checked_id, checked_metadata, checked_text, shown_id
from vecstore.errors import DocumentError, StoreFileError
from vecstore.extra import decode_extra, encode_extra
from vecstore.filter.values import MAX_METADATA_DEPTH, UnusableValue, check_segment
from vecstore.simple import sidecar
from vecstore.simple.files import Source, read_source
from vecstore.simple.table import Snapshot
from vecstore.store.capabilities import METRICS, Metric
from vecstore.vectors import Matrix, VectorFault, first_not_finite, rows_not_finite, to_vector

try:
    import orjson
except ImportError:
    orjson = None  # type: ignore[assignment]

FORMAT = "vecstore-simple"
VERSION = 1
WITH_SIDECAR = 2
"""The version of files whose vectors are in another one."""
WITH_VECTORLESS = 3
"""The version of files with documents that have no vector; these are read from 3 on alone."""
WITH_EXTRA = 4
"""The version of files with documents that have something beside their metadata."""

_FIELDS = ("format", "version", "metric", "dimension", "count", "documents", "vectors")
_DOCUMENT_FIELDS = {"id", "text", "metadata"}
_VECTORLESS_FIELDS = {*_DOCUMENT_FIELDS, "vector"}
_EXTRA_FIELDS = {*_VECTORLESS_FIELDS, "extra"}
_ROWS_A_PIECE = 1_000
_BYTES_A_PIECE = 3 * 256 * 1024
_BLANKS = b" \t\r\n"

# Where the parts of a file begin and end as they are written here.
_DOCUMENTS = b',"documents":[\n'
_VECTORS = b'\n],"vectors":"'
_VECTORS_OF_ANY_KIND = b'\n],"vectors":'
_END = b'"}\n'
_PIECE = 1024 * 1024

_PLAIN = 10**18
"""No number from here on is taken without a closer look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a file holds, checked.

    Attributes:
        metric: As it was saved; None in files of Spring AI, which do not say.
        dimension: Length of the vectors; None in an empty file that does not say.
        ids: Ids of the documents, all different.
        texts: Their texts.
        metadata: Their metadata, normalised.
        vectors: Their vectors, one a row.
        bare: Which of them have none.
        extras: What stands beside the metadata, as JSON text, by the place of the document.
        sidecar: The file that the vectors were in, if they had one of their own.
    """

    metric: Metric | None
    dimension: int | None
    ids: list[str]
    texts: list[str]
    metadata: list[dict[str, Any]]
    vectors: Matrix
    bare: NDArray[np.bool_]
    extras: dict[int, str] = field(default_factory=dict)
    sidecar: str | None = None


def encoded(snapshot: Snapshot, beside: str | None = None) -> Iterator[bytes]:
    """The file's bytes, piece by piece.

    Args:
        snapshot: What to write.
        beside: Name of the sidecar that holds the vectors; None to write them as well.
    """
    version = VERSION if beside is None else WITH_SIDECAR
    if snapshot.vectorless:
        version = WITH_VECTORLESS
    rows = snapshot.live_rows()
    extras = snapshot.extras
    if extras and any(row in extras for row in rows.tolist()):
        version = WITH_EXTRA
    header = {
        "format": FORMAT,
        "version": version,
        "metric": snapshot.metric,
        "dimension": snapshot.dimension,
        "count": snapshot.live,
    }
    encode = json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
    ).encode
    yield f'{encode(header)[:-1]},"documents":['.encode()
    ids, texts, metadata = snapshot.ids, snapshot.texts, snapshot.metadata
    for start in range(0, len(rows), _ROWS_A_PIECE):
        piece = rows[start : start + _ROWS_A_PIECE]
        documents: list[dict[str, Any]] = [
            {"id": ids[row], "text": texts[row], "metadata": metadata[row]}
            for row in piece.tolist()
        ]
        if snapshot.vectorless:
            for place in np.flatnonzero(snapshot.bare[piece]).tolist():
                documents[place]["vector"] = None
        if version == WITH_EXTRA:
            for place, row in enumerate(piece.tolist()):
                if row in extras:
                    documents[place]["extra"] = extras[row]
        yield (b",\n" if start else b"\n") + _lines(documents, encode)
    if beside is not None:
        yield sidecar.BEGIN + beside.encode() + sidecar.END
        return
    yield _VECTORS
    # A multiple of 3 rows is a multiple of 3 bytes, so that the pieces of base64 fit together.
    step = 3 * max(1, _BYTES_A_PIECE // (3 * 4 * max(1, snapshot.matrix.shape[1])))
    for vectors in snapshot.vectors(step):
        yield binascii.b2a_base64(
            vectors.astype(sidecar.LITTLE_ENDIAN, copy=False).data, newline=False
        )
    yield _END


def _lines(documents: list[dict[str, Any]], encode: Callable[[Any], str]) -> bytes:
    """Documents as JSON, one a line."""
    if orjson is not None:
        try:
            return b",\n".join(map(orjson.dumps, documents))
        except TypeError:
            pass  # an integer past 64 bits
    return ",\n".join(map(encode, documents)).encode()


_RETRIES = 20
"""So many times a file is read again that was replaced while its sidecar was looked for."""


def read_contents(source: Source, *, mapped: bool = False) -> tuple[Contents, str]:
    """Everything in a file, checked, and what to call the file.

    A file at a path that is as :func:`encoded` writes it is read piece by piece, so that beside
    what it holds next to no memory is taken. Any other is read whole, which also finds out what is
    wrong with one.

    Args:
        source: A path, or an open file.
        mapped: Whether the vectors are to stay in the sidecar.

    Raises:
        StoreFileError: Saying what is wrong with it.
    """
    if not isinstance(source, str | os.PathLike):
        data, name = read_source(source)
        return decoded(data, name), name
    path = os.fspath(source)
    tries = 0
    while True:
        try:
            return _read_path(path, mapped)
        except sidecar.SidecarIsGone as gone:
            tries += 1
            # When a file is replaced, its sidecar goes; that of the file there is now may be there.
            if tries == _RETRIES or sidecar.named_in(path) == gone.name:
                raise


def _read_path(path: str, mapped: bool) -> tuple[Contents, str]:
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isfile(path):
        faults = (OSError, ValueError, RecursionError, StoreFileError)
        # From anything but a regular file the same cannot be read twice.
        with suppress(*faults), open(path, "rb") as file:
            return _streamed(file, folder, mapped), repr(path)
    data, name = read_source(path)
    return decoded(data, name, folder, mapped=mapped), name


def decoded(data: bytes, name: str, folder: str | None = None, *, mapped: bool = False) -> Contents:
    """Read a file's bytes, ours or Spring AI's, and check all of it.

    Args:
        data: The whole file.
        name: What to call it in errors.
        folder: Where its sidecar is; None for a text that has no place.
        mapped: Whether the vectors are to stay in the sidecar.

    Raises:
        StoreFileError: Saying what is wrong with it.
    """
    if not data[:1_000].strip(_BLANKS) and not data.strip(_BLANKS):
        raise StoreFileError(f"{name} is empty; a saved store is a JSON document")
    split = _split_off_vectors(data)
    if split is None:
        content = _parsed(data, name)
    else:
        content = _parsed(data[: split[0]] + b'"vectors":""}', name)
    if not isinstance(content, dict):
        raise StoreFileError(
            f"{name} is JSON, but not a saved store: it holds {_kind(content)}, not an object"
        )
    if not isinstance(content.get("format"), str):
        if mapped:
            raise _not_mapped(name)
        return _from_spring(content, name)
    if split is not None and content.get("vectors") == "":
        content["vectors"] = memoryview(data)[split[1] : split[2]]
    return _from_ours(content, name, folder, mapped=mapped)


def _not_mapped(name: str) -> StoreFileError:
    return StoreFileError(
        f"{name} holds its vectors itself, where memory cannot be mapped to them: load it without "
        "mmap, or save it with save(path, sidecar=True) first"
    )


def _streamed(file: BinaryIO, folder: str, mapped: bool) -> Contents:
    """What a file holds that is laid out as :func:`encoded` does it.

    Raises:
        ValueError: If it is laid out in any other way.
        StoreFileError: If something is wrong with it.
    """
    name = "the file"  # in errors that nobody will read
    first = file.readline(_PIECE)
    header = json.loads(first + b"]}") if first.endswith(_DOCUMENTS) else None
    if not isinstance(header, dict) or tuple(header) != _FIELDS[:-1]:
        raise ValueError(name)
    # The rest of what is to be said about a file is said of one without documents.
    count, version = header["count"], header["version"]
    if version in (WITH_SIDECAR, WITH_VECTORLESS, WITH_EXTRA):
        header["version"] = VERSION
    elif mapped and version == VERSION:
        raise _not_mapped(name)
    empty = {**header, "count": 0, "documents": [], "vectors": ""}
    contents = _from_ours(empty, name)
    taken = _Documents(name, version=version)
    rest = _read_documents(file, taken, _VECTORS_OF_ANY_KIND)
    rest += file.read(_PIECE) if len(rest) < len(sidecar.BEGIN) else b""
    apart = rest.startswith(sidecar.BEGIN.removeprefix(_VECTORS_OF_ANY_KIND))
    if version not in (WITH_VECTORLESS, WITH_EXTRA) and apart is not (version == WITH_SIDECAR):
        raise ValueError(name)
    if mapped and not apart:
        raise _not_mapped(name)
    opening = (sidecar.BEGIN if apart else _VECTORS).removeprefix(_VECTORS_OF_ANY_KIND)
    if not rest.startswith(opening):
        raise ValueError(name)
    rest = rest[len(opening) :]
    dimension = contents.dimension or 0
    if type(count) is not int or count != len(taken.texts):
        raise ValueError(name)
    if len(taken.bare) < count and not dimension:
        raise ValueError(name)
    beside = None
    if apart:
        rest += file.read(_PIECE)
        if not rest.endswith(sidecar.END):
            raise ValueError(name)
        beside = rest[: -len(sidecar.END)].decode()
        vectors = sidecar.read_sidecar(folder, beside, count, dimension, mapped=mapped)
    else:
        vectors = _read_vectors(file, rest, count, dimension)
    bare = taken.marks()
    if rows_not_finite(vectors) or _row_with_vector(vectors, bare) is not None:
        raise ValueError(name)
    return Contents(
        metric=contents.metric,
        dimension=contents.dimension,
        ids=list(taken.ids),
        texts=taken.texts,
        metadata=taken.metadata,
        vectors=vectors,
        bare=bare,
        extras=taken.extras,
        sidecar=beside,
    )


def _read_documents(file: BinaryIO, taken: _Documents, end_mark: bytes) -> bytes:
    """Read documents to the last; what has been read of what follows the mark behind them."""
    block = b"\n"
    while True:
        # A line longer than a piece is read in steps that grow with it.
        piece = file.read(max(_PIECE, len(block)))
        if not piece:
            raise ValueError("no vectors")
        block += piece
        # No text of JSON holds a raw end of line: what follows one is the layout's.
        end = block.find(end_mark)
        cut = block.rfind(b"\n") if end < 0 else end
        text = block[:cut].strip(_BLANKS)
        if end < 0 and text:
            if not text.endswith(b","):
                raise ValueError("a document on two lines")
            text = text[:-1]
        elif end >= 0 and not text and taken.texts:
            raise ValueError("a comma and no document")
        if text:
            taken.read(text)
        if end >= 0:
            return block[end + len(end_mark) :]
        block = block[cut:]


def _read_vectors(file: BinaryIO, text: bytes, count: int, dimension: int) -> Matrix:
    """Read base64 into a matrix, piece by piece."""
    size = 4 * count * dimension
    length = 4 * -(-size // 3)
    left = length - len(text)
    # Before memory is taken for what a file only says that it holds.
    if os.fstat(file.fileno()).st_size != file.tell() + left + len(_END):
        raise ValueError("another number of vectors")
    if left < 0:
        text, closing = text[:left], text[left:]
    else:
        closing = b""
    matrix = np.empty((count, dimension), sidecar.LITTLE_ENDIAN)
    held = matrix.reshape(-1).view(np.uint8)
    place = 0
    while text or left > 0:
        whole = len(text) - len(text) % 4
        data = binascii.a2b_base64(memoryview(text)[:whole], strict_mode=True)
        held[place : place + len(data)] = np.frombuffer(data, np.uint8)
        place += len(data)
        piece = file.read(min(_PIECE, left)) if left > 0 else b""
        left -= len(piece)
        text = text[whole:] + piece
        if not whole and not piece:
            raise ValueError("cut off")
    if place != size or closing + file.read() != _END:
        raise ValueError("another end")
    return matrix.astype(np.float32, copy=False)


_VECTORS_START = re.compile(rb'"vectors"\s*:\s*"')


def _split_off_vectors(data: bytes) -> tuple[int, int, int] | None:
    """Where the last field starts, and its text, when that field is ``vectors``.

    The vectors are most of a file; cut off, they need not go through the JSON parser. A raw
    ``"vectors"`` cannot stand inside a JSON string, whose quotes are escaped.
    """
    key = data.rfind(b'"vectors"')
    match = _VECTORS_START.match(data, key) if key > 0 else None
    if match is None:
        return None
    end = data.find(b'"', match.end())
    if end < 0 or data[end + 1 :].strip(_BLANKS) != b"}":
        return None
    return key, match.end(), end


def _parsed(data: bytes, name: str) -> Any:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StoreFileError(f"{name} is not UTF-8 text (at byte {error.start:,})") from None

    def refuse(constant: str) -> NoReturn:
        raise StoreFileError(f"{name} holds {constant}, which is no number that a store can hold")

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        end = len(text.rstrip())
        if text.startswith("{") and (error.pos >= end or text[end - 1] != "}"):
            raise StoreFileError(
                f"{name} is cut off: it ends in the middle, after {len(data):,} bytes"
            ) from None
        raise StoreFileError(
            f"{name} is not JSON: {error.msg} (line {error.lineno:,}, column {error.colno:,})"
        ) from None
    except RecursionError:
        raise StoreFileError(f"{name} is nested too deeply to be a saved store") from None
    except ValueError as error:  # an integer of more digits than Python reads
        raise StoreFileError(f"{name} cannot be read: {error}") from None


def _from_ours(
    content: dict[str, Any], name: str, folder: str | None = None, *, mapped: bool = False
) -> Contents:
    if content["format"] != FORMAT:
        raise StoreFileError(
            f"{name} has the format {content['format'][:60]!r}; a saved store has {FORMAT!r}"
        )
    version = content.get("version")
    if type(version) is not int or version < 1:
        raise StoreFileError(f"{name} says no version: it holds {_kind(version)} there")
    if version > WITH_EXTRA:
        raise StoreFileError(
            f"{name} was written by a later vecstore: it has version {version}, and this one reads "
            f"up to {WITH_EXTRA}; install a later vecstore-dialects"
        )
    for wanted in _FIELDS:
        if wanted not in content:
            raise StoreFileError(f"{name} is not complete: the field {wanted!r} is missing")
    unknown = [given for given in content if given not in _FIELDS]
    if unknown:
        raise StoreFileError(f"{name} holds a field {unknown[0][:60]!r} that no saved store has")
    metric = content["metric"]
    if metric not in METRICS:
        raise StoreFileError(f"{name} has the metric {metric!r}; there are {', '.join(METRICS)}")
    count, documents = content["count"], content["documents"]
    if not isinstance(documents, list):
        raise StoreFileError(f"{name} holds {_kind(documents)} in place of the list of documents")
    if type(count) is not int or count != len(documents):
        raise StoreFileError(
            f"{name} says that it holds {count!r} documents, but it holds {len(documents):,}"
        )
    dimension = content["dimension"]
    taken = _Documents(name, version=version)
    taken.take(documents)
    has_vectors = len(taken.bare) < count
    if (dimension is not None or has_vectors) and (type(dimension) is not int or dimension < 1):
        raise StoreFileError(f"{name} has the dimension {dimension!r}, which is no whole number")
    ids = list(taken.ids)
    beside = None
    if version == WITH_SIDECAR or (
        version >= WITH_VECTORLESS and isinstance(content["vectors"], dict)
    ):
        beside = _named_sidecar(content["vectors"], name)
        if folder is None:
            raise StoreFileError(
                f"{name} has its vectors in another file, {beside!r}: load it by its path"
            )
        vectors = sidecar.read_sidecar(folder, beside, count, dimension or 0, mapped=mapped)
    elif mapped:
        raise _not_mapped(name)
    else:
        vectors = _vectors(content["vectors"], count, dimension or 0, name)
    row = first_not_finite(vectors)
    if row is not None:
        raise StoreFileError(
            f"{name}: the vector of document {shown_id(ids[row])} holds NaN or an infinity"
        )
    bare = taken.marks()
    row = _row_with_vector(vectors, bare)
    if row is not None:
        raise StoreFileError(
            f"{name} holds a vector for document {shown_id(ids[row])}, of which it says that it "
            "has none"
        )
    return Contents(
        metric=metric,
        dimension=dimension,
        ids=ids,
        texts=taken.texts,
        metadata=taken.metadata,
        vectors=vectors,
        bare=bare,
        extras=taken.extras,
        sidecar=beside,
    )


def _row_with_vector(vectors: Matrix, bare: NDArray[np.bool_]) -> int | None:
    """The first row that holds a vector, among those of documents that have none."""
    rows = np.flatnonzero(bare)
    for start in range(0, len(rows), _ROWS_A_PIECE):
        piece = rows[start : start + _ROWS_A_PIECE]
        held = vectors[piece].any(axis=1)
        if held.any():
            return int(piece[held.argmax()])
    return None


def _named_sidecar(value: Any, name: str) -> str:
    if isinstance(value, dict) and value.keys() == {"file"} and isinstance(value["file"], str):
        return str(value["file"])
    raise StoreFileError(
        f"{name} holds {_kind(value)} in place of the name of the file with its vectors"
    )


class _Documents:
    """The documents of a file, as far as they have been read."""

    def __init__(self, name: str, *, version: int) -> None:
        self._name = name
        more = {WITH_VECTORLESS: _VECTORLESS_FIELDS, WITH_EXTRA: _EXTRA_FIELDS}
        self._fields = more.get(version, _DOCUMENT_FIELDS)
        self.extras: dict[int, str] = {}
        self.bare: list[int] = []
        """Where those stand that have no vector."""
        self.ids: dict[str, None] = {}
        self.texts: list[str] = []
        self.metadata: list[dict[str, Any]] = []
        self._keys: set[str] = set()

    def marks(self) -> NDArray[np.bool_]:
        """For each document whether it has no vector."""
        marks = np.zeros(len(self.texts), np.bool_)
        marks[self.bare] = True
        return marks

    def read(self, text: bytes) -> None:
        """Take documents that are written one after the other, with commas between.

        Raises:
            ValueError: If the text is anything else.
            StoreFileError: If a document cannot be taken.
        """
        listed = b"[%b]" % text
        # Only an escape can bring in a character that no text holds. Integers past 64 bits are
        # floats to orjson, which is why no large number is plain.
        if b"\\u" not in listed and self._take_plain(_loads(listed)):
            return
        items = json.loads(listed.decode())
        assert isinstance(items, list)  # whatever stands between brackets
        self.take(items)

    def take(self, items: list[Any]) -> None:
        """Take documents, each of which is checked.

        Raises:
            StoreFileError: If one cannot be taken.
        """
        name, first = self._name, len(self.texts)
        for position, item in enumerate(items, first):
            if (
                not isinstance(item, dict)
                or not {"id", "text"} <= item.keys() <= self._fields
                or item.get("vector") is not None
            ):
                raise StoreFileError(
                    f"{name}: document {position} is not an object with id, text and metadata"
                )
            given = (item["id"], item["text"], item.get("metadata"))
            id, text, fields = _checked(*given, name, position)
            if id in self.ids:
                raise StoreFileError(f"{name} holds the id {shown_id(id)} twice")
            self.ids[id] = None
            self.texts.append(text)
            self.metadata.append(fields)
            if "extra" in item:
                self.extras[position] = _checked_extra(item["extra"], name, position)
            if "vector" in item:
                self.bare.append(position)

    def _take_plain(self, items: list[Any]) -> bool:
        """Take documents that need no change and no closer look; or none of them."""
        ids: list[str] = []
        texts: list[str] = []
        metadata: list[dict[str, Any]] = []
        bare: list[int] = []
        for place, item in enumerate(items, len(self.texts)):
            if item.__class__ is not dict:
                return False
            if item.keys() != _DOCUMENT_FIELDS:
                if item.keys() != _VECTORLESS_FIELDS & self._fields or item["vector"] is not None:
                    return False
                bare.append(place)
            id, text, fields = item["id"], item["text"], item["metadata"]
            if id.__class__ is not str or not id or text.__class__ is not str:
                return False
            if fields.__class__ is not dict or not self._is_plain(fields, 1):
                return False
            ids.append(id)
            texts.append(text)
            metadata.append(fields)
        if not self.ids.keys().isdisjoint(ids) or len(set(ids)) < len(ids):
            return False
        self.ids.update(dict.fromkeys(ids))
        self.texts += texts
        self.metadata += metadata
        self.bare += bare
        return True

    def _is_plain(self, fields: dict[str, Any], depth: int) -> bool:
        """Whether metadata is what :func:`~vecstore.document.checked_metadata` makes of it."""
        if not self._keys.issuperset(fields):
            try:
                self._keys.update(map(check_segment, fields))
            except UnusableValue:
                return False
        for value in fields.values():
            kind = value.__class__
            if kind is str or kind is bool or value is None:
                continue
            if kind is int or kind is float:
                if not -_PLAIN < value < _PLAIN:
                    return False
            elif kind is list:
                if value and not _is_plain_list(value):
                    return False
            elif depth == MAX_METADATA_DEPTH or not self._is_plain(value, depth + 1):
                return False
        return True


def _is_plain_list(items: list[Any]) -> bool:
    kinds = set(map(type, items))
    if kinds == {str} or kinds == {bool}:
        return True
    return kinds <= {int, float} and min(items) > -_PLAIN and max(items) < _PLAIN


def _loads(text: bytes) -> Any:
    return json.loads(text) if orjson is None else orjson.loads(text)


def _checked(
    id: Any, text: Any, metadata: Any, name: str, position: int
) -> tuple[str, str, dict[str, Any]]:
    try:
        id = checked_id(id)
        fields = {} if metadata is None else checked_metadata(metadata, id)
        return id, checked_text(text, id), fields
    except DocumentError as error:
        raise StoreFileError(f"{name}: document {position} cannot be read: {error}") from None


def _checked_extra(text: Any, name: str, position: int) -> str:
    if not isinstance(text, str):
        raise StoreFileError(
            f"{name}: the extra of document {position} is {_kind(text)}, not JSON as text"
        )
    try:
        return encode_extra(decode_extra(text), f"document {position}")
    except DocumentError as error:
        raise StoreFileError(f"{name}: {error}") from None


def _vectors(text: Any, count: int, dimension: int, name: str) -> Matrix:
    if not isinstance(text, str | memoryview):
        raise StoreFileError(f"{name} holds {_kind(text)} in place of the vectors' base64 text")
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise StoreFileError(f"{name}: the vectors are not base64: {error}") from None
    wanted = count * dimension * 4
    if len(data) != wanted:
        raise StoreFileError(
            f"{name}: {count:,} vectors of {dimension:,} dimensions are {wanted:,} bytes, but "
            f"{len(data):,} are there"
        )
    vectors = np.frombuffer(data, sidecar.LITTLE_ENDIAN).astype(np.float32, copy=False)
    return vectors.reshape(count, dimension)


def _from_spring(content: dict[str, Any], name: str) -> Contents:
    """A file of Spring AI's SimpleVectorStore: an object of id -> document with embedding."""
    ids: list[str] = []
    texts: list[str] = []
    metadata: list[dict[str, Any]] = []
    rows: list[Any] = []
    for position, (key, item) in enumerate(content.items()):
        if not isinstance(item, dict) or "embedding" not in item:
            raise StoreFileError(
                f'{name} is JSON, but not a saved store: it has no field "format", and is no file '
                "of Spring AI's SimpleVectorStore either"
            )
        text = item.get("text", item.get("content"))
        id, text, fields = _checked(
            item.get("id", key), "" if text is None else text, item.get("metadata"), name, position
        )
        if id != key:
            raise StoreFileError(
                f"{name}: the document under {shown_id(key)} has the id {shown_id(id)}"
            )
        try:
            vector = to_vector(item["embedding"])
        except VectorFault as fault:
            raise StoreFileError(f"{name}: the embedding of {shown_id(key)} {fault}") from None
        if rows and len(vector) != len(rows[0]):
            raise StoreFileError(
                f"{name}: the embedding of {shown_id(key)} has {len(vector):,} dimensions, the one "
                f"of {shown_id(ids[0])} has {len(rows[0]):,}"
            )
        ids.append(id)
        texts.append(text)
        metadata.append(fields)
        rows.append(vector)
    return Contents(
        metric=None,
        dimension=len(rows[0]) if rows else None,
        ids=ids,
        texts=texts,
        metadata=metadata,
        vectors=np.array(rows, np.float32).reshape(len(rows), len(rows[0]) if rows else 0),
        bare=np.zeros(len(rows), np.bool_),
    )


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return "a text"
    return f"{value!r:.60}"
