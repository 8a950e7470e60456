"""Holding one dialect, on one engine, against the rules: compare, refuse, report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from vecstore.dialects.base import Dialect
from vecstore.dialects.registry import get_dialect
from vecstore.errors import FilterError, UnsupportedFilterError
from vecstore.filter.convert import Compiled
from vecstore.filter.normalize import simplify
from vecstore.filter.tree import Expression
from vecstore.testing.cases import representative_atoms
from vecstore.testing.declared import atom_refusal, tree_refusal
from vecstore.testing.random_cases import RandomCases
from vecstore.testing.reading import Reading
from vecstore.testing.report import ConformanceError, Finding, summary, verdict
from vecstore.testing.rows import ANYTHING, Documents, Domain
from vecstore.testing.shrink import shrink

Run = Callable[[Compiled, Documents], set[str]]

_MOST_FINDINGS = 20
# Larger cases would keep the shrinker busy for longer than a reader is willing to wait.
_MOST_SHRUNK = 400


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """A case in which an engine is known to go another way than the rules; a strict xfail.

    Attributes:
        dialect: Name of the dialect.
        engine: The engine and its version.
        filter: Text of a filter that shows it.
        document: Metadata of a document that shows it.
        reason: Why it is so, and why the dialect does not refuse it.
        covers: Says of a part of a filter, as it is after NOT is pushed down, whether the
            deviation concerns it; filters with such a part are left out of the other tests.
    """

    dialect: str
    engine: str
    filter: str
    document: Mapping[str, Any]
    reason: str
    covers: Callable[[Expression], bool]


def dialect_of(suite: Any) -> Dialect[Any]:
    """The dialect that a suite's attribute ``dialect`` stands for.

    Raises:
        TypeError: If it stands for none.
    """
    found = suite.dialect
    if isinstance(found, str):
        found = get_dialect(found)
    if isinstance(found, type):
        found = found()
    if not isinstance(found, Dialect):
        raise TypeError(
            f"{type(suite).__name__}.dialect is a Dialect object, a Dialect class or a "
            f"registered name, not {found!r}"
        )
    return found


class Examiner:
    """Asks an engine, through a dialect, and compares what comes back with the oracle.

    :class:`DialectSuite` is made of it; by itself it serves runs outside pytest.

    Args:
        dialect: The dialect under test.
        run: Runs a compiled filter on the documents and returns the ids it selects.
        load: Puts the documents where ``run`` finds them; called only when they have changed.
        domain: What the engine can hold.
        deviations: Known differences; filters they cover are not compared.
        also_refuses: Whether the dialect refuses a comparison for a reason that its capabilities
            do not state.

    Example:
        >>> from vecstore import get_dialect, parse
        >>> def run(compiled, rows):
        ...     return set()  # an engine that never finds anything
        >>> examiner = Examiner(get_dialect("pgvector")(), run)
        >>> print(examiner.examine(parse("k IS NULL"), {"a": {}, "b": {"k": 1}}).got)
        not selected
    """

    def __init__(
        self,
        dialect: Dialect[Any],
        run: Run,
        *,
        load: Callable[[Documents], None] | None = None,
        domain: Domain = ANYTHING,
        deviations: tuple[Deviation, ...] = (),
        also_refuses: Callable[[Expression], bool] | None = None,
    ) -> None:
        self.dialect = dialect
        self.domain = domain
        self.loaded: Documents | None = None
        self._run = run
        self._load = load
        self._deviations = deviations
        self._also_refuses = also_refuses
        self._read: Reading | None = None

    # --- what the dialect declares ----------------------------------------------------------

    def refusal(self, filter: Expression) -> str | None:
        """What rules the filter out, by the dialect's declarations; None when nothing does."""
        simple = simplify(filter, self.dialect.fold)
        if isinstance(simple, bool):
            return None
        return tree_refusal(self.dialect.capabilities, simple, self._atom_refusal)

    def _atom_refusal(self, atom: Expression) -> str | None:
        refusal = self._declared_refusal(atom)
        if refusal is None or not atom.merged:
            return refusal
        # Where the engine has no list for them, comparisons that were merged stay apart.
        return next(filter(None, map(self._declared_refusal, atom.merged)), None)

    def _declared_refusal(self, atom: Expression) -> str | None:
        field = atom_refusal(self.dialect.capabilities, atom, self.dialect.kinds)
        if field is None and self._also_refuses is not None and self._also_refuses(atom):
            return "also_refuses"
        return field

    def comparable(self, filter: Expression) -> bool:
        """Whether the filter must compile, and no known deviation concerns it."""
        if self.refusal(filter) is not None:
            return False
        simple = simplify(filter, self.dialect.fold)
        if not self._deviations or isinstance(simple, bool):
            return True
        return not any(one.covers(node) for one in self._deviations for node in simple.walk())

    def atoms(self) -> list[Expression]:
        """A few comparisons that the engine answers, each of another operator or kind."""
        return [
            atom
            for atom in representative_atoms()
            if self.comparable(atom) and self.dialect.fold(atom) is None
        ]

    @property
    def depth(self) -> int:
        """How deep random filters go."""
        deepest = self.dialect.capabilities.max_depth
        return 6 if deepest is None else min(6, deepest)

    def cases(self, seed: int) -> RandomCases:
        """Random filters that must compile, and documents that the engine can hold."""
        return RandomCases(seed, allows=self.comparable, domain=self.domain)

    def fit(self, rows: Documents) -> Documents:
        """The documents without what the engine cannot hold."""
        return {name: self.domain.fit(metadata) for name, metadata in rows.items()}

    # --- what the engine does ---------------------------------------------------------------

    def select(self, filter: Expression, rows: Documents) -> set[str]:
        """The ids that the engine selects for the compiled filter."""
        compiled = self.dialect.compile(filter, limits=None)
        if self._load is not None and self.loaded is not rows:
            self.loaded = None
            self._load(rows)
            self.loaded = rows
        try:
            native = compiled.query
        except FilterError:
            # The engine has no way to say "nothing": reading the query raises; no call is made.
            if compiled.matches_nothing:
                return set()
            raise
        if not native and not compiled.matches_all:
            raise ConformanceError("an empty query, which is for filters that match everything")
        found = set(self._run(compiled, rows))
        strangers = found - rows.keys()
        if strangers:
            raise ConformanceError(f"run() returned ids that no document has: {strangers}")
        return found

    def answer(self, filter: Expression, rows: Documents) -> set[str]:
        """The same, where an error of the engine is a failed test with its report."""
        __tracebackhide__ = True
        try:
            return self.select(filter, rows)
        except Exception as error:
            finding = self._finding(filter, rows, set(rows), error)
            raise ConformanceError(f"{self.dialect.name} raised:\n\n{finding}\n") from error

    def compare(
        self, filters: Iterable[Expression], rows: Documents, *, shrinking: bool = True
    ) -> int:
        """Fail with a report unless the engine selects what the oracle does, for every filter.

        Filters that the dialect has to refuse are passed over.

        Args:
            filters: What to compare.
            rows: The documents.
            shrinking: Whether a failing case is made smaller before it is reported.

        Returns:
            How many filters were compared.

        Raises:
            ConformanceError: With the smallest case that was found.
        """
        __tracebackhide__ = True
        findings: list[Finding] = []
        compared = 0
        for filter in filters:
            if not self.comparable(filter):
                continue
            compared += 1
            finding = self.examine(filter, rows)
            if finding is not None:
                findings.append(finding)
                if len(findings) == _MOST_FINDINGS:
                    break
        if findings:
            smallest = min(findings, key=lambda finding: len(finding.filter.to_text()))
            if shrinking:
                smallest = self._shrunk(smallest)
            raise ConformanceError(
                f"{self.dialect.name} does not keep the rules: {len(findings)} of the first "
                f"{compared:,} filters went wrong. The smallest case:\n\n{smallest}\n"
            )
        return compared

    def examine(self, filter: Expression, rows: Documents) -> Finding | None:
        """What went wrong with one filter; None when the engine's rows are the oracle's."""
        expected = self._reading(rows).selected(filter)
        try:
            got = self.select(filter, rows)
        except Exception as error:
            return self._finding(filter, rows, expected or set(rows), error)
        different = expected ^ got
        return self._finding(filter, rows, different) if different else None

    def _reading(self, rows: Documents) -> Reading:
        if self._read is None or self._read.rows is not rows:
            self._read = Reading(rows)
        return self._read

    def _finding(
        self,
        filter: Expression,
        rows: Documents,
        names: set[str],
        error: Exception | None = None,
    ) -> Finding:
        # The one with the least in it tells the most.
        name = min((one for one in rows if one in names), key=lambda one: len(repr(rows[one])))
        document: Mapping[str, Any] | None = rows[name]
        origin = f"{filter.to_text()}\non {summary(names, rows)}"
        truth = self._reading(rows).verdict(filter, name)
        expected = verdict(truth)
        got = "not selected" if truth else "selected"
        if error is not None:
            got = f"{type(error).__name__}: {error}"
        if isinstance(error, UnsupportedFilterError):
            document, origin = None, filter.to_text()
            expected = "a query: the capabilities declare all that the filter uses"
        return Finding(
            filter=filter,
            native=self.native(filter),
            document=document,
            expected=expected,
            got=got,
            origin=origin,
        )

    def native(self, filter: Expression) -> str | None:
        """The native query as text, or None when the dialect gives none."""
        try:
            return str(self.dialect.compile(filter, limits=None))
        except FilterError:
            return None

    def _shrunk(self, finding: Finding) -> Finding:
        """The same fault in a smaller case, confirmed on the engine."""
        if sum(1 for _ in finding.filter.walk()) > _MOST_SHRUNK:
            return finding
        document = dict(finding.document or {})
        if self._examine_one(finding.filter, document) is None:
            return finding  # it takes more than this one document
        small = shrink(finding.filter, document, lambda *case: self._examine_one(*case) is not None)
        smallest = self._examine_one(*small)
        if smallest is None:
            return finding
        return replace(smallest, origin=finding.origin if small[0] != finding.filter else None)

    def _examine_one(self, filter: Expression, document: Mapping[str, Any]) -> Finding | None:
        if self.domain.fit(document) != document or not self.comparable(filter):
            return None
        return self.examine(filter, {"document": document})

    # --- what the dialect refuses -----------------------------------------------------------

    def must_refuse(self, filter: Expression, atom: Expression | None, field: str) -> None:
        """Fail unless the filter is refused, with all that a user needs to put it right.

        Args:
            filter: The filter.
            atom: The comparison in it that is to blame, as it was written; None for the whole.
            field: What rules it out, as :meth:`refusal` says.

        Raises:
            ConformanceError: If it compiles, or the error leaves something out.
        """
        __tracebackhide__ = True
        for problem in _problems_of_refusal(self.dialect, filter, atom, field):
            wanted = "UnsupportedFilterError with dialect, op, key, reason and its place"
            self.fail(filter, wanted, problem)

    def fail(self, filter: Expression, expected: str, got: str) -> None:
        """Report a fault that lies in the query alone."""
        __tracebackhide__ = True
        finding = Finding(
            filter=filter, native=self.native(filter), document=None, expected=expected, got=got
        )
        raise ConformanceError(f"{self.dialect.name} does not keep the rules:\n\n{finding}\n")


def _problems_of_refusal(
    dialect: Dialect[Any], filter: Expression, atom: Expression | None, field: str
) -> Iterator[str]:
    text = filter.to_text()
    for source in (filter, text):
        try:
            dialect.compile(source, limits=None)
        except UnsupportedFilterError as error:
            if error.dialect != dialect.name:
                yield f"the error names the dialect {error.dialect!r}"
            if not error.reason:
                yield "the error gives no reason"
            if field.startswith("max_") and field not in error.reason:
                yield f"the reason does not name the limit {field}: {error.reason}"
            if atom is None:
                continue
            if error.op is not atom.op:
                yield f"the error names {error.op} where {atom.op} was written"
            if error.key != str(atom.key):
                yield f"the error names the key {error.key!r}, which is {str(atom.key)!r}"
            if source is text and (error.span is None or "^" not in str(error)):
                yield f"the error points to no place in the text: {error}"
        else:
            yield f"a query, although {field} rules it out"
