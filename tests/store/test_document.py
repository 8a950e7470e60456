from __future__ import annotations

import copy
import enum
import json
import math
import pickle
import threading
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecstore import Document, DocumentError
from vecstore.document import checked_document, settled_metadata, stored_document


class Colour(enum.Enum):
    RED = "red"


def test_an_id_is_drawn_when_none_is_given() -> None:
    ids = {Document("x").id for _ in range(100)}
    assert len(ids) == 100
    assert all(str(uuid.UUID(id)) == id for id in ids)


def test_metadata_is_normalised_once_and_for_all() -> None:
    document = Document(
        "x",
        {
            "i": np.int64(3),
            "b": np.bool_(True),
            "f": np.float32(0.5),
            "when": datetime(2024, 1, 2, tzinfo=UTC),
            "day": date(2024, 1, 2),
            "uuid": uuid.UUID(int=5),
            "price": Decimal("9.50"),
            "colour": Colour.RED,
            "tags": {"b", "a"},
            "none": None,
            "empty": (),
            "nested": {"list": (1, 2)},
        },
    )
    assert document.metadata == {
        "i": 3,
        "b": True,
        "f": 0.5,
        "when": "2024-01-02T00:00:00.000000Z",
        "day": "2024-01-02",
        "uuid": "00000000-0000-0000-0000-000000000005",
        "price": 9.5,
        "colour": "red",
        "tags": ["a", "b"],
        "none": None,
        "empty": [],
        "nested": {"list": [1, 2]},
    }
    assert type(document.metadata["i"]) is int
    assert type(document.metadata["b"]) is bool
    json.dumps(document.metadata)


@pytest.mark.parametrize(
    ("value", "key", "remedy"),
    [
        ({"raw": b"x"}, "raw", "base64"),
        ({"a": {"b c": [1, "x"]}}, 'a."b c"', "one type"),
        ({"nan": float("nan")}, "nan", "leave the key out"),
        ({"ratio": Fraction(1, 3)}, "ratio", "str()"),
        ({"f": len}, "f", "code"),
        ({"": 1}, '""', "name"),
        ({3: 1}, '"3"', "'3'"),
        ({"__vecstore_x": 1}, "__vecstore_x", "rename"),
        ({"s": "\ud800"}, "s", "surrogate"),
        ({"s": "a\0"}, "s", "NUL"),
    ],
)
def test_what_cannot_be_stored_names_document_key_and_remedy(
    value: dict[Any, Any], key: str, remedy: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        Document("x", value, id="the one")
    assert caught.value.document_id == "the one"
    assert caught.value.key == key
    assert "'the one'" in str(caught.value)
    assert remedy in str(caught.value)


@pytest.mark.parametrize("metadata", [[], "text", 5, [("a", 1)]])
def test_metadata_is_a_mapping(metadata: Any) -> None:
    with pytest.raises(DocumentError, match="mapping"):
        Document("x", metadata)


def test_no_metadata_is_empty_metadata() -> None:
    assert Document("x", None).metadata == {}
    assert Document("x").metadata is not Document("x").metadata


@pytest.mark.parametrize("id", ["", "a\0b", "\ud800", 5, 5.0, b"x", True, uuid.UUID(int=1), ["a"]])
def test_ids_are_text(id: Any) -> None:
    with pytest.raises(DocumentError) as caught:
        Document("x", id=id)
    assert "id" in str(caught.value)


@pytest.mark.parametrize("id", [" ", "a/b'\"\\", "猫", "🙂" * 100, "\n", "1", "None"])
def test_any_other_text_is_an_id(id: str) -> None:
    assert Document("x", id=id).id == id


def test_ids_and_texts_become_plain_strings() -> None:
    class Text(str):
        pass

    document = Document(Text("x"), id=np.str_("y"))
    assert type(document.text) is str
    assert type(document.id) is str


@pytest.mark.parametrize("text", [None, 5, b"x", ["x"], "a\0b", "\ud83d"])
def test_texts_are_text(text: Any) -> None:
    with pytest.raises(DocumentError, match="'n'"):
        Document(text, id="n")


def test_no_text_says_how_to_store_a_document_without_words() -> None:
    with pytest.raises(DocumentError, match="text=''"):
        Document(None)  # type: ignore[arg-type]
    assert Document("").text == ""


@pytest.mark.parametrize(
    "embedding",
    [
        [1, 2, 3],
        (1.0, 2.0, 3.0),
        np.array([1, 2, 3], np.float16),
        np.array([1, 2, 3], np.int8),
        np.array([[1, 9], [2, 9], [3, 9]])[:, 0],
    ],
)
def test_an_embedding_becomes_a_read_only_float32_vector(embedding: Any) -> None:
    kept = Document("x", embedding=embedding).embedding
    assert kept is not None
    assert kept.dtype == np.float32
    assert kept.tolist() == [1, 2, 3]
    assert kept.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 5


def test_an_embedding_is_copied() -> None:
    given = np.array([1, 2], np.float32)
    document = Document("x", embedding=given)
    given[0] = 9
    assert document.embedding is not None
    assert document.embedding.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("embedding", "words"),
    [
        ([], "empty"),
        ([1, float("nan")], "nan at position 1"),
        ([1e39], "inf at position 0"),
        ([[1, 2]], "shape"),
        (5, "flat list"),
        (["a"], "<U1"),
        ("text", "str"),
        ([True, False], "True and False"),
        ([None, 1.0], "object"),
        ([[1], [1, 2]], "ragged"),
        ([1j], "complex"),
    ],
)
def test_what_is_no_embedding_is_refused_by_name(embedding: Any, words: str) -> None:
    with pytest.raises(DocumentError) as caught:
        Document("x", id="doc", embedding=embedding)
    assert "'doc'" in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize("score", [float("nan"), "1", True, 1j])
