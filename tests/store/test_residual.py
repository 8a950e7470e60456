"""``residual="evaluate"`` on stores: options, limits, windows, changes in between, what is told."""

from __future__ import annotations

import asyncio
import pickle
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from tests.store.minimal import MinimalStore
from tests.store.refusing import on_key, refusing
from vecstore import (
    FALSE,
    TRUE,
    BackendError,
    ConfigurationError,
    Document,
    F,
    FilterLimitError,
    FilterTypeError,
    MilvusStore,
    QdrantStore,
    ResidualWarning,
    Schema,
    ScopeError,
    SearchRequest,
    Selection,
    SimpleVectorStore,
    StoreCapabilities,
    UnsupportedFilterError,
    VectorStore,
    open_store,
)
from vecstore.store.options import RESIDUAL_LIMIT
from vecstore.store.ranking import scores

quiet = pytest.mark.filterwarnings("ignore::vecstore.ResidualWarning")

VECTORS = np.random.default_rng(5).normal(size=(300, 4)).astype(np.float32)


def filled(store: Any, count: int = 100) -> Any:
    """A store with numbered documents, which refuses every comparison of ``n``."""
    store.add(
        [
            Document(f"text {n}", {"n": n, "even": n % 2 == 0}, f"{n:03}", VECTORS[n])
            for n in range(count)
        ]
    )
    return refusing(store, on_key("n"))


def memory(count: int = 100, **options: Any) -> Any:
    return filled(SimpleVectorStore(**options), count)


def numbers(documents: Iterable[Document]) -> list[int]:
    return [int(document.id) for document in documents]


def best(count: int, wanted: Callable[[int], bool], probe: Any = VECTORS[200]) -> list[int]:
    """The numbers of the nearest documents by cosine."""
    rows = VECTORS[:count].astype(float)
    found = rows @ probe.astype(float) / np.linalg.norm(rows, axis=1)
    return sorted(filter(wanted, range(count)), key=lambda n: -found[n])


# --- options ------------------------------------------------------------------------------------


def test_by_default_a_store_refuses() -> None:
    store = memory()
    assert (store.residual, store.residual_limit) == ("refuse", RESIDUAL_LIMIT)
    with pytest.raises(UnsupportedFilterError):
        store.count("n > 50")


@quiet
def test_a_store_that_evaluates_and_calls_that_say_otherwise() -> None:
    store = memory(residual="evaluate", residual_limit=None)
    assert (store.residual, store.residual_limit) == ("evaluate", None)
    assert store.count("n > 50") == 49
    with pytest.raises(UnsupportedFilterError):
        store.count("n > 50", residual="refuse")
    with pytest.raises(FilterLimitError):
        store.count("n > 50", residual_limit=99)
    view = store.scoped(F.even == True)  # noqa: E712
    assert (view.residual, view.residual_limit) == ("evaluate", None)
    assert view.count("n > 50") == 24
    with pytest.raises(UnsupportedFilterError):
        view.get(filter="n > 50", residual="refuse")
    assert memory().count("n > 50", residual="evaluate") == 49


@quiet
def test_a_search_request_carries_them() -> None:
    store = memory()
    request = SearchRequest(
        vector=VECTORS[200], filter="n >= 90", residual="evaluate", residual_limit=100
    )
    assert "residual='evaluate', residual_limit=100" in repr(request)
    assert request != SearchRequest(vector=VECTORS[200], filter="n >= 90")
    wanted = best(100, lambda n: n >= 90)[:4]
    assert numbers(store.search(request)) == wanted
    plain = SearchRequest(vector=VECTORS[200], filter="even == true", top_k=2)
    found, others = store.search_many([request, plain])
    assert numbers(found) == wanted
    assert numbers(others) == best(100, lambda n: n % 2 == 0)[:2]
    with pytest.raises(TypeError, match="carries everything"):
        store.search(request, residual="evaluate")


@pytest.mark.parametrize("wrong", ["Evaluate", "", True, 1, None, ["evaluate"]])
def test_what_is_no_mode_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match='residual is "refuse" or "evaluate"'):
        SimpleVectorStore(residual=wrong)
    with pytest.raises(ConfigurationError, match='residual is "refuse" or "evaluate"'):
        open_store("memory:", residual=wrong)
    if wrong is not None:
        store: Any = memory()
        for call in _calls(store, residual=wrong):
            with pytest.raises(ValueError, match='residual is "refuse" or "evaluate"'):
                call()


