"""Servers and stores for tests of one behaviour each; always on the server of our own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.servers.pinecone import KEY, PineconeServer
from vecstore.dialects.pinecone.store import PineconeStore

Open = Callable[..., PineconeStore]


@pytest.fixture
def server() -> Iterator[PineconeServer]:
    with PineconeServer() as running:
        yield running


@pytest.fixture
def open_pinecone(server: PineconeServer) -> Iterator[Open]:
    with ExitStack() as stack:

        def open_store(**options: Any) -> PineconeStore:
            made = PineconeStore(
                **{
                    "index": "docs",
                    "namespace": "kb",
                    "api_key": KEY,
                    "host": server.address,
                    "create": True,
                    "dimension": 2,
                    **options,
                }
            )
            return stack.enter_context(made)

        yield open_store
