"""The condition of a SQL ``WHERE``, read by sqlglot."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from functools import partial
from typing import Any, ClassVar, Final

from vecstore.errors import (
    BackendNotInstalledError,
    ConfigurationError,
    FilterLimitError,
    FilterSyntaxError,
    FilterTypeError,
)
from vecstore.filter.limits import DEFAULT_LIMITS, Limits, limit_error
from vecstore.filter.normalize import NEGATION
from vecstore.filter.tree import FALSE, TRUE, Expression, Key, Op, Span, trusted
from vecstore.filter.values import shown
from vecstore.installing import install_line
from vecstore.interop.reading import Branch, Importer, Part, Place, Read

_COMPARISONS: Final = {
    "EQ": Op.EQ,
    "NEQ": Op.NE,
    "GT": Op.GT,
    "GTE": Op.GTE,
    "LT": Op.LT,
    "LTE": Op.LTE,
}
_MIRRORED: Final = {Op.GT: Op.LT, Op.GTE: Op.LTE, Op.LT: Op.GT, Op.LTE: Op.GTE}
_DISTINCT: Final = {"NullSafeEQ": Op.EQ, "NullSafeNEQ": Op.NE}
_MOMENTS: Final = {
    "DATE": date.fromisoformat,
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPNTZ", "TIMESTAMPLTZ", "DATETIME"),
        datetime.fromisoformat,
    ),
}
_WITHOUT_ZONE: Final = frozenset({"TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"})
_TEXT = "filters compare whole values; keep what you look for under a key of its own"
_ADVICE: Final = {
    **dict.fromkeys(("Like", "ILike", "RegexpLike", "RegexpILike", "SimilarTo", "Glob"), _TEXT),
    **dict.fromkeys(
        ("JSONExtract", "JSONExtractScalar", "JSONBExtract", "JSONBExtractScalar", "Bracket"),
        "write the path of the key: author.name",
    ),
    **dict.fromkeys(("Placeholder", "Parameter"), "put the value into the text"),
    "Cast": "compare the key itself with a literal of the kind that it holds",
    "Any": "write IN ('a', 'b'); one element of a list is enough",
    "Subquery": "write the values themselves: IN ('a', 'b')",
    "Xor": "write (a = 1 AND NOT b = 2) OR (NOT a = 1 AND b = 2)",
}
_OPENING: Final = frozenset({"L_PAREN", "L_BRACKET", "L_BRACE"})
_CLOSING: Final = frozenset({"R_PAREN", "R_BRACKET", "R_BRACE"})
_UNARY: Final = frozenset({"NOT", "DASH", "TILDA", "PLUS"})
_NO_CONDITION: Final = frozenset(
    {"SEMICOLON", "SELECT", "WITH", "CASE", "ARRAY", "MAP", "STRUCT", "UNION", "VALUES"}
)
"""Tokens that no condition here has; some of them nest without a parenthesis.

