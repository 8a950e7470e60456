"""Collections that other programs made: what their objects are as documents, and what is exact.

The metadata of a document are the properties of its object, each of a type of its own; its id is
the object's UUID, or stands in a property.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from vecstore.dialects.declared import Declaration
from vecstore.dialects.weaviate.dialect import Weaviate
from vecstore.dialects.weaviate.filters import IS_THERE, among
from vecstore.dialects.weaviate.layout import (
    PROPERTY_TYPES,
    PropertyType,
    is_property,
    property_types_of,
)
from vecstore.dialects.weaviate.where import Condition
from vecstore.document import shown_id
from vecstore.errors import DocumentError
from vecstore.filter.convert import SAFE_DOUBLE, Refusal
from vecstore.filter.text import key_text
from vecstore.filter.tree import NULL_TESTS, Expression, Op
from vecstore.filter.values import Kind, kind_of
from vecstore.store.foreign import fault_of
from vecstore.store.limits import is_in_charset

_NEGATION: Final = (1, 33)
"""From this version on the server has ``Not``."""

_DECLARED: Final = {"text": "str", "int": "int", "number": "float", "boolean": "bool"}


class Held(NamedTuple):
    """What an object holds of a document.

    Attributes:
        id: Of the document.
        text: Of the document.
        metadata: Of the document.
        extra: What it has beside its metadata, as JSON text.
        fault: Why there is no document in it; None where there is one.
    """

    id: str
    text: str
    metadata: dict[str, Any]
    extra: str | None
    fault: str | None


@dataclass(frozen=True, slots=True)
class PlainNames:
    """Which properties are no metadata.

    Attributes:
        text: Holds the document's text.
        id: Holds its id; None where that is the object's own.
    """

    text: str
    id: str | None


@dataclass(frozen=True, slots=True)
class Answers:
    """Why conditions on a property are not exact; None where they are.

    Attributes:
        compared: Comparisons with a value.
        null: Tests for what is there.
        absent: Those for what is not there.
    """

    compared: Refusal | None
    null: Refusal | None
    absent: Refusal | None

    def refusal(self, op: Op) -> Refusal | None:
        """Why an operator is refused."""
        if op not in NULL_TESTS:
            return self.compared
        return self.null or (self.absent if op is Op.ISNULL else None)


class CollectionDialect(Weaviate):
    """The plain layout, on a collection whose own settings are known; :meth:`of` makes it.

    Attributes:
        known: What every property of the collection is, in words, by its name.
        answers: What those answer that the schema declares.
    """

    known: Mapping[str, str]
    answers: Mapping[str, Answers]

    @classmethod
    def of(
        cls,
        schema: Declaration | None,
        known: Mapping[str, str],
        answers: Mapping[str, Answers],
    ) -> CollectionDialect:
        """The dialect of a collection."""
        made = cls(layout="plain", schema=schema)
        object.__setattr__(made, "known", known)
        object.__setattr__(made, "answers", answers)
        return made

    def check(self, atom: Expression) -> None:
        """Refuse what the property does not answer by the settings of its collection."""
        answers = self.answers.get(atom.key.path[0])
        refused = None if answers is None else answers.refusal(atom.op)
        if refused is not None:
            raise self.refuse(atom, refused.reason, refused.remedy)
        super().check(atom)

    def refusal(self, atom: Expression, kind: Kind | None) -> Refusal | None:
        """Say what the collection has a property as."""
        path = atom.key.path
        what = self.known.get(path[0]) if len(path) == 1 else None
        if what is None:
            return super().refusal(atom, kind)
        held = PROPERTY_TYPES.get(what)
        if held is None:
            return Refusal(
                f"this property is {what}, of which its filters know something else than its text",
                "filter it with the client itself",
            )
        name = _DECLARED[held.base]
        declared = f"list[{name}]" if held.several else name
        return Refusal(
            f"what this property holds is not declared; the collection has it as {what}",
            f"open the store with schema=Schema({{{key_text(path)!r}: {declared}}})",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainObjects:
    """Objects as documents.

    Attributes:
        names: Which properties are no metadata.
        types: What the others hold that can be written, by their names.
        known: What every property is, in words, by its name.
        trimmed: Those whose texts the index trims.
        answers: What the properties answer that the schema declares.
    """

    names: PlainNames
    types: Mapping[str, PropertyType]
    known: Mapping[str, str]
    trimmed: frozenset[str]
    answers: Mapping[str, Answers]

    @property
    def sign(self) -> Condition:
        """What every document answers."""
        return IS_THERE

    def dialect(self, schema: Declaration | None) -> Weaviate:
        """What compiles filters for the collection."""
        return CollectionDialect.of(schema, self.known, self.answers)

    # --- reading -----------------------------------------------------------------------------

    def wanted(self, text: bool, metadata: bool) -> Any:
        """The properties to ask for, as the client is told."""
        if metadata:
            return None  # all of them: others may have added some since
        names = [*([self.names.id] if self.names.id else []), *([self.names.text] * text)]
        return names or False

    def read(self, key: str, fields: Mapping[str, Any]) -> Held:
        """What an object holds."""
        names = self.names
        document_id = key if names.id is None else fields.get(names.id)
        fault = fault_of(document_id, None)
        if fault is None and str(document_id).strip() != document_id:
            fault = "its id begins or ends with white space, which filters do not see"
        text = fields.get(names.text)
        metadata = {
            name: held
            for name, value in sorted(fields.items())  # each time they come in another order
            if name not in (names.id, names.text) and (held := _as_metadata(value)) is not None
        }
        return Held(str(document_id), text if isinstance(text, str) else "", metadata, None, fault)

    def among(self, ids: Iterable[str]) -> Any:
        """Objects with one of these ids; None where there can be none."""
        if self.names.id is None:
            keys = [one for one in ids if is_in_charset(one, "uuid")]
            return among(keys) if keys else None
        found = [one for one in ids if one == one.strip()]
        if not found:
            return None
        from weaviate.classes.query import Filter

        return Filter.by_property(self.names.id).contains_any(found)

    # --- writing -----------------------------------------------------------------------------

    def check(self, document_id: str, metadata: Mapping[str, Any]) -> None:
        """Refuse what the properties cannot hold, or filters would see otherwise.

        Raises:
            DocumentError: Naming the document and the key.
        """
        if self.names.id is not None and document_id != document_id.strip():
            raise DocumentError(
                f"the id {shown_id(document_id)} begins or ends with white space, which Weaviate "
                "does not see; use another id",
                document_id=document_id,
            )
        for name, value in metadata.items():
            if (fault := self._fault(name, value)) is not None:
                raise DocumentError(
                    f"document {shown_id(document_id)}: the key {key_text((name,))} {fault}",
                    document_id=document_id,
                )

    def fault_in_changes(self, set: Mapping[str, Any], unset: Iterable[str]) -> str | None:
        """Why properties cannot be set or unset so; None where they can."""
        for name, value in set.items():
            if (fault := self._fault(name, value)) is not None:
                return f"the key {key_text((name,))} {fault}"
        for name in unset:
            if name in (self.names.id, self.names.text):
                return f"the key {key_text((name,))} {self._reserved(name)}"
        return None

    def _reserved(self, name: str) -> str:
        what = "text" if name == self.names.text else "id"
        return f"is the property that holds the document's {what}; use another key"

    def _fault(self, name: str, value: Any) -> str | None:
        """Why a property cannot hold a value."""
        if name in (self.names.id, self.names.text):
            return self._reserved(name)
        if value is None or value == []:
            return None
        held = self.types.get(name)
        if held is None:
            if name in self.known:
                return f"is {self.known[name]} there, which this layout reads and does not write"
            if not is_property(name):
                return (
                    "is no name of a property: those have letters, digits and _, and start with a "
                    "small letter or _"
                )
            return "is no property of the collection; add it there first, with its type"
        if isinstance(value, list) != held.several:
            return f"is {self.known[name]} there and takes {'lists' if held.several else 'no list'}"
        for item in value if isinstance(value, list) else [value]:
            if not _fits(held, item):
                return f"is {self.known[name]} there and cannot hold {item!r:.60}"
            if item == "":
                return "is an empty text, which Weaviate takes for null; leave it out"
            if isinstance(item, str) and name in self.trimmed and item != item.strip():
                return "begins or ends with white space, which filters do not see; strip it"
        return None

    def properties(
        self, document_id: str, text: str, metadata: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A document as the properties of an object."""
        own = {} if self.names.id is None else {self.names.id: document_id}
        held = {
            name: self.stored(name, value)
            for name, value in metadata.items()
            if value is not None and value != []
        }
        return {**own, self.names.text: text, **held}

    def stored(self, name: str, value: Any) -> Any:
        """A value in the type by which the client tells the server what it is."""
        if value is None or value == []:
            return None
        held = self.types[name]
        return [*map(held.stored, value)] if isinstance(value, list) else held.stored(value)


