"""How documents and literals are written as JSON for PostgreSQL: one encoder for both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vecstore.filter.values import Scalar

try:  # without the rest of `json`, which takes longer to load than all of this dialect
    from _json import encode_basestring as _encode_text
except ImportError:
    from json.encoder import encode_basestring as _encode_text

# From here on Python writes integral floats with an exponent, which JSONB reads as an integer
# of other digits (1e+23 is not 10**23) or gives back as one.
_EXPONENT_FROM = 1e15


def encode_json(value: Any) -> str:
    """JSON text from which PostgreSQL and Python read back the same value and type.

    Example:
        >>> encode_json({"a": 1e23, "b": 0.1})
        '{"a":99999999999999991611392.0,"b":0.1}'
    """
    if type(value) is str:
        return _encode_text(value)
    if type(value) is int:
        return str(value)
    if isinstance(value, dict):
        pairs = [f"{_encode_text(key)}:{encode_json(item)}" for key, item in value.items()]
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join([encode_json(item) for item in value]) + "]"
    if type(value) is float:
        return _encode_float(value)
    if isinstance(value, str):
        return _encode_text(value)
    import json

    return json.dumps(value)


def encode_nested(path: tuple[str, ...], literals: Iterable[Scalar]) -> list[str]:
    """JSON texts of the smallest documents that hold a literal at a path, and one in a list.

    Example:
        >>> encode_nested(("author", "born"), [1815])
        ['{"author":{"born":1815}}', '{"author":{"born":[1815]}}']
    """
    opening = "".join([f"{{{_encode_text(segment)}:" for segment in path])
    closing = "}" * len(path)
    texts: list[str] = []
    for literal in literals:
        inner = encode_json(literal)
        texts += (f"{opening}{inner}{closing}", f"{opening}[{inner}]{closing}")
    return texts


def _encode_float(value: float) -> str:
    if abs(value) >= _EXPONENT_FROM and value.is_integer():
        return f"{int(value)}.0"
    return repr(value)
