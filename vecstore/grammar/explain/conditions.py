"""Faults where a condition, or the next part of a key, should begin; and at the end of the text."""

from __future__ import annotations

import re

from vecstore.filter.text import is_reserved
from vecstore.grammar.explain.scene import (
    JOINTS,
    KEYWORDS,
    LITERAL_ENDS,
    NUMBERS,
    Place,
    Scene,
    as_membership,
    quoted_segment,
)
from vecstore.grammar.faults import Advice, Edit, Fault, quoted

_OPERATOR_AHEAD = re.compile(
    r"\s*(?:==?|!=|<[=>]?|>=?|\.\s*\w|(?:NOT\s+)?IN\b|NIN\b|IS\b)", re.IGNORECASE | re.ASCII
)
_SWAPPED = re.compile(
    r"""\s*(==?|!=|<>|<=?|>=?)\s*((?:[^\W\d]\w*|"[^"\\]+")(?:\.(?:[^\W\d]\w*|"[^"\\]+"))*)"""
)
_CONSTANTS = frozenset({"TRUE", "FALSE", "NULL"})
_BARE_WORD = re.compile(r'("[^"]*")|\w+')
_ORDERING_AHEAD = re.compile(r"\s*[<>]")
_IN_A_LIST = "several values stand in a list"
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def explain_end(scene: Scene) -> Fault | None:
    """The text ended too early."""
    text = scene.text
    if not scene.tokens:
        return scene.fault(
            "the filter is empty",
            Advice("to select everything, pass None instead of a filter"),
        )
    end = scene.before()[2]
    message = scene.expected()
    if scene.place is Place.AFTER_ITEM:
        return scene.fault(message, _closed(scene, scene.closing))
    if scene.place is Place.JOINT_INSIDE:
        return scene.fault(message, _closed(scene, ")" * _open_parentheses(scene)))
    if scene.place is Place.OPERATOR:
        return scene.fault(message, *_completed(scene))
    previous = scene.before()
    if previous[0] in JOINTS:
        word = scene.text_of(previous)
        cut = (Edit(scene.before(2)[2], len(text), ""),)
        return scene.fault(message, Advice(f"add a condition, or leave {word} out", "", cut))
    if scene.place is Place.DATED:
        return scene.fault(message, *dated_advice(scene))
    if scene.place is Place.ITEM and previous[0] == "_COMMA":
        closed = (Edit(previous[1], end, scene.closing_of_list),)
        return scene.fault(message, Advice("close the list", scene.closing_of_list, closed))
    if scene.place is Place.FIRST_ITEM:
        return scene.fault(message, _closed(scene, scene.closing))
    return None


def _closed(scene: Scene, brackets: str) -> Advice:
    end = scene.before()[2]
    return Advice("close it", brackets, (Edit(end, end, brackets),))


def _open_parentheses(scene: Scene) -> int:
    kinds = [kind for kind, _, _ in scene.tokens]
    return max(1, kinds.count("LPAR") - kinds.count("RPAR"))


def _completed(scene: Scene) -> list[Advice]:
    """A key that no operator follows."""
    last = scene.before()
    repeated = repeated_key(scene, last)
    if repeated:
        return repeated
    if scene.text_of(last).lower() == "null" or last[0] == "STRING":
        return [Advice("a condition is a key, an operator and a value: key == 'value'")]
    key = scene.key_before(len(scene.tokens))
    return [Advice("compare it with something", f"{key} == 'value'")]


def repeated_key(scene: Scene, literal: tuple[str, int, int]) -> list[Advice]:
    """``a == 1 OR 2``: advice for another value of the key before, if that is what it is."""
    operator = scene.last_operator()
    if operator is None:
        return []
    sign = scene.text_of(scene.tokens[operator])
    *values, joint = [t for t in scene.tokens[operator + 1 :] if t[1] < literal[1]] or [("", 0, 0)]
    if not values or joint[0] not in JOINTS:
        return []
    listed = "IN" if joint[0].startswith("_OR") else "NOT IN"
    last = values[-1]
    # Whatever stands around a list, it means the same; a repeated comparison may not.
    if as_membership(sign) == listed and len(values) == 1 and last[0] in LITERAL_ENDS:
        edits = (
            Edit(scene.tokens[operator][1], scene.tokens[operator][2], listed),
            Edit(last[1], last[1], "["),
            Edit(last[2], literal[1], ", "),
            Edit(literal[2], literal[2], "]"),
        )
        return [Advice(_IN_A_LIST, "", edits)]
    if sign.upper() == "IN" and last[0] == "RSQB":
        longer = (Edit(last[1], literal[1], ", "), Edit(literal[2], literal[2], "]"))
        return [Advice(_IN_A_LIST, "", longer)]
    if sign in TURNED and len(values) == 1:
        again = f"{scene.key_before(operator)} {sign}"
        edit = Edit(literal[1], literal[1], f"{again} ")
        alone = operator == 1
        return [Advice("write the key again", again, (edit,) if alone else ())]
    return []


