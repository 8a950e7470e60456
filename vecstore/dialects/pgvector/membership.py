"""Long lists of literals: looked up in a hash table that the server makes once a statement.

``m @> ANY(...)`` compares every row with every literal, which an index on the metadata makes up
for while the literals are few. Over an array that is known when the statement is planned,
``= ANY(...)`` is a hash table for texts and for numbers, so that the length of the list hardly
matters. It is one comparison for a scalar, and one for each element of a list.
"""

from __future__ import annotations

from math import prod
from typing import Final

from vecstore.dialects.pgvector.layout import encode_json
from vecstore.dialects.pgvector.reading import Contained
from vecstore.dialects.sql import Bound, SqlPart
from vecstore.filter.values import Scalar

MOST_CONTAINED: Final = 16
"""The longest list for containment, which an index serves; longer ones are hashed over all rows."""
MOST_WITHOUT_INDEX: Final = 2
"""The same where no index serves: for NOT IN, and without one on the metadata."""
_MOST_SCANS: Final = 64


def among(value: SqlPart, text: SqlPart, literals: tuple[Scalar, ...]) -> SqlPart:
    """A JSON value equals one of the literals, or is a list with an element that does.

    Args:
        value: An expression for the JSON value, NULL where the key is missing.
        text: The same as a text.
        literals: Of any kinds.

    Returns:
        A condition that is never NULL.
    """
    kinds = _Kinds(literals)
    item: SqlPart = ["element.item"]
    item_text: SqlPart = ["element.item #>> '{}'"]
    return [
        "CASE jsonb_typeof(",
        *value,
        ")",
        *kinds.cases(value, text),
        " WHEN 'array' THEN EXISTS (SELECT FROM jsonb_array_elements(",
        *value,
        ") AS element(item) WHERE CASE jsonb_typeof(element.item)",
        *kinds.cases(item, item_text),
        " ELSE FALSE END) ELSE FALSE END",
    ]


def among_texts(column: str, literals: list[str]) -> SqlPart:
    """A list of texts, in a JSONB column of its own, has an element among the literals."""
    return [
        f"EXISTS (SELECT FROM jsonb_array_elements_text({column}) AS element(item) "
        'WHERE element.item COLLATE "C" = ANY(',
        Bound(literals, "text[]"),
        "))",
    ]


def with_few_scans(parts: list[SqlPart]) -> list[SqlPart]:
    """Keep the conditions of an AND from multiplying the work of a GIN index.

    PostgreSQL answers all ``@> ANY`` of an AND in one go, scanning the index once for every
    combination of their elements: 2 ** n times for n equalities. Past a few, the longer lists are
    hidden from the index by IS TRUE, and tested on the rows that the shorter ones find.
    """
    lengths = [_containment(part) for part in parts]
    if prod(filter(None, lengths)) <= _MOST_SCANS:
        return parts
    scans, kept = 1, list(parts)
    for length, number in sorted([(length, one) for one, length in enumerate(lengths) if length]):
        if scans > 1 and scans * length > _MOST_SCANS:
            kept[number] = ["(", *parts[number], ") IS TRUE"]
        else:
            scans *= length
    return kept


def _containment(part: SqlPart) -> int:
    """How many elements the list of a plain ``@> ANY`` has; 0 for any other condition."""
    sought = part[-2] if type(part) is Contained else None
    return len(sought.value) if isinstance(sought, Bound) else 0


class _Kinds:
    """The literals by kind, since a number equals no text; each array is bound once."""

    def __init__(self, literals: tuple[Scalar, ...]) -> None:
        texts: list[str] = []
        numbers: list[str] = []
        bools: set[bool] = set()
        for one in literals:
            if type(one) is int:
                numbers.append(str(one))
            elif isinstance(one, str):
                texts.append(one)
            elif isinstance(one, bool):
                bools.add(one)
            else:
                numbers.append(encode_json(one))
        self._texts = Bound(texts, "text[]") if texts else None
        # As numeric and not as JSON text, in which 1 and 1.0 differ.
        self._numbers = Bound(numbers, "text[]::numeric[]") if numbers else None
        written = [encode_json(one) for one in sorted(bools)]
        self._bools = Bound(written, "text[]::jsonb[]") if written else None

    def cases(self, value: SqlPart, text: SqlPart) -> SqlPart:
        """``WHEN`` a type ``THEN`` the comparison, for each kind that there is."""
        cases: SqlPart = []
        if self._texts is not None:
            # By code point, whatever collation the database has.
            cases += [" WHEN 'string' THEN (", *text, ') COLLATE "C" = ANY(', self._texts, ")"]
        if self._numbers is not None:
            cases += [" WHEN 'number' THEN (", *value, ")::numeric = ANY(", self._numbers, ")"]
        if self._bools is not None:
            cases += [" WHEN 'boolean' THEN (", *value, ") = ANY(", self._bools, ")"]
        return cases
