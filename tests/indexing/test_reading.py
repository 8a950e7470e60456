"""What all readers share: which one reads, what it decodes, what a source's bytes may not say."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecstore import ConfigurationError, Document, SourceError
from vecstore.indexing import (
    READERS,
    Readers,
    Source,
    chain,
    fingerprint_of,
    read,
    read_text,
    text_source,
)
from vecstore.indexing.readers.base import document


def source_of(data: bytes, kind: str = "text", **metadata: object) -> Source:
    return Source(id="a.txt", load=lambda: data, kind=kind, metadata=metadata)


def texts(data: bytes, encoding: str = "utf-8") -> list[str]:
    return [document.text for document in read_text(encoding)(source_of(data))]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_a_text_comes_back_to_the_character(text: str) -> None:
    text = text.removeprefix("\ufeff")
    found = [*read(text_source("a", text))]
    assert [one.text for one in found] == ([text] if text.strip() else [])
    assert all(one.metadata["span"] == [0, len(text)] for one in found)


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_says_the_encoding_and_is_no_text(mark: bytes, encoding: str) -> None:
    for asked in ("utf-8", "cp1252", "detect"):
        assert texts(mark + "Grüße 你好".encode(encoding), asked) == ["Grüße 你好"]


def test_a_mark_alone_is_nothing() -> None:
    assert texts(codecs.BOM_UTF8) == texts(b"") == texts(b" \n\t") == []


def test_bytes_that_are_no_utf_8_are_named() -> None:
    with pytest.raises(SourceError) as caught:
        texts(b"x" * 512 + b"\xff")
    assert str(caught.value) == (
        "a.txt is not UTF-8 at byte 512; pass encoding='detect' or its name"
    )
    assert (caught.value.source, caught.value.place) == ("a.txt", "byte 512")
    assert texts("Grüße".encode("cp1252"), "cp1252") == ["Grüße"]
    with pytest.raises(SourceError, match="no encoding is called 'utf-9'"):
        texts(b"a", "utf-9")


def test_encodings_that_are_no_texts_are_refused() -> None:
    with pytest.raises(SourceError, match="no encoding is called 'rot13'"):
        texts(b"a", "rot13")


def test_encodings_can_be_guessed() -> None:
    french = (
        "Le château se dressait à l'orée de la forêt, là où la rivière décrivait une large boucle. "
        "Personne n'y avait vécu depuis des années, et pourtant les fenêtres étaient éclairées. "
        "Quelqu'un, disait-on au village, avait dû y passer l'été sans que nous le sachions."
    )
    assert texts(french.encode("cp1252"), "detect") == [french]
    chinese = "今天天气很好，我们去公园散步。孩子们在草地上玩耍，老人在树下下棋。" * 5
    assert texts(chinese.encode("gb18030"), "detect") == [chinese]
    assert texts("Grüße".encode(), "detect") == ["Grüße"]


def test_guessing_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "charset_normalizer", None)
    with pytest.raises(ImportError, match=r"pip install 'charset-normalizer.*the extra detect"):
        texts(b"\xff", "detect")


def test_nul_is_refused_with_its_line() -> None:
    with pytest.raises(SourceError, match=r"a\.txt holds NUL in line 3, .*is it a text at all"):
        texts(b"a\nb\n\0")


def test_a_kind_without_a_reader_names_those_there_are() -> None:
    with pytest.raises(SourceError, match=r"'docx', which no reader reads; .*'text'"):
        [*read(source_of(b"", "docx"))]


def test_a_reader_of_yours(monkeypatch: pytest.MonkeyPatch) -> None:
    def lines(source: Source) -> Iterator[Document]:
        for line in source.read_bytes().decode().splitlines():
            yield Document(line)

    monkeypatch.setitem(READERS, "lines", lines)
    assert [one.text for one in read(source_of(b"a\nb", "lines"))] == ["a", "b"]


# --- metadata ---------------------------------------------------------------------------------


def test_what_a_source_carries_is_never_replaced_by_its_bytes() -> None:
    source = source_of(b"", tenant="ours")
    with pytest.raises(SourceError, match=r"a\.txt, line 1: it has the key 'tenant', which the"):
        document(source, 0, "x", own={}, said={"tenant": "theirs"}, place="line 1")
    for key in ("source", "chunk", "span", "page", "headings"):
        with pytest.raises(SourceError, match=f"'{key}', which readers write; rename it"):
            document(source, 0, "x", own={}, said={key: "theirs"}, remedy="rename it")
    made = document(source, 3, "x", own={"title": "T", "page": None, "lang": ""}, said={"n": 1})
    assert made.metadata == {"source": "a.txt", "title": "T", "n": 1, "tenant": "ours"}
    assert made.id == "a.txt#3"


def test_metadata_that_no_store_keeps_names_source_and_place() -> None:
    with pytest.raises(SourceError, match=re.escape("a.txt, row 2: document 'a.txt#0' cannot be")):
        document(source_of(b""), 0, "x", own={}, said={"": 1}, place="row 2")


# --- fingerprints -----------------------------------------------------------------------------


def test_fingerprints_tell_settings_apart() -> None:
    assert fingerprint_of(read_text()) == fingerprint_of(read_text("utf-8"))
    assert fingerprint_of(read_text()) != fingerprint_of(read_text("detect"))
    one, other = Readers({"text": read_text()}), Readers({"text": read_text("detect")})
    assert one.fingerprint != other.fingerprint
    more = Readers({"text": read_text(), "more": read_text("detect")})
    assert more.fingerprint != one.fingerprint
    assert more.fingerprint_for(source_of(b"")) == one.fingerprint_for(source_of(b""))
    # Stored in databases: it is the same in every process and every release.
    assert fingerprint_of(read_text()) == "text-29487997"


def test_fingerprints_of_functions_and_of_what_has_none() -> None:
    def step(documents: object) -> object:
        return documents

    assert fingerprint_of(step).endswith(
        "test_reading.test_fingerprints_of_functions_and_of_what_has_none.<locals>.step"
    )
    step.fingerprint = "step 2"  # type: ignore[attr-defined]
    assert fingerprint_of(step) == "step 2"

    class Step:
        def __call__(self, documents: object) -> object:
            return documents

    with pytest.raises(ConfigurationError, match=r"type Step does not say .*attribute fingerprint"):
        fingerprint_of(Step())
    assert chain(step).fingerprint != chain(step, step).fingerprint  # type: ignore[attr-defined]
    assert not hasattr(chain(step, Step()), "fingerprint")  # type: ignore[arg-type]


# --- chains -----------------------------------------------------------------------------------


def test_a_chain_is_lazy_and_runs_from_left_to_right() -> None:
    asked: list[str] = []

    def note(name: str) -> object:
        def step(documents: object) -> Iterator[Document]:
            for one in documents:  # type: ignore[attr-defined]
                asked.append(name + one.text)
                yield one.replace(text=one.text + name)

        return step

    documents = (Document(text) for text in "xy")
    through = iter(chain(note("1"), note("2"))(documents))  # type: ignore[arg-type]
    assert asked == []
    assert next(through).text == "x12"
    assert asked == ["1x", "2x1"]
    assert [*chain()([Document("x", id="x")])] == [Document("x", id="x")]
    with pytest.raises(ConfigurationError, match="this is a str, which cannot be called"):
        chain("upper")  # type: ignore[arg-type]
