"""A Pinecone of our own: the control plane and the data plane of its REST interface.

What it imitates, and which pages of Pinecone's documentation that is from:

- paths, bodies and answers: the REST reference of the version 2026-07, as the client 10 speaks it
- limits: "Operation limits" (1,000 records and 2 MB in an upsert; ``top_k`` up to 10,000 and 4 MB in
  an answer; 1,000 ids in a fetch or a delete; 100 ids on a page of a list), "Identifier limits",
  "Known limitations" and "General limitations" (20,000 dimensions, no vector of zeros)
- metadata and filters: `tests.engines.pinecone_rules`, which names its pages
- errors: "Errors" and "Error handling"
- eventual consistency and log sequence numbers: "Check data freshness". A write is answered at once,
  and seen by every kind of read after ``delay`` seconds
- scores: "Distance metrics", where the euclidean one is the square of the distance
- deleting by metadata: "Delete data", which most indexes refused until 2025

What it does not: plans and rate limits, sparse vectors, text search, namespaces with a schema,
updates in place, and that a search may miss some of the nearest: this one compares every record.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from tests.engines.pinecone_rules import PineconeRejected, PineconeRules, check_id, stored_metadata
from tests.servers.http import Answer, Faults, HttpServer, Request, refusal

KEY = "test-key-9f86d081884c7d65"
_MOST_BODY = 2 * 1024 * 1024
_MOST_ANSWER = 4 * 1024 * 1024
_MOST_RECORDS = 1_000
_MOST_IDS = 1_000
_MOST_TARGET = 8_000
_PAGE = 100
_METRICS = ("cosine", "dotproduct", "euclidean")


class Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Namespace:
    """Records: as written, and as reads see them."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[list[float], dict[str, Any] | None]] = {}
        self.written = 0
        self.indexed = 0
        self._log: deque[tuple[float, int, Callable[[], None]]] = deque()
        self._matrix: Any = None

    def write(self, delay: float, change: Callable[[], None]) -> int:
        self.written += 1
        self._log.append((time.monotonic() + delay, self.written, change))
        return self.written

    def catch_up(self) -> None:
        now = time.monotonic()
        while self._log and self._log[0][0] <= now:
            _, self.indexed, change = self._log.popleft()
            change()
            self._matrix = None

    @property
    def matrix(self) -> Any:
        if self._matrix is None:
            self._matrix = np.array([values for values, _ in self.seen.values()], np.float64)
        return self._matrix