sqlglot is compiled where its extra `c` is installed, and then nothing stops it from nesting deeper
than the stack is."""
_EXECUTED: Final = ("!", "M!")
_LONGEST_NUMBER: Final = 4_000


class Sql(Importer):
    """A condition of SQL.

    Its third truth value is that of ours, and each comparison with NULL is unknown: ``x <> 1``
    leaves out what has no ``x``. NOT is pushed down while reading, so that each comparison is
    written as what it selects.
    """

    source: ClassVar[str] = "SQL"

    def __init__(self, limits: Limits | None, text: str) -> None:
        super().__init__(limits)
        self.text = text

    def start(self, item: Any, place: Place) -> Read:
        return self.condition(False, item, place)

    def condition(self, negated: bool, node: Any, place: Place) -> Read:
        """What a condition selects, or its negation."""
        kind = type(node).__name__
        while kind in ("Paren", "Not"):
            negated ^= kind == "Not"
            node = node.this
            kind = type(node).__name__
        if kind in ("And", "Or"):
            op = Op.AND if (kind == "And") is not negated else Op.OR
            return Branch(
                op, [Part(partial(self.condition, negated), one, place) for one in _leaves(node)]
            )
        if kind in _COMPARISONS:
            self._check_args(node, "this", "expression")
            return self._comparison(node, _COMPARISONS[kind], negated)
        if kind in _DISTINCT:
            self._check_args(node, "this", "expression")
            return self._distinct(node, _DISTINCT[kind], negated)
        if kind == "In":
            self._check_args(node, "this", "expressions")
            return self._among(node, negated)
        if kind == "Between":
            self._check_args(node, "this", "low", "high")
            return self._between(node, negated)
        if kind == "Is":
            return self._is(node, negated)
        if kind == "Boolean":
            return TRUE if bool(node.this) is not negated else FALSE
        if kind in ("Column", "Dot"):
            return self._atom(node, Op.EQ, self._key(node), not negated)
        hint = _ADVICE.get(kind, "a condition compares a key with a literal: year >= 2020")
        raise self._refused(node, "this has no meaning in a filter", hint)

    # --- comparisons ----------------------------------------------------------------------------

    def _comparison(self, node: Any, op: Op, negated: bool) -> Read:
        left, right = node.this, node.expression
        if _is_key(right) and not _is_key(left):
            left, right, op = right, left, _MIRRORED.get(op, op)
        key = self._key(left)
        value = self._literal(right)
        if value is None:
            raise self._refused(
                node,
                "a comparison with NULL is never true",
                f"write {_written(key)} IS {'NOT ' if op is Op.NE else ''}NULL",
            )
        return self._selected(node, NEGATION[op] if negated else op, key, value)

    def _distinct(self, node: Any, op: Op, negated: bool) -> Read:
        key, value = self._key(node.this), self._literal(node.expression)
        op = NEGATION[op] if negated else op
        if value is None:
            return self.null(key, absent=op is Op.EQ)
        return self._atom(node, op, key, value)

    def _among(self, node: Any, negated: bool) -> Read:
        key = self._key(node.this)
        if not node.expressions:
            raise self._refused(node, "IN has no list", "write IN ('a', 'b')")
        values = [self._literal(one) for one in node.expressions]
        present = [value for value in values if value is not None]
        if negated and len(present) < len(values):
            return FALSE  # whatever is not in the list may be that NULL
        return self._selected(node, Op.NIN if negated else Op.IN, key, present)

    def _between(self, node: Any, negated: bool) -> Read:
        key = self._key(node.this)
        low, high = self._literal(node.args["low"]), self._literal(node.args["high"])
        if low is None or high is None:
            raise self._refused(node, "a comparison with NULL is never true", "write a bound")
        ops = (Op.LT, Op.GT) if negated else (Op.GTE, Op.LTE)
        return Branch(
            Op.OR if negated else Op.AND,
            [self._atom(node, op, key, bound) for op, bound in zip(ops, (low, high), strict=True)],
        )

    def _is(self, node: Any, negated: bool) -> Read:
        self._check_args(node, "this", "expression", "negate")
        # IS NOT is a NOT around IS, but for some dialects a property of the IS.
        negated ^= bool(node.args.get("negate"))
        key, value = self._key(node.this), self._literal(node.expression)
        if value is None:
            return self.null(key, absent=not negated)
        if not isinstance(value, bool):
            raise self._refused(
                node, "IS takes NULL, TRUE or FALSE", f"write {_written(key)} = ..."
            )
        return self._atom(node, Op.NE if negated else Op.EQ, key, value)

    def _selected(self, node: Any, op: Op, key: Key, value: Any) -> Read:
        found = self._atom(node, op, key, value)
        if op not in (Op.NE, Op.NIN):
            return found
        return Branch(Op.AND, (found, self.null(key, absent=False)))

    def _atom(self, node: Any, op: Op, key: Key, value: Any) -> Expression:
        span = self._span(node)
        try:
            found = self.compared(op, key, value, Place())
        except FilterTypeError as error:
            raise FilterSyntaxError(error.message, span=span, hint=error.hint) from None
        return trusted(op, found.operands, span, from_outside=True)

    # --- keys and literals ----------------------------------------------------------------------

    def _key(self, node: Any) -> Key:
        names: list[str] = []
        current = node
        while type(current).__name__ == "Dot" and type(current.expression).__name__ == "Identifier":
            names.append(current.expression.name)
            current = current.this
        if type(current).__name__ != "Column" or type(current.this).__name__ != "Identifier":
            what = type(current).__name__
            literal = what in ("Literal", "Boolean", "Null", "Neg")
            raise self._refused(
                node,
                "a key is compared with a literal, and there is no key"
                if literal
                else "this is no key",
                "write year >= 2020"
                if literal
                else _ADVICE.get(what, "write year, or author.name"),
            )
        if current.args.get("join_mark"):
            raise self._refused(
                node, "an outer join has no meaning in a filter", "leave out the mark (+)"
            )
        path = [part.name for part in current.parts] + names[::-1]
        try:
            return self.key_of(path, Place())
        except FilterTypeError as error:
            raise self._refused(node, error.message, error.hint) from None

    def _literal(self, node: Any) -> Any:
        """A literal's value; None for NULL."""
        while type(node).__name__ == "Paren":
            node = node.this
        kind = type(node).__name__
        if kind == "Null":
            return None
        if kind == "Boolean":
            return bool(node.this)
        if kind == "Neg" and type(node.this).__name__ == "Literal" and not node.this.is_string:
            return -self._number(node.this)
        if kind == "Literal":
            return node.this if node.is_string else self._number(node)
        if kind == "Cast" and type(node.this).__name__ == "Literal" and node.this.is_string:
            self._check_args(node, "this", "to")
            read = _MOMENTS.get(node.to.this.name)
            if read is not None and node.to.expressions:
                raise self._refused(
                    node,
                    "a moment is compared as it is, and rounded to no precision",
                    "write the one that is meant, without a precision",
                )
            if read is not None:
                try:
                    moment = read(node.this.this)
                except ValueError:
                    raise self._refused(
                        node, f"{shown(node.this.this)} is no date or time", "write '2024-01-31'"
                    ) from None
                if node.to.this.name in _WITHOUT_ZONE and getattr(moment, "tzinfo", None):
                    raise self._refused(
                        node,
                        "a type without a zone drops this one in some databases, and not in others",
                        "name a type with a zone (TIMESTAMPTZ), or leave the zone out",
                    )
                return moment
        return self._no(node)

    def _no(self, node: Any) -> Any:
        kind = type(node).__name__
        if kind in ("Column", "Dot"):
            raise self._refused(
                node,
                "a key is compared with a literal, not with another key",
                f"for a text write '{node.name}'",
            )
        raise self._refused(node, "this is no literal", _ADVICE.get(kind, "write 2020, or 'a'"))

    def _number(self, node: Any) -> int | float:
        text = node.this
        if len(text) > _LONGEST_NUMBER:
            raise self._refused(node, "a number of more than 4,000 digits", "store it as text")
        try:
            return int(text) if text.isdecimal() else float(text)
        except ValueError:
            raise self._refused(node, f"{shown(text)} is no number", "write 2020 or 0.5") from None

    # --- errors ---------------------------------------------------------------------------------

    def _check_args(self, node: Any, *wanted: str) -> None:
        for name, value in node.args.items():
            if value and name not in wanted:
                raise self._refused(
                    node, "this has no meaning in a filter", _ADVICE.get("Subquery")
                )

    def _refused(self, node: Any, message: str, hint: str | None) -> FilterSyntaxError:
        return FilterSyntaxError(message, span=self._span(node), hint=hint)

    def _span(self, node: Any) -> Span:
        starts: list[int] = []
        ends: list[int] = []
        for part in node.walk():
            where = part.meta if part._meta else {}
            if isinstance(where.get("start"), int) and isinstance(where.get("end"), int):
                starts.append(where["start"])
                ends.append(where["end"] + 1)
        if not starts:
            return Span(self.text, 0, len(self.text))
        return Span(self.text, min(starts), max(ends))


