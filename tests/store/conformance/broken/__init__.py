"""Broken stores, and the suites that have to fail on them."""

from tests.store.conformance.broken import adding, changing, ending, searching
from tests.store.conformance.broken.registry import BROKEN

__all__ = ["BROKEN", "adding", "changing", "ending", "searching"]
