from __future__ import annotations

import copy
import gc
import math
import pickle
import random
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.embedders import Counting, answering, failing_on, letters, never
from tests.store.minimal import MinimalStore
from vecstore import (
    Added,
    BackendError,
    ConfigurationError,
    CountBatching,
    DimensionMismatchError,
    Document,
    DocumentError,
    DuplicateDocumentError,
    EmbeddingError,
    F,
    ScopeError,
    SimpleVectorStore,
    SkippedDocumentsWarning,
    StoreCapabilities,
    TokenBatching,
)
from vecstore.document import stored_document
from vecstore.store import adding
from vecstore.store.capabilities import OnConflict
from vecstore.vectors import rows_not_finite, rows_of_zeros

Make = Callable[..., Any]


def documents(count: int, start: int = 0, prefix: str = "d") -> list[Document]:
    return [
        Document("a" * (n % 7) + "b", {"n": n}, id=f"{prefix}{n}")
        for n in range(start, start + count)
    ]


def ids_of(store: Any) -> set[str]:
    return {document.id for document in store.scan()}


def test_every_document_gets_its_own_id_text_metadata_and_vector(make: Make) -> None:
    store = make(letters, batching=CountBatching(5))
    given = documents(12)
    assert store.add(given) == [f"d{n}" for n in range(12)]
    for document, stored in zip(
        given, store.get([d.id for d in given], include_embedding=True), strict=True
    ):
        expected = np.array(letters([document.text])[0], np.float32)
        assert stored == document.replace(embedding=expected)


def test_nothing_to_add(make: Make) -> None:
    store = make(never)
    assert store.add([]) == []
    assert store.add(iter(())) == []
    assert store.count() == 0


@pytest.mark.parametrize(
    "wrap", [list, tuple, iter, lambda d: (x for x in d), lambda d: dict(enumerate(d)).values()]
)
def test_documents_come_in_any_iterable(make: Make, wrap: Any) -> None:
    store = make(letters)
    assert store.add(wrap(documents(3))) == ["d0", "d1", "d2"]
    assert ids_of(store) == {"d0", "d1", "d2"}


def test_arguments_that_are_no_documents(make: Make) -> None:
    store = make(letters)
    with pytest.raises(TypeError, match=r"add\(\[document\]\)"):
        store.add(Document("x"))
    for bad in ("text", b"x", {"id": "a"}, 5, None):
        with pytest.raises(TypeError, match="add takes documents"):
            store.add(bad)
    with pytest.raises(TypeError, match="item 1 is a str"):
        store.add([Document("x"), "text"])
    with pytest.raises(TypeError, match="item 1030 is a dict"):
        store.add(iter([*documents(1030), {"text": "x"}]))
    with pytest.raises(ValueError, match='"replace", "skip" or "error"'):
        store.add(documents(1), on_conflict="update")
    with pytest.raises(TypeError, match="progress"):
        store.add(documents(1), progress=True)
    with pytest.raises(TypeError, match="upsert"):
        store.add(documents(1), upsert=True)


def test_everything_is_checked_before_the_first_write(make: Make) -> None:
    store = make(never, dimension=4)
    bad = Document("x", id="bad")
    bad.metadata["raw"] = b"x"
    with pytest.raises(DocumentError, match="'bad'") as caught:
        store.add([*documents(3000), bad])
    assert store.count() == 0
    assert caught.value.stored_ids == []
    assert len(caught.value.failed_ids) == 3001
    wrong = Document("x", id="wrong", embedding=[1, 2])
    with pytest.raises(DimensionMismatchError, match="'wrong'") as mismatch:
        store.add([*documents(3000), wrong])
    assert (mismatch.value.expected, mismatch.value.actual) == (4, 2)
    zero = Document("x", id="zero", embedding=[0, 0, 0, 0])
    with pytest.raises(DocumentError, match="'zero'"):
        store.add([*documents(3000), zero])
    assert store.count() == 0


def test_given_vectors_agree_with_each_other(make: Make) -> None:
    store = make()
    with pytest.raises(DimensionMismatchError, match="'b'"):
        store.add([Document("", id="a", embedding=[1, 2]), Document("", id="b", embedding=[1])])
    assert store.count() == 0
    assert store.dimension is None


