"""The fixed filters of the conformance suite, sorted by what they are after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations as pairs_of
from typing import Any, Final

from vecstore.filter.convert import Capabilities
from vecstore.filter.tree import LOGICAL, MEMBERSHIPS, NULL_TESTS, Expression, Key, Op, Value
from vecstore.filter.values import Kind, Scalar, kind_of
from vecstore.testing.rows import Documents
from vecstore.testing.samples import (
    HOSTILE_TEXTS,
    LISTS,
    NUMBERS,
    OBJECTS,
    ODD_KEYS,
    ODD_PATHS,
    PATHS,
    SCALARS,
    TEXTS,
)

_ORDER = (Op.GT, Op.GTE, Op.LT, Op.LTE)
_FEW: Final[tuple[Scalar, ...]] = (True, 1, 1.5, "a", "")

MOST_LITERALS: Final = 10_000
MOST_LEVELS: Final = 64
MOST_ATOMS: Final = 5_000
# Few, where the filters are large: these are about sizes.
_FEW_ROWS: Final[Documents] = {
    "empty": {},
    "number": {"k": 1, "x": 1, "y": 1},
    "large-number": {"k": 4_999, "x": 4_999, "y": 4_999},
    "text": {"k": "a", "x": "a", "y": "a"},
    "numbered": {"k": "v7", "x": "v7", "y": "v7"},
    "numbered-high": {"k": "v4999", "x": "v4999", "y": "v4999"},
    "texts": {"k": ["a", "v7"], "x": ["a", "v7"], "y": ["a", "v7"]},
    "bool": {"k": True, "x": True, "y": True},
    "null": {"k": None, "x": None, "y": None},
}
LONG_LISTS: Final = (1_000, 10_000)
_LONG_LIST_ROWS: Final[Documents] = {
    **_FEW_ROWS,
    **{
        f"{place} {number}": {"k": value, "n": {"k": value}} if place == "both" else {place: value}
        for place, values in (
            (
                "both",
                [True, False, 0, 1.0, -3, 0.5, 4_000, 9_999, 10**6, "1", "v77", "V7", "", "é"],
            ),
            ("k", [*LISTS, *OBJECTS, [], None, ["v1", "none"], [4_000.0], ["none"], [0.25]]),
        )
        for number, value in enumerate(values)
    },
}
# A limit beyond these is taken at its word.
_DEEPEST_TRIED: Final = 2_000
_LONGEST_TRIED: Final = 200_000


def atom(op: Op, path: tuple[str, ...], literal: Any = None) -> Expression:
    """One comparison or null test."""
    if op in NULL_TESTS:
        return Expression(op, Key(*path))
    return Expression(op, Key(*path), Value(literal))


def atoms_on(path: tuple[str, ...], literals: Sequence[Scalar] = SCALARS) -> Iterator[Expression]:
    """Every operator on one key, with each of the literals that it takes."""
    yield atom(Op.ISNULL, path)
    yield atom(Op.ISNOTNULL, path)
    for literal in literals:
        yield atom(Op.EQ, path, literal)
        yield atom(Op.NE, path, literal)
        yield atom(Op.IN, path, [literal])
        yield atom(Op.NIN, path, [literal])
        if not isinstance(literal, bool):
            yield from (atom(op, path, literal) for op in _ORDER)


def atoms_on_paths() -> Iterator[Expression]:
    """Keys that step into objects."""
    for path in PATHS:
        yield from atoms_on(path, _FEW)


def atoms_on_odd_keys() -> Iterator[Expression]:
    """Keys that an engine's own syntax may take for something else."""
    for path in (*[(key,) for key in ODD_KEYS], *ODD_PATHS):
        yield atom(Op.EQ, path, 1)
        yield atom(Op.EQ, path, "a")
        yield atom(Op.NE, path, "a")
        yield atom(Op.IN, path, ["b", True])
        yield atom(Op.NIN, path, [1])
        yield atom(Op.GTE, path, 1)
        yield atom(Op.LT, path, "b")
        yield atom(Op.ISNULL, path)
        yield atom(Op.ISNOTNULL, path)


