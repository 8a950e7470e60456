"""Words and signs of other languages, and how a part of a text is written in this one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping

from vecstore.filter.text import key_text, literal_text
from vecstore.grammar.faults import quoted

_WORDS = {
    "==": "EQ EQUAL EQUALS $EQ",
    "!=": "NE NEQ ISNT $NE",
    ">": "GT $GT",
    ">=": "GTE GE $GTE",
    "<": "LT $LT",
    "<=": "LTE LE $LTE",
    "IN": "ISIN IS_IN $IN",
    "NOT IN": "NOTIN NOT_IN NIN $NIN",
    "IS NULL": "ISNULL IS_NULL",
    "IS NOT NULL": "NOTNULL ISNOTNULL IS_NOT_NULL EXISTS",
    "NOT": "$NOT",
}
OPERATORS = {word: operator for operator, words in _WORDS.items() for word in words.split()}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_LISTED = {"==": "IN", "=": "IN", "!=": "NOT IN", "<>": "NOT IN"}

QUOTES = "‘’‚‛“”„‟′″´`«»‹›＇＂「」"
SIGNS = {
    **dict(
        zip("≠ ≤ ≥ ≦ ≧ ≡ − – — 、 。".split(), "!= <= >= <= >= == - - - , .".split(), strict=True)
    ),
    "∧": "AND",
    "∨": "OR",
    "¬": "NOT",
    "∈": "IN",
    "∉": "NOT IN",
    **{chr(ord(sign) + 0xFEE0): sign for sign in "=!<>&|()[],.+-"},
}

_LITERAL = re.compile(
    r"(?:(?:DATE|TIMESTAMP)\s+)?(?:'[^'\\]*+(?:\\.[^'\\]*+)*+'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\")"
    r"|[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:E[+-]?[0-9]++)?|TRUE|FALSE|[\[(].*[\])]",
    re.IGNORECASE | re.DOTALL,
)
_SEGMENT = re.compile(r"(\"[^\"\\]++\"|'[^'\\]++')|\w++")

# How a group of a pattern is written into a message or a correction: `{group:spelling}`.
SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "string": literal_text,
    "literal": lambda text: text if _LITERAL.fullmatch(text) else literal_text(text),
    "segment": lambda text: '"' + key_text((text,)).strip('"') + '"',
    "key": lambda text: _SEGMENT.sub(_key_part, text),
    "plain": lambda text: key_text((text,)),
    "name": lambda text: unicodedata.name(text, f"U+{ord(text):04X}").lower(),
    "code": lambda text: f"U+{ord(text):04X} {_character_name(text)}".strip(),
    "upper": str.upper,
    "operator": lambda text: OPERATORS.get(text.upper(), text),
    "turned": lambda text: _TURNED.get(text, text),
    "listed": lambda text: _LISTED.get(text, text),
    "ascii": lambda text: "".join(SIGNS.get(c) or str(unicodedata.decimal(c)) for c in text),
    "after": lambda text: literal_text(text[:-1] + chr(ord(text[-1]) + 1)),
    "two": lambda text: text.zfill(2),
    "more": lambda text: "" if "}" in text else " AND {",
    "decimal": lambda text: str(int(text, 0)),
    "digits": lambda text: text.replace("_", ""),
    "doubled": lambda text: text.replace("\\", "\\\\"),
    "escaped": lambda text: re.sub(r"(['\"])", r"\\\1", text),
    "bare": lambda text: re.sub(r"\\(?=['\"])", "", text),
}


class Part(str):
    """A part of a filter text, to be written into a correction."""

    def __format__(self, spelling: str) -> str:
        return SPELLINGS[spelling](self) if spelling else str(self)


class Shown(Part):
    """A part of a filter text, to be shown in a message."""

    def __format__(self, spelling: str) -> str:
        shown = super().__format__(spelling)
        return shown if spelling in ("name", "code") else quoted(shown)


def _key_part(match: re.Match[str]) -> str:
    """A name or a quoted name, in quotes where it has to be."""
    return key_text((match[1][1:-1] if match[1] else match[0],))


def _character_name(character: str) -> str:
    return "NUL" if character == "\0" else unicodedata.name(character, "")