class Index:
    """One index: what answers on its port."""

    def __init__(self, server: PineconeServer, name: str, dimension: int, metric: str) -> None:
        self.server = server
        self.name = name
        self.dimension = dimension
        self.metric = metric
        self.deployment: Any = {}
        self.looks = server.looks_until_ready
        self.namespaces: dict[str, Namespace] = {}
        self.rules = PineconeRules(**server.rules)
        self.port = server.http.listen(self.answer)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def described(self) -> dict[str, Any]:
        ready = self.looks <= 0
        self.looks -= 1
        field = {"type": "dense_vector", "dimension": self.dimension, "metric": self.metric}
        return {
            "name": self.name,
            "status": {"ready": ready, "state": "Ready" if ready else "Initializing"},
            "schema": {"fields": {"_values": field}},
            "deployment": self.deployment,
            "deletion_protection": "disabled",
            "host": self.host,
        }

    def answer(self, request: Request) -> Answer:
        return self.server.guarded(request, self._answer)

    def _answer(self, request: Request) -> Answer:
        route = _ROUTES.get((request.method, request.path))
        if route is None or (
            request.path == "/vectors/fetch_by_metadata" and not self.server.fetches_by_metadata
        ):
            raise Refused(404, f"no such operation: {request.method} {request.path}")
        if len(request.body) > _MOST_BODY:
            raise Refused(413, f"the request has {len(request.body)} bytes, more than 2 MB")
        if len(request.target) > _MOST_TARGET:
            raise Refused(414, "the address is too long")
        return route(self, request)

    def _namespace(self, name: str | None, make: bool = False) -> Namespace:
        name = name or "__default__"
        if not make:
            found = self.namespaces.get(name, None) or Namespace()
            found.catch_up()
            return found
        return self.namespaces.setdefault(name, Namespace())

    def _wrote(self, space: Namespace, change: Callable[[], None], body: Any) -> Answer:
        number = space.write(self.server.delay, change)
        headers = {"x-pinecone-request-lsn": str(number)} if self.server.numbers_writes else {}
        return Answer(200, body, headers)

    def _read(self, space: Namespace, body: Any) -> Answer:
        if not self.server.numbers_writes:
            return Answer(200, body)
        return Answer(200, body, {"x-pinecone-max-indexed-lsn": str(space.indexed)})

    def upsert(self, request: Request) -> Answer:
        body = request.json()
        vectors = body["vectors"]
        if not 1 <= len(vectors) <= _MOST_RECORDS:
            raise Refused(400, f"{len(vectors)} vectors in an upsert; 1 to 1000 are allowed")
        made: dict[str, tuple[list[float], dict[str, Any] | None]] = {}
        for vector in vectors:
            check_id(vector["id"])
            self._check_values(vector["values"])
            told = vector.get("metadata")
            made[vector["id"]] = (_single(vector["values"]), told and stored_metadata(told))
        if len(made) < len(vectors):
            raise Refused(400, "an id stands twice in one upsert")
        space = self._namespace(body.get("namespace"), make=True)
        return self._wrote(space, lambda: space.seen.update(made), {"upsertedCount": len(made)})

    def query(self, request: Request) -> Answer:
        body = request.json()
        top_k = body["topK"]
        if not 1 <= top_k <= 10_000:
            raise Refused(400, f"top_k is {top_k}; it must be from 1 to 10000")
        self._check_values(body["vector"])
        space = self._namespace(body.get("namespace"))
        selects = self.rules.reading(body.get("filter"))
        chosen = [
            row for row, (_, metadata) in enumerate(space.seen.values()) if selects(metadata or {})
        ]
        ids = list(space.seen)
        matches = []
        if chosen:
            scores = self._scores(space.matrix[chosen], np.array(body["vector"], np.float64))
            order = np.argsort(scores if self.metric == "euclidean" else -scores, kind="stable")
            for place in order[:top_k]:
                id = ids[chosen[place]]
                values, metadata = space.seen[id]
                match: dict[str, Any] = {"id": id, "score": float(np.float32(scores[place]))}
                match["values"] = values if body.get("includeValues") else []
                if body.get("includeMetadata") and metadata is not None:
                    match["metadata"] = metadata
                matches.append(match)
        answer = self._read(space, {"matches": matches, "namespace": body.get("namespace", "")})
        if len(str(matches)) > _MOST_ANSWER:
            raise Refused(400, "the result is larger than 4 MB")
        return answer

    def _scores(self, rows: Any, vector: Any) -> Any:
        if self.metric == "euclidean":
            return ((rows - vector) ** 2).sum(axis=1)
        if self.metric == "cosine":
            return rows @ vector / (np.linalg.norm(rows, axis=1) * np.linalg.norm(vector))
        return rows @ vector

    def fetch(self, request: Request) -> Answer:
        ids = [value for name, value in request.query if name == "ids"]
        if not 1 <= len(ids) <= _MOST_IDS:
            raise Refused(400, f"{len(ids)} ids in a fetch; 1 to 1000 are allowed")
        space = self._namespace(request.option("namespace"))
        found = {id: _record(id, space) for id in ids if id in space.seen}
        return self._read(space, {"vectors": found, "namespace": request.option("namespace") or ""})

    def fetch_by_metadata(self, request: Request) -> Answer:
        body = request.json()
        limit = body.get("limit", _PAGE)
        if not 1 <= limit <= 10_000:
            raise Refused(400, f"limit is {limit}; it must be from 1 to 10000")
        if not body.get("filter"):
            raise Refused(400, "Empty filter provided for fetch by metadata request")
        space = self._namespace(body.get("namespace"))
        selects = self.rules.reading(body["filter"])
        ids = [id for id, (_, metadata) in sorted(space.seen.items()) if selects(metadata or {})]
        page, next = _page(ids, limit, body.get("paginationToken"))
        answer: dict[str, Any] = {"vectors": {id: _record(id, space) for id in page}}
        if next is not None:
            answer["pagination"] = {"next": next}
        return self._read(space, answer)

    def list(self, request: Request) -> Answer:
        limit = int(request.option("limit") or _PAGE)
        if not 1 <= limit <= _PAGE:
            raise Refused(400, f"limit is {limit}; it must be from 1 to 100")
        prefix = request.option("prefix") or ""
        space = self._namespace(request.option("namespace"))
        ids = sorted(id for id in space.seen if id.startswith(prefix))
        page, next = _page(ids, limit, request.option("paginationToken"))
        answer: dict[str, Any] = {"vectors": [{"id": id} for id in page]}
        if next is not None:
            answer["pagination"] = {"next": next}
        return self._read(space, answer)

    def delete(self, request: Request) -> Answer:
        body = request.json()
        name = body.get("namespace") or "__default__"
        if name not in self.namespaces:
            raise Refused(404, "Namespace not found")
        space = self.namespaces[name]
        if body.get("filter") is not None:
            if not self.server.deletes_by_filter:
                raise Refused(
                    400,
                    "Serverless and Starter indexes do not support deleting with metadata filtering",
                )
            if not body["filter"]:
                raise Refused(400, "Delete with empty metadata filter is not allowed")
            selects = self.rules.reading(body["filter"])

            def change() -> None:
                for id in [
                    id for id, (_, metadata) in space.seen.items() if selects(metadata or {})
                ]:
                    del space.seen[id]

        elif body.get("deleteAll"):

            def change() -> None:
                space.seen.clear()

        else:
            ids = body["ids"]
            if not 1 <= len(ids) <= _MOST_IDS:
                raise Refused(400, f"{len(ids)} ids in a delete; 1 to 1000 are allowed")

            def change() -> None:
                for id in ids:
                    space.seen.pop(id, None)

        return self._wrote(space, change, {})

    def stats(self, request: Request) -> Answer:
        for space in self.namespaces.values():
            space.catch_up()
        counts = {name: len(space.seen) for name, space in self.namespaces.items()}
        return Answer(
            200,
            {
                "namespaces": {name: {"vectorCount": count} for name, count in counts.items()},
                "dimension": self.dimension,
                "metric": self.metric,
                "vectorType": "dense",
                "indexFullness": 0.0,
                "totalVectorCount": sum(counts.values()),
            },
        )

    def _check_values(self, values: list[float]) -> None:
        if len(values) != self.dimension:
            raise Refused(
                400,
                f"Vector dimension {len(values)} does not match the dimension of the index "
                f"{self.dimension}",
            )
        if not any(values):
            raise Refused(400, "Dense vectors must contain at least one non-zero value")


