"""The document store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial, wraps
from typing import Any, Self, cast
from urllib.parse import quote, urlsplit

from haystack import Document, default_from_dict, default_to_dict
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.utils import Secret

from vecstore.adapters.haystack.converting import (
    check_kept,
    our_documents,
    our_filter,
    their_documents,
)
from vecstore.document import checked_metadata
from vecstore.errors import ConfigurationError
from vecstore.errors import DuplicateDocumentError as Duplicate
from vecstore.store.backend import value_at
from vecstore.store.base import VectorStore as Store
from vecstore.store.url import open_store

_CONFLICTS: Any = {DuplicatePolicy.SKIP: "skip", DuplicatePolicy.OVERWRITE: "replace"}
_TYPES = {"bool": "boolean", "int": "int", "float": "float", "float int": "float"}


def _awaited(method: Any) -> Any:
    """The twin of a method, which runs it where the store runs awaited calls."""

    @wraps(method)
    async def twin(self: Any, *args: Any, **options: Any) -> Any:
        return await self.store.aio._in_worker(partial(method, self, *args, **options))

    return twin


def _with_twins(cls: Any) -> Any:
    """Give each method that asks the store a twin; those that write the store down have none."""
    for name, method in list(vars(cls).items()):
        if not name.startswith(("_", "to_", "from_dict")):
            setattr(cls, f"{name}_async", _awaited(method))
    return cls


@_with_twins
class VecstoreDocumentStore:
    """A store of this library as Haystack's ``DocumentStore``; each method has a twin ``_async``.

    ``filters`` are Haystack's dicts, and select what they do there; or a filter of this library,
    an expression or its text.

    Args:
        store: Any store, scoped ones too; or the address of one, which is opened.
        secrets: What an address needs that nobody may see: ``{"api_key":
            Secret.from_env_var("QDRANT_KEY")}``, or the ``"password"`` of its user.
        **options: What else :func:`vecstore.open_store` takes for an address.

    Raises:
        ConfigurationError: If it is neither a store nor an address that can be opened.

    Example:
        >>> store = VecstoreDocumentStore("memory:")
        >>> store.write_documents([Document(content="foo", meta={"n": 1}, embedding=[1.0, 0.0])])
        1
        >>> store.filter_documents({"field": "meta.n", "operator": ">", "value": 0})[0].content
        'foo'
        >>> store.to_dict()["init_parameters"]
        {'store': 'memory:', 'secrets': {}}
    """

    def __init__(
        self, store: Store | str, *, secrets: Mapping[str, Secret] | None = None, **options: Any
    ) -> None:
        self._secrets = dict(secrets or {})
        if isinstance(store, str):
            told = {name: secret.resolve_value() for name, secret in self._secrets.items()}
            if "password" in told:
                user, _, host = (place := urlsplit(store).netloc).rpartition("@")
                password = quote(told.pop("password"), safe="")
                inner = f"//{user.partition(':')[0]}:{password}@{host}"
                store = store.replace(f"//{place}", inner, 1)
            store = open_store(store, **options, **told)
        elif options or secrets or not isinstance(store, Store):
            raise ConfigurationError(
                "VecstoreDocumentStore takes a store, or an address and what open_store takes "
                'besides: VecstoreDocumentStore("qdrant://localhost/docs", dimension=384)'
            )
        self.store = store

    def to_dict(self) -> dict[str, Any]:
        """The address, the options and the names of secrets, for :meth:`from_dict` to open again.

        Raises:
            ConfigurationError: If that does not say how to open the store.
        """
        origin: Any = self.store._origin
        if origin is None or self.store.embedder is not None:
            raise ConfigurationError(
                "only a store that was opened by its address, and has no embedder, can be written "
                "down; embed by components of the pipeline"
            )
        lost = [name for name in origin.left_out if name not in self._secrets]
        if lost:
            raise ConfigurationError(
                f"the {lost[0]} of a store is not written down; open it by "
                f"VecstoreDocumentStore(address, secrets={{{lost[0]!r}: Secret.from_env_var(...)}})"
            )
        secrets = {name: secret.to_dict() for name, secret in self._secrets.items()}
        given = {"store": origin.address, "secrets": secrets, **origin.options}
        return cast("dict[str, Any]", default_to_dict(self, **given))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The document store that :meth:`to_dict` wrote down."""
        given = {**data["init_parameters"]}
        given["secrets"] = {k: Secret.from_dict(v) for k, v in given.get("secrets", {}).items()}
        return cast(Self, default_from_dict(cls, {**data, "init_parameters": given}))

    # --- writing ------------------------------------------------------------------------------

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Store documents, and say how many; the store's embedder embeds what has no embedding.

        Args:
            documents: The documents.
            policy: For an id that is there: ``FAIL``, as ``NONE``, before anything is written;
                ``SKIP`` the document; or ``OVERWRITE`` what is there.

        Raises:
            DuplicateDocumentError: Haystack's, of ``FAIL``.
            DocumentError: For what would not come back as it is, by its name.
        """
        stored = our_documents(documents)
        try:
            added = self.store.add(
                stored,
                on_conflict=_CONFLICTS.get(policy, "error"),
                # Without an embedder, documents may come without a vector, as Haystack has it.
                embed=self.store.embedder is not None or not self.store.capabilities.vectorless,
            )
        except Duplicate as error:
            raise DuplicateDocumentError(str(error)) from error
        return len(added.written)

    def update_by_filter(self, filters: Any, meta: dict[str, Any]) -> int:
        """Set keys of the metadata of all that match, and say how many did."""
        check_kept(checked_metadata(meta), meta)
        return self.store.update_metadata(filter=our_filter(filters), set=meta)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents by their ids; unknown ids are passed over."""
        self.store.delete(document_ids)

    def delete_by_filter(self, filters: Any) -> int:
        """Delete all that match, and say how many did; a filter of all is refused."""
        return self.store.delete(filter=our_filter(filters))

    def delete_all_documents(self) -> None:
        """Delete every document that the store reaches."""
        self.store.clear()

    # --- reading ------------------------------------------------------------------------------

    def filter_documents(self, filters: Any = None) -> list[Document]:
        """The documents that match, with their embeddings, in no particular order."""
        return their_documents(self.store.get(filter=our_filter(filters), include_embedding=True))

    def count_documents(self) -> int:
        """How many documents there are."""
        return self.store.count()

    def count_documents_by_filter(self, filters: Any) -> int:
        """How many documents match."""
        return self.store.count(our_filter(filters))

    def count_unique_metadata_by_filter(
        self, filters: Any, metadata_fields: list[str]
    ) -> dict[str, int]:
        """How many values each field has among the documents that match."""
        return {k: len(values) for k, values in self._values(metadata_fields, filters).items()}

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """The type of each field: ``boolean``, ``int``, ``float``, or ``keyword`` for the rest."""
        return {
            info.path[0]: {"type": _TYPES.get(" ".join(sorted(info.kinds)), "keyword")}
            for info in self.store.fields(max_fields=None).values()
            if len(info.path) == 1
        }

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """The least and the greatest value of a field; None where it has none that are ordered."""
        bounds = self.store.minmax(metadata_field.removeprefix("meta.").split("."))
        both = bounds.numbers is not None and bounds.strings is not None
        return {"min": None if both else bounds.min, "max": None if both else bounds.max}

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: Any = None,
    ) -> tuple[list[Any], int]:
        """A page of the values of a field, in order, and how many there are in all.

        Args:
            metadata_field: The field, with ``meta.`` before it or without.
            search_term: A part of the values wanted, in whatever case.
            from_: How many to pass over.
            size: How many to return at most.
            filters: Among which documents to look.
        """
        [values] = self._values([metadata_field], filters).values()
        part = (search_term or "").lower()
        found = [values[key] for key in sorted(values) if part in str(values[key]).lower()]
        return found[from_ : from_ + size], len(found)

    def _values(self, fields: list[str], filters: Any = None) -> dict[str, dict[Any, Any]]:
        """The values of each field, whole lists among them, by what they are sorted by."""
        found: dict[str, dict[Any, Any]] = {one.removeprefix("meta."): {} for one in fields}
        for one in self.store.scan(our_filter(filters), text=False):
            for name, values in found.items():
                value = value_at(one.metadata, tuple(name.split(".")))
                if value is not None:
                    whole = isinstance(value, list | dict)
                    key = json.dumps(value, sort_keys=True) if whole else value
                    values.setdefault((type(value).__name__, key), value)
        return found
