"""Filters written in Python: the operator form ``F.year >= 2020`` and Spring's builder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

from vecstore.errors import FilterTypeError
from vecstore.filter.tree import Expression, Group, Key, Op, Value
from vecstore.filter.values import list_items, shown


class Field:
    """One metadata key, to be compared with the operators of Python.

    ``F.author.name`` and ``F["author"]["name"]`` are the path author -> name; ``F["a.b"]`` is one
    name that holds a dot. Names that this class uses itself (``in_``, ``is_null``, ...) are
    reached with ``F["in_"]``.

    Example:
        >>> (F.year >= 2020).to_text()
        'year >= 2020'
        >>> F["odd key"].in_([1, 2]).to_text()
        '"odd key" IN [1, 2]'
        >>> F.author.name.is_null().to_text()
        'author.name IS NULL'
    """

    __slots__ = ("_key",)

    _key: Key

    def __init__(self, key: Key) -> None:
        object.__setattr__(self, "_key", key)

    def __getattr__(self, name: str) -> Field:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Field(Key(*self._key.path, name))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise TypeError(
            f"a field cannot be assigned to; to compare, write F.{name} == {shown(value)}"
        )

    def __getitem__(self, segment: str) -> Field:
        return Field(Key(*self._key.path, _text_subscript(segment)))

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self._compare(Op.EQ, other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._compare(Op.NE, other)

    def __gt__(self, other: Any) -> Expression:
        return self._compare(Op.GT, other)

    def __ge__(self, other: Any) -> Expression:
        return self._compare(Op.GTE, other)

    def __lt__(self, other: Any) -> Expression:
        return self._compare(Op.LT, other)

    def __le__(self, other: Any) -> Expression:
        return self._compare(Op.LTE, other)

    __hash__ = None  # type: ignore[assignment]

    def in_(self, values: Iterable[Any]) -> Expression:
        """The value is one of ``values``, or holds one of them when it is a list."""
        return Expression(Op.IN, self._key, _list_value("in_", values))

    def not_in(self, values: Iterable[Any]) -> Expression:
        """The opposite of :meth:`in_`; documents without the key match."""
        return Expression(Op.NIN, self._key, _list_value("not_in", values))

    def is_null(self) -> Expression:
        """The key is missing, null or an empty list."""
        return Expression(Op.ISNULL, self._key)

    def is_not_null(self) -> Expression:
        """The key has a value."""
        return Expression(Op.ISNOTNULL, self._key)

    def _compare(self, op: Op, other: object) -> Expression:
        if isinstance(other, Field):
            raise TypeError(
                f"a key is compared with a value, not with another key ({other._key}); "
                f"if you meant the text, quote it: F[...] {op.symbol} {other._key.path[-1]!r}"
            )
        if other is None and op in (Op.EQ, Op.NE):
            method = "is_null" if op is Op.EQ else "is_not_null"
            raise FilterTypeError("null is not a value to compare with", hint=f"write .{method}()")
        return Expression(op, self._key, Value(other))

    def __contains__(self, item: object) -> NoReturn:
        raise TypeError(
            f"Python turns `in` into a bool; write F[...] == {shown(item)} (a list matches when an "
            f"element does) or F[...].in_([{shown(item)}])"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError("a field holds no values to iterate over; it names a key in documents")

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"a field has no truth value: write F[...] == True for a flag, or .is_not_null() "
            f"for presence (key {self._key}); combine filters with & | ~"
        )

    def __and__(self, other: object) -> NoReturn:
        self._refuse("&")

    def __or__(self, other: object) -> NoReturn:
        self._refuse("|")

    __rand__ = __and__
    __ror__ = __or__

    def __invert__(self) -> NoReturn:
        raise TypeError(f"~ negates a filter, not a key: write ~(F[...] == True) (key {self._key})")

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        """Refuse: the name before the parentheses is a key, not a method."""
        name = self._key.path[-1]
        write = _METHODS.get(name.lower().strip("_"))
        if write is None:
            write = "a field has in_, not_in, is_null and is_not_null"
        else:
            owner = _spelled(self._key.path[:-1])
            first, second = [*map(shown, args[:2]), "...", "..."][:2]
            write = write.format(key=owner, first=first, second=second)
        raise TypeError(f"{name!r} is taken as a key, not a method; {write}")

    def _refuse(self, symbol: str) -> NoReturn:
        raise TypeError(
            f"{symbol} combines filters, not a key ({self._key}); put parentheses around each "
            f"comparison: (F.a == 1) {symbol} (F.b == 2)"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Field, (self._key,)

    def __repr__(self) -> str:
        return "F" + "".join(f"[{segment!r}]" for segment in self._key.path)


def _spelled(path: tuple[str, ...]) -> str:
    """A field as one writes it."""
    parts = [f".{name}" if name.isidentifier() else f"[{shown(name)}]" for name in path]
    return "".join(["F", *(parts or [".key"])])


_CONTAINS = (
    "write {key} == {first}, which also matches a list that holds it; parts of texts cannot be "
    "looked for"
)
_PATTERN = (
    "texts are compared whole, with == and in_; what is to be found by a part of a text is stored "
    "under a key of its own, such as a list of words"
)
_METHODS: Final[dict[str, str]] = {
    **dict.fromkeys(["contains", "has", "includes", "any", "array_contains"], _CONTAINS),
    **dict.fromkeys(
        ["contains_any", "any_of", "overlap", "overlaps", "has_any", "isin", "is_in"],
        "write {key}.in_({first}), which also matches a list that holds one of them",
    ),
    **dict.fromkeys(
        ["contains_all", "all", "all_of", "has_all"],
        "write ({key} == a) & ({key} == b), one comparison for each",
    ),
    **dict.fromkeys(["notin", "nin", "not_in_list"], "write {key}.not_in({first})"),
    **dict.fromkeys(
        ["like", "ilike", "startswith", "starts_with", "endswith", "ends_with", "icontains"],
        _PATTERN,
    ),
    **dict.fromkeys(["match", "matches", "regex", "search", "fulltext", "text"], _PATTERN),
    **dict.fromkeys(["between", "range"], "write ({key} >= {first}) & ({key} <= {second})"),
    **dict.fromkeys(["eq", "equals", "equal"], "write {key} == {first}"),
    **dict.fromkeys(["ne", "neq", "not_equals", "not_equal"], "write {key} != {first}"),
    **dict.fromkeys(["gt", "greater_than"], "write {key} > {first}"),
    **dict.fromkeys(["gte", "ge"], "write {key} >= {first}"),
    **dict.fromkeys(["lt", "less_than"], "write {key} < {first}"),
    **dict.fromkeys(["lte", "le"], "write {key} <= {first}"),
    **dict.fromkeys(
        ["isnull", "is_none", "isnone", "isna", "is_missing", "missing", "is_empty"],
        "write {key}.is_null()",
    ),
    **dict.fromkeys(["exists", "notnull", "is_not_none", "isnotnull"], "write {key}.is_not_null()"),
}
"""Methods that other libraries have, and what to write for them."""


class FieldFactory:
    """Where fields come from: ``F.name`` or ``F["any name"]``."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Field:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Field(Key(name))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise TypeError(f"F cannot be assigned to; to compare, write F.{name} == {shown(value)}")

    def __getitem__(self, segment: str) -> Field:
        return Field(Key(_text_subscript(segment)))

    def __iter__(self) -> NoReturn:
        raise TypeError("F cannot be iterated over; it names keys: F.year, F['odd key']")

    def __contains__(self, item: object) -> NoReturn:
        raise TypeError("F holds no keys of its own; to test for a key write F.key.is_not_null()")

    def __bool__(self) -> NoReturn:
        raise TypeError("F has no truth value; it names keys: F.year >= 2020")

    def __reduce__(self) -> str:
        return "F"

    def __repr__(self) -> str:
        return "F"


