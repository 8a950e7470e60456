"""search, get, update_metadata, delete, count, scan, clear and close: one meaning on every store."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.store.embedders import Counting, letters, never
from tests.store.minimal import MinimalStore
from vecstore import (
    BackendError,
    ConfigurationError,
    Document,
    DocumentError,
    EmbeddingError,
    Expression,
    F,
    FilterBuilder,
    SearchRequest,
    SimpleVectorStore,
    StoreCapabilities,
    StoreClosedError,
    UnsupportedFilterError,
    VectorStore,
    compile_filter,
    parse,
)
from vecstore.store.operations import DeleteCall

Make = Callable[..., Any]

VECTORS = {"east": [1, 0], "north": [0, 1], "west": [-1, 0], "north-east": [1, 1], "far": [0, 50]}
NOTHING = F.any_key.in_([])
EVERYTHING = F.any_key.not_in([])


def compass(make: Make, **options: Any) -> Any:
    store = make(**options)
    store.add(
        [
            Document(f"to the {id}", {"n": n, "tags": ["x", id]}, id=id, embedding=vector)
            for n, (id, vector) in enumerate(VECTORS.items())
        ]
    )
    return store


def ids(documents: Any) -> list[str]:
    return [document.id for document in documents]


# --- search -----------------------------------------------------------------------------------


def test_best_first_and_equal_scores_by_id(make: Make) -> None:
    store = compass(make)
    found = store.search(vector=[0, 2], top_k=10)
    assert ids(found) == ["far", "north", "north-east", "east", "west"]
    assert [round(d.score, 6) for d in found] == [1, 1, 0.707107, 0, 0]
    assert all(type(d.score) is float for d in found)
    assert found[0].text == "to the far"


def test_top_k(make: Make) -> None:
    store = compass(make)
    assert ids(store.search(vector=[0, 1])) == ["far", "north", "north-east", "east"]
    assert ids(store.search(vector=[0, 1], top_k=1)) == ["far"]
    assert store.search(vector=[0, 1], top_k=0) == []
    assert len(store.search(vector=[0, 1], top_k=10**9)) == 5


def test_threshold_is_inclusive_and_none_by_default(make: Make) -> None:
    store = compass(make)
    assert len(store.search(vector=[1, 0], top_k=9)) == 5
    assert ids(store.search(vector=[1, 0], top_k=9, threshold=-1)) == [
        "east",
        "north-east",
        "far",
        "north",
        "west",
    ]
    assert ids(store.search(vector=[1, 0], top_k=9, threshold=0)) == [
        "east",
        "north-east",
        "far",
        "north",
    ]
    assert ids(store.search(vector=[1, 0], top_k=9, threshold=1)) == ["east"]
    assert store.search(vector=[1, 0], top_k=9, threshold=1.01) == []


def test_text_and_vector_queries(make: Make) -> None:
    counting = Counting()
    store = make(counting)
    store.add([Document("aa", id="a"), Document("bb", id="b")])
    assert ids(store.search("aaa")) == ["a", "b"]
    assert ids(store.search(vector=[0, 1, 0, 0])) == ["b", "a"]
    assert counting.queries == ["aaa"]


def test_requests(make: Make) -> None:
    store = compass(make)
    request = SearchRequest(vector=[1, 0], top_k=2, filter=F.n > 0)
    assert store.search(request) == store.search(vector=[1, 0], top_k=2, filter="n > 0")
    with pytest.raises(TypeError, match="carries everything"):
        store.search(request, top_k=3)
    with pytest.raises(TypeError, match="carries everything"):
        store.search(request, vector=np.array([1.0, 0.0]))


def test_filters_select_the_same_documents_everywhere(make: Make) -> None:
    for filter in (
        F.n >= 2,
        ~(F.n >= 2),
        F.n.in_([0, 4, 9]),
        F.tags == "west",
        F.missing.is_null(),
        F.missing != 1,
        "n < 3 AND NOT (tags == 'north')",
        NOTHING,
        EVERYTHING,
        FilterBuilder().group(F.n == 1),
    ):
        store = compass(make)
        expression = parse(filter) if isinstance(filter, str) else filter.build()
        wanted = sorted(d.id for d in store.scan() if expression.matches(d.metadata))
        assert sorted(ids(store.search(vector=[1, 2], top_k=9, filter=filter))) == wanted
        assert sorted(ids(store.get(filter=filter))) == wanted
        assert sorted(ids(store.scan(filter))) == wanted
        assert store.count(filter) == len(wanted)
        if filter is not EVERYTHING:
            assert store.delete(filter=filter) == len(wanted)
            assert sorted(ids(store.scan())) == sorted(set(VECTORS) - set(wanted))


def test_an_empty_store_answers(make: Make) -> None:
    store = make(letters)
    for _ in range(2):
        assert store.search("x") == []
        assert store.search(vector=[1, 2, 3, 4], filter=F.a == 1, top_k=0) == []
        assert (store.get(["a"]), store.get(filter=F.a == 1), list(store.scan())) == ([], [], [])
        assert (store.count(), store.count(F.a == 1)) == (0, 0)
        assert store.delete(["a"]) == store.delete(filter=F.a == 1) == 0
        assert store.update_metadata(["a"], set={"n": 1}) == 0
        store.add([Document("x", id="x")])
        store.delete(["x"])


def test_a_text_query_without_embedder(make: Make) -> None:
    with pytest.raises(ConfigurationError, match="vector="):
        compass(make).search("x")
    with pytest.raises(TypeError, match=r"store\.get"):
        compass(make).search()


def test_a_query_without_direction_is_refused_under_cosine(make: Make) -> None:
    store = compass(make)
    with pytest.raises(ValueError, match="zeros"):
        store.search(vector=[0, 0])
    store = make(lambda texts: [[0.0, 0.0] for _ in texts])
    with pytest.raises(EmbeddingError, match="zeros"):
        store.search("x")


def test_embeddings_come_on_request(make: Make) -> None:
    store = compass(make)
    for read in (
        lambda **o: store.search(vector=[0, 1], **o),
        lambda **o: store.get(["far"], **o),
        lambda **o: store.get(filter=F.n == 4, **o),
        lambda **o: list(store.scan(F.n == 4, **o)),
    ):
        assert read()[0].embedding is None
        assert read(include_embedding=True)[0].embedding.tolist() == [0, 50]
        with pytest.raises(TypeError, match="include_embedding is True or False"):
            read(include_embedding=1)


@pytest.mark.parametrize("method", ["search", "get", "delete", "count", "scan", "update_metadata"])
def test_unknown_keywords_and_bools_for_filters(make: Make, method: str) -> None:
    store = compass(make)
    for misspelt in ("filters", "filter_", "filter_expression", "where"):
        with pytest.raises(TypeError, match=misspelt):
            getattr(store, method)(**{misspelt: F.n == 1})
    extra: dict[str, Any] = {"vector": [1, 0]} if method == "search" else {}
    if method == "update_metadata":
        extra = {"set": {"a": 1}}
    with pytest.raises(TypeError, match="not a bool"):
        getattr(store, method)(filter=False, **extra)
    assert store.count() == 5


def test_no_method_swallows_keywords(make: Make) -> None:
    store = compass(make)
    needed: dict[str, Any] = {"add": [], "scoped": F.n == 1, "embed_query": "text"}
    needed |= {"distinct": "n", "minmax": "n"}
    for name, _ in inspect.getmembers(VectorStore, inspect.isfunction):
        if not name.startswith("_") and name != "from_url":
            arguments = [needed[name]] if name in needed else []
            with pytest.raises(TypeError, match="nothing_like_it"):
                getattr(store, name)(*arguments, nothing_like_it=1)
    assert store.count() == 5


# --- get --------------------------------------------------------------------------------------


def test_get_by_ids_keeps_order_and_repetition(make: Make) -> None:
    store = compass(make)
    assert ids(store.get(["west", "nobody", "east", "west"])) == ["west", "east", "west"]
    assert ids(store.get(["west", "east"], limit=1)) == ["west"]
    assert store.get([]) == []
    assert store.get(["a' OR '1'='1", "", "\0", "\ud800"]) == []
    assert store.get(["west"])[0].score is None


def test_get_by_filter(make: Make) -> None:
    store = compass(make, embedder=never)
    assert set(ids(store.get(filter="n > 2"))) == {"north-east", "far"}
    assert len(store.get(filter="n > 0", limit=2)) == 2
    assert len(store.get(limit=3)) == 3
    assert len(store.get()) == 5
    assert store.get(filter="n > 0", limit=0) == []
    assert ids(store.get(["far", "east"], filter="n > 2")) == ["far"]
    with pytest.raises(ValueError, match="limit is 0 or more"):
        store.get(limit=-1)
    with pytest.raises(TypeError, match="limit"):
        store.get(limit=True)
    with pytest.raises(TypeError, match=r"get\(\['far'\]\)"):
        store.get("far")


# --- update_metadata --------------------------------------------------------------------------


def test_update_sets_and_unsets(make: Make) -> None:
    store = compass(make, embedder=never)
    assert (
        store.update_metadata(["east", "nobody"], set={"new": ("a",), "n": None}, unset=["tags"])
        == 1
    )
    assert store.get(["east"]) == [Document("to the east", {"n": None, "new": ["a"]}, id="east")]
    assert store.update_metadata(filter="n > 2", set={"far": {"out": True}}) == 2
    assert set(ids(store.get(filter="far.out == true"))) == {"far", "north-east"}
    assert store.get(["west"])[0].metadata == {"n": 2, "tags": ["x", "west"]}
    assert ids(store.search(vector=[0, 1], top_k=1)) == ["far"]  # the vectors are as they were
    assert store.count() == 5


def test_update_keys_are_names_at_the_top(make: Make) -> None:
    store = make()
    store.add([Document("", {"a": {"b": 1, "c": 2}}, id="x", embedding=[1])])
    store.update_metadata(["x"], set={"a.b": 5}, unset=["a.c"])
    assert store.get(["x"])[0].metadata == {"a": {"b": 1, "c": 2}, "a.b": 5}
    store.update_metadata(["x"], set={"a": {"b": 2}})
    assert store.get(["x"])[0].metadata == {"a": {"b": 2}, "a.b": 5}


def test_update_with_ids_and_filter(make: Make) -> None:
    store = compass(make)
    assert store.update_metadata(["east", "far"], filter="n > 2", set={"hit": 1}) == 1
    assert ids(store.get(filter="hit == 1")) == ["far"]


def test_update_of_everything_and_nothing(make: Make) -> None:
    store = compass(make)
    with pytest.raises(ValueError, match="ids or a filter"):
        store.update_metadata(set={"a": 1})
    assert store.update_metadata([], set={"a": 1}) == 0
    assert store.update_metadata(filter=NOTHING, set={"a": 1}) == 0
    assert store.count(F.a == 1) == 0
    assert store.update_metadata(filter=EVERYTHING, set={"a": 1}) == 5
    assert store.count(F.a == 1) == 5


def test_update_arguments(make: Make) -> None:
    store = compass(make)
    with pytest.raises(ValueError, match="nothing to change"):
        store.update_metadata(["east"])
    with pytest.raises(DocumentError, match="base64") as caught:
        store.update_metadata(["east"], set={"a": {"b": b"x"}})
    assert caught.value.key == "a.b"
    with pytest.raises(DocumentError, match="both set and unset"):
        store.update_metadata(["east"], set={"a": 1}, unset=["a"])
    for bad in ("a", b"a", {"a": 1}, 5):
        with pytest.raises(TypeError, match="unset takes a list"):
            store.update_metadata(["east"], unset=bad)
    for name in ("", 5, "__vecstore_x", "\ud800"):
        with pytest.raises(DocumentError):
            store.update_metadata(["east"], unset=[name])
        with pytest.raises(DocumentError):
            store.update_metadata(["east"], set={name: 1})
    with pytest.raises(TypeError, match="set takes a dict"):
        store.update_metadata(["east"], set=["a"])
    with pytest.raises(TypeError, match=r"update_metadata\(\['east'\]\)"):
        store.update_metadata("east", set={"a": 1})
    assert store.get(["east"])[0].metadata == {"n": 0, "tags": ["x", "east"]}


def test_update_values_are_not_shared(make: Make) -> None:
    store = compass(make)
    value = {"list": ["a"]}
    store.update_metadata(filter=EVERYTHING, set=value)
    value["list"].append("b")
    store.get(["east"])[0].metadata["list"].append("c")
    assert [d.metadata["list"] for d in store.scan()] == [["a"]] * 5


# --- delete, count, clear ---------------------------------------------------------------------


def test_delete_by_ids(make: Make) -> None:
    store = compass(make)
    assert store.delete(["east", "nobody", "east"]) == 1
    assert store.delete(iter(["far", "west"])) == 2
    assert store.delete([]) == 0
    assert set(ids(store.scan())) == {"north", "north-east"}
    assert store.get(["east"]) == []
    assert "east" not in ids(store.search(vector=[1, 0], top_k=9))


def test_delete_with_ids_and_filter(make: Make) -> None:
    store = compass(make)
    assert store.delete(["east", "far"], filter="n > 2") == 1
    assert store.delete(["east"], filter=EVERYTHING) == 1
    assert store.delete(["west"], filter=NOTHING) == 0
    assert set(ids(store.scan())) == {"north", "west", "north-east"}


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"ids": None},
        {"ids": None, "filter": None},
        {"filter": ""},
        {"filter": "  \n"},
        {"filter": EVERYTHING},
        {"filter": ~NOTHING},
        {"filter": "a == 1 OR b NOT IN []"},
    ],
)
def test_deleting_everything_takes_clear(make: Make, arguments: Any) -> None:
    store = compass(make)
    with pytest.raises(ValueError, match=r"clear\(\)"):
        store.delete(**arguments)
    # Before anything is joined to the filter that would make it match less.
    with pytest.raises(ValueError, match=r"clear\(\)"):
        DeleteCall.read(arguments.get("ids"), arguments.get("filter"))
    assert store.count() == 5


def test_delete_of_a_text_names_the_keyword(make: Make) -> None:
    store = compass(make)
    with pytest.raises(TypeError, match=r"delete\(filter='n == 1'\)"):
        store.delete("n == 1")
    with pytest.raises(TypeError, match=r"delete\(filter=\.\.\.\)"):
        store.delete(F.n == 1)
    assert store.count() == 5


def test_many_matching_rows(make: Make) -> None:
    store = make(letters)
    store.add(Document("ab", {"n": n}, id=f"d{n}") for n in range(3000))
    assert store.delete(filter=F.n >= 500) == 2500
    assert store.count() == 500


def test_clear(make: Make) -> None:
    store = compass(make)
    store.clear()
    assert (store.count(), list(store.scan()), store.search(vector=[1, 0])) == (0, [], [])
    store.add([Document("again", id="east", embedding=[0, 1])])
    assert ids(store.get(["east"])) == ["east"]


def test_scan(make: Make) -> None:
    store = compass(make)
    assert sorted(ids(store.scan(batch_size=2))) == sorted(VECTORS)
    iterator = store.scan("n > 2")
    assert {next(iterator).id, next(iterator).id} == {"north-east", "far"}
    with pytest.raises(StopIteration):
        next(iterator)
    with pytest.raises(ValueError, match="batch_size"):
        store.scan(batch_size=0)
    with pytest.raises(TypeError, match="batch_size"):
        store.scan(batch_size=1.5)
    with pytest.raises(TypeError, match="dict"):
        store.scan({"n": 1})  # at once, not when the first document is asked for


# --- open and closed --------------------------------------------------------------------------


def test_a_closed_store_says_so(make: Make) -> None:
    store = compass(make, embedder=letters)
    scanning = store.scan()
    next(scanning)
    store.close()
    store.close()
    for call in (
        lambda: store.add([]),
        lambda: store.search("x"),
        lambda: store.search(vector=[1, 0]),
        lambda: store.get(["east"]),
        lambda: store.update_metadata(["east"], set={"a": 1}),
        lambda: store.delete(["east"]),
        lambda: store.count(),
        lambda: store.scan(),
        lambda: store.clear(),
        lambda: store.native,
        lambda: store.__enter__(),
        lambda: next(scanning),
    ):
        with pytest.raises(StoreClosedError, match="is closed"):
            call()
    assert "closed" in repr(store)


def test_with(make: Make) -> None:
    with compass(make) as store:
        assert store.count() == 5
    with pytest.raises(StoreClosedError):
        store.count()


def test_closing_that_fails_leaves_the_store_open() -> None:
    class Stubborn(MinimalStore):
        ready = False

        def _close(self) -> None:
            if not self.ready:
                raise OSError("busy")

    store = Stubborn()
    with pytest.raises(BackendError, match="close with OSError"):
        store.close()
    assert store.count() == 0
    store.ready = True
    store.close()
    with pytest.raises(StoreClosedError):
        store.count()


def test_native(make: Make) -> None:
    store = compass(make)
    if isinstance(store, MinimalStore):
        with pytest.raises(ConfigurationError, match="no object of another library"):
            store.native
    else:
        store.delete(["east"])
        names, matrix = store.native
        assert names == ["north", "west", "north-east", "far"]
        assert matrix.tolist() == [VECTORS[name] for name in names]


def test_repr_tells_metric_and_dimension() -> None:
    assert repr(compass(SimpleVectorStore)) == "<SimpleVectorStore metric=cosine dimension=2>"


# --- the base between caller and hooks --------------------------------------------------------


class Recording(MinimalStore):
    """Compiles filters for pgvector, which it does not understand: for what happens before."""

    def _compile_filter(self, filter: Expression) -> Any:
        self.calls.append(("compile", 0))
        if "refused" in filter.to_text():
            raise UnsupportedFilterError("cannot say that", dialect="recording")
        return compile_filter(filter, "pgvector")


def test_a_refused_filter_reaches_neither_embedder_nor_engine() -> None:
    store = Recording(never)
    for call in (
        lambda f: store.search("x", filter=f),
        lambda f: store.get(filter=f),
        lambda f: store.delete(filter=f),
        lambda f: store.count(f),
        lambda f: store.scan(f),
        lambda f: store.update_metadata(filter=f, set={"a": 1}),
    ):
        store.calls.clear()
        with pytest.raises(UnsupportedFilterError, match="cannot say that"):
            call(F.refused == 1)
        assert store.calls == [("compile", 0)]


def test_a_constant_filter_never_reaches_the_engine(make: Make) -> None:
    store = Recording(never)
    assert store.search("x", filter=NOTHING) == []
    assert store.get(filter=NOTHING) == list(store.scan(NOTHING)) == []
    assert store.get(["a"], filter=NOTHING) == []
    assert store.count(NOTHING) == store.delete(filter=NOTHING) == 0
    assert store.update_metadata(filter=NOTHING, set={"a": 1}) == 0
    assert store.calls == []
    store.count(EVERYTHING)
    assert store.calls == [("scan", 1000)]  # as if there were no filter


def test_what_only_the_dialect_folds() -> None:
    class Folding(MinimalStore):
        def _compile_filter(self, filter: Expression) -> Any:
            dialect = compile_filter(
                EVERYTHING if "yes" in filter.to_text() else NOTHING, "pgvector"
            )
            assert dialect.matches_all or dialect.matches_nothing
            return dialect

    store = Folding()
    store.add([Document("", id="a", embedding=[1])])
    assert store.count(F.yes == 1) == 1
    assert store.count(F.no == 1) == 0
    assert store.delete(filter=F.no == 1) == 0
    with pytest.raises(ValueError, match=r"clear\(\)"):
        store.delete(filter=F.yes == 1)
    assert store.count() == 1


def test_ids_go_to_the_engine_in_parts() -> None:
    store = MinimalStore(letters, capabilities=StoreCapabilities(max_batch=1000))
    store.add(Document("ab", {"n": n}, id=f"d{n}") for n in range(3500))
    wanted = [f"d{n}" for n in range(3001)]
    store.calls.clear()
    assert len(store.get([*wanted, "d0", "d1"])) == 3003
    assert store.calls == [("get", 1000)] * 3 + [("get", 1)]
    store.calls.clear()
    assert store.delete([*wanted, "d0"]) == 3001
    assert store.calls == [("delete", 1000)] * 3 + [("delete", 1)]
    store.calls.clear()
    assert store.delete(filter=F.n < 3400) == 399
    assert store.calls == [("scan", 1000), ("delete", 399)]


def test_a_store_may_return_too_much_in_any_order() -> None:
    class Generous(MinimalStore):
        def _search(self, vector: Any, *, top_k: int, filter: Any, include_embedding: bool) -> Any:
            return super()._search(
                vector, top_k=top_k + 3, filter=filter, include_embedding=include_embedding
            )

    store = compass(Generous)
    assert ids(store.search(vector=[0, 1], top_k=2)) == ["far", "north"]


def test_the_hooks_get_float32_vectors(make: Make) -> None:
    class Checking(MinimalStore):
        def _search(self, vector: Any, **options: Any) -> Any:
            assert vector.dtype == np.float32
            return super()._search(vector, **options)

    compass(Checking).search(vector=np.array([1.0, 2.0]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": "hamming"}, '"cosine", "dot", "euclidean"'),
        ({"metric": None}, "metrics"),
        ({"dimension": 0}, "dimension"),
        ({"dimension": True}, "dimension"),
        ({"dimension": "3"}, "dimension"),
        ({"batching": 5}, "BatchingStrategy"),
        ({"embedder": 5}, "embed_documents"),
    ],
)
def test_settings_are_checked(options: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        MinimalStore(**options)
    with pytest.raises(TypeError, match="dimensions"):
        SimpleVectorStore(dimensions=3)  # type: ignore[call-arg]
