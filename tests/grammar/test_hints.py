"""The table of hints: every row is reached, none can show what is no filter, none costs much."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import vecstore.grammar.explain as explain
from tests.grammar.test_limits import FAULTS_IN_LONG_TEXTS
from vecstore import FilterError, FilterSyntaxError, parse
from vecstore.grammar import faults, parser
from vecstore.grammar.explain import rows
from vecstore.grammar.explain.rows import Row, Way, row
from vecstore.grammar.explain.scene import WINDOW, Place, Scene
from vecstore.grammar.explain.table import ROWS
from vecstore.grammar.lalr import Refusal, read


def scene_of(text: str) -> Scene:
    with pytest.raises(Refusal) as caught:
        read(text)
    refusal = caught.value
    return Scene(text, refusal.tokens, refusal.found, refusal.accepted)


def first_row(text: str) -> Row | None:
    scene = scene_of(text)
    return next(
        (one for one in ROWS if scene.place in one.places and rows.find(scene, one.pattern)), None
    )


def examples() -> Iterator[tuple[Row, Way | None, str]]:
    for one in ROWS:
        assert len(one.examples) == max(1, len(one.ways)), one
        for index, example in enumerate(one.examples):
            yield one, one.ways[index] if one.ways else None, example


EXAMPLES = list(examples())


@pytest.mark.parametrize(("one", "way", "text"), EXAMPLES, ids=[repr(e[2]) for e in EXAMPLES])
def test_every_row_and_every_way_is_reached_by_its_own_example(
    one: Row, way: Way | None, text: str
) -> None:
    assert first_row(text) is one
    with pytest.raises(FilterSyntaxError) as caught:
        parse(text)
    hint = caught.value.hint
    if way is None:
        assert hint is None
        return
    assert hint is not None
    assert hint.startswith(way.lead.partition("{")[0])
    if way.correction is not None:
        shown = re.fullmatch(r"[^:?]+(?:: |\? )(.+)", hint)
        assert shown is not None
        parse(shown[1])


def test_all_kinds_of_places_have_rows() -> None:
    assert set().union(*(one.places for one in ROWS)) == set(Place)


def with_row(monkeypatch: pytest.MonkeyPatch, pattern: str, *ways: Any) -> None:
    bad = row(tuple(Place), pattern, *ways, says="wrong", of="")
    monkeypatch.setattr(explain, "ROWS", (bad, *ROWS))


def hint_of(text: str) -> str | None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse(text)
    assert caught.value.message == "wrong"
    return caught.value.hint


@pytest.mark.parametrize(
    "correction",
    ["AND", "", "== 1 b == 2", "== {w} AND NOT", "== {w} (", "\0", "== '{w}", "=== ({w}"],
)
@pytest.mark.parametrize("text", ["a EQUALLING 5", "b == 1 AND (a EQUALLING 5)"])
def test_a_correction_that_is_no_filter_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, text: str, correction: str
) -> None:
    with_row(monkeypatch, r"‸EQUALLING (?P<w>\w+)", ("write", correction))
    hint = hint_of(text)
    # What is wrong with it may have been put right by the next row.
    assert hint is None or parse(hint.removeprefix("write: ")) is not None
    if "'" not in correction and "===" not in correction:
        assert hint is None


def test_a_row_whose_correction_is_read_as_something_else_shows_its_message_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_row(monkeypatch, r"{key} ‸TWICE (?P<w>\w+)", ("write", "{key} > {w} || {key} < 0"))
    assert hint_of("x == 1 AND a TWICE 5") is None
    assert hint_of("NOT a TWICE 5") is None
    # Nothing takes a part of it here.
    assert hint_of("a TWICE 5") == "write: a > 5 || a < 0"
    assert hint_of("x == 1 OR a TWICE 5") == "write: x == 1 OR a > 5 || a < 0"


def test_parentheses_come_where_another_operator_would_take_a_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_row(monkeypatch, r"{key} ‸TWICE (?P<w>\w+)", ("write", "{key} > {w} OR {key} < 0"))
    assert hint_of("x == 1 AND a TWICE 5") == "write: x == 1 AND (a > 5 OR a < 0)"
    assert hint_of("NOT a TWICE 5") == "write: NOT (a > 5 OR a < 0)"
    assert hint_of("a TWICE 5") == "write: a > 5 OR a < 0"


def test_later_corrections_are_read_for_what_they_mean_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_row(monkeypatch, r"{key} ‸TWICE (?P<w>\w+)", ("write", "{key} > {w} || {key} < 0"))
    assert hint_of("a TWICE 5 OR b TWICE 5") == ("write: a > 5 || a < 0 OR b > 5 || b < 0")
    assert hint_of("a TWICE 5 OR NOT b TWICE 5") == "write: a > 5 || a < 0"


class Counter:
    """Counts what is read and what is matched to explain one error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[int] = []
        self.matches = 0
        self.widest = 0
        real, compiled = parser.read_at_once, rows.compiled

        def counted(text: str, *rest: Any) -> Any:
            self.texts.append(len(text))
            return real(text, *rest)

        class Pattern:
            def __init__(self, pattern: str) -> None:
                self.pattern = compiled(pattern)

            def match(pattern, text: str, start: int, end: int) -> Any:
                self.matches += 1
                if not pattern.pattern.pattern.startswith(r"\A"):
                    self.widest = max(self.widest, min(end, len(text)) - start)
                return pattern.pattern.match(text, start, end)

        monkeypatch.setattr(parser, "read_at_once", counted)
        monkeypatch.setattr(rows, "compiled", Pattern)


KNOWN = [e[2] for e in EXAMPLES if e[2].strip()]
HOSTILE = [
    *FAULTS_IN_LONG_TEXTS,
    *(text + " AND a == 1" * ((65_000 - len(text)) // 11) for text in KNOWN[::40]),
    *("b == 1 AND " * ((65_000 - len(text)) // 11) + text for text in KNOWN[20::40]),
    *(" AND ".join([text] * (60_000 // (len(text) + 5))) for text in KNOWN[30::40]),
]


@pytest.mark.parametrize(
    "text",
    [  # kinds of texts that are read alike, of which one is enough
        text if number % 4 == 0 else pytest.param(text, marks=pytest.mark.wide)
        for number, text in enumerate(HOSTILE)
    ],
    ids=lambda text: ascii(f"{text[:12]}...{text[-12:]}"),
)
def test_explaining_costs_no_more_than_a_few_readings(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    counter = Counter(monkeypatch)
    with pytest.raises(FilterError):
        parse(text)
    again = counter.texts[1:]
    assert len(again) <= faults.MOST_READINGS
    assert sum(again) <= 1.1 * faults.MOST_CHARACTERS
    assert counter.matches <= 8 * len(ROWS) * len(counter.texts)
    assert counter.widest <= 2 * WINDOW


def test_readings_are_few_however_many_faults_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter(monkeypatch)
    for text in (" AND ".join(["a == b"] * 12), "a == 1 AND " + "2 OR " * 50, "(" * 40 + "a b c"):
        counter.texts.clear()
        with pytest.raises(FilterSyntaxError):
            parse(text)
        assert len(counter.texts) <= 1 + faults.MOST_READINGS


def test_nothing_is_read_again_where_a_text_is_longer_than_all_readings_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counter = Counter(monkeypatch)
    with pytest.raises(FilterSyntaxError) as caught:
        parse("a == b" + " " * faults.MOST_CHARACTERS, limits=None)
    assert len(counter.texts) == 1
    assert caught.value.hint is None