_ROUTES: dict[tuple[str, str], Callable[[Index, Request], Answer]] = {
    ("POST", "/vectors/upsert"): Index.upsert,
    ("POST", "/query"): Index.query,
    ("GET", "/vectors/fetch"): Index.fetch,
    ("POST", "/vectors/fetch_by_metadata"): Index.fetch_by_metadata,
    ("GET", "/vectors/list"): Index.list,
    ("POST", "/vectors/delete"): Index.delete,
    ("POST", "/describe_index_stats"): Index.stats,
}


class PineconeServer:
    """The service, while ``with`` runs.

    Args:
        delay: Seconds after which reads see a write.
        looks_until_ready: How often a new index is described as not ready.
        numbers_writes: Whether answers carry log sequence numbers, as those of serverless indexes.
        deletes_by_filter: Whether records can be deleted by metadata.
        fetches_by_metadata: Whether they can be fetched by it.
        rules: Switches of `PineconeRules`.
    """

    def __init__(
        self,
        *,
        delay: float = 0.0,
        looks_until_ready: int = 0,
        numbers_writes: bool = True,
        deletes_by_filter: bool = True,
        fetches_by_metadata: bool = True,
        **rules: bool,
    ) -> None:
        self.delay = delay
        self.looks_until_ready = looks_until_ready
        self.numbers_writes = numbers_writes
        self.deletes_by_filter = deletes_by_filter
        self.fetches_by_metadata = fetches_by_metadata
        self.rules = rules
        self.key = KEY
        self.indexes: dict[str, Index] = {}
        self.http = HttpServer()
        self._port = 0

    def __enter__(self) -> Self:
        self.http.__enter__()
        self._port = self.http.listen(lambda request: self.guarded(request, self._answer))
        return self

    def __exit__(self, *error: object) -> None:
        self.http.__exit__(*error)

    @property
    def address(self) -> str:
        """Of the control plane."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def faults(self) -> Faults:
        return self.http.faults

    def asked(self, path: str) -> int:
        """How many requests there were for a path."""
        return sum(request.path == path for request, _ in self.http.requests)

    def guarded(self, request: Request, answer: Callable[[Request], Answer]) -> Answer:
        try:
            if request.headers.get("api-key") != self.key:
                raise Refused(401, "Invalid API Key")
            return answer(request)
        except Refused as refused:
            return refusal(refused.status, str(refused))
        except PineconeRejected as rejected:
            return refusal(400, str(rejected))
        except (KeyError, TypeError, ValueError) as error:
            return refusal(400, f"the request cannot be read: {error!r}")

    def _answer(self, request: Request) -> Answer:
        steps = request.path.strip("/").split("/")
        if steps[0] != "indexes" or len(steps) > 2:
            raise Refused(404, f"no such operation: {request.method} {request.path}")
        if len(steps) == 1:
            if request.method == "POST":
                return self._create(request.json())
            return Answer(200, {"indexes": [one.described() for one in self.indexes.values()]})
        index = self.indexes.get(steps[1])
        if index is None:
            raise Refused(404, f"Resource {steps[1]} not found")
        if request.method == "DELETE":
            del self.indexes[index.name]
            self.http.release(index.port)
            return Answer(202, {})
        return Answer(200, index.described())

    def _create(self, body: Any) -> Answer:
        name = body["name"]
        [(field, wanted)] = body["schema"]["fields"].items()
        if field != "_values" or wanted["type"] != "dense_vector":
            raise Refused(400, "an index here has one dense vector")
        metric = wanted.get("metric", "cosine")
        if metric not in _METRICS or not 1 <= wanted["dimension"] <= 20_000:
            raise Refused(400, f"no such index: {wanted}")
        if name in self.indexes:
            raise Refused(409, "Resource already exists")
        index = self.indexes[name] = Index(self, name, wanted["dimension"], metric)
        index.deployment = body["deployment"]
        return Answer(201, index.described())


def _single(values: list[float]) -> list[float]:
    """Numbers as 32 bits hold them."""
    rounded: list[float] = np.array(values, np.float32).tolist()
    return rounded


def _record(id: str, space: Namespace) -> dict[str, Any]:
    values, metadata = space.seen[id]
    record: dict[str, Any] = {"id": id, "values": values}
    if metadata is not None:
        record["metadata"] = metadata
    return record


def _page(ids: list[str], limit: int, token: str | None) -> tuple[list[str], str | None]:
    """Ids after the one that the last page ended with."""
    after = [id for id in ids if token is None or id > token]
    page = after[:limit]
    return page, page[-1] if len(after) > limit else None
