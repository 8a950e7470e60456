"""Filters as the client's own models.

They are built as they are and not validated: the dialect has made them, and the client would try
each condition as every kind that there is, which takes seconds for ten thousand of them.
"""

from __future__ import annotations

from typing import Any


def filter_model(query: Any) -> Any:
    """A filter, given as the JSON of the REST interface, as a model of the client.

    Example:
        >>> filter_model({"must": [{"key": "n", "match": {"value": 1}}]}).must[0].key
        'n'
    """
    from qdrant_client import models

    branches: dict[str, Any] = {
        branch: [_condition(one) for one in conditions] for branch, conditions in query.items()
    }
    return models.Filter.model_construct(**branches)


def _condition(condition: Any) -> Any:
    from qdrant_client import models

    if "is_empty" in condition:
        field = models.PayloadField.model_construct(key=condition["is_empty"]["key"])
        return models.IsEmptyCondition.model_construct(is_empty=field)
    if "key" not in condition:
        return filter_model(condition)
    key = condition["key"]
    if "range" in condition:
        return models.FieldCondition.model_construct(key=key, range=_range(condition["range"]))
    match = condition["match"]
    if "any" in match:
        test: Any = models.MatchAny.model_construct(any=match["any"])
    else:
        test = models.MatchValue.model_construct(value=match["value"])
    return models.FieldCondition.model_construct(key=key, match=test)


def _range(bounds: Any) -> Any:
    from qdrant_client import models

    if any(isinstance(bound, str) for bound in bounds.values()):
        return models.DatetimeRange.model_validate(bounds)
    return models.Range.model_construct(**bounds)
