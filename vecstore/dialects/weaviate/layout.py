"""How documents are laid out in a Weaviate object so that every filter is exact.

Properties have one type each, empty texts and lists are null to the index, and texts are trimmed.
So what a filter may ask for stands in one ``text[]`` of tokens. Keys whose values are ordered have
a property of their own, besides, because a condition on a list asks each element by itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any, Final, Literal

from vecstore.dialects.declared import Declaration, declared_keys, ordered_keys
from vecstore.dialects.tokens import Path, document_tokens, nearest_double, present_values
from vecstore.filter.values import Kind, Scalar, kind_of
from vecstore.frozen import frozen

BaseType = Literal["text", "int", "number", "boolean"]

# Names that start with two underscores belong to GraphQL.
TOKENS: Final = "vecstore_tokens"
"""Name of the property that holds the tokens: ``text[]``, tokenization ``field``."""

ID: Final = "vecstore_id"
TEXT: Final = "vecstore_text"
METADATA: Final = "vecstore_metadata"
EXTRA: Final = "vecstore_extra"
"""Names of the properties that hold a document itself, each a text without an index. The last one,
which collections of before have not, is what stands beside the metadata, as JSON.

No name of an ordered key is one of them: those end in their type.
"""

_KINDS: Final[dict[BaseType, Kind]] = {
    "text": Kind.STRING,
    "int": Kind.NUMBER,
    "number": Kind.NUMBER,
    "boolean": Kind.BOOL,
}
_BASES: Final[dict[str, BaseType]] = {
    "bool": "boolean",
    "int": "int",
    **dict.fromkeys(("float", "decimal"), "number"),
    **dict.fromkeys(("str", "path", "uuid", "datetime", "date", "time"), "text"),
}
_LONGEST_NAME = 231
_NAME = re.compile(rf"[_a-z][_0-9A-Za-z]{{0,{_LONGEST_NAME - 1}}}")
_TAKEN = re.compile(
    r"id|_id|_additional|_creationTimeUnix|_lastUpdateTimeUnix"
    r"|.*(_searchable|_rangeable|_temp|__meta_count|_propertyLength|_nullState)"
)
_KEPT = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789")
_TERMINATOR = "!"
_ESCAPED = {code: f'"{code:02x}' for code in range(ord('"') + 1)}


@frozen
class PropertyType:
    """What a property holds.

    Attributes:
        base: The data type of one value.
        several: Whether it holds a list of them.
        kind: How filters see the values.
    """

    base: BaseType
    several: bool
    kind: Kind

    def holds(self, value: Scalar) -> bool:
        """Whether the property can hold the value, as itself or in its list."""
        return kind_of(value) is self.kind and (self.base != "int" or value == int(value))

    def stored(self, value: Scalar) -> Scalar:
        """The value in the type by which clients tell what to send."""
        if self.base == "number":
            return nearest_double(value)  # type: ignore[arg-type]
        return int(value) if self.base == "int" else value


PROPERTY_TYPES: Final = {
    f"{base}{brackets}": PropertyType(base, bool(brackets), kind)
    for base, kind in _KINDS.items()
    for brackets in ("", "[]")
}
"""The data types that filters can be exact on, by Weaviate's name for them."""


def property_types_of(schema: Declaration | None) -> dict[str, PropertyType]:
    """The types of the properties that a schema declares; what is no name of one is left out."""
    types: dict[str, PropertyType] = {}
    for path, declared in declared_keys(schema).items():
        if len(path) == 1 and is_property(path[0]):
            brackets = "[]" if declared.many else ""
            types[path[0]] = PROPERTY_TYPES[f"{_BASES[declared.kind]}{brackets}"]
    return dict(sorted(types.items()))


def is_property(name: str) -> bool:
    """Whether a property can have that name.

    Example:
        >>> is_property("year"), is_property("Year"), is_property("id")
        (True, False, False)
    """
    return _NAME.fullmatch(name) is not None and _TAKEN.fullmatch(name) is None


