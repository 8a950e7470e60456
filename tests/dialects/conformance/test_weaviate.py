"""Weaviate: its documented rules, or the server that ``VECSTORE_WEAVIATE_URL`` names."""

from __future__ import annotations

from typing import Any

from tests.dialects.conformance.conformance import (
    AT_LENGTH,
    ON_ANOTHER_ENGINE,
    WITH_OTHER_OPTIONS,
    Conformance,
    Server,
)
from tests.engines.rows import Rows
from tests.engines.weaviate import Property, WeaviateRows, weaviate_rows
from vecstore import Compiled, Expression, Op
from vecstore.dialects.weaviate import Weaviate
from vecstore.dialects.weaviate.layout import filter_properties, property_types
from vecstore.testing import Documents, Domain

NUMBERS = {("k",), ("x",), ("n", "k"), ("a.b",)}
TEXTS = {("k",), ("y",), ("n", "y"), ("a b",)}


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

    dialect = Weaviate(layout="exact", numbers=NUMBERS, texts=TEXTS)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return weaviate_rows(
            properties_of(property_types(NUMBERS, TEXTS)),
            lambda metadata: filter_properties(metadata, NUMBERS, TEXTS),
        )


class TestWeaviateOldServer(TestWeaviate):
    """Before 1.33: no ``Not``, no ``ContainsNone``, stopwords taken out of every text."""

    chosen = ON_ANOTHER_ENGINE

    @classmethod
    def open(cls, server: Server) -> Rows:
        return WeaviateRows(
            properties_of(property_types(NUMBERS, TEXTS)),
            lambda metadata: filter_properties(metadata, NUMBERS, TEXTS),
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


KINDS: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "int": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


class Plain(InWeaviate):
    """Properties that others wrote; subclasses declare them."""

    types: dict[str, str]

    def __init_subclass__(cls, **options: Any) -> None:
        cls.dialect = Weaviate(layout="plain", properties=cls.types)
        cls.domain = Domain(nested=False, integers=(-(2**63), 2**63 - 1), accepts=cls.holds)
        super().__init_subclass__(**options)

    @classmethod
    def holds(cls, path: tuple[str, ...], value: Any) -> bool:
        """What the property takes, and the index tells apart."""
        data_type = cls.types.get(path[0])
        if data_type is None or value is None:
            return data_type is not None
        if data_type.endswith("[]") is not isinstance(value, list):
            return False
        kinds = KINDS[data_type.removesuffix("[]")]
        return all(
            type(one) in kinds and (not isinstance(one, str) or (one != "" and one == one.strip()))
            for one in (value if isinstance(value, list) else [value])
        )

    def also_refuses(self, atom: Expression) -> bool:
        if not self.types.get(atom.key.path[0], "").startswith("text"):
            return False
        if atom.op in (Op.ISNULL, Op.ISNOTNULL):
            return False
        texts = [item for item in atom.value.items if isinstance(item, str)]
        return any(not text or text[0].isspace() or text[-1].isspace() for text in texts)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return weaviate_rows(properties_of(cls.types), index_null_state=True)


class TestWeaviatePlain(Plain):
    repeats = AT_LENGTH
    types = {"k": "text", "x": "number", "y": "boolean", "a": "int"}


class TestWeaviatePlainLists(Plain):
    chosen = WITH_OTHER_OPTIONS
    types = {"k": "text[]", "x": "number[]", "y": "boolean[]", "a": "int[]"}


class TestWeaviatePlainMixed(Plain):
    chosen = WITH_OTHER_OPTIONS
    types = {"k": "int", "x": "text", "y": "text[]", "a": "text"}
