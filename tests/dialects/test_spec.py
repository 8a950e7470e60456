"""Every dialect on one screen: filters, and what each makes of them.

The first table has the dialects as they come, the second their other layouts. That these outputs
select the right rows is proven on the engines, in ``conformance/``; here one reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from vecstore import Dialect, Schema, UnsupportedFilterError
from vecstore.dialects.chroma import Chroma
from vecstore.dialects.lancedb import LanceDB
from vecstore.dialects.milvus import Milvus
from vecstore.dialects.pgvector import Pgvector
from vecstore.dialects.pinecone import Pinecone
from vecstore.dialects.qdrant import Qdrant
from vecstore.dialects.weaviate import Compound, Condition, Weaviate


@dataclass(frozen=True)
class Refused:
    """In place of an output: the reason of the refusal."""

    reason: str


def has(token: str) -> Condition:
    """The object has this token among ``vecstore_tokens``."""
    return Condition("vecstore_tokens", "Equal", "text", token)


def lacks(token: str) -> Condition:
    return Condition("vecstore_tokens", "NotEqual", "text", token)


def And(*operands: Condition | Compound) -> Compound:
    return Compound("And", operands)


def Or(*operands: Condition | Compound) -> Compound:
    return Compound("Or", operands)


DIALECTS: dict[str, Dialect[Any]] = {
    "lancedb": LanceDB(layout="exact"),
    "pgvector": Pgvector(column="m", paramstyle="numeric_dollar"),  # with its parameters
    "qdrant": Qdrant(prefix="", schema=Schema({"d": datetime}, others="allow")),
    "milvus": Milvus(field="m", tags="t"),
    "pinecone": Pinecone(),
    "chroma": Chroma(layout="exact", texts=["k"]),
    "weaviate": Weaviate(
        layout="exact",
        schema=Schema({"n": Any, "a": {"n": Any}, "d": Any, "k": Any}, others="allow"),
    ),
}

OTHER_LAYOUTS: dict[str, Dialect[Any]] = {
    "lancedb plain": LanceDB(schema=Schema({"k": str, "n": int, "b": bool, "tags": list[str]})),
    "pgvector columns": Pgvector(
        column="m",
        paramstyle="numeric_dollar",
        columns=["n", "k", "tags"],
        schema=Schema({"n": int, "k": str, "tags": list[str]}, others="allow"),
    ),
    "milvus plain": Milvus(field="m", tags=None),
    "pinecone exact": Pinecone(layout="exact"),
    "chroma plain": Chroma(),
    "weaviate plain": Weaviate(
        layout="plain", schema=Schema({"k": str, "n": int, "b": bool, "tags": list[str]})
    ),
}

Table = list[tuple[str, dict[str, Any]]]

# fmt: off
SPEC: Table = [
    # Equality. A list equals what one of its elements equals; absent equals nothing.
    ("k == 'a'", {
        "lancedb": 'array_has("vecstore_tokens", \'["k"]="a"\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"k":"a"}', '{"k":["a"]}']]),
        "qdrant": {'must': [{'key': 'k', 'match': {'value': 'a'}}]},
        "milvus": r'array_contains(t, "[\"k\"]=\"a\"")',
        "pinecone": {'k': {'$eq': 'a'}},
        "chroma": {'vecstore_tokens': {'$contains': '["k"]="a"'}},
        "weaviate": has('["k"]="a"'),
    }),
    ("n == 1", {
        "lancedb": 'array_has("vecstore_tokens", \'["n"]=1\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"n":1}', '{"n":[1]}']]),
        "qdrant": {'must': [{'key': 'n', 'range': {'gte': 1, 'lte': 1}}]},
        "milvus": r'array_contains(t, "[\"n\"]=1")',
        "pinecone": {'n': {'$eq': 1}},
        "chroma": {'vecstore_tokens': {'$contains': '["n"]=1'}},
        "weaviate": has('["n"]=1'),
    }),
    ("n == 1.5", {
        "lancedb": 'array_has("vecstore_tokens", \'["n"]=1.5\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"n":1.5}', '{"n":[1.5]}']]),
        "qdrant": {'must': [{'key': 'n', 'range': {'gte': 1.5, 'lte': 1.5}}]},
        "milvus": r'array_contains(t, "[\"n\"]=1.5")',
        "pinecone": {'n': {'$eq': 1.5}},
        "chroma": {'vecstore_tokens': {'$contains': '["n"]=1.5'}},
        "weaviate": has('["n"]=1.5'),
    }),
    ("n == -0.0", {
        "lancedb": 'array_has("vecstore_tokens", \'["n"]=0\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"n":-0.0}', '{"n":[-0.0]}']]),
        "qdrant": {'must': [{'key': 'n', 'range': {'gte': -0.0, 'lte': -0.0}}]},
        "milvus": r'array_contains(t, "[\"n\"]=0")',
        "pinecone": {'n': {'$eq': -0.0}},
        "chroma": {'vecstore_tokens': {'$contains': '["n"]=0'}},
        "weaviate": has('["n"]=0'),
    }),
    ("n == 1e23", {
        "lancedb": 'array_has("vecstore_tokens", \'["n"]=99999999999999991611392\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"n":99999999999999991611392.0}', '{"n":[99999999999999991611392.0]}']]),
        "qdrant": Refused('it compares numbers exactly only up to 9007199254740991 in magnitude (max_number)'),
        "milvus": r'array_contains(t, "[\"n\"]=99999999999999991611392")',
        "pinecone": Refused('it compares numbers exactly only up to 9007199254740991 in magnitude (max_number)'),
        "chroma": {'vecstore_tokens': {'$contains': '["n"]=99999999999999991611392'}},
        "weaviate": has('["n"]=99999999999999991611392'),
    }),
    ("n == 9007199254740993", {
        "lancedb": 'array_has("vecstore_tokens", \'["n"]=9007199254740993\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"n":9007199254740993}', '{"n":[9007199254740993]}']]),
        "qdrant": Refused('it compares numbers exactly only up to 9007199254740991 in magnitude (max_number)'),
        "milvus": r'array_contains(t, "[\"n\"]=9007199254740993")',
        "pinecone": Refused('it compares numbers exactly only up to 9007199254740991 in magnitude (max_number)'),
        "chroma": {'vecstore_tokens': {'$contains': '["n"]=9007199254740993'}},
        "weaviate": has('["n"]=9007199254740993'),
    }),
    ("b == true", {
        "lancedb": 'array_has("vecstore_tokens", \'["b"]=true\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"b":true}', '{"b":[true]}']]),
        "qdrant": {'must': [{'key': 'b', 'match': {'value': True}}]},
        "milvus": r'array_contains(t, "[\"b\"]=true")',
        "pinecone": {'b': {'$eq': True}},
        "chroma": {'vecstore_tokens': {'$contains': '["b"]=true'}},
        "weaviate": has('["b"]=true'),
    }),
    ("k == ''", {
        "lancedb": 'array_has("vecstore_tokens", \'["k"]=""\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"k":""}', '{"k":[""]}']]),
        "qdrant": {'must': [{'key': 'k', 'match': {'value': ''}}]},
        "milvus": r'array_contains(t, "[\"k\"]=\"\"")',
        "pinecone": {'k': {'$eq': ''}},
        "chroma": {'vecstore_tokens': {'$contains': '["k"]=""'}},
        "weaviate": has('["k"]=""'),
    }),
    ("k != 'a'", {
        "lancedb": '(NOT array_has("vecstore_tokens", \'["k"]="a"\'))',
        "pgvector": ('("m" @> ANY($1::text[]::jsonb[])) IS NOT TRUE', [['{"k":"a"}', '{"k":["a"]}']]),
        "qdrant": {'must_not': [{'key': 'k', 'match': {'value': 'a'}}]},
        "milvus": r'not array_contains(t, "[\"k\"]=\"a\"")',
        "pinecone": {'$or': [{'k': {'$ne': 'a'}}, {'k': {'$exists': False}}]},
        "chroma": {'vecstore_tokens': {'$not_contains': '["k"]="a"'}},
        "weaviate": lacks('["k"]="a"'),
    }),
    ("n != 1", {
        "lancedb": '(NOT array_has("vecstore_tokens", \'["n"]=1\'))',
        "pgvector": ('("m" @> ANY($1::text[]::jsonb[])) IS NOT TRUE', [['{"n":1}', '{"n":[1]}']]),
        "qdrant": {'must_not': [{'key': 'n', 'range': {'gte': 1, 'lte': 1}}]},
        "milvus": r'not array_contains(t, "[\"n\"]=1")',
        "pinecone": {'$or': [{'n': {'$ne': 1}}, {'n': {'$exists': False}}]},
        "chroma": {'vecstore_tokens': {'$not_contains': '["n"]=1'}},
        "weaviate": lacks('["n"]=1'),
    }),
    ("b != false", {
        "lancedb": '(NOT array_has("vecstore_tokens", \'["b"]=false\'))',
        "pgvector": ('("m" @> ANY($1::text[]::jsonb[])) IS NOT TRUE', [['{"b":false}', '{"b":[false]}']]),
        "qdrant": {'must_not': [{'key': 'b', 'match': {'value': False}}]},
        "milvus": r'not array_contains(t, "[\"b\"]=false")',
        "pinecone": {'$or': [{'b': {'$ne': False}}, {'b': {'$exists': False}}]},
        "chroma": {'vecstore_tokens': {'$not_contains': '["b"]=false'}},
        "weaviate": lacks('["b"]=false'),
    }),
    ("NOT k == 'a'", {
        "lancedb": '(NOT array_has("vecstore_tokens", \'["k"]="a"\'))',
        "pgvector": ('("m" @> ANY($1::text[]::jsonb[])) IS NOT TRUE', [['{"k":"a"}', '{"k":["a"]}']]),
        "qdrant": {'must_not': [{'key': 'k', 'match': {'value': 'a'}}]},
        "milvus": r'not array_contains(t, "[\"k\"]=\"a\"")',
        "pinecone": {'$or': [{'k': {'$ne': 'a'}}, {'k': {'$exists': False}}]},
        "chroma": {'vecstore_tokens': {'$not_contains': '["k"]="a"'}},
        "weaviate": lacks('["k"]="a"'),
    }),
    ("NOT k != 'a'", {
        "lancedb": 'array_has("vecstore_tokens", \'["k"]="a"\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"k":"a"}', '{"k":["a"]}']]),
        "qdrant": {'must': [{'key': 'k', 'match': {'value': 'a'}}]},
        "milvus": r'array_contains(t, "[\"k\"]=\"a\"")',
        "pinecone": {'k': {'$eq': 'a'}},
        "chroma": {'vecstore_tokens': {'$contains': '["k"]="a"'}},
        "weaviate": has('["k"]="a"'),
    }),
    # Ordering. Of numbers and texts, never of lists; what is absent is neither below nor above.
    ("n > 1", {
        "lancedb": 'try_cast(json_extract("vecstore_ordered", \'$."ne00e71c16c36d75ab3d0f00c3647ac15"\') AS DOUBLE) > CAST(\'1.0\' AS DOUBLE)',
        "pgvector": ('(jsonb_typeof("m" -> $1::text) = \'number\' AND ("m" -> $2::text) > $3::jsonb)', ['n', 'n', '1']),
        "qdrant": {'must': [{'key': 'n', 'range': {'gt': 1}}, {'is_empty': {'key': 'n[]'}}]},
        "milvus": r'(array_contains(t, "[\"n\"]:number") and m["n"] > 1)',
        "pinecone": {'n': {'$gt': 1}},
        "chroma": {'$and': [{'vecstore_tokens': {'$contains': '["n"]:number'}}, {'vecstore_number["n"]': {'$gt': 4607182418800017408}}]},
        "weaviate": Condition('vecstore_n_number', 'GreaterThan', 'number', 1.0),
    }),
    ("n >= 1.5", {
        "lancedb": 'try_cast(json_extract("vecstore_ordered", \'$."ne00e71c16c36d75ab3d0f00c3647ac15"\') AS DOUBLE) >= CAST(\'1.5\' AS DOUBLE)',
        "pgvector": ('(jsonb_typeof("m" -> $1::text) = \'number\' AND ("m" -> $2::text) >= $3::jsonb)', ['n', 'n', '1.5']),
        "qdrant": {'must': [{'key': 'n', 'range': {'gte': 1.5}}, {'is_empty': {'key': 'n[]'}}]},
        "milvus": r'(array_contains(t, "[\"n\"]:number") and m["n"] >= 1.5)',
        "pinecone": {'n': {'$gte': 1.5}},
        "chroma": {'$and': [{'vecstore_tokens': {'$contains': '["n"]:number'}}, {'vecstore_number["n"]': {'$gte': 4609434218613702656}}]},
        "weaviate": Condition('vecstore_n_number', 'GreaterThanEqual', 'number', 1.5),
    }),
    ("n < -3", {
        "lancedb": 'try_cast(json_extract("vecstore_ordered", \'$."ne00e71c16c36d75ab3d0f00c3647ac15"\') AS DOUBLE) < CAST(\'-3.0\' AS DOUBLE)',
        "pgvector": ('(jsonb_typeof("m" -> $1::text) = \'number\' AND ("m" -> $2::text) < $3::jsonb)', ['n', 'n', '-3']),
        "qdrant": {'must': [{'key': 'n', 'range': {'lt': -3}}, {'is_empty': {'key': 'n[]'}}]},
        "milvus": r'(array_contains(t, "[\"n\"]:number") and m["n"] < -3)',
        "pinecone": {'n': {'$lt': -3}},
        "chroma": {'$and': [{'vecstore_tokens': {'$contains': '["n"]:number'}}, {'vecstore_number["n"]': {'$lt': -4613937818241073152}}]},
        "weaviate": Condition('vecstore_n_number', 'LessThan', 'number', -3.0),
    }),
    ("n <= 0", {
        "lancedb": 'try_cast(json_extract("vecstore_ordered", \'$."ne00e71c16c36d75ab3d0f00c3647ac15"\') AS DOUBLE) <= CAST(\'0.0\' AS DOUBLE)',
        "pgvector": ('(jsonb_typeof("m" -> $1::text) = \'number\' AND ("m" -> $2::text) <= $3::jsonb)', ['n', 'n', '0']),
        "qdrant": {'must': [{'key': 'n', 'range': {'lte': 0}}, {'is_empty': {'key': 'n[]'}}]},
        "milvus": r'(array_contains(t, "[\"n\"]:number") and m["n"] <= 0)',
        "pinecone": {'n': {'$lte': 0}},
        "chroma": {'$and': [{'vecstore_tokens': {'$contains': '["n"]:number'}}, {'vecstore_number["n"]': {'$lte': 0}}]},
        "weaviate": Condition('vecstore_n_number', 'LessThanEqual', 'number', 0.0),
    }),
    ("NOT n > 1", {
        "lancedb": 'try_cast(json_extract("vecstore_ordered", \'$."ne00e71c16c36d75ab3d0f00c3647ac15"\') AS DOUBLE) <= CAST(\'1.0\' AS DOUBLE)',
        "pgvector": ('(jsonb_typeof("m" -> $1::text) = \'number\' AND ("m" -> $2::text) <= $3::jsonb)', ['n', 'n', '1']),
        "qdrant": {'must': [{'key': 'n', 'range': {'lte': 1}}, {'is_empty': {'key': 'n[]'}}]},
        "milvus": r'(array_contains(t, "[\"n\"]:number") and m["n"] <= 1)',
        "pinecone": {'n': {'$lte': 1}},
        "chroma": {'$and': [{'vecstore_tokens': {'$contains': '["n"]:number'}}, {'vecstore_number["n"]': {'$lte': 4607182418800017408}}]},
        "weaviate": Condition('vecstore_n_number', 'LessThanEqual', 'number', 1.0),
    }),
    ("n > 9007199254740992", {
        "lancedb": Refused('it orders numbers exactly only up to 9007199254740991 in magnitude (max_ordered_number)'),
        "pgvector": ('(jsonb_typeof("m" -> $1::text) = \'number\' AND ("m" -> $2::text) > $3::jsonb)', ['n', 'n', '9007199254740992']),
        "qdrant": Refused('it compares numbers exactly only up to 9007199254740991 in magnitude (max_number)'),
        "milvus": Refused('it orders numbers exactly only up to 9007199254740991 in magnitude (max_number)'),
        "pinecone": Refused('it compares numbers exactly only up to 9007199254740991 in magnitude (max_number)'),
        "chroma": Refused('it orders numbers exactly only up to 9007199254740991 in magnitude (max_ordered_number)'),
        "weaviate": Refused('it orders numbers exactly only up to 9007199254740991 in magnitude (max_ordered_number)'),
    }),
    ("x > 1", {
        "lancedb": 'try_cast(json_extract("vecstore_ordered", \'$."ncd65ea2c2ad99e94a85b1b6df72efef9"\') AS DOUBLE) > CAST(\'1.0\' AS DOUBLE)',
        "pgvector": ('(jsonb_typeof("m" -> $1::text) = \'number\' AND ("m" -> $2::text) > $3::jsonb)', ['x', 'x', '1']),
        "qdrant": {'must': [{'key': 'x', 'range': {'gt': 1}}, {'is_empty': {'key': 'x[]'}}]},
        "milvus": r'(array_contains(t, "[\"x\"]:number") and m["x"] > 1)',
        "pinecone": {'x': {'$gt': 1}},
        "chroma": {'$and': [{'vecstore_tokens': {'$contains': '["x"]:number'}}, {'vecstore_number["x"]': {'$gt': 4607182418800017408}}]},
        "weaviate": Refused('it orders numbers by a property of their own, and this key has none'),
    }),
    ("k > 'a'", {
        "lancedb": 'json_extract("vecstore_ordered", \'$."s33e16bc480019ee4a86b6fb0c02650da"\') > \'"61"\'',
        "pgvector": ('(jsonb_typeof("m" -> $1::text) = \'string\' AND ("m" ->> $2::text) COLLATE "C" > $3::text)', ['k', 'k', 'a']),
        "qdrant": Refused('it orders numbers and timestamps, not texts'),
        "milvus": r'(array_contains(t, "[\"k\"]:string") and m["k"] > "a")',
        "pinecone": Refused('it orders numbers only, not texts'),
        "chroma": {'$and': [{'vecstore_tokens': {'$contains': '["k"]:string'}}, {'vecstore_text0["k"]': {'$gt': 28237407136533602}}]},
        "weaviate": Condition('vecstore_k_text', 'GreaterThan', 'text', '=a!'),
    }),
    ("k <= 'a b'", {
        "lancedb": 'json_extract("vecstore_ordered", \'$."s33e16bc480019ee4a86b6fb0c02650da"\') <= \'"612062"\'',
        "pgvector": ('(jsonb_typeof("m" -> $1::text) = \'string\' AND ("m" ->> $2::text) COLLATE "C" <= $3::text)', ['k', 'k', 'a b']),
        "qdrant": Refused('it orders numbers and timestamps, not texts'),
        "milvus": r'(array_contains(t, "[\"k\"]:string") and m["k"] <= "a b")',
        "pinecone": Refused('it orders numbers only, not texts'),
        "chroma": {'$and': [{'vecstore_tokens': {'$contains': '["k"]:string'}}, {'vecstore_text0["k"]': {'$lte': 28274837132574182}}]},
        "weaviate": Condition('vecstore_k_text', 'LessThanEqual', 'text', '=a"20b!'),
    }),
    ("d >= TIMESTAMP '2024-01-01T00:00:00Z'", {
        "lancedb": 'json_extract("vecstore_ordered", \'$."s65b1c6ea3a2d5c6e03cfd72e22ec51b9"\') >= \'"323032342d30312d30315430303a30303a30302e3030303030305a"\'',
        "pgvector": ('(jsonb_typeof("m" -> $1::text) = \'string\' AND ("m" ->> $2::text) COLLATE "C" >= $3::text)', ['d', 'd', '2024-01-01T00:00:00.000000Z']),
        "qdrant": {'must': [{'key': 'd', 'range': {'gte': '2024-01-01T00:00:00.000000Z'}}, {'is_empty': {'key': 'd[]'}}]},
        "milvus": r'(array_contains(t, "[\"d\"]:string") and m["d"] >= "2024-01-01T00:00:00.000000Z")',
        "pinecone": Refused('it orders numbers only, not texts'),
        "chroma": Refused('it orders numbers only, not texts'),
        "weaviate": Condition('vecstore_d_text', 'GreaterThanEqual', 'text', '=2024-01-01T00:00:00.000000Z!'),
    }),
    ("d < DATE '2024-02-01'", {
        "lancedb": 'json_extract("vecstore_ordered", \'$."s65b1c6ea3a2d5c6e03cfd72e22ec51b9"\') < \'"323032342d30322d3031"\'',
        "pgvector": ('(jsonb_typeof("m" -> $1::text) = \'string\' AND ("m" ->> $2::text) COLLATE "C" < $3::text)', ['d', 'd', '2024-02-01']),
        "qdrant": {'must': [{'key': 'd', 'range': {'lt': '2024-02-01T00:00:00.000000Z'}}, {'is_empty': {'key': 'd[]'}}]},
        "milvus": r'(array_contains(t, "[\"d\"]:string") and m["d"] < "2024-02-01")',
        "pinecone": Refused('it orders numbers only, not texts'),
        "chroma": Refused('it orders numbers only, not texts'),
        "weaviate": Condition('vecstore_d_text', 'LessThan', 'text', '=2024-02-01!'),
    }),
    # Membership. Mixed lists are fine; an empty one is a constant.
    ("k IN ['a', 'b']", {
        "lancedb": 'array_has_any("vecstore_tokens", make_array(\'["k"]="a"\', \'["k"]="b"\'))',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"k":"a"}', '{"k":["a"]}', '{"k":"b"}', '{"k":["b"]}']]),
        "qdrant": {'must': [{'key': 'k', 'match': {'any': ['a', 'b']}}]},
        "milvus": r'array_contains_any(t, ["[\"k\"]=\"a\"", "[\"k\"]=\"b\""])',
        "pinecone": {'k': {'$in': ['a', 'b']}},
        "chroma": {'$or': [{'vecstore_tokens': {'$contains': '["k"]="a"'}}, {'vecstore_tokens': {'$contains': '["k"]="b"'}}]},
        "weaviate": Condition('vecstore_tokens', 'ContainsAny', 'text', ('["k"]="a"', '["k"]="b"')),
    }),
    ("k IN ['a']", {
        "lancedb": 'array_has("vecstore_tokens", \'["k"]="a"\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"k":"a"}', '{"k":["a"]}']]),
        "qdrant": {'must': [{'key': 'k', 'match': {'value': 'a'}}]},
        "milvus": r'array_contains(t, "[\"k\"]=\"a\"")',
        "pinecone": {'k': {'$in': ['a']}},
        "chroma": {'vecstore_tokens': {'$contains': '["k"]="a"'}},
        "weaviate": has('["k"]="a"'),
    }),
    ("k NOT IN ['a', 'b']", {
        "lancedb": '(NOT array_has_any("vecstore_tokens", make_array(\'["k"]="a"\', \'["k"]="b"\')))',
        "pgvector": ('("m" @> ANY($1::text[]::jsonb[])) IS NOT TRUE', [['{"k":"a"}', '{"k":["a"]}', '{"k":"b"}', '{"k":["b"]}']]),
        "qdrant": {'must_not': [{'key': 'k', 'match': {'any': ['a', 'b']}}]},
        "milvus": r'not array_contains_any(t, ["[\"k\"]=\"a\"", "[\"k\"]=\"b\""])',
        "pinecone": {'$or': [{'k': {'$nin': ['a', 'b']}}, {'k': {'$exists': False}}]},
        "chroma": {'$and': [{'vecstore_tokens': {'$not_contains': '["k"]="a"'}}, {'vecstore_tokens': {'$not_contains': '["k"]="b"'}}]},
        "weaviate": And(lacks('["k"]="a"'), lacks('["k"]="b"')),
    }),
    ("n IN [1, 2.5]", {
        "lancedb": 'array_has_any("vecstore_tokens", make_array(\'["n"]=1\', \'["n"]=2.5\'))',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"n":1}', '{"n":[1]}', '{"n":2.5}', '{"n":[2.5]}']]),
        "qdrant": {'should': [{'key': 'n', 'range': {'gte': 1, 'lte': 1}}, {'key': 'n', 'range': {'gte': 2.5, 'lte': 2.5}}]},
        "milvus": r'array_contains_any(t, ["[\"n\"]=1", "[\"n\"]=2.5"])',
        "pinecone": {'n': {'$in': [1, 2.5]}},
        "chroma": {'$or': [{'vecstore_tokens': {'$contains': '["n"]=1'}}, {'vecstore_tokens': {'$contains': '["n"]=2.5'}}]},
        "weaviate": Condition('vecstore_tokens', 'ContainsAny', 'text', ('["n"]=1', '["n"]=2.5')),
    }),
    ("n NOT IN [1]", {
        "lancedb": '(NOT array_has("vecstore_tokens", \'["n"]=1\'))',
        "pgvector": ('("m" @> ANY($1::text[]::jsonb[])) IS NOT TRUE', [['{"n":1}', '{"n":[1]}']]),
        "qdrant": {'must_not': [{'key': 'n', 'range': {'gte': 1, 'lte': 1}}]},
        "milvus": r'not array_contains(t, "[\"n\"]=1")',
        "pinecone": {'$or': [{'n': {'$nin': [1]}}, {'n': {'$exists': False}}]},
        "chroma": {'vecstore_tokens': {'$not_contains': '["n"]=1'}},
        "weaviate": lacks('["n"]=1'),
    }),
    ("k IN ['a', 1, true]", {
        "lancedb": 'array_has_any("vecstore_tokens", make_array(\'["k"]="a"\', \'["k"]=1\', \'["k"]=true\'))',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"k":"a"}', '{"k":["a"]}', '{"k":1}', '{"k":[1]}', '{"k":true}', '{"k":[true]}']]),
        "qdrant": {'should': [{'key': 'k', 'match': {'value': 'a'}}, {'key': 'k', 'match': {'value': True}}, {'key': 'k', 'range': {'gte': 1, 'lte': 1}}]},
        "milvus": r'array_contains_any(t, ["[\"k\"]=\"a\"", "[\"k\"]=1", "[\"k\"]=true"])',
        "pinecone": {'$or': [{'k': {'$eq': True}}, {'k': {'$in': ['a']}}, {'k': {'$in': [1]}}]},
        "chroma": {'$or': [{'vecstore_tokens': {'$contains': '["k"]="a"'}}, {'vecstore_tokens': {'$contains': '["k"]=1'}}, {'vecstore_tokens': {'$contains': '["k"]=true'}}]},
        "weaviate": Condition('vecstore_tokens', 'ContainsAny', 'text', ('["k"]="a"', '["k"]=1', '["k"]=true')),
    }),
    ("k NOT IN ['a', 1, true]", {
        "lancedb": '(NOT array_has_any("vecstore_tokens", make_array(\'["k"]="a"\', \'["k"]=1\', \'["k"]=true\')))',
        "pgvector": ('(CASE jsonb_typeof("m" -> $1::text) WHEN \'string\' THEN ("m" ->> $2::text) COLLATE "C" = ANY($3::text[]) WHEN \'number\' THEN ("m" -> $1::text)::numeric = ANY($4::text[]::numeric[]) WHEN \'boolean\' THEN ("m" -> $1::text) = ANY($5::text[]::jsonb[]) WHEN \'array\' THEN EXISTS (SELECT FROM jsonb_array_elements("m" -> $1::text) AS element(item) WHERE CASE jsonb_typeof(element.item) WHEN \'string\' THEN (element.item #>> \'{}\') COLLATE "C" = ANY($3::text[]) WHEN \'number\' THEN (element.item)::numeric = ANY($4::text[]::numeric[]) WHEN \'boolean\' THEN (element.item) = ANY($5::text[]::jsonb[]) ELSE FALSE END) ELSE FALSE END) IS NOT TRUE', ['k', 'k', ['a'], ['1'], ['true']]),
        "qdrant": {'must_not': [{'key': 'k', 'match': {'value': 'a'}}, {'key': 'k', 'match': {'value': True}}, {'key': 'k', 'range': {'gte': 1, 'lte': 1}}]},
        "milvus": r'not array_contains_any(t, ["[\"k\"]=\"a\"", "[\"k\"]=1", "[\"k\"]=true"])',
        "pinecone": {'$or': [{'$and': [{'k': {'$ne': True}}, {'k': {'$nin': ['a']}}, {'k': {'$nin': [1]}}]}, {'k': {'$exists': False}}]},
        "chroma": {'$and': [{'vecstore_tokens': {'$not_contains': '["k"]="a"'}}, {'vecstore_tokens': {'$not_contains': '["k"]=1'}}, {'vecstore_tokens': {'$not_contains': '["k"]=true'}}]},
        "weaviate": And(lacks('["k"]="a"'), lacks('["k"]=1'), lacks('["k"]=true')),
    }),
    ("b IN [true, false]", {
        "lancedb": 'array_has_any("vecstore_tokens", make_array(\'["b"]=true\', \'["b"]=false\'))',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"b":true}', '{"b":[true]}', '{"b":false}', '{"b":[false]}']]),
        "qdrant": {'should': [{'key': 'b', 'match': {'value': True}}, {'key': 'b', 'match': {'value': False}}]},
        "milvus": r'array_contains_any(t, ["[\"b\"]=true", "[\"b\"]=false"])',
        "pinecone": {'$or': [{'b': {'$eq': True}}, {'b': {'$eq': False}}]},
        "chroma": {'$or': [{'vecstore_tokens': {'$contains': '["b"]=true'}}, {'vecstore_tokens': {'$contains': '["b"]=false'}}]},
        "weaviate": Condition('vecstore_tokens', 'ContainsAny', 'text', ('["b"]=true', '["b"]=false')),
    }),
    ("k IN ['a', 'a']", {
        "lancedb": 'array_has_any("vecstore_tokens", make_array(\'["k"]="a"\', \'["k"]="a"\'))',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"k":"a"}', '{"k":["a"]}', '{"k":"a"}', '{"k":["a"]}']]),
        "qdrant": {'must': [{'key': 'k', 'match': {'any': ['a', 'a']}}]},
        "milvus": r'array_contains(t, "[\"k\"]=\"a\"")',
        "pinecone": {'k': {'$in': ['a', 'a']}},
        "chroma": {'vecstore_tokens': {'$contains': '["k"]="a"'}},
        "weaviate": has('["k"]="a"'),
    }),
    ("NOT k IN ['a']", {
        "lancedb": '(NOT array_has("vecstore_tokens", \'["k"]="a"\'))',
        "pgvector": ('("m" @> ANY($1::text[]::jsonb[])) IS NOT TRUE', [['{"k":"a"}', '{"k":["a"]}']]),
        "qdrant": {'must_not': [{'key': 'k', 'match': {'value': 'a'}}]},
        "milvus": r'not array_contains(t, "[\"k\"]=\"a\"")',
        "pinecone": {'$or': [{'k': {'$nin': ['a']}}, {'k': {'$exists': False}}]},
        "chroma": {'vecstore_tokens': {'$not_contains': '["k"]="a"'}},
        "weaviate": lacks('["k"]="a"'),
    }),
    ("k IN []", {
        "lancedb": 'false',
        "pgvector": ('FALSE', []),
        "qdrant": {'must_not': [{'must': []}]},
        "milvus": 'array_contains(t, "")',
        "pinecone": {'$and': [{'__vecstore_tokens': {'$eq': '[]'}}, {'__vecstore_tokens': {'$ne': '[]'}}]},
        "chroma": {'$and': [{'vecstore_tokens': {'$contains': '[]'}}, {'vecstore_tokens': {'$not_contains': '[]'}}]},
        "weaviate": And(has('x'), lacks('x')),
    }),
    ("k NOT IN []", {
        "lancedb": 'true',
        "pgvector": ('TRUE', []),
        "qdrant": {},
        "milvus": '',
        "pinecone": None,
        "chroma": None,
        "weaviate": None,
    }),
    # Null tests. Missing, null and [] are one thing.
    ("k IS NULL", {
        "lancedb": '(NOT array_has("vecstore_tokens", \'["k"]\'))',
        "pgvector": ('coalesce("m" -> $1::text, \'null\'::jsonb) IN (\'null\'::jsonb, \'[]\'::jsonb)', ['k']),
        "qdrant": {'must': [{'is_empty': {'key': 'k'}}]},
        "milvus": r'not array_contains(t, "[\"k\"]")',
        "pinecone": {'k': {'$exists': False}},
        "chroma": {'vecstore_tokens': {'$not_contains': '["k"]'}},
        "weaviate": lacks('["k"]'),
    }),
    ("k IS NOT NULL", {
        "lancedb": 'array_has("vecstore_tokens", \'["k"]\')',
        "pgvector": ('coalesce("m" -> $1::text, \'null\'::jsonb) NOT IN (\'null\'::jsonb, \'[]\'::jsonb)', ['k']),
        "qdrant": {'must_not': [{'is_empty': {'key': 'k'}}]},
        "milvus": r'array_contains(t, "[\"k\"]")',
        "pinecone": {'k': {'$exists': True}},
        "chroma": {'vecstore_tokens': {'$contains': '["k"]'}},
        "weaviate": has('["k"]'),
    }),
    ("NOT k IS NULL", {
        "lancedb": 'array_has("vecstore_tokens", \'["k"]\')',
        "pgvector": ('coalesce("m" -> $1::text, \'null\'::jsonb) NOT IN (\'null\'::jsonb, \'[]\'::jsonb)', ['k']),
        "qdrant": {'must_not': [{'is_empty': {'key': 'k'}}]},
        "milvus": r'array_contains(t, "[\"k\"]")',
        "pinecone": {'k': {'$exists': True}},
        "chroma": {'vecstore_tokens': {'$contains': '["k"]'}},
        "weaviate": has('["k"]'),
    }),
    # Keys. A dot steps into an object, unless the key is quoted.
    ("a.k == 'x'", {
        "lancedb": 'array_has("vecstore_tokens", \'["a","k"]="x"\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"a":{"k":"x"}}', '{"a":{"k":["x"]}}']]),
        "qdrant": {'must': [{'key': 'a.k', 'match': {'value': 'x'}}]},
        "milvus": r'array_contains(t, "[\"a\",\"k\"]=\"x\"")',
        "pinecone": Refused('its metadata is flat, without objects to step into'),
        "chroma": {'vecstore_tokens': {'$contains': '["a","k"]="x"'}},
        "weaviate": has('["a","k"]="x"'),
    }),
    ('"a.k" == \'x\'', {
        "lancedb": 'array_has("vecstore_tokens", \'["a.k"]="x"\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"a.k":"x"}', '{"a.k":["x"]}']]),
        "qdrant": {'must': [{'key': '"a.k"', 'match': {'value': 'x'}}]},
        "milvus": r'array_contains(t, "[\"a.k\"]=\"x\"")',
        "pinecone": {'a.k': {'$eq': 'x'}},
        "chroma": {'vecstore_tokens': {'$contains': '["a.k"]="x"'}},
        "weaviate": has('["a.k"]="x"'),
    }),
    ('a."b.c".d IS NOT NULL', {
        "lancedb": 'array_has("vecstore_tokens", \'["a","b.c","d"]\')',
        "pgvector": ('coalesce("m" -> $1::text -> $2::text -> $3::text, \'null\'::jsonb) NOT IN (\'null\'::jsonb, \'[]\'::jsonb)', ['a', 'b.c', 'd']),
        "qdrant": {'must_not': [{'is_empty': {'key': 'a."b.c".d'}}]},
        "milvus": r'array_contains(t, "[\"a\",\"b.c\",\"d\"]")',
        "pinecone": Refused('its metadata is flat, without objects to step into'),
        "chroma": {'vecstore_tokens': {'$contains': '["a","b.c","d"]'}},
        "weaviate": has('["a","b.c","d"]'),
    }),
    ("a.n > 1", {
        "lancedb": 'try_cast(json_extract("vecstore_ordered", \'$."n69ca10b8a855d08a13e791ced1b5c0e1"\') AS DOUBLE) > CAST(\'1.0\' AS DOUBLE)',
        "pgvector": ('(jsonb_typeof("m" -> $1::text -> $2::text) = \'number\' AND ("m" -> $3::text -> $4::text) > $5::jsonb)', ['a', 'n', 'a', 'n', '1']),
        "qdrant": {'must': [{'key': 'a.n', 'range': {'gt': 1}}, {'is_empty': {'key': 'a.n[]'}}]},
        "milvus": r'(array_contains(t, "[\"a\",\"n\"]:number") and m["a"]["n"] > 1)',
        "pinecone": Refused('its metadata is flat, without objects to step into'),
        "chroma": {'$and': [{'vecstore_tokens': {'$contains': '["a","n"]:number'}}, {'vecstore_number["a","n"]': {'$gt': 4607182418800017408}}]},
        "weaviate": Condition('vecstore_a__n_number', 'GreaterThan', 'number', 1.0),
    }),
    ('"odd key!" == 1', {
        "lancedb": 'array_has("vecstore_tokens", \'["odd\\u0020key!"]=1\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"odd key!":1}', '{"odd key!":[1]}']]),
        "qdrant": {'must': [{'key': '"odd key!"', 'range': {'gte': 1, 'lte': 1}}]},
        "milvus": r'array_contains(t, "[\"odd\\u0020key!\"]=1")',
        "pinecone": {'odd key!': {'$eq': 1}},
        "chroma": {'vecstore_tokens': {'$contains': '["odd\\u0020key!"]=1'}},
        "weaviate": has('["odd\\u0020key!"]=1'),
    }),
    ("""'a"b' == 1""", {
        "lancedb": 'array_has("vecstore_tokens", \'["a\\"b"]=1\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"a\\"b":1}', '{"a\\"b":[1]}']]),
        "qdrant": Refused('its filters have no way to name a key that is empty or holds a double quote or a backslash'),
        "milvus": r'array_contains(t, "[\"a\\\"b\"]=1")',
        "pinecone": {'a"b': {'$eq': 1}},
        "chroma": {'vecstore_tokens': {'$contains': '["a\\"b"]=1'}},
        "weaviate": has('["a\\"b"]=1'),
    }),
    (r'"back\\slash" > 1', {
        "lancedb": 'try_cast(json_extract("vecstore_ordered", \'$."n53a69a9e9a2425e1ab036ce43b307be6"\') AS DOUBLE) > CAST(\'1.0\' AS DOUBLE)',
        "pgvector": ('(jsonb_typeof("m" -> $1::text) = \'number\' AND ("m" -> $2::text) > $3::jsonb)', ['back\\slash', 'back\\slash', '1']),
        "qdrant": Refused('its filters have no way to name a key that is empty or holds a double quote or a backslash'),
        "milvus": Refused('it cannot reach into JSON under a key that holds a quote, a backslash, a control character, ][ or a Han character past U+FFFF'),
        "pinecone": {'back\\slash': {'$gt': 1}},
        "chroma": {'$and': [{'vecstore_tokens': {'$contains': '["back\\\\slash"]:number'}}, {'vecstore_number["back\\\\slash"]': {'$gt': 4607182418800017408}}]},
        "weaviate": Refused('it orders numbers by a property of their own, and this key has none'),
    }),
    ('"$where" == 1', {
        "lancedb": 'array_has("vecstore_tokens", \'["$where"]=1\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"$where":1}', '{"$where":[1]}']]),
        "qdrant": {'must': [{'key': '"$where"', 'range': {'gte': 1, 'lte': 1}}]},
        "milvus": r'array_contains(t, "[\"$where\"]=1")',
        "pinecone": Refused('its field names cannot start with $'),
        "chroma": {'vecstore_tokens': {'$contains': '["$where"]=1'}},
        "weaviate": has('["$where"]=1'),
    }),
    ("ключ == 'да'", {
        "lancedb": 'array_has("vecstore_tokens", \'["\\u043a\\u043b\\u044e\\u0447"]="\\u0434\\u0430"\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"ключ":"да"}', '{"ключ":["да"]}']]),
        "qdrant": {'must': [{'key': '"ключ"', 'match': {'value': 'да'}}]},
        "milvus": r'array_contains(t, "[\"\\u043a\\u043b\\u044e\\u0447\"]=\"\\u0434\\u0430\"")',
        "pinecone": {'ключ': {'$eq': 'да'}},
        "chroma": {'vecstore_tokens': {'$contains': '["\\u043a\\u043b\\u044e\\u0447"]="\\u0434\\u0430"'}},
        "weaviate": has('["\\u043a\\u043b\\u044e\\u0447"]="\\u0434\\u0430"'),
    }),
    # Hostile texts. They stay what they are.
    (r"""k == 'it\'s "so"'""", {
        "lancedb": 'array_has("vecstore_tokens", \'["k"]="it\'\'s\\u0020\\"so\\""\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"k":"it\'s \\"so\\""}', '{"k":["it\'s \\"so\\""]}']]),
        "qdrant": {'must': [{'key': 'k', 'match': {'value': 'it\'s "so"'}}]},
        "milvus": 'array_contains(t, "[\\"k\\"]=\\"it\'s\\\\u0020\\\\\\"so\\\\\\"\\"")',
        "pinecone": {'k': {'$eq': 'it\'s "so"'}},
        "chroma": {'vecstore_tokens': {'$contains': '["k"]="it\'s\\u0020\\"so\\""'}},
        "weaviate": has('["k"]="it\'s\\u0020\\"so\\""'),
    }),
    (r"k == 'x\' OR 1=1 --'", {
        "lancedb": 'array_has("vecstore_tokens", \'["k"]="x\'\'\\u0020OR\\u00201=1\\u0020--"\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"k":"x\' OR 1=1 --"}', '{"k":["x\' OR 1=1 --"]}']]),
        "qdrant": {'must': [{'key': 'k', 'match': {'value': "x' OR 1=1 --"}}]},
        "milvus": 'array_contains(t, "[\\"k\\"]=\\"x\'\\\\u0020OR\\\\u00201=1\\\\u0020--\\"")',
        "pinecone": {'k': {'$eq': "x' OR 1=1 --"}},
        "chroma": {'vecstore_tokens': {'$contains': '["k"]="x\'\\u0020OR\\u00201=1\\u0020--"'}},
        "weaviate": has('["k"]="x\'\\u0020OR\\u00201=1\\u0020--"'),
    }),
    (r"k != 'back\\slash'", {
        "lancedb": '(NOT array_has("vecstore_tokens", \'["k"]="back\\\\slash"\'))',
        "pgvector": ('("m" @> ANY($1::text[]::jsonb[])) IS NOT TRUE', [['{"k":"back\\\\slash"}', '{"k":["back\\\\slash"]}']]),
        "qdrant": {'must_not': [{'key': 'k', 'match': {'value': 'back\\slash'}}]},
        "milvus": r'not array_contains(t, "[\"k\"]=\"back\\\\slash\"")',
        "pinecone": {'$or': [{'k': {'$ne': 'back\\slash'}}, {'k': {'$exists': False}}]},
        "chroma": {'vecstore_tokens': {'$not_contains': '["k"]="back\\\\slash"'}},
        "weaviate": lacks('["k"]="back\\\\slash"'),
    }),
    (r"k == 'line\nbreak'", {
        "lancedb": 'array_has("vecstore_tokens", \'["k"]="line\\nbreak"\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"k":"line\\nbreak"}', '{"k":["line\\nbreak"]}']]),
        "qdrant": {'must': [{'key': 'k', 'match': {'value': 'line\nbreak'}}]},
        "milvus": r'array_contains(t, "[\"k\"]=\"line\\nbreak\"")',
        "pinecone": {'k': {'$eq': 'line\nbreak'}},
        "chroma": {'vecstore_tokens': {'$contains': '["k"]="line\\nbreak"'}},
        "weaviate": has('["k"]="line\\nbreak"'),
    }),
    ("k IN ['%s', '$1', '{k}']", {
        "lancedb": 'array_has_any("vecstore_tokens", make_array(\'["k"]="%s"\', \'["k"]="$1"\', \'["k"]="{k}"\'))',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"k":"%s"}', '{"k":["%s"]}', '{"k":"$1"}', '{"k":["$1"]}', '{"k":"{k}"}', '{"k":["{k}"]}']]),
        "qdrant": {'must': [{'key': 'k', 'match': {'any': ['%s', '$1', '{k}']}}]},
        "milvus": r'array_contains_any(t, ["[\"k\"]=\"%s\"", "[\"k\"]=\"$1\"", "[\"k\"]=\"{k}\""])',
        "pinecone": {'k': {'$in': ['%s', '$1', '{k}']}},
        "chroma": {'$or': [{'vecstore_tokens': {'$contains': '["k"]="%s"'}}, {'vecstore_tokens': {'$contains': '["k"]="$1"'}}, {'vecstore_tokens': {'$contains': '["k"]="{k}"'}}]},
        "weaviate": Condition('vecstore_tokens', 'ContainsAny', 'text', ('["k"]="%s"', '["k"]="$1"', '["k"]="{k}"')),
    }),
    # Combination. AND binds tighter than OR, NOT tighter than both; NOT is pushed down to the atoms.
    ("k == 'a' AND n > 1", {
        "lancedb": '(array_has("vecstore_tokens", \'["k"]="a"\') AND try_cast(json_extract("vecstore_ordered", \'$."ne00e71c16c36d75ab3d0f00c3647ac15"\') AS DOUBLE) > CAST(\'1.0\' AS DOUBLE))',
        "pgvector": ('("m" @> ANY($1::text[]::jsonb[]) AND (jsonb_typeof("m" -> $2::text) = \'number\' AND ("m" -> $3::text) > $4::jsonb))', [['{"k":"a"}', '{"k":["a"]}'], 'n', 'n', '1']),
        "qdrant": {'must': [{'key': 'k', 'match': {'value': 'a'}}, {'key': 'n', 'range': {'gt': 1}}, {'is_empty': {'key': 'n[]'}}]},
        "milvus": r'(array_contains(t, "[\"k\"]=\"a\"") and (array_contains(t, "[\"n\"]:number") and m["n"] > 1))',
        "pinecone": {'$and': [{'k': {'$eq': 'a'}}, {'n': {'$gt': 1}}]},
        "chroma": {'$and': [{'vecstore_tokens': {'$contains': '["k"]="a"'}}, {'vecstore_tokens': {'$contains': '["n"]:number'}}, {'vecstore_number["n"]': {'$gt': 4607182418800017408}}]},
        "weaviate": And(has('["k"]="a"'), Condition('vecstore_n_number', 'GreaterThan', 'number', 1.0)),
    }),
    ("k == 'a' OR n > 1", {
        "lancedb": '(array_has("vecstore_tokens", \'["k"]="a"\') OR try_cast(json_extract("vecstore_ordered", \'$."ne00e71c16c36d75ab3d0f00c3647ac15"\') AS DOUBLE) > CAST(\'1.0\' AS DOUBLE))',
        "pgvector": ('("m" @> ANY($1::text[]::jsonb[]) OR (jsonb_typeof("m" -> $2::text) = \'number\' AND ("m" -> $3::text) > $4::jsonb))', [['{"k":"a"}', '{"k":["a"]}'], 'n', 'n', '1']),
        "qdrant": {'should': [{'key': 'k', 'match': {'value': 'a'}}, {'must': [{'key': 'n', 'range': {'gt': 1}}, {'is_empty': {'key': 'n[]'}}]}]},
        "milvus": r'(array_contains(t, "[\"k\"]=\"a\"") or (array_contains(t, "[\"n\"]:number") and m["n"] > 1))',
        "pinecone": {'$or': [{'k': {'$eq': 'a'}}, {'n': {'$gt': 1}}]},
        "chroma": {'$or': [{'vecstore_tokens': {'$contains': '["k"]="a"'}}, {'$and': [{'vecstore_tokens': {'$contains': '["n"]:number'}}, {'vecstore_number["n"]': {'$gt': 4607182418800017408}}]}]},
        "weaviate": Or(has('["k"]="a"'), Condition('vecstore_n_number', 'GreaterThan', 'number', 1.0)),
    }),
    ("k == 'a' OR n > 1 AND b == true", {
        "lancedb": '(array_has("vecstore_tokens", \'["k"]="a"\') OR (try_cast(json_extract("vecstore_ordered", \'$."ne00e71c16c36d75ab3d0f00c3647ac15"\') AS DOUBLE) > CAST(\'1.0\' AS DOUBLE) AND array_has("vecstore_tokens", \'["b"]=true\')))',
        "pgvector": ('("m" @> ANY($1::text[]::jsonb[]) OR ((jsonb_typeof("m" -> $2::text) = \'number\' AND ("m" -> $3::text) > $4::jsonb) AND "m" @> ANY($5::text[]::jsonb[])))', [['{"k":"a"}', '{"k":["a"]}'], 'n', 'n', '1', ['{"b":true}', '{"b":[true]}']]),
        "qdrant": {'should': [{'key': 'k', 'match': {'value': 'a'}}, {'must': [{'key': 'n', 'range': {'gt': 1}}, {'is_empty': {'key': 'n[]'}}, {'key': 'b', 'match': {'value': True}}]}]},
        "milvus": r'(array_contains(t, "[\"k\"]=\"a\"") or ((array_contains(t, "[\"n\"]:number") and m["n"] > 1) and array_contains(t, "[\"b\"]=true")))',
        "pinecone": {'$or': [{'k': {'$eq': 'a'}}, {'$and': [{'n': {'$gt': 1}}, {'b': {'$eq': True}}]}]},
        "chroma": {'$or': [{'vecstore_tokens': {'$contains': '["k"]="a"'}}, {'$and': [{'vecstore_tokens': {'$contains': '["n"]:number'}}, {'vecstore_number["n"]': {'$gt': 4607182418800017408}}, {'vecstore_tokens': {'$contains': '["b"]=true'}}]}]},
        "weaviate": Or(has('["k"]="a"'), And(Condition('vecstore_n_number', 'GreaterThan', 'number', 1.0), has('["b"]=true'))),
    }),
    ("(k == 'a' OR n > 1) AND b == true", {
        "lancedb": '((array_has("vecstore_tokens", \'["k"]="a"\') OR try_cast(json_extract("vecstore_ordered", \'$."ne00e71c16c36d75ab3d0f00c3647ac15"\') AS DOUBLE) > CAST(\'1.0\' AS DOUBLE)) AND array_has("vecstore_tokens", \'["b"]=true\'))',
        "pgvector": ('(("m" @> ANY($1::text[]::jsonb[]) OR (jsonb_typeof("m" -> $2::text) = \'number\' AND ("m" -> $3::text) > $4::jsonb)) AND "m" @> ANY($5::text[]::jsonb[]))', [['{"k":"a"}', '{"k":["a"]}'], 'n', 'n', '1', ['{"b":true}', '{"b":[true]}']]),
        "qdrant": {'must': [{'should': [{'key': 'k', 'match': {'value': 'a'}}, {'must': [{'key': 'n', 'range': {'gt': 1}}, {'is_empty': {'key': 'n[]'}}]}]}, {'key': 'b', 'match': {'value': True}}]},
        "milvus": r'((array_contains(t, "[\"k\"]=\"a\"") or (array_contains(t, "[\"n\"]:number") and m["n"] > 1)) and array_contains(t, "[\"b\"]=true"))',
        "pinecone": {'$and': [{'$or': [{'k': {'$eq': 'a'}}, {'n': {'$gt': 1}}]}, {'b': {'$eq': True}}]},
        "chroma": {'$and': [{'$or': [{'vecstore_tokens': {'$contains': '["k"]="a"'}}, {'$and': [{'vecstore_tokens': {'$contains': '["n"]:number'}}, {'vecstore_number["n"]': {'$gt': 4607182418800017408}}]}]}, {'vecstore_tokens': {'$contains': '["b"]=true'}}]},
        "weaviate": And(Or(has('["k"]="a"'), Condition('vecstore_n_number', 'GreaterThan', 'number', 1.0)), has('["b"]=true')),
    }),
    ("NOT (k == 'a' AND n > 1)", {
        "lancedb": '((NOT array_has("vecstore_tokens", \'["k"]="a"\')) OR try_cast(json_extract("vecstore_ordered", \'$."ne00e71c16c36d75ab3d0f00c3647ac15"\') AS DOUBLE) <= CAST(\'1.0\' AS DOUBLE))',
        "pgvector": ('(("m" @> ANY($1::text[]::jsonb[])) IS NOT TRUE OR (jsonb_typeof("m" -> $2::text) = \'number\' AND ("m" -> $3::text) <= $4::jsonb))', [['{"k":"a"}', '{"k":["a"]}'], 'n', 'n', '1']),
        "qdrant": {'should': [{'must_not': [{'key': 'k', 'match': {'value': 'a'}}]}, {'must': [{'key': 'n', 'range': {'lte': 1}}, {'is_empty': {'key': 'n[]'}}]}]},
        "milvus": r'(not array_contains(t, "[\"k\"]=\"a\"") or (array_contains(t, "[\"n\"]:number") and m["n"] <= 1))',
        "pinecone": {'$or': [{'k': {'$ne': 'a'}}, {'k': {'$exists': False}}, {'n': {'$lte': 1}}]},
        "chroma": {'$or': [{'vecstore_tokens': {'$not_contains': '["k"]="a"'}}, {'$and': [{'vecstore_tokens': {'$contains': '["n"]:number'}}, {'vecstore_number["n"]': {'$lte': 4607182418800017408}}]}]},
        "weaviate": Or(lacks('["k"]="a"'), Condition('vecstore_n_number', 'LessThanEqual', 'number', 1.0)),
    }),
    ("NOT (k == 'a' OR NOT n > 1)", {
        "lancedb": '((NOT array_has("vecstore_tokens", \'["k"]="a"\')) AND try_cast(json_extract("vecstore_ordered", \'$."ne00e71c16c36d75ab3d0f00c3647ac15"\') AS DOUBLE) > CAST(\'1.0\' AS DOUBLE))',
        "pgvector": ('(("m" @> ANY($1::text[]::jsonb[])) IS NOT TRUE AND (jsonb_typeof("m" -> $2::text) = \'number\' AND ("m" -> $3::text) > $4::jsonb))', [['{"k":"a"}', '{"k":["a"]}'], 'n', 'n', '1']),
        "qdrant": {'must': [{'key': 'n', 'range': {'gt': 1}}, {'is_empty': {'key': 'n[]'}}], 'must_not': [{'key': 'k', 'match': {'value': 'a'}}]},
        "milvus": r'(not array_contains(t, "[\"k\"]=\"a\"") and (array_contains(t, "[\"n\"]:number") and m["n"] > 1))',
        "pinecone": {'$and': [{'$or': [{'k': {'$ne': 'a'}}, {'k': {'$exists': False}}]}, {'n': {'$gt': 1}}]},
        "chroma": {'$and': [{'vecstore_tokens': {'$not_contains': '["k"]="a"'}}, {'vecstore_tokens': {'$contains': '["n"]:number'}}, {'vecstore_number["n"]': {'$gt': 4607182418800017408}}]},
        "weaviate": And(lacks('["k"]="a"'), Condition('vecstore_n_number', 'GreaterThan', 'number', 1.0)),
    }),
    ("(k == 'a' OR l == 'b') AND (n == 1 OR o == 2)", {
        "lancedb": '((array_has("vecstore_tokens", \'["k"]="a"\') OR array_has("vecstore_tokens", \'["l"]="b"\')) AND (array_has("vecstore_tokens", \'["n"]=1\') OR array_has("vecstore_tokens", \'["o"]=2\')))',
        "pgvector": ('(("m" @> ANY($1::text[]::jsonb[]) OR "m" @> ANY($2::text[]::jsonb[])) AND ("m" @> ANY($3::text[]::jsonb[]) OR "m" @> ANY($4::text[]::jsonb[])))', [['{"k":"a"}', '{"k":["a"]}'], ['{"l":"b"}', '{"l":["b"]}'], ['{"n":1}', '{"n":[1]}'], ['{"o":2}', '{"o":[2]}']]),
        "qdrant": {'must': [{'should': [{'key': 'k', 'match': {'value': 'a'}}, {'key': 'l', 'match': {'value': 'b'}}]}, {'should': [{'key': 'n', 'range': {'gte': 1, 'lte': 1}}, {'key': 'o', 'range': {'gte': 2, 'lte': 2}}]}]},
        "milvus": r'((array_contains(t, "[\"k\"]=\"a\"") or array_contains(t, "[\"l\"]=\"b\"")) and (array_contains(t, "[\"n\"]=1") or array_contains(t, "[\"o\"]=2")))',
        "pinecone": {'$and': [{'$or': [{'k': {'$eq': 'a'}}, {'l': {'$eq': 'b'}}]}, {'$or': [{'n': {'$eq': 1}}, {'o': {'$eq': 2}}]}]},
        "chroma": {'$and': [{'$or': [{'vecstore_tokens': {'$contains': '["k"]="a"'}}, {'vecstore_tokens': {'$contains': '["l"]="b"'}}]}, {'$or': [{'vecstore_tokens': {'$contains': '["n"]=1'}}, {'vecstore_tokens': {'$contains': '["o"]=2'}}]}]},
        "weaviate": And(Or(has('["k"]="a"'), has('["l"]="b"')), Or(has('["n"]=1'), has('["o"]=2'))),
    }),
    ("k != 'a' AND k IS NOT NULL", {
        "lancedb": '((NOT array_has("vecstore_tokens", \'["k"]="a"\')) AND array_has("vecstore_tokens", \'["k"]\'))',
        "pgvector": ('(("m" @> ANY($1::text[]::jsonb[])) IS NOT TRUE AND coalesce("m" -> $2::text, \'null\'::jsonb) NOT IN (\'null\'::jsonb, \'[]\'::jsonb))', [['{"k":"a"}', '{"k":["a"]}'], 'k']),
        "qdrant": {'must_not': [{'key': 'k', 'match': {'value': 'a'}}, {'is_empty': {'key': 'k'}}]},
        "milvus": r'(not array_contains(t, "[\"k\"]=\"a\"") and array_contains(t, "[\"k\"]"))',
        "pinecone": {'$and': [{'$or': [{'k': {'$ne': 'a'}}, {'k': {'$exists': False}}]}, {'k': {'$exists': True}}]},
        "chroma": {'$and': [{'vecstore_tokens': {'$not_contains': '["k"]="a"'}}, {'vecstore_tokens': {'$contains': '["k"]'}}]},
        "weaviate": And(lacks('["k"]="a"'), has('["k"]')),
    }),
    ("n >= 1 AND n <= 5", {
        "lancedb": '(try_cast(json_extract("vecstore_ordered", \'$."ne00e71c16c36d75ab3d0f00c3647ac15"\') AS DOUBLE) >= CAST(\'1.0\' AS DOUBLE) AND try_cast(json_extract("vecstore_ordered", \'$."ne00e71c16c36d75ab3d0f00c3647ac15"\') AS DOUBLE) <= CAST(\'5.0\' AS DOUBLE))',
        "pgvector": ('((jsonb_typeof("m" -> $1::text) = \'number\' AND ("m" -> $2::text) >= $3::jsonb) AND (jsonb_typeof("m" -> $4::text) = \'number\' AND ("m" -> $5::text) <= $6::jsonb))', ['n', 'n', '1', 'n', 'n', '5']),
        "qdrant": {'must': [{'key': 'n', 'range': {'gte': 1}}, {'is_empty': {'key': 'n[]'}}, {'key': 'n', 'range': {'lte': 5}}, {'is_empty': {'key': 'n[]'}}]},
        "milvus": r'((array_contains(t, "[\"n\"]:number") and m["n"] >= 1) and (array_contains(t, "[\"n\"]:number") and m["n"] <= 5))',
        "pinecone": {'$and': [{'n': {'$gte': 1}}, {'n': {'$lte': 5}}]},
        "chroma": {'$and': [{'vecstore_tokens': {'$contains': '["n"]:number'}}, {'vecstore_number["n"]': {'$gte': 4607182418800017408}}, {'vecstore_tokens': {'$contains': '["n"]:number'}}, {'vecstore_number["n"]': {'$lte': 4617315517961601024}}]},
        "weaviate": And(Condition('vecstore_n_number', 'GreaterThanEqual', 'number', 1.0), Condition('vecstore_n_number', 'LessThanEqual', 'number', 5.0)),
    }),
    ("k == 'a' AND k == 'a'", {
        "lancedb": 'array_has("vecstore_tokens", \'["k"]="a"\')',
        "pgvector": ('"m" @> ANY($1::text[]::jsonb[])', [['{"k":"a"}', '{"k":["a"]}']]),
        "qdrant": {'must': [{'key': 'k', 'match': {'value': 'a'}}]},
        "milvus": r'array_contains(t, "[\"k\"]=\"a\"")',
        "pinecone": {'k': {'$eq': 'a'}},
        "chroma": {'vecstore_tokens': {'$contains': '["k"]="a"'}},
        "weaviate": has('["k"]="a"'),
    }),
    ("k == 'a' AND NOT (b == true OR x IN ['a', 'b'])", {
        "lancedb": '(array_has("vecstore_tokens", \'["k"]="a"\') AND (NOT array_has("vecstore_tokens", \'["b"]=true\')) AND (NOT array_has_any("vecstore_tokens", make_array(\'["x"]="a"\', \'["x"]="b"\'))))',
        "pgvector": ('("m" @> ANY($1::text[]::jsonb[]) AND ("m" @> ANY($2::text[]::jsonb[])) IS NOT TRUE AND ("m" @> ANY($3::text[]::jsonb[])) IS NOT TRUE)', [['{"k":"a"}', '{"k":["a"]}'], ['{"b":true}', '{"b":[true]}'], ['{"x":"a"}', '{"x":["a"]}', '{"x":"b"}', '{"x":["b"]}']]),
        "qdrant": {'must': [{'key': 'k', 'match': {'value': 'a'}}], 'must_not': [{'key': 'b', 'match': {'value': True}}, {'key': 'x', 'match': {'any': ['a', 'b']}}]},
        "milvus": r'(array_contains(t, "[\"k\"]=\"a\"") and not array_contains(t, "[\"b\"]=true") and not array_contains_any(t, ["[\"x\"]=\"a\"", "[\"x\"]=\"b\""]))',
        "pinecone": {'$and': [{'k': {'$eq': 'a'}}, {'$or': [{'b': {'$ne': True}}, {'b': {'$exists': False}}]}, {'$or': [{'x': {'$nin': ['a', 'b']}}, {'x': {'$exists': False}}]}]},
        "chroma": {'$and': [{'vecstore_tokens': {'$contains': '["k"]="a"'}}, {'vecstore_tokens': {'$not_contains': '["b"]=true'}}, {'vecstore_tokens': {'$not_contains': '["x"]="a"'}}, {'vecstore_tokens': {'$not_contains': '["x"]="b"'}}]},
        "weaviate": And(has('["k"]="a"'), lacks('["b"]=true'), lacks('["x"]="a"'), lacks('["x"]="b"')),
    }),
    ("k == 'a' AND x IN []", {
        "lancedb": 'false',
        "pgvector": ('FALSE', []),
        "qdrant": {'must_not': [{'must': []}]},
        "milvus": 'array_contains(t, "")',
        "pinecone": {'$and': [{'__vecstore_tokens': {'$eq': '[]'}}, {'__vecstore_tokens': {'$ne': '[]'}}]},
        "chroma": {'$and': [{'vecstore_tokens': {'$contains': '[]'}}, {'vecstore_tokens': {'$not_contains': '[]'}}]},
        "weaviate": And(has('x'), lacks('x')),
    }),
    ("k == 'a' OR x NOT IN []", {
        "lancedb": 'true',
        "pgvector": ('TRUE', []),
        "qdrant": {},
        "milvus": '',
        "pinecone": None,
        "chroma": None,
        "weaviate": None,
    }),
]

SPEC_OF_OTHER_LAYOUTS: Table = [
    # What differs from the layouts above.
    ("k == 'a'", {
        "lancedb plain": '"k" = \'a\'',
        "pgvector columns": ('"k" = $1::text', ['a']),
        "milvus plain": '(m["k"] == "a" or (json_contains_any(m["k"], ["a"]) and exists m["k"][0]))',
        "pinecone exact": {'__vecstore_tokens': {'$eq': '["k"]="a"'}},
        "chroma plain": {'$or': [{'k': {'$eq': 'a'}}, {'k': {'$contains': 'a'}}]},
        "weaviate plain": Condition('k', 'Equal', 'text', 'a'),
    }),
    ("k == 1", {
        "lancedb plain": 'false',
        "pgvector columns": ('FALSE', []),
        "milvus plain": Refused('without tags milvus-lite would take true for 1 here, or false for 0'),
        "pinecone exact": {'__vecstore_tokens': {'$eq': '["k"]=1'}},
        "chroma plain": {'$or': [{'k': {'$eq': 1}}, {'k': {'$contains': 1}}, {'k': {'$contains': 1.0}}]},
        "weaviate plain": And(Condition('b', 'Equal', 'boolean', True), Condition('b', 'NotEqual', 'boolean', True)),
    }),
    ("k == ' a'", {
        "lancedb plain": '"k" = \' a\'',
        "pgvector columns": ('"k" = $1::text', [' a']),
        "milvus plain": '(m["k"] == " a" or (json_contains_any(m["k"], [" a"]) and exists m["k"][0]))',
        "pinecone exact": {'__vecstore_tokens': {'$eq': '["k"]="\\u0020a"'}},
        "chroma plain": {'$or': [{'k': {'$eq': ' a'}}, {'k': {'$contains': ' a'}}]},
        "weaviate plain": Refused('it takes an empty text for null, and trims white space from texts'),
    }),
    ("n == 1", {
        "lancedb plain": 'CAST("n" AS DOUBLE) = CAST(\'1.0\' AS DOUBLE)',
        "pgvector columns": ('"n" = $1::bigint', [1]),
        "milvus plain": Refused('without tags milvus-lite would take true for 1 here, or false for 0'),
        "pinecone exact": {'__vecstore_tokens': {'$eq': '["n"]=1'}},
        "chroma plain": {'$or': [{'n': {'$eq': 1}}, {'n': {'$contains': 1}}, {'n': {'$contains': 1.0}}]},
        "weaviate plain": Condition('n', 'Equal', 'int', 1),
    }),
    ("n == 2.0", {
        "lancedb plain": 'CAST("n" AS DOUBLE) = CAST(\'2.0\' AS DOUBLE)',
        "pgvector columns": ('"n" = $1::bigint', [2]),
        "milvus plain": '(m["n"] == 2.0 or (json_contains_any(m["n"], [2.0]) and exists m["n"][0]))',
        "pinecone exact": {'__vecstore_tokens': {'$eq': '["n"]=2'}},
        "chroma plain": {'$or': [{'n': {'$eq': 2}}, {'n': {'$contains': 2}}, {'n': {'$contains': 2.0}}]},
        "weaviate plain": Condition('n', 'Equal', 'int', 2),
    }),
    ("n != 1", {
        "lancedb plain": '("n" IS NULL OR NOT CAST("n" AS DOUBLE) = CAST(\'1.0\' AS DOUBLE))',
        "pgvector columns": ('("n" = $1::bigint) IS NOT TRUE', [1]),
        "milvus plain": Refused('without tags, what a negation or a null test says of a missing key, of null and of [] differs between versions'),
        "pinecone exact": {'__vecstore_tokens': {'$ne': '["n"]=1'}},
        "chroma plain": {'$and': [{'n': {'$ne': 1}}, {'n': {'$not_contains': 1}}, {'n': {'$not_contains': 1.0}}]},
        "weaviate plain": Condition('n', 'NotEqual', 'int', 1),
    }),
    ("b == true", {
        "lancedb plain": '"b" = true',
        "pgvector columns": ('"m" @> ANY($1::text[]::jsonb[])', [['{"b":true}', '{"b":[true]}']]),
        "milvus plain": Refused('without tags true and 1 are one to milvus-lite'),
        "pinecone exact": {'__vecstore_tokens': {'$eq': '["b"]=true'}},
        "chroma plain": {'$or': [{'b': {'$eq': True}}, {'b': {'$contains': True}}]},
        "weaviate plain": Condition('b', 'Equal', 'boolean', True),
    }),
    ("tags == 'a'", {
        "lancedb plain": 'array_has("tags", \'a\')',
        "pgvector columns": ('"tags" @> ANY($1::text[]::jsonb[])', [['["a"]']]),
        "milvus plain": '(m["tags"] == "a" or (json_contains_any(m["tags"], ["a"]) and exists m["tags"][0]))',
        "pinecone exact": {'__vecstore_tokens': {'$eq': '["tags"]="a"'}},
        "chroma plain": {'$or': [{'tags': {'$eq': 'a'}}, {'tags': {'$contains': 'a'}}]},
        "weaviate plain": Condition('tags', 'Equal', 'text', 'a'),
    }),
    ("n > 1", {
        "lancedb plain": 'CAST("n" AS DOUBLE) > CAST(\'1.0\' AS DOUBLE)',
        "pgvector columns": ('"n" > $1::bigint', [1]),
        "milvus plain": 'm["n"] > 1',
        "pinecone exact": {'__vecstore_number/n': {'$gt': 1}},
        "chroma plain": {'n': {'$gt': 1}},
        "weaviate plain": Condition('n', 'GreaterThan', 'int', 1),
    }),
    ("n > 1.5", {
        "lancedb plain": 'CAST("n" AS DOUBLE) > CAST(\'1.5\' AS DOUBLE)',
        "pgvector columns": ('"n" > $1::bigint', [1]),
        "milvus plain": 'm["n"] > 1.5',
        "pinecone exact": {'__vecstore_number/n': {'$gt': 1.5}},
        "chroma plain": {'$or': [{'n': {'$gte': 2}}, {'$and': [{'n': {'$gt': 1.5}}, {'n': {'$gt': 1}}]}]},
        "weaviate plain": Condition('n', 'GreaterThan', 'int', 1),
    }),
    ("n < 9007199254740993", {
        "lancedb plain": Refused('it compares numbers exactly only up to 9007199254740991 in magnitude (max_number)'),
        "pgvector columns": ('"n" < $1::bigint', [9007199254740993]),
        "milvus plain": Refused('it compares numbers exactly only up to 9007199254740991 in magnitude (max_number)'),
        "pinecone exact": Refused('it orders numbers exactly only up to 9007199254740991 in magnitude (max_ordered_number)'),
        "chroma plain": Refused('it compares numbers exactly only up to 9007199254740991 in magnitude (max_number)'),
        "weaviate plain": Refused('it compares numbers exactly only up to 9007199254740991 in magnitude (max_number)'),
    }),
    ("k > 'a'", {
        "lancedb plain": '"k" > \'a\'',
        "pgvector columns": ('"k" COLLATE "C" > $1::text', ['a']),
        "milvus plain": 'm["k"] > "a"',
        "pinecone exact": Refused('it orders numbers only, not texts'),
        "chroma plain": Refused('it orders numbers only, not texts'),
        "weaviate plain": Condition('k', 'GreaterThan', 'text', 'a'),
    }),
    ("k IN ['a', 'b']", {
        "lancedb plain": '"k" IN (\'a\', \'b\')',
        "pgvector columns": ('"k" = ANY($1::text[]::text[])', [['a', 'b']]),
        "milvus plain": '(m["k"] == "a" or m["k"] == "b" or (json_contains_any(m["k"], ["a", "b"]) and exists m["k"][0]))',
        "pinecone exact": {'__vecstore_tokens': {'$in': ['["k"]="a"', '["k"]="b"']}},
        "chroma plain": {'$or': [{'k': {'$in': ['a', 'b']}}, {'k': {'$contains': 'a'}}, {'k': {'$contains': 'b'}}]},
        "weaviate plain": Condition('k', 'ContainsAny', 'text', ('a', 'b')),
    }),
    ("n NOT IN [1, 2]", {
        "lancedb plain": '("n" IS NULL OR NOT CAST("n" AS DOUBLE) IN (CAST(\'1.0\' AS DOUBLE), CAST(\'2.0\' AS DOUBLE)))',
        "pgvector columns": ('("n" = ANY($1::text[]::bigint[])) IS NOT TRUE', [['1', '2']]),
        "milvus plain": Refused('without tags, what a negation or a null test says of a missing key, of null and of [] differs between versions'),
        "pinecone exact": {'__vecstore_tokens': {'$nin': ['["n"]=1', '["n"]=2']}},
        "chroma plain": {'$and': [{'n': {'$ne': 1}}, {'n': {'$not_contains': 1}}, {'n': {'$not_contains': 1.0}}, {'n': {'$ne': 2}}, {'n': {'$not_contains': 2}}, {'n': {'$not_contains': 2.0}}]},
        "weaviate plain": And(Condition('n', 'NotEqual', 'int', 1), Condition('n', 'NotEqual', 'int', 2)),
    }),
    ("k IS NULL", {
        "lancedb plain": '"k" IS NULL',
        "pgvector columns": ('"k" IS NULL', []),
        "milvus plain": Refused('without tags, what a negation or a null test says of a missing key, of null and of [] differs between versions'),
        "pinecone exact": {'__vecstore_tokens': {'$ne': '["k"]'}},
        "chroma plain": Refused('it cannot tell whether a key is there'),
        "weaviate plain": Condition('k', 'IsNull', 'boolean', True),
    }),
    ("a.k == 'x'", {
        "lancedb plain": Refused('a condition on a column depends on its type, which is not known of this key'),
        "pgvector columns": ('"m" @> ANY($1::text[]::jsonb[])', [['{"a":{"k":"x"}}', '{"a":{"k":["x"]}}']]),
        "milvus plain": '(m["a"]["k"] == "x" or (json_contains_any(m["a"]["k"], ["x"]) and exists m["a"]["k"][0]))',
        "pinecone exact": {'__vecstore_tokens': {'$eq': '["a","k"]="x"'}},
        "chroma plain": Refused('its metadata is flat, without objects to step into'),
        "weaviate plain": Refused('its filters do not step into objects'),
    }),
    ('"$where" == 1', {
        "lancedb plain": Refused('a condition on a column depends on its type, which is not known of this key'),
        "pgvector columns": ('"m" @> ANY($1::text[]::jsonb[])', [['{"$where":1}', '{"$where":[1]}']]),
        "milvus plain": Refused('without tags milvus-lite would take true for 1 here, or false for 0'),
        "pinecone exact": {'__vecstore_tokens': {'$eq': '["$where"]=1'}},
        "chroma plain": Refused('its keys are not empty, start with neither $ nor #, and are not chroma:document'),
        "weaviate plain": Refused('no property has this name: names have letters, digits and _, start with a small letter (the server makes it one) or _, and are not reserved'),
    }),
    ("k == 'a' AND NOT n > 2", {
        "lancedb plain": '("k" = \'a\' AND CAST("n" AS DOUBLE) <= CAST(\'2.0\' AS DOUBLE))',
        "pgvector columns": ('("k" = $1::text AND "n" <= $2::bigint)', ['a', 2]),
        "milvus plain": Refused('without tags milvus-lite would take true for 1 here, or false for 0'),
        "pinecone exact": {'$and': [{'__vecstore_tokens': {'$eq': '["k"]="a"'}}, {'__vecstore_number/n': {'$lte': 2}}]},
        "chroma plain": {'$and': [{'$or': [{'k': {'$eq': 'a'}}, {'k': {'$contains': 'a'}}]}, {'n': {'$lte': 2}}]},
        "weaviate plain": And(Condition('k', 'Equal', 'text', 'a'), Condition('n', 'LessThanEqual', 'int', 2)),
    }),
]
# fmt: on


def output(dialect: Dialect[Any], filter: str) -> Any:
    try:
        compiled = dialect.compile(filter)
    except UnsupportedFilterError as error:
        return Refused(error.reason)
    if isinstance(dialect, Pgvector):
        return compiled.query, list(compiled.params)
    assert compiled.params == ()
    return compiled.query


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(("filter", "outputs"), SPEC, ids=[filter for filter, _ in SPEC])
def test_output(filter: str, outputs: dict[str, Any], name: str) -> None:
    # repr: to ==, True is 1 and 1.0 too.
    assert repr(output(DIALECTS[name], filter)) == repr(outputs[name])


@pytest.mark.parametrize("name", OTHER_LAYOUTS)
@pytest.mark.parametrize(
    ("filter", "outputs"),
    SPEC_OF_OTHER_LAYOUTS,
    ids=[filter for filter, _ in SPEC_OF_OTHER_LAYOUTS],
)
def test_output_of_other_layouts(filter: str, outputs: dict[str, Any], name: str) -> None:
    assert repr(output(OTHER_LAYOUTS[name], filter)) == repr(outputs[name])


def test_every_filter_has_every_dialect() -> None:
    assert len(SPEC) >= 60
    assert all(outputs.keys() == DIALECTS.keys() for _, outputs in SPEC)
    assert all(outputs.keys() == OTHER_LAYOUTS.keys() for _, outputs in SPEC_OF_OTHER_LAYOUTS)
