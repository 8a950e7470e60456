"""Hostile filters, ids and documents through a scoped store never reach a document outside."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.conformance.test_example import example
from tests.store.minimal import MinimalStore
from vecstore import Document, Expression, F, SimpleVectorStore, VecstoreError, VectorStore
from vecstore.testing import filters

SECRET = "zq-outside-zq"
TENANTS = ["a", "b", "A", "a ", "", "' OR 1=1 --", "tenant", True, 1]
IDS = ["in-1", "in-2", "out-1", "out-2", "free-1", "free-2"]

atoms = st.one_of(
    st.sampled_from(TENANTS).map(lambda value: F.tenant == value),
    st.sampled_from(TENANTS).map(lambda value: F.tenant != value),
    st.lists(st.sampled_from(TENANTS), max_size=3).map(lambda items: F.tenant.in_(items)),
    st.lists(st.sampled_from(TENANTS), max_size=3).map(lambda items: F.tenant.not_in(items)),
    st.sampled_from([F.tenant.is_null(), F.tenant.is_not_null(), F.n >= 0, F.n == 1]),
)
hostile = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds(lambda left, right: left | right, inner, inner),
        st.builds(lambda left, right: left & right, inner, inner),
        inner.map(lambda one: ~one),
    ),
    max_leaves=6,
)
# As trees and as texts, which the store reads by itself.
any_filter = st.one_of(hostile, hostile.map(Expression.to_text), filters())
metadata = st.dictionaries(
    st.sampled_from(["tenant", "n", "other", "tenant.x"]),
    st.one_of(st.sampled_from(TENANTS), st.none(), st.lists(st.sampled_from(["a", "b"]))),
    max_size=3,
)
ids = st.lists(st.sampled_from(IDS), min_size=1, max_size=4)
documents = st.builds(
    lambda id, values: Document("new", values, id, [1.0, 0.5]), st.sampled_from(IDS), metadata
)
calls: st.SearchStrategy[Callable[[VectorStore], Any]] = st.one_of(
    st.builds(lambda f: lambda s: s.search(vector=[1, 0], top_k=99, filter=f), any_filter),
    st.builds(lambda i, f: lambda s: s.get(i, filter=f), st.none() | ids, any_filter),
    st.builds(lambda f: lambda s: list(s.scan(f)), any_filter),
    st.builds(lambda f: lambda s: s.count(f), any_filter),
    st.builds(lambda f: lambda s: s.delete(filter=f), any_filter),
    st.builds(lambda i, f: lambda s: s.delete(i, filter=f), ids, st.none() | any_filter),
    st.builds(
        lambda i, f, new, gone: lambda s: s.update_metadata(i, filter=f, set=new, unset=gone),
        st.none() | ids,
        any_filter,
        metadata,
        st.lists(st.sampled_from(["tenant", "n"]), max_size=1),
    ),
    st.builds(
        lambda new, mode: lambda s: s.add(new, on_conflict=mode),
        st.lists(documents, min_size=1, max_size=3),
        st.sampled_from(["replace", "skip", "error"]),
    ),
    st.just(lambda s: s.clear()),
    st.just(lambda s: s.native),
)
scopes: st.SearchStrategy[Any] = st.sampled_from(
    [
        F.tenant == "a",
        (F.tenant == "a") & (F.n.is_null() | (F.n != 7)),
        F.tenant.in_(["a", "c"]),
        (F.tenant == "a") | (F.tenant == "c"),
        ~(F.tenant != "a"),
    ]
)


def outside(store: VectorStore, scope: Expression) -> list[Any]:
    return sorted(
        (one.id, one.text, repr(one.metadata), one.embedding.tolist())  # type: ignore[union-attr]
        for one in store.scan(include_embedding=True)
        if not scope.matches(one.metadata)
    )


@pytest.mark.parametrize(
    "make",
    [SimpleVectorStore, MinimalStore, lambda: example.LiteStore(":memory:")],
    ids=["memory", "minimal", "sqlite"],
)
@given(scope=scopes, steps=st.lists(calls, min_size=1, max_size=5), nested=st.booleans())
def test_nothing_outside_is_read_changed_or_told(
    make: Callable[[], VectorStore], scope: Expression, steps: list[Any], nested: bool
) -> None:
    with make() as store:
        store.add(
            [
                Document("in", {"tenant": "a", "n": 1}, "in-1", [1.0, 0.0]),
                Document("in", {"tenant": "a"}, "in-2", [1.0, 1.0]),
                Document(SECRET, {"tenant": "b", "n": 1, "s": SECRET}, "out-1", [1.0, 2.0]),
                Document(SECRET, {"s": SECRET, "n": 1}, "out-2", [1.0, 3.0]),
            ]
        )
        view = store.scoped(lambda: scope)
        if nested:
            view = store.scoped(F.tenant.is_not_null()).scoped(scope)
        before = outside(store, scope)
        for step in steps:
            inside = store.count() - len(before)
            try:
                result = step(view)
            except (VecstoreError, ValueError, TypeError) as error:
                shown = "".join(traceback.format_exception(error))
                assert SECRET not in shown
            else:
                if isinstance(result, int):
                    # An update or a deletion counts documents that were inside.
                    assert result <= inside
                assert SECRET not in repr(result)
                for one in result if isinstance(result, list) else ():
                    if isinstance(one, Document):
                        assert scope.matches(one.metadata)
            assert outside(store, scope) == before
            assert {one.id for one in view.scan()} == {
                one.id for one in store.scan() if scope.matches(one.metadata)
            }
