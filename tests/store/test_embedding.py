from __future__ import annotations

import argparse
import inspect
import math
import sys
import types
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.embedders import NOT_FINITE, Counting, answering, failing_on, letters
from vecstore import (
    BatchingStrategy,
    ConfigurationError,
    CountBatching,
    DimensionMismatchError,
    Document,
    DocumentError,
    Embedder,
    EmbeddingError,
    SimpleVectorStore,
    TokenBatching,
)
from vecstore import embedding as embedding_module
from vecstore.embedding import BoundEmbedder, estimate_tokens

DOCUMENTS = [Document(text, id=text) for text in ("a", "bb", "ccc")]


# --- embedders --------------------------------------------------------------------------------


def test_an_embedder_has_two_methods_or_is_a_function() -> None:
    counting = Counting()
    assert isinstance(counting, Embedder)
    matrix = BoundEmbedder(counting).documents(DOCUMENTS, None)
    assert matrix.dtype == np.float32
    assert matrix.tolist() == np.array(letters(["a", "bb", "ccc"]), np.float32).tolist()
    assert BoundEmbedder(counting).query("ab").tolist()[:2] == [1, 1]
    assert (counting.batches, counting.queries) == ([["a", "bb", "ccc"]], ["ab"])
    assert BoundEmbedder(letters).query("ab").tolist()[:2] == [1, 1]


@pytest.mark.parametrize("embedder", [5, "model", object(), Counting, None, [1]])
def test_anything_else_is_no_embedder(embedder: Any) -> None:
    with pytest.raises(ConfigurationError, match="embed_documents"):
        BoundEmbedder(embedder)


def test_a_class_in_place_of_an_instance_is_told() -> None:
    with pytest.raises(ConfigurationError, match=r"Counting\(\.\.\.\)"):
        BoundEmbedder(Counting)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        lambda vectors: np.array(vectors),
        lambda vectors: np.array(vectors, np.float16),
        lambda vectors: [np.array(vector) for vector in vectors],
        lambda vectors: tuple(tuple(vector) for vector in vectors),
        lambda vectors: iter(vectors),
        lambda vectors: (np.array(vector, np.float32) for vector in vectors),
        lambda vectors: np.asfortranarray(np.array(vectors)),
    ],
)
def test_answers_come_in_many_shapes(change: Any) -> None:
    matrix = BoundEmbedder(answering(change)).documents(DOCUMENTS, 4)
    assert matrix.dtype == np.float32
    assert matrix.flags.c_contiguous
    assert np.allclose(matrix, letters(["a", "bb", "ccc"]), atol=1e-2)
    assert BoundEmbedder(answering(change)).query("ab")[0] == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: v[:-1], "2 vectors for 3 texts"),
        (lambda v: [*v, v[0]], "4 vectors for 3 texts"),
        (lambda v: [], "0 vectors for 3 texts"),
        (lambda v: np.empty((0, 4)), "0 vectors for 3 texts"),
        (lambda v: [v[0], v[1][:3], v[2]], "document 'bb' has 3 dimensions, but"),
        (lambda v: [np.array(v[0]), np.array(v[1][:3]), np.array(v[2])], "'bb' has 3 dimensions"),
        (lambda v: [v[0], v[1], None], "'ccc'"),
        (lambda v: [v[0], v[1], ["x"] * 4], "'ccc' holds"),
        (lambda v: [[], [], []], "empty vector"),
        (lambda v: np.array(v)[:, :, None], "shape (4, 1)"),
        (lambda v: v[0], "one flat list"),
        (lambda v: np.array(v[0]), "one flat list"),
        (lambda v: None, "NoneType"),
        (lambda v: "vectors", "str"),
        (lambda v: 5, "int"),
        (lambda v: {"data": v}, "1 vectors for 3"),
    ],
)
def test_answers_that_are_not_one_vector_for_each_text(change: Any, words: str) -> None:
    with pytest.raises(EmbeddingError, match="embedder") as caught:
        BoundEmbedder(answering(change)).documents(DOCUMENTS, None)
    assert words in str(caught.value)


