"""The documents nearest to some vectors: whoever answers the filter, and among which ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vecstore.document import Document
from vecstore.store.backend import Selection
from vecstore.store.ranking import scored
from vecstore.store.residual import Evaluating

if TYPE_CHECKING:
    from vecstore.store.base import VectorStore
    from vecstore.vectors import Matrix

Choice = tuple[tuple[str, ...] | None, tuple[str, ...]]
"""Among which ids to look, None for all of them, and which of all to leave out."""

EVERYTHING: Choice = (None, ())


def nearest(
    store: VectorStore,
    operation: str,
    probes: Matrix,
    filter: Any,
    choice: Choice,
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
