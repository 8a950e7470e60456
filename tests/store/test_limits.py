"""What a store declares it cannot hold is refused by name, and what it can hold is not."""

from __future__ import annotations

import uuid
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from tests.store.embedders import letters, never
from tests.store.minimal import MinimalStore
from vecstore import (
    ConfigurationError,
    DimensionMismatchError,
    Document,
    DocumentError,
    F,
    StoreCapabilities,
)


def store(**limits: Any) -> MinimalStore:
    return MinimalStore(letters, capabilities=StoreCapabilities(**limits))


def refused(limits: dict[str, Any], document: Document, *words: str) -> DocumentError:
    """The error for a document, raised before embedder and engine are asked."""
    refusing = MinimalStore(never, capabilities=StoreCapabilities(**limits))
    with pytest.raises(DocumentError) as caught:
        refusing.add([Document("fine", id="1"), document])
    assert refusing.calls == []
    for word in (*words, "minimal"):
        assert word in str(caught.value)
    assert caught.value.document_id == document.id
    return caught.value


def accepted(limits: dict[str, Any], *documents: Document) -> MinimalStore:
    accepting = store(**limits)
    accepting.add(list(documents))
    assert accepting.get([d.id for d in documents]) == list(documents)
    return accepting


def test_texts() -> None:
    limits = {"max_text_bytes": 10}
    accepted(limits, Document("x" * 10), Document("é" * 5), Document("猫猫猫x"), Document(""))
    refused(limits, Document("x" * 11, id="long"), "'long'", "11 bytes", "max_text_bytes")
    refused(limits, Document("é" * 5 + "x", id="long"), "11 bytes")
    refused(limits, Document("🙂🙂🙂", id="long"), "12 bytes")


def test_ids() -> None:
    limits = {"max_id_bytes": 4}
    accepted(limits, Document("", id="abcd"), Document("", id="éé"), Document("", id="🙂"))
    refused(limits, Document("", id="abcde"), "'abcde'", "max_id_bytes")
    refused(limits, Document("", id="ééx"), "5 bytes")


@pytest.mark.parametrize(
    ("charset", "good", "bad"),
    [
        ("ascii", ["a b", "~"], ["é", "猫"]),
        (
            "uuid",
            [str(uuid.UUID(int=1)), "123e4567-e89b-12d3-a456-426614174000"],
            ["1", "123E4567-E89B-12D3-A456-426614174000", "123e4567e89b12d3a456426614174000", "x"],
        ),
        (
            "integer",
            ["0", "-5", "9223372036854775807", "-9223372036854775808"],
            ["01", "-0", "9223372036854775808", "1.0", "１", "", " 1", "1e3"],
        ),
    ],
)
def test_id_charsets(charset: str, good: list[str], bad: list[str]) -> None:
    accepted({"id_charset": charset}, *[Document("", id=id) for id in good])
    for id in filter(None, bad):
        refusing = MinimalStore(never, capabilities=StoreCapabilities(id_charset=charset))  # type: ignore[arg-type]
        with pytest.raises(DocumentError, match="id_charset") as caught:
            refusing.add([Document("", id=id)])
        assert caught.value.document_id == id


def test_integers() -> None:
    limits = {"min_integer": -(2**63), "max_integer": 2**63 - 1}
    accepted(
        limits,
        Document("", {"a": 2**63 - 1, "b": [-(2**63), 0], "f": 1e300, "t": True, "n": {"m": 1}}),
    )
    refused(limits, Document("", {"big": 2**63}, id="x"), "'x'", "key big", "max_integer", "text")
    error = refused(limits, Document("", {"a": {"b c": [1, -(2**63) - 1]}}, id="x"), "min_integer")
    assert error.key == 'a."b c"'
    updating = accepted(limits, Document("", {"a": 1}, id="1"))
    with pytest.raises(DocumentError, match=r"key a\.b.*max_integer"):
        updating.update_metadata(["1"], set={"a": {"b": 2**63}})
    assert updating.get(["1"])[0].metadata == {"a": 1}
    one_sided = store(max_integer=5)
    one_sided.add([Document("", {"n": -(10**50)})])
    with pytest.raises(DocumentError, match="max_integer 5"):
        one_sided.add([Document("", {"n": 6})])


