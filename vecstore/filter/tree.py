"""The neutral tree: 13 operators, keys, literal values and expressions.

Every node is immutable, hashable and checked when it is built, so that no later stage meets a
malformed filter. Trees are canonical by construction: :class:`Group` is unwrapped, AND is
spliced into AND and OR into OR. No method recurses into a tree, which may be as deep as memory
allows.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from types import EllipsisType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self, TypeVar

from vecstore.errors import FilterTypeError
from vecstore.filter.limits import DEFAULT_LIMITS, Limits
from vecstore.filter.values import (
    Kind,
    Scalar,
    UnusableValue,
    check_segment,
    kind_of,
    list_items,
    literal_key,
    shown,
    to_scalar,
)

if TYPE_CHECKING:
    from vecstore.filter.evaluate import Evaluator
    from vecstore.filter.two_valued import DeclaredKeys

Rule = TypeVar("Rule", bound=Callable[..., Any])

_RULES: dict[str, Any] = {}


def rule(name: str) -> Callable[[Rule], Rule]:
    """Let a function be what a method of the tree does; serves as a decorator.

    What a filter means, and how it is written, stands in modules of its own that import this one.
    Each gives its function to the tree here; ``vecstore.filter`` imports all of them.
    """

    def given(function: Rule) -> Rule:
        _RULES[name] = function
        return function

    return given


class Op(enum.Enum):
    """The thirteen operators; the value is the name used in the dict form."""

    AND = "and"
    OR = "or"
    NOT = "not"
    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    IN = "in"
    NIN = "nin"
    ISNULL = "isnull"
    ISNOTNULL = "isnotnull"

    # Members are singletons: identity hashing is right, and much faster than hashing the name.
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Op.{self.name}"

    @property
    def symbol(self) -> str:
        """The operator as the canonical text spells it."""
        return _SYMBOLS[self]


_SYMBOLS = {
    Op.AND: "AND",
    Op.OR: "OR",
    Op.NOT: "NOT",
    Op.EQ: "==",
    Op.NE: "!=",
    Op.GT: ">",
    Op.GTE: ">=",
    Op.LT: "<",
    Op.LTE: "<=",
    Op.IN: "IN",
    Op.NIN: "NOT IN",
    Op.ISNULL: "IS NULL",
    Op.ISNOTNULL: "IS NOT NULL",
}

LOGICAL = frozenset({Op.AND, Op.OR, Op.NOT})
ORDERINGS = frozenset({Op.GT, Op.GTE, Op.LT, Op.LTE})
COMPARISONS = ORDERINGS | {Op.EQ, Op.NE}
MEMBERSHIPS = frozenset({Op.IN, Op.NIN})
NULL_TESTS = frozenset({Op.ISNULL, Op.ISNOTNULL})
SYMBOLS = {**{op.symbol: op for op in COMPARISONS}, "=": Op.EQ, "<>": Op.NE}
"""How comparisons may be written in a text."""


def literal_fault(op: Op, kind: Kind) -> tuple[str, str] | None:
    """What is wrong with a literal of that kind on the right of ``op``, and the remedy.

    The text parser and the constructors share it, so that both refuse the same trees in the
    same words.
    """
    if op in MEMBERSHIPS:
        if kind is not Kind.LIST:
            return f"{op.symbol} takes a list, not a {kind.value}", f"write {op.symbol} [...]"
    elif op in ORDERINGS:
        if kind not in (Kind.NUMBER, Kind.STRING):
            return (
                f"{op.symbol} orders numbers or strings, not a {kind.value}",
                "compare with ==" if kind is Kind.BOOL else "compare with one number or string",
            )
    elif kind is Kind.LIST:
        membership = Op.IN if op is Op.EQ else Op.NIN
        return (
            f"{op.symbol} compares with one value, not a list",
            f"write {membership.symbol} [...]",
        )
    return None


class Span(NamedTuple):
    """The half-open range ``source[start:end]`` that a node was read from.

    Spans never take part in equality, hashing, ``repr`` or the dict form of a tree.

    Example:
        >>> span = Span("a == 1 AND b == 2", 11, 17)
        >>> span.text, span.line, span.column
        ('b == 2', 1, 12)
    """

    source: str
    start: int
    end: int

    @property
    def text(self) -> str:
        """The characters the span covers."""
        return self.source[self.start : self.end]

    @property
    def line(self) -> int:
        """The line of the first character, counted from 1."""
        return self.source.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """The column of the first character in its line, counted from 1."""
        return self.start - (self.source.rfind("\n", 0, self.start) + 1) + 1

    def until(self, other: Span) -> Span:
        """The range from the start of this span to the end of ``other``."""
        return Span(self.source, self.start, other.end)


Place = tuple[str, int, int]
"""A :class:`Span` as it is kept: a plain tuple is made in a fraction of the time."""

put = object.__setattr__
_new = object.__new__
_span: Callable[[type[Span], Place], Span] = tuple.__new__


def setters(owner: type, *slots: str) -> list[Callable[[Any, Any], None]]:
    """What fills slots of a class that refuses to be written to, in half the time of ``put``."""
    return [vars(owner)[slot].__set__ for slot in slots]


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


class Placed(Immutable):
    """What may have been read from a text."""

    __slots__ = ("_place",)

    _place: Place | None

    @property
    def span(self) -> Span | None:
        """Where it stands in the filter text that it was read from; None if it was read from none.

        Spans take no part in equality, hashing, ``repr`` or the dict form.
        """
        place = self._place
        return None if place is None else _span(Span, place)


(_set_place,) = setters(Placed, "_place")


class Key(Placed):
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

    __slots__ = ("path",)

    path: tuple[str, ...]

    def __init__(self, *segments: str, span: Span | None = None) -> None:
        if not segments:
            raise FilterTypeError("a key needs at least one segment", span=span)
        try:
            path = tuple([check_segment(segment) for segment in segments])
        except UnusableValue as error:
            raise FilterTypeError(error.reason, span=span, hint=error.remedy) from None
        _set_path(self, path)
        _set_place(self, span)

    @classmethod
    def of_path(cls, path: tuple[str, ...], place: Place | None = None) -> Key:
        """A key of what ``check_segment`` returned, without the checks."""
        key: Key = _new(cls)
        _set_path(key, path)
        _set_place(key, place)
        return key

    def __eq__(self, other: object) -> bool:
        return self.path == other.path if type(other) is Key else NotImplemented

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"Key({', '.join(map(repr, self.path))})"

    def __str__(self) -> str:
        text: str = _RULES["key_text"](self.path)
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_key, (self.path, self.span)


class Value(Placed):
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

    __slots__ = ("items", "kind", "value")

    value: Scalar | tuple[Scalar, ...]
    kind: Kind
    items: tuple[Scalar, ...]
    """The literals of a list, or the one scalar as a tuple."""

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

    def _fill(self, value: Scalar | tuple[Scalar, ...], kind: Kind, place: Place | None) -> None:
        _set_value(self, value)
        _set_kind(self, kind)
        _set_place(self, place)
        _set_items(self, value if type(value) is tuple else (value,))

    def __eq__(self, other: object) -> bool:
        if type(other) is not Value:
            return NotImplemented
        if self.kind is not other.kind or self.items != other.items:
            return False
        # True == 1 in Python: what tells literals apart is their kind together with the value.
        return self.kind is not Kind.LIST or _truths(self.items) == _truths(other.items)

    def __hash__(self) -> int:
        return hash((self.kind, *map(literal_key, self.items)))

    @classmethod
    def of_scalar(cls, scalar: Scalar, kind: Kind, place: Place | None = None) -> Value:
        """A literal of what ``to_scalar`` returned, without the checks."""
        value: Value = _new(cls)
        _set_value(value, scalar)
        _set_kind(value, kind)
        _set_place(value, place)
        _set_items(value, (scalar,))
        return value

    @classmethod
    def of_scalars(cls, items: tuple[Scalar, ...], place: Place | None = None) -> Value:
        """A list literal of what ``to_scalar`` returned, without the checks."""
        value: Value = _new(cls)
        value._fill(items, Kind.LIST, place)
        return value

    def __repr__(self) -> str:
        shown = list(self.value) if isinstance(self.value, tuple) else self.value
        return f"Value({shown!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_value, (self.value, self.span)


(_set_path,) = setters(Key, "path")
_set_value, _set_kind, _set_items = setters(Value, "value", "kind", "items")


def _truths(items: tuple[Scalar, ...]) -> list[bool]:
    return [kind is bool for kind in map(type, items)]


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


class Group(Immutable):
    """Parentheses, for those who are used to write them in a builder; never part of a tree.

    Example:
        >>> Group(Expression(Op.ISNULL, Key("a"))).build()
        Expression(Op.ISNULL, Key('a'))
    """

    __slots__ = ("content",)

    content: Expression

    def __init__(self, content: Expression | Group) -> None:
        put(self, "content", unwrap(content))

    def build(self) -> Expression:
        """The expression inside."""
        return self.content

    def __eq__(self, other: object) -> bool:
        return self.content == other.content if type(other) is Group else NotImplemented

    def __hash__(self) -> int:
        return hash((Group, self.content))

    def __repr__(self) -> str:
        return f"Group({self.content!r})"

    def __and__(self, other: Expression | Group) -> Expression:
        return self.content & other

    def __or__(self, other: Expression | Group) -> Expression:
        return self.content | other

    def __invert__(self) -> Expression:
        return ~self.content

    def __bool__(self) -> NoReturn:
        _no_truth_value()

    def __reduce__(self) -> tuple[Any, ...]:
        return Group, (self.content,)


class Kept:
    """What has been made of one tree, so that it is made once; it is no part of the tree.

    Each is set in one step and says the same whoever made it, so that threads need no lock.

    Attributes:
        evaluator: Decides documents.
        stored_matcher: Decides metadata as a store holds it.
        simple: What ``simplify`` returned; ``...`` where that is the tree itself.
        cost: Of what comes from outside in it.
        limits: Those that the tree has been found to keep within.
        compiled: By dialect, the last first; None in place of a result that was made only once.
        two_valued_matcher: Decides documents, unknown comparisons taken for false.
    """

    __slots__ = (
        "compiled",
        "cost",
        "evaluator",
        "limits",
        "simple",
        "stored_matcher",
        "two_valued_matcher",
    )

    def __init__(self) -> None:
        self.evaluator: Evaluator | None = None
        self.stored_matcher: Callable[[Mapping[str, Any]], bool] | None = None
        self.simple: Expression | bool | EllipsisType | None = None
        self.cost: int | None = None
        self.limits: Limits | None = None
        self.compiled: tuple[tuple[object, Any], ...] = ()
        self.two_valued_matcher: Callable[[Mapping[str, Any]], bool] | None = None


class Expression(Placed):
    """One operator applied to its operands.

    ``AND``/``OR`` take two or more expressions, ``NOT`` one; comparisons take a :class:`Key` and
    a :class:`Value` (a list for IN and NIN), null tests a :class:`Key`.

    Args:
        op: The operator.
        *operands: As above; :class:`Group` counts as the expression inside it.
        span: Where the expression stands in a filter text.

    Raises:
        FilterTypeError: If the operands do not fit the operator.

    Example:
        >>> recent = Expression(Op.GTE, Key("year"), Value(2020))
        >>> local = Expression(Op.EQ, Key("country"), Value("BG"))
        >>> (recent & local).to_text()
        "year >= 2020 AND country == 'BG'"
        >>> (recent & local).matches({"year": 2021, "country": "BG"})
        True
        >>> recent.evaluate({}) is None
        True
    """

    __slots__ = (
        "_hash",
        "_joined",
        "_written",
        "from_outside",
        "kept",
        "key",
        "merged",
        "op",
        "operands",
        "value",
    )

    op: Op
    operands: tuple[Any, ...]
    key: Key
    """The key of a comparison or null test; AND, OR and NOT have none."""
    value: Value
    """The literal of a comparison; other expressions have none."""
    from_outside: bool
    """Whether this comparison or null test was read from a text or a dict. Like the span it is kept
    by rewrites, and left out of equality, hash, repr and the dict form."""
    kept: Kept
    """What has been made of this tree already."""
    merged: tuple[Expression, ...]
    """The atoms that a rewrite has put together in this one, as they were written."""
    _written: Op
    _hash: int | None
    # What `&` or `|` has put together, until somebody asks for the operands.
    _joined: tuple[Expression, Expression] | None

    def __init__(
        self, op: Op, *operands: Expression | Group | Key | Value, span: Span | None = None
    ) -> None:
        if type(op) is not Op:
            raise FilterTypeError(
                f"an operator is a member of Op, not {_described(op)}",
                span=span,
                hint="one of " + ", ".join(f"Op.{member.name}" for member in Op),
            )
        if op in LOGICAL:
            checked = _logical_operands(op, operands, span)
        else:
            _check_atom(op, operands, span)
            checked = operands
        self._fill(op, checked, span, op)

    def _fill(
        self,
        op: Op,
        operands: tuple[Any, ...],
        place: Place | None,
        written: Op,
        from_outside: bool = False,
        merged: tuple[Expression, ...] = (),
    ) -> None:
        _set_op(self, op)
        _set_operands(self, operands)
        _set_place(self, place)
        _set_from_outside(self, from_outside)
        _set_merged(self, merged)
        _set_written(self, written)
        _set_hash(self, None)
        if op not in LOGICAL:
            _set_key(self, operands[0])
            if len(operands) == 2:
                _set_literal(self, operands[1])

    if not TYPE_CHECKING:  # a type checker would believe that there is every attribute

        def __getattr__(self, name: str) -> Any:
            """Slots that are empty: what is made when it is asked for, and what is not there."""
            if name == "kept":
                kept = Kept()
                put(self, "kept", kept)
                return kept
            if name == "operands":
                return self._spliced()
            if name == "_joined":
                return None
            if name == "key":
                raise AttributeError(f"{self.op.symbol} has no key; see its .operands")
            if name == "value":
                raise AttributeError(f"{self.op.symbol} has no value")
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
            )

    def _spliced(self) -> tuple[Expression, ...]:
        """The operands of what ``&`` or ``|`` has put together; a long chain is walked once."""
        parts: list[Expression] = []
        stack = [self]
        while stack:
            node = stack.pop()
            if node.op is not self.op:
                parts.append(node)
                continue
            joined = node._joined
            if joined is None:
                parts.extend(node.operands)
            else:
                stack.extend(reversed(joined))
        operands = tuple(parts)
        # In this order: another thread that finds no pair any more finds the operands.
        put(self, "operands", operands)
        put(self, "_joined", None)
        return operands

    @property
    def written_op(self) -> Op:
        """The operator as the user wrote it, where a rewrite has pushed a NOT into it."""
        return self._written

    def walk(self) -> Iterator[Expression]:
        """Every expression of the tree, parents first, left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            if node.op in LOGICAL:
                stack.extend(reversed(node.operands))

    def build(self) -> Expression:
        """This expression; the end of a chain of :class:`FilterBuilder` calls."""
        return self

    def to_text(self) -> str:
        """The canonical text form; ``parse(e.to_text(), limits=None) == e``."""
        text: str = _RULES["to_text"](self)
        return text

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; ``Expression.from_dict(e.to_dict(), limits=None) == e``."""
        form: dict[str, Any] = _RULES["to_dict"](self)
        return form

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], *, limits: Limits | None = DEFAULT_LIMITS
    ) -> Expression:
        """Read the JSON form.

        Args:
            data: What :meth:`to_dict` returns.
            limits: Bounds on the size of the tree; None lifts them.

        Raises:
            FilterTypeError: For an unknown operator, key, field or value.
            FilterLimitError: If the tree is larger than the limits.
        """
        expression: Expression = _RULES["from_dict"](data, limits)
        return expression

    def normalize(self) -> Expression:
        """An equivalent tree without NOT, spliced, without duplicates and constants.

        A tree that is constant becomes ``key IN []`` (never) or ``key NOT IN []`` (always).

        Example:
            >>> from vecstore import parse
            >>> parse("NOT (a == 1 OR NOT b > 2)").normalize().to_text()
            'a != 1 AND b > 2'
        """
        expression: Expression = _RULES["normalize"](self)
        return expression

    def two_valued(self, schema: DeclaredKeys | None = None) -> Expression:
        """The filter that selects what this one does where an unknown comparison counts as false.

        ``NOT year > 2020`` selects no document without a year. Haystack, LlamaIndex, MongoDB and
        Qdrant take the comparison for false there, and its negation for true. This is the tree
        that says so: ``year <= 2020 OR year IS NULL``. It needs a schema, for only that tells
        that ``year`` holds no list and no text.

        Args:
            schema: Declares each key that is ordered under a NOT, to hold single values of one
                kind; a :class:`~vecstore.Schema`. Where no key is, none is needed.

        Returns:
            A tree without NOT. It selects, of documents that fit the schema, those of which
            ``matches(metadata, unknown=False)`` is true.

        Raises:
            FilterTypeError: For a key ordered under a NOT that is not declared so.

        Example:
            >>> from vecstore import Schema, parse
            >>> parse("NOT year > 2020").two_valued(Schema({"year": int})).to_text()
            'year <= 2020 OR year IS NULL'
        """
        expression: Expression = _RULES["two_valued"](self, schema)
        return expression

    @property
    def is_true(self) -> bool:
        """Whether every document is selected, as far as bounded work can tell.

        Example:
            >>> from vecstore import TRUE, parse
            >>> TRUE.is_true, parse("x IS NULL OR x IS NOT NULL").is_true
            (True, True)
        """
        verdict: bool = _RULES["is_true"](self)
        return verdict

    @property
    def is_false(self) -> bool:
        """Whether no document is selected, as far as rewriting the filter can tell.

        Example:
            >>> from vecstore import FALSE, parse
            >>> FALSE.is_false, parse("x IN [] AND y == 1").is_false
            (True, True)
        """
        verdict: bool = _RULES["is_false"](self)
        return verdict

    def matches(self, metadata: Mapping[str, Any], *, unknown: bool | None = None) -> bool:
        """Whether a document with this metadata is selected.

        Args:
            metadata: A document's metadata; Python values are read as a document would hold them.
            unknown: What an ordering counts as that is unknown, of a missing value for example:
                None keeps it unknown, as every store does; with False it is false, and its
                negation true, as Haystack and LlamaIndex have it. See :meth:`two_valued`.

        Raises:
            DocumentError: If a value that the filter looks at cannot be held by a document.
            TypeError: If ``unknown`` is something else.
        """
        if unknown is None:
            return self._evaluate().matches(metadata)
        if unknown is not False:
            raise TypeError(f"unknown is False, or None to keep it unknown, not {shown(unknown)}")
        kept = self.kept
        matcher = kept.two_valued_matcher
        if matcher is None:
            matcher = kept.two_valued_matcher = _RULES["two_valued_matcher"](self)
        return matcher(metadata)

    def evaluate(self, metadata: Mapping[str, Any]) -> bool | None:
        """The three-valued verdict: True, False, or None for unknown."""
        return self._evaluate().evaluate(metadata)

    def matcher(self) -> Callable[[Mapping[str, Any]], bool]:
        """A function that decides documents one by one, for loops over many of them."""
        return self._evaluate().matches

    def _evaluate(self) -> Evaluator:
        kept = self.kept
        if kept.evaluator is None:
            kept.evaluator = _RULES["evaluate"](self)
        return kept.evaluator

    def __and__(self, other: Expression | Group) -> Expression:
        return _combine(Op.AND, self, other)

    def __rand__(self, other: object) -> NoReturn:
        _refuse_operand("&", other)

    def __or__(self, other: Expression | Group) -> Expression:
        return _combine(Op.OR, self, other)

    def __ror__(self, other: object) -> NoReturn:
        _refuse_operand("|", other)

    def __invert__(self) -> Expression:
        return Expression(Op.NOT, self)

    def __bool__(self) -> NoReturn:
        _no_truth_value()

    def __eq__(self, other: object) -> bool:
        if type(other) is not Expression:
            return NotImplemented
        pairs: list[tuple[Expression, Expression]] = [(self, other)]
        while pairs:
            left, right = pairs.pop()
            if left is right:
                continue
            if left.op is not right.op or len(left.operands) != len(right.operands):
                return False
            if left._hash is not None and right._hash is not None and left._hash != right._hash:
                return False
            if left.op in LOGICAL:
                pairs.extend(zip(left.operands, right.operands, strict=True))
            elif left.operands != right.operands:
                return False
        return True

    def __hash__(self) -> int:
        if self._hash is None:
            for node in _children_first(self, lambda node: node._hash is None):
                put(node, "_hash", hash((node.op, node.operands)))
        assert self._hash is not None
        return self._hash

    def __repr__(self) -> str:
        parts: list[str] = []
        stack: list[Any] = [self]
        while stack:
            item = stack.pop()
            if type(item) is not Expression:
                parts.append(item if type(item) is str else repr(item))
                continue
            parts.append(f"Expression({item.op!r}")
            stack.append(")")
            for operand in reversed(item.operands):
                stack.extend((operand, ", "))
        return "".join(parts)

    def __str__(self) -> str:
        return self.to_text()

    def __reduce__(self) -> tuple[Any, ...]:
        # A flat list in children-first order: pickling never recurses into the tree.
        flat: list[_Flat] = [
            (
                node.op,
                len(node.operands) if node.op in LOGICAL else node.operands,
                node.span,
                node._written,
                node.from_outside,
            )
            for node in _children_first(self)
        ]
        return _restore_expression, (flat,)


_set_op, _set_operands, _set_from_outside, _set_merged = setters(
    Expression, "op", "operands", "from_outside", "merged"
)
_set_written, _set_hash = setters(Expression, "_written", "_hash")
_set_key, _set_literal = setters(Expression, "key", "value")


def trusted(
    op: Op,
    operands: tuple[Any, ...],
    span: Span | None = None,
    written: Op | None = None,
    *,
    from_outside: bool = False,
    merged: tuple[Expression, ...] = (),
) -> Expression:
    """Build a node whose operands are known to be right and spliced, without the checks."""
    node = Expression.__new__(Expression)
    node._fill(op, operands, span, op if written is None else written, from_outside, merged)
    return node


TRUE = trusted(Op.NIN, (Key("always"), Value(())))
"""Selects every document. No document is looked at for it, whatever the key's name."""
FALSE = trusted(Op.IN, (Key("never"), Value(())))
"""Selects no document."""


