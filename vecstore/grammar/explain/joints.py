"""Faults after a complete condition, and after an item of a list."""

from __future__ import annotations

import re

from vecstore.grammar.explain.scene import (
    HAS_OPERATOR,
    JOINTS,
    LITERAL_ENDS,
    NUMBERS,
    Scene,
    as_membership,
    quoted_string,
)
from vecstore.grammar.explain.words import explain_joint_word, inserted
from vecstore.grammar.faults import Advice, Edit, Fault, quoted

_DAY = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_DATE = re.compile(_DAY)
_TIME = re.compile(rf"{_DAY}[T ][0-9]{{2}}:[0-9]{{2}}(?::[0-9.]+)?(?:[zZ]|[+-][0-9:]+)?")
_END_INSIDE = re.compile(r"(?<!\s)(?:\s*+,|\s++(?:AND|OR)\s)", re.IGNORECASE)
_CONDITION_KINDS = frozenset({"LPAR", "BANG", "NOT", "NAME", "STRING", "DATE", "TIMESTAMP"})


def explain_joint(scene: Scene) -> Fault | None:
    """Something else than AND, OR or the end."""
    return (
        _unquoted_date(scene)
        or _inner_quote(scene)
        or _touching(scene)
        or _closing(scene)
        or _comma(scene)
        or _chained(scene)
        or (explain_joint_word(scene) if scene.found_word else None)
        or _adjacent_strings(scene)
        or _missing_and(scene)
    )


def _unquoted_date(scene: Scene) -> Fault | None:
    year = scene.before()
    if year[0] != "INTEGER" or not scene.touches or scene.kind != "INTEGER":
        return None
    start = year[1]
    moment = _TIME.match(scene.text, start)
    day = moment or _DATE.match(scene.text, start)
    if day is None:
        return None
    word = "TIMESTAMP" if moment else "DATE"
    fixed = f"{word} '{day[0]}'"
    if moment is None:
        fixed = "DATE '{}-{:0>2}-{:0>2}'".format(*day[0].split("-"))
    return scene.fault(
        "a date is written as a quoted string",
        scene.replaced(f"write {word}", fixed, start, day.end()),
        start=start,
        end=day.end(),
    )


def _inner_quote(scene: Scene) -> Fault | None:
    """``'it's'``: the quote in the middle ended the string."""
    string = scene.before()
    if string[0] != "STRING" or not scene.touches:
        return None
    if not scene.found_word and scene.kind not in (*NUMBERS, "STRING"):
        return None
    quote = scene.text[string[1]]
    candidates = []
    place = string[2] - 1
    early = _END_INSIDE.search(scene.text, string[1] + 1, place)
    if early is not None:
        # The quote that closes it is really the opening one of the next string.
        closed = (Edit(early.start(), early.start(), quote),)
        candidates.append(Advice("close the string", "", closed))
    if scene.kind == "STRING" and scene.found[0] == quote:
        # Two quotes in the middle, as SQL doubles them.
        fixed = (Edit(place, place + 1, "\\"),)
        candidates.append(Advice("escape the quote with a backslash", f"\\{quote}", fixed))
    escape = Edit(place, place, "\\")
    candidates.append(Advice("escape the quote inside the string", "", (escape,)))
    last = scene.text.rfind(quote, place, scene.phrase_end(scene.end))
    inner = [i for i in range(place, max(last, place + 1)) if scene.text[i] == quote]
    escapes = tuple(Edit(i, i, "\\") for i in inner)
    candidates.append(Advice("escape the quotes inside the string", f"\\{quote}", escapes))
    if scene.kind == "STRING" or quote in scene.text[scene.end :]:
        return scene.fault(scene.expected(), *candidates)
    return None


def _touching(scene: Scene) -> Fault | None:
    """More of what was taken for a number: 5.L, 1.2.3."""
    number = scene.before()
    if number[0] not in NUMBERS or not scene.touches:
        return None
    digits = scene.text_of(number)
    if scene.found in ("l", "L"):
        return scene.fault(
            f"the suffix {scene.found} belongs to whole numbers, not to {quoted(digits)}",
            scene.replaced("leave it out", f"{digits}0", number[1]),
        )
    if scene.kind not in NUMBERS and scene.kind != "NAME" and scene.kind != "_DOT":
        return None
    end = scene.chunk_end(number[1])
    fixed = quoted_string(scene.text[number[1] : end])
    return scene.fault(scene.expected(), scene.replaced("quote the string", fixed, number[1], end))