@pytest.mark.parametrize("wrong", [0, -1, True, 2.5, "5"])
def test_what_is_no_limit_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="residual_limit is a whole number from 1 on"):
        SimpleVectorStore(residual_limit=wrong)
    store: Any = memory()
    for call in _calls(store, residual="evaluate", residual_limit=wrong):
        with pytest.raises((TypeError, ValueError), match="residual_limit"):
            call()


def _calls(store: Any, **options: Any) -> list[Callable[[], Any]]:
    aio = store.aio
    vector = VECTORS[200]
    return [
        lambda: store.search(vector=vector, filter="n > 1", **options),
        lambda: store.search_many(vectors=[vector], filter="n > 1", **options),
        lambda: store.get(filter="n > 1", **options),
        lambda: store.scan("n > 1", **options),
        lambda: store.count("n > 1", **options),
        lambda: store.delete(filter="n > 1", **options),
        lambda: store.update_metadata(filter="n > 1", set={"a": 1}, **options),
        lambda: asyncio.run(aio.search(vector=vector, filter="n > 1", **options)),
        lambda: asyncio.run(aio.search_many(vectors=[vector], filter="n > 1", **options)),
        lambda: asyncio.run(aio.get(filter="n > 1", **options)),
        lambda: aio.scan("n > 1", **options),
        lambda: asyncio.run(aio.count("n > 1", **options)),
        lambda: asyncio.run(aio.delete(filter="n > 1", **options)),
        lambda: asyncio.run(aio.update_metadata(filter="n > 1", set={"a": 1}, **options)),
    ]


@quiet
@pytest.mark.parametrize("number", range(14))
def test_each_method_takes_them(number: int) -> None:
    store = memory()
    call = _calls(store, residual="evaluate", residual_limit=500)[number]
    found = call()
    if hasattr(found, "__aiter__"):

        async def taken() -> list[Document]:
            return [document async for document in found]

        found = asyncio.run(taken())
    elif not isinstance(found, int | list):
        found = list(found)
    assert found == 98 or len(found) in (1, 4, 98)


def test_an_address_says_so(tmp_path: Path) -> None:
    store = open_store("memory:?residual=evaluate&metric=dot&residual_limit=7")
    assert (store.residual, store.residual_limit, store.metric) == ("evaluate", 7, "dot")
    store = open_store("memory:?residual=evaluate", residual="refuse", residual_limit=3)
    assert (store.residual, store.residual_limit) == ("refuse", 3)
    for address in ("memory:?residual=yes", "memory:?residual_limit=x", "memory:?residual_limit=0"):
        with pytest.raises(ConfigurationError, match="residual"):
            open_store(address)
    with open_store(f"qdrant:{tmp_path}/q?collection=c&residual=evaluate", dimension=2) as made:
        assert isinstance(made, QdrantStore)
        again = pickle.loads(pickle.dumps(made))
        assert again.residual == "evaluate"
        again.close()


# --- searching ----------------------------------------------------------------------------------


class Windowed(MinimalStore):
    """Returns few documents of a search, and none that is not asked for."""

    def __init__(self, window: int | None = 50, **options: Any) -> None:
        exact = options.pop("exact", True)
        super().__init__(
            capabilities=StoreCapabilities(
                max_top_k=window, exact_topk=exact, filtered_count=not exact
            ),
            **options,
        )


