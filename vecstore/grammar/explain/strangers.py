"""Faults at a character that begins no token: what it may have been meant for."""

from __future__ import annotations

import re

from vecstore.filter.text import is_reserved
from vecstore.grammar.explain.lookalikes import (
    byte_order_mark,
    invisible,
    look_alike,
    other_quote,
)
from vecstore.grammar.explain.scene import (
    NUMBERS,
    Place,
    Scene,
    quoted_segment,
    quoted_string,
)
from vecstore.grammar.explain.words import dollar_operator, no_pattern_matching
from vecstore.grammar.faults import Advice, Edit, Fault, quoted

_WORD = re.compile(r"\w*")
_PLACEHOLDER = re.compile(r"\?|:\w+|%\(\w+\)s|%s|@\w+|\$\d+|\{\w*\}|\$\{\w+\}")
_NUMBER_CHUNK = re.compile(r"[^\s,()\[\]'\"]*")
_NO_NUMBER = re.compile(r"[:%]|/[0-9]+/")
_SQL_COMMENT = ("--", "/*", "//", "#")


def explain_stranger(scene: Scene) -> Fault:
    """The fault of a scene whose token is one unknown character."""
    for explain in (
        byte_order_mark,
        _unterminated,
        other_quote,
        look_alike,
        invisible,
        _glued,
        _inside_name,
        _half_and,
        _placeholder,
        _dollar,
        _comment,
        _sign,
        _ascii_sign,
    ):
        fault = explain(scene)
        if fault is not None:
            return fault
    return scene.fault(scene.expected())


def _unterminated(scene: Scene) -> Fault | None:
    quote = scene.found
    if quote not in ("'", '"'):
        return None
    text, start = scene.text, scene.start
    message = f"unterminated string: no closing {quote} follows"
    body = text[start + 1 :]
    advice: list[Advice] = []
    if re.search(r"(?<!\\)(?:\\\\)*\\" + quote, body):
        doubled = "".join("\\\\" if c == "\\" else c for c in body)
        advice.append(
            Advice(
                "write a backslash twice, since it escapes the quote",
                "",
                (Edit(start + 1, len(text), doubled),),
            )
        )
    ends = [len(text.rstrip()), scene.chunk_end(start + 1), scene.phrase_end(start + 1)]
    other = re.compile(r"['\"]").search(text, start + 1)
    if other is not None and other[0] != quote:
        advice.append(scene.replaced("use the same quote on both sides", other[0]))
    advice += [
        Advice("close the string", quote, (Edit(end, end, quote),)) for end in sorted(set(ends))
    ]
    advice.append(Advice(f"close the string with {quote}"))
    return scene.fault(message, *advice)


def _glued(scene: Scene) -> Fault | None:
    """A word that starts right at the end of a number."""
    number = scene.before()
    if number[0] not in NUMBERS or not scene.touches or not scene.found.isidentifier():
        return None
    text, start = scene.text, scene.start
    digits = scene.text_of(number)
    match = _WORD.match(text, start)
    word = match[0] if match else ""
    end = start + len(word)
    whole = _NUMBER_CHUNK.match(text, number[1])
    chunk_end = whole.end() if whole else end
    fixed = quoted_string(text[number[1] : chunk_end])
    as_string = scene.replaced("quote the string", fixed, number[1], chunk_end)
    if number[0] == "DECIMAL" and word in ("l", "L"):
        return scene.fault(
            f"the suffix {word} belongs to whole numbers, not to {quoted(digits)}",
            scene.replaced("leave it out", "", start, end),
            end=end,
        )
    if re.fullmatch(r"[+-]?0", digits) and re.fullmatch(r"[xX][0-9a-fA-F]+|[oO][0-7]+", word):
        value = int(word[1:], 16 if word[0] in "xX" else 8) if len(word) < 20 else 0
        fixed = f"{digits[:-1]}{value}"
        return scene.fault(
            "a number is written with the digits 0 to 9",
            scene.replaced("write it in decimal", fixed, number[1], end),
            end=end,
        )
    if word.startswith("_") and re.fullmatch(r"[0-9_]+", word):
        return scene.fault(
            "a number is written without underscores",
            scene.replaced("write", digits + word.replace("_", ""), number[1], end),
            end=end,
        )
    if re.fullmatch(r"[eE]", word):
        return scene.fault(
            "the exponent of a number needs digits", scene.replaced("write", "e0"), end=end
        )
    if not is_reserved(word):
        message = f"the number {quoted(digits)} runs into {quoted(word)}"
        return scene.fault(message, as_string, end=end)
    return scene.fault(
        f"a space is missing between the number {quoted(digits)} and {word}",
        Advice("insert it", "", (Edit(start, start, " "),)),
        end=end,
    )


def _inside_name(scene: Scene) -> Fault | None:
    """A character in the middle of a key that cannot stand there unquoted."""
    previous = scene.before()
    if previous[0] != "NAME" or not scene.touches or scene.place is not Place.OPERATOR:
        return None
    if scene.found.isascii() and scene.found not in "-+/#@$%&*?\\^":
        return None
    text = scene.text
    end = scene.chunk_end(previous[1])
    chunk = re.split(r"[=!<>]", text[previous[1] : end])[0]
    if chunk.endswith("-") and text.startswith(">", previous[1] + len(chunk)):
        return None
    if len(chunk) <= previous[2] - previous[1]:
        return None
    fixed = quoted_segment(chunk)
    return scene.fault(
        f"{scene.found} cannot stand in a key that is not quoted",
        scene.replaced("quote the key", fixed, previous[1], previous[1] + len(chunk)),
    )


