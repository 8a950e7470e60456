"""Weaviate: its documented rules, or the server that ``VECSTORE_WEAVIATE_URL`` names."""

from __future__ import annotations

from typing import Any

from tests.dialects.conformance.conformance import (
    AT_LENGTH,
    DECLARED,
    OF_THE_SCHEMA,
    ON_ANOTHER_ENGINE,
    WITH_OTHER_OPTIONS,
    Conformance,
    Declared,
    Server,
)
from tests.engines.rows import Rows
from tests.engines.weaviate import Property, WeaviateRows, weaviate_rows
from vecstore import Compiled, Expression, Op, Schema
from vecstore.dialects.matrix import EVERY_KIND
from vecstore.dialects.weaviate import Weaviate
from vecstore.dialects.weaviate.layout import (
    filter_properties,
    property_types,
    property_types_of,
)
from vecstore.testing import Documents, Domain

ORDERED = Schema(
    {"k": Any, "x": Any, "y": Any, "n": {"k": Any, "y": Any}, '"a.b"': Any, "a b": Any},
    others="allow",
)


def properties_of(types: dict[str, str]) -> list[Property]:
    return [
        Property(name, data_type, tokenization="field" if data_type.startswith("text") else None)
        for name, data_type in types.items()
    ]


class InWeaviate(Conformance):
    def run(self, compiled: Compiled, rows: Documents) -> set[str]:
        return self.engine.select(None if compiled.matches_all else compiled.query.to_where())


class TestWeaviate(InWeaviate):
    """Objects as our own store lays them out, with some keys declared to be ordered."""

    dialect = Weaviate(layout="exact", schema=ORDERED)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return weaviate_rows(
            properties_of(property_types(ORDERED)),
            lambda metadata: filter_properties(metadata, ORDERED),
        )


class TestWeaviateOldServer(TestWeaviate):
    """Before 1.33: no ``Not``, no ``ContainsNone``, stopwords taken out of every text."""

    chosen = ON_ANOTHER_ENGINE

    @classmethod
    def open(cls, server: Server) -> Rows:
        return WeaviateRows(
            properties_of(property_types(ORDERED)),
            lambda metadata: filter_properties(metadata, ORDERED),
            negation=False,
            stopwords_everywhere=True,
            ints_pass_through_doubles=True,
            empty_text_is_a_term=False,
        )


class TestWeaviateWithoutOrder(InWeaviate):
    """No key declared: every ordering is refused."""

    repeats = AT_LENGTH
    dialect = Weaviate(layout="exact")

    @classmethod
    def open(cls, server: Server) -> Rows:
        return weaviate_rows(properties_of(property_types()), filter_properties)


class TestWeaviateOfASchema(Declared, InWeaviate):
    """The exact layout with keys that hold one kind each, beside others."""

    chosen = OF_THE_SCHEMA[1:]
    dialect = Weaviate(layout="exact", schema=DECLARED)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return weaviate_rows(
            properties_of(property_types(DECLARED)),
            lambda metadata: filter_properties(metadata, DECLARED),
        )


TEXTS = ("str", "path", "uuid", "datetime", "date", "time")
FLAT = {path: one for path, one in EVERY_KIND.keys.items() if len(path) == 1}


class Plain(Declared, InWeaviate):
    """Properties that others wrote; subclasses say what they hold."""

    def __init_subclass__(cls, **options: Any) -> None:
        cls.dialect = Weaviate(layout="plain", schema=cls.schema)
        # Larger ones round to 2**63 as the server indexes them, and that is a negative number there.
        cls.domain = Domain(nested=False, integers=(-(2**63), 2**63 - 513), accepts=cls.holds)
        super().__init_subclass__(**options)

    @classmethod
    def holds(cls, path: tuple[str, ...], value: Any) -> bool:
        """What the index tells apart: texts are neither empty nor padded, ints are written so."""
        declared = cls.schema.keys.get(path)
        items = value if isinstance(value, list) else [value]
        if declared is None or value is None or (value == [] and not declared.many):
            return declared is not None and value is None
        if declared.kind == "int":
            return all(type(one) is int for one in items)
        return all(not isinstance(one, str) or (one != "" and one == one.strip()) for one in items)

    def also_refuses(self, atom: Expression) -> bool:
        declared = self.schema.keys.get(atom.key.path)
        if declared is None or declared.kind not in TEXTS:
            return False
        if atom.op in (Op.ISNULL, Op.ISNOTNULL):
            return False
        texts = [item for item in atom.value.items if isinstance(item, str)]
        return any(not text or text[0].isspace() or text[-1].isspace() for text in texts)

    @classmethod
    def open(cls, server: Server) -> Rows:
        types = {
            name: f"{one.base}{'[]' if one.several else ''}"
            for name, one in property_types_of(cls.schema).items()
        }
        return weaviate_rows(properties_of(types), index_null_state=True)


class TestWeaviatePlain(Plain):
    chosen = (*WITH_OTHER_OPTIONS, *OF_THE_SCHEMA)
    schema = Schema({**FLAT, "k": str, "x": float, "y": bool, "a": int})


class TestWeaviatePlainLists(Plain):
    chosen = WITH_OTHER_OPTIONS
    schema = Schema({"k": list[str], "x": list[float], "y": list[bool], "a": list[int]})


class TestWeaviatePlainMixed(Plain):
    chosen = WITH_OTHER_OPTIONS
    schema = Schema({"k": int, "x": str, "y": list[str], "a": str})
