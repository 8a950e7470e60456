"""Reading what a schema is made of: Python types, classes, names of kinds, JSON Schema."""

from __future__ import annotations

import enum
import types
import typing
import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import PurePath
from typing import Any, Final, get_args, get_origin

from vecstore.errors import ConfigurationError
from vecstore.filter.values import Kind, Scalar, UnusableValue, kind_of, shown, to_scalar
from vecstore.schema.kinds import KIND_NAMES, KeyType

# A subclass before its base: a datetime is a date, too.
_TYPES: Final[tuple[tuple[type, str], ...]] = (
    (bool, "bool"),
    (int, "int"),
    (float, "float"),
    (Decimal, "decimal"),
    (datetime, "datetime"),
    (date, "date"),
    (time, "time"),
    (uuid.UUID, "uuid"),
    (PurePath, "path"),
    (str, "str"),
)
_FORMATS: Final = {"date-time": "datetime", "date": "date", "time": "time", "uuid": "uuid"}
_JSON_TYPES: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_DEEPEST = 256
_WRAPPERS: Final = (typing.Annotated, typing.Required, typing.NotRequired, typing.Final)


def read_type(declared: Any, key: str) -> KeyType:
    """What a key holds, however it was declared.

    Args:
        declared: A type, an annotation, the name of a kind, or a list of the values there can be.
        key: The key, for errors.

    Raises:
        ConfigurationError: If it is nothing that metadata can hold.

    Example:
        >>> read_type(list[int], "n") == read_type("list[int]", "n") == KeyType("int", many=True)
        True
    """
    if isinstance(declared, KeyType):
        return declared
    if isinstance(declared, str):
        return _named(declared, key)
    if isinstance(declared, list | tuple):
        return _listed(list(declared), key)
    found = _annotated(declared)
    if isinstance(found, type) and _is_model(found):
        raise ConfigurationError(
            f"{key}: a class of objects is declared by Schema.of around it, or as a mapping of its "
            "keys"
        )
    if isinstance(found, KeyType):
        return found
    raise ConfigurationError(
        f"{key}: {shown(declared)} declares nothing that metadata can hold; {_KNOWN}"
    )


def keys_of_model(model: type) -> dict[Any, Any]:
    """The keys of a class by its annotations; nested classes are mappings.

    Raises:
        ConfigurationError: If it has none, or one says nothing that metadata can hold.
    """
    if not isinstance(model, type) or not (_is_model(model) or hasattr(model, "__annotations__")):
        raise ConfigurationError(
            f"a schema is read from a class with annotations, not from {shown(model)}; for a "
            "mapping write Schema({...})"
        )
    return _model_keys(model, ())


def _model_keys(model: type, outer: tuple[type, ...]) -> dict[Any, Any]:
    if model in outer:
        raise ConfigurationError(
            f"{model.__name__} holds itself, and metadata ends somewhere; declare its keys as a "
            "mapping"
        )
    fields = getattr(model, "model_fields", None)
    try:
        if isinstance(fields, Mapping) and fields:
            hints = {name: field.annotation for name, field in fields.items()}
        else:
            hints = typing.get_type_hints(model, include_extras=True)
    except Exception as error:
        raise ConfigurationError(
            f"the annotations of {model.__name__} cannot be read ({type(error).__name__}: {error})"
        ) from None
    keys: dict[Any, Any] = {}
    for name, hint in hints.items():
        if get_origin(hint) is typing.ClassVar or name.startswith("_"):
            continue
        found = _annotated(hint)
        place = f"{model.__name__}.{name}"
        if isinstance(found, type):
            keys[(name,)] = _model_keys(found, (*outer, model))
        elif found is None:
            raise ConfigurationError(
                f"{place}: {shown(hint)} is nothing that metadata can hold; {_KNOWN}"
            )
        else:
            keys[(name,)] = found
    if not keys:
        raise ConfigurationError(f"{model.__name__} has no annotations to read keys from")
    return keys


def _annotated(hint: Any) -> KeyType | type | None:
    """What an annotation declares: a key's type, a class of objects, or nothing usable."""
    while True:
        origin = get_origin(hint)
        if origin in _WRAPPERS:
            hint = get_args(hint)[0]
        elif isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__
        elif origin in (typing.Union, types.UnionType):
            parts = [part for part in get_args(hint) if part is not type(None)]
            if len(parts) != 1:
                return _union([_annotated(part) for part in parts])
            hint = parts[0]
        else:
            break
    if hint is Any or hint is object:
        return KeyType("any")
    if origin is typing.Literal:
        return _choices(list(get_args(hint)), None)
    if isinstance(origin, type) and issubclass(origin, Collection):
        if issubclass(origin, Mapping):
            return None
        inner = [part for part in get_args(hint) if part is not Ellipsis]
        element = _annotated(inner[0]) if len(set(inner)) == 1 else None
        if not isinstance(element, KeyType) or element.many:
            return None
        return KeyType(element.kind, True, element.choices, element.python)
    if not isinstance(hint, type):
        return None
    if issubclass(hint, enum.Enum):
        return _choices([member.value for member in hint], hint)
    if _is_model(hint):
        return hint
    return next((KeyType(name) for base, name in _TYPES if issubclass(hint, base)), None)


def _union(parts: list[KeyType | type | None]) -> KeyType | None:
    """Of several types one that holds them all: numbers are one kind to filters."""
    kinds = {part.kind if isinstance(part, KeyType) and not part.many else "" for part in parts}
    return KeyType("float") if kinds == {"int", "float"} else None


