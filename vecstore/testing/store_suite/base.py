"""What the tests of the suite stand on: how they get their stores, and what they compare with."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import ArrayLike

from vecstore.document import Document
from vecstore.filter.tree import Expression
from vecstore.store.base import VectorStore
from vecstore.store.capabilities import Metric, StoreCapabilities
from vecstore.testing.examiner import Deviation, Examiner, dialect_of
from vecstore.testing.random_cases import RandomCases
from vecstore.testing.rows import Domain, oracle_rows
from vecstore.testing.store_suite.embedders import DIMENSION, TextEmbedder, vector_of
from vecstore.testing.store_suite.equality import kept_metadata, with_types
from vecstore.testing.store_suite.hooks import watched_hooks
from vecstore.testing.store_suite.ranking import reference_scores
from vecstore.testing.store_suite.sizes import parametrize_sizes

_NO_BOUND = 10**5_000

DAMAGES = (
    "no id",
    "id is a number",
    "metadata is a list",
    "metadata is a text",
    "metadata is null",
    "no metadata",
    "text is a number",
    "no text",
    "nothing",
)
"""What can be wrong with a record that others wrote: see :meth:`StoreSuiteBase.damage`."""


@dataclass(frozen=True, kw_only=True)
class Shared:
    """A store that the tests of a class use one after the other."""

    made: VectorStore
    store: VectorStore
    embedder: TextEmbedder


@dataclass(frozen=True, kw_only=True)
class Library:
    """A store that holds the kit's fixed documents; tests that only read share it.

    Attributes:
        made: The store itself.
        store: The store, or the view of it that tests use.
        rows: Metadata of its documents, by id.
        vectors: Their vectors, by id.
        query: A vector to search with.
    """

    made: VectorStore
    store: VectorStore
    rows: Mapping[str, Mapping[str, Any]]
    vectors: Mapping[str, ArrayLike]
    query: list[float]


class StoreSuiteBase:
    """How tests get their stores; see :class:`~vecstore.testing.StoreSuite` for what to write."""

    metric: ClassVar[Metric] = "cosine"
    dialect: ClassVar[Any] = None
    domain: ClassVar[Domain | None] = None
    deviations: ClassVar[tuple[Deviation, ...]] = ()
    secrets: ClassVar[tuple[str, ...]] = ()
    many: ClassVar[int] = 10_000
    seed: ClassVar[int] = 1

    _shared: ClassVar[Shared | None] = None
    _library: ClassVar[Library | None] = None
    _folder: ClassVar[Path | None] = None

    _made: list[VectorStore]
    _views: list[tuple[VectorStore, VectorStore]]
    _request: pytest.FixtureRequest
    _folders: pytest.TempPathFactory

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._shared = cls._library = cls._folder = None

    # --- what a subclass says ---------------------------------------------------------------

    def make_store(self, **options: Any) -> VectorStore:
        """A new, empty store that shares no document with any other.

        Args:
            **options: What every store takes: ``embedder``, ``metric``, ``dimension``,
                ``batching``, ``embed_as``; those that a test does not care about are left out.
        """
        raise NotImplementedError("say how a store is made: def make_store(self, **options)")

    def discard(self, store: VectorStore) -> None:
        """Put away what :meth:`make_store` made; it may be closed already."""
        store.close()

    def damage(self, store: VectorStore, kind: str) -> bool:
        """Write a record that is not of the layout behind the store's back.

        Apart from what is wrong it looks like a document ``damaged`` with the metadata
        ``{"n": -1}``, and its vector is ``vector_of("damaged")``.

        Args:
            store: What :meth:`make_store` made; it holds documents already.
            kind: One of ``"no id"``, ``"id is a number"``, ``"metadata is a list"``,
                ``"metadata is a text"``, ``"metadata is null"``, ``"no metadata"``,
                ``"text is a number"``, ``"no text"`` and ``"nothing"``: a vector alone.

        Returns:
            Whether the record was written; False where the engine cannot hold such a one.
        """
        return False

    def refuses(self, filter: Expression) -> bool:
        """Whether the store must refuse a filter for a reason its dialect does not declare."""
        return False

    @property
    def folder(self) -> Path:
        """An empty folder, for stores that live in files."""
        cls = type(self)
        if cls._folder is None:
            cls._folder = self._folders.mktemp(cls.__name__)
        return cls._folder

    # --- what a variant of the suite says ---------------------------------------------------

    def view(self, made: VectorStore) -> VectorStore:
        """What tests use in place of the store that was made: a wrapper with the same methods.

        For suites that run the same tests through something that stands around a store.
        """
        return made

    def stored(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """What a store gives back for metadata; a variant that adds to it says so here."""
        return kept_metadata(metadata, self.capabilities)

    # --- stores -----------------------------------------------------------------------------

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        parametrize_sizes(metafunc)

    @pytest.fixture(autouse=True)
    def _stores_of_one_test(
        self, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
    ) -> Iterator[None]:
        self._request, self._folders = request, tmp_path_factory
        self._made, self._views = [], []
        yield
        for made in reversed(self._made):
            self.discard(made)

    @pytest.fixture
    def store(self) -> VectorStore:
        """An empty store with an embedder, :attr:`embedder`, that has not been called yet."""
        cls = type(self)
        if cls._shared is not None:
            try:
                cls._shared.store.clear()
            except Exception:
                # Whatever an earlier test did to it is that test's to tell.
                cls._shared = None
        self.embedder.forget()
        return self._shared_store().store

    @property
    def embedder(self) -> TextEmbedder:
        """The embedder of the fixture ``store``."""
        return self._shared_store().embedder

    @property
    def capabilities(self) -> StoreCapabilities:
        """What the store under test declares."""
        return self._shared_store().made.capabilities

    @property
    def most_found(self) -> int:
        """A ``top_k`` that finds all documents of most tests, where the store allows it."""
        return min(1_000, self.capabilities.max_top_k or 1_000)

    def new_store(self, **options: Any) -> VectorStore:
        """A store for one test, to be put away after it."""
        return self._for_one_test(self._make(options))

    def behind(self, store: VectorStore) -> VectorStore:
        """The store itself, where tests use a view of it."""
        cls = type(self)
        kept = [one for one in (cls._shared, cls._library) if one is not None]
        pairs = [*self._views, *((one.store, one.made) for one in kept)]
        return next((made for seen, made in pairs if seen is store), store)

    @pytest.fixture
    def library(self) -> Library:
        """A store that holds the kit's fixed documents; not to be written to."""
        cls = type(self)
        if cls._library is None:
            made = self._make({})
            self._at_the_end_of_the_class(made)
            store = self.view(made)
            rows = {
                self.id(name): metadata for name, metadata in oracle_rows(self.held_domain).items()
            }
            vectors = {id: vector_of(id) for id in rows}
            store.add([Document(id, row, id, vectors[id]) for id, row in rows.items()])
            cls._library = Library(
                made=made,
                store=store,
                rows=rows,
                vectors=vectors,
                query=vector_of("the query").tolist(),
            )
        return cls._library

    def _make(self, options: Mapping[str, Any]) -> VectorStore:
        return self.make_store(**{"metric": self.metric, "dimension": DIMENSION, **options})

    def _for_one_test(self, made: VectorStore) -> VectorStore:
        self._made.append(made)
        seen = self.view(made)
        self._views.append((seen, made))
        return seen

    def _shared_store(self) -> Shared:
        cls = type(self)
        if cls._shared is None:
            embedder = TextEmbedder()
            made = self._make({"embedder": embedder})
            self._at_the_end_of_the_class(made)
            cls._shared = Shared(made=made, store=self.view(made), embedder=embedder)
        return cls._shared

    def _at_the_end_of_the_class(self, made: VectorStore) -> None:
        cls = type(self)

        def put_away() -> None:
            cls._shared = cls._library = None
            self.discard(made)

        node = self._request.node.getparent(pytest.Class)
        assert node is not None
        node.addfinalizer(put_away)

    # --- documents --------------------------------------------------------------------------

    def id(self, name: str) -> str:
        """An id that the store can have; the name itself where that is possible."""
        charset = self.capabilities.id_charset
        if charset in ("uuid", "uuid_or_number"):
            return str(uuid.uuid5(uuid.NAMESPACE_OID, name))
        if charset == "integer":
            return str(int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big"))
        return name

    def ids(self, *names: str) -> list[str]:
        """The ids of several names."""
        return [self.id(name) for name in names]

    def document(
        self,
        name: str,
        metadata: Mapping[str, Any] | None = None,
        *,
        text: str | None = None,
        embedding: ArrayLike | None = None,
    ) -> Document:
        """A document whose text says its name."""
        return Document(
            f"text of {name}" if text is None else text, metadata, self.id(name), embedding
        )

    def documents(
        self, count: int, *, prefix: str = "doc", embedded: bool = False
    ) -> list[Document]:
        """Numbered documents: ``doc-0`` and on, each with its number under ``n``."""
        names = [f"{prefix}-{number}" for number in range(count)]
        return [
            self.document(name, {"n": number}, embedding=vector_of(name) if embedded else None)
            for number, name in enumerate(names)
        ]

    def check_documents(self, found: Sequence[Document], expected: Sequence[Document]) -> None:
        """Fail unless the documents are equal one by one: id, text, and metadata with its types."""
        __tracebackhide__ = True
        assert [document.id for document in found] == [document.id for document in expected]
        for got, wanted in zip(found, expected, strict=True):
            assert got.text == wanted.text, f"{wanted.id!r}: another text"
            self.check_metadata(got.metadata, wanted.metadata, wanted.id)

    def check_metadata(
        self, found: Mapping[str, Any], expected: Mapping[str, Any], what: str
    ) -> None:
        """Fail unless metadata came back as it went in, types included."""
        __tracebackhide__ = True
        assert with_types(found) == with_types(self.stored(expected)), (
            f"{what!r}: the metadata is not what was stored"
        )

    def check_holds(self, store: VectorStore, expected: Sequence[Document]) -> None:
        """Fail unless the store holds exactly these documents."""
        __tracebackhide__ = True
        found = sorted(store.scan(), key=lambda document: document.id)
        self.check_documents(found, sorted(expected, key=lambda document: document.id))
        assert store.count() == len(expected)

    def check_vectors(self, store: VectorStore, expected: Mapping[str, ArrayLike]) -> None:
        """Fail unless each document is found where its vector says, by score and by value."""
        __tracebackhide__ = True
        found = store.get(list(expected), include_embedding=True)
        assert [document.id for document in found] == list(expected)
        for document in found:
            right = np.asarray(expected[document.id], np.float32)
            assert document.embedding is not None, f"{document.id!r} came without its embedding"
            got = np.asarray(document.embedding)
            if not self.capabilities.keeps_norm:
                got, right = (_direction(vector) for vector in (got, right))
            assert got.shape == right.shape, f"{document.id!r}: another dimension"
            assert np.allclose(got, right, rtol=1e-5, atol=1e-6), f"{document.id!r}: another vector"

    def scores(self, query: ArrayLike, vectors: Mapping[str, ArrayLike]) -> dict[str, float]:
        """The exact scores under the suite's metric."""
        return reference_scores(self.metric, query, vectors)

    # --- the engine -------------------------------------------------------------------------

    @contextmanager
    def no_call(self, store: VectorStore) -> Iterator[None]:
        """Fail if the engine or the embedder is called inside the block."""
        __tracebackhide__ = True
        before = self.embedder.calls
        with watched_hooks(self.behind(store), passing=False) as called:
            yield
        assert not called, f"the engine was called ({', '.join(called)}), which had to be refused"
        assert self.embedder.calls == before, "the embedder was called, which had to be refused"

    def hooked(
        self, store: VectorStore, before: Mapping[str, Callable[..., object]] = {}
    ) -> AbstractContextManager[list[str]]:
        """Write down which hooks are called inside the block; see :func:`watched_hooks`."""
        return watched_hooks(self.behind(store), before)

    # --- filters ----------------------------------------------------------------------------

    @property
    def held_domain(self) -> Domain:
        """Which metadata the store holds: what the suite was told, else what is declared."""
        if self.domain is not None:
            return self.domain
        low, high = self.capabilities.min_integer, self.capabilities.max_integer
        if low is None and high is None:
            return Domain()
        return Domain(
            integers=(-_NO_BOUND if low is None else low, _NO_BOUND if high is None else high)
        )

    @property
    def examiner(self) -> Examiner | None:
        """Reads what the store's dialect declares; None for a store that answers every filter."""
        if self.dialect is None:
            return None
        return Examiner(
            dialect_of(self),
            lambda compiled, rows: set(),
            domain=self.held_domain,
            deviations=self.deviations,
            also_refuses=self.refuses,
        )

    def answers(self, filter: Expression) -> bool:
        """Whether the store has to answer a filter (and no known deviation concerns it)."""
        examiner = self.examiner
        if examiner is None:
            return not any(self.refuses(node) for node in filter.walk())
        return examiner.comparable(filter)

    def random_cases(self, seed: int) -> RandomCases:
        """Random filters that the store has to answer, and documents that it can hold."""
        return RandomCases(self.seed + seed, allows=self.answers, domain=self.held_domain)


def _direction(vector: Any) -> Any:
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector
