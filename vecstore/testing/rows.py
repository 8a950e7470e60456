"""The documents that filters are tried on, and what the rules of the language say of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from vecstore.dialects.base import as_expression
from vecstore.filter.tree import Expression
from vecstore.filter.values import Kind, kind_of
from vecstore.testing.reading import Reading
from vecstore.testing.samples import LISTS, OBJECTS, ODD_KEYS, ODD_PATHS, SCALARS

Documents = Mapping[str, Mapping[str, Any]]
"""Documents by id; of each only the metadata."""

_ALL_KINDS = frozenset({Kind.BOOL, Kind.NUMBER, Kind.STRING})


@dataclass(frozen=True, kw_only=True)
class Domain:
    """Which documents an engine can hold exactly; the kit leaves out of its rows what it cannot.

    Limits of what can be *asked* belong into the dialect's ``Capabilities`` instead.

    Attributes:
        nested: Whether a value may be an object.
        nulls: Whether a value may be null.
        empty_lists: Whether a value may be ``[]``.
        lists: The kinds of element that a list may have.
        integers: The smallest and the largest integer, or None for any.
        max_text_bytes: Longest text in UTF-8, or None.
        key_pattern: What every key segment must match as a whole, or None.
        accepts: Any further rule, asked with the path and the value, objects too; or None.

    Example:
        >>> Domain(integers=(-(2**63), 2**63 - 1), nested=False).fit({"a": 2**64, "b": {"c": 1}})
        {}
    """

    nested: bool = True
    nulls: bool = True
    empty_lists: bool = True
    lists: frozenset[Kind] = _ALL_KINDS
    integers: tuple[int, int] | None = None
    max_text_bytes: int | None = None
    key_pattern: re.Pattern[str] | None = None
    accepts: Callable[[tuple[str, ...], Any], bool] | None = None

    def fit(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of the metadata without what the engine cannot hold."""
        return self._fit_object(metadata, ())

    def _fit_object(self, metadata: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in metadata.items():
            if self.key_pattern is not None and not self.key_pattern.fullmatch(key):
                continue
            inner = (*path, key)
            if self.accepts is not None and not self.accepts(inner, value):
                continue
            if isinstance(value, Mapping):
                if self.nested:
                    result[key] = self._fit_object(value, inner)
            elif self._holds(value):
                result[key] = list(value) if isinstance(value, list) else value
        return result

    def _holds(self, value: Any) -> bool:
        if value is None:
            return self.nulls
        if isinstance(value, list):
            if not value:
                return self.empty_lists
            return kind_of(value[0]) in self.lists and all(self._holds(item) for item in value)
        if type(value) is int and self.integers is not None:
            return self.integers[0] <= value <= self.integers[1]
        if isinstance(value, str) and self.max_text_bytes is not None:
            return len(value.encode()) <= self.max_text_bytes
        return True


ANYTHING: Final = Domain()


def oracle_rows(domain: Domain = ANYTHING) -> dict[str, dict[str, Any]]:
    """The fixed documents: every type of value, odd and nested keys, large numbers, hostile texts.

    Args:
        domain: What the engine can hold; values outside it are left out, the documents stay.

    Returns:
        About 230 documents by id, a fresh copy.

    Example:
        >>> rows = oracle_rows()
        >>> len(rows) >= 150, rows["empty"]
        (True, {})
    """
    return {name: domain.fit(metadata) for name, metadata in _ROWS.items()}


def oracle(filter: Expression | str, rows: Documents) -> set[str]:
    """The ids of the documents on which the filter is TRUE by the rules of the language.

    Example:
        >>> oracle("year > 2020", {"old": {"year": 1999}, "new": {"year": 2024}, "none": {}})
        {'new'}
    """
    return Reading(rows).selected(as_expression(filter, limits=None))


def _rows_of_values() -> dict[str, dict[str, Any]]:
    """Every value once under ``k``, and spread over the other keys by steps of their own."""
    values: list[Any] = [*SCALARS, *LISTS, *OBJECTS, None, []]
    count = len(values)
    rows: dict[str, dict[str, Any]] = {}
    for index, value in enumerate(values):
        document = {"k": value, "x": values[(index * 7 + 3) % count]}
        if index % 3:
            document["y"] = values[(index * 11 + 5) % count]
        if index % 2:
            document["n"] = {
                "k": values[(index * 13 + 1) % count],
                "x": {"k": values[(index * 17 + 2) % count]},
            }
        rows[f"value-{index}"] = document
    return rows


def _rows_of_odd_keys() -> dict[str, dict[str, Any]]:
    """Every odd key with a number, a text and a list."""
    count = len(ODD_KEYS)
    rows: dict[str, dict[str, Any]] = {
        f"odd-{index}": {
            key: 1,
            ODD_KEYS[(index + 1) % count]: "a",
            ODD_KEYS[(index + 2) % count]: ["a", "b"],
        }
        for index, key in enumerate(ODD_KEYS)
    }
    for index, path in enumerate(ODD_PATHS):
        for suffix, value in (("number", 1), ("text", "a")):
            document: Any = value
            for segment in reversed(path):
                document = {segment: document}
            rows[f"odd-path-{index}-{suffix}"] = document
    return rows


_ROWS_OF_SHAPES: dict[str, dict[str, Any]] = {
    "empty": {},
    # A path never enters a list, and a name with a dot is no path.
    "list-in-place-of-object": {"a": ["b"], "n": ["k"]},
    "text-in-place-of-object": {"a": "b", "n": "k", "k": "k"},
    "null-in-place-of-object": {"n": None},
    "empty-list-in-place-of-object": {"n": []},
    "empty-object": {"n": {}},
    "object-of-nulls": {"n": {"k": None, "x": {"k": []}}},
    "path-beside-dotted-name": {"a": {"b": 1}, "a.b": 2},
    "dotted-name-beside-path": {"a": {"b": "a"}, "a.b": "b"},
    "dots-crossed": {"a.b": {"c": 1}, "a": {"b": {"c": 2}, "b.c": 3}},
    "list-under-path": {"n": {"k": ["a", "b"], "x": {"k": [1, 2]}}},
    "objects-nested": {"n": {"k": {"k": 1}, "x": {"k": {"x": "a"}}}, "k": {"k": {"k": 1}}},
    "other-case": {"K": "a", "X": 1, "N": {"k": 1}},
    "all-null": {"k": None, "x": None, "y": None},
    "all-empty": {"k": [], "x": [], "y": []},
    "same-everywhere": {"k": "a", "x": "a", "y": "a", "n": {"k": "a", "y": "a", "x": {"k": "a"}}},
    "long-list": {"k": [f"v{number}" for number in range(60)], "x": list(range(60))},
}

_ROWS = {**_rows_of_values(), **_rows_of_odd_keys(), **_ROWS_OF_SHAPES}
