"""The kit itself: it passes a right dialect, and says what is wrong with a wrong one."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.dialects.conformance.memory import Memory, NaiveRows
from vecstore import Capabilities, Compiled, Expression, F, Key, Op, UnsupportedFilterError, Value
from vecstore.filter.normalize import NEGATION
from vecstore.filter.tree import ORDERINGS
from vecstore.installing import install_line
from vecstore.testing import ConformanceError, DialectSuite, Documents, Domain
from vecstore.testing.reading import Reading

ROOT = Path(__file__).parents[2]


class MemorySuite(DialectSuite):
    """Not collected: its name does not begin with Test."""

    dialect: Any = Memory()
    trees = 60
    engine = NaiveRows()

    def load(self, rows: Documents) -> None:
        self.engine.load(rows)

    def run(self, compiled: Compiled, rows: Documents) -> set[str]:
        return self.engine.select(compiled)


class QuickRows(NaiveRows):
    """For what is declared and refused, where what filters select is not in question."""

    def _load(self, rows: Documents) -> None:
        super()._load(rows)
        self._reading = Reading(rows)

    def _select(self, query: Any, params: Any) -> set[str]:
        if query is None:
            return set(self._rows)
        return self._reading.selected(Expression.from_dict(query, limits=None))


def suite_of(given: Any, **attributes: Any) -> DialectSuite:
    made = type("Made", (MemorySuite,), {"dialect": given, **attributes})
    return made()


def replace_in(made: type, **methods: Any) -> None:
    """Replace what a class may not declare, for it is the base's own."""
    for name, method in methods.items():
        setattr(made, name, method)


TESTS = [name for name, _ in inspect.getmembers(DialectSuite) if name.startswith("test_")]
QUICK = [name for name in TESTS if name not in ("test_limits", "test_long_lists")]


def failures(suite: DialectSuite, *names: str) -> dict[str, str]:
    """Of the quick tests, or of those named, the ones that fail, each with its report."""
    found = {}
    for name in names or QUICK:
        try:
            getattr(suite, name)()
        except ConformanceError as error:
            found[name] = str(error)
    return found


def report(suite: DialectSuite, name: str) -> str:
    """What one test says, which has to fail."""
    return failures(suite, name)[name]


# --- wrong in meaning -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ForgetsTheAbsent(Memory):
    """What a dialect does that hands ``!=`` to an engine of three-valued logic."""

    def compare(self, atom: Expression) -> Expression:
        return atom if atom.op is not Op.NE else atom & Expression(Op.ISNOTNULL, atom.key)


def test_a_right_dialect_passes() -> None:
    assert failures(suite_of(Memory()), *TESTS) == {}
    assert len(TESTS) == 17


def test_a_wrong_dialect_is_reported_by_its_smallest_case() -> None:
    with pytest.raises(ConformanceError) as caught:
        suite_of(ForgetsTheAbsent()).test_random_filters()
    head, _, report = str(caught.value).partition("\n\n")
    assert re.fullmatch(
        r"memory does not keep the rules: \d+ of the first 60 filters went wrong. "
        "The smallest case:",
        head,
    )
    lines = report.splitlines()
    assert lines[0].startswith("  filter    ")
    assert " != " in lines[0]
    assert "  document  {}" in lines
    assert "  expected  selected: the filter is TRUE on it" in lines
    assert "  got       not selected" in lines


WRONG_NEGATIONS = {
    **{op: op for op in NEGATION},
    Op.GT: Op.LT,
    Op.LT: Op.GT,
    Op.GTE: Op.LTE,
    Op.LTE: Op.GTE,
}


