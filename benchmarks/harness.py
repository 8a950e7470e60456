"""One way to measure: calls take turns in one process, and what counts is how they compare.

A benchmark is a function that takes a :class:`Run`, puts our call and those of peers on the same
data into a table, and lets :meth:`Run.measure` time them in turn (A B C A B C ...). A busy moment
of the machine then falls on all of them alike.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

from benchmarks.timing import duration, show

_SAMPLE_SECONDS = 0.002
"""Long for the clock, and short for the scheduler of a busy machine: what other processes take
falls on a few samples, which the median leaves out, and not on a share of each."""
_PATIENCE = 10
"""How many times longer than its seconds a measurement may last where the clock is not the wall."""


@dataclass(frozen=True)
class Prepared:
    """A call that needs something made anew each time, which is not timed.

    Attributes:
        prepare: Called before each call; what it returns is given to it.
        call: What is timed.
        most: How many may be prepared at once.
    """

    prepare: Callable[[], Any]
    call: Callable[[Any], Any]
    most: int = 1


Call = Callable[[], Any] | Prepared


@dataclass(frozen=True)
class Row:
    """What one of the competitors took.

    Attributes:
        name: The competitor.
        samples: One value a round, in the unit of the table, in the order of the rounds.
        note: What a reader must know to judge the figure, such as "approximate".
    """

    name: str
    samples: tuple[float, ...]
    note: str = ""

    @property
    def median(self) -> float:
        """The middle sample."""
        return median(self.samples)

    @property
    def spread(self) -> tuple[float, float]:
        """The quartiles; with fewer than four samples, the least and the largest."""
        return _quartiles(self.samples)


@dataclass(frozen=True)
class Floor:
    """What the project promises itself: a ratio between two rows, or a figure by itself.

    Attributes:
        text: The promise in words.
        row: Name of the row that is looked at.
        other: Name of the row that it is divided by; None when the figure stands by itself.
        bound: What must not be passed.
        at_least: Whether the bound is the least and not the most.
        parts: What ``row`` is divided by first, such as a number of documents.
    """

    text: str
    row: str
    other: str | None
    bound: float
    at_least: bool = False
    parts: float = 1.0


@dataclass(frozen=True)
class Verdict:
    """A floor, and what was measured."""

    text: str
    value: float
    bound: float
    at_least: bool
    ratio: bool

    @property
    def met(self) -> bool:
        """Whether the figure is on the right side of the bound."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


