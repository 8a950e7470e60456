"""Searches: what the calls read of their arguments, and how they run.

The nearest documents are found by whoever answers the filter, the engine alone or the engine and
:mod:`vecstore.store.residual`; put in order; and of them the page that was asked for is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from vecstore.cancelling import check_stop
from vecstore.document import Document, without_embedding
from vecstore.embedding import check_dimension
from vecstore.errors import ConfigurationError
from vecstore.filter.tree import Expression
from vecstore.store.arguments import (
    Evaluation,
    SearchOptions,
    SearchRequest,
    default_fetch_k,
    read_query,
)
from vecstore.store.backend import Selection
from vecstore.store.capabilities import Metric
from vecstore.store.diversity import chosen_places
from vecstore.store.operations import CONTENT_LENGTH, Call
from vecstore.store.ranking import ranked, scored
from vecstore.store.residual import Evaluating

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from vecstore.store.base import VectorStore
    from vecstore.vectors import Matrix, Vector

QUERIES_AT_ONCE = 256
"""Queries of one ``search_many`` that are embedded, and handed to the engine, at a time."""

_Choice = tuple[tuple[str, ...] | None, tuple[str, ...]]
"""Among which ids to look, None for all of them, and which of all to leave out."""

_EVERYTHING: _Choice = (None, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCall(Call[list[Document]]):
    """``search``."""

    operation: ClassVar[str] = "search"
    request: SearchRequest

    @classmethod
    def read(
        cls,
        query: str | SearchRequest | None,
        vector: ArrayLike | None,
        options: SearchOptions,
    ) -> SearchCall:
        """Check the arguments."""
        if not isinstance(query, SearchRequest):
            query = SearchRequest(query, vector, *options)
        elif not vector is options.ids is options.exclude_ids is None or options != SearchOptions():
            raise TypeError("a SearchRequest carries everything; put the rest into it as well")
        evaluation = Evaluation(query.residual, query.residual_limit)
        return cls(request=query, evaluation=evaluation)

    @property
    def filter(self) -> Expression | None:
        """Which documents to look among."""
        return cast("Expression | None", self.request.filter)  # the request has read it

    def run(self, store: VectorStore) -> list[Document]:
        request = self.request
        wanted = self.checked(store)
        matches, filter = store._compiled(self.operation, self.filter, self.within, self.evaluation)
        choice = request.choice
        if not matches or not request.top_k or choice[0] == ():
            return []
        vector: Any = request.vector
        if vector is None:
            assert request.query is not None
            [vector] = store._embed_queries([request.query])
            check_stop()
        probe = store._probe(vector)
        with_vectors = request.include_embedding or _is_diverse(request)
        if choice == _EVERYTHING and type(filter) is not Evaluating:
            found = store._ask_all(
                "search",
                store._search,
                probe,
                top_k=wanted,
                filter=filter,
                include_embedding=with_vectors,
            )
        else:
            [found] = _nearest(
                store,
                "search",
                probe[None, :],
                filter,
                choice,
                wanted=wanted,
                thresholds=[request.threshold],
                include_embedding=with_vectors,
            )
        best = ranked(found, store.metric, request.threshold)[:wanted]
        return _page(request, best, probe, store.metric)

    def checked(self, store: VectorStore) -> int:
        """Refuse what the store cannot answer; how many documents have to be found."""
        request = self.request
        limit = store.capabilities.max_top_k
        wanted = _wanted(request, limit)
        if limit is not None and wanted > limit:
            chosen = request.offset + request.top_k
            what = "fetch_k" if wanted > chosen else "offset + top_k" if request.offset else ""
            asked = f"{wanted:,}" + (f" ({what})" if what else "")
            raise ValueError(
                f"{store.name} returns at most {limit:,} documents of a search (max_top_k), not "
                f"{asked}; to read many documents, see scan()"
            )
        if request.query is not None:
            _check_embedder(store)
        if request.vector is not None:
            store._check_query(request.vector, ValueError)
        return wanted

    def attributes(self) -> dict[str, Any]:
        """What was asked for."""
        return {
            "db.vector.query.top_k": self.request.top_k,
            "db.vector.query.similarity_threshold": self.request.threshold,
        }

    def content(self) -> dict[str, Any]:
        """The query's text and the filter."""
        query = self.request.query
        told = {} if query is None else {"db.vector.query.content": query[:CONTENT_LENGTH]}
        return {**Call.content(self), **told}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchManyCall(Call[list[list[Document]]]):
    """``search_many``."""

    operation: ClassVar[str] = "search_many"
    requests: tuple[SearchRequest, ...]

    @classmethod
    def read(
        cls,
        queries: Iterable[str | SearchRequest] | None,
        vectors: Iterable[ArrayLike] | None,
        options: SearchOptions,
    ) -> SearchManyCall:
        """Check the arguments."""
        if (queries is None) == (vectors is None):
            raise TypeError(
                "search_many takes a list of queries, or vectors=[[...], [...]], one of the two"
            )
        given = vectors if queries is None else queries
        if isinstance(given, str | bytes | Mapping | SearchRequest) or not isinstance(
            given, Iterable
        ):
            raise TypeError(f"search_many takes a list, not {type(given).__name__}: [query, ...]")
        # Read once for all of them: a generator gives its ids no second time.
        options = options.read()
        if vectors is not None:
            return cls(requests=tuple([SearchRequest(None, one, *options) for one in vectors]))
        asked = cast("Iterable[str | SearchRequest]", given)
        return cls(requests=tuple([SearchCall.read(one, None, options).request for one in asked]))

    @property
    def filter(self) -> Expression | None:
        """The filter of all of them, where there is but one."""
        filters = {cast("Expression | None", request.filter) for request in self.requests}
        return filters.pop() if len(filters) == 1 else None

    def run(self, store: VectorStore) -> list[list[Document]]:
        results: list[list[Document]] = [[] for _ in self.requests]
        alike: dict[Any, list[int]] = {}
        for place, request in enumerate(self.requests):
            wanted = SearchCall(request=request).checked(store)
            evaluation = Evaluation(request.residual, request.residual_limit)
            with_vectors = request.include_embedding or _is_diverse(request)
            given = (request.ids, request.exclude_ids)
            kind = (request.filter, wanted, with_vectors, evaluation, given)
            if request.top_k:
                alike.setdefault(kind, []).append(place)
        for (asked, wanted, include_embedding, evaluation, _), places in alike.items():
            choice = self.requests[places[0]].choice
            matches, filter = store._compiled(self.operation, asked, self.within, evaluation)
            if not matches or choice[0] == ():
                continue
            for start in range(0, len(places), QUERIES_AT_ONCE):
                check_stop()
                part = places[start : start + QUERIES_AT_ONCE]
                probes = self._probes(store, part)
                found = _nearest(
                    store,
                    self.operation,
                    probes,
                    filter,
                    choice,
                    wanted=wanted,
                    thresholds=[self.requests[place].threshold for place in part],
                    include_embedding=include_embedding,
                )
                for place, probe, documents in zip(part, probes, found, strict=True):
                    request = self.requests[place]
                    best = ranked(documents, store.metric, request.threshold)[:wanted]
                    results[place] = _page(request, best, probe, store.metric)
        return results

    def _probes(self, store: VectorStore, places: Sequence[int]) -> Matrix:
        """The vectors of some of the requests; the texts among them are embedded once each."""
        import numpy as np

        asked = [self.requests[place] for place in places]
        texts = list(dict.fromkeys(one.query for one in asked if one.query is not None))
        embedded = dict(zip(texts, store._embed_queries(texts) if texts else (), strict=True))
        check_stop()
        vectors: list[Any] = [
            one.vector if one.query is None else embedded[one.query] for one in asked
        ]
        # An empty store takes any length, and one call a single one.
        for vector in vectors:
            check_dimension(len(vector), len(vectors[0]), "a query")
        return np.stack([store._probe(vector) for vector in vectors])

    def attributes(self) -> dict[str, Any]:
        """How many queries there are."""
        return {"db.operation.batch.size": len(self.requests)}


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedQueryCall(Call["Vector"]):
    """``embed_query``."""

    operation: ClassVar[str] = "embed_query"
    query: str

    @classmethod
    def read(cls, text: str) -> EmbedQueryCall:
        """Check the argument."""
        read_query(text)
        return cls(query=text)

    def run(self, store: VectorStore) -> Vector:
        _check_embedder(store)
        [vector] = store._embed_queries([self.query])
        return vector

    def content(self) -> dict[str, Any]:
        """The query's text."""
        return {"db.vector.query.content": self.query[:CONTENT_LENGTH]}


