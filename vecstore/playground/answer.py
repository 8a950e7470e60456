"""What the page asks at each keystroke: one filter and some documents, all that becomes of them.

It uses the language and the dialects alone, no store and nothing that has to be installed beside
the standard library, so that it runs in a browser as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from vecstore.dialects.base import option_names
from vecstore.dialects.registry import dialect_names, get_dialect
from vecstore.errors import FilterError, VecstoreError
from vecstore.explaining.outcomes import Refused, outcome_of, query_text
from vecstore.explaining.plain import error_object
from vecstore.explaining.rewriting import remarks, rewrites
from vecstore.explaining.verdicts import Judge
from vecstore.filter.convert import Compiled
from vecstore.filter.limits import Limits
from vecstore.filter.text import key_text
from vecstore.filter.tree import Expression
from vecstore.filter.values import UnusableValue, to_metadata
from vecstore.grammar.parser import parse

LIMITS = Limits(text=10_000, nodes=1_000, in_values=2_000)
"""Of a filter: an answer must not take longer than the next keystroke."""
MOST_DOCUMENTS = 500
MOST_CHARACTERS = 20_000
"""In one document."""
MOST_COMPARED = 50_000
"""Expressions times documents for which reasons are given."""
MOST_REASONS = 6
"""For one document; the page says how many are left out."""
_WIDTH = 58

DATA = ("ours", "others", "declared")
"""Whose data the dialects write for: our stores', anybody's, or anybody's with a schema that is
inferred from the documents."""
_OURS: dict[str, dict[str, Any]] = {
    "chroma": {"layout": "exact"},
    "lancedb": {"layout": "exact"},
    "milvus": {"tags": "vecstore_tags"},
    "pinecone": {"layout": "exact"},
    "qdrant": {"prefix": "metadata"},
    "weaviate": {"layout": "exact"},
}
_VERDICTS = {True: "true", False: "false", None: "unknown"}


class BadRequest(ValueError):
    """What was sent is not what the page sends."""


def answer_json(text: str) -> str:
    """Answer a request in JSON.

    Args:
        text: ``{"filter": "...", "documents": ["{...}", ...], "data": "ours"}``: each document is
            the JSON text of its metadata, as it stands in the page.

    Raises:
        BadRequest: If it is something else.

    Example:
        >>> answered = json.loads(answer_json('{"filter": "a == 1", "documents": ["{}"]}'))
        >>> answered["documents"][0]["verdict"], answered["filter"]["normalized"]
        ('false', 'a == 1')
    """
    try:
        request = json.loads(text)
    except (ValueError, RecursionError):
        raise BadRequest("the request is not JSON") from None
    if not isinstance(request, dict):
        raise BadRequest("the request is no object")
    return json.dumps(answer(request))  # in ASCII: a text from outside may hold half a character


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a request.

    Raises:
        BadRequest: If it is no request.
    """
    text, documents = request.get("filter"), request.get("documents", [])
    data = request.get("data", DATA[0])
    if not isinstance(text, str):
        raise BadRequest("filter is a text")
    if not isinstance(documents, list) or not all(isinstance(one, str) for one in documents):
        raise BadRequest("documents is a list of texts")
    if len(documents) > MOST_DOCUMENTS:
        raise BadRequest(f"there are at most {MOST_DOCUMENTS} documents")
    if data not in DATA:
        raise BadRequest(f"data is one of {', '.join(DATA)}")
    read = [_document(one) for one in documents]
    expression, fault = None, None
    if text.strip():
        try:
            expression = parse(text, limits=LIMITS)
        except FilterError as error:
            fault = error_object(error) | {"shown": str(error)}
    schema = None
    schema_fault = None
    if data == "declared":
        schema, schema_fault = _inferred([one for one in read if not isinstance(one, str)])
    return {
        "error": fault,
        "schema": None if schema is None else str(schema),
        "schema_error": schema_fault,
        "filter": None if expression is None else _reading(expression),
        "dialects": [] if expression is None else _dialects(expression, data, schema),
        "documents": _judged(expression, read),
    }


# --- the filter -----------------------------------------------------------------------------------


