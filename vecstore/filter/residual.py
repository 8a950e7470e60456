"""Filters that an engine answers in part: what it is asked, and what is left to be evaluated.

Once NOT is pushed down, a filter is built of AND and OR over atoms, and it stays TRUE where one
more of them becomes TRUE. So whatever an engine cannot answer may be taken for TRUE: the filter
that is left matches every document that the whole one matches, and maybe others. These are told
apart by evaluating what was left out on what the engine has found.

Of an AND, the parts that the engine answers whole need no second look. An OR is looked at whole as
soon as one of its parts is inexact: that the engine found the document says no more than that one
part was TRUE, or taken for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from vecstore.errors import UnsupportedFilterError
from vecstore.filter.convert import Compiled
from vecstore.filter.evaluate import stored_matcher
from vecstore.filter.normalize import fold_empty_list, simplified, simplify
from vecstore.filter.tree import LOGICAL, Expression, Op, trusted

ToQuery = Callable[[Expression], Any]
"""Makes of a filter what an engine is asked, or raises UnsupportedFilterError."""


@dataclass(frozen=True, slots=True, eq=False)
class PartialCompiled:
    """A filter that an engine answers in part, as ``compile_filter(..., residual=True)`` gives it.

    It is no :class:`~vecstore.Compiled` and cannot be run like one: ``wider`` alone finds documents
    that the filter does not match. Run ``wider.query``, and keep of what comes back the documents
    for which ``residual.matches(metadata)`` is true.

    Attributes:
        dialect: Name of the dialect.
        wider: What the engine is asked. It finds every document that the filter matches, and maybe
            others; where nothing of the filter can be asked, ``wider.matches_all`` is True.
        residual: What is to be evaluated on each document that ``wider`` finds.
        answered: The parts of the filter, joined by AND, that the engine answers whole.
        refusals: Why it does not answer the others, one error for each comparison.
        asked: What ``wider`` was made of, with the filter around it; None for everything.

    Example:
        >>> from vecstore import compile_filter
        >>> partial = compile_filter("lang == 'de' AND title > 'M'", "qdrant", residual=True)
        >>> partial.wider.query
        {'must': [{'key': 'lang', 'match': {'value': 'de'}}]}
        >>> partial.residual.to_text()
        "title > 'M'"
        >>> partial.matches_all
        False
    """

    dialect: str
    wider: Any
    residual: Expression
    answered: tuple[Expression, ...]
    refusals: tuple[UnsupportedFilterError, ...]
    asked: Expression | None = None

    matches_all: ClassVar[bool] = False
    """Never: even where ``wider`` is everything, the filter is not."""
    matches_nothing: ClassVar[bool] = False
    """Never; a filter that matches nothing is compiled whole."""

    @property
    def evaluated(self) -> tuple[Expression, ...]:
        """The parts of the filter, joined by AND, that are evaluated on what the engine finds."""
        return parts_of(self.residual)

    @property
    def is_full_scan(self) -> bool:
        """Whether the engine is asked for everything, and each document is looked at."""
        wider = self.wider
        return wider is None or (isinstance(wider, Compiled) and wider.matches_all)

    def accepts(self) -> Callable[[Mapping[str, Any]], bool]:
        """Decides metadata, as a store gives it back, of documents that ``wider`` found."""
        return stored_matcher(self.residual)

    def summary(self) -> str:
        """Who answers what, in one sentence.

        Example:
            >>> from vecstore import compile_filter
            >>> compile_filter("a == 1 AND b > 'x'", "qdrant", residual=True).summary()
            "qdrant answers a == 1; vecstore evaluates b > 'x' on what comes back"
        """
        ours = _listed(self.evaluated)
        if self.is_full_scan:
            return f"{self.dialect} answers no part alone; vecstore evaluates {ours} on everything"
        if not self.answered:
            return f"{self.dialect} narrows it down; vecstore evaluates {ours} on what comes back"
        theirs = _listed(self.answered)
        return f"{self.dialect} answers {theirs}; vecstore evaluates {ours} on what comes back"

    def __str__(self) -> str:
        lines = [f"({self.summary()})", "asked of the engine:"]
        asked = str(self.wider) if not self.is_full_scan else "(everything)"
        lines += [f"  {line}" for line in asked.split("\n")]
        lines.append(f"evaluated on each document of these: {self.residual.to_text()}")
        return "\n".join(lines)


def parts_of(filter: Expression) -> tuple[Expression, ...]:
    """What a filter joins by AND; a filter that does not is its only part."""
    return filter.operands if filter.op is Op.AND else (filter,)


def clause_text(filter: Expression, most: int = 120) -> str:
    """A part of a filter in a sentence, cut where it is long.

    Example:
        >>> from vecstore import parse
        >>> clause_text(parse("a == 1 OR b == 2")), clause_text(parse("abc == 12345"), most=6)
        ('(a == 1 OR b == 2)', 'abc =…')
    """
    text = filter.to_text()
    if filter.op in LOGICAL:
        text = f"({text})"
    return text if len(text) <= most else text[: most - 1] + "…"


_SHOWN = 5


def _listed(parts: Sequence[Expression]) -> str:
    texts = [clause_text(part) for part in parts[:_SHOWN]]
    if len(parts) > _SHOWN:
        return f"{', '.join(texts)} and {len(parts) - _SHOWN:,} more"
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def split(
    filter: Expression,
    error: UnsupportedFilterError,
    to_query: ToQuery,
    dialect: str,
    *,
    everything: Any = None,
    within: Expression | None = None,
) -> Any:
    """Take a filter apart that an engine has refused to answer whole.

    Args:
        filter: The filter.
        error: What it was refused with.
        to_query: Makes of a filter what the engine is asked.
        dialect: What the engine is called.
        everything: What it is asked for every document.
        within: A filter that is always asked whole, joined by AND: what widens the other one never
            leaves it.

    Returns:
        A :class:`PartialCompiled`; or what ``to_query`` made, where that is the whole after all.

    Raises:
        UnsupportedFilterError: If the engine does not answer ``within`` by itself, or the filter is
            one that cannot be evaluated either.
    """
    simple = simplified(filter)
    if isinstance(simple, bool):
        raise error
    parts = parts_of(simple)
    refused = _refused_atoms(parts, to_query)

    def taken_for_true(atom: Expression) -> bool | None:
        return True if id(atom) in refused else fold_empty_list(atom)

    asked: dict[int, Expression] = {}  # by the place of the part
    inexact: set[int] = set()
    for place, part in enumerate(parts):
        wider: Expression | bool = part
        if any(id(node) in refused for node in part.walk()):
            inexact.add(place)
            wider = simplify(part, taken_for_true)
        if not isinstance(wider, bool):
            asked[place] = wider
    reasons = dict(refused)
    compiled, kept = _compiled(asked, to_query, within, reasons)
    tree = _joined([asked[place] for place in sorted(kept)], within)
    if isinstance(compiled, Compiled) and compiled.matches_nothing:
        return compiled
    left = [place for place in range(len(parts)) if place in inexact or place not in kept]
    if not left:
        return compiled
    return PartialCompiled(
        dialect,
        everything if compiled is None else compiled,
        parts[left[0]] if len(left) == 1 else trusted(Op.AND, tuple([parts[one] for one in left])),
        tuple([part for place, part in enumerate(parts) if place not in left]),
        tuple([_without_frames(reason) for reason in reasons.values()]),
        tree,
    )


def _refused_atoms(
    parts: Iterable[Expression], to_query: ToQuery
) -> dict[int, UnsupportedFilterError]:
    """The comparisons that the engine does not answer even alone, each with the reason."""
    refused: dict[int, UnsupportedFilterError] = {}
    for part in parts:
        for node in part.walk():
            if node.op in LOGICAL or id(node) in refused:
                continue
            try:
                to_query(node)
            except UnsupportedFilterError as error:
                if not error.evaluable:
                    raise
                refused[id(node)] = error
    return refused


def _compiled(
    asked: dict[int, Expression],
    to_query: ToQuery,
    within: Expression | None,
    reasons: dict[int, UnsupportedFilterError],
) -> tuple[Any, set[int]]:
    """What the engine is asked, and which of the parts are in it.

    An engine may refuse a filter for its length, its depth or the number of its comparisons. Then
    as many parts are asked as it takes, those with the fewest comparisons first.
    """

    def joined(places: Iterable[int]) -> Any:
        tree = _joined([asked[place] for place in sorted(places)], within)
        return None if tree is None else to_query(tree)

    try:
        return joined(asked), set(asked)
    except UnsupportedFilterError as error:
        first = error
    without = joined(())  # raises where the engine does not even take the scope
    fitting: list[int] = []
    for place in asked:
        try:
            joined((place,))
        except UnsupportedFilterError as error:
            reasons.setdefault(-1 - place, error)
        else:
            fitting.append(place)
    fitting.sort(key=lambda place: sum(1 for _ in asked[place].walk()))
    # How many of them go together: found by halving, as engines count and measure.
    compiled, most, least = without, len(fitting), 0
    while least < most:
        count = (least + most + 1) // 2
        try:
            compiled = joined(fitting[:count])
        except UnsupportedFilterError as error:
            first = error
            most = count - 1
        else:
            least = count
    if least < len(fitting):
        reasons.setdefault(-1 - len(asked), first)
    return compiled, set(fitting[:least])


def _joined(parts: list[Expression], within: Expression | None) -> Expression | None:
    together = parts if within is None else [within, *parts]
    if len(together) > 1:
        return Expression(Op.AND, *together)
    return together[0] if together else None


def _without_frames(error: UnsupportedFilterError) -> UnsupportedFilterError:
    """The error without what it was raised in, which would be kept alive by it."""
    return error.with_traceback(None)
