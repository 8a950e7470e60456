"""Metadata comes back equal, types included, or is refused by name before anything is written."""

from __future__ import annotations

import enum
import json
import uuid
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vecstore.document import Document
from vecstore.errors import DocumentError
from vecstore.store.base import VectorStore
from vecstore.testing.samples import LISTS, OBJECTS, ODD_KEYS, ODD_PATHS, SCALARS
from vecstore.testing.store_suite.base import Library, StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.strategies import metadata as any_metadata

_DRAWN = max(20, settings().max_examples // 3)

_COLUMN_NAMES = (
    "id _id ids text content page_content document metadata meta vector embedding score distance "
    "$vector payload key value data values namespace"
).split()


_VECTOR = vector_of("any")


class _Colour(enum.Enum):
    RED = "red"


# What Python has beside plain values, and what is stored of it.
_PYTHON_VALUES: dict[str, tuple[Any, Any]] = {
    "moment": (
        datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=2))),
        "2024-01-02T01:04:05.000006Z",
    ),
    "day": (date(2024, 1, 2), "2024-01-02"),
    "clock": (time(3, 4, 5), "03:04:05.000000"),
    "uuid": (uuid.UUID(int=7), str(uuid.UUID(int=7))),
    "enum": (_Colour.RED, "red"),
    "decimal": (Decimal("1.5"), 1.5),
    "whole": (Decimal(3), 3),
    "tuple": ((1, 2), [1, 2]),
    "set": ({"b", "a"}, ["a", "b"]),
    "int64": (np.int64(5), 5),
    "float32": (np.float32(0.5), 0.5),
    "bool_": (np.bool_(True), True),
}


