"""Filters as Milvus expressions, over a JSON field alone or over the tags of our own layout."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection
from typing import Any, ClassVar, get_args

from vecstore.dialects.base import Dialect, check_choice
from vecstore.dialects.declared import (
    Declaration,
    DeclaredKey,
    Path,
    decided,
    declared_keys,
    literals_held,
)
from vecstore.dialects.milvus.capabilities import (
    ABSENCE,
    EXACT,
    HAN,
    INDEX,
    LARGE,
    PATH,
    PLAIN,
    TRUTH,
)
from vecstore.dialects.milvus.expression import (
    ADDRESSABLE,
    chained,
    encode_list,
    encode_literal,
    encode_path,
    encode_text,
    plain_member,
)
from vecstore.dialects.milvus.layout import METADATA, MISREAD
from vecstore.dialects.milvus.plain import Target, absent, held, lacks, present
from vecstore.dialects.tokens import kind_token, presence_token, value_token
from vecstore.errors import ConfigurationError
from vecstore.filter.convert import (
    ALL_LITERALS,
    SAFE_DOUBLE,
    Capabilities,
    Compiled,
    Refusal,
)
from vecstore.filter.tree import NULL_TESTS, ORDERINGS, Expression, Op
from vecstore.filter.values import Kind, kind_of
from vecstore.frozen import field as option
from vecstore.frozen import frozen

_SYMBOLS = {Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}
_COMPARE: dict[Op, Callable[[Any, Any], bool]] = {
    Op.EQ: operator.eq,
    Op.IN: operator.eq,
    Op.GT: operator.gt,
    Op.GTE: operator.ge,
    Op.LT: operator.lt,
    Op.LTE: operator.le,
}
_FIELD = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_NO_NAMES = frozenset({"none", "null"})


@frozen
class Milvus(Dialect[str]):
    r"""Milvus servers and milvus-lite, with one text for all their versions.

    Args:
        field: The JSON field that holds the metadata.
        tags: The array field of tags that our own store writes (``"vecstore_tags"``); with it every
            filter is exact. None for collections that others wrote: what a JSON field alone cannot
            answer exactly on every version is refused.
        schema: What the keys hold, a :class:`~vecstore.Schema`. Without tags, those that it
            declares can be asked for bools, for 0 and 1, by ``!=`` and NOT IN, and whether they are
            there. Whoever only compiles vouches for the data, and that the JSON field itself is
            not null.
        target: ``"lite"`` or ``"server"``, for the one thing that is not said alike to both:
            whether a declared number or text is absent. None answers for either.

    Raises:
        ConfigurationError: For a field name that an expression cannot hold.

    Example:
        >>> print(Milvus().compile("year > 2020"))
        metadata["year"] > 2020
        >>> print(Milvus(tags="vecstore_tags").compile("country != 'BG'"))
        not array_contains(vecstore_tags, "[\"country\"]=\"BG\"")
        >>> from vecstore import Schema
        >>> print(Milvus(schema=Schema({"country": str})).compile("country != 'BG'"))
        (not exists metadata["country"] or not (metadata["country"] == "BG"))
    """

    name: ClassVar[str] = "milvus"
    match_all: ClassVar[str] = ""

    field: str = METADATA
    tags: str | None = None
    schema: Declaration | None = None
    target: Target | None = None
    _declared: dict[Path, DeclaredKey] = option(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.target is not None:
            check_choice("target", self.target, get_args(Target))
        object.__setattr__(self, "_declared", declared_keys(self.schema))
        for name in (self.field, *(() if self.tags is None else (self.tags,))):
            if not isinstance(name, str) or not _FIELD.fullmatch(name):
                raise ConfigurationError(
                    f"a field name of Milvus is ASCII letters, digits and underscores, not {name!r}"
                )
            if name.lower() in _NO_NAMES:
                raise ConfigurationError(
                    f"{name!r} is a text and would name a field; for no field write None without "
                    "quotes"
                )
        if self.field == self.tags:
            raise ConfigurationError(
                f"field and tags are two fields, and cannot both be called {self.field!r}"
            )

    @property
    def capabilities(self) -> Capabilities:
        """Everything with tags; without them comparisons that need no presence, and no bools."""
        return PLAIN if self.tags is None else EXACT

    @property
    def folds(self) -> bool:
        return bool(self._declared)

    def fold(self, atom: Expression) -> bool | None:
        """Decide what the declaration of a key makes impossible, too."""
        return decided(self._declared.get(atom.key.path), atom)

    def kinds(self, atom: Expression) -> frozenset[Kind] | None:
        declared = self._plain(atom)
        if declared is None:
            return self.capabilities.literals.get(atom.op)
        if atom.op is Op.ISNULL and absent("", declared, self.target) is None:
            return None
        return ALL_LITERALS[atom.op]

    def refusal(self, atom: Expression, kind: Kind | None) -> Refusal | None:
        if self._plain(atom) is not None:
            return ABSENCE
        return self.capabilities.refusals.get((atom.op, kind))

    def check(self, atom: Expression) -> None:
        """What depends on operator, key and literal together."""
        ordering = atom.op in ORDERINGS
        if self.tags is None:
            self._check_plain(atom)
        elif not ordering:
            return  # tags are ASCII, and the JSON field is not looked at
        if ordering and not all(ADDRESSABLE.fullmatch(segment) for segment in atom.key.path):
            raise self.refuse(atom, PATH.reason, PATH.remedy)
        for literal in atom.value.items if atom.op not in NULL_TESTS else ():
            if isinstance(literal, str):
                if MISREAD.search(literal):
                    raise self.refuse(atom, HAN.reason, HAN.remedy)
            elif abs(literal) > SAFE_DOUBLE:
                raise self.refuse(atom, LARGE.reason, LARGE.remedy)

    def all_of(self, parts: list[str]) -> str:
        return chained(parts, " and ")

    def any_of(self, parts: list[str]) -> str:
        return chained(parts, " or ")

    def order(self, atom: Expression) -> str:
        path, literal = atom.key.path, atom.value.items[0]
        symbol = _SYMBOLS[atom.op]
        ordered = f"{encode_path(self.field, path)} {symbol} {encode_literal(literal)}"
        if self.tags is None:
            return ordered
        return f"({self._has([kind_token(path, kind_of(literal))])} and {ordered})"

    def member(self, atom: Expression) -> str:
        path, literals = atom.key.path, atom.value.items
        if self.tags is None:
            place, declared = encode_path(self.field, path), self._plain(atom)
            if declared is None:
                return plain_member(place, literals)
            say = lacks if atom.op in (Op.NE, Op.NIN) else held
            return say(place, declared, literals_held(declared, atom))
        found = self._has(dict.fromkeys([value_token(path, literal) for literal in literals]))
        return f"not {found}" if atom.op in (Op.NE, Op.NIN) else found

    def null(self, atom: Expression) -> str:
        declared = self._plain(atom)
        if declared is not None:
            place = encode_path(self.field, atom.key.path)
            if atom.op is Op.ISNOTNULL:
                return present(place, declared)
            missing = absent(place, declared, self.target)
            assert missing is not None
            return missing
        found = self._has([presence_token(atom.key.path)])
        return f"not {found}" if atom.op is Op.ISNULL else found

    def nothing(self) -> Compiled:
        """A constant alone is no expression to the server; no tag is empty, no text is two."""
        if self.tags is not None:
            return Compiled(self.name, self._has([""]), matches_nothing=True)
        path = encode_path(self.field, ("never",))
        return Compiled(self.name, f'({path} == "a" and {path} == "b")', matches_nothing=True)

    def _has(self, tags: Collection[str]) -> str:
        if len(tags) == 1:
            return f"array_contains({self.tags}, {encode_text(next(iter(tags)))})"
        return f"array_contains_any({self.tags}, {encode_list(tags)})"

    def _plain(self, atom: Expression) -> DeclaredKey | None:
        """What the key holds, where the JSON field alone is asked."""
        return self._declared.get(atom.key.path) if self.tags is None else None

    def _check_plain(self, atom: Expression) -> None:
        for segment in atom.key.path[1:]:
            if segment.isascii() and segment.isdigit():
                raise self.refuse(atom, INDEX.reason, INDEX.remedy)
        if self._plain(atom) is not None:
            return
        compare = _COMPARE[atom.op]
        for literal in atom.value.items:
            if not isinstance(literal, str) and any(compare(truth, literal) for truth in (0, 1)):
                raise self.refuse(atom, TRUTH.reason, TRUTH.remedy)
