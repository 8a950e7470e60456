"""Python values -> filter values. Documents and filters go through the same functions.

A *scalar* is a ``bool``, ``int``, ``float`` or ``str`` of exactly that type. A document's value
is a scalar, ``None``, a list of scalars of one type, or an object (``dict``) of such values.
What has no place in that model is refused with :class:`UnusableValue`; callers add where it
stood.
"""

from __future__ import annotations

import enum
import math
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from vecstore.filter.nested import short_repr, written_out

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

Scalar = bool | int | float | str

RESERVED_PREFIX = "__vecstore"
MAX_INTEGER_DIGITS = 4_000
MAX_METADATA_DEPTH = 64
MAX_METADATA_VALUES: Final = 1_000_000
"""Keys and elements of lists, each as often as it is held."""
_LOOKED_AT: Final = 20_000
"""From so many values on metadata is counted before it is copied."""
_INTEGER_BOUND = 10**MAX_INTEGER_DIGITS


class Kind(enum.Enum):
    """The type of a literal as filters see it; int and float are one kind."""

    BOOL = "bool"
    NUMBER = "number"
    STRING = "string"
    LIST = "list"

    # Members are singletons: identity hashing is right, and much faster than hashing the name.
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Kind.{self.name}"


_SCALAR_KINDS: dict[type, Kind] = {
    bool: Kind.BOOL,
    int: Kind.NUMBER,
    float: Kind.NUMBER,
    str: Kind.STRING,
}