@quiet
@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_past_the_window_of_the_engine_documents_are_scored_here(
    metric: Literal["cosine", "dot", "euclidean"],
) -> None:
    class Scoring(SimpleVectorStore):
        capabilities = StoreCapabilities(max_top_k=40, exact_topk=True, filtered_count=True)

    store = filled(Scoring(metric=metric), 200)
    whole = SimpleVectorStore(metric=metric)
    whole.add([one.replace(score=None) for one in store.get(include_embedding=True)])
    order = [one.id for one in whole.search(vector=VECTORS[250], top_k=200)]
    far = {int(id) for id in order[-6:]}  # far behind the window
    condition = F.n.in_(sorted(far))
    options: Any = {"vector": VECTORS[250], "filter": condition, "residual": "evaluate"}
    found = store.search(top_k=4, **options)
    alone = whole.search(vector=VECTORS[250], top_k=4, filter=condition)
    assert [one.id for one in found] == [one.id for one in alone] == order[-6:-2]
    for one, other in zip(found, alone, strict=True):
        assert one.score == pytest.approx(other.score, rel=1e-6, abs=1e-6)
        assert one.embedding is None
    held = store.search(top_k=6, offset=2, include_embedding=True, **options)
    assert [one.id for one in held] == order[-4:]
    assert all(one.embedding is not None for one in held)
    lowest = alone[1].score
    assert lowest is not None
    assert [one.id for one in store.search(top_k=4, threshold=lowest, **options)] == order[-6:-4]
    many = store.search_many(
        vectors=VECTORS[250:254], top_k=4, filter=condition, residual="evaluate"
    )
    wanted = whole.search_many(vectors=VECTORS[250:254], top_k=4, filter=condition)
    assert [[one.id for one in part] for part in many] == [
        [one.id for one in part] for part in wanted
    ]


@quiet
def test_equal_scores_past_the_window_are_ordered_by_id() -> None:
    store = Windowed(window=10, dimension=2)
    store.add(
        [Document("", {"n": n % 50}, f"{n:03}", [1.0 + n % 3, 0.0]) for n in reversed(range(100))]
    )
    refusing(store, on_key("n"))
    found = store.search(vector=[1, 0], top_k=5, filter="n >= 45", residual="evaluate")
    assert numbers(found) == [45, 46, 47, 48, 49]


@quiet
@pytest.mark.parametrize("window", [None, 1_000])
def test_a_search_asks_for_more_until_enough_match(window: int | None) -> None:
    store: Any = filled(Windowed(window=window), 300)
    far = set(best(300, lambda n: True)[-3:])
    store.calls.clear()
    found = store.search(
        vector=VECTORS[200], top_k=3, filter=F.n.in_(sorted(far)), residual="evaluate"
    )
    assert set(numbers(found)) == far
    asked = [size for name, size in store.calls if name == "search"]
    # Few steps, each several times as far as the one before.
    assert len(asked) <= 4
    assert all(later >= 2 * sooner for sooner, later in pairwise(asked))
    store.calls.clear()
    store.search(vector=VECTORS[200], top_k=3, filter="n >= 0", residual="evaluate")
    assert [size for name, size in store.calls if name == "search"] == [38]


@quiet
def test_a_threshold_ends_a_search() -> None:
    store: Any = filled(Windowed(), 300)
    store.calls.clear()
    options: Any = {"vector": VECTORS[200], "filter": "n == 1000", "residual": "evaluate"}
    assert store.search(threshold=0.999, **options) == []
    assert [name for name, _ in store.calls] == ["search"]


class Short(Windowed):
    """An index that is approximate: of a search it finds no more than ten documents."""

    def _search(self, vector: Any, *, top_k: int, filter: Any, include_embedding: bool) -> Any:
        return super()._search(
            vector, top_k=min(top_k, 10), filter=filter, include_embedding=include_embedding
        )


@quiet
def test_an_approximate_index_that_comes_back_short_is_not_the_end() -> None:
    store: Any = filled(Short(window=None, exact=False), 100)
    wanted = best(100, lambda n: n >= 90)
    found = store.search(vector=VECTORS[200], top_k=8, filter="n >= 90", residual="evaluate")
    assert numbers(found) == wanted[:8]
    # Where no more documents are there than it found, it is.
    few: Any = filled(Short(window=None, exact=False), 8)
    assert numbers(
        few.search(vector=VECTORS[200], top_k=8, filter="n >= 3", residual="evaluate")
    ) == best(8, lambda n: n >= 3)


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_own_scores_are_those_of_the_store_in_memory(metric: Any) -> None:
    store = SimpleVectorStore(metric=metric)
    store.add([Document("", {}, f"{n}", row) for n, row in enumerate(VECTORS)])
    found = {int(one.id): one.score for one in store.search(vector=VECTORS[7], top_k=300)}
    for n, score in enumerate(scores(VECTORS, VECTORS[7], metric)):
        assert score == pytest.approx(found[n], rel=1e-6, abs=1e-6)
    zeros = np.zeros((1, 4), np.float32)
    assert np.isfinite(scores(zeros, VECTORS[7], metric)).all()