def _fits(held: PropertyType, value: Any) -> bool:
    """Whether a value comes back from a property as it went in."""
    if not isinstance(value, (str, bool, int, float)) or kind_of(value) is not held.kind:
        return False
    if held.base == "int":
        return type(value) is int
    # An integer comes back as the float that equals it.
    return held.base != "number" or isinstance(value, float) or abs(int(value)) <= SAFE_DOUBLE


def _as_metadata(value: Any) -> Any:
    """A value of the client's as metadata holds it; None for what is absent."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, list):
        return [one for item in value if (one := _as_metadata(item)) is not None] or None
    if isinstance(value, Mapping):
        items = value.items()
    elif is_dataclass(value) and not isinstance(value, type):  # a telephone number
        items = asdict(value).items()
    elif hasattr(value, "model_dump"):  # a place on the earth
        items = value.model_dump().items()
    else:
        return str(value)
    return {str(name): one for name, item in items if (one := _as_metadata(item)) is not None}


# --- what a collection is like ----------------------------------------------------------------


def plain_objects(
    config: Any,
    names: PlainNames,
    schema: Declaration | None,
    version: Callable[[], str],
    faults: list[str],
) -> PlainObjects:
    """What the objects of a collection are as documents.

    Args:
        config: Of the collection, as the client returns it.
        names: Which properties are no metadata.
        schema: What the keys hold, of which filters may ask.
        version: Gets the server's.
        faults: Takes note of what does not fit.
    """
    properties = {one.name: one for one in config.properties}
    known = {name: _word(one.data_type) for name, one in properties.items()}
    known.update({one.name: "a cross-reference" for one in config.references})
    _check_names(names, properties, known, faults)
    metadata = {name: kind for name, kind in known.items() if name not in (names.id, names.text)}
    types = {
        name: PROPERTY_TYPES[kind] for name, kind in metadata.items() if kind in PROPERTY_TYPES
    }
    declared = property_types_of(schema)
    for name, wanted in declared.items():
        brackets = "[]" if wanted.several else ""
        if name not in known:
            faults.append(
                f"it has no property {name!r}, which the schema declares: leave it out of the "
                f"schema, or add it as {wanted.base}{brackets}"
            )
        elif name not in metadata:
            faults.append(
                f"the property {name!r} is no metadata but a document's id or text: leave it out "
                "of the schema"
            )
        elif types.get(name) != wanted:
            faults.append(
                f"the property {name!r} is {known[name]}, and the schema declares what "
                f"{wanted.base}{brackets} holds: {_better(name, types.get(name))}"
            )
    nulls = bool(config.inverted_index_config.index_null_state)
    told = version() if declared and nulls and not faults else ""
    return PlainObjects(
        names=names,
        types=types,
        known=metadata,
        trimmed=frozenset([name for name, one in properties.items() if _is_field(one)]),
        answers={
            name: _answers(properties[name], nulls, told) for name in declared if name in properties
        },
    )


def _check_names(
    names: PlainNames, properties: Mapping[str, Any], known: Mapping[str, str], faults: list[str]
) -> None:
    texts = ", ".join(repr(name) for name, kind in sorted(known.items()) if kind == "text")
    for what, name in (("text", names.text), ("id", names.id)):
        if name is not None and known.get(name) != "text":
            there = f"is {known[name]}" if name in known else "is not there"
            faults.append(
                f"the property {name!r} for the {what} of documents {there}: name one that is a "
                f"text with {what}_property=..., such as {texts or 'one that you add'}"
            )
    found = properties.get(names.id) if names.id is not None else None
    if found is not None and known[found.name] == "text":
        if not _is_field(found) or not found.index_filterable:
            faults.append(
                f"the property {names.id!r} for the id has the tokenization "
                f"{_word(found.tokenization)!r} or no filterable index, so that no id can be "
                "looked up: leave id_property=... out, and ids are the objects' own"
            )


def _better(name: str, held: PropertyType | None) -> str:
    if held is None:
        return "leave it out of the schema; filters do not ask for such a property"
    declared = _DECLARED[held.base]
    return f"declare {name!r} as {f'list[{declared}]' if held.several else declared}"


def _answers(prop: Any, nulls: bool, version: str) -> Answers:
    """What a property answers by the settings of its collection."""
    compared = null = absent = None
    kind = _word(prop.data_type)
    if not prop.index_filterable:
        compared = null = Refusal(
            "this property has no filterable index (indexFilterable)",
            "copy the collection into one in which it has; vecstore.copy does",
        )
    elif kind.startswith("text") and not _is_field(prop):
        compared = Refusal(
            f"this property has the tokenization {_word(prop.tokenization)!r}, which compares the "
            "words of a text and not the text",
            "copy the collection into one in which the tokenization is field; vecstore.copy does",
        )
    if null is None and not nulls:
        null = Refusal(
            "this collection does not index what is null (indexNullState), which is settled when "
            "it is made",
            "copy the collection into one that does; vecstore.copy does",
        )
    elif null is None and _release(version) < _NEGATION:
        absent = Refusal(
            f"this server ({version}) takes objects that are older than a property for such as "
            "have it",
            "use a server from 1.33 on",
        )
    return Answers(compared, null, absent)


def _release(version: str) -> tuple[int, ...]:
    """The first two numbers of a version."""
    return tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())


def _is_field(prop: Any) -> bool:
    return prop.tokenization is not None and _word(prop.tokenization) == "field"


def _word(told: Any) -> str:
    """A value of one of the client's enumerations."""
    return str(getattr(told, "value", told))
