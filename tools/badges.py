"""Write the badges of the README, each from what the project itself says.

    python -m tools.badges

They need no address: what they say stands in ``pyproject.toml``, and in the package.
"""

from __future__ import annotations

import re
import tomllib
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "docs" / "assets"
_LEFT, _RIGHT = "#3a4652", "#0f6b64"
_CHARACTER, _PADDING = 6.8, 8


def facts() -> dict[str, tuple[str, str]]:
    """What each badge says, by the name of its file."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needs = [re.split(r"[^\w-]", one)[0] for one in project["dependencies"]]
    said = {
        "python": ("Python", project["requires-python"].replace(">=", "") + " or later"),
        "licence": ("licence", project["license"]),
        "needs": ("needs", ", ".join(needs)),
    }
    if (ROOT / "vecstore" / "py.typed").exists():
        said["typed"] = ("types", "inline")
    return said


def drawn(label: str, value: str) -> str:
    """A badge as SVG."""
    widths = [len(one) * _CHARACTER + 2 * _PADDING for one in (label, value)]
    whole = sum(widths)
    texts = "".join(
        f'<text x="{left + width / 2:g}" y="14" textLength="{width - 2 * _PADDING:g}">'
        f"{escape(words)}</text>"
        for words, width, left in ((label, widths[0], 0), (value, widths[1], widths[0]))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole:g} 20" width="{whole:g}" '
        f'height="20" role="img"><title>{escape(f"{label}: {value}")}</title>'
        f'<rect width="{whole:g}" height="20" rx="4" fill="{_RIGHT}"/>'
        f'<path d="M4 0H{widths[0]:g}V20H4A4 4 0 0 1 0 16V4A4 4 0 0 1 4 0Z" fill="{_LEFT}"/>'
        '<g fill="#fff" text-anchor="middle" font-size="11" '
        f'font-family="Verdana, DejaVu Sans, sans-serif">{texts}</g></svg>\n'
    )


def files() -> dict[Path, str]:
    """Each file with its content."""
    return {PLACE / f"badge-{name}.svg": drawn(*said) for name, said in facts().items()}


if __name__ == "__main__":
    for path, content in files().items():
        path.write_text(content, "utf-8")
        print(path.name)
