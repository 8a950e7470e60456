"""Filters that the engine answers in part: it is asked a wider one, and what it finds is judged.

The engine gets as much of a filter as it answers exactly, and the scope, which it gets whole. Of
what comes back, documents count on which the evaluator calls the rest of the filter TRUE. A
search asks for more of the nearest documents until enough of them match; what changes or deletes
documents first finds out their ids, and then judges each once more in the step that writes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from vecstore.cancelling import check_stop
from vecstore.document import Document
from vecstore.errors import FilterLimitError, UnsupportedFilterError, VecstoreError
from vecstore.filter.convert import Compiled
from vecstore.filter.residual import PartialCompiled, clause_text, split
from vecstore.filter.tree import LOGICAL, Expression
from vecstore.store.adding import level_of_the_caller
from vecstore.store.arguments import MAX_COUNT, Evaluation
from vecstore.store.backend import Selection
from vecstore.store.observing import note
from vecstore.store.ranking import lowest_score, rank, ranked, scored
from vecstore.store.scope import Recent, is_small

if TYPE_CHECKING:
    from vecstore.store.base import VectorStore
    from vecstore.vectors import Matrix, Vector

_READ_AT_ONCE: Final = 256
_SHAPES: Final = 64
"""Of so many shapes of filters a store warns one by one."""


class ResidualWarning(UserWarning):
    """A call looks at documents one by one, for what the engine cannot answer of its filter.

    Told once for each shape of filters on a store: the operators and keys of what is evaluated,
    whatever the literals. Where warnings are errors, the call raises the
    :class:`~vecstore.UnsupportedFilterError` that the engine refuses the filter with.
    """


_EVALUATE = (
    'residual="evaluate", of this call or of the store, has vecstore evaluate what the engine '
    "cannot answer, on the documents that the rest of the filter finds"
)


def answered_in_part(
    store: VectorStore,
    operation: str,
    filter: Expression,
    evaluation: Evaluation,
    given: Expression,
    within: Expression | None,
    error: UnsupportedFilterError,
) -> Any:
    """What becomes of a filter that the engine refuses whole.

    Args:
        store: The store that has the engine.
        operation: What was asked of it.
        filter: The filter, inside its scope.
        evaluation: What the call says of it.
        given: The filter alone.
        within: The scope, which the engine gets as it is; None for none.
        error: What the engine refused the filter with.

    Returns:
        An :class:`Evaluating`; or what the hooks get, where the engine answers the whole after all.

    Raises:
        UnsupportedFilterError: If filters are refused, or this one cannot be evaluated either.
    """
    if (evaluation.mode or store.residual) == "refuse":
        error.add_note(_EVALUATE)
        raise error

    def to_query(part: Expression) -> Any:
        return store._ask(operation, store._compile_filter, part)

    compiled = split(given, error, to_query, store.name, within=within)
    if not isinstance(compiled, PartialCompiled):
        return compiled
    if is_small(filter):
        store._parted = store._parted or Recent()
        store._parted.put(filter, compiled)
    return _evaluating(store, operation, compiled, evaluation)


def evaluated_again(
    store: VectorStore, operation: str, filter: Expression, evaluation: Evaluation
) -> Evaluating | None:
    """A filter that was taken apart lately, when it is to be evaluated once more."""
    partial = None if store._parted is None else store._parted.get(filter)
    if partial is None or (evaluation.mode or store.residual) == "refuse":
        return None
    if partial.asked is not None:
        # Made anew: it may hang on what the store has learnt of its table meanwhile.
        try:
            wider = store._ask(operation, store._compile_filter, partial.asked)
        except UnsupportedFilterError:
            return None
        if isinstance(wider, Compiled) and wider.matches_nothing:
            return None
        partial = replace(partial, wider=wider)
    return _evaluating(store, operation, partial, evaluation)


def _evaluating(
    store: VectorStore, operation: str, partial: PartialCompiled, evaluation: Evaluation
) -> Evaluating:
    limit = store.residual_limit if evaluation.limit is None else evaluation.limit
    return Evaluating(store, operation, partial, limit)


class Evaluating:
    """One call whose filter the engine answers in part.

    Args:
        store: The store that has the engine.
        operation: What was asked of it.
        partial: The filter, taken apart.
        limit: How many documents are looked at at most; None for no limit.

    Attributes:
        partial: The filter, taken apart.
        wider: What the engine is asked; None for everything.
    """

    def __init__(
        self, store: VectorStore, operation: str, partial: PartialCompiled, limit: int | None
    ) -> None:
        self.partial = partial
        wider = partial.wider
        self.wider = None if isinstance(wider, Compiled) and wider.matches_all else wider
        self._store = store
        self._operation = operation
        self._limit = limit
        self._matches = partial.accepts()
        self._looked = 0
        self._kept = 0

    # --- reading -----------------------------------------------------------------------------

    def get(self, limit: int | None, include_embedding: bool) -> list[Document]:
        """The first documents that match, of all there are."""
        self._begin(whole=limit is None)
        found = self._scanned(_READ_AT_ONCE, include_embedding)
        with closing(found):
            return list(islice(found, limit))

    def get_by_ids(
        self, parts: Iterable[tuple[str, ...]], include_embedding: bool
    ) -> Iterator[Document]:
        """Those with one of the ids that match, in no order."""
        self._begin(whole=False)
        self._looked = self._kept = 0  # these may be among those that were looked at
        store = self._store
        for ids in parts:
            for document in store._ask_all(
                self._operation,
                store._get,
                Selection(ids=ids, filter=self.wider),
                limit=None,
                include_embedding=include_embedding,
            ):
                if self._accepts(document.metadata):
                    yield document
        self._end()

    def scan(
        self, batch_size: int, include_embedding: bool, *, text: bool = True
    ) -> Iterator[Document]:
        """All documents that match; the first is read when it is asked for."""
        self._begin(whole=True)
        return self._scanned(batch_size, include_embedding, text)

    def count(self) -> int:
        """How many documents match."""
        return sum(1 for _ in self.matching())

    def _scanned(
        self, batch_size: int, include_embedding: bool, text: bool = True
    ) -> Generator[Document]:
        documents = self._store._ask_scan(
            self.wider, batch_size=batch_size, include_embedding=include_embedding, text=text
        )
        try:
            with closing(documents):
                for document in documents:
                    if self._accepts(document.metadata):
                        yield document
        finally:
            self._end()

    def matching(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Ids and metadata of all documents that match; neither text nor vector is read."""
        self._begin(whole=True)
        store = self._store
        found = store._ask_pieces(
            self._operation,
            _READ_AT_ONCE,
            store._scan_metadata,
            self.wider,
            batch_size=_READ_AT_ONCE,
        )
        with closing(found):
            for id, metadata in found:
                if self._accepts(metadata):
                    yield id, metadata
        self._end()

    # --- searching ---------------------------------------------------------------------------

    def search(
        self,
        probes: Matrix,
        wanted: int,
        thresholds: Sequence[float | None],
        include_embedding: bool,
    ) -> list[list[Document]]:
        """The best documents that match, for each of several vectors.

        The engine is asked for the nearest of the wider filter, for more and more of them until
        enough match or there are no more. Past what one search of the engine returns, every
        document is read and scored here.

        Args:
            probes: The vectors, one a row.
            wanted: How many documents, for each.
            thresholds: Below which nothing is looked for, for each.
            include_embedding: Whether they carry their vectors.
        """
        self._begin(whole=False)
        metric = self._store.metric
        queries = [
            _Query(probe, None if least is None else lowest_score(least, metric))
            for probe, least in zip(probes, thresholds, strict=True)
        ]
        size = self._bounded(2 * wanted + 32)
        for query in queries:
            query.size = size
        while open := [query for query in queries if query.size]:
            check_stop()
            size = min(query.size for query in open)
            together = [query for query in open if query.size == size]
            for query, found in zip(
                together, self._nearest(together, size, include_embedding), strict=True
            ):
                self._look(query, found, wanted)
        self._looked = sum(query.looked for query in queries)
        unseen = [query for query in queries if query.answer is None]
        if unseen:
            for query, answer in zip(
                unseen, self._by_reading(unseen, wanted, include_embedding), strict=True
            ):
                query.answer = answer
        self._kept = sum(len(query.answer or ()) for query in queries)
        self._end()
        return [query.answer or [] for query in queries]

    def _nearest(
        self, queries: Sequence[_Query], size: int, include_embedding: bool
    ) -> list[list[Document]]:
        store = self._store
        options: dict[str, Any] = {
            "top_k": size,
            "filter": self.wider,
            "include_embedding": include_embedding,
        }
        if len(queries) == 1:
            return [store._ask_all(self._operation, store._search, queries[0].probe, **options)]
        import numpy as np

        probes = np.stack([query.probe for query in queries])
        return store._ask_lists(self._operation, store._search_many, probes, **options)

    def _look(self, query: _Query, found: list[Document], wanted: int) -> None:
        """Judge the nearest documents, and say how the search for one vector goes on."""
        asked, query.size = query.size, 0
        best = ranked(found, self._store.metric)
        query.looked = max(query.looked, len(best))
        matching = [document for document in best if self._matches(document.metadata)]
        last = best[-1].score if best else None
        if len(matching) >= wanted or (
            query.lowest is not None and last is not None and last < query.lowest
        ):
            query.answer = matching[:wanted]
        elif len(found) < asked:
            # An index that is approximate may have come back with fewer than there are.
            if self._store.capabilities.exact_topk or not self._are_more_than(len(found)):
                query.answer = matching
        elif self._limit is not None and query.looked > self._limit:
            self._looked, self._kept = query.looked, len(matching)
            raise self._past_the_limit()
        else:
            likely = int(1.25 * asked * wanted / len(matching)) if matching else 8 * asked
            query.size = self._bounded(min(8 * asked, max(2 * asked, likely)))
            if query.size <= asked:  # more than the engine returns of one search
                query.size = 0

    def _bounded(self, size: int) -> int:
        """As many as the engine returns, and one more than may be looked at."""
        window = self._store.capabilities.max_top_k
        if window is not None:
            size = min(size, window)
        return min(size, MAX_COUNT if self._limit is None else self._limit + 1)

    def _are_more_than(self, found: int) -> bool:
        store = self._store
        if not store.capabilities.filtered_count:
            return False
        return store._ask(self._operation, store._count, self.wider) > found

    def _by_reading(
        self, queries: Sequence[_Query], wanted: int, include_embedding: bool
    ) -> list[list[Document]]:
        """The best documents, of all that the engine finds, scored here."""
        self._begin(whole=True)
        self._looked = self._kept = 0
        best: list[list[Document]] = [[] for _ in queries]
        found = self._scanned(_READ_AT_ONCE, include_embedding=True)
        with closing(found):
            while part := list(islice(found, _READ_AT_ONCE)):
                check_stop()
                self._score(queries, part, best, include_embedding)
                for place, held in enumerate(best):
                    if len(held) > 2 * wanted + _READ_AT_ONCE:
                        best[place] = sorted(held, key=rank)[:wanted]
        return [sorted(held, key=rank)[:wanted] for held in best]

    def _score(
        self,
        queries: Sequence[_Query],
        documents: Sequence[Document],
        best: Sequence[list[Document]],
        include_embedding: bool,
    ) -> None:
        probes = [query.probe for query in queries]
        found = scored(documents, probes, self._store.metric, include_embedding)
        for answer, part in zip(best, found, strict=True):
            answer.extend(part)

    # --- writing -----------------------------------------------------------------------------

    def change(self, ids: tuple[str, ...] | None, hook: Callable[..., int], **options: Any) -> int:
        """Change or delete the documents that match, by their ids.

        Args:
            ids: Which ones; None for all that match.
            hook: Judges documents once more, and changes those that still match.
            **options: For the hook.

        Raises:
            VecstoreError: With ``failed_ids``: what was selected and is not known to be done.
        """
        store = self._store
        if ids is None:
            ids = tuple(dict.fromkeys([id for id, _ in self.matching()]))
        else:
            ids = tuple(dict.fromkeys(ids))
            self._begin(whole=False)
            if self._limit is not None and len(ids) > self._limit:
                raise self._past_the_limit(len(ids))
        done = 0
        left = list(ids)
        try:
            for part in store._parts(ids):
                done += store._ask(
                    self._operation,
                    hook,
                    Selection(ids=part, filter=self.wider),
                    self._matches,
                    **options,
                )
                del left[: len(part)]
        except BaseException as error:
            if done:
                error.add_note(
                    f"{self._operation} had done {done:,} documents of {len(ids):,} before; "
                    "failed_ids has the ids of the others"
                )
            if isinstance(error, VecstoreError):
                error.failed_ids = left
            raise
        return done

    # --- limit, and telling ------------------------------------------------------------------

    def expected(self) -> int | None:
        """How many documents would be looked at; None where the engine does not count them."""
        store = self._store
        if not store.capabilities.filtered_count:
            return None
        return store._ask(self._operation, store._count, self.wider)

    def _begin(self, *, whole: bool) -> None:
        """Before the first document: tell of it, and refuse what is known to be too much.

        Args:
            whole: Whether all that the engine finds will be looked at.
        """
        note({"vecstore.residual.clauses": len(self.partial.evaluated)})
        shape = _shape(self.partial.evaluated)
        told = self._store._told_shapes
        telling = shape not in told and len(told) <= _SHAPES
        expected = None
        if whole and (telling or self._limit is not None):
            expected = self.expected()
        if self._limit is not None and expected is not None and expected > self._limit:
            raise self._past_the_limit(expected)
        if telling:
            self._tell(expected, last=len(told) == _SHAPES)
            told.add(shape)

    def _tell(self, expected: int | None, *, last: bool) -> None:
        number = "each document" if expected is None else f"each of {expected:,} documents"
        among = "" if self.partial.is_full_scan else " that the rest of it leaves"
        once = "no further shape is told of" if last else "told once for filters of this shape"
        message = (
            f"{self._cannot()}: vecstore evaluates that part of the filter on {number}{among}, as "
            f'residual="evaluate" asks for ({once})'
        )
        try:
            warnings.warn(message, ResidualWarning, stacklevel=level_of_the_caller())
        except ResidualWarning:
            raise self.partial.refusals[0] from None

    def _cannot(self) -> str:
        """Which comparison the engine cannot answer; without literals, which may be a secret."""
        first = self.partial.refusals[0]
        what = "the whole of this filter" if first.op is None else first.op.symbol
        key = "" if first.key is None else f" on key {_plain(first.key)}"
        return f"{self._store.name} cannot answer {what}{key}"

    def _accepts(self, metadata: Mapping[str, Any]) -> bool:
        if not self._looked % _READ_AT_ONCE:
            check_stop()
        self._looked += 1
        if self._limit is not None and self._looked > self._limit:
            raise self._past_the_limit()
        if not self._matches(metadata):
            return False
        self._kept += 1
        return True

    def _end(self) -> None:
        note(
            {
                "vecstore.residual.documents": self._looked,
                "vecstore.residual.matched": self._kept,
            }
        )

    def _past_the_limit(self, expected: int | None = None) -> FilterLimitError:
        reason = self.partial.refusals[0]
        clauses = " and ".join([clause_text(part) for part in self.partial.evaluated[:3]])
        if expected is None:
            self._end()
            cost = (
                f"has looked at {self._looked:,} documents, of which {self._kept:,} matched, "
                "without coming to an end"
            )
        else:
            cost = f"would have to look at {expected:,} documents; none was looked at"
        more = max(expected or 0, 10 * (self._limit or 0))
        return FilterLimitError(
            f"{reason.message}; to evaluate {clauses}, {self._operation} {cost} "
            f"(limit residual_limit, {self._limit:,})",
            limit="residual_limit",
            span=reason.span,
            hint=f"add a clause that {self._store.name} answers, such as an equality, or allow "
            f"more: residual_limit={more}",
        )