def read(op: Op, operands: tuple[Any, ...], place: Place, from_outside: bool) -> Expression:
    """Build a node that was read from a text, as ``trusted`` does but sooner."""
    node: Any = _new(_OpenExpression)
    node.op = node._written = op
    node.operands = operands
    node._place = place
    node.from_outside = from_outside
    node.merged = ()
    node._hash = None
    if from_outside:  # comparisons and null tests alone
        node.key = operands[0]
        if len(operands) == 2:
            node.value = operands[1]
    node.__class__ = Expression
    read: Expression = node
    return read


def read_comparison(
    op: Op,
    path: tuple[str, ...],
    literal: Scalar | tuple[Scalar, ...],
    kind: Kind,
    text: str,
    places: tuple[int, int, int, int],
) -> Expression:
    """Build a comparison that was read from a text, its key and its literal with it.

    Args:
        op: The operator.
        path: What ``check_segment`` returned.
        literal: What ``to_scalar`` returned; for IN and NOT IN a tuple of such.
        kind: Of the literal.
        text: The text.
        places: Where the key starts and ends, and where the literal does.
    """
    start, stop, begin, end = places
    key: Any = _new(_OpenKey)
    key.path = path
    key._place = (text, start, stop)
    key.__class__ = Key
    value: Any = _new(_OpenValue)
    value.value = literal
    value.kind = kind
    value.items = literal if kind is _LIST else (literal,)
    value._place = (text, begin, end)
    value.__class__ = Value
    node: Any = _new(_OpenExpression)
    node.op = node._written = op
    node.operands = (key, value)
    node._place = (text, start, end)
    node.from_outside = True
    node.merged = ()
    node._hash = None
    node.key = key
    node.value = value
    node.__class__ = Expression
    read: Expression = node
    return read


