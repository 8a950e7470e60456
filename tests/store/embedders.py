"""Tiny embedders: two that work, and some that do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def letters(texts: list[str]) -> list[list[float]]:
    """Four dimensions: how often a, b and c occur, and a little of the length."""
    return [[t.count("a"), t.count("b"), t.count("c"), 0.01 + len(t) / 1000] for t in texts]


class Counting:
    """An embedder of two methods that notes its calls."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.queries: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.batches.append(list(texts))
        return letters(texts)

    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        return letters([text])[0]

    @property
    def calls(self) -> int:
        return len(self.batches) + len(self.queries)


def failing_on(bad: str, error: Exception) -> Callable[[list[str]], Any]:
    """Works until a batch holds the text ``bad``."""

    def embed(texts: list[str]) -> list[list[float]]:
        if bad in texts:
            raise error
        return letters(texts)

    return embed


def answering(change: Callable[[list[list[float]]], Any]) -> Callable[[list[str]], Any]:
    """Answers with what ``change`` makes of the right vectors."""
    return lambda texts: change(letters(texts))


def never(texts: list[str]) -> Any:
    raise AssertionError(f"the embedder was called with {texts}")


NOT_FINITE = [math.nan, math.inf, -math.inf, 1e39]
