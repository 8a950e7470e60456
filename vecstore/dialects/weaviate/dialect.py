"""Filters as a tree of conditions, each on one property of a Weaviate collection."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import ClassVar, Literal, get_args

from vecstore.dialects.base import Dialect, check_choice
from vecstore.dialects.tokens import Path, nearest_double, presence_token, value_token
from vecstore.dialects.weaviate.declared import (
    PLAIN,
    SAMPLES,
    TRIMMED,
    exact_capabilities,
    read_paths,
    undeclared,
    unordered,
)
from vecstore.dialects.weaviate.layout import (
    PROPERTY_TYPES,
    TOKENS,
    PropertyType,
    declared_types,
    number_property,
    ordered_text,
    text_property,
)
from vecstore.dialects.weaviate.where import Compound, Condition, Joint, Operand
from vecstore.errors import ConfigurationError
from vecstore.filter.convert import (
    NO_QUERY,
    Capabilities,
    Compiled,
    Refusal,
)
from vecstore.filter.normalize import fold_empty_list
from vecstore.filter.tree import NULL_TESTS, ORDERINGS, Expression, Op
from vecstore.filter.values import Kind, kind_of, literal_key
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

    A key is a name, or a tuple of names for a path into objects.

    Args:
        layout: ``"plain"`` filters the properties of a collection that any program wrote,
            ``"exact"`` what ``filter_properties`` of :mod:`vecstore.dialects.weaviate.layout` lays
            out.
        numbers: In the exact layout, the keys whose numbers can be ordered.
        texts: In the exact layout, the keys whose texts can be ordered, by code point; dates and
            times are texts.
        properties: In the plain layout, the properties that filters may use and their data types:
            ``text``, ``int``, ``number``, ``boolean``, each also as a list: ``text[]``. Who
            declares a text vouches for what Weaviate cannot see: the tokenization is ``field``, no
            text is empty or starts or ends with white space. Null tests need a collection with
            ``indexNullState`` and objects that are not older than the property.

    Raises:
        ConfigurationError: For an unknown layout, an option of the other layout, or a key, name or
            data type that Weaviate cannot have.

    Example:
        >>> from vecstore import F
        >>> Weaviate(properties={"year": "int"}).compile(F.year > 2020).query
        Condition(path='year', operator='GreaterThan', value_type='int', value=2020)
        >>> exact = Weaviate(layout="exact", numbers={"year"})
        >>> exact.compile(F.year > 2020).query.to_where()
        {'path': ['vecstore_year_number'], 'operator': 'GreaterThan', 'valueNumber': 2020.0}
    """

    name: ClassVar[str] = "weaviate"
    match_all: ClassVar[None] = None

    layout: Layout = "plain"
    numbers: Collection[str | Path] = frozenset()
    texts: Collection[str | Path] = frozenset()
    properties: Mapping[str, str] | Collection[tuple[str, str]] = ()
    _types: dict[str, PropertyType] = field(init=False, repr=False, compare=False)
    _capabilities: Capabilities = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_choice("layout", self.layout, get_args(Layout))
        put = object.__setattr__
        # In a form that hashes: a dialect is the key under which compiled filters are cached.
        numbers, texts = read_paths("numbers", self.numbers), read_paths("texts", self.texts)
        put(self, "numbers", numbers)
        put(self, "texts", texts)
        put(self, "_types", declared_types(self.properties))
        put(self, "properties", tuple(sorted(dict(self.properties).items())))
        exact = self.layout == "exact"
        put(self, "_capabilities", exact_capabilities(numbers, texts) if exact else PLAIN)
        if self.layout == "exact" and self.properties:
            raise ConfigurationError(
                'properties belong to layout="plain"; in the exact layout, say which keys are '
                'ordered: Weaviate(layout="exact", numbers={"year"}, texts={"created"})'
            )
        if self.layout == "plain" and (self.numbers or self.texts):
            raise ConfigurationError(
                'numbers and texts belong to layout="exact"; in a collection that others wrote, '
                'say which properties filters may use: Weaviate(properties={"year": "int"})'
            )

    @property
    def capabilities(self) -> Capabilities:
        """Orderings of declared keys; in the plain layout nothing but declared properties."""
        return self._capabilities

    def kinds(self, atom: Expression) -> frozenset[Kind] | None:
        allowed = self.capabilities.literals.get(atom.op)
        if self.layout == "plain":
            return allowed if self._declared(atom) else None
        if atom.op in ORDERINGS:
            declared = {Kind.NUMBER: self.numbers, Kind.STRING: self.texts}
            return frozenset([kind for kind in declared if atom.key.path in declared[kind]])
        return allowed

    def refusal(self, atom: Expression, kind: Kind | None) -> Refusal | None:
        path = atom.key.path
        return undeclared(path) if self.layout == "plain" else unordered(path, kind)

    def check(self, atom: Expression) -> None:
        declared = self._declared(atom)
        if declared is None or declared.base != "text" or atom.op in NULL_TESTS:
            return
        for item in atom.value.items:
            if isinstance(item, str) and (not item or item != item.strip()):
                raise self.refuse(atom, TRIMMED.reason, TRIMMED.remedy)

    @property
    def folds(self) -> bool:
        return bool(self._types)

    def fold(self, atom: Expression) -> bool | None:
        """Decide what the declared type of a property makes impossible, too."""
        declared = self._declared(atom)
        if declared is None or atom.op in NULL_TESTS:
            return fold_empty_list(atom)
        if atom.op in ORDERINGS:
            ordered = kind_of(atom.value.items[0]) is declared.kind and not declared.several
            return None if ordered else False
        if any(declared.holds(item) for item in atom.value.items):
            return None
        return atom.op in (Op.NE, Op.NIN)

    def all_of(self, parts: list[Operand]) -> Operand:
        return _joined("And", parts)

    def any_of(self, parts: list[Operand]) -> Operand:
        return _joined("Or", parts)

    def order(self, atom: Expression) -> Operand:
        path, operator, literal = atom.key.path, _OPERATORS[atom.op], atom.value.items[0]
        declared = self._declared(atom)
        if declared is None:
            if isinstance(literal, str):
                return Condition(text_property(path), operator, "text", ordered_text(literal))
            return Condition(number_property(path), operator, "number", nearest_double(literal))
        if declared.base == "int" and not declared.holds(literal):
            # Between two integers: beyond the one that is out on either reading of the bound.
            below = math.floor(float(literal))
            above = atom.op in (Op.GT, Op.GTE)
            operator, literal = ("GreaterThan", below) if above else ("LessThan", below + 1)
        return Condition(path[0], operator, declared.base, declared.stored(literal))

    def member(self, atom: Expression) -> Operand:
        path, operator, declared = atom.key.path, _OPERATORS[atom.op], self._declared(atom)
        name, items = path[0], atom.value.items
        if declared is None:
            name, declared = TOKENS, PROPERTY_TYPES["text[]"]
            items = tuple([value_token(path, item) for item in items])
        stored = [declared.stored(item) for item in items if declared.holds(item)]
        values = tuple({literal_key(value): value for value in stored}.values())
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

    def _declared(self, atom: Expression) -> PropertyType | None:
        """The declared type of the property; None in the exact layout, and when it has none."""
        return self._types.get(atom.key.path[0]) if len(atom.key.path) == 1 else None


def _joined(operator: Joint, parts: list[Operand]) -> Compound:
    """The parts under one operator; parts that stand under it already are spliced in."""
    operands: list[Operand] = []
    for part in parts:
        if isinstance(part, Compound) and part.operator == operator:
            operands.extend(part.operands)
        else:
            operands.append(part)
    return Compound(operator, tuple(operands))
