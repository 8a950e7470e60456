"""What stands on a terminal of 80 columns, and of 60: no line is wider, and no word is cut."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

import vecstore
from tests.cli.conftest import Run
from vecstore import Document
from vecstore.cli import demo
from vecstore.cli.demo import SEARCHES, Answer, Stage
from vecstore.cli.engines import ENGINES
from vecstore.cli.screen import answers, shortened, wrapped

WIDTHS = [60, 80]
WIDE = 4000
FILTERS = [
    "year >= 2020 AND NOT (lang IN ['de', 'fr'] OR title < 'M')",
    "a.b.c == 'one two three' AND (n < -1.5 OR tag NOT IN ['x', 'y']) AND \"odd key!\" IS NULL",
    "NOT (created >= TIMESTAMP '2024-01-01T00:00:00Z') AND published == true AND size == 1 "
    "AND title > '日本語 の 題名' AND note IS NOT NULL",
]


def words_of(text: str) -> list[str]:
    """What must not be cut; brackets and commas end a word, as a line may break there."""
    return [
        word
        for word in re.findall(r"[^\s,;|&/(){}\[\]]+", text)
        if not re.fullmatch(r"[─━^…·:]+", word)
    ]


def without_excerpts(text: str) -> str:
    """A text without the line of a filter, of which less is shown where there is less room."""
    return re.sub(r"  line \d+, column \d+\n    .*\n +\^+\n", "", text)


def lines_fit(text: str, width: int) -> None:
    wider = [line for line in text.split("\n") if cell_len(line) > width]
    assert not wider, wider


def excerpts_are_whole(text: str, filter: str) -> None:
    for line in re.findall(r"  line \d+, column \d+\n    (.*)\n", text):
        assert set(words_of(line)) <= set(words_of(filter)), line


def asked(
    run: Run, monkeypatch: pytest.MonkeyPatch, width: int, *arguments: str, code: int = 0
) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    outcome = run(*arguments)
    assert (outcome.code, outcome.err) == (code, "")
    return outcome.out


# --- explain --------------------------------------------------------------------------------------


@pytest.mark.parametrize("filter", FILTERS)
def test_explain_fits_and_cuts_no_word(
    run: Run, monkeypatch: pytest.MonkeyPatch, filter: str
) -> None:
    everything = asked(run, monkeypatch, WIDE, "explain", filter)
    for width in WIDTHS:
        narrow = asked(run, monkeypatch, width, "explain", filter)
        lines_fit(narrow, width)
        excerpts_are_whole(narrow, filter)
        assert words_of(without_excerpts(narrow)) == words_of(without_excerpts(everything))
        assert narrow.count("line 1, column") == everything.count("line 1, column") > 0


def test_explain_of_a_store_fits_and_cuts_no_word(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'docs.db'}?table=docs"
    with vecstore.open_store(url, dimension=2) as store:
        store.add([Document("text", id="1", metadata={"year": 2020}, embedding=[0, 1])])
    asking = ("explain", "--store", url, "-d", "qdrant", FILTERS[0])
    everything = asked(run, monkeypatch, WIDE, *asking)
    assert "sqlite" in everything
    for width in WIDTHS:
        narrow = asked(run, monkeypatch, width, *asking)
        lines_fit(narrow, width)
        assert words_of(without_excerpts(narrow)) == words_of(without_excerpts(everything))


# --- dialects -------------------------------------------------------------------------------------


def test_dialects_fits_and_cuts_no_word(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = asked(run, monkeypatch, WIDE, "dialects")
    for width in WIDTHS:
        narrow = asked(run, monkeypatch, width, "dialects")
        lines_fit(narrow, width)
        assert set(words_of(narrow)) == set(words_of(everything))
        # The notes below the tables are what they are elsewhere, word by word.
        assert notes_of(narrow) == notes_of(everything) != []


def notes_of(text: str) -> list[str]:
    """What stands between the legend and the table of limits."""
    start, end = text.index("✗ refused"), text.index("Limits of their own")
    return words_of(text[start:end])


# --- demo -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("few_modules")
def test_the_demo_fits_and_cuts_no_word(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = {
        width: asked(run, monkeypatch, width, "demo", "--engines", "sqlite") for width in WIDTHS
    }
    monkeypatch.setattr(demo, "_WIDEST", WIDE)
    monkeypatch.setattr(demo, "_ID_WIDTH", 200)
    everything = asked(run, monkeypatch, WIDE, "demo", "--engines", "sqlite")
    for width, text in narrow.items():
        lines_fit(text, width)
        words_are_whole(text, everything)
        assert re.findall(r"^ {4}(\d)  \w", text, re.MULTILINE) == list("123456")


def words_are_whole(narrow: str, everything: str) -> None:
    """Times differ from run to run; of a dotted name the first parts may be left out."""
    known = set(words_of(everything))
    for word in words_of(narrow):
        number = re.fullmatch(r"[\d.,]+", word)
        end_of_name = word.startswith("…") and any(one.endswith(f".{word[1:]}") for one in known)
        assert number or end_of_name or word in known, word


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("titles", [["PostgreSQL"], [one.title for one in ENGINES.values()]])
def test_however_many_engines_are_compared(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    titles: list[str],
    width: int,
) -> None:
    ids = ["a.few.names.of.no.length", "email.message.EmailMessage.iter_parts", "x" * 50, "b"]
    scores = dict(zip(ids, (0.9, 0.8, 0.7, -0.6), strict=True))
    memory = [Answer(ids, scores, 0.001) for _ in SEARCHES]
    others = {title: [Answer(ids, scores, 12.0) for _ in SEARCHES] for title in titles}
    lost = {id: score for id, score in scores.items() if id != "b"}
    others[titles[-1]][1] = Answer(ids[:3], lost, 0.1)
    shown = {}
    for columns in (width, WIDE):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(demo, "_WIDEST", columns)
        monkeypatch.setattr(demo, "_ID_WIDTH", 34 if columns == width else 200)
        Stage(answers(), silent=False).comparison(memory, others)
        shown[columns] = capsys.readouterr().out
    lines_fit(shown[width], width)
    # One table of all, or one for each search: either says which engine lost it, and where.
    for title in titles:
        assert title in shown[width]
    for text in shown.values():
        assert text.count("missing") == 1
        assert len(re.findall(r"differ\b(?! by)", text)) == 1
        assert "search 2, only in memory: b" in " ".join(text.split())
    assert shown[width].count("0.8000 =") == shown[WIDE].count("0.8000 =")


# --- what they break and shorten texts with -------------------------------------------------------


@pytest.mark.parametrize("width", [8, 9, 13, 20, 79])
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "  indented by two, and three   blanks",
        "one\ntwo\n\nthree and more words than a line has",
        "@tokens:{4f53cda1|88895a95|4c027ad1} " * 3,
        "x" * 100,
        "日本語の題名はここで折り返される" * 3,
        "a,b," * 30 + "c d",
    ],
)
def test_a_broken_text_is_whole(text: str, width: int) -> None:
    for indent in ("", "  ", "    "):
        broken = wrapped(text, width, indent)
        lines_fit(broken, width)
        assert "".join(broken.split()) == "".join(text.split())


@pytest.mark.parametrize("width", range(2, 40, 3))
def test_a_shortened_text_ends_with_a_word(width: int) -> None:
    text = "Wait for the single Future or coroutine"
    short = shortened(text, width)
    assert cell_len(short) <= max(width, 1)
    assert text.split()[: len(short.split()) - 1] == short.split()[:-1]
    assert short == text or short.split()[-1] == "…"