def number_property(path: Path) -> str:
    """Name of the ``number`` property that orders the numbers at a path.

    Example:
        >>> number_property(("author", "born_in"))
        'vecstore_author__born_5fin_number'
    """
    return _property(path, "number")


def text_property(path: Path) -> str:
    """Name of the ``text`` property (tokenization ``field``) that orders the texts at a path."""
    return _property(path, "text")


def ordered_text(text: str) -> str:
    """A text that survives trimming and whose UTF-8 bytes are ordered like the original's.

    Example:
        >>> ordered_text("2024-01-01"), ordered_text(" a")
        ('=2024-01-01!', '="20a!')
        >>> ordered_text("a") < ordered_text("a b") < ordered_text("ab")
        True
    """
    # The terminator comes before every other character, as the end of a text does. So what does
    # not come after it is escaped, by a character that does.
    return "=" + text.translate(_ESCAPED) + _TERMINATOR


def property_types(schema: Declaration | None = None) -> dict[str, str]:
    """The properties that a collection needs, with their data types.

    Every text among them has the tokenization ``field``.

    Args:
        schema: What the keys hold; those with numbers or texts get a property that orders them, and
            those that may hold anything get both.

    Example:
        >>> from vecstore import Schema
        >>> property_types(Schema({"year": int, "tags": list[str]}))
        {'vecstore_tokens': 'text[]', 'vecstore_year_number': 'number'}
    """
    types = {TOKENS: "text[]"}
    numbers, texts = ordered_keys(schema, Kind.NUMBER), ordered_keys(schema, Kind.STRING)
    types.update((number_property(path), "number") for path in sorted(numbers))
    types.update((text_property(path), "text") for path in sorted(texts))
    return types


def filter_properties(
    metadata: Mapping[str, Any], schema: Declaration | None = None
) -> dict[str, list[str] | float | str]:
    """What an object holds for filters to work on, beside whatever else it holds.

    Args:
        metadata: As a ``Document`` holds it.
        schema: The one by which the collection was made.

    Example:
        >>> from vecstore import Schema
        >>> filter_properties({"year": 2020}, Schema({"year": int}))
        {'vecstore_tokens': ['[]', '["year"]', '["year"]=2020'], 'vecstore_year_number': 2020.0}
    """
    numbers, texts = ordered_keys(schema, Kind.NUMBER), ordered_keys(schema, Kind.STRING)
    return ordered_properties(metadata, numbers, texts)


def ordered_properties(
    metadata: Mapping[str, Any], numbers: Collection[Path], texts: Collection[Path]
) -> dict[str, list[str] | float | str]:
    """The same for a collection that orders the numbers and the texts of these keys.

    Example:
        >>> ordered_properties({"year": 2020}, [], [])
        {'vecstore_tokens': ['[]', '["year"]', '["year"]=2020']}
    """
    properties: dict[str, list[str] | float | str] = {TOKENS: document_tokens(metadata)}
    for path, value in present_values(metadata):
        if path in numbers and type(value) in (int, float):
            properties[number_property(path)] = nearest_double(value)
        elif path in texts and type(value) is str:
            properties[text_property(path)] = ordered_text(value)
    return properties


def _property(path: Path, data_type: str) -> str:
    """A name of small letters, digits and underscores, different for every path and type.

    Capitals are escaped as well: the server takes names that differ in case alone for the same.
    The type stands last, so that no name ends like those of the server's own indexes.
    """
    segments = [
        "".join([chr(byte) if byte in _KEPT else f"_{byte:02x}" for byte in segment.encode()])
        for segment in path
    ]
    name = f"vecstore_{'__'.join(segments)}_{data_type}"
    if len(name) <= _LONGEST_NAME:
        return name
    # "_h" stands in no other name: what follows an underscore is two hexadecimal digits.
    return f"vecstore__h{sha256(name.encode('ascii')).hexdigest()}_{data_type}"
