"""Promoted keys: the same rows as without them, on the real engine."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from tests.engines.postgres import promoted
from vecstore import (
    BackendError,
    ConfigurationError,
    Document,
    DocumentError,
    Expression,
    F,
    FilterTypeError,
    Key,
    Op,
    Schema,
    Value,
)
from vecstore.dialects.pgvector import Column, Pgvector
from vecstore.dialects.pgvector.store import PgvectorStore

COLUMNS = {
    "b": "bool", "i": "int", "f": "float", "s": "str", "d": "datetime", "t": "list[str]",
    "odd {key} %s": "int",
}  # fmt: skip
PROMOTED = promoted(COLUMNS, {"odd {key} %s": 'odd "name" %'})
VALUES: dict[str, list[Any]] = {
    "b": [True, False],
    "i": [0, 1, -1, 2, 2.0, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 10**17],
    "f": [0.0, 0.1, 1.5, 2.0, 3, 2**53, float(2**53), 1e300, -1e300, 5e-324, -0.5],
    "s": ["", "a", "b", "A", "é", "\uffff", "😀", "it's", "2024-01-01T00:00:00.000000Z"],
    "d": ["2024-01-01T00:00:00.000000Z", "2023-01-01T00:00:00.000000Z"],
    "t": [["a"], ["a", "b"], ["é"]],
    "odd {key} %s": [1, 2, 3],
}
LITERALS: list[Any] = [
    True, False, 0, 1, -1, 2, 1.5, 2.5, 2**53, 2**53 + 1, 2**53 - 1, 2**63, 2**63 - 1, -(2**63) - 1,
    10**30, -(10**30), 10**400, -(10**400), 1e300, 0.1, 5e-324, "", "a", "b", "é", "x",
    "2024-01-01T00:00:00.000000Z",
]  # fmt: skip
ATOMS = [op for op in Op if op not in (Op.AND, Op.OR, Op.NOT)]


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.wide)])
def test_every_operator_and_literal_selects_the_rows_of_the_contract(
    open_pg: Callable[..., PgvectorStore], step: int
) -> None:
    """One in seven suffices beside the conformance suite, which has a class for columns."""
    dice = random.Random(5)
    rows: dict[str, dict[str, Any]] = {}
    for number in range(150):
        rows[str(number)] = {
            key: dice.choices([None, [], dice.choice(values)], [1, 1, 8])[0]
            for key, values in VALUES.items()
            if dice.random() > 0.15
        }
    store = open_pg(**PROMOTED, dimension=2, index=None)
    store.add([Document("", row, id=id, embedding=[1, 0]) for id, row in rows.items()])
    filters: list[Expression] = []
    for key in COLUMNS:
        for op in ATOMS:
            for literal in [None] if op in (Op.ISNULL, Op.ISNOTNULL) else LITERALS:
                operands: list[Any] = [Key(key)]
                if op in (Op.IN, Op.NIN):
                    operands.append(Value([literal, dice.choice(LITERALS)]))
                elif literal is not None:
                    operands.append(literal)
                try:
                    if len(operands) == 2 and not isinstance(operands[1], Value):
                        operands[1] = Value(operands[1])
                    filters.append(PROMOTED["schema"].check(Expression(op, *operands)))
                except FilterTypeError:  # what no document fits is for the conformance suite
                    continue
    for atom in filters[::step]:
        for tree in (atom, ~atom, (atom & F.i.is_not_null()) | (F.plain == 1)):
            expected = {id for id, row in rows.items() if tree.matches(row)}
            found = {document.id for document in store.get(filter=tree)}
            assert found == expected, (tree, store._dialect.compile(tree, limits=None))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("b", 1), ("b", "true"), ("b", [True]),
        ("i", 1.5), ("i", 2**63), ("i", -(2**63) - 1), ("i", 1e300), ("i", True), ("i", "1"), ("i", [1]),
        ("f", 2**53 + 1), ("f", 10**400), ("f", "1"), ("f", [1.0]), ("f", False),
        ("s", 1), ("s", ["a"]), ("s", {"a": 1}),
        ("d", "2024-01-01"), ("d", "2024-01-01T00:00:00Z"), ("d", 5),
        ("t", "a"), ("t", [1]), ("t", {"a": "b"}),
    ],
)  # fmt: skip
def test_add_and_update_refuse_what_a_declared_key_cannot_hold(
    open_pg: Callable[..., PgvectorStore], key: str, value: Any
) -> None:
    store = open_pg(**PROMOTED, dimension=2, index=None)
    store.add([Document("", {}, id="there", embedding=[1, 0])])
    good = Document("", {"i": 1}, id="good", embedding=[1, 0])
    bad = Document("", {key: value}, id="bad one", embedding=[1, 0])
    with pytest.raises(DocumentError, match=r"declared as|does not fit the schema") as caught:
        store.add([good, bad])
    assert caught.value.document_id == "bad one"
    assert caught.value.key == key
    assert store.count() == 1
    with pytest.raises(DocumentError, match=r"declared as|does not fit the schema"):
        store.update_metadata(["there"], set={key: value})
    assert store.get(["there"])[0].metadata == {}


def test_what_an_index_cannot_hold_is_told_by_what_to_do(
    open_pg: Callable[..., PgvectorStore],
) -> None:
    store = open_pg(**promoted({"s": "str"}), dimension=2, index=None)
    noise = random.Random(1).randbytes(20_000).hex()
    for length in (10_000, 40_000):  # past a third of a page, and past a page
        with pytest.raises(BackendError, match=r"leave keys with longer ones out of columns"):
            store.add([Document("", {"s": noise[:length]}, id="x", embedding=[1, 0])])
    assert store.count() == 0


def test_columns_follow_every_change(open_pg: Callable[..., PgvectorStore]) -> None:
    store = open_pg(**promoted({"i": "int", "t": "list[str]"}), dimension=2, index=None)
    store.add([Document("", {"i": 1, "t": ["a"]}, id="x", embedding=[1, 0])])
    assert store.count("i == 1 AND t == 'a'") == 1
    store.update_metadata(["x"], set={"i": 2}, unset=["t"])
    assert store.count("i == 2 AND t IS NULL") == 1
    store.add([Document("", {"i": 3}, id="x", embedding=[1, 0])])
    assert store.count("i == 3") == 1
    # A store that does not know of the columns writes them all the same: the server does.
    open_pg().add([Document("", {"i": 4}, id="y", embedding=[1, 0])])
    assert store.count("i == 4") == 1


def test_promoted_keys_use_their_own_index(open_pg: Callable[..., PgvectorStore]) -> None:
    import psycopg

    store = open_pg(**promoted({"i": "int", "s": "str", "t": "list[str]"}), dimension=2, index=None)
    store.add(
        [
            Document(
                "", {"i": n, "s": f"s{n}", "t": [f"t{n}"], "plain": n}, id=str(n), embedding=[1, n]
            )
            for n in range(5_000)
        ]
    )
    with store.native.connection() as connection:
        connection.execute(f"VACUUM ANALYZE {store._spec.table}")
        for filter, index in [
            ("i == 5", "_i_ix"),
            ("i >= 4990", "_i_ix"),
            ("i IN [5, 6]", "_i_ix"),
            ("s > 's4998'", "_s_ix"),
            ("t == 't7'", "_t_ix"),
            ("plain == 5", "_metadata_ix"),
            ("plain IN [5, 6]", "_metadata_ix"),
        ]:
            compiled = store._dialect.compile(filter)
            cursor = psycopg.ClientCursor(connection)
            cursor.execute(
                f"EXPLAIN SELECT id FROM {store._spec.table} WHERE {compiled.query}",
                compiled.params,
            )
            plan = "\n".join(row[0] for row in cursor.fetchall())
            assert index in plan, (filter, plan)


SCHEMA = Schema({"a": int, "x": str, "n": list[int], "z": "any", "d": Decimal, "o": {"i": int}})


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"a": "int"}, r"columns=\['a'\], schema=Schema\(\{'a': int\}, others='allow'\)"),
        ({"a": Column("int")}, r"columns=\['a'\], schema=Schema"),
        ("a", r"columns=\['year'\]"),
        ({"a": 5}, "has a name, not a int"),
        ([5], "a key is text"),
        ([""], "empty"),
        ({"a": "x", "x": "x"}, "two keys"),
        (["__vecstore_a"], "reserved"),
        (["yaer"], r"needs a declaration: schema=Schema\(\{'yaer'"),
        (["o.i"], "only keys at the top"),
        ([["o", "i"]], "only keys at the top"),
        (["n"], r"declared as list\[...\], and a column holds"),
        (["d"], "declared as decimal, and a column holds"),
        (["z"], "declared as any, and a column holds"),
    ],
)
def test_declarations_that_cannot_be(columns: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Pgvector(columns=columns, schema=SCHEMA)


def test_the_former_form_is_answered_with_the_new_one(
    open_pg: Callable[..., PgvectorStore],
) -> None:
    with pytest.raises(ConfigurationError, match=r"write columns=\['year'\], schema=Schema"):
        open_pg(columns={"year": "int"})
    with pytest.raises(ConfigurationError, match="namespace"):
        open_pg(columns=["year"], schema="public")


def test_a_column_may_not_be_named_like_one_of_the_store(
    open_pg: Callable[..., PgvectorStore],
) -> None:
    with pytest.raises(ConfigurationError, match="used twice"):
        open_pg(**promoted({"text": "str"}), dimension=2)
    named = promoted({"text": "str"}, {"text": "meta_text"})
    store = open_pg(**named, dimension=2, index=None)
    store.add([Document("body", {"text": "x"}, id="1", embedding=[1, 0])])
    assert store.count("text == 'x'") == 1


def test_dialect_with_columns_is_hashable_and_equal() -> None:
    schema = Schema({"a": int})
    one, two = (Pgvector(columns=form, schema=schema) for form in (["a"], {"a": "a"}))
    assert one == two
    assert hash(one) == hash(two)
    assert one.compile("a == 1").query == '"a" = %(p0)s::bigint'
    qualified = Pgvector(("d", "m"), columns=["a"], schema=schema).compile("a > 1.5")
    assert (qualified.query, qualified.params) == ('"d"."a" > %(p0)s::bigint', {"p0": 1})
