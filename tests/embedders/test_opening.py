"""Embedders by name, and those that are no service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vecstore import BackendNotInstalledError, ConfigurationError, Document, SimpleVectorStore
from vecstore.embedders import SentenceTransformersEmbedder, open_embedder


class Former:
    """The interface of the package up to version 4."""

    def encode(
        self,
        sentences: list[str],
        *,
        batch_size: int,
        show_progress_bar: bool,
        convert_to_numpy: bool,
    ) -> Any:
        assert convert_to_numpy
        assert not show_progress_bar
        return np.array([[len(one), batch_size] for one in sentences], dtype=np.float64)


class Current(Former):
    """That of version 5."""

    def encode_document(self, sentences: list[str], **options: Any) -> Any:
        return self.encode(sentences, **options) + 10

    def encode_query(self, sentences: list[str], **options: Any) -> Any:
        return self.encode(sentences, **options) + 20


def test_models_of_sentence_transformers_are_asked_for_what_is_meant() -> None:
    former = SentenceTransformersEmbedder(Former(), batch_size=8)
    assert former.embed_documents(["a", "bb"]).tolist() == [[1, 8], [2, 8]]
    assert former.embed_query("ccc").tolist() == [3, 8]
    current = SentenceTransformersEmbedder(Current())
    assert current.embed_documents(["a"]).tolist() == [[11, 42]]
    assert current.embed_query("a").tolist() == [21, 52]
    assert current.embed_query("a").dtype == np.float32
    with SimpleVectorStore(current) as store:
        store.add([Document("a"), Document("bb")])
        assert store.dimension == 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"model": 7}, "not a int"),
        ({"model": Former(), "device": "cpu"}, "device goes with a model's name"),
        ({"model": Former(), "batch_size": 0}, "batch_size is a whole number from 1 on"),
    ],
)
def test_what_is_no_model(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        SentenceTransformersEmbedder(**options)


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("wordllama", "wordllama"),
        ("openai:small", "openai"),
        ("sentence-transformers:small", "sentence_transformers"),
    ],
)
def test_a_missing_package_is_named_with_its_line(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BackendNotInstalledError, match=r"hint: pip install '" + name[:6]):
        open_embedder(name)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("wordlama", "did you mean 'wordllama'"),
        ("OpenAI:small", "did you mean 'openai:text-embedding-3-small'"),
        ("openai", "names no model; write 'openai:text-embedding-3-small'"),
        ("nothing", "module:attribute such as my_models:embed"),
        ("", "there is no embedder ''"),
        (":x", "there is no embedder ':x'"),
        ("no_such_module:embed", "cannot be loaded: ModuleNotFoundError"),
        ("json:no_such_name", "cannot be loaded: AttributeError"),
        ("json:__name__", "an embedder has the methods"),
    ],
)
def test_what_is_no_name(name: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        open_embedder(name)


def test_options_are_those_of_the_embedder() -> None:
    for name, options in (
        ("wordllama", {"dimensions": 3}),
        ("openai:small", {"dimension": 3}),
        ("json:dumps", {"indent": 2}),
    ):
        with pytest.raises(ConfigurationError, match=next(iter(options))):
            open_embedder(name, **options)
    with pytest.raises(ConfigurationError, match="a store takes an embedder as it is"):
        open_embedder(len)  # type: ignore[arg-type]


def test_an_attribute_of_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_models.py").write_text(
        "class Lengths:\n"
        "    def __init__(self, scale=1): self.scale = scale\n"
        "    def embed_documents(self, texts): return [[len(one) * self.scale] for one in texts]\n"
        "    def embed_query(self, text): return [len(text) * self.scale]\n"
        "class inner:\n"
        "    lengths = Lengths(3)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    made: Any = open_embedder("own_models:Lengths", scale=2)
    assert made.embed_query("abc") == [6]
    found: Any = open_embedder("own_models:inner.lengths")
    assert found.embed_query("abc") == [9]
