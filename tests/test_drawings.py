"""What scripts of ``tools/`` write into the repository is what they would write now."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.engines.milvus import running_milvus_lite
from tools import badges, diagrams, logo, pictures, row_sets

ROOT = Path(__file__).resolve().parent.parent
DRAWN = sorted((ROOT / "docs" / "assets").glob("*.svg"))


def test_the_logo_is_as_it_is_drawn() -> None:
    for name, content in logo.drawn().items():
        assert (ROOT / name).read_text("utf-8") == content, "run: python -m tools.logo"


def test_badges_say_what_the_project_says() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = re.findall(r"!\[([^\]]*)\]\(docs/assets/badge-(\w+)\.svg\)", readme)
    said = {name: ": ".join(both) for name, both in badges.facts().items()}
    assert {name: text for text, name in shown} == said
    for path, content in badges.files().items():
        assert path.read_text("utf-8") == content, "run: python -m tools.badges"


def test_diagrams_are_as_they_are_drawn() -> None:
    for path, content in diagrams.files().items():
        assert path.read_text("utf-8") == content, "run: python -m tools.diagrams"


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.name)
def test_a_drawing_asks_nobody_for_anything(path: Path) -> None:
    text = path.read_text("utf-8")
    root = ElementTree.fromstring(text)
    assert root.get("viewBox")
    assert "http" not in text.replace("http://www.w3.org/", "")
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not tags & {"script", "image", "foreignObject", "use", "a"}


def test_the_table_of_row_sets_is_what_the_engines_select(postgres_dsn: str) -> None:
    by_hand, by_us = row_sets.selected(lambda: nullcontext(postgres_dsn), running_milvus_lite)
    written = row_sets.table(by_hand, by_us)
    for name in row_sets.PAGES:
        page = (ROOT / name).read_text("utf-8")
        assert row_sets.with_table(page, written) == page, "run: python -m tools.row_sets"


@pytest.mark.parametrize(
    "changed", [lambda sets: sets["qdrant"].clear(), lambda sets: sets["qdrant"].add("a list")]
)
def test_a_table_that_would_not_be_true_is_not_written(
    changed: Callable[[dict[str, set[str]]], None],
) -> None:
    wanted = {"no status", "null", "5"}
    by_hand = {
        "postgres": {"null", "a list"},
        "duckdb": {"null", "5", "a list"},
        "qdrant": {"no status", "null", "5"},
        "milvus": {"5", "a list"},
        "chroma": {"no status", "null", "5", "a list"},
    }
    by_us = {name: set(wanted) for name in by_hand}
    assert row_sets.table(by_hand, by_us).count("✓") == sum(map(len, by_hand.values())) + 3
    changed(by_us)
    with pytest.raises(AssertionError, match="qdrant"):
        row_sets.table(by_hand, by_us)
    by_us["qdrant"] = set(wanted)
    by_hand["milvus"] = {"null", "a list"}
    with pytest.raises(AssertionError, match="all different"):
        row_sets.table(by_hand, by_us)


@pytest.mark.wide
def test_the_picture_of_the_demo_shows_what_it_prints() -> None:
    kept = pictures.path_of("demo").read_text("utf-8")
    shown = pictures.texts(kept)
    if f"of Python {platform.python_version()}," not in " ".join(shown):
        pytest.skip("the docstrings in the picture are of another version of Python")
    # Where a line breaks depends on how long the time beside it is.
    now = pictures.texts(pictures.drawn("demo"))
    words = sorted(" ".join(shown).split())
    assert words == sorted(" ".join(now).split()), "run: python -m tools.pictures demo"


def test_what_differs_from_one_run_of_the_demo_to_the_next_is_in_no_picture() -> None:
    lines = [
        "  1 3,600 docstrings of Python 3.11.7, from 550 files    \x1b[2m12.5 s\x1b[0m",
        "    1  compress data     1,500 of 3,600 documents \u00b7 12.75 ms",
        "    3  find the files that match a pattern",
        "  1  1,500  6e-08   1.5   12.5  same",
        "",
        "They selected the same documents, with the same",
        "scores. (31.5 s in all)",
    ]
    shown = pictures.PICTURES["demo"].shown(lines)
    assert shown[0].endswith("from 550 files    \x1b[2m   · s\x1b[0m")
    assert shown[1].endswith("documents \u00b7     · ms")
    assert shown[2:] == ["    …", "", lines[5], "scores. (   · s in all)"]