class UnusableValue(ValueError):
    """A value that filters and documents cannot hold.

    Attributes:
        reason: What is wrong with it.
        remedy: What to pass instead.
        path: Key segments below the value handed in, outermost first.
    """

    def __init__(self, reason: str, remedy: str, path: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.path = path


def kind_of(value: Scalar) -> Kind:
    """The kind of a scalar that :func:`to_scalar` returned."""
    return _SCALAR_KINDS[type(value)]


def literal_key(value: Scalar) -> str:
    """A text that is the same for equal scalars of one kind, and for no others.

    Sets and dicts of literals are keyed by it. Python's hash of a number is public, so that whoever
    writes a filter could choose thousands that all have the same one; the hash of a text is not.

    Example:
        >>> literal_key(1) == literal_key(1.0), literal_key(1) == literal_key(True)
        (True, False)
    """
    kind = type(value)
    if kind is str:
        return "s" + value  # type: ignore[operator]
    if kind is bool:
        return "t" if value else "f"
    if kind is float and not value.is_integer():  # type: ignore[union-attr]
        return repr(value)
    return hex(int(value))  # decimal digits would take time that grows with their square


def to_scalar(value: Any) -> Scalar:
    """Turn one Python value into a scalar.

    Args:
        value: bool, int, float, str, datetime, date, naive time, UUID, Enum, Decimal, a path, or a
            numpy scalar of one of these types.

    Returns:
        A value whose type is exactly ``bool``, ``int``, ``float`` or ``str``.

    Raises:
        UnusableValue: For anything else, NaN and infinities, NUL and lone surrogates in a
            string, and integers past 4,000 digits.

    Example:
        >>> from datetime import UTC, datetime
        >>> from decimal import Decimal
        >>> to_scalar(datetime(2024, 1, 1, tzinfo=UTC))
        '2024-01-01T00:00:00.000000Z'
        >>> to_scalar(Decimal("3.00"))
        3
    """
    exact = type(value)
    if exact is str:
        return check_text(value)
    if exact is bool:
        return bool(value)
    if exact is int:
        return _checked_int(value)
    if exact is float:
        return _checked_float(value)
    return _convert(value)


def to_metadata_value(value: Any) -> Any:
    """Turn one Python value into a document's value, copied.

    Returns:
        A scalar, ``None``, a list of scalars of one kind (possibly empty), or a dict of these.

    Raises:
        UnusableValue: For mixed lists, lists that hold null, lists or objects, and whatever
            :func:`to_scalar` refuses.
    """
    if value is None or type(value) in _SCALAR_KINDS:
        return None if value is None else to_scalar(value)
    value = plain_value(value)
    if value is None:
        return None
    if isinstance(value, Mapping):
        return to_metadata(value)
    items = list_items(value)
    return to_scalar(value) if items is None else _to_list(items)


def to_metadata(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    """Normalise and copy a document's metadata, nested objects included.

    Raises:
        UnusableValue: Its ``path`` names the key of the first unusable value.

    Example:
        >>> from datetime import date
        >>> to_metadata({"tags": ("a", "b"), "author": {"born": date(1970, 1, 2)}})
        {'tags': ['a', 'b'], 'author': {'born': '1970-01-02'}}
    """
    return _to_object(mapping, 1, _Counted(mapping))


class _Counted:
    """The values that have been copied, and how many may be."""

    __slots__ = ("left", "whole")

    def __init__(self, whole: Mapping[Any, Any]) -> None:
        self.whole: Mapping[Any, Any] | None = whole
        self.left = _LOOKED_AT

    def take(self, count: int) -> None:
        """Count more of them; before there are many, all of them are, without a copy."""
        self.left -= count
        if self.left < 0:
            whole, self.whole = self.whole, None
            most = MAX_METADATA_VALUES + 1  # one is the whole
            if whole is None or written_out(whole, most) > most:
                raise _TooMuch(
                    f"the metadata holds more than {MAX_METADATA_VALUES:,} values, where what is "
                    "in it several times counts as often",
                    "store less of it, or what no filter asks for in extra=",
                )
            self.left += MAX_METADATA_VALUES


class _TooMuch(UnusableValue):
    """The whole is too large; where that was noticed says nothing."""


def _to_object(mapping: Mapping[Any, Any], depth: int, counted: _Counted) -> dict[str, Any]:
    if depth > MAX_METADATA_DEPTH:
        raise UnusableValue(
            f"objects are nested deeper than {MAX_METADATA_DEPTH} levels", "flatten them"
        )
    counted.take(len(mapping))
    result: dict[str, Any] = {}
    for key, value in mapping.items():
        try:
            name = check_segment(key)
            if type(value) in _SCALAR_KINDS:
                result[name] = to_scalar(value)
                continue
            value = plain_value(value)
            if isinstance(value, Mapping):
                result[name] = _to_object(value, depth + 1, counted)
                continue
            held = result[name] = to_metadata_value(value)
            if type(held) is list:
                counted.take(len(held))
        except _TooMuch:
            raise
        except UnusableValue as error:
            path = (key if isinstance(key, str) else shown(key), *error.path)
            raise UnusableValue(error.reason, error.remedy, path) from None
    return result


def metadata_text(metadata: Mapping[str, Any], *, allow_nan: bool = True) -> str:
    r"""Metadata as compact JSON, which is read back with the same types and can be sent as UTF-8.

    Args:
        metadata: A document's, or what others wrote, in which a text may hold half of a character.
        allow_nan: Whether NaN, which others may have written, is passed on.

    Raises:
        ValueError: For a number that is not finite, unless it is passed on.

    Example:
        >>> print(metadata_text({"city": "Köln"}), metadata_text({"half": "\udc80"}))
        {"city":"Köln"} {"half":"\udc80"}
    """
    import json

    text = json.dumps(metadata, ensure_ascii=False, allow_nan=allow_nan, separators=(",", ":"))
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # escaped, it is what it was
            return json.dumps(metadata, allow_nan=allow_nan, separators=(",", ":"))
    return text


def clean_metadata(
    mapping: Mapping[Any, Any], bad: Literal["drop", "text"] = "drop"
) -> dict[str, Any]:
    """Make metadata storable that a loader or scraper produced.

    Args:
        mapping: Any mapping.
        bad: What to do with a value that cannot be stored as it is: ``"drop"`` leaves the key
            (or the list element) out, ``"text"`` stores it as text: lists and objects as JSON,
            bytes decoded or else as base64, anything else as ``str(value)``. Keys that are not
            usable are turned into text, or dropped when that does not help. An object with
            which there would be more than 1,000,000 values, or that holds itself, is left out.

    Returns:
        A new dict that every store accepts.

    Raises:
        ValueError: If ``bad`` is neither.

    Example:
        >>> clean_metadata({"page": 3, "raw": b"x", "score": float("nan")})
        {'page': 3}
        >>> clean_metadata({"mixed": [1, "a"]}, bad="text")
        {'mixed': ['1', 'a']}
        >>> clean_metadata({"authors": [{"name": "Ada"}, None]}, bad="text")
        {'authors': ['{"name": "Ada"}']}
    """
    if bad not in ("drop", "text"):
        raise ValueError(f'bad must be "drop" or "text", not {shown(bad)}')
    room = MAX_METADATA_VALUES
    fitting: dict[Any, Any] = {}
    for key, value in mapping.items():
        size = written_out(value, room)
        if size <= room:
            room -= size
            fitting[key] = value
    return _clean_object(fitting, bad, 1)


def _clean_object(mapping: Mapping[Any, Any], bad: str, depth: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in mapping.items():
        try:
            name = check_segment(key if isinstance(key, str) else _text_of(key))
        except UnusableValue:
            continue
        if isinstance(value, Mapping):
            if depth < MAX_METADATA_DEPTH:
                result[name] = _clean_object(value, bad, depth + 1)
            continue
        try:
            result[name] = to_metadata_value(value)
        except UnusableValue:
            cleaned = _clean_value(value, bad)
            if cleaned is not None:
                result[name] = cleaned
    return result


def check_text(text: str) -> str:
    """Return ``text`` when every store can hold it, as a plain ``str``.

    Raises:
        UnusableValue: If it holds NUL or a lone surrogate.
    """
    if "\0" in text:
        raise UnusableValue("the text holds a NUL character", "remove it: text.replace('\\0', '')")
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise UnusableValue(
                "the text holds a lone surrogate, which is not a Unicode character",
                "decode the text properly, or replace it: "
                "text.encode('utf-8', 'replace').decode('utf-8')",
            ) from None
    return text


def check_segment(segment: Any) -> str:
    """Return one key segment when it may be used, as a plain ``str``.

    Raises:
        UnusableValue: If it is no string, empty, reserved, or holds NUL or a lone surrogate.
    """
    if not isinstance(segment, str):
        raise UnusableValue(
            f"a key is text, not {type(segment).__name__} ({shown(segment)})",
            f"write it as text: {shown(_text_of(segment))}",
        )
    if not segment:
        raise UnusableValue("an empty key cannot be used", "give the key a name")
    text = str.__str__(segment)
    if text.startswith(RESERVED_PREFIX):
        raise UnusableValue(
            f"keys that start with {RESERVED_PREFIX} are reserved for the library",
            "rename the key",
        )
    return check_text(text)


def plain_value(value: Any) -> Any:
    """The value behind an Enum, and behind an Enum of Enums; anything else as it is."""
    while isinstance(value, enum.Enum):
        value = value.value
    return value


def list_items(value: Any) -> list[Any] | None:
    """The elements of a list-like value in a settled order, or None when it is none.

    Sets are sorted by kind and value, so that equal sets give equal lists.
    """
    value = plain_value(value)
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, set | frozenset):
        try:
            return sorted(value)
        except TypeError:
            return sorted(value, key=lambda item: (type(item).__name__, shown(item, 1_000)))
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 0) == 1:
        return list(value)
    return None


def _to_list(items: list[Any]) -> list[Scalar]:
    scalars: list[Scalar] = []
    first: Kind | None = None
    for item in items:
        if item is None:
            raise UnusableValue("a list cannot hold null", "leave the nulls out of the list")
        if isinstance(item, Mapping) or list_items(item) is not None:
            what = "objects" if isinstance(item, Mapping) else "lists"
            raise UnusableValue(
                f"a list cannot hold {what}",
                "store them under keys of their own, as text, or where no filter looks: "
                "Document(..., extra=...)",
            )
        scalar = to_scalar(item)
        kind = _SCALAR_KINDS[type(scalar)]
        if first is None:
            first = kind
        elif kind is not first:
            raise UnusableValue(
                f"a list holds values of one type; this one mixes {first.value} and {kind.value}",
                "store one type, or two keys",
            )
        scalars.append(scalar)
    return scalars


def _convert(value: Any) -> Scalar:
    """The conversions off the fast path; enums first, since they may subclass str or int."""
    if isinstance(value, enum.Enum):
        return to_scalar(plain_value(value))
    if isinstance(value, str):
        return check_text(str.__str__(value))
    if isinstance(value, int):
        return _checked_int(int(value))
    if isinstance(value, float):
        return _checked_float(float(value))
    if _is_a("datetime", "datetime", value):
        return _datetime_text(value)
    if _is_a("datetime", "date", value):
        return str(value.isoformat())
    if _is_a("datetime", "time", value):
        if value.tzinfo is not None:
            raise UnusableValue(
                "a time of day with a zone has no fixed meaning",
                "store a datetime, or a time without zone",
            )
        return str(value.isoformat(timespec="microseconds"))
    if _is_a("uuid", "UUID", value):
        return str(value)
    if _is_a("decimal", "Decimal", value):
        return _from_decimal(value)
    if isinstance(value, os.PathLike):
        return _path_text(value)
    if type(value).__module__ == "numpy":
        return _from_numpy(value)
    raise _unusable_type(value)


def _is_a(module: str, name: str, value: Any) -> bool:
    # Whoever has one has loaded its module, which takes its time.
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)


