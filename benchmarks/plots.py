"""Tables as pictures, PNG and SVG."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import Table
from benchmarks.timing import duration

_OURS, _THEIRS = "#2f6fde", "#9aa3ad"
_LINES = ("#e07b39", "#4f9d69", "#b05cc0", "#8a6d3b", "#c44e52", "#55a5b5", "#777777", "#d4a72c",
          "#6a7fd0", "#a0522d")  # fmt: skip
# A file that is written anew with the same figures is the same file.
_SETTINGS = {"svg.hashsalt": "vecstore", "svg.fonttype": "none", "font.size": 9}


def draw(tables: Sequence[Table], folder: Path, caption: str) -> dict[str, str]:
    """Write the pictures.

    Tables that share an axis become one picture with lines; each other one becomes bars.

    Args:
        tables: What was measured.
        folder: Where the files go.
        caption: A line under each picture: machine and date.

    Returns:
        The name of the file without its ending, by family.

    Raises:
        ImportError: If matplotlib is missing.
    """
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    families: dict[str, list[Table]] = {}
    for table in tables:
        lines = table.x is not None
        families.setdefault(table.family if lines else picture_of(table), []).append(table)
    names = {}
    with mpl.rc_context(_SETTINGS):
        for family, members in families.items():
            if len(members) > 1 and members[0].x is not None:
                figure = _lines(pyplot, family, members)
            else:
                figure = _bars(pyplot, members[0])
            figure.supxlabel(caption, x=0.01, ha="left", fontsize=6, color="#666666")
            name = re.sub(r"[^a-z0-9]+", "-", family.lower()).strip("-")
            figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
            # Lines of the file end without the blanks that matplotlib leaves there.
            written = folder / f"{name}.svg"
            text = written.read_text("utf-8")
            written.write_text(re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE), "utf-8")
            pyplot.close(figure)
            names[family] = name
    return names


def picture_of(table: Table) -> str:
    """The key under which a table's picture is found in what :func:`draw` returns."""
    return table.family if table.x is not None else f"{table.benchmark}, {table.title}"


def _bars(pyplot: Any, table: Table) -> Any:
    rows = sorted(table.rows, key=lambda row: row.median, reverse=True)
    scale = 2**20 if table.unit == "bytes" else 1e-3
    figure, axes = pyplot.subplots(figsize=(7.5, 0.9 + 0.3 * len(rows)), layout="constrained")
    colors = [_OURS if row.name in table.ours else _THEIRS for row in rows]
    values = [row.median / scale for row in rows]
    reach = [
        [max(row.median - row.spread[0], 0) / scale for row in rows],
        [max(row.spread[1] - row.median, 0) / scale for row in rows],
    ]
    axes.barh([row.name for row in rows], values, color=colors, xerr=reach, ecolor="#555555")
    axes.set_xscale("log")
    for place, row in enumerate(rows):
        shown = f"{row.median / scale:.3g} MiB" if table.unit == "bytes" else duration(row.median)
        axes.annotate(
            shown, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=7
        )
    axes.set_xlabel(("MiB" if table.unit == "bytes" else "milliseconds") + ", logarithmic")
    axes.set_title(f"{table.benchmark}: {table.title}", fontsize=9)
    axes.grid(axis="x", alpha=0.3)
    return figure


def _lines(pyplot: Any, family: str, tables: Sequence[Table]) -> Any:
    figure, axes = pyplot.subplots(figsize=(7.5, 4.2), layout="constrained")
    names = list(dict.fromkeys(row.name for table in tables for row in table.rows))
    ours = {name for table in tables for name in table.ours}
    colors = iter(_LINES * 3)
    for name in names:
        points = sorted(
            (table.x[0], row.median * 1e3)
            for table in tables
            if table.x is not None and (row := table.row(name)) is not None
        )
        mine = name in ours
        axes.plot(
            *zip(*points, strict=True),
            marker="o",
            markersize=3.5,
            label=name,
            color=_OURS if name == tables[0].baseline.name else next(colors),
            linewidth=2 if mine else 1,
            linestyle="-" if mine else "--",
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    assert tables[0].x is not None
    axes.set_xlabel(tables[0].x[1])
    axes.set_ylabel("milliseconds")
    axes.set_title(family, fontsize=9)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
