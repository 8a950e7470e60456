"""Filters as Pinecone's own: dicts of ``$and``, ``$or`` and one operator a field."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any, ClassVar, Final, Literal

from vecstore.dialects.base import Dialect, check_choice
from vecstore.dialects.declared import (
    Declaration,
    DeclaredKey,
    Path,
    as_membership,
    decided,
    declared_keys,
    laid_out_keys,
    literals_held,
)
from vecstore.dialects.orders import trie_query
from vecstore.dialects.pinecone.layout import ORDERED_BYTES, TOKENS, number_field
from vecstore.dialects.tokens import DOCUMENT_TOKEN, presence_token, value_token
from vecstore.filter.convert import (
    ALL_LITERALS,
    SAFE_DOUBLE,
    Capabilities,
    Compiled,
    KeyRule,
    Refusal,
)
from vecstore.filter.tree import ORDERINGS, Expression, Op
from vecstore.filter.values import Kind, Scalar, kind_of
from vecstore.frozen import field, frozen

Layout = Literal["exact", "plain"]
Clause = dict[str, Any]

_OPERATORS = {
    Op.EQ: "$eq",
    Op.NE: "$ne",
    Op.GT: "$gt",
    Op.GTE: "$gte",
    Op.LT: "$lt",
    Op.LTE: "$lte",
    Op.IN: "$in",
    Op.NIN: "$nin",
    Op.ISNULL: "$ne",
    Op.ISNOTNULL: "$eq",
}


@frozen
class Pinecone(Dialect[Clause]):
    """Pinecone, filters for ``index.query(filter=...)``.

    Args:
        layout: ``"plain"`` filters the fields as they are, in indexes that any program wrote. It
            takes it that no field holds an empty list, which Pinecone tells from a missing field.
            ``"exact"`` filters what :func:`~vecstore.dialects.pinecone.layout.filter_fields` lays
            out: nested keys, lists of numbers and of booleans work there too.
        schema: What the keys hold, a :class:`~vecstore.Schema`: texts of which all are known can
            then be ordered, and in the exact layout those of every declared key. Whoever only
            compiles vouches for the data.
        texts: In the exact layout, the keys whose texts were laid out to be ordered; by default
            those that the schema declares. Keys are read as in a filter: ``["author.name"]``.

    Raises:
        ConfigurationError: For an unknown layout, and for keys that are none.

    Example:
        >>> from vecstore import F
        >>> Pinecone().compile((F.year >= 2020) & (F.genre != "drama")).query["$and"][0]
        {'year': {'$gte': 2020}}
        >>> Pinecone(layout="exact").compile(F.author.name == "Ada").query
        {'__vecstore_tokens': {'$eq': '["author","name"]="Ada"'}}
    """

    name: ClassVar[str] = "pinecone"
    # What the client takes for no filter, while an empty dict is an error.
    match_all: ClassVar[None] = None

    layout: Layout = "plain"
    schema: Declaration | None = None
    texts: Collection[str | Path] | None = None
    _declared: dict[Path, DeclaredKey] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_choice("layout", self.layout, _CAPABILITIES)
        object.__setattr__(self, "_declared", declared_keys(self.schema))
        texts = laid_out_keys("texts", self.texts, self.schema, Kind.STRING)
        object.__setattr__(self, "texts", texts)

    @property
    def capabilities(self) -> Capabilities:
        """Most orderings of texts are refused; in the plain layout nested keys, large numbers."""
        return _CAPABILITIES[self.layout]

    @property
    def folds(self) -> bool:
        return bool(self._declared)

    def fold(self, atom: Expression) -> bool | None:
        """Decide what the declaration of a key makes impossible, too."""
        return decided(self._declared.get(atom.key.path), atom)

    def kinds(self, atom: Expression) -> frozenset[Kind] | None:
        if atom.op in ORDERINGS and (self._known(atom) is not None or self._is_laid_out(atom)):
            return ALL_LITERALS[atom.op]
        return self.capabilities.literals.get(atom.op)

    def check(self, atom: Expression) -> None:
        literal = atom.value.items[0] if atom.op in ORDERINGS else None
        if isinstance(literal, str) and self._known(atom) is None:
            size = len(literal.encode())
            if size >= ORDERED_BYTES:
                raise self.refuse(
                    atom,
                    f"it orders texts by their first {ORDERED_BYTES - 1} bytes, not by {size:,}",
                    "order by a shorter text, such as the beginning of this one",
                )

    def all_of(self, parts: list[Clause]) -> Clause:
        return _joined("$and", parts)

    def any_of(self, parts: list[Clause]) -> Clause:
        return _joined("$or", parts)

    def compare(self, atom: Expression) -> Clause:
        path, operator, literal = atom.key.path, _OPERATORS[atom.op], atom.value.items[0]
        if atom.op in ORDERINGS and isinstance(literal, str):
            known = self._known(atom)
            return (
                self.text_order(atom) if known is None else self.member(as_membership(known, atom))
            )
        if self.layout == "exact":
            if atom.op in ORDERINGS:
                return {number_field(path): {operator: literal}}
            return {TOKENS: {operator: value_token(path, literal)}}
        clause = {path[0]: {operator: literal}}
        return self._or_absent(atom, [clause]) if atom.op is Op.NE else clause

    def text_order(self, atom: Expression) -> Clause:
        """An ordering of the texts of a key that were laid out for it."""
        wanted = trie_query(atom.key.path, atom.op, atom.value.items[0])
        # Nothing comes before the empty text.
        clause: Clause = {TOKENS: {"$in": wanted}} if wanted else self.nothing().native
        return clause

    def member(self, atom: Expression) -> Clause:
        path, operator = atom.key.path, _OPERATORS[atom.op]
        items = literals_held(self._declared.get(path), atom)
        if self.layout == "exact":
            tokens = dict.fromkeys(value_token(path, item) for item in items)
            return {TOKENS: {operator: list(tokens)}}
        # A list holds strings or holds numbers; for booleans there is only equality.
        by_kind: dict[Kind, list[Scalar]] = {}
        for item in items:
            by_kind.setdefault(kind_of(item), []).append(item)
        single = "$eq" if atom.op is Op.IN else "$ne"
        clauses: list[Clause] = [
            {path[0]: {single: flag}} for flag in dict.fromkeys(by_kind.pop(Kind.BOOL, []))
        ]
        clauses += [{path[0]: {operator: items}} for items in by_kind.values()]
        if atom.op is Op.NIN:
            return self._or_absent(atom, clauses)
        return clauses[0] if len(clauses) == 1 else _joined("$or", clauses)

    def null(self, atom: Expression) -> Clause:
        if self.layout == "exact":
            return {TOKENS: {_OPERATORS[atom.op]: presence_token(atom.key.path)}}
        return {atom.key.path[0]: {"$exists": atom.op is Op.ISNOTNULL}}

    def nothing(self) -> Compiled:
        """A contradiction, on a field that no user's key can name."""
        contradiction = [{TOKENS: {operator: DOCUMENT_TOKEN}} for operator in ("$eq", "$ne")]
        return Compiled(self.name, {"$and": contradiction}, matches_nothing=True)

    def _known(self, atom: Expression) -> DeclaredKey | None:
        """The declaration of the atom's key, if that says which values there can be."""
        declared, most = self._declared.get(atom.key.path), self.capabilities.max_list
        if declared is None or declared.choices is None:
            return None
        return declared if most is None or len(declared.choices) <= most else None

    def _is_laid_out(self, atom: Expression) -> bool:
        return self.layout == "exact" and atom.key.path in self.texts  # type: ignore[operator]

    def _or_absent(self, atom: Expression, clauses: list[Clause]) -> Clause:
        """All of the clauses, or no such field.

        Whether ``$ne`` and ``$nin`` select records without the field has changed over the years;
        said like this it does not matter.
        """
        absent = {atom.key.path[0]: {"$exists": False}}
        present = clauses[0] if len(clauses) == 1 else _joined("$and", clauses)
        return {"$or": [present, absent]}


