"""Faults where a literal, or a list of them, should stand."""

from __future__ import annotations

import re

from vecstore.grammar.explain.conditions import TURNED, dated_advice
from vecstore.grammar.explain.scene import (
    HAS_OPERATOR,
    JOINTS,
    KEYWORDS,
    NUMBERS,
    Place,
    Scene,
    quoted_string,
)
from vecstore.grammar.explain.words import names_nothing
from vecstore.grammar.faults import Advice, Edit, Fault, quoted

# Two operators in a row, and the one they may have been meant for.
_PAIRS = {
    ("=", ">"): ">=",
    ("=", "<"): "<=",
    ("=", "="): "==",
    ("<", "="): "<=",
    (">", "="): ">=",
    ("<", ">"): "!=",
    ("==", "="): "==",
    ("!=", "="): "!=",
    ("=", "=="): "==",
}


def explain_value(scene: Scene) -> Fault | None:
    """Something else than a value after an operator or in a list."""
    kind = scene.kind
    if kind == "NULL" or (kind == "NAME" and names_nothing(scene.found)):
        return _null(scene)
    if kind == "COMPARISON" or kind == "BANG":
        return _second_operator(scene)
    if kind == "NAME":
        return _bare_word(scene)
    if kind in KEYWORDS or kind in ("DATE", "TIMESTAMP"):
        return _keyword(scene)
    if kind == "LPAR":
        return scene.fault(
            f"{scene.expected()}: a value stands in no parentheses", *_without_parentheses(scene)
        )
    if kind == "LSQB":
        return scene.fault(f"{scene.expected()}: a list holds no lists", *_flattened(scene))
    if kind in ("RSQB", "RPAR") and scene.place is Place.ITEM:
        comma = scene.before()
        return scene.fault(
            scene.expected(),
            Advice("leave the last comma out", "", (Edit(comma[1], scene.start, ""),)),
        )
    if kind == "_COMMA":
        return scene.fault(scene.expected(), scene.replaced("leave this comma out", ""))
    if kind in ("RSQB", "RPAR") and scene.place is Place.FIRST_ITEM:
        return scene.fault(scene.expected(), scene.replaced("close it", scene.closing))
    return None


def _null(scene: Scene) -> Fault:
    if scene.place in (Place.FIRST_ITEM, Place.ITEM):
        return scene.fault(
            f"a list on the right of IN cannot hold {quoted(scene.found)}",
            Advice("add OR ... IS NULL to the filter instead"),
        )
    operator = scene.before()
    sign = scene.text_of(operator)
    test = "IS NOT NULL" if sign in ("!=", "<>") else "IS NULL"
    advice = scene.replaced(f"write {test}", test, operator[1])
    if sign in TURNED:
        advice = Advice("write IS NULL or IS NOT NULL")
    return scene.fault(
        f"{quoted(scene.found)} is no value to compare with: absence has a test of its own", advice
    )


def _second_operator(scene: Scene) -> Fault | None:
    first = scene.before()
    if first[0] != "COMPARISON":
        return None
    pair = (scene.text_of(first), scene.found)
    meant = _PAIRS.get(pair) or ("!=" if scene.kind == "BANG" and pair[0] == "=" else "")
    if not meant:
        return None
    return scene.fault(
        f"expected a value, not {scene.found} after {pair[0]}",
        scene.replaced(f"write {meant}", meant, first[1]),
    )


def _bare_word(scene: Scene) -> Fault:
    text, start = scene.text, scene.start
    if text[scene.end : scene.end + 1] == "(":
        return scene.fault(
            f"there are no functions in a filter: {quoted(scene.found)}( cannot be called",
            Advice("write the value itself, such as 'text', 5 or TIMESTAMP '2024-01-31T09:30:00Z'"),
        )
    advice = _turned_round(scene)
    for end in sorted({scene.end, scene.chunk_end(start), scene.phrase_end(start)}):
        content = text[start:end].rstrip()
        if end > start and not HAS_OPERATOR.search(content):
            fixed = quoted_string(content)
            if scene.place is Place.CHOICES:
                fixed = f"[{fixed}]"
            advice.append(scene.replaced("quote the string", fixed, end=start + len(content)))
    return scene.fault(f"{quoted(scene.found)} is not a value: strings are quoted", *advice)


def _turned_round(scene: Scene) -> list[Advice]:
    """``'BG' == country`` and ``'a' in tags``: the key stands on the right."""
    literal, operator = scene.before(2), scene.before()
    start, sign = literal[1], scene.text_of(operator)
    if literal[0] != "STRING" or scene.text[start] != "'":
        return []
    end = scene.chunk_end(scene.start)
    key = scene.text[scene.start : end]
    value = scene.text_of(literal)
    if operator[0] == "IN":
        lead = "== is true of a list that holds the value"
        return [scene.replaced(lead, f"{key} == {value}", start, end)]
    if operator[0] == "COMPARISON":
        fixed = f"{key} {TURNED.get(sign, sign)} {value}"
        return [scene.replaced("the key stands on the left", fixed, start, end)]
    return []


def _keyword(scene: Scene) -> Fault:
    edit = Edit(scene.start, scene.end, quoted_string(scene.found))
    return scene.fault(scene.expected(), Advice("quote the string", "", (edit,)))


def _without_parentheses(scene: Scene) -> list[Advice]:
    inner = re.compile(r"\(\s*([^()]*?)\s*\)").match(scene.text, scene.start)
    if inner is None:
        return []
    return [
        scene.replaced("write the value alone", inner[1], end=inner.end()),
        Advice(
            "write IN",
            f"IN ({inner[1]})",
            (Edit(scene.before()[1], scene.start, "IN "),),
        ),
    ]


def _flattened(scene: Scene) -> list[Advice]:
    closing = scene.text.find("]", scene.start)
    if closing < 0:
        return []
    edits = (Edit(scene.start, scene.end, ""), Edit(closing, closing + 1, ""))
    return [Advice("write one list", "", edits)]


def explain_dated(scene: Scene) -> Fault | None:
    """Something else than a string after DATE or TIMESTAMP."""
    if scene.kind in NUMBERS or scene.kind == "NAME":
        end = scene.chunk_end(scene.start)
        fixed = quoted_string(scene.text[scene.start : end])
        return scene.fault(scene.expected(), scene.replaced("quote it", fixed, scene.start, end))
    if scene.kind in JOINTS or scene.kind in ("RPAR", "RSQB", "_COMMA"):
        return scene.fault(scene.expected(), *dated_advice(scene))
    return None
