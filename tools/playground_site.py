"""Puts the playground into its page of the site; a hook of mkdocs.

The page's files come from the package, the package itself as a wheel, and Python for browsers from
npm. Where there is no npm, or it cannot fetch that, the site is built all the same, and the page
says how to run the playground on one's own machine.
"""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.utils import get_relative_url
from npm_package import PYODIDE, NotFetched, fetch

from vecstore import __version__
from vecstore.playground.server import asset, page

ROOT = Path(__file__).resolve().parent.parent
LICENCES = ROOT / "tools" / "licences"
PLACE = "playground"
"""The folder of the files in the site, beside the page itself."""
MARK = '<div id="playground-stands-here"></div>'
WITHOUT = "VECSTORE_SITE_WITHOUT_PYODIDE"
"""Set to anything, this variable leaves Python out."""

_UNREACHED = tuple(
    f"vecstore/{room}/"
    for room in (
        "adapters", "cli", "copying", "embedders", "indexing", "playground/assets", "simple",
        "store", "testing",
    )
)  # fmt: skip

_log = logging.getLogger("mkdocs.hooks.playground")
_engine = "none"


def on_files(files: Files, config: Any) -> Files:
    """Add what the page loads."""
    global _engine
    made: dict[str, bytes | Path] = {
        name: asset(name) for name in ("playground.css", "playground.js", "docstrings.json")
    }
    pyodide = _pyodide()
    _engine = "none" if pyodide is None else "pyodide"
    if pyodide is not None:
        made |= {"worker.js": asset("worker.js"), "vecstore.whl": _wheel()}
        made |= {f"pyodide/{name}": pyodide / name for name in PYODIDE.files}
        made |= {f"pyodide/{one.name}": one for one in LICENCES.iterdir()}
    for name, content in made.items():
        uri = f"{PLACE}/{name}"
        if isinstance(content, Path):
            files.append(File.generated(config, uri, abs_src_path=str(content)))
        else:
            files.append(File.generated(config, uri, content=content))
    return files


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Put the playground where its mark stands."""
    if MARK not in html:
        return html
    return html.replace(MARK, _fragment(get_relative_url(f"{PLACE}/", page.url)))


def _fragment(place: str) -> str:
    return page(_engine, place if place.endswith("/") else f"{place}/", __version__)


def _pyodide() -> Path | None:
    if WITHOUT in os.environ:
        _log.info("playground: without Python for browsers, as %s says", WITHOUT)
        return None
    try:
        return fetch(PYODIDE)
    except NotFetched as reason:
        _log.info("playground: without Python for browsers, since %s", reason)
        return None


def _wheel() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
        (wheel,) = Path(folder).glob("*.whl")
        return _slim(wheel)


def _slim(wheel: Path) -> bytes:
    """A wheel without the rooms that the playground cannot reach: the page waits for each file."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(wheel) as whole,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as part,
    ):
        for one in whole.infolist():
            if not one.filename.startswith(_UNREACHED) and not one.filename.endswith(".pyi"):
                part.writestr(one, whole.read(one), zipfile.ZIP_DEFLATED, 9)
    return made.getvalue()
