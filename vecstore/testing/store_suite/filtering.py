"""One filter selects the same documents through every method, and they are the oracle's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

import pytest

from vecstore.document import Document
from vecstore.errors import FilterError, FilterSyntaxError, UnsupportedFilterError
from vecstore.filter.builder import F
from vecstore.filter.normalize import simplify
from vecstore.filter.tautology import matches_everything
from vecstore.filter.tree import Expression, Group, Key, Op, Value
from vecstore.store.arguments import SearchRequest
from vecstore.store.base import VectorStore
from vecstore.testing import cases
from vecstore.testing.reading import Reading
from vecstore.testing.report import summary, verdict
from vecstore.testing.rows import oracle
from vecstore.testing.store_suite.base import Library, StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.ranking import check_ranking
from vecstore.testing.store_suite.sizes import sized

_LITERALS = (True, False, 0, 1, 1.5, -1, 2**53 - 1, "", "a", "A", "1", "it's", "é", "😀")


class Filtering(StoreSuiteBase):
    """Tests of filters through every method that takes one."""

    def test_every_operator(self, library: Library) -> None:
        """The dialect answers a comparison otherwise than the rules do, or the store runs it so.

        Run a ``DialectSuite`` first: it says which. Mostly an absent key, a list, or a value of
        another type (``1`` and ``true``).
        """
        self._compare(library, cases.atoms_on(("k",), _LITERALS))

    def test_keys_inside_objects_and_odd_keys(self, library: Library) -> None:
        """A key was taken for a path, or a path for a key.

        Look at how ``_compile_filter`` quotes keys and steps into objects.
        """
        self._compare(library, islice(cases.atoms_on_paths(), 0, None, 5))
        self._compare(library, islice(cases.atoms_on_odd_keys(), 0, None, 13))

    def test_lists_of_literals(self, library: Library) -> None:
        """``IN`` and ``NOT IN`` with mixed types or duplicates: see the dialect's ``member``."""
        self._compare(library, islice(cases.lists_of_literals(), 0, None, 3))

    def test_hostile_texts_never_widen_a_filter(self, library: Library) -> None:
        """A text ended its quotes: bind values, and quote keys by the dialect's one function."""
        self._compare(library, islice(cases.hostile(), 0, None, 7))

    def test_grouping_and_negation(self, library: Library) -> None:
        """Parentheses are missing, or three-valued logic got in: ``all_of`` and ``any_of``."""
        atoms = [atom for atom in cases.representative_atoms() if self.answers(atom)]
        self._compare(library, islice(cases.combinations(atoms), 0, None, 4))

    def test_constants(self, library: Library) -> None:
        """A filter that matches everything, or nothing, became an empty query.

        Look at what the store does with ``Compiled.matches_all`` and ``matches_none``.
        """
        atoms = [atom for atom in cases.representative_atoms() if self.answers(atom)]
        self._compare(library, (filter for filter, _ in cases.constants(atoms)))

    @sized(25, 2_000)
    def test_random_filters(self, library: Library, size: int) -> None:
        """The dialect and the rules differ, or two methods of the store do: see which one is named.

        ``get`` alone differs: ``_get``. All differ: ``_compile_filter``, which a ``DialectSuite``
        tests by itself.
        """
        source = self.random_cases(1)
        self._compare(library, (source.filter(4) for _ in range(size)))

    def test_the_nearest_among_those_that_match(self, library: Library) -> None:
        """``top_k`` counts documents that match; none of the others takes a place.

        Usually: the engine searched first and filtered afterwards, or gave up early: pass it the
        filter.
        """
        source = self.random_cases(2)
        for _ in range(15):
            filter = source.filter(2)
            matching = oracle(filter, library.rows)
            exact = self.scores(
                library.query, {id: v for id, v in library.vectors.items() if id in matching}
            )
            for top_k in (1, 5):
                found = library.store.search(vector=library.query, top_k=top_k, filter=filter)
                check_ranking(found, exact, top_k, exact_ties=False)

    def test_a_filter_in_any_form(self, library: Library) -> None:
        """The store reads ``filter`` by itself: hooks get what ``_compile_filter`` returned."""
        tree = Expression(Op.AND, F.k == "a", F.x != "b")
        text = "k == 'a' AND x != 'b'"
        wanted = oracle(tree, library.rows)
        for filter in (tree, text, f"WHERE {text}", Group(tree), Group(Group(tree))):
            self._check(library, filter, wanted)
            request = SearchRequest(vector=library.query, top_k=self.most_found, filter=filter)
            assert {document.id for document in library.store.search(request)} == wanted

    def test_what_is_no_filter_is_refused(self, library: Library) -> None:
        """A method of the store's own takes a ``filter`` past the base, which would refuse it."""
        anything: Any = library.store
        # What `F.year == 2020` becomes when a name is mistyped is a bool.
        for wrong in (True, False, {"k": "a"}, ["k"], lambda row: True, 3, F.k, Key("k"), Value(1)):
            for call in self._selections(anything, wrong, library.query):
                with self.no_call(library.store), pytest.raises(TypeError):
                    call()

    def test_a_text_that_cannot_be_read_is_refused(self, library: Library) -> None:
        """A method of the store's own reads texts by itself, or after it has begun to write."""
        for wrong in ("k ==", "k = = 1", "k == 'a' 'b'", "k == null", "AND", "k IN ["):
            for call in self._selections(library.store, wrong, library.query):
                with self.no_call(library.store), pytest.raises(FilterSyntaxError):
                    call()

    def test_what_the_dialect_does_not_answer_is_refused_before_any_call(
        self, library: Library
    ) -> None:
        """A method of the store's own calls the engine before ``_compile_filter``.

        Or the suite's ``dialect`` is not the one that the store uses.
        """
        for filter in self._refused():
            for call in self._selections(library.store, filter, library.query):
                with self.no_call(library.store), pytest.raises(UnsupportedFilterError):
                    call()

    def test_a_refusal_comes_before_embedding(self, store: VectorStore) -> None:
        """Whatever ``_compile_filter`` refuses reaches neither the embedder nor the engine.

        Usually: a method of the store's own embeds or calls the engine before ``_compile_filter``.
        """
        documents = self.documents(3)
        store.add(documents)
        refusal = UnsupportedFilterError(dialect="any", reason="for the test's sake")

        def refuse(filter: Expression) -> Any:
            raise refusal

        made: Any = self.behind(store)
        made._compile_filter = refuse
        try:
            with self.no_call(store):
                for call in self._selections(store, "n == 1", "a query"):
                    with pytest.raises(UnsupportedFilterError):
                        call()
        finally:
            del made._compile_filter
        self.check_holds(store, documents)

    def test_delete_selects_the_same(self, store: VectorStore, library: Library) -> None:
        """``_delete_filtered`` selects otherwise than ``_scan``, or counts something else."""
        source = self.random_cases(3)
        filters = [
            *(atom for atom in cases.representative_atoms() if self.answers(atom)),
            *(source.filter(2) for _ in range(20)),
        ]
        left: dict[str, Mapping[str, Any]] = {}
        for filter in filters:
            if matches_everything(simplify(filter)):
                continue
            if len(left) < len(library.rows) // 2:
                left = dict(library.rows)
                self._refill(store, left)
            wanted = oracle(filter, left)
            assert store.delete(filter=filter) == len(wanted), self._shown(filter)
            left = {id: row for id, row in left.items() if id not in wanted}
            remaining = {document.id for document in store.scan()}
            self._same(filter, remaining, set(left), library.rows, "left by delete")

    def test_update_metadata_selects_the_same(self, store: VectorStore, library: Library) -> None:
        """``_update_metadata`` selects otherwise than ``_get``, or bends values it carries over."""
        source = self.random_cases(4)
        filters = [
            *(atom for atom in cases.representative_atoms() if self.answers(atom)),
            *(source.filter(2) for _ in range(10)),
        ]
        self._refill(store, library.rows)
        for number, filter in enumerate(filters):
            wanted = oracle(filter, library.rows)
            changed = store.update_metadata(filter=filter, set={"touched": number})
            assert changed == len(wanted), self._shown(filter)
            touched = {document.id for document in store.get(filter=F.touched == number)}
            self._same(filter, touched, wanted, library.rows, "update_metadata")
        for found in store.get():
            metadata = dict(found.metadata)
            metadata.pop("touched", None)
            self.check_metadata(metadata, library.rows[found.id], found.id)

    # --- comparing --------------------------------------------------------------------------

    def _compare(self, library: Library, filters: Iterable[Expression]) -> None:
        """Every filter through every method that reads; at least one of them must be answered."""
        __tracebackhide__ = True
        compared = 0
        for filter in filters:
            if self.answers(filter):
                compared += 1
                self._check(library, filter, oracle(filter, library.rows))
        assert compared, "the store's dialect answers none of these filters"

    def _check(self, library: Library, filter: Any, wanted: set[str]) -> None:
        __tracebackhide__ = True
        store, rows = library.store, library.rows
        try:
            found = {document.id for document in store.get(filter=filter)}
            scanned = [document.id for document in store.scan(filter, batch_size=50)]
            counted = store.count(filter)
            searched = store.search(vector=library.query, top_k=self.most_found, filter=filter)
        except FilterError as error:
            raise AssertionError(f"{self._shown(filter)} was refused: {error}") from error
        self._same(filter, found, wanted, rows, "get")
        self._same(filter, set(scanned), wanted, rows, "scan")
        assert len(scanned) == len(set(scanned)), f"scan({self._shown(filter)}): a document twice"
        assert counted == len(wanted), f"count({self._shown(filter)})"
        hits = {document.id for document in searched}
        assert len(hits) == len(searched), f"search({self._shown(filter)}): a document twice"
        if len(wanted) <= self.most_found:
            self._same(filter, hits, wanted, rows, "search")
        else:
            assert len(hits) == self.most_found, f"search({self._shown(filter)})"
            assert hits <= wanted, f"search({self._shown(filter)})"

    def _same(
        self,
        filter: Any,
        found: set[str],
        wanted: set[str],
        rows: Mapping[str, Mapping[str, Any]],
        method: str,
    ) -> None:
        __tracebackhide__ = True
        different = found ^ wanted
        if not different:
            return
        lines = [f"{method}: {self._shown(filter)}", f"other on {summary(different, rows)}"]
        one = min(different, key=lambda id: len(repr(rows[id])))
        if isinstance(filter, Expression):
            lines.append(f"by the rules {one!r} is {verdict(Reading(rows).verdict(filter, one))}")
        raise AssertionError("\n".join([*lines, f"its metadata: {dict(rows[one])!r}"]))

    def _shown(self, filter: Any) -> str:
        text = filter.to_text() if isinstance(filter, Expression) else str(filter)
        return text if len(text) < 2_000 else text[:2_000] + "…"

    def _refused(self) -> list[Expression]:
        """A few filters that the store's dialect does not answer, if there are any."""
        found: dict[tuple[Op, str], Expression] = {}
        examiner = self.examiner
        if examiner is not None:
            for atom in cases.all_atoms():
                field = examiner.refusal(atom)
                if field is not None:
                    found.setdefault((atom.op, field), atom)
        return list(found.values())

    def _selections(
        self, store: VectorStore, filter: Any, query: Any
    ) -> list[Callable[[], object]]:
        """Every method that takes a filter."""
        asked: dict[str, Any] = {"query": query} if isinstance(query, str) else {"vector": query}
        return [
            lambda: store.search(**asked, filter=filter),
            lambda: store.get(filter=filter),
            lambda: store.get(self.ids("doc-1"), filter=filter),
            lambda: store.count(filter),
            lambda: list(store.scan(filter)),
            lambda: store.delete(filter=filter),
            lambda: store.delete(self.ids("doc-1"), filter=filter),
            lambda: store.update_metadata(filter=filter, set={"x": 1}),
            lambda: store.update_metadata(self.ids("doc-1"), filter=filter, unset=["n"]),
        ]

    def _refill(self, store: VectorStore, rows: Mapping[str, Mapping[str, Any]]) -> None:
        store.clear()
        vector = vector_of("any")
        store.add([Document(id, row, id, vector) for id, row in rows.items()])
