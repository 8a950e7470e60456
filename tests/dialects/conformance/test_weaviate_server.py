"""Weaviate itself: what `test_weaviate` holds against the documented rules, against real servers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.conformance import test_weaviate as by_the_rules
from tests.dialects.conformance.conformance import DECLARED, Declared, Server
from tests.dialects.conformance.test_weaviate import ORDERED, InWeaviate, Plain, properties_of
from tests.engines.rows import Rows
from tests.engines.weaviate import WeaviateServerRows
from vecstore import Schema
from vecstore.dialects.weaviate import Weaviate
from vecstore.dialects.weaviate.layout import (
    filter_properties,
    property_types,
    property_types_of,
)

pytestmark = pytest.mark.servers


def rows_on(address: Any, *options: Any, **switches: Any) -> Rows:
    return WeaviateServerRows(address.url, *options, api_key=address.api_key, **switches)


class TestExact(InWeaviate):
    """Objects as our own store lays them out, with some keys declared to be ordered."""

    dialect = Weaviate(layout="exact", schema=ORDERED)
    which = "weaviate_address"

    @classmethod
    def open(cls, server: Server) -> Rows:
        return rows_on(
            server(cls.which),
            properties_of(property_types(ORDERED)),
            lambda metadata: filter_properties(metadata, ORDERED),
        )


class TestExactOnTheFormerServer(TestExact):
    which = "former_weaviate_address"


class TestExactOfASchema(Declared, InWeaviate):
    """The exact layout with keys that hold one kind each, beside others."""

    dialect = Weaviate(layout="exact", schema=DECLARED)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return rows_on(
            server("weaviate_address"),
            properties_of(property_types(DECLARED)),
            lambda metadata: filter_properties(metadata, DECLARED),
        )


class OnServer(Plain):
    """Properties that others wrote."""

    schema = Schema({"k": str})
    which = "weaviate_address"

    @classmethod
    def open(cls, server: Server) -> Rows:
        types = {
            name: f"{one.base}{'[]' if one.several else ''}"
            for name, one in property_types_of(cls.schema).items()
        }
        return rows_on(server(cls.which), properties_of(types), index_null_state=True)


class TestPlain(OnServer):
    schema = by_the_rules.TestWeaviatePlain.schema


class TestPlainLists(OnServer):
    schema = by_the_rules.TestWeaviatePlainLists.schema


class TestPlainMixed(OnServer):
    schema = by_the_rules.TestWeaviatePlainMixed.schema


class TestPlainOnTheFormerServer(TestPlain):
    which = "former_weaviate_address"
