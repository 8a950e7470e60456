"""Broken stores, and the suites that have to fail on them."""

from tests.store.conformance.broken import (
    adding,
    beside,
    beside_metadata,
    changing,
    ending,
    evaluating,
    ordered,
    searching,
    statistics,
    vectorless,
)
from tests.store.conformance.broken.registry import BROKEN

__all__ = [
    "BROKEN",
    "adding",
    "beside",
    "beside_metadata",
    "changing",
    "ending",
    "evaluating",
    "ordered",
    "searching",
    "statistics",
    "vectorless",
]
