"""Filters as conditions of LanceDB's SQL, for ``search(...).where(condition, prefilter=True)``."""

from __future__ import annotations

import re
from typing import ClassVar, Final, Literal, get_args

from vecstore.dialects.base import Dialect, check_choice
from vecstore.dialects.declared import Declaration, DeclaredKey, Path, decided, declared_keys
from vecstore.dialects.lancedb.layout import (
    ORDERED,
    TOKENS,
    number_name,
    ordered_text,
    text_name,
)
from vecstore.dialects.sql import quoted
from vecstore.dialects.tokens import nearest_double, presence_token, value_token
from vecstore.filter.convert import SAFE_DOUBLE, Capabilities, Compiled, KeyRule, Refusal
from vecstore.filter.text import key_text
from vecstore.filter.tree import Expression, Op
from vecstore.filter.values import Kind, Scalar, kind_of
from vecstore.frozen import field, frozen

Layout = Literal["exact", "plain"]

_SYMBOLS: Final = {Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}
_ZERO: Final = "CAST('0.0' AS DOUBLE)"
_MINUS_ZERO: Final = "CAST('-0.0' AS DOUBLE)"
_POSITIVE: Final = frozenset({Op.EQ, Op.IN})


@frozen
class LanceDB(Dialect[str]):
    """LanceDB, filters for ``table.search(...).where(condition, prefilter=True)``.

    Args:
        layout: ``"plain"`` filters the columns of a table that any program wrote, ``"exact"`` the
            two columns that our own store keeps beside the metadata.
        schema: What the keys hold, a :class:`~vecstore.Schema`. In the plain layout filters may use
            what it declares and nothing else: each key is a column of that name, one inside an
            object a field of a struct. Numbers stand in columns of any type of number, and hold no
            NaN; bools in columns of bools; all else, moments included, in columns of texts; lists
            in columns of lists of these.

    Raises:
        ConfigurationError: For an unknown layout.

    Example:
        >>> from vecstore import F, Schema
        >>> print(LanceDB(schema=Schema({"lang": str})).compile(F.lang == "it's").query)
        "lang" = 'it''s'
        >>> print(LanceDB(layout="exact").compile(F.author.name == "Ada").query)
        array_has("vecstore_tokens", '["author","name"]="Ada"')
    """

    name: ClassVar[str] = "lancedb"
    match_all: ClassVar[str] = "true"

    layout: Layout = "plain"
    schema: Declaration | None = None
    _declared: dict[Path, DeclaredKey] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_choice("layout", self.layout, get_args(Layout))
        object.__setattr__(self, "_declared", declared_keys(self.schema))

    @property
    def capabilities(self) -> Capabilities:
        """Everything but orderings by very large numbers; in the plain layout of declared keys."""
        return _EXACT if self.layout == "exact" else _PLAIN

    def kinds(self, atom: Expression) -> frozenset[Kind] | None:
        if self.layout == "plain" and atom.key.path not in self._declared:
            return None
        return self.capabilities.literals.get(atom.op)

    def refusal(self, atom: Expression, kind: Kind | None) -> Refusal | None:
        key = key_text(atom.key.path)
        return Refusal(
            "a condition on a column depends on its type, which is not known of this key",
            f"declare what the key holds: schema=Schema({{{key!r}: str}}); in tables that vecstore "
            'lays out, layout="exact" answers any key',
        )

    @property
    def folds(self) -> bool:
        return bool(self._declared)

    def fold(self, atom: Expression) -> bool | None:
        """Decide what the declaration of a key makes impossible, too."""
        return decided(self._declared.get(atom.key.path), atom)

    def all_of(self, parts: list[str]) -> str:
        return f"({' AND '.join(parts)})"

    def any_of(self, parts: list[str]) -> str:
        return f"({' OR '.join(parts)})"

    def order(self, atom: Expression) -> str:
        path, symbol, literal = atom.key.path, _SYMBOLS[atom.op], atom.value.items[0]
        if self.layout == "plain":
            return f"{_value(path, kind_of(literal))} {symbol} {quoted_literal(literal)}"
        if isinstance(literal, str):
            digits = quoted_text(f'"{ordered_text(literal)}"')
            return f"{_extracted(text_name(path))} {symbol} {digits}"
        number = f"try_cast({_extracted(number_name(path))} AS DOUBLE)"
        return f"{number} {symbol} {quoted_literal(literal)}"

    def member(self, atom: Expression) -> str:
        path, items = atom.key.path, atom.value.items
        if self.layout == "exact":
            found = _has_any(
                quoted(TOKENS), [quoted_text(value_token(path, item)) for item in items]
            )
            return found if atom.op in _POSITIVE else f"(NOT {found})"
        declared = self._declared[path]
        literals = [quoted_literal(item) for item in items if declared.holds(item)]
        if _ZERO in literals and (declared.many or len(literals) > 1):
            literals.append(_MINUS_ZERO)  # another value to lists, and to sets of literals
        assert declared.filter_kind is not None
        if declared.many:
            found = _has_any(_list(path, declared.filter_kind), literals)
        else:
            value = _value(path, declared.filter_kind)
            several = f"{value} IN ({', '.join(literals)})"
            found = f"{value} = {literals[0]}" if len(literals) == 1 else several
        return found if atom.op in _POSITIVE else f"({quoted(*path)} IS NULL OR NOT {found})"

    def null(self, atom: Expression) -> str:
        path, present = atom.key.path, atom.op is Op.ISNOTNULL
        if self.layout == "exact":
            found = _has_any(quoted(TOKENS), [quoted_text(presence_token(path))])
            return found if present else f"(NOT {found})"
        column = quoted(*path)
        if not self._declared[path].many:
            return f"{column} IS {'NOT ' if present else ''}NULL"
        # No type of list has a length that is NULL, but where it is NULL itself.
        filled = f"array_length({column}) > 0"
        return filled if present else f"({column} IS NULL OR NOT {filled})"

    def nothing(self) -> Compiled:
        return Compiled(self.name, "false", matches_nothing=True)