# --- limits -------------------------------------------------------------------------------------


@quiet
def test_past_the_limit_an_error_says_what_it_cost() -> None:
    store = memory(200)
    with pytest.raises(FilterLimitError) as caught:
        store.count("n > 50 AND even == true", residual="evaluate", residual_limit=99)
    text = str(caught.value)
    assert "memory cannot answer > on key n: this test has it refused" in text
    assert "count would have to look at 100 documents; none was looked at" in text
    assert "residual_limit=990" in text
    assert "n > 50 AND" in text
    assert "^^^^^^" in text
    assert caught.value.limit == "residual_limit"
    # Where nobody counts ahead, as far as it came.
    uncounted: Any = filled(MinimalStore(), 200)
    for read in (
        lambda: uncounted.count("n >= 90", residual="evaluate", residual_limit=100),
        lambda: uncounted.get(filter="n >= 90", residual="evaluate", residual_limit=100),
        lambda: list(uncounted.scan("n >= 90", residual="evaluate", residual_limit=100)),
    ):
        with pytest.raises(FilterLimitError, match="has looked at 101 documents, of which 10"):
            read()
    assert len(uncounted.get(filter="n >= 90", residual="evaluate", residual_limit=200)) == 110


@quiet
def test_what_ends_early_needs_no_room() -> None:
    store = memory(300)
    options: Any = {"residual": "evaluate", "residual_limit": 50}
    assert len(store.get(filter="n >= 0", limit=20, **options)) == 20
    assert len(store.search(vector=VECTORS[0], top_k=10, filter="n >= 0", **options)) == 10
    assert numbers(store.get(["007", "010"], filter="n > 8", **options)) == [10]
    with pytest.raises(FilterLimitError, match="51 documents, of which 0 matched"):
        store.get(filter="n > 250", limit=20, **options)
    with pytest.raises(FilterLimitError, match="51 documents"):
        store.search(vector=VECTORS[0], filter="n == -1", **options)
    with pytest.raises(FilterLimitError, match="would have to look at 60 documents"):
        store.delete([f"{n:03}" for n in range(60)], filter="n > 8", **options)
    assert store.count() == 300


def test_the_error_of_a_limit_is_told_before_a_scan_begins() -> None:
    store = memory()
    with pytest.raises(FilterLimitError):
        store.scan("n > 1", residual="evaluate", residual_limit=5)


# --- filters that come again ---------------------------------------------------------------------


@quiet
def test_a_filter_that_comes_again_is_taken_apart_once() -> None:
    store = memory(residual="evaluate")
    asked: list[str] = []
    real = store._compile_filter

    def counting(filter: Any) -> Any:
        asked.append(filter.to_text())
        return real(filter)

    store._compile_filter = counting
    view = store.scoped(F.even == True)  # noqa: E712
    asked.clear()
    for made in (store, view):
        filter = (F.n > 50) & F.a.is_null()
        wanted = made.count(filter)
        first = len(asked)
        asked.clear()
        assert [made.count(filter), len(made.get(filter=filter))] == [wanted, wanted]
        assert first > 3
        # The wider one, and nothing else.
        assert len(asked) == 2
        assert len({*asked}) == 1
        asked.clear()
        with pytest.raises(UnsupportedFilterError):
            made.count(filter, residual="refuse")
        with pytest.raises(FilterLimitError):
            made.count(filter, residual_limit=2)
        asked.clear()


@quiet
def test_what_a_store_learns_meanwhile_counts() -> None:
    store = memory(residual="evaluate")
    filter = (F.n > 50) & (F.even == True)  # noqa: E712
    assert store.count(filter) == 24
    refusing(store, on_key("even"))
    assert store.count(filter) == 24
    told = store.explain(filter)
    assert (len(told.answered), len(told.evaluated)) == (0, 2)


def test_a_refusal_says_how_to_have_it_evaluated() -> None:
    store = memory()
    with pytest.raises(UnsupportedFilterError) as caught:
        store.count("n > 1")
    [note] = caught.value.__notes__
    assert note.startswith('residual="evaluate", of this call or of the store')
    with pytest.raises(ScopeError) as scope:
        store.scoped("n > 1")
    assert not hasattr(scope.value, "__notes__")


