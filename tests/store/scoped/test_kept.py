"""A scope and a filter are joined once: what their tree keeps is found by the next call."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest

from vecstore import Document, Expression, F, SimpleVectorStore, parse
from vecstore.store.scope import Scope

FILTERS: list[Any] = ["n >= 1", F.n >= 1, (F.n >= 1) & (F.tenant != "c")]


class Noting(SimpleVectorStore):
    """Notes the trees that it compiles."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Expression] = []
        self.add(
            [
                Document("one", {"tenant": "a", "n": 1}, "a1", [1, 0]),
                Document("two", {"tenant": "b", "n": 2}, "b2", [0, 1]),
            ]
        )

    def _compile_filter(self, filter: Expression) -> Expression:
        self.seen.append(filter)
        return super()._compile_filter(filter)

    def trees(self, call: Callable[[], Any]) -> list[Expression]:
        """What is compiled during a call."""
        self.seen.clear()
        call()
        return list(self.seen)


@pytest.mark.parametrize("filter", FILTERS, ids=["text", "atom", "spliced"])
def test_one_filter_in_one_scope_is_one_tree(filter: Any) -> None:
    store = Noting()
    view = store.scoped(F.tenant == "a")
    found = [store.trees(lambda: view.search(vector=[1, 0], filter=filter)) for _ in range(3)]
    assert [len(trees) for trees in found] == [1, 1, 1]
    assert found[0][0] is found[1][0] is found[2][0]
    assert store.trees(lambda: view.count(filter))[0] is found[0][0]


def test_nested_scopes_are_joined_once() -> None:
    store = Noting()
    view = store.scoped(F.tenant == "a").scoped(F.n < 9)
    found = [store.trees(lambda: view.get(filter="n >= 1"))[0] for _ in range(3)]
    assert found[0] is found[1] is found[2]
    assert found[0] == parse("tenant == 'a' AND n < 9 AND n >= 1")


def test_scopes_share_no_tree() -> None:
    store = Noting()
    shared = parse("n >= 1")
    for tenant in ("a", "b", "a", "b"):
        view = store.scoped(F.tenant == tenant)
        assert [found.metadata["tenant"] for found in view.get(filter=shared)] == [tenant]
        assert [found.metadata["tenant"] for found in view.get(filter=shared)] == [tenant]


def test_a_function_that_returns_the_same_filter_is_checked_once() -> None:
    store = Noting()
    now = "tenant == 'a'"
    view = store.scoped(lambda: now)
    for tenant in ("a", "b", "a"):
        now = f"tenant == {tenant!r}"
        assert [found.metadata["tenant"] for found in view.get()] == [tenant]
    now = "tenant == 'b'"
    first, second = (store.trees(lambda: view.get(filter="n >= 1")) for _ in range(2))
    assert len(first) == len(second) == 1
    assert first[0] is second[0]


def test_filters_of_other_calls_are_let_go() -> None:
    store = Noting()
    gc.freeze()  # all that is there before

    def trees() -> int:
        store.seen.clear()
        gc.collect()
        return sum(type(one) is Expression for one in gc.get_objects())

    view = store.scoped(F.tenant == "a")
    for number in range(20):
        view.count(F.n == number)
    before = trees()
    for number in range(200):
        view.count(F.n == number)
    assert trees() <= before


def test_a_large_filter_is_not_kept() -> None:
    scope = Scope(F.tenant == "a")
    large = F.n.in_(range(2_000))
    assert scope.joined(large) is not scope.joined(large)


def test_threads_get_their_own_filter() -> None:
    scope = Scope(F.tenant == "a")
    filters = [F.n == number for number in range(40)]
    wrong: list[Expression] = []
    start = threading.Barrier(4)

    def ask() -> None:
        start.wait()
        for _ in range(50):
            wrong.extend(one for one in filters if scope.joined(one).operands[1] is not one)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
