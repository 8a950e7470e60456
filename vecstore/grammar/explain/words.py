"""Words that people bring from other languages, and what to write instead."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from vecstore.grammar.explain.scene import Place, Scene, quoted_string
from vecstore.grammar.faults import Advice, Edit, Fault, quoted
from vecstore.grammar.lexer import END

# Read in the place of an operator.
_OPERATORS = {
    "EQ": "==",
    "EQUAL": "==",
    "EQUALS": "==",
    "NE": "!=",
    "NEQ": "!=",
    "ISNT": "!=",
    "GT": ">",
    "GTE": ">=",
    "GE": ">=",
    "LT": "<",
    "LTE": "<=",
    "LE": "<=",
    "NOTIN": "NOT IN",
    "NOT_IN": "NOT IN",
    "ISNULL": "IS NULL",
    "IS_NULL": "IS NULL",
    "NOTNULL": "IS NOT NULL",
    "ISNOTNULL": "IS NOT NULL",
    "IS_NOT_NULL": "IS NOT NULL",
    "EXISTS": "IS NOT NULL",
}
_DOLLARS = {
    **{f"${name}": _OPERATORS[name.upper()] for name in ("eq", "ne", "gt", "gte", "lt", "lte")},
    "$in": "IN",
    "$nin": "NOT IN",
    "$not": "NOT",
}
_PATTERNS = frozenset(
    "LIKE ILIKE RLIKE GLOB REGEX REGEXP MATCH MATCHES SIMILAR "
    "STARTSWITH STARTS_WITH ENDSWITH ENDS_WITH".split()
)
_ELEMENTS = frozenset("CONTAINS HAS INCLUDES OVERLAPS ANY ALL".split())
_CLAUSES = frozenset("ORDER GROUP LIMIT OFFSET HAVING".split())
_STATEMENTS = frozenset("SELECT DELETE UPDATE INSERT FROM".split())
_NOTHING = frozenset("NONE NIL UNDEFINED NAN".split())
_JOINTS = {"AND": "AND", "OR": "OR", "UND": "AND", "ODER": "OR", "ET": "AND", "PLUS": "AND"}

_PREFIX = re.compile(r"\s+(['\"])([^'\"\\%_*]+)(%?)\1")
_LITERAL = r"((?:(?:DATE|TIMESTAMP)\s+)?(?:'[^'\\]*'|\"[^\"\\]*\"|[^\s()\[\],'\"]+))"
_BOUNDS = re.compile(rf"\s+{_LITERAL}\s+AND\s+{_LITERAL}", re.IGNORECASE)
_NO_PATTERNS = Advice("compare with ==, IN or a range, and match patterns on the results")


def dollar_operator(word: str) -> str:
    """The operator that ``$gte`` and its like stand for, or nothing."""
    return _DOLLARS.get(word.lower(), "")


def names_nothing(word: str) -> bool:
    """Whether a word stands for null in some language."""
    return word.upper() in _NOTHING


def is_element_word(word: str) -> bool:
    """Whether a word asks for an element of a list in some language."""
    return word.upper() in _ELEMENTS


def no_pattern_matching(scene: Scene, sign: str) -> Fault:
    """The fault at ``~`` and its like."""
    return scene.fault(
        f"{sign} is not part of the filter language: there is no pattern matching", _NO_PATTERNS
    )


def likely_joint(word: str) -> str:
    """AND or OR, when the word is a slip of one of them; else nothing."""
    upper = unicodedata.normalize("NFKC", word).upper()
    if upper in _JOINTS:
        return _JOINTS[upper]
    for joint in ("AND", "OR"):
        if len(upper) >= 2 and _one_slip(upper, joint):
            return joint
    return ""


def _one_slip(word: str, wanted: str) -> bool:
    """Whether letters are swapped, or one letter is lost, doubled or wrong."""
    if sorted(word) == sorted(wanted):
        return True
    longer, shorter = (word, wanted) if len(word) > len(wanted) else (wanted, word)
    if len(longer) - len(shorter) == 1:
        return any(longer[:i] + longer[i + 1 :] == shorter for i in range(len(longer)))
    return len(word) == len(wanted) > 2 and sum(map(str.__ne__, word, wanted)) == 1


def explain_statement(scene: Scene) -> Fault | None:
    """A whole SQL statement instead of the condition in it."""
    if len(scene.tokens) != 1 or scene.place is not Place.OPERATOR:
        return None
    first = scene.tokens[0]
    word = scene.text_of(first).upper()
    if word not in _STATEMENTS or scene.kind == END:
        return None
    return scene.fault(
        f"{word} begins a statement: a filter is its condition alone",
        Advice("keep what stands after WHERE"),
        start=first[1],
        end=first[2],
    )


def explain_operator_word(scene: Scene) -> Fault | None:
    """A word where an operator is expected, after a key or after its NOT."""
    word = scene.found
    upper = word.upper()
    for known, explain in _EXPLAINED:
        if upper in known:
            return explain(scene, upper)
    operator = _OPERATORS.get(upper)
    if operator is not None:
        return scene.fault(
            f"{quoted(word)} is not part of the filter language",
            scene.replaced(f"write {operator}", operator),
        )
    if scene.place is Place.OPERATOR and _one_slip(upper, "NOT"):
        edit = Edit(scene.start, scene.end, "NOT")
        return scene.fault(scene.expected(), Advice("did you mean NOT?", "", (edit,)))
    return None


def _explain_pattern(scene: Scene, upper: str) -> Fault:
    advice = [_NO_PATTERNS]
    pattern = _PREFIX.match(scene.text, scene.end)
    if pattern is not None and upper == "LIKE" and scene.place is Place.OPERATOR:
        prefix, wildcard = pattern[2], pattern[3]
        if not wildcard:
            fixed = f"== {quoted_string(prefix)}"
            advice.insert(0, scene.replaced("write ==", fixed, end=pattern.end()))
        elif prefix[-1] < "\ud7ff":
            after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
            bounds = ">=", quoted_string(prefix), "AND", "<", quoted_string(after)
            advice.insert(0, _two_comparisons(scene, "a prefix is a range", bounds, pattern.end()))
    return _named(scene, "there is no pattern matching", *advice)


def _two_comparisons(
    scene: Scene, lead: str, parts: tuple[str, str, str, str, str], end: int
) -> Advice:
    """Advice to compare the key twice, in parentheses where what stands around it needs them."""
    first_sign, first, joint, second_sign, second = parts
    index = len(scene.tokens) - (scene.place is not Place.OPERATOR)
    opening = scene.key_start(index)
    key = scene.key_before(index)
    fixed = f"{key} {first_sign} {first} {joint} {key} {second_sign} {second}"
    start = scene.tokens[opening][1]
    alone = not scene.text[:start].strip() and not scene.text[end:].strip()
    if scene.negated(opening) or (joint == "OR" and not alone):
        fixed = f"({fixed})"
    return scene.replaced(lead, fixed, start, end)


def _explain_elements(scene: Scene, upper: str) -> Fault:
    return _named(
        scene,
        "== looks into lists, and nothing looks into strings",
        scene.replaced("write ==" if scene.place is Place.OPERATOR else "write !=", *_equal(scene)),
        Advice("write key == 'element'"),
    )


def _equal(scene: Scene) -> tuple[str, int, int]:
    if scene.place is Place.OPERATOR:
        return "==", scene.start, scene.end
    return "!=", scene.before()[1], scene.end


def _explain_between(scene: Scene, upper: str) -> Fault:
    advice = [Advice("write two comparisons", "key >= 1 AND key <= 5")]
    bounds = _BOUNDS.match(scene.text, scene.end)
    if bounds is not None:
        low, high = bounds.groups()
        parts = (">=", low, "AND", "<=", high)
        if scene.place is not Place.OPERATOR:
            parts = ("<", low, "OR", ">", high)
        advice.insert(0, _two_comparisons(scene, "write two comparisons", parts, bounds.end()))
    return _named(scene, "", *advice)


def _explain_clause(scene: Scene, upper: str) -> Fault:
    return _named(
        scene, "a filter only selects", Advice("limits and orders are arguments of the search")
    )


def explain_joint_word(scene: Scene) -> Fault | None:
    """A word after a complete condition."""
    word, upper = scene.found, scene.found.upper()
    if upper == "XOR":
        return _named(
            scene, "", Advice("write both cases", "(x == 1 AND y != 2) OR (x != 1 AND y == 2)")
        )
    if upper in _CLAUSES:
        return _explain_clause(scene, upper)
    joint = likely_joint(word)
    if joint:
        return scene.fault(scene.expected(), scene.replaced(f"did you mean {joint}?", joint))
    return None


def explain_extra_word(scene: Scene) -> Fault | None:
    """``and also b == 2``: the word before is one too many, and was taken for the key."""
    extra, joint = scene.before(), scene.before(2)
    if scene.place is not Place.OPERATOR or extra[0] != "NAME" or not scene.found_word:
        return None
    if joint[0] not in ("_AND", "_OR", "_AND_SIGN", "_OR_SIGN"):
        return None
    word = scene.text_of(extra)
    if word.upper() not in ("ALSO", "ELSE", "THEN", "WHERE", "EITHER", "BOTH"):
        return None
    return scene.fault(
        f"{scene.text_of(joint)} {word} is one word too many",
        scene.replaced(f"leave {word} out", "", extra[1], scene.start),
        start=extra[1],
        end=extra[2],
    )


def _named(scene: Scene, reason: str, *advice: Advice) -> Fault:
    message = f"{quoted(scene.found.upper())} is not part of the filter language"
    return scene.fault(f"{message}: {reason}" if reason else message, *advice)


_EXPLAINED: tuple[tuple[frozenset[str], Callable[[Scene, str], Fault]], ...] = (
    (_PATTERNS, _explain_pattern),
    (_ELEMENTS, _explain_elements),
    (frozenset({"BETWEEN"}), _explain_between),
    (_CLAUSES, _explain_clause),
)


def inserted(scene: Scene, lead: str, word: str) -> Advice:
    """Advice to insert a word before the token, with the spaces it needs."""
    before = "" if scene.text[scene.start - 1].isspace() else " "
    return Advice(lead, "", (Edit(scene.start, scene.start, f"{before}{word} "),))
