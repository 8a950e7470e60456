"""The collection behind a Qdrant store: how it is made, and what it has to look like."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from vecstore.dialects.declared import DeclaredKey, declared_keys
from vecstore.dialects.qdrant.client import Calls
from vecstore.dialects.qdrant.conditions import encode_key
from vecstore.dialects.qdrant.dialect import Qdrant
from vecstore.dialects.qdrant.layout import PayloadLayout, as_path
from vecstore.errors import ConfigurationError, SchemaMismatchError
from vecstore.filter.values import Kind
from vecstore.store.capabilities import Metric
from vecstore.store.drivers import misfit

UNNAMED: Final = ""
"""What the engine itself calls the vector that has no name."""

LAYOUT: Final = "vecstore_layout"
"""The key of a collection's own metadata under which it says how payloads are laid out."""

LAYOUT_VERSION: Final = 1

IndexType = Literal["keyword", "float", "bool", "datetime"]

MOMENTS: Final = frozenset({"datetime", "date"})
"""Kinds that a datetime index orders as what they are."""

_DISTANCES: Final[dict[Metric, str]] = {"cosine": "Cosine", "dot": "Dot", "euclidean": "Euclid"}
_INDEX_TYPES = ("keyword", "float", "bool", "datetime")
_CHANGES_ANSWERS = {"integer", "datetime"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionPlan:
    """What a store wants its collection to be.

    Attributes:
        name: Of the collection.
        metric: How its vectors are compared.
        vector_name: Which of its vectors is meant, or None where there is one without a name.
        layout: Where the parts of documents stand in its payloads.
        indexes: Payload indexes to make, by the path in payloads.
        moments: Paths in payloads that are declared datetimes or dates.
    """

    name: str
    metric: Metric
    vector_name: str | None
    layout: PayloadLayout
    indexes: Mapping[tuple[str, ...], str]
    moments: Collection[tuple[str, ...]]

    def make(self, call: Calls, dimension: int) -> None:
        """Make collection and payload indexes; no matter if somebody else is quicker."""
        from qdrant_client import models

        vector = models.VectorParams(
            size=dimension, distance=models.Distance(_DISTANCES[self.metric])
        )
        config = vector if self.vector_name is None else {self.vector_name: vector}

        def make(client: Any) -> None:
            try:
                client.create_collection(
                    self.name,
                    vectors_config=config,
                    metadata={LAYOUT: layout_metadata(self.layout)},
                )
            except Exception:
                if not client.collection_exists(self.name):
                    raise

        def index(client: Any) -> None:
            for path, kind in self.indexes.items():
                schema = models.PayloadSchemaType(kind)
                client.create_payload_index(self.name, encode_key(path), schema)

        call("add", make)
        if not call.local:  # which reads every payload anyway, and warns about indexes
            call("add", index)

    def check(self, info: Any, dimension: int | None) -> int:
        """Hold an existing collection to the plan.

        Args:
            info: What the engine says of the collection.
            dimension: How long its vectors are to be, or None.

        Returns:
            The length of its vectors.

        Raises:
            SchemaMismatchError: Listing every difference.
        """
        _check_layout(info, self.name, self.layout)
        params = _vector(info.config.params.vectors, self.name, self.vector_name)
        faults: list[str] = []
        distance = str(params.distance.value)
        if distance != _DISTANCES[self.metric]:
            names = {theirs: ours for ours, theirs in _DISTANCES.items()}
            faults.append(f"it compares by {names.get(distance, distance)}, not {self.metric}")
        if dimension is not None and params.size != dimension:
            faults.append(f"its vectors have {params.size} dimensions, not {dimension}")
        declared = {encode_key(path) for path in self.moments}
        for field, schema in (info.payload_schema or {}).items():
            kind = str(getattr(schema.data_type, "value", schema.data_type))
            if kind in _CHANGES_ANSWERS and not (kind == "datetime" and field in declared):
                faults.append(
                    f"the payload index on {field} is of type {kind}, with which the same filter "
                    "finds other documents; make it float for numbers, or declare "
                    "the key a datetime or a date in schema=Schema({...})"
                )
        if faults:
            raise misfit(f"the collection {self.name!r}", faults)
        return int(params.size)


def layout_metadata(layout: PayloadLayout) -> dict[str, Any]:
    """What a collection says about the layout of its payloads."""
    return {
        "version": LAYOUT_VERSION,
        "id": layout.id,
        "text": layout.text,
        "metadata": layout.metadata,
    }


def _check_layout(info: Any, name: str, layout: PayloadLayout) -> None:
    """Refuse a collection that says of itself that documents are laid out in another way."""
    told = (getattr(info.config, "metadata", None) or {}).get(LAYOUT)
    if not isinstance(told, dict) or told == layout_metadata(layout):
        return  # others made it, or a server before 1.16, which keeps no such notes
    if told.get("version") != LAYOUT_VERSION:
        raise SchemaMismatchError(
            f"the collection {name!r} is of layout version {told.get('version')!r}, and this "
            f"version of vecstore reads {LAYOUT_VERSION}; move it with the version that wrote it: "
            "write old.scan(include_embedding=True) to a file there, and add() it to a new "
            "collection here"
        )
    parts = {key: told.get(key) for key in ("id", "text", "metadata")}
    raise SchemaMismatchError(
        f"the documents of the collection {name!r} are laid out otherwise than by {layout}; open "
        f"it with layout=PayloadLayout({', '.join(f'{k}={v!r}' for k, v in parts.items())})"
    )


def read_indexes(
    indexes: Mapping[str | tuple[str, ...], str] | Collection[str | tuple[str, ...]],
    dialect: Qdrant,
) -> dict[tuple[str, ...], str]:
    """Payload paths with the type of their index.

    Raises:
        ConfigurationError: For a type that there is not, or that would change answers, and for a
            key without one that the schema does not declare.
    """
    if isinstance(indexes, str):
        raise ConfigurationError(f"indexes is a mapping or a list of keys: indexes=[{indexes!r}]")
    declared = declared_keys(dialect.schema)
    paths: dict[tuple[str, ...], str] = {}
    for key in indexes:
        found = declared.get(as_path(key))
        kind = indexes[key] if isinstance(indexes, Mapping) else _index_type(key, found)
        if kind not in _INDEX_TYPES:
            hint = (
                "; numbers are indexed as 'float': an integer index would not find 1.5"
                if kind == "integer"
                else ""
            )
            raise ConfigurationError(
                f"an index on {key!r} is one of {', '.join(_INDEX_TYPES)}, not {kind!r}{hint}"
            )
        if kind == "datetime" and (found is None or found.kind not in MOMENTS):
            raise ConfigurationError(
                f"a datetime index on {key!r} would change answers; declare the key as well: "
                f"schema=Schema({{{key!r}: datetime}})"
            )
        paths[payload_path(dialect, key)] = kind
    return paths


def _index_type(key: str | tuple[str, ...], declared: DeclaredKey | None) -> str:
    if declared is None:
        raise ConfigurationError(
            f"an index on {key!r} needs a type: declare the key in schema=Schema({{...}}), "
            f"or write indexes={{{key!r}: 'keyword'}}"
        )
    if declared.kind in MOMENTS and not declared.many:
        return "datetime"
    kinds = {Kind.BOOL: "bool", Kind.NUMBER: "float"}
    return kinds.get(declared.filter_kind or Kind.STRING, "keyword")


def payload_path(dialect: Qdrant, key: str | tuple[str, ...]) -> tuple[str, ...]:
    """Where a metadata key stands in payloads."""
    return (*(as_path(dialect.prefix) if dialect.prefix else ()), *as_path(key))


def _vector(vectors: Any, name: str, vector_name: str | None) -> Any:
    if isinstance(vectors, dict):
        if (vector_name or UNNAMED) in vectors:
            return vectors[vector_name or UNNAMED]
        known = ", ".join(map(repr, sorted(vectors))) or "none"
        raise SchemaMismatchError(
            f"the collection {name!r} has the vectors {known}; name one with vector_name=..."
        )
    if vector_name is not None:
        raise SchemaMismatchError(
            f"the collection {name!r} has one vector without a name; leave vector_name out"
        )
    return vectors
