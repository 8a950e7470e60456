"""What a user declares of a collection in Weaviate, and what is answered by what is declared."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from vecstore.dialects.tokens import Path
from vecstore.dialects.weaviate.layout import PROPERTY_TYPES, BaseType
from vecstore.errors import ConfigurationError
from vecstore.filter.convert import ALL_LITERALS, SAFE_DOUBLE, Capabilities, Refusal
from vecstore.filter.keys import read_key
from vecstore.filter.tree import ORDERINGS
from vecstore.filter.values import Kind, Scalar, UnusableValue

SAMPLES: Final[dict[BaseType, Scalar]] = {"text": "x", "int": 0, "number": 0.0, "boolean": True}
# A filter travels as nested protobuf messages, one for each level, and readers of protobuf stop at
# 100; some of them are around the filter.
_DEPTH: Final = 90
PLAIN: Final = Capabilities(
    nested_keys=Refusal(
        "its filters do not step into objects",
        "store the value as a property of its own; in collections that vecstore lays out, "
        'Weaviate(layout="exact") answers nested keys',
    ),
    max_number=SAFE_DOUBLE,
    max_depth=_DEPTH,
)
TRIMMED: Final = Refusal(
    "it takes an empty text for null, and trims white space from texts",
    "compare with a text that neither starts nor ends with white space; in "
    'collections that vecstore lays out, Weaviate(layout="exact") compares any',
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
    return Refusal(
        "the data type of this property is not declared",
        f"declare it: Weaviate(properties={{{path[0]!r}: ...}}) with one "
        f"of {', '.join(PROPERTY_TYPES)}",
    )


def unordered(path: Path, kind: Kind | None) -> Refusal:
    """Why the exact layout does not order the values of a key."""
    option = "numbers" if kind is Kind.NUMBER else "texts"
    key = path[0] if len(path) == 1 else path
    return Refusal(
        f"it orders {option} by a property of their own, and this key has none",
        "declare the key, and add the documents with it: "
        f'Weaviate(layout="exact", {option}={{{key!r}}})',
    )


def read_paths(option: str, keys: Collection[str | Path]) -> frozenset[Path]:
    """The keys of an option as paths.

    Raises:
        ConfigurationError: For what is no set of keys.
    """
    if isinstance(keys, str):
        raise ConfigurationError(f"{option} takes a set of keys: {option}={{{keys!r}}}")
    try:
        return frozenset([read_key(key) for key in keys])
    except UnusableValue as error:
        raise ConfigurationError(f"{option}: {error.reason}; {error.remedy}") from None
    except TypeError as error:
        raise ConfigurationError(f"{option} takes keys, or tuples of names: {error}") from None
