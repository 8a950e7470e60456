"""Documents in Redis: hashes of a server, of an embedded one in a folder, or by a client."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Unpack

from vecstore.dialects.declared import Path
from vecstore.dialects.redis.client import Calls
from vecstore.dialects.redis.dialect import Redis
from vecstore.dialects.redis.layout import EXTRA, TEXT, TOKENS, VECTOR, Layout, number_field
from vecstore.dialects.redis.records import MOST_FOUND, Condition, Record, Records
from vecstore.document import Document
from vecstore.embedding import BatchingStrategy, EmbedderInput
from vecstore.errors import BackendError, ConfigurationError, SchemaMismatchError
from vecstore.filter.tree import Expression
from vecstore.store.backend import Batch, Judge, Selection, changed, id_outside
from vecstore.store.capabilities import Metric, StoreCapabilities
from vecstore.store.collection import BATCH, NearestStore, decider
from vecstore.store.drivers import misfit
from vecstore.store.foreign import ForeignRecords
from vecstore.store.limits import LONGEST_IN_FLOAT32, SHORTEST_IN_FLOAT32
from vecstore.store.options import CommonOptions
from vecstore.store.ranking import filled, scored, top_with_ties
from vecstore.store.url import StoreURL, flag

if TYPE_CHECKING:
    import redis

    from vecstore.vectors import Vector

_DISTANCES: Final[Mapping[Metric, str]] = {"cosine": "COSINE", "dot": "IP", "euclidean": "L2"}
_VERSION: Final = 1
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_SHORTEST_UNDER_DOT: Final = 1e-3
"""The engine ranks by 1 - dot in float32, where nothing is left of a product of 1e-8."""


class RedisStore(NearestStore):
    """An index of hashes: text, metadata as JSON with its tokens, and vector.

    Args:
        index: Name of the index; the keys of its documents begin with ``vecstore:<index>:``.
        host: The name of a server with the search module,
        path: a folder, for an embedded one that ends with its last user, or
        client: an open client of redis with ``protocol=3``, which stays open.
        port: Of the server; by default 6379.
        ssl: Whether the connection is encrypted.
        username: For the server.
        password: For the server; no error shows it.
        create: Make the index when it is missing, with the first documents or, where ``dimension``
            is given, at once. Searches never do. By default only in a folder.
        numbers: The keys whose numbers can be ordered, for an index that is made; by default those
            that the schema declares. Keys are read as in a filter: ``["author.born"]``.
        texts: The same of texts.
        timeout: Seconds to wait for an answer of the server.
        embedder: See :class:`~vecstore.VectorStore`, as for ``metric``, ``dimension`` and
            ``batching``.
        **common: As for every store, such as ``schema``.

    Raises:
        BackendNotInstalledError: If redis is missing.
        ConfigurationError: If an option cannot work.
        SchemaMismatchError: If the index does not fit, or is missing and not to be made.
        BackendError: If the server cannot be reached, or has no search module.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     with RedisStore("docs", path=f"{folder}/redis", dimension=2) as store:
        ...         added = store.add([Document("Hello", {"n": 1}, id="a", embedding=[1, 0])])
        ...         [found.id for found in store.search(vector=[1, 0], filter="n == 1")]
        ['a']
    """

    name: ClassVar[str] = "redis"
    engine: ClassVar[str] = "Redis"
    capabilities: StoreCapabilities = StoreCapabilities(
        exact_topk=True,
        conflict_atomic=True,
        batch_atomic=True,
        scoped_add_atomic=True,
        filtered_count=True,
        native_ids=True,
        vectorless=True,
        keeps_extra=True,
        max_text_bytes=2**28,
        max_dimension=32_768,
        min_vector_length=SHORTEST_IN_FLOAT32,
        max_vector_length=LONGEST_IN_FLOAT32,
        max_batch=BATCH,
    )

    _call: Calls
    _records: Records
    _servers = 1

    def __init__(
        self,
        index: str,
        *,
        host: str | None = None,
        path: str | os.PathLike[str] | None = None,
        client: redis.Redis | None = None,
        port: int | None = None,
        ssl: bool = False,
        username: str | None = None,
        password: str | None = None,
        create: bool | None = None,
        numbers: Collection[str | Path] | None = None,
        texts: Collection[str | Path] | None = None,
        timeout: float = 60,
        embedder: EmbedderInput | None = None,
        metric: Metric = "cosine",
        dimension: int | None = None,
        batching: BatchingStrategy | None = None,
        **common: Unpack[CommonOptions],
    ) -> None:
        if not isinstance(index, str) or not _NAME.fullmatch(index):
            raise ConfigurationError(
                f"an index has a name of up to 200 letters of ASCII, digits, dots, hyphens and "
                f"underscores, not {index!r}"
            )
        given = {"port": port, "ssl": ssl, "username": username, "password": password}
        told = {name: value for name, value in given.items() if value}
        if host is None and told:
            raise ConfigurationError(f"{next(iter(told))} is for a server, which host=... names")
        super().__init__(embedder, metric=metric, dimension=dimension, batching=batching, **common)
        self._collection = index
        self._timeout = timeout
        folder = None if path is None else os.fspath(path)
        if metric == "dot":
            self.capabilities = replace(self.capabilities, min_vector_length=_SHORTEST_UNDER_DOT)
        address = {} if host is None else {"host": host, **told}
        wanted: Any = Redis(self.schema, numbers, texts)  # which reads the keys
        self._call = Calls(client, folder=folder, address=address, timeout=timeout)
        self._records = Records(call=self._call, index=index)
        self._create = folder is not None if create is None else create
        self._lay_out(Layout(wanted.numbers, wanted.texts))
        self._open_collection()

    @classmethod
    def from_url(
        cls, url: StoreURL, *, embedder: EmbedderInput | None = None, **options: Any
    ) -> RedisStore:
        """Open ``redis://host:6379/0?index=docs``, ``rediss://…`` or ``redis+embedded:///folder``.

        An embedded server runs in the folder while any store or process uses it.
        """
        read = url.options(_URL_OPTIONS, options)
        index = read.pop("index", None)
        if not index:
            raise ConfigurationError(f"{url}: name the index: {url.scheme}://…?index=docs")
        if url.scheme == "redis+embedded":
            read["path"] = url.file()
            if read["path"] is None:
                raise ConfigurationError(
                    "an embedded Redis lies in a folder: redis+embedded:///folder?index=docs"
                )
            return cls(index, embedder=embedder, **read)
        if url.path.strip("/") not in ("", "0"):
            raise ConfigurationError(
                f"{url}: Redis has indexes in its database 0 alone: {url.scheme}://host:6379/0"
            )
        place = {"port": url.port, "username": url.user, "password": url.password}
        read.update({name: value for name, value in place.items() if value is not None})
        read.update(host=url.host or "localhost", ssl=url.scheme == "rediss")
        return cls(index, embedder=embedder, **read)

    # --- the index ---------------------------------------------------------------------------

    def _lay_out(self, layout: Layout) -> None:
        self._records.layout = layout
        self._dialect = Redis(self.schema, numbers=layout.numbers, texts=layout.texts)

    def _exists(self, operation: str) -> bool:
        if self._servers != self._call.servers:
            # One that has just begun may have no index yet, or one that is still being filled.
            self._present, self._servers = False, self._call.servers
        return super()._exists(operation)

    def _look(self, operation: str) -> bool:
        name, title = self._collection, f"the index {self._collection!r}"
        indexes = {bytes(one) for one in self._call(operation, "FT._LIST")}
        if self._call(operation, "TYPE", self._records.note) not in (b"string", b"none"):
            raise self._damaged()
        note = self._call(operation, "GET", self._records.note)
        if note is None:
            if name.encode() in indexes:
                raise misfit(title, ["it is not in vecstore's layout"], "; choose another name")
            return False
        try:
            held = json.loads(note)
            version, metric, dimension = held["version"], held["metric"], held["dimension"]
            numbers, texts = (_paths(held[kind]) for kind in ("numbers", "texts"))
            if version == _VERSION and (type(dimension) is not int or dimension < 1):
                raise ValueError
        except (KeyError, TypeError, ValueError, RecursionError):
            raise self._damaged() from None
        faults = []
        if version != _VERSION:
            faults.append(f"its layout has version {version} and not {_VERSION}")
        if metric != self._metric:
            faults.append(f"it compares vectors by {metric} and not by {self._metric}")
        if self._dimension is not None and dimension != self._dimension:
            faults.append(f"its vectors have {dimension} dimensions and not {self._dimension}")
        if faults:
            raise misfit(title, faults)
        self._dimension = dimension
        self._lay_out(Layout(numbers, texts))
        if name.encode() not in indexes:
            self._make_index(operation)
        vector = next((one for one in self._wait(operation) if one[b"attribute"] == b"vector"), {})
        if vector.get(b"dim", dimension) != dimension:
            raise self._damaged(vector[b"dim"])
        return True

    def _damaged(self, dimension: int | None = None) -> SchemaMismatchError:
        """The error where somebody has put something else into the key of the note."""
        key, dimension = self._records.note, dimension or self._dimension
        return misfit(
            f"the index {self._collection!r}",
            [f"what the key {key!r} says of its layout cannot be read, or is wrong"],
            f"; put it right, as in SET {key} '{self._note(dimension or 384)}', with the dimension "
            "of its vectors, and with the keys in numbers and texts that it was made with",
        )

    def _note(self, dimension: int) -> str:
        layout = self._records.layout
        return json.dumps(
            {
                "version": _VERSION,
                "metric": self._metric,
                "dimension": dimension,
                "numbers": sorted(layout.numbers),
                "texts": sorted(layout.texts),
            }
        )

    def _make_collection(self, dimension: int) -> None:
        # Who is first decides; the index is made by whoever finds the note without it.
        self._call("add", "SET", self._records.note, self._note(dimension), "NX")

    def _make_index(self, operation: str) -> None:
        schema: list[Any] = [TOKENS, "TAG", "SEPARATOR", ",", "CASESENSITIVE"]
        for path in sorted(self._records.layout.numbers):
            schema += [number_field(path), "NUMERIC"]
        schema += [VECTOR, "VECTOR", "FLAT", 6, "TYPE", "FLOAT32", "DIM", self._dimension]
        schema += ["DISTANCE_METRIC", _DISTANCES[self._metric]]
        ask = ["FT.CREATE", self._collection, "ON", "HASH", "PREFIX", 1, self._records.prefix]
        try:
            self._call(operation, *ask, "SCHEMA", *schema)
        except BackendError as error:
            if "already exists" not in str(error):
                raise

    def _wait(self, operation: str) -> list[dict[bytes, Any]]:
        """Wait until the index holds what was there before it; the fields that it knows."""
        ends = time.monotonic() + self._timeout
        while (told := self._call(operation, "FT.INFO", self._collection))[b"indexing"]:
            if time.monotonic() > ends:
                raise BackendError(
                    f"the index {self._collection!r} is still being filled; open the store later",
                    operation=operation,
                    retryable=True,
                )
            time.sleep(0.05)
        fields: list[dict[bytes, Any]] = told[b"attributes"]
        return fields

    # --- the hooks ---------------------------------------------------------------------------

    def _compile_filter(self, filter: Expression) -> Condition:
        compiled = self._dialect.compile(filter, limits=None)
        return Condition(
            compiled.dialect,
            compiled.native,
            matches_all=compiled.matches_all,
            matches_nothing=compiled.matches_nothing,
            decide=decider(filter),
        )

    def _add(self, batch: Batch) -> Iterable[str]:
        self._make_ready(batch)
        vectors = batch.vectors.astype("<f4", copy=False)
        while True:
            rows, expected = self._free(batch)
            ids = [batch.ids[row] for row in rows]
            fields: list[Mapping[str, Any]] = [
                {
                    **self._records.layout.write(batch.metadata[row]),
                    TEXT: batch.texts[row],
                    # A hash without one is in the index, and no search finds it.
                    **({} if batch.vectorless else {VECTOR: vectors[row].tobytes()}),
                    **_extra_of(batch, row),
                }
                for row in rows
            ]
            if not ids or self._records.write("add", ids, fields, expected, replace=True):
                return ids

    def _free(self, batch: Batch) -> tuple[Sequence[int], list[bytes] | None]:
        """The rows of a batch that may be written, and what metadata stands there now."""
        if batch.on_conflict == "replace" and batch.within is None:
            return range(len(batch)), None
        held = {one.id: one for one in self._records.read("add", batch.ids, texts=False)}
        # A hash of others has the id as well, though it is no document and in no scope.
        others = self._records.taken("add", [id for id in batch.ids if id not in held])
        if batch.within is not None:
            outside = [id for id, one in held.items() if not batch.within.matches(one.metadata)]
            if outside or others:
                raise id_outside([*outside, *sorted(others)])
        rows = batch.free_rows(held.keys() | others)
        ids = [batch.ids[row] for row in rows]
        return rows, [held[id].held if id in held else b"" for id in ids]

    def _chooses(self, selection: Selection) -> bool:
        return selection.ids is not None  # the engine knows which to look among, not which to pass

    def _nearest(
        self, vector: Vector, selection: Selection, top_k: int, include_embedding: bool
    ) -> list[Document]:
        if not self._exists("search"):
            return []
        foreign = ForeignRecords(self._title)
        probe, filter = vector.astype("<f4", copy=False), selection.filter

        def ask(size: int) -> list[str]:
            return self._records.nearest(probe, size, filter, selection.ids)

        def read(ids: Sequence[str]) -> list[Document]:
            records = self._records.selected("search", ids, filter, True)
            documents = list(self._records.documents(records, foreign))
            # The engine's own distances are of float32, and those of products of little worth.
            [found] = scored(documents, [vector], self._metric, include_embedding)
            return found

        def nearest(count: int) -> list[Document]:
            return filled(ask, read, count, MOST_FOUND)

        return top_with_ties(nearest, top_k, metric=self._metric, most=MOST_FOUND)

    def _delete(self, selection: Selection) -> int:
        return self._remove("delete", selection.ids or (), selection.filter)

    def _delete_judged(self, selection: Selection, judge: Judge) -> int:
        return self._remove("delete", selection.ids or (), selection.filter, judge)

    def _delete_filtered(self, filter: Any) -> int:
        if not self._exists("delete"):
            return 0
        return self._remove("delete", self._records.ids("delete", filter), filter)

    def _remove(
        self, operation: str, ids: Iterable[str], filter: Any, judge: Judge | None = None
    ) -> int:
        if not self._exists(operation):
            return 0
        decide = None if filter is None and judge is None else _both(filter, judge)
        return self._records.remove(operation, ids, decide)

    def _count(self, filter: Any) -> int:
        return self._records.count(filter) if self._exists("count") else 0

    def _update_metadata(
        self, selection: Selection, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        return self._change(selection, None, set, unset)

    def _update_judged(
        self, selection: Selection, judge: Judge, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        return self._change(selection, judge, set, unset)

    def _change(
        self,
        selection: Selection,
        judge: Judge | None,
        set: dict[str, Any],
        unset: tuple[str, ...],
    ) -> int:
        operation = "update_metadata"
        if not self._exists(operation):
            return 0
        ids = selection.ids
        if ids is None:
            ids = tuple(self._records.ids(operation, selection.filter))
        decide, count = _both(selection.filter, judge), 0
        foreign = ForeignRecords(self._title)
        for start in range(0, len(ids), BATCH):
            part, written = ids[start : start + BATCH], False
            while not written:
                held = self._records.read(operation, part, texts=False)
                chosen = [
                    one for one in self._records.holding(held, foreign) if decide(one.metadata)
                ]
                written = not chosen or self._records.write(
                    operation,
                    [one.id for one in chosen],
                    [self._changed(one, set, unset) for one in chosen],
                    [one.held for one in chosen],
                    replace=False,
                )
            count += len(chosen)
        return count

    def _changed(self, one: Record, set: dict[str, Any], unset: tuple[str, ...]) -> dict[str, str]:
        return self._records.layout.write(changed(one.metadata, set, unset))

    def _scan_textless(
        self, filter: Any, *, batch_size: int, include_embedding: bool
    ) -> Iterator[Document]:
        if self._exists("scan"):
            foreign = ForeignRecords(self._title)
            for page in self._records.pages(
                "scan", filter, include_embedding, batch_size, texts=False
            ):
                yield from self._records.documents(page, foreign)

    def _scan_metadata(
        self, filter: Any, *, batch_size: int
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for one in self._scan_textless(filter, batch_size=batch_size, include_embedding=False):
            yield one.id, one.metadata

    def _clear(self) -> None:
        self._clear_counted()

    def _clear_counted(self) -> int:
        """The documents go; the index stays, and so does what others keep beside them."""
        if not self._exists("clear"):
            return 0
        return self._records.remove("clear", self._records.ids("clear", None))


def _paths(listed: Any) -> frozenset[Path]:
    """The keys in a note.

    Raises:
        ValueError: Where it is no list of lists of texts.
    """
    if not isinstance(listed, list) or not all(
        isinstance(path, list) and path and all(isinstance(name, str) for name in path)
        for path in listed
    ):
        raise ValueError(listed)
    return frozenset([tuple(path) for path in listed])


def _extra_of(batch: Batch, row: int) -> dict[str, str]:
    extra = batch.extras[row] if batch.extras else None
    return {} if extra is None else {EXTRA: extra}


def _both(filter: Condition | None, judge: Judge | None) -> Callable[[Any], bool | None]:
    """What a filter and a judge say yes of together."""

    def decide(metadata: Any) -> bool | None:
        if filter is not None and not filter.matches(metadata):
            return False
        return judge is None or judge(metadata)

    return decide


_URL_OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("index", "metric"), str),
    "dimension": int,
    "create": flag,
    "timeout": float,
    **dict.fromkeys(("client", "password", "batching", "schema", "numbers", "texts"), None),
}
