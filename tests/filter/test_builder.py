from __future__ import annotations

import copy
import pickle
from datetime import date
from uuid import UUID

import numpy as np
import pytest

from vecstore import Expression, F, FilterBuilder, FilterTypeError, Key, Op, Value

b = FilterBuilder()


@pytest.mark.parametrize(
    ("fluent", "built", "raw"),
    [
        (F.a == 1, b.eq("a", 1), Expression(Op.EQ, Key("a"), Value(1))),
        (F.a != "x", b.ne("a", "x"), Expression(Op.NE, Key("a"), Value("x"))),
        (F.a > 1, b.gt("a", 1), Expression(Op.GT, Key("a"), Value(1))),
        (F.a >= 1, b.gte("a", 1), Expression(Op.GTE, Key("a"), Value(1))),
        (F.a < "x", b.lt("a", "x"), Expression(Op.LT, Key("a"), Value("x"))),
        (F.a <= 1, b.lte("a", 1), Expression(Op.LTE, Key("a"), Value(1))),
        (F.a.in_([1, "x"]), b.in_("a", [1, "x"]), Expression(Op.IN, Key("a"), Value([1, "x"]))),
        (F.a.not_in([1]), b.nin("a", [1]), Expression(Op.NIN, Key("a"), Value([1]))),
        (F.a.is_null(), b.is_null("a"), Expression(Op.ISNULL, Key("a"))),
        (F.a.is_not_null(), b.is_not_null("a"), Expression(Op.ISNOTNULL, Key("a"))),
        (~(F.a == 1), b.not_(b.eq("a", 1)), Expression(Op.NOT, F.a == 1)),
        (
            (F.a == 1) & (F.b == 2) & (F.c == 3),
            b.and_(b.eq("a", 1), b.and_(b.eq("b", 2), b.eq("c", 3))),
            Expression(Op.AND, F.a == 1, F.b == 2, F.c == 3),
        ),
        (
            ((F.a == 1) | (F.b == 2)) & (F.c == 3),
            b.and_(b.group(b.or_(b.eq("a", 1), b.eq("b", 2))), b.eq("c", 3)).build(),
            Expression(Op.AND, Expression(Op.OR, F.a == 1, F.b == 2), F.c == 3),
        ),
        (
            F.a == date(2024, 1, 1),
            b.eq("a", "2024-01-01"),
            Expression(Op.EQ, Key("a"), Value("2024-01-01")),
        ),
        (F.a == np.int64(3), b.eq("a", 3), Expression(Op.EQ, Key("a"), Value(3))),
        (
            F.a == UUID(int=0),
            b.eq("a", str(UUID(int=0))),
            Expression(Op.EQ, Key("a"), Value(UUID(int=0))),
        ),
    ],
)
def test_three_entries_make_one_tree(
    fluent: Expression, built: Expression, raw: Expression
) -> None:
    assert fluent == built == raw


def test_paths_and_odd_names() -> None:
    assert (F.a.b == 1).key == (F["a"]["b"] == 1).key == (F.a["b"] == 1).key == Key("a", "b")
    assert (F["a.b"] == 1).key == b.eq("a.b", 1).key == Key("a.b")
    assert b.eq(Key("a", "b"), 1) == b.eq(F.a.b, 1) == (F.a.b == 1)  # type: ignore[arg-type]
    assert (F["in_"] == 1).key == Key("in_")
    assert (F.name == 1).key == Key("name")
    assert (F.key == 1).key == Key("key")


@pytest.mark.parametrize(
    "values", [[2, 1], (2, 1), iter([2, 1]), dict.fromkeys([2, 1]).keys(), range(2, 0, -1)]
)
def test_in_takes_any_iterable_in_its_order(values: object) -> None:
    assert F.a.in_(values).value.value == (2, 1)  # type: ignore[arg-type]


def test_in_takes_sets_and_arrays() -> None:
    assert F.a.in_({"b", "a"}).value.value == ("a", "b")
    assert F.a.not_in(np.array([1.5, 2.0])).value.value == (1.5, 2.0)
    assert F.a.in_([]).value.value == ()


@pytest.mark.parametrize("values", ["abc", b"abc", 5, None, {"a": 1}, F.b])
def test_in_refuses_what_is_no_list(values: object) -> None:
    for attempt in (lambda: F.a.in_(values), lambda: b.nin("a", values)):  # type: ignore[arg-type]
        with pytest.raises(FilterTypeError, match="list of values"):
            attempt()


@pytest.mark.parametrize(
    ("slip", "says"),
    [
        (lambda: bool(F.x), "is_not_null"),
        (lambda: "a" in F.tags, r"F\[\.\.\.\] == 'a'"),
        (lambda: list(F), "cannot be iterated"),
        (lambda: list(F.x), "iterate"),
        (lambda: F.x == F.y, "not with another key"),
        (lambda: F.x > F.y, "not with another key"),
        (lambda: F[0], r"F\['0'\]"),
        (lambda: F.x[0], "position"),
        (lambda: F[None], "text"),
        (lambda: 1 < F.x < 5, "chained"),
        (lambda: (F.x == 1) and (F.y == 2), "&"),
        (lambda: F.x == 1 & F.y, "parentheses"),
        (lambda: F.x & F.y, "parentheses"),
        (lambda: ~F.x, "negates a filter"),
        (lambda: F.x.startswith("a"), "taken as a key"),
        (lambda: setattr(F, "x", 1), "assigned"),
        (lambda: setattr(F.a, "x", 1), "assigned"),
        (lambda: bool(F), "no truth value"),
        (lambda: "x" in F, "is_not_null"),
        (lambda: hash(F.x), "unhashable"),
        (lambda: F[10**5000], "position"),
        (lambda: 10**5000 in F.x, "into a bool"),
        (lambda: setattr(F, "x", 10**5000), "assigned"),
        (lambda: setattr(F.a, "x", 10**5000), "assigned"),
    ],
)
def test_slips_are_type_errors_with_the_right_spelling(slip: object, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        slip()  # type: ignore[operator]


def test_null_and_unorderable_literals_are_refused_when_built() -> None:
    with pytest.raises(FilterTypeError, match="is_null"):
        F.x == None  # noqa: E711
    with pytest.raises(FilterTypeError, match="is_not_null"):
        F.x != None  # noqa: E711
    with pytest.raises(FilterTypeError, match="IS NULL"):
        b.eq("x", None)
    with pytest.raises(FilterTypeError, match="orders"):
        F.x > True
    with pytest.raises(FilterTypeError, match="write IN"):
        F.x == [1, 2]


def test_fields_survive_copying() -> None:
    for again in (copy.copy(F.a.b), copy.deepcopy(F.a.b), pickle.loads(pickle.dumps(F.a.b))):
        assert (again == 1).key == Key("a", "b")
    assert pickle.loads(pickle.dumps(F)) is F
    assert repr(F.a["b c"]) == "F['a']['b c']"
