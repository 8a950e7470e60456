"""Stores that declare limits, so that the suite is seen on both sides of each."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from tests.store.minimal import MinimalStore
from vecstore import (
    Batch,
    Document,
    DocumentError,
    Expression,
    Selection,
    SimpleVectorStore,
    StoreCapabilities,
    get_dialect,
)
from vecstore.testing import Domain

KEYS = re.compile(r'[^"\\]{1,60}')
FLAT = Domain(nested=False, key_pattern=KEYS, integers=(-(2**53) + 1, 2**53 - 1))


class LimitedStore(SimpleVectorStore):
    """Everything that can be limited is: the store in memory with the manners of small engines.

    It answers what Qdrant's dialect does, holds no objects, gives normalised vectors back, and
    leaves counting, deleting and updating to the defaults.
    """

    name: ClassVar[str] = "limited"
    capabilities = StoreCapabilities(
        metrics=frozenset({"cosine"}),
        keeps_norm=False,
        keeps_null=False,
        keeps_empty_list=False,
        max_text_bytes=9_999,
        max_id_bytes=100,
        id_charset="ascii",
        max_metadata_bytes=4_000,
        keeps_extra=True,
        max_extra_bytes=6_000,
        min_integer=-(2**53) + 1,
        max_integer=2**53 - 1,
        max_dimension=64,
        max_top_k=70,
        max_batch=7,
    )

    def _compile_filter(self, filter: Expression) -> Any:
        get_dialect("qdrant")().compile(filter, limits=None)
        return filter

    def _check_documents(self, documents: Sequence[Any]) -> None:
        for document in documents:
            check_flat(document.metadata, document.id)

    def _add(self, batch: Batch) -> Iterable[str]:
        wide = batch.vectors.astype(np.float64)
        lengths = np.linalg.norm(wide, axis=1, keepdims=True)
        return super()._add(replace(batch, vectors=(wide / lengths).astype(np.float32)))

    def _get(
        self, selection: Selection, *, limit: int | None, include_embedding: bool
    ) -> Iterable[Document]:
        found = super()._get(selection, limit=limit, include_embedding=include_embedding)
        return reversed(list(found))

    def _update_metadata(
        self, selection: Selection, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        check_flat(set, None)
        return super()._update_metadata(selection, set=set, unset=unset)


def check_flat(metadata: Mapping[str, Any], document_id: str | None) -> None:
    for key, value in metadata.items():
        if isinstance(value, dict) or not KEYS.fullmatch(key):
            raise DocumentError(
                f"document {document_id!r} cannot be stored with the key {key!r}",
                document_id=document_id,
                key=key,
            )


class UuidStore(SimpleVectorStore):
    capabilities = StoreCapabilities(id_charset="uuid", exact_topk=True, keeps_null=False)


class IntegerStore(SimpleVectorStore):
    capabilities = StoreCapabilities(id_charset="integer", conflict_atomic=True, max_batch=100)


class SafeMinimalStore(MinimalStore):
    """The minimal store, fit for threads: every hook sees and leaves one state."""

    name: ClassVar[str] = "safe minimal"
    capabilities = StoreCapabilities(metrics=frozenset({"cosine"}))

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lock = threading.RLock()

    def _add(self, batch: Batch) -> Iterable[str]:
        with self._lock:
            return super()._add(batch)

    def _search(self, vector: Any, **options: Any) -> Iterable[Document]:
        with self._lock:
            return list(super()._search(vector, **options))

    def _get(self, selection: Selection, **options: Any) -> Iterable[Document]:
        with self._lock:
            return super()._get(selection, **options)

    def _scan(self, filter: Any, **options: Any) -> Iterator[Document]:
        with self._lock:
            return iter(list(super()._scan(filter, **options)))

    def _delete(self, selection: Selection) -> int:
        with self._lock:
            return super()._delete(selection)

    def _delete_filtered(self, filter: Any) -> int:
        with self._lock:
            return super()._delete_filtered(filter)

    def _update_metadata(self, selection: Selection, **options: Any) -> int:
        with self._lock:
            return super()._update_metadata(selection, **options)