def test_documents_with_an_embedding_are_not_embedded(make: Make) -> None:
    counting = Counting()
    store = make(counting)
    store.add(
        [
            Document("one", id="a"),
            Document("two", id="b", embedding=[1, 2, 3, 4]),
            Document("three", id="c"),
        ]
    )
    assert counting.batches == [["one", "three"]]
    assert store.get(["b"], include_embedding=True)[0].embedding.tolist() == [1, 2, 3, 4]


def test_texts_without_an_embedder(make: Make) -> None:
    store = make()
    with pytest.raises(ConfigurationError, match=r"'b'.*embedder"):
        store.add([Document("", id="a", embedding=[1, 2]), Document("x", id="b")])
    assert store.count() == 0


# --- documents that cannot be stored ----------------------------------------------------------


def spoiled(count: int, numbers: range) -> list[Document]:
    """Documents of which some hold what cannot be stored."""
    given = documents(count)
    for number in numbers:
        given[number].metadata["raw"] = b"x"
    return given


@pytest.mark.parametrize("wrap", [list, iter])
def test_all_faults_of_metadata_come_in_one_error(make: Make, wrap: Any) -> None:
    store = make(never)
    with pytest.raises(DocumentError) as caught:
        store.add(wrap(spoiled(900, range(7, 900, 3))))
    assert str(caught.value) == (
        "298 of 900 documents cannot be stored: 'd7', 'd10', 'd13' and 295 more; the first: "
        "document 'd7' cannot be stored with the key raw: bytes cannot be stored or compared; "
        'decode them to text, or encode them as base64; to store the others, write add(..., on_error="skip")'
    )
    assert (caught.value.document_id, caught.value.key) == ("d7", "raw")
    assert caught.value.faulty_ids == [f"d{n}" for n in range(7, 900, 3)]
    assert store.count() == 0


def test_faults_of_several_checks_come_in_one_error() -> None:
    store = MinimalStore(
        never, dimension=4, capabilities=StoreCapabilities(max_text_bytes=10, max_id_bytes=9)
    )
    given = [
        Document("good", id="good"),
        Document("x", id="short", embedding=[1, 2]),
        Document("x" * 11, id="text"),
        Document("x", id="i" * 10),
        Document("x", id="zeros", embedding=[0, 0, 0, 0]),
        *spoiled(1, range(1)),
    ]
    with pytest.raises(DimensionMismatchError, match="5 of 6") as caught:
        store.add(given)
    assert caught.value.faulty_ids == [one.id for one in given[1:]]
    assert store.calls == []


def test_faults_that_the_backend_finds_come_in_one_error() -> None:
    class Picky(MinimalStore):
        def _check_documents(self, documents: Any) -> None:
            for one in documents:
                one.metadata = {**one.metadata, "checked": one.metadata.get("checked", 0) + 1}
                if one.metadata.get("n", 0) % 2:
                    raise DocumentError(f"{one.id} is odd", document_id=one.id)

    store = Picky(letters)
    with pytest.raises(DocumentError, match=r"4 of 9.*'d1', 'd3', 'd5' and 1 more.*d1 is odd"):
        store.add(documents(9))
    with pytest.warns(SkippedDocumentsWarning):
        assert store.add(documents(9), on_error="skip") == ["d0", "d2", "d4", "d6", "d8"]
    assert [one.metadata["checked"] for one in store.get()] == [1] * 5


def test_a_fault_of_several_documents_together_is_told_as_it_is() -> None:
    class AtMostTwo(MinimalStore):
        def _check_documents(self, documents: Any) -> None:
            if len(documents) > 2:
                raise DocumentError("too many at once")

    with pytest.raises(DocumentError, match=r"^too many at once$"):
        AtMostTwo(letters).add(documents(3), on_error="skip")


