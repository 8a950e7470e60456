"""parse, fmt, check and compile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import vecstore
from tests.cli.conftest import Run
from vecstore.cli.filters import tree_lines

FILTER = "country == 'BG' && NOT (year<2020 or tags in ['a',\"b\"])"
CANONICAL = "country == 'BG' AND NOT (year < 2020 OR tags IN ['a', 'b'])"


# --- where the filter comes from --------------------------------------------------------------


def test_the_filter_is_an_argument_standard_input_or_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "filter.txt").write_text(FILTER + "\n", "utf-8")
    expected = CANONICAL + "\n"
    assert run("fmt", FILTER) == (0, expected, "")
    assert run("fmt", "-", stdin=FILTER) == (0, expected, "")
    assert run("fmt", "--file", "filter.txt") == (0, expected, "")
    assert run("fmt", "-f", "filter.txt") == (0, expected, "")


@pytest.mark.parametrize("arguments", [(), ("a == 1", "--file", "filter.txt")])
def test_the_filter_is_given_exactly_once(
    run: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "filter.txt").write_text("a == 1", "utf-8")
    outcome = run("fmt", *arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "the filter" in outcome.err


def test_a_file_that_cannot_be_read(run: Run, tmp_path: Path) -> None:
    outcome = run("fmt", "--file", "missing.txt")
    assert outcome == (2, "", "error: missing.txt: No such file or directory\n")
    (tmp_path / "latin.txt").write_bytes("a == 'é'".encode("latin-1"))
    outcome = run("fmt", "--file", "latin.txt")
    assert outcome.code == 2
    assert "latin.txt: the filter is not UTF-8 (byte 0xe9 at 6)" in outcome.err


# --- parse and fmt ----------------------------------------------------------------------------


def test_parse_draws_the_tree(run: Run) -> None:
    outcome = run("parse", FILTER)
    assert outcome.out.splitlines() == [
        "AND",
        "├─ country == 'BG'",
        "└─ NOT",
        "   └─ OR",
        "      ├─ year < 2020",
        "      └─ tags IN ['a', 'b']",
    ]


def test_a_drawing_has_one_line_for_each_expression_and_needs_no_recursion() -> None:
    filter = vecstore.F.a == 1
    for _ in range(5_000):
        filter = ~filter
    assert len(tree_lines(filter)) == 5_001


def test_parse_gives_the_json_form(run: Run) -> None:
    outcome = run("parse", "--json", FILTER)
    assert vecstore.Expression.from_dict(outcome.json) == vecstore.parse(FILTER)


def test_fmt_gives_json(run: Run) -> None:
    assert run("fmt", FILTER, "--json").json == {"text": CANONICAL}


# --- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["parse", "fmt"])
def test_a_fault_shows_a_caret_on_standard_error(run: Run, command: str) -> None:
    outcome = run(command, "country == BG")
    assert outcome.code == 2
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert lines[0].startswith("error: ")
    assert lines[1:4] == ["  line 1, column 12", "    country == BG", "               ^^"]
    assert lines[4].startswith("hint: ")
    assert "'BG'" in lines[4]


def test_a_caret_is_not_parted_from_its_line_in_a_narrow_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    outcome = run("fmt", "country == 'BG' AND city == 'Sofia' AND year == x")
    lines = outcome.err.splitlines()
    caret = next(number for number, line in enumerate(lines) if line.strip() == "^")
    assert lines[caret - 1][lines[caret].index("^")] == "x"


def test_with_json_a_fault_is_an_object_too(run: Run) -> None:
    outcome = run("parse", "--json", "a == 1 AND\nb >> 2")
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    error = outcome.json["error"]
    assert error["type"] == "FilterSyntaxError"
    assert (error["line"], error["column"], error["start"]) == (2, 4, 14)
    assert error["message"]
    assert error["message"] in outcome.err


def test_markup_in_a_filter_stays_text(run: Run) -> None:
    outcome = run("parse", "a == '[bold red]x[/]' AND [/")
    assert outcome.code == 2
    assert "[bold red]x[/]" in outcome.err
    assert run("fmt", "a == '[bold]x[/]'").out == "a == '[bold]x[/]'\n"
    assert "[bold]x[/]" in run("explain", "a == '[bold]x[/]'").out


# --- check ------------------------------------------------------------------------------------


def test_check_says_ok_or_refuses(run: Run) -> None:
    assert run("check", "year >= 2020") == (0, "ok\n", "")
    outcome = run("check", "year >> 2020")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("refused: ")
    assert "^" in outcome.err


def test_check_asks_a_dialect(run: Run) -> None:
    assert run("check", "title > 'M'", "-d", "pgvector").code == 0
    outcome = run("check", "title > 'M'", "-d", "qdrant")
    assert outcome.code == 1
    assert "qdrant cannot answer > on key title" in outcome.err
    timestamp = "created > TIMESTAMP '2024-01-01T00:00:00Z'"
    assert run("check", timestamp, "-d", "qdrant").code == 1
    Path("schema.toml").write_text('[keys]\ncreated = "datetime"\n')
    told = ("--schema", "schema.toml", "-d", "qdrant")
    assert run("check", timestamp, *told).code == 0
    assert '"range"' in run("compile", timestamp, *told).out
    assert run("compile", "yaer == 1", *told).code == 2
    outcome = run("check", timestamp, "-d", "qdrant", "-o", "datetimes=created")
    assert outcome.code == 2
    assert "--schema FILE" in outcome.err


def test_check_gives_json(run: Run) -> None:
    assert run("check", "--json", "year >= 2020").json == {"ok": True}
    outcome = run("check", "--json", "-d", "qdrant", "year > 1 AND title > 'M'")
    assert outcome.code == 1
    error = outcome.json["error"]
    assert outcome.json["ok"] is False
    assert (error["type"], error["dialect"], error["operator"], error["key"], error["column"]) == (
        "UnsupportedFilterError",
        "qdrant",
        ">",
        "title",
        14,
    )
    assert error["reason"]
    assert error["hint"]


def test_check_names_a_limit(run: Run) -> None:
    outcome = run("check", "--json", "(" * 100 + "a == 1" + ")" * 100)
    assert outcome.code == 1
    assert outcome.json["error"]["limit"] == "nesting"


def test_check_with_options_needs_a_dialect(run: Run) -> None:
    outcome = run("check", "a == 1", "-o", "column=m")
    assert outcome.code == 2
    assert "-d NAME" in outcome.err


# --- compile ----------------------------------------------------------------------------------


def test_compile_prints_query_and_parameters(run: Run) -> None:
    outcome = run("compile", "-d", "pgvector", "country == 'BG'")
    expected = vecstore.compile_filter("country == 'BG'", "pgvector")
    assert outcome == (0, f"{expected}\n", "")
    assert "p0 = " in outcome.out


def test_compile_takes_options(run: Run) -> None:
    outcome = run(
        "compile", "-d", "pgvector", "-o", "column=meta", "-o", "paramstyle=numeric_dollar",
        "--json", "year > 2020",
    )  # fmt: skip
    expected = vecstore.compile_filter(
        "year > 2020", "pgvector", column="meta", paramstyle="numeric_dollar"
    )
    assert outcome.json == {
        "dialect": "pgvector",
        "query": expected.query,
        "params": list(expected.params),
        "matches_all": False,
        "matches_nothing": False,
    }


@pytest.mark.parametrize("dialect", vecstore.dialect_names())
@pytest.mark.parametrize("filter", ["lang == 'de'", "lang IN []", "lang NOT IN []"])
def test_every_dialect_compiles_to_text_and_json(run: Run, dialect: str, filter: str) -> None:
    declared = (
        {"schema": vecstore.Schema({"lang": str})} if dialect in ("weaviate", "lancedb") else {}
    )
    Path("lang.toml").write_text('[keys]\nlang = "str"\n')
    written = ["--schema", "lang.toml"] if declared else []
    given = ("compile", "-d", dialect, *written, filter)
    assert run(*given).out.strip()
    answer = run(*given, "--json").json
    compiled = vecstore.compile_filter(filter, dialect, **declared)
    assert answer["dialect"] == dialect
    assert answer["matches_nothing"] == compiled.matches_nothing
    assert answer["matches_all"] == compiled.matches_all
    assert "object at 0x" not in json.dumps(answer)


def test_a_weaviate_query_is_its_where_filter(run: Run) -> None:
    given = ("compile", "-d", "weaviate", "-o", "layout=exact", "--json", "a == 1 AND b == 2")
    answer = run(*given).json
    expected = vecstore.compile_filter(given[-1], "weaviate", layout="exact").query.to_where()
    assert answer["query"] == expected


def test_compile_refuses_with_a_caret_and_code_2(run: Run) -> None:
    outcome = run("compile", "-d", "qdrant", "a == 1 AND title > 'M'")
    assert (outcome.code, outcome.out) == (2, "")
    lines = outcome.err.splitlines()
    caret = next(number for number, line in enumerate(lines) if line.strip().startswith("^"))
    start = lines[caret].index("^")
    assert lines[caret - 1][start:].startswith("title > 'M'")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-d", "pgvektor", "a == 1"), "did you mean 'pgvector'?"),
        (("-d", "pgvector", "-o", "colum=m", "a == 1"), "its options: column, paramstyle"),
        (("-d", "pgvector", "-o", "column", "a == 1"), "write column=VALUE"),
        (("-d", "pgvector", "-o", "paramstyle=x", "a == 1"), "unknown paramstyle 'x'"),
        (("-d", "weaviate", "-o", "properties=a:int", "a == 1"), "--schema FILE"),
        (("a == 1",), "--dialect"),
    ],
)
def test_a_wrong_call_says_what_is_right(
    run: Run, arguments: tuple[str, ...], message: str
) -> None:
    outcome = run("compile", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_columns_are_keys_or_keys_with_names(run: Run) -> None:
    Path("schema.toml").write_text('[keys]\nyear = "int"\nlang = "str"\n')
    given = ("compile", "-d", "pgvector", "--schema", "schema.toml", "year > 1 AND lang == 'de'")
    assert run(*given, "-o", "columns=year, lang").out.startswith('("year" > %(p0)s::bigint AND ')
    assert '"language"' in run(*given, "-o", "columns=lang:language").out
    outcome = run(*given, "-o", "columns=year:int")
    assert outcome.code == 2
    assert "columns=['year'], schema=" in outcome.err


@pytest.mark.parametrize(
    ("dialect", "written", "options"),
    [
        ("pgvector", ["column=d.metadata"], {"column": "d.metadata"}),
        ("pgvector", ['column=["d", "metadata"]'], {"column": ("d", "metadata")}),
        ("pgvector", ["column=2"], {"column": "2"}),
        ("qdrant", ["prefix="], {"prefix": ""}),
        ("qdrant", ['prefix=["a", "b"]'], {"prefix": ("a", "b")}),
        ("milvus", ["tags=t", "field=f"], {"tags": "t", "field": "f"}),
        ("milvus", ["tags=null"], {"tags": None}),
        ("pinecone", ["layout=exact"], {"layout": "exact"}),
        ("milvus", ["tags=None"], {"tags": None}),
        ("milvus", ["tags=none"], {"tags": None}),
    ],
)
def test_options_are_read_by_what_they_take(
    dialect: str, written: list[str], options: dict[str, object]
) -> None:
    from vecstore.cli.settings import build_dialect

    assert build_dialect(dialect, written) == vecstore.get_dialect(dialect)(**options)


def test_a_byte_order_mark_before_a_filter_file_is_left_out(run: Run, tmp_path: Path) -> None:
    marked = b"\xef\xbb\xbfa == 1\r\n"
    (tmp_path / "filter.txt").write_bytes(marked)
    for outcome in (run("fmt", "-f", "filter.txt"), run("fmt", "-", stdin=marked)):
        assert (outcome.code, outcome.out) == (0, "a == 1\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("parse",),
        ("compile", "-d", "qdrant", "-o", "prefix", "a == 1"),
        ("check", "-o", "a=1", "a == 1"),
        ("grep", "-k", "a b", "a == 1"),
    ],
)
def test_a_wrong_call_is_told_in_json_too(run: Run, arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments, "--json")
    assert outcome.code == 2
    assert outcome.json["error"]["type"] == "UsageError"
    assert outcome.json["error"]["message"] in " ".join(outcome.err.replace("│", " ").split())


@pytest.mark.parametrize("command", ["compile", "check"])
def test_help_lists_the_options_of_the_dialects(run: Run, command: str) -> None:
    shown = run(command, "--help").out
    for name in vecstore.dialect_names():
        assert f"{name}:" in shown
    assert "paramstyle=pyformat" in shown
    assert "tags=None" in shown
