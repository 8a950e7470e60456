"""Milvus: documents in a JSON field beside a field of tags, filtered by milvus-lite or a server."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.engines.rows import Documents, Rows

# The most rows a server gives back at once; more documents than that would need paging.
_MOST_ROWS = 16_384

_TAG_CAPACITY = 4_096
_TAG_LENGTH = 1_024

QUIET: dict[str, Any] = {
    "dedicated": True,
    "grpc_options": {"grpc.keepalive_time_ms": 2**31 - 1},
}
"""For clients of milvus-lite: a connection of their own, never asked whether it lives.

The server throws off who asks as often as pymilvus does, and a connection that was thrown off while
a busy machine did something else is not made anew.
"""


def no_tags(metadata: Mapping[str, Any]) -> list[str]:
    """For collections whose filters use the JSON field alone."""
    return []


@contextmanager
def running_milvus() -> Iterator[str]:
    """The server that ``VECSTORE_MILVUS_URI`` names, or else a milvus-lite for this block."""
    given = os.environ.get("VECSTORE_MILVUS_URI")
    if given:
        yield given
        return
    with running_milvus_lite() as address:
        yield address


@contextmanager
def running_milvus_lite() -> Iterator[str]:
    """The address of a milvus-lite: it lives in threads of this process and ends with the block."""
    from milvus_lite.server_manager import server_manager_instance

    with tempfile.TemporaryDirectory(prefix="vecstore-milvus-") as folder:
        address = str(Path(folder) / "milvus.db")
        try:
            yield address
        finally:
            server_manager_instance.release_server(address)


class MilvusRows(Rows):
    """A collection with the fields ``id``, ``metadata`` (JSON), ``tags`` and ``vector``.

    Queries are filter expressions. ``tags_of`` gives the tags to be stored beside a document. Ids
    are numbered, for ids here may be any string.
    """

    name = "Milvus"
    asked_once = True

    def __init__(
        self, uri: str, tags_of: Callable[[Mapping[str, Any]], list[str]] = no_tags
    ) -> None:
        from pymilvus import MilvusClient

        super().__init__()
        # pymilvus logs every refused expression with a traceback, and refusals are tested for.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        self._client: Any = MilvusClient(uri, **QUIET)
        self._tags_of = tags_of
        # One collection for all that is loaded in turn: to make one takes half a second, most of it
        # the client's sleep, to empty one a hundredth of that.
        self._collection = f"vecstore_{uuid4().hex}"
        self._create()
        self._names: dict[str, str] = {}

    def _create(self) -> None:
        from pymilvus import DataType

        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=512)
        schema.add_field("metadata", DataType.JSON)
        schema.add_field(
            "tags",
            DataType.ARRAY,
            element_type=DataType.VARCHAR,
            max_capacity=_TAG_CAPACITY,
            max_length=_TAG_LENGTH,
        )
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
        index = self._client.prepare_index_params()
        index.add_index("vector", index_type="FLAT", metric_type="COSINE")
        self._client.create_collection(
            self._collection, schema=schema, index_params=index, consistency_level="Strong"
        )

    def _refused_by(self) -> tuple[type[Exception], ...]:
        from pymilvus.exceptions import MilvusException

        return (MilvusException,)

    def _load(self, rows: Documents) -> None:
        assert len(rows) < _MOST_ROWS, "more documents than one query gives back"
        if self._names:
            self._client.delete(self._collection, ids=list(self._names))
        self._names = {f"r{number}": key for number, key in enumerate(rows)}
        if rows:
            self._client.insert(
                self._collection,
                [
                    {
                        "id": id,
                        "metadata": dict(rows[key]),
                        "tags": self._tags_of(rows[key]),
                        "vector": [1.0, 0.0],
                    }
                    for id, key in self._names.items()
                ],
            )

    def _select(self, query: Any, params: Any) -> set[str]:
        assert not params, "a Milvus expression carries its literals itself"
        found = self._client.query(
            self._collection,
            filter="" if query is None else query,
            output_fields=["id"],
            limit=_MOST_ROWS,
        )
        return {self._names[row["id"]] for row in found}

    def close(self) -> None:
        if self._client is not None:
            self._client.drop_collection(self._collection)
            self._client.close()
            self._client = None
