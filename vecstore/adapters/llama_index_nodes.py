"""Nodes of LlamaIndex as documents of a store, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from vecstore.document import Document, shown_id
from vecstore.errors import BackendNotInstalledError, DocumentError
from vecstore.installing import install_line

try:
    from llama_index.core.schema import BaseNode, MetadataMode, TextNode
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
    from pydantic_core import to_jsonable_python
except ImportError:
    raise BackendNotInstalledError(
        f"the adapter needs llama-index-core: {install_line('llama-index')}"
    ) from None

_SOURCE: Final = ("document_id", "doc_id", "ref_doc_id")
_THEIRS: Final = frozenset(("_node_content", "_node_type", *_SOURCE))
"""What LlamaIndex writes beside the metadata of a node."""
_APART: Final = {"text", "embedding"}
_WITHOUT: Final = '{"text":"","embedding":null,'
"""How a node begins that is written without these; they are stored as such."""
_TEXT_NODE: Final = TextNode.class_name()
_RENAMED: Final = '"text_resource"'
"""An older name of what a text node holds, which its constructor reads."""


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
        made.append(Document(text, _metadata_of(node), node.node_id, node.embedding))
    return made


def _metadata_of(node: BaseNode) -> dict[str, Any]:
    """What LlamaIndex's own function writes; most nodes are written in one go."""
    metadata: dict[str, Any]
    content = None
    if type(node) is TextNode:
        try:
            content = node.model_dump_json(exclude=_APART)
            metadata = to_jsonable_python(node.metadata)
        except ValueError:  # the store says which text it cannot keep
            content = None
    if content is None:
        metadata = node_to_metadata_dict(node, remove_text=True)
        return metadata
    return {
        **metadata,
        "_node_content": _WITHOUT + content[1:],
        "_node_type": _TEXT_NODE,
        **dict.fromkeys(_SOURCE, node.ref_doc_id or "None"),
    }


def nodes_of(found: Iterable[Document], *, embeddings: bool = True) -> list[BaseNode]:
    """Documents of a store as nodes, with their embeddings where these were read."""
    return [_node(one, embeddings) for one in found]


def _node(one: Document, embeddings: bool) -> BaseNode:
    vector = one.embedding.tolist() if embeddings and one.embedding is not None else None
    metadata = one.metadata  # which nobody else is given
    content = metadata.get("_node_content")
    if content is None:  # no node, but a document of another writer
        return TextNode(id_=one.id, text=one.text, metadata=metadata, embedding=vector)
    node = _text_node(content) if metadata.get("_node_type") == _TEXT_NODE else None
    if node is None:
        node = metadata_dict_to_node(metadata, one.text)
    # What was changed since by update_metadata stands beside it.
    for name in _THEIRS:
        metadata.pop(name, None)
    values = vars(node)
    own = values["metadata"]
    if not own.keys().isdisjoint(_THEIRS):
        metadata = {**{name: own[name] for name in own if name in _THEIRS}, **metadata}
    # To assign them would have pydantic check each anew, and copy the vector.
    values["metadata"] = metadata
    values["embedding"] = vector
    if "text" in values:
        values["text"] = one.text
    return node


def _text_node(content: Any) -> TextNode | None:
    """What most nodes are, read in one go as LlamaIndex would; None for what needs more."""
    if not isinstance(content, str) or _RENAMED in content:
        return None
    node = TextNode.__new__(TextNode)
    try:
        TextNode.__pydantic_validator__.validate_json(content, self_instance=node)
    except ValueError:  # LlamaIndex's own reading says why
        return None
    return node
