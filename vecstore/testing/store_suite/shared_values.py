"""Lists under the keys of a scope: no document stands in the view of another one through them."""

from __future__ import annotations

from typing import Any

import pytest

from vecstore.errors import ScopeError
from vecstore.filter.builder import F
from vecstore.filter.tree import Expression
from vecstore.store.base import VectorStore
from vecstore.testing.store_suite.base import StoreSuiteBase

_T, _N = F.tenant, F.group.name

# Scopes that the tenant "victim" has no part in, and a tenant that each of them lets in.
_SCOPES: dict[str, tuple[Expression, str]] = {
    "equal": (_T == "x", "x"),
    "in": (_T.in_(["x", "y"]), "y"),
    "or": ((_T == "x") | (_T == "y"), "y"),
    "or_of_ands": (((_T == "x") & (F.n != 7)) | ((_T == "y") & (F.n != 8)), "x"),
    "not_equal": (_T != "victim", "x"),
    "not_in": (_T.not_in(["victim", "another"]), "x"),
    "not": (~((_T == "victim") | _T.is_null()), "x"),
    "in_and_not_null": (_T.in_(["x", "y"]) & _T.is_not_null(), "x"),
    "null_or_in": (_T.is_null() | _T.in_(["x"]), "x"),
    "range_or_in": ((_T > "victim") | _T.in_(["a", "b"]), "x"),
    "both": (_T.in_(["x", "y"]) & _T.in_(["y", "z"]), "y"),
}


class SharedValues(StoreSuiteBase):
    """Tests of ``scoped`` with lists under the scope's own keys."""

    @pytest.mark.parametrize("shape", _SCOPES)
    def test_no_list_reaches_the_view_of_another(self, store: VectorStore, shape: str) -> None:
        """An ``add`` or ``update_metadata`` of the store's own goes past the check of the scope."""
        scope, tenant = _SCOPES[shape]
        if not self.answers(scope):
            return
        ours, theirs = store.scoped(scope), store.scoped(_T == "victim")
        ours.add([self.document("own", {"tenant": tenant, "n": 1})])
        for values in (
            ["victim"],
            [tenant, "victim"],
            ["victim", tenant],
            [tenant, tenant, "victim"],
        ):
            with pytest.raises(ScopeError):
                ours.add([self.document("shared", {"tenant": values})])
            with pytest.raises(ScopeError):
                ours.update_metadata(self.ids("own"), set={"tenant": values})
            with pytest.raises(ScopeError):
                ours.update_metadata(filter="n == 1", set={"tenant": values, "n": 2})
        assert theirs.count() == 0
        assert ours.count("n == 1") == 1

    def test_a_list_within_the_allowed_values_belongs(self, store: VectorStore) -> None:
        """The engine matches a list of two values otherwise than the rules do.

        A ``DialectSuite`` shows it by itself: ``_compile_filter``.
        """
        scope = (_T == "x") | (_T == "y")
        if not self.answers(scope):
            return
        ours = store.scoped(scope)
        assert len(ours.add([self.document("both", {"tenant": ["y", "x"]})])) == 1
        assert ours.update_metadata(self.ids("both"), set={"tenant": ["x"]}) == 1
        assert ours.count() == 1

    def test_the_same_holds_inside_objects(self, store: VectorStore) -> None:
        """The engine matches a list inside an object otherwise: paths in ``_compile_filter``."""
        scope = _N.in_(["x", "y"])
        inside: dict[str, Any] = {"group": {"name": "x"}}
        shared: dict[str, Any] = {"group": {"name": ["x", "victim"]}}
        if not self.answers(scope) or self.held_domain.fit(shared) != shared:
            return
        ours = store.scoped(scope)
        ours.add([self.document("own", inside)])
        with pytest.raises(ScopeError):
            ours.add([self.document("shared", shared)])
        with pytest.raises(ScopeError):
            ours.update_metadata(self.ids("own"), set=shared)
        assert store.scoped(_N == "victim").count() == 0

    def test_a_change_of_one_key_counts_the_lists_of_the_others(self, store: VectorStore) -> None:
        """What was let in with one value need not be let in with the next.

        Usually: ``_update_metadata`` was called although the scope had to be asked about the whole
        document.
        """
        scope = ((_T == "x") & (F.kind == "a")) | (_T.in_(["x", "y"]) & (F.kind == "b"))
        if not self.answers(scope):
            return
        ours = store.scoped(scope)
        ours.add([self.document("own", {"tenant": ["x", "y"], "kind": "b"})])
        with pytest.raises(ScopeError):
            ours.update_metadata(self.ids("own"), set={"kind": "a"})
        assert store.scoped((_T == "y") & (F.kind == "a")).count() == 0