def _checked_int(value: int) -> int:
    if -_INTEGER_BOUND < value < _INTEGER_BOUND:
        return value
    raise UnusableValue(
        f"an integer of more than {MAX_INTEGER_DIGITS:,} digits cannot be stored",
        "store it as text",
    )


def _checked_float(value: float) -> float:
    if math.isfinite(value):
        return value
    raise UnusableValue(
        f"{value} is not a finite number", "leave the key out; IS NULL finds such documents"
    )


def _from_decimal(value: Decimal) -> int | float:
    if not value.is_finite():
        raise UnusableValue(f"Decimal {value} is not a finite number", "leave the key out")
    # The exponent is looked at first: int(Decimal("1E+999999999")) would fill the memory.
    if value.adjusted() >= MAX_INTEGER_DIGITS:
        return _checked_int(_INTEGER_BOUND)
    if value == value.to_integral_value():
        return int(value)
    number = _checked_float(float(value))
    # The shortest digits that stand for the float: those of 0.1 are 0.1, whatever its last bit.
    from decimal import Decimal

    if Decimal(repr(number)) != value:
        raise _finer_than_a_float(f"Decimal {value}", number)
    return number


def _datetime_text(value: datetime) -> str:
    if value != value:  # a missing timestamp of a data-frame library
        raise UnusableValue("a missing timestamp cannot be stored", "leave the key out")
    if getattr(value, "nanosecond", 0):
        raise _finer_than_microseconds()
    # A zone without an offset leaves the datetime naive, and astimezone() would take the zone of
    # this computer for it.
    if value.utcoffset() is not None:
        try:
            from datetime import UTC

            value = value.astimezone(UTC)
        except OverflowError:
            raise UnusableValue(
                "the timestamp leaves the years 1 to 9999 when expressed in UTC",
                "store a timestamp inside that range",
            ) from None
    return value.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _path_text(value: os.PathLike[Any]) -> str:
    try:
        text = os.fspath(value)
    except Exception:  # whatever the object's own code raises
        raise _unusable_type(value) from None
    if not isinstance(text, str):
        raise UnusableValue(
            "a path of bytes cannot be stored or compared", "decode it: os.fsdecode(path)"
        )
    return check_text(str.__str__(text))


