"""What suites of stores on Weaviate share: the schema, and objects that others wrote."""

from __future__ import annotations

from typing import Any

from vecstore import Schema
from vecstore.dialects.weaviate.layout import ID, METADATA, TEXT, TOKENS

SCHEMA = Schema({"n": Any, "k": Any}, others="allow")
"""Keys by whose values tests order documents, whatever they are."""

_METADATA = {
    "metadata is a list": "[1]",
    "metadata is a text": '"text"',
    "metadata is a number": "5",
}


def damaged_properties(kind: str) -> dict[str, Any] | None:
    """An object that is not of the layout; None where no server holds such a one.

    A property has a type, and null is its absence.
    """
    held: dict[str, Any] = {
        ID: "damaged",
        TEXT: "damaged",
        METADATA: '{"n":-1}',
        TOKENS: ["[]", '["n"]'],
    }
    match kind:
        case "no id" | "no text" | "no metadata":
            del held[{"id": ID, "text": TEXT, "metadata": METADATA}[kind.removeprefix("no ")]]
        case "nothing":
            held = {}
        case _ if kind in _METADATA:
            held[METADATA] = _METADATA[kind]
        case _:
            return None
    return held
