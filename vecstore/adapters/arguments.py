"""What the adapters read alike of their frameworks' arguments; needs no framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, Final

from vecstore.filter.tree import Expression

_KEPT: Final = 128
_LONGEST_KEPT: Final = 2_000
_MOST_KEPT: Final = _LONGEST_KEPT // len("1, ")  # of more, no list is short enough
_PLAIN: Final = (str, int, float, bool, type(None))


class FilterCache:
    """Dicts that were read lately: a filter that comes again keeps what it was compiled to.

    Args:
        read: Makes a filter of a dict.
        objects: The classes of a framework's own filters, each with the names of its attributes.

    Example:
        >>> from vecstore.interop import from_mongo
        >>> read = FilterCache(from_mongo)
        >>> read({"year": 2021}) is read({"year": 2021})
        True
        >>> read({"year": 1}) == read({"year": True})
        False
    """

    def __init__(
        self,
        read: Callable[[Any], Expression],
        objects: Mapping[type, tuple[str, ...]] | None = None,
    ) -> None:
        self._read = read
        self._objects = objects or {}
        self._found: dict[Any, Expression] = {}

    def __call__(self, written: Any) -> Expression:
        """The filter that a dict says; what is refused is refused each time."""
        key = self._key_of(written)
        found = self._found.get(key)
        if found is None:
            found = self._read(written)
            if key is not None and len(repr(written)) <= _LONGEST_KEPT:
                if len(self._found) >= _KEPT:
                    self._found.clear()
                self._found[key] = found
        return found

    def _key_of(self, value: Any, depth: int = 8) -> Any:
        """What a dict says, with its types: 1 and True are equal; None for what is not kept."""
        kind = type(value)
        if kind in _PLAIN:
            return kind, value
        if not depth:
            return None
        if kind in self._objects:
            parts = [getattr(value, name) for name in self._objects[kind]]
        elif kind not in (dict, list) or len(value) > _MOST_KEPT:
            return None
        else:
            parts = value if kind is list else [one for pair in value.items() for one in pair]
        keys = [self._key_of(part, depth - 1) for part in parts]
        return None if None in keys else (kind, *keys)


def diversity_of(name: str, likeness: Any) -> float:
    """The ``diversity`` of a search; frameworks count from variety to similarity instead.

    Raises:
        TypeError: If it is no number.
        ValueError: If it is not from 0 to 1; both by the name of the framework.

    Example:
        >>> diversity_of("lambda_mult", 0.75)
        0.25
    """
    if isinstance(likeness, bool) or not isinstance(likeness, Real):
        raise TypeError(f"{name} is a number from 0 to 1, not a {type(likeness).__name__}")
    number = float(likeness)
    if not 0 <= number <= 1:
        raise ValueError(
            f"{name} is from 0, for variety alone, to 1, for similarity alone, not {likeness}"
        )
    return 1.0 - number