def _from_numpy(value: Any) -> Scalar:
    if getattr(value, "ndim", 1) == 0 and type(value).__name__ == "ndarray":
        inner = value[()]  # .item() would make a plain number of a time in nanoseconds
        if type(inner).__name__ != "ndarray":
            return to_scalar(inner)
    if type(value).__name__ == "datetime64":
        return _from_datetime64(value)
    if type(value).__name__ == "timedelta64":  # some units of it give numbers as their .item()
        raise _unusable_type(value)
    if getattr(value, "ndim", 1) == 0 and hasattr(value, "item"):
        item = value.item()
        if type(item) in _SCALAR_KINDS:
            return to_scalar(item)
        # longdouble gives itself back: a plain float is the nearest thing a store can hold.
        if type(item) is type(value) and type(value).__name__ in {"longdouble", "float128"}:
            number = _checked_float(float(value))
            if number != value:
                raise _finer_than_a_float(f"the {type(value).__name__} {value}", number)
            return number
    raise _unusable_type(value)


def _finer_than_a_float(value: str, nearest: float) -> UnusableValue:
    value = value if len(value) <= 60 else value[:59] + "…"
    return UnusableValue(
        f"{value} has more digits than a float holds",
        f"round it where that will do, to {nearest!r}, or store it as text",
    )


