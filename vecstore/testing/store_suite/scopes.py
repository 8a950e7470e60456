"""Scopes: a view reaches its own documents and nothing else, whatever is asked of it."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from vecstore.document import Document
from vecstore.errors import DuplicateDocumentError, ScopeError, StoreClosedError
from vecstore.filter.builder import F
from vecstore.grammar.parser import parse
from vecstore.store.base import VectorStore
from vecstore.testing.store_suite.adding import MODES
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import TextEmbedder, vector_of

_SECRET = "of-another-tenant"

_HOSTILE = (
    "n == 1 OR tenant == 'b'",
    "n NOT IN []",
    "NOT (n IN [])",
    "tenant == 'b'",
    "tenant != 'a'",
    "NOT (tenant == 'a')",
    "tenant IS NULL OR tenant IS NOT NULL",
    "tenant IN ['a', 'b']",
    "(n == 1) OR (n == 2 OR (tenant NOT IN ['a']))",
    "n == 1 OR n != 1 AND tenant == 'a' OR tenant == 'b'",
)


class Scopes(StoreSuiteBase):
    """Tests of ``scoped``."""

    def tenants(self, store: VectorStore) -> tuple[VectorStore, VectorStore, list[Document]]:
        """Views of two tenants, and the documents of the second."""
        ours, theirs = store.scoped(F.tenant == "a"), store.scoped("tenant == 'b'")
        ours.add([self.document(f"a-{n}", {"n": n}) for n in range(3)])
        others = [
            self.document(f"b-{n}", {"n": n, "tenant": "b"}, text=f"{_SECRET} {n}")
            for n in range(3)
        ]
        theirs.add(others)
        store.add([self.document("nobody's", {"n": 1}, text=_SECRET)])
        return ours, theirs, others

    def test_a_view_reads_only_its_own(self, store: VectorStore) -> None:
        """A hook leaves ``Selection.filter`` out when ids are given: a leak between tenants."""
        ours, theirs, others = self.tenants(store)
        mine = sorted(self.ids("a-0", "a-1", "a-2"))
        assert ours.count() == theirs.count() == 3
        assert sorted(one.id for one in ours.scan()) == mine
        assert sorted(one.id for one in ours.get()) == mine
        assert sorted(one.id for one in ours.search("query", top_k=9)) == mine
        [found] = ours.search_many(["query"], top_k=9)
        assert sorted(one.id for one in found) == mine
        everyone = [*mine, *self.ids("b-0", "b-1", "b-2", "nobody's")]
        assert [one.id for one in ours.get(everyone)] == mine
        assert ours.get([one.id for one in others]) == []
        assert store.count() == 7
        for one in ours.get():
            assert one.metadata["tenant"] == "a"

    @pytest.mark.parametrize("filter", _HOSTILE)
    def test_no_filter_leads_outside(self, store: VectorStore, filter: str) -> None:
        """The scope and the filter were joined without parentheses, or the filter was widened.

        Look at how ``_compile_filter`` writes AND around an OR; a leak between tenants.
        """
        ours, theirs, others = self.tenants(store)
        if not self.answers(parse(filter)):
            return
        mine = set(self.ids("a-0", "a-1", "a-2"))
        assert {one.id for one in ours.search("query", top_k=9, filter=filter)} <= mine
        assert {one.id for one in ours.get(filter=filter)} <= mine
        assert {one.id for one in ours.scan(filter)} <= mine
        assert ours.count(filter) <= 3
        assert ours.update_metadata(filter=filter, set={"seen": True}) <= 3
        self.check_documents(theirs.get([one.id for one in others]), others)
        try:
            ours.delete(filter=filter)
        except ValueError as error:
            assert "clear()" in str(error)
        self.check_documents(theirs.get([one.id for one in others]), others)
        assert store.get(self.ids("nobody's"))

    def test_ids_outside_are_unknown(self, store: VectorStore) -> None:
        """``_delete`` or ``_update_metadata`` goes by the ids alone: a leak between tenants."""
        ours, theirs, others = self.tenants(store)
        ids = [one.id for one in others]
        assert ours.delete(ids) == 0
        assert ours.delete([*ids, self.id("a-0")]) == 1
        assert ours.update_metadata(ids, set={"n": 9}, unset=["m"]) == 0
        assert ours.delete(ids, filter="n NOT IN []") == 0
        self.check_documents(theirs.get(ids), others)

    def test_clear_clears_the_scope(self, store: VectorStore) -> None:
        """A view's ``clear`` reached ``_clear``; it deletes by filter: ``_delete_filtered``."""
        ours, theirs, others = self.tenants(store)
        with pytest.raises(ValueError, match=r"clear\(\)"):
            ours.delete(filter="n NOT IN []")
        ours.clear()
        assert ours.count() == 0
        self.check_documents(theirs.get([one.id for one in others]), others)
        assert store.count() == 4

    @pytest.mark.parametrize("mode", MODES)
    def test_an_id_owned_outside_is_refused_and_not_shown(
        self, store: VectorStore, mode: Any
    ) -> None:
        """``_add`` replaced or skipped another tenant's document, or its error shows it.

        With ``scoped_add_atomic`` declared ``_add`` looks at ``Batch.within``; an engine's error
        may quote the row.
        """
        ours, theirs, others = self.tenants(store)
        new = [self.document(name, text="new") for name in ("a-new", "b-1", "a-1")]
        with pytest.raises(ScopeError) as caught:
            ours.add(new, on_conflict=mode)
        assert list(caught.value.stored_ids) == []
        assert sorted(caught.value.failed_ids) == sorted(one.id for one in new)
        shown = "".join(traceback.format_exception(caught.value))
        assert _SECRET not in shown
        self.check_documents(theirs.get([one.id for one in others]), others)
        assert [one.text for one in ours.get(self.ids("a-new", "a-1"))] == ["text of a-1"]
        if mode == "error":
            with pytest.raises(DuplicateDocumentError) as duplicate:
                ours.add(new[::2], on_conflict=mode)
            assert duplicate.value.ids == self.ids("a-1")

    def test_many_documents_are_replaced_inside_only(self, store: VectorStore) -> None:
        """The way for large batches (COPY, bulk) forgets ``Batch.within`` or ``on_conflict``."""
        ours, theirs = store.scoped(F.tenant == "a"), store.scoped(F.tenant == "b")
        size = min(200, self.capabilities.max_batch or 200)
        documents = self.documents(size, embedded=True)
        ours.add(documents)
        assert ours.add(documents) == [one.id for one in documents]
        assert ours.add(documents, on_conflict="skip") == [one.id for one in documents]
        with pytest.raises(ScopeError):
            theirs.add([*self.documents(3, prefix="fresh", embedded=True), *documents])
        if self.capabilities.batch_atomic:
            assert theirs.count() == 0
        assert ours.count() == size

    def test_the_key_of_an_equality_is_filled_in(self, store: VectorStore) -> None:
        """The store writes a copy of the documents of its own; ``Batch.metadata`` counts."""
        view = store.scoped((F.tenant == "a") & (F.level == 2))
        document = self.document("x", {"n": 1})
        view.add([document, self.document("y", {"tenant": None, "level": 2})])
        assert document.metadata == {"n": 1}
        for one in store.get(self.ids("x", "y")):
            assert (one.metadata["tenant"], one.metadata["level"]) == ("a", 2)
        assert view.scoped(F.group == "g").add([self.document("z")]) == self.ids("z")
        (nested,) = store.get(self.ids("z"))
        assert {name: nested.metadata[name] for name in ("tenant", "level", "group")} == {
            "tenant": "a",
            "level": 2,
            "group": "g",
        }

    def test_what_does_not_belong_is_refused_before_any_write(self, store: VectorStore) -> None:
        """An ``add`` of the store's own writes before all documents are compared with the scope."""
        one = store.scoped(F.tenant == "a")
        several = store.scoped(F.tenant.in_(["a", "c"]))
        wrong: list[tuple[VectorStore, dict[str, Any]]] = [
            (one, {"tenant": "b"}),
            (one, {"tenant": 1}),
            (one, {"tenant": ["a", "b"]}),
            (several, {"tenant": "b"}),
            (several, {}),
            (one.scoped(F.tenant == "b"), {}),
        ]
        with self.no_call(store):
            for view, metadata in wrong:
                if self.held_domain.fit(metadata) != metadata:
                    continue
                with pytest.raises(ScopeError):
                    view.add([self.document("fine", {"tenant": "a"}), self.document("x", metadata)])
        assert several.add([self.document("x", {"tenant": "c"})]) == self.ids("x")
        assert one.count() == 0

    def test_update_cannot_move_a_document_out(self, store: VectorStore) -> None:
        """``_update_metadata`` goes by ids or filter alone, or changes more than was named."""
        ours, _, _ = self.tenants(store)
        few = store.scoped("tenant == 'a' AND (n == 1 OR kind == 'x')")
        with self.no_call(store):
            for set, unset in (
                ({"tenant": "b"}, []),
                ({"tenant": None}, []),
                ({}, ["tenant"]),
                ({"tenant": 1}, []),
            ):
                for selection in ({"ids": self.ids("a-0")}, {"filter": "n == 0"}):
                    with pytest.raises(ScopeError):
                        ours.update_metadata(**selection, set=set, unset=unset)
        with pytest.raises(ScopeError):
            few.update_metadata(self.ids("a-1"), set={"n": 5})
        with pytest.raises(ScopeError):
            few.update_metadata(filter="n >= 0", set={"n": 5})
        assert few.update_metadata(self.ids("a-1"), set={"n": 5, "kind": "x"}) == 1
        assert few.update_metadata(self.ids("a-1"), set={"n": 6}) == 1
        assert ours.update_metadata(self.ids("a-0"), set={"tenant": "a", "m": 1}) == 1
        assert ours.count("n == 6 AND kind == 'x'") == 1
        assert ours.count() == 3

    def test_native_and_hooks_are_out_of_reach(self, store: VectorStore) -> None:
        """A view reached the store itself: see methods that the base does not know."""
        ours = store.scoped(F.tenant == "a")
        with pytest.raises(ScopeError):
            _ = ours.native
        hooks: list[Callable[[], object]] = [
            lambda: ours._count(None),
            lambda: ours._clear(),
            lambda: ours._delete_filtered(None),
        ]
        for hook in hooks:
            with pytest.raises(ScopeError):
                hook()

    def test_closing_a_view_leaves_the_store_open(self) -> None:
        """``close`` or ``__exit__`` of the store's own is called by views, too."""
        store = self.new_store(embedder=TextEmbedder())
        with store.scoped(F.tenant == "a") as ours:
            ours.add([self.document("x")])
            scan = ours.scan()
        for call in (ours.count, lambda: list(scan), lambda: ours.native):
            with pytest.raises(StoreClosedError):
                call()
        assert "closed" in repr(ours)
        assert store.count() == 1
        other = store.scoped(F.tenant == "a")
        store.close()
        with pytest.raises(StoreClosedError):
            other.count()

    def calls(self, view: VectorStore) -> list[Callable[[], object]]:
        """Every operation once."""
        return [
            lambda: view.add(self.documents(1)),
            lambda: view.search("query"),
            lambda: view.get(self.ids("x")),
            lambda: view.update_metadata(self.ids("x"), set={"n": 1}),
            lambda: view.delete(self.ids("x")),
            lambda: view.count(),
            lambda: list(view.scan()),
            lambda: view.clear(),
        ]

    def test_a_function_is_asked_at_each_call(self, store: VectorStore) -> None:
        """The store keeps a compiled filter from call to call, under a key that is too coarse."""
        self.tenants(store)
        current: ContextVar[str] = ContextVar("current", default="a")
        view = store.scoped(lambda: F.tenant == current.get())
        assert {one.metadata["tenant"] for one in view.search("query", top_k=9)} == {"a"}
        token = current.set("b")
        assert {one.metadata["tenant"] for one in view.scan()} == {"b"}
        view.add([self.document("of b", {})])
        current.reset(token)
        assert view.get(self.ids("of b")) == []
        assert store.get(self.ids("of b"))[0].metadata["tenant"] == "b"

    def test_a_function_that_fails_is_an_error_before_any_call(self, store: VectorStore) -> None:
        """A method of the store's own calls the engine before the scope is known."""
        anything: Any = store

        async def later() -> None: ...

        def fail() -> None:
            raise LookupError("nobody is logged in")

        answers: list[Callable[[], object]] = [
            fail,
            lambda: None,
            lambda: "",
            lambda: True,
            lambda: {"tenant": "a"},
            lambda: "tenant ==",
            lambda: F.tenant.not_in([]),
            lambda: "NOT (tenant IN [])",
            lambda: "(tenant IS NOT NULL AND tenant != 'a') OR tenant IS NULL OR tenant == 'a'",
            later,
        ]
        with self.no_call(store):
            for answer in answers:
                view = anything.scoped(answer)
                calls = self.calls(view)
                for call in calls:
                    with pytest.raises(ScopeError):
                        call()
            for wrong in (None, True, {"tenant": "a"}, 5, F.tenant):
                with pytest.raises(TypeError):
                    anything.scoped(wrong)
            with pytest.raises(ScopeError):
                anything.scoped(F.tenant.not_in([]))

    def test_a_view_says_nothing_of_its_filter(self, store: VectorStore) -> None:
        """``repr``, or an error of the store's own, shows the filter that a scope adds."""
        view = store.scoped(F.tenant == _SECRET)
        shown = [repr(view)]
        for document in (self.document("x", {"tenant": "b"}), self.document("x", {"tenant": 1})):
            with pytest.raises(ScopeError) as caught:
                view.add([document])
            shown += traceback.format_exception(caught.value)
        assert not [line for line in shown if _SECRET in line and "_SECRET" not in line]
        assert self.capabilities == view.capabilities
        assert (view.metric, view.dimension) == (store.metric, store.dimension)
        view.add([self.document("mine", embedding=vector_of("a"))])
        assert store.count() == 1
