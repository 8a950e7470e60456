"""The conformance suite: one class that proves a dialect on its engine."""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from vecstore.filter.convert import Compiled
from vecstore.filter.tree import Expression, Op
from vecstore.grammar.parser import parse
from vecstore.schema.schema import Schema
from vecstore.testing import cases
from vecstore.testing.examiner import Deviation, Examiner, dialect_of
from vecstore.testing.of_schema import SchemaCases, atoms_of, drawn_filters, within
from vecstore.testing.report import ConformanceError, summary
from vecstore.testing.rows import ANYTHING, Documents, Domain, oracle_rows
from vecstore.testing.strategies import filters

# A third of what the profile asks for: each example is a call to the engine.
_DRAWN = max(20, settings().max_examples // 3)


class DialectSuite:
    """Subclass it, name the dialect, say how to run a query: pytest does the rest.

    Attributes:
        dialect: A dialect object, a dialect class that needs no options, or a registered name.
        domain: What the engine can hold; the documents are cut down to it.
        deviations: Known differences; see :class:`Deviation`.
        trees: How many random filters are tried.
        seed: Of the random filters and documents.

    Example:
        A whole conformance test::

            class TestSqlite(DialectSuite):
                dialect = Sqlite()
                domain = Domain(integers=(-(2**63), 2**63 - 1))

                def load(self, rows):
                    type(self).database = sqlite3.connect(":memory:")
                    self.database.execute("CREATE TABLE docs (id, metadata)")
                    pairs = [(name, json.dumps(metadata)) for name, metadata in rows.items()]
                    self.database.executemany("INSERT INTO docs VALUES (?, ?)", pairs)

                def run(self, compiled, rows):
                    sql = f"SELECT id FROM docs WHERE {compiled.query}"
                    return {row[0] for row in self.database.execute(sql, compiled.params)}
    """

    dialect: ClassVar[Any]
    domain: ClassVar[Domain] = ANYTHING
    deviations: ClassVar[tuple[Deviation, ...]] = ()
    trees: ClassVar[int] = 300
    seed: ClassVar[int] = 1

    # Shared by the tests of one subclass, each of which runs on an instance of its own.
    _fixed_rows: ClassVar[Documents | None] = None
    _loaded: ClassVar[Documents | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._fixed_rows = cls._loaded = None
        if cls.deviations:
            cls.test_known_deviation = _expected_failures(cls.deviations)  # type: ignore[attr-defined]

    # --- what a subclass says ---------------------------------------------------------------

    def run(self, compiled: Compiled, rows: Documents) -> set[str]:
        """Run the native query on the documents; the ids of those it selects.

        A filter that is TRUE everywhere (``compiled.matches_all``) comes here too.
        """
        raise NotImplementedError("say how a compiled filter is run: def run(self, compiled, rows)")

    def load(self, rows: Documents) -> None:
        """Put the documents where ``run`` finds them; called only when they have changed.

        What it keeps belongs on the class (``type(self).connection = ...``): pytest makes a new
        instance for every test.
        """

    def also_refuses(self, atom: Expression) -> bool:
        """Whether the dialect refuses a comparison for a reason that is not in its capabilities.

        Needed by dialects that override ``check``: say here, in other words, what it refuses.
        """
        return False

    @cached_property
    def examiner(self) -> Examiner:
        """What compares the engine with the oracle; for further tests of a subclass."""
        return Examiner(
            dialect_of(self),
            self.run,
            load=self._load_once,
            domain=self.domain,
            deviations=self.deviations,
            also_refuses=self.also_refuses,
        )

    @property
    def rows(self) -> Documents:
        """The fixed documents, as far as the engine can hold them."""
        cls = type(self)
        if cls._fixed_rows is None:
            cls._fixed_rows = self.examiner.fit(oracle_rows())
        return cls._fixed_rows

    def _load_once(self, rows: Documents) -> None:
        cls = type(self)
        if cls._loaded is not rows:
            cls._loaded = None
            self.load(rows)
            cls._loaded = rows

    # --- what is tested ---------------------------------------------------------------------

    def test_every_operator_with_every_literal(self) -> None:
        """One key, all operators, about a hundred literals."""
        self.examiner.compare(cases.atoms_on(("k",)), self.rows)

    def test_keys_inside_objects(self) -> None:
        """Paths step into objects, and into nothing else."""
        self.examiner.compare(cases.atoms_on_paths(), self.rows)

    def test_odd_keys(self) -> None:
        """Keys that the engine's own syntax could take for something else."""
        self.examiner.compare(cases.atoms_on_odd_keys(), self.rows)

    def test_lists_of_literals(self) -> None:
        """IN and NOT IN with lists of one kind, of several, with duplicates, and long ones."""
        self.examiner.compare(cases.lists_of_literals(), self.rows)

    def test_long_lists(self) -> None:
        """IN and NOT IN with 1,000 and 10,000 literals: texts, numbers, and all kinds at once."""
        examiner = self.examiner
        filters = cases.long_lists(examiner.dialect.capabilities)
        examiner.compare(filters, examiner.fit(cases.long_list_rows()), shrinking=False)

    def test_hostile_text_in_keys_and_values(self) -> None:
        """A text from a stranger never widens a filter."""
        self.examiner.compare(cases.hostile(), self.rows)

    def test_grouping_and_negation(self) -> None:
        """AND, OR and NOT in every order that a slip could confuse."""
        self.examiner.compare(cases.combinations(self.examiner.atoms()), self.rows)

    def test_random_filters(self) -> None:
        """Trees up to six levels deep, on the fixed documents."""
        source, depth = self.examiner.cases(self.seed), self.examiner.depth
        self.examiner.compare((source.filter(depth) for _ in range(self.trees)), self.rows)

    def test_random_documents(self) -> None:
        """The same on 150 random documents."""
        source, depth = self.examiner.cases(self.seed + 1), self.examiner.depth
        rows = source.rows(150)
        self.examiner.compare((source.filter(depth) for _ in range(self.trees // 5)), rows)

    @settings(max_examples=_DRAWN, deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def test_drawn_filters(self, data: st.DataObject) -> None:
        """Filters drawn by hypothesis, which looks in other corners and shrinks by itself."""
        capabilities, depth = self.examiner.dialect.capabilities, min(4, self.examiner.depth)
        filter = data.draw(filters(capabilities, max_depth=depth))
        assume(self.examiner.comparable(filter))
        self.examiner.compare([filter], self.rows, shrinking=False)

    def test_not_selects_where_the_filter_is_false(self) -> None:
        """NOT of a random filter: neither the rows it selects nor those it cannot decide."""
        source, depth = self.examiner.cases(self.seed + 2), min(3, self.examiner.depth)
        trees = (Expression(Op.NOT, source.filter(depth)) for _ in range(self.trees // 3))
        self.examiner.compare(trees, self.rows)

    def test_a_further_condition_never_adds_documents(self) -> None:
        """What ``f AND g`` selects, ``f`` selects."""
        examiner, rows = self.examiner, self.rows
        source, depth = examiner.cases(self.seed + 3), max(0, min(3, examiner.depth - 1))
        for _ in range(self.trees // 10):
            first, second = source.filter(depth), source.filter(depth)
            both = first & second
            if not examiner.comparable(both):
                continue
            added = examiner.answer(both, rows) - examiner.answer(first, rows)
            if added:
                examiner.fail(
                    both,
                    f"a part of what the first half selects: {first.to_text()}",
                    f"{summary(added, rows)} more",
                )

    def test_constants_are_safe_to_run(self) -> None:
        """Filters that are TRUE or FALSE everywhere, as they are and as the flags tell."""
        for filter, constant in cases.constants(self.examiner.atoms()):
            compiled = self.examiner.dialect.compile(filter)
            flags = (compiled.matches_all, compiled.matches_nothing)
            if flags != (constant, not constant):
                wanted = f"(matches_all, matches_nothing) == {(constant, not constant)}"
                self.examiner.fail(filter, wanted, str(flags))
            self.examiner.compare([filter], self.rows)
        if not self.examiner.dialect.compile(None).matches_all:
            raise ConformanceError("compile(None), which is no filter, must match everything")

    def test_what_is_declared_compiles(self) -> None:
        """No refusal by surprise, and nothing declared that no filter can reach."""
        declared = {
            (op, kind)
            for op, kinds in self.examiner.dialect.capabilities.literals.items()
            for kind in (kinds or [None])
        }
        for atom in cases.all_atoms():
            if self.examiner.refusal(atom) is None:
                self.examiner.dialect.compile(atom)
                declared -= cases.ops_and_kinds(atom)
        if declared:
            names = sorted(f"{op.symbol} {kind.value if kind else ''}" for op, kind in declared)
            raise ConformanceError(f"declared, but refused with every literal tried: {names}")

    def test_what_is_not_declared_is_refused(self) -> None:
        """With dialect, operator, key and reason, and the place in the text."""
        examiner = self.examiner
        allowed = examiner.atoms()
        for atom in cases.all_atoms():
            field = examiner.refusal(atom)
            if field is not None:
                examiner.must_refuse(atom, atom, field)
                # Of another key: what one key makes impossible is decided before it is refused.
                others = (one for one in allowed if one.key.path != atom.key.path)
                for one in islice(others, 1):
                    examiner.must_refuse(one & atom, atom, field)
            negated = Expression(Op.NOT, atom)
            field = examiner.refusal(negated)
            if field is not None:
                examiner.must_refuse(negated, atom, field)

    def test_limits(self) -> None:
        """10,000 literals, 64 levels, 5,000 comparisons, and both sides of every declared limit."""
        examiner = self.examiner
        for case in cases.limits(examiner.dialect.capabilities, examiner.atoms()):
            rows = self.rows if case.rows is None else examiner.fit(case.rows)
            if case.within is not None:
                examiner.compare([case.within], rows, shrinking=False)
            if case.beyond is not None:
                examiner.must_refuse(case.beyond, None, case.field)

    def test_compiling_is_repeatable(self) -> None:
        """One output for one filter, from the tree and from its text."""
        source, depth = self.examiner.cases(self.seed + 4), self.examiner.depth
        # A tree of comparisons that compile can still be more than the dialect takes.
        whole = filter(self.examiner.comparable, iter(lambda: source.filter(depth), None))
        for tree in islice(whole, 20):
            text = tree.to_text()
            compiled = [self.examiner.dialect.compile(one) for one in (tree, tree, parse(text))]
            shown = {str(one) for one in compiled}
            if len(shown) != 1 or tree.to_text() != text:
                self.examiner.fail(tree, "one output", "\n".join(sorted(shown)))


class SchemaDialectSuite(DialectSuite):
    """The same for a dialect that is told by a schema what the keys hold.

    The documents of all tests are cut down to what the schema declares, and further ones are made
    of it, with filters that it takes.

    Attributes:
        schema: What the dialect is made with.

    Example:
        Beside what :class:`DialectSuite` wants::

            class TestSqliteOfBooks(SchemaDialectSuite):
                schema = Schema({"year": int, "tags": list[str]})
                dialect = Sqlite(schema=schema)
                ...
    """

    schema: ClassVar[Schema]

    def __init_subclass__(cls, **options: Any) -> None:
        if "schema" in vars(cls) or "domain" in vars(cls):
            schema = getattr(cls, "schema", None)
            if schema is not None:
                cls.domain = within(cls.domain, schema)
        super().__init_subclass__(**options)

    @property
    def rows(self) -> Documents:
        """The fixed documents that fit the schema, and a hundred that are made of it."""
        cls = type(self)
        if cls._fixed_rows is None:
            made = SchemaCases(self.schema, self.seed, domain=self.domain).rows(100)
            cls._fixed_rows = {**super().rows, **made}
        return cls._fixed_rows

    def fitting(self, seed: int) -> SchemaCases:
        """Filters that the schema takes and the dialect has to answer, and documents."""
        examiner = self.examiner
        return SchemaCases(self.schema, seed, allows=examiner.comparable, domain=examiner.domain)

    def test_every_operator_on_every_declared_key(self) -> None:
        """With values of all its kind's corners."""
        self.examiner.compare(atoms_of(self.schema), self.rows)

    def test_random_filters_on_documents_of_the_schema(self) -> None:
        """Trees of filters that the schema takes, on 150 documents that fit it."""
        source, depth = self.fitting(self.seed), min(4, self.examiner.depth)
        rows = source.rows(150)
        filters = [source.filter(depth) for _ in range(self.trees)]
        for filter in filters:
            self.schema.check(filter)
        self.examiner.compare(filters, rows)

    @settings(max_examples=_DRAWN, deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def test_drawn_filters_of_the_schema(self, data: st.DataObject) -> None:
        """Filters drawn by hypothesis, on the same documents."""
        depth = min(3, self.examiner.depth)
        filter = data.draw(drawn_filters(self.schema, lambda atom: True, depth))
        assume(self.examiner.comparable(filter))
        self.examiner.compare([filter], self.rows, shrinking=False)


def _expected_failures(deviations: tuple[Deviation, ...]) -> Any:
    """A test that fails, strictly expected to, for each known deviation."""

    def test_known_deviation(self: DialectSuite, deviation: Deviation) -> None:
        rows = {"document": dict(deviation.document)}
        finding = self.examiner.examine(parse(deviation.filter), rows)
        if finding is not None:
            raise ConformanceError(str(finding))

    params = [
        pytest.param(
            one,
            marks=pytest.mark.xfail(raises=ConformanceError, strict=True, reason=one.reason),
            id=f"{one.engine}: {one.filter}",
        )
        for one in deviations
    ]
    return pytest.mark.parametrize("deviation", params)(test_known_deviation)