def test_metadata_size() -> None:
    limits = {"max_metadata_bytes": 16}
    accepted(limits, Document("", {"a": "x" * 8}), Document("", {"é": "é" * 3}))
    refused(limits, Document("", {"a": "x" * 9}, id="x"), "17 bytes", "max_metadata_bytes")


def test_extra_size() -> None:
    limits = {"keeps_extra": True, "max_extra_bytes": 12}
    store(**limits).add([Document("", extra="x" * 10), Document("", extra=["é" * 4]), Document("")])
    refused(limits, Document("", extra="x" * 11, id="x"), "'x'", "13 bytes", "max_extra_bytes")
    refused(limits, Document("", extra="é" * 6, id="x"), "14 bytes", "at most 12")
    # Where there is no place for it at all, that is what is told.
    refused({"max_extra_bytes": 12}, Document("", extra="x" * 11, id="x"), "keeps_extra")


def test_nulls_and_empty_lists_are_dropped_where_they_cannot_stay() -> None:
    given = Document("", {"n": None, "e": [], "k": {"n": None, "e": [], "v": 1}, "v": 0}, id="x")
    for keeps_null, keeps_empty, expected in (
        (True, True, given.metadata),
        (False, True, {"e": [], "k": {"e": [], "v": 1}, "v": 0}),
        (True, False, {"n": None, "k": {"n": None, "v": 1}, "v": 0}),
        (False, False, {"k": {"v": 1}, "v": 0}),
    ):
        dropping = store(keeps_null=keeps_null, keeps_empty_list=keeps_empty)
        dropping.add([given])
        assert dropping.get(["x"])[0].metadata == expected
        dropping.update_metadata(["x"], set={"v": None, "w": {"n": None, "m": 2}})
        metadata = dropping.get(["x"])[0].metadata
        assert dropping.count(F.v.is_null()) == 1
        assert ("v" in metadata) is keeps_null
        assert metadata["w"] == ({"n": None, "m": 2} if keeps_null else {"m": 2})
    assert given.metadata["n"] is None


def test_dimensions() -> None:
    limits = {"max_dimension": 4}
    accepted(limits, Document("x"))
    narrow = store(max_dimension=3)
    with pytest.raises(DimensionMismatchError, match="max_dimension"):
        narrow.add([Document("x")])  # the embedder makes four
    with pytest.raises(DimensionMismatchError, match="max_dimension"):
        narrow.add([Document("", embedding=[1] * 5)])
    assert narrow.calls == []
    with pytest.raises(DimensionMismatchError, match="max_dimension"):
        MinimalStore(capabilities=StoreCapabilities(max_dimension=3), dimension=4)


def test_top_k() -> None:
    limited = accepted({"max_top_k": 10}, Document("x", id="x"))
    assert [d.id for d in limited.search("x", top_k=10)] == ["x"]
    limited.calls.clear()
    with pytest.raises(ValueError, match=r"max_top_k.*scan\(\)"):
        limited.search("x", top_k=11)
    assert limited.calls == []


def test_metrics() -> None:
    only_cosine = StoreCapabilities(metrics=frozenset({"cosine"}))
    assert MinimalStore(capabilities=only_cosine).metric == "cosine"
    with pytest.raises(ConfigurationError, match='has the metrics "cosine"'):
        MinimalStore(capabilities=only_cosine, metric="dot")


def test_a_store_may_refuse_for_reasons_of_its_own() -> None:
    class Typed(MinimalStore):
        def _check_documents(self, documents: Any) -> None:
            for document in documents:
                if type(document.metadata.get("year")) is not int:
                    raise DocumentError(f"{document.id} has no year", document_id=document.id)
                document.metadata = {**document.metadata, "checked": True}

    typed = Typed(letters)
    with pytest.raises(DocumentError, match="b has no year"):
        typed.add([Document("", {"year": 1}, id="a"), Document("", id="b")])
    assert typed.calls == []
    given = Document("", {"year": 1}, id="a")
    typed.add([given])
    assert typed.get(["a"])[0].metadata == {"year": 1, "checked": True}
    assert given.metadata == {"year": 1}


def test_capabilities_are_values() -> None:
    assert StoreCapabilities() == StoreCapabilities()
    with pytest.raises(FrozenInstanceError):
        StoreCapabilities().max_batch = 5  # type: ignore[misc]
    with pytest.raises(TypeError):
        StoreCapabilities(max_texts=5)  # type: ignore[call-arg]
