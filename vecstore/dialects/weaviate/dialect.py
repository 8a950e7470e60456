"""Filters as a tree of conditions, each on one property of a Weaviate collection."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, get_args

from vecstore.dialects.base import Dialect, check_choice
from vecstore.dialects.declared import (
    Declaration,
    DeclaredKey,
    Path,
    decided,
    declared_keys,
    ordered_keys,
)
from vecstore.dialects.tokens import nearest_double, presence_token, value_token
from vecstore.dialects.weaviate.capabilities import (
    PLAIN,
    SAMPLES,
    TRIMMED,
    exact_capabilities,
    undeclared,
    unordered,
)
from vecstore.dialects.weaviate.layout import (
    PROPERTY_TYPES,
    TOKENS,
    PropertyType,
    number_property,
    ordered_text,
    property_types_of,
    text_property,
)
from vecstore.dialects.weaviate.where import Compound, Condition, Joint, Operand
from vecstore.filter.convert import (
    NO_QUERY,
    Capabilities,
    Compiled,
    Refusal,
)
from vecstore.filter.tree import NULL_TESTS, ORDERINGS, Expression, Op
from vecstore.filter.values import Kind, literal_key
from vecstore.frozen import field, frozen

Layout = Literal["exact", "plain"]


_OPERATORS = {
    Op.EQ: "Equal",
    Op.IN: "Equal",
    Op.ISNOTNULL: "Equal",
    Op.NE: "NotEqual",
    Op.NIN: "NotEqual",
    Op.ISNULL: "NotEqual",
    Op.GT: "GreaterThan",
    Op.GTE: "GreaterThanEqual",
    Op.LT: "LessThan",
    Op.LTE: "LessThanEqual",
}


@frozen
class Weaviate(Dialect[Operand]):
    """Weaviate, filters as a tree of :class:`Condition` and :class:`Compound`.

    Args:
        layout: ``"plain"`` filters the properties of a collection that any program wrote,
            ``"exact"`` what ``filter_properties`` of :mod:`vecstore.dialects.weaviate.layout` lays
            out.
        schema: What the keys hold, a :class:`~vecstore.Schema`. In the exact layout it says which
            keys can be ordered, texts by code point; those declared as ``Any`` as numbers and as
            texts. In the plain layout filters may use what it declares, and nothing else: an
            ``int`` is a property of type ``int``, a ``float`` or ``Decimal`` one of ``number``, a
            ``bool`` one of ``boolean``, all else one of ``text``, and a list one of ``text[]`` and
            so on. Who declares a text there vouches for what Weaviate cannot see: the tokenization
            is ``field``, no text is empty or starts or ends with white space, and no ``int`` is
            above 2**63 - 513, which the index would round up to a negative one. Null tests need a
            collection with ``indexNullState`` and objects that are not older than the property.

    Raises:
        ConfigurationError: For an unknown layout.

    Example:
        >>> from vecstore import F, Schema
        >>> schema = Schema({"year": int})
        >>> Weaviate(schema=schema).compile(F.year > 2020).query
        Condition(path='year', operator='GreaterThan', value_type='int', value=2020)
        >>> exact = Weaviate(layout="exact", schema=schema)
        >>> exact.compile(F.year > 2020).query.to_where()
        {'path': ['vecstore_year_number'], 'operator': 'GreaterThan', 'valueNumber': 2020.0}
    """

    name: ClassVar[str] = "weaviate"
    match_all: ClassVar[None] = None
    former_options: ClassVar[Mapping[str, str]] = {
        "properties": "a schema says what they hold; write schema=Schema({'year': int, 'a': str})",
        **dict.fromkeys(
            ("numbers", "texts"),
            "a schema says which keys are ordered; write schema=Schema({'year': int, 'lang': str}, "
            "others='allow')",
        ),
    }

    layout: Layout = "plain"
    schema: Declaration | None = None
    _declared: dict[Path, DeclaredKey] = field(init=False, repr=False, compare=False)
    _ordered: dict[Kind, frozenset[Path]] = field(init=False, repr=False, compare=False)
    _types: dict[str, PropertyType] = field(init=False, repr=False, compare=False)
    _capabilities: Capabilities = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_choice("layout", self.layout, get_args(Layout))
        put, exact = object.__setattr__, self.layout == "exact"
        put(self, "_declared", declared_keys(self.schema))
        ordered = {kind: ordered_keys(self.schema, kind) for kind in (Kind.NUMBER, Kind.STRING)}
        put(self, "_ordered", ordered)
        put(self, "_types", {} if exact else property_types_of(self.schema))
        numbers, texts = ordered[Kind.NUMBER], ordered[Kind.STRING]
        put(self, "_capabilities", exact_capabilities(numbers, texts) if exact else PLAIN)

    @property
    def capabilities(self) -> Capabilities:
        """Orderings of declared keys; in the plain layout nothing but declared properties."""
        return self._capabilities

    def kinds(self, atom: Expression) -> frozenset[Kind] | None:
        allowed = self.capabilities.literals.get(atom.op)
        if self.layout == "plain":
            return allowed if self._property(atom) else None
        if atom.op in ORDERINGS:
            path = atom.key.path
            return frozenset([kind for kind, paths in self._ordered.items() if path in paths])
        return allowed

    def refusal(self, atom: Expression, kind: Kind | None) -> Refusal | None:
        path = atom.key.path
        return undeclared(path) if self.layout == "plain" else unordered(path, kind)

    def check(self, atom: Expression) -> None:
        declared = self._property(atom)
        if declared is None or declared.base != "text" or atom.op in NULL_TESTS:
            return
        for item in atom.value.items:
            if isinstance(item, str) and (not item or item != item.strip()):
                raise self.refuse(atom, TRIMMED.reason, TRIMMED.remedy)

    @property
    def folds(self) -> bool:
        return bool(self._declared)

    def fold(self, atom: Expression) -> bool | None:
        """Decide what the declaration of a key makes impossible, too."""
        return decided(self._declared.get(atom.key.path), atom)

    def all_of(self, parts: list[Operand]) -> Operand:
        return _joined("And", parts)

    def any_of(self, parts: list[Operand]) -> Operand:
        return _joined("Or", parts)

    def order(self, atom: Expression) -> Operand:
        path, operator, literal = atom.key.path, _OPERATORS[atom.op], atom.value.items[0]
        declared = self._property(atom)
        if declared is None:
            if isinstance(literal, str):
                return Condition(text_property(path), operator, "text", ordered_text(literal))
            return Condition(number_property(path), operator, "number", nearest_double(literal))
        if declared.base == "int" and not declared.holds(literal):
            # Between two integers: beyond the one that is out on either reading of the bound.
            below = math.floor(float(literal))
            above = atom.op in (Op.GT, Op.GTE)
            operator, literal = ("GreaterThan", below) if above else ("LessThan", below + 1)
        bound = declared.stored(literal)
        condition = Condition(path[0], operator, declared.base, bound)
        if declared.base != "number" or _agrees_on_zero(operator, bound):
            return condition
        if operator in ("GreaterThan", "GreaterThanEqual"):
            zero = Condition(path[0], "Equal", "number", -0.0)
            return Compound("Or", (condition, zero))
        return Compound("And", (condition, Condition(path[0], "NotEqual", "number", -0.0)))

    def member(self, atom: Expression) -> Operand:
        path, operator, declared = atom.key.path, _OPERATORS[atom.op], self._property(atom)
        name, items = path[0], atom.value.items
        if declared is None:
            name, declared = TOKENS, PROPERTY_TYPES["text[]"]
            items = tuple([value_token(path, item) for item in items])
        stored = [declared.stored(item) for item in items if declared.holds(item)]
        values = tuple({literal_key(value): value for value in stored}.values())
        if declared.base == "number" and 0.0 in values:
            values += (-0.0,)  # another value to the index
        if operator == "Equal" and len(values) > 1:
            if declared.several or declared.base == "text":
                return Condition(name, "ContainsAny", declared.base, values)
        # ContainsNone would say it in one, but not to servers before 1.33.
        conditions = [Condition(name, operator, declared.base, value) for value in values]
        if len(conditions) == 1:
            return conditions[0]
        return Compound("Or" if operator == "Equal" else "And", tuple(conditions))

    def null(self, atom: Expression) -> Operand:
        path = atom.key.path
        if self.layout == "exact":
            return Condition(TOKENS, _OPERATORS[atom.op], "text", presence_token(path))
        return Condition(path[0], "IsNull", "boolean", atom.op is Op.ISNULL)

    def nothing(self) -> Compiled:
        """A contradiction, on a property that the collection is known to have."""
        if self.layout == "plain" and not self._types:
            return Compiled(self.name, NO_QUERY, matches_nothing=True)
        name, declared = next(iter(self._types.items()), (TOKENS, PROPERTY_TYPES["text[]"]))
        value = SAMPLES[declared.base]
        contradiction = [
            Condition(name, operator, declared.base, value) for operator in ("Equal", "NotEqual")
        ]
        return Compiled(self.name, Compound("And", tuple(contradiction)), matches_nothing=True)

    def _property(self, atom: Expression) -> PropertyType | None:
        """The declared type of the property; None in the exact layout, and when it has none."""
        return self._types.get(atom.key.path[0]) if len(atom.key.path) == 1 else None


def _agrees_on_zero(operator: str, bound: Any) -> bool:
    """Whether an ordering means for -0.0, which the index puts before all numbers, what 0 means."""
    if operator in ("GreaterThan", "LessThanEqual"):
        return bool(bound >= 0)
    return bool(bound > 0)


def _joined(operator: Joint, parts: list[Operand]) -> Compound:
    """The parts under one operator; parts that stand under it already are spliced in."""
    operands: list[Operand] = []
    for part in parts:
        if isinstance(part, Compound) and part.operator == operator:
            operands.extend(part.operands)
        else:
            operands.append(part)
    return Compound(operator, tuple(operands))