def test_a_score_is_a_number(score: Any) -> None:
    with pytest.raises(DocumentError, match="score"):
        Document("x", score=score)


def test_scores_become_floats() -> None:
    score = Document("x", score=np.float32(0.5)).score
    assert type(score) is float
    assert score == 0.5


def test_documents_do_not_change_in_place() -> None:
    document = Document("x", id="a")
    with pytest.raises(AttributeError, match=r"document\.replace\(text="):
        document.text = "y"
    with pytest.raises(AttributeError, match="replace"):
        document.metadata = {}  # type: ignore[misc]
    with pytest.raises(AttributeError, match="replace"):
        del document.id


def test_replace_keeps_the_rest() -> None:
    document = Document("x", {"n": 1}, id="a", embedding=[1, 2], score=0.5)
    assert document.replace() == document
    changed = document.replace(metadata={"n": 2}, score=None)
    assert (changed.id, changed.text, changed.metadata, changed.score) == ("a", "x", {"n": 2}, None)
    assert document.replace(id=None).id != "a"
    assert document.replace(embedding=None).embedding is None
    assert document.metadata == {"n": 1}


def test_the_metadata_is_not_the_mapping_it_came_from() -> None:
    given = {"tags": ["a"], "nested": {"n": 1}}
    document = Document("x", given)
    given["tags"].append("b")  # type: ignore[attr-defined]
    given["nested"]["n"] = 2  # type: ignore[index]
    assert document.metadata == {"tags": ["a"], "nested": {"n": 1}}


def test_equality() -> None:
    document = Document("x", {"n": 1}, id="a", embedding=[1, 2], score=0.5)
    assert document == Document("x", {"n": 1}, id="a", embedding=[1, 2], score=0.5)
    for other in (
        document.replace(text="y"),
        document.replace(metadata={"n": 2}),
        document.replace(id="b"),
        document.replace(embedding=[1, 3]),
        document.replace(embedding=[1, 2, 3]),
        document.replace(embedding=None),
        document.replace(score=None),
    ):
        assert document != other
    assert document != "x"
    with pytest.raises(TypeError, match="unhashable"):
        {document}


def test_pickle_and_copies() -> None:
    document = Document("x", {"tags": ["a"]}, id="a", embedding=[1, 2], score=0.5)
    copies = [
        pickle.loads(pickle.dumps(document)),
        copy.copy(document),
        copy.deepcopy(document),
    ]
    for twin in copies:
        assert twin == document
        twin.metadata["tags"].append("b")
        assert not twin.embedding.flags.writeable
    assert document.metadata == {"tags": ["a"]}


def test_repr_is_short() -> None:
    document = Document(
        "word " * 10_000,
        {"long": "x" * 5_000, "list": list(range(1000)), "big": 10**3000, "deep": {"a": 1}, "n": 1},
        id="i" * 1000,
        embedding=np.ones(768),
        score=0.123456,
    )
    shown = repr(document)
    assert len(shown) < 600
    assert "<768 dimensions>" in shown
    assert "score=0.1235" in shown
    assert repr(Document("a", {"n": 1}, id="x")) == "Document('a', {'n': 1}, id='x')"


def test_the_metadata_that_a_store_keeps_is_out_of_reach() -> None:
    document = Document("x", {"tags": ["a"], "nested": {"n": 1}})
    kept = settled_metadata(document)
    document.metadata["tags"].append("b")
    document.metadata["nested"]["n"] = 2
    document.metadata["more"] = 1
    assert kept == {"tags": ["a"], "nested": {"n": 1}}
    again = settled_metadata(document)
    assert again == {"tags": ["a", "b"], "nested": {"n": 2}, "more": 1}
    document.metadata["more"] = 2
    assert again["more"] == 1