@pytest.mark.parametrize("number", NOT_FINITE)
def test_numbers_that_are_not_finite_name_the_document(number: float) -> None:
    def change(vectors: list[list[float]]) -> Any:
        vectors[1][2] = number
        return vectors

    store = SimpleVectorStore(answering(change))
    with pytest.raises(EmbeddingError, match="'bb'"):
        store.add(DOCUMENTS)
    assert store.count() == 0


def test_a_query_vector_is_checked_as_well() -> None:
    for change in (lambda v: [[math.nan]], lambda v: [[]], lambda v: [None], lambda v: v * 2):
        with pytest.raises(EmbeddingError):
            BoundEmbedder(answering(change)).query("x")


def test_another_dimension_than_the_stores_names_both() -> None:
    with pytest.raises(DimensionMismatchError, match=r"4 dimensions.*of 3.*another embedding") as e:
        BoundEmbedder(letters).documents(DOCUMENTS, 3)
    assert (e.value.expected, e.value.actual) == (3, 4)


def test_a_failing_embedder_is_the_cause_and_its_words_are_not_repeated() -> None:
    cause = RuntimeError("401 for key sk-secret")
    with pytest.raises(EmbeddingError, match="RuntimeError") as caught:
        BoundEmbedder(failing_on("bb", cause)).documents(DOCUMENTS, None)
    assert caught.value.__cause__ is cause
    assert "sk-secret" not in str(caught.value)
    with pytest.raises(EmbeddingError, match="the query"):
        BoundEmbedder(failing_on("bb", cause)).query("bb")


def test_a_failure_while_vectors_are_yielded_is_the_embedders() -> None:
    def embed(texts: list[str]) -> Iterator[list[float]]:
        yield [1.0]
        raise RuntimeError("lost")

    with pytest.raises(EmbeddingError, match="RuntimeError"):
        BoundEmbedder(embed).documents(DOCUMENTS, None)


def test_errors_of_this_library_pass_through() -> None:
    error = DocumentError("too long for this model")
    with pytest.raises(DocumentError, match="too long"):
        BoundEmbedder(failing_on("a", error)).documents(DOCUMENTS, None)


def test_an_asynchronous_function_is_told_apart() -> None:
    async def embed(texts: list[str]) -> Any:
        return letters(texts)

    with pytest.raises(ConfigurationError, match="asynchronous"):
        BoundEmbedder(embed).documents(DOCUMENTS, None)


# --- batches ----------------------------------------------------------------------------------


def split(strategy: BatchingStrategy, texts: list[str]) -> list[list[str]]:
    documents = [Document(text, id=f"d{n}") for n, text in enumerate(texts)]
    return [[document.text for document in batch] for batch in strategy.split(documents)]


def test_batches_by_count() -> None:
    assert split(CountBatching(2), list("abcde")) == [["a", "b"], ["c", "d"], ["e"]]
    assert split(CountBatching(5), list("abcde")) == [list("abcde")]
    assert split(CountBatching(), []) == []


@given(
    st.lists(st.integers(0, 12), max_size=40), st.integers(12, 30), st.none() | st.integers(1, 5)
)
def test_batches_by_tokens_keep_order_and_budget(
    sizes: list[int], budget: int, most: int | None
) -> None:
    strategy = TokenBatching(budget, 0, count_tokens=len, max_documents=most)
    texts = ["x" * size for size in sizes]
    batches = split(strategy, texts)
    assert [text for batch in batches for text in batch] == texts
    for batch in batches:
        assert batch
        assert sum(map(len, batch)) <= budget
        assert most is None or len(batch) <= most
    for batch, following in pairwise(batches):
        # The next document would not have fitted: no batch is smaller than it has to be.
        assert len(batch) == most or sum(map(len, batch)) + len(following[0]) > budget


