"""Pinecone's metadata filter language, as its documentation tells it.

Pinecone runs only as a service, so this strict little interpreter stands in for it. It refuses what
the documentation does not promise, and where the documentation is silent, or what it says has
changed over the years, a switch of the constructor decides, so that a test can run under both.

Each rule names the page it comes from, of Pinecone's documentation unless another source is given:

- "Indexing overview", sections "Metadata format", "Metadata size", "Metadata filter expressions"
- "Filter by metadata" (the search guide) and its predecessors "Understanding metadata" and
  "Filtering with metadata"
- "Database limits", sections "Metadata filter limits" and "Identifier limits"
- "File metadata" (the guide to Pinecone Assistant), which tells the most about lists
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

# "Metadata size" says 40 KB; the service's own message counts 40960 bytes.
MOST_METADATA_BYTES = 40_960
# "Metadata filter limits": per operator, however many of them a filter has.
MOST_MEMBERS = 10_000
# "Identifier limits", record id.
MOST_ID_CHARACTERS = 512

_ORDERINGS = {
    "$gt": lambda value, bound: value > bound,
    "$gte": lambda value, bound: value >= bound,
    "$lt": lambda value, bound: value < bound,
    "$lte": lambda value, bound: value <= bound,
}

Scalar = str | float | bool
Stored = dict[str, Scalar | list[str]]
Reading = Callable[[Stored], bool]


class PineconeRejected(ValueError):
    """Pinecone refuses this filter or record, or does not promise to take it."""


class PineconeRules:
    """One namespace of records: ``upsert`` metadata, ``query`` by filter.

    Args:
        missing_matches_ne: Whether ``$ne`` and ``$nin`` select records that lack the field. They
            did until early 2024 and have not since (haystack-core-integrations#590).
        other_types_match_ne: Whether ``$ne`` and ``$nin`` select records whose field holds another
            type than the literal. No page says.
        or_needs_every_field: Whether ``$or`` leaves out records that lack any of the fields it
            names, as the same report has it of early 2024.
        empty_list_exists: Whether ``$exists`` is true of a field that holds an empty list. No page
            says.
        lenient_members: Whether ``$in`` and ``$nin`` take booleans, mixed types and an empty list.
            "Metadata filter expressions" promises only strings and numbers.
        accepts_not: Whether ``{field: {"$not": {…}}}`` is understood. Only the most recent
            "Indexing overview" lists ``$not``.
    """

    def __init__(
        self,
        *,
        missing_matches_ne: bool = False,
        other_types_match_ne: bool = True,
        or_needs_every_field: bool = False,
        empty_list_exists: bool = True,
        lenient_members: bool = False,
        accepts_not: bool = False,
    ) -> None:
        self.missing_matches_ne = missing_matches_ne
        self.other_types_match_ne = other_types_match_ne
        self.or_needs_every_field = or_needs_every_field
        self.empty_list_exists = empty_list_exists
        self.lenient_members = lenient_members
        self.accepts_not = accepts_not
        self._records: dict[str, Stored] = {}

    def upsert(self, id: str, metadata: Mapping[str, Any]) -> None:
        """Writes a record, replacing the whole of one with the same id ("Upsert data")."""
        check_id(id)
        self._records[id] = stored_metadata(metadata)

    def query(self, filter: Mapping[str, Any] | None) -> set[str]:
        """The ids that the filter selects; ``None`` is no filter.

        The whole filter is checked before any record is looked at: a fault in it is an error even
        where the records would never have led there.
        """
        selects = self.reading(filter)
        return {id for id, record in self._records.items() if selects(record)}

    def reading(self, filter: Mapping[str, Any] | None) -> Reading:
        """Whether the filter selects a record, for any record."""
        if filter is None:
            return lambda record: True
        self._check_clause(filter, "filter")
        return self._reading(filter)

    # -- what a filter may look like ----------------------------------------------------------

    def _check_clause(self, clause: Any, where: str) -> None:
        """Fields joined by an implicit AND, or one ``$and`` or ``$or``.

        "Metadata filter expressions": at the top level stand fields or the logical operators; a
        bare comparison does not. Mixing the two in one object is nowhere shown, nor is an empty
        object.
        """
        if not isinstance(clause, Mapping):
            raise PineconeRejected(f"{where}: a clause is an object, not {clause!r}")
        if not clause:
            raise PineconeRejected(f"{where}: an empty clause")
        for key in clause:
            if not isinstance(key, str):
                raise PineconeRejected(f"{where}: field names are strings, not {key!r}")
        logical = [key for key in clause if key in ("$and", "$or")]
        if logical and len(clause) > 1:
            raise PineconeRejected(f"{where}: {logical[0]} beside other keys")
        for key, value in clause.items():
            if key in ("$and", "$or"):
                self._check_logical(key, value, where)
            elif key.startswith("$"):
                raise PineconeRejected(f"{where}: {key} cannot stand where a field is expected")
            else:
                self._check_condition(value, f"{where}.{key}")

    def _check_logical(self, operator: str, clauses: Any, where: str) -> None:
        """``$and`` and ``$or`` join query clauses ("Metadata filter expressions")."""
        if not isinstance(clauses, list) or not clauses:
            raise PineconeRejected(f"{where}.{operator}: a list of at least one clause is expected")
        for number, clause in enumerate(clauses):
            self._check_clause(clause, f"{where}.{operator}[{number}]")

    def _check_condition(self, condition: Any, where: str) -> None:
        """A bare scalar, short for ``$eq``, or one operator ("Filter by metadata").

        The same page calls a bare list, and a list under ``$eq``, invalid queries.
        """
        if not isinstance(condition, Mapping):
            _check_scalar(condition, where)
            return
        if len(condition) != 1:
            raise PineconeRejected(
                f"{where}: exactly one operator is expected, got {list(condition)}"
            )
        [(operator, value)] = condition.items()
        where = f"{where}.{operator}"
        if operator in ("$eq", "$ne"):
            _check_scalar(value, where)
        elif operator in _ORDERINGS:
            _check_number(value, where)
        elif operator in ("$in", "$nin"):
            self._check_members(value, where)
        elif operator == "$exists":
            if not isinstance(value, bool):
                raise PineconeRejected(f"{where}: true or false is expected, got {value!r}")
        elif operator == "$not" and self.accepts_not:
            if not isinstance(value, Mapping):
                raise PineconeRejected(f"{where}: an operator is expected, got {value!r}")
            self._check_condition(value, where)
        else:
            raise PineconeRejected(f"{where}: unknown operator")

    def _check_members(self, values: Any, where: str) -> None:
        """``$in`` and ``$nin`` take an array of strings or numbers, 10,000 at most.

        "Metadata filter expressions" for the types, "Metadata filter limits" for the number.
        """
        if not isinstance(values, list):
            raise PineconeRejected(f"{where}: a list is expected, got {values!r}")
        if len(values) > MOST_MEMBERS:
            raise PineconeRejected(f"{where}: {len(values)} values, more than {MOST_MEMBERS}")
        for value in values:
            _check_scalar(value, where)
        if not self.lenient_members:
            kinds = {_kind(value) for value in values}
            if not values or len(kinds) > 1 or "boolean" in kinds:
                raise PineconeRejected(f"{where}: strings or numbers are expected, got {values!r}")

    # -- what a filter means ------------------------------------------------------------------

    def _reading(self, clause: Mapping[str, Any]) -> Reading:
        """What a clause says of a record; literals are looked at once, not once a record."""
        if "$and" in clause:
            every = [self._reading(child) for child in clause["$and"]]
            return lambda record: all(part(record) for part in every)
        if "$or" in clause:
            some = [self._reading(child) for child in clause["$or"]]
            needed = _fields(clause) if self.or_needs_every_field else set[str]()
            return lambda record: needed <= record.keys() and any(part(record) for part in some)
        parts = [self._condition(key, condition) for key, condition in clause.items()]
        return parts[0] if len(parts) == 1 else lambda record: all(part(record) for part in parts)

    def _condition(self, key: str, condition: Any) -> Reading:
        if not isinstance(condition, Mapping):
            condition = {"$eq": condition}
        [(operator, literal)] = condition.items()
        if operator == "$not":
            inner = self._condition(key, literal)
            return lambda record: not inner(record)
        if operator == "$exists":
            return lambda record: self._exists(key, record) is literal
        if operator in _ORDERINGS:
            holds, bound = _ORDERINGS[operator], float(literal)
            # Orderings compare numbers ("Metadata filter expressions"); anything else never matches.
            return lambda record: _kind(record.get(key)) == "number" and holds(record[key], bound)
        wanted = _values(literal if operator in ("$in", "$nin") else [literal])
        texts = {value for kind, value in wanted if kind == "string"}
        if operator in ("$eq", "$in"):
            return lambda record: _meets(record.get(key), wanted, texts)
        kinds = {kind for kind, _ in wanted}
        return lambda record: self._differs(key, wanted, kinds, record)

    def _exists(self, key: str, record: Stored) -> bool:
        """``$exists`` asks for the field alone ("Filtering with metadata")."""
        if record.get(key) == []:
            return self.empty_list_exists
        return key in record

    def _differs(
        self, key: str, wanted: set[tuple[str, Any]], kinds: set[str], record: Stored
    ) -> bool:
        """``$ne`` and ``$nin``: no element of a list may equal a literal ("File metadata")."""
        if key not in record:
            return self.missing_matches_ne
        value = record[key]
        if not self.other_types_match_ne:
            held = "string" if isinstance(value, list) else _kind(value)
            if held not in kinds:
                return False
        texts = {value for kind, value in wanted if kind == "string"}
        return not _meets(value, wanted, texts)


def _fields(clause: Mapping[str, Any]) -> set[str]:
    """Every field that a clause names, at any depth."""
    found: set[str] = set()
    for key, value in clause.items():
        if key in ("$and", "$or"):
            found.update(*(_fields(child) for child in value))
        else:
            found.add(key)
    return found


def _meets(value: Any, wanted: set[tuple[str, Any]], texts: set[str]) -> bool:
    """Whether one of the values is wanted; a list holds texts alone, and may be long."""
    if isinstance(value, list):
        return not texts.isdisjoint(value)
    return not wanted.isdisjoint(_values(value))


def _values(value: Any) -> set[tuple[str, Any]]:
    """What is compared for equality, each with its type.

    Values are equal when they are of one type; numbers are 64-bit floats ("Metadata format"). A
    list takes on every one of its values ("Filter by metadata"), and null none.
    """
    if value is None:
        return set()
    held = value if isinstance(value, list) else [value]
    return {
        (kind, float(one) if kind == "number" else one) for one in held for kind in (_kind(one),)
    }


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else type(value).__name__


def _check_scalar(value: Any, where: str) -> None:
    """``$eq`` and ``$ne`` take a number, a string or a boolean ("Metadata filter expressions")."""
    if isinstance(value, bool):
        return
    if isinstance(value, str):
        _check_text(value, where)
    elif isinstance(value, int | float):
        _check_number(value, where)
    else:
        raise PineconeRejected(f"{where}: a string, number or boolean is expected, got {value!r}")


def _check_number(value: Any, where: str) -> None:
    """Orderings take numbers only ("Metadata filter expressions"), and JSON only finite ones."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PineconeRejected(f"{where}: a number is expected, got {value!r}")
    try:
        finite = math.isfinite(float(value))
    except OverflowError:
        finite = False
    if not finite:
        raise PineconeRejected(f"{where}: no 64-bit float holds {value!r}")


def _check_text(value: str, where: str) -> None:
    """A request is JSON in UTF-8, which lone surrogates are not part of."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise PineconeRejected(f"{where}: {value!r} is not text") from error


def check_id(id: str) -> None:
    """1 to 512 ASCII characters without NUL ("Identifier limits")."""
    if not 1 <= len(id) <= MOST_ID_CHARACTERS or not id.isascii() or "\0" in id:
        raise PineconeRejected(f"{id!r} cannot be an id")


def stored_metadata(metadata: Mapping[str, Any]) -> Stored:
    """Metadata as Pinecone keeps it ("Metadata format", "Metadata size").

    A flat object; keys that do not start with ``$``; strings, numbers (all as 64-bit floats),
    booleans and lists of strings; no nulls; 40 KB in all.
    """
    stored: Stored = {}
    for key, value in metadata.items():
        if not isinstance(key, str) or key.startswith("$"):
            raise PineconeRejected(f"{key!r} cannot be a key")
        _check_text(key, "key")
        if isinstance(value, list):
            if not all(isinstance(item, str) for item in value):
                raise PineconeRejected(f"{key}: lists are of strings only, got {value!r}")
            for item in value:
                _check_text(item, key)
            stored[key] = list(value)
            continue
        _check_scalar(value, key)
        stored[key] = float(value) if _kind(value) == "number" else value
    size = len(json.dumps(dict(metadata), ensure_ascii=False, separators=(",", ":")).encode())
    if size > MOST_METADATA_BYTES:
        raise PineconeRejected(f"metadata of {size} bytes, more than {MOST_METADATA_BYTES}")
    return stored