def test_a_shared_document_copies_before_it_shows() -> None:
    kept = {"tags": ["a"]}
    document = stored_document("a", "x", kept, shared=True)
    document.metadata["tags"].append("b")
    assert kept == {"tags": ["a"]}
    assert document.metadata == {"tags": ["a", "b"]}


FOREIGN: list[tuple[str, Any, str]] = [
    ("a list with null", {"p": [1, None]}, "p"),
    ("a mixed list", {"p": [1, "a"]}, "p"),
    ("a list of lists", {"p": [[1], [2]]}, "p"),
    ("a list of objects", {"deep": {"p": [{"n": 1}]}}, "deep.p"),
    ("NaN", {"p": float("nan")}, "p"),
    ("a name of the library's", {"__vecstore_x": 1}, "__vecstore_x"),
    ("an empty name", {"": 1}, '""'),
]


@pytest.mark.parametrize(("metadata", "key"), [case[1:] for case in FOREIGN], ids=lambda c: str(c))
def test_what_a_store_has_read_is_checked_when_it_is_added(metadata: Any, key: str) -> None:
    document = stored_document("a", "x", metadata)
    assert document.metadata == metadata or key == "p"  # NaN is not equal to itself
    for one in (document, stored_document("a", "x", metadata), copy.deepcopy(document)):
        with pytest.raises(DocumentError, match="'a'") as caught:
            checked_document(one)
        assert (caught.value.document_id, caught.value.key) == ("a", key)


@pytest.mark.parametrize(
    ("id", "text", "embedding", "message"),
    [
        ("", "x", None, "empty"),
        (7, "x", None, "text, not int"),
        (None, "x", None, "text, not NoneType"),
        ("a\0", "x", None, "NUL"),
        ("a", None, None, "no text"),
        ("a", "\ud800", None, "surrogate"),
        ("a", "x", np.array([1, math.nan]), "nan"),
        ("a", "x", np.array([[1.0, 2.0]]), "flat list"),
    ],
)
def test_ids_texts_and_vectors_of_others_are_checked_too(
    id: Any, text: Any, embedding: Any, message: str
) -> None:
    with pytest.raises(DocumentError, match=message):
        checked_document(stored_document(id, text, {}, embedding))


def test_a_document_of_ones_own_is_not_checked_twice() -> None:
    document = Document("x", {"n": 1}, "a")
    assert checked_document(document) is document
    read = stored_document("a", "x", {"n": 1}, np.array([1.0], np.float32), 0.5, shared=True)
    assert checked_document(read) == read.replace(score=None)


def test_what_a_store_has_read_survives_copying_and_pickling() -> None:
    document = stored_document("a", "x", {"p": [[1], None]}, np.array([1.0], np.float32), 0.5)
    for other in (copy.copy(document), copy.deepcopy(document)):
        assert other == document
        other.metadata["p"][0].append(2)
    assert pickle.loads(pickle.dumps(document)) == document
    assert document.metadata == {"p": [[1], None]}


def test_metadata_that_was_changed_is_checked_again() -> None:
    document = Document("x", {"n": 1}, id="a")
    document.metadata["bad"] = b"x"
    with pytest.raises(DocumentError, match=r"'a'.*bad"):
        settled_metadata(document)
    document.metadata["bad"] = date(2024, 1, 1)
    assert settled_metadata(document) == {"n": 1, "bad": "2024-01-01"}


def test_many_threads_may_read_the_metadata_of_one_document() -> None:
    for _ in range(50):
        document = stored_document("a", "x", {"n": [1]}, shared=True)
        seen: list[Any] = []

        def read(document: Document = document, seen: list[Any] = seen) -> None:
            seen.append(document.metadata["n"])

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [[1]] * 4


SCALARS = st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
LISTS = st.one_of(
    st.lists(st.booleans()), st.lists(st.integers()), st.lists(st.text("abc猫"), max_size=3)
)
METADATA = st.recursive(
    st.dictionaries(st.text("abc.é", min_size=1), st.none() | SCALARS | LISTS, max_size=4),
    lambda inner: st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
    max_leaves=6,
)


@given(METADATA)
def test_normalised_metadata_is_left_as_it_is(metadata: dict[str, Any]) -> None:
    document = Document("x", metadata)
    assert repr(document.metadata) == repr(metadata)
    assert repr(Document("x", document.metadata).metadata) == repr(metadata)
