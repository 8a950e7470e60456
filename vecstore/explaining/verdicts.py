"""Why a filter is true, false or unknown on one document: the comparisons that decide it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from vecstore.filter.text import literal_text
from vecstore.filter.tree import LOGICAL, ORDERINGS, Expression, Op
from vecstore.filter.values import Kind, kind_of

_LONGEST = 48
_NOUNS = {Kind.NUMBER: "a number", Kind.STRING: "a text", Kind.BOOL: "a boolean"}


class Reason(NamedTuple):
    """One comparison of a filter that is what the whole filter is on a document.

    Attributes:
        clause: The comparison as it was written; with NOT before it where it counts negated.
        because: What the document holds there.
    """

    clause: str
    because: str


class Verdict(NamedTuple):
    """What a filter is on a document, and the comparisons that make it so.

    Attributes:
        value: True, False, or None for unknown; the same as ``expression.evaluate`` says.
        reasons: In the order in which they were written. Each is on its own what the whole is: of
            an AND that is false those that are false, of one that is true all of them, and so on
            down the filter.
    """

    value: bool | None
    reasons: tuple[Reason, ...]


class Judge:
    """Decides one filter on many documents, and says why.

    Args:
        expression: The filter, as it was written.

    Example:
        >>> from vecstore import parse
        >>> judge = Judge(parse("lang == 'en' AND NOT (year < 2020)"))
        >>> judge.verdict({"lang": "en"}).value is None
        True
        >>> judge.verdict({"lang": "en", "year": 1999}).reasons
        (Reason(clause='NOT year < 2020', because='year is 1999'),)
    """

    __slots__ = ("_children", "_clauses", "_nodes")

    def __init__(self, expression: Expression) -> None:
        # Parents stand before their children: what is below a node ends where its neighbour begins.
        self._nodes = list(expression.walk())
        self._clauses: dict[int, str] = {}
        self._children: list[tuple[int, ...]] = [()] * len(self._nodes)
        ends = [0] * len(self._nodes)
        for place in range(len(self._nodes) - 1, -1, -1):
            node = self._nodes[place]
            end = place + 1
            starts: list[int] = []
            for _ in node.operands if node.op in LOGICAL else ():
                starts.append(end)
                end = ends[end]
            ends[place] = end
            self._children[place] = tuple(starts)

    @property
    def size(self) -> int:
        """How many expressions the filter is made of."""
        return len(self._nodes)

    def verdict(self, metadata: Mapping[str, Any]) -> Verdict:
        """What the filter is on a document with this metadata.

        Args:
            metadata: As a store holds it, or gives it back.

        Raises:
            DocumentError: If a value that the filter looks at is none that a document can hold.
        """
        values: list[bool | None] = [None] * len(self._nodes)
        for place in range(len(self._nodes) - 1, -1, -1):
            node = self._nodes[place]
            if node.op in LOGICAL:
                values[place] = _joined(node.op, [values[child] for child in self._children[place]])
            else:
                values[place] = node.evaluate(metadata)
        reasons: dict[Reason, None] = {}
        waiting = [(0, False)]
        while waiting:
            place, negated = waiting.pop()
            node = self._nodes[place]
            children = self._children[place]
            if node.op not in LOGICAL:
                clause = self._clause(place)
                if negated:
                    clause = f"NOT {clause}"
                reasons.setdefault(Reason(clause, _because(node, metadata)))
            elif node.op is Op.NOT:
                waiting.append((children[0], not negated))
            else:
                # Where all have to be what the whole is, all are.
                alike = [one for one in children if values[one] is values[place]]
                waiting.extend((one, negated) for one in reversed(alike))
        return Verdict(values[0], tuple(reasons))

    def _clause(self, place: int) -> str:
        """A comparison as text, which is the same for every document."""
        if place not in self._clauses:
            self._clauses[place] = self._nodes[place].to_text()
        return self._clauses[place]


def _joined(op: Op, values: list[bool | None]) -> bool | None:
    """Kleene's AND, OR and NOT."""
    if op is Op.NOT:
        return None if values[0] is None else not values[0]
    decisive = op is Op.OR
    if any(value is decisive for value in values):
        return decisive
    return None if None in values else not decisive


def _because(atom: Expression, metadata: Mapping[str, Any]) -> str:
    """What is under the key of a comparison, and why that has no order where it has none."""
    key = str(atom.key)
    value: Any = metadata
    there = True
    for segment in atom.key.path:
        there = isinstance(value, Mapping) and segment in value
        value = value[segment] if there else None
        if not there:
            break
    if not there:
        told = f"there is no {key}"
    elif value is None:
        told = f"{key} is null, which is absent"
    elif isinstance(value, Mapping):
        told = f"{key} is an object"
    elif isinstance(value, list | tuple):
        told = f"{key} is {_listed(value)}" if value else f"{key} is [], which is absent"
    else:
        told = f"{key} is {_shown(value)}"
    if atom.op not in ORDERINGS:
        return told
    if not there or value is None or (isinstance(value, list | tuple) and not value):
        return f"{told}, and what is absent has no order"
    if isinstance(value, list | tuple):
        return f"{told}, and a list has no order"
    if isinstance(value, Mapping):
        return f"{told}, and has no order"
    literal: Any = atom.value.value
    if kind_of(value) is not kind_of(literal):
        return (
            f"{told}, {_NOUNS[kind_of(value)]}, and {_shown(literal)} is {_NOUNS[kind_of(literal)]}"
        )
    return told


def _listed(items: Any) -> str:
    return _cut(f"[{', '.join(literal_text(item) for item in items[:_LONGEST])}]")


def _shown(value: Any) -> str:
    # An integer may have thousands of digits, a text any number of characters.
    return _cut(literal_text(value[: _LONGEST + 1] if isinstance(value, str) else value))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
