"""The collection behind a Milvus store: how it is made, and what it has to look like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from vecstore.dialects.milvus.client import Calls
from vecstore.dialects.milvus.layout import (
    EXTRA,
    LAYOUT_VERSION,
    MAX_TAG_BYTES,
    MAX_TAGS,
    MAX_VARCHAR_BYTES,
    ORIGINAL_ID,
    TAGS,
    FieldLayout,
)
from vecstore.errors import ConfigurationError, SchemaMismatchError
from vecstore.store.capabilities import Metric
from vecstore.store.drivers import misfit

METRICS: Final[dict[Metric, str]] = {"cosine": "COSINE", "dot": "IP", "euclidean": "L2"}

FILE_INDEXES: Final = ("AUTOINDEX", "FLAT", "HNSW", "HNSW_SQ", "IVF_FLAT", "IVF_SQ8")
"""What milvus-lite has; it takes any name, and fails when it first writes a segment."""
INDEXES: Final = (
    *FILE_INDEXES,
    *("IVF_PQ", "IVF_RABITQ", "HNSW_PQ", "HNSW_PRQ", "SCANN", "DISKANN"),
    *("GPU_CAGRA", "GPU_IVF_FLAT", "GPU_IVF_PQ", "GPU_BRUTE_FORCE"),
)

_NOT_LOADED = "NotLoad"
_ANY_INDEX = "AUTOINDEX"

_VERSION = "vecstore.layout"
"""The property of a collection that names its layout; servers have it in the description."""
_DESCRIPTION = re.compile(r"vecstore layout (\d+)")
_OWN_TEXTS: Final = (ORIGINAL_ID, EXTRA)
_FIRST_LAYOUT = frozenset({"tags", "original_id"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionPlan:
    """What a store wants its collection to be.

    Attributes:
        name: Of the collection.
        layout: Its fields.
        metric: How vectors are compared.
        index: Type of the vector index, as Milvus spells it; None for the engine's default.
        index_options: Its parameters.
        consistency: Consistency level of searches.
        shards: Into how many parts writes are spread; None for the server's default.
        replicas: In how many copies the collection is loaded; None for the server's default.
    """

    name: str
    layout: FieldLayout
    metric: Metric
    index: str | None
    index_options: Mapping[str, Any]
    consistency: str
    shards: int | None
    replicas: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an existing collection turned out to be.

    Attributes:
        dimension: Length of its vectors.
        layout: The layout, with the type of the primary key settled.
        max_id_bytes: The longest id; None where the layout keeps longer ones aside.
        max_text_bytes: The longest text.
        max_extra_bytes: The most that can stand beside metadata, as JSON text.
        index: Type of its vector index.
        unchangeable: Why rows cannot be written again by a store, or None.
        unwritable: Why there can be no new rows of a store, or None.
        others: Whether rows have fields that are not of the layout.
        nullable: Whether the metadata as a whole may be null.
    """

    dimension: int
    layout: FieldLayout
    max_id_bytes: int | None
    max_text_bytes: int
    max_extra_bytes: int
    index: str
    unchangeable: str | None
    unwritable: str | None
    others: bool
    nullable: bool


def check_index(index: str | None, *, lite: bool) -> None:
    """Refuse a type of index that the engine does not have.

    Raises:
        ConfigurationError: Listing the known.
    """
    known = FILE_INDEXES if lite else INDEXES
    if index is not None and index not in known:
        raise ConfigurationError(
            f"{'milvus-lite' if lite else 'Milvus'} has the vector indexes {', '.join(known)}, "
            f"not {index!r}"
        )


