"""How documents and literals are written as JSON for PostgreSQL: one encoder for both."""

from __future__ import annotations

import json
from typing import Any

from vecstore.filter.values import Scalar

# From here on Python writes integral floats with an exponent, which JSONB reads as an integer
# of other digits (1e+23 is not 10**23) or gives back as one.
_EXPONENT_FROM = 1e15


def encode_json(value: Any) -> str:
    """JSON text from which PostgreSQL and Python read back the same value and type.

    Example:
        >>> encode_json({"a": 1e23, "b": 0.1})
        '{"a":99999999999999991611392.0,"b":0.1}'
    """
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
    return json.dumps(value)


def nested(path: tuple[str, ...], value: Scalar, *, in_list: bool) -> str:
    """JSON text of the smallest document that holds ``value``, or ``[value]``, at ``path``."""
    inner = encode_json(value)
    if in_list:
        inner = f"[{inner}]"
    opening = "".join([f"{{{_encode_text(segment)}:" for segment in path])
    return opening + inner + "}" * len(path)


def _encode_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _encode_float(value: float) -> str:
    if abs(value) >= _EXPONENT_FROM and value.is_integer():
        return f"{int(value)}.0"
    return repr(value)