class Metadata(StoreSuiteBase):
    """Tests of the metadata's round trip."""

    def test_the_fixed_documents_come_back(self, library: Library) -> None:
        """A value changed its type or its spelling on the way.

        Look at how ``_add`` writes and rows are read.
        """
        for found in library.store.scan():
            self.check_metadata(found.metadata, library.rows[found.id], found.id)

    def test_every_value_comes_back_with_its_type(self, store: VectorStore) -> None:
        """``1`` became ``1.0`` or ``true``, or a text a number.

        Store JSON text, or types beside it.
        """
        values = [*SCALARS, *LISTS, *OBJECTS, None, []]
        self._check_round_trips(store, [{"k": value} for value in values])
        self._check_round_trips(store, [{"outer": {"k": value}} for value in values])

    def test_odd_keys_come_back(self, store: VectorStore) -> None:
        """A key with dots, quotes or blanks was split, renamed or dropped.

        Quote it, or nest it whole.
        """
        nested: list[dict[str, Any]] = []
        for path in ODD_PATHS:
            value: Any = "a"
            for segment in reversed(path):
                value = {segment: value}
            nested.append(value)
        self._check_round_trips(store, [*({key: "a"} for key in ODD_KEYS), *nested])

    def test_names_that_stores_use_themselves(self, store: VectorStore) -> None:
        """A user's key met a column of the store's own: keep metadata in one field of its own."""
        held = self.held_domain.fit({name: f"my {name}" for name in _COLUMN_NAMES})
        document = self.document("a", held, embedding=_VECTOR)
        store.add([document, self.document("b", embedding=_VECTOR)])
        self.check_documents(store.get(self.ids("a")), [document])
        for name in held:
            found = store.get(filter=f"\"{name}\" == 'my {name}'")
            assert [one.id for one in found] == [document.id], f"metadata key {name!r}"

    def test_null_and_empty_list_come_back_as_declared(self, store: VectorStore) -> None:
        """Kept or dropped, as declared; an empty object and an empty text are neither.

        Usually: null or ``[]`` is dropped but declared kept, or kept but declared dropped:
        ``keeps_null``, …
        """
        metadata: dict[str, Any] = {
            "null": None,
            "empty": [],
            "text": "",
            "zero": 0,
            "no": False,
        }
        if self.held_domain.nested:
            metadata["object"] = {"null": None, "empty": [], "one": 1}
        store.add([self.document("a", metadata)])
        (found,) = store.get(self.ids("a"))
        self.check_metadata(found.metadata, metadata, "a")
        assert ("null" in found.metadata) is self.capabilities.keeps_null
        assert ("empty" in found.metadata) is self.capabilities.keeps_empty_list

    def test_python_values_come_back_normalised(self, store: VectorStore) -> None:
        """``_add`` stores what a caller passed; ``Batch.metadata`` has plain values only."""
        plain = {name: kept for name, (_, kept) in _PYTHON_VALUES.items()}
        held = self.held_domain.fit(plain)
        given = {name: value for name, (value, _) in _PYTHON_VALUES.items() if name in held}
        store.add([self.document("a", given)])
        (found,) = store.get(self.ids("a"))
        self.check_metadata(found.metadata, held, "a")
        if "moment" in held:
            assert store.count("moment == TIMESTAMP '2024-01-02T01:04:05.000006Z'") == 1
            assert store.count("moment == TIMESTAMP '2024-01-02T01:04:05.000007Z'") == 0

    def test_large_metadata(self, store: VectorStore) -> None:
        """Many keys, long lists and texts, deep objects: whole, or refused by name.

        Usually: the engine has a limit on keys, depth or size: declare it, or refuse in
        ``_check_documents``.
        """
        deep: dict[str, Any] = {"k": 1}
        for _ in range(40):
            deep = {"n": deep}
        self._check_round_trips(
            store,
            [
                {f"key {number}": number for number in range(500)},
                {"list": [f"v{number}" for number in range(2_000)], "numbers": list(range(2_000))},
                {"text": "x" * 20_000},
                {"long key " * 100: 1},
                deep,
            ],
        )

    @settings(max_examples=_DRAWN, deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def test_drawn_metadata_comes_back(self, store: VectorStore, data: st.DataObject) -> None:
        """Hypothesis found metadata that is bent on the way; it prints the smallest such one.

        What the engine cannot hold is refused in ``_check_documents`` and told to the suite as
        ``domain``.
        """
        metadata = data.draw(any_metadata(self.held_domain))
        self._check_exact_or_refused(store, self.document("drawn", metadata, embedding=_VECTOR))

    def test_reserved_names_are_refused(self, store: VectorStore) -> None:
        """An ``add`` of the store's own goes past the base, which refuses ``__vecstore`` names."""
        document = self.document("a")
        document.metadata["__vecstore_tags"] = 1
        with self.no_call(store), pytest.raises(DocumentError, match="__vecstore"):
            store.add([document])

    def _check_round_trips(self, store: VectorStore, given: list[dict[str, Any]]) -> None:
        """What the store holds comes back whole; what it does not is refused, never bent."""
        __tracebackhide__ = True
        held: list[Document] = []
        for number, metadata in enumerate(given):
            document = self.document(f"doc-{number}", metadata, embedding=_VECTOR)
            if self._must_hold(metadata):
                held.append(document)
            else:
                self._check_exact_or_refused(store, document)
        store.add(held)
        self.check_documents(store.get([document.id for document in held]), held)

    def _check_exact_or_refused(self, store: VectorStore, document: Document) -> None:
        __tracebackhide__ = True
        store.delete([document.id])
        with self.hooked(store) as called:
            try:
                store.add([document])
            except DocumentError as error:
                assert not self._must_hold(document.metadata), "refused without need"
                assert error.document_id == document.id
                assert "_add" not in called, "refused, but not before the first write"
                assert store.get([document.id]) == []
            else:
                self.check_documents(store.get([document.id]), [document])

    def _must_hold(self, metadata: Mapping[str, Any]) -> bool:
        most = self.capabilities.max_metadata_bytes
        if most is not None and metadata_bytes(metadata) > most:
            return False
        return self.held_domain.fit(metadata) == metadata


def metadata_bytes(metadata: Mapping[str, Any]) -> int:
    """The size of metadata as ``max_metadata_bytes`` counts it."""
    return len(json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode())
