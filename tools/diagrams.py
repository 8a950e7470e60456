"""Write the diagrams of the site, each for light pages and for dark ones.

    python -m tools.diagrams

A diagram is a way from the top to the bottom, with the doors through which a call may leave it. It
is as wide as a phone, and its words stand in this file.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

PLACE = Path(__file__).resolve().parent.parent / "docs" / "assets"


class Step(NamedTuple):
    """One box of a way.

    Attributes:
        title: Its first line.
        notes: The lines below it.
        door: The error by which a call may leave here, or nothing.
        where: The file, from the package on, in which it happens; nothing for what goes in and out.
    """

    title: str
    notes: tuple[str, ...]
    door: str = ""
    where: str = ""


WAYS: dict[str, tuple[str, tuple[Step, ...]]] = {
    "way-of-a-compile": (
        "The way of a compile",
        (
            Step("a filter", ("a text, a dict, F.year > 2020,", "or what FilterBuilder made")),
            Step(
                "read",
                ("text to tree, by tables;", "length and depth have limits"),
                "FilterSyntaxError",
                "grammar/parser.py",
            ),
            Step("one tree", ("equal, however it was written",), "", "filter/tree.py"),
            Step(
                "normalised",
                ("NOT goes down to the comparisons,", "constants fold, duplicates go"),
                "",
                "filter/normalize.py",
            ),
            Step(
                "converted",
                ("leaves first, by the dialect's hooks;", "what is not exact is refused"),
                "UnsupportedFilterError",
                "dialects/base.py",
            ),
            Step("Compiled", ("the engine's own query; keys and", "values are bound or quoted")),
        ),
    ),
    "way-of-a-search": (
        "The way of a search",
        (
            Step("store.search(text, filter=…)", ("a scoped view adds its own filter",)),
            Step(
                "filter compiled",
                ("what a stranger may ask is counted,", "the dialect writes the query"),
                "FilterError",
                "store/base.py",
            ),
            Step(
                "text embedded",
                ("by your model; vectors are checked",),
                "EmbeddingError",
                "embedding.py",
            ),
            Step(
                "guarded",
                ("open, and opened by this process",),
                "StoreClosedError",
                "store/guard.py",
            ),
            Step(
                "engine asked",
                ("by its own client; no error of it", "comes through bare"),
                "BackendError",
                "dialects/<engine>/store.py",
            ),
            Step(
                "ranked",
                ("one scale, ties settled, threshold:", "the same on every store"),
                "",
                "store/ranking.py",
            ),
            Step("documents", ("the best first, with their scores",)),
        ),
    ),
}  # fmt: skip

_WIDTH, _LEFT, _BOX = 430, 2, 268
_LINE, _GAP = 18, 26


class Colours(NamedTuple):
    """Of a page."""

    ink: str
    quiet: str
    line: str
    box: str
    end: str
    door: str


SCHEMES = {
    "light": Colours("#1b2530", "#50606d", "#78858f", "#f7f9fa", "#d9efec", "#a3261c"),
    "dark": Colours("#e6ebf0", "#a9b6c2", "#7d8a98", "#1e242c", "#12403c", "#ff9a8f"),
}


def _height(step: Step) -> int:
    return 16 + _LINE * (1 + len(step.notes) + bool(step.where))


def drawn(name: str, colours: Colours) -> str:
    """A diagram as SVG."""
    title, steps = WAYS[name]
    parts: list[str] = []
    top, middle = 2, _LEFT + _BOX / 2
    for number, step in enumerate(steps):
        height = _height(step)
        inside = bool(step.where)
        fill = colours.box if inside else colours.end
        parts.append(
            f'<rect x="{_LEFT}" y="{top}" width="{_BOX}" height="{height}" '
            f'rx="{8 if inside else 16}" fill="{fill}" stroke="{colours.line}"/>'
        )
        lines = [
            (step.title, f'font-weight="650" fill="{colours.ink}"'),
            *[(note, f'font-size="13" fill="{colours.ink}"') for note in step.notes],
        ]
        if inside:
            lines.append((step.where, f'font-size="12" class="code" fill="{colours.quiet}"'))
        for row, (words, look) in enumerate(lines):
            parts.append(
                f'<text x="{middle:g}" y="{top + 21 + row * _LINE}" text-anchor="middle" {look}>'
                f"{escape(words)}</text>"
            )
        if step.door:
            right, height_of_it = _LEFT + _BOX, top + height / 2
            parts.append(
                f'<path d="M{right} {height_of_it:g}h14" stroke="{colours.door}" '
                f'stroke-dasharray="3 3"/><path d="M{right + 14} {height_of_it - 4:g}l7 4-7 4z" '
                f'fill="{colours.door}"/>'
                f'<text x="{right + 26}" y="{height_of_it + 4:g}" font-size="12" class="code" '
                f'fill="{colours.door}" textLength="{_length(step.door):g}" '
                f'lengthAdjust="spacingAndGlyphs">{step.door}</text>'
            )
        top += height
        if number < len(steps) - 1:
            parts.append(
                f'<path d="M{middle:g} {top}v{_GAP - 7}" stroke="{colours.line}"/>'
                f'<path d="M{middle - 4:g} {top + _GAP - 8}l4 7 4-7z" fill="{colours.line}"/>'
            )
            top += _GAP
    told = "; ".join(_told(step) for step in steps)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top + 2}" role="img" '
        f'width="{_WIDTH}" height="{top + 2}" font-family="system-ui, sans-serif" font-size="15">'
        f"<title>{title}</title><desc>{escape(told)}</desc>"
        "<style>.code{font-family:ui-monospace,Menlo,Consolas,monospace}</style>"
        + "\n".join(["", *parts])
        + "\n</svg>\n"
    )


def _length(door: str) -> float:
    """How wide the name of an error may be drawn."""
    return min(len(door) * 7.0, _WIDTH - _LEFT - _BOX - 28)


def _told(step: Step) -> str:
    door = f" (or {step.door})" if step.door else ""
    return f"{step.title}: {' '.join(step.notes)}{door}"


def alternative(name: str) -> str:
    """What a page says in the place of a diagram to those who cannot see it."""
    title, steps = WAYS[name]
    return f"{title}: {', '.join(step.title for step in steps)}."


def files() -> dict[Path, str]:
    """Each file with its content."""
    return {
        PLACE / f"{name}-{scheme}.svg": drawn(name, colours)
        for name in WAYS
        for scheme, colours in SCHEMES.items()
    }


if __name__ == "__main__":
    for path, content in files().items():
        path.write_text(content, "utf-8")
        print(path.name)
