"""What the test of the suite runs in a pytest of its own: every broken store, and a sound one."""

from __future__ import annotations

from typing import Any

from tests.store.conformance.broken import BROKEN
from vecstore import SimpleVectorStore, VectorStore
from vecstore.testing import StoreSuite

globals().update({suite.__name__: suite for suite in BROKEN.values()})


class TestSound(StoreSuite):
    many = 1_200

    def make_store(self, **options: Any) -> VectorStore:
        return SimpleVectorStore(**options)
