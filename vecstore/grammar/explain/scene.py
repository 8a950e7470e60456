"""Where in a text the parser stopped, and what it would have taken there."""

from __future__ import annotations

import enum

from vecstore.grammar.faults import quoted
from vecstore.grammar.lalr import END, STRANGER, Token

# How far around the fault anything is looked at: explaining costs the same in a text of any length.
WINDOW = 2_000

_NUMBERS = ("INTEGER", "DECIMAL")
_OPERATORS = frozenset({"COMPARISON", "IN", "NIN", "IS"})
_KEY_PARTS = frozenset({"NAME", "STRING", "DATE", "TIMESTAMP", "_DOT"})


class Place(enum.Enum):
    """The kinds of places between tokens; the value says what is expected there."""

    CONDITION = 'a key, NOT or "("'
    SEGMENT = "the next part of the key"
    OPERATOR = "an operator (==, !=, <, <=, >, >=, IN, NOT IN, IS NULL)"
    IN_WORD = "IN"
    NULL_OR_NOT = "NULL or NOT NULL"
    NULL_WORD = "NULL"
    VALUE = "a value"
    CHOICES = "a list of values"
    FIRST_ITEM = 'a value or "{closing}"'
    ITEM = "another value"
    AFTER_ITEM = '"," or "{closing}"'
    DATED = "a string"
    JOINT = "AND, OR or the end"
    JOINT_INSIDE = 'AND, OR or ")"'


def place_of(accepted: frozenset[str]) -> Place:
    """The place at which a parser takes exactly these terminals."""
    if "COMPARISON" in accepted:
        return Place.OPERATOR
    if "_AND" in accepted:
        return Place.JOINT_INSIDE if "RPAR" in accepted else Place.JOINT
    if "NULL" in accepted:
        return Place.NULL_OR_NOT if "NOT" in accepted else Place.NULL_WORD
    if "_COMMA" in accepted:
        return Place.AFTER_ITEM
    if "NAME" in accepted:
        return Place.CONDITION if "NOT" in accepted else Place.SEGMENT
    if "IN" in accepted:
        return Place.IN_WORD
    if "LSQB" in accepted:
        return Place.CHOICES if "LPAR" in accepted else Place.VALUE
    if "TRUE" not in accepted:
        return Place.DATED
    return Place.ITEM if not accepted & {"RSQB", "RPAR"} else Place.FIRST_ITEM


class Scene:
    """What there is to say something about: the tokens read, and the one that does not fit.

    Args:
        text: The filter text.
        tokens: What was read before.
        found: The token that does not fit.
        accepted: The terminals that would.
    """

    def __init__(
        self, text: str, tokens: list[Token], found: Token, accepted: frozenset[str]
    ) -> None:
        self.text = text
        self.kind, self.start, self.end = found
        self.place = place_of(accepted)
        kinds = [kind for kind, _, _ in tokens]
        opened = max((i for i, kind in enumerate(kinds) if kind in ("LSQB", "LPAR")), default=0)
        self.closing = "]" if kinds and kinds[opened] == "LSQB" else ")"
        self.closings = ")" * max(1, kinds.count("LPAR") - kinds.count("RPAR"))
        self.anchors = self._anchors(tokens)

    @property
    def found(self) -> str:
        """The text of the token."""
        return self.text[self.start : self.end]

    def expected(self) -> str:
        """What is expected and what was found instead, as a sentence."""
        wanted = self.place.value.format(closing=self.closing)
        if self.kind == END:
            return f"unexpected end of the filter: expected {wanted}"
        return f"expected {wanted}, not {_described(self.kind, self.found)}"

    def _anchors(self, tokens: list[Token]) -> list[int]:
        """Where a pattern may begin that tells of what stands before the fault, too."""
        count = len(tokens)
        starts = []
        operator = next((i for i in range(count - 1, 0, -1) if tokens[i][0] in _OPERATORS), 0)
        for end in (operator, max(0, count - 1), count):
            first = _key_start(tokens, end - (end > 0 and tokens[end - 1][0] == "NOT"))
            starts.append(tokens[first][1] if first < count else self.start)
        starts += [tokens[i][1] for i in range(max(0, count - 3), count)]
        return [start for start in dict.fromkeys(starts) if self.start - start <= WINDOW]


def _key_start(tokens: list[Token], end: int) -> int:
    """The index of the first token of the key that ends before the token of that index."""
    while end > 0 and tokens[end - 1][0] in _KEY_PARTS:
        end -= 1
    return end


def _described(kind: str, found: str) -> str:
    """A token as a sentence names it."""
    shown = quoted(found)
    if kind in _NUMBERS:
        return f"the number {shown}"
    if kind == "STRING":
        return f"the string {shown}"
    if kind == STRANGER:
        return f"the character {shown}"
    return f'"{shown}"'