def test_texts_too_long_for_a_batch_are_all_named(make: Make) -> None:
    batching = TokenBatching(4, reserve=0, count_tokens=len)
    store = make(letters, batching=batching)
    given = [Document("a" * length, id=f"t{length}") for length in range(1, 8)]
    with pytest.raises(DocumentError, match=r"3 of 7.*'t5', 't6' and 't7'.*tokens"):
        store.add(given)
    assert store.count() == 0
    with pytest.warns(SkippedDocumentsWarning, match="3 of 7"):
        assert store.add(given, on_error="skip") == ["t1", "t2", "t3", "t4"]


@pytest.mark.parametrize("wrap", [list, iter])
def test_what_is_left_out_is_told_once_and_points_at_the_caller(make: Make, wrap: Any) -> None:
    store = make(letters)
    given = spoiled(2500, range(0, 2500, 500))
    with pytest.warns(SkippedDocumentsWarning) as told:
        added = store.add(wrap(given), on_error="skip")
    assert added == [f"d{n}" for n in range(2500) if n % 500]
    assert ids_of(store) == set(added)
    (one,) = told
    assert one.filename == __file__
    assert "5 of 2,500 documents left out" in str(one.message)
    assert one.message.ids == [f"d{n}" for n in range(0, 2500, 500)]
    assert {error.key for error in one.message.errors} == {"raw"}


def test_a_faulty_document_counts_as_not_given(make: Make) -> None:
    store = make(letters)
    for mode in ("replace", "skip", "error"):
        bad = spoiled(1, range(1))[0]
        good = Document("good", {"mode": mode}, id="d0")
        for both in ([good, bad], [bad, good]):
            with pytest.warns(SkippedDocumentsWarning):
                assert store.add(both, on_conflict=mode, on_error="skip") == ["d0"]
            assert store.get(["d0"]) == [good]
            store.clear()


def test_a_document_without_a_vector_does_not_keep_a_later_one_out(make: Make) -> None:
    def embed(texts: list[str]) -> Any:
        return [[math.nan] * 4 if text == "bad" else [1, 2, 3, 4] for text in texts]

    store = make(embed)
    good = Document("good", id="x")
    given = [Document("bad", id="x"), *documents(1500), good]
    with pytest.warns(SkippedDocumentsWarning, match="1 of 1,502"):
        added = store.add(iter(given), on_conflict="skip", on_error="skip")
    assert store.get(["x"]) == [good]
    assert added == [one.id for one in given[1:]]


def test_a_hook_that_answers_more_than_it_was_asked_does_no_harm() -> None:
    class Generous(MinimalStore):
        def _stored_ids(self, ids: tuple[str, ...]) -> set[str]:
            return super()._stored_ids(ids) | {"another"}

    store = Generous(letters)
    view = store.scoped(F.tenant == "a")
    for _ in range(2):
        assert view.add(documents(2), on_conflict="skip") == ["d0", "d1"]
    with pytest.raises(DuplicateDocumentError) as caught:
        view.add(documents(3), on_conflict="error")
    assert caught.value.ids == ["d0", "d1"]


@pytest.mark.parametrize("policy", ["replace", "skip", "error"])
def test_a_scope_writes_over_no_record_that_is_no_document(policy: OnConflict) -> None:
    class Damaged(MinimalStore):
        """One record has an id, and nothing else that a document has: it is never read."""

        def _stored_ids(self, ids: tuple[str, ...]) -> set[str]:
            return super()._stored_ids(ids) | {"d1"}.intersection(ids)

    store = Damaged(letters)
    with pytest.raises(ScopeError, match="'d1'"):
        store.scoped(F.tenant == "a").add(documents(3), on_conflict=policy)
    assert store.rows == {}


def test_an_id_that_is_none_is_told_by_its_place(make: Make) -> None:
    store = make(letters)
    read = [stored_document(id, "x", {}) for id in ("", 7, ["a"])]  # type: ignore[arg-type]
    with pytest.raises(DocumentError, match=r"3 of 5 documents.*: item 2, item 3 and item 4; the"):
        store.add([*documents(2), *read])
    with pytest.warns(SkippedDocumentsWarning, match="item 2, item 3 and item 4") as told:
        assert store.add([*documents(2), *read], on_error="skip") == ["d0", "d1"]
    assert told[0].message.ids == []


