"""Filters that the engine answers in part: ``residual="evaluate"`` gives what the rules say.

Whatever a store's dialect answers, these tests have it refuse more: comparisons that are chosen by
their text. So they run on every store, also on one that refuses nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from vecstore.document import Document
from vecstore.errors import FilterLimitError, ScopeError, UnsupportedFilterError, VecstoreError
from vecstore.filter.builder import F
from vecstore.filter.normalize import simplified
from vecstore.filter.tree import LOGICAL, Expression
from vecstore.store.base import VectorStore
from vecstore.store.residual import ResidualWarning
from vecstore.testing.rows import oracle
from vecstore.testing.store_suite.base import Library, StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.ranking import check_ranking, check_same_results, ids_of

_EVALUATE: Any = {"residual": "evaluate", "residual_limit": 100_000}

quiet = pytest.mark.filterwarnings("ignore::vecstore.ResidualWarning")


def refuse_more(store: Any, refuses: Callable[[Expression], bool]) -> None:
    """Have the dialect of a store refuse comparisons besides, from now on."""
    real = store._compile_filter

    def hook(filter: Expression) -> Any:
        simple = simplified(filter)
        for node in () if isinstance(simple, bool) else simple.walk():
            if node.op not in LOGICAL and refuses(node):
                raise UnsupportedFilterError(
                    dialect=store.name,
                    op=node.written_op,
                    key=str(node.key),
                    reason="this test has it refused",
                    span=node.span,
                )
        return real(filter)

    store._compile_filter = hook


class Evaluating(StoreSuiteBase):
    """Tests of ``residual="evaluate"``."""

    @contextmanager
    def refusing(
        self, store: VectorStore, refuses: Callable[[Expression], bool]
    ) -> Iterator[list[Expression]]:
        """Inside the block the store's dialect also refuses comparisons of which that is true.

        What it was asked for, and answered, is in the list that is given.
        """
        behind: Any = self.behind(store)
        real = behind._compile_filter
        asked: list[Expression] = []

        def noting(filter: Expression) -> Any:
            compiled = real(filter)
            asked.append(filter)
            return compiled

        behind._compile_filter = noting
        refuse_more(behind, refuses)
        try:
            yield asked
        finally:
            del behind._compile_filter

    @quiet
    def test_what_is_evaluated_selects_the_same(self, library: Library) -> None:
        """Documents come back with other metadata than the engine filters by.

        Look at how rows are read: what the base evaluates is the ``metadata`` of documents from
        ``_get``, ``_scan`` and ``_search``, and that of ``_scan_metadata``.
        """
        source = self.random_cases(21)
        exact = self.scores(library.query, library.vectors)
        evaluated = 0
        for number in range(12):
            filter = source.filter(number % 3 + 1)
            wanted = oracle(filter, library.rows)
            with self.refusing(library.store, _one_in_three) as asked:
                evaluated += self._selects(library, filter, wanted, exact)
            assert filter not in asked or not _any_refused(filter)
        assert evaluated, "none of these filters was answered in part"

    def _selects(
        self, library: Library, filter: Expression, wanted: set[str], exact: dict[str, float]
    ) -> bool:
        __tracebackhide__ = True
        store, query = library.store, library.query
        shown = filter.to_text()
        assert {one.id for one in store.get(filter=filter, **_EVALUATE)} == wanted, shown
        scanned = ids_of(store.scan(filter, **_EVALUATE))
        assert sorted(scanned) == sorted(wanted), f"scan: {shown}"
        textless = list(store.scan(filter, text=False, **_EVALUATE))
        assert sorted(ids_of(textless)) == sorted(wanted), f"scan(text=False): {shown}"
        assert not any(one.text for one in textless)
        assert store.count(filter, **_EVALUATE) == len(wanted), f"count: {shown}"
        few = store.get(filter=filter, limit=3, **_EVALUATE)
        assert len(few) == min(3, len(wanted)), f"get with a limit: {shown}"
        assert {one.id for one in few} <= wanted
        ids = sorted(library.rows)[::2]
        kept = store.get(ids, filter=filter, **_EVALUATE)
        assert ids_of(kept) == [id for id in ids if id in wanted], f"get by ids: {shown}"
        found = store.search(vector=query, top_k=7, filter=filter, **_EVALUATE)
        among = {id: exact[id] for id in wanted}
        ties = self.capabilities.exact_topk
        check_ranking(found, among, 7, exact_ties=ties)
        if found:
            later = store.search(vector=query, top_k=4, offset=3, filter=filter, **_EVALUATE)
            check_same_results(later, found[3:7])
            lowest = found[len(found) // 2].score
            [above] = store.search_many(
                vectors=[query], top_k=7, threshold=lowest, filter=filter, **_EVALUATE
            )
            half = len(found) // 2 + 1
            check_same_results(above[:half], found[:half])
        return _any_refused(filter)

    @quiet
    def test_statistics_of_what_is_evaluated(self, store: VectorStore) -> None:
        """``_scan_metadata`` gives other metadata than the engine filters by.

        What is evaluated reads it, whatever the engine has for statistics.
        """
        rows = [{"n": number, "a": number % 3} for number in range(30)]
        store.add([self.document(f"doc-{row['n']}", row) for row in rows])
        with self.refusing(store, lambda atom: atom.key.path == ("n",)):
            filter = "n >= 20 AND a > 0"
            found = store.distinct("n", filter, **_EVALUATE)
            assert [one.value for one in found] == [20, 22, 23, 25, 26, 28, 29]
            assert store.minmax("n", filter, **_EVALUATE).numbers == (20, 29)
            assert store.fields(filter, **_EVALUATE)["n"].documents == 7
            for ask in (
                lambda **options: store.distinct("n", filter, **options),
                lambda **options: store.minmax("n", filter, **options),
                lambda **options: store.fields(filter, **options),
            ):
                with pytest.raises(UnsupportedFilterError, match="key n"):
                    ask()
                with pytest.raises(FilterLimitError, match="residual_limit"):
                    ask(residual="evaluate", residual_limit=5)

    @quiet
    def test_pages_of_what_is_evaluated(self, store: VectorStore) -> None:
        """``_get`` by ids and the wider filter gives other documents than ``_scan_metadata``."""
        rows = [{"n": number, "a": number % 3} for number in range(30)]
        store.add([self.document(f"doc-{row['n']}", row) for row in rows])
        with self.refusing(store, lambda atom: atom.key.path == ("n",)):
            options: Any = {"filter": "n >= 20 AND a > 0", "order_by": "-n", "limit": 3}
            page = store.get(**options, residual="evaluate", residual_limit=30)
            seen = [one.metadata["n"] for one in page]
            while page.next is not None:
                page = store.get(after=page.next, **options, **_EVALUATE)
                seen += [one.metadata["n"] for one in page]
            assert seen == [29, 28, 26, 25, 23, 22, 20]
            with pytest.raises(UnsupportedFilterError, match="key n"):
                store.get(**options)
            with pytest.raises(FilterLimitError, match="residual_limit"):
                store.get(**options, residual="evaluate", residual_limit=5)

    @quiet
    def test_a_search_goes_on_until_enough_match(self, store: VectorStore) -> None:
        """``_search`` gives fewer than ``top_k`` documents although there are more that match."""
        documents = self.documents(150, embedded=True)
        query = vector_of("query")
        exact = self.scores(query, {one.id: one.embedding for one in documents})  # type: ignore[misc]
        best = sorted(exact, key=lambda id: -exact[id])
        # What is looked for comes last, behind a hundred documents that the engine has to pass.
        last = set(best[-5:])
        store.add([one.replace(metadata={"last": one.id in last, "n": 1}) for one in documents])
        with self.refusing(store, lambda atom: atom.key.path == ("last",)):
            options: Any = {**_EVALUATE, "filter": (F.last == True) & (F.n == 1)}  # noqa: E712
            found = store.search(vector=query, top_k=5, **options)
            check_ranking(found, {id: exact[id] for id in last}, 5, exact_ties=True)
            assert ids_of(store.search(vector=query, top_k=2, offset=2, **options)) == best[-3:-1]
            far = store.search(vector=query, top_k=5, threshold=exact[best[20]], **options)
            assert far == []
            wide = store.search(
                vector=query, top_k=min(100, self.most_found), include_embedding=True, **options
            )
            assert ids_of(wide) == best[-5:]
            assert all(one.embedding is not None for one in wide)

    @quiet
    def test_what_is_deleted_and_changed_by_evaluating(self, store: VectorStore) -> None:
        """The wider filter reached ``_delete_filtered`` or ``_update_metadata``: others go, too.

        ``_delete_judged`` and ``_update_judged`` take what meets ids, filter and judge.
        """
        documents = self.documents(40)
        store.add([one.replace(metadata={**one.metadata, "a": 1}) for one in documents])
        with self.refusing(store, lambda atom: atom.key.path == ("n",)):
            changed = store.update_metadata(filter="n >= 30 AND a == 1", set={"a": 2}, **_EVALUATE)
            assert changed == 10
            some = self.ids("doc-1", "doc-2", "doc-35", "nobody")
            assert store.update_metadata(some, filter="n < 2", unset=["a"], **_EVALUATE) == 1
            assert (
                store.delete(self.ids("doc-3", "doc-4", "doc-39"), filter="n < 4", **_EVALUATE) == 1
            )
            assert store.delete(filter="n >= 25 AND a == 1", **_EVALUATE) == 5
            assert store.delete(filter="n == 7 OR a == 2 AND n > 37", **_EVALUATE) == 3
            assert store.delete(filter="n > 1000", **_EVALUATE) == 0
            one, two = self.ids("doc-10", "doc-11")
            told = store.delete([two, one], filter="n == 10", return_ids=True, **_EVALUATE)
            assert told == [one]
            assert store.delete(filter="n == 11", return_ids=True, **_EVALUATE) == [two]
        left = {
            one.id: {**one.metadata, "a": 2 if one.metadata["n"] >= 30 else 1}
            for one in documents
            if one.metadata["n"] not in {3, 7, 10, 11, 25, 26, 27, 28, 29, 38, 39}
        }
        del left[self.id("doc-1")]["a"]
        found = {one.id: one.metadata for one in store.scan()}
        assert found.keys() == left.keys()
        for id, metadata in left.items():
            self.check_metadata(found[id], metadata, id)

    @quiet
    def test_by_itself_a_filter_is_refused(self, store: VectorStore) -> None:
        """A hook answers a filter in part, or by itself: refuse it in ``_compile_filter``."""
        store.add(self.documents(3))
        selections: list[Callable[[], object]] = [
            lambda: store.search("query", filter="n > 1"),
            lambda: store.search_many(["query"], filter="n > 1"),
            lambda: store.get(filter="n > 1"),
            lambda: list(store.scan("n > 1")),
            lambda: store.count("n > 1"),
            lambda: store.delete(filter="n > 1"),
            lambda: store.update_metadata(filter="n > 1", set={"a": 1}),
        ]
        with self.refusing(store, lambda atom: atom.key.path == ("n",)):
            for select in selections:
                with pytest.raises(UnsupportedFilterError, match="key n"):
                    select()
        assert store.count() == 3

    @quiet
    def test_how_many_documents_are_looked_at(self, store: VectorStore) -> None:
        """``_count`` counts other documents than the filter selects, or reads what it need not."""
        store.add(
            [one.replace(metadata={"n": n, "a": n % 2}) for n, one in enumerate(self.documents(30))]
        )
        with self.refusing(store, lambda atom: atom.key.path == ("n",)):
            self._is_limited(store, "n >= 0", 30)
            self._is_limited(store, "n >= 0 AND a == 1", 15)
            options: Any = {"residual": "evaluate", "residual_limit": 20}
            with pytest.raises(FilterLimitError, match="has looked at 21 documents"):
                store.search("query", filter="n == 1000", **options)
            assert len(store.search("query", top_k=5, filter="n >= 0", **options)) == 5
        assert store.count() == 30

    def _is_limited(self, store: VectorStore, filter: str, looked_at: int) -> None:
        __tracebackhide__ = True
        options: Any = {"residual": "evaluate", "residual_limit": looked_at}
        assert store.count(filter, **options) == looked_at
        assert len(store.get(filter=filter, **options)) == looked_at
        assert store.update_metadata(filter=filter, set={"b": 1}, **options) == looked_at
        less: Any = {"residual": "evaluate", "residual_limit": looked_at - 1}
        selections: list[Callable[[], object]] = [
            lambda: store.count(filter, **less),
            lambda: store.get(filter=filter, **less),
            lambda: list(store.scan(filter, **less)),
            lambda: store.delete(filter=filter, **less),
            lambda: store.update_metadata(filter=filter, set={"b": 1}, **less),
        ]
        for select in selections:
            with pytest.raises(FilterLimitError, match=r"key n.*residual_limit") as caught:
                select()
            assert caught.value.limit == "residual_limit"

    @quiet
    def test_a_scope_goes_to_the_engine_as_it_is(self, store: VectorStore) -> None:
        """A hook asks the engine for more than it was given: a leak between tenants."""
        ours, theirs = store.scoped(F.tenant == "a"), store.scoped(F.tenant == "b")
        ours.add(self.documents(6, prefix="ours"))
        theirs.add(self.documents(6, prefix="theirs"))
        mine = sorted(self.ids(*[f"ours-{n}" for n in range(6)]))
        hostile = "n >= 0 OR tenant == 'b'"
        with self.refusing(store, lambda atom: atom.key.path == ("n",)):
            assert sorted(ids_of(ours.get(filter=hostile, **_EVALUATE))) == mine
            assert ours.count(hostile, **_EVALUATE) == 6
            assert sorted(ids_of(ours.scan(hostile, **_EVALUATE))) == mine
            found = ours.search("query", top_k=12, filter=hostile, **_EVALUATE)
            assert sorted(ids_of(found)) == mine
            everyone = self.ids("theirs-0", "ours-0")
            assert ids_of(ours.get(everyone, filter=hostile, **_EVALUATE)) == self.ids("ours-0")
            assert ours.update_metadata(filter=hostile, set={"seen": 1}, **_EVALUATE) == 6
            assert ours.delete(everyone, filter=hostile, **_EVALUATE) == 1
            assert ours.delete(filter="n >= 4", **_EVALUATE) == 2
            # A limit counts what the scope holds, and no document of others.
            assert ours.count("n >= 0", residual="evaluate", residual_limit=3) == 3
            with pytest.raises(ScopeError, match="key n"):
                store.scoped(F.n > 1)
        assert theirs.count() == 6
        assert all("seen" not in one.metadata for one in theirs.get())

    def test_evaluating_is_told_once(self) -> None:
        """A ``_compile_filter`` of the store's own catches what it refuses, or warnings."""
        store = self.new_store()
        store.add(self.documents(5, embedded=True))
        with self.refusing(store, lambda atom: atom.key.path == ("n",)):
            with pytest.warns(ResidualWarning, match="> on key n") as told:
                assert store.count("n > 1", residual="evaluate") == 3
                assert store.count("n > 2", residual="evaluate") == 2
            assert len([one for one in told if one.category is ResidualWarning]) == 1
            assert store.count("n > 3", residual="evaluate") == 1

    @quiet
    def test_a_deletion_that_stops_tells_what_is_left(self, store: VectorStore) -> None:
        """``_delete_judged`` swallows errors, or raises one that is not of this library."""
        most = self.capabilities.max_batch
        if most is None or most > 600:
            pytest.skip("the store deletes all of them in one step")
        documents = self.documents(2 * most + 10, embedded=True)
        store.add(documents)
        steps: list[int] = []

        def fails(*arguments: Any, **options: Any) -> None:
            steps.append(1)
            if len(steps) == 2:
                raise RuntimeError("the line is cut")

        with (
            self.refusing(store, lambda atom: atom.key.path == ("n",)),
            self.hooked(store, {"_delete_judged": fails}),
            pytest.raises(VecstoreError) as caught,
        ):
            store.delete(filter="n >= 10", **_EVALUATE)
        left = {one.id for one in store.scan("n >= 10")} if self.answers(F.n >= 10) else set()
        assert len(caught.value.failed_ids) == most
        assert store.count() == most + 10
        assert left <= set(caught.value.failed_ids)

    @quiet
    def test_explain_says_who_answers_what(self, store: VectorStore) -> None:
        """``_count`` counts other documents than the filter selects."""
        store.add([Document("x", {"n": n, "a": n % 2}, self.id(f"{n}")) for n in range(8)])
        with self.refusing(store, lambda atom: atom.key.path == ("n",)):
            told = store.explain("n >= 3 AND a == 1")
        assert [one.to_text() for one in told.evaluated] == ["n >= 3"]
        assert [one.to_text() for one in told.answered] == ["a == 1"]
        if self.capabilities.filtered_count:
            assert (told.documents, told.looked_at) == (8, 4)
        else:
            assert (told.documents, told.looked_at) == (None, None)
        assert store.explain("a == 1").evaluated == ()


def _one_in_three(atom: Expression) -> bool:
    """Comparisons chosen by their text, and by nothing that changes from run to run."""
    if atom.key.path[0].startswith(("suite_", "tenant", "stamp")):
        return False
    return zlib.crc32(atom.to_text().encode()) % 3 == 0


def _any_refused(filter: Expression) -> bool:
    simple = simplified(filter)
    if isinstance(simple, bool):
        return False
    return any(node.op not in LOGICAL and _one_in_three(node) for node in simple.walk())
