"""A store beside a dict: long random lives, and large numbers of documents."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from vecstore.document import Document
from vecstore.errors import DuplicateDocumentError
from vecstore.filter.normalize import simplify
from vecstore.filter.tautology import matches_everything
from vecstore.filter.tree import Expression
from vecstore.store.base import VectorStore
from vecstore.testing.random_cases import RandomCases
from vecstore.testing.rows import oracle
from vecstore.testing.store_suite.base import StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.ranking import check_ranking
from vecstore.testing.store_suite.sizes import sized
from vecstore.vectors import Vector


class Lives(StoreSuiteBase):
    """Tests of many operations in a row, and on many documents."""

    @sized(150, 5_000)
    def test_a_random_life(self, store: VectorStore, size: int) -> None:
        """Whatever the order of calls, the store and a plain dict hold the same.

        Usually: calls work one by one, but not in this order: read the last calls, printed below.
        Mostly a write that is visible late, a cache that a write did not clear, or a counter that
        ``clear`` left.
        """
        life = _Life(self, store, Random(self.seed), self.random_cases(5))
        for step in range(size):
            try:
                life.step()
                if step % 25 == 24:
                    life.check()
            except AssertionError as error:
                error.add_note("the last calls:\n  " + "\n  ".join(life.log[-8:]))
                raise
        life.check()

    def test_ten_thousand_documents(self, store: VectorStore) -> None:
        """More than a page of any engine: added, counted, read, found, changed, deleted.

        Usually: a page or a limit of the engine was taken for the end: ``_scan``, ``_get``,
        ``_delete_filtered``. Where it is slow, look for work that grows with the documents stored
        at each call.
        """
        matching, others = self.many, self.many // 20
        groups = ["many"] * matching + ["few"] * others
        documents = [
            self.document(f"doc-{number}", {"n": number, "group": group}, embedding=_spread(number))
            for number, group in enumerate(groups)
        ]
        total = len(documents)
        assert store.add(documents) == [one.id for one in documents]
        assert (store.count(), store.count("group == 'many'")) == (total, matching)
        scanned = [one.id for one in store.scan("group == 'many'")]
        assert len(scanned) == len(set(scanned)) == matching
        assert len(store.get(filter="group == 'few'")) == others
        assert len(store.get(filter="group == 'many'", limit=self.many - 1)) == self.many - 1

        most = min(matching, self.capabilities.max_top_k or matching)
        found = store.search(vector=_spread(3), top_k=most, filter="group == 'many'")
        ids = {one.id for one in found}
        assert len(found) == len(ids) == most
        assert {one.metadata["group"] for one in found} == {"many"}
        # None of the nearest lies among those that do not match.
        few = store.search(vector=_spread(3), top_k=5, filter="group == 'few'")
        assert [one.metadata["group"] for one in few] == ["few"] * 5

        assert store.update_metadata(filter="group == 'few'", set={"kept": True}) == others
        assert store.delete(filter="group == 'many'") == matching
        assert store.count() == store.count("kept == true") == others
        left = {one.id for one in store.scan()}
        assert left == {one.id for one in documents[matching:]}
        store.clear()
        assert store.count() == 0


class _Life:
    """The store's twin: documents in a dict, on which every call can be worked out."""

    def __init__(
        self, suite: StoreSuiteBase, store: VectorStore, random: Random, cases: RandomCases
    ) -> None:
        self.suite, self.store, self.random, self.cases = suite, store, random, cases
        self.held: dict[str, Document] = {}
        self.log: list[str] = []
        self._names = [f"life-{number}" for number in range(40)]
        self._calls = [self.add] * 6 + [self.update, self.delete, self.read, self.search] * 3

    def step(self) -> None:
        """One random call, compared."""
        if self.random.random() < 0.01:
            self.log.append("clear()")
            self.store.clear()
            self.held.clear()
            return
        self.random.choice(self._calls)()

    def check(self) -> None:
        """Everything the store holds."""
        self.suite.check_holds(self.store, list(self.held.values()))
        vectors = {id: one.embedding for id, one in self.held.items() if one.embedding is not None}
        self.suite.check_vectors(self.store, vectors)
        bare = [id for id, one in self.held.items() if one.embedding is None]
        for one in self.store.get(bare, include_embedding=True):
            assert one.embedding is None, f"{one.id!r} has a vector that nobody gave it"

    def add(self) -> None:
        new = [self._new() for _ in range(self.random.randint(1, 5))]
        mode: Any = self.random.choice(["replace", "replace", "skip", "error"])
        ids = [one.id for one in new]
        bare = [one.id for one in new if one.embedding is None]
        self.log.append(f"add({ids}, on_conflict={mode!r}) of which {bare} have no vector")
        taken = {id for id in ids if id in self.held}
        refused = {id for id in ids if ids.count(id) > 1} or taken
        if mode == "error" and refused:
            with pytest.raises(DuplicateDocumentError) as caught:
                self.store.add(new, on_conflict=mode, embed=False)
            assert set(caught.value.ids) == refused
            return
        assert self.store.add(new, on_conflict=mode, embed=False) == ids
        for one in new:
            if mode != "skip" or one.id not in self.held:
                self.held[one.id] = one

    def update(self) -> None:
        ids, filter, chosen = self._selection()
        name, value = (
            f"u{self.random.randint(0, 2)}",
            self.random.choice(["x", 1, 2.5, True, ["a", "b"]]),
        )
        new = self.suite.held_domain.fit({name: value})
        gone = [self.random.choice(["k", "x", "u0"])]
        gone = [name for name in gone if name not in new]
        self.log.append(f"update_metadata({ids}, filter={filter}, set={new}, unset={gone})")
        count = self.store.update_metadata(ids, filter=filter, set=new, unset=gone)
        assert count == len(chosen)
        for id in chosen:
            one = self.held[id]
            metadata = {name: v for name, v in {**one.metadata, **new}.items() if name not in gone}
            self.held[id] = one.replace(metadata=metadata)

    def delete(self) -> None:
        ids, filter, chosen = self._selection()
        if ids is None and filter is not None and matches_everything(simplify(filter)):
            return
        self.log.append(f"delete({ids}, filter={filter})")
        try:
            deleted = self.store.delete(ids, filter=filter)
        except ValueError as error:
            # What is declared of keys can make a filter true of every document.
            assert ids is None and "matches every document" in str(error)
            assert chosen == set(self.held)
            return
        assert deleted == len(chosen)
        for id in chosen:
            del self.held[id]

    def read(self) -> None:
        ids, filter, chosen = self._selection()
        self.log.append(f"get({ids}, filter={filter})")
        found = self.store.get(ids, filter=filter)
        order = sorted(chosen) if ids is None else [id for id in ids if id in chosen]
        if ids is None:
            found.sort(key=lambda one: one.id)
        self.suite.check_documents(found, [self.held[id] for id in order])
        assert self.store.count(filter) == len(self._matching(filter))

    def search(self) -> None:
        filter = self.cases.filter(2) if self.random.random() < 0.7 else None
        top_k, query = (
            self.random.choice([1, 3, self.suite.most_found]),
            vector_of(f"{self.random.randint(0, 99)}"),
        )
        self.log.append(f"search(top_k={top_k}, filter={filter})")
        matching = self._matching(filter)
        vectors = {id: self.held[id].embedding for id in matching}
        exact = self.suite.scores(
            query, {id: one for id, one in vectors.items() if one is not None}
        )
        found = self.store.search(vector=query, top_k=top_k, filter=filter)
        check_ranking(found, exact, top_k, exact_ties=False)

    def _new(self) -> Document:
        name = self.random.choice(self._names)
        vector: Vector | None = vector_of(f"{self.random.randint(0, 1_000)}")
        if self.suite.capabilities.vectorless and self.random.random() < 0.2:
            vector = None
        text = f"text {self.random.randint(0, 10**9)}"
        return self.suite.document(name, self.cases.document(), text=text, embedding=vector)

    def _selection(self) -> tuple[list[str] | None, Expression | None, set[str]]:
        """By ids, by a filter, or both; and which documents that selects."""
        shape = self.random.choice(["ids", "filter", "both"])
        filter = None if shape == "ids" else self.cases.filter(2)
        if shape == "filter":
            return None, filter, self._matching(filter)
        ids = self.suite.ids(*self.random.sample(self._names, self.random.randint(0, 6)))
        return ids, filter, self._matching(filter) & set(ids)

    def _matching(self, filter: Expression | None) -> set[str]:
        rows: Mapping[str, Mapping[str, Any]] = {id: one.metadata for id, one in self.held.items()}
        return set(rows) if filter is None else oracle(filter, rows)


def _spread(number: int) -> list[float]:
    """A vector for each number, cheap to make and unlike its neighbours'."""
    return [float((number * step) % 101 - 50) + 0.5 for step in (1, 3, 7, 11, 17, 23, 29, 31)]
