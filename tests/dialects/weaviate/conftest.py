"""Weaviate servers for the tests of the store on them, a real and a small one, and interruptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.engines.fixtures import weaviate_address
from tests.servers.weaviate import KEY, WeaviateServer
from tests.store.stopping import stopped
from vecstore.dialects.weaviate.store import WeaviateStore

__all__ = ["stopped", "weaviate_address"]


@pytest.fixture
def server() -> Iterator[WeaviateServer]:
    with WeaviateServer() as running:
        yield running


@pytest.fixture
def open_weaviate(server: WeaviateServer) -> Iterator[Callable[..., WeaviateStore]]:
    """Open stores on the small server; all are closed afterwards."""
    with ExitStack() as stack:

        def open_store(**options: Any) -> WeaviateStore:
            made = WeaviateStore(
                "Docs",
                **{
                    "url": server.address,
                    "grpc_port": server.grpc_port,
                    "api_key": KEY,
                    "create": True,
                    "dimension": 2,
                    **options,
                },
            )
            return stack.enter_context(made)

        yield open_store
