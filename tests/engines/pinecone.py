"""Pinecone: metadata filters answered by its documented rules, or by an index of the service."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import Any
from uuid import uuid4

from tests.engines.pinecone_rules import PineconeRejected, PineconeRules
from tests.engines.rows import Documents, Rows
from tests.servers.pinecone import KEY, PineconeServer

Layout = Callable[[Mapping[str, Any]], dict[str, Any]]

_MOST_RECORDS = 10_000
_BATCH = 100
_PATIENCE_SECONDS = 60.0


def pinecone_rows(layout: Layout = dict, **switches: bool) -> Rows:
    """The index that ``VECSTORE_PINECONE_HOST`` and ``…_API_KEY`` name, or else the rules.

    ``layout`` turns a document's metadata into what is stored; ``switches`` are those of
    `PineconeRules` and mean nothing to the service.
    """
    host = os.environ.get("VECSTORE_PINECONE_HOST")
    if host:
        return PineconeServerRows(host, os.environ["VECSTORE_PINECONE_API_KEY"], layout)
    return PineconeRows(layout, **switches)


class PineconeRows(Rows):
    """Records under `PineconeRules`; queries are filter objects. Ids are numbered, any will do."""

    name = "Pinecone (documented rules)"

    def __init__(self, layout: Layout = dict, **switches: bool) -> None:
        super().__init__()
        self._layout = layout
        self._switches = switches
        self._rules = PineconeRules(**switches)
        self._names: dict[str, str] = {}

    def _refused_by(self) -> tuple[type[Exception], ...]:
        return (PineconeRejected,)

    def _load(self, rows: Documents) -> None:
        self._rules = PineconeRules(**self._switches)
        self._names = {f"r{number}": key for number, key in enumerate(rows)}
        for id, key in self._names.items():
            self._rules.upsert(id, self._layout(rows[key]))

    def _select(self, query: Any, params: Any) -> set[str]:
        assert not params, "a Pinecone filter carries its literals itself"
        return {self._names[id] for id in self._rules.query(query)}

    def close(self) -> None:
        self._names = {}


class PineconeServerRows(Rows):
    """Records in a namespace of their own in an index that exists, of any dimension."""

    name = "Pinecone (service)"

    def __init__(self, host: str, api_key: str, layout: Layout = dict) -> None:
        from pinecone import Pinecone

        super().__init__()
        self._layout = layout
        self._index: Any = Pinecone(api_key=api_key).index(host=host)
        dimension = self._index.describe_index_stats().dimension
        assert dimension, "an index of sparse vectors is of no use here"
        self._vector = [1.0] + [0.0] * (dimension - 1)
        self._namespace = ""
        self._names: dict[str, str] = {}

    def _refused_by(self) -> tuple[type[Exception], ...]:
        from pinecone.errors import ApiError, PineconeTypeError, PineconeValueError

        return (ApiError, PineconeTypeError, PineconeValueError)

    def _load(self, rows: Documents) -> None:
        assert len(rows) <= _MOST_RECORDS, "more records than one query gives back"
        self._drop()
        self._namespace = f"vecstore-{uuid4().hex}"
        self._names = {f"r{number}": key for number, key in enumerate(rows)}
        records = [
            {"id": id, "values": self._vector, "metadata": self._layout(rows[key])}
            for id, key in self._names.items()
        ]
        for start in range(0, len(records), _BATCH):
            self._index.upsert(vectors=records[start : start + _BATCH], namespace=self._namespace)
        self._wait_for(len(records))

    def _wait_for(self, count: int) -> None:
        # The service is eventually consistent: what was written is found some moments later.
        until = time.monotonic() + _PATIENCE_SECONDS
        pause = 0.05
        while count and len(self._ids_found(None)) < count:
            assert time.monotonic() < until, "the records never all appeared"
            time.sleep(pause)
            pause = min(2 * pause, 2.0)

    def _ids_found(self, filter: Any) -> set[str]:
        found = self._index.query(
            vector=self._vector,
            top_k=_MOST_RECORDS,
            namespace=self._namespace,
            filter=filter,
            include_values=False,
            include_metadata=False,
        )
        return {match.id for match in found.matches}

    def _select(self, query: Any, params: Any) -> set[str]:
        assert not params, "a Pinecone filter carries its literals itself"
        return {self._names[id] for id in self._ids_found(query)}

    def _drop(self) -> None:
        if self._namespace:
            from pinecone import NotFoundError

            with suppress(NotFoundError):  # nothing was written to it
                self._index.delete(delete_all=True, namespace=self._namespace)
            self._namespace = ""

    def close(self) -> None:
        if self._index is not None:
            self._drop()
            self._index.close()
            self._index = None


class PineconeSocketRows(PineconeServerRows):
    """The same client and the server of our own, which runs for as long as the rows are open."""

    name = "Pinecone (documented rules, over sockets)"

    def __init__(self, layout: Layout = dict, **switches: bool) -> None:
        from pinecone import Pinecone, ServerlessSpec

        with ExitStack() as stack:
            server = stack.enter_context(PineconeServer(**switches))
            client = Pinecone(api_key=KEY, host=server.address)
            made = client.indexes.create(
                name="rows", dimension=2, spec=ServerlessSpec(cloud="aws", region="us-east-1")
            )
            client.close()
            bare = str(made.host).removeprefix("https://")
            super().__init__(f"http://{bare}", KEY, layout)
            self._server = stack.pop_all()

    def close(self) -> None:
        super().close()
        self._server.close()