def test_errors_that_are_kept_hold_no_document(make: Make) -> None:
    class Odd:
        pass

    document = Document("x", id="x")
    document.metadata["odd"] = Odd()
    gone = weakref.ref(document.metadata["odd"])
    with pytest.warns(SkippedDocumentsWarning) as told:
        assert make(letters).add([document], on_error="skip") == []
    (error,) = told[0].message.errors
    assert error.key == "odd"
    del document
    gc.collect()
    assert gone() is None


def test_a_blank_text_does_not_spoil_a_batch(make: Make) -> None:
    counting = Counting()
    store = make(counting, batching=CountBatching(2))
    given = [Document(text, id=f"d{n}") for n, text in enumerate(["a", "", "b", " ", "c"])]
    assert store.add(given) == ["d0", "d1", "d2", "d3", "d4"]
    assert counting.batches == [["", " "], ["a", "b"], ["c"]]


# --- duplicates and conflicts -----------------------------------------------------------------


@pytest.mark.parametrize("on_conflict", ["replace", "skip"])
@pytest.mark.parametrize("wrap", [list, iter])
def test_of_documents_with_one_id_one_is_stored(make: Make, on_conflict: str, wrap: Any) -> None:
    store = make(letters)
    # Far enough apart to fall into different windows of an iterator.
    given = [Document("old", {"v": 1}, id="x"), *documents(1500), Document("new", {"v": 2}, id="x")]
    assert store.add(wrap(given), on_conflict=on_conflict) == [d.id for d in given]
    assert store.count() == 1501
    assert store.get(["x"]) == [given[-1 if on_conflict == "replace" else 0]]


def test_ids_given_twice_are_named_before_anything_is_written(make: Make) -> None:
    store = make(never)
    given = [Document(str(n), id=f"d{n % 10}") for n in range(15)]
    with pytest.raises(DuplicateDocumentError) as caught:
        store.add(given, on_conflict="error")
    assert caught.value.ids == ["d0", "d1", "d2", "d3", "d4"]
    assert str(caught.value) == (
        "5 ids stand more than once in this call: 'd0', 'd1', 'd2' and 2 more; "
        'on_conflict="skip" keeps the first document of an id, "replace" the last'
    )
    assert list(caught.value.stored_ids) == []
    assert list(caught.value.failed_ids) == [f"d{n}" for n in range(10)]
    assert store.count() == 0


def test_of_an_iterator_the_windows_before_a_repeated_id_are_stored(make: Make) -> None:
    store = make(letters)
    given = [*documents(1500), Document("again", id="d3")]
    with pytest.raises(DuplicateDocumentError, match="'d3'") as caught:
        store.add(iter(given), on_conflict="error")
    assert caught.value.ids == ["d3"]
    assert list(caught.value.stored_ids) == [f"d{n}" for n in range(1024)]
    assert list(caught.value.failed_ids) == [f"d{n}" for n in range(1024, 1500)]
    assert store.count() == 1024


def test_a_skipped_document_that_brings_its_vector_costs_one_call() -> None:
    store = MinimalStore()
    given = [d.replace(embedding=[1, 2, 3, 4]) for d in documents(3)]
    store.add(given, on_conflict="skip")
    store.calls.clear()
    store.add(given, on_conflict="skip")
    assert [name for name, _ in store.calls] == ["add"]


def test_ids_are_looked_up_in_parts_that_the_engine_takes() -> None:
    store = MinimalStore(letters, capabilities=StoreCapabilities(max_batch=100))
    store.add(documents(150))
    store.calls.clear()
    store.add(documents(250), on_conflict="skip")
    assert store.calls == [("get", 100), ("get", 100), ("get", 50), ("add", 100)]


def test_skipped_ids_are_not_told_as_failed(make: Make) -> None:
    store = make(failing_on("bad", RuntimeError()))
    store.add(documents(2))
    with pytest.raises(EmbeddingError) as caught:
        store.add([*documents(2), Document("bad", id="bad")], on_conflict="skip")
    assert list(caught.value.failed_ids) == ["bad"]