@dataclass(slots=True)
class _Query:
    """A search for one vector, on its way.

    Attributes:
        probe: The vector.
        lowest: Below which score nothing is looked for, or None.
        size: How many documents the engine is asked for next; 0 at the end.
        looked: How many of them were looked at.
        answer: What was found; None where every document has to be read.
    """

    probe: Vector
    lowest: float | None
    size: int = 0
    looked: int = 0
    answer: list[Document] | None = field(default=None)


def _shape(parts: Sequence[Expression]) -> int:
    """What filters have in common that differ by their literals alone."""
    return hash(
        tuple(
            [
                (node.op.value, None if node.op in LOGICAL else node.key.path)
                for part in parts
                for node in part.walk()
            ]
        )
    )


def _plain(text: str) -> str:
    """A name from a filter, which a stranger may have written, as a log can hold it."""
    shown = "".join([one if one.isprintable() else "�" for one in text[:60]])
    return shown if len(text) <= 60 else f"{shown}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Who answers what of a filter, as :meth:`VectorStore.explain` tells; ``str()`` is a sentence.

    Attributes:
        store: What the backend is called.
        answered: The parts of the filter, joined by AND, that the engine answers; None for no
            filter.
        evaluated: Those that vecstore evaluates on what the engine finds, with
            ``residual="evaluate"``; without it the filter is refused.
        reasons: Why the engine does not answer these, a sentence for each comparison.
        documents: How many documents there are, in the scope; None where it was not counted.
        looked_at: How many of them are looked at to answer the whole filter; 0 where the engine
            answers it alone, None where it was not counted.
    """

    store: str
    answered: tuple[Expression, ...]
    evaluated: tuple[Expression, ...]
    reasons: tuple[str, ...]
    documents: int | None = None
    looked_at: int | None = None

    def __str__(self) -> str:
        if not self.evaluated:
            return f"{self.store} answers the whole filter"
        ours = _clauses(self.evaluated)
        if self.answered:
            said = f"{self.store} answers {_clauses(self.answered)}, vecstore {ours}"
        else:
            said = f"{self.store} answers no clause whole, vecstore {ours}"
        if self.looked_at is None or self.documents is None:
            return said
        return f"{said}; of {self.documents:,} documents it will look at about {self.looked_at:,}"


def _clauses(parts: Sequence[Expression]) -> str:
    shown = ", ".join([clause_text(part, 60) for part in parts[:4]])
    more = "" if len(parts) <= 4 else ", …"
    return f"{len(parts)} clause{'s' if len(parts) > 1 else ''} ({shown}{more})"
