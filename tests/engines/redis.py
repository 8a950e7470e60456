"""Redis with its search module: hashes in our own layout, in a server of their own."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from tests.engines.rows import Documents, Rows
from vecstore.dialects.redis.layout import TOKENS, Layout, number_field

_MOST_ROWS = 1_000_000


class RedisRows(Rows):
    """Hashes under the numbers of their ids; queries are texts."""

    name = "Redis"
    asked_once = True

    def __init__(self, layout: Layout) -> None:
        import redis

        from vecstore.dialects.redis.embedded import EmbeddedServer

        super().__init__()
        self._layout = layout
        self._folder = tempfile.mkdtemp(prefix="vecstore-redis-rows-")
        self._server: EmbeddedServer | None = EmbeddedServer(Path(self._folder) / "data")
        self.client: Any = redis.Redis(unix_socket_path=self._server.socket, protocol=3)
        fields = [TOKENS, "TAG", "SEPARATOR", ",", "CASESENSITIVE"]
        for path in sorted(layout.numbers):
            fields += [number_field(path), "NUMERIC"]
        self.client.execute_command("FT.CREATE", "rows", "PREFIX", 1, "row:", "SCHEMA", *fields)
        self._names: list[str] = []

    def _refused_by(self) -> tuple[type[Exception], ...]:
        import redis

        return (redis.ResponseError,)

    def _load(self, rows: Documents) -> None:
        with self.client.pipeline(transaction=False) as pipeline:
            for number in range(len(self._names)):
                pipeline.delete(f"row:{number}")
            self._names = list(rows)
            for number, row in enumerate(rows.values()):
                pipeline.hset(f"row:{number}", mapping=self._layout.write(row))
            pipeline.execute()

    def _select(self, query: Any, params: Any) -> set[str]:
        assert not params, "a query carries its literals itself"
        found = self.client.execute_command(
            *("FT.SEARCH", "rows", query or "*", "NOCONTENT", "LIMIT", 0, _MOST_ROWS),
            *("DIALECT", 2, "TIMEOUT", 0),
        )
        assert not found[b"warning"], found[b"warning"]
        return {self._names[int(one[b"id"].removeprefix(b"row:"))] for one in found[b"results"]}

    def close(self) -> None:
        if self._server is not None:
            self.client.close()
            self._server.close()
            self._server = None
            shutil.rmtree(self._folder, ignore_errors=True)