def make_collection(call: Calls, plan: CollectionPlan, dimension: int) -> None:
    """Make the collection and its index, and load it; no matter if somebody else is quicker."""
    from pymilvus import DataType, MilvusClient

    layout = plan.layout
    schema = MilvusClient.create_schema(
        auto_id=False,
        enable_dynamic_field=False,
        description=f"Documents of vecstore, vecstore layout {LAYOUT_VERSION}",
    )
    for name in (layout.id, layout.text, *_OWN_TEXTS):
        schema.add_field(
            name, DataType.VARCHAR, max_length=MAX_VARCHAR_BYTES, is_primary=name == layout.id
        )
    schema.add_field(layout.metadata, DataType.JSON)
    schema.add_field(
        TAGS,
        DataType.ARRAY,
        element_type=DataType.VARCHAR,
        max_capacity=MAX_TAGS,
        max_length=MAX_TAG_BYTES,
    )
    schema.add_field(layout.vector, DataType.FLOAT_VECTOR, dim=dimension)
    indexes = MilvusClient.prepare_index_params()
    indexes.add_index(
        layout.vector,
        index_type=plan.index or ("FLAT" if call.lite else "AUTOINDEX"),
        metric_type=METRICS[plan.metric],
        params=dict(plan.index_options),
    )
    more: dict[str, Any] = {"consistency_level": plan.consistency}
    if plan.shards is not None:
        more["num_shards"] = plan.shards
    if call.lite:  # which keeps no description
        more["properties"] = {_VERSION: str(LAYOUT_VERSION)}

    def make(client: Any) -> None:
        if client.has_collection(plan.name, timeout=call.timeout):
            return
        try:
            client.create_collection(plan.name, schema=schema, timeout=call.timeout, **more)
        except Exception:
            if not client.has_collection(plan.name, timeout=call.timeout):
                raise
        # Of a collection without rows it is ready at once; the client would sleep before it asks.
        client.create_index(plan.name, indexes, timeout=call.timeout, sync=False)

    call("add", make, writing=True)


def load_collection(call: Calls, plan: CollectionPlan, operation: str) -> None:
    """Load the collection into memory, where searches look; a file forgets it between processes."""
    more = {} if plan.replicas is None else {"replica_number": plan.replicas}

    def load(client: Any) -> None:
        state = client.get_load_state(plan.name, timeout=call.timeout)["state"]
        if getattr(state, "name", str(state)) == _NOT_LOADED:
            client.load_collection(plan.name, timeout=call.timeout, **more)

    call(operation, load)


def look_at_collection(
    call: Calls, plan: CollectionPlan, dimension: int | None, operation: str
) -> Found:
    """Hold an existing collection to the plan.

    Raises:
        SchemaMismatchError: Listing every difference.
    """
    from pymilvus import DataType

    name, layout = plan.name, plan.layout
    described = call(operation, lambda client: client.describe_collection(name))
    fields = {field["name"]: field for field in described["fields"]}
    if layout.exact:
        _check_version(name, described, fields)
    faults: list[str] = []

    def expect(field: str, *types: Any) -> dict[str, Any]:
        found = fields.get(field)
        if found is None:
            faults.append(f"it has no field {field}")
        elif found["type"] not in types:
            wanted = " or ".join(type.name for type in types)
            faults.append(f"its field {field} is of type {found['type'].name}, not {wanted}")
        return found or {}

    keys = (DataType.VARCHAR,) if layout.exact else (DataType.VARCHAR, DataType.INT64)
    key = expect(layout.id, *keys)
    if key and not key.get("is_primary"):
        faults.append(f"its primary key is another field than {layout.id}")
    text = expect(layout.text, DataType.VARCHAR)
    expect(layout.metadata, DataType.JSON)
    if layout.exact:
        expect(ORIGINAL_ID, DataType.VARCHAR)
        tags = expect(TAGS, DataType.ARRAY)
        if tags and tags.get("element_type", DataType.VARCHAR) != DataType.VARCHAR:
            faults.append(f"the elements of its field {TAGS} are no VARCHAR")
        if EXTRA in fields:  # which those of before have not
            expect(EXTRA, DataType.VARCHAR)
        for limit, least in (("max_capacity", MAX_TAGS), ("max_length", MAX_TAG_BYTES)):
            if tags and int(tags.get("params", {}).get(limit) or least) < least:
                faults.append(f"the {limit} of its field {TAGS} is below {least:,}")
    vector = expect(layout.vector, DataType.FLOAT_VECTOR)
    length = int(vector.get("params", {}).get("dim", 0))
    if dimension is not None and length and length != dimension:
        faults.append(f"its vectors have {length} dimensions, not {dimension}")
    index = _index_of(call, plan, operation) if vector else {}
    wanted = METRICS[plan.metric]
    if index and index.get("metric_type") != wanted:
        found_metric = index.get("metric_type")
        ours = next((ours for ours, theirs in METRICS.items() if theirs == found_metric), None)
        by = f"{ours} ({found_metric})" if ours else str(found_metric)
        faults.append(f"it compares by {by}, not {plan.metric} ({wanted})")
    elif vector and not index:
        faults.append(f"its field {layout.vector} has no index, without which there is no search")
    if plan.index is not None and index.get("index_type") not in (plan.index, None, _ANY_INDEX):
        faults.append(f"its index is {index['index_type']}, not {plan.index}")
    if faults:
        hint = "" if layout.exact is False else _PLAIN_HINT if _is_foreign(fields) else ""
        raise misfit(f"the collection {name!r}", faults, hint)
    layout = replace(layout, number=key["type"] is DataType.INT64, beside=EXTRA in fields)
    return Found(
        dimension=length,
        layout=layout,
        max_id_bytes=MAX_VARCHAR_BYTES if layout.exact else _longest(key),
        max_text_bytes=_longest(text),
        max_extra_bytes=_longest(fields.get(EXTRA, {})),
        index=str(index.get("index_type")),
        unchangeable=(drawn := _drawn(key, layout)),
        unwritable=drawn or _required(fields, layout),
        others=bool(described.get("enable_dynamic_field") or fields.keys() - _known(layout)),
        nullable=bool(fields[layout.metadata].get("nullable")),
    )


