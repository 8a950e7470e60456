"""Random metadata and filters of near values, made fast enough for thousands of them."""

from __future__ import annotations

from random import Random
from typing import Any

from vecstore import Expression, Key, Op, Value

NAMES = ["a", "b", "c", "a.b", "odd key"]
TEXTS = ["", "a", "A", "b", "1", "true", "é", "e\u0301", "\uffff", "😀", "it's"]
NUMBERS: list[Any] = [0, 1, 1.0, -0.0, 0.1, 2.5, -2.5, 3, 5e-324, 1.7e308, 1e23, 1e19]
NUMBERS += [
    sign * number + near
    for number in (2**53, 2**60, 2**63, 2**64, 10**23, 10**400)
    for sign in (1, -1)
    for near in (-1, 0, 1, 2)
]
NUMBERS += [sign * float(2**power) for power in (53, 60, 63, 64) for sign in (1, -1)]
ATOMS = [op for op in Op if op not in (Op.AND, Op.OR, Op.NOT)]


def scalar(random: Random) -> Any:
    """A bool, number or text; those that are special come often."""
    which = random.random()
    if which < 0.2:
        return random.random() < 0.5
    if which < 0.6:
        return random.choice(NUMBERS) if random.random() < 0.7 else random.randint(-3, 3)
    return random.choice(TEXTS) if random.random() < 0.8 else str(random.randint(0, 500))


def _listed(random: Random) -> list[Any]:
    length, which = random.randint(0, 3), random.random()
    if which < 0.2:
        return [random.random() < 0.5 for _ in range(length)]
    return [random.choice(NUMBERS if which < 0.6 else TEXTS) for _ in range(length)]


def metadata(random: Random, depth: int = 0) -> dict[str, Any]:
    """Metadata as a document holds it."""
    result: dict[str, Any] = {}
    for name in NAMES:
        which = random.random()
        if which < 0.25:
            continue
        if which < 0.3:
            result[name] = None
        elif which < 0.75:
            result[name] = scalar(random)
        elif which < 0.9:
            result[name] = _listed(random)
        elif depth < 2:
            result[name] = metadata(random, depth + 1)
    return result


def of_one_type(rows: list[dict[str, Any]], kept: type) -> list[dict[str, Any]]:
    """The same rows without values of any other type."""
    return [{key: value for key, value in row.items() if type(value) is kept} for row in rows]


def _atom(random: Random) -> Expression:
    key = Key(*[random.choice(NAMES) for _ in range(random.choice([1, 1, 1, 2, 3]))])
    op = random.choice(ATOMS)
    if op in (Op.ISNULL, Op.ISNOTNULL):
        return Expression(op, key)
    if op in (Op.IN, Op.NIN):
        many = random.choice([0, 1, 2, 3, 12, 40])
        return Expression(op, key, Value([scalar(random) for _ in range(many)]))
    literal = scalar(random)
    while op not in (Op.EQ, Op.NE) and isinstance(literal, bool):
        literal = scalar(random)
    return Expression(op, key, Value(literal))


def tree(random: Random, depth: int = 0) -> Expression:
    """A filter of up to five levels."""
    which = random.random()
    if depth > 3 or which < 0.35:
        return _atom(random)
    if which < 0.5:
        return Expression(Op.NOT, tree(random, depth + 1))
    children = [tree(random, depth + 1) for _ in range(random.randint(2, 4))]
    return Expression(random.choice([Op.AND, Op.OR]), *children)
