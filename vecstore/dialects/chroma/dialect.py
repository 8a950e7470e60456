"""Filters as Chroma's ``where``: dicts of ``$and``, ``$or`` and one comparison of a key."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import ClassVar, Final, Literal

from vecstore.dialects.base import Dialect, check_choice
from vecstore.dialects.chroma.conditions import (
    OPERATORS,
    Condition,
    equal,
    joined,
    ordered,
    ordered_list,
    size_of,
    unequal,
)
from vecstore.dialects.chroma.layout import (
    KEY,
    MOST_INTEGERS,
    ORDERED_BYTES,
    TOKENS,
    Target,
    number_field,
    text_field,
)
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
from vecstore.dialects.floats import DIGITS, REMEDY, keeps_float
from vecstore.dialects.orders import sortable_integer, text_integers, trie_query
from vecstore.dialects.tokens import DOCUMENT_TOKEN, kind_token, presence_token, value_token
from vecstore.errors import ConfigurationError
from vecstore.filter.convert import (
    ALL_LITERALS,
    SAFE_DOUBLE,
    Capabilities,
    Compiled,
    FloatRule,
    KeyRule,
    Refusal,
)
from vecstore.filter.tree import MEMBERSHIPS, ORDERINGS, Expression, Op
from vecstore.filter.values import Kind, Scalar
from vecstore.frozen import field, frozen

Layout = Literal["exact", "plain"]

MOST_CONDITIONS: Final = 900
"""In a whole query. With 1,000 the engine says that the expression is too large, and with 10,000 it
ends the process."""
_OF_A_COMPARISON: Final = 4
"""Conditions of one comparison of the plain layout, at most: a fraction between two whole numbers,
and in a list."""
_OF_AN_ORDERING: Final = 2
"""Those of a number that is ordered in the exact layout: that it is one, and its integer."""


@frozen
class Chroma(Dialect[Condition]):
    """Chroma, filters for ``collection.query(where=...)`` and ``collection.get(where=...)``.

    Args:
        layout: ``"plain"`` filters metadata as any program writes it, ``"exact"`` what
            :mod:`vecstore.dialects.chroma.layout` lays out: nested keys, null tests and numbers of
            any size work there too.
        schema: What the keys hold, a :class:`~vecstore.Schema`. In the exact layout the texts of
            declared keys can be ordered, in both those of which all are known. Whoever only
            compiles vouches for the data.
        target: ``"local"`` for the engine that comes with the client, and ``chroma run``;
            ``"cloud"`` for Chroma Cloud and other distributed servers, which keep numbers in 32
            bits: there, only numbers of declared keys are ordered.
        texts: In the exact layout, the keys whose texts were laid out to be ordered; by default
            those that the schema declares. Keys are read as in a filter: ``["author.name"]``.
        numbers: The same of numbers, where the target is ``"cloud"``.

    Raises:
        ConfigurationError: For an unknown layout or target, for a plain layout in the cloud, and
            for keys that are none.

    Example:
        >>> from vecstore import F
        >>> Chroma().compile(F.year >= 2020).query
        {'year': {'$gte': 2020}}
        >>> Chroma(layout="exact").compile(F.author.name == "Ada").query
        {'vecstore_tokens': {'$contains': '["author","name"]="Ada"'}}
    """

    name: ClassVar[str] = "chroma"
    match_all: ClassVar[None] = None  # what the client takes for no filter

    layout: Layout = "plain"
    schema: Declaration | None = None
    target: Target = "local"
    texts: Collection[str | Path] | None = None
    numbers: Collection[str | Path] | None = None
    _declared: dict[Path, DeclaredKey] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_choice("layout", self.layout, ("exact", "plain"))
        check_choice("target", self.target, ("local", "cloud"))
        if (self.layout, self.target) == ("plain", "cloud"):
            raise ConfigurationError(
                "Chroma Cloud keeps numbers in 32 bits, so that filters of metadata as it is are "
                'not exact there; write Chroma(layout="exact", target="cloud")'
            )
        object.__setattr__(self, "_declared", declared_keys(self.schema))
        for name, kind in (("texts", Kind.STRING), ("numbers", Kind.NUMBER)):
            keys = laid_out_keys(name, getattr(self, name), self.schema, kind)
            object.__setattr__(self, name, keys)

    @property
    def capabilities(self) -> Capabilities:
        """All but most orderings of texts; in the plain layout no null tests and no nested keys."""
        return _CAPABILITIES["cloud" if self.target == "cloud" else self.layout]

    @property
    def folds(self) -> bool:
        return bool(self._declared)

    def fold(self, atom: Expression) -> bool | None:
        """Decide what the declaration of a key makes impossible, too."""
        return decided(self._declared.get(atom.key.path), atom)

    def kinds(self, atom: Expression) -> frozenset[Kind] | None:
        usual = self.capabilities.literals.get(atom.op)
        if usual is None or atom.op not in ORDERINGS:
            return usual
        if self._known(atom) is not None:
            return ALL_LITERALS[atom.op]
        if self.layout == "plain":
            return usual
        path, more = atom.key.path, set(usual)
        if path in self.texts:  # type: ignore[operator]
            more.add(Kind.STRING)
        if path in self.numbers:  # type: ignore[operator]
            more.add(Kind.NUMBER)
        return frozenset(more)

    def check(self, atom: Expression) -> None:
        literal = atom.value.items[0] if atom.op in ORDERINGS else None
        if isinstance(literal, str) and self._known(atom) is None:
            size, most = len(literal.encode()), ORDERED_BYTES[self.target] - 1
            if size > most:
                raise self.refuse(
                    atom,
                    f"it orders texts by their first {most} bytes, and not by {size:,}",
                    "order by a shorter text, such as the beginning of this one",
                )

    def all_of(self, parts: list[Condition]) -> Condition:
        return joined("$and", parts)

    def any_of(self, parts: list[Condition]) -> Condition:
        return joined("$or", parts)

    def order(self, atom: Expression) -> Condition:
        path, literal = atom.key.path, atom.value.items[0]
        known = self._known(atom)
        if known is not None:
            return self.member(as_membership(known, atom))
        if self.layout == "plain":
            return ordered(path[0], atom.op, literal)  # type: ignore[arg-type]
        if self.target == "cloud":
            wanted = trie_query(path, atom.op, literal)
            tokens = [{TOKENS: {"$contains": token}} for token in wanted]
            # Nothing comes before the empty text.
            return self._within(atom, joined("$or", tokens)) if tokens else self.nothing().native
        kind = atom.value.kind
        if isinstance(literal, str):
            integers = text_integers(literal, MOST_INTEGERS)
            names = [text_field(path, place) for place in range(len(integers))]
            bound = ordered_list(names, atom.op, integers)
        else:
            bound = {number_field(path): {OPERATORS[atom.op]: sortable_integer(literal)}}
        return joined("$and", [{TOKENS: {"$contains": kind_token(path, kind)}}, bound])

    def member(self, atom: Expression) -> Condition:
        path, is_in = atom.key.path, atom.op in (Op.EQ, Op.IN)
        items = literals_held(self._declared.get(path), atom)
        if self.layout == "exact":
            name = "$contains" if is_in else "$not_contains"
            tokens = dict.fromkeys(value_token(path, item) for item in items)
            conditions = [{TOKENS: {name: token}} for token in tokens]
        else:
            conditions = self._plain(path, items, is_in=is_in)
        return self._within(atom, joined("$or" if is_in else "$and", conditions))

    def null(self, atom: Expression) -> Condition:
        name = "$contains" if atom.op is Op.ISNOTNULL else "$not_contains"
        return {TOKENS: {name: presence_token(atom.key.path)}}

    def finish(self, part: Condition) -> Compiled:
        return Compiled(self.name, self._within(None, part))

    def nothing(self) -> Compiled:
        contradiction = [
            {TOKENS: {name: DOCUMENT_TOKEN}} for name in ("$contains", "$not_contains")
        ]
        return Compiled(self.name, {"$and": contradiction}, matches_nothing=True)

    def _plain(self, path: Path, items: Iterable[Scalar], *, is_in: bool) -> list[Condition]:
        [key], declared = path, self._declared.get(path)
        single, many = declared is None or not declared.many, declared is None or declared.many
        write = equal if is_in else unequal
        together = [item for item in items if isinstance(item, str)] if single else []
        if len(together) < 2:
            together = []
        conditions = [{key: {"$in" if is_in else "$nin": together}}] if together else []
        for item in items:
            alone = single and not (together and isinstance(item, str))
            conditions += write(key, item, single=alone, many=many)
        return conditions

    def _known(self, atom: Expression) -> DeclaredKey | None:
        """The declaration of the atom's key, if that says which values there can be."""
        declared = self._declared.get(atom.key.path)
        return None if declared is None or declared.choices is None else declared

    def _within(self, atom: Expression | None, part: Condition) -> Condition:
        size = size_of(part)
        if size <= MOST_CONDITIONS:
            return part
        reason = (
            f"it takes at most {MOST_CONDITIONS} conditions in a filter, and this one comes to "
            f"{size:,}"
        )
        if atom is not None and atom.op in MEMBERSHIPS:
            values = len(atom.value.items)
            most = values * MOST_CONDITIONS // size
            reason += f": of its {values:,} values it would take {most:,}"
        raise self.refuse(
            atom,
            reason,
            "split the filter over several calls, shorten its lists, or search with "
            'residual="evaluate"',
        )


