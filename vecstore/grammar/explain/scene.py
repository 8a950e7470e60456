"""Where in a text the parser stopped, and what it would have taken there."""

from __future__ import annotations

import enum
import re

from vecstore.filter.text import key_text, literal_text
from vecstore.grammar.faults import Advice, Edit, Fault, quoted
from vecstore.grammar.lexer import END, STRANGER, Token

NUMBERS = ("INTEGER", "DECIMAL")
LITERAL_ENDS = frozenset({"STRING", *NUMBERS, "TRUE", "FALSE"})
JOINTS = frozenset({"_AND", "_OR", "_AND_SIGN", "_OR_SIGN"})
KEYWORDS = frozenset(
    {"_AND", "_OR", "NOT", "IN", "NIN", "IS", "NULL", "TRUE", "FALSE", "WHERE"},
)

HAS_OPERATOR = re.compile(r"[=<>!&|]")
_KEY_PARTS = frozenset({"NAME", "STRING", "DATE", "TIMESTAMP", "_DOT"})
_CHUNK = re.compile(r"[^\s,()\[\]'\"]+")
_JOINT_AHEAD = re.compile(r"(?<!\s)\s++(?:AND|OR)\b|&&|\|\||[)\]]|\Z", re.IGNORECASE | re.ASCII)


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
        self.tokens = tokens
        self.kind, self.start, self.end = found
        self.place = place_of(accepted)
        self.closing = ")" if "RPAR" in accepted else "]"

    @property
    def found(self) -> str:
        """The text of the token."""
        return self.text[self.start : self.end]

    @property
    def rest(self) -> str:
        """The text from the token on."""
        return self.text[self.start :]

    @property
    def at_joint(self) -> bool:
        """Whether a condition has just ended."""
        return self.place in (Place.JOINT, Place.JOINT_INSIDE)

    @property
    def wants_value(self) -> bool:
        """Whether a literal could stand here."""
        return self.place in (Place.VALUE, Place.CHOICES, Place.FIRST_ITEM, Place.ITEM)

    @property
    def found_word(self) -> bool:
        """Whether a name or keyword was found."""
        return self.kind in KEYWORDS or self.kind in ("NAME", "DATE", "TIMESTAMP")

    def before(self, distance: int = 1) -> Token:
        """The token that many before the fault; an empty one before the first."""
        if distance > len(self.tokens):
            return "", 0, 0
        return self.tokens[-distance]

    def text_of(self, token: Token) -> str:
        """The text of a token."""
        return self.text[token[1] : token[2]]

    @property
    def touches(self) -> bool:
        """Whether nothing stands between the token before and this one."""
        return bool(self.tokens) and self.tokens[-1][2] == self.start

    @property
    def closing_of_list(self) -> str:
        """The bracket that closes the list that is open."""
        kinds = [kind for kind, _, _ in self.tokens]
        opened = max(i for i, kind in enumerate(kinds) if kind in ("LSQB", "LPAR"))
        return "]" if kinds[opened] == "LSQB" else ")"

    def chunk_end(self, start: int) -> int:
        """The end of what is written in one piece from ``start`` on."""
        match = _CHUNK.match(self.text, start)
        return match.end() if match else start + 1

    def phrase_end(self, start: int) -> int:
        """The end of the words before the next AND, OR or closing bracket."""
        match = _JOINT_AHEAD.search(self.text, start)
        return match.start() if match else len(self.text)

    def last_operator(self) -> int | None:
        """The index of the operator token of the comparison read last, or None."""
        for index in range(len(self.tokens) - 1, 0, -1):
            if self.tokens[index][0] in ("COMPARISON", "IN", "NIN"):
                return index
        return None

    def key_start(self, index: int) -> int:
        """The index of the first token of the key that ends before the token of that index."""
        while index > 0 and self.tokens[index - 1][0] in _KEY_PARTS:
            index -= 1
        return index

    def key_before(self, index: int) -> str:
        """The text of the key that ends before the token of that index."""
        first = self.key_start(index)
        if first == index:
            return "key"
        return self.text[self.tokens[first][1] : self.tokens[index - 1][2]]

    def negated(self, index: int) -> bool:
        """Whether a NOT stands right before the token of that index."""
        return index > 0 and self.tokens[index - 1][0] in ("NOT", "BANG")

    def fault(
        self, message: str, *advice: Advice, start: int | None = None, end: int | None = None
    ) -> Fault:
        """A fault at the token, or at the range given."""
        first = self.start if start is None else start
        last = max(first, self.end) if end is None else end
        return Fault(message, first, last, *advice)

    def replaced(
        self, lead: str, new: str, start: int | None = None, end: int | None = None
    ) -> Advice:
        """Advice to write ``new`` in place of the token, or of the range given."""
        first = self.start if start is None else start
        last = self.end if end is None else end
        return Advice(lead, new, (Edit(first, last, new),))

    def expected(self) -> str:
        """What is expected and what was found instead, as a sentence."""
        wanted = self.place.value.format(closing=self.closing)
        if self.kind == END:
            return f"unexpected end of the filter: expected {wanted}"
        return f"expected {wanted}, not {described(self.kind, self.found)}"


def as_membership(sign: str) -> str:
    """The operator for a list in the place of one for a single value."""
    return {"==": "IN", "=": "IN", "!=": "NOT IN", "<>": "NOT IN"}.get(sign, sign)


def described(kind: str, found: str) -> str:
    """A token as a sentence names it."""
    shown = quoted(found)
    if kind in NUMBERS:
        return f"the number {shown}"
    if kind == "STRING":
        return f"the string {shown}"
    if kind == STRANGER:
        return f"the character {shown}"
    return f'"{shown}"'


def quoted_string(content: str) -> str:
    """A string literal of the language with that content."""
    return literal_text(content)


def quoted_segment(content: str) -> str:
    """A key segment that is quoted even where it need not be."""
    shown = key_text((content,))
    return shown if shown.startswith('"') else f'"{shown}"'