@quiet
def test_constants_are_no_reason_to_evaluate() -> None:
    store = memory(residual="evaluate")
    assert store.count(TRUE) == 100
    assert store.count(FALSE & (F.n > 1)) == 0
    assert store.count(TRUE & (F.n > 1)) == 98
    assert str(store.explain(TRUE)) == "memory answers the whole filter"


@pytest.mark.heavy
@quiet
@pytest.mark.parametrize("kind", ["memory", "qdrant"])
def test_searches_while_others_write(kind: str) -> None:
    """Each document that is found matches as it was found, whatever it became since."""
    store = filled(SimpleVectorStore() if kind == "memory" else _qdrant(), 200)
    store._set_up(residual="evaluate", residual_limit=None)
    stop = threading.Event()
    failures: list[BaseException] = []

    def writing(first: int) -> None:
        try:
            for turn in range(10**6):
                if stop.is_set():
                    return
                ids = [f"{n:03}" for n in range(first, 200, 20)]
                store.update_metadata(ids, set={"n": turn % 3, "even": turn % 3 == 0})
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=writing, args=(n,)) for n in (0, 7)]
    for thread in threads:
        thread.start()
    try:
        for number in range(60):
            for found in (
                store.search(vector=VECTORS[number], top_k=9, filter="n < 2 AND even == true"),
                store.get(filter="n < 2 AND even == true"),
            ):
                assert all(one.metadata["n"] < 2 and one.metadata["even"] for one in found)
            assert store.count("n >= 0") == 200
            store.delete(filter="n < -1")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert store.count() == 200
    store.close()


# --- what is never evaluated --------------------------------------------------------------------


@quiet
def test_schema_and_budget_come_first() -> None:
    store = memory(residual="evaluate", schema=Schema({"n": int, "even": bool}))
    with pytest.raises(FilterTypeError, match="evn"):
        store.count("n > 1 AND evn == true")
    assert store.count("n > 1") == 98
    store = memory(residual="evaluate", max_cost=3)
    with pytest.raises(FilterLimitError, match="max_cost"):
        store.count("n > 1 AND even == true AND a == 1 AND b == 2")
    with pytest.raises(ValueError, match=r"clear\(\)"):
        store.delete(filter="n > 1 OR n NOT IN []")
    assert store.count("n > 1 AND n IN []") == 0


def test_other_errors_of_a_hook_are_what_they_are() -> None:
    class Odd(SimpleVectorStore):
        def _compile_filter(self, filter: Any) -> Any:
            raise KeyError("odd")

    with pytest.raises(BackendError, match="KeyError"):
        Odd(residual="evaluate").count("n > 1")


@quiet
def test_what_the_collection_keeps_elsewhere_is_a_mistake() -> None:
    from vecstore.dialects.qdrant.layout import PayloadLayout

    layout = PayloadLayout(id="key", text="body", metadata="")
    store = QdrantStore("c", location=":memory:", dimension=4, layout=layout, residual="evaluate")
    store.add([Document("x", {"t": "a"}, "1", VECTORS[0])])
    assert store.count("t > 'M'") == 1
    with pytest.raises(UnsupportedFilterError, match="keeps the text of documents there"):
        store.count("t > 'M' AND body == 'x'")
    store.close()


@quiet
def test_a_scope_is_asked_whole_or_refused_with_the_reason() -> None:
    store = memory(residual="evaluate")
    with pytest.raises(ScopeError, match="> on key n: this test has it refused") as caught:
        store.scoped("n > 5")
    assert "nothing of a scope is left to be evaluated" in str(caught.value)
    asking = store.scoped(lambda: F.n > 5)
    with pytest.raises(ScopeError) as told:
        asking.count()
    # Whoever calls inside of one learns nothing of its filter.
    assert "key n" not in str(told.value)
    view = store.scoped(F.even == True)  # noqa: E712
    seen: list[Any] = []
    real = store._scan_metadata
    store._scan_metadata = lambda filter, **o: seen.append(filter) or real(filter, **o)
    assert view.count("n > 5 OR even == false") == 47
    assert seen[0].to_text() == "even == true"


