"""Where the tests' stores are: the server of our own, Pinecone Local, or the service.

``VECSTORE_PINECONE_CONTROL`` is the address of a control plane, such as ``http://localhost:5080`` of
Pinecone Local, and ``VECSTORE_PINECONE_API_KEY`` the key, both for tests. With the key alone, and
``VECSTORE_PINECONE_SERVICE=1``, the suites run against the service: that takes hours and costs
money. What needs faults, or looks into the server, always runs on our own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import uuid4

from tests.servers.pinecone import KEY, PineconeServer
from vecstore.dialects.pinecone.store import PineconeStore


class PineconePlace:
    """Makes stores, each a namespace of its own, and takes them away."""

    def __init__(self, server: PineconeServer | None, address: str | None, key: str) -> None:
        self.server = server
        self.address = address
        self.key = key
        self._made: dict[int, tuple[str, str]] = {}

    def store(self, **options: Any) -> PineconeStore:
        """A new store, in an index that the tests share; in one of its own if it has no dimension."""
        dimension, metric = options.get("dimension"), options.get("metric", "cosine")
        own = dimension is None
        name = f"vecstore-{uuid4().hex[:16]}" if own else f"vecstore-test-{metric}-{dimension}"
        namespace = f"test-{uuid4().hex}"
        store = PineconeStore(
            name,
            **{
                "namespace": namespace,
                "api_key": self.key,
                "host": self.address,
                "create": True,
                **options,
            },
        )
        self._made[id(store)] = (name if own else "", namespace)
        return store

    def again(self, store: PineconeStore, **options: Any) -> PineconeStore:
        """The same documents through another store."""
        return PineconeStore(
            store._plan.name,
            **{
                "namespace": store._namespace,
                "api_key": self.key,
                "host": self.address,
                **options,
            },
        )

    def discard(self, store: PineconeStore) -> None:
        own, namespace = self._made.pop(id(store), ("", ""))
        store.close()
        if self.server is not None and not own:
            for index in self.server.indexes.values():
                index.namespaces.pop(namespace, None)
            return
        from pinecone import NotFoundError, Pinecone

        client = Pinecone(api_key=self.key, host=self.address)
        try:
            if own:
                client.indexes.delete(own, timeout=-1)
            elif store._plan.name is not None:
                client.index(store._plan.name).delete(delete_all=True, namespace=namespace)
        except NotFoundError:
            pass
        finally:
            client.close()


@contextmanager
def pinecone_place(**server: Any) -> Iterator[PineconePlace]:
    """The place that the environment names, or a server that runs for so long."""
    address = os.environ.get("VECSTORE_PINECONE_CONTROL")
    key = os.environ.get("VECSTORE_PINECONE_API_KEY", "pclocal")
    service = os.environ.get("VECSTORE_PINECONE_SERVICE") == "1"
    with ExitStack() as stack:
        if address is not None or service:
            yield PineconePlace(None, address, key)
        else:
            own = stack.enter_context(PineconeServer(**server))
            yield PineconePlace(own, own.address, KEY)