@pytest.mark.parametrize("op", WRONG_NEGATIONS)
def test_a_wrong_negation_is_noticed(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dialects and ``matches`` decide a filter without NOT; the kit reads it with them."""
    monkeypatch.setitem(NEGATION, op, WRONG_NEGATIONS[op])
    text = report(suite_of(Memory()), "test_grouping_and_negation")
    assert "NOT" in text


def test_the_report_in_full() -> None:
    suite = suite_of(ForgetsTheAbsent())
    filter = (F.k == "a") | ~((F.x == "it's") | (F.y > 3))
    rows = {"one": {"k": "b", "y": 1}, "two": {"k": "a"}, "three": {"x": 2, "y": 0}}
    with pytest.raises(ConformanceError) as caught:
        suite.examiner.compare([F.k == "a", filter], rows)
    assert (
        str(caught.value)
        == """memory does not keep the rules: 1 of the first 2 filters went wrong. The smallest case:

  filter    x != ''
  native    {
              "op": "and",
              "operands": [
                {
                  "op": "ne",
                  "key": "x",
                  "value": ""
                },
                {
                  "op": "isnotnull",
                  "key": "x"
                }
              ]
            }
  document  {}
  expected  selected: the filter is TRUE on it
  got       not selected
  found as  k == 'a' OR NOT (x == 'it\\'s' OR y > 3)
            on 1 of 3 documents (one)
"""
    )


def test_most_tests_notice_a_wrong_meaning() -> None:
    noticing = {
        "test_every_operator_with_every_literal",
        "test_grouping_and_negation",
        "test_hostile_text_in_keys_and_values",
        "test_keys_inside_objects",
        "test_not_selects_where_the_filter_is_false",
        "test_odd_keys",
        "test_random_documents",
        "test_random_filters",
    }
    assert set(failures(suite_of(ForgetsTheAbsent()), *noticing)) == noticing


def test_drawn_filters_are_shrunk_by_hypothesis() -> None:
    class Blind(NaiveRows):
        def _select(self, query: Any, params: Any) -> set[str]:
            return set()

    text = report(suite_of(Memory(), engine=Blind()), "test_drawn_filters")
    shown = text.partition("  filter    ")[2].splitlines()[0]
    assert len(shown) < 20, shown


def test_what_needs_more_than_one_document_is_reported_as_it_was_found() -> None:
    class OnlyInCompany(NaiveRows):
        def _select(self, query: Any, params: Any) -> set[str]:
            found = super()._select(query, params)
            return found if len(self._rows) == 1 else set(sorted(found)[1:])

    text = report(
        suite_of(Memory(), engine=OnlyInCompany()), "test_every_operator_with_every_literal"
    )
    assert "\n            on 1 of 235 documents (value-" in text


# --- wrong with the engine --------------------------------------------------------------------


def test_an_engine_that_raises_is_reported_with_the_query() -> None:
    class Fragile(NaiveRows):
        def _select(self, query: Any, params: Any) -> set[str]:
            if "it's" in str(query):
                raise RuntimeError("syntax error near 's")
            return super()._select(query, params)

    text = report(suite_of(Memory(), engine=Fragile()), "test_hostile_text_in_keys_and_values")
    assert "  got       RuntimeError: syntax error near 's" in text
    assert '  filter    "it\'s" == 1\n  native    {\n' in text


def test_ids_that_no_document_has_are_a_fault_of_the_harness() -> None:
    suite = suite_of(Memory(), run=lambda self, compiled, rows: {"nobody"}, load=lambda *_: None)
    with pytest.raises(ConformanceError, match="ids that no document has"):
        suite.test_grouping_and_negation()


def test_a_suite_without_run_says_so() -> None:
    class Bare(DialectSuite):
        dialect = Memory

    with pytest.raises(ConformanceError, match="def run"):
        Bare().test_odd_keys()


def test_a_suite_with_no_dialect_says_so() -> None:
    with pytest.raises(TypeError, match=r"Made.dialect is a Dialect object"):
        suite_of(42).test_odd_keys()


def test_the_dialect_may_be_named_made_or_given() -> None:
    for given in ("pgvector", Memory, Memory()):
        assert suite_of(given).examiner.dialect.name in ("pgvector", "memory")


def test_documents_are_cut_down_to_the_domain() -> None:
    seen: list[Any] = []
    domain = Domain(nested=False, nulls=False, empty_lists=False, integers=(-5, 5))
    suite = suite_of(
        Memory(), domain=domain, load=lambda self, rows: (seen.append(rows), self.engine.load(rows))
    )
    assert failures(suite, "test_random_documents", "test_odd_keys") == {}
    values = [value for rows in seen for one in rows.values() for value in one.values()]
    assert len(values) > 500
    for value in values:
        assert not isinstance(value, dict)
        assert value not in (None, [])
        assert type(value) is not int or -5 <= value <= 5


# --- wrong in what is declared ----------------------------------------------------------------


def without_ordering(self: Any) -> Capabilities:
    literals = {op: kinds for op, kinds in Capabilities().literals.items() if op not in ORDERINGS}
    return Capabilities(literals=literals)


def test_what_is_declared_must_compile() -> None:
    @dataclass(frozen=True, slots=True)
    class Shy(Memory):
        def check(self, atom: Expression) -> None:
            if atom.op is Op.IN and len(atom.value.items) > 2:
                raise self.refuse(atom, "two are enough")

    text = report(suite_of(Shy()), "test_lists_of_literals")
    assert "  expected  a query: the capabilities declare all that the filter uses" in text
    assert "  got       UnsupportedFilterError: memory cannot answer IN on key k: two are" in text
    assert "  document  " not in text
    told = suite_of(
        Shy(), also_refuses=lambda self, atom: atom.op is Op.IN and len(atom.value.items) > 2
    )
    assert failures(told, "test_lists_of_literals") == {}


@dataclass(frozen=True, slots=True)
class Unordered(Memory):
    @property
    def capabilities(self) -> Capabilities:
        return without_ordering(self)


def test_what_is_not_declared_is_left_out_and_refused() -> None:
    assert failures(suite_of(Unordered(), trees=20, engine=QuickRows())) == {}


def test_a_refusal_that_never_comes_is_reported() -> None:
    # The converter refuses by itself; this one answers what it does not declare.
    class Careless(Unordered):
        pass

    replace_in(Careless, _check_atom=lambda self, atom, limits: None)
    text = report(suite_of(Careless()), "test_what_is_not_declared_is_refused")
    assert "  got       a query, although literals rules it out" in text


@pytest.mark.parametrize(
    ("slip", "told"),
    [
        ({"op": Op.EQ}, "the error names Op.EQ where Op.GT was written"),
        ({"key": "other"}, "the error names the key 'other', which is 'k'"),
        ({"dialect": "another"}, "the error names the dialect 'another'"),
        ({"reason": ""}, "the error gives no reason"),
        ({"span": None}, "the error points to no place in the text"),
    ],
)
def test_a_refusal_that_leaves_something_out_is_reported(slip: dict[str, Any], told: str) -> None:
    class Sloppy(Unordered):
        pass

    def refuse_literal(self: Any, atom: Expression, kind: Any) -> UnsupportedFilterError:
        right = {
            "dialect": self.name,
            "op": atom.written_op,
            "key": str(atom.key),
            "reason": "it has no such operator",
            "span": atom.span,
        }
        return UnsupportedFilterError(**{**right, **slip})

    replace_in(Sloppy, _refuse_literal=refuse_literal)
    with pytest.raises(ConformanceError) as caught:
        suite_of(Sloppy()).test_what_is_not_declared_is_refused()
    assert told in str(caught.value)


def test_limits_are_tried_on_both_sides() -> None:
    @dataclass(frozen=True, slots=True)
    class Small(Memory):
        @property
        def capabilities(self) -> Capabilities:
            return Capabilities(
                max_depth=3,
                max_atoms=10,
                max_list=5,
                max_number=1000,
                max_ordered_number=100,
                max_string_bytes=50,
                max_key_bytes=20,
            )

    assert failures(suite_of(Small()), "test_limits") == {}

    @dataclass(frozen=True, slots=True)
    class OneForBoth(Memory):
        @property
        def capabilities(self) -> Capabilities:
            sizes = {"max_depth": 3, "max_atoms": 10, "max_list": 5}
            return Capabilities(max_number=100, max_ordered_number=100, **sizes)

    assert failures(suite_of(OneForBoth()), "test_limits") == {}

    class Boundless(Small):
        pass

    replace_in(Boundless, _check_size=lambda self, root, limits: None)
    text = report(suite_of(Boundless()), "test_limits")
    assert "a query, although max_depth rules it out" in text

    class Unnamed(Small):
        def refuse(self, atom: Any, reason: str, remedy: Any = None) -> UnsupportedFilterError:
            # Zero arguments to super() would mean the class that slots=True has replaced.
            return Memory.refuse(self, atom, reason.partition(" (max_")[0], remedy)

    text = report(suite_of(Unnamed()), "test_limits")
    assert "the reason does not name the limit max_" in text


def test_constants_must_be_told_and_safe() -> None:
    class Untold(Memory):
        def nothing(self) -> Compiled:
            return Compiled(self.name, {"op": "in", "key": "k", "value": []})

    text = report(suite_of(Untold()), "test_constants_are_safe_to_run")
    assert "  expected  (matches_all, matches_nothing) == (False, True)" in text

    class Unsafe(Memory):
        def nothing(self) -> Compiled:
            return Compiled(self.name, {}, matches_nothing=True)

    text = report(suite_of(Unsafe()), "test_constants_are_safe_to_run")
    assert "an empty query, which is for filters that match everything" in text


def test_an_output_that_changes_is_reported() -> None:
    turns = iter(range(10**6))

    class Restless(Memory):
        def finish(self, part: Expression) -> Compiled:
            extra = Expression(Op.NE, Key("never"), Value(f"{next(turns)} times"))
            return Compiled(self.name, (part & extra).to_dict())

    noticed = failures(suite_of(Restless(), trees=20, engine=QuickRows()))
    assert list(noticed) == ["test_compiling_is_repeatable"]


# --- as an outsider uses it -------------------------------------------------------------------

OUTSIDER = """
import pytest
from vecstore import F
from vecstore.testing import Deviation, DialectSuite
from tests.dialects.conformance.memory import Memory
from tests.testing.test_dialect_suite import QuickRows

engine = QuickRows()

class Mine(DialectSuite):
    dialect = Memory
    trees = 30
    deviations = (
        Deviation(
            dialect="memory",
            engine="one that is WRONG about bools",
            filter="k == true",
            document={"k": True},
            reason="an example",
            covers=lambda node: "true" in node.to_text() or "false" in node.to_text(),
        ),
    )

    def load(self, rows):
        engine.load(rows)

class TestStill(Mine):
    def run(self, compiled, rows):
        found = engine.select(compiled)
        return set() if "True" in str(compiled.native) else found

class TestNoMore(Mine):
    def run(self, compiled, rows):
        return engine.select(compiled)
"""


@pytest.fixture(scope="module")
def of_an_outsider(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("outsider")
    (folder / "test_mine.py").write_text(OUTSIDER, "utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-W",
            "error",
            "-p",
            "no:cacheprovider",
            "-q",
            "-rAxX",
            "-k",
            "deviation or lists or grouping",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    return done.stdout + done.stderr


def outcomes_of(output: str, suite: str) -> dict[str, str]:
    """What became of the tests of one class, by the short names."""
    told = re.findall(rf"(?m)^([A-Z]+) test_mine.py::{suite}::(\w+)", output)
    return {name: outcome for outcome, name in told}


RIGHT = {
    "test_grouping_and_negation": "PASSED",
    "test_lists_of_literals": "PASSED",
    "test_long_lists": "PASSED",
}


def test_a_known_deviation_is_an_expected_failure(of_an_outsider: str) -> None:
    outcomes = outcomes_of(of_an_outsider, "TestStill")
    assert outcomes == {**RIGHT, "test_known_deviation": "XFAIL"}, of_an_outsider
    assert "1 xfailed" in of_an_outsider
    assert "an example" in of_an_outsider


def test_a_deviation_that_is_no_more_announces_itself(of_an_outsider: str) -> None:
    outcomes = outcomes_of(of_an_outsider, "TestNoMore")
    assert outcomes == {**RIGHT, "test_known_deviation": "FAILED"}, of_an_outsider
    assert "XPASS(strict)" in of_an_outsider
    assert "1 failed" in of_an_outsider


@pytest.mark.parametrize("missing", ["pytest", "hypothesis"])
def test_without_its_tools_the_kit_says_what_to_install(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; import vecstore.testing"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"vecstore.testing needs {missing}" in done.stderr.splitlines()[-1]
    assert install_line("testing") in done.stderr.splitlines()[-1]