def _longest(field: Mapping[str, Any]) -> int:
    """The most bytes of a text in a field."""
    return int(field.get("params", {}).get("max_length") or MAX_VARCHAR_BYTES)


def _known(layout: FieldLayout) -> set[str | None]:
    return {*layout.read_fields, layout.vector, layout.tags}


def _check_version(
    name: str, described: Mapping[str, Any], fields: Mapping[str, Mapping[str, Any]]
) -> None:
    """Refuse a collection that another version of this library laid out."""
    told = _DESCRIPTION.search(str(described.get("description")))
    version = (described.get("properties") or {}).get(_VERSION) or (told and told[1])
    if version is None and fields.keys() >= _FIRST_LAYOUT and TAGS not in fields:
        version = 1
    if version is not None and str(version) != str(LAYOUT_VERSION):
        raise SchemaMismatchError(
            f"the collection {name!r} is of layout {version}, and this version of vecstore writes "
            f"layout {LAYOUT_VERSION}; move its documents to a new collection: with "
            f"open_store(..., collection={name!r}, layout='plain') as old, open_store(..., "
            "collection='new') as new: new.add(old.scan(include_embedding=True))"
        )


_PLAIN_HINT = (
    "; for a collection that another program made, open the store with layout='plain' and name "
    "its fields"
)


def _is_foreign(fields: Mapping[str, Any]) -> bool:
    return TAGS not in fields or ORIGINAL_ID not in fields


def _index_of(call: Calls, plan: CollectionPlan, operation: str) -> dict[str, Any]:
    """The vector index, or nothing."""

    def look(client: Any) -> dict[str, Any]:
        for index in client.list_indexes(plan.name, plan.layout.vector):
            return dict(client.describe_index(plan.name, index))
        return {}

    return call(operation, look)


def _drawn(key: Mapping[str, Any], layout: FieldLayout) -> str | None:
    if key.get("auto_id"):
        return f"the collection draws the values of {layout.id} itself"
    return None


def _required(fields: Mapping[str, Mapping[str, Any]], layout: FieldLayout) -> str | None:
    known = _known(layout)
    missing = [
        name
        for name, field in fields.items()
        if name not in known
        and not field.get("nullable")
        and field.get("default_value") is None
        and not field.get("is_function_output")
        and not field.get("is_dynamic")
    ]
    if missing:
        return f"nobody would fill the required fields {', '.join(missing)}"
    return None
