"""Equality that sees types: what was stored must come back as it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vecstore.store.capabilities import StoreCapabilities


def with_types(value: Any) -> Any:
    """A value in which 1, 1.0 and True are three different things.

    Example:
        >>> with_types({"a": [1]}) == with_types({"a": [1.0]})
        False
        >>> with_types({"a": 0.0}) == with_types({"a": -0.0})
        True
    """
    if isinstance(value, Mapping):
        return {key: with_types(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_types(item) for item in value]
    return type(value).__name__, value


def kept_metadata(metadata: Mapping[str, Any], capabilities: StoreCapabilities) -> dict[str, Any]:
    """Metadata without what a store declares that it does not keep.

    Example:
        >>> kept_metadata({"a": None, "b": {"c": []}}, StoreCapabilities(keeps_null=False))
        {'b': {'c': []}}
    """
    result: dict[str, Any] = {}
    for key, value in metadata.items():
        if isinstance(value, Mapping):
            result[key] = kept_metadata(value, capabilities)
        elif value is None:
            if capabilities.keeps_null:
                result[key] = None
        elif value != [] or capabilities.keeps_empty_list:
            result[key] = value
    return result