def _joined(operator: str, parts: list[Clause]) -> Clause:
    """The parts under one operator; parts that stand under it already are spliced in."""
    return {operator: [clause for part in parts for clause in part.get(operator, [part])]}


_NO_TEXT_ORDER: Final = Refusal(
    "it orders numbers only, not texts",
    "store a number and order by it: seconds since 1970 for a date or time; in namespaces that "
    'vecstore lays out, layout="exact", texts of declared keys can be ordered: '
    "schema=Schema({'key': datetime}); elsewhere those of which all are known, Schema({'key': "
    "['large', 'small']})",
)
_EXACT: Final = Capabilities(
    literals={**ALL_LITERALS, **dict.fromkeys(ORDERINGS, frozenset({Kind.NUMBER}))},
    refusals={(op, Kind.STRING): _NO_TEXT_ORDER for op in ORDERINGS},
    max_ordered_number=SAFE_DOUBLE,
    # The documented bound of $in and $nin.
    max_list=10_000,
    # A filter travels as nested protobuf messages, five for each level of $and and $or, and readers
    # of protobuf stop at 100.
    max_depth=16,
)
_CAPABILITIES: Final[dict[str, Capabilities]] = {
    "plain": replace(
        _EXACT,
        nested_keys=Refusal(
            "its metadata is flat, without objects to step into",
            "store the value under a key of its own; in collections that vecstore lays out, "
            'layout="exact" answers nested keys',
        ),
        key_rule=KeyRule(
            re.compile(r"[^$].*", re.DOTALL),
            Refusal(
                "its field names cannot start with $",
                "rename the key; in collections that vecstore lays out, "
                'layout="exact" answers any key',
            ),
        ),
        max_number=SAFE_DOUBLE,
        max_ordered_number=None,
    ),
    "exact": _EXACT,
}
