"""What Weaviate answers exactly in either layout, and why it does not answer the rest."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from vecstore.dialects.tokens import Path
from vecstore.dialects.weaviate.layout import BaseType, is_property
from vecstore.filter.convert import ALL_LITERALS, SAFE_DOUBLE, Capabilities, Refusal
from vecstore.filter.text import key_text
from vecstore.filter.tree import ORDERINGS
from vecstore.filter.values import Kind, Scalar

SAMPLES: Final[dict[BaseType, Scalar]] = {"text": "x", "int": 0, "number": 0.0, "boolean": True}
# A filter travels as nested protobuf messages, one for each level, and readers of protobuf stop at
# 100; some of them are around the filter.
_DEPTH: Final = 90
PLAIN: Final = Capabilities(
    nested_keys=Refusal(
        "its filters do not step into objects",
        "store the value as a property of its own; in collections that vecstore lays out, "
        'layout="exact" answers nested keys',
    ),
    max_number=SAFE_DOUBLE,
    max_depth=_DEPTH,
)
TRIMMED: Final = Refusal(
    "it takes an empty text for null, and trims white space from texts",
    "compare with a text that neither starts nor ends with white space; in "
    'collections that vecstore lays out, layout="exact" compares any',
)


def exact_capabilities(numbers: Collection[Path], texts: Collection[Path]) -> Capabilities:
    """What the exact layout answers, where the numbers and texts of these keys are ordered."""
    declared = ((Kind.NUMBER, numbers), (Kind.STRING, texts))
    ordered = frozenset([kind for kind, keys in declared if keys])
    literals = {
        op: ordered if op in ORDERINGS else kinds
        for op, kinds in ALL_LITERALS.items()
        if ordered or op not in ORDERINGS
    }
    return Capabilities(literals=literals, max_ordered_number=SAFE_DOUBLE, max_depth=_DEPTH)


def undeclared(path: Path) -> Refusal:
    """Why the plain layout does not answer for a property."""
    if len(path) == 1 and not is_property(path[0]):
        return Refusal(
            "no property has this name: names have letters, digits and _, start with a small "
            "letter (the server makes it one) or _, and are not reserved",
            "store the value under another name; in collections that vecstore lays out, "
            'layout="exact" answers any key',
        )
    return Refusal("what this property holds is not declared", f"declare it: {_schema(path, None)}")


def unordered(path: Path, kind: Kind | None) -> Refusal:
    """Why the exact layout does not order the values of a key."""
    what = "numbers" if kind is Kind.NUMBER else "texts"
    return Refusal(
        f"it orders {what} by a property of their own, and this key has none",
        f"declare the key, and add the documents by it: {_schema(path, kind)}",
    )


def _schema(path: Path, kind: Kind | None) -> str:
    held = {Kind.NUMBER: "float", Kind.STRING: "str", None: "..."}.get(kind, "...")
    # The dialect and the store take it alike; in the exact layout other keys need no declaration.
    others = "" if kind is None else ", others='allow'"
    return f"schema=Schema({{{key_text(path)!r}: {held}}}{others})"
