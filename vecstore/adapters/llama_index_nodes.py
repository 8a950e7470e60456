"""Nodes of LlamaIndex as documents of a store, and back."""

from __future__ import annotations

from collections.abc import Iterable

from vecstore.document import Document, shown_id
from vecstore.errors import BackendNotInstalledError, DocumentError
from vecstore.installing import install_line

try:
    from llama_index.core.schema import BaseNode, MetadataMode, TextNode
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
except ImportError:
    raise BackendNotInstalledError(
        f"the adapter needs llama-index-core: {install_line('llama-index')}"
    ) from None

_THEIRS = frozenset(("_node_content", "_node_type", "document_id", "doc_id", "ref_doc_id"))
"""What LlamaIndex writes beside the metadata of a node."""


def stored_of(nodes: Iterable[BaseNode]) -> list[Document]:
    """Nodes as a store takes them.

    Raises:
        DocumentError: For a node without an embedding.
    """
    made = []
    for node in nodes:
        if node.embedding is None:
            raise DocumentError(
                f"node {shown_id(node.node_id)} has no embedding; VectorStoreIndex embeds nodes "
                "before it adds them, and an IngestionPipeline with an embedding model among its "
                "transformations",
                document_id=node.node_id,
            )
        text = node.get_content(metadata_mode=MetadataMode.NONE)
        metadata = node_to_metadata_dict(node, remove_text=True)
        made.append(Document(text, metadata, node.node_id, node.embedding))
    return made


def nodes_of(found: Iterable[Document], *, embeddings: bool = True) -> list[BaseNode]:
    """Documents of a store as nodes, with their embeddings where these were read."""
    return [_node(one, embeddings) for one in found]


def _node(one: Document, embeddings: bool) -> BaseNode:
    metadata = one.metadata
    node: BaseNode
    if "_node_content" in metadata:
        node = metadata_dict_to_node(metadata, one.text)
        # What was changed since by update_metadata stands beside it.
        ours = {name: value for name, value in metadata.items() if name not in _THEIRS}
        kept = {name: value for name, value in node.metadata.items() if name in _THEIRS}
        node.metadata = {**kept, **ours}
    else:  # no node, but a document of another writer
        node = TextNode(id_=one.id, text=one.text, metadata=metadata)
    if embeddings and one.embedding is not None:
        node.embedding = one.embedding.tolist()
    return node
