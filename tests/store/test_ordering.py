"""Orders and statistics where the engine has none: by the metadata of all that match."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from vecstore import Document, Selection, SimpleVectorStore, VectorStore
from vecstore.authoring import Position
from vecstore.store.ordering import (
    first_in_order,
    rank_of,
    read_cursor,
    read_order,
    value_of,
    write_cursor,
)
from vecstore.testing.store_suite.evaluating import Evaluating
from vecstore.testing.store_suite.ordered import Ordered
from vecstore.testing.store_suite.statistics import Statistics


class ByReading(SimpleVectorStore):
    """The store in memory with the manners of an engine that knows no order and counts nothing."""

    capabilities = replace(
        SimpleVectorStore.capabilities, native_order=False, native_statistics=False
    )
    between: Callable[[], object] | None = None

    def _held_values(self, path: Any, filter: Any) -> Any:
        return VectorStore._held_values(self, path, filter)

    def _get(self, selection: Selection, **options: Any) -> Any:
        if selection.ids is not None and self.between is not None:
            between, self.between = self.between, None
            between()
        return super()._get(selection, **options)


class TestByReading(Statistics, Ordered, Evaluating):
    chosen = (Statistics, Ordered, "test_pages_of_what_is_evaluated")

    def make_store(self, **options: Any) -> VectorStore:
        return ByReading(**options)


def filled(count: int) -> ByReading:
    store = ByReading()
    store.add([Document("text", {"n": n}, f"d{n:02d}", [1, n]) for n in range(count)])
    return store


def numbers(documents: list[Document]) -> list[int]:
    return [one.metadata["n"] for one in documents]


def test_what_changes_while_a_page_is_read_is_left_out() -> None:
    store = filled(20)

    def between() -> None:
        store.delete(["d01"])
        store.update_metadata(["d02"], set={"n": 10.5})
        store.update_metadata(["d03"], set={"m": 1})

    store.between = between
    page = store.get(order_by="n", limit=5)
    assert numbers(page) == [0, 3, 4]
    rest = store.get(order_by="n", after=page.next)
    assert numbers(rest) == [5, 6, 7, 8, 9, 10, 10.5, *range(11, 20)]


def test_a_page_of_which_all_is_gone_is_followed_by_the_next() -> None:
    store = filled(20)
    store.between = lambda: store.delete([f"d{n:02d}" for n in range(5)])
    page = store.get(order_by="n", limit=5)
    assert numbers(page) == [5, 6, 7, 8, 9]
    assert numbers(store.get(order_by="n", limit=50, after=page.next)) == [*range(10, 20)]


def test_a_page_holds_no_more_than_it_has() -> None:
    """Texts are read of those that it returns, and of no others."""
    store = filled(3_000)
    read: list[str] = []
    real = store._get
    store._get = lambda selection, **options: (
        read.extend(selection.ids)
        or real(  # type: ignore[assignment,func-returns-value]
            selection, **options
        )
    )
    assert numbers(store.get(order_by="-n", limit=3)) == [2_999, 2_998, 2_997]
    assert len(read) == 3


_VALUES: tuple[Any, ...] = (
    *(False, True, 0, 0.0, -0.0, 1, 1.0, -5, 2**70, 2**53, 2.0**53, 2**53 + 1, 1e300, 5e-324),
    *("", "a", "A", "b", "\U0001f600", "\uffff", None, [1], ["a"], {"k": 1}),
)


def test_many_places_at_once_are_those_of_their_ranks() -> None:
    random = Random(5)
    for _ in range(1_500):
        size = random.randrange(12)
        few = random.sample(_VALUES, random.choice((2, 5, len(_VALUES))))
        values = random.choices(few, k=size)
        ids = random.sample([f"{n:02d}" for n in range(40)], size)
        order = read_order(random.choice(("k", "-k", "id", "-id")))
        held = [None if order.path is None else value_of({"k": one}, order) for one in values]
        if random.random() < 0.7:
            value = None if order.path is None else value_of({"k": random.choice(few)}, order)
            place = Position(value, random.choice([*ids, "20"]))
            order = replace(order, after=place)
        limit = random.choice((None, 1, 2, 3, 20))
        begin = None if order.after is None else rank_of(order.after, order)
        ranks = [rank_of(Position(value, id), order) for value, id in zip(held, ids, strict=True)]
        wanted = [n for n in range(size) if begin is None or begin < ranks[n]]
        wanted.sort(key=ranks.__getitem__)
        found = first_in_order(values, ids, order, limit)
        assert found == wanted[:limit], (values, ids, order, limit)


def test_a_cursor_is_a_place_and_says_of_which_order() -> None:
    store = filled(5)
    page = store.get(order_by="-n", limit=2)
    assert page.next is not None
    order = read_order("-n")
    position = read_cursor(page.next, order)
    assert (position.value, position.id) == (3, "d03")
    assert write_cursor(position, order) == page.next
    # An int and a float of one value are one place, and so are the two zeros.
    zero = read_cursor(write_cursor(replace(position, value=-0.0), order), order)
    assert str(zero.value) == "0.0"


@pytest.mark.parametrize(
    ("order_by", "meant", "key"),
    [
        ("n desc", "-n", '"n desc"'),
        ("author.name DESC", "-author.name", '"author.name DESC"'),
        ("n ASC", "n", '"n ASC"'),
        ("+n", "n", '"+n"'),
        ("--n", "n", '"-n"'),
    ],
)
def test_a_direction_as_others_write_it_is_no_key(order_by: str, meant: str, key: str) -> None:
    store = filled(5)
    with pytest.raises(ValueError, match="for the largest first") as caught:
        store.get(order_by=order_by)
    assert f"order_by={meant!r}" in str(caught.value)
    assert repr(key) in str(caught.value)
    # Who has such a key quotes it, and a cursor says so too.
    page = store.get(order_by=key, limit=1)
    assert [one.id for one in store.get(order_by=key, limit=1, after=page.next)] == ["d01"]


def test_a_key_deeper_than_any_metadata_is_refused() -> None:
    """Tens of thousands of names would take an engine past the end of its stack."""
    store = filled(2)
    deep = ".".join(["a"] * 65)
    calls: list[Callable[[str], object]] = [
        lambda key: store.get(order_by=key),
        lambda key: store.get(order_by=f"-{key}"),
        store.distinct,
        store.minmax,
        lambda key: store.distinct(key.split(".")),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"the key has 65 names, .* at most 64 levels"):
            call(deep)
        call(deep.removesuffix(".a"))


@pytest.mark.parametrize(
    ("order_by", "right"), [("a.b-c", '"a.b-c"'), ("-k0.5", '-"k0.5"'), ("a.b.", '"a.b."')]
)
def test_what_is_no_key_is_told_with_a_form_that_order_by_takes(order_by: str, right: str) -> None:
    store = filled(2)
    with pytest.raises(ValueError, match="is no key as a filter writes it") as caught:
        store.get(order_by=order_by)
    assert str(caught.value).endswith(f"order_by={right!r}")
    assert len(store.get(order_by=right)) == 2