def _open(sealed: type) -> type:
    """A class of the same slots that lets them be written, as objects of ``sealed`` start out.

    Writing to a slot is next to nothing, and calling what fills it from outside a function call.
    """
    body = {
        "__slots__": sealed.__slots__,  # type: ignore[attr-defined]
        "__setattr__": object.__setattr__,
        "__delattr__": object.__delattr__,
    }
    return type(sealed.__name__, sealed.__bases__, body)


_OpenKey, _OpenValue, _OpenExpression = _open(Key), _open(Value), _open(Expression)
_LIST = Kind.LIST


FilterInput = Expression | Group | str | None
"""What a caller may pass where a filter is asked for; None is none."""


def unwrap(filter: Expression | Group) -> Expression:
    """The expression itself, taken out of a :class:`Group`.

    Raises:
        TypeError: For anything else; a bool gets an explanation.
    """
    if type(filter) is Expression:
        return filter
    if type(filter) is Group:
        return filter.content
    if isinstance(filter, bool):
        raise TypeError(
            "a filter is an expression, not a bool: a comparison was evaluated by Python before "
            "it got here; write F.key == value with F on the left side"
        )
    raise TypeError(
        f"a filter is an Expression or its text, not {_described(filter)}; "
        "write parse(\"key == 'value'\") or F.key == 'value'"
    )