@pytest.mark.parametrize("wrap", [list, iter])
def test_skip_leaves_what_was_stored_before(make: Make, wrap: Any) -> None:
    store = make(letters)
    before = Document("before", {"v": 0}, id="x")
    store.add([before])
    given = [Document("old", {"v": 1}, id="x"), *documents(1500), Document("new", {"v": 2}, id="x")]
    assert store.add(wrap(given), on_conflict="skip") == [d.id for d in given]
    assert store.get(["x"]) == [before]
    assert store.count() == 1501


def test_what_add_tells_is_a_list_and_stays_true() -> None:
    store = SimpleVectorStore(letters)
    store.add(documents(2))
    added = store.add(documents(3))
    assert type(added) is Added
    assert added == ["d0", "d1", "d2"]
    assert repr(added) == "['d0', 'd1', 'd2']"
    added.append("mine")
    assert (added.written, added.skipped) == (("d0", "d1", "d2"), ())
    assert added.replaced == ("d0", "d1")
    for same in (pickle.loads(pickle.dumps(added)), copy.copy(added), copy.deepcopy(added)):
        assert type(same) is Added
        assert same == added == ["d0", "d1", "d2", "mine"]
        assert (same.written, same.skipped) == (added.written, added.skipped)
        assert same.replaced == added.replaced


def test_a_document_given_again_in_a_later_window_was_not_stored_before() -> None:
    store = SimpleVectorStore(letters)
    store.add([Document("before", id="d1499")])
    added = store.add(iter([*documents(1500), Document("again", id="d3")]))
    assert added == [*(f"d{n}" for n in range(1500)), "d3"]
    assert added.written == tuple([f"d{n}" for n in range(1500)])
    assert (added.skipped, added.replaced) == ((), ("d1499",))


def test_replace_replaces_the_whole_document(make: Make) -> None:
    store = make(letters)
    store.add([Document("a", {"old": 1, "both": 1}, id="x"), Document("b", id="y")])
    store.add([Document("ccc", {"both": 2}, id="x")])
    assert store.get(["x"]) == [Document("ccc", {"both": 2}, id="x")]
    assert store.count() == 2
    assert [d.id for d in store.search("ccc", top_k=1)] == ["x"]


def test_error_writes_nothing_of_the_batch(make: Make) -> None:
    store = make(letters)
    store.add(documents(2))
    with pytest.raises(DuplicateDocumentError) as caught:
        store.add([Document("new", id="n"), *documents(2)], on_conflict="error")
    assert caught.value.ids == ["d0", "d1"]
    assert list(caught.value.stored_ids) == []
    assert list(caught.value.failed_ids) == ["n", "d0", "d1"]
    assert ids_of(store) == {"d0", "d1"}


def test_the_batches_before_a_sudden_conflict_stay_and_are_named(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make(letters, batching=CountBatching(2))
    store.add([Document("taken", id="d3")])
    monkeypatch.setattr(store, "_stored_ids", lambda ids: set())
    with pytest.raises(DuplicateDocumentError) as caught:
        store.add(documents(6), on_conflict="error")
    assert list(caught.value.stored_ids) == ["d0", "d1"]
    assert list(caught.value.failed_ids) == ["d2", "d3", "d4", "d5"]
    assert ids_of(store) == {"d0", "d1", "d3"}


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["replace", "skip", "error"]),
        st.booleans(),
        st.lists(st.sampled_from("abcdef"), max_size=8),
    ),
    max_size=6,
)


@given(ACTIONS)
def test_conflicts_against_a_dict(actions: list[tuple[Any, bool, list[str]]]) -> None:
    stores = [SimpleVectorStore(letters), MinimalStore(letters)]
    model: dict[str, int] = {}
    version = 0
    for on_conflict, as_iterator, ids in actions:
        given = []
        for id in ids:
            version += 1
            given.append(Document(f"{version}", {"v": version}, id=id))
        # Of a dict built backwards, the first of equal ids stays.
        order = reversed(given) if on_conflict == "skip" else given
        last = {d.id: d.metadata["v"] for d in order}
        clash = on_conflict == "error" and (len(last) < len(ids) or any(id in model for id in last))
        for store in stores:
            argument: Any = iter(given) if as_iterator else given
            if clash:
                with pytest.raises(DuplicateDocumentError):
                    store.add(argument, on_conflict=on_conflict)
            else:
                assert store.add(argument, on_conflict=on_conflict) == ids
        if not clash:
            keep = model if on_conflict == "skip" else {}
            model = {**model, **last, **{id: v for id, v in keep.items() if id in last}}
        for store in stores:
            assert {d.id: d.metadata["v"] for d in store.scan()} == model