def _is_key(node: Any) -> bool:
    return type(node).__name__ in ("Column", "Dot")


def _written(key: Key) -> str:
    return ".".join(key.path)


def _leaves(node: Any) -> list[Any]:
    """The operands of a chain of one connective, left to right."""
    kind = type(node)
    found: list[Any] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if type(current) is kind:
            waiting += (current.expression, current.this)
        else:
            found.append(current)
    return found


def from_sql(
    where: str, *, dialect: str | None = None, limits: Limits | None = DEFAULT_LIMITS
) -> Expression:
    """The condition of a SQL ``WHERE`` as a filter.

    Names joined by dots are steps into objects. The result selects what SQL does: ``x <> 1`` leaves
    out documents without ``x``, for which it is not true there. Names keep their case.

    Args:
        where: The condition; the word WHERE may stand before it.
        dialect: Whose SQL, by sqlglot's name for it: ``"postgres"``, ``"mysql"``. None for what
            most have in common.
        limits: Bounds on its size; None lifts them.

    Raises:
        FilterSyntaxError: For what cannot be read or has no meaning here, with its place.
        FilterLimitError: If it is larger than the limits, or nested deeper than sqlglot reads.
        BackendNotInstalledError: If sqlglot is missing.

    Example:
        >>> from_sql("year BETWEEN 2020 AND 2024 AND lang <> 'de'").to_text()
        "year >= 2020 AND year <= 2024 AND lang != 'de' AND lang IS NOT NULL"
        >>> from_sql("title LIKE 'A%'")
        Traceback (most recent call last):
        ...
        vecstore.errors.FilterSyntaxError: this has no meaning in a filter
          line 1, column 1
            title LIKE 'A%'
            ^^^^^^^^^^^^^^^
        hint: filters compare whole values; keep what you look for under a key of its own
    """
    if not isinstance(where, str):
        raise TypeError(f"a condition of SQL is text, not a {type(where).__name__}")
    importer = Sql(limits, where)
    return importer.read(_parsed(where, dialect, limits))