def _children_first(
    root: Expression, wanted: Callable[[Expression], bool] | None = None
) -> Iterator[Expression]:
    stack: list[tuple[Expression, bool]] = [(root, False)]
    while stack:
        node, opened = stack.pop()
        if opened or node.op not in LOGICAL:
            yield node
        else:
            stack.append((node, True))
            stack.extend(
                (child, False)
                for child in reversed(node.operands)
                if wanted is None or wanted(child)
            )


def _logical_operands(op: Op, operands: tuple[Any, ...], span: Span | None) -> tuple[Any, ...]:
    if op is Op.NOT:
        if len(operands) != 1:
            raise FilterTypeError(f"NOT takes one expression, not {len(operands)}", span=span)
        return (_operand(op, operands[0], span),)
    spliced: list[Expression] = []
    for operand in operands:
        expression = _operand(op, operand, span)
        if expression.op is op:
            spliced.extend(expression.operands)
        else:
            spliced.append(expression)
    if len(spliced) < 2:
        raise FilterTypeError(
            f"{op.symbol} takes at least two expressions, not {len(spliced)}",
            span=span,
            hint="use the one expression by itself" if spliced else None,
        )
    return tuple(spliced)


def _operand(op: Op, operand: Any, span: Span | None) -> Expression:
    if type(operand) is Expression:
        return operand
    if type(operand) is Group:
        return operand.content
    raise FilterTypeError(
        f"{op.symbol} combines expressions, not {_described(operand)}",
        span=span,
        hint="compare first: F.key == value"
        if not isinstance(operand, bool)
        else "Python evaluated the comparison itself; write F.key == value with F on the left side",
    )


