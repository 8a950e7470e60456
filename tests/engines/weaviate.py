"""Weaviate: ``where`` filters answered by its documented rules, or by a server."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

from tests.engines.rows import Documents, Rows
from tests.engines.weaviate_rules import WeaviateRejected, WeaviateRules

Layout = Callable[[Mapping[str, Any]], dict[str, Any]]

# QUERY_MAXIMUM_RESULTS of a server left as it comes.
_MOST_OBJECTS = 10_000
_BATCH = 200


@dataclass(frozen=True)
class Property:
    """A property of the collection: ``Property("tags", "text[]", tokenization="field")``."""

    name: str
    data_type: str
    tokenization: str | None = None
    index_filterable: bool = True


def weaviate_rows(
    properties: Sequence[Property],
    layout: Layout = dict,
    *,
    index_null_state: bool = False,
    **switches: bool,
) -> Rows:
    """The server that ``VECSTORE_WEAVIATE_URL`` names, or else the rules.

    ``layout`` turns a document's metadata into an object; ``switches`` are those of `WeaviateRules`
    and mean nothing to a server.
    """
    url = os.environ.get("VECSTORE_WEAVIATE_URL")
    if url:
        api_key = os.environ.get("VECSTORE_WEAVIATE_API_KEY")
        return WeaviateServerRows(
            url, properties, layout, index_null_state=index_null_state, api_key=api_key
        )
    return WeaviateRows(properties, layout, index_null_state=index_null_state, **switches)


class WeaviateRows(Rows):
    """Objects under `WeaviateRules`; queries are ``where`` trees."""

    name = "Weaviate (documented rules)"

    def __init__(
        self, properties: Sequence[Property], layout: Layout = dict, **switches: bool
    ) -> None:
        super().__init__()
        self._properties = list(properties)
        self._layout = layout
        self._switches = switches
        self._rules = WeaviateRules(**switches)

    def _refused_by(self) -> tuple[type[Exception], ...]:
        return (WeaviateRejected,)

    def _load(self, rows: Documents) -> None:
        self._rules = WeaviateRules(**self._switches)
        for prop in self._properties:
            self._rules.add_property(
                prop.name,
                prop.data_type,
                tokenization=prop.tokenization,
                index_filterable=prop.index_filterable,
            )
        for key, metadata in rows.items():
            self._rules.insert(key, self._layout(metadata))

    def _select(self, query: Any, params: Any) -> set[str]:
        assert not params, "a Weaviate filter carries its literals itself"
        return self._rules.query(query)

    def close(self) -> None:
        self._rules = WeaviateRules()


class WeaviateServerRefused(Exception):
    """What a server answered instead of a result."""


class WeaviateServerRows(Rows):
    """Objects in a collection of their own, over the server's REST interface.

    REST has one place that takes a ``where`` tree as JSON, the deletion of many objects; a dry run
    of it tells which ones it would be.
    """

    name = "Weaviate (server)"

    def __init__(
        self,
        url: str,
        properties: Sequence[Property],
        layout: Layout = dict,
        *,
        index_null_state: bool = False,
        api_key: str | None = None,
    ) -> None:
        super().__init__()
        self._url = url.rstrip("/")
        self._properties = list(properties)
        self._layout = layout
        self._index_null_state = index_null_state
        self._api_key = api_key
        self._collection = ""
        self._names: dict[str, str] = {}

    def _refused_by(self) -> tuple[type[Exception], ...]:
        return (WeaviateServerRefused,)

    def _load(self, rows: Documents) -> None:
        assert len(rows) < _MOST_OBJECTS, "more objects than one answer gives back"
        self.close()
        self._collection = f"Vecstore_{uuid4().hex}"
        self._call("POST", "/v1/schema", self._schema())
        self._names = {str(uuid5(NAMESPACE_OID, key)): key for key in rows}
        objects = [
            {"class": self._collection, "id": id, "properties": self._layout(rows[key])}
            for id, key in self._names.items()
        ]
        for start in range(0, len(objects), _BATCH):
            batch = {"objects": objects[start : start + _BATCH]}
            for answer in self._call("POST", "/v1/batch/objects", batch):
                if errors := answer.get("result", {}).get("errors"):
                    raise WeaviateServerRefused(json.dumps(errors))

    def _schema(self) -> dict[str, Any]:
        properties = []
        for prop in self._properties:
            described: dict[str, Any] = {
                "name": prop.name,
                "dataType": [prop.data_type],
                "indexFilterable": prop.index_filterable,
            }
            if prop.tokenization is not None:
                described["tokenization"] = prop.tokenization
            properties.append(described)
        return {
            "class": self._collection,
            "vectorizer": "none",
            "invertedIndexConfig": {"indexNullState": self._index_null_state},
            "properties": properties,
        }

    def _select(self, query: Any, params: Any) -> set[str]:
        assert not params, "a Weaviate filter carries its literals itself"
        if query is None:
            asked = urllib.parse.urlencode({"class": self._collection, "limit": _MOST_OBJECTS})
            found = self._call("GET", f"/v1/objects?{asked}")["objects"]
        else:
            body = {
                "match": {"class": self._collection, "where": _arrays_named(query)},
                "dryRun": True,
                "output": "verbose",
            }
            found = self._call("DELETE", "/v1/batch/objects", body)["results"]["objects"] or []
        return {self._names[one["id"]] for one in found}

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Content-Type": "application/json"}
        if self._api_key is not None:
            headers["Authorization"] = f"Bearer {self._api_key}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._url + path, data=data, headers=headers, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            with error:
                raise WeaviateServerRefused(error.read().decode(errors="replace")) from error
        return json.loads(text) if text else None

    def close(self) -> None:
        if self._collection:
            self._call("DELETE", f"/v1/schema/{self._collection}")
            self._collection = ""


def _arrays_named(tree: Any) -> Any:
    """REST wants a list under ``valueTextArray`` where GraphQL takes it under ``valueText``."""
    if not isinstance(tree, dict):
        return tree
    return {
        f"{name}Array"
        if name.startswith("value") and isinstance(value, list) and not name.endswith("Array")
        else name: [_arrays_named(one) for one in value]
        if name == "operands" and isinstance(value, list)
        else value
        for name, value in tree.items()
    }
