"""Filters that a dialect answers in part: what it is asked, and what is left to be evaluated."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

import vecstore
from vecstore import (
    Capabilities,
    Compiled,
    Dialect,
    Expression,
    F,
    FilterLimitError,
    FilterTypeError,
    Limits,
    PartialCompiled,
    Schema,
    UnsupportedFilterError,
    compile_filter,
    parse,
)
from vecstore.filter.normalize import simplified
from vecstore.filter.tree import LOGICAL, Op, trusted
from vecstore.testing.random_cases import RandomCases

EVERYTHING = Capabilities()


@dataclass(frozen=True, slots=True)
class Trees(Dialect[Expression]):
    """Answers with the filter itself; refuses some comparisons, and what its limits say."""

    name: ClassVar[str] = "trees"

    limits: Capabilities = EVERYTHING
    one_in: int = 0
    together: int | None = None

    @property
    def capabilities(self) -> Capabilities:
        return self.limits

    def check(self, atom: Expression) -> None:
        if self.one_in and zlib.crc32(atom.to_text().encode()) % self.one_in == 0:
            raise self.refuse(atom, "this test has it refused")

    def all_of(self, parts: list[Expression]) -> Expression:
        if self.together is not None and len(parts) > self.together:
            raise self.refuse(None, "it joins only so many")
        return Expression(Op.AND, *parts)

    def any_of(self, parts: list[Expression]) -> Expression:
        return Expression(Op.OR, *parts)

    def compare(self, atom: Expression) -> Expression:
        return atom

    member = null = compare

    def nothing(self) -> Compiled:
        return Compiled(self.name, None, matches_nothing=True)


def partly(filter: str | Expression, dialect: Any, **options: Any) -> PartialCompiled:
    found = compile_filter(filter, dialect, residual=True, **options)
    assert type(found) is PartialCompiled
    return found


# --- the split ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filter", "asked", "residual", "answered"),
    [
        ("t > 'M'", None, "t > 'M'", ()),
        ("a == 1 AND t > 'M'", "a == 1", "t > 'M'", ("a == 1",)),
        ("t > 'M' AND a == 1 AND b == 2", "a == 1 AND b == 2", "t > 'M'", ("a == 1", "b == 2")),
        # An OR with an inexact part is evaluated whole, and the engine is asked what it can be.
        ("a == 1 OR t > 'M'", None, "a == 1 OR t > 'M'", ()),
        (
            "a == 1 OR t > 'M' AND b == 2",
            "a == 1 OR b == 2",
            "a == 1 OR t > 'M' AND b == 2",
            (),
        ),
        (
            "c == 3 AND (a == 1 OR t > 'M' AND b == 2)",
            "c == 3 AND (a == 1 OR b == 2)",
            "a == 1 OR t > 'M' AND b == 2",
            ("c == 3",),
        ),
        # NOT is pushed down first.
        ("NOT (a != 1 OR t <= 'M')", "a == 1", "t > 'M'", ("a == 1",)),
        ("NOT (a == 1 AND t > 'M')", None, "a != 1 OR t <= 'M'", ()),
        ("a == 1 AND (a == 1 OR t > 'M')", "a == 1", "a == 1 OR t > 'M'", ("a == 1",)),
    ],
)
def test_what_is_asked_and_what_is_left(
    filter: str, asked: str | None, residual: str, answered: tuple[str, ...]
) -> None:
    partial = partly(filter, "qdrant")
    if asked is None:
        assert partial.wider == compile_filter(None, "qdrant")
        assert partial.is_full_scan
    else:
        assert partial.wider == compile_filter(asked, "qdrant")
    assert partial.residual == parse(residual)
    assert tuple([one.to_text() for one in partial.answered]) == answered
    [reason] = partial.refusals
    assert (reason.key, reason.__traceback__) == ("t", None)
    assert reason.span is not None


def test_what_is_answered_whole_is_compiled_as_ever() -> None:
    for filter in (None, "a == 1", "a IN []", "a NOT IN []", F.a > 1):
        assert compile_filter(filter, "qdrant", residual=True) == compile_filter(filter, "qdrant")
    # What folds away is never looked at.
    assert compile_filter("t > 'M' AND a IN []", "qdrant", residual=True).matches_nothing


def test_a_partial_filter_cannot_be_run() -> None:
    partial = partly("t > 'M'", "qdrant")
    assert not isinstance(partial, Compiled)
    for name in ("query", "params", "native"):
        assert not hasattr(partial, name)
    assert partial.matches_all is False
    assert partial.matches_nothing is False
    assert partial.wider.matches_all
    for dialect in ("milvus", "qdrant"):
        text = str(partly("a == 2 AND t IS NULL AND s > 'M'" if dialect == "qdrant" else
                          "a == 2 AND t IS NULL", dialect))  # fmt: skip
        assert text.startswith(f"({dialect} answers ")
        assert "evaluated on each document of these: " in text


def test_random_filters_are_the_wider_one_and_the_rest() -> None:
    parted = everything = 0
    for seed in range(4):
        source = RandomCases(seed)
        rows = source.rows(60)
        for number in range(80):
            filter = source.filter(number % 6)
            dialect = Trees(one_in=number % 4 + 2)
            compiled = compile_filter(filter, dialect, residual=True)
            wanted = {id for id, row in rows.items() if filter.matches(row)}
            if isinstance(compiled, Compiled):
                continue
            parted += 1
            everything += compiled.is_full_scan
            wider = compiled.wider.query
            found = {id for id, row in rows.items() if wider is None or wider.matches(row)}
            assert found >= wanted
            assert {id for id in found if compiled.residual.matches(rows[id])} == wanted
            accepts = compiled.accepts()
            assert {id for id in found if accepts(rows[id])} == wanted
            # No comparison that is refused is asked.
            for node in () if wider is None else wider.walk():
                assert node.op in LOGICAL or zlib.crc32(node.to_text().encode()) % dialect.one_in
    assert parted > 100
    assert 0 < everything < parted


# --- whole filters -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "together"),
    [
        (Capabilities(max_atoms=5), None),
        (Capabilities(max_depth=2), None),
        (EVERYTHING, 2),
        (Capabilities(max_atoms=3, max_depth=1, max_list=2), 3),
    ],
)
def test_a_filter_that_is_too_large_is_asked_as_far_as_it_goes(
    limits: Capabilities, together: int | None
) -> None:
    dialect = Trees(limits=limits, together=together)
    parted = 0
    for seed in range(3):
        source = RandomCases(seed)
        rows = source.rows(40)
        for number in range(60):
            filter = source.filter(number % 5 + 2)
            compiled = compile_filter(filter, dialect, residual=True)
            if isinstance(compiled, Compiled):
                continue
            parted += 1
            wider = compiled.wider.query
            for row in rows.values():
                found = wider is None or wider.matches(row)
                assert (found and compiled.residual.matches(row)) is filter.matches(row)
    assert parted > 20


def test_as_many_parts_are_asked_as_fit() -> None:
    filter = parse(" AND ".join([f"k{n} == {n}" for n in range(20)]))
    partial = partly(filter, Trees(limits=replace(EVERYTHING, max_atoms=12)))
    assert len(partial.wider.query.operands) == 12
    assert len(partial.answered) == 12
    assert len(partial.evaluated) == 8
    assert [reason.op for reason in partial.refusals] == [Op.EQ]
    # Short parts go first: a long one would take the place of many.
    long = "(" + " OR ".join([f"l{n} == {n}" for n in range(11)]) + ")"
    partial = partly(
        f"{long} AND a == 1 AND b == 2", Trees(limits=replace(EVERYTHING, max_atoms=12))
    )
    assert [part.to_text() for part in partial.answered] == ["a == 1", "b == 2"]
    # And in a single OR there is nothing to leave out.
    partial = partly(f"{long} OR m == 1", Trees(limits=replace(EVERYTHING, max_atoms=11)))
    assert partial.is_full_scan


def test_a_part_that_is_too_large_by_itself_is_evaluated() -> None:
    deep: Expression = F.a == 1
    for number in range(5):
        deep = (deep & (F[f"x{number}"] == 1)) | (F[f"y{number}"] == 1)
    partial = partly(deep & (F.n == 1), Trees(limits=replace(EVERYTHING, max_depth=4)))
    assert partial.wider.query == (F.n == 1)
    assert partial.evaluated == (deep,)


def test_the_work_of_a_split_is_not_squared() -> None:
    """The parts of a long filter are not compiled again for each of them."""
    asked: list[int] = []

    @dataclass(frozen=True, slots=True)
    class Counting(Trees):
        name: ClassVar[str] = "counting"

        def convert(self, expression: Expression) -> Compiled:
            asked.append(sum(1 for _ in expression.walk()))
            return Trees.convert(self, expression)

    dialect = Counting(limits=replace(EVERYTHING, max_atoms=700))
    filter = parse(" AND ".join([f"k{n} == {n}" for n in range(1_000)]))
    partial = partly(filter, dialect)
    assert len(partial.answered) == 700
    assert sum(asked) < 25_000


def test_a_filter_as_deep_as_memory_allows() -> None:
    node: Expression = F.t > "M"
    for number in range(3_000):
        joined = Op.AND if number % 2 else Op.OR
        node = trusted(joined, (node, F[f"k{number % 7}"] == number))
    partial = partly(node, "qdrant", limits=None)
    assert partial.residual.op in LOGICAL


# --- what is never evaluated ---------------------------------------------------------------------


def test_other_errors_stay_errors() -> None:
    schema = Schema({"year": int, "title": str})
    with pytest.raises(FilterTypeError, match="yaer"):
        compile_filter("yaer > 1 AND title > 'M'", "qdrant", residual=True, schema=schema)
    with pytest.raises(FilterTypeError):
        compile_filter("year == 'x' AND title > 'M'", "qdrant", residual=True, schema=schema)
    with pytest.raises(FilterLimitError):
        compile_filter("t > 'M' AND a == 1", "qdrant", residual=True, limits=Limits(nodes=2))
    with pytest.raises(vecstore.FilterSyntaxError):
        compile_filter("t >", "qdrant", residual=True)
    partial = partly("title > 'M' AND year == 2020", "qdrant", schema=schema)
    assert partial.residual.to_text() == "title > 'M'"


def test_what_a_store_calls_a_mistake_is_not_evaluated() -> None:
    @dataclass(frozen=True, slots=True)
    class Strict(Trees):
        name: ClassVar[str] = "strict"

        def check(self, atom: Expression) -> None:
            error = self.refuse(atom, "no metadata is there")
            error.evaluable = atom.key.path != ("id",)
            if atom.key.path[0] in ("id", "t"):
                raise error

    assert partly("t == 1 AND a == 1", Strict()).residual.to_text() == "t == 1"
    with pytest.raises(UnsupportedFilterError, match="key id"):
        compile_filter("t == 1 AND id == 1", Strict(), residual=True)


def test_what_the_engine_knows_to_match_nothing_needs_no_second_look() -> None:
    @dataclass(frozen=True, slots=True)
    class Knowing(Trees):
        name: ClassVar[str] = "knowing"

        def check(self, atom: Expression) -> None:
            if atom.key.path == ("t",):
                raise self.refuse(atom, "this test has it refused")

        def finish(self, part: Expression) -> Compiled:
            never = any(node == (F.a == 1) for node in part.walk())
            return self.nothing() if never else Compiled(self.name, part)

    assert partly("t == 1 AND a == 2", Knowing()).residual.to_text() == "t == 1"
    compiled = compile_filter("t == 1 AND a == 1", Knowing(), residual=True)
    assert type(compiled) is Compiled
    assert compiled.matches_nothing


def test_residual_is_true_or_false() -> None:
    wrong: Callable[..., Any] = compile_filter
    with pytest.raises(TypeError, match="residual is True or False here"):
        wrong("t > 'M'", "qdrant", residual="evaluate")
    with pytest.raises(UnsupportedFilterError):
        compile_filter("t > 'M'", "qdrant", residual=False)


def test_the_split_of_a_constant_is_the_refusal() -> None:
    """A scope that the engine does not take is no reason to evaluate what is joined to it."""
    from vecstore.filter.residual import split

    error = UnsupportedFilterError(dialect="x", reason="no")

    def never(part: Expression) -> Any:
        raise error

    with pytest.raises(UnsupportedFilterError) as caught:
        split(F.a.not_in([]), error, never, "x", within=F.b == 1)
    assert caught.value is error
    with pytest.raises(UnsupportedFilterError):
        split(F.a == 1, error, never, "x", within=F.b == 1)
    assert isinstance(simplified(F.a.not_in([])), bool)
