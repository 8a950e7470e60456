"""What stands on the two sides of a comparison: :class:`Key` and :class:`Value`."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from vecstore.errors import FilterTypeError
from vecstore.filter.span import Span
from vecstore.filter.values import (
    Kind,
    Scalar,
    UnusableValue,
    check_segment,
    kind_of,
    list_items,
    literal_key,
    to_scalar,
)

put = object.__setattr__


class Immutable:
    """Attribute writes raise; subclasses fill their slots through ``put``."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; build a new one instead")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; build a new one instead")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class Key(Immutable):
    """A path into a document's metadata.

    ``Key("a", "b")`` steps into the object under ``a``; ``Key("a.b")`` is one name that holds a
    dot.

    Args:
        *segments: Non-empty names, outermost first.
        span: Where the key stands in a filter text.

    Raises:
        FilterTypeError: If there is no segment, or one is empty, reserved, or no usable text.

    Example:
        >>> Key("author", "name").path
        ('author', 'name')
        >>> str(Key("a.b")), str(Key("a", "b"))
        ('"a.b"', 'a.b')
    """

    __slots__ = ("path", "span")

    path: tuple[str, ...]
    span: Span | None

    def __init__(self, *segments: str, span: Span | None = None) -> None:
        if not segments:
            raise FilterTypeError("a key needs at least one segment", span=span)
        try:
            path = tuple([check_segment(segment) for segment in segments])
        except UnusableValue as error:
            raise FilterTypeError(error.reason, span=span, hint=error.remedy) from None
        put(self, "path", path)
        put(self, "span", span)

    def __eq__(self, other: object) -> bool:
        return self.path == other.path if type(other) is Key else NotImplemented

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"Key({', '.join(map(repr, self.path))})"

    def __str__(self) -> str:
        from vecstore.filter.text import key_text

        return key_text(self.path)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_key, (self.path, self.span)


class Value(Immutable):
    """A literal: one scalar, or the list on the right side of IN and NOT IN.

    Args:
        value: What :func:`vecstore.filter.values.to_scalar` takes, or a list, tuple or set of
            such values (mixed types allowed, null not).
        span: Where the literal stands in a filter text.

    Raises:
        FilterTypeError: If the value cannot be compared with.

    Example:
        >>> Value(1) == Value(1.0), Value(1) == Value(True)
        (True, False)
        >>> Value({"b", "a"}).value
        ('a', 'b')
    """

    __slots__ = ("_identity", "kind", "span", "value")

    value: Scalar | tuple[Scalar, ...]
    kind: Kind
    span: Span | None

    def __init__(self, value: Any, *, span: Span | None = None) -> None:
        try:
            items = list_items(value)
            literal: Scalar | tuple[Scalar, ...]
            if items is None:
                literal = scalar = to_scalar(value)
                kind = kind_of(scalar)
            else:
                literal = tuple([_list_literal(item) for item in items])
                kind = Kind.LIST
        except UnusableValue as error:
            raise FilterTypeError(error.reason, span=span, hint=error.remedy) from None
        self._fill(literal, kind, span)

    def _fill(self, value: Scalar | tuple[Scalar, ...], kind: Kind, span: Span | None) -> None:
        put(self, "value", value)
        put(self, "kind", kind)
        put(self, "span", span)
        # True == 1 in Python: what tells literals apart is their kind together with the value.
        if type(value) is tuple:
            put(self, "_identity", tuple([(kind_of(item), item) for item in value]))
        else:
            put(self, "_identity", value)

    @property
    def items(self) -> tuple[Scalar, ...]:
        """The literals of a list, or the one scalar as a tuple."""
        return self.value if isinstance(self.value, tuple) else (self.value,)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Value:
            return NotImplemented
        return self.kind is other.kind and bool(self._identity == other._identity)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.kind, *map(literal_key, self.items)))

    @classmethod
    def of_scalars(cls, items: tuple[Scalar, ...], span: Span | None = None) -> Value:
        """A list literal of what ``to_scalar`` returned, without the checks."""
        value = cls.__new__(cls)
        value._fill(items, Kind.LIST, span)
        return value

    def __repr__(self) -> str:
        shown = list(self.value) if isinstance(self.value, tuple) else self.value
        return f"Value({shown!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_value, (self.value, self.span)


def _list_literal(item: Any) -> Scalar:
    if item is None:
        raise UnusableValue(
            "a list on the right of IN cannot hold null", "add OR ... IS NULL to the filter instead"
        )
    return to_scalar(item)


def _restore_key(path: tuple[str, ...], span: Span | None) -> Key:
    return Key(*path, span=span)


def _restore_value(value: Any, span: Span | None) -> Value:
    return Value(value, span=span)
