"""What the kit tries: the documents, the random filters, the strategies, the shrinker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from tests.filter.naive import verdict
from vecstore import Capabilities, Expression, Key, Kind, Op, Value, parse
from vecstore.filter.convert import ALL_LITERALS
from vecstore.filter.normalize import simplify
from vecstore.filter.tree import LOGICAL
from vecstore.filter.values import to_metadata
from vecstore.testing import (
    Domain,
    RandomCases,
    filters,
    metadata,
    oracle,
    oracle_rows,
    shrink,
)
from vecstore.testing.cases import all_atoms
from vecstore.testing.declared import atom_refusal
from vecstore.testing.samples import ODD_KEYS, SCALARS

ROWS = oracle_rows()


def depth_of(filter: Expression) -> int:
    deepest, stack = 0, [(filter, 0)]
    while stack:
        node, depth = stack.pop()
        if node.op in LOGICAL:
            deepest = max(deepest, depth + 1)
            stack.extend((child, depth + 1) for child in node.operands)
    return deepest


# --- documents --------------------------------------------------------------------------------


def test_the_rows_are_documents() -> None:
    assert len(ROWS) >= 150
    for name, one in ROWS.items():
        assert repr(to_metadata(one)) == repr(one), name


def test_the_rows_hold_every_type_of_value_and_every_odd_key() -> None:
    values = [one["k"] for one in ROWS.values() if "k" in one]
    kinds = Counter(type(value).__name__ for value in values)
    assert {"bool", "int", "float", "str", "list", "dict", "NoneType"} <= set(kinds)
    assert [] in values
    assert {repr(value) for value in SCALARS} <= {repr(value) for value in values}
    for key in ODD_KEYS:
        assert {type(one[key]).__name__ for one in ROWS.values() if key in one} >= {"int", "str"}


def test_callers_may_change_the_rows_they_got() -> None:
    mine = oracle_rows()
    mine["value-0"]["k"] = "changed"
    mine["long-list"]["k"].append("changed")
    mine["path-beside-dotted-name"]["a"]["b"] = "changed"
    assert repr(oracle_rows()) == repr(ROWS)


def test_a_domain_takes_out_what_it_does_not_hold() -> None:
    domain = Domain(
        nested=False,
        nulls=False,
        empty_lists=False,
        lists=frozenset({Kind.STRING}),
        integers=(0, 10),
        max_text_bytes=3,
        accepts=lambda path, value: path != ("never",) and value != "no",
    )
    document = {
        "object": {"k": 1},
        "null": None,
        "empty": [],
        "numbers": [1],
        "texts": ["a", "abc"],
        "long": ["a", "abcd"],
        "accents": "éé",
        "large": 11,
        "small": 10,
        "float": 1e300,
        "true": True,
        "never": 1,
        "other": "no",
    }
    kept = {"texts": ["a", "abc"], "small": 10, "float": 1e300, "true": True}
    assert domain.fit(document) == kept


def test_the_oracle_reads_the_rules_as_another_reading_does() -> None:
    source = RandomCases(seed=11)
    for _ in range(150):
        filter = source.filter(4)
        tree = filter.to_dict()
        assert oracle(filter, ROWS) == {
            name for name, one in ROWS.items() if verdict(tree, one) is True
        }
    assert oracle("k == 'a' AND x == 'a'", ROWS) == {"same-everywhere"}


# --- random cases -----------------------------------------------------------------------------


def test_random_filters_use_everything_and_hit_documents() -> None:
    source = RandomCases(seed=3)
    trees = [source.filter() for _ in range(300)]
    ops = Counter(node.op for tree in trees for node in tree.walk())
    assert set(ops) == set(Op)
    assert max(map(depth_of, trees)) == 6
    rows = source.rows(150)
    shares = [len(oracle(tree, rows)) / len(rows) for tree in trees]
    assert sum(0 < share < 1 for share in shares) > 170


def written_atoms(filter: Expression) -> Iterator[Expression]:
    """What is left when NOT is pushed down; of merged atoms those that were written."""
    simple = simplify(filter)
    for node in () if isinstance(simple, bool) else simple.walk():
        if node.op not in LOGICAL:
            yield from node.merged or (node,)


def test_random_filters_keep_to_what_is_allowed() -> None:
    # EQ but not NE: after NOT is pushed down, so NOT (a != 1) may come and NOT (a == 1) may not.
    source = RandomCases(seed=4, allows=lambda atom: atom.op in (Op.EQ, Op.GT))
    seen = set()
    for _ in range(200):
        filter = source.filter()
        seen |= {node.op for node in filter.walk()} - LOGICAL
        for atom in written_atoms(filter):
            assert atom.op in (Op.EQ, Op.GT)
    assert seen == {Op.EQ, Op.GT, Op.NE, Op.LTE}
    with pytest.raises(ValueError, match="what does the dialect answer"):
        RandomCases(seed=4, allows=lambda atom: False).filter()


def test_random_documents_are_documents_of_the_domain() -> None:
    domain = Domain(nested=False, lists=frozenset({Kind.NUMBER}))
    for one in RandomCases(seed=5, domain=domain).rows(300).values():
        assert repr(to_metadata(one)) == repr(one)
        assert domain.fit(one) == one


# --- strategies -------------------------------------------------------------------------------


def test_the_strategies_reach_everything() -> None:
    ops: Counter[Op] = Counter()
    depths: Counter[int] = Counter()
    paths: Counter[int] = Counter()
    types: Counter[str] = Counter()

    @settings(max_examples=120, database=None, derandomize=True)
    @given(filters(), metadata())
    def look(filter: Expression, document: dict[str, Any]) -> None:
        assert parse(filter.to_text(), limits=None) == filter
        assert repr(to_metadata(document)) == repr(document)
        tree = filter.to_dict()
        assert filter.evaluate(document) is verdict(tree, document)
        depths[depth_of(filter)] += 1
        for node in filter.walk():
            ops[node.op] += 1
            if node.op not in LOGICAL:
                paths[len(node.key.path)] += 1
        types.update(type(value).__name__ for value in document.values())

    look()
    assert set(ops) == set(Op)
    assert max(depths) >= 5
    assert max(depths) <= 6
    assert {1, 2} <= set(paths)
    assert set(types) == {"bool", "int", "float", "str", "list", "dict", "NoneType"}


def test_filters_keep_to_the_capabilities() -> None:
    declared = Capabilities(
        literals={
            Op.EQ: ALL_LITERALS[Op.GT],
            Op.GT: frozenset({Kind.NUMBER}),
            Op.ISNULL: frozenset(),
        },
        nested_keys=False,
        max_number=100,
        max_string_bytes=3,
    )
    seen = set()

    @settings(max_examples=40, database=None, derandomize=True)
    @given(filters(declared, max_depth=3))
    def look(filter: Expression) -> None:
        for atom in written_atoms(filter):
            seen.add(atom.op)
            assert atom_refusal(declared, atom) is None

    look()
    assert seen == {Op.EQ, Op.GT, Op.ISNULL}
    with pytest.raises(ValueError, match="allow no operator"):
        filters(Capabilities(literals={}))


# --- what is declared -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "declared", "refused", "allowed"),
    [
        ("nested_keys", {"nested_keys": False}, "a.b == 1", '"a.b" == 1'),
        ("max_key_bytes", {"max_key_bytes": 4}, "aé.b IS NULL", "é.b IS NULL"),
        ("literals", {"literals": {Op.EQ: frozenset({Kind.BOOL})}}, "a == 1", "a == true"),
        ("literals", {"literals": {Op.EQ: frozenset({Kind.BOOL})}}, "a != true", "a == true"),
        ("max_list", {"max_list": 2}, "a IN [1, 2, 3]", "a IN [1, 2]"),
        ("max_string_bytes", {"max_string_bytes": 2}, "a == 'éa'", "a == 'é'"),
        ("max_number", {"max_number": 9}, "a IN [1, -10]", "a IN [true, -9, '10']"),
        ("max_ordered_number", {"max_ordered_number": 9}, "a > 9.5", "a == 9.5"),
    ],
)
def test_a_field_of_the_capabilities_rules_out(
    field: str, declared: dict[str, Any], refused: str, allowed: str
) -> None:
    capabilities = Capabilities(**declared)
    assert atom_refusal(capabilities, parse(refused)) == field
    assert atom_refusal(capabilities, parse(allowed)) is None


def test_what_is_read_from_the_capabilities_is_what_the_converter_does() -> None:
    from tests.dialects.conformance.memory import Memory
    from vecstore import UnsupportedFilterError

    declared = Capabilities(
        literals={
            Op.EQ: ALL_LITERALS[Op.EQ],
            Op.LT: frozenset({Kind.STRING}),
            Op.NIN: ALL_LITERALS[Op.EQ],
        },
        nested_keys=False,
        max_key_bytes=5,
        max_number=2**53,
        max_string_bytes=10,
        max_list=3,
    )

    class Narrow(Memory):
        @property
        def capabilities(self) -> Capabilities:
            return declared

    for atom in all_atoms():
        if atom.op in (Op.IN, Op.NIN) and not atom.value.items:
            continue
        try:
            Narrow().compile(atom)
            refused = False
        except UnsupportedFilterError:
            refused = True
        assert (atom_refusal(declared, atom) is not None) is refused, atom


# --- shrinking --------------------------------------------------------------------------------


def test_shrinking_finds_the_smallest_case_and_stops() -> None:
    source = RandomCases(seed=6)
    for _ in range(30):
        filter, document = source.filter(), source.document()
        small, less = shrink(filter, document, lambda *_: True)
        assert small.op not in LOGICAL
        assert less == {}
        same = shrink(filter, document, lambda *_: False)
        assert same == (filter, document)


def test_shrinking_keeps_what_makes_it_fail() -> None:
    filter = parse("NOT (n.x.k IN [1, 'a long text', true] AND NOT (y > 5 OR k IS NULL))")
    document = {"n": {"x": {"k": ["another", "a long text"]}, "y": 7}, "k": 3, "y": 1}

    def fails(filter: Expression, document: dict[str, Any]) -> bool:
        asked = any(
            "a long text" in node.value.items
            for node in filter.walk()
            if node.op in (Op.IN, Op.NIN, Op.EQ, Op.NE)
        )
        return asked and "a long text" in str(document)

    small, less = shrink(filter, document, fails)
    assert small == Expression(Op.EQ, Key("k"), Value("a long text"))
    assert less == {"k": ["a long text"]}


def test_shrinking_keeps_to_its_budget() -> None:
    calls = []
    filter = Expression(Op.AND, *[Expression(Op.EQ, Key("k"), Value(f"v{n}")) for n in range(500)])
    shrink(filter, {"k": 1}, lambda *case: bool(calls.append(case)), max_tries=25)
    assert len(calls) == 25
    shrink(filter, {"k": 1}, lambda *case: bool(calls.append(case)), max_seconds=0.0)
    assert len(calls) == 25
