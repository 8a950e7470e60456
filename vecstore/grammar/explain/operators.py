"""Faults after a key: where an operator, or the rest of one, should follow."""

from __future__ import annotations

import re

from vecstore.filter.text import is_reserved
from vecstore.grammar.explain.conditions import repeated_key
from vecstore.grammar.explain.scene import (
    JOINTS,
    LITERAL_ENDS,
    NUMBERS,
    Place,
    Scene,
    quoted_segment,
    quoted_string,
)
from vecstore.grammar.explain.words import (
    explain_extra_word,
    explain_operator_word,
    is_element_word,
    names_nothing,
    no_pattern_matching,
)
from vecstore.grammar.faults import Advice, Edit, Fault, quoted

_INDEX = re.compile(r"\[\s*(?:[0-9]+|'([^'\\]+)'|\"([^\"\\]+)\")\s*\]")
_CALLED_WITH_TWO = re.compile(r"\(\s*([\w.]+)\s*,\s*('[^']*'|\"[^\"]*\"|[\w.+-]+)\s*\)")
_PHRASE = re.compile(r"[\w.-]+(?: [\w.-]+)*")


def explain_operator(scene: Scene) -> Fault | None:
    """No operator after a key."""
    if scene.kind == "LSQB":
        return _index(scene)
    if scene.kind == "LPAR":
        return _call(scene)
    if scene.kind in NUMBERS and scene.touches:
        return _number_in_key(scene)
    if scene.kind == "BANG":
        return _bang(scene)
    if scene.found_word:
        fault = explain_extra_word(scene) or _exists_before(scene) or explain_operator_word(scene)
        if fault is not None:
            return fault
    key = scene.key_before(len(scene.tokens))
    if scene.kind in LITERAL_ENDS or scene.kind == "NULL":
        sign = "IS " if scene.kind == "NULL" else "== "
        insert = (Edit(scene.start, scene.start, sign),)
        if scene.found[0] not in "+-":
            return scene.fault(scene.expected(), Advice("did you mean", "", insert))
        return scene.fault(f"{scene.expected()}; a filter does no arithmetic")
    if scene.kind in JOINTS or scene.kind == "RPAR":
        end = scene.before()[2]
        fixed = f"{key} == true"
        return scene.fault(
            scene.expected(),
            *repeated_key(scene, scene.before()),
            Advice("to test a bool, write", fixed, (Edit(end, end, " == true"),)),
        )
    if scene.kind == "NAME":
        return _word_after_key(scene)
    return None


def _word_after_key(scene: Scene) -> Fault:
    following = scene.text[scene.end :].lstrip()
    first = scene.before()
    if following[:1] in ("=", "!", "<", ">") or following[:3].upper() in ("IN ", "IN[", "IS "):
        whole = scene.text[first[1] : scene.end]
        return scene.fault(
            scene.expected(),
            scene.replaced("quote a key of several words", quoted_segment(whole), first[1]),
        )
    end = scene.phrase_end(scene.start)
    phrase = scene.text[scene.start : end].rstrip()
    if not _PHRASE.fullmatch(phrase) or any(map(is_reserved, phrase.split())):
        return scene.fault(scene.expected())
    return scene.fault(
        scene.expected(), scene.replaced("did you mean", f"== '{phrase}'", scene.start, end)
    )


def _index(scene: Scene) -> Fault:
    match = _INDEX.match(scene.text, scene.start)
    name = match and (match[1] or match[2])
    key = scene.key_before(len(scene.tokens))
    if match is not None and name:
        fixed = f".{quoted_segment(name)}"
        return scene.fault(
            "a key inside another one is reached by a dot, not by brackets",
            Advice("write a dot", f"{key}{fixed}", (Edit(scene.start, match.end(), fixed),)),
        )
    end = match.end() if match else scene.end
    return scene.fault(
        "the elements of a list have no keys of their own: lists are not addressed by position",
        scene.replaced("any element is compared by the key of the list", "", end=end),
        Advice("did you mean IN?", "", (Edit(scene.start, scene.start, " IN "),)),
        end=end,
    )


def _number_in_key(scene: Scene) -> Fault:
    key = scene.before()
    found = scene.found
    if found.startswith("."):
        fixed = f".{quoted_segment(found[1:])}"
        return scene.fault(
            f"a part of a key that is no name is quoted, as in {fixed}; "
            "lists are not addressed by position",
            scene.replaced("for a key inside an object, write", fixed),
        )
    end = scene.chunk_end(key[1])
    whole = re.split(r"[=!<>]", scene.text[key[1] : end])[0]
    fixed = quoted_segment(whole)
    return scene.fault(
        f"{found[0]} cannot stand in a key that is not quoted",
        scene.replaced("quote the key", fixed, key[1], key[1] + len(whole)),
    )


