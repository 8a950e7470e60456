"""Open, closed, side by side, and what a store shows of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vecstore.errors import ConfigurationError, StoreClosedError
from vecstore.store.base import VectorStore
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import TextEmbedder, vector_of


class Lifecycle(StoreSuiteBase):
    """Tests of the life of a store."""

    def test_a_closed_store_refuses_every_call(self) -> None:
        """A method of the store's own, or a scan that is left open, goes on after ``close``."""
        embedder = TextEmbedder()
        store = self.new_store(embedder=embedder)
        store.add(self.documents(3))
        scan = store.scan(batch_size=1)
        next(scan)
        embedder.forget()
        store.close()
        calls: list[Callable[[], object]] = [
            lambda: store.add(self.documents(1)),
            lambda: store.add([]),
            lambda: store.search("query"),
            lambda: store.search(vector=vector_of("a")),
            lambda: store.get(self.ids("doc-0")),
            lambda: store.get(filter="n == 1"),
            lambda: store.update_metadata(self.ids("doc-0"), set={"a": 1}),
            lambda: store.delete(self.ids("doc-0")),
            lambda: store.delete(filter="n == 1"),
            lambda: store.count(),
            lambda: list(store.scan()),
            lambda: store.clear(),
            lambda: store.native,
            lambda: store.__enter__(),
            lambda: list(scan),
        ]
        with self.no_call(store):
            for call in calls:
                with pytest.raises(StoreClosedError, match="closed"):
                    call()
        assert embedder.calls == 0
        store.close()
        assert "closed" in repr(store)

    def test_with_closes(self) -> None:
        """``__exit__`` is the store's own and does not close, or ``_close`` fails."""
        with self.new_store(embedder=TextEmbedder()) as store:
            store.add(self.documents(2))
            assert store.count() == 2
        with pytest.raises(StoreClosedError):
            store.count()

    def test_with_closes_after_an_error_and_lets_it_out(self) -> None:
        """``__exit__`` returns something true, which swallows errors, or ``_close`` raises."""
        store = self.new_store()
        with pytest.raises(KeyError), store:
            raise KeyError("of the block")
        with pytest.raises(StoreClosedError):
            store.count()

    def test_native(self, store: VectorStore) -> None:
        """The backend's own object, or an error that says there is none.

        Usually: ``_native`` returns None: leave it out where there is no object to give.
        """
        made = self.behind(store)
        try:
            assert made.native is not None
        except ConfigurationError:
            pass

    def test_two_stores_share_nothing(self) -> None:
        """``make_store`` gives two stores one place, or the store keeps state on its class."""
        first = self.new_store(embedder=TextEmbedder())
        second = self.new_store(embedder=TextEmbedder())
        documents = self.documents(6)
        first.add(documents)
        self.check_holds(second, [])
        other = self.document("doc-0", {"other": 1}, text="of the other store")
        assert second.add([other], on_conflict="error") == [other.id]
        second.update_metadata(filter="n NOT IN []", set={"m": 1})
        assert second.delete(filter="n < 6") == 0
        assert second.delete(self.ids("doc-5")) == 0
        self.check_holds(first, documents)
        assert {one.id for one in second.search("query", top_k=9)} == {other.id}
        second.clear()
        self.check_holds(first, documents)
        second.close()
        assert first.count() == 6

    def test_a_store_shows_no_secret(self) -> None:
        """``repr`` or an error shows a password, a key or the embedder: redact what they print."""
        embedder = TextEmbedder()
        store = self.new_store(embedder=embedder)
        store.add(self.documents(1))
        secrets = (embedder.api_key, *self.secrets)
        shown = [repr(store), str(store), f"{store}"]
        made = self.behind(store)
        store.close()
        shown += [repr(store), repr(made)]
        with pytest.raises(StoreClosedError) as caught:
            store.count()
        shown += [str(caught.value), repr(caught.value)]
        for secret in secrets:
            assert not [text for text in shown if secret in text]
        assert type(made).__name__ in repr(made)

    def test_options_that_no_store_takes(self) -> None:
        """``__init__`` swallows options, or keeps them from the base, which checks them."""
        for options in (
            {"metric": "manhattan"},
            {"dimension": 0},
            {"dimension": -1},
            {"dimension": "8"},
            {"dimension": True},
            {"batching": 100},
        ):
            with pytest.raises(ConfigurationError):
                self.new_store(**options)
        unknown: dict[str, Any] = {"no_such_option": 1}
        with pytest.raises(TypeError):
            self.new_store(**unknown)
