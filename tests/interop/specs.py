"""Random filters in no system's language, to be written in each, and documents for them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from vecstore import Schema

SCHEMA = Schema({"n": int, "f": float, "s": str, "b": bool, "tags": list[str], "at": str})
NUMBERS = {
    "n": st.integers(-2, 3),
    "f": st.sampled_from([-1.5, 0.0, 0.5, 1.0, 2.25]),
}
TEXTS = st.sampled_from(["", "a", "b", "B", "é", "it's"])
VALUES: dict[str, st.SearchStrategy[Any]] = {**NUMBERS, "s": TEXTS, "b": st.booleans()}
ORDERINGS = ("gt", "gte", "lt", "lte")

Spec = tuple[Any, ...]


def _compared(key: str) -> st.SearchStrategy[Spec]:
    one = st.tuples(st.sampled_from(["eq", "ne"]), st.just(key), VALUES[key])
    many = st.tuples(
        st.sampled_from(["in", "nin"]),
        st.just(key),
        st.lists(VALUES[key], min_size=1, max_size=3, unique=True),
    )
    if key not in NUMBERS:
        return st.one_of(one, many)
    order = st.tuples(st.sampled_from(ORDERINGS), st.just(key), VALUES[key])
    return st.one_of(one, many, order, order)


atoms = st.sampled_from(list(VALUES)).flatmap(_compared)


def specs(
    leaf: st.SearchStrategy[Spec] = atoms, *, negation: bool = True
) -> st.SearchStrategy[Spec]:
    def around(inner: st.SearchStrategy[Spec]) -> st.SearchStrategy[Spec]:
        several = st.tuples(
            st.sampled_from(["and", "or"]), st.lists(inner, min_size=1, max_size=3).map(tuple)
        )
        return st.one_of(several, st.tuples(st.just("not"), inner)) if negation else several

    return st.recursive(leaf, around, max_leaves=6)


def documents(
    *,
    nulls: bool = True,
    lists: st.SearchStrategy[list[str]] | None = None,
    at: st.SearchStrategy[str] | None = None,
) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Documents that fit the schema, each key perhaps absent."""
    fields: dict[str, st.SearchStrategy[Any]] = {
        key: st.one_of(st.none(), values) if nulls else values for key, values in VALUES.items()
    }
    if lists is not None:
        fields["tags"] = lists
    if at is not None:
        fields["at"] = at
    one = st.fixed_dictionaries({}, optional=fields)
    return st.lists(one, min_size=1, max_size=8)
