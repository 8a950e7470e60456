from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.store.minimal import MinimalStore
from tests.store.stopping import stopped
from vecstore import SimpleVectorStore, VectorStore

__all__ = ["stopped"]


@pytest.fixture(params=[SimpleVectorStore, MinimalStore], ids=["memory", "minimal"])
def make(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Makes a store: the one in memory, and one that has nothing but the defaults of the base."""
    made: type[VectorStore] = request.param
    return made