# --- failures on the way ----------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [list, iter])
def test_an_embedder_that_fails_half_way(make: Make, wrap: Any) -> None:
    store = make(failing_on("bad", RuntimeError()), batching=CountBatching(2))
    given = [*documents(5), Document("bad", id="bad"), *documents(3, start=5)]
    with pytest.raises(EmbeddingError) as caught:
        store.add(wrap(given))
    assert list(caught.value.stored_ids) == ["d0", "d1", "d2", "d3"]
    assert list(caught.value.failed_ids) == ["d4", "bad", "d5", "d6", "d7"]
    assert ids_of(store) == {"d0", "d1", "d2", "d3"}


def test_of_an_iterator_the_windows_before_are_stored(make: Make) -> None:
    taken = 0

    def stream() -> Iterator[Document]:
        nonlocal taken
        for n in range(5000):
            taken = n + 1
            yield Document("bad" if n == 2000 else "ab", id=f"d{n}")

    store = make(failing_on("bad", RuntimeError()), batching=CountBatching(100))
    with pytest.raises(EmbeddingError) as caught:
        store.add(stream())
    assert list(caught.value.stored_ids) == [f"d{n}" for n in range(1924)]
    assert list(caught.value.failed_ids) == [f"d{n}" for n in range(1924, 2048)]
    assert taken == 2048  # what lies behind was not even asked for
    assert store.count() == 1924


def test_an_iterator_that_fails_itself(make: Make) -> None:
    def stream() -> Iterator[Document]:
        yield from documents(1100)
        raise LookupError("no more pages")

    store = make(letters)
    with pytest.raises(LookupError, match="no more pages") as caught:
        store.add(stream())
    assert "1,024 documents had been stored" in caught.value.__notes__[0]
    assert store.count() == 1024


def test_vectors_that_are_unusable_are_refused_by_name(make: Make) -> None:
    zero = make(answering(lambda v: [[0.0] * 4 if n == 1 else x for n, x in enumerate(v)]))
    with pytest.raises(EmbeddingError, match="'d1'") as caught:
        zero.add(documents(3))
    assert list(caught.value.failed_ids) == ["d0", "d1", "d2"]
    short = make(answering(lambda v: v[:-1]))
    with pytest.raises(EmbeddingError, match="2 vectors for 3 texts"):
        short.add(documents(3))
    assert zero.count() == short.count() == 0


@pytest.mark.parametrize("metric", ["dot", "euclidean"])
def test_a_vector_of_zeros_is_fine_where_it_has_a_score(metric: str) -> None:
    store = SimpleVectorStore(metric=metric)  # type: ignore[arg-type]
    store.add([Document("", id="z", embedding=[0, 0])])
    assert [d.id for d in store.search(vector=[0, 0])] == ["z"]


def test_a_changed_embedding_model_is_noticed(make: Make) -> None:
    store = make(letters)
    store.add(documents(2))
    with pytest.raises(DimensionMismatchError, match=r"3 dimensions.*of 4"):
        store.add([Document("", id="x", embedding=[1, 2, 3])])
    changed = make(answering(lambda v: [x[:3] for x in v]), dimension=4)
    with pytest.raises(DimensionMismatchError, match="another embedding model"):
        changed.add(documents(2))
    with pytest.raises(DimensionMismatchError, match="the query"):
        store.search(vector=[1, 2, 3])


