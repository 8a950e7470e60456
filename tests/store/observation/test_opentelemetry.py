"""What a store tells OpenTelemetry, seen by its own SDK."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from tests.store.embedders import letters, never
from tests.store.observation.conftest import Telemetry
from tests.store.refusing import on_key, refusing
from vecstore import (
    BackendError,
    CountBatching,
    Document,
    EmbeddingError,
    F,
    ScopeError,
    SimpleVectorStore,
    StoreClosedError,
    UnsupportedFilterError,
    VectorStore,
)
from vecstore.store.observing import open_telemetry

SPAN_ONLY = {
    "db.vector.query.top_k",
    "db.vector.query.similarity_threshold",
    "db.vector.dimension_count",
    "db.search.similarity_metric",
}


def documents(count: int) -> list[Document]:
    return [Document("secret text", {"n": n}, f"{n}", [1.0, n + 1.0]) for n in range(count)]


def every_operation(store: VectorStore) -> None:
    store.add(documents(3))
    store.search(vector=[1, 1], top_k=2, threshold=0.5, filter="n != 7")
    store.get(["1"])
    store.update_metadata(["1"], set={"m": 1})
    store.delete(["2"])
    store.count("n == 1")
    assert len(list(store.scan())) == 2
    store.clear()


OPERATIONS = ["add", "search", "get", "update_metadata", "delete", "count", "scan", "clear"]


def test_every_operation_is_one_span_and_one_point(telemetry: Telemetry) -> None:
    every_operation(SimpleVectorStore(dimension=2))
    assert [one.name for one in telemetry.spans] == OPERATIONS
    for span, operation in zip(telemetry.spans, OPERATIONS, strict=True):
        assert span.kind is SpanKind.CLIENT
        assert span.parent is None
        assert span.status.status_code is StatusCode.UNSET
        expected = {
            "db.operation.name": operation,
            "db.system.name": "memory",
            "db.vector.dimension_count": 2,
            "db.search.similarity_metric": "cosine",
        }
        if operation == "search":
            expected["db.vector.query.top_k"] = 2
            expected["db.vector.query.similarity_threshold"] = 0.5
        assert dict(span.attributes) == expected
    points = {point.attributes["db.operation.name"]: point for point in telemetry.points}
    assert list(points) == OPERATIONS
    for point in points.values():
        assert point.count == 1
        assert point.sum >= 0
        assert set(point.attributes) == {"db.operation.name", "db.system.name"}


def test_what_is_not_known_is_left_out(telemetry: Telemetry, caplog: Any) -> None:
    SimpleVectorStore().search(vector=[1, 1])
    (span,) = telemetry.spans
    assert set(span.attributes) == {
        "db.operation.name",
        "db.system.name",
        "db.search.similarity_metric",
        "db.vector.query.top_k",
    }
    assert not caplog.records  # the SDK warns of attributes that are None


def test_collection_and_namespace(telemetry: Telemetry, postgres_dsn: str) -> None:
    from vecstore.dialects.pgvector.store import PgvectorStore

    with PgvectorStore(postgres_dsn, table="observed", create=True) as store:
        store.count()
    (span,) = telemetry.spans
    assert span.name == "count observed"
    assert span.attributes["db.system.name"] == "postgresql"
    assert span.attributes["db.collection.name"] == "observed"
    assert span.attributes["db.namespace"]
    (point,) = telemetry.points
    assert set(point.attributes) == {
        "db.operation.name",
        "db.system.name",
        "db.collection.name",
        "db.namespace",
    }
    assert not set(point.attributes) & SPAN_ONLY


def test_an_error_tells_its_type_and_not_its_text(telemetry: Telemetry) -> None:
    class Refusing(SimpleVectorStore):
        def _count(self, filter: Any) -> int:
            raise LookupError("secret words")

        def _compile_filter(self, filter: Any) -> Any:
            raise UnsupportedFilterError("secret words")

    store = Refusing()
    with pytest.raises(BackendError):
        store.count()
    with pytest.raises(Exception, match="secret"):
        store.get(filter="n == 'secret'")
    store.close()
    with pytest.raises(StoreClosedError):
        store.count()
    kinds = [
        "vecstore.errors.BackendError",
        *[one.attributes["error.type"] for one in telemetry.spans[1:2]],
        "vecstore.errors.StoreClosedError",
    ]
    assert [one.attributes["error.type"] for one in telemetry.spans] == kinds
    for span in telemetry.spans:
        assert span.status.status_code is StatusCode.ERROR
        assert "secret" not in span.to_json()
        assert span.events == ()
    assert sorted(point.attributes["error.type"] for point in telemetry.points) == sorted(kinds)


def test_embedding_is_a_child(telemetry: Telemetry) -> None:
    store = SimpleVectorStore(letters, batching=CountBatching(2))
    store.add([Document("secret", id=f"{n}") for n in range(3)])
    (added,) = telemetry.spans_of("add")
    children = telemetry.spans_of("embed")
    assert [one.parent.span_id for one in children] == [added.context.span_id] * 2
    assert [one.attributes["vecstore.embedding.texts"] for one in children] == [2, 1]
    store.search("secret")
    (searched,) = telemetry.spans_of("search")
    assert telemetry.spans_of("embed")[-1].parent.span_id == searched.context.span_id
    assert all(one.kind is SpanKind.INTERNAL for one in children)
    assert {point.attributes["db.operation.name"] for point in telemetry.points} == {
        "add",
        "search",
    }


def test_an_embedder_that_fails_and_what_it_starts_itself(telemetry: Telemetry) -> None:
    inner = SimpleVectorStore()

    def embed(texts: list[str]) -> Any:
        inner.count()
        raise OSError("key sk-123 refused")

    with pytest.raises(EmbeddingError):
        SimpleVectorStore(embed).search("a")
    counted, embedded, searched = telemetry.spans
    assert counted.parent.span_id == embedded.context.span_id
    assert embedded.parent.span_id == searched.context.span_id
    for span in (embedded, searched):
        assert span.attributes["error.type"] == "vecstore.errors.EmbeddingError"
        assert "sk-123" not in span.to_json()


def test_observing_never_calls_the_embedder(telemetry: Telemetry) -> None:
    every_operation(SimpleVectorStore(never))
    assert telemetry.spans_of("embed") == []


def test_parents_are_kept_across_threads_and_awaited_calls(telemetry: Telemetry) -> None:
    tracer = telemetry.tracers.get_tracer("tests")

    class Embedder:
        def embed_documents(self, texts: list[str]) -> Any:
            raise AssertionError

        def embed_query(self, text: str) -> Any:
            raise AssertionError

        async def aembed_documents(self, texts: list[str]) -> Any:
            with tracer.start_as_current_span("provider"):
                await asyncio.sleep(0)
                return letters(texts)

        async def aembed_query(self, text: str) -> Any:
            return (await self.aembed_documents([text]))[0]

    store = SimpleVectorStore(Embedder())

    async def one(number: int) -> tuple[int, Any]:
        with tracer.start_as_current_span(f"request {number}") as parent:
            await store.aio.search("a", top_k=number + 1)
            assert [one async for one in store.aio.scan()] == []
            return number, parent.get_span_context()

    async def main() -> dict[int, Any]:
        return dict(await asyncio.gather(*[one(number) for number in range(10)]))

    parents = asyncio.run(main())
    searches = telemetry.spans_of("search")
    assert len(searches) == len(telemetry.spans_of("scan")) == 10
    spans = {one.context.span_id: one for one in telemetry.spans}
    for span in searches:
        parent = parents[span.attributes["db.vector.query.top_k"] - 1]
        assert span.parent.span_id == parent.span_id
    for span in telemetry.spans_of("scan"):
        assert span.parent.span_id in {one.span_id for one in parents.values()}
    for span in telemetry.spans_of("provider"):
        embedded = spans[span.parent.span_id]
        assert embedded.name == "embed"
        assert spans[embedded.parent.span_id].name == "search"

    with tracer.start_as_current_span("here") as here, ThreadPoolExecutor(1) as pool:
        pool.submit(copy_context().run, store.count).result()
    (counted,) = telemetry.spans_of("count")
    assert counted.parent.span_id == here.get_span_context().span_id
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_cancelled_call_ends_its_span(telemetry: Telemetry) -> None:
    async def main() -> None:
        class Slow:
            def embed_documents(self, texts: list[str]) -> Any: ...

            def embed_query(self, text: str) -> Any: ...

            async def aembed_query(self, text: str) -> Any:
                begun.set()
                await asyncio.sleep(60)

        begun = asyncio.Event()
        store = SimpleVectorStore(Slow())
        task = asyncio.ensure_future(store.aio.search("a"))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await store.aio.close()

    asyncio.run(main())
    (span,) = telemetry.spans_of("search")
    assert span.attributes["error.type"] == "asyncio.exceptions.CancelledError"


def test_a_scan_lasts_as_long_as_it_is_read(telemetry: Telemetry) -> None:
    store = SimpleVectorStore()
    store.add(documents(5))
    scan = store.scan()
    next(scan)
    assert telemetry.spans_of("scan") == []
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert len(list(scan)) == 4
    assert len(telemetry.spans_of("scan")) == 1
    left = store.scan()
    next(left)
    left.close()  # type: ignore[attr-defined]
    left.close()  # type: ignore[attr-defined]
    assert list(left) == []
    assert len(telemetry.spans_of("scan")) == 2
    for _ in store.scan():
        break
    store.scan()  # never read
    assert len(telemetry.spans_of("scan")) == 4
    broken = store.scan()
    store.close()
    with pytest.raises(StoreClosedError):
        next(broken)
    span = telemetry.spans_of("scan")[-1]
    assert span.attributes["error.type"] == "vecstore.errors.StoreClosedError"
    assert len(telemetry.spans_of("scan")) == 5


def test_a_call_through_scopes_is_one_span_and_tells_nothing_of_them(telemetry: Telemetry) -> None:
    store = SimpleVectorStore(observe_content=True)
    view = store.scoped(F.tenant == "secret").scoped(F.group == "secret")
    every_operation(view)
    assert [one.name for one in telemetry.spans] == OPERATIONS
    with pytest.raises(ScopeError):
        store.scoped(lambda: None).count()
    assert telemetry.spans[-1].attributes["error.type"] == "vecstore.errors.ScopeError"
    for span in telemetry.spans[1:]:
        assert "secret" not in span.to_json()


def test_content_is_off_and_told_once_when_switched_on(
    telemetry: Telemetry, caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import vecstore.store.observing

    monkeypatch.setattr(vecstore.store.observing, "_warned", False)

    def use(store: VectorStore) -> str:
        store.add([Document("a secret text", id="a")])
        store.search("a secret query", filter="n != 'a secret value'")
        store.get(filter="n != 'a secret value'")
        return "".join(one.to_json() for one in telemetry.spans)

    assert "secret" not in use(SimpleVectorStore(letters))
    assert not caplog.records
    caplog.set_level(logging.DEBUG)
    shown = use(SimpleVectorStore(letters, observe_content=True))
    for part in ("a secret text", "a secret query", "a secret value"):
        assert part in shown
    SimpleVectorStore(observe_content=True)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    for point in telemetry.points:
        assert "secret" not in str(point.attributes)


class Broken:
    """Fails at one thing, whatever it is asked."""

    def __init__(self, real: Any, *names: str) -> None:
        self._real, self._names = real, names

    def __getattr__(self, name: str) -> Any:
        if name in self._names:

            def fail(*arguments: Any, **options: Any) -> Any:
                raise RuntimeError("no telemetry today")

            return fail
        found = getattr(self._real, name)
        if name in ("get_tracer", "get_meter", "start_span", "create_histogram"):
            return lambda *arguments, **options: Broken(found(*arguments, **options), *self._names)
        return found


@pytest.mark.parametrize(
    "failing",
    [
        ("get_tracer",),
        ("start_span",),
        ("set_attribute", "set_status"),
        ("end",),
        ("get_meter",),
        ("create_histogram",),
        ("record",),
    ],
)
def test_telemetry_that_fails_breaks_no_call(
    failing: tuple[str, ...], telemetry: Telemetry, caplog: Any
) -> None:
    caplog.set_level(logging.DEBUG, "vecstore")
    real = telemetry.tracers, telemetry.meters
    telemetry.tracers = Broken(real[0], *failing)  # type: ignore[assignment]
    telemetry.meters = Broken(real[1], *failing)  # type: ignore[assignment]
    store = SimpleVectorStore(letters)
    for _ in range(2):
        store.add([Document("a", id="a"), Document("b", id="b")])
        assert [one.id for one in store.search("a", top_k=1)] == ["a"]
        assert len(list(store.scan())) == 2
        with pytest.raises(ValueError, match="all zeros"):
            store.search(vector=[0, 0, 0, 0])
        with pytest.raises(EmbeddingError):
            SimpleVectorStore(lambda texts: []).search("a")
    records = [one for one in caplog.records if one.name == "vecstore.observation"]
    assert len(records) == 1
    assert records[0].levelno == logging.DEBUG
    telemetry.tracers, telemetry.meters = real


def test_an_exporter_that_fails_breaks_no_call(telemetry: Telemetry, caplog: Any) -> None:
    from opentelemetry.sdk.trace import SpanProcessor

    class Failing(SpanProcessor):
        def on_end(self, span: Any) -> None:
            raise ConnectionError("collector down")

    telemetry.tracers.add_span_processor(Failing())
    every_operation(SimpleVectorStore())
    assert [one.name for one in telemetry.spans] == OPERATIONS


def test_nothing_is_imported_and_nobody_listens_without_an_sdk() -> None:
    code = (
        "import sys\n"
        "from vecstore import Document, SimpleVectorStore\n"
        "store = SimpleVectorStore()\n"
        "store.add([Document('a', id='a', embedding=[1, 0])]); store.search(vector=[1, 0])\n"
        "assert type(store.scan()).__name__ == 'generator'\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
        "import opentelemetry.trace, opentelemetry.metrics\n"
        "from vecstore.store.observing import open_telemetry\n"
        "assert not open_telemetry.ready()\n"
        "assert type(store.scan()).__name__ == 'generator'\n"
        "assert 'opentelemetry.sdk' not in sys.modules\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "opentelemetry.trace.set_tracer_provider(TracerProvider())\n"
        "assert open_telemetry.ready()\n"
        "assert store.count() == 1\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_without_the_package_nothing_changes() -> None:
    code = (
        "import sys\n"
        "sys.modules['opentelemetry'] = None\n"
        "from vecstore import SimpleVectorStore\n"
        "assert SimpleVectorStore().count() == 0\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_the_listener_forgets_providers_that_are_gone(telemetry: Telemetry) -> None:
    assert open_telemetry.ready()
    real = telemetry.tracers, telemetry.meters
    telemetry.tracers = telemetry.meters = None  # type: ignore[assignment]
    assert SimpleVectorStore().count() == 0
    assert not open_telemetry.ready()
    telemetry.tracers, telemetry.meters = real
    assert telemetry.spans == []


# --- what is evaluated ----------------------------------------------------------------------------


def looked_at(span: Any) -> tuple[Any, ...]:
    names = ("clauses", "documents", "matched")
    return tuple([span.attributes.get(f"vecstore.residual.{name}") for name in names])


@pytest.mark.filterwarnings("ignore::vecstore.ResidualWarning")
def test_spans_carry_how_many_documents_were_looked_at(telemetry: Telemetry) -> None:
    store = refusing(SimpleVectorStore(letters, residual="evaluate"), on_key("n"))
    store.add([Document("abc", {"n": n, "even": n % 2 == 0}, f"{n}") for n in range(20)])
    store.search("abc", top_k=3, filter="n > 4 AND even == true")
    assert len(list(store.scan("n < 5"))) == 5
    with closing(store.scan("n < 5")) as begun:
        next(begun)
    asyncio.run(store.aio.count("n < 5"))
    store.count("even == true")
    spans = [one for one in telemetry.spans if one.name not in ("add", "embed")]
    assert [(one.name, *looked_at(one)) for one in spans] == [
        ("search", 1, 10, 3),
        ("scan", 1, 20, 5),
        ("scan", 1, 1, 1),
        ("count", 1, 20, 5),
        ("count", None, None, None),
    ]
    assert all(looked_at(one) == (None, None, None) for one in telemetry.spans_of("embed"))
    for point in telemetry.points:
        assert not any("residual" in name for name in point.attributes)
