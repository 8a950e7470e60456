"""What users have reported of other filter languages, asked of every dialect we have.

Each case is a fault that somebody met: in a converter, in a store, in an engine. It stands here with
documents, filters and the rows that are right, and is run on every engine; a dialect may refuse a
filter instead, when its capabilities say so. What concerns the language alone comes at the end.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from tests.dialects.conformance.conformance import Conformance, Server
from tests.dialects.conformance.test_chroma import TestChroma as InChroma
from tests.dialects.conformance.test_chroma import TestChromaPlain as InChromaPlain
from tests.dialects.conformance.test_duckdb import TestDuckDB as InDuckDB
from tests.dialects.conformance.test_lancedb import TestLanceDB as InLanceDB
from tests.dialects.conformance.test_memory import TestMemory as InMemory
from tests.dialects.conformance.test_milvus import TestMilvus as InMilvus
from tests.dialects.conformance.test_milvus import TestMilvusPlain as InMilvusPlain
from tests.dialects.conformance.test_pgvector import TestPostgres as InPostgres
from tests.dialects.conformance.test_pinecone import TestPinecone as InPinecone
from tests.dialects.conformance.test_pinecone import TestPineconePlain as InPineconePlain
from tests.dialects.conformance.test_qdrant import TestQdrantEdge as InQdrantEdge
from tests.dialects.conformance.test_qdrant import TestQdrantLocal as InQdrantLocal
from tests.dialects.conformance.test_redis import TestRedis as InRedis
from tests.dialects.conformance.test_sqlite import TestSQLite as InSQLite
from tests.dialects.conformance.test_weaviate import InWeaviate, properties_of
from tests.engines.chroma import ChromaRows
from tests.engines.fixtures import milvus_uri as milvus_uri
from tests.engines.redis import RedisRows
from tests.engines.rows import Rows
from tests.engines.weaviate import weaviate_rows
from vecstore import (
    Expression,
    F,
    FilterBuilder,
    FilterLimitError,
    FilterSyntaxError,
    FilterTypeError,
    Schema,
    UnsupportedFilterError,
    compile_filter,
    dialect_names,
    parse,
)
from vecstore.dialects.chroma import Chroma
from vecstore.dialects.chroma.layout import ExactLayout
from vecstore.dialects.declared import ordered_keys
from vecstore.dialects.redis import Redis
from vecstore.dialects.redis.layout import Layout
from vecstore.dialects.weaviate import Weaviate
from vecstore.dialects.weaviate.layout import filter_properties, property_types
from vecstore.filter.values import Kind
from vecstore.testing import Examiner, oracle

Filter = Expression | str
Answers = dict[Filter, set[str]]


@dataclass(frozen=True)
class Case:
    """A report.

    Attributes:
        name: What went wrong for the user.
        source: Where it was reported.
        rows: Documents by id.
        answers: Filters with the ids that are right.
    """

    name: str
    source: str
    rows: Mapping[str, Mapping[str, Any]]
    answers: Answers


ORDERED = Schema(
    dict.fromkeys(["year", "n", "price", "ts", "x", "a", "b", "at", "day"], Any), others="allow"
)


class InWeaviateDeclared(InWeaviate):
    """With the keys of these cases declared to be ordered."""

    dialect = Weaviate(layout="exact", schema=ORDERED)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return weaviate_rows(
            properties_of(property_types(ORDERED)),
            lambda metadata: filter_properties(metadata, ORDERED),
        )


TEXTS, NUMBERS = (ordered_keys(ORDERED, kind) for kind in (Kind.STRING, Kind.NUMBER))


class InRedisDeclared(InRedis):
    """The same, which is its layout."""

    dialect = Redis(schema=ORDERED)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return RedisRows(Layout(NUMBERS, TEXTS))


class InChromaDeclared(InChroma):
    """The same, for its texts."""

    dialect = Chroma(layout="exact", schema=ORDERED)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return ChromaRows(ExactLayout(TEXTS).write)


ENGINES: list[type[Conformance]] = [
    InMemory,
    InPostgres,
    InQdrantLocal,
    InQdrantEdge,
    InMilvus,
    InMilvusPlain,
    InPinecone,
    InPineconePlain,
    InWeaviateDeclared,
    InSQLite,
    InDuckDB,
    InLanceDB,
    InChromaDeclared,
    InChromaPlain,
    InRedisDeclared,
]
PLAIN: list[type[Conformance]] = [InMilvusPlain, InPineconePlain, InChromaPlain]
"""Over what others wrote, where a case may have no filter that is answered exactly."""


@pytest.fixture(
    scope="module", params=ENGINES, ids=lambda suite: suite.__name__.removeprefix("Test")
)
def engine(request: pytest.FixtureRequest) -> Iterator[Examiner]:
    with request.param.opened(request.getfixturevalue):
        yield request.param().examiner


NASTY = [
    'O"Brien',
    "O'Brien",
    "back\\slash",
    "C:\\docs\\",
    "tab\there",
    "line\nbreak",
    "line1\nline2\t\r",
    "\u2028",
    "\u732b",
    'x" || $.tenant == "t2',
    'x" OR user = "admin',
    "evil.pdf' or '1'=='1",
    "550e8400-e29b-41d4-a716-446655440000",
    "x\\}",
    string.punctuation + " ",
    *string.punctuation,
]

NASTY_KEYS = [
    'a"] == 1 or m["b',
    "a' OR 1=1 --",
    "a}) RETURN n //",
    "x:1 OR y",
    "$where",
    "a`b",
    "author' = 'a' OR '1'='1' --",
    "__import__('os').system('touch pwned')",
]


def one_answer_each(texts: list[str]) -> Answers:
    answers: Answers = {}
    for number, text in enumerate(texts):
        answers[F.name == text] = {f"d{number}"}
        answers[F.name.in_([text, "nobody"])] = {f"d{number}"}
        answers[(F.name == text) & (F.tenant == "t2")] = set()
        answers[F.name != text] = {f"d{other}" for other in range(len(texts)) if other != number}
    return answers


def nothing_under(keys: list[str]) -> Answers:
    return {
        filter: wanted
        for key in keys
        for filter, wanted in [
            (F[key] == 1, set()),
            (F[key].in_(["zzz"]), set()),
            (F[key].not_in(["zzz"]) & (F.tenant == "t1"), {"one"}),
            (F[key].is_not_null() | (F.tenant == "t2"), {"two"}),
        ]
    }


CASES = [
    Case(
        "values between quotes, unescaped",
        "spring-ai#4545, mcp-memory-service#1107, LightRAG#3555, spring-ai#5637, redis/docs#3331",
        {f"d{number}": {"name": text, "tenant": "t1"} for number, text in enumerate(NASTY)},
        one_answer_each(NASTY),
    ),
    Case(
        "a value that breaks out of a JSON path reaches another tenant",
        "CVE-2026-22729",
        {"mine": {"tenant": "t1", "title": "x"}, "theirs": {"tenant": "t2", "title": "y"}},
        {
            (F.tenant == "t1") & (F.title == 'x" || $.tenant == "t2'): set(),
            (F.tenant == "t1") & (F.title != 'x" || $.tenant == "t2'): {"mine"},
        },
    ),
    Case(
        "keys pasted into the query, or run as code",
        "CVE-2026-40967, CVE-2026-22738, llama_index#22475",
        {"one": {"tenant": "t1", "m": {"b": 1}}, "two": {"tenant": "t2", "a": 1, "x": 1, "y": 1}},
        nothing_under(NASTY_KEYS),
    ),
    Case(
        "a quote in a value adds a condition",
        "mem0#5977, NVIDIA rag#529",
        {"a": {"name": "x", "user": "admin"}, "b": {"name": "y", "user": "guest"}},
        {
            F.name == 'x" OR user = "admin': set(),
            F.name == "y' or '1'=='1": set(),
            F.name.not_in(['x" OR user = "admin']): {"a", "b"},
        },
    ),
    Case(
        "NOT that binds looser than AND",
        "spring-ai#6818",
        {
            "bg-2019": {"country": "BG", "year": 2019},
            "bg-2021": {"country": "BG", "year": 2021},
            "nl-2019": {"country": "NL", "year": 2019},
            "nl-2021": {"country": "NL", "year": 2021},
        },
        {
            "NOT country == 'BG' AND year >= 2020": {"nl-2021"},
            "NOT (country == 'BG' AND year >= 2020)": {"bg-2019", "nl-2019", "nl-2021"},
            "NOT country == 'BG' OR year >= 2020": {"bg-2021", "nl-2019", "nl-2021"},
        },
    ),
    Case(
        "NOT inside NOT, negated twice",
        "spring-ai#6844",
        {"a": {"a": 1}, "ab": {"a": 1, "b": 1}, "b": {"b": 1}, "none": {}},
        {
            ~~(F.a == 1): {"a", "ab"},
            ~((F.a == 1) & ~(F.b == 1)): {"ab", "b", "none"},
            ~(~(F.a == 1) | (F.b == 1)): {"a"},
            ~(~(F.a == 1) & ~(F.b == 1)): {"a", "ab", "b"},
            ~~~(F.a == 1): {"b", "none"},
        },
    ),
    Case(
        "OR inside AND, written without its parentheses",
        "spring-ai#3577, spring-ai#6543, spring-ai#5408",
        {
            "1": {"t": "1", "d": "y"},
            "2": {"t": "2", "d": "x"},
            "3": {"t": "3", "d": "y"},
            "4": {"t": "2", "d": "y"},
        },
        {
            ((F.t == "1") | (F.t == "2")) & (F.d != "x"): {"1", "4"},
            (F.d != "x") & ((F.t == "1") | (F.t == "2")): {"1", "4"},
            (F.t == "1") | ((F.t == "2") & (F.d != "x")): {"1", "4"},
            (F.t == "3") | (F.t == "2") & (F.d == "x"): {"2", "3"},
            "(t == '1' OR t == '2') AND (d == 'x' OR t == '1')": {"1", "2"},
        },
    ),
    Case(
        "conditions lost where groups are simplified",
        "haystack-core-integrations#870",
        {
            f"{file}-{a}-{b}": {"file": file, "a": a, "b": b}
            for file, a, b in itertools.product(("f1", "f2", "f3"), (0.5, 0.9), (0.5, 0.9))
        },
        {
            F.file.in_(["f1", "f2"]) & ((F.a >= 0.85) | (F.b >= 0.85)): {
                f"{file}-{a}-{b}"
                for file, a, b in itertools.product(("f1", "f2"), (0.5, 0.9), (0.5, 0.9))
                if 0.9 in (a, b)
            },
            (F.file.in_(["f1", "f2"]) | (F.a >= 0.85)) & ((F.file != "f1") | (F.b >= 0.85)): {
                f"{file}-{a}-{b}"
                for file, a, b in itertools.product(("f1", "f2", "f3"), (0.5, 0.9), (0.5, 0.9))
                if (file != "f3" or a == 0.9) and (file != "f1" or b == 0.9)
            },
        },
    ),
    Case(
        "NOT left out in silence",
        "weaviate#1819",
        {"yes": {"a": 1}, "no": {"a": 2}, "none": {}},
        {
            ~(F.a == 1): {"no", "none"},
            ~F.a.in_([1, 2]): {"none"},
            ~(F.a > 1): {"yes"},
            ~F.a.is_null(): {"yes", "no"},
        },
    ),
    Case(
        "documents without the key, dropped by != on one engine and kept on the next",
        "llama_index#21750, haystack-core-integrations#590, ragna#530",
        {"news": {"cat": "news"}, "x": {"cat": "x"}, "none": {}},
        {
            F.cat != "news": {"x", "none"},
            F.cat.not_in(["news"]): {"x", "none"},
            ~(F.cat == "news"): {"x", "none"},
            ~(F.cat != "news"): {"news"},
            (F.cat != "news") & F.cat.is_not_null(): {"x"},
        },
    ),
    Case(
        "null, missing and lists before NOT IN",
        "qdrant-client#1333",
        {"1": {"n": 1}, "5": {"n": 5}, "null": {"n": None}, "list": {"n": [1, 5]}, "none": {}},
        {
            F.n.not_in([1]): {"5", "null", "none"},
            F.n.in_([1]): {"1", "list"},
            F.n.is_null(): {"null", "none"},
        },
    ),
    Case(
        "null tests that only fail when they are run",
        "spring-ai#6904, milvus-lite#353",
        {
            "null": {"k": None, "x": 1},
            "empty": {"k": []},
            "none": {"x": 1},
            "some": {"k": "a", "x": 1},
        },
        {
            F.k.is_null(): {"null", "empty", "none"},
            F.k.is_not_null(): {"some"},
            F.k.is_null() & (F.x == 1): {"null", "none"},
            (F.x == 1) & ~F.k.is_null(): {"some"},
            F.k.is_null() | (F.k == "a"): {"null", "empty", "none", "some"},
        },
    ),
    Case(
        "every operator, run once",
        "langchain-postgres#40",
        {"a": {"s": "a", "n": 1}, "b": {"s": "b", "n": 2}, "none": {}},
        {
            F.s == "a": {"a"},
            F.s != "a": {"b", "none"},
            F.n > 1: {"b"},
            F.n >= 1: {"a", "b"},
            F.n < 2: {"a"},
            F.n <= 2: {"a", "b"},
            F.s.in_(["a"]): {"a"},
            F.s.not_in(["a"]): {"b", "none"},
            F.s.is_null(): {"none"},
            F.s.is_not_null(): {"a", "b"},
            (F.s == "a") & (F.n == 1): {"a"},
            (F.s == "a") | (F.n == 2): {"a", "b"},
            ~(F.s == "a"): {"b", "none"},
        },
    ),
    Case(
        "NOT that is no complement",
        "MemMachine#1615",
        {"1": {"n": 1}, "3": {"n": 3}, "text": {"n": "a"}, "none": {}},
        {
            F.n == 1: {"1"},
            ~(F.n == 1): {"3", "text", "none"},
            # An ordering is not decided where there is no number: neither half has the others.
            F.n > 2: {"3"},
            ~(F.n > 2): {"1"},
        },
    ),
    Case(
        "booleans refused, or taken for numbers",
        "spring-ai#5497, lightly-studio#1954",
        {
            "true": {"ok": True},
            "false": {"ok": False},
            "1": {"ok": 1},
            "0": {"ok": 0},
            "'true'": {"ok": "true"},
            "none": {},
        },
        {
            F.ok == True: {"true"},  # noqa: E712
            F.ok == False: {"false"},  # noqa: E712
            F.ok == 1: {"1"},
            F.ok == "true": {"'true'"},
            F.ok != True: {"false", "1", "0", "'true'", "none"},  # noqa: E712
            F.ok.in_([True, False]): {"true", "false"},
            F.ok.in_([True, 0]): {"true", "0"},
            F.ok.not_in([True, False]): {"1", "0", "'true'", "none"},
        },
    ),
    Case(
        "equality of floats",
        "langchain4j#5597",
        {
            "9.99": {"price": 9.99},
            "10": {"price": 10},
            "10.0": {"price": 10.0},
            "0.5": {"price": 0.5},
            "none": {},
        },
        {
            F.price == 9.99: {"9.99"},
            F.price == 10: {"10", "10.0"},
            F.price == 10.0: {"10", "10.0"},
            F.price != 9.99: {"10", "10.0", "0.5", "none"},
            F.price.in_([0.5, 10, 2.0]): {"0.5", "10", "10.0"},
            F.price.not_in([0.5, 10]): {"9.99", "none"},
        },
    ),
    Case(
        "long integers kept as text",
        "spring-ai#5360",
        {
            "before": {"ts": 1767225599998},
            "at": {"ts": 1767225600000},
            "text": {"ts": "1767225600000"},
        },
        {
            F.ts >= 1767225599999: {"at"},
            F.ts == 1767225600000: {"at"},
            F.ts < 1767225599999: {"before"},
            F.ts == "1767225600000": {"text"},
        },
    ),
    Case(
        "falsy values taken for no filter",
        "langchain#14541",
        {
            "0": {"n": 0},
            "false": {"n": False},
            "''": {"n": ""},
            "1": {"n": 1},
            "none": {},
        },
        {
            F.n == 0: {"0"},
            F.n == 0.0: {"0"},
            F.n == False: {"false"},  # noqa: E712
            F.n == "": {"''"},
            F.n.in_([]): set(),
            F.n.in_([0]): {"0"},
            F.n > 0: {"1"},
        },
    ),
    Case(
        "equality with a key that holds lists",
        "llama_index#18648, langchain4j#3455",
        {
            "both": {"years": [2019, 2020], "roles": ["hr", "it"]},
            "one": {"years": [2021], "roles": ["audit"]},
            "plain": {"years": 2019, "roles": "hr"},
            "none": {},
        },
        {
            F.years == 2019: {"both", "plain"},
            F.years.in_([2019]): {"both", "plain"},
            F.years != 2019: {"one", "none"},
            F.years > 2018: {"plain"},
            F.roles == "it": {"both"},
            F.roles.in_(["it", "hr"]): {"both", "plain"},
            F.roles != "audit": {"both", "plain", "none"},
            F.roles.is_null(): {"none"},
        },
    ),
    Case(
        "types guessed from what a text looks like",
        "llama_index#10252, langchain#15856",
        {
            "text": {"zip": "00123", "day": "2024-01-05"},
            "number": {"zip": 123, "day": 20240105},
            "other": {"zip": "123", "day": "2024-01-05T00:00:00Z"},
        },
        {
            F.zip == "00123": {"text"},
            F.zip == "123": {"other"},
            F.zip == 123: {"number"},
            F.day == "2024-01-05": {"text"},
            "day == '2024-01-05T00:00:00Z'": {"other"},
            F.day.in_(["2024-01-05", 20240105]): {"text", "number"},
        },
    ),
    Case(
        "one moment, written in three ways",
        "haystack#12246, haystack#11962",
        {
            "at": {"at": "2024-01-01T12:00:00.000000Z"},
            "later": {"at": "2024-01-01T12:00:00.000001Z"},
            "none": {},
        },
        {
            F.at == datetime(2024, 1, 1, 12): {"at"},
            F.at == datetime(2024, 1, 1, 12, tzinfo=UTC): {"at"},
            F.at == datetime(2024, 1, 1, 14, tzinfo=timezone(timedelta(hours=2))): {"at"},
            F.at.in_([datetime(2024, 1, 1, 12, tzinfo=UTC)]): {"at"},
            F.at.not_in([datetime(2024, 1, 1, 12)]): {"later", "none"},
            "at == TIMESTAMP '2024-01-01T13:00:00+01:00'": {"at"},
            F.at >= datetime(2024, 1, 1, 12): {"at", "later"},
            F.at <= datetime(2024, 1, 1, 12): {"at"},
            F.at > datetime(2024, 1, 1, 12): {"later"},
            F.at < datetime(2024, 1, 1, 12): set(),
            F.at != datetime(2024, 1, 1, 12): {"later", "none"},
            F.at >= date(2024, 1, 1): {"at", "later"},
        },
    ),
    Case(
        "keys inside objects, and keys with a dot",
        "langchain-postgres#110, qdrant#3613",
        {
            "path": {"common": {"source": "wiki"}},
            "dotted": {"common.source": "wiki"},
            "deep": {"a": {"b": {"c": 3}}},
            "flat": {"a.b.c": 3, "tb_9.6.1-1": "x"},
        },
        {
            "common.source == 'wiki'": {"path"},
            "\"common.source\" == 'wiki'": {"dotted"},
            F.common.source == "wiki": {"path"},
            F["common.source"] == "wiki": {"dotted"},
            F.a.b.c == 3: {"deep"},
            F["a.b.c"] == 3: {"flat"},
            F["tb_9.6.1-1"] == "x": {"flat"},
            F.common.source.is_null(): {"dotted", "deep", "flat"},
        },
    ),
    Case(
        "keys that a store uses itself",
        "llama_index#17025",
        {
            "all": {
                "id": "x",
                "content": "y",
                "text": "t",
                "embedding": 1,
                "vector": 2,
                "score": 3,
                "metadata": "m",
                "document_id": 4,
                "tags": "own",
            },
            "none": {},
        },
        {
            F.id == "x": {"all"},
            F.content == "y": {"all"},
            F.text == "t": {"all"},
            F.embedding == 1: {"all"},
            F.vector == 2: {"all"},
            F.score == 3: {"all"},
            F.metadata == "m": {"all"},
            F.document_id == 4: {"all"},
            F.tags == "own": {"all"},
            F.id.is_null(): {"none"},
        },
    ),
    Case(
        "the second value of IN, looked for in every field",
        "spring-ai#5316, spring-ai#1179",
        {"a": {"genre": "a"}, "b": {"genre": "b"}, "other": {"genre": "c", "other": "b"}},
        {
            F.genre.in_(["a", "b"]): {"a", "b"},
            F.genre.in_(["b"]) & (F.genre != "a"): {"b"},
            F.genre.not_in(["a", "b"]): {"other"},
        },
    ),
    Case(
        "an empty list, and a NOT IN that returned everything",
        "redis-vl-python#71, chroma#1252",
        {"a": {"sha": "a"}, "b": {"sha": "b"}, "c": {"sha": "c"}},
        {
            "sha IN []": set(),
            "sha NOT IN []": {"a", "b", "c"},
            F.sha.not_in(["a"]): {"b", "c"},
            F.sha.not_in(["a", "b", "c"]): set(),
            "sha == 'a' AND sha IN []": set(),
            "sha == 'a' OR sha NOT IN []": {"a", "b", "c"},
        },
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reported(case: Case, engine: Examiner) -> None:
    rows = engine.fit(case.rows)
    compared = 0
    for filter, wanted in case.answers.items():
        expression = parse(filter) if isinstance(filter, str) else filter
        assert oracle(expression, case.rows) == wanted, expression.to_text()
        if engine.refusal(expression) is not None:
            with pytest.raises(UnsupportedFilterError):
                engine.dialect.compile(expression)
            continue
        # Where the engine cannot hold all the documents, the rules say what is left of the answer.
        right = wanted if rows == case.rows else oracle(expression, rows)
        assert engine.select(expression, rows) == right, engine.native(expression)
        compared += 1
    assert compared or engine.dialect in [suite.dialect for suite in PLAIN]


def test_no_filter_is_sent_as_no_filter(engine: Examiner) -> None:
    # spring-ai#1749: an empty filter object is refused by some engines.
    compiled = engine.dialect.compile(None)
    assert compiled.matches_all
    rows = {"a": {"k": 1}, "b": {}}
    assert engine.select(parse("k IN [1] OR k NOT IN []"), rows) == {"a", "b"}


@pytest.mark.parametrize("name", dialect_names())
def test_every_operator_compiles_or_is_refused_before_the_call(name: str) -> None:
    # spring-ai#6904: thirteen operators, and none that surprises.
    filters = ["k == 1", "k != 1", "k > 1", "k >= 1", "k < 1", "k <= 1", "k IN [1]", "k NOT IN [1]"]
    filters += ["k IS NULL", "k IS NOT NULL", "k == 2 AND x == 2", "k == 2 OR x == 2", "NOT k == 2"]
    refusals: list[UnsupportedFilterError] = []
    for filter in filters:
        try:
            compiled = compile_filter(filter, name)
        except UnsupportedFilterError as error:
            refusals.append(error)
        else:
            assert compiled.query
            assert not compiled.matches_all
    for refusal in refusals:
        assert refusal.dialect == name
        assert refusal.reason
        assert refusal.remedy, "a refusal says what to do instead"


# --- the language alone -----------------------------------------------------------------------


def test_keys_that_hold_the_letters_of_a_keyword() -> None:
    # spring-ai#4908
    for key in "inventory origin notes isbn nullable order trueish nin_x android".split():
        assert parse(f"{key} == 1") == (F[key] == 1)
    assert parse("'pin code' == 1") == (F["pin code"] == 1)
    with pytest.raises(FilterTypeError, match="write IN"):
        F.inventory == [1, 2]


def test_quotes_and_escapes() -> None:
    # spring-ai#5225
    with pytest.raises(FilterSyntaxError):
        parse("a == 'x' 'y'")
    assert parse(r"a == 'it\'s'") == (F.a == "it's")
    assert parse(r'a == "say \"hi\""') == (F.a == 'say "hi"')
    assert parse(r"a == 'c:\\dir'") == (F.a == "c:\\dir")


def test_equality_with_null_says_what_to_write() -> None:
    # spring-ai#3694
    assert parse("meta IS NULL") == F.meta.is_null()
    with pytest.raises(FilterSyntaxError, match="IS NULL"):
        parse("meta == null")
    with pytest.raises(FilterTypeError, match="IS NULL"):
        FilterBuilder().eq("meta", None)
    with pytest.raises(FilterTypeError, match=r"write .is_null\(\)"):
        F.meta == None  # noqa: E711


def test_nesting_without_end_is_an_error_at_once() -> None:
    # CVE-2026-63144
    for text in ("(" * 20_000 + "a == 1" + ")" * 20_000, "NOT " * 10_000 + "a == 1"):
        with pytest.raises(FilterLimitError):
            parse(text)
    with pytest.raises(FilterLimitError):
        parse(" AND ".join(["a == 1"] * 50_000))
    assert len(parse(" AND ".join(f"a == {n}" for n in range(4_000))).operands) == 4_000


@pytest.mark.parametrize(
    "data",
    [
        {"op": "== 1) OR (1", "key": "a", "value": 1},
        {"op": "$eq OR 1=1", "key": "a", "value": 1},
        {"year": {"gte": 2022}},
        {"year": {"$gtee": 2022}},
        {"op": "gtee", "key": "year", "value": 2022},
        {"op": "gte", "key": "year", "value": 2022, "extra": True},
    ],
)
def test_operators_that_are_none_are_refused_and_never_passed_over(data: Any) -> None:
    # langgraph#5666, langchain#18758
    with pytest.raises(FilterTypeError):
        Expression.from_dict(data)


@pytest.mark.parametrize(
    "given",
    [lambda document: True, 42, True, ["a == 1"], {"a": 1}, b"a == 1"],
    ids=lambda given: type(given).__name__,
)
@pytest.mark.parametrize("name", dialect_names())
def test_a_filter_is_text_or_a_tree_and_nothing_that_runs(name: str, given: Any) -> None:
    # agent-framework#4166
    with pytest.raises(TypeError):
        compile_filter(given, name)
    with pytest.raises(FilterSyntaxError):
        compile_filter("().__class__.__mro__", name)


def test_no_operator_looks_inside_texts() -> None:
    # spring-ai#328: there is no LIKE, and what stands for it elsewhere is not half understood.
    for text in ("a LIKE 'x%'", "a CONTAINS 'x'", "a STARTS WITH 'x'", "a =~ 'x'"):
        with pytest.raises(FilterSyntaxError):
            parse(text)
    percent: Callable[[str], bool] = lambda text: (F.a == "x%").matches({"a": text})  # noqa: E731
    assert percent("x%")
    assert not percent("xy")


def test_a_filter_given_as_text_is_the_same_filter() -> None:
    # spring-ai#3179, redis-vl-python#375
    for name in dialect_names():
        tree = (F.a == "it's") & ~(F.b != 2)
        text = str(tree)
        assert parse(text) == tree
        options: dict[str, Any] = {"schema": Schema({"a": str, "b": int})}
        assert str(compile_filter(text, name, **options)) == str(
            compile_filter(tree, name, **options)
        )
