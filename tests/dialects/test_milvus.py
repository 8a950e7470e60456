"""The Milvus dialect: on milvus-lite, and under the rules of servers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.dialects import milvus_server
from tests.dialects.corpus import answered, corpus
from tests.engines.fixtures import milvus_uri as milvus_uri
from tests.engines.milvus import MilvusRows
from vecstore import (
    Compiled,
    ConfigurationError,
    Expression,
    F,
    Key,
    Op,
    Schema,
    UnsupportedFilterError,
    Value,
    compile_filter,
    parse,
)
from vecstore.dialects.milvus import Milvus
from vecstore.dialects.milvus.layout import MAX_INTEGER, tags_of
from vecstore.filter.normalize import simplify
from vecstore.filter.tree import NULL_TESTS, ORDERINGS

EXACT = Milvus(tags="tags")
PLAIN = Milvus()
ASTRAL_HAN = "\U00020bb7"

EXACT_SPEC: list[tuple[Expression, str]] = [
    (F.k == "a", r'array_contains(tags, "[\"k\"]=\"a\"")'),
    (F.k == 1.0, r'array_contains(tags, "[\"k\"]=1")'),
    (F.k == True, r'array_contains(tags, "[\"k\"]=true")'),  # noqa: E712
    (F.k != 0.5, r'not array_contains(tags, "[\"k\"]=0.5")'),
    (F.k == 2**60, r'array_contains(tags, "[\"k\"]=1152921504606846976")'),
    (F.k.in_(["a", 1]), r'array_contains_any(tags, ["[\"k\"]=\"a\"", "[\"k\"]=1"])'),
    (F.k.in_([1, 1.0]), r'array_contains(tags, "[\"k\"]=1")'),
    (F.k.not_in([True, 2]), r'not array_contains_any(tags, ["[\"k\"]=true", "[\"k\"]=2"])'),
    (F.k.is_null(), r'not array_contains(tags, "[\"k\"]")'),
    (F.k.is_not_null(), r'array_contains(tags, "[\"k\"]")'),
    (F.k > 1, r'(array_contains(tags, "[\"k\"]:number") and metadata["k"] > 1)'),
    (F.k <= -1.5e-9, r'(array_contains(tags, "[\"k\"]:number") and metadata["k"] <= -1.5e-09)'),
    (~(F.k >= "é"), r'(array_contains(tags, "[\"k\"]:string") and metadata["k"] < "é")'),
    (
        F.a["b.c"] > 0,
        r'(array_contains(tags, "[\"a\",\"b.c\"]:number") and metadata["a"]["b.c"] > 0)',
    ),
    (F.k == 'say "hi"\\', r'array_contains(tags, "[\"k\"]=\"say\\u0020\\\"hi\\\"\\\\\"")'),
    (F.k == "line\n猫", r'array_contains(tags, "[\"k\"]=\"line\\n\\u732b\"")'),
    (
        ((F.a == 1) | (F.b == 2)) & (F.k != "x"),
        r'((array_contains(tags, "[\"a\"]=1") or array_contains(tags, "[\"b\"]=2"))'
        r' and not array_contains(tags, "[\"k\"]=\"x\""))',
    ),
    (F.k.in_([]), 'array_contains(tags, "")'),
    (F.k.not_in([]), ""),
]

PLAIN_SPEC: list[tuple[Expression, str]] = [
    (
        F.k == "a",
        '(metadata["k"] == "a" or (json_contains_any(metadata["k"], ["a"]) and exists metadata["k"][0]))',
    ),
    (
        F.k == 2,
        '(metadata["k"] == 2 or (json_contains_any(metadata["k"], [2.0]) and exists metadata["k"][0]))',
    ),
    (
        F.k.in_(["a", -2, "b"]),
        '(metadata["k"] == "a" or metadata["k"] == -2 or metadata["k"] == "b"'
        ' or (json_contains_any(metadata["k"], ["a", "b"]) and exists metadata["k"][0])'
        ' or (json_contains_any(metadata["k"], [-2.0]) and exists metadata["k"][0]))',
    ),
    (F.k >= "a", 'metadata["k"] >= "a"'),
    (~(F.k < 2.5), 'metadata["k"] >= 2.5'),
    (F.k < 0, 'metadata["k"] < 0'),
    ((F.k > 1) & (F.a.b > "\n"), r'(metadata["k"] > 1 and metadata["a"]["b"] > "\n")'),
    (F.k.in_([]), '(metadata["never"] == "a" and metadata["never"] == "b")'),
    (F.k.not_in([]), ""),
]


DECLARED = Milvus(
    schema=Schema({"n": int, "s": str, "b": bool, "c": ["x", "y"], "l": list[int]}, others="allow")
)
DECLARED_SPEC: list[tuple[Expression, str]] = [
    (F.n == 1, '(metadata["n"] == 1)'),
    (F.n > 0, 'metadata["n"] > 0'),
    (F.n != 1, '(not exists metadata["n"] or not (metadata["n"] == 1))'),
    (F.n.not_in([1, "x", True]), '(not exists metadata["n"] or not (metadata["n"] == 1))'),
    (F.n.is_not_null(), 'metadata["n"] >= -1.7976931348623157e+308'),
    (F.s.is_not_null(), 'metadata["s"] >= ""'),
    (F.b == True, '(metadata["b"] == true)'),  # noqa: E712
    (
        F.b.is_null(),
        '(not exists metadata["b"] or not (metadata["b"] == true or metadata["b"] == false))',
    ),
    (
        F.c.is_null(),
        '(not exists metadata["c"] or not (metadata["c"] == "x" or metadata["c"] == "y"))',
    ),
    (F.l == 1, '(json_contains_any(metadata["l"], [1.0]))'),
    (F.l != 1, '(not exists metadata["l"][0] or not (json_contains_any(metadata["l"], [1.0])))'),
    (F.l.is_null(), 'not exists metadata["l"][0]'),
    (F.n == "x", '(metadata["never"] == "a" and metadata["never"] == "b")'),
    (F.l != "x", ""),
]


@pytest.mark.parametrize(("filter", "text"), DECLARED_SPEC, ids=lambda part: str(part)[:60])
def test_declared_spec(filter: Expression, text: str) -> None:
    compiled = DECLARED.compile(filter)
    assert compiled.query == text
    assert compiled.matches_all is (text == "")
    assert compiled.matches_nothing is ("never" in text)


def test_what_is_absent_is_said_to_one_target() -> None:
    for text in ("n IS NULL", "NOT s IS NOT NULL"):
        with pytest.raises(UnsupportedFilterError, match="tells no number or text") as caught:
            DECLARED.compile(text)
        assert "target='lite'" in str(caught.value)
    told = {target: replace(DECLARED, target=target) for target in ("lite", "server")}
    assert told["lite"].compile("s IS NULL").query == (
        '(not exists metadata["s"] or not (metadata["s"] like "%"))'
    )
    assert told["server"].compile("n IS NULL").query == (
        '(not exists metadata["n"] or not (metadata["n"] >= -1.7976931348623157e+308))'
    )
    with pytest.raises(ConfigurationError, match=r"unknown target '2\.6'; one of lite, server"):
        Milvus(target="2.6")  # type: ignore[arg-type]


@pytest.mark.parametrize(("filter", "text"), EXACT_SPEC, ids=lambda part: str(part)[:60])
def test_exact_spec(filter: Expression, text: str) -> None:
    check_spec(EXACT.compile(filter), text, filter)


@pytest.mark.parametrize(("filter", "text"), PLAIN_SPEC, ids=lambda part: str(part)[:60])
def test_plain_spec(filter: Expression, text: str) -> None:
    check_spec(PLAIN.compile(filter), text, filter)


def check_spec(compiled: Compiled, text: str, filter: Expression) -> None:
    assert compiled.query == text
    assert compiled.params == ()
    constant = simplify(filter)
    assert compiled.matches_all is (constant is True)
    assert compiled.matches_nothing is (constant is False)


PRESENCE = "of a missing key, of null and of .* differs between versions"
BOOLS = "take true for 1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("k != 'a'", PRESENCE), ("NOT k == 2", PRESENCE), ("k NOT IN ['a']", PRESENCE),
        ("k IS NULL", PRESENCE), ("k IS NOT NULL", PRESENCE), ("NOT k IN ['a', 2]", PRESENCE),
        ("k == true", "true and 1 are one"), ("k IN ['a', false]", "true and 1 are one"),
        ("k == 1", BOOLS), ("k == 0.0", BOOLS), ("k IN [2, 1]", BOOLS),
        ("k > 0", BOOLS), ("k > 0.5", BOOLS), ("k >= 1", BOOLS), ("k < 10", BOOLS), ("k <= 0", BOOLS),
        ("a.\"0\" == 'x'", "digits in a path"), ("a.\"10\" > 'x'", "digits in a path"),
        ("\"say \\\"hi\\\"\" == 'x'", "cannot reach into JSON"), ("'a\\\\' > 'x'", "cannot reach"),
        ("\"a][b\" == 'x'", "cannot reach"), ("'a\nb' == 'x'", "cannot reach"),
        (f"k == '{ASTRAL_HAN}'", "misreads Han"), (f"k > 'a{ASTRAL_HAN}'", "misreads Han"),
        ("k == 9007199254740992", "max_number"),
    ],
)  # fmt: skip
def test_without_tags_the_rest_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UnsupportedFilterError, match=reason) as caught:
        PLAIN.compile(text)
    assert caught.value.remedy
    assert caught.value.span is not None
    if "max_number" not in reason:
        assert not EXACT.compile("k == 1").matches_all  # and with tags it is not


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\"say \\\"hi\\\"\" > 1", "cannot reach"), ("a.'b\\\\c' <= 'x'", "cannot reach"),
        ("\"a][b\" > 1", "cannot reach"), ("'a\tb' > 1", "cannot reach"),
        (f"'{ASTRAL_HAN}' > 1", "cannot reach"), (f"k > '{ASTRAL_HAN}'", "misreads Han"),
        ("k > 9007199254740992", "max_number"), ("k <= -1e16", "max_number"),
    ],
)  # fmt: skip
def test_with_tags_only_some_orderings_are_refused(text: str, reason: str) -> None:
    with pytest.raises(UnsupportedFilterError, match=reason) as caught:
        EXACT.compile(text)
    assert caught.value.remedy
    atom = parse(text)
    for op in (Op.EQ, Op.NE):
        EXACT.compile(Expression(op, atom.key, atom.value))


# --- on milvus-lite, and under the rules of servers ---------------------------------------------


@pytest.fixture(scope="module")
def milvus(milvus_uri: str) -> Iterator[MilvusRows]:
    with MilvusRows(milvus_uri, tags_of) as rows:
        yield rows


def storable() -> dict[str, dict[str, Any]]:
    return {
        name: one
        for name, one in corpus()[1].items()
        if not any(type(value) is int and value > MAX_INTEGER for value in one.values())
    }


def sampled(step: int) -> Any:
    numbers = {id(filter): number for number, filter in enumerate(corpus()[0])}
    return lambda filter: numbers[id(filter)] % step == 0


def test_cases_on_the_engine(milvus: MilvusRows) -> None:
    rows = storable()
    milvus.load(rows)
    assert answered(EXACT, rows, milvus.select, only=sampled(14)) > 50
    assert answered(PLAIN, rows, milvus.select, only=sampled(8)) > 20


@pytest.mark.wide
def test_every_case_on_the_engine(milvus: MilvusRows) -> None:
    rows = storable()
    milvus.load(rows)
    assert answered(EXACT, rows, milvus.select) > 800
    assert answered(PLAIN, rows, milvus.select) > 200


@pytest.mark.parametrize("three_valued", [False, True], ids=["until 2.6.8", "later"])
@pytest.mark.parametrize(("dialect", "least"), [(EXACT, 65), (PLAIN, 30)], ids=["exact", "plain"])
def test_cases_under_the_rules_of_servers(dialect: Milvus, least: int, three_valued: bool) -> None:
    rows = storable()
    stored = {name: milvus_server.row(one, tags_of(one)) for name, one in rows.items()}

    def select(compiled: Compiled) -> set[str]:
        if compiled.matches_all:
            return set(stored)
        node = milvus_server.compiled(compiled.query)
        return {
            name
            for name, row in stored.items()
            if milvus_server.matches(node, row, three_valued=three_valued)
        }

    step = 12 if dialect is EXACT else 6
    assert answered(dialect, rows, select, only=sampled(step)) > least


DIFFICULT: dict[str, dict[str, Any]] = {
    "text that is JSON": {"k": '["a"]'}, "and a number": {"k": "[2]"}, "object as text": {"k": '{"0":"a"}'},
    "key 0": {"k": {"0": "a", "1": 2}}, "texts": {"k": ["a", "b"]}, "numbers": {"k": [2, 3]},
    "floats": {"k": [2.0]}, "bools": {"k": [True, False]}, "true": {"k": True}, "false": {"k": False},
    "one": {"k": 1}, "float": {"k": 2.0}, "digit": {"k": "2"}, "nothing": {}, "null": {"k": None},
    "empty": {"k": []}, "empty text": {"k": ""}, "object": {"k": {}}, "inside": {"k": {"a": ["a", "2"]}},
    "null inside": {"k": {"a": None}}, "big": {"k": 2**62 + 1}, "Han": {"k": "猫"}, "astral": {"k": "\U0001f600"},
}  # fmt: skip


def test_difficult_documents(milvus: MilvusRows) -> None:
    milvus.load(DIFFICULT)
    stored = {name: milvus_server.row(one, tags_of(one)) for name, one in DIFFICULT.items()}
    literals: list[Any] = [
        "a",
        "",
        '["a"]',
        "[",
        "2",
        "猫",
        2,
        2.0,
        2.5,
        -1,
        0,
        1,
        True,
        2**62 + 1,
        2**62,
    ]
    compared = 0
    for path in (("k",), ("k", "0"), ("k", "a"), ("k", "-"), ("nokey",)):
        atoms = [
            Expression(op, Key(*path), Value(literal))
            for op in (Op.EQ, Op.NE, *ORDERINGS)
            for literal in literals
            if not (literal is True and op in ORDERINGS)
        ]
        atoms += [Expression(op, Key(*path)) for op in NULL_TESTS]
        for atom in atoms:
            expected = {name for name, one in DIFFICULT.items() if atom.matches(one)}
            for dialect in (EXACT, PLAIN):
                try:
                    compiled = dialect.compile(atom)
                except UnsupportedFilterError:
                    continue
                compared += 1
                assert milvus.select(compiled) == expected, (dialect, atom.to_text())
                node = milvus_server.compiled(compiled.query)
                for three_valued in (False, True):
                    assert expected == {
                        name
                        for name, row in stored.items()
                        if milvus_server.matches(node, row, three_valued=three_valued)
                    }, (dialect, atom.to_text())
    assert compared > 450


def test_no_filter_and_no_document(milvus: MilvusRows) -> None:
    milvus.load(DIFFICULT)
    for dialect in (EXACT, PLAIN):
        assert milvus.select(dialect.compile(None)) == set(DIFFICULT)
        assert milvus.select(dialect.compile(F.k.in_([])).query) == set()


# --- cases from reports ------------------------------------------------------------------------


def select(rows: MilvusRows, documents: dict[str, dict[str, Any]], text: str) -> set[str]:
    rows.load(documents)
    filter = parse(text)
    found = rows.select(EXACT.compile(filter))
    assert found == {name for name, one in documents.items() if filter.matches(one)}
    return found


def test_line_breaks_and_tabs_in_values(milvus: MilvusRows) -> None:
    value = "line1\nline2\t\r"
    documents = {"it": {"entity": value}, "other": {"entity": "line1"}, "list": {"entity": [value]}}
    milvus.load(documents)
    for dialect in (EXACT, PLAIN):
        compiled = dialect.compile(F.entity == value)
        assert not set(compiled.query) & set("\n\r\t")
        assert milvus.select(compiled) == {"it", "list"}
    ordered = EXACT.compile(F.entity >= value)
    assert not set(ordered.query) & set("\n\r\t")
    assert milvus.select(ordered) == {"it"}


def test_null_tests_run_on_lite_as_on_a_server(milvus: MilvusRows) -> None:
    documents = {
        "one": {"k": 1},
        "null": {"k": None},
        "none": {},
        "empty": {"k": []},
        "object": {"k": {}},
    }
    assert select(milvus, documents, "k IS NULL") == {"null", "none", "empty"}
    assert select(milvus, documents, "k IS NOT NULL AND k.x IS NULL") == {"one", "object"}


def test_parentheses_are_kept_and_nothing_is_written_twice(milvus: MilvusRows) -> None:
    documents = {
        "a": {"year": 2021, "country": "NL", "city": "Breda"}, "b": {"year": 2019, "country": "BG", "city": "Sofia"},
        "c": {"year": 2019, "country": "BG", "city": "Varna"}, "d": {"year": 2019, "country": "NL"},
    }  # fmt: skip
    text = "(year >= 2020 OR country == 'BG') AND city != 'Sofia'"
    assert select(milvus, documents, text) == {"a", "c"}
    assert EXACT.compile(text).query.count("Sofia") == 1
    assert select(milvus, documents, "year >= 2020 OR country == 'BG' AND city != 'Sofia'") == {
        "a",
        "c",
    }


def test_bools_numbers_and_texts_are_kept_apart(milvus: MilvusRows) -> None:
    documents = {
        "true": {"ok": True},
        "one": {"ok": 1},
        "float": {"ok": 1.0},
        "text": {"ok": "true"},
    }
    assert select(milvus, documents, "ok == true") == {"true"}
    assert select(milvus, documents, "ok IN [true, false]") == {"true"}
    assert select(milvus, documents, "ok == 1") == {"one", "float"}
    assert select(milvus, documents, "ok >= 0") == {"one", "float"}
    assert select(milvus, documents, "ok != true") == {"one", "float", "text"}


def test_a_key_with_dots_is_one_key(milvus: MilvusRows) -> None:
    documents = {"flat": {"tb_9.6.1-1": "x"}, "nested": {"tb_9": {"6": {"1-1": "x"}}}}
    for symbol in ("==", ">="):
        assert select(milvus, documents, f"\"tb_9.6.1-1\" {symbol} 'x'") == {"flat"}
        assert select(milvus, documents, f'tb_9."6"."1-1" {symbol} \'x\'') == {"nested"}


def test_hostile_keys_and_values_select_what_they_say(milvus: MilvusRows) -> None:
    draw = random.Random(3)
    pool = [
        '"',
        "\\",
        "'",
        "]",
        "[",
        "\n",
        "\t",
        "%",
        "{x}",
        "猫",
        ASTRAL_HAN,
        " or ",
        "a",
        "=",
        "\\u0041",
    ]
    words = sorted({"".join(draw.choices(pool, k=draw.randint(1, 4))) for _ in range(60)})
    documents = {f"d{number}": {word: words[-number]} for number, word in enumerate(words)}
    milvus.load(documents)
    for number, word in enumerate(words):
        key = Key(word)
        for filter in (
            Expression(Op.EQ, key, Value(words[-number])),
            Expression(Op.NE, key, Value(words[-number])),
            Expression(Op.ISNOTNULL, key),
            Expression(Op.GTE, key, Value("")),
        ):
            try:
                compiled = EXACT.compile(filter)
            except UnsupportedFilterError:
                assert filter.op is Op.GTE
                continue
            expected = {name for name, one in documents.items() if filter.matches(one)}
            assert milvus.select(compiled) == expected, (word, filter)


# --- sizes and options -------------------------------------------------------------------------


def test_the_deepest_and_widest_filters_run(milvus: MilvusRows) -> None:
    documents = {
        "a": {"k": 1, "x": 1},
        "b": {"k": 20, "y": 1},
        "c": {},
        "d": {"k": 3, "x": [1], "y": "b"},
    }
    milvus.load(documents)
    depth = EXACT.capabilities.max_depth
    assert depth is not None
    filter = F.k > 1
    for level in range(depth):
        # Levels so wide that each is cut into groups.
        wide = [F.x.is_not_null()] * 1 + [F.k != -number for number in range(40)]
        others = [F.y == "b"] + [F.k == -number for number in range(40)]
        parts = wide if level % 2 else others
        filter = Expression(Op.AND if level % 2 else Op.OR, filter, *parts)
    compiled = EXACT.compile(filter)
    assert _nesting(compiled.query) < 100
    assert milvus.select(compiled) == {
        name for name, one in documents.items() if filter.matches(one)
    }
    with pytest.raises(UnsupportedFilterError, match="max_depth"):
        EXACT.compile((filter | F.z.is_null()) & F.z.is_null())


def _nesting(text: str) -> int:
    deepest = depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    return deepest


def test_long_lists_and_chains(milvus: MilvusRows) -> None:
    documents: dict[str, Any] = {
        f"d{number}": {"n": number, "s": f"v{number}"} for number in range(90, 110)
    }
    documents |= {"list": {"n": [5, 9_000], "s": ["v7"]}, "none": {}}
    milvus.load(documents)
    names = [f"v{number}" for number in range(100, 10_100)]
    for filter in (
        F.s.in_(names),
        F.n.not_in(list(range(100, 10_100))),
        Expression(Op.AND, *[F.n != number for number in range(100, 5_100)]),
    ):
        expected = {name for name, one in documents.items() if filter.matches(one)}
        assert 0 < len(expected) < len(documents)
        compiled = EXACT.compile(filter)
        assert milvus.select(compiled) == expected
        assert _nesting(compiled.query) < 8
    few = F.s.in_(names[:200])
    assert milvus.select(PLAIN.compile(few)) == {
        name for name, one in documents.items() if few.matches(one)
    }
    with pytest.raises(UnsupportedFilterError, match="max_atoms"):
        EXACT.compile(Expression(Op.OR, *[F[f"n{n}"] == n for n in range(10_001)]), limits=None)


def test_options() -> None:
    assert compile_filter("k >= 'a'", "milvus", field="meta").query == 'meta["k"] >= "a"'
    assert compile_filter("k == 1", "milvus", tags="t").query == r'array_contains(t, "[\"k\"]=1")'
    for bad in ("", "a b", "$meta", 'a"', "a[0]", "é", "1a", "a\n"):
        with pytest.raises(ConfigurationError, match="field name"):
            Milvus(field=bad)
        with pytest.raises(ConfigurationError, match="field name"):
            Milvus(tags=bad)
    for bad in ("None", "none", "NULL"):
        with pytest.raises(ConfigurationError, match="write None without quotes"):
            Milvus(tags=bad)
    with pytest.raises(TypeError, match="its options are: field, tags"):
        Milvus(prefix="k")  # type: ignore[call-arg]


def test_a_key_deeper_than_any_document_is_decided_without_the_engine() -> None:
    deep = Key(*["a"] * 30_000)
    for dialect in (EXACT, PLAIN):
        for filter, nothing in [
            (Expression(Op.EQ, deep, Value("x")), True),
            (Expression(Op.GT, deep, Value("x")), True),
            (Expression(Op.ISNOTNULL, deep), True),
            (Expression(Op.NE, deep, Value("x")), False),
            (Expression(Op.NIN, deep, Value(["x"])), False),
            (Expression(Op.ISNULL, deep), False),
        ]:
            compiled = dialect.compile(filter)
            assert (compiled.matches_nothing, compiled.matches_all) == (nothing, not nothing)
            assert len(compiled.query) < 100
    edge = Expression(Op.GT, Key(*["a"] * 64), Value(2))
    assert not EXACT.compile(edge).matches_nothing