def _check_atom(op: Op, operands: tuple[Any, ...], span: Span | None) -> None:
    wanted = 1 if op in NULL_TESTS else 2
    if len(operands) != wanted:
        what = "a Key" if wanted == 1 else "a Key and a Value"
        raise FilterTypeError(f"{op.symbol} takes {what}, not {len(operands)} operands", span=span)
    if type(operands[0]) is not Key:
        raise FilterTypeError(
            f"the left side of {op.symbol} is a Key, not {_described(operands[0])}",
            span=span,
            hint=f"Key({operands[0]!r})" if isinstance(operands[0], str) else None,
        )
    if wanted == 1:
        return
    value = operands[1]
    if type(value) is not Value:
        raise FilterTypeError(
            f"the right side of {op.symbol} is a Value, not {_described(value)}",
            span=span,
            hint="wrap the literal: Value(...)",
        )
    fault = literal_fault(op, value.kind)
    if fault is not None:
        raise FilterTypeError(fault[0], span=value.span or span, hint=fault[1])


def _combine(op: Op, left: Expression, right: object) -> Expression:
    if type(right) is Group:
        right = right.content
    elif type(right) is not Expression:
        _refuse_operand("&" if op is Op.AND else "|", right)
    # The operands are put together when they are asked for: a chain of n steps would copy n * n.
    node = trusted(op, (left, right))
    if left.op is op or right.op is op:
        put(node, "_joined", (left, right))
        object.__delattr__(node, "operands")
    return node


def _refuse_operand(symbol: str, other: object) -> NoReturn:
    raise TypeError(
        f"{symbol} combines two filters, not a filter and {_described(other)}; "
        f"put parentheses around each comparison: (F.a == 1) {symbol} (F.b == 2)"
    )


def _no_truth_value() -> NoReturn:
    raise TypeError(
        "a filter has no truth value by itself: combine filters with & | ~ instead of "
        "and, or, not, and split chained comparisons: (F.x > 1) & (F.x < 5)"
    )


def _described(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return repr(value)
    return f"a {type(value).__name__}"


_Flat = tuple[Op, Any, Span | None, Op, bool]


def _restore_expression(flat: list[_Flat]) -> Expression:
    built: list[Expression] = []
    for op, content, span, written, from_outside in flat:
        if op in LOGICAL:
            operands = tuple(built[len(built) - content :])
            del built[len(built) - content :]
            node = Expression(op, *operands, span=span)
        else:
            node = Expression(op, *content, span=span)
        put(node, "_written", written)
        put(node, "from_outside", from_outside)
        built.append(node)
    return built[0]
