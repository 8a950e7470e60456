"""Faults at characters that look like those of the language, or like nothing at all."""

from __future__ import annotations

import re
import unicodedata

from vecstore.grammar.explain.scene import Place, Scene
from vecstore.grammar.faults import Advice, Edit, Fault, quoted

_QUOTES = "‘’‚‛“”„‟′″´`«»‹›＇＂「」"
_SIGNS = {
    "≠": "!=",
    "≤": "<=",
    "≥": ">=",
    "≦": "<=",
    "≧": ">=",
    "≡": "==",
    "∧": "AND",
    "∨": "OR",
    "¬": "NOT",
    "∈": "IN",
    "∉": "NOT IN",
    "−": "-",
    "–": "-",
    "—": "-",
    "、": ",",
    "。": ".",
}
_OPERATOR_SIGNS = frozenset("=!<>&|()[],.+-")


def byte_order_mark(scene: Scene) -> Fault | None:
    """A byte-order mark, which some editors write at the start of a file."""
    if scene.found != "\ufeff":
        return None
    return scene.fault(
        "a byte-order mark (U+FEFF) is no part of a filter",
        Advice("read the file with encoding='utf-8-sig'"),
    )


def other_quote(scene: Scene) -> Fault | None:
    """Typographic quotation marks, back quotes and the like."""
    if scene.found not in _QUOTES:
        return None
    name = unicodedata.name(scene.found).lower()
    places = [scene.start, *_outside_strings(scene.text, scene.start + 1, _QUOTES)]
    # In the place of a key, double quotes are what the canonical text uses.
    first, second = "\"'" if scene.place in (Place.CONDITION, Place.SEGMENT) else "'\""
    candidates = [
        tuple(Edit(place, place + 1, mark) for place in chosen)
        for chosen in (places[:2], places, [places[0], places[-1]])
        for mark in (first, second)
    ]
    inner = scene.text[places[0] + 1 : places[1]] if len(places) > 1 else "text"
    return scene.fault(
        f"{scene.found} ({name}) is no quotation mark of the filter language",
        *[
            Advice("use straight quotes", f"{first}{quoted(inner)}{first}", edits)
            for edits in candidates
        ],
    )


def _outside_strings(text: str, start: int, wanted: str) -> list[int]:
    """Where the wanted characters stand outside straight quotes."""
    return [
        match.start()
        for match in re.compile(rf"'[^']*'|\"[^\"]*\"|[{wanted}]").finditer(text, start)
        if match[0] in wanted
    ]


def _plain_sign(character: str) -> str:
    """The ASCII spelling of a character that looks like an operator, or nothing."""
    if character.isascii():
        return ""
    if character in _SIGNS:
        return _SIGNS[character]
    plain = unicodedata.normalize("NFKC", character)
    if plain.isascii() and set(plain) <= _OPERATOR_SIGNS:
        return plain
    decimal = unicodedata.decimal(character, None)
    return "" if decimal is None else str(decimal)


def look_alike(scene: Scene) -> Fault | None:
    """Operators and digits of other alphabets."""
    text, end = scene.text, scene.start
    plain = ""
    while end < len(text) and (sign := _plain_sign(text[end])):
        plain += sign
        end += 1
    if not plain:
        return None
    strange = "".join({c for c in text if _plain_sign(c)})
    edits = tuple(
        Edit(place, place + 1, _spaced(text, place))
        for place in _outside_strings(text, scene.start, strange)
    )
    name = unicodedata.name(scene.found, f"U+{ord(scene.found):04X}").lower()
    what = "the digits are 0 to 9" if plain.isdigit() else "operators are written in ASCII"
    return scene.fault(
        f"{quoted(scene.found)} ({name}) is not understood: {what}",
        Advice(f"write {plain}", "", edits),
        end=end,
    )


def _spaced(text: str, place: int) -> str:
    sign = _plain_sign(text[place])
    if not sign[0].isalpha():
        return sign
    before = "" if text[place - 1 : place].isspace() or not place else " "
    return before + sign + ("" if text[place + 1 : place + 2].isspace() else " ")


def invisible(scene: Scene) -> Fault | None:
    """A character that shows nothing."""
    if scene.found.isprintable():
        return None
    code = f"U+{ord(scene.found):04X}"
    name = unicodedata.name(scene.found, "")
    if scene.found == "\0":
        name = "NUL"
    shown = f"{code} {name}".strip()
    return scene.fault(
        f"an invisible character ({shown}) outside a string", scene.replaced("delete it", "")
    )
