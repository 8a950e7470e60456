"""Documents in Pinecone: a namespace of an index of the service, or of Pinecone Local."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Unpack

from vecstore.dialects.declared import ordered_keys
from vecstore.dialects.pinecone.client import Calls, check_addressee
from vecstore.dialects.pinecone.filters import (
    RecordFilter,
    RecordPinecone,
    narrowed,
    record_filter,
)
from vecstore.dialects.pinecone.index import IndexPlan
from vecstore.dialects.pinecone.records import (
    ID,
    MOST_METADATA_BYTES,
    Record,
    Records,
    check_size,
    record_id,
    record_vector,
)
from vecstore.dialects.pinecone.retries import Deadline
from vecstore.dialects.pinecone.writing import Row, Writer
from vecstore.document import Document
from vecstore.embedding import BatchingStrategy, EmbedderInput
from vecstore.errors import ConfigurationError, UnsupportedFilterError
from vecstore.filter.convert import Compiled
from vecstore.filter.tree import Expression
from vecstore.filter.values import Kind
from vecstore.store.backend import Batch, Place, Selection, changed
from vecstore.store.capabilities import Metric, StoreCapabilities
from vecstore.store.collection import CollectionStore
from vecstore.store.drivers import in_parts
from vecstore.store.foreign import ForeignRecords
from vecstore.store.limits import LONGEST_IN_FLOAT32, SHORTEST_IN_FLOAT32
from vecstore.store.options import CommonOptions
from vecstore.store.ranking import filled
from vecstore.store.url import StoreURL, flag

if TYPE_CHECKING:
    import pinecone

    from vecstore.vectors import Matrix, Vector

Found = tuple[Record | None, float]
"""A record that a search found, and its score as the service gives it."""

MAX_TOP_K: Final = 10_000
MAX_DIMENSION: Final = 20_000
MAX_TEXT_BYTES: Final = 32_000
MAX_OWN_METADATA_BYTES: Final = 16_000
MAX_ID_BYTES: Final = 2_048
MAX_EXTRA_BYTES: Final = 32_000

_MOST_PARALLEL = 32
_MOST_NAMED = 10_000
"""Values of one ``$in`` or ``$nin``."""
_MOST_NAMED_BYTES = 200_000
"""Of ids in one query, which stand beside a vector and a filter: a request has 2 MB in all."""
_ANSWER_BYTES = 3_900_000
"""What an answer to a query may have; the service sends 4 MB."""
_NUMBER_BYTES = 22
_NAMESPACE_CHARACTERS = 512


class PineconeStore(CollectionStore):
    """The records of a namespace, each a document.

    Args:
        index: Name of the index, or an open ``pinecone.Index``, which stays open when the store
            closes. Can be left out where ``index_host`` is given.
        namespace: Name of the namespace, by default the index's default one. It is made by the
            first document.
        index_host: The host of the index, as the console and ``describe_index`` show it; saves
            asking the control plane for it.
        api_key: The key; by default that of the environment, in ``PINECONE_API_KEY``.
        host: The address of the control plane, such as ``http://localhost:5080`` for Pinecone
            Local; by default that of the environment, in ``PINECONE_CONTROLLER_HOST``, or else
            Pinecone's own.
        create: Make the index when it is missing, with the first documents or, where ``dimension``
            is given, at once, and wait until it is ready. Searches never do. One that is given by
            its host or as an object is there.
        cloud: Where it is made.
        region: In which region of the cloud.
        embedder: See :class:`~vecstore.VectorStore`, as for ``metric``, ``dimension`` and
            ``batching``.
        timeout: Seconds for one request.
        retries: How often a request is sent again after a refusal that may pass (408, 429, 5xx),
            a cut connection or a timeout, with longer and longer pauses between, or as long ones as
            the service asks for.
        deadline: Seconds after which a call tries nothing again, and waits no longer for what it
            wrote to be seen.
        parallel: How many requests of one call are sent at a time.
        wait_until_visible: End a write only when searches see it, which takes the service some
            moments. Without it, a call may not see what the call before has written.
        **common: As for every store, such as ``observers`` and ``async_threads``.

    Raises:
        BackendNotInstalledError: If the client is missing.
        ConfigurationError: If an option cannot work, or there is no key.
        SchemaMismatchError: If the index does not fit, or is missing and not to be made.
        BackendError: If Pinecone cannot be reached, or refuses the key.
    """

    name: ClassVar[str] = "pinecone"
    engine: ClassVar[str] = "Pinecone"
    capabilities: StoreCapabilities = StoreCapabilities(
        max_text_bytes=MAX_TEXT_BYTES,
        max_id_bytes=MAX_ID_BYTES,
        max_metadata_bytes=MAX_OWN_METADATA_BYTES,
        keeps_extra=True,
        native_ids=True,
        max_extra_bytes=MAX_EXTRA_BYTES,
        max_dimension=MAX_DIMENSION,
        min_vector_length=SHORTEST_IN_FLOAT32,
        max_vector_length=LONGEST_IN_FLOAT32,
        max_top_k=MAX_TOP_K,
        max_batch=1_024,
    )

    _call: Calls
    _records: Records

    def __init__(
        self,
        index: str | pinecone.Index | None = None,
        *,
        namespace: str = "",
        index_host: str | None = None,
        api_key: str | None = None,
        host: str | None = None,
        create: bool = False,
        cloud: str = "aws",
        region: str = "us-east-1",
        embedder: EmbedderInput | None = None,
        metric: Metric = "cosine",
        dimension: int | None = None,
        batching: BatchingStrategy | None = None,
        timeout: float = 30.0,
        retries: int = 5,
        deadline: float = 120.0,
        parallel: int = 8,
        wait_until_visible: bool = True,
        **common: Unpack[CommonOptions],
    ) -> None:
        name = index if isinstance(index, str) and index else None
        given = None if isinstance(index, str) else index
        _check_place(name, given, index_host, host, api_key, namespace)
        _check_options(
            flags={"create": create, "wait_until_visible": wait_until_visible},
            texts={"cloud": cloud, "region": region},
            seconds={"timeout": timeout, "deadline": deadline},
            numbers={"retries": (retries, 0, 100), "parallel": (parallel, 1, _MOST_PARALLEL)},
        )
        super().__init__(embedder, metric=metric, dimension=dimension, batching=batching, **common)
        ordered = ordered_keys(self.schema, Kind.STRING)
        self._dialect = RecordPinecone(layout="exact", schema=self.schema, texts=ordered)
        self._collection = name or index_host or str(getattr(given, "host", ""))
        self._namespace = namespace
        self._create = create
        self._plan = IndexPlan(name=name, metric=metric, cloud=cloud, region=region)
        self._call = Calls(
            given,
            index_host=index_host,
            api_key=api_key,
            host=host,
            timeout=timeout,
            deadline=deadline,
            retries=retries,
            parallel=parallel,
        )
        self._records = Records(call=self._call, namespace=namespace)
        self._writer = Writer(
            call=self._call, records=self._records, wait=wait_until_visible, ordered=ordered
        )
        self._open_collection()
        self._title = f"the namespace {namespace!r} of the index {self._collection!r}"

    @classmethod
    def from_url(
        cls, url: StoreURL, *, embedder: EmbedderInput | None = None, **options: Any
    ) -> PineconeStore:
        """Open ``pinecone://index/namespace``; the key comes from the environment.

        ``pinecone:?index_host=docs-1a2b3c.svc.aped-4627-b74a.pinecone.io&namespace=...`` spares
        asking the control plane, and ``?host=http://localhost:5080`` is Pinecone Local.
        """
        if url.user is not None or url.password is not None or url.port is not None:
            raise ConfigurationError(
                f"{url.scheme}: there is no user, password or port in the address of an index: "
                "pinecone://index/namespace; the key is taken from the environment, or passed as "
                "api_key=..."
            )
        read = url.options(_URL_OPTIONS, options)
        if "api_key" not in read:
            for option in ("host", "index_host"):
                if option in url.query and option not in options:
                    check_addressee(option, url.query[option])
        if url.host:
            if "namespace" in read:
                raise ConfigurationError(f"{url}: the namespace is the path: pinecone://index/name")
            read["namespace"] = url.path.removeprefix("/")
        elif url.path or "index_host" not in read:
            raise ConfigurationError(
                f"{url}: name the index: pinecone://index/namespace, or give its host: "
                "pinecone:?index_host=..."
            )
        return cls(url.host or None, embedder=embedder, **read)

    # --- the index ---------------------------------------------------------------------------

    def _look(self, operation: str) -> bool:
        dimension = self._plan.find(self._call, operation, self._dimension)
        if dimension is None:
            return False
        self._settle(dimension=dimension)
        self._writer.dimension = dimension
        return True

    def _make_collection(self, dimension: int) -> None:
        self._plan.make(self._call, dimension)

    # --- the hooks ---------------------------------------------------------------------------

    def _compile_filter(self, filter: Expression) -> Compiled:
        return record_filter(filter, lambda part: self._dialect.compile(part, limits=None))

    def _check_documents(self, documents: Sequence[Any]) -> None:
        for document in documents:
            check_size(
                document.id,
                document.text,
                document.metadata,
                self._writer.ordered,
                document.extra,
            )

    def _add(self, batch: Batch) -> Iterable[str]:
        self._make_ready(batch)
        taken: set[str] = set()
        if batch.on_conflict != "replace":
            taken.update(self._records.stored("add", batch.ids))
        chosen = batch.free_rows(taken)
        rows = [
            Row(
                batch.ids[row],
                batch.texts[row],
                batch.metadata[row],
                batch.vectors[row],
                batch.extras[row] if batch.extras else None,
            )
            for row in chosen
        ]
        self._writer.upsert("add", rows)
        return [row.id for row in rows]

    def _search(
        self,
        vector: Vector,
        *,
        top_k: int,
        filter: RecordFilter | None,
        include_embedding: bool,
    ) -> Iterable[Document]:
        if not (self._present or self._exists("search")):
            return []
        return self._nearest(record_vector(vector), top_k, filter, include_embedding)

    def _search_many(
        self,
        vectors: Matrix,
        *,
        top_k: int,
        filter: RecordFilter | None,
        include_embedding: bool,
    ) -> Iterable[Iterable[Document]]:
        if not (self._present or self._exists("search")):
            return [[] for _ in vectors]
        queries = [record_vector(vector) for vector in vectors]
        answers: list[list[Found] | None] = [None] * len(queries)
        if top_k <= self._most_whole(include_embedding):
            tasks = [self._query(query, top_k, filter, include_embedding) for query in queries]
            answers = [*self._call.all(tasks)]
        return [
            self._nearest(query, top_k, filter, include_embedding, answer)
            for query, answer in zip(queries, answers, strict=True)
        ]

    def _search_selected(
        self, vectors: Matrix, selection: Selection, *, top_k: int, include_embedding: bool
    ) -> Iterable[Iterable[Document]]:
        operator, named = "$in", selection.ids
        if named is None:
            operator, named = "$nin", selection.excluded
        parts = list(in_parts(named, _size_in_json, _MOST_NAMED_BYTES, _MOST_NAMED))
        if selection.ids is None and len(parts) > 1:
            return super()._search_selected(
                vectors, selection, top_k=top_k, include_embedding=include_embedding
            )
        answers: list[list[Document]] = [[] for _ in vectors]
        for part in parts:
            found_each = self._search_many(
                vectors,
                top_k=top_k,
                filter=narrowed(selection.filter, {ID: {operator: part}}),
                include_embedding=include_embedding,
            )
            for answer, found in zip(answers, found_each, strict=True):
                answer.extend(found)
        return answers

    def _query(
        self,
        query: list[float],
        count: int,
        filter: RecordFilter | None,
        include_embedding: bool,
    ) -> Callable[[Deadline], list[Found]]:
        return lambda deadline: self._found(query, count, filter, include_embedding, deadline)

    def _nearest(
        self,
        query: list[float],
        top_k: int,
        filter: RecordFilter | None,
        include_embedding: bool,
        answer: list[Found] | None = None,
    ) -> list[Document]:
        """The nearest documents.

        Args:
            query: The vector.
            top_k: How many.
            filter: What they match.
            include_embedding: Whether with their vectors.
            answer: The first so many records, where these are known.
        """
        foreign = ForeignRecords(self._title)
        looked = 0

        def ask(count: int) -> list[Found]:
            nonlocal looked
            found = answer
            if found is None or count != top_k:
                found = self._found(query, count, filter, include_embedding)
            looked = len(found)
            return found

        def read(found: Sequence[Found]) -> list[Document]:
            documents: list[Document] = []
            for record, score in found:
                if record is None:
                    continue
                if record.fault is not None:
                    foreign.leave_out(record.key, record.fault)
                elif filter is None or filter.decide(record.metadata):
                    documents.append(record.document(self._score(score)))
            return documents

        documents = filled(ask, read, top_k, MAX_TOP_K)
        if filter is not None and filter.widened and len(documents) < top_k and looked >= MAX_TOP_K:
            raise _unordered(looked)
        return documents

    def _found(
        self,
        query: list[float],
        count: int,
        filter: RecordFilter | None,
        include_embedding: bool,
        deadline: Deadline | None = None,
    ) -> list[Found]:
        """The nearest records with their scores; None for one that went meanwhile."""
        whole = count <= self._most_whole(include_embedding)
        answer = self._call.in_namespace(
            "search",
            lambda index, timeout: index.query(
                vector=query,
                top_k=count,
                filter=None if filter is None else filter.native,
                namespace=self._namespace,
                include_metadata=whole,
                include_values=whole and include_embedding,
                timeout=timeout,
            ),
            deadline,
        )
        if answer is None:
            return []
        if whole:
            return [
                (
                    Record.read(one.id, one.metadata, one.values if include_embedding else None),
                    one.score,
                )
                for one in answer.matches
            ]
        # An answer with all of it would be larger than the service sends.
        keys = [one.id for one in answer.matches]
        records = self._records.by_key("search", keys, include_embedding)
        return [(records.get(one.id), one.score) for one in answer.matches]

    def _most_whole(self, include_embedding: bool) -> int:
        """How many records an answer has room for, however large they are."""
        size = MOST_METADATA_BYTES
        if include_embedding:
            size += _NUMBER_BYTES * (self._dimension or 0)
        return _ANSWER_BYTES // size

    def _score(self, score: float) -> float:
        # The service gives the square of the distance, which rounding may put below 0.
        return -math.sqrt(max(0.0, score)) if self._metric == "euclidean" else float(score)

    def _delete(self, selection: Selection) -> int:
        assert selection.ids is not None
        if not self._exists("delete"):
            return 0
        found = self._records.selected("delete", selection.ids, selection.filter, False)
        records = list(self._records.holding(found, ForeignRecords(self._title)))
        return self._writer.delete("delete", records, selection.filter)

    def _delete_filtered(self, filter: RecordFilter | None) -> int:
        if not self._exists("delete"):
            return 0
        foreign = ForeignRecords(self._title)
        # All of them before the first is deleted: pages may not count on what is gone.
        records = [
            Record(record.key, record.document_id, "", {}, None, record.version, None, None)
            for page in self._records.pages("delete", filter, False, self._most())
            for record in self._records.holding(page, foreign)
        ]
        return self._writer.delete("delete", records, filter)

    def _count(self, filter: RecordFilter | None) -> int:
        if not self._exists("count"):
            return 0
        if filter is None:
            return sum(len(keys) for keys in self._records.keys("count"))
        return sum(
            sum(record.fault is None for record in page)
            for page in self._records.pages("count", filter, False, self._most())
        )

    def _update_metadata(
        self, selection: Selection, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        if not self._exists("update_metadata"):
            return 0
        foreign = ForeignRecords(self._title)
        count = 0
        for keys in list(self._selected_keys(selection)):
            found = self._records.by_key("update_metadata", keys, True).values()
            rows: list[Row] = []
            for record in self._records.holding(found, foreign):
                if selection.filter is not None and not selection.filter.decide(record.metadata):
                    continue
                metadata = changed(record.metadata, set, unset)
                id, text, extra = record.document_id, record.text, record.extra
                check_size(id, text, metadata, self._writer.ordered, extra)
                document = record.document()
                assert document.embedding is not None
                rows.append(Row(id, text, metadata, document.embedding, extra))
            self._writer.upsert("update_metadata", rows)
            count += len(rows)
        return count

    def _selected_keys(self, selection: Selection) -> Iterator[list[str]]:
        """The ids of records that may be selected, in parts."""
        if selection.ids is not None:
            yield [record_id(one) for one in selection.ids]
            return
        for page in self._records.pages("update_metadata", selection.filter, False, self._most()):
            yield [record.key for record in page]

    def _clear(self) -> None:
        if self._exists("clear"):
            self._writer.clear("clear")

    def _place(self) -> Place:
        return Place(
            system=self.name, collection=self._collection, namespace=self._namespace or None
        )

    @staticmethod
    def _most() -> int:
        """Records on a page where nobody says how many."""
        return 100


def _size_in_json(id: str) -> int:
    """How many bytes of a request an id takes, at most."""
    return len(json.dumps(id)) + len(", ")


def _unordered(looked: int) -> UnsupportedFilterError:
    return UnsupportedFilterError(
        dialect="pinecone",
        reason=f"{looked:,} of the nearest records were looked at, the most there can be, and many "
        "of them were written without the tokens that order their texts, under another schema",
        remedy="write these documents again with this store: "
        "store.add(list(store.scan(include_embedding=True)))",
    )


def _check_place(
    name: str | None,
    given: Any,
    index_host: object,
    host: object,
    api_key: object,
    namespace: object,
) -> None:
    texts = {"index_host": index_host, "host": host, "api_key": api_key}
    for option, value in texts.items():
        if value is not None and (not isinstance(value, str) or not value):
            raise ConfigurationError(f"{option} is a text, and not an empty one")
    if name is None and given is None and index_host is None:
        raise ConfigurationError(
            "say which index: its name, its host (index_host=...), or a pinecone.Index"
        )
    if given is not None and any(value is not None for value in texts.values()):
        raise ConfigurationError(
            "give the Pinecone store either a pinecone.Index or an address and a key"
        )
    if not isinstance(namespace, str) or len(namespace) > _NAMESPACE_CHARACTERS:
        raise ConfigurationError(
            f"namespace is a text of at most {_NAMESPACE_CHARACTERS} characters"
        )
    if not namespace.isascii() or "\0" in namespace:
        raise ConfigurationError(
            f"the name of a namespace is ASCII text without NUL, not {namespace!r}"
        )


def _check_options(
    *,
    flags: dict[str, object],
    texts: dict[str, object],
    seconds: dict[str, object],
    numbers: dict[str, tuple[object, int, int]],
) -> None:
    for option, value in flags.items():
        if not isinstance(value, bool):
            raise ConfigurationError(f"{option} is True or False, not {value!r}")
    for option, value in texts.items():
        if not isinstance(value, str) or not value:
            raise ConfigurationError(f"{option} is a text, not {value!r}")
    for option, value in seconds.items():
        if type(value) not in (int, float) or not 0 < value < math.inf:  # type: ignore[operator]
            raise ConfigurationError(f"{option} is a number of seconds, not {value!r}")
    for option, (value, least, most) in numbers.items():
        if type(value) is not int or not least <= value <= most:
            raise ConfigurationError(
                f"{option} is a whole number from {least} to {most}, not {value!r}"
            )


_URL_OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("namespace", "index_host", "host", "cloud", "region", "metric"), str),
    **dict.fromkeys(("dimension", "retries", "parallel"), int),
    **dict.fromkeys(("timeout", "deadline"), float),
    **dict.fromkeys(("create", "wait_until_visible"), flag),
    **dict.fromkeys(("api_key", "batching", "schema"), None),
}
