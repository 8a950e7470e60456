"""The shape that all engines share, and the rows that talk to servers, against loopback ones."""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import dataclass
from typing import Any

import pytest

from tests.engines.loopback import json_service
from tests.engines.pinecone import PineconeRows, PineconeServerRows, pinecone_rows
from tests.engines.pinecone_rules import PineconeRejected, PineconeRules
from tests.engines.qdrant import QdrantLocalRows, QdrantServerRows, remember_paths
from tests.engines.rows import Documents, EngineRefused, Rows
from tests.engines.sqlite import SqliteRows
from tests.engines.weaviate import Property, WeaviateRows, WeaviateServerRows, weaviate_rows
from tests.engines.weaviate_rules import WeaviateRejected, WeaviateRules
from vecstore.errors import FilterError

BOTH = {"one": {"k": 1}, "it's two": {"k": 2}}


@dataclass
class FakeCompiled:
    native: Any
    params: Any = ()
    matches_all: bool = False
    matches_nothing: bool = False

    @property
    def query(self) -> Any:
        if self.native is None:
            raise FilterError("no such query")
        return self.native


class CountingRows(SqliteRows):
    def __init__(self) -> None:
        super().__init__()
        self.loads = 0
        self.selects = 0

    def _load(self, rows: Documents) -> None:
        self.loads += 1
        super()._load(rows)

    def _select(self, query: Any, params: Any) -> set[str]:
        self.selects += 1
        return super()._select(query, params)


@pytest.mark.parametrize("path", ["a", "a.b", '"a.b".c', "a[]", "a[0][].b", "é"])
def test_paths_that_are_remembered_are_read_as_the_client_reads_them(path: str) -> None:
    from qdrant_client.local import json_path_parser, payload_value_extractor

    remember_paths()
    remembered: Any = payload_value_extractor.parse_json_path
    value = {"a": [{"b": 1}, [{"b": 2}]], "a.b": {"c": 3}, "é": 4}
    for _ in range(2):
        assert remembered(path) == json_path_parser.parse_json_path(path)
        payload_value_extractor.value_by_key(value, path)
    assert remembered.cache_info().hits
    for _ in range(2):
        with pytest.raises(ValueError, match="Invalid path"):
            remembered("a..b")


def test_a_compiled_filter_is_taken_apart() -> None:
    with CountingRows() as rows:
        rows.load(BOTH)
        assert rows.select(FakeCompiled("json_extract(metadata, '$.k') = ?", (2,))) == {"it's two"}
        assert rows.select(FakeCompiled("", matches_all=True)) == set(BOTH)
        assert rows.selects == 2
        assert rows.select(FakeCompiled("FALSE", matches_nothing=True)) == set()
        assert rows.selects == 3, "a query that can be read is run, whatever is said of it"
        assert rows.select(FakeCompiled("TRUE", matches_nothing=True)) == set(BOTH)
        assert rows.select(FakeCompiled(None, matches_nothing=True)) == set()
        assert rows.selects == 4
        with pytest.raises(FilterError):
            rows.select(FakeCompiled(None))


def test_running_loads_only_what_is_new() -> None:
    with CountingRows() as rows:
        all_of_them = FakeCompiled("", matches_all=True)
        for _ in range(3):
            assert rows.run(all_of_them, dict(BOTH)) == set(BOTH)
        assert rows.loads == 1
        # Equal to Python, another document to an engine.
        one = FakeCompiled("json_type(metadata, '$.k') = 'true'")
        assert rows.run(one, {"x": {"k": 1}}) == set()
        assert rows.run(one, {"x": {"k": True}}) == {"x"}
        assert rows.loads == 3


def test_an_answer_is_kept_until_other_documents_are_loaded() -> None:
    class Slow(CountingRows):
        asked_once = True

    with Slow() as rows:
        of_k = "json_extract(metadata, '$.k') = ?"
        rows.load(BOTH)
        for _ in range(2):
            assert rows.select(of_k, (1,)) == {"one"}
            assert rows.select(of_k, (2,)) == {"it's two"}
        assert rows.selects == 2
        rows.select(of_k, (2,)).clear()  # what the caller does with it is the caller's
        assert rows.select(of_k, (2,)) == {"it's two"}
        rows.load({"three": {"k": 2}})
        assert rows.select(of_k, (2,)) == {"three"}
        assert rows.selects == 3


def test_rows_are_replaced() -> None:
    with SqliteRows() as rows:
        rows.load(BOTH)
        rows.load({"three": {}})
        assert rows.select(None) == {"three"}


def test_loading_comes_first() -> None:
    with SqliteRows() as rows:
        with pytest.raises(RuntimeError, match="load documents"):
            rows.select("TRUE")
        with pytest.raises(EngineRefused):
            rows.load({"x": {"k": "\ud800"}})
        with pytest.raises(RuntimeError, match="load documents"):
            rows.select("TRUE")


