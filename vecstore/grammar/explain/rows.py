"""The rows of the table of hints, and how one is found and filled in.

A pattern is a regular expression in which

- a space stands for white space that may be there,
- ``‸`` is the place where the parser stopped; a pattern that does not begin with it begins at a
  token before it, such as the first of the key,
- ``«`` and ``»`` surround what the error points at, where that is not the token that was found,
- ``{key}`` or ``{low:value}`` is a group that matches one of :data:`PARTS`, ``{:key}`` is one
  without a name.

A message, a lead and a correction name the groups of the pattern, and spellings of them:
``{word:string}`` is the word as a string of the language (:data:`spellings.SPELLINGS`). A
correction replaces all that its pattern matched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from vecstore.grammar.explain.scene import WINDOW, Place, Scene
from vecstore.grammar.explain.spellings import OPERATORS, QUOTES, SIGNS, Part, Shown
from vecstore.grammar.faults import Advice, Edit, Fault

_STRING = r"(?:'[^'\\]*+(?:\\.[^'\\]*+)*+'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\")"
_DIGITS = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:E[+-]?[0-9]++)?"
_JOINT = r"(?:(?:AND|OR)\b|&&|\|\|)"
_RESERVED = r"(?:AND|OR|NOT|IN|NIN|IS|NULL|TRUE|FALSE|WHERE)\b"
_WORD = rf"(?!{_RESERVED})[^\W\d]\w*+"
_SEGMENT = rf"(?:[^\W\d]\w*+|{_STRING})"
_VALUE = (
    rf"(?:(?:(?:DATE|TIMESTAMP)\s*+)?{_STRING}|{_DIGITS}(?:L\b)?(?![\w.:/%-])|(?:TRUE|FALSE)\b)"
)
_CHUNK = r"[^\s,()\[\]'\"]++"
_STEP = r"[^\s,()\[\]'\"=<>!&|]++"
_CLOSED = rf"(?=\s*+(?:{_JOINT}|[)\],]|\Z))"

PARTS = {
    "key": rf"{_SEGMENT}(?:\s*+\.\s*+{_SEGMENT})*+",
    "path": rf"{_SEGMENT}(?:\s*+\.\s*+{_SEGMENT})*?",
    "word": _WORD,
    "string": _STRING,
    "text": rf"[^'\"\\{QUOTES}]++",
    "digits": _DIGITS,
    "value": _VALUE,
    "name": r"[^\W\d]\w*+",
    "prefix": r"[^'\"\\]*?[^'\"\\%*\ud7ff-\U0010ffff]",  # after which a string comes
    "thing": rf"(?:(?:(?:DATE|TIMESTAMP)\s*+)?{_STRING}|[^\s,()\[\]{{}}'\"=<>!&|]++)",
    "list": r"(?:\[[^\[\]]*+\]|\([^()]*+\))",
    "sign": r"(?:==?|!=|<>|<=?|>=?)",
    "order": r"(?:<=?(?!>)|>=?)",
    "joint": _JOINT,
    "reserved": _RESERVED,
    "chunk": _CHUNK,
    "piece": rf"{_STEP}(?=[=<>!\s,()\[\]'\"&|]|\Z)",
    "phrase": rf"{_STEP}(?:\s++(?!{_JOINT}){_STEP})*+{_CLOSED}",
    "operator": rf"(?:{'|'.join(map(re.escape, sorted(OPERATORS, reverse=True)))})(?!\w)",
    "quote": f"[{QUOTES}]",
    "like": rf"(?:[{''.join(map(re.escape, SIGNS))}]|(?![0-9])\d)++",
    "closed": _CLOSED,
    "mark": r"['\"]",
    "inside": r"(?:(?!(?P=q)).)*+",  # of a string whose quotation mark is the group q
    "relation": r"(?:==?|!=|<>|<=?|>=?|(?:NOT\s++)?IN\b|NIN\b)",
    "argument": r"[^(),]*+(?:\([^()]*+\))?",
    "document": r"(?:c?metadata|payload|properties|fields|doc(?:ument)?)\b",
}
_GROUP = re.compile(r"\{(?:(\w*):)?([a-z]+)\}")
_MARKS = {" ": r"\s*+", "‸": "(?P<at>)", "«": "(?P<span>", "»": ")"}
_SURE = ("write ", "quote the ", "quote it", "use straight ", "if ", "close ")
_NEGATION = re.compile(r"(?:\bNOT|!)\Z", re.IGNORECASE)


@dataclass(frozen=True)
class Way:
    """A way to put a fault right.

    Attributes:
        lead: What to do, in words.
        correction: What to write instead; None where only the lead can be given.
        pattern: What it replaces, from the place where the parser stopped if it begins with
            ``‸``, else from where the row's own pattern begins; that one where none is named.
        piece: What to show where the corrected line cannot be shown; the correction where none
            is named. An empty one says that the advice is then worth nothing.
    """

    lead: str
    correction: str | None = None
    pattern: str = ""
    piece: str | None = None


@dataclass(frozen=True)
class Row:
    """A kind of fault.

    Attributes:
        places: Where it is looked for.
        pattern: What it looks like.
        message: What is wrong.
        ways: Ways to put it right, the likeliest first.
        examples: Texts that have the fault: the first way is for the first text, and so on.
    """

    places: frozenset[Place]
    pattern: str
    message: str
    ways: tuple[Way, ...]
    examples: tuple[str, ...]


def row(
    places: tuple[Place, ...],
    pattern: str,
    *ways: Way | tuple[str, ...] | str,
    says: str = "{expected}",
    of: str | tuple[str, ...],
) -> Row:
    """A row; a way may be the tuple of its attributes, or advice in words alone."""
    return Row(
        frozenset(places),
        pattern,
        says,
        tuple(
            Way(way) if isinstance(way, str) else way if isinstance(way, Way) else Way(*way)
            for way in ways
        ),
        (of,) if isinstance(of, str) else of,
    )


def explain(scene: Scene, rows: Iterable[Row]) -> Fault:
    """The fault that the first row that fits makes of a scene."""
    for candidate in rows:
        if scene.place in candidate.places:
            match = find(scene, candidate.pattern)
            if match is not None:
                return _fault(scene, candidate, match)
    return Fault(scene.expected(), scene.start, scene.end)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression of a pattern of the table."""
    for mark, meaning in _MARKS.items():
        pattern = pattern.replace(mark, meaning)
    return re.compile(_GROUP.sub(_group, pattern), re.IGNORECASE | re.DOTALL)