def _call(scene: Scene) -> Fault:
    name = scene.text_of(scene.before())
    inner = re.compile(r"\(\s*([\w.]+)\s*\)").match(scene.text, scene.start)
    if name.lower() in ("exists", "defined") and inner is not None:
        fixed = f"{inner[1]} IS NOT NULL"
        first = scene.before()[1]
        return scene.fault(
            f"{quoted(name)} is not part of the filter language",
            scene.replaced("write IS NOT NULL", fixed, first, inner.end()),
        )
    advice = []
    pair = _CALLED_WITH_TWO.match(scene.text, scene.start)
    if pair is not None and is_element_word(name):
        first = scene.before()[1]
        fixed = f"{pair[1]} == {pair[2]}"
        lead = "== is true of a list that holds the value"
        advice.append(scene.replaced(lead, fixed, first, pair.end()))
    return scene.fault(
        f"there are no functions in a filter: {quoted(name)}( cannot be called",
        *advice,
        Advice("write a key, an operator and a value: key == 'value'"),
    )


def _bang(scene: Scene) -> Fault:
    following = re.compile(r"!\s*(in\b|=|~)", re.IGNORECASE).match(scene.text, scene.start)
    if following is None:
        return scene.fault(scene.expected(), scene.replaced("did you mean !=?", "!="))
    if following[1] == "~":
        return no_pattern_matching(scene, quoted(following[0]))
    sign = "!=" if following[1] == "=" else "NOT IN"
    return scene.fault(
        f"{quoted(following[0])} is not an operator",
        scene.replaced(f"write {sign}", sign, end=following.end()),
    )


def _exists_before(scene: Scene) -> Fault | None:
    """``EXISTS a``, or any other word that was taken for the key."""
    word = scene.before()
    if scene.text_of(word).upper() != "EXISTS" or scene.kind != "NAME":
        return None
    end = scene.chunk_end(scene.start)
    fixed = f"{scene.text[scene.start : end]} IS NOT NULL"
    return scene.fault(
        "EXISTS is not part of the filter language",
        scene.replaced("write IS NOT NULL", fixed, word[1], end),
        start=word[1],
        end=word[2],
    )


def explain_in_word(scene: Scene) -> Fault | None:
    """Something else than IN after a key and NOT."""
    negation = scene.before()
    if scene.kind == "COMPARISON" and scene.found in ("=", "=="):
        fixed = scene.replaced("write !=", "!=", negation[1])
        return scene.fault(f"NOT {scene.found} is not an operator", fixed)
    if scene.kind == "NULL":
        return scene.fault(
            scene.expected(), scene.replaced("write IS NOT NULL", "IS NOT NULL", negation[1])
        )
    if scene.kind in LITERAL_ENDS:
        return scene.fault(
            scene.expected(), scene.replaced("did you mean !=?", "!=", negation[1], negation[2])
        )
    if scene.found_word:
        return explain_operator_word(scene)
    if scene.kind == "LSQB":
        return scene.fault(scene.expected(), scene.replaced("write NOT IN", "IN ", end=scene.start))
    return None


def explain_null_word(scene: Scene) -> Fault | None:
    """Something else than NULL after IS or IS NOT."""
    negated = scene.place is Place.NULL_WORD
    is_word = scene.before(2 if negated else 1)
    sign = "!=" if negated else "=="
    if scene.kind in LITERAL_ENDS:
        return scene.fault(
            f"{scene.expected()}: IS compares with nothing else",
            scene.replaced(f"write {sign}", sign, is_word[1], scene.before()[2]),
        )
    if scene.kind in ("NIN", "IN", "LSQB"):
        word = "NOT IN" if negated or scene.kind == "NIN" else "IN"
        end = scene.before()[2] if scene.kind == "LSQB" else scene.end
        return scene.fault(scene.expected(), scene.replaced(f"write {word}", word, is_word[1], end))
    if scene.kind == "NAME" and (
        names_nothing(scene.found) or scene.found.upper() in ("EMPTY", "MISSING", "ABSENT")
    ):
        return scene.fault(scene.expected(), scene.replaced("write NULL", "NULL"))
    if scene.kind == "NAME":
        fixed = f"{sign} {quoted_string(scene.found)}"
        return scene.fault(
            scene.expected(),
            scene.replaced(f"write {sign} and quote the string", fixed, is_word[1]),
        )
    return None