@quiet
def test_a_scope_that_leaves_no_room_is_still_asked() -> None:
    """A limit of the whole filter takes parts of the filter away, and nothing of the scope."""
    store = SimpleVectorStore(residual="evaluate")
    store.add(
        [Document("", {"a": n % 2, "b": n % 3, "c": n}, f"{n:03}", [1, 0]) for n in range(30)]
    )
    real = store._compile_filter

    def at_most_two(filter: Any) -> Any:
        if sum(1 for _ in filter.walk()) > 3:
            raise UnsupportedFilterError(dialect="memory", reason="it joins two comparisons")
        return real(filter)

    store._compile_filter = at_most_two
    seen: list[Any] = []
    scan = store._scan_metadata
    store._scan_metadata = lambda filter, **o: seen.append(filter) or scan(filter, **o)
    view = store.scoped(F.a == 1)
    assert view.count("b == 1 AND c > 9") == 3
    assert seen[0].to_text() in ("a == 1 AND b == 1", "a == 1 AND c > 9")
    assert view.scoped(F.b == 1).count("c > 9 AND c < 20") == 2
    assert seen[1].to_text() == "a == 1 AND b == 1"
    with pytest.raises(UnsupportedFilterError, match="joins two"):
        view.scoped(F.b == 1).scoped(F.c > 9).count("c < 20")


# --- changes in between -------------------------------------------------------------------------


def _qdrant() -> Any:
    return QdrantStore("c", location=":memory:", dimension=4)


def _milvus(folder: Path) -> Any:
    return MilvusStore("c", uri=str(folder / "m.db"), dimension=4)


@quiet
@pytest.mark.parametrize("kind", ["memory", "minimal", "qdrant", "milvus"])
def test_what_no_longer_matches_is_left_alone(kind: str, tmp_path: Path) -> None:
    made: dict[str, Callable[[], Any]] = {
        "memory": SimpleVectorStore,
        "minimal": MinimalStore,
        "qdrant": _qdrant,
        "milvus": lambda: _milvus(tmp_path),
    }
    store = filled(made[kind](), 20)
    plain = store._update_metadata

    def after_a_change(hook: Any) -> Any:
        """The hook, before which another writer changes a document that was selected."""

        def judged(*arguments: Any, **options: Any) -> Any:
            plain(plain_selection(("004",)), set={"n": 400}, unset=())
            return hook(*arguments, **options)

        return judged

    store._update_judged = after_a_change(store._update_judged)
    assert store.update_metadata(filter="n < 6", set={"seen": 1}, residual="evaluate") == 5
    assert sum("seen" in one.metadata for one in store.scan()) == 5
    [moved] = store.get(["004"])
    assert moved.metadata == {"n": 400, "even": True}
    plain(plain_selection(("004",)), set={"n": 4}, unset=())
    store._delete_judged = after_a_change(store._delete_judged)
    assert store.delete(filter="n < 6", residual="evaluate") == 5
    assert numbers(sorted(store.scan(), key=lambda one: one.id)) == [4, *range(6, 20)]
    store.close()


def plain_selection(ids: tuple[str, ...]) -> Selection:
    return Selection(ids=ids)


@quiet
@pytest.mark.parametrize("kind", ["memory", "qdrant", "milvus"])
def test_nobody_writes_between_the_look_and_the_deletion(kind: str, tmp_path: Path) -> None:
    made: dict[str, Callable[[], Any]] = {
        "memory": SimpleVectorStore,
        "qdrant": _qdrant,
        "milvus": lambda: _milvus(tmp_path),
    }
    store = filled(made[kind](), 20)
    lock = store._table.lock if kind == "memory" else store._call.exclusive
    free: list[bool] = []

    def others_try() -> None:
        got = lock.acquire(blocking=False)
        free.append(got)
        if got:
            lock.release()

    def judge(metadata: Mapping[str, Any]) -> bool:
        thread = threading.Thread(target=others_try)
        thread.start()
        thread.join()
        return bool(metadata["n"] < 3)

    selection = plain_selection(("001", "002", "007"))
    assert store._update_judged(selection, judge, set={"a": 1}, unset=()) == 2
    assert store._delete_judged(selection, judge) == 2
    assert free == [False] * 6
    store.close()