_NO_TEXT_ORDER: Final = Refusal(
    "it orders numbers only, not texts",
    "store a number and order by it: seconds since 1970 for a date or time; or declare the key in "
    'a collection that vecstore lays out, layout="exact": schema=Schema({"key": datetime})',
)
_NO_NULLS: Final = Refusal(
    "it cannot tell whether a key is there",
    'in collections that vecstore lays out, layout="exact" can; elsewhere store a flag',
)
_EXACT: Final = Capabilities(
    literals={**ALL_LITERALS, **dict.fromkeys(ORDERINGS, frozenset({Kind.NUMBER}))},
    refusals={(op, Kind.STRING): _NO_TEXT_ORDER for op in ORDERINGS},
    max_ordered_number=SAFE_DOUBLE,
    max_list=MOST_CONDITIONS,
    max_atoms=MOST_CONDITIONS // _OF_AN_ORDERING,
    # 60 nested levels are read, and 64 refused; an atom may take two by itself.
    max_depth=40,
)
_CAPABILITIES: Final[dict[str, Capabilities]] = {
    "plain": replace(
        _EXACT,
        literals={op: kinds for op, kinds in _EXACT.literals.items() if kinds},
        refusals={
            **_EXACT.refusals,
            **{(op, None): _NO_NULLS for op in (Op.ISNULL, Op.ISNOTNULL)},
        },
        nested_keys=Refusal(
            "its metadata is flat, without objects to step into",
            "store the value under a key of its own; in collections that vecstore lays out, "
            'layout="exact" answers nested keys',
        ),
        key_rule=KeyRule(
            KEY,
            Refusal(
                "its keys are not empty, start with neither $ nor #, and are not chroma:document",
                "rename the key; in collections that vecstore lays out, "
                'layout="exact" answers any key',
            ),
        ),
        max_number=SAFE_DOUBLE,
        max_ordered_number=None,
        # Several texts are one condition, and of numbers each is several: member() counts them.
        max_list=None,
        max_atoms=MOST_CONDITIONS // _OF_A_COMPARISON,
        float_rule=FloatRule(keeps_float, DIGITS, REMEDY),
    ),
    "exact": _EXACT,
    "cloud": replace(
        _EXACT,
        literals={**ALL_LITERALS, **dict.fromkeys(ORDERINGS, frozenset[Kind]())},
        max_atoms=MOST_CONDITIONS,
        refusals={
            **_EXACT.refusals,
            **{
                (op, Kind.NUMBER): Refusal(
                    "there it keeps numbers in 32 bits, and orders those of declared keys alone",
                    "declare the key before the collection is made: schema=Schema({'key': int})",
                )
                for op in ORDERINGS
            },
        },
    ),
}
