"""Pinecone: its documented rules, or the index that ``VECSTORE_PINECONE_HOST`` names.

Once for each way in which the service has answered ``$ne`` on a missing field.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import pytest

from tests.dialects.conformance.conformance import (
    AT_LENGTH,
    DECLARED,
    OF_THE_SCHEMA,
    ON_ANOTHER_ENGINE,
    Conformance,
    Declared,
    Server,
)
from tests.dialects.conformance.deviations import deviations_of
from tests.engines.pinecone import PineconeRows, PineconeSocketRows, pinecone_rows
from tests.engines.rows import Rows
from vecstore import Expression, Kind
from vecstore.dialects.declared import ordered_keys
from vecstore.dialects.pinecone import Pinecone
from vecstore.dialects.pinecone.layout import filter_fields
from vecstore.filter.tree import ORDERINGS
from vecstore.testing import Domain

TEXTS = ordered_keys(DECLARED, Kind.STRING)


class TestPinecone(Conformance):
    """Records as our own store lays them out."""

    dialect = Pinecone(layout="exact")

    @classmethod
    def open(cls, server: Server) -> Rows:
        return pinecone_rows(filter_fields)


class TestPineconeOverSockets(TestPinecone):
    """The same rules behind Pinecone's own client, and a server on this machine."""

    chosen = (
        "test_random_filters",
        "test_constants_are_safe_to_run",
        "test_hostile_text_in_keys_and_values",
    )

    @classmethod
    def open(cls, server: Server) -> Rows:
        return PineconeSocketRows(filter_fields)


class TestPineconeOfOldDays(TestPinecone):
    chosen = ON_ANOTHER_ENGINE

    @classmethod
    def open(cls, server: Server) -> Rows:
        return PineconeRows(filter_fields, missing_matches_ne=True, other_types_match_ne=False)


class TestPineconePlain(Conformance):
    """Records that others wrote: flat, with the types that Pinecone has."""

    repeats = AT_LENGTH
    dialect = Pinecone()
    domain = Domain(
        nested=False,
        nulls=False,
        empty_lists=False,
        lists=frozenset({Kind.STRING}),
        key_pattern=re.compile(r"[^$].*", re.DOTALL),
    )

    @classmethod
    def open(cls, server: Server) -> Rows:
        return pinecone_rows()


class TestPineconeOfASchema(Declared):
    """Records as our own store lays them out, with keys that are declared beside others."""

    chosen = OF_THE_SCHEMA[1:]
    dialect = Pinecone(layout="exact", schema=DECLARED)

    @classmethod
    def open(cls, server: Server) -> Rows:
        return pinecone_rows(partial(filter_fields, texts=TEXTS))

    @pytest.mark.heavy  # the rules look through hundreds of tokens for each ordering of a text
    def test_three_thousand_filters_of_the_schema(self) -> None:
        super().test_three_thousand_filters_of_the_schema()

    def also_refuses(self, atom: Expression) -> bool:
        if atom.op not in ORDERINGS or atom.key.path not in TEXTS:
            return False
        choices, literal = DECLARED.keys[atom.key.path].choices, atom.value.value
        return not choices and isinstance(literal, str) and len(literal.encode()) > 29


class TestPineconePlainOfASchema(Declared):
    """Records that others wrote, with keys that are declared beside others."""

    dialect = Pinecone(schema=DECLARED)
    domain = TestPineconePlain.domain

    @classmethod
    def open(cls, server: Server) -> Rows:
        return pinecone_rows()


class TestPineconePlainOverSockets(TestPineconePlain):
    chosen = ()
    # The client encodes no others.
    domain = replace(TestPineconePlain.domain, integers=(-(2**63), 2**64 - 1))

    @classmethod
    def open(cls, server: Server) -> Rows:
        return PineconeSocketRows()


class TestPineconePlainOfOldDays(TestPineconePlain):
    chosen = ON_ANOTHER_ENGINE

    @classmethod
    def open(cls, server: Server) -> Rows:
        return PineconeRows(missing_matches_ne=True)


class TestPineconePlainStrictTypes(TestPineconePlain):
    chosen = (*ON_ANOTHER_ENGINE, "test_known_deviation")
    deviations = deviations_of("Pinecone, if $ne passes over values of another type")

    @classmethod
    def open(cls, server: Server) -> Rows:
        return PineconeRows(other_types_match_ne=False)


class TestPineconePlainStrictOr(TestPineconePlain):
    chosen = (*ON_ANOTHER_ENGINE, "test_known_deviation")
    deviations = deviations_of("Pinecone of early 2024, if $or wants every field that it names")

    @classmethod
    def open(cls, server: Server) -> Rows:
        return PineconeRows(or_needs_every_field=True)