def test_a_backend_that_fails_tells_what_was_written() -> None:
    store = MinimalStore(letters, capabilities=StoreCapabilities(max_batch=166))
    store.fail_at_add = 2
    with pytest.raises(BackendError, match="disk is full") as caught:
        store.add(documents(500))
    assert list(caught.value.stored_ids) == [f"d{n}" for n in range(256)]
    assert list(caught.value.failed_ids) == [f"d{n}" for n in range(256, 500)]
    assert store.count() == 256


def test_a_batch_that_broke_off_half_way() -> None:
    class Half(MinimalStore):
        def _add(self, batch: Any) -> Any:
            raise BackendError("lost", operation="add", stored_ids=batch.ids[:3])

    with pytest.raises(BackendError) as caught:
        Half(letters).add(documents(5))
    assert list(caught.value.stored_ids) == ["d0", "d1", "d2"]
    assert list(caught.value.failed_ids) == ["d3", "d4"]


# --- batches ----------------------------------------------------------------------------------


def test_the_engines_limit_cuts_batches() -> None:
    store = MinimalStore(letters, capabilities=StoreCapabilities(max_batch=166))
    store.add(documents(500))
    # The embedder is asked for 256 at a time; each answer is cut to what the engine takes.
    assert [size for _, size in store.calls] == [166, 90, 166, 78]
    assert store.count() == 500
    for stored in store.scan(include_embedding=True):
        assert stored.embedding.tolist() == np.float32(letters([stored.text])[0]).tolist()
    store.calls.clear()
    store.add([d.replace(embedding=[1, 2, 3, 4]) for d in documents(400)])
    assert [size for _, size in store.calls] == [166, 166, 68]


def test_the_batching_strategy_decides_what_the_embedder_gets(make: Make) -> None:
    counting = Counting()
    store = make(counting, batching=TokenBatching(10, 0, count_tokens=len))
    store.add([Document(text) for text in ("aaaaaa", "bbbb", "cc", "ccccccccc")])
    assert counting.batches == [["aaaaaa", "bbbb"], ["cc"], ["ccccccccc"]]


def test_a_document_too_large_for_a_batch_stops_the_call_before_it_starts(make: Make) -> None:
    store = make(never, batching=TokenBatching(10, 0, count_tokens=len))
    with pytest.raises(DocumentError, match="'big'"):
        store.add([Document("a", id="small"), Document("b" * 11, id="big")])
    assert store.count() == 0


def test_progress(make: Make) -> None:
    store = make(letters, batching=CountBatching(400))
    seen: list[Any] = []
    store.add(documents(1000), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(400, 1000), (800, 1000), (1000, 1000)]
    seen.clear()
    store.add(iter(documents(1500)), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(400, None), (800, None), (1024, None), (1424, None), (1500, None)]


def test_a_progress_that_raises_stops_the_call(make: Make) -> None:
    class Stop(Exception):
        pass

    def stop(done: int, total: int | None) -> None:
        raise Stop

    store = make(letters, batching=CountBatching(2))
    with pytest.raises(Stop):
        store.add(documents(6), progress=stop)
    assert store.count() == 2


# --- what is stored is out of reach -----------------------------------------------------------


def test_neither_what_was_given_nor_what_comes_back_reaches_into_the_store(make: Make) -> None:
    store = make(letters)
    document = Document("x", {"tags": ["a"], "nested": {"n": 1}}, id="x")
    store.add([document])
    document.metadata["tags"].append("b")
    document.metadata["nested"]["n"] = 2
    kept = {"tags": ["a"], "nested": {"n": 1}}
    for read in (
        lambda: store.get(["x"])[0],
        lambda: store.search("x")[0],
        lambda: next(store.scan()),
    ):
        got = read()
        assert got.metadata == kept
        got.metadata["tags"].append("c")
        got.metadata["new"] = 1
    assert store.get(["x"])[0].metadata == kept
    assert store.count(F.new.is_not_null()) == 0


def test_a_document_may_go_from_store_to_store(make: Make) -> None:
    one, two = make(letters), make(letters)
    one.add([Document("x", {"tags": ["a"]}, id="x")])
    two.add(one.scan(include_embedding=True))
    two.update_metadata(["x"], set={"moved": True})
    assert one.get(["x"])[0].metadata == {"tags": ["a"]}
    assert two.get(["x"])[0].metadata == {"tags": ["a"], "moved": True}


