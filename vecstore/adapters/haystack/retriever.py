"""The retriever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, cast

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.types import FilterPolicy, apply_filter_policy

from vecstore.adapters.haystack.converting import our_filter, their_documents
from vecstore.adapters.haystack.document_store import VecstoreDocumentStore
from vecstore.errors import ConfigurationError


@component
class VecstoreEmbeddingRetriever:
    """A component that finds the documents most similar to an embedding, best first.

    Args:
        document_store: A :class:`VecstoreDocumentStore`.
        filters: Which documents to look among, in Haystack's form.
        top_k: How many to find at most.
        return_embedding: Whether they carry their embeddings.
        filter_policy: Whether the filters of a run ``replace`` these or ``merge`` with them.
    """

    def __init__(
        self,
        document_store: VecstoreDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        return_embedding: bool = False,
        filter_policy: str | FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        if not isinstance(document_store, VecstoreDocumentStore):
            raise ConfigurationError("document_store is a VecstoreDocumentStore(store)")
        self.document_store = document_store
        self.filters = filters
        self.top_k = top_k
        self.return_embedding = return_embedding
        self.filter_policy = FilterPolicy.from_str(str(filter_policy))

    def to_dict(self) -> dict[str, Any]:
        """What :meth:`from_dict` makes again."""
        written: dict[str, Any] = default_to_dict(
            self,
            document_store=self.document_store,
            filters=self.filters,
            top_k=self.top_k,
            return_embedding=self.return_embedding,
            filter_policy=str(self.filter_policy),
        )
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The retriever that :meth:`to_dict` wrote down."""
        return cast(Self, default_from_dict(cls, data))

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        return_embedding: bool | None = None,
    ) -> dict[str, list[Document]]:
        """Find documents; what is left out is as the component was made."""
        asked = self._asked(query_embedding, filters, top_k, return_embedding)
        return {"documents": their_documents(self.document_store.store.search(**asked))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        return_embedding: bool | None = None,
    ) -> dict[str, list[Document]]:
        """See :meth:`run`."""
        asked = self._asked(query_embedding, filters, top_k, return_embedding)
        return {"documents": their_documents(await self.document_store.store.aio.search(**asked))}

    def _asked(
        self, vector: list[float], filters: Any, top_k: int | None, shown: bool | None
    ) -> dict[str, Any]:
        ours, merging = self.filters, self.filter_policy is FilterPolicy.MERGE
        if merging and ours and filters:
            if _joint(ours) == _joint(filters):
                filters = apply_filter_policy(self.filter_policy, ours, filters)
            else:  # of which Haystack's function leaves out the first
                filters = {"operator": "AND", "conditions": [ours, filters]}
        return {
            "vector": vector,
            "filter": our_filter(filters or ours),
            "top_k": self.top_k if top_k is None else top_k,
            "include_embedding": self.return_embedding if shown is None else shown,
        }


def _joint(filters: Mapping[str, Any]) -> Any:
    return filters.get("operator") if "conditions" in filters else "AND"