def explain_condition(scene: Scene) -> Fault | None:
    """Something else than a key, NOT or a parenthesis."""
    text, found = scene.text, scene.found
    previous = scene.before()
    if scene.kind == "COMPARISON" and previous[0] in ("NOT", "WHERE"):
        word = scene.text_of(previous)
        fixed = quoted_segment(word)
        return scene.fault(
            f"{quoted(word)} is a reserved word: as a key it is quoted",
            Advice("quote the key", fixed, (Edit(previous[1], previous[2], fixed),)),
        )
    if scene.kind in ("TRUE", "FALSE") or scene.kind in NUMBERS:
        return _literal_first(scene)
    if scene.kind in KEYWORDS and _OPERATOR_AHEAD.match(text, scene.end):
        fixed = quoted_segment(found)
        return scene.fault(
            f"{quoted(found)} is a reserved word: as a key it is quoted",
            scene.replaced("quote the key", fixed),
        )
    if scene.kind in JOINTS:
        neighbour = scene.before()[2] or scene.start
        message = scene.expected()
        return scene.fault(
            message,
            Advice(f"leave {quoted(found)} out", "", (Edit(neighbour, scene.end, ""),)),
            Advice(f"leave {quoted(found)} out", "", (Edit(scene.start, scene.end + 1, ""),)),
        )
    if scene.kind == "_DOT":
        return scene.fault(
            "a key does not start with a dot", scene.replaced("leave the dot out", "")
        )
    if scene.kind == "RPAR" and previous[0] == "LPAR":
        return scene.fault(f"{scene.expected()}: the parentheses are empty")
    return None


def _literal_first(scene: Scene) -> Fault:
    advice = repeated_key(scene, (scene.kind, scene.start, scene.end))
    swapped = _SWAPPED.match(scene.text, scene.end)
    if swapped is not None and not advice and swapped[2].upper() not in _CONSTANTS:
        key, end = _quoted_where_reserved(swapped[2]), swapped.end()
        fixed = f"{key} {TURNED.get(swapped[1], swapped[1])} {scene.found}"
        advice = [scene.replaced("the key stands on the left", fixed, end=end)]
        if _ORDERING_AHEAD.match(scene.text, end) and not scene.negated(len(scene.tokens)):
            both = f"{fixed} AND {key}"
            advice.insert(0, scene.replaced("write two comparisons", both, end=end))
    if _OPERATOR_AHEAD.match(scene.text, scene.end):
        fixed = quoted_segment(scene.found)
        advice.append(scene.replaced("quote the key", fixed))
    elif not advice and scene.kind in ("TRUE", "FALSE"):
        advice = [Advice("a filter that selects everything is no filter: pass None")]
    return scene.fault(scene.expected(), *advice)


def _quoted_where_reserved(key: str) -> str:
    """A key taken from the text, of which a part may be a reserved word."""
    return _BARE_WORD.sub(
        lambda word: word[0] if word[1] or not is_reserved(word[0]) else quoted_segment(word[0]),
        key,
    )


def explain_segment(scene: Scene) -> Fault | None:
    """Something else than a name after a dot in a key."""
    if scene.kind in KEYWORDS:
        fixed = quoted_segment(scene.found)
        return scene.fault(
            f"{quoted(scene.found)} is a reserved word: as part of a key it is quoted",
            scene.replaced("quote it", fixed),
        )
    dot = scene.before()
    return scene.fault(
        scene.expected(), Advice("leave the dot out", "", (Edit(dot[1], dot[2], ""),))
    )


def dated_advice(scene: Scene) -> list[Advice]:
    """What DATE or TIMESTAMP in the place of a value may have been meant for."""
    word = scene.before()
    text = scene.text_of(word)
    example = "2024-01-31" if word[0] == "DATE" else "2024-01-31T09:30:00Z"
    return [
        Advice("quote the string", f"'{text}'", (Edit(word[1], word[2], f"'{text}'"),)),
        Advice("write", f"{text} '{example}'"),
    ]