def _group(found: re.Match[str]) -> str:
    name = found[2] if found[1] is None else found[1]
    return f"(?P<{name}>{PARTS[found[2]]})" if name else f"(?:{PARTS[found[2]]})"


def find(scene: Scene, pattern: str) -> re.Match[str] | None:
    """Where the pattern of a row matches a scene, if it does."""
    expression = compiled(pattern)
    starts = (scene.start,) if pattern.startswith("‸") else scene.anchors
    for start in (0,) if pattern.startswith(r"\A") else starts:
        match = expression.match(scene.text, start, scene.start + WINDOW)
        if match is not None and match.start("at") == scene.start:
            return match
    return None


def _fault(scene: Scene, candidate: Row, match: re.Match[str]) -> Fault:
    start, end = scene.start, scene.end
    if "span" in match.re.groupindex:
        start, end = match.span("span")
    advice = [_advice(scene, way, match) for way in candidate.ways]
    message = _filled(scene, candidate.message, match, Shown)
    return Fault(message, start, end, *[one for one in advice if one is not None])


def _advice(scene: Scene, way: Way, match: re.Match[str]) -> Advice | None:
    found: re.Match[str] | None = match
    if way.pattern:
        start = scene.start if way.pattern.startswith("‸") else match.start()
        found = compiled(way.pattern).match(scene.text, start, scene.start + WINDOW)
    if found is None:
        return None
    lead = _filled(scene, way.lead, found, Shown)
    if way.correction is None:
        return Advice(lead, _filled(scene, way.piece or "", found, Part))
    new = _filled(scene, way.correction, found, Part)
    piece = new if way.piece is None else _filled(scene, way.piece, found, Part)
    start, end = found.span()
    before = scene.text[max(0, start - WINDOW) : start].rstrip()
    after = scene.text[end : end + WINDOW].lstrip()
    loose = " OR " in way.correction and (before or after)
    if loose or (" AND " in way.correction and _NEGATION.search(before[-4:])):
        new = f"({new})"
    if new[:1].isalnum() and _runs_on(scene.text[start - 1 : start]):
        new = f" {new}"
    if new[-1:].isalnum() and _runs_on(scene.text[end : end + 1]):
        new = f"{new} "
    return Advice(lead, piece, (Edit(start, end, new),), lead.startswith(_SURE))


def _runs_on(character: str) -> bool:
    """Whether a word right before or after the character would be one with what it belongs to."""
    return character.isalnum() or (character != "" and character in "_'\"")


def _filled(scene: Scene, template: str, match: re.Match[str], kind: type[Part]) -> str:
    parts = {"closing": scene.closing, "closings": scene.closings, "found": scene.found}
    parts |= match.groupdict("")
    return template.format_map(
        {name: kind(part) for name, part in parts.items()} | {"expected": scene.expected()}
    )