F: Final = FieldFactory()


class FilterBuilder:
    """Spring AI's builder: one method an operator, ``.build()`` at the end.

    A key is one name, dots included, or a :class:`Key` for a path into nested objects.

    Example:
        >>> b = FilterBuilder()
        >>> b.and_(b.eq("country", "BG"), b.not_(b.lt("year", 2020))).build().to_text()
        "country == 'BG' AND NOT year < 2020"
    """

    __slots__ = ()

    def eq(self, key: str | Key, value: Any) -> Expression:
        """``key == value``."""
        return Expression(Op.EQ, _as_key(key), Value(value))

    def ne(self, key: str | Key, value: Any) -> Expression:
        """``key != value``; documents without the key match."""
        return Expression(Op.NE, _as_key(key), Value(value))

    def gt(self, key: str | Key, value: Any) -> Expression:
        """``key > value``."""
        return Expression(Op.GT, _as_key(key), Value(value))

    def gte(self, key: str | Key, value: Any) -> Expression:
        """``key >= value``."""
        return Expression(Op.GTE, _as_key(key), Value(value))

    def lt(self, key: str | Key, value: Any) -> Expression:
        """``key < value``."""
        return Expression(Op.LT, _as_key(key), Value(value))

    def lte(self, key: str | Key, value: Any) -> Expression:
        """``key <= value``."""
        return Expression(Op.LTE, _as_key(key), Value(value))

    def in_(self, key: str | Key, values: Iterable[Any]) -> Expression:
        """``key IN values``."""
        return Expression(Op.IN, _as_key(key), _list_value("in_", values))

    def nin(self, key: str | Key, values: Iterable[Any]) -> Expression:
        """``key NOT IN values``; documents without the key match."""
        return Expression(Op.NIN, _as_key(key), _list_value("nin", values))

    def is_null(self, key: str | Key) -> Expression:
        """The key is missing, null or an empty list."""
        return Expression(Op.ISNULL, _as_key(key))

    def is_not_null(self, key: str | Key) -> Expression:
        """The key has a value."""
        return Expression(Op.ISNOTNULL, _as_key(key))

    def and_(self, *filters: Expression | Group) -> Expression:
        """All of two or more filters."""
        return Expression(Op.AND, *filters)

    def or_(self, *filters: Expression | Group) -> Expression:
        """Any of two or more filters."""
        return Expression(Op.OR, *filters)

    def not_(self, filter: Expression | Group) -> Expression:
        """The negation of a filter."""
        return Expression(Op.NOT, filter)

    def group(self, filter: Expression | Group) -> Group:
        """Parentheses; never needed, since the tree keeps its own shape."""
        return Group(filter)


def _as_key(key: str | Key) -> Key:
    if isinstance(key, Field):
        return key._key
    return key if type(key) is Key else Key(key)  # type: ignore[arg-type]


def _list_value(method: str, values: Any) -> Value:
    if isinstance(values, str | bytes | Mapping | Field) or not isinstance(values, Iterable):
        written = shown(values) if isinstance(values, str | bytes) else "..."
        raise FilterTypeError(
            f"{method} takes a list of values, not {type(values).__name__}",
            hint=f"write {method}([{written}])",
        )
    return Value(list(values) if list_items(values) is None else values)


def _text_subscript(segment: object) -> str:
    if isinstance(segment, str):
        return segment
    if isinstance(segment, int):
        number = shown(segment)
        raise TypeError(
            f"lists cannot be addressed by position: F[{number}] has no meaning; a list matches "
            f"when any element does. For a key named '{number}' write F['{number}']"
        )
    raise TypeError(f"a key is text, not {type(segment).__name__}: write F['name']")
