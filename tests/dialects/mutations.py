"""Breaks every emitter in five ways, and looks whether the conformance suite notices.

``python -m tests.dialects.mutations`` breaks them all and prints which tests noticed;
``test_mutations.py`` does it under pytest.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from tests.dialects.conformance import (
    test_chroma,
    test_duckdb,
    test_example,
    test_lancedb,
    test_milvus,
    test_pgvector,
    test_pinecone,
    test_qdrant,
    test_redis,
    test_sqlite,
    test_weaviate,
)
from tests.dialects.conformance.conformance import Conformance
from vecstore import Expression, Op
from vecstore.dialects import sql, tokens
from vecstore.dialects.chroma import dialect as chroma
from vecstore.dialects.duckdb import dialect as duckdb
from vecstore.dialects.lancedb import dialect as lancedb
from vecstore.dialects.milvus import dialect as milvus
from vecstore.dialects.pgvector import conditions as pgvector_conditions
from vecstore.dialects.pgvector import dialect as pgvector
from vecstore.dialects.pgvector import layout as pgvector_layout
from vecstore.dialects.pinecone import dialect as pinecone
from vecstore.dialects.qdrant import conditions as qdrant_conditions
from vecstore.dialects.qdrant import dialect as qdrant
from vecstore.dialects.redis import dialect as redis
from vecstore.dialects.sqlite import dialect as sqlite
from vecstore.dialects.weaviate import dialect as weaviate
from vecstore.dialects.weaviate.where import Compound
from vecstore.testing import Examiner, examiner

Patch = tuple[Any, str, Any]
"""What is broken: an object, the name of an attribute, and what it is replaced by."""

lite: Any = sys.modules["vecstore_lite_dialect"]

FAULTS = (
    "drops a NOT",
    "loses a group",
    "forgets the absent",
    "quotes wrongly",
    "swaps an operator",
)
NEGATIVE = (Op.NE, Op.NIN)


@dataclass(frozen=True)
class Mutation:
    """One fault put into one dialect.

    Attributes:
        suite: The conformance class that should notice.
        fault: One of ``FAULTS``.
        patches: What has to be replaced for it.
    """

    suite: type[Conformance]
    fault: str
    patches: list[Patch]

    def __str__(self) -> str:
        return f"{self.suite.__name__.removeprefix('Test')} {self.fault}"


def positive(atom: Expression) -> Expression:
    """The same comparison without its negation."""
    twin = {Op.NE: Op.EQ, Op.NIN: Op.IN}.get(atom.op, atom.op)
    return Expression(twin, *atom.operands)


def unnegated(member: Callable[[Any, Expression], Any]) -> Callable[[Any, Expression], Any]:
    return lambda self, atom: member(self, positive(atom))


def present_only(
    member: Callable[[Any, Expression], Any],
) -> Callable[[Any, Expression], Any]:
    """A negation that asks for the key to be there, as SQL and others have it natively."""

    def broken(self: Any, atom: Expression) -> Any:
        part = member(self, atom)
        if atom.op not in NEGATIVE:
            return part
        return self.all_of([self.null(Expression(Op.ISNOTNULL, atom.key)), part])

    return broken


def swapped(module: Any, table: str) -> list[Patch]:
    """``>`` where ``>=`` is meant."""
    symbols = getattr(module, table)
    return [(module, table, {**symbols, Op.GTE: symbols[Op.GT]})]


def _without_parentheses(parts: list[Any], joint: str) -> Any:
    pieces = []
    for part in parts:
        pieces += [joint, *part] if pieces else [*part]
    return pieces


def _should_beside_must(self: Any, parts: list[Any]) -> Any:
    """Alternatives of several groups poured together."""
    together: dict[str, list[Any]] = {}
    for part in parts:
        branches = part if part.keys() <= {"must", "must_not", "should"} else {"must": [part]}
        for branch, conditions in branches.items():
            together.setdefault(branch, []).extend(conditions)
    return together


def _spliced_clauses(operator: str, parts: list[Any]) -> Any:
    clauses: list[Any] = []
    for part in parts:
        (name,) = part if len(part) == 1 else ("",)
        clauses += part[name] if name in ("$and", "$or") else [part]
    return {operator: clauses}


def _spliced_operands(operator: Any, parts: list[Any]) -> Any:
    operands: list[Any] = []
    for part in parts:
        operands += part.operands if isinstance(part, Compound) else [part]
    return Compound(operator, tuple(operands))


def _loose_token(value: Any) -> str:
    """A token without quotes: 1 and '1' are one, and so are a.b and the path (a, b)."""
    return ".".join(value) if isinstance(value, tuple) else str(value)


def _loose_json(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_loose_json, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else json.dumps(value)


def _null_without_coalesce(self: Any, atom: Expression) -> Any:
    negation = "" if atom.op is Op.ISNULL else "NOT "
    return [*self._at(atom), f" {negation}IN ('null'::jsonb, '[]'::jsonb)"]


def mutations() -> list[Mutation]:
    """Five of each dialect."""
    table: dict[type[Conformance], tuple[list[Patch], ...]] = {
        test_pgvector.TestPostgres: (
            [(pgvector.Pgvector, "member", unnegated(pgvector.Pgvector.member))],
            [(pgvector_conditions, "joined", _without_parentheses)],
            [(pgvector.Pgvector, "null", _null_without_coalesce)],
            [(pgvector_layout, "_encode_text", lambda text: f'"{text}"')],
            swapped(pgvector, "_ORDER"),
        ),
        test_qdrant.TestQdrantLocal: (
            [(qdrant.Qdrant, "member", unnegated(qdrant.Qdrant.member))],
            [(qdrant.Qdrant, "all_of", _should_beside_must)],
            [(qdrant.Qdrant, "member", present_only(qdrant.Qdrant.member))],
            [(qdrant, "encode_key", ".".join)],
            swapped(qdrant_conditions, "_RANGE"),
        ),
        test_lancedb.TestLanceDB: (
            [(lancedb.LanceDB, "member", unnegated(lancedb.LanceDB.member))],
            [(lancedb.LanceDB, "any_of", lambda self, parts: " OR ".join(parts))],
            [(lancedb.LanceDB, "member", present_only(lancedb.LanceDB.member))],
            [(tokens, "_json_text", _loose_token)],
            swapped(lancedb, "_SYMBOLS"),
        ),
        test_redis.TestRedis: (
            [(redis.Redis, "member", unnegated(redis.Redis.member))],
            [(redis.Redis, "any_of", lambda self, parts: parts[0])],
            [(redis.Redis, "member", present_only(redis.Redis.member))],
            [(tokens, "_json_text", _loose_token)],
            swapped(redis, "_RANGES"),
        ),
        test_milvus.TestMilvus: (
            [(milvus.Milvus, "member", unnegated(milvus.Milvus.member))],
            [(milvus, "chained", lambda parts, joint: joint.join(parts))],
            [(milvus.Milvus, "member", present_only(milvus.Milvus.member))],
            [(milvus, "encode_text", lambda text: '"' + text.replace('"', r"\"") + '"')],
            swapped(milvus, "_SYMBOLS"),
        ),
        test_pinecone.TestPineconePlain: (
            [(pinecone, "_OPERATORS", {**pinecone._OPERATORS, Op.NE: "$eq", Op.NIN: "$in"})],
            [(pinecone, "_joined", _spliced_clauses)],
            [(pinecone.Pinecone, "_or_absent", lambda self, atom, clauses: clauses[0])],
            [(pinecone, "kind_of", lambda item: type(item))],
            swapped(pinecone, "_OPERATORS"),
        ),
        test_pinecone.TestPinecone: (
            [(pinecone, "_OPERATORS", {**pinecone._OPERATORS, Op.NE: "$eq", Op.NIN: "$in"})],
            [(pinecone, "_joined", _spliced_clauses)],
            [(pinecone.Pinecone, "compare", present_only(pinecone.Pinecone.compare))],
            [(tokens, "_json_text", _loose_token)],
            swapped(pinecone, "_OPERATORS"),
        ),
        test_weaviate.TestWeaviate: (
            [(weaviate, "_OPERATORS", {**weaviate._OPERATORS, Op.NE: "Equal", Op.NIN: "Equal"})],
            [(weaviate, "_joined", _spliced_operands)],
            [(weaviate.Weaviate, "member", present_only(weaviate.Weaviate.member))],
            [(tokens, "_json_text", _loose_token)],
            swapped(weaviate, "_OPERATORS"),
        ),
        test_chroma.TestChroma: (
            [(chroma.Chroma, "member", unnegated(chroma.Chroma.member))],
            [(chroma, "joined", _spliced_clauses)],
            [(chroma.Chroma, "member", present_only(chroma.Chroma.member))],
            [(tokens, "_json_text", _loose_token)],
            swapped(chroma, "OPERATORS"),
        ),
        test_duckdb.TestDuckDB: (
            [(duckdb.DuckDB, "member", unnegated(duckdb.DuckDB.member))],
            [(sql, "joined", _without_parentheses)],
            [(duckdb.DuckDB, "member", present_only(duckdb.DuckDB.member))],
            [(duckdb, "json_path", lambda path, first=False: f"/{'/'.join(path)}{'/0' * first}")],
            swapped(duckdb, "_ORDER"),
        ),
        test_example.TestLite: (
            [(lite.Lite, "member", unnegated(lite.Lite.member))],
            [(sql, "joined", _without_parentheses)],
            [(lite.Lite, "member", present_only(lite.Lite.member))],
            [(lite, "json", SimpleNamespace(dumps=_loose_json))],
            swapped(lite, "_ORDER"),
        ),
        test_sqlite.TestSQLite: (
            [(sqlite.SQLite, "member", unnegated(sqlite.SQLite.member))],
            [(sql, "joined", _without_parentheses)],
            [(sqlite.SQLite, "member", present_only(sqlite.SQLite.member))],
            [(sqlite, "json", SimpleNamespace(dumps=_loose_json))],
            swapped(sqlite, "_ORDER"),
        ),
    }
    return [
        Mutation(suite, fault, patches)
        for suite, broken in table.items()
        for fault, patches in zip(FAULTS, broken, strict=True)
    ]


@contextmanager
def broken(patches: list[Patch]) -> Iterator[None]:
    """The faults, for as long as the block runs. Reports are left as they are found."""
    # One case says it; to make it small takes more queries than to find it, and nobody reads these.
    patches = [
        *patches,
        (Examiner, "_shrunk", lambda self, finding: finding),
        (examiner, "_MOST_FINDINGS", 1),
    ]
    kept = [(where, name, getattr(where, name)) for where, name, _ in patches]
    for where, name, replacement in patches:
        setattr(where, name, replacement)
    try:
        yield
    finally:
        for where, name, original in reversed(kept):
            setattr(where, name, original)


# The quick and telling ones first.
ORDER = [
    "test_grouping_and_negation",
    "test_hostile_text_in_keys_and_values",
    "test_every_operator_with_every_literal",
    "test_odd_keys",
    "test_lists_of_literals",
]


def noticed_by(mutation: Mutation, *, all_tests: bool) -> list[str]:
    """The tests that fail under a mutation; only the first of them unless all are asked for.

    The engine of the suite has to be open.
    """
    suite = mutation.suite()
    names = [name for name, _ in inspect.getmembers(suite, inspect.ismethod)]
    tests = [name for name in names if name.startswith("test_") and "thousand" not in name]
    found = []
    with broken(mutation.patches):
        for name in [*ORDER, *[name for name in tests if name not in ORDER]]:
            try:
                getattr(suite, name)()
            except Exception:
                found.append(name)
                if not all_tests:
                    break
    return found


def main() -> int:
    """Break them all; the exit status is the number that went unnoticed."""
    from tests.fuzz.servers import running_servers

    missed = 0
    with running_servers() as server:
        for suite in dict.fromkeys(mutation.suite for mutation in mutations()):
            with suite.opened(server):
                for mutation in mutations():
                    if mutation.suite is suite:
                        found = noticed_by(mutation, all_tests=True)
                        missed += not found
                        print(f"{mutation!s:40} {len(found):3} tests noticed: {', '.join(found)}")
    print(f"{missed} went unnoticed")
    return missed


if __name__ == "__main__":
    sys.exit(main())
