"""The least a store can be: six hooks over a dict, everything else by default.

It also plays a backend with limits, and notes what it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from vecstore.authoring import (
    BackendError,
    Batch,
    Document,
    DuplicateDocumentError,
    Selection,
    StoreCapabilities,
    VectorStore,
    stored_document,
)


class MinimalStore(VectorStore):
    name: ClassVar[str] = "minimal"
    capabilities = StoreCapabilities(vectorless=True)

    def __init__(self, *args: Any, capabilities: StoreCapabilities | None = None, **options: Any):
        if capabilities is not None:
            self.capabilities = capabilities
        super().__init__(*args, **options)
        self.rows: dict[str, tuple[str, dict[str, Any], Any]] = {}
        self.calls: list[tuple[str, int]] = []
        self.fail_at_add: int | None = None

    def _add(self, batch: Batch) -> Iterable[str]:
        self.calls.append(("add", len(batch)))
        if self.fail_at_add is not None and len(self.calls) > self.fail_at_add:
            raise BackendError("the disk is full", operation="add")
        known = [id for id in batch.ids if id in self.rows]
        if known and batch.on_conflict == "error":
            raise DuplicateDocumentError("taken", ids=known)
        written = []
        for id, text, metadata, vector in zip(
            batch.ids, batch.texts, batch.metadata, batch.vectors, strict=True
        ):
            if id in self.rows and batch.on_conflict == "skip":
                continue
            self.rows[id] = (text, metadata, None if batch.vectorless else vector)
            written.append(id)
        if not batch.vectorless:
            self._settle(dimension=batch.vectors.shape[1])
        return written

    def _document(self, id: str, with_embedding: bool, score: float | None = None) -> Document:
        text, metadata, vector = self.rows[id]
        return stored_document(
            id, text, metadata, vector if with_embedding else None, score, shared=True
        )

    def _matching(self, filter: Any) -> list[str]:
        return [
            id
            for id, (_, metadata, _) in self.rows.items()
            if filter is None or filter.matches(metadata)
        ]

    def _search(
        self, vector: Any, *, top_k: int, filter: Any, include_embedding: bool
    ) -> Iterable[Document]:
        self.calls.append(("search", top_k))
        found = []
        vector = vector.astype(float)
        for id in self._matching(filter):
            if self.rows[id][2] is None:
                continue
            row = self.rows[id][2].astype(float)
            score = float(row @ vector / np.linalg.norm(row) / np.linalg.norm(vector))
            found.append(self._document(id, include_embedding, score))
        found.sort(key=lambda document: (-(document.score or 0.0), document.id))
        return reversed(found[:top_k])  # the order does not matter

    def _get(
        self, selection: Selection, *, limit: int | None, include_embedding: bool
    ) -> Iterable[Document]:
        self.calls.append(("get", len(selection.ids or ())))
        matching = self._matching(selection.filter)
        if selection.ids is not None:
            known = set(matching)
            matching = [id for id in sorted(selection.ids) if id in known]
        return [self._document(id, include_embedding) for id in matching[:limit]]

    def _scan(self, filter: Any, *, batch_size: int, include_embedding: bool) -> Iterator[Document]:
        self.calls.append(("scan", batch_size))
        for id in self._matching(filter):
            yield self._document(id, include_embedding)

    def _delete(self, selection: Selection) -> int:
        assert selection.ids is not None
        self.calls.append(("delete", len(selection.ids)))
        known = set(self._matching(selection.filter))
        chosen = [id for id in selection.ids if id in known]
        for id in chosen:
            del self.rows[id]
        return len(chosen)

    def _clear(self) -> None:
        self.calls.append(("clear", 0))
        self.rows.clear()