def _half_and(scene: Scene) -> Fault | None:
    if scene.found not in ("&", "|"):
        return None
    word = "AND" if scene.found == "&" else "OR"
    return scene.fault(
        f"{scene.found} is not an operator", scene.replaced(f"did you mean {word}?", word)
    )


def _placeholder(scene: Scene) -> Fault | None:
    match = _PLACEHOLDER.match(scene.text, scene.start)
    if match is None or not (scene.wants_value or scene.place is Place.DATED):
        return None
    return scene.fault(
        f"a filter text has no placeholders such as {quoted(match[0])}",
        Advice("build the filter in Python, where values need no quoting", "F.key == value"),
        end=match.end(),
    )


def _dollar(scene: Scene) -> Fault | None:
    if scene.found not in ("$", "{"):
        return None
    match = re.compile(r"\$\w+").match(scene.text, scene.start)
    if match is not None and scene.place is Place.OPERATOR:
        sign = dollar_operator(match[0])
        if sign:
            return scene.fault(
                f"{match[0]} is an operator of another language",
                scene.replaced(f"write {sign}", sign, end=match.end()),
                end=match.end(),
            )
    if scene.found == "{" and not scene.tokens:
        return scene.fault(
            "a filter text does not start with {",
            Advice("for the dict form, use Expression.from_dict(...)"),
        )
    if match is not None and scene.place in (Place.CONDITION, Place.SEGMENT):
        fixed = quoted_segment(match[0])
        return scene.fault(
            "$ cannot stand in a key that is not quoted",
            scene.replaced("quote the key", fixed, end=match.end()),
        )
    return None


def _comment(scene: Scene) -> Fault | None:
    rest = scene.rest
    mark = next((mark for mark in (*_SQL_COMMENT, ";") if rest.startswith(mark)), None)
    if mark is None or (rest.startswith("--") and scene.wants_value):
        return None
    message = (
        "; ends nothing here: a filter is one condition"
        if mark == ";"
        else f"{mark} starts no comment: a filter has none"
    )
    cut = scene.replaced("leave it out", "", _before_space(scene), len(scene.text))
    return scene.fault(message, cut, end=scene.start + len(mark))


def _before_space(scene: Scene) -> int:
    return scene.before()[2] or scene.start


def _sign(scene: Scene) -> Fault | None:
    """A plus or minus that begins no number."""
    if scene.found not in ("+", "-"):
        return None
    text, start = scene.text, scene.start
    following = text[start + 1 : start + 2]
    if scene.wants_value:
        if not following or following.isspace():
            number = re.compile(r"\s*(?=[0-9.])").match(text, start + 1)
            advice = [scene.replaced("write", scene.found, end=number.end())] if number else []
            return scene.fault("a sign and its number stand together", *advice)
        return scene.fault(
            f"a number needs digits after its sign, not {quoted(following)}",
            Advice("write one sign", "", (Edit(start, start + 2, following),)),
            start=start + 1,
            end=start + 2,
        )
    arrow = re.compile(r"->>?\s*").match(text, start)
    if scene.place is Place.OPERATOR and arrow is not None:
        return scene.fault(
            f"{arrow[0].strip()} is an operator of another language",
            scene.replaced("write a dot between the parts of a key", ".", end=arrow.end()),
            end=start + len(arrow[0].strip()),
        )
    if scene.at_joint and scene.before()[0] in NUMBERS and scene.touches:
        return _unquoted(scene)
    return scene.fault(
        f"{scene.expected()}; a filter does no arithmetic",
        Advice("compute the value before you write it into the filter"),
    )


def _unquoted(scene: Scene) -> Fault:
    """Something like 550e8400-e29b or 10:30, whose beginning was taken for a number."""
    first = scene.before()
    end = scene.chunk_end(first[1])
    fixed = quoted_string(scene.text[first[1] : end])
    return scene.fault(scene.expected(), scene.replaced("quote the string", fixed, first[1], end))


def _ascii_sign(scene: Scene) -> Fault | None:
    found, rest = scene.found, scene.rest
    if found == "~":
        return no_pattern_matching(scene, "~")
    if found == "{" and scene.place is Place.CHOICES:
        closing = scene.text.find("}", scene.start)
        edits = (Edit(scene.start, scene.end, "["), Edit(closing, closing + 1, "]"))
        return scene.fault(
            scene.expected(),
            Advice("write brackets", "[...]", edits if closing > 0 else ()),
        )
    if found == "\\":
        fewer = _without_backslashes(scene)
        advice = [Advice("quotes need no backslash here", "", fewer)] if fewer else []
        return scene.fault("a backslash outside a string", *advice)
    if found in ":" and scene.place is Place.OPERATOR:
        end = scene.start + (2 if rest.startswith((":=", "::")) else 1)
        return scene.fault(
            f"{scene.text[scene.start : end]} is not an operator",
            scene.replaced("did you mean ==?", " ==" if scene.touches else "==", end=end),
            end=end,
        )
    if scene.touches and scene.before()[0] in NUMBERS and _NO_NUMBER.match(rest):
        return _unquoted(scene)
    if found in "*/%^" and (scene.at_joint or scene.place is Place.OPERATOR):
        return scene.fault(
            f"{scene.expected()}; a filter does no arithmetic",
            Advice("compute the value before you write it into the filter"),
        )
    return None


def _without_backslashes(scene: Scene) -> tuple[Edit, ...]:
    return tuple(
        Edit(match.start(), match.start() + 1, "")
        for match in re.compile(r"\\(?=['\"])").finditer(scene.text, scene.start)
    )