def test_a_refusal_tells_who_what_and_why() -> None:
    with SqliteRows() as rows:
        rows.load(BOTH)
        expected = r"SQLite refused nonsense = \?  with  \(1,\): no such column: nonsense"
        with pytest.raises(EngineRefused, match=expected) as caught:
            rows.select("nonsense = ?", (1,))
        assert caught.value.__cause__ is not None


def test_ids_from_nowhere_are_noticed() -> None:
    class Wrong(SqliteRows):
        def _select(self, query: Any, params: Any) -> set[str]:
            return {"stranger"}

    with Wrong() as rows:
        rows.load(BOTH)
        with pytest.raises(AssertionError, match="stranger"):
            rows.select(None)


def test_closing_twice() -> None:
    for rows in (SqliteRows(), QdrantLocalRows(), PineconeRows(), WeaviateRows([])):
        rows.load({})
        rows.close()
        rows.close()


# -- Pinecone ---------------------------------------------------------------------------------


class PineconeService:
    """As much of an index of the service as the rows use, with the documented rules inside."""

    def __init__(self) -> None:
        self.spaces: dict[str, PineconeRules] = {}

    def __call__(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        space = self.spaces.setdefault((body or {}).get("namespace", ""), PineconeRules())
        if path.startswith("/describe_index_stats"):
            return 200, {
                "namespaces": {},
                "dimension": 3,
                "indexFullness": 0,
                "totalVectorCount": 0,
            }
        try:
            if path == "/vectors/upsert":
                for vector in body["vectors"]:
                    assert len(vector["values"]) == 3
                    space.upsert(vector["id"], vector["metadata"])
                return 200, {"upsertedCount": len(body["vectors"])}
            if path == "/query":
                ids = space.query(body.get("filter"))
                matches = [{"id": id, "score": 1.0} for id in ids]
                return 200, {"matches": matches, "namespace": "", "usage": {"readUnits": 1}}
        except PineconeRejected as error:
            return 400, {"code": 3, "message": str(error), "details": []}
        assert path == "/vectors/delete", path
        del self.spaces[body["namespace"]]
        return 200, {}


def check_pinecone(rows: Rows) -> None:
    rows.load({key: {"number": value["k"]} for key, value in BOTH.items()})
    assert rows.select(None) == set(BOTH)
    assert rows.select({"k": {"$gt": 1}}) == {"it's two"}
    with pytest.raises(EngineRefused, match="a number is expected"):
        rows.select({"k": {"$gt": "1"}})
    with pytest.raises(EngineRefused, match="got None"):
        rows.load({"x": {"number": None}})
    rows.load({})
    assert rows.select(None) == set()


def numbered(metadata: Any) -> dict[str, Any]:
    return {"k": metadata["number"]}


def test_pinecone_by_its_rules() -> None:
    with PineconeRows(numbered) as rows:
        check_pinecone(rows)
    with PineconeRows(missing_matches_ne=True) as rows:
        rows.load({"none": {}})
        assert rows.select({"k": {"$ne": 1}}) == {"none"}


def test_pinecone_as_a_service() -> None:
    service = PineconeService()
    with json_service(service) as url:
        with PineconeServerRows(url, "key", numbered) as rows:
            check_pinecone(rows)
        assert not [space for name, space in service.spaces.items() if name]


def test_pinecone_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VECSTORE_PINECONE_HOST", raising=False)
    assert isinstance(pinecone_rows(), PineconeRows)
    with json_service(PineconeService()) as url:
        monkeypatch.setenv("VECSTORE_PINECONE_HOST", url)
        monkeypatch.setenv("VECSTORE_PINECONE_API_KEY", "key")
        with pinecone_rows(missing_matches_ne=True) as rows:
            assert isinstance(rows, PineconeServerRows)


# -- Weaviate ---------------------------------------------------------------------------------


class WeaviateService:
    """As much of a server as the rows use, with the documented rules inside."""

    def __init__(self) -> None:
        self.collections: dict[str, WeaviateRules] = {}

    def __call__(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        try:
            return self._answer(method, path, body)
        except WeaviateRejected as error:
            return 422, {"error": [{"message": str(error)}]}

    def _answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if (method, path) == ("POST", "/v1/schema"):
            asked = body["invertedIndexConfig"]["indexNullState"]
            rules = self.collections[body["class"]] = WeaviateRules(index_null_state=asked)
            for prop in body["properties"]:
                rules.add_property(
                    prop["name"],
                    *prop["dataType"],
                    tokenization=prop.get("tokenization"),
                    index_filterable=prop["indexFilterable"],
                )
            return 200, body
        if (method, path) == ("POST", "/v1/batch/objects"):
            return 200, [self._inserted(one) for one in body["objects"]]
        if (method, path) == ("DELETE", "/v1/batch/objects"):
            assert body["dryRun"] is True
            if re.search(r'"value[A-Z][a-z]+": \[', json.dumps(body)):
                raise WeaviateRejected("several values go into an array field")
            found = self.collections[body["match"]["class"]].query(body["match"]["where"])
            objects = [{"id": id, "status": "DRYRUN"} for id in found] or None
            return 200, {"results": {"matches": len(found), "objects": objects}}
        if method == "GET":
            name = re.fullmatch(r"/v1/objects\?class=(\w+)&limit=10000", path)[1]  # type: ignore[index]
            return 200, {"objects": [{"id": id} for id in self.collections[name].query(None)]}
        assert method == "DELETE"
        del self.collections[path.removeprefix("/v1/schema/")]
        return 200, None

    def _inserted(self, one: Any) -> Any:
        try:
            self.collections[one["class"]].insert(one["id"], one["properties"])
        except WeaviateRejected as error:
            return {**one, "result": {"errors": {"error": [{"message": str(error)}]}}}
        return {**one, "result": {"status": "SUCCESS"}}


PROPERTIES = [Property("k", "int"), Property("tags", "text[]", tokenization="field")]


def tagged(metadata: Any) -> dict[str, Any]:
    return {"k": metadata["k"], "tags": [f"k={metadata['k']}"]}


def check_weaviate(rows: Rows) -> None:
    rows.load(BOTH)
    assert rows.select(None) == set(BOTH)
    recent = {"operator": "GreaterThan", "path": ["k"], "valueInt": 1}
    either = {"operator": "ContainsAny", "path": ["tags"], "valueText": ["k=1", "K=2"]}
    assert rows.select(recent) == {"it's two"}
    assert rows.select({"operator": "Not", "operands": [recent]}) == {"one"}
    assert rows.select({"operator": "Or", "operands": [recent, either]}) == set(BOTH)
    assert rows.select({"operator": "And", "operands": [recent, either]}) == set()
    assert rows.select({"operator": "IsNull", "path": ["k"], "valueBoolean": True}) == set()
    with pytest.raises(EngineRefused, match="cannot use valueText on type int"):
        rows.select({"operator": "Equal", "path": ["k"], "valueText": "1"})
    with pytest.raises(EngineRefused, match="int is expected"):
        rows.load({"x": {"k": "1"}})
    rows.load({})
    assert rows.select(None) == set()


def test_weaviate_by_its_rules() -> None:
    with WeaviateRows(PROPERTIES, tagged, index_null_state=True) as rows:
        check_weaviate(rows)


def test_weaviate_as_a_server() -> None:
    service = WeaviateService()
    with json_service(service) as url:
        with WeaviateServerRows(url, PROPERTIES, tagged, index_null_state=True) as rows:
            check_weaviate(rows)
        assert not service.collections


def test_weaviate_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VECSTORE_WEAVIATE_URL", raising=False)
    assert isinstance(weaviate_rows([], negation=False), WeaviateRows)
    monkeypatch.setenv("VECSTORE_WEAVIATE_URL", "http://127.0.0.1:1")
    with weaviate_rows([], negation=False) as rows:
        assert isinstance(rows, WeaviateServerRows)


# -- Qdrant -----------------------------------------------------------------------------------


def test_one_thread_at_a_time_in_local_mode() -> None:
    inside = threading.Semaphore(1)
    met: list[bool] = []

    class Alone:
        """A client that is slow, and notices company."""

        def __init__(self, client: Any) -> None:
            self._client = client

        def scroll(self, *args: Any, **kwargs: Any) -> Any:
            met.append(not inside.acquire(blocking=False))
            time.sleep(0.01)
            inside.release()
            return self._client.scroll(*args, **kwargs)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._client, name)

    class Asking(QdrantLocalRows):
        asked_once = False

    with Asking() as rows:
        rows._client = Alone(rows._client)
        rows.load(BOTH)
        threads = [threading.Thread(target=rows.select, args=(None,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert met == [False] * 4


def test_qdrant_as_a_server() -> None:
    local = QdrantLocalRows()
    stored: dict[str, dict[str, Any]] = {}

    def answer(method: str, path: str, body: Any) -> tuple[int, Any]:
        result: Any = True
        if path.endswith("/points?wait=true"):
            stored.update({str(one["id"]): one["payload"] for one in body["points"]})
            result = {"operation_id": 0, "status": "completed"}
        elif path.endswith("/points/scroll"):
            local.load(stored)
            try:
                found = sorted(int(id) for id in local.select(body.get("filter")))
            except EngineRefused as error:
                return 400, {"status": {"error": str(error)}, "time": 0}
            result = {"points": [{"id": id} for id in found], "next_page_offset": None}
        elif method == "DELETE":
            stored.clear()
        return 200, {"result": result, "status": "ok", "time": 0}

    with local, json_service(answer) as url:
        with QdrantServerRows(url) as rows:
            rows.load(BOTH)
            assert rows.select(None) == set(BOTH)
            assert rows.select({"must": [{"key": "k", "range": {"gt": 1}}]}) == {"it's two"}
            with pytest.raises(EngineRefused, match="Invalid path"):
                rows.select({"must": [{"is_empty": {"key": 'a"b'}}]})
            assert stored
        assert not stored, "the collection is dropped at the end"