def test_what_others_wrote_elsewhere_spoils_no_store(tmp_path: Any) -> None:
    elsewhere = MinimalStore()
    elsewhere.rows["x"] = ("text", {"p": [1, None]}, np.array([1, 0], np.float32))
    (read,) = elsewhere.get(["x"], include_embedding=True)
    assert read.metadata == {"p": [1, None]}  # what is there is given back
    store = SimpleVectorStore()
    store.add([Document("good", {"p": [1]}, id="a", embedding=[1, 0])])
    for one in (read, *elsewhere.scan(include_embedding=True)):
        with pytest.raises(DocumentError, match=r"'x'.*key p: .*null"):
            store.add([one])
        with pytest.raises(DocumentError, match=r"'x'.*key p"):
            store.add(iter([one]))
    assert store.count("p == 1") == 1
    store.save(tmp_path / "kb.json")
    assert SimpleVectorStore().load(tmp_path / "kb.json").count() == 1


def test_metadata_put_into_a_document_afterwards_is_stored_normalised(make: Make) -> None:
    store = make(letters)
    document = Document("x", id="x")
    document.metadata["tags"] = ("b", "a")
    store.add([document])
    assert store.get(["x"])[0].metadata == {"tags": ["b", "a"]}


def test_a_large_random_mix(make: Make) -> None:
    store = make(letters, batching=CountBatching(37))
    chance = random.Random(5)
    given = [
        d.replace(embedding=[chance.random() + 0.1 for _ in range(4)])
        if chance.random() < 0.5
        else d
        for d in documents(2500)
    ]
    store.add(given)
    for document in chance.sample(given, 50):
        (stored,) = store.get([document.id], include_embedding=True)
        expected = (
            document.embedding if document.embedding is not None else letters([document.text])[0]
        )
        assert stored == document.replace(embedding=expected)


def test_vectors_that_were_brought_are_put_together_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the check and for the write; of a great many, a second time instead of all in memory."""
    stacked: list[int] = []
    real = adding._stacked

    def counted(items: Any) -> Any:
        stacked.append(len(items))
        return real(items)

    monkeypatch.setattr(adding, "_stacked", counted)
    documents = [Document("", id=str(n), embedding=[n + 1, 1]) for n in range(2_500)]
    SimpleVectorStore().add(documents)
    assert stacked == [1_024, 1_024, 452]
    stacked.clear()
    monkeypatch.setattr(adding, "_STACKED_BYTES", 1_024 * 8)
    store = SimpleVectorStore()
    # The last of two with one id comes later, so that the batches are not those of the check.
    store.add([*documents, Document("", {"last": True}, id="3", embedding=[1, 2])])
    assert sum(stacked) > 4_500
    (found,) = store.get(["3"], include_embedding=True)
    assert found.embedding is not None
    assert (found.metadata, found.embedding.tolist()) == ({"last": True}, [1.0, 2.0])
    assert store.count() == 2_500


@pytest.mark.parametrize("number", [1e-45, 1e-30, 1e-20, 1.0, 1e20, 3e38])
def test_only_zeros_are_zero_and_only_infinities_infinite(number: float) -> None:
    """Whatever the square of a number comes to in float32."""
    matrix = np.zeros((5, 3), np.float32)
    matrix[[0, 2, 4], 1] = number
    assert rows_of_zeros(matrix) == [1, 3]
    assert rows_not_finite(matrix) == []
    matrix[2, 0], matrix[3, 2] = np.inf, np.nan
    assert rows_of_zeros(matrix) == [1]
    assert rows_not_finite(matrix) == [2, 3]


def test_closed_when_all_is_stored() -> None:
    """Another thread may close the store while its last batch is written: nothing failed."""

    class ClosedMeanwhile(MinimalStore):
        def _add(self, batch: Any) -> Any:
            written = super()._add(batch)
            self._closed = True
            return written

    store = ClosedMeanwhile(dimension=2)
    assert store.add([Document("a", id="a", embedding=[1, 0])]) == ["a"]
