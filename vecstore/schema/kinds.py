"""What a declared key can hold, and how values of each kind get into metadata and back.

In metadata there are bools, numbers and texts alone. A kind says which of them a key may hold: an
``int`` key no ``2020.5``, a ``datetime`` key only texts in the one form that sorts by time.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from pathlib import PurePath
from typing import Any, Final, Literal

from vecstore.filter.text import literal_text
from vecstore.filter.values import (
    Kind,
    Scalar,
    UnusableValue,
    kind_of,
    literal_key,
    shown,
    to_scalar,
)

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"\d\d:\d\d:\d\d\.\d{6}", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,3})?"
)

_LISTED_CHOICES = 8

Others = Literal["refuse", "allow"]
"""What keys that a schema does not declare are."""


class Misfit(ValueError):
    """A value that a declared key does not hold.

    Attributes:
        reason: What is wrong, as it goes on after the key's name: ``holds integers, not 'a'``.
        remedy: What to write instead.
    """

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class _Rules:
    """How values of one kind look.

    Attributes:
        held: What such a key holds, in the plural, for errors.
        kind: What its values are to filters; None for any.
        ordered: Whether they can be compared by ``<`` and ``>``.
        settle: The form in which a scalar of that kind is stored; None when it is none of it.
        guess: A scalar of another kind, or in another form, read as one of this; None if it cannot.
        load: What a stored scalar is in Python.
        example: A value, for errors and prompts.
    """

    held: str
    kind: Kind | None
    ordered: bool
    settle: Callable[[Scalar], Scalar | None]
    guess: Callable[[Scalar], Scalar | None]
    load: Callable[[Any], Any]
    example: Scalar


def _settled_int(value: Scalar) -> Scalar | None:
    if type(value) is int:
        return value
    return int(value) if type(value) is float and value.is_integer() else None


def _settled_float(value: Scalar) -> Scalar | None:
    if type(value) is float:
        return value
    if type(value) is not int:
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if number == value else None


def _settled_number(value: Scalar) -> Scalar | None:
    return value if type(value) in (int, float) else None


def _settled_text(value: Scalar) -> Scalar | None:
    return value if type(value) is str else None


def _settled_bool(value: Scalar) -> Scalar | None:
    return value if type(value) is bool else None


def _in_form(pattern: re.Pattern[str], read: Callable[[str], object]) -> Any:
    def settled(value: Scalar) -> Scalar | None:
        if type(value) is not str or not pattern.fullmatch(value):
            return None
        try:
            read(value)
        except ValueError:
            return None
        return value

    return settled


def _settled_uuid(value: Scalar) -> Scalar | None:
    return value if type(value) is str and _guessed_uuid(value) == value else None


def _guessed_int(value: Scalar) -> Scalar | None:
    text = value.strip() if type(value) is str else ""
    return int(text) if _INTEGER.fullmatch(text) else None


def _guessed_number(value: Scalar) -> Scalar | None:
    text = value.strip() if type(value) is str else ""
    if _INTEGER.fullmatch(text):
        return int(text)
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if number - number == 0 else None


def _guessed_text(value: Scalar) -> Scalar | None:
    return str(value) if type(value) is int else None


def _guessed_bool(value: Scalar) -> Scalar | None:
    words = {"true": True, "false": False}
    return words.get(value.strip().lower()) if type(value) is str else None


def _guessed_datetime(value: Scalar) -> Scalar | None:
    return _read(value, datetime.fromisoformat)


def _guessed_date(value: Scalar) -> Scalar | None:
    return _read(value, date.fromisoformat)


def _guessed_time(value: Scalar) -> Scalar | None:
    return _read(value, time.fromisoformat)


def _guessed_uuid(value: Scalar) -> Scalar | None:
    return _read(value, uuid.UUID)


def _read(value: Scalar, read: Callable[[str], Any]) -> Scalar | None:
    if type(value) is not str:
        return None
    try:
        return to_scalar(read(value.strip()))
    except (ValueError, UnusableValue):
        return None


def _no_guess(value: Scalar) -> Scalar | None:
    return None


def _same(value: Any) -> Any:
    return value


def _loaded_datetime(value: str) -> datetime:
    return datetime.fromisoformat(value.removesuffix("Z")).replace(tzinfo=UTC)


_KINDS: Final[dict[str, _Rules]] = {
    "bool": _Rules("true or false", Kind.BOOL, False, _settled_bool, _guessed_bool, _same, True),
    "int": _Rules("integers", Kind.NUMBER, True, _settled_int, _guessed_int, int, 2020),
    "float": _Rules("numbers", Kind.NUMBER, True, _settled_float, _guessed_number, float, 0.5),
    "decimal": _Rules(
        "numbers",
        Kind.NUMBER,
        True,
        _settled_number,
        _guessed_number,
        lambda value: Decimal(repr(value)),
        9.99,
    ),
    "str": _Rules("texts", Kind.STRING, True, _settled_text, _guessed_text, _same, "text"),
    "datetime": _Rules(
        "timestamps",
        Kind.STRING,
        True,
        _in_form(_TIMESTAMP, _loaded_datetime),
        _guessed_datetime,
        _loaded_datetime,
        "2024-01-01T00:00:00.000000Z",
    ),
    "date": _Rules(
        "dates",
        Kind.STRING,
        True,
        _in_form(_DATE, date.fromisoformat),
        _guessed_date,
        date.fromisoformat,
        "2024-01-01",
    ),
    "time": _Rules(
        "times of day",
        Kind.STRING,
        True,
        _in_form(_TIME, time.fromisoformat),
        _guessed_time,
        time.fromisoformat,
        "12:30:00.000000",
    ),
    "uuid": _Rules(
        "UUIDs",
        Kind.STRING,
        True,
        _settled_uuid,
        _guessed_uuid,
        uuid.UUID,
        "123e4567-e89b-12d3-a456-426614174000",
    ),
    "path": _Rules("paths", Kind.STRING, True, _settled_text, _guessed_text, PurePath, "a/b.txt"),
    "any": _Rules("anything", None, True, _same, _no_guess, _same, "text"),
}

_PYTHON_WORDS: Final = {
    "datetime": "a datetime",
    "date": "a date",
    "time": "a time without zone",
    "uuid": "a UUID",
}

KIND_NAMES: Final = tuple(_KINDS)
"""The names of kinds, as schema files write them."""


@dataclass(frozen=True, slots=True)
class KeyType:
    """What one declared key holds.

    Attributes:
        kind: One of :data:`KIND_NAMES`.
        many: Whether it is a list of such values, and nothing but a list.
        choices: The only values there can be, as they are stored; None for no such limit.
        python: What a value is read back as, where that is an enumeration.

    Example:
        >>> str(KeyType("int")), str(KeyType("str", many=True))
        ('int', 'list[str]')
        >>> KeyType("int").settled(2020.0)
        2020
    """

    kind: str
    many: bool = False
    choices: tuple[Scalar, ...] | None = None
    python: type | None = None

    def __str__(self) -> str:
        inner = self.kind if self.choices is None else " | ".join(map(literal_text, self.choices))
        return f"list[{inner}]" if self.many else inner

    @property
    def filter_kind(self) -> Kind | None:
        """What its values, or the elements of its lists, are to filters; None for any."""
        return _KINDS[self.kind].kind

    @property
    def ordered(self) -> bool:
        """Whether ``<`` and ``>`` can be true of it."""
        return _KINDS[self.kind].ordered and not self.many

    @property
    def held(self) -> str:
        """What it holds, for errors."""
        if self.choices is not None:
            listed = ", ".join(map(literal_text, self.choices[:_LISTED_CHOICES]))
            left = len(self.choices) - _LISTED_CHOICES
            held = f"one of {listed}" + (f" and {left} more" if left > 0 else "")
        else:
            held = _KINDS[self.kind].held
        return f"a list of {held}" if self.many else held

    @property
    def example(self) -> Scalar:
        """A value that it holds, or an element."""
        return self.choices[0] if self.choices else _KINDS[self.kind].example

    def settled(self, value: Scalar) -> Scalar:
        """A scalar in the form in which it is stored.

        Raises:
            Misfit: If it is none of this kind.
        """
        settled = _KINDS[self.kind].settle(value)
        if settled is not None and self._is_choice(settled):
            return settled
        raise self._misfit(value)

    def holds(self, value: Scalar) -> bool:
        """Whether the key, or an element of its list, can be equal to a value.

        Example:
            >>> KeyType("int").holds(2020.0), KeyType("int").holds(2020.5)
            (True, False)
        """
        settled = _KINDS[self.kind].settle(value)
        return settled is not None and self._is_choice(settled)

    def settled_value(self, value: Any) -> Any:
        """A value of metadata, which is not absent, in the form in which it is stored.

        Raises:
            Misfit: If the key does not hold it.
        """
        if type(value) is dict:
            raise Misfit(f"holds {self.held}, not an object", "declare the keys inside it")
        if self.kind == "any":
            return value
        if type(value) is list:
            if not self.many:
                raise Misfit(f"holds {self.held}, not a list", f"declare it as list[{self.kind}]")
            return [self._settled_item(item) for item in value]
        if self.many:
            raise Misfit(f"holds {self.held}, not {shown(value)} alone", "write a list of one")
        return self._settled_item(value)

    def _settled_item(self, value: Scalar) -> Scalar:
        try:
            return self.settled(value)
        except Misfit as misfit:
            if self.kind not in _PYTHON_WORDS or self.choices is not None:
                raise
            # What is written in a filter is no line of Python.
            raise Misfit(misfit.reason, f"pass {_PYTHON_WORDS[self.kind]}") from None

    def checked_literal(self, value: Scalar) -> None:
        """Whether a filter can compare the key, or an element, with a value at all.

        Raises:
            Misfit: If no document of the schema could ever be equal to it or be ordered by it.
        """
        wanted = self.filter_kind
        if wanted is None:
            return
        if kind_of(value) is wanted and (
            wanted is Kind.NUMBER or _KINDS[self.kind].settle(value) is not None
        ):
            if self._is_choice(value):
                return
        raise self._misfit(value)

    def guessed(self, value: Scalar) -> Scalar | None:
        """A literal that does not fit, read as people and models mean it; None if it cannot be."""
        if self.choices is not None and type(value) is str:
            found = _folded(self.choices).get(value.strip().casefold())
            if found is not None:
                return found
        guess = _KINDS[self.kind].guess(value)
        return guess if guess is not None and self._is_choice(guess) else None

    def loaded(self, value: Any) -> Any:
        """What a stored value is in Python; a value that is none of this kind stays as it is."""
        if type(value) is list:
            return [self._loaded(item) for item in value]
        return self._loaded(value)

    def _loaded(self, value: Any) -> Any:
        try:
            if self.python is not None:
                return self.python(value)
            return _KINDS[self.kind].load(self.settled(value))
        except (ValueError, TypeError):
            return value

    def _is_choice(self, value: Scalar) -> bool:
        return self.choices is None or literal_key(value) in _distinct(self.choices)

    def _misfit(self, value: Scalar) -> Misfit:
        guess = self.guessed(value)
        if guess is not None:
            remedy = f"write {written(guess, self.kind)}"
        elif self.choices is not None and type(value) is str:
            texts = [one for one in self.choices if type(one) is str]
            close = get_close_matches(value, texts, n=1)
            remedy = f"did you mean {close[0]!r}?" if close else f"choose {self.held}"
        elif self.kind == "float" and type(value) is int:
            remedy = "declare it as int; a float does not hold it exactly"
        else:
            remedy = f"such as {written(self.example, self.kind)}"
        told = "one of these" if self.choices is not None else ""
        if told:
            return Misfit(f"holds {self.held}, and {shown(value)} is none of these", remedy)
        return Misfit(f"holds {self.held}, not {shown(value)}", remedy)


# A filter from a stranger may hold ten thousand literals, and a schema a thousand choices.
@lru_cache(maxsize=256)
def _distinct(choices: tuple[Scalar, ...]) -> frozenset[str]:
    return frozenset(map(literal_key, choices))


@lru_cache(maxsize=256)
def _folded(choices: tuple[Scalar, ...]) -> dict[str, Scalar]:
    return {str(choice).casefold(): choice for choice in choices}


def written(value: Scalar, kind: str) -> str:
    """A value of a kind as it stands in a filter text.

    Example:
        >>> written("2024-01-01", "date"), written(2020, "int")
        ("DATE '2024-01-01'", '2020')
    """
    text = literal_text(value)
    prefix = {"date": "DATE ", "datetime": "TIMESTAMP "}.get(kind, "")
    return f"{prefix}{text}" if type(value) is str else text
