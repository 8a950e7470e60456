"""Long filters in a file: milvus-lite is asked the cheap part, and the rest is decided here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from vecstore import Document, Expression, F, Op
from vecstore.dialects.milvus.rows import ASKED, Rows, row_filter
from vecstore.dialects.milvus.store import MilvusStore

Open = Callable[..., MilvusStore]
COUNT = 60

MANY = [f"v{number}" for number in range(0, 400, 2)]
METADATA: list[dict[str, Any]] = [
    {"k": f"v{number}", "n": number % 7, "t": [f"v{number}", "x"], "maybe": None}
    if number % 5
    else {"n": number % 7, "t": []}
    for number in range(COUNT)
]
FILTERS = [
    F.k.in_(MANY),
    F.k.not_in(MANY),
    F.t.in_(MANY) & (F.n > 2),
    (F.n == 3) & F.k.not_in(MANY) & F.t.is_not_null(),
    F.k.in_(MANY) | (F.n == 1),
    ~(F.k.in_(MANY) & F.t.in_(MANY)),
    F.k.in_([*MANY, 1, True]) & F.maybe.is_null(),
    Expression(Op.OR, *[F[f"key {number}"] == 1 for number in range(99)], F.n == 4),
    Expression(Op.AND, *[F[f"key {number}"] != 1 for number in range(99)], F.n == 4),
]


@pytest.fixture(scope="module")
def store(file: str) -> Iterator[MilvusStore]:
    with MilvusStore("lists", uri=file, dimension=2) as store:
        store.add(
            Document("", one, str(number), [1, number]) for number, one in enumerate(METADATA)
        )
        yield store


@pytest.mark.parametrize("filter", FILTERS, ids=lambda one: str(one)[:40])
def test_every_operation_selects_what_the_filter_means(store: MilvusStore, filter: Any) -> None:
    wanted = {str(number) for number, one in enumerate(METADATA) if filter.matches(one)}
    assert 0 < len(wanted) < COUNT
    assert not store._compile_filter(filter).is_whole
    assert store.count(filter) == len(wanted)
    assert {one.id for one in store.scan(filter, batch_size=7)} == wanted
    assert {one.id for one in store.get(filter=filter)} == wanted
    every = [str(number) for number in range(COUNT)]
    assert {one.id for one in store.get(every, filter=filter)} == wanted
    found = store.search(vector=[1, 0], top_k=COUNT, filter=filter)
    assert {one.id for one in found} == wanted
    nearest = sorted(map(int, wanted))[:3]
    assert [one.id for one in store.search(vector=[1, 0], top_k=3, filter=filter)] == [
        str(number) for number in nearest
    ]
    assert store.update_metadata(every, filter=filter, set={"seen": 1}) == len(wanted)
    assert store.update_metadata(filter=filter & (F.seen == 1), unset=["seen"]) == len(wanted)
    assert store.delete(every, filter=filter & (F.seen == 1)) == 0
    copies = [Document("", {**METADATA[int(id)], "copy": 1}, f"copy {id}", [1, 1]) for id in wanted]
    store.add(copies)
    assert store.delete(filter=filter & (F.copy == 1)) == len(wanted)
    assert store.count() == COUNT


def test_the_engine_is_asked_a_part_that_no_match_fails(store: MilvusStore) -> None:
    compile = store._dialect.compile
    for filter, coarse in [
        (F.k.in_(MANY), F.k.is_not_null()),
        (F.k.not_in(MANY), None),
        (F.k.in_(MANY) & (F.n == 3), F.k.is_not_null() & (F.n == 3)),
        (F.k.in_(MANY) | (F.n == 3), None),
        (F.k.in_(MANY[:ASKED]), F.k.in_(MANY[:ASKED])),
        ((F.n == 3) & F.k.in_(MANY[:ASKED]), (F.n == 3) & F.k.is_not_null()),
    ]:
        made = row_filter(filter, lambda part: compile(part, limits=None), presence=True)
        assert made.coarse == ("" if coarse is None else compile(coarse).query), str(filter)[:60]
        assert made.query == compile(filter, limits=None).query


def test_a_list_of_ten_thousand_is_not_evaluated_by_the_engine(
    store: MilvusStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    query = store.native.query

    def watched(name: str, filter: str, **options: Any) -> Any:
        asked.append(filter)
        return query(name, filter=filter, **options)

    monkeypatch.setattr(store.native, "query", watched)
    values = [f"w{number}" for number in range(9_999)]
    assert store.count(F.k.in_(["v1", *values])) == 1
    assert store.count(F.k.not_in(["v1", *values])) == COUNT - 1
    assert max(map(len, asked)) < 10_000


@pytest.fixture
def as_a_server(store: MilvusStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[MilvusStore]:
    """The file's store, which asks for ids what it asks a server."""
    monkeypatch.setattr(store._call, "lite", False)
    return store


@pytest.mark.parametrize("filter", [None, F.n == 3, *FILTERS[1:4]], ids=lambda one: str(one)[:40])
def test_a_server_searches_among_ids_and_besides_them(
    as_a_server: MilvusStore, monkeypatch: pytest.MonkeyPatch, filter: Any
) -> None:
    every = range(COUNT)
    matching = [
        str(number) for number in every if filter is None or filter.matches(METADATA[number])
    ]
    some = [str(number) for number in every if number % 3 == 0 or number % 7 == 3]
    ids = [*some, "nobody", some[0]]
    wanted = [id for id in matching if id in some]
    monkeypatch.setattr(Rows, "selected", None)  # no document is read for its id

    def found(**selection: Any) -> list[str]:
        results = as_a_server.search(vector=[1, 0], filter=filter, **selection)
        return [one.id for one in results]

    assert found(top_k=COUNT, ids=ids) == wanted
    assert found(top_k=3, offset=1, ids=ids) == wanted[1:4]
    assert found(top_k=4, exclude_ids=ids) == [id for id in matching if id not in some][:4]
    assert found(ids=["nobody"]) == []
    assert found(exclude_ids=map(str, every)) == []


def test_a_file_reads_documents_by_their_ids_and_leaves_many_out_by_itself(
    store: MilvusStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    hits = MilvusStore._hits

    def noted(self: MilvusStore, vector: Any, size: int, condition: str, fields: Any) -> Any:
        asked.append(condition)
        return hits(self, vector, size, condition, fields)

    monkeypatch.setattr(MilvusStore, "_hits", noted)
    many = [f"{number}" for number in range(1, 700)]
    for ids in (many[:2], many):
        assert store.search(vector=[1, 0], top_k=1, ids=ids)[0].id == "1"
    assert asked == []
    for ids in (many[:2], many):
        assert store.search(vector=[1, 0], top_k=1, exclude_ids=ids)[0].id == "0"
    assert [one[:8] for one in asked] == ["", "not (id "]
