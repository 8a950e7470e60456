"""Whatever a scope asks of one key, no list carries a document into a scope apart from it."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from vecstore import Document, Expression, F, Op, ScopeError, SimpleVectorStore
from vecstore.filter.normalize import simplify
from vecstore.filter.tautology import matches_everything

# Values on both sides of every literal, so that what holds of these holds of every scalar.
SCALARS: list[Any] = [None, True, False, 0, 1, 1.5, 2, 3, "", "a", "b", "c"]
LITERALS: list[Any] = [True, 1, 2, "a", "b"]


def scopes_on(key: Any) -> st.SearchStrategy[Expression]:
    literals = st.sampled_from(LITERALS)
    orderable = st.sampled_from([1, 2, "a", "b"])
    atoms = st.one_of(
        literals.map(lambda value: key == value),
        literals.map(lambda value: key != value),
        st.lists(literals, min_size=1, max_size=3).map(key.in_),
        st.lists(literals, min_size=1, max_size=3).map(key.not_in),
        orderable.map(lambda value: key > value),
        orderable.map(lambda value: key <= value),
        st.sampled_from([key.is_null(), key.is_not_null()]),
    )
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.builds(lambda left, right: left | right, inner, inner),
            st.builds(lambda left, right: left & right, inner, inner),
            inner.map(lambda one: ~one),
        ),
        max_leaves=5,
    )


scalar_lists = st.one_of(
    st.lists(st.sampled_from([1, 2, 1.5, 3, 0]), min_size=1, max_size=3),
    st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=3),
    st.lists(st.booleans(), min_size=1, max_size=2),
)


def asks_for_two_values_at_once(scope: Expression) -> bool:
    """Whether some AND holds two equalities of the key: only a list can meet them."""
    simple = simplify(scope)
    if isinstance(simple, bool):
        return False
    return any(
        node.op is Op.AND and sum(part.op not in (Op.NE, Op.NIN) for part in node.operands) > 1
        for node in simple.walk()
    )


@settings(max_examples=40)
@given(
    data=st.data(),
    key=st.sampled_from(["tenant", "group.tenant", "a.b"]),
    values=scalar_lists,
    update=st.booleans(),
)
def test_no_disjoint_scope_sees_a_document(
    data: st.DataObject, key: str, values: list[Any], update: bool
) -> None:
    field = {"tenant": F.tenant, "group.tenant": F.group.tenant, "a.b": F["a.b"]}[key]

    def metadata(value: Any) -> dict[str, Any]:
        inner = {"a.b" if key == "a.b" else "tenant": value}
        return {"group": inner} if key == "group.tenant" else inner

    ours = data.draw(scopes_on(field))
    allowed = [value for value in SCALARS if ours.matches(metadata(value))]
    assume(allowed and not matches_everything(simplify(ours)))
    foreign = [
        value for value in SCALARS if value is not None and not ours.matches(metadata(value))
    ]
    others = [field == value for value in foreign] + [field.in_(foreign)]
    for drawn in data.draw(st.lists(scopes_on(field), max_size=3)):
        others += [one for one in (drawn, drawn & ~ours) if not asks_for_two_values_at_once(one)]
    theirs = [one for one in others if not any(one.matches(metadata(value)) for value in allowed)]
    store = SimpleVectorStore()
    view = store.scoped(ours)
    try:
        if update:
            view.add([Document("one", metadata(allowed[0]), "1", [1.0])])
            view.update_metadata(["1"], set=metadata(values))
        else:
            view.add([Document("one", metadata(values), "1", [1.0])])
    except ScopeError:
        pass
    else:
        assert ours.matches(metadata(values))
    for other in theirs:
        assert store.count(other) == 0


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3))
def test_a_list_is_admitted_where_each_element_is(values: list[str]) -> None:
    store = SimpleVectorStore()
    view = store.scoped((F.tenant == "a") | (F.tenant == "b"))
    try:
        view.add([Document("one", {"tenant": values}, "1", [1.0])])
    except ScopeError:
        assert "c" in values
    else:
        assert "c" not in values
