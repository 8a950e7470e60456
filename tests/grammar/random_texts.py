"""Filter texts at random: valid ones, broken ones, and valid ones that something was done to."""

from __future__ import annotations

import random

from tests.grammar.test_errors import CORRECTED, TOLD
from vecstore.grammar.explain.table import ROWS

KNOWN = [case[0] for case in CORRECTED + TOLD] + [text for row in ROWS for text in row.examples]
# fmt: off
VALUES = [
    *"1 -2.5 .5 5. 5L 007 1e3 's' \"t\\n\" 'é' true FALSE".split(),
    "DATE '2024-01-01'", "TIMESTAMP '2024-01-01T00:00:00Z'", "'two words'",
]
KEYS = "a b.c 'k' \"k\".c date x.timestamp é TIMESTAMP.a.b c.'d' inner notes".split()
PIECES = [
    *"a b.c 'x' \"y\" 1 -1 .5 5. 1e3 5L AND OR NOT ! && || & | ( ) [ ] , . == = != < > <= >= <> "
    "IN NIN IS NULL true FALSE DATE TIMESTAMP WHERE date LIKE BETWEEN $ne { } ? : ~ -- # ; ‘ ’ “ ” "
    "≤ ＝ ２ \\ ' \" ² é - + * / % NOT² IN² and² iſ ſ İ … ١ NOTIN IN( 1AND '' 'a\\q' 1e999 "
    "__vecstore_x '__vecstore' 99999999999999999999 +3l isnull a.in b.NOT.c in.a".split(),
    "\ufeff", "\u200b", "\0", "\ud800", "\xa0", "\n", "\x1c", "( ", "NOT ", "NOT\tin", "a == 1 AND ",
    "a IN [", "not in (1, ", "is not null", "a > true", "a == [1]", " AND ", ") or (",
]
# fmt: on


def atom(dice: random.Random) -> str:
    key, joint = dice.choice(KEYS), dice.choice(["", " ", " ", "  "])
    kind = dice.randrange(8)
    if kind < 4:
        sign = dice.choice("== = != <> < <= > >=".split())
        return f"{key}{joint}{sign}{joint}{dice.choice(VALUES)}"
    if kind < 7:
        left, right = dice.choice(["[]", "()"])
        items = f"{joint},{joint}".join(dice.choices(VALUES, k=dice.randrange(5)))
        word = dice.choice(["IN", "in", "NOT IN", "not  In", "nin"])
        return f"{key} {word}{joint}{left}{joint}{items}{right}"
    return f"{key} {dice.choice(['IS NULL', 'is not null', 'Is  Null'])}"


def valid(dice: random.Random, depth: int = 0) -> str:
    kind = dice.random()
    if depth > 5 or kind < 0.35:
        return atom(dice)
    if kind < 0.5:
        return f"{dice.choice(['NOT ', '!', '! '])}{valid(dice, depth + 1)}"
    if kind < 0.7:
        return f"({dice.choice(['', ' '])}{valid(dice, depth + 1)})"
    joint = dice.choice([" AND ", " or ", " OR ", "&&", " || ", "\nand\t"])
    return joint.join(valid(dice, depth + 1) for _ in range(dice.randrange(2, 5)))


def random_text(dice: random.Random) -> str:
    kind = dice.random()
    if kind < 0.15:
        return dice.choice(["", " "]).join(dice.choices(PIECES, k=dice.randrange(12)))
    text = dice.choice(KNOWN) if kind < 0.35 else valid(dice)
    for _ in range(dice.choice([0, 0, 0, 1, 2])):
        start = dice.randint(0, len(text))
        end = dice.randint(start, min(len(text), start + 5))
        piece = dice.choice(["", chr(dice.randrange(0x300)), dice.choice(PIECES), valid(dice, 5)])
        text = text[:start] + piece + text[end:]
    return text
