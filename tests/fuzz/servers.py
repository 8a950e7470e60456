"""The servers that conformance classes ask for by name, without pytest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache

from tests.engines.milvus import running_milvus
from tests.engines.postgres import running_postgres


@contextmanager
def running_servers() -> Iterator[Callable[[str], str]]:
    """Gives the address of a server, which starts when it is first asked for."""
    starts = {"postgres_dsn": running_postgres, "milvus_uri": running_milvus}
    with ExitStack() as stack:

        @cache
        def server(name: str) -> str:
            return stack.enter_context(starts[name]())

        yield server
