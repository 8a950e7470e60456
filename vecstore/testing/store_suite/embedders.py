"""Embedders of the suite: one that is always right, and some that are wrong in one way each."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from vecstore.vectors import Vector

DIMENSION = 8
"""Length of the suite's vectors."""


def vector_of(text: str, dimension: int = DIMENSION) -> Vector:
    """The vector that :class:`TextEmbedder` gives a text: always the same, of any direction.

    Example:
        >>> bool((vector_of("a") == vector_of("a")).all()), len(vector_of("a"))
        (True, 8)
    """
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)


class TextEmbedder:
    """Gives every text a vector of its own, and remembers what it was asked.

    Attributes:
        batches: The texts of each call of ``embed_documents``.
        queries: The texts of each call of ``embed_query``.
    """

    api_key = "sk-never-to-be-shown"

    def __init__(self, dimension: int = DIMENSION) -> None:
        self.dimension = dimension
        self.batches: list[list[str]] = []
        self.queries: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        """One vector for each text."""
        self.batches.append(list(texts))
        return [vector_of(text, self.dimension) for text in texts]

    def embed_query(self, text: str) -> Vector:
        """The vector of a query; of a text that is stored, the same as the document's."""
        self.queries.append(text)
        return vector_of(text, self.dimension)

    @property
    def calls(self) -> int:
        """How often it was called."""
        return len(self.batches) + len(self.queries)

    def forget(self) -> None:
        """Start counting again."""
        self.batches, self.queries = [], []

    def __repr__(self) -> str:
        return f"TextEmbedder(api_key={self.api_key!r})"


class WrongEmbedder(TextEmbedder):
    """Answers rightly until a given call, and then what ``spoil`` makes of the right answer.

    Args:
        spoil: Gets the right vectors; returns others, or raises.
        after: How many calls are answered rightly.
    """

    def __init__(self, spoil: Callable[[list[Any]], Any], after: int = 0) -> None:
        super().__init__()
        self._spoil = spoil
        self._after = after
        self._lock = threading.Lock()

    def embed_documents(self, texts: list[str]) -> Any:
        """The right vectors, or spoiled ones."""
        right: list[Any] = list(super().embed_documents(texts))
        with self._lock:
            self._after -= 1
            spoiled = self._after < 0
        return self._spoil(right) if spoiled else right

    def embed_query(self, text: str) -> Any:
        """The vector of a query, spoiled from the first call on."""
        answer = self._spoil([super().embed_query(text)])
        return answer[0] if isinstance(answer, list) and len(answer) == 1 else answer
