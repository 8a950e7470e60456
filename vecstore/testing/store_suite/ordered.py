"""``get(order_by=...)``: one order on every store, and pages that others' writing does not move."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from functools import cmp_to_key
from typing import Any

import pytest

from vecstore.filter.builder import F
from vecstore.filter.text import key_text
from vecstore.filter.tree import Expression
from vecstore.store.base import VectorStore
from vecstore.testing.rows import oracle
from vecstore.testing.samples import ODD_KEYS, ODD_PATHS, PATHS
from vecstore.testing.store_suite.base import Library, StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.ranking import ids_of

_PATHS: tuple[tuple[str, ...], ...] = (("k",), ("x",), *PATHS[:2], ODD_PATHS[3], ("nowhere",))


class Ordered(StoreSuiteBase):
    """Tests of documents in the order of a key."""

    def test_documents_come_in_order(self, library: Library) -> None:
        """``_get_ordered`` has another order than the rules: of kinds, of texts, of what is absent.

        Usually: a collation; True among the numbers; large integers as floats; lists entered.
        """
        source = self.random_cases(51)
        filters: list[Expression | None] = [None, source.filter(1), source.filter(2)]
        odd = [(key,) for key in ODD_KEYS[::9]]
        for number, path in enumerate((*_PATHS, *odd)):
            for falling in (False, True):
                filter = filters[number % 3]
                order_by = f"{'-' * falling}{key_text(path)}"
                wanted = self._wanted(library, path, falling, filter)
                found = library.store.get(filter=filter, order_by=order_by)
                assert ids_of(found) == wanted, f"{order_by}: {filter}"
                assert found.next is None
                few = library.store.get(filter=filter, order_by=order_by, limit=5)
                assert ids_of(few) == wanted[:5], f"{order_by}, limit 5: {filter}"
                assert (few.next is None) is (len(wanted) <= 5)

    def test_ordered_pages_follow_each_other(self, library: Library) -> None:
        """A page begins behind the value of the last document, and not behind its id, too.

        Then documents of equal values are lost, or come twice; also those without a value.
        """
        source = self.random_cases(52)
        for path, size, filter in (
            (("k",), 50, None),
            (("x",), 7, source.filter(1)),
            (("n", "k"), 80, None),
            (("nowhere",), 90, None),
        ):
            for falling in (False, True):
                order_by = f"{'-' * falling}{key_text(path)}"
                seen = self._paged(library.store, order_by, size, filter)
                wanted = self._wanted(library, path, falling, filter)
                assert seen == wanted, f"{order_by}, pages of {size}: {filter}"

    def test_the_order_of_ids(self, library: Library) -> None:
        """Ids are ordered by code point, as texts; an engine orders what it makes of them."""
        wanted = sorted(library.rows)
        for size in (60, 1_000):
            assert self._paged(library.store, "id", size) == wanted
            assert self._paged(library.store, "-id", size) == wanted[::-1]

    def test_values_of_every_kind_in_order(self, store: VectorStore) -> None:
        """False, true, numbers, texts, and then what has no order, by id, in both directions."""
        low, high = self.held_domain.integers or (-(10**30), 10**30)
        low, high = max(low, -(10**30)), min(high, 10**30)
        values: list[Any] = [
            False,
            True,
            low,
            low + 1,
            -0.5,
            0,
            1,
            1.0,
            high - 1,
            high,
            "",
            "A",
            "a",
        ]
        rest: list[Any] = [None, ["a"], {"a": 1}, []]
        rows = [self.held_domain.fit({"v": value}) for value in (*values, *rest)]
        names = [f"{number:02d}" for number in range(len(rows))]
        ids = self.ids(*names)
        store.add([self.document(name, row) for name, row in zip(names, rows, strict=True)][::-1])
        # Of equal values the smaller id comes first, in both directions.
        same = sorted(ids[6:8])
        rising = [*ids[:6], *same, *ids[8 : len(values)]]
        falling = [*ids[len(values) - 1 : 7 : -1], *same, *ids[5::-1]]
        last = sorted(ids[len(values) :])
        for size in (1, 4, 30):
            assert self._paged(store, "v", size) == [*rising, *last]
            assert self._paged(store, "-v", size) == [*falling, *last]

    def test_a_page_is_of_whole_documents(self, store: VectorStore) -> None:
        """Documents of a page are those of ``get``: with text and metadata, and without a score."""
        documents = self.documents(6)
        store.add(documents)
        page = store.get(order_by="-n", limit=4)
        self.check_documents(page, documents[:1:-1])
        assert [(one.score, one.embedding) for one in page] == [(None, None)] * 4
        [last] = store.get(order_by="n", filter="n > 4", include_embedding=True)
        assert last.embedding is not None
        assert store.get(order_by="n", limit=0) == []
        self.embedder.forget()
        store.get(order_by="id")
        assert self.embedder.calls == 0

    def test_pages_while_others_write(self, store: VectorStore) -> None:
        """Pages are counted from the beginning: what is added or deleted before moves the rest.

        Whoever is not changed comes once; a page goes on behind a place, whatever is there now.
        """
        documents = self.documents(40, embedded=True)
        store.add(documents)
        seen: list[str] = []
        page = store.get(order_by="n", limit=6)
        seen += ids_of(page)
        last = page[-1].id
        store.delete([last, *seen[:2]])
        before = [
            self.document(f"before-{n}", {"n": n - 9}, embedding=vector_of("b")) for n in range(9)
        ]
        store.add([*before, self.document("later", {"n": 1_000}, embedding=vector_of("l"))])
        store.update_metadata(self.ids("doc-30"), set={"n": 2_000})
        store.update_metadata(self.ids("doc-31"), set={"n": -1})
        while page.next is not None:
            page = store.get(order_by="n", limit=6, after=page.next)
            seen += ids_of(page)
        expected = [f"doc-{n}" for n in range(40) if n not in (30, 31)]
        assert seen == self.ids(*expected, "later", "doc-30")

    def test_pages_inside_a_scope(self, store: VectorStore) -> None:
        """A place is none of a scope: with another tenant's cursor one sees one's own documents."""
        store.add(
            [
                self.document(f"{who}-{n}", {"who": who, "n": n})
                for n in range(8)
                for who in ("ours", "theirs")
            ]
        )
        view = store.scoped(F.who == "ours")
        assert self._paged(view, "n", 3) == self.ids(*[f"ours-{n}" for n in range(8)])
        theirs = store.scoped(F.who == "theirs").get(order_by="n", limit=5)
        later = view.get(order_by="n", after=theirs.next)
        assert {one.metadata["who"] for one in later} == {"ours"}
        assert {5, 6, 7} <= {one.metadata["n"] for one in later} <= {4, 5, 6, 7}

    def test_what_is_no_cursor_is_refused(self, store: VectorStore) -> None:
        """A method of the store's own reads cursors; those of strangers hold anything."""
        store.add(self.documents(5))
        anything: Any = store
        page = store.get(order_by="n", limit=2)
        cursor = page.next
        assert cursor is not None
        assert cursor.isascii()
        hostile = [
            "",
            "x",
            cursor[:-3],
            cursor[2:],
            cursor.swapcase(),
            cursor + cursor,
            "é" * 8,
            "' OR 1=1 --",
            _made(b"[" * 100_000),
            _made(b'["n", NaN, "a"]'),
            _made(b'["n", 1e999, "a"]'),
            _made(b'["n", ' + b"9" * 5_000 + b', "a"]'),
            _made(b'["n", 1]'),
            _made(b'["n", [1], "a"]'),
            _made(b'["n", {"a": 1}, "a"]'),
            _made(b'["n", 1, 2]'),
            _made(b'["n", 1, ""]'),
            _made(b'["n", 1, "\\u0000"]'),
            _made(b'["n", "\\ud800", "a"]'),
            _made(b'{"n": 1}'),
            _made(b"\xff\xfe"),
        ]
        with self.no_call(store):
            for wrong in hostile:
                with pytest.raises(ValueError, match=r"\.next"):
                    anything.get(order_by="n", after=wrong)
            for order_by in ("-n", "id", "m", "n.n", '"n.n"', "-id"):
                with pytest.raises(ValueError, match="order"):
                    anything.get(order_by=order_by, after=cursor)
            others: list[Any] = [1, b"x", page, page[-1], {"after": 1}]
            for other in others:
                with pytest.raises(TypeError):
                    anything.get(order_by="n", after=other)
        # Another value, made by a stranger, is a place like any other.
        texts = _made(json.dumps(["n", "x' OR 1=1 --", "a"], separators=(",", ":")).encode())
        assert anything.get(order_by="n", after=texts) == []
        assert len(anything.get(order_by="n", after=_made(b'["n",true,"a"]'))) == 5

    def test_what_is_no_order_is_refused(self, store: VectorStore) -> None:
        """A method of the store's own takes an order, or leaves it aside where ids are given."""
        anything: Any = store
        with self.no_call(store):
            for wrong in (1, ["n"], F.n, b"n", True):
                with pytest.raises(TypeError):
                    anything.get(order_by=wrong)
            for unusable in ("", "-", "a..b", "__vecstore_x", "--a.b", "\0"):
                with pytest.raises(ValueError, match="order_by"):
                    anything.get(order_by=unusable)
            with pytest.raises(ValueError, match="ids"):
                anything.get(self.ids("doc-1"), order_by="n")
            with pytest.raises(ValueError, match="order"):
                anything.get(after="x")
            with pytest.raises(ValueError, match="limit"):
                anything.get(order_by="n", limit=-1)

    # --- comparing --------------------------------------------------------------------------

    def _paged(
        self, store: VectorStore, order_by: str, size: int, filter: Expression | None = None
    ) -> list[str]:
        __tracebackhide__ = True
        page = store.get(order_by=order_by, limit=size, filter=filter)
        seen = ids_of(page)
        while page.next is not None:
            assert len(page) == size, "a page is not full, and no document was deleted"
            page = store.get(order_by=order_by, limit=size, filter=filter, after=page.next)
            assert page, "an empty page, which was announced"
            seen += ids_of(page)
        return seen

    def _wanted(
        self,
        library: Library,
        path: tuple[str, ...],
        falling: bool,
        filter: Expression | None,
    ) -> list[str]:
        matching = [*library.rows] if filter is None else oracle(filter, library.rows)
        values = {id: _ordered_value(self.stored(library.rows[id]), path) for id in matching}

        def compare(one: str, other: str) -> int:
            left, right = values[one], values[other]
            if left is not None and right is not None and left != right:
                smaller = left < right
                return -1 if smaller is not falling else 1
            if (left is None) is not (right is None):
                return 1 if left is None else -1
            return -1 if one < other else 1

        return sorted(matching, key=cmp_to_key(compare))


def _ordered_value(row: Mapping[str, Any], path: tuple[str, ...]) -> tuple[int, Any] | None:
    value: Any = row
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, bool):
        return 0, value
    if isinstance(value, int | float):
        return 1, value
    return (2, value) if isinstance(value, str) else None


def _made(content: bytes) -> str:
    """A cursor as somebody makes it who has read how they are made."""
    data = zlib.crc32(content).to_bytes(4, "big") + content
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