def _closing(scene: Scene) -> Fault | None:
    if scene.kind not in ("RPAR", "RSQB"):
        return None
    opening = "(" if scene.kind == "RPAR" else "["
    return scene.fault(
        f'{scene.expected()}: there is no "{opening}" for it',
        scene.replaced("leave it out", ""),
    )


def _comma(scene: Scene) -> Fault | None:
    if scene.kind != "_COMMA":
        return None
    advice = [scene.replaced("did you mean AND?", " AND")]
    literal, operator = scene.before(), scene.before(2)
    if literal[0] in LITERAL_ENDS and operator[0] in ("COMPARISON", "IN", "NIN"):
        end = scene.phrase_end(scene.end)
        sign = scene.text_of(operator)
        word = as_membership(sign)
        edits = (
            Edit(operator[1], operator[2], word),
            Edit(literal[1], literal[1], "["),
            Edit(end, end, "]"),
        )
        advice.insert(0, Advice("several values stand in a list", f"{word} [...]", edits))
    return scene.fault(scene.expected(), *advice)


def _chained(scene: Scene) -> Fault | None:
    """``1 <= a <= 5``, or a condition that goes on after its value."""
    if scene.kind not in ("COMPARISON", "IN", "NIN", "IS"):
        return None
    operator = scene.last_operator()
    if operator is None:
        return None
    again = f"AND {scene.key_before(operator)}"
    edit = Edit(scene.before()[2], scene.start, f" {again} ")
    # A NOT would hold for the first comparison only.
    edits = () if scene.negated(scene.key_start(operator)) else (edit,)
    return scene.fault(scene.expected(), Advice("write the key again", again, edits))


def _adjacent_strings(scene: Scene) -> Fault | None:
    first, operator = scene.before(), scene.before(2)
    if scene.kind != "STRING" or first[0] != "STRING":
        return None
    sign = as_membership(scene.text_of(operator))
    if "IN" not in sign:
        return None
    edits = (
        Edit(operator[1], operator[2], sign),
        Edit(first[1], first[1], "["),
        Edit(first[2], first[2], ","),
        Edit(scene.end, scene.end, "]"),
    )
    message = f"{scene.expected()}: strings are not joined"
    return scene.fault(
        message,
        inserted(scene, "did you mean AND?", "AND"),
        Advice("several values stand in a list", f"{sign} [...]", edits),
    )


def _missing_and(scene: Scene) -> Fault | None:
    if scene.kind in NUMBERS and scene.found[0] in "+-":
        return scene.fault(f"{scene.expected()}; a filter does no arithmetic")
    if scene.kind not in _CONDITION_KINDS:
        return None
    advice = [inserted(scene, "did you mean AND?", "AND")]
    first = scene.before()
    if first[0] in NUMBERS and scene.kind == "NAME":
        end = scene.phrase_end(first[1])
        if HAS_OPERATOR.search(scene.text, first[1], end):
            return scene.fault(scene.expected(), *advice)
        content = scene.text[first[1] : end].rstrip()
        fixed = quoted_string(content)
        advice.append(scene.replaced("quote the string", fixed, first[1], first[1] + len(content)))
    return scene.fault(scene.expected(), *advice)


def explain_after_item(scene: Scene) -> Fault | None:
    """Something else than a comma or the end of a list."""
    if scene.kind in ("RSQB", "RPAR"):
        return scene.fault(scene.expected(), scene.replaced("write", scene.closing))
    if scene.kind in JOINTS:
        end = scene.before()[2]
        closed = (Edit(end, end, scene.closing),)
        return scene.fault(scene.expected(), Advice("close the list", scene.closing, closed))
    quote = _inner_quote(scene)
    if quote is not None:
        return quote
    if scene.touches and scene.before()[0] in NUMBERS:
        return _unquoted_date(scene) or _touching(scene)
    if scene.kind in LITERAL_ENDS or scene.kind in ("DATE", "TIMESTAMP"):
        end = scene.before()[2]
        return scene.fault(scene.expected(), Advice("add a comma", ",", (Edit(end, end, ","),)))
    return None
