"""The Weaviate dialect, held against Weaviate's documented rules."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given

from tests.dialects.corpus import answered, corpus, keys_of
from tests.dialects.test_tokens import keys, wild_paths, wild_segments
from tests.engines.weaviate_rules import WeaviateRejected, WeaviateRules
from tests.engines.weaviate_text import tokens_of
from vecstore import (
    Compiled,
    ConfigurationError,
    Expression,
    F,
    FilterError,
    Schema,
    UnsupportedFilterError,
)
from vecstore.dialects.weaviate import Compound, Condition, Weaviate
from vecstore.dialects.weaviate.layout import (
    PROPERTY_TYPES,
    TOKENS,
    filter_properties,
    number_property,
    ordered_text,
    property_types,
    text_property,
)

ORDERED = Weaviate(layout="exact", schema=Schema({"k": Any, "a": {"b": Any}}, others="allow"))


def plain(**kinds: Any) -> Weaviate:
    return Weaviate(layout="plain", schema=Schema(kinds))


def condition(path: str, operator: str, **value: Any) -> dict[str, Any]:
    return {"path": [path], "operator": operator, **value}


def token(operator: str, text: str) -> dict[str, Any]:
    return condition(TOKENS, operator, valueText=text)


def joined(operator: str, *operands: Any) -> dict[str, Any]:
    return {"operator": operator, "operands": list(operands)}


def in_order(value: Any) -> str:
    """Text in which 1, 1.0 and True differ and the order of keys does not count."""
    return json.dumps(value, sort_keys=True)


FALSE = joined("And", token("Equal", "x"), token("NotEqual", "x"))

EXACT_SPEC: list[tuple[Expression, Any]] = [
    (F.k == "a", token("Equal", '["k"]="a"')),
    (F.k == 1.0, token("Equal", '["k"]=1')),
    (F.k == 2**60, token("Equal", '["k"]=1152921504606846976')),
    (F.a.b != True, token("NotEqual", '["a","b"]=true')),  # noqa: E712
    (~(F.k == 1), token("NotEqual", '["k"]=1')),
    (F.k.in_(["a"]), token("Equal", '["k"]="a"')),
    (F.k.in_(["a", 1, 1.0]), condition(TOKENS, "ContainsAny", valueTextArray=['["k"]="a"', '["k"]=1'])),
    (F.k.not_in(["a", 1]), joined("And", token("NotEqual", '["k"]="a"'), token("NotEqual", '["k"]=1'))),
    (F.k.is_null(), token("NotEqual", '["k"]')),
    (F.k.is_not_null(), token("Equal", '["k"]')),
    (F.k > 1, condition("vecstore_k_number", "GreaterThan", valueNumber=1.0)),
    (~(F.a.b > -0.0), condition("vecstore_a__b_number", "LessThanEqual", valueNumber=0.0)),
    (F.k >= "a b", condition("vecstore_k_text", "GreaterThanEqual", valueText='=a"20b!')),
    (
        (F.a == 1) & ((F.b == 2) | (F.k < 3)) & F.c.not_in([1, 2]),
        joined(
            "And",
            token("Equal", '["a"]=1'),
            joined("Or", token("Equal", '["b"]=2'), condition("vecstore_k_number", "LessThan", valueNumber=3.0)),
            token("NotEqual", '["c"]=1'),
            token("NotEqual", '["c"]=2'),
        ),
    ),
    (F.k.in_([]), FALSE),
]  # fmt: skip

TYPED = plain(
    s=str, i=int, n=float, b=bool, ss=list[str], ii=list[int], nn=list[float], bb=list[bool]
)  # fmt: skip
NEVER = joined("And", *[condition("b", each, valueBoolean=True) for each in ("Equal", "NotEqual")])
PLAIN_SPEC: list[tuple[Expression, Any]] = [
    (F.s == "00123", condition("s", "Equal", valueText="00123")),
    (F.i == 1.0, condition("i", "Equal", valueInt=1)),
    (F.n == 1, condition("n", "Equal", valueNumber=1.0)),
    (F.b != True, condition("b", "NotEqual", valueBoolean=True)),  # noqa: E712
    (F.ss == "a", condition("ss", "Equal", valueText="a")),
    (F.s.in_(["a", "b", 1]), condition("s", "ContainsAny", valueTextArray=["a", "b"])),
    (F.ii.in_([1, 2.0, 2.5]), condition("ii", "ContainsAny", valueIntArray=[1, 2])),
    (F.nn.in_([1, 2.5]), condition("nn", "ContainsAny", valueNumberArray=[1.0, 2.5])),
    (F.bb.in_([True, 1, False]), condition("bb", "ContainsAny", valueBooleanArray=[True, False])),
    (F.i.in_([1, 2]), joined("Or", condition("i", "Equal", valueInt=1), condition("i", "Equal", valueInt=2))),
    (F.s.not_in(["a", "b"]), joined("And", condition("s", "NotEqual", valueText="a"), condition("s", "NotEqual", valueText="b"))),
    (F.i.is_null(), condition("i", "IsNull", valueBoolean=True)),
    (F.ss.is_not_null(), condition("ss", "IsNull", valueBoolean=False)),
    (F.i > 2, condition("i", "GreaterThan", valueInt=2)),
    (F.i > 2.5, condition("i", "GreaterThan", valueInt=2)),
    (F.i >= 2.5, condition("i", "GreaterThan", valueInt=2)),
    (F.i < -2.5, condition("i", "LessThan", valueInt=-2)),
    (F.i <= -2.5, condition("i", "LessThan", valueInt=-2)),
    (F.n == 0, joined("Or", condition("n", "Equal", valueNumber=0.0), condition("n", "Equal", valueNumber=-0.0))),
    (F.n != 0, joined("And", condition("n", "NotEqual", valueNumber=0.0), condition("n", "NotEqual", valueNumber=-0.0))),
    (F.nn == 0, condition("nn", "ContainsAny", valueNumberArray=[0.0, -0.0])),
    (F.n > -1, joined("Or", condition("n", "GreaterThan", valueNumber=-1.0), condition("n", "Equal", valueNumber=-0.0))),
    (F.n >= 0, joined("Or", condition("n", "GreaterThanEqual", valueNumber=0.0), condition("n", "Equal", valueNumber=-0.0))),
    (F.n > 0, condition("n", "GreaterThan", valueNumber=0.0)),
    (F.n < 0, joined("And", condition("n", "LessThan", valueNumber=0.0), condition("n", "NotEqual", valueNumber=-0.0))),
    (F.n <= -1, joined("And", condition("n", "LessThanEqual", valueNumber=-1.0), condition("n", "NotEqual", valueNumber=-0.0))),
    (F.n <= 0, condition("n", "LessThanEqual", valueNumber=0.0)),
    (F.n <= 2, condition("n", "LessThanEqual", valueNumber=2.0)),
    (F.s < "b", condition("s", "LessThan", valueText="b")),
    # What a type makes impossible.
    (F.i == "1", NEVER),
    (F.i == 1.5, NEVER),
    (F.i == True, NEVER),  # noqa: E712
    (F.b == 1, NEVER),
    (F.s > 1, NEVER),
    (F.i > "a", NEVER),
    (F.ii > 1, NEVER),
    (F.s.in_([1, True]), NEVER),
    ((F.s == 1) | (F.b == True), condition("b", "Equal", valueBoolean=True)),  # noqa: E712
    ((F.i != "1") & (F.b == True), condition("b", "Equal", valueBoolean=True)),  # noqa: E712
]  # fmt: skip


@pytest.mark.parametrize(("filter", "where"), EXACT_SPEC, ids=str)
def test_exact_queries(filter: Expression, where: Any) -> None:
    compiled = ORDERED.compile(filter)
    assert in_order(compiled.query.to_where()) == in_order(where)
    assert json.loads(str(compiled)) == where


@pytest.mark.parametrize(("filter", "where"), PLAIN_SPEC, ids=str)
def test_plain_queries(filter: Expression, where: Any) -> None:
    assert in_order(TYPED.compile(filter).query.to_where()) == in_order(where)
    assert json.loads(str(TYPED.compile(filter))) == where


def test_queries_are_values() -> None:
    one, other = (ORDERED.compile((F.k == 1) | F.j.in_(["a", "b"])).query for _ in range(2))
    assert one == other
    assert len({one, other}) == 1
    assert isinstance(one, Compound)
    assert isinstance(one.operands[0], Condition)


def rules_for(types: dict[str, str], **switches: bool) -> WeaviateRules:
    rules = WeaviateRules(**switches)
    for name, data_type in types.items():
        tokenization = "field" if data_type.startswith("text") else None
        rules.add_property(name, data_type, tokenization=tokenization)
    return rules


def selecting(rules: WeaviateRules) -> Any:
    def select(compiled: Compiled) -> set[str]:
        return rules.query(None if compiled.matches_all else compiled.query.to_where())

    return select


def of_any(paths: Any) -> Schema:
    """Keys that may hold anything, and be ordered by it; of a key and one inside it the latter."""
    inner = {path[:length] for path in paths for length in range(1, len(path))}
    return Schema(dict.fromkeys(sorted(set(paths) - inner), Any), others="allow")


def laid_out(rows: dict[str, Any], schema: Schema | None = None, **switches: bool) -> Any:
    rules = rules_for(property_types(schema), **switches)
    for name, metadata in rows.items():
        rules.insert(name, filter_properties(metadata, schema))
    return selecting(rules)


@pytest.mark.parametrize(
    "switches",
    [
        {},
        {
            "negation": False,
            "stopwords_everywhere": True,
            "ints_pass_through_doubles": True,
            "empty_text_is_a_term": False,
        },
    ],
    ids=["documented", "other readings"],
)
def test_exact_layout_selects_what_the_rules_say(switches: dict[str, bool]) -> None:
    filters, rows = corpus()
    schema = of_any(keys_of(filters))
    select = laid_out(rows, schema, **switches)
    assert answered(Weaviate(layout="exact", schema=schema), rows, select) == 819
    assert answered(Weaviate(layout="exact"), rows, select) == 366


KINDS = {
    f"{data_type}{brackets}": f"list[{kind}]" if brackets else kind
    for data_type, kind in {
        "text": "str",
        "int": "int",
        "number": "float",
        "boolean": "bool",
    }.items()
    for brackets in ("", "[]")
}


def declared_value(data_type: str, value: Any) -> Any:
    """The value as a property of that type holds it exactly, or None."""
    declared = PROPERTY_TYPES[data_type]
    items = value if isinstance(value, list) else [value]
    if value is None or isinstance(value, dict) or declared.several is not isinstance(value, list):
        return None
    for item in items:
        if not declared.holds(item) or (declared.base == "int" and abs(item) >= 2**53):
            return None
        if isinstance(item, str) and item != (item.strip() or None):
            return None
    stored = [declared.stored(item) for item in items]
    return stored if declared.several else stored[0]


# The conformance suite has a class for every type but dates, and one for lists.
ONCE_MORE = set(PROPERTY_TYPES) - {"text", "number[]"}


@pytest.mark.parametrize(
    "data_type",
    [
        pytest.param(name, marks=[pytest.mark.wide] if name in ONCE_MORE else [])
        for name in PROPERTY_TYPES
    ],
)
def test_plain_layout_selects_what_the_rules_say(data_type: str) -> None:
    names = ["k", "x", "y", "year", "inventory", "nokey"]
    properties = dict.fromkeys(names, data_type)
    rows = {}
    for name, metadata in corpus()[1].items():
        values = {key: declared_value(data_type, metadata.get(key)) for key in names}
        rows[name] = {key: value for key, value in values.items() if value is not None}
    assert len([metadata for metadata in rows.values() if metadata]) > 20
    for switches in ({}, {"negation": False, "ints_pass_through_doubles": True}):
        rules = rules_for(properties, index_null_state=True, empty_text_is_a_term=False, **switches)
        for name, metadata in rows.items():
            rules.insert(name, metadata)
        kinds = dict.fromkeys(names, KINDS[data_type])
        assert answered(plain(**kinds), rows, selecting(rules)) > 500


def test_a_zero_with_a_sign_is_zero_though_the_index_puts_it_before_all_numbers() -> None:
    rules = rules_for({"n": "number", "nn": "number[]"})
    for name, value in {"minus": -0.0, "zero": 0.0, "below": -1.0, "above": 1.0}.items():
        rules.insert(name, {"n": value, "nn": [value, 5.0]})
    rules.insert("absent", {})
    select = selecting(rules)
    for filter, expected in [
        (F.n == 0, {"minus", "zero"}),
        (F.n == -0.0, {"minus", "zero"}),
        (F.n != 0, {"below", "above"}),
        (F.n.in_([0, 1]), {"minus", "zero", "above"}),
        (F.nn == 0, {"minus", "zero"}),
        (F.n > -1, {"minus", "zero", "above"}),
        (F.n >= 0, {"minus", "zero", "above"}),
        (F.n > 0, {"above"}),
        (F.n < 0, {"below"}),
        (F.n <= 0, {"minus", "zero", "below"}),
        (F.n <= -1, {"below"}),
        (F.n < 1, {"minus", "zero", "below"}),
        ((F.n < 0) | (F.n == 1), {"below", "above"}),
    ]:
        typed = filter.to_text()
        found = select(plain(n=float, nn=list[float]).compile(filter))
        assert found - ({"absent"} if "!=" in typed else set()) == expected, typed


@pytest.mark.parametrize("dialect", [ORDERED, TYPED], ids=["exact", "plain"])
def test_constants(dialect: Weaviate) -> None:
    if dialect is ORDERED:
        select = laid_out({"empty": {}, "one": {"k": 1, "s": "x"}}, of_any({("k",)}))
    else:
        rules = rules_for({"s": "text", "i": "int", "b": "boolean"})
        rules.insert("empty", {})
        rules.insert("one", {"s": "x", "i": 0})
        select = selecting(rules)
    nothing = dialect.compile(F.k.in_([]))
    assert nothing.matches_nothing
    assert select(nothing) == set()
    for everything in (dialect.compile(None), dialect.compile(F.k.not_in([]))):
        assert everything.matches_all
        assert everything.query is None
        assert str(everything) == "(no filter)"
        assert select(everything) == {"empty", "one"}


# --- the layout -------------------------------------------------------------------------------


@given(wild_paths | keys, wild_paths | keys)
@example(("a", "b"), ("a__b",))
@example(("a_b",), ("a", "b"))
@example(("A",), ("a",))
@example(("é",), ("\u00c3\u00a9",))
@example(("a" * 300,), ("a" * 301,))
@example(("x", "searchable"), ("x", "temp"))
@example(("h" + "0" * 64,), ("a" * 300,))
@example(("",), ("_",))
def test_every_path_has_properties_of_its_own(one: Any, other: Any) -> None:
    names = [name for path in {one, other} for name in (number_property(path), text_property(path))]
    # The server takes names that differ in case alone for the same, and keeps some to itself.
    assert len({name.lower() for name in [*names, TOKENS]}) == len(names) + 1
    rules = rules_for(dict.fromkeys([*names, TOKENS], "number"))
    for name in names:
        rules.query(condition(name, "Equal", valueNumber=1.0))
        assert not name.endswith(
            ("_searchable", "_rangeable", "_temp", "__meta_count", "_propertyLength", "_nullState")
        )


@given(wild_segments, wild_segments)
@example("", " ")
@example("a", "a ")
@example("a", "a!")
@example("a", 'a"')
@example("a", "a\x01")
@example(" a", "!a")
@example("\u3000", "")
@example("\uffff", "😀")
@example("z", "é")
def test_ordered_texts_keep_their_order_through_trimming(one: str, other: str) -> None:
    left, right = ordered_text(one), ordered_text(other)
    for text in (left, right):
        assert tokens_of("field", text) == [text]
    assert (left.encode() < right.encode(), left == right) == (one < other, one == other)


def test_documents_of_any_shape_can_be_laid_out_and_ordered() -> None:
    rows: dict[str, Any] = {
        "big": {"k": 10**400},
        "low": {"k": -(10**400)},
        "zero": {"k": -0.0},
        "text": {"k": "b"},
        "padded": {"k": " b "},
        "empty": {"k": ""},
        "list": {"k": [1, 2]},
        "texts": {"k": ["b"]},
        "flag": {"k": True},
        "object": {"k": {"k": 1}},
        "none": {"k": None},
    }
    select = laid_out(rows, of_any({("k",)}))
    for filter, expected in [
        (F.k > 0, {"big"}),
        (F.k <= 0, {"low", "zero"}),
        (F.k >= "", {"text", "padded", "empty"}),
        (F.k < "b", {"padded", "empty"}),
        (F.k == " b ", {"padded"}),
        (F.k == "", {"empty"}),
        (F.k == 10**400, {"big"}),
        (F.k == 0, {"zero"}),
        (F.k == "b", {"text", "texts"}),
        (F.k.is_null(), {"none"}),
    ]:
        assert select(ORDERED.compile(filter)) == expected, filter.to_text()


# --- refusals, limits, options ----------------------------------------------------------------


def refusal(dialect: Weaviate, text: str) -> UnsupportedFilterError:
    with pytest.raises(UnsupportedFilterError) as caught:
        dialect.compile(text)
    assert caught.value.dialect == "weaviate"
    assert caught.value.remedy
    return caught.value


def test_refusals_name_the_key_and_the_option_that_helps() -> None:
    error = refusal(Weaviate(layout="exact"), "a == 1 AND NOT (author.born > 1900)")
    assert (error.key, error.op.symbol) == ("author.born", ">")  # type: ignore[union-attr]
    assert str(error.remedy).endswith(": schema=Schema({'author.born': float}, others='allow')")
    told = Weaviate(layout="exact", schema=Schema({"author": {"born": int}}))
    told.compile("author.born > 1900")
    error = refusal(Weaviate(layout="exact"), "created > '2024-01-01'")
    assert str(error.remedy).endswith(": schema=Schema({'created': str}, others='allow')")
    error = refusal(TYPED, "s == 'a' AND other == 1")
    assert error.key == "other"
    assert "schema=Schema({'other': ...})" in str(error.remedy)
    assert "column 14" in str(error)
    assert "other" in str(refusal(TYPED, "other IS NULL"))
    assert "step into objects" in refusal(TYPED, "a.b == 1").reason


@pytest.mark.parametrize("text", ["s == ''", "s != ' a'", "ss IN ['a', 'b\u3000']", "s < 'a\n'"])
def test_texts_that_the_plain_layout_cannot_see_are_refused(text: str) -> None:
    error = refusal(TYPED, text)
    assert "white space" in error.reason
    assert 'layout="exact"' in str(error.remedy)
    ORDERED.compile(text.replace("ss", "k").replace("s ", "k ", 1))


def test_limits_on_both_sides() -> None:
    assert "max_ordered_number" in refusal(ORDERED, "k > 9007199254740992").reason
    ORDERED.compile("k > 9007199254740991 OR k == 9007199254740993")
    assert "max_number" in refusal(TYPED, "i == 9007199254740992").reason
    assert "max_number" in refusal(TYPED, "n < 1e16").reason
    select = laid_out({"hit": {"k": "v9999"}, "miss": {"k": "v10000"}})
    many = [f"v{number}" for number in range(10_000)]
    assert select(ORDERED.compile(F.k.in_(many))) == {"hit"}
    assert select(ORDERED.compile(F.k.not_in(many))) == {"miss"}


def nested(levels: int) -> Expression:
    filter: Expression = (F.s == "x") | F.s.not_in(["a", "b"])
    for level in range(levels - 1):
        filter = (filter | (F.i == level)) if level % 2 else (filter & (F.i == level))
    return filter


def client_filter(node: Condition | Compound) -> Any:
    """The tree as objects of the client, which picks the type of a value by itself."""
    from weaviate.classes.query import Filter

    if isinstance(node, Compound):
        operands = [client_filter(operand) for operand in node.operands]
        return Filter.all_of(operands) if node.operator == "And" else Filter.any_of(operands)
    prop = Filter.by_property(node.path)
    value: Any = list(node.value) if isinstance(node.value, tuple) else node.value
    return {
        "Equal": lambda: prop.equal(value),
        "NotEqual": lambda: prop.not_equal(value),
        "GreaterThan": lambda: prop.greater_than(value),
        "GreaterThanEqual": lambda: prop.greater_or_equal(value),
        "LessThan": lambda: prop.less_than(value),
        "LessThanEqual": lambda: prop.less_or_equal(value),
        "ContainsAny": lambda: prop.contains_any(value),
        "IsNull": lambda: prop.is_none(value),
    }[node.operator]()


@pytest.mark.parametrize("dialect", [ORDERED, TYPED], ids=["exact", "plain"])
def test_the_client_makes_the_same_of_the_tree(dialect: Weaviate) -> None:
    from weaviate.collections.filters import _FilterToREST

    spec = EXACT_SPEC if dialect is ORDERED else PLAIN_SPEC
    for filter, _ in spec:
        tree = dialect.compile(filter).query
        assert in_order(_FilterToREST.convert(client_filter(tree))) == in_order(tree.to_where())


def test_the_deepest_filter_still_fits_into_a_protobuf_message() -> None:
    from weaviate.collections.filters import _FilterToGRPC
    from weaviate.proto.v1 import search_get_pb2

    for dialect in (Weaviate(layout="exact"), TYPED):
        filters = _FilterToGRPC.convert(
            client_filter(dialect.compile(nested(90), limits=None).query)
        )
        request = search_get_pb2.SearchRequest(collection="Docs", filters=filters)
        assert search_get_pb2.SearchRequest.FromString(request.SerializeToString()) == request
        with pytest.raises(UnsupportedFilterError, match="max_depth"):
            dialect.compile(nested(91), limits=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layout": "native"}, "one of exact, plain"),
        ({"schema": {"year": int}}, "schema is a Schema"),
        ({"schema": Schema}, "schema is a Schema"),
    ],
    ids=str,
)
def test_options_that_cannot_work(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Weaviate(**options)
    assert message in str(caught.value)


@pytest.mark.parametrize("option", ["numbers", "texts", "properties"])
def test_former_options_are_answered_with_the_new_one(option: str) -> None:
    with pytest.raises(TypeError, match=rf"no option '{option}' any more: .* schema=Schema\("):
        Weaviate(**{option: {"year": "int"}})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["Year", "a b", "id", "x_searchable", "a" * 232])
def test_names_that_no_property_has(name: str) -> None:
    told = plain(**{name: int, "year": int})
    assert "no property has this name" in refusal(told, f"year == 1 AND '{name}' == 1").reason
    # What a kind makes impossible needs no property.
    assert told.compile(F[name] == "x").matches_nothing


def test_by_default_collections_are_as_others_wrote_them() -> None:
    """What nobody declared is refused, and the remedy says how it is declared."""
    assert Weaviate().layout == "plain"
    error = refusal(Weaviate(), "a == 1")
    assert "schema=Schema({'a': ...})" in str(error.remedy)
    nothing = Weaviate().compile("a IN []")
    assert nothing.matches_nothing
    with pytest.raises(FilterError, match="no query for that"):
        _ = nothing.query
    assert Weaviate(schema=Schema({"a": int})) == plain(a=int)


def test_options_are_part_of_what_a_dialect_is() -> None:
    assert plain(a=int, b=str) != plain(a=str, b=str)
    exact = [Weaviate(layout="exact", schema=one) for one in (None, of_any({("a",)}))]
    assert len({*exact, plain(a=int), Weaviate(schema=Schema({"a": int}))}) == 3
    with pytest.raises(TypeError, match="its options are: layout, schema"):
        Weaviate(ordered={"a"})  # type: ignore[call-arg]


# --- from reports of users of other libraries -------------------------------------------------


def test_texts_that_look_like_numbers_stay_texts() -> None:
    rows = {"text": {"zip": "00123"}, "number": {"zip": 123}, "float": {"zip": 123.0}}
    select = laid_out(rows)
    assert select(Weaviate(layout="exact").compile(F.zip == "00123")) == {"text"}
    assert select(Weaviate(layout="exact").compile(F.zip == 123)) == {"number", "float"}
    assert select(Weaviate(layout="exact").compile(F.zip == "123")) == set()
    typed = plain(zip=str, n=int, x=float)
    assert typed.compile(F.zip == "00123").query.value_type == "text"
    assert typed.compile(F.n == 1).query.value_type == "int"
    assert typed.compile(F.x == 1).query.value_type == "number"


def test_not_is_never_dropped() -> None:
    rows: dict[str, Any] = {"one": {"a": 1}, "two": {"a": 2}, "none": {}}
    filter = ~(F.a == 1)
    assert laid_out(rows)(Weaviate(layout="exact").compile(filter)) == {"two", "none"}
    rules = rules_for({"a": "int"})
    for name, metadata in rows.items():
        rules.insert(name, metadata)
    assert selecting(rules)(plain(a=int).compile(filter)) == {"two", "none"}


@pytest.mark.parametrize(
    "key",
    ['a"] == 1 or m["b', "a' OR 1=1 --", "a}) RETURN n //", "x:1 OR y", "$where", "a`b", "id", "_additional"],
)  # fmt: skip
def test_a_key_from_a_stranger_never_becomes_part_of_the_query(key: str) -> None:
    select = laid_out({"hit": {key: 1}, "miss": {"k": 1}}, of_any({(key,)}))
    dialect = Weaviate(layout="exact", schema=of_any({(key,)}))
    assert select(dialect.compile(F[key] == 1)) == {"hit"}
    assert select(dialect.compile(F[key] >= 1)) == {"hit"}
    with pytest.raises(UnsupportedFilterError, match="no property has this name"):
        TYPED.compile(F[key] == 1)


@pytest.mark.parametrize("value", [0, 0.0, False, ""])
def test_falsy_values_are_values(value: Any) -> None:
    select = laid_out({"same": {"n": value}, "other": {"n": 7}, "none": {}})
    assert select(Weaviate(layout="exact").compile(F.n == value)) == {"same"}


def test_a_collection_without_the_tokens_refuses_the_query() -> None:
    """So that a filter for the exact layout does not quietly find nothing in another one."""
    with pytest.raises(WeaviateRejected, match="no such property"):
        rules_for({"k": "int"}).query(Weaviate(layout="exact").compile(F.k != 1).query.to_where())