def _reading(expression: Expression) -> dict[str, Any]:
    return {
        "text": expression.to_text(),
        "normalized": expression.normalize().to_text(),
        "rewrites": rewrites(expression),
        "remarks": remarks(expression),
    }


# --- the dialects ---------------------------------------------------------------------------------


def _dialects(expression: Expression, data: str, schema: Any) -> list[dict[str, Any]]:
    told = []
    for name in dialect_names():
        options = _OURS.get(name, {}) if data == "ours" else {}
        try:
            dialect = get_dialect(name)
            if schema is not None and "schema" in option_names(dialect):
                made = dialect(**options, schema=schema)
            else:
                made = dialect(**options)
            told.append(_outcome(name, options, outcome_of(made, expression)))
        except VecstoreError as error:
            told.append({"name": name, "options": "", "state": "failed", "error": str(error)})
        except Exception as error:  # somebody's plug-in: it is named, and the others go on
            shown = f"{type(error).__name__}: {error}"
            told.append({"name": name, "options": "", "state": "failed", "error": shown})
    return told


def _written(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{option}={value!r}" for option, value in options.items())


def _outcome(name: str, options: Mapping[str, Any], outcome: Compiled | Refused) -> dict[str, Any]:
    told: dict[str, Any] = {"name": name, "options": _written(options)}
    if isinstance(outcome, Compiled):
        state = "everything" if outcome.matches_all else "exact"
        return told | {"state": "nothing" if outcome.matches_nothing else state} | _query(outcome)
    error, partial = outcome.error, outcome.partial
    told |= {"state": "refused", "error": str(error), "reason": error.reason}
    if partial is not None:
        told["partial"] = partial.summary()
    return told


def _query(compiled: Compiled) -> dict[str, Any]:
    params = compiled.params
    pairs = params.items() if isinstance(params, dict) else enumerate(params, 1)
    return {
        "query": query_text(compiled, _WIDTH),
        "params": [[str(name), repr(value)] for name, value in pairs],
    }


# --- the documents --------------------------------------------------------------------------------


@lru_cache(maxsize=2 * MOST_DOCUMENTS)
def _document(text: str) -> dict[str, Any] | str:
    """The metadata in a JSON text, or why there is none."""
    if len(text) > MOST_CHARACTERS:
        return f"a document has at most {MOST_CHARACTERS:,} characters here"
    try:
        held = json.loads(text)
    except json.JSONDecodeError as error:
        return f"this is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
    except RecursionError:
        return "the JSON is nested too deep to be read"
    except ValueError:  # Python does not read integers past 4,300 digits
        return "it holds an integer that is too long to be read"
    if not isinstance(held, dict):
        return 'metadata is a JSON object: {"key": "value"}'
    try:
        return to_metadata(held)
    except UnusableValue as error:
        held = key_text(error.path) or "this"
        return f"no store can hold {held}: {error.reason}; {error.remedy}"


def _judged(
    expression: Expression | None, documents: list[dict[str, Any] | str]
) -> list[dict[str, Any]]:
    judge = None if expression is None else Judge(expression)
    told: list[dict[str, Any]] = []
    for held in documents:
        if isinstance(held, str):
            told.append({"verdict": "unusable", "because": held})
        elif expression is None or judge is None:
            told.append({"verdict": "none"})
        elif judge.size * len(documents) > MOST_COMPARED:
            # The whole filter is one program; its comparisons one by one are hundreds.
            told.append({"verdict": _VERDICTS[expression.evaluate(held)], "left_out": judge.size})
        else:
            value, reasons = judge.verdict(held)
            told.append(
                {
                    "verdict": _VERDICTS[value],
                    "reasons": [list(one) for one in reasons[:MOST_REASONS]],
                    "left_out": max(0, len(reasons) - MOST_REASONS),
                }
            )
    return told


def _inferred(documents: list[dict[str, Any]]) -> tuple[Any, str | None]:
    from vecstore.schema.inference import Inference
    from vecstore.schema.schema import Schema

    try:
        return Schema.infer(Inference.of(documents)), None
    except VecstoreError as error:
        return None, str(error)