@quiet
def test_an_interrupted_deletion_tells_what_is_left() -> None:
    class Small(SimpleVectorStore):
        capabilities = StoreCapabilities(max_batch=10)

        def _delete_judged(self, selection: Any, judge: Any) -> int:
            if selection.ids[0] == "020":
                raise KeyboardInterrupt
            return super()._delete_judged(selection, judge)

    store = filled(Small(), 50)
    with pytest.raises(KeyboardInterrupt) as caught:
        store.delete(filter="n < 45", residual="evaluate")
    [note] = caught.value.__notes__
    assert "delete had done 20 documents of 45 before" in note
    assert store.count() == 30

    class Failing(Small):
        def _delete_judged(self, selection: Any, judge: Any) -> int:
            if selection.ids[0] == "020":
                raise RuntimeError("the line is cut")
            return SimpleVectorStore._delete_judged(self, selection, judge)

    store = filled(Failing(), 50)
    with pytest.raises(BackendError) as failed:
        store.delete(filter="n < 45", residual="evaluate")
    assert failed.value.failed_ids == [f"{n:03}" for n in range(20, 45)]
    assert store.count() == 30


@quiet
def test_an_awaited_call_that_is_left_reads_no_further() -> None:
    reached = threading.Event()
    go_on = threading.Event()
    looked: list[int] = []

    class Slow(SimpleVectorStore):
        def _scan_metadata(self, filter: Any, *, batch_size: int) -> Any:
            for number in range(10_000):
                if number == 600:
                    reached.set()
                    go_on.wait(60)
                looked.append(number)
                yield f"{number}", {"n": number}

    store = refusing(Slow(), on_key("n"))

    async def left() -> None:
        task = asyncio.ensure_future(
            store.aio.count("n > 1", residual="evaluate", residual_limit=10**6)
        )
        await asyncio.to_thread(reached.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        await store.aio.close()

    asyncio.run(left())
    assert len(looked) < 2_000


# --- what is told -------------------------------------------------------------------------------


def test_a_warning_for_each_shape_and_no_more_than_a_store_can_keep() -> None:
    store = memory(residual="evaluate")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        store.count("n > 1")
        store.count("n > 2")
        store.get(filter="n > 5 AND even == true")
    [warning] = told
    assert warning.filename == __file__
    assert str(warning.message) == (
        "memory cannot answer > on key n: vecstore evaluates that part of the filter on each of "
        '100 documents, as residual="evaluate" asks for (told once for filters of this shape)'
    )
    with pytest.warns(ResidualWarning, match=r"each of 50 documents that the rest of it leaves"):
        store.count("n < 5 AND even == true")
    store = refusing(SimpleVectorStore(residual="evaluate"), lambda atom: True)
    with warnings.catch_warnings(record=True) as told_all:
        warnings.simplefilter("always")
        for number in range(200):
            store.count(F[f"key {number}\n\x1b[31m"] == "a secret")
    texts = [str(one.message) for one in told_all]
    assert len(texts) == 65
    assert texts[-1].endswith("(no further shape is told of)")
    assert not any("secret" in text or "\x1b" in text or "\n" in text for text in texts)
    assert len(store._told_shapes) == 65


def test_where_warnings_are_errors_the_filter_is_refused() -> None:
    store = memory(residual="evaluate")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(UnsupportedFilterError, match="key n"):
                store.count("n > 1")
    with pytest.warns(ResidualWarning):
        assert store.count("n > 1") == 98


class Noting:
    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def start(self, operation: str, attributes: Mapping[str, Any]) -> Any:
        told: dict[str, Any] = {}
        self.told.append((operation, told))
        return told

    def note(self, started: Any, attributes: Mapping[str, Any]) -> None:
        started.update(attributes)

    def end(self, started: Any, *, duration: float, error: BaseException | None) -> None:
        started["ended"] = error


@quiet
def test_observers_are_told_how_many_documents_were_looked_at() -> None:
    noting = Noting()
    store = memory(observers=[noting])
    noting.told.clear()
    store.count("n >= 90 AND even == true", residual="evaluate")
    store.search(vector=VECTORS[200], top_k=4, filter="n >= 0", residual="evaluate")
    scan = store.scan("n < 7", residual="evaluate")
    assert "ended" not in noting.told[2][1]
    assert len(list(scan)) == 7
    with pytest.raises(FilterLimitError):
        store.search(vector=VECTORS[0], filter="n < 0", residual="evaluate", residual_limit=40)
    store.count()
    store.delete(filter="n < 7 AND even == true", residual="evaluate")
    prefix = "vecstore.residual."
    found = [
        (name, *[told.get(prefix + one) for one in ("clauses", "documents", "matched")])
        for name, told in noting.told
    ]
    assert found == [
        ("count", 1, 50, 5),
        ("search", 1, 40, 4),
        ("scan", 1, 100, 7),
        ("search", 1, 41, 0),
        ("count", None, None, None),
        ("delete", 1, 50, 4),
    ]


@quiet
def test_an_observer_that_fails_when_noting_changes_nothing() -> None:
    class Failing(Noting):
        def note(self, started: Any, attributes: Mapping[str, Any]) -> None:
            raise RuntimeError("no")

    store = memory(observers=[Failing()])
    assert store.count("n >= 90", residual="evaluate") == 10


@quiet
def test_an_observer_that_changes_what_it_is_told_changes_it_for_no_other() -> None:
    class Emptying(Noting):
        def start(self, operation: str, attributes: Any) -> Any:
            told = super().start(operation, attributes)
            attributes.clear()
            return told

        def note(self, started: Any, attributes: Any) -> None:
            attributes.clear()

    class Starting(Noting):
        def start(self, operation: str, attributes: Any) -> Any:
            told = super().start(operation, attributes)
            told.update(attributes)
            return told

    other = Starting()
    store = memory(observers=[Emptying(), other])
    assert store.count("n >= 90", residual="evaluate") == 10
    operation, told = other.told[-1]
    assert operation == "count"
    assert told["db.system.name"] == "memory"
    assert told["vecstore.residual.clauses"] == 1


# --- explain ------------------------------------------------------------------------------------


def test_explain_says_who_answers_what() -> None:
    store = memory()
    told = store.explain("n > 5 AND even == true AND a IS NULL")
    assert str(told) == (
        "memory answers 2 clauses (even == true, a IS NULL), vecstore 1 clause (n > 5); of 100 "
        "documents it will look at about 50"
    )
    assert told.reasons == ("memory cannot answer > on key n: this test has it refused",)
    whole = store.explain("even == true AND a IS NULL")
    assert (str(whole), len(whole.answered)) == ("memory answers the whole filter", 2)
    assert store.explain().answered == ()
    alone = store.explain("n > 5 OR even == true")
    assert str(alone) == (
        "memory answers no clause whole, vecstore 1 clause ((n > 5 OR even == true)); of 100 "
        "documents it will look at about 100"
    )
    view = store.scoped(F.even == True)  # noqa: E712
    assert (view.explain("n > 5").documents, view.explain("n > 5").looked_at) == (50, 50)
    uncounted: VectorStore = filled(MinimalStore(), 20)
    assert str(uncounted.explain("n > 5")).endswith("vecstore 1 clause (n > 5)")
    assert asyncio.run(store.aio.explain("n > 5")).looked_at == 100
    with pytest.raises(TypeError, match=r"write filter="):
        store.explain(filters="n > 5")


# --- what is read -------------------------------------------------------------------------------


@quiet
def test_for_a_count_qdrant_reads_neither_texts_nor_vectors() -> None:
    store = filled(_qdrant(), 20)
    read: list[tuple[Any, Any]] = []
    client = store.native
    real = client.scroll

    def scroll(*arguments: Any, **options: Any) -> Any:
        points, following = real(*arguments, **options)
        read.extend((point.payload.get("text"), point.vector) for point in points)
        return points, following

    client.scroll = scroll
    assert store.count("n > 5", residual="evaluate") == 14
    assert read == [(None, None)] * 20
    store.close()


@quiet
def test_a_qdrant_id_that_stands_twice_goes_by_the_point() -> None:
    """Others wrote two points with one id, of which one matches."""
    from qdrant_client import models

    from vecstore.dialects.qdrant.layout import PayloadLayout

    layout = PayloadLayout(id="key", text="body", metadata="meta")
    store = QdrantStore("c", location=":memory:", dimension=4, layout=layout, residual="evaluate")
    client = store.native
    client.upsert(
        "c",
        [
            models.PointStruct(
                id=number,
                vector=VECTORS[number].tolist(),
                payload={"key": "same", "body": "", "meta": {"t": text}},
            )
            for number, text in ((1, "a"), (2, "z"))
        ],
    )
    assert store.delete(filter="t > 'm'") == 1
    assert [one.metadata for one in store.scan()] == [{"t": "a"}]
    store.close()
