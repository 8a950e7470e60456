"""explain and dialects: all backends beside each other."""

from __future__ import annotations

from pathlib import Path

import pytest

import vecstore
from tests.cli.conftest import Run
from vecstore.explaining.rewriting import rewrites

FILTER = "year >= 2020 AND NOT (lang IN ['de', 'fr'] OR title < 'M')"


def test_explain_shows_every_dialect_and_what_was_rewritten(run: Run) -> None:
    outcome = run("explain", FILTER)
    assert (outcome.code, outcome.err) == (0, "")
    for name in vecstore.dialect_names():
        assert f"\n{name} " in outcome.out
    assert "year >= 2020 AND lang NOT IN ['de', 'fr'] AND title >= 'M'" in outcome.out
    assert "NOT title < 'M'  ->  title >= 'M'" in outcome.out
    assert 'COLLATE "C"' in outcome.out  # PostgreSQL's own query
    # A refusal stands where the query would, under the operator as it was written.
    assert "qdrant cannot answer < on key title" in outcome.out
    lines = outcome.out[outcome.out.index("qdrant cannot answer <") :].splitlines()
    caret = next(number for number, line in enumerate(lines) if set(line.strip()) == {"^"})
    assert lines[caret - 1][lines[caret].index("^") :].startswith("title < 'M'")


def test_explain_gives_json(run: Run) -> None:
    answer = run("explain", "--json", FILTER).json
    assert answer["text"] == vecstore.parse(FILTER).to_text()
    assert answer["normalized"] == vecstore.parse(FILTER).normalize().to_text()
    assert set(answer["dialects"]) == set(vecstore.dialect_names())
    compiled = vecstore.compile_filter(FILTER, "pgvector")
    assert answer["dialects"]["pgvector"]["query"] == compiled.query
    assert answer["dialects"]["qdrant"]["refused"]["key"] == "title"


def test_explain_only_some(run: Run) -> None:
    answer = run("explain", "--json", "-d", "pgvector", "-d", "milvus", "a == 1").json
    assert list(answer["dialects"]) == ["pgvector", "milvus"]
    outcome = run("explain", "-d", "pgvectr", "a == 1")
    assert outcome.code == 2
    assert "did you mean 'pgvector'?" in outcome.err


def test_explain_of_a_fault_is_an_error(run: Run) -> None:
    outcome = run("explain", "a ==")
    assert (outcome.code, outcome.out) == (2, "")
    assert "^" in outcome.err


@pytest.mark.parametrize(
    ("filter", "steps"),
    [
        ("a == 1 AND b > 2", []),
        ("NOT a == 1", ["NOT a == 1  ->  a != 1"]),
        ("NOT (a == 1 AND NOT b > 2)", ["NOT a == 1  ->  a != 1"]),
        (
            "a == 1 AND a == 1",
            ["1 comparison left out: said twice or by another, or the same for every document"],
        ),
        (
            "a == 1 AND b NOT IN [] AND (a == 1 OR c IN [])",
            ["3 comparisons left out: said twice or by another, or the same for every document"],
        ),
        ("a IN []", ["the filter selects no document, whatever is in it"]),
        ("NOT (a IN [])", ["the filter selects every document, whatever is in it"]),
    ],
)
def test_rewrites(filter: str, steps: list[str]) -> None:
    assert rewrites(vecstore.parse(filter)) == steps


@pytest.mark.parametrize("filter", ["a IN []", "a NOT IN []"])
def test_explain_of_a_constant(run: Run, filter: str) -> None:
    outcome = run("explain", filter)
    assert outcome.code == 0
    assert "whatever is in it" in outcome.out


@pytest.mark.parametrize("width", ["40", "80", "100", "200"])
def test_the_table_of_dialects_is_whole_at_every_width(
    run: Run, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    outcome = run("dialects")
    assert (outcome.code, outcome.err) == (0, "")
    assert "…" not in outcome.out
    titles = " ".join(outcome.out.split())
    for name in vecstore.dialect_names():
        assert name in titles
    assert "✓ if" in outcome.out
    assert "✗" in outcome.out


def test_dialects_gives_json(run: Run) -> None:
    answer = run("dialects", "--json").json
    assert {title.partition(" ")[0] for title in answer["dialects"]} == set(
        vecstore.dialect_names()
    )
    ordering = next(
        row for row in answer["rows"] if ">" in row["operators"] and row["values"] == "string"
    )
    assert ordering["answers"]["pgvector"] == {"answer": "yes"}
    assert ordering["answers"]["qdrant"]["answer"] == "no"
    assert ordering["answers"]["qdrant"]["reason"]
    assert answer["limits"]["numbers are exact up to"]["qdrant"] == 2**53 - 1


@pytest.mark.parametrize(
    "command", [("explain", "a == 1"), ("dialects",), ("compile", "-d", "broken", "a == 1")]
)
@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("no_such_module:Broken", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("json:Broken", "AttributeError"),
        ("raises_on_import:Broken", "RuntimeError: not today"),
        ("json:dumps", "no subclass"),
    ],
)
def test_a_plug_in_that_does_not_work_is_named(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    target: str,
    says: str,
) -> None:
    info = tmp_path / "broken_dialect-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-dialect\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[vecstore.dialects]\nbroken = {target}\n")
    (tmp_path / "raises_on_import.py").write_text("raise RuntimeError('not today')\n")
    monkeypatch.syspath_prepend(tmp_path)
    outcome = run(*command)
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err
    assert target in outcome.err
    assert "'broken'" in outcome.err


