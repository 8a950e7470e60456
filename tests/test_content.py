from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given

from vecstore import ConfigurationError, ContentFormatter, Document, MetadataMode
from vecstore.document import stored_document
from vecstore.indexing import TokenSplitter, read_markdown, text_source
from vecstore.testing.strategies import metadata as some_metadata

METADATA: dict[str, Any] = {
    "title": "Rye",
    "year": 2020,
    "rating": 4.5,
    "sold": True,
    "none": None,
    "nothing": [],
    "tags": ["a", "b"],
    "author": {"name": "Ana", "born": {"year": 1980}},
    "a.b": "dotted",
    "chunk": {"index": 3},
    "span": [5, 9],
}
DOCUMENT = Document("Body {key} {metadata}", METADATA, id="a")
ALL = [
    "a.b: dotted",
    "author.born.year: 1980",
    "author.name: Ana",
    "chunk.index: 3",
    "rating: 4.5",
    "sold: true",
    "span: 5, 9",
    "tags: a, b",
    "title: Rye",
    "year: 2020",
]


def lines(formatter: ContentFormatter, mode: MetadataMode) -> list[str]:
    head, _, body = formatter.format(DOCUMENT, mode).rpartition("\n\n")
    assert body == DOCUMENT.text
    return head.split("\n") if head else []


def test_what_each_mode_shows() -> None:
    formatter = ContentFormatter(
        hide_embed={"year", "author"}, hide_inference=["author.name", '"a.b"']
    )
    assert lines(formatter, MetadataMode.ALL) == ALL
    assert lines(formatter, MetadataMode.EMBED) == [
        line for line in ALL if not line.startswith(("year", "author", "chunk", "span"))
    ]
    assert lines(formatter, MetadataMode.INFERENCE) == [
        line for line in ALL if not line.startswith(("author.name", "a.b", "chunk", "span"))
    ]
    assert formatter.format(DOCUMENT, MetadataMode.NONE) == DOCUMENT.text
    assert formatter.for_embedding(DOCUMENT) == formatter.format(DOCUMENT, MetadataMode.EMBED)
    assert formatter.for_inference(DOCUMENT) == formatter.format(DOCUMENT, MetadataMode.INFERENCE)


@pytest.mark.parametrize("metadata", [{}, {"a": None}, {"a": [], "b": {}}, {"chunk": {"a": 1}}])
def test_where_nothing_is_left_the_text_comes_alone(metadata: dict[str, Any]) -> None:
    document = Document("  the text\n", metadata)
    assert ContentFormatter().for_embedding(document) == document.text


def test_a_section_that_moved_is_embedded_as_before() -> None:
    section = "## Rye\n\nIt rises overnight. It is baked slowly.\n"
    embedded = [
        [
            ContentFormatter().for_embedding(piece)
            for document in read_markdown()(text_source("a.md", before + section, "markdown"))
            for piece in TokenSplitter(6)([document])
            if document.metadata["headings"] == ["Breads", "Rye"]
        ]
        for before in ("# Breads\n\n", "# Breads\n\n## Flour\n\nIt is milled.\n\n")
    ]
    assert len(embedded[0]) > 1
    assert embedded[0] == embedded[1]
    assert "Rye" in embedded[0][0]


def test_the_order_of_the_keys_does_not_count() -> None:
    formatter = ContentFormatter()
    turned = stored_document("a", DOCUMENT.text, dict(reversed(METADATA.items())))
    assert formatter.format(turned, MetadataMode.ALL) == formatter.format(
        DOCUMENT, MetadataMode.ALL
    )


def test_the_templates_are_filled_in_one_pass() -> None:
    formatter = ContentFormatter(
        line="<{key}={value}>", separator=";", layout="{content}|{metadata}|{content}"
    )
    document = Document("{metadata}{key}", {"a": "{content}{value}", "{value}": "x"})
    assert formatter.for_embedding(document) == (
        "{metadata}{key}|<a={content}{value}>;<{value}=x>|{metadata}{key}"
    )


def test_what_others_stored_is_shown_too() -> None:
    odd = stored_document("a", "text", {"a": [{"b": 1}, ["c"], None], "ü": ["ö"]})
    assert ContentFormatter().for_embedding(odd) == 'a: {"b": 1}, ["c"], null\nü: ö\n\ntext'


@given(some_metadata())
def test_hidden_keys_are_in_no_text(metadata: dict[str, Any]) -> None:
    document = Document("text", metadata)
    for name in metadata:
        formatter = ContentFormatter(hide_embed=frozenset([f"'{_quoted(name)}'"]))
        without = {key: value for key, value in metadata.items() if key != name}
        assert formatter.for_embedding(document) == ContentFormatter().for_embedding(
            Document("text", without)
        )
    before = copy.deepcopy(document.metadata)
    ContentFormatter().format(document, MetadataMode.ALL)
    assert document.metadata == before


def _quoted(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"hide_embed": "year"}, r"write hide_embed=\{'year'\}"),
        ({"hide_inference": {"a..b"}}, "hide_inference: .*no key"),
        ({"line": "{key}"}, r"no place \{value\}"),
        ({"layout": "text"}, r"no place \{metadata\} and \{content\}"),
        ({"layout": None}, "is a text, not None"),
        ({"separator": 5}, "separator is a text"),
    ],
)
def test_what_cannot_be_read_is_refused(options: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        ContentFormatter(**options)


def test_a_formatter_is_a_value() -> None:
    one = ContentFormatter(hide_embed={"b", "a"})
    assert one == ContentFormatter(hide_embed=("a", "b"))  # type: ignore[arg-type]
    assert hash(one) == hash(ContentFormatter(hide_embed={"a", "b"}))
    again = pickle.loads(pickle.dumps(one.for_embedding))
    assert again(DOCUMENT) == one.for_embedding(DOCUMENT)
    assert copy.deepcopy(one) == one


def test_fingerprints() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"hide_embed": {"a", "b"}},
        {"hide_inference": {"a", "b"}},
        {"line": "{key} {value}"},
        {"separator": " "},
        {"layout": "{content}{metadata}"},
    ]
    prints = [ContentFormatter(**change).fingerprint for change in changes]
    assert len(set(prints)) == len(changes)
    line = "from vecstore import ContentFormatter as C; print(C(hide_embed={'b','a'}).fingerprint)"
    run = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == prints[1]