def _parsed(text: str, dialect: str | None, limits: Limits | None) -> Any:
    try:
        import sqlglot
        from sqlglot import errors, expressions
    except ImportError:
        raise BackendNotInstalledError(
            f"reading SQL needs sqlglot: {install_line('sql')}"
        ) from None
    if limits is not None and len(text) > limits.text:
        raise limit_error("text", limits.text, "the text is longer than {} characters", None)
    try:
        tokens = sqlglot.tokenize(text, read=dialect)
    except errors.TokenError:
        raise FilterSyntaxError(
            "this SQL cannot be split into words",
            span=Span(text, 0, len(text)),
            hint="look for a quote that is not closed",
        ) from None
    except ValueError as error:  # an unknown dialect
        raise ConfigurationError(f"sqlglot: {error}") from None
    body = _checked(text, tokens, limits)
    try:
        found = sqlglot.parse_one(body, read=dialect, into=expressions.Condition)
    except errors.ParseError as error:
        raise _syntax_error(text, error.errors) from None
    except RecursionError:
        raise FilterLimitError(
            "the condition is nested deeper than sqlglot can read",
            limit="nesting",
            hint="leave out parentheses that are not needed",
        ) from None
    return found


def _checked(text: str, tokens: Iterable[Any], limits: Limits | None) -> str:
    """The text without the word WHERE before it, once its tokens are known to be harmless."""
    depth = waiting = 0
    body = text
    anything = False
    for number, token in enumerate(tokens):
        name = token.token_type.name
        span = Span(text, token.start, token.end + 1)
        if name == "WHERE" and number == 0:
            body = " " * (token.end + 1) + text[token.end + 1 :]
            continue
        anything = True
        for comment in token.comments:
            if comment.startswith(_EXECUTED) and f"/*{comment}" in text:
                raise FilterSyntaxError(
                    "a comment beside this is one that MySQL and MariaDB execute",
                    span=span,
                    hint="write what is meant without /*! and */, or leave it out",
                )
        if name in _NO_CONDITION:
            raise FilterSyntaxError(
                f"{shown(span.text)} has no meaning in a filter",
                span=span,
                hint="write one condition"
                if name == "SEMICOLON"
                else "write literals, such as IN ('a', 'b'); where it is a key, quote it",
            )
        if name in _OPENING:
            depth += 1
        elif name in _CLOSING:
            depth -= 1
        waiting = waiting + 1 if name in _UNARY else 0
        if limits is not None and depth + waiting > limits.nesting:
            raise limit_error(
                "nesting", limits.nesting, "the condition is nested deeper than {} levels", span
            )
    if not anything:
        raise FilterSyntaxError(
            "there is no condition", span=Span(text, 0, len(text)), hint="write year >= 2020"
        )
    return body


def _syntax_error(text: str, faults: list[dict[str, Any]]) -> FilterSyntaxError:
    fault = faults[0] if faults else {}
    span = Span(text, 0, len(text))
    line, column = fault.get("line"), fault.get("col")
    marked = fault.get("highlight") or ""
    lines = text.split("\n")
    if isinstance(line, int) and isinstance(column, int) and 0 < line <= len(lines):
        end = min(sum(len(one) + 1 for one in lines[: line - 1]) + column, len(text))
        if text[max(end - len(marked), 0) : end] == marked:
            span = Span(text, max(end - max(len(marked), 1), 0), end)
    description = str(fault.get("description") or "it is no condition")
    if "<class" in description:  # which names sqlglot's own parts
        description = "something is missing"
    return FilterSyntaxError(
        f"this SQL cannot be read: {description[:1].lower()}{description[1:]}",
        span=span,
        hint="a condition compares keys with literals: year >= 2020 AND lang IN ('de', 'fr')",
    )
