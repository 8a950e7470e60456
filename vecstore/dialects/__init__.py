"""One emitter for each backend, found by name. Importing a dialect imports no client."""

from vecstore.dialects.base import Dialect
from vecstore.dialects.registry import compile_filter, dialect_names, get_dialect

__all__ = ["Dialect", "compile_filter", "dialect_names", "get_dialect"]
