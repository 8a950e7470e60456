"""The Qdrant dialect, on the client's local mode and on the real engine."""

from __future__ import annotations

import json
import random
from datetime import datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.dialects.corpus import answered, corpus
from tests.engines.fixtures import qdrant_rows as qdrant_rows
from tests.engines.qdrant import QdrantEdgeRows, QdrantLocalRows
from tests.engines.rows import Rows
from vecstore import (
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
from vecstore.dialects.qdrant import Qdrant
from vecstore.dialects.qdrant.conditions import encode_key
from vecstore.dialects.qdrant.layout import MAX_INTEGER, OWN

TOP = Qdrant(prefix="")
NOTHING = {"must_not": [{"must": []}]}


def equal(value: Any, key: str = "k") -> Any:
    return {"key": key, "match": {"value": value}}


def between(lowest: float, highest: float, key: str = "k") -> Any:
    return {"key": key, "range": {"gte": lowest, "lte": highest}}


def ordered(bound: dict[str, Any], key: str = "k") -> list[Any]:
    return [{"key": key, "range": bound}, {"is_empty": {"key": f"{key}[]"}}]


EMPTY = {"is_empty": {"key": "k"}}

SPEC: list[tuple[Expression, Any]] = [
    (F.k == "a", {"must": [equal("a")]}),
    (F.k == True, {"must": [equal(True)]}),  # noqa: E712
    (F.k == 1, {"must": [between(1, 1)]}),
    (F.k == 1.5, {"must": [between(1.5, 1.5)]}),
    (F.k != "a", {"must_not": [equal("a")]}),
    (~(F.k == 1), {"must_not": [between(1, 1)]}),
    (F.k > 1, {"must": ordered({"gt": 1})}),
    (F.k >= 1.5, {"must": ordered({"gte": 1.5})}),
    (~(F.k >= 1), {"must": ordered({"lt": 1})}),
    (F.k <= -1, {"must": ordered({"lte": -1})}),
    (F.k.in_(["a", "b"]), {"must": [{"key": "k", "match": {"any": ["a", "b"]}}]}),
    (F.k.in_(["a"]), {"must": [equal("a")]}),
    (F.k.in_([1, "a", True]), {"should": [equal("a"), equal(True), between(1, 1)]}),
    (F.k.not_in([0.5, "a"]), {"must_not": [equal("a"), between(0.5, 0.5)]}),
    (F.k.is_null(), {"must": [EMPTY]}),
    (F.k.is_not_null(), {"must_not": [EMPTY]}),
    (F.a.b == "x", {"must": [equal("x", "a.b")]}),
    (F["a.b"] == "x", {"must": [equal("x", '"a.b"')]}),
    (F["it's"]["k[]"] > 0, {"must": ordered({"gt": 0}, '"it\'s"."k[]"')}),
    (
        (F.k == "a") & (F.x != "b") & (F.y > 1),
        {"must": [equal("a"), *ordered({"gt": 1}, "y")], "must_not": [equal("b", "x")]},
    ),
    (
        (F.k == "a") | (F.x != "b") | F.y.in_([True, "c"]),
        {
            "should": [
                equal("a"),
                {"must_not": [equal("b", "x")]},
                equal("c", "y"),
                equal(True, "y"),
            ]
        },
    ),
    (
        ((F.k == "a") | (F.y == "b")) & (F.x == "c"),
        {"must": [{"should": [equal("a"), equal("b", "y")]}, equal("c", "x")]},
    ),
    (F.k.in_([]), NOTHING),
    (F.k.not_in([]), {}),
]


@pytest.mark.parametrize(("filter", "query"), SPEC, ids=lambda part: str(part)[:60])
def test_spec(filter: Expression, query: Any) -> None:
    compiled = TOP.compile(filter)
    assert compiled.query == query
    assert compiled.params == ()
    assert json.loads(json.dumps(compiled.query)) == query
    assert compiled.matches_nothing is (query == NOTHING)
    assert compiled.matches_all is (query == {})


def test_metadata_stands_under_its_prefix() -> None:
    nested = Qdrant(prefix="metadata")
    assert nested.compile(F.k == "a").query == {"must": [equal("a", "metadata.k")]}
    in_a_path = Qdrant(prefix=("doc", "meta data"))
    assert in_a_path.compile(F.k == "a").query == {"must": [equal("a", 'doc."meta data".k')]}
    assert in_a_path.compile(None).query == {}


@pytest.fixture(scope="module")
def rows_of_the_corpus() -> dict[str, dict[str, Any]]:
    rows = {
        name: one
        for name, one in corpus()[1].items()
        if not any(type(value) is int and value > MAX_INTEGER for value in one.values())
    }
    assert len(rows) > 740
    return rows


def test_every_case_on_every_document(rows_of_the_corpus: dict[str, dict[str, Any]]) -> None:
    with QdrantEdgeRows() as engine:
        engine.load(rows_of_the_corpus)
        # Of the rest most order texts.
        assert answered(TOP, rows_of_the_corpus, engine.select) > 420


@pytest.mark.wide
def test_every_case_in_local_mode(rows_of_the_corpus: dict[str, dict[str, Any]]) -> None:
    rows = rows_of_the_corpus
    with QdrantLocalRows() as engine:
        engine.load({name: OWN.write(name, "", one) for name, one in rows.items()})
        assert answered(Qdrant(prefix="metadata"), rows, engine.select, only=is_small) > 350


def is_small(filter: Expression) -> bool:
    return sum(1 for _ in filter.walk()) < 6


# --- keys and values ---------------------------------------------------------------------------

segments = st.text(
    st.characters(codec="utf-8", exclude_characters='\0"\\'), min_size=1, max_size=6
).filter(lambda name: not name.startswith("__vecstore"))


@given(st.lists(segments, min_size=1, max_size=3))
@example(["a.b", "[]", "0"])
@example([" ", "\n", "é"])
@example(["²", "Ⅷ", "__"])
def test_the_client_reads_keys_as_they_were(path: list[str]) -> None:
    from qdrant_client.local.json_path_parser import parse_json_path

    read = parse_json_path(encode_key(tuple(path)))
    assert [(item.item_type.value, item.key) for item in read] == [("key", name) for name in path]


@pytest.mark.parametrize("key", ['say "hi"', "a\\", '"', "\\", 'x", "match": {"value": 1'])
def test_keys_that_cannot_be_named_are_refused(key: str) -> None:
    for filter in (Expression(Op.EQ, Key(key), Value(1)), Expression(Op.ISNULL, Key("a", key))):
        with pytest.raises(UnsupportedFilterError, match="double quote or a backslash") as caught:
            TOP.compile(filter)
        assert caught.value.remedy == "rename the key"


def test_odd_keys_reach_their_documents(qdrant_rows: Rows) -> None:
    draw = random.Random(7)
    alphabet = "ab.[]0 -_'$%*/:{}\n\té²猫😀\u200b"
    paths = {tuple("".join(draw.choices(alphabet, k=draw.randint(1, 4))) for _ in range(depth))
             for depth in (1, 2) for _ in range(150)}  # fmt: skip
    documents: dict[str, Any] = {"none": {}}
    for number, path in enumerate(sorted(paths)):
        inner: Any = number
        for segment in reversed(path):
            inner = {segment: inner}
        documents[f"d{number}"] = inner
    qdrant_rows.load(documents)
    for path in paths:
        for filter in (
            Expression(Op.ISNOTNULL, Key(*path)),
            Expression(Op.GTE, Key(*path), Value(0)),
        ):
            expected = {name for name, one in documents.items() if filter.matches(one)}
            assert qdrant_rows.select(TOP.compile(filter)) == expected, path


def test_hostile_texts_are_values_and_nothing_else(qdrant_rows: Rows) -> None:
    texts = [
        "", " ", "'", '"', "\\", "a\\", '"}]}', '{"must":[]}', "%s", "${x}", "\n", "\t", "\x01",
        "é", "e\u0301", "猫", "\U00020bb7", "\u2028", "\ufeff", "true", "1", "1.0", "null", "[]", "*",
    ]  # fmt: skip
    documents = {f"d{number}": {"k": text} for number, text in enumerate(texts)}
    documents["list"] = {"k": texts}
    qdrant_rows.load(documents)
    for number, text in enumerate(texts):
        filter = F.k == text
        assert qdrant_rows.select(TOP.compile(filter)) == {f"d{number}", "list"}
        others = set(documents) - {f"d{number}", "list"}
        assert qdrant_rows.select(TOP.compile(F.k.not_in([text, "no such text"]))) == others


# --- cases from reports ------------------------------------------------------------------------


def select(rows: Rows, documents: dict[str, dict[str, Any]], text: str) -> set[str]:
    rows.load(documents)
    filter = parse(text)
    found = rows.select(TOP.compile(filter))
    assert found == {name for name, one in documents.items() if filter.matches(one)}
    return found


def test_not_in_matches_null_and_missing_but_no_list_that_holds_the_value(
    qdrant_rows: Rows,
) -> None:
    """MatchExcept would take [1, 2], of which one element differs, and leave out what is missing."""
    documents = {"one": {"n": 1}, "five": {"n": 5}, "null": {"n": None}, "none": {},
                 "list": {"n": [1, 2]}, "other": {"n": [2, 3]}, "empty": {"n": []}}  # fmt: skip
    expected = {"five", "null", "none", "other", "empty"}
    assert select(qdrant_rows, documents, "n NOT IN [1]") == expected
    assert select(qdrant_rows, documents, "n != 1") == expected
    assert select(qdrant_rows, documents, "NOT n IN [1]") == expected


def test_bools_are_not_numbers(qdrant_rows: Rows) -> None:
    documents = {
        "true": {"ok": True},
        "false": {"ok": False},
        "one": {"ok": 1},
        "text": {"ok": "true"},
    }
    assert select(qdrant_rows, documents, "ok == true") == {"true"}
    assert select(qdrant_rows, documents, "ok IN [true, false]") == {"true", "false"}
    assert select(qdrant_rows, documents, "ok != true") == {"false", "one", "text"}
    assert select(qdrant_rows, documents, "ok == 1") == {"one"}
    assert select(qdrant_rows, documents, "ok >= 0") == {"one"}


def test_floats_are_compared_for_equality(qdrant_rows: Rows) -> None:
    documents = {
        "a": {"price": 9.99},
        "b": {"price": 2},
        "c": {"price": 0.5},
        "d": {"price": [1, 0.5]},
    }
    assert select(qdrant_rows, documents, "price == 9.99") == {"a"}
    assert select(qdrant_rows, documents, "price != 9.99") == {"b", "c", "d"}
    assert select(qdrant_rows, documents, "price IN [0.5, 1, 2.0]") == {"b", "c", "d"}
    assert select(qdrant_rows, documents, "price NOT IN [0.5, 1, 2.0]") == {"a"}


def test_milliseconds_are_integers(qdrant_rows: Rows) -> None:
    documents = {
        "now": {"ts": 1767225600000},
        "then": {"ts": 1767225599998},
        "text": {"ts": "1767225600000"},
    }
    assert select(qdrant_rows, documents, "ts >= 1767225599999") == {"now"}
    assert select(qdrant_rows, documents, "ts == 1767225600000L") == {"now"}


def test_a_key_with_dots_is_one_key(qdrant_rows: Rows) -> None:
    documents = {"flat": {"tb_9.6.1-1": "x"}, "nested": {"tb_9": {"6": {"1-1": "x"}}}}
    assert select(qdrant_rows, documents, "\"tb_9.6.1-1\" == 'x'") == {"flat"}
    assert select(qdrant_rows, documents, 'tb_9."6"."1-1" == \'x\'') == {"nested"}


def test_an_empty_list_of_a_path_is_no_index(qdrant_rows: Rows) -> None:
    documents = {"list": {"t": ["a"]}, "object": {"t": {"0": "a", "[]": "b"}}}
    assert select(qdrant_rows, documents, "t.\"0\" == 'a'") == {"object"}
    assert select(qdrant_rows, documents, "t.\"[]\" == 'b'") == {"object"}


def test_no_condition_is_lost_where_branches_are_joined(qdrant_rows: Rows) -> None:
    draw = random.Random(870)
    documents = {
        f"d{number}": {
            "file": draw.choice(["f1", "f2", "f3", None]),
            "a": draw.choice([0.8, 0.85, 0.9, None]),
            "b": draw.choice([0.8, 0.85, [0.9], 1]),
        }
        for number in range(250)
    }
    reported = "file IN ['f1', 'f2'] AND (a >= .85 OR b >= .85)"
    assert 0 < len(select(qdrant_rows, documents, reported)) < 250
    atoms = [F.file == "f1", F.file != "f2", F.file.in_(["f1", 1]), F.a >= 0.85, ~(F.a > 0.8),
             F.b.is_null(), F.a.is_not_null(), F.b.not_in([1, 0.9]), F.b == 1]  # fmt: skip

    def tree(depth: int) -> Expression:
        if not depth:
            return draw.choice(atoms)
        parts = [tree(draw.randint(0, depth - 1)) for _ in range(draw.randint(2, 4))]
        built = Expression(draw.choice([Op.AND, Op.OR]), *parts)
        return ~built if draw.random() < 0.3 else built

    for _ in range(150):
        filter = tree(3)
        expected = {name for name, one in documents.items() if filter.matches(one)}
        assert qdrant_rows.select(TOP.compile(filter)) == expected, filter.to_text()


# --- sizes -------------------------------------------------------------------------------------


def nested(levels: int, leaf: Expression) -> Expression:
    for level in range(levels):
        leaf = (leaf & F.x.is_not_null()) if level % 2 else (leaf | F.y.is_null())
    return leaf


def test_the_deepest_filter_is_safe_everywhere(qdrant_rows: Rows) -> None:
    from qdrant_client import grpc, models
    from qdrant_client.conversions.conversion import RestToGrpc

    depth = TOP.capabilities.max_depth
    assert depth is not None
    documents = {"a": {"k": 1, "x": 1, "y": 1}, "b": {"k": 2000, "x": 1, "y": 1}, "c": {}}
    qdrant_rows.load(documents)
    for leaf in (F.k > 1, F.k.in_([2000, "a"]), F.k.not_in(list(range(500)))):
        filter = nested(depth, leaf)
        query = TOP.compile(filter, limits=None).query
        expected = {name for name, one in documents.items() if filter.matches(one)}
        assert qdrant_rows.select(query) == expected
        # A server's readers: 100 nested messages over gRPC (as this one), 128 of JSON over REST.
        message = RestToGrpc.convert_filter(models.Filter.model_validate(query))
        request = grpc.QueryPoints(prefetch=[grpc.PrefetchQuery(filter=message)])
        batch = grpc.QueryBatchPoints(query_points=[request]).SerializeToString()
        assert grpc.QueryBatchPoints.FromString(batch).query_points
        assert _levels({"searches": [{"filter": query}]}) < 110
        with pytest.raises(UnsupportedFilterError, match="max_depth"):
            TOP.compile(nested(depth + 1, leaf), limits=None)


def _levels(value: Any) -> int:
    children = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    return 1 + max(map(_levels, children), default=0) if isinstance(value, dict | list) else 0


def test_long_lists_and_chains(qdrant_rows: Rows) -> None:
    documents: dict[str, Any] = {
        f"d{number}": {"n": number if number % 2 else float(number), "s": f"v{number}"}
        for number in range(20, 140)
    }
    documents |= {"list": {"n": [5, 9_000], "s": ["v7", "w"]}, "half": {"n": 100.5}, "none": {}}
    qdrant_rows.load(documents)
    names, numbers = [f"v{number}" for number in range(100, 10_100)], list(range(10_099, 99, -1))
    for filter in (
        F.s.in_(names), F.s.not_in(names), F.n.in_(numbers), F.n.not_in(numbers),
        F.n.in_([*numbers[2:], "v7", True]),
        Expression(Op.AND, *[F.n != number for number in range(100, 1_100)]),
        Expression(Op.OR, *[F.s == name for name in names[:1_000]]),
    ):  # fmt: skip
        expected = {name for name, one in documents.items() if filter.matches(one)}
        assert 0 < len(expected) < len(documents)
        assert qdrant_rows.select(TOP.compile(filter)) == expected
    TOP.compile(Expression(Op.AND, *[F.n != number for number in range(5_000)]))


def test_numbers_that_float64_cannot_tell_apart_are_refused() -> None:
    for literal in (2**53 - 1, -(2**53) + 1, 0.1):
        TOP.compile(F.k >= literal)
    for literal in (2**53, -(2**53), 1e16, 2**64):
        with pytest.raises(UnsupportedFilterError, match="max_number"):
            TOP.compile(F.k == literal)


def test_options() -> None:
    # By default a key names what stands in the payload, as others write it.
    assert compile_filter("k == 'a'", "qdrant").query == {"must": [equal("a")]}
    assert compile_filter("metadata.k == 'a'", "qdrant").query == (
        compile_filter("k == 'a'", "qdrant", prefix="metadata").query
    )
    told = Qdrant(schema=Schema({"at": datetime}))
    assert told == Qdrant(schema=Schema({"at": datetime})) != Qdrant()
    assert hash(told) == hash(Qdrant(schema=Schema({"at": datetime})))
    for bad in ('a"b', "a\\", ("a", "")):
        with pytest.raises(ConfigurationError, match=r"qdrant has no key|an empty key"):
            Qdrant(prefix=bad)
    with pytest.raises(TypeError, match="its options are: prefix, schema"):
        Qdrant(column="k")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"any more: .* schema=Schema\(\{'created': datetime\}"):
        Qdrant(datetimes={"created"})  # type: ignore[call-arg]
    with pytest.raises(ConfigurationError, match="schema is a Schema, not"):
        Qdrant(schema={"created": datetime})  # type: ignore[arg-type]
