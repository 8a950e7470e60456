"""What the benchmarks search in: random vectors, and the docstrings of the standard library."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vecstore import Document

QUERIES = 64


@dataclass(frozen=True, eq=False)
class Data:
    """Rows of text, metadata and vectors of length 1, and vectors to search for.

    The key ``rank`` holds each whole number below the number of rows once, in random order:
    ``rank < n`` keeps n rows, wherever they are.

    Attributes:
        name: For titles.
        texts: One a row.
        metadata: One flat dict a row.
        vectors: float32, of shape (rows, dimension).
        queries: float32, of shape (QUERIES, dimension).
    """

    name: str
    texts: list[str]
    metadata: list[dict[str, Any]]
    vectors: np.ndarray
    queries: np.ndarray

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return int(self.vectors.shape[1])

    @property
    def title(self) -> str:
        """Name and shape."""
        return f"{len(self):,} x {self.dimension}, {self.name}"

    @cached_property
    def ids(self) -> list[str]:
        """One a row."""
        return [str(number) for number in range(len(self))]

    @cached_property
    def ranks(self) -> np.ndarray:
        """The values of the key ``rank``."""
        return np.array([one["rank"] for one in self.metadata])

    @cached_property
    def lists(self) -> list[list[float]]:
        """The vectors as lists, for peers that take nothing else."""
        return self.vectors.tolist()

    def documents(self) -> list[Document]:
        """The rows for our store."""
        return [
            Document(text, metadata, id, vector)
            for text, metadata, id, vector in zip(
                self.texts, self.metadata, self.ids, self.vectors, strict=True
            )
        ]

    def kept(self, percent: float) -> int:
        """How many rows a filter keeps that keeps so many percent; at least one."""
        return max(1, math.ceil(len(self) * percent / 100))

    def query(self) -> Callable[[], np.ndarray]:
        """A function that gives the queries in turn."""
        return itertools.cycle(self.queries).__next__


@functools.lru_cache(maxsize=1)
def random_data(count: int, dimension: int = 384) -> Data:
    """Independent normal vectors: nothing is near anything, which is the worst for indexes."""
    dice = np.random.default_rng(0)
    ranks = dice.permutation(count).tolist()
    return Data(
        "random",
        [f"text {number}" for number in range(count)],
        [
            {"rank": rank, "group": f"group {rank % 10}", "score": rank / 7, "fresh": rank % 2 == 0}
            for rank in ranks
        ],
        _normal(dice, count, dimension),
        _normal(dice, QUERIES, dimension),
    )


@functools.lru_cache(maxsize=1)
def real_data(most: int | None = None) -> Data:
    """Docstrings of the standard library with the vectors of the model inside wordllama.

    Each query is the vector of one docstring, moved towards another.

    Raises:
        ImportError: If wordllama is missing.
    """
    import wordllama  # noqa: F401  (says so in one line where it is missing)

    from vecstore.cli.corpus import collect, library_files
    from vecstore.embedders import open_embedder

    documents = collect(library_files())[:most]
    embed = open_embedder("wordllama").embed_documents
    vectors = np.asarray(embed([one.text for one in documents]), np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    keep = np.flatnonzero(lengths[:, 0] > 0)
    vectors = (vectors / np.where(lengths, lengths, 1))[keep]
    documents = [documents[number] for number in keep]
    dice = np.random.default_rng(0)
    ranks = dice.permutation(len(documents)).tolist()
    picked = dice.choice(len(documents), QUERIES)
    # Near a document, but not on it.
    queries = vectors[picked] + 0.5 * vectors[dice.choice(len(documents), QUERIES)]
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    metadata = [
        {
            "rank": rank,
            "module": one.metadata["module"],
            "kind": one.metadata["kind"],
            "length": one.metadata["length"],
        }
        for one, rank in zip(documents, ranks, strict=True)
    ]
    return Data("docstrings", [one.text for one in documents], metadata, vectors, queries)


def _normal(dice: np.random.Generator, count: int, dimension: int) -> np.ndarray:
    vectors = dice.standard_normal((count, dimension), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors
