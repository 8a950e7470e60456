"""A Weaviate server for the tests of the store on it, and interruptions."""

from __future__ import annotations

from tests.engines.fixtures import weaviate_address
from tests.store.stopping import stopped

__all__ = ["stopped", "weaviate_address"]
