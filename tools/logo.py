"""Write the logo, in each form that something shows.

    python -m tools.logo

The mark is a filter of three rows that narrow to a v. Everything is drawn with strokes: no form of
it needs a font.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEAL, INK, PAPER = "#0f6b64", "#1b2530", "#e6ebf0"

# Rows of the mark in a square of 32: where each starts, how long it is, and its height.
_ROWS = ((6.6, 18.8, 9.2), (9.9, 12.2, 16.0), (13.2, 5.6, 22.8))
# The letters between a baseline at 28 and a height of 12 (t: 6), with the width of each.
_LETTERS = {
    "v": ("M0 12 7 28 14 12", 14),
    "e": ("M.2 20H15.8A8 8 0 1 0 13.4 25.9", 16),
    "c": ("M13.9 14.6A8 8 0 1 0 13.9 25.4", 14),
    "s": ("M11.2 14.8C10 12.9 8.2 12 6 12 3 12 .9 13.6 .9 15.9 .9 18.3 3 19.2 6.2 19.9"
          " 9.6 20.7 11.8 21.6 11.8 24.1 11.8 26.5 9.5 28 6.3 28 3.6 28 1.6 27 .4 25", 12),
    "t": ("M4 6.5V23.5Q4 28 8.5 28H9.5M0 12H9.5", 9.5),
    "o": ("M0 20A8 8 0 1 0 16 20 8 8 0 1 0 0 20Z", 16),
    "r": ("M0 12V28M0 20.5C0 15.5 3.5 12 8.5 12", 8.5),
}  # fmt: skip
_GAP = 5.5


def _mark(colour: str) -> str:
    rows = "".join(f"M{left} {height}h{length}" for left, length, height in _ROWS)
    return (
        f'<path d="{rows}" fill="none" stroke="{colour}" stroke-width="4.4" '
        'stroke-linecap="round"/>'
    )


def _badge() -> str:
    return f'<rect width="32" height="32" rx="7" fill="{TEAL}"/>{_mark("#fff")}'


def _whole(width: float, height: int, title: str, content: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" role="img">'
        f"<title>{title}</title>{content}</svg>\n"
    )


def _with_name(ink: str) -> str:
    """The badge, and the name beside it."""
    letters, left = [], 46.0
    for letter in "vecstore":
        path, width = _LETTERS[letter]
        letters.append(f'<path transform="translate({left:g} -4)" d="{path}"/>')
        left += width + _GAP
    name = "".join(letters)
    return _whole(
        left - _GAP + 3,
        32,
        "vecstore",
        f'{_badge()}<g fill="none" stroke="{ink}" stroke-width="3.2" stroke-linecap="round" '
        f'stroke-linejoin="round">{name}</g>',
    )


def drawn() -> dict[str, str]:
    """Each file, by its path in the repository."""
    icon = _whole(32, 32, "vecstore", _badge())
    return {
        "docs/assets/logo.svg": _with_name(INK),
        "docs/assets/logo-dark.svg": _with_name(PAPER),
        "docs/assets/mark.svg": _whole(32, 32, "vecstore", _mark("#fff")),
        "docs/assets/favicon.svg": icon,
        "vecstore/playground/assets/icon.svg": icon,
    }


if __name__ == "__main__":
    for name, content in drawn().items():
        (ROOT / name).write_text(content, "utf-8")
        print(name)
