"""Random trees and documents over few keys and near values, so that filters hit documents."""

from __future__ import annotations

from hypothesis import strategies as st

from vecstore import Expression, Key, Op, Value

names = st.sampled_from(["a", "b", "a.b", "in", "odd key", "it's", 'say "hi"', "ключ", "\\", "\n"])
paths = st.lists(names, min_size=1, max_size=3)
texts = st.one_of(
    st.sampled_from(
        ["", "a", "A", "b", "1", "true", "é", "e\u0301", "\uffff", "😀", "it's", "x' OR 1"]
    ),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6),
)
numbers = st.one_of(
    st.sampled_from([0, 1, 1.0, -0.0, 0.1, 2**53, 2**53 + 1, float(2**53), 10**23, 1e23, 5e-324]),
    st.integers(-3, 3),
    st.integers(-(10**40), 10**40),
    st.floats(allow_nan=False, allow_infinity=False),
)
scalars = st.one_of(st.booleans(), numbers, texts)
lists = st.one_of(
    st.lists(st.booleans(), max_size=3),
    st.lists(numbers, max_size=3),
    st.lists(texts, max_size=3),
)
documents = st.recursive(
    st.dictionaries(names, st.one_of(st.none(), scalars, lists), max_size=5),
    lambda inner: st.dictionaries(names, st.one_of(scalars, inner), max_size=4),
    max_leaves=6,
)
keys = paths.map(lambda path: Key(*path))


def _atom(op: Op) -> st.SearchStrategy[Expression]:
    if op in (Op.ISNULL, Op.ISNOTNULL):
        return st.builds(lambda key: Expression(op, key), keys)
    literals: st.SearchStrategy[object] = scalars
    if op in (Op.IN, Op.NIN):
        literals = st.lists(scalars, max_size=4)
    elif op not in (Op.EQ, Op.NE):
        literals = st.one_of(numbers, texts)
    return st.builds(lambda key, literal: Expression(op, key, Value(literal)), keys, literals)


atoms = st.sampled_from([op for op in Op if op not in (Op.AND, Op.OR, Op.NOT)]).flatmap(_atom)
trees = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds(lambda child: Expression(Op.NOT, child), inner),
        st.builds(
            lambda op, children: Expression(op, *children),
            st.sampled_from([Op.AND, Op.OR]),
            st.lists(inner, min_size=2, max_size=4),
        ),
    ),
    max_leaves=12,
)
