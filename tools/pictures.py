"""Write the pictures of the command that the README shows, as SVG.

    python -m tools.pictures            all of them; the demo takes a minute
    python -m tools.pictures explain    one of them

Each picture is what the command printed on a terminal of 80 columns, drawn by rich. No picture asks
anybody for a font.
"""

from __future__ import annotations

import html
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "docs" / "assets"
COLUMNS = 80


def _everything(lines: list[str]) -> list[str]:
    return lines


def _first_part_of_answers(lines: list[str]) -> list[str]:
    """The table of answers, or what of it stands beside each other, and what its marks mean."""
    legend = _first(lines, r"✓ exact.*refused")
    title = _bare(lines[0]).strip()
    again = [n for n, line in enumerate(lines[:legend]) if n and _bare(line).strip() == title]
    table = lines[: min([*again, legend])]
    return [*table, lines[legend]]


def _first_searches_and_verdict(lines: list[str]) -> list[str]:
    """The demo up to its second search, and its last words; without times, which always differ."""
    third = _first(lines, r" +3  find the files")
    last = max(n for n, line in enumerate(lines) if not _bare(line).strip())
    return [
        re.sub(r"(?<![\d.])\d+\.\d+(?= m?s\b)", lambda time: "·".rjust(len(time[0])), line)
        for line in [*lines[:third], "    …", "", *lines[last + 1 :]]
    ]


def _first(lines: list[str], pattern: str) -> int:
    return next(n for n, line in enumerate(lines) if re.match(pattern, _bare(line)))


class Picture(NamedTuple):
    """One picture.

    Attributes:
        arguments: Of the command.
        shown: What of its lines is shown.
    """

    arguments: tuple[str, ...]
    shown: Callable[[list[str]], list[str]]


PICTURES = {
    "explain": Picture(
        ("explain", "-d", "pgvector", "-d", "qdrant", "-d", "chroma",
         "year >= 2020 AND NOT (title < 'M' OR lang IN ['de', 'fr'])"),
        _everything,
    ),
    "dialects": Picture(("dialects",), _first_part_of_answers),
    "demo": Picture(("demo",), _first_searches_and_verdict),
}  # fmt: skip
"""By the name of the file, ``docs/assets/command-NAME.svg``."""

_THEME = TerminalTheme(
    (23, 27, 33),
    (230, 235, 240),
    [(57, 66, 78), (255, 154, 143), (98, 212, 147), (240, 192, 90), (143, 176, 240),
     (215, 155, 228), (95, 212, 200), (230, 235, 240)],
)  # fmt: skip
_FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: system-ui, sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""  # noqa: E501


def printed(arguments: tuple[str, ...]) -> list[str]:
    """The lines that the command prints on a terminal, with their colours.

    Raises:
        RuntimeError: If the command fails.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "COLORTERM", "TTY_COMPATIBLE")
    }
    environment |= {
        "COLUMNS": str(COLUMNS),
        "FORCE_COLOR": "1",
        "TERM": "xterm",
        "PYTHONUTF8": "1",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-m", "vecstore", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode not in (0, 1) or not done.stdout:
        raise RuntimeError(f"vecstore {' '.join(arguments)}: {done.stderr}")
    lines = [line.rstrip() for line in done.stdout.rstrip().split("\n")]
    while not _bare(lines[0]).strip():
        del lines[0]
    return lines


def _bare(line: str) -> str:
    return Text.from_ansi(line).plain


def drawn(name: str) -> str:
    """A picture as SVG."""
    picture = PICTURES[name]
    console = Console(
        file=io.StringIO(), record=True, width=COLUMNS, force_terminal=True, emoji=False
    )
    shown = picture.shown(printed(picture.arguments))
    for line in shown:
        console.print(Text.from_ansi(line), highlight=False)
    return console.export_svg(
        title=f"vecstore {picture.arguments[0]}",
        theme=_THEME,
        code_format=_FORMAT,
        unique_id=f"vecstore-{name}",
    )


def path_of(name: str) -> Path:
    """Where a picture lies."""
    return PLACE / f"command-{name}.svg"


def texts(picture: str) -> list[str]:
    """The lines of a picture, as they are read: what another version of rich draws alike."""
    rows: dict[float, list[tuple[float, str]]] = {}
    for x, y, words in re.findall(r'<text[^>]*? x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)<', picture):
        rows.setdefault(float(y), []).append((float(x), html.unescape(words)))
    return [
        "".join(words for _, words in sorted(row)).replace("\xa0", " ").rstrip()
        for _, row in sorted(rows.items())
    ]


if __name__ == "__main__":
    for wanted in sys.argv[1:] or PICTURES:
        path_of(wanted).write_text(drawn(wanted), "utf-8")
        print(path_of(wanted).name)
