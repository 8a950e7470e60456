"""Filters as Milvus expressions, over a JSON field alone or over the tags of our own layout."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from vecstore.dialects.base import Dialect
from vecstore.dialects.milvus.capabilities import (
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
    encode_list,
    encode_literal,
    encode_path,
    encode_text,
)
from vecstore.dialects.milvus.layout import METADATA, MISREAD
from vecstore.dialects.tokens import kind_token, presence_token, value_token
from vecstore.errors import ConfigurationError
from vecstore.filter.convert import (
    SAFE_DOUBLE,
    Capabilities,
    Compiled,
)
from vecstore.filter.tree import ORDERINGS, Expression, Op
from vecstore.filter.values import MAX_METADATA_DEPTH, Kind, Scalar, kind_of

_SYMBOLS = {Op.EQ: "==", Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}
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
# The client itself cannot read what lies deeper.
_DEEPEST_JSON = 1_024
# A chain becomes as deep a tree on the server as it is long; groups keep it shallow.
_LONGEST_CHAIN = 32


@dataclass(frozen=True, slots=True)
class Milvus(Dialect[str]):
    r"""Milvus servers and milvus-lite, with one text for all their versions.

    Args:
        field: The JSON field that holds the metadata.
        tags: The array field of tags that our own store writes (``"vecstore_tags"``); with it every
            filter is exact. None for collections that others wrote: what a JSON field alone cannot
            answer exactly on every version is refused.

    Raises:
        ConfigurationError: For a field name that an expression cannot hold.

    Example:
        >>> print(Milvus().compile("year > 2020"))
        metadata["year"] > 2020
        >>> print(Milvus(tags="vecstore_tags").compile("country != 'BG'"))
        not array_contains(vecstore_tags, "[\"country\"]=\"BG\"")
    """

    name: ClassVar[str] = "milvus"

    field: str = METADATA
    tags: str | None = None

    def __post_init__(self) -> None:
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

    def fold(self, atom: Expression) -> bool | None:
        """A key deeper than any document has is absent from all."""
        deepest = MAX_METADATA_DEPTH if self.tags is not None else _DEEPEST_JSON
        if len(atom.key.path) > deepest:
            return atom.op in (Op.NE, Op.NIN, Op.ISNULL)
        return super(Milvus, self).fold(atom)

    def check(self, atom: Expression) -> None:
        """What depends on operator, key and literal together."""
        ordering = atom.op in ORDERINGS
        if self.tags is None:
            self._check_plain(atom)
        elif not ordering:
            return  # tags are ASCII, and the JSON field is not looked at
        if ordering and not all(ADDRESSABLE.fullmatch(segment) for segment in atom.key.path):
            raise self.refuse(atom, PATH.reason, PATH.remedy)
        for literal in atom.value.items:
            if isinstance(literal, str):
                if MISREAD.search(literal):
                    raise self.refuse(atom, HAN.reason, HAN.remedy)
            elif abs(literal) > SAFE_DOUBLE:
                raise self.refuse(atom, LARGE.reason, LARGE.remedy)

    def all_of(self, parts: list[str]) -> str:
        return _chained(parts, " and ")

    def any_of(self, parts: list[str]) -> str:
        return _chained(parts, " or ")

    def compare(self, atom: Expression) -> str:
        if atom.op not in ORDERINGS:
            return self.member(atom)
        literal = atom.value.items[0]
        path = encode_path(self.field, atom.key.path)
        ordered = f"{path} {_SYMBOLS[atom.op]} {encode_literal(literal)}"
        if self.tags is None:
            return ordered
        return f"({self._has([kind_token(atom.key.path, kind_of(literal))])} and {ordered})"

    def member(self, atom: Expression) -> str:
        path, literals = atom.key.path, atom.value.items
        if self.tags is None:
            return _plain_member(encode_path(self.field, path), literals)
        held = self._has(dict.fromkeys([value_token(path, literal) for literal in literals]))
        return f"not {held}" if atom.op in (Op.NE, Op.NIN) else held

    def null(self, atom: Expression) -> str:
        present = self._has([presence_token(atom.key.path)])
        return f"not {present}" if atom.op is Op.ISNULL else present

    def finish(self, part: str) -> Compiled:
        return Compiled(self.name, part)

    def everything(self) -> Compiled:
        return Compiled(self.name, "", matches_all=True)

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

    def _check_plain(self, atom: Expression) -> None:
        for segment in atom.key.path[1:]:
            if segment.isascii() and segment.isdigit():
                raise self.refuse(atom, INDEX.reason, INDEX.remedy)
        compare = _COMPARE[atom.op]
        for literal in atom.value.items:
            if not isinstance(literal, str) and any(compare(truth, literal) for truth in (0, 1)):
                raise self.refuse(atom, TRUTH.reason, TRUTH.remedy)


def _plain_member(path: str, literals: Iterable[Scalar]) -> str:
    """The value equals a literal, or is a list that holds one.

    ``exists`` an element: milvus-lite takes a text that looks like a list for one. And the server
    finds 1 in ``[1.0]`` only when it is asked for as a float.
    """
    elements: dict[Kind, list[str]] = {}
    equal: list[str] = []
    for literal in literals:
        element = literal if isinstance(literal, str) else float(literal)
        elements.setdefault(kind_of(literal), []).append(encode_literal(element))
        equal.append(f"{path} == {encode_literal(literal)}")
    for listed in elements.values():
        contains = f"json_contains_any({path}, [{', '.join(listed)}])"
        equal.append(f"({contains} and exists {path}[0])")
    return _chained(equal, " or ")


def _chained(parts: list[str], joint: str) -> str:
    while len(parts) > _LONGEST_CHAIN:
        starts = range(0, len(parts), _LONGEST_CHAIN)
        parts = [_chained(parts[start : start + _LONGEST_CHAIN], joint) for start in starts]
    return f"({joint.join(parts)})"