def _nearest(
    store: VectorStore,
    operation: str,
    probes: Matrix,
    filter: Any,
    choice: _Choice,
    *,
    wanted: int,
    thresholds: Sequence[float | None],
    include_embedding: bool,
) -> list[list[Document]]:
    """The best documents for each of several vectors, in no order, and perhaps more of them.

    Args:
        store: The store.
        operation: What the caller asked for.
        probes: The vectors, one a row.
        filter: What the store's hooks get; or, where they answer it in part, the rest as well.
        choice: Among which ids.
        wanted: How many documents, for each.
        thresholds: Below which nothing need be looked for, for each.
        include_embedding: Whether they carry their vectors.
    """
    ids, excluded = choice
    if ids is None and not excluded:
        if type(filter) is Evaluating:
            return filter.search(probes, wanted, thresholds, include_embedding)
        return store._ask_lists(
            operation,
            store._search_many,
            probes,
            top_k=wanted,
            filter=filter,
            include_embedding=include_embedding,
        )
    if type(filter) is Evaluating and ids is not None:
        found = list(filter.get_by_ids(store._parts(ids), include_embedding=True))
        return scored(found, probes, store.metric, include_embedding)
    if type(filter) is Evaluating:
        out = frozenset(excluded)
        best = filter.search(probes, wanted + len(out), thresholds, include_embedding)
        return [[one for one in documents if one.id not in out] for documents in best]
    if ids is None:
        selections = [Selection(filter=filter, excluded=excluded)]
    else:
        selections = [Selection(ids=part, filter=filter) for part in store._parts(ids)]
    answers: list[list[Document]] = [[] for _ in probes]
    for selection in selections:
        found_each = store._ask_lists(
            operation,
            store._search_selected,
            probes,
            selection,
            top_k=wanted,
            include_embedding=include_embedding,
        )
        for answer, documents in zip(answers, found_each, strict=True):
            answer.extend(documents)
    return answers


