"""What a schema tells a dialect: which kind of value stands under a key, if any does.

A declared key holds values of its kind, a list of them where it says list, or is absent: missing,
null or ``[]``. So a comparison with another kind is decided without looking, and an engine that
confuses kinds has nothing to confuse. Keys that are declared as ``any`` are as if not declared.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Protocol

from vecstore.errors import ConfigurationError
from vecstore.filter.checking import FilterCheck
from vecstore.filter.keys import read_key
from vecstore.filter.normalize import fold_empty_list
from vecstore.filter.tree import NULL_TESTS, ORDERINGS, Expression, Op, Value, trusted
from vecstore.filter.values import Kind, Scalar, UnusableValue, kind_of, shown

Path = tuple[str, ...]

_COMPARE: Final[dict[Op, Callable[[Any, Any], bool]]] = {
    Op.GT: operator.gt,
    Op.GTE: operator.ge,
    Op.LT: operator.lt,
    Op.LTE: operator.le,
}


class DeclaredKey(Protocol):
    """What one key holds; :class:`~vecstore.schema.KeyType` is one."""

    @property
    def kind(self) -> str:
        """The name of the kind: ``"int"``, ``"datetime"`` ..."""

    @property
    def many(self) -> bool:
        """Whether it holds lists, and nothing but lists."""

    @property
    def choices(self) -> tuple[Scalar, ...] | None:
        """The only values there can be."""

    @property
    def filter_kind(self) -> Kind | None:
        """What the values are to filters; None for any."""

    def holds(self, value: Scalar) -> bool:
        """Whether the key, or an element of its list, can be equal to a value."""


class Declaration(FilterCheck, Protocol):
    """What a dialect's option ``schema`` takes: a :class:`~vecstore.Schema`."""

    @property
    def keys(self) -> Mapping[Path, DeclaredKey]:
        """What each key holds, by its path."""


def declared_keys(schema: object) -> dict[Path, DeclaredKey]:
    """What a schema says of each key that holds one kind of value.

    Args:
        schema: A schema, or None.

    Raises:
        ConfigurationError: For anything else.

    Example:
        >>> from vecstore import Schema
        >>> list(declared_keys(Schema({"year": int, "extra": "any"})))
        [('year',)]
    """
    if schema is None:
        return {}
    keys = getattr(schema, "keys", None)
    if isinstance(schema, type) or not isinstance(keys, Mapping):
        remedy = "Schema({'year': int}), or Schema.of for a class"
        raise ConfigurationError(f"schema is a Schema, not {shown(schema, 40)}: {remedy}")
    return {path: declared for path, declared in keys.items() if declared.filter_kind is not None}


def ordered_keys(schema: Declaration | None, kind: Kind) -> frozenset[Path]:
    """The keys whose single values of a kind can be ordered; those declared as any are among them.

    Example:
        >>> from vecstore import Schema
        >>> schema = Schema({"year": int, "tags": list[str], "extra": "any"})
        >>> sorted(ordered_keys(schema, Kind.NUMBER)), sorted(ordered_keys(schema, Kind.STRING))
        ([('extra',), ('year',)], [('extra',)])
    """
    keys = {} if schema is None else schema.keys
    return frozenset(
        [path for path, one in keys.items() if one.filter_kind in (kind, None) and not one.many]
    )


def laid_out_keys(name: str, given: Any, schema: Declaration | None, kind: Kind) -> frozenset[Path]:
    """The keys whose values were laid out to be ordered: those given, or else the declared ones.

    Args:
        name: What the option is called.
        given: Keys as in a filter, or paths; None for those that the schema declares.
        schema: The schema.
        kind: The kind of the values.

    Raises:
        ConfigurationError: For what is no list of keys.

    Example:
        >>> sorted(laid_out_keys("texts", ["created", "author.name"], None, Kind.STRING))
        [('author', 'name'), ('created',)]
    """
    if given is None:
        return ordered_keys(schema, kind)
    try:
        if isinstance(given, str | bytes) or not isinstance(given, Collection):
            raise UnusableValue("it is no list of keys", f'write {name}=["key"]')
        return frozenset([read_key(key) for key in given])
    except UnusableValue as error:
        raise ConfigurationError(f"{name} is not {shown(given, 40)}: {error}") from None


def decided(declared: DeclaredKey | None, atom: Expression) -> bool | None:
    """What the declaration of its key makes of an atom, whatever the document.

    Returns:
        The verdict, or None where it depends on the document.

    Example:
        >>> from vecstore import Schema, parse
        >>> year = Schema({"year": int})["year"]
        >>> decided(year, parse("year > 2020")), decided(year, parse("year != 'x'"))
        (None, True)
    """
    verdict = fold_empty_list(atom)
    if verdict is not None or declared is None or atom.op in NULL_TESTS:
        return verdict
    items = atom.value.items
    if atom.op in ORDERINGS:
        if declared.many or kind_of(items[0]) is not declared.filter_kind:
            return False  # unknown on every document, hence true on none
        return None if declared.choices is None or _in_order(declared, atom) else False
    if any(map(declared.holds, items)):
        return None
    return atom.op in (Op.NE, Op.NIN)


def literals_held(declared: DeclaredKey | None, atom: Expression) -> tuple[Scalar, ...]:
    """The literals of an equality or membership that the key can be equal to."""
    items = atom.value.items
    return items if declared is None else tuple([one for one in items if declared.holds(one)])


def as_membership(declared: DeclaredKey, atom: Expression) -> Expression:
    """An ordering of a key whose values are all known, as IN, for engines that do not order them.

    Both are TRUE on the same documents; the one is UNKNOWN where the other is FALSE, so it is for
    atoms that nothing negates any more.

    Example:
        >>> from vecstore import Schema, parse
        >>> size = Schema({"size": ["large", "medium", "small"]})["size"]
        >>> print(as_membership(size, parse("size >= 'm'")))
        size IN ['medium', 'small']
    """
    return trusted(Op.IN, (atom.key, Value(_in_order(declared, atom))), atom.span, atom.written_op)


def _in_order(declared: DeclaredKey, atom: Expression) -> list[Scalar]:
    literal, compare = atom.value.items[0], _COMPARE[atom.op]
    return [one for one in declared.choices or () if compare(one, literal)]