def _is_model(found: type) -> bool:
    """Whether a class describes objects. Pydantic's are told by what they have."""
    fields = getattr(found, "model_fields", None)
    return (
        is_dataclass(found)
        or typing.is_typeddict(found)
        or (isinstance(fields, Mapping) and hasattr(found, "model_validate"))
        or (issubclass(found, tuple) and hasattr(found, "_fields"))
    )


def _named(name: str, key: str) -> KeyType:
    text = name.strip()
    many = text.startswith("list[") and text.endswith("]")
    kind = text[5:-1].strip() if many else text
    if kind not in KIND_NAMES or (many and kind == "any"):
        raise ConfigurationError(f"{key}: there is no kind {name!r}; {_KNOWN}")
    return KeyType(kind, many)


def _listed(values: list[Any], key: str) -> KeyType:
    """The values there can be; a list of them in a list: the elements there can be."""
    many = len(values) == 1 and isinstance(values[0], list | tuple)
    found = _choices(list(values[0]) if many else values, None)
    if found is None:
        raise ConfigurationError(
            f"{key}: a list declares the values there can be, such as ['draft', 'final']: texts, "
            "numbers or bools of one kind"
        )
    return KeyType(found.kind, many, found.choices)


def _choices(values: list[Any], python: type | None) -> KeyType | None:
    try:
        scalars: list[Scalar] = [to_scalar(value) for value in values if value is not None]
    except UnusableValue:
        return None
    kinds = {kind_of(value) for value in scalars}
    if len(kinds) != 1:
        return None
    [kind] = kinds
    if kind is Kind.NUMBER:
        name = "int" if all(type(value) is int for value in scalars) else "float"
    else:
        name = "bool" if kind is Kind.BOOL else "str"
    return KeyType(name, False, tuple(dict.fromkeys(scalars)), python)


def keys_of_json_schema(schema: Mapping[str, Any]) -> dict[Any, Any]:
    """The keys that a JSON Schema of an object describes.

    Raises:
        ConfigurationError: With the place of what metadata cannot hold.
    """
    if not isinstance(schema, Mapping):
        raise ConfigurationError(f"a JSON Schema is a mapping, not a {type(schema).__name__}")
    return _json_keys(schema, schema, "#", ())


def _json_keys(
    root: Mapping[str, Any], schema: Mapping[str, Any], place: str, outer: tuple[int, ...]
) -> dict[Any, Any]:
    schema = _followed(root, schema, place)
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        raise ConfigurationError(f'{place}: an object is described by its "properties"')
    if id(schema) in outer:
        raise ConfigurationError(f"{place}: an object that holds itself has no end")
    keys: dict[Any, Any] = {}
    for name, inner in properties.items():
        keys[(name,)] = _json_type(root, inner, f"{place}/properties/{name}", (*outer, id(schema)))
    return keys


def _json_type(root: Mapping[str, Any], schema: Any, place: str, outer: tuple[int, ...]) -> Any:
    if schema is True or schema == {}:
        return KeyType("any")
    if place.count("/") > _DEEPEST:
        raise ConfigurationError(f"{place[:80]}…: this is nested too deep")
    schema = _followed(root, schema, place)
    if "enum" in schema or "const" in schema:
        values = schema["enum"] if "enum" in schema else [schema["const"]]
        found = _choices(list(values), None) if isinstance(values, list) else None
        if found is None:
            raise ConfigurationError(
                f"{place}: the values are of one kind: texts, numbers or bools"
            )
        return found
    for several in ("anyOf", "oneOf"):
        if several in schema:
            parts = [part for part in schema[several] if part != {"type": "null"}]
            if len(parts) != 1:
                raise ConfigurationError(f"{place}: a key has one kind, and may be null besides")
            return _json_type(root, parts[0], f"{place}/{several}", outer)
    named = schema.get("type")
    if isinstance(named, list):
        rest = [one for one in named if one != "null"]
        named = rest[0] if len(rest) == 1 else None
    if named == "object":
        return _json_keys(root, schema, place, outer)
    if named == "array":
        inner = _json_type(root, schema.get("items", True), f"{place}/items", outer)
        if not isinstance(inner, KeyType) or inner.many or inner.kind == "any":
            raise ConfigurationError(f"{place}: a list holds texts, numbers or bools of one kind")
        return KeyType(inner.kind, True, inner.choices)
    if named not in _JSON_TYPES:
        raise ConfigurationError(
            f'{place}: "type" is one of array, boolean, integer, number, object, string, with or '
            "without null"
        )
    if named == "string":
        return KeyType(_FORMATS.get(schema.get("format", ""), "str"))
    return KeyType(_JSON_TYPES[named])


def _followed(root: Mapping[str, Any], schema: Any, place: str) -> Mapping[str, Any]:
    """The schema itself, behind as many references as there are."""
    for _ in range(64):
        if not isinstance(schema, Mapping):
            raise ConfigurationError(f"{place}: a schema is a mapping")
        reference = schema.get("$ref")
        if reference is None:
            return schema
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise ConfigurationError(f"{place}: only references within the schema are followed")
        schema = _pointed(root, reference, place)
    raise ConfigurationError(f"{place}: the references have no end")


def _pointed(root: Any, reference: str, place: str) -> Any:
    here = root
    for part in _parts(reference):
        if not isinstance(here, Mapping) or part not in here:
            raise ConfigurationError(f"{place}: there is nothing at {reference!r}")
        here = here[part]
    return here


def _parts(reference: str) -> Iterator[str]:
    for part in reference.split("/")[1:]:
        yield part.replace("~1", "/").replace("~0", "~")


_KNOWN = f"a kind is one of {', '.join(KIND_NAMES)}, or list[...] of one"