def _is_diverse(request: SearchRequest) -> bool:
    """Whether vectors have to be compared to each other: the best alone is the best anyhow."""
    return bool(request.diversity) and request.offset + request.top_k > 1


def _wanted(request: SearchRequest, most: int | None) -> int:
    """How many of the nearest documents have to be found to answer a request.

    Args:
        request: The request.
        most: The most that the engine returns of one search; None for no limit.

    Example:
        >>> _wanted(SearchRequest("bread", diversity=0.5), None)
        20
        >>> _wanted(SearchRequest("bread", top_k=50, diversity=0.5), 100)
        100
        >>> _wanted(SearchRequest("bread", top_k=50, offset=10), 100)
        60
    """
    best = request.offset + request.top_k  # what is passed over has to be found as well
    if not _is_diverse(request):
        return best
    if request.fetch_k is not None:
        return request.fetch_k
    count = default_fetch_k(request.top_k)
    return count if most is None else max(best, min(count, most))


def _page(
    request: SearchRequest, best: Sequence[Document], query: Vector, metric: Metric
) -> list[Document]:
    """The page that a request asks for, of as many documents as :func:`_wanted` says, ranked."""
    end = request.offset + request.top_k
    if not _is_diverse(request):
        return list(best[request.offset : end])
    chosen = chosen_places(best, query, metric, float(request.diversity or 0.0), end)
    page = [best[place] for place in chosen[request.offset :]]
    if request.include_embedding:
        return page
    return [without_embedding(document) for document in page]


def _check_embedder(store: VectorStore) -> None:
    """Refuse a text where nothing turns it into a vector."""
    if store._bound_embedder is None:
        raise ConfigurationError(
            "this store has no embedder to turn the query text into a vector; make the store "
            "with embedder=..., or search with vector=[...]"
        )