@dataclass(frozen=True)
class Table:
    """One comparison: who took part, and what each took.

    Attributes:
        benchmark: Which benchmark it belongs to, such as ``"search"``.
        title: What was done on which data; unique within a benchmark.
        unit: ``"s"``, ``"bytes"``.
        ours: Names of the rows that are this library; the first is what ratios are relative to.
        rows: The competitors.
        skipped: Competitors that could not take part, with the reason.
        verdicts: Floors.
        x: Where the table stands on the axis of a plot over several tables, and its label.
        family: Tables of one family share such a plot.
        clock: ``"wall"``, or ``"cpu"`` for the processor's time in all threads of the process.
    """

    benchmark: str
    title: str
    unit: str
    ours: tuple[str, ...]
    rows: tuple[Row, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    x: tuple[float, str] | None = None
    family: str = ""
    clock: str = "wall"

    def row(self, name: str) -> Row | None:
        """The row of a competitor, if it took part."""
        return next((row for row in self.rows if row.name == name), None)

    @property
    def baseline(self) -> Row:
        """The row that ratios are relative to."""
        return next((row for row in self.rows if row.name in self.ours), self.rows[0])

    def ratio(self, row: Row) -> tuple[float, float, float]:
        """How many times what we took: of the medians, and the quartiles round by round."""
        ours = self.baseline
        pairs = [
            theirs / our for theirs, our in zip(row.samples, ours.samples, strict=False) if our > 0
        ]
        middle = row.median / ours.median if ours.median else float("inf")
        return (middle, *_quartiles(pairs or [middle]))


class Run:
    """One run over benchmarks; collects their tables.

    Args:
        quick: Small data and few rounds.
        large: Also what takes gigabytes and minutes.
        tiny: Smaller than is worth measuring: for tests of the benchmarks themselves.
        quiet: Print nothing.
        clock: ``"wall"``; or ``"cpu"``, the processor's time in all threads of this process, which
            a machine that has other work to do lengthens less. What runs in other processes is
            measured by the wall in any case.
    """

    def __init__(
        self,
        *,
        quick: bool = False,
        large: bool = False,
        tiny: bool = False,
        quiet: bool = False,
        clock: str = "wall",
    ) -> None:
        self.clock = clock
        self.quick = quick or tiny
        self.large = large
        self.tiny = tiny
        self.quiet = quiet
        self.tables: list[Table] = []
        self._told: set[str] = set()

    def size(self, full: int, quick: int, tiny: int = 60) -> int:
        """One of three sizes of the data."""
        return tiny if self.tiny else quick if self.quick else full

    @property
    def _budget(self) -> tuple[int, int, float]:
        """Least rounds, most rounds, and the seconds after which no further one begins."""
        if self.tiny:
            return 2, 2, 0.0
        return (3, 51, 1.2) if self.quick else (5, 201, 8.0)

    def measure(
        self,
        benchmark: str,
        title: str,
        calls: Mapping[str, Call],
        *,
        ours: Sequence[str] = ("vecstore",),
        floors: Sequence[Floor] = (),
        skipped: Mapping[str, str] | None = None,
        notes: Mapping[str, str] | None = None,
        rounds: int | None = None,
        x: tuple[float, str] | None = None,
        family: str = "",
        clock: str | None = None,
    ) -> Table:
        """Time calls in turn, and keep and print the table.

        Args:
            benchmark: As in :class:`Table`, like what is not told here.
            title: See there.
            calls: What each competitor does.
            ours: Which of them are this library.
            floors: What the figures are held against; one that names an absent row is passed over.
            skipped: Competitors that could not take part, with the reason.
            notes: A remark for each competitor that needs one.
            rounds: How many rounds, instead of what fits the run.
            x: See :class:`Table`.
            family: See :class:`Table`.
            clock: Another than that of the run.

        Returns:
            The table. A competitor that raises is left out of it, and named among the skipped.
        """
        least, most, seconds = self._budget
        if rounds is not None and not self.tiny:
            least = most = rounds
        failed: dict[str, str] = dict(skipped or {})
        chosen = clock or self.clock
        samples = sampled(
            calls, least=least, most=most, seconds=seconds, failed=failed, ours=ours,
            clock=time.process_time if chosen == "cpu" else time.perf_counter,
        )  # fmt: skip
        return self.keep(
            benchmark, title, "s", samples, ours=ours, floors=floors, skipped=failed, notes=notes,
            x=x, family=family, clock=chosen,
        )  # fmt: skip

    def keep(
        self,
        benchmark: str,
        title: str,
        unit: str,
        samples: Mapping[str, Sequence[float]],
        *,
        ours: Sequence[str] = ("vecstore",),
        floors: Sequence[Floor] = (),
        skipped: Mapping[str, str] | None = None,
        notes: Mapping[str, str] | None = None,
        x: tuple[float, str] | None = None,
        family: str = "",
        clock: str = "wall",
    ) -> Table:
        """Keep and print a table of values that were measured elsewhere; see :meth:`measure`."""
        remarks = notes or {}
        rows = tuple(
            Row(name, tuple(values), remarks.get(name, "")) for name, values in samples.items()
        )
        table = Table(
            benchmark, title, unit, tuple(ours), rows, dict(skipped or {}),
            tuple(verdicts(rows, floors)), x, family or benchmark, clock,
        )  # fmt: skip
        self.tables.append(table)
        if not self.quiet:
            print_table(table)
            news = [f"{name} ({why})" for name, why in table.skipped.items()]
            fresh = [line for line in news if line not in self._told]
            self._told.update(fresh)
            for line in fresh:
                print(f"  skipped: {line}")
        return table


def sampled(
    calls: Mapping[str, Call],
    *,
    least: int,
    most: int,
    seconds: float,
    failed: dict[str, str],
    ours: Sequence[str] = (),
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds a call took, once a round, for each of them; they take turns.

    A quick call is repeated within a round until it fills two thousandths of a second, so that
    the clock's own step does not show. The first call of each is not counted.

    Args:
        calls: The competitors.
        least: Rounds at least.
        most: Rounds at most.
        seconds: After as many, no further round begins.
        failed: Where a competitor that raises is entered.
        ours: Competitors whose errors are not for hiding.
        clock: What tells the time.
    """
    repeats: dict[str, int] = {}
    for name, call in calls.items():
        try:
            _timed(call, 1, clock)
            # The least of some: a first call that was slow by chance would leave one call a round.
            tries = 5 if seconds and _is_cheap(call) else 1
            once = min(_timed(call, 1, time.process_time) for _ in range(tries))
        except Exception as error:
            if name in ours:
                raise
            failed[name] = f"{type(error).__name__}: {str(error)[:100]}"
            continue
        fits = max(1, int(_SAMPLE_SECONDS / max(once, 1e-7))) if seconds else 1
        repeats[name] = fits
    samples: dict[str, list[float]] = {name: [] for name in repeats}
    started, began = clock(), time.perf_counter()
    for number in range(most):
        if number >= least and (
            clock() - started > seconds or time.perf_counter() - began > _PATIENCE * seconds
        ):
            break
        for name, count in repeats.items():
            samples[name].append(_timed(calls[name], count, clock))
    return samples


def _is_cheap(call: Call) -> bool:
    return not isinstance(call, Prepared) or call.most > 1


def _timed(call: Call, count: int, clock: Callable[[], float]) -> float:
    if isinstance(call, Prepared):
        given = [call.prepare() for _ in range(min(count, call.most))]
        run = call.call
        started = clock()
        for one in given:
            run(one)
        return (clock() - started) / len(given)
    started = clock()
    for _ in itertools.repeat(None, count):
        call()
    return (clock() - started) / count


def verdicts(rows: Sequence[Row], floors: Sequence[Floor]) -> Iterator[Verdict]:
    """What the floors say about rows, for those whose rows took part."""
    medians = {row.name: row.median for row in rows}
    for floor in floors:
        if floor.row not in medians or (floor.other is not None and floor.other not in medians):
            continue
        value = medians[floor.row] / floor.parts
        if floor.other is not None:
            value /= medians[floor.other]
        yield Verdict(floor.text, value, floor.bound, floor.at_least, floor.other is not None)


def in_unit(value: float, unit: str) -> str:
    """A value of a table as people read it."""
    return f"{value / 2**20:,.1f} MiB" if unit == "bytes" else duration(value)


def verdict_line(verdict: Verdict) -> tuple[str, str, str, str]:
    """Words, figure, bound and outcome."""
    sign = "≥" if verdict.at_least else "≤"
    if verdict.ratio:
        figures = (f"{verdict.value:.3g}x", f"{sign} {verdict.bound:.3g}x")
    else:
        figures = (duration(verdict.value), f"{sign} {duration(verdict.bound)}")
    return (verdict.text, *figures, "met" if verdict.met else "missed")


def print_table(table: Table) -> None:
    """Print a table and its floors."""
    body = []
    for row in table.rows:
        low, high = row.spread
        middle, ratio_low, ratio_high = table.ratio(row)
        body.append(
            [
                row.name + (f" ({row.note})" if row.note else ""),
                in_unit(row.median, table.unit),
                f"{in_unit(low, table.unit)} – {in_unit(high, table.unit)}",
                f"{middle:.3g}x",
                f"{ratio_low:.3g} – {ratio_high:.3g}",
                str(len(row.samples)),
            ]
        )
    head = ["", "median", "quartiles", f"to {table.baseline.name}", "quartiles", "rounds"]
    measured = ", processor time" if table.clock == "cpu" else ""
    show(f"{table.benchmark}: {table.title}{measured}", head, body)
    for verdict in table.verdicts:
        print("  floor: {}: {} (floor {}, {})".format(*verdict_line(verdict)))


def _quartiles(values: Sequence[float]) -> tuple[float, float]:
    if len(values) < 4:
        return min(values), max(values)
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, high