def _from_datetime64(value: Any) -> str:
    if value != value:
        raise UnusableValue("NaT (no time) cannot be stored", "leave the key out")
    try:
        microseconds = value.astype("datetime64[us]")
    except OverflowError:
        raise _outside_the_years() from None
    if microseconds != value:
        raise _finer_than_microseconds()
    moment = microseconds.item()
    # Before numpy 2.5 a unit that reaches further than microseconds wraps round silently.
    if microseconds.astype(value.dtype) != value or not _is_a("datetime", "datetime", moment):
        raise _outside_the_years()
    return _datetime_text(moment)


def _outside_the_years() -> UnusableValue:
    return UnusableValue(
        "the timestamp lies outside the years 1 to 9999", "store a timestamp inside that range"
    )


def _finer_than_microseconds() -> UnusableValue:
    return UnusableValue(
        "the timestamp is finer than a microsecond", "round it to microseconds first"
    )


def _unusable_type(value: Any) -> UnusableValue:
    if value is None:
        return UnusableValue("null is not a value to compare with", "use IS NULL or IS NOT NULL")
    if isinstance(value, bytes | bytearray | memoryview):
        return UnusableValue(
            "bytes cannot be stored or compared", "decode them to text, or encode them as base64"
        )
    if isinstance(value, Mapping):
        return UnusableValue(
            "an object is not a value to compare with", "name a key inside it: F.outer.inner"
        )
    if list_items(value) is not None:
        return UnusableValue("a list is not a single value", "compare with IN [...]")
    if callable(value):
        return UnusableValue(
            f"a {type(value).__name__} is code, not a value", "pass the value it should return"
        )
    return UnusableValue(
        f"values of type {type(value).__name__} cannot be stored or compared",
        "pass a bool, number, text, date, datetime or UUID, or its str()",
    )


def _clean_value(value: Any, bad: str) -> Any:
    items = list_items(value)
    if items is None:
        return _as_text(value) if bad == "text" else None
    if bad == "text":
        texts = (_as_text(item) for item in items if item is not None)
        return [text for text in texts if text is not None]
    usable: list[Scalar] = []
    for item in items:
        try:
            scalar = to_scalar(item)
        except UnusableValue:
            continue
        if not usable or kind_of(scalar) is kind_of(usable[0]):
            usable.append(scalar)
    return usable


def _as_text(value: Any) -> str | None:
    try:
        scalar = to_scalar(value)
    except UnusableValue:
        scalar = _text_of(value)
    return scalar if isinstance(scalar, str) else _text_of(scalar)


def _text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes | bytearray | memoryview):
        text = _decoded(bytes(value))
    elif value is None or isinstance(value, Mapping) or list_items(value) is not None:
        import json

        if written_out(value, MAX_METADATA_VALUES) > MAX_METADATA_VALUES:
            return "…"
        text = json.dumps(_as_json(value, 1), ensure_ascii=False)
    else:
        text = hex(value) if _is_unprintable(value) else str(value)
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def _decoded(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        import base64

        return base64.b64encode(value).decode("ascii")


def _as_json(value: Any, depth: int) -> Any:
    """The value in the types of JSON; what has no place there as text."""
    items = None if isinstance(value, Mapping) else list_items(value)
    if isinstance(value, Mapping) or items is not None:
        if depth > MAX_METADATA_DEPTH:
            return "…"
        if items is not None:
            return [_as_json(item, depth + 1) for item in items]
        return {
            key if isinstance(key, str) else _text_of(key): _as_json(item, depth + 1)
            for key, item in value.items()
        }
    try:
        return None if value is None else to_scalar(value)
    except UnusableValue:
        return _text_of(value)


def shown(value: Any, width: int = 60) -> str:
    """A value as messages show it: short, whatever it is.

    Example:
        >>> shown("a"), shown(10**5000)
        ("'a'", '0x31e20801036510f3c591fde5361dc619987896700f4451e1c85ce1902…')
    """
    return short_repr(value, width)


def _is_unprintable(value: Any) -> bool:
    return type(value) is int and abs(value) >= _INTEGER_BOUND
