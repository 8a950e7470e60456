"""Long lists of literals: looked up in a hash table that the server makes once a statement.

``m @> ANY(...)`` compares every row with every literal, which an index on the metadata makes up
for while the literals are few. Over an array that is known when the statement is planned,
``= ANY(...)`` is a hash table for texts and for numbers, so that the length of the list hardly
matters. It is one comparison for a scalar, and one for each element of a list.
"""

from __future__ import annotations

from typing import Final

from vecstore.dialects.pgvector.layout import encode_json
from vecstore.dialects.pgvector.sql import Bound, SqlPart
from vecstore.filter.values import Scalar

MOST_CONTAINED: Final = 16
"""The longest list for containment, which an index serves; longer ones are hashed over all rows."""
MOST_WITHOUT_INDEX: Final = 2
"""The same where no index serves: for NOT IN, and without one on the metadata."""


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
