"""What scripts of ``tools/`` write into the repository is what they would write now."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from xml.etree import ElementTree

import pytest

import vecstore
from tests.engines.milvus import running_milvus_lite
from tools import diagrams, logo, row_sets

ROOT = Path(__file__).resolve().parent.parent
DRAWN = sorted((ROOT / "docs" / "assets").glob("*.svg"))


def test_the_logo_is_as_it_is_drawn() -> None:
    for name, content in logo.drawn().items():
        assert (ROOT / name).read_text("utf-8") == content, "run: python -m tools.logo"


def test_diagrams_are_as_they_are_drawn() -> None:
    for path, content in diagrams.files().items():
        assert path.read_text("utf-8") == content, "run: python -m tools.diagrams"


def test_diagrams_name_files_and_errors_that_exist() -> None:
    steps = [step for _, way in diagrams.WAYS.values() for step in way]
    errors = {name for name, _ in inspect.getmembers(vecstore.errors, inspect.isclass)}
    assert {step.door for step in steps if step.door} <= errors
    for step in steps:
        where = step.where.replace("<engine>", "*")
        assert not where or list((ROOT / "vecstore").glob(where)), step.where
    page = (ROOT / "docs/how-it-works.md").read_text("utf-8")
    for name in diagrams.WAYS:
        for scheme in diagrams.SCHEMES:
            place = f"assets/{name}-{scheme}.svg#only-{scheme}"
            assert f"![{diagrams.alternative(name)}]({place})" in page


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