def test_lists_are_mentioned_where_an_ordering_leaves_them_out(run: Run) -> None:
    told = run("explain", "-d", "pgvector", "--json", "NOT (year < 2010) AND n > 1 AND n > 2").json
    assert told["remarks"] == [
        "year >= 2010: a list under year never matches an ordering; with == and IN one element is "
        "enough",
        "n > 2: a list under n never matches an ordering; with == and IN one element is enough",
    ]
    assert "never matches an ordering" in " ".join(run("explain", "year >= 2010").out.split())
    assert run("explain", "--json", "year == 2010").json["remarks"] == []


def test_merged_comparisons_are_told(run: Run) -> None:
    told = run("explain", "-d", "pgvector", "--json", "a == 1 OR a == 2 OR a == 3").json
    assert told["normalized"] == "a IN [1, 2, 3]"
    assert told["rewrites"] == ["3 comparisons of a  ->  a IN [1, 2, 3]"]


# --- what is evaluated ----------------------------------------------------------------------------


def test_explain_says_which_part_a_backend_answers(run: Run) -> None:
    filter = "year >= 2020 AND lang == 'de' AND title >= 'M'"
    outcome = run("explain", "-d", "qdrant", "-d", "pgvector", filter)
    told = " ".join(outcome.out.split())
    assert (
        "residual=\"evaluate\": qdrant answers year >= 2020 and lang == 'de'; vecstore evaluates "
        "title >= 'M' on what comes back"
    ) in told
    assert told.count("residual=") == 1
    answer = run("explain", "--json", "-d", "qdrant", filter).json["dialects"]["qdrant"]
    assert answer["partial"]["answered"] == ["year >= 2020", "lang == 'de'"]
    assert answer["partial"]["evaluated"] == ["title >= 'M'"]
    assert answer["partial"]["asked"]["matches_all"] is False


def test_explain_asks_a_store(run: Run, tmp_path: Path) -> None:
    url = f"qdrant:{tmp_path}/folder?collection=docs"
    with vecstore.open_store(url, dimension=2) as store:
        store.add(
            vecstore.Document("x", {"year": 2000 + n, "title": "x"}, embedding=[1, n])
            for n in range(30)
        )
    outcome = run("explain", "--store", url, "year >= 2020 AND title > 'M'")
    assert (outcome.code, outcome.err) == (0, "")
    told = " ".join(outcome.out.split())
    assert (
        "qdrant answers 1 clause (year >= 2020), vecstore 1 clause (title > 'M'); of 30 documents "
        "it will look at about 10"
    ) in told
    assert "qdrant cannot answer > on key title" in told
    assert "pgvector" not in told
    answer = run("explain", "--json", "--store", url, "-d", "pgvector", "title > 'M'").json
    assert list(answer["dialects"]) == ["pgvector"]
    assert answer["store"]["looked_at"] == answer["store"]["documents"] == 30
    assert answer["store"]["evaluated"] == ["title > 'M'"]
    whole = run("explain", "--store", url, "year >= 2020")
    assert "qdrant answers the whole filter" in whole.out


def test_explain_of_a_store_that_is_not_there(run: Run, tmp_path: Path) -> None:
    outcome = run("explain", "--store", "nowhere://x", "a == 1")
    assert (outcome.code, outcome.out) == (2, "")
    assert "there is no store for nowhere:" in outcome.err


def test_a_mistyped_store_is_told_and_not_made(run: Run, tmp_path: Path) -> None:
    for address, error in [
        (f"qdrant:{tmp_path}/typo?collection=docs", "there is no folder"),
        (f"memory:{tmp_path}/typo.json", "there is no file"),
    ]:
        for command in (["explain", "--store", address, "a == 1"], ["schema", "infer", address]):
            outcome = run(*command)
            assert (outcome.code, outcome.out) == (2, ""), command
            assert error in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_schema_tells_every_backend_what_the_keys_hold(run: Run) -> None:
    Path("schema.toml").write_text('[keys]\ncreated = "datetime"\n')
    moment = "created > TIMESTAMP '2024-01-01T00:00:00Z'"
    outcomes = run("explain", "--json", moment).json["dialects"]
    assert {name for name, one in outcomes.items() if "refused" in one} == {
        "chroma",
        "lancedb",
        "pinecone",
        "qdrant",
        "redis",
        "weaviate",
    }
    told = run("explain", "--json", "--schema", "schema.toml", moment).json["dialects"]
    assert {name for name, one in told.items() if "refused" in one} == {"chroma", "pinecone"}
    outcome = run("explain", "--schema", "schema.toml", "creatd IS NULL")
    assert outcome.code == 2
    assert "did you mean created?" in outcome.err
