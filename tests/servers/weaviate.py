"""A Weaviate of our own: what of its interfaces the store's client speaks, and what can go wrong there.

REST has the schema, tenants and what the server says of itself; gRPC, on the stubs that the client
package ships, has search, batches, deletion and counts. What it imitates:

- the answers of Weaviate 1.37.4 to the same requests, as a real server gave them
- filters: `tests.engines.weaviate_rules`, which tests hold against the real server as well, and
  conditions on ``_id``, which are answered by the text of the id
- ``QUERY_MAXIMUM_RESULTS``: 10,000 objects in an answer, and in one deletion
- distances: those of every object are computed, whatever the index is called

What it does not: an index that may miss some of the nearest, named vectors of several kinds,
objects that stay counted after they were deleted, and tenants that sleep.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID

import grpc
import numpy as np
from weaviate.proto.v1 import (
    aggregate_pb2,
    base_pb2,
    batch_delete_pb2,
    batch_pb2,
    properties_pb2,
    search_get_pb2,
    weaviate_pb2_grpc,
)

from tests.engines.weaviate_rules import WeaviateRejected, WeaviateRules
from tests.servers.http import Answer, Fault, Faults, HttpServer, Request, refusal

KEY = "test-key-60303ae22b998861"
VERSION = "1.37.4"
MOST = 10_000

_CODES = {
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    500: grpc.StatusCode.INTERNAL,
    502: grpc.StatusCode.UNAVAILABLE,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
}
_OPERATORS = {
    "EQUAL": "Equal",
    "NOT_EQUAL": "NotEqual",
    "GREATER_THAN": "GreaterThan",
    "GREATER_THAN_EQUAL": "GreaterThanEqual",
    "LESS_THAN": "LessThan",
    "LESS_THAN_EQUAL": "LessThanEqual",
    "CONTAINS_ANY": "ContainsAny",
    "IS_NULL": "IsNull",
}
_VALUES = {
    "value_text": "valueText",
    "value_int": "valueInt",
    "value_boolean": "valueBoolean",
    "value_number": "valueNumber",
    "value_text_array": "valueTextArray",
    "value_int_array": "valueIntArray",
    "value_boolean_array": "valueBooleanArray",
    "value_number_array": "valueNumberArray",
}
_INVERTED_INDEX = {
    "bm25": {"b": 0.75, "k1": 1.2},
    "cleanupIntervalSeconds": 60,
    "indexNullState": False,
    "usingBlockMaxWAND": True,
}
_STOPWORDS = {"additions": None, "preset": "en", "removals": None}
_REPLICATION = {"asyncEnabled": False, "deletionStrategy": "TimeBasedResolution", "factor": 1}
_SHARDING = {
    "actualCount": 1,
    "actualVirtualCount": 128,
    "desiredCount": 1,
    "desiredVirtualCount": 128,
    "function": "murmur3",
    "key": "_id",
    "strategy": "hash",
    "virtualPerPhysical": 128,
}
_OFF = {"enabled": False}
_HNSW = {
    "skip": False,
    "cleanupIntervalSeconds": 300,
    "maxConnections": 32,
    "efConstruction": 128,
    "ef": -1,
    "dynamicEfMin": 100,
    "dynamicEfMax": 500,
    "dynamicEfFactor": 8,
    "flatSearchCutoff": 40_000,
    "filterStrategy": "acorn",
    "pq": _OFF,
    "bq": _OFF,
    "sq": _OFF,
    "rq": _OFF,
    "vectorCacheMaxObjects": 1_000_000_000_000,
}
_FLAT = {
    "pq": _OFF,
    "bq": _OFF,
    "sq": _OFF,
    "rq": _OFF,
    "vectorCacheMaxObjects": 1_000_000_000_000,
}


class Refused(Exception):
    """What the server says no to."""

    def __init__(self, message: str, status: int = 422) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class Object:
    properties: dict[str, Any]
    vectors: dict[str, tuple[float, ...]]


@dataclass(slots=True)
class Objects:
    """What a collection, or one tenant of it, holds."""

    described: dict[str, Any]
    held: dict[str, Object] = field(default_factory=dict)
    rules: WeaviateRules | None = None

    def matching(self, filters: Any) -> list[str]:
        """The ids that a filter selects, in their order."""
        found = set(self.held) if filters is None else self._found(filters)
        return sorted(found)

    def _found(self, filters: Any) -> set[str]:
        operator = base_pb2.Filters.Operator.Name(filters.operator).removeprefix("OPERATOR_")
        if operator in ("AND", "OR"):
            parts = [self._found(one) for one in filters.filters]
            return set.intersection(*parts) if operator == "AND" else set().union(*parts)
        which = filters.WhichOneof("test_value")
        value = getattr(filters, which)
        if which.endswith("_array"):
            value = list(value.values)
        path, operator = filters.target.property, _OPERATORS[operator]
        if path == "_id":
            return {key for key in self.held if _ID_TESTS[operator](key, value)}
        name = _VALUES[which].removesuffix("Array")
        return self._indexed().query({"path": [path], "operator": operator, name: value})

    def _indexed(self) -> WeaviateRules:
        if self.rules is None:
            null_state = self.described["invertedIndexConfig"]["indexNullState"]
            self.rules = WeaviateRules(index_null_state=null_state, contains_on_scalars=True)
            for one in self.described["properties"]:
                self.rules.add_property(
                    one["name"],
                    one["dataType"][0],
                    tokenization=one.get("tokenization"),
                    index_filterable=one["indexFilterable"],
                )
            for key, held in self.held.items():
                self.rules.insert(key, held.properties)
        return self.rules

    def put(self, key: str, made: Object) -> None:
        if self.rules is not None:
            self.rules.insert(key, made.properties)
        self.held[key] = made

    def drop(self, key: str) -> None:
        del self.held[key]
        self.rules = None


_ID_TESTS: dict[str, Callable[[str, Any], bool]] = {
    "Equal": lambda key, value: key == value,
    "ContainsAny": lambda key, value: key in value,
    "GreaterThanEqual": lambda key, value: key >= value,
    "LessThan": lambda key, value: key < value,
}


class WeaviateServer:
    """A server on free ports of this machine, from ``with`` to its end.

    Attributes:
        faults: What happens in the place of answers; a call of gRPC has the path ``"/Search"``,
            ``"/BatchObjects"``, ``"/BatchDelete"`` or ``"/Aggregate"``.
        refuses: Says of an object why it is refused, or None.
        message_bytes: The longest message that it takes and sends.
        calls: The paths of all calls of gRPC.
    """

    def __init__(self, *, message_bytes: int = 104_858_000) -> None:
        self.http = HttpServer()
        self.message_bytes = message_bytes
        self.refuses: Callable[[dict[str, Any]], str | None] = lambda properties: None
        self.calls: list[str] = []
        self._collections: dict[str, dict[str, Any]] = {}
        self._objects: dict[tuple[str, str], Objects] = {}
        self.lock = threading.Lock()
        """Held while a call reads or changes what is stored."""
        self._grpc: Any = None
        self.grpc_port = 0
        self.address = ""

    @property
    def faults(self) -> Faults:
        return self.http.faults

    def __enter__(self) -> Self:
        self.http.__enter__()
        self.address = f"http://127.0.0.1:{self.http.listen(self._answer)}"
        self._listen()
        return self

    def __exit__(self, *error: object) -> None:
        self._hang_up()
        self.http.__exit__(*error)

    @contextmanager
    def gone(self) -> Iterator[None]:
        """Nobody listens for gRPC while the block runs; connections are cut."""
        self._hang_up()
        try:
            yield
        finally:
            self._listen()

    @property
    def collections(self) -> list[str]:
        """The names of those there are."""
        return [*self._collections]

    def objects(self, collection: str, tenant: str = "") -> dict[str, Object]:
        """What is stored, by the ids of the objects."""
        return self._objects[collection, tenant].held

    def _listen(self) -> None:
        self._pool = ThreadPoolExecutor(8)
        room = 1_000_000 + self.message_bytes
        self._grpc = grpc.server(
            self._pool,
            options=[
                ("grpc.max_receive_message_length", self.message_bytes),
                ("grpc.max_send_message_length", room),
                ("grpc.so_reuseport", 0),
            ],
        )
        weaviate_pb2_grpc.add_WeaviateServicer_to_server(_Service(self), self._grpc)
        self.grpc_port = self._grpc.add_insecure_port(f"127.0.0.1:{self.grpc_port}")
        self._grpc.start()

    def _hang_up(self) -> None:
        self._grpc.stop(0).wait()
        self._pool.shutdown()

    # --- REST ------------------------------------------------------------------------------------

    def _answer(self, request: Request) -> Answer:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return Answer(401, {"code": 401, "message": "unauthorized: invalid api key"})
        try:
            return self._route(request)
        except Refused as refused:
            return Answer(refused.status, {"error": [{"message": str(refused)}]})

    def _route(self, request: Request) -> Answer:
        version, *steps = request.path.strip("/").split("/")
        assert version == "v1"
        match request.method, steps:
            case "GET", ["meta"]:
                size = self.message_bytes
                return Answer(200, {"version": VERSION, "grpcMaxMessageSize": size, "modules": {}})
            case "POST", ["schema"]:
                return Answer(200, self._made(request.json()))
            case "GET", ["schema", name]:
                return Answer(200, self._described(name))
            case "DELETE", ["schema", name]:
                self._collections.pop(name, None)
                for key in [key for key in self._objects if key[0] == name]:
                    del self._objects[key]
                return Answer(200, None)
            case "POST", ["schema", name, "properties"]:
                self._described(name)["properties"].append(_property(request.json()))
                for key, place in self._objects.items():
                    if key[0] == name:
                        place.rules = None
                return Answer(200, request.json())
            case "POST", ["schema", name, "tenants"]:
                for one in request.json():
                    made = Objects(self._described(name))
                    self._objects.setdefault((name, one["name"]), made)
                return Answer(200, request.json())
            case "HEAD", ["schema", name, "tenants", tenant]:
                return Answer(200 if (name, tenant) in self._objects else 404, None)
        return refusal(404, f"no such operation: {request.method} {request.path}")

    def _described(self, name: str) -> dict[str, Any]:
        if name not in self._collections:
            raise Refused(f"no collection {name}", 404)
        return self._collections[name]

    def _made(self, wanted: dict[str, Any]) -> dict[str, Any]:
        name = wanted["class"]
        if name in self._collections:
            raise Refused(f"class name {name} already exists")
        properties = [_property(one) for one in wanted["properties"]]
        vectors = {
            key: {
                **one,
                "vectorIndexConfig": {
                    **(_FLAT if one["vectorIndexType"] == "flat" else _HNSW),
                    **one["vectorIndexConfig"],
                },
            }
            for key, one in wanted["vectorConfig"].items()
        }
        tenants = {"autoTenantActivation": False, "autoTenantCreation": False}
        inverted = {**_INVERTED_INDEX, **wanted["invertedIndexConfig"], "stopwords": _STOPWORDS}
        made = self._collections[name] = {
            "class": name,
            "invertedIndexConfig": inverted,
            "multiTenancyConfig": {**tenants, **wanted["multiTenancyConfig"]},
            "properties": properties,
            "replicationConfig": _REPLICATION,
            "shardingConfig": _SHARDING,
            "vectorConfig": vectors,
        }
        if not made["multiTenancyConfig"]["enabled"]:
            self._objects[name, ""] = Objects(made)
        return made

    # --- gRPC ------------------------------------------------------------------------------------

    def place(self, request: Any) -> Objects:
        found = self._objects.get((request.collection, request.tenant))
        if found is None:
            raise Refused(f"could not find class or tenant {request.collection}/{request.tenant}")
        return found

    def search(self, request: Any) -> Any:
        place = self.place(request)
        known = {one["name"] for one in place.described["properties"]}
        for name in request.properties.non_ref_properties:
            if name not in known:
                raise Refused(
                    f"no such prop with name '{name}' found in class '{request.collection}'"
                )
        keys = place.matching(request.filters if request.HasField("filters") else None)
        distances: dict[str, float] = {}
        if request.HasField("near_vector"):
            name, wanted = _wanted(request.near_vector)
            keys, distances = _nearest(place, keys, name, wanted)
        elif request.after:
            keys = [key for key in keys if key > request.after]
        found = [
            _result(key, place.held[key], request, distances.get(key))
            for key in keys[: request.limit or MOST]
        ]
        return search_get_pb2.SearchReply(results=found)

    def insert(self, request: Any) -> Any:
        errors = []
        for index, one in enumerate(request.objects):
            properties = _read(one.properties)
            reason = self.refuses(properties)
            place = self.place(one)
            vectors = {each.name: _floats(each.vector_bytes) for each in one.vectors}
            if reason is not None:
                errors.append(batch_pb2.BatchObjectsReply.BatchError(index=index, error=reason))
            else:
                place.put(one.uuid, Object(properties, vectors))
        return batch_pb2.BatchObjectsReply(errors=errors)

    def delete(self, request: Any) -> Any:
        place = self.place(request)
        keys = place.matching(request.filters)
        for key in keys[:MOST]:
            place.drop(key)
        deleted = min(len(keys), MOST)
        return batch_delete_pb2.BatchDeleteReply(matches=len(keys), successful=deleted, failed=0)

    def count(self, request: Any) -> Any:
        place = self.place(request)
        keys = place.matching(request.filters if request.HasField("filters") else None)
        single = aggregate_pb2.AggregateReply.Single(objects_count=len(keys))
        return aggregate_pb2.AggregateReply(single_result=single)


def _property(wanted: dict[str, Any]) -> dict[str, Any]:
    return {
        "indexFilterable": True,
        "indexRangeFilters": False,
        "indexSearchable": False,
        **{key: wanted[key] for key in wanted if not key.startswith(("skip", "vectorize"))},
    }


class _Service(weaviate_pb2_grpc.WeaviateServicer):
    """The calls of gRPC, and what happens in their place."""

    def __init__(self, server: WeaviateServer) -> None:
        self._server = server

    def Search(self, request: Any, context: Any) -> Any:
        return self._answer("/Search", self._server.search, request, context)

    def BatchObjects(self, request: Any, context: Any) -> Any:
        return self._answer("/BatchObjects", self._server.insert, request, context)

    def BatchDelete(self, request: Any, context: Any) -> Any:
        return self._answer("/BatchDelete", self._server.delete, request, context)

    def Aggregate(self, request: Any, context: Any) -> Any:
        return self._answer("/Aggregate", self._server.count, request, context)

    def _answer(self, path: str, work: Callable[[Any], Any], request: Any, context: Any) -> Any:
        self._server.calls.append(path)
        headers = dict(context.invocation_metadata())
        if headers.get("authorization") != f"Bearer {KEY}":
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "unauthorized: invalid api key")
        fault: Fault | None = self._server.faults.next(Request("GRPC", path, {}, b""))
        what = None if fault is None else fault.what
        if fault is not None and what == "refuse":
            context.abort(_CODES[fault.status], fault.message)
        if what == "cut before":
            context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")
        if fault is not None and what == "slow":
            time.sleep(fault.seconds)
        try:
            with self._server.lock:
                reply = work(request)
        except (Refused, WeaviateRejected) as refused:
            context.abort(grpc.StatusCode.UNKNOWN, str(refused))
        if what in ("cut after", "cut midway"):
            context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")
        return reply


def _wanted(near: Any) -> tuple[str, tuple[float, ...]]:
    """The name of the vectors that are compared, and with which one."""
    names = list(near.targets.target_vectors) or list(near.target_vectors)
    packed = near.vectors[0].vector_bytes if near.vectors else near.vector_bytes
    return names[0] if names else "default", _floats(packed)


def _nearest(
    place: Objects, keys: list[str], name: str, wanted: tuple[float, ...]
) -> tuple[list[str], dict[str, float]]:
    kept = [key for key in keys if name in place.held[key].vectors]
    if not kept:
        return [], {}
    rows = np.array([place.held[key].vectors[name] for key in kept], np.float64)
    if rows.shape[1] != len(wanted):
        raise Refused(f"vector lengths don't match: {rows.shape[1]} vs {len(wanted)}")
    query = np.array(wanted, np.float64)
    metric = place.described["vectorConfig"][name]["vectorIndexConfig"]["distance"]
    if metric == "l2-squared":
        distances = ((rows - query) ** 2).sum(axis=1)
    elif metric == "dot":
        distances = -np.vecdot(rows, query)
    else:
        lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(query)
        distances = 1 - np.vecdot(rows, query) / np.where(lengths == 0, 1, lengths)
    order = np.argsort(distances.astype(np.float32), kind="stable")
    told = {kept[row]: float(distances[row]) for row in order}
    return [*told], told


def _result(key: str, held: Object, request: Any, distance: float | None) -> Any:
    """An object as a search tells it: of what it holds, what was asked for."""
    vectors = [
        base_pb2.Vectors(
            name=name,
            vector_bytes=struct.pack(f"<{len(held.vectors[name])}f", *held.vectors[name]),
            type=base_pb2.Vectors.VECTOR_TYPE_SINGLE_FP32,
        )
        for name in request.metadata.vectors
        if name in held.vectors
    ]
    metadata = search_get_pb2.MetadataResult(id_as_bytes=UUID(key).bytes, vectors=vectors)
    if distance is not None and request.metadata.distance:
        metadata.distance, metadata.distance_present = distance, True
    texts = {
        name: properties_pb2.Value(text_value=held.properties[name])
        for name in request.properties.non_ref_properties
        if isinstance(held.properties.get(name), str)
    }
    properties = search_get_pb2.PropertiesResult(
        target_collection=request.collection,
        non_ref_props=properties_pb2.Properties(fields=texts),
    )
    return search_get_pb2.SearchResult(metadata=metadata, properties=properties)


def _read(sent: Any) -> dict[str, Any]:
    """The properties of an object that was sent."""
    held: dict[str, Any] = dict(sent.non_ref_properties.items())
    held.update((one.prop_name, list(one.values)) for one in sent.text_array_properties)
    return held


def _floats(packed: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(packed) // 4}f", packed)
