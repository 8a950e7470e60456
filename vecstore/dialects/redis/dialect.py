"""Filters as queries of Redis Search (``FT.SEARCH``, ``DIALECT 2``): a flat OR of ANDs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from typing import Any, ClassVar, Final

from vecstore.dialects.base import Dialect
from vecstore.dialects.declared import (
    Declaration,
    DeclaredKey,
    Path,
    decided,
    declared_keys,
    literals_held,
    ordered_keys,
)
from vecstore.dialects.orders import trie_query
from vecstore.dialects.redis.layout import EVERY_DOCUMENT, ORDERED_BYTES, TOKENS, number_field
from vecstore.dialects.tokens import hashed_token, nearest_double, presence_token, value_token
from vecstore.errors import ConfigurationError
from vecstore.filter.convert import ALL_LITERALS, SAFE_DOUBLE, Capabilities, Compiled, Refusal
from vecstore.filter.keys import read_key
from vecstore.filter.tree import ORDERINGS, Expression, Op
from vecstore.filter.values import Kind, UnusableValue, shown
from vecstore.frozen import field, frozen

MOST_ALTERNATIVES: Final = 20
"""Of one OR; the engine goes through more by another way, and loses rows where one is negated."""

_RANGES: Final = {Op.GT: "({} +inf", Op.GTE: "{} +inf", Op.LT: "-inf ({}", Op.LTE: "-inf {}"}


@frozen
class Alternative:
    """An AND: every clause holds, and no document has one of the tags ``without``."""

    clauses: tuple[str | tuple[str, ...], ...] = ()
    """Ranges, and tags of which there is one."""
    without: tuple[str, ...] = ()


Alternatives = tuple[Alternative, ...]


@frozen
class Redis(Dialect[Alternatives]):
    """Redis Search, queries for ``FT.SEARCH`` over hashes in our own layout.

    :mod:`vecstore.dialects.redis.layout` has the layout. The engine loses and adds rows where a
    query is nested, so each filter becomes an OR of at most 20 ANDs; one that would need more is
    refused.

    Args:
        schema: What the keys hold, a :class:`~vecstore.Schema`. Numbers and texts of declared keys
            can be ordered. Whoever only compiles vouches for the data.
        numbers: The keys whose numbers were laid out to be ordered; by default those that the
            schema declares. Keys are read as in a filter: ``["author.born"]``.
        texts: The same of texts.

    Raises:
        ConfigurationError: For keys that are none.

    Example:
        >>> from vecstore import F, Schema
        >>> print(Redis().compile(F.lang != "en").query)
        (@tokens:{4f53cda18c2baa0c0354bb5f9a3ecbe5} -@tokens:{88895a95734689a346ec9911f1983cb2})
        >>> print(Redis(numbers=["year"]).compile(F.year > 1990).query)
        (@n51e278e4cb4552bc6f85281755346eb9:[(1990.0 +inf])
    """

    name: ClassVar[str] = "redis"
    match_all: ClassVar[str] = "*"

    schema: Declaration | None = None
    numbers: Collection[str | Path] | None = None
    texts: Collection[str | Path] | None = None
    _declared: dict[Path, DeclaredKey] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_declared", declared_keys(self.schema))
        for name, kind in (("numbers", Kind.NUMBER), ("texts", Kind.STRING)):
            given = getattr(self, name)
            keys = ordered_keys(self.schema, kind) if given is None else _paths(name, given)
            object.__setattr__(self, name, keys)

    @property
    def capabilities(self) -> Capabilities:
        """All but orderings of keys that are not declared, and filters of many alternatives."""
        return _capabilities(self._ordered(None))

    def _ordered(self, path: Path | None) -> frozenset[Kind]:
        """What can be ordered under a key, or under any key."""
        laid_out: dict[Kind, Any] = {Kind.NUMBER: self.numbers, Kind.STRING: self.texts}
        return frozenset(
            [kind for kind, keys in laid_out.items() if (keys if path is None else path in keys)]
        )

    @property
    def folds(self) -> bool:
        return bool(self._declared)

    def fold(self, atom: Expression) -> bool | None:
        """Decide what the declaration of a key makes impossible, too."""
        return decided(self._declared.get(atom.key.path), atom)

    def kinds(self, atom: Expression) -> frozenset[Kind] | None:
        if atom.op not in ORDERINGS:
            return ALL_LITERALS[atom.op]
        return self._ordered(atom.key.path) or None

    def check(self, atom: Expression) -> None:
        literal = atom.value.items[0] if atom.op in ORDERINGS else None
        if isinstance(literal, str) and len(literal.encode()) >= ORDERED_BYTES:
            raise self.refuse(
                atom,
                f"it orders texts by fewer than {ORDERED_BYTES} bytes",
                "order by a shorter text, such as the beginning of this one",
            )

    def all_of(self, parts: list[Alternatives]) -> Alternatives:
        found: Alternatives = (_joined(*[part[0] for part in parts if len(part) == 1]),)
        for part in sorted([part for part in parts if len(part) > 1], key=len):
            found = self._few([_joined(one, other) for one in found for other in part])
        return found

    def any_of(self, parts: list[Alternatives]) -> Alternatives:
        return self._few([one for part in parts for one in part])

    def order(self, atom: Expression) -> Alternatives:
        path, literal = atom.key.path, atom.value.items[0]
        if isinstance(literal, str):
            tokens = trie_query(path, atom.op, literal)
            # Nothing comes before the empty text.
            return _any_tag(map(hashed_token, tokens)) if tokens else _NONE
        bounds = _RANGES[atom.op].format(repr(nearest_double(literal)))
        return (Alternative((f"@{number_field(path)}:[{bounds}]",)),)

    def member(self, atom: Expression) -> Alternatives:
        path = atom.key.path
        items = literals_held(self._declared.get(path), atom)
        tags = dict.fromkeys([hashed_token(value_token(path, item)) for item in items])
        return _any_tag(tags) if atom.op in (Op.EQ, Op.IN) else _no_tag(tags)

    def null(self, atom: Expression) -> Alternatives:
        tag = [hashed_token(presence_token(atom.key.path))]
        return _any_tag(tag) if atom.op is Op.ISNOTNULL else _no_tag(tag)

    def finish(self, part: Alternatives) -> Compiled:
        return Compiled(self.name, " | ".join(map(_written, part)))

    def nothing(self) -> Compiled:
        return Compiled(self.name, _written(_NONE[0]), matches_nothing=True)

    def _few(self, alternatives: list[Alternative]) -> Alternatives:
        """The same OR, with those that ask for nothing but one of some tags as one."""
        tags: dict[str, None] = {}
        kept: dict[Alternative, None] = {}
        for one in alternatives:
            if len(one.clauses) == 1 and not one.without and isinstance(one.clauses[0], tuple):
                tags.update(dict.fromkeys(one.clauses[0]))
            else:
                kept[one] = None
        found = (*(_any_tag(tags) if tags else ()), *kept)
        if len(found) > MOST_ALTERNATIVES:
            raise self.refuse(
                None,
                f"it answers an OR of at most {MOST_ALTERNATIVES} ANDs exactly, and this filter "
                f"comes to {len(found)} or more",
                "use IN for many values of one key, split the filter, or search with "
                'residual="evaluate"',
            )
        return found


def _any_tag(tags: Iterable[str]) -> Alternatives:
    return (Alternative((tuple(tags),)),)


def _no_tag(tags: Iterable[str]) -> Alternatives:
    return (Alternative((), tuple(tags)),)


_NONE: Final = _any_tag(["never"])  # which is no hash


def _joined(*parts: Alternative) -> Alternative:
    """All of them; what stands in several comes once."""
    clauses = dict.fromkeys([clause for one in parts for clause in one.clauses])
    without = dict.fromkeys([tag for one in parts for tag in one.without])
    return Alternative(tuple(clauses), tuple(without))


def _written(one: Alternative) -> str:
    # A negation by itself is no query: it leaves something out of all documents.
    clauses = one.clauses or ((EVERY_DOCUMENT,),)
    written = [each if isinstance(each, str) else _tags(each) for each in clauses]
    if one.without:
        written.append(f"-{_tags(one.without)}")
    return f"({' '.join(written)})"


def _tags(tags: Iterable[str]) -> str:
    return f"@{TOKENS}:{{{'|'.join(tags)}}}"


def _paths(name: str, given: Any) -> frozenset[Path]:
    try:
        if isinstance(given, str | bytes) or not isinstance(given, Collection):
            raise UnusableValue("it is no list of keys", f'write {name}=["key"]')
        return frozenset([read_key(key) for key in given])
    except UnusableValue as error:
        raise ConfigurationError(f"{name} is not {shown(given, 40)}: {error}") from None


_NOT_DECLARED: Final = Refusal(
    "it orders the values of declared keys, and this one was not declared to hold such",
    "declare the key before the index is made: schema=Schema({'key': int}); or search with "
    'residual="evaluate"',
)


@cache
def _capabilities(ordered: frozenset[Kind]) -> Capabilities:
    orderings = dict.fromkeys(ORDERINGS, ordered) if ordered else {}
    others = {op: kinds for op, kinds in ALL_LITERALS.items() if op not in ORDERINGS}
    return Capabilities(
        literals={**others, **orderings},
        refusals={(op, kind): _NOT_DECLARED for op in ORDERINGS for kind in (*Kind, None)},
        max_ordered_number=SAFE_DOUBLE,
        max_list=10_000,
    )
