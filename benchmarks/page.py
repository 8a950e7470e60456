"""A run put into the page of the documentation: tables, floors and pictures between two marks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import Table, in_unit, verdict_line
from benchmarks.plots import picture_of

BEGIN = "<!-- measured: written by `python -m benchmarks --publish`, do not edit -->"
END = "<!-- end of measured -->"

_HEADINGS = {
    "search": "Search in memory",
    "filtered": "Filtered search in memory",
    "batch": "Many queries at once",
    "ingest": "Filling a store in memory",
    "persistence": "Saving and loading",
    "scaling": "Growing data",
    "memory": "Memory",
    "parse": "Reading filters",
    "compile": "Compiling filters",
    "evaluate": "Evaluating filters",
    "startup": "Starting",
    "overhead": "Stores over databases",
}


def publish(
    page: Path, tables: Sequence[Table], about: Mapping[str, Any], pictures: Mapping[str, str]
) -> None:
    """Write what was measured between the marks of the page.

    Args:
        page: The file, which has both marks.
        tables: What was measured.
        about: The machine, as :func:`benchmarks.results.machine` describes it.
        pictures: What :func:`benchmarks.plots.draw` returned.

    Raises:
        ValueError: If the page lacks the marks.
    """
    text = page.read_text("utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no place for figures: the lines {BEGIN!r} and {END!r}")
    measured = "\n".join(written(tables, about, pictures))
    page.write_text(f"{before}{BEGIN}\n\n{measured}\n{END}{after}", "utf-8")


def written(
    tables: Sequence[Table], about: Mapping[str, Any], pictures: Mapping[str, str]
) -> Iterator[str]:
    """The lines of the measured part."""
    yield describe(about)
    yield ""
    verdicts = [(table, verdict) for table in tables for verdict in table.verdicts]
    if verdicts:
        yield "### Floors"
        yield ""
        yield "| what | measured | floor | |"
        yield "|---|--:|--:|---|"
        for _, verdict in verdicts:
            text, value, bound, outcome = verdict_line(verdict)
            yield f"| {text} | {value} | {bound} | {_strong(outcome)} |"
        yield ""
    shown: set[str] = set()
    heading = ""
    for table in tables:
        if table.benchmark != heading:
            heading = table.benchmark
            yield f"### {_HEADINGS.get(heading, heading)}"
            yield ""
        picture = pictures.get(picture_of(table))
        if picture is not None and picture not in shown:
            shown.add(picture)
            yield f"![{picture_of(table)}]({picture}.svg)"
            yield ""
        yield from _table(table)
    skipped = {name: why for table in tables for name, why in table.skipped.items()}
    if skipped:
        yield "### Who could not take part"
        yield ""
        for name, why in sorted(skipped.items()):
            yield f"- {name}: {_plain(why)}"
        yield ""


def describe(about: Mapping[str, Any]) -> str:
    """Machine and moment in a sentence."""
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return (
        f"Measured on {about['date']}: {about['processor']}, {about['cores']} cores, "
        f"{about['system']}, CPython {about['python']}; load {about['load']} at the beginning. "
        f"With {versions}."
    )


def caption(about: Mapping[str, Any]) -> str:
    """Machine and moment in a line under a picture."""
    return f"{about['date']} · {about['processor']} · {about['cores']} cores · load {about['load']}"


def _table(table: Table) -> Iterator[str]:
    clock = ", processor time" if table.clock == "cpu" else ""
    yield f"**{_plain(table.title)}**{clock}"
    yield ""
    yield f"| | median | quartiles | to {table.baseline.name} | quartiles |"
    yield "|---|--:|--:|--:|--:|"
    for row in sorted(table.rows, key=lambda row: row.median):
        low, high = (in_unit(value, table.unit) for value in row.spread)
        middle, ratio_low, ratio_high = table.ratio(row)
        name = f"**{row.name}**" if row.name in table.ours else row.name
        note = f" ({row.note})" if row.note else ""
        yield (
            f"| {name}{note} | {in_unit(row.median, table.unit)} | {low} – {high} "
            f"| {middle:.3g} | {ratio_low:.3g} – {ratio_high:.3g} |"
        )
    yield ""


def _strong(outcome: str) -> str:
    return f"**{outcome}**" if outcome == "missed" else outcome


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
