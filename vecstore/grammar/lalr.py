"""Filter text -> tree: one regular expression splits it, and the tables of the grammar read it.

``tables.py`` is made from ``filter.lark``. The loop here is the usual one of an LALR(1) parser: a
stack of states, a value for each of them, and no recursion, so that no nesting reaches Python's
own stack. What the limits bound is counted as it is taken, before the tree has cost anything.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

from vecstore.filter.checking import check_tree
from vecstore.filter.limits import TOO_MANY, TOO_MANY_VALUES, Limits, limit_error
from vecstore.filter.tree import Expression, Span
from vecstore.grammar import tables
from vecstore.grammar.faults import Fault
from vecstore.grammar.meaning import ACTIONS, assembled
from vecstore.grammar.tables import (
    CLOSED,
    COMPARED,
    ENDED,
    KEYWORDS,
    KINDS,
    LISTED,
    LONGEST_KEYWORD,
    NAME,
    NONTERMINALS,
    OPENED,
    START,
    STATES,
    VALUED,
)

# (kind, start, end): the kind is the name of a terminal of `filter.lark`, or END or STRANGER.
Token = tuple[str, int, int]

END = KINDS[tables.END]
STRANGER = KINDS[tables.STRANGER]

_TOO_LONG = "the filter text is longer than {} characters"
_TOO_NESTED = "more than {} parentheses and NOTs are open at once"
_UNBOUNDED = Limits(*[sys.maxsize] * 5)
_NO_LIST = -sys.maxsize
_REFUSED = -sys.maxsize

# White space and a token, whose kind is the number of the group that matches.
_token = "|".join([*(f"({pattern})" for pattern in tables.PATTERNS.values()), r"(\Z)|([\s\S])"])
_tokens = re.compile(f"(?:{tables.SPACE})*+(?:{_token})")

# Rows as they are looked up soonest.
_ROWS = tuple(
    [
        tuple([row.get(symbol, _REFUSED) for symbol in range(len(KINDS) + len(NONTERMINALS))])
        for row in STATES
    ]
)
# From behind, so that `~ number`, as it stands in a row, is the index of the rule.
_RULES = tuple(
    (target, length, ACTIONS[action]) for target, length, action in reversed(tables.RULES)
)
_WITHOUT_ACTIONS = tuple((target, length, lambda *values: None) for target, length, _ in _RULES)


class Refusal(Exception):
    """A token that cannot stand where it stands.

    Attributes:
        tokens: What was read before it.
        found: The token.
        accepted: The terminals that could stand in its place.
    """

    def __init__(self, tokens: list[Token], found: Token, accepted: frozenset[str]) -> None:
        super().__init__(found)
        self.tokens = tokens
        self.found = found
        self.accepted = accepted


def read(text: str, limits: Limits | None = None) -> Expression:
    """Read a text.

    Args:
        text: The filter text.
        limits: Bounds on its size; None lifts them.

    Raises:
        Refusal: At the first token that does not fit.
        Fault: Where all tokens fit, at the first key, operator or literal that cannot be meant.
        FilterLimitError: At the first token that passes a limit.
    """
    if limits is not None and len(text) > limits.text:
        span = Span(text, limits.text, limits.text + 1)
        raise limit_error("text", limits.text, _TOO_LONG, span)
    try:
        return _read(text, limits)
    except _Refused:
        pass
    raise _refusal(text)


class _Refused(Exception):
    """A token cannot stand where it stands."""


def _read(text: str, limits: Limits | None) -> Expression:
    bounds = _UNBOUNDED if limits is None else limits
    most_nested, most_nodes, most_values = bounds.nesting, bounds.nodes, bounds.in_values
    nested = deepest = opened = compared = 0
    listed = _NO_LIST
    fault: Fault | None = None
    state, states = START, [START]
    values: list[Any] = [None]
    rules: tuple[tuple[int, int, Any], ...] = _RULES
    for match in _usable(text):
        kind = match.lastindex or 0
        if kind == NAME:
            word = match[NAME]
            if len(word) <= LONGEST_KEYWORD and word.isascii():
                kind = KEYWORDS.get(word.upper(), NAME)
        action = _ROWS[state][kind]
        while action < 0:
            if action == _REFUSED:
                raise _Refused
            target, length, act = rules[action]
            if action >= -CLOSED:
                nested -= 1
            try:
                if length == 2:
                    states.pop()
                    last = values.pop()
                    values[-1] = act(text, values[-1], last)
                elif length == 3:
                    del states[-2:]
                    last, middle = values.pop(), values.pop()
                    values[-1] = act(text, values[-1], middle, last)
                elif length == 1:
                    values[-1] = act(text, values[-1])
                else:
                    others = values[1 - length :]
                    del values[1 - length :], states[1 - length :]
                    values[-1] = act(text, values[-1], *others)
            except Fault as found:
                # What follows may be no filter at all, which is told first.
                fault, rules = found, _WITHOUT_ACTIONS
            states[-1] = state = _ROWS[states[-2]][target]
            action = _ROWS[state][kind]
        state = action
        states.append(state)
        values.append(match)
        if state < VALUED:
            if state < ENDED:
                break
            if state < OPENED:
                opened += 1
                nested += 1
                if nested > deepest:
                    deepest = nested
                    if nested > most_nested:
                        raise _exceeded("nesting", most_nested, _TOO_NESTED, match)
            elif state < COMPARED:
                listed = _NO_LIST
                compared += 1
                if compared > most_nodes:
                    raise _exceeded("nodes", most_nodes, TOO_MANY, match)
            elif state < LISTED:
                listed = 0
            else:
                listed += 1
                if listed > most_values:
                    raise _exceeded("in_values", most_values, TOO_MANY_VALUES, match)
    else:
        raise _Refused
    if fault is not None:
        raise fault
    tree = assembled(text, values[-2][0])
    # A parenthesis holds at most an OR over ANDs: most texts are too small to need a walk.
    if 2 * deepest + 2 <= bounds.depth and 2 * compared + opened <= most_nodes:
        return tree
    return check_tree(tree, limits)


def _exceeded(name: str, bound: int, message: str, match: re.Match[str]) -> Exception:
    assert match.lastindex is not None
    return limit_error(name, bound, message, Span(match.string, *match.span(match.lastindex)))


def _usable(text: str) -> Iterator[re.Match[str]]:
    """The tokens of a text up to the first name that holds a character which no name can hold.

    Of that one, the part before the character.
    """
    for match in _tokens.finditer(text):
        if match.lastindex == NAME and not match[NAME].isidentifier():
            start, end = match.span(NAME)
            strange = _strange(text, start, end)
            if strange > start:
                part = _tokens.match(text, start, strange)
                assert part is not None
                yield part
            return
        yield match


def _strange(text: str, start: int, end: int) -> int:
    """The first character of a word that no name can hold there."""
    strange = start
    while strange < end and f"a{text[strange]}".isidentifier():
        strange += 1
    return strange if text[start].isidentifier() else start


def scan(text: str) -> Iterator[Token]:
    """The tokens of a text, the last one :data:`END` at ``len(text)``.

    A character that begins no token, or that a name cannot hold, comes as a token of its own,
    :data:`STRANGER`; what is scanned after it has no meaning.
    """
    after = 0
    for match in _usable(text):
        kind = match.lastindex
        assert kind is not None
        start, after = match.span(kind)
        if kind == NAME and match[NAME].isascii():
            kind = KEYWORDS.get(match[NAME].upper(), NAME)
        yield KINDS[kind], start, after
        if kind == tables.END:
            return
    after = len(text) - len(text[after:].lstrip())
    yield STRANGER, after, after + 1


def _refusal(text: str) -> Refusal:
    """Why a text was refused; it is read again, since the parser goes on before it notices."""
    tokens: list[Token] = []
    states = [START]
    for token in scan(text):
        number = _NUMBERS[token[0]]
        if not _takes(states, number):
            break
        tokens.append(token)
        while (action := _ROWS[states[-1]][number]) < 0:
            target, length, _ = _RULES[action]
            del states[-length:]
            states.append(_ROWS[states[-1]][target])
        states.append(action)
    accepted = {kind for kind, number in _NUMBERS.items() if _takes(states, number)}
    return Refusal(tokens, token, frozenset(accepted))


_NUMBERS = {kind: number for number, kind in enumerate(KINDS) if kind}


def _takes(states: list[int], kind: int) -> bool:
    """Whether a parser in these states takes a token of the kind; they stay as they are."""
    below, above = len(states) - 1, [states[-1]]  # a stack that shares its lower part
    while (action := _ROWS[above[-1]][kind]) < 0:
        if action == _REFUSED:
            return False
        target, length, _ = _RULES[action]
        below -= max(0, length - len(above))
        del above[-length:]
        above.append(_ROWS[above[-1] if above else states[below - 1]][target])
    return True
