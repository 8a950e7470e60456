"""Milvus: milvus-lite, or the server that ``VECSTORE_MILVUS_URI`` names."""

from __future__ import annotations

import re
from typing import Any

from tests.dialects import milvus_server
from tests.dialects.conformance.conformance import (
    DECLARED,
    OF_THE_SCHEMA,
    WITH_OTHER_OPTIONS,
    Conformance,
    Declared,
    Server,
)
from tests.engines.milvus import MilvusRows
from tests.engines.rows import Documents, Rows
from vecstore import Expression, Op
from vecstore.dialects.milvus import Milvus
from vecstore.dialects.milvus.layout import tags_of
from vecstore.testing import Domain

ORDERINGS = (Op.GT, Op.GTE, Op.LT, Op.LTE)
INT64 = (-(2**63), 2**63 - 1)

UNREACHABLE = re.compile(r'["\\\x00-\x1f]|\]\[')


def misread(text: object) -> bool:
    """Han characters past U+FFFF, and the marks of Tangut and Nüshu that count among them."""
    return isinstance(text, str) and any(
        0x16FE0 <= ord(one) <= 0x16FFF or ord(one) >> 16 in (2, 3) for one in text
    )


def unreachable(atom: Expression) -> bool:
    return any(misread(segment) or UNREACHABLE.search(segment) for segment in atom.key.path)


class TestMilvus(Conformance):
    """Documents with their tags, as our own store lays them out."""

    repeats = ("test_limits", "test_odd_keys")  # test_milvus.py and test_milvus_text.py have both
    dialect = Milvus(tags="tags")
    domain = Domain(integers=INT64)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return MilvusRows(server("milvus_uri"), tags_of)

    def also_refuses(self, atom: Expression) -> bool:
        if atom.op not in ORDERINGS:
            return False
        literal = atom.value.value
        large = not isinstance(literal, str) and not -(2**53) < literal < 2**53
        return large or misread(literal) or unreachable(atom)


class TestMilvusPlain(Conformance):
    """A JSON field alone, in collections that others wrote."""

    chosen = (*WITH_OTHER_OPTIONS[1:], "test_lists_of_literals")
    dialect = Milvus()
    domain = Domain(integers=INT64)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return MilvusRows(server("milvus_uri"))

    def also_refuses(self, atom: Expression) -> bool:
        if any(segment.isascii() and segment.isdigit() for segment in atom.key.path[1:]):
            return True  # the server would look into a list
        if any(map(misread, atom.value.items)):
            return True
        numbers = [item for item in atom.value.items if isinstance(item, int | float)]
        # A stored true counts as 1 and false as 0, so neither may satisfy the comparison.
        if atom.op in (Op.EQ, Op.IN):
            return any(number in (0, 1) for number in numbers)
        upwards = atom.op in (Op.GT, Op.GTE)
        edge = {Op.GT: 1, Op.GTE: 1, Op.LT: 0, Op.LTE: 0}[atom.op]
        strict = atom.op in (Op.GT, Op.LT)
        return any(
            (number < edge if upwards else number > edge) or (number == edge and not strict)
            for number in numbers
        )


class OfASchema(Declared):
    """A JSON field alone, with keys that are declared beside others."""

    domain = Domain(integers=INT64)

    def also_refuses(self, atom: Expression) -> bool:
        if atom.key.path not in DECLARED.keys:
            return TestMilvusPlain.also_refuses(self, atom)  # type: ignore[arg-type]
        if atom.op in (Op.ISNULL, Op.ISNOTNULL):
            return False
        return any(map(misread, atom.value.items))


class TestMilvusOfASchema(OfASchema):
    chosen = (*OF_THE_SCHEMA[1:], *WITH_OTHER_OPTIONS[5:])
    dialect = Milvus(schema=DECLARED, target="lite")

    @classmethod
    def open(cls, server: Server) -> Rows:
        return MilvusRows(server("milvus_uri"))


class TestMilvusOfASchemaForAny(TestMilvusOfASchema):
    """One text for milvus-lite and servers: whether a text is absent is refused."""

    chosen = ("test_what_is_not_declared_is_refused",)
    dialect = Milvus(schema=DECLARED)


class ServerRules(Rows):
    """What servers do, by their source: until 2.6.8, or later."""

    name = "Milvus (rules of servers)"

    def __init__(self, *, later: bool) -> None:
        super().__init__()
        self._later = later
        self._rows: dict[str, milvus_server.Row] = {}

    def _refused_by(self) -> tuple[type[Exception], ...]:
        return ()

    def _load(self, rows: Documents) -> None:
        self._rows = {name: milvus_server.row(dict(one), []) for name, one in rows.items()}

    def _select(self, query: Any, params: Any) -> set[str]:
        if not query:
            return set(self._rows)
        node = milvus_server.compiled(query)
        return {
            name
            for name, row in self._rows.items()
            if milvus_server.matches(node, row, three_valued=self._later)
        }

    def close(self) -> None:
        self._rows = {}


class TestMilvusServersOfASchema(OfASchema):
    chosen = OF_THE_SCHEMA[1:]
    trees = 20
    dialect = Milvus(schema=DECLARED, target="server")

    @classmethod
    def open(cls, server: Server) -> Rows:
        return ServerRules(later=False)


class TestMilvusLaterServersOfASchema(TestMilvusServersOfASchema):
    @classmethod
    def open(cls, server: Server) -> Rows:
        return ServerRules(later=True)


class TestMilvusServersOfASchemaForAny(TestMilvusServersOfASchema):
    dialect = Milvus(schema=DECLARED)
