"""What holds the same part many times is small where it lies, and huge where it is written out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import vecstore
from vecstore import Document, DocumentError, F, SimpleVectorStore
from vecstore.extra import MAX_EXTRA_BYTES, encode_extra
from vecstore.filter.nested import short_repr, written_out
from vecstore.filter.values import (
    UnusableValue,
    clean_metadata,
    shown,
    to_metadata,
)
from vecstore.schema.inference import Inference
from vecstore.vectors import VectorFault, to_matrix, to_vector


def doubled(start: Any, hold: Callable[[Any], Any], times: int = 60) -> Any:
    """So many levels, each of which holds the one below twice: 2**60 parts, if written out."""
    for _ in range(times):
        start = hold(start)
    return start


LISTS = doubled([1], lambda inner: [inner, inner])
TUPLES = doubled((1,), lambda inner: (inner, inner))
OBJECTS = doubled({"n": 1}, lambda inner: {"a": inner, "b": inner})
HUGE = {"lists": LISTS, "tuples": TUPLES, "objects": OBJECTS}


@pytest.fixture
def store() -> SimpleVectorStore:
    store = SimpleVectorStore()
    store.add([Document("x", {"n": 1}, "a", [1, 0])])
    return store


class TestSize:
    @pytest.mark.parametrize(
        "value",
        [
            None,
            [],
            {},
            [[]],
            {"a": {}, "b": [1, [2], {"c": "d"}]},
            [["ab", "c"]] * 3,
            {"k": [{"x": 1}] * 2, "l": "text"},
            doubled([1], lambda inner: [inner, {"k": inner}], 6),
        ],
    )
    def test_of_json_is_that_of_the_text(self, value: Any) -> None:
        text = json.dumps(value, separators=(",", ":")).replace("null", "0")
        assert written_out(value, 10_000, as_json=True) == len(text)

    def test_of_values_counts_what_is_there_several_times(self) -> None:
        pair = ["a", "b"]
        assert written_out({"x": pair, "y": pair, "z": 1}, 100) == 8
        assert written_out({"x": {1, 2}, "y": (3,)}, 100) == 6

    @pytest.mark.parametrize("huge", HUGE.values(), ids=HUGE)
    @pytest.mark.parametrize("as_json", [False, True])
    def test_stops(self, huge: Any, as_json: bool) -> None:
        assert written_out(huge, 10**9, as_json=as_json) > 10**9

    def test_of_what_holds_itself(self) -> None:
        loop: list[Any] = []
        loop.append({"k": loop})
        assert written_out(loop, 10**9) > 10**9

    def test_of_a_million_levels(self) -> None:
        deep: list[Any] = []
        for _ in range(100_000):
            deep = [deep]
        assert written_out(deep, 10**6) == 100_001
        while deep:
            deep = deep[0]  # or freeing it would be what recurses


class TestShown:
    @pytest.mark.parametrize(
        "value",
        [
            "a",
            "it's",
            -1,
            1.5,
            True,
            None,
            b"x",
            (),
            (1,),
            (1, "b"),
            [1, [2, {}], set()],
            {"a": {"b": (1,)}, 2: [None]},
            {3},
            frozenset(),
            frozenset({4}),
        ],
    )
    def test_as_repr_says(self, value: Any) -> None:
        assert short_repr(value, 100) == repr(value)

    @pytest.mark.parametrize("value", ["x" * 99, ["ab"] * 99, {n: n for n in range(99)}])
    def test_cut(self, value: Any) -> None:
        assert shown(value) == repr(value)[:59] + "…"

    @pytest.mark.parametrize("huge", HUGE.values(), ids=HUGE)
    def test_what_is_huge(self, huge: Any) -> None:
        assert len(shown(huge)) == 60

    def test_integers_that_python_does_not_print(self) -> None:
        assert shown([10**5000])[:6] == "[0x31e"


class TestExtra:
    @pytest.mark.parametrize("huge", HUGE.values(), ids=HUGE)
    def test_refused(self, huge: Any) -> None:
        with pytest.raises(DocumentError, match="more than 16,777,216 bytes"):
            Document("x", id="a", extra={"k": huge})

    def test_long_texts_that_are_there_many_times(self) -> None:
        text = "x" * 10**6
        for value in ([text] * 10_000, [{text: 1}] * 10_000):
            with pytest.raises(DocumentError, match="more than 16,777,216 bytes"):
                Document("x", id="a", extra=value)

    def test_what_is_shared_and_fits_is_kept(self) -> None:
        value = doubled([1, "a"], lambda inner: [inner, inner], 12)
        assert Document("x", extra=value).extra == value
        loaded = [{"n": n, "t": "ü"} for n in range(20_000)]
        assert Document("x", extra=loaded).extra == loaded

    def test_up_to_the_last_byte(self) -> None:
        rows = [["x" * 1_000] * 100] * 160
        rest = MAX_EXTRA_BYTES - len(json.dumps(rows, separators=(",", ":"))) - 3
        assert len(encode_extra([*rows, "y" * rest], "it")) == MAX_EXTRA_BYTES
        with pytest.raises(DocumentError, match="bytes"):
            encode_extra([*rows, "y" * (rest + 1)], "it")


class TestMetadata:
    def test_refused_wherever_it_is_given(self, store: SimpleVectorStore) -> None:
        for metadata in ({"k": OBJECTS}, {"k": {"z": OBJECTS}}, OBJECTS):
            for give in (
                lambda given: Document("x", given, id="a"),
                lambda given: store.update_metadata(["a"], set=given),
                lambda given: vecstore.Schema({"n": int}, others="allow").check_metadata(given),
            ):
                with pytest.raises(DocumentError, match="more than 1,000,000 values"):
                    give(metadata)
        assert store.get(["a"])[0].metadata == {"n": 1}

    def test_changed_in_place(self, store: SimpleVectorStore) -> None:
        document = Document("x", {"n": 1}, "b", [1, 0])
        document.metadata["k"] = OBJECTS
        with pytest.raises(DocumentError, match="more than 1,000,000 values"):
            store.add([document])
        document.metadata["k"] = doubled([1], lambda inner: [inner] * 3)
        assert "[[…], […], […]]" in repr(document)

    def test_lists_that_are_there_many_times(self) -> None:
        listed = list(range(10_000))
        with pytest.raises(DocumentError, match="more than 1,000,000 values"):
            Document("x", {f"k{n}": listed for n in range(1_000)})

    def test_up_to_the_last_value(self) -> None:
        inner = {f"k{n}": n for n in range(999)}
        metadata: dict[str, Any] = {f"k{n}": inner for n in range(1_000)}
        assert to_metadata(metadata) == metadata  # 1,000 objects of 999
        with pytest.raises(UnusableValue, match="1,000,000"):
            to_metadata({**metadata, "more": 1})

    def test_cleaning_leaves_out_what_is_too_much(self) -> None:
        for bad in ("drop", "text"):
            cleaned = clean_metadata({"n": 1, "k": OBJECTS, "l": LISTS}, bad)  # type: ignore[arg-type]
            assert cleaned == {"n": 1}

    def test_a_schema_is_inferred_without_it(self) -> None:
        found = Inference.of([{"k": OBJECTS}, {"n": 1}])
        assert ["1,000,000" in told for told in found.left_out] == [True]


@pytest.mark.parametrize("huge", HUGE.values(), ids=HUGE)
class TestArguments:
    """Nothing that a caller can pass is printed, or written out, as a whole."""

    def test_vectors(self, store: SimpleVectorStore, huge: Any) -> None:
        for read in (to_vector, to_matrix):
            with pytest.raises(VectorFault):
                read(huge)
        for call in (
            lambda: store.search(vector=huge),
            lambda: store.search_many(vectors=[huge]),
            lambda: Document("x", embedding=huge),
        ):
            with pytest.raises(ValueError):
                call()

    def test_of_calls(self, store: SimpleVectorStore, huge: Any) -> None:
        for call in (
            lambda: Document("x", id=huge),
            lambda: Document("x", score=huge),
            lambda: store.add([Document("x")], on_conflict=huge),
            lambda: store.add([Document("x")], on_error=huge),
            lambda: SimpleVectorStore(dimension=huge),
            lambda: SimpleVectorStore(metric=huge),
            lambda: SimpleVectorStore(max_cost=huge),
            lambda: store.update_metadata(["a"], unset=[huge]),
            lambda: clean_metadata({}, huge),
            lambda: F.key.contains(huge),
            lambda: store.get(order_by=huge),
        ):
            with pytest.raises((ValueError, TypeError, vecstore.VecstoreError)) as caught:
                call()
            assert len(str(caught.value)) < 1_000
