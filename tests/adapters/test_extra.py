"""What stands beside the metadata of a document, where a framework has no place for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vecstore import Document, SimpleVectorStore

EXTRA = {"lines": [{"sku": "A7"}, {"gift": None}]}


def _langchain(store: SimpleVectorStore) -> tuple[Any, Callable[[Any], None]]:
    pytest.importorskip("langchain_core")
    from vecstore.adapters.langchain import VecstoreVectorStore

    vectors = VecstoreVectorStore(store)
    return vectors.get_by_ids(["a"])[0], lambda found: vectors.add_documents([found]) and None


def _langchain_index(store: SimpleVectorStore) -> tuple[Any, Callable[[Any], None]]:
    pytest.importorskip("langchain_core")
    from vecstore.adapters.langchain_index import VecstoreDocumentIndex

    index = VecstoreDocumentIndex(store)
    return index.get(["a"])[0], lambda found: index.upsert([found]) and None


def _llama_index(store: SimpleVectorStore) -> tuple[Any, Callable[[Any], None]]:
    pytest.importorskip("llama_index.core")
    from vecstore.adapters.llama_index import VecstoreVectorStore

    nodes = VecstoreVectorStore(store)
    return nodes.get_nodes(["a"])[0], lambda found: nodes.add([found]) and None


def _haystack(store: SimpleVectorStore) -> tuple[Any, Callable[[Any], None]]:
    pytest.importorskip("haystack")
    from haystack.document_stores.types import DuplicatePolicy

    from vecstore.adapters.haystack import VecstoreDocumentStore

    documents = VecstoreDocumentStore(store)
    filter: Any = {"field": "meta.n", "operator": "==", "value": 1}
    documents.update_by_filter(filter, {"m": 2})
    assert store.get(["a"])[0].extra == EXTRA  # an update leaves it
    [found] = documents.filter_documents(filter)
    return (
        found,
        lambda found: documents.write_documents([found], DuplicatePolicy.OVERWRITE) and None,
    )


@pytest.mark.parametrize("open_adapter", [_langchain, _langchain_index, _llama_index, _haystack])
def test_it_stays_in_the_store_until_the_framework_writes_the_document(open_adapter: Any) -> None:
    """As docs/adapters.md says: nothing of it in what they give, and a new document in its place."""
    store = SimpleVectorStore(lambda texts: [[1.0, 2.0] for _ in texts])
    store.add([Document("text", {"n": 1}, "a", [1, 2], extra=EXTRA)])
    found, write = open_adapter(store)
    assert "A7" not in repr(found.__dict__)
    assert store.get(["a"])[0].extra == EXTRA
    write(found)
    [kept] = store.get(["a"])
    assert (kept.text, kept.metadata["n"], kept.extra) == ("text", 1, None)
