"""The text of Milvus expressions: literals, keys and ids stay inside their quotes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.dialects import milvus_grammar, milvus_server
from tests.dialects.corpus import corpus
from tests.engines.fixtures import milvus_uri as milvus_uri
from tests.engines.milvus import QUIET
from vecstore import DocumentError, Expression, Key, Op, UnsupportedFilterError, Value
from vecstore.dialects.milvus import Milvus
from vecstore.dialects.milvus.expression import (
    ADDRESSABLE,
    encode_literal,
    encode_path,
    encode_text,
    keys_filter,
)
from vecstore.dialects.milvus.layout import (
    MAX_INTEGER,
    MAX_KEPT_ID_BYTES,
    MAX_TAG_BYTES,
    MAX_TAGS,
    MAX_VARCHAR_BYTES,
    MIN_INTEGER,
    MISREAD,
    ORIGINAL_ID,
    TAGS,
    FieldLayout,
    stored_id,
    tags_of,
)
from vecstore.dialects.tokens import kind_token, presence_token, value_token
from vecstore.filter.normalize import simplify
from vecstore.filter.tree import NULL_TESTS, ORDERINGS
from vecstore.filter.values import kind_of

EXACT = Milvus(tags="tags")
PLAIN = Milvus()
OWN = FieldLayout(beside=False)
ASTRAL_HAN = "\U00020bb7"


def test_every_text_holds_its_operators_and_literals_and_no_others() -> None:
    checked = 0
    for filter in corpus()[0]:
        simple = simplify(filter)
        if isinstance(simple, bool):
            continue
        for dialect in (EXACT, PLAIN):
            try:
                text = dialect.compile(filter).query
            except UnsupportedFilterError:
                continue
            checked += 1
            check_text(text, simple, tagged=dialect is EXACT)
    assert checked > 950


def of_ids(ids: Iterable[str]) -> str:
    return keys_filter(map(stored_id, ids), OWN.id)


def check_text(text: str, simple: Expression, *, tagged: bool) -> None:
    found: Counter[Any] = Counter()
    for node in milvus_grammar.read(text).walk():
        found[node.op] += 1
        for operand in node.operands:
            for literal in operand if isinstance(operand, list) else [operand]:
                if isinstance(literal, str | int | float):
                    found[(type(literal), literal)] += 1
                elif isinstance(literal, tuple):
                    found[literal] += 1
    assert found == (expected_with_tags(simple) if tagged else expected_without(simple)), text


def expected_with_tags(simple: Expression) -> Counter[Any]:
    expected: Counter[Any] = Counter()
    for node in simple.walk():
        if node.op in (Op.AND, Op.OR):
            expected["all_of" if node.op is Op.AND else "any_of"] += 1
            continue
        expected["holds"] += 1
        expected[(str, "tags")] += 1
        path = node.key.path
        if node.op in ORDERINGS:
            literal = node.value.value
            expected.update(["all_of", "comparison", ("metadata", *path)])
            expected.update([(type(literal), literal), (str, node.op.symbol)])
            expected[(str, kind_token(path, kind_of(literal)))] += 1
            continue
        if node.op in (Op.NE, Op.NIN, Op.ISNULL):
            expected["negation"] += 1
        if node.op in NULL_TESTS:
            expected[(str, presence_token(path))] += 1
        else:
            expected.update({(str, value_token(path, item)) for item in node.value.items})
    return expected


def expected_without(simple: Expression) -> Counter[Any]:
    expected: Counter[Any] = Counter()
    for node in simple.walk():
        if node.op in (Op.AND, Op.OR):
            expected["all_of" if node.op is Op.AND else "any_of"] += 1
            continue
        path = ("metadata", *node.key.path)
        items = node.value.items
        symbol = "==" if node.op in (Op.EQ, Op.IN) else node.op.symbol
        for item in items:
            expected.update(["comparison", path, (str, symbol), (type(item), item)])
        if node.op in (Op.EQ, Op.IN):
            expected["any_of"] += 1
            texts = [(str, item) for item in items if isinstance(item, str)]
            numbers = [(float, float(item)) for item in items if not isinstance(item, str)]
            for elements in (texts, numbers):
                if elements:
                    expected.update(["all_of", "contains", path, "exists", (*path, "[0]")])
                    expected.update(elements)
    return expected


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
segments = texts.filter(lambda name: bool(name) and not name.startswith("__vecstore"))


@given(texts)
@example('" or metadata["k"] == "')
@example("back\\")
@example('\\"')
@example("\r\n\t")
@example("\\u0041")
@example("猫 \u2028\ufeff\x01\x7f")
def test_a_text_literal_is_one_token_that_says_the_same(text: str) -> None:
    from milvus_lite.search.filter.tokens import tokenize

    literal = encode_text(text)
    assert [token.value for token in tokenize(literal)[:-1]] == [text]
    node = milvus_grammar.read(f'metadata["k"] == {literal}')
    assert node.operands[2] == text
    if not MISREAD.search(text):
        assert milvus_server.compiled(f'metadata["k"] == {literal}') == node


@given(st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False))
@example(-0.0)
@example(5e-324)
@example(1e16)
def test_a_number_is_read_as_it_was(number: float) -> None:
    from milvus_lite.search.filter.parser import parse_expr

    literal = encode_literal(number)
    for read in (
        milvus_grammar.read(f'metadata["k"] < {literal}').operands[2],
        parse_expr(f'metadata["k"] < {literal}').right.value,
    ):
        assert (type(read), repr(read)) == (type(number), repr(number))


@given(st.lists(segments, min_size=1, max_size=3))
@example(["a]", "[b"])
@example(["]", "["])
@example(["it's", "a.b", "0", "$", "é猫"])
@example(["a][b"])
@example([ASTRAL_HAN])
def test_a_path_is_read_as_it_was_or_refused(path: list[str]) -> None:
    from milvus_lite.search.filter.parser import parse_expr

    filter = Expression(Op.GT, Key(*path), Value(1))
    if all(ADDRESSABLE.fullmatch(segment) for segment in path):
        text = f"{encode_path('metadata', tuple(path))} > 1"
        assert text in EXACT.compile(filter).query
        assert milvus_grammar.read(text).operands[0] == ("metadata", *path)
        assert milvus_server.compiled(text).operands[0] == ("metadata", *path)
        assert parse_expr(text).left.path == tuple(path)
    else:
        assert any(
            character in '"\\' or character < " " or MISREAD.match(character)
            for character in "".join(path)
        ) or any("][" in segment for segment in path)
        with pytest.raises(UnsupportedFilterError):
            EXACT.compile(filter)


@given(segments, texts)
@example('k"] == 1 or metadata["x', '" or "" == "')
@example("a' OR 1=1 --", "') or true or ('")
@example("k", ASTRAL_HAN)
def test_no_key_and_no_value_leaves_its_quotes(key: str, text: str) -> None:
    name = Key(key)
    for filter in (
        Expression(Op.EQ, name, Value(text)),
        Expression(Op.NIN, name, Value([text, 1])),
        Expression(Op.LTE, name, Value(text)),
        Expression(Op.ISNULL, name),
        Expression(
            Op.AND,
            Expression(Op.EQ, Key("tenant"), Value("t1")),
            Expression(Op.NE, name, Value(text)),
        ),
    ):
        for dialect in (EXACT, PLAIN):
            try:
                query = dialect.compile(filter).query
            except UnsupportedFilterError:
                continue
            if dialect is EXACT and len(key) < 8:  # longer tokens are hashed
                check_text(query, filter, tagged=True)
            elif dialect is PLAIN:
                check_text(query, filter, tagged=False)
            # A server reads the same, whatever it does to Han characters and to an index.
            understood = str(milvus_grammar.read(query)).replace("'[0]'", "'0'")
            assert str(milvus_server.compiled(query)) == understood


# --- ids and the layout ------------------------------------------------------------------------

HOSTILE_IDS = [
    "it's", 'say "hi"', "back\\", '\\"', "line\nbreak", "tab\t", '"] or id != "', "' or '1'=='1", "%", "*",
    "a", "A", "a ", " ", "猫", "é", "e\u0301", "id in []", "[]", "sha256:a", "sha256:", "\x01", "{a}",
    ASTRAL_HAN, "\u0bb7", f"{ASTRAL_HAN}x", "x" * 512, "x" * 513, "猫" * 200,
]  # fmt: skip


@pytest.fixture(scope="module")
def client(milvus_uri: str) -> Iterator[Any]:
    """A client with the collection "layout": the fields that our own store makes."""
    from pymilvus import DataType, MilvusClient

    client = MilvusClient(milvus_uri, **QUIET)
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=MAX_KEPT_ID_BYTES)
    schema.add_field(ORIGINAL_ID, DataType.VARCHAR, max_length=MAX_VARCHAR_BYTES)
    schema.add_field("text", DataType.VARCHAR, max_length=MAX_VARCHAR_BYTES)
    schema.add_field("metadata", DataType.JSON)
    schema.add_field(TAGS, DataType.ARRAY, element_type=DataType.VARCHAR,
                     max_capacity=MAX_TAGS, max_length=MAX_TAG_BYTES)  # fmt: skip
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
    index = client.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="COSINE")
    client.create_collection(
        "layout", schema=schema, index_params=index, consistency_level="Strong"
    )
    yield client
    client.drop_collection("layout")
    client.close()


def stored(client: Any, filter: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.query(
        "layout", filter=filter, output_fields=["*"], limit=100
    )
    return found


def test_ids_select_their_documents_and_no_others(client: Any) -> None:
    keys = {one: stored_id(one) for one in HOSTILE_IDS}
    assert len(set(keys.values())) == len(HOSTILE_IDS)
    rows = [{**OWN.write(one, one, {"n": one}), "vector": [1.0, 0.0]} for one in HOSTILE_IDS]
    client.insert("layout", rows)
    for one in HOSTILE_IDS:
        for ids in ([one], [one, "none", f"{one}?"]):
            (row,) = stored(client, of_ids(ids))
            assert OWN.read(row) == (one, one, {"n": one}, None)
    assert len(stored(client, of_ids(HOSTILE_IDS))) == len(HOSTILE_IDS)
    assert stored(client, of_ids(["none"])) == []
    client.delete("layout", filter=of_ids(HOSTILE_IDS[::2]))
    assert {OWN.read(row)[0] for row in stored(client)} == set(HOSTILE_IDS[1::2])
    client.delete("layout", filter=of_ids(HOSTILE_IDS))
    assert stored(client) == []


def test_what_is_stored_comes_back_with_its_types(client: Any) -> None:
    metadata = {
        "id": "mine", "tags": 1, "none": None, "empty": [], "object": {"a": {}}, "one": 1, "float": 1.0,
        "zero": -0.0, "tiny": 5e-324, "huge": 1e300, "third": 1 / 3, "low": MIN_INTEGER,
        "high": MAX_INTEGER, "true": True, "list": [1, 2.0], "texts": ["", "é"], 'say "hi"': "\n",
    }  # fmt: skip
    client.insert("layout", [{**OWN.write("a", "text", metadata), "vector": [1.0, 0.0]}])
    (row,) = stored(client)
    _, _, read, _ = OWN.read(row)
    assert repr(dict(sorted(read.items()))) == repr(dict(sorted(metadata.items())))
    client.delete("layout", filter=of_ids(["a"]))


@given(st.lists(segments, min_size=1, max_size=4))
def test_servers_read_the_ids_that_were_meant(ids: list[str]) -> None:
    keys = [stored_id(one) for one in ids]
    for node in (milvus_server.compiled(of_ids(ids)), milvus_grammar.read(of_ids(ids))):
        assert node == milvus_grammar.Node("among", ("id", keys))
    assert all(len(key.encode()) <= MAX_KEPT_ID_BYTES for key in keys)


def test_nobody_can_choose_the_key_of_another_document() -> None:
    for taken in (stored_id("x" * 513), stored_id(ASTRAL_HAN)):
        assert stored_id(taken) != taken


@pytest.mark.parametrize("document_id", HOSTILE_IDS, ids=lambda one: repr(one)[:20])
def test_a_row_gives_its_document_back(document_id: str) -> None:
    metadata = {"id": "mine", "tags": ["a"], "none": None, "empty": [], "one": 1.0}
    row = OWN.write(document_id, "text", metadata)
    extra = json.dumps({"a": [{"b": None}]})
    assert OWN.read(row) == (document_id, "text", metadata, None)
    beside = FieldLayout()
    assert beside.read(beside.write(document_id, "text", metadata, extra)) == (
        document_id,
        "text",
        metadata,
        extra,
    )
    assert row[TAGS] == tags_of(metadata)


def test_the_tags_of_a_document() -> None:
    assert tags_of({}) == ["[]"]
    assert tags_of({"none": None, "empty": []}) == ["[]"]
    assert tags_of({"a": {"b": -0.0, "c": {}}, "t": ["x", "x"], "ok": False, "s": "é"}) == [
        "[]", '["a"]', '["a","b"]', '["a","b"]=0', '["a","c"]', '["t"]', '["t"]="x"', '["ok"]',
        '["ok"]=false', '["s"]', '["s"]="\\u00e9"', '["a","b"]:number', '["s"]:string',
    ]  # fmt: skip
    long = tags_of({"k" * 500: "v" * 5_000})
    assert len(set(long)) == 4
    assert all(len(tag.encode()) <= MAX_TAG_BYTES for tag in long)


def test_more_tags_than_the_field_holds_are_refused() -> None:
    tags_of({"k": [f"v{number}" for number in range(MAX_TAGS - 2)]})
    with pytest.raises(DocumentError, match=r"needs 4,097 tags.*Milvus holds 4,096"):
        tags_of({"k": [f"v{number}" for number in range(MAX_TAGS - 1)]})