def test_the_first_document_counts() -> None:
    strategy = TokenBatching(10, 0, count_tokens=len)
    texts = ["x" * 9, "x" * 2, "x" * 9, "x", "x" * 10, "x", "x"]
    assert [sum(map(len, batch)) for batch in split(strategy, texts)] == [9, 2, 10, 10, 2]


def test_the_document_that_is_too_large_is_named() -> None:
    strategy = TokenBatching(10, 0, count_tokens=len)
    with pytest.raises(DocumentError, match=r"'d1' has 11 tokens, more than the 10") as caught:
        split(strategy, ["x", "x" * 11])
    assert caught.value.document_id == "d1"


def test_the_budget_leaves_a_reserve() -> None:
    assert TokenBatching().budget == 7371
    assert TokenBatching(1000, 0.25).budget == 750


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((0,), ValueError),
        ((True,), TypeError),
        ((1.5,), TypeError),
        ((10, 1.0), ValueError),
        ((10, -0.1), ValueError),
        ((10, 0.1, None, 0), ValueError),
    ],
)
def test_limits_of_batches_are_checked(arguments: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        TokenBatching(*arguments)
    with pytest.raises(ValueError, match="max_documents"):
        CountBatching(0)


def test_repr() -> None:
    assert repr(CountBatching(5)) == "CountBatching(5)"
    assert repr(TokenBatching(50)) == "TokenBatching(max_tokens=50, reserve=0.1)"


TEXTS = {
    "English": "The quick brown fox jumps over the lazy dog.",
    "Bulgarian": "Хубава работа, но българска: всичко е наред, докато не го пипнеш.",
    "Czech": "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "Japanese": "吾輩は猫である。名前はまだ無い。",
    "Hindi": "अनुच्छेद एक",
    "SQL": "SELECT * FROM \"t\" WHERE (a->>'b')::int > 5 AND x != $1;",
    "Python": inspect.getsource(argparse),
    "nothing": "",
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_estimate_is_on_the_high_side(name: str) -> None:
    # A real tokenizer of 32,000 tokens, as it lies in the package: tiktoken's has three times as
    # many, and so needs fewer for a text.
    import wordllama
    from tokenizers import Tokenizer

    folder = Path(wordllama.__file__).parent / "tokenizers"
    tokenizer = Tokenizer.from_file(str(folder / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_truncation()
    tokens = len(tokenizer.encode(TEXTS[name], add_special_tokens=False).ids)
    assert tokens <= estimate_tokens(TEXTS[name]) <= 4 * tokens


@pytest.fixture
def fresh_counter() -> Iterator[None]:
    embedding_module._default_counter.cache_clear()
    yield
    embedding_module._default_counter.cache_clear()


@pytest.mark.usefixtures("fresh_counter")
def test_tiktoken_counts_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Encoding:
        def encode(self, text: str, *, disallowed_special: Any) -> list[int]:
            asked.append(disallowed_special)
            return [0] * len(text.split())

    module = types.ModuleType("tiktoken")
    module.get_encoding = lambda name: Encoding() if name == "cl100k_base" else None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tiktoken", module)
    assert split(TokenBatching(3, 0), ["one two", "<|endoftext|>", "three"]) == [
        ["one two", "<|endoftext|>"],
        ["three"],
    ]
    assert asked == [()] * 3  # text that looks like a special token is counted as text


@pytest.mark.usefixtures("fresh_counter")
def test_tiktoken_without_its_encoding_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("tiktoken")

    def get_encoding(name: str) -> Any:
        raise OSError("no network")

    module.get_encoding = get_encoding  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tiktoken", module)
    with pytest.raises(ConfigurationError, match="count_tokens="):
        split(TokenBatching(), ["x"])


@pytest.mark.usefixtures("fresh_counter")
def test_without_tiktoken_tokens_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert embedding_module._default_counter() is estimate_tokens