def lists_of_literals() -> Iterator[Expression]:
    """IN and NOT IN with several literals, of one kind and mixed."""
    lists: tuple[list[Any], ...] = (
        ["a", "b"],
        ["", " ", "a "],
        [1, 2],
        [1, 1.0, 1.5],
        [0, 0.1, -1.5],
        [5e-324, 1e300],
        [True, False],
        [True, 1],
        [False, 0, "0", ""],
        ["true", True],
        [1, "1"],
        ["a", 1, True],
        ["a", "a", "a"],
        [1e23, 10**23],
        [2**53 - 1, 2**53, 2**53 + 1],
        list(TEXTS),
        list(NUMBERS),
        list(SCALARS),
        [f"v{number}" for number in range(0, 150, 3)],
        list(range(-60, 60)),
    )
    for path in (("k",), ("x",), ("n", "k")):
        for literals in lists:
            yield atom(Op.IN, path, literals)
            yield atom(Op.NIN, path, literals)


def long_lists(capabilities: Capabilities) -> Iterator[Expression]:
    """IN and NOT IN with lists so long that engines want another form for them.

    Run them on :func:`long_list_rows`. Numbers are those that every engine holds exactly.
    """
    for length in LONG_LISTS:
        if capabilities.max_list is not None and length > capabilities.max_list:
            continue
        texts = [*TEXTS, *[f"v{number}" for number in range(length)]][:length]
        whole = list(range(-50, length - 50))
        numbers = [float(item) if item % 3 else item for item in whole[1:]] + [0.5]
        mixed = [True, *texts[: length // 2], *numbers[: length - 1 - length // 2]]
        for op in (Op.IN, Op.NIN):
            yield atom(op, ("k",), mixed)
            if length == LONG_LISTS[0]:
                yield from (atom(op, ("k",), literals) for literals in (texts, whole, numbers))
                yield atom(op, ("n", "k"), mixed)
                yield atom(op, ("k",), texts) & atom(Op.NE, ("x",), 1)


def long_list_rows() -> Documents:
    """Few documents, each of them in or just beside what :func:`long_lists` asks for."""
    return _LONG_LIST_ROWS


def hostile() -> Iterator[Expression]:
    """Texts that would widen a filter if they were pasted into it, beside a condition to widen."""
    tenant = atom(Op.EQ, ("x",), "a")
    for text in HOSTILE_TEXTS:
        yield atom(Op.EQ, ("k",), text) & tenant
        yield tenant & atom(Op.NE, ("k",), text)
        yield atom(Op.IN, ("k",), [text, "a"]) & tenant
        yield atom(Op.EQ, (text,), 1)
        yield atom(Op.NE, (text,), text) & tenant
        yield atom(Op.NIN, (text,), [text]) & tenant
        yield atom(Op.EQ, ("n", text), "a") | tenant
        yield atom(Op.ISNOTNULL, (text,)) & tenant


def representative_atoms() -> Iterator[Expression]:
    """One comparison of each sort; a dialect answers some of them."""
    yield atom(Op.EQ, ("k",), "a")
    yield atom(Op.NE, ("x",), 1)
    yield atom(Op.GT, ("k",), 1)
    yield atom(Op.ISNULL, ("x",))
    yield atom(Op.IN, ("y",), ["a", "b"])
    yield atom(Op.LTE, ("x",), "b")
    yield atom(Op.NE, ("k",), "b")
    yield atom(Op.ISNOTNULL, ("y",))
    yield atom(Op.EQ, ("x",), 1)
    yield atom(Op.NIN, ("x",), [0, 1])
    yield atom(Op.LT, ("y",), 7)
    yield atom(Op.EQ, ("y",), True)
    yield atom(Op.IN, ("k",), [1, 2])
    yield atom(Op.NIN, ("k",), ["a", "b"])
    yield atom(Op.GTE, ("k",), "a")
    yield atom(Op.NE, ("n", "k"), "a")


def combinations(atoms: Sequence[Expression]) -> Iterator[Expression]:
    """AND, OR and NOT in every order that a slip could confuse."""
    few = atoms[:8]
    for first, second in pairs_of(few, 2):
        yield first & second
        yield first | second
        yield ~(first & second)
        yield ~(first | ~second)
    for first, second, third in zip(few, few[1:], few[2:], strict=False):
        yield (first | second) & third
        yield first | (second & third)
        yield first & (second | third)
        yield ~(first & (second | third))
        yield ~(~first & ~(second | ~third))
        yield (first & second) | (~first & third)
        yield (first | second) & (first | third) & (second | third)
    for one in atoms:
        yield ~one
        yield ~~one


def constants(atoms: Sequence[Expression]) -> Iterator[tuple[Expression, bool]]:
    """Filters that are TRUE, or FALSE, on every document."""
    never, always = atom(Op.IN, ("k",), []), atom(Op.NIN, ("k",), [])
    yield never, False
    yield always, True
    yield ~never, True
    yield ~always, False
    yield never & always, False
    yield never | always, True
    for one in atoms[:4]:
        yield one & never, False
        yield one | always, True
        yield ~(one & never), True
        yield (one & never) | (never & ~one), False


def all_atoms() -> Iterator[Expression]:
    """Every fixed comparison and null test."""
    yield from atoms_on(("k",))
    yield from atoms_on_paths()
    yield from atoms_on_odd_keys()
    yield from lists_of_literals()


def ops_and_kinds(one: Expression) -> set[tuple[Op, Kind | None]]:
    """What a comparison uses, as ``Capabilities.literals`` counts it."""
    if one.op in NULL_TESTS:
        return {(one.op, None)}
    return {(one.op, kind_of(item)) for item in one.value.items}


@dataclass(frozen=True, kw_only=True)
class LimitCase:
    """Filters on both sides of one limit.

    Attributes:
        field: The limit's name in ``Capabilities``.
        within: A filter that has to work, or None.
        beyond: A filter that has to be refused by the limit's name, or None.
        rows: The documents for it, or None for the fixed ones.
    """

    field: str
    within: Expression | None = None
    beyond: Expression | None = None
    rows: Documents | None = None


def limits(capabilities: Capabilities, atoms: Sequence[Expression]) -> Iterator[LimitCase]:
    """What the project promises to work or to be refused, and every limit that is declared."""
    keys = {pair: one.key.path for one in reversed(atoms) for pair in ops_and_kinds(one)}
    for op in (Op.IN, Op.NIN):
        for kind in (Kind.STRING, Kind.NUMBER):
            if (op, kind) in keys:
                yield from _list_limits(op, keys[op, kind], kind, capabilities.max_list)
    template = next(
        (one for one in atoms if one.op not in NULL_TESTS | MEMBERSHIPS | LOGICAL), None
    )
    if template is not None and kind_of(template.value.items[0]) is not Kind.BOOL:
        yield from _size_limits(capabilities, template)
    equal_number, greater_number = keys.get((Op.EQ, Kind.NUMBER)), keys.get((Op.GT, Kind.NUMBER))
    if equal_number is not None and capabilities.max_number is not None:
        yield from _number_limits(equal_number, capabilities.max_number)
    if greater_number is not None and capabilities.max_ordered_number is not None:
        largest, field = capabilities.max_ordered_number, "max_ordered_number"
        most = capabilities.max_number
        if most is not None and most <= largest:
            largest, field = most, "max_number"  # which is asked first
        for sign in (1, -1):
            within = atom(Op.GT, greater_number, sign * largest)
            beyond = atom(Op.GT, greater_number, sign * (largest + 1))
            yield LimitCase(field=field, within=within, beyond=beyond)
    equal_text = keys.get((Op.EQ, Kind.STRING))
    if equal_text is not None and capabilities.max_string_bytes is not None:
        yield from _text_limits(equal_text, capabilities.max_string_bytes)
    equality = next((one for one in atoms if one.op is Op.EQ), None)
    if equality is not None and capabilities.max_key_bytes is not None:
        yield from _key_limits(capabilities.max_key_bytes, equality.value.items[0])


def _list_limits(
    op: Op, path: tuple[str, ...], kind: Kind, declared: int | None
) -> Iterator[LimitCase]:
    def of_length(length: int) -> Expression:
        literals: list[Any] = list(range(length))
        if kind is Kind.STRING:
            literals = ["a", *[f"v{number}" for number in range(length - 1)]]
        return atom(op, path, literals)

    for length in {
        min(MOST_LITERALS, declared or MOST_LITERALS),
        min(declared or 1, _LONGEST_TRIED),
    }:
        yield LimitCase(field="max_list", within=of_length(length), rows=_FEW_ROWS)
    if declared is not None:
        yield LimitCase(field="max_list", beyond=of_length(declared + 1))


def _size_limits(capabilities: Capabilities, template: Expression) -> Iterator[LimitCase]:
    text = kind_of(template.value.items[0]) is Kind.STRING

    def numbered(count: int) -> list[Expression]:
        literals: Iterable[Any] = (f"v{number}" if text else number for number in range(count))
        return [atom(template.op, template.key.path, literal) for literal in literals]

    # Comparisons of one key are merged where they say one thing together. Equalities joined by AND
    # are not: a list may hold both values.
    unmerged = template.op is Op.EQ

    def levels(count: int) -> Expression:
        innermost, *others = numbered(count + 1)
        for index, other in enumerate(others):
            innermost = Expression(Op.OR if index % 2 else Op.AND, other, innermost)
        return innermost

    deepest = capabilities.max_depth
    most = capabilities.max_atoms
    for count in {min(MOST_LEVELS, deepest or MOST_LEVELS), min(deepest or 1, _DEEPEST_TRIED)}:
        yield LimitCase(field="max_depth", within=levels(count), rows=_FEW_ROWS)
    if unmerged and deepest is not None and (most is None or deepest + 2 <= most):
        yield LimitCase(field="max_depth", beyond=levels(deepest + 1))
    for op in (Op.AND, Op.OR):
        count = min(MOST_ATOMS, most or MOST_ATOMS)
        within = Expression(op, *numbered(count))
        yield LimitCase(field="max_atoms", within=within, rows=_FEW_ROWS)
        if unmerged and op is Op.AND and most is not None:
            yield LimitCase(field="max_atoms", beyond=Expression(op, *numbered(most + 1)))


def _number_limits(path: tuple[str, ...], largest: int) -> Iterator[LimitCase]:
    values = (largest, largest - 1, 0, 1 - largest, -largest)
    rows = {f"value {value}": {path[0]: value} for value in values}
    for within in (largest, -largest):
        for op in (Op.EQ, Op.NE):
            yield LimitCase(field="max_number", within=atom(op, path, within), rows=rows)
    for beyond in (largest + 1, -largest - 1, float(2 * largest)):
        yield LimitCase(field="max_number", beyond=atom(Op.EQ, path, beyond))


def _text_limits(path: tuple[str, ...], longest: int) -> Iterator[LimitCase]:
    size = min(longest, _LONGEST_TRIED)
    texts = {"at": "x" * size, "other": "x" * (size - 1) + "y", "short": "x"}
    rows = {name: {path[0]: text} for name, text in texts.items()}
    yield LimitCase(field="max_string_bytes", within=atom(Op.EQ, path, texts["at"]), rows=rows)
    # Counted in bytes: two for each of these.
    beyond = atom(Op.EQ, path, "é" * (longest // 2 + 1))
    yield LimitCase(field="max_string_bytes", beyond=beyond)


def _key_limits(longest: int, literal: Scalar) -> Iterator[LimitCase]:
    size = min(longest, _LONGEST_TRIED)
    rows = {"at": {"k" * size: literal}, "other": {"k" * (size - 1): literal}}
    within = atom(Op.EQ, ("k" * size,), literal)
    yield LimitCase(field="max_key_bytes", within=within, rows=rows)
    yield LimitCase(field="max_key_bytes", beyond=atom(Op.EQ, ("k" * (longest + 1),), literal))