def quoted_text(text: str) -> str:
    """A text as a literal of LanceDB's SQL, in which only a quote has a meaning.

    Example:
        >>> print(quoted_text("it's"))
        'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


def quoted_literal(value: Scalar) -> str:
    """A value as a literal of its type.

    Example:
        >>> print(quoted_literal(1), quoted_literal(True))
        CAST('1.0' AS DOUBLE) true
    """
    if isinstance(value, str):
        return quoted_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"CAST('{nearest_double(value)!r}' AS DOUBLE)"


def _has_any(column: str, literals: list[str]) -> str:
    if len(literals) == 1:
        return f"array_has({column}, {literals[0]})"
    return f"array_has_any({column}, make_array({', '.join(literals)}))"


def _extracted(name: str) -> str:
    """What stands under a name of the JSON column, as JSON text; NULL where nothing does."""
    return f"json_extract({quoted(ORDERED)}, '$.\"{name}\"')"


def _value(path: Path, kind: Kind) -> str:
    """A column as what literals are compared with: numbers of every type as doubles."""
    column = quoted(*path)
    return f"CAST({column} AS DOUBLE)" if kind is Kind.NUMBER else column


def _list(path: Path, kind: Kind) -> str:
    column = quoted(*path)
    return f"arrow_cast({column}, 'List(Float64)')" if kind is Kind.NUMBER else column


_EXACT: Final = Capabilities(
    max_ordered_number=SAFE_DOUBLE,
    # Its parser of SQL gives up at 24 levels with comparisons on both sides.
    max_depth=18,
    max_atoms=2_000,
    max_list=10_000,
)
_PLAIN: Final = Capabilities(
    key_rule=KeyRule(
        re.compile(r"[^.`]+", re.DOTALL),
        Refusal(
            "the name of its column cannot be empty or hold a dot or a back-quote",
            'rename the key; in tables that vecstore lays out, layout="exact" answers any key',
        ),
    ),
    max_number=SAFE_DOUBLE,
    max_depth=18,
    max_atoms=2_000,
    max_list=10_000,
)
