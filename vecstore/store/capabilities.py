"""What a store promises, and where its engine's limits lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Metric = Literal["cosine", "dot", "euclidean"]
OnConflict = Literal["replace", "skip", "error"]
OnError = Literal["raise", "skip"]
IdCharset = Literal["any", "ascii", "uuid", "integer", "uuid_or_number"]

METRICS: tuple[Metric, ...] = ("cosine", "dot", "euclidean")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCapabilities:
    """What one store can do. The base class refuses, by name and before any call, what is past it.

    None means "no limit".

    Attributes:
        metrics: The similarities the store can be made with.
        exact_topk: Search looks at every document: results are the true nearest ones, and of
            documents with equal scores at the edge of ``top_k`` those with the smallest ids.
        conflict_atomic: ``on_conflict="skip"`` and ``"error"`` are decided in the same step that
            writes. Otherwise two writers at the same moment may both see an id as free.
        batch_atomic: A batch of ``add`` is written whole or not at all.
        scoped_add_atomic: Inside a scope, whether an id belongs to a document outside is decided
            in the same step that writes. Otherwise it is read before, and a document that another
            writer puts there in between is replaced.
        tells_replaced: What ``add`` returns names the documents that were replaced. Elsewhere that
            would take another call.
        vectorless: Documents can be stored without a vector: everything but searches finds them.
        keeps_extra: ``Document.extra`` comes back as it was given. Otherwise documents with one are
            refused.
        filtered_count: ``count(filter)`` is answered by the engine, not by reading documents.
        native_ids: A search among ``ids`` is answered by the engine. Otherwise the documents with
            these ids are read with their vectors, and compared here.
        native_statistics: ``distinct`` and ``minmax`` are answered by the engine. Otherwise, and
            for ``fields``, the metadata of every document that matches is read; no text and no
            vector is.
        native_order: ``get(order_by=...)`` is answered by the engine. Otherwise each page reads the
            metadata of every document that matches, and holds as many ids as the page has.
        keeps_norm: A vector comes back with the length it was added with.
        keeps_null: ``None`` in metadata comes back; otherwise its key is dropped.
        keeps_empty_list: ``[]`` in metadata comes back; otherwise its key is dropped.
        max_text_bytes: The longest text, in UTF-8.
        max_id_bytes: The longest id, in UTF-8.
        id_charset: Which ids there can be: ``"any"`` text, ``"ascii"``, ``"uuid"`` (in its
            canonical form), ``"integer"`` (decimal digits of a signed 64-bit number), or
            ``"uuid_or_number"`` (a UUID, or decimal digits of an unsigned 64-bit number).
        max_metadata_bytes: The largest metadata of one document, as compact JSON in UTF-8.
        max_extra_bytes: The largest ``extra`` of one document, as compact JSON in UTF-8, where
            it is kept.
        min_integer: The smallest integer that metadata can hold exactly.
        max_integer: The largest one.
        max_dimension: The most numbers in a vector.
        min_vector_length: The shortest vector, by euclidean length, that the engine compares
            exactly; zeros alone are another matter.
        max_vector_length: The longest one.
        max_top_k: The largest ``top_k`` of a search.
        max_batch: The most documents, or ids, that one call to the engine carries; larger work is
            split, not refused.
        max_cost: What a filter that comes as text or dict may cost at most, as
            :func:`vecstore.filter.cost.filter_cost` counts: chosen so that the worst one takes
            about a second on 10,000 documents. The option ``max_cost`` of a store goes before it.

    Example:
        >>> StoreCapabilities(max_id_bytes=512).max_id_bytes
        512
    """

    metrics: frozenset[Metric] = frozenset(METRICS)
    exact_topk: bool = False
    conflict_atomic: bool = False
    batch_atomic: bool = False
    scoped_add_atomic: bool = False
    tells_replaced: bool = False
    vectorless: bool = False
    keeps_extra: bool = False
    filtered_count: bool = False
    native_ids: bool = False
    native_statistics: bool = False
    native_order: bool = False
    keeps_norm: bool = True
    keeps_null: bool = True
    keeps_empty_list: bool = True
    max_text_bytes: int | None = None
    max_id_bytes: int | None = None
    id_charset: IdCharset = "any"
    max_metadata_bytes: int | None = None
    max_extra_bytes: int | None = None
    min_integer: int | None = None
    max_integer: int | None = None
    max_dimension: int | None = None
    min_vector_length: float | None = None
    max_vector_length: float | None = None
    max_top_k: int | None = None
    max_batch: int | None = None
    max_cost: int | None = 400
