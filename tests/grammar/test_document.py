"""The page on the filter language shows filters that can be read and errors as they print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vecstore import FilterSyntaxError, Limits, parse
from vecstore.filter.text import RESERVED_WORDS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "filter-language.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found


def rows(heading: str) -> list[list[str]]:
    """The code in the cells of the table under a line that starts so."""
    _, _, after = PAGE.partition(f"\n| {heading} |")
    table = after.split("\n\n")[0].splitlines()[2:]
    assert table
    return [re.findall(r"`([^`]+)`", row) for row in table]


def test_filters_are_read() -> None:
    (text,) = blocks("sql")
    filters = text.splitlines()
    assert len(filters) == 7
    for written in filters:
        tree = parse(written)
        assert parse(tree.to_text()) == tree


def test_conditions_mean_the_same_in_both_spellings() -> None:
    table = rows("written | also | means")
    assert len(table) == 7
    for cells in table:
        trees = [parse(cell) for cell in cells]
        if cells[0] != "a < 1":
            assert len(set(trees)) == 1


def test_precedence() -> None:
    for written, explicit in rows("written | read as"):
        assert parse(written) == parse(explicit)


@pytest.mark.parametrize("block", blocks("text"))
def test_errors_print_like_this(block: str) -> None:
    written, _, printed = block.partition("\n\n")
    with pytest.raises(FilterSyntaxError) as caught:
        parse(written)
    assert str(caught.value) == printed.rstrip("\n")


def test_hints() -> None:
    table = rows("written | hint")
    assert len(table) > 15
    for written, corrected in table:
        with pytest.raises(FilterSyntaxError) as caught:
            parse(written)
        assert (caught.value.hint or "").endswith(f": {corrected}"), written
        parse(corrected)


def test_numbers_and_words() -> None:
    table = dict(re.findall(r"\| `(\w+)` \| ([0-9,]+) \|", PAGE))
    assert {name: int(bound.replace(",", "")) for name, bound in table.items()} == {
        name: getattr(Limits(), name) for name in ("text", "nesting", "depth", "nodes", "in_values")
    }
    words = re.search(r"only when quoted: `([A-Z ]+)`", PAGE)
    assert words is not None
    assert set(words[1].split()) == RESERVED_WORDS
