"""index and search: from JSON lines to a store file, and asking it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from vecstore import Document, copy
from vecstore.simple.store import SimpleVectorStore

ROWS = [
    {"id": "a", "text": "Baking bread", "lang": "en", "year": 2021, "about": {"tags": ["x", "y"]}},
    {"id": 7, "text": "Brot backen", "lang": "de", "year": 2019, "about": {"tags": []}},
    {"text": "Tuning\na database", "lang": "en", "year": None},
]

EMBEDDERS = '''
"""Embedders of a test: a text becomes how often it holds "a" and "b"."""


def embed(texts):
    return [[text.count("a") + 1, text.count("b")] for text in texts]


class Counts:
    def embed_documents(self, texts):
        return embed(texts)

    def embed_query(self, text):
        return embed([text])[0]


class Box:
    instance = Counts()


def failing(texts):
    raise RuntimeError("out of order")
'''


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # A name that no other test imports: modules stay loaded for the whole run.
    (tmp_path / "embedders_of_index_search.py").write_text(EMBEDDERS, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "embedders_of_index_search", raising=False)
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    return path


EMBEDDER = ("-e", "embedders_of_index_search:embed")


def test_index_makes_a_store_and_search_finds(run: Run, docs: Path, tmp_path: Path) -> None:
    outcome = run("index", "docs.jsonl", "-o", "store.json", *EMBEDDER)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("3 documents, 2 dimensions, in store.json")
    store = SimpleVectorStore().load(tmp_path / "store.json")
    (first,) = store.get(["a"])
    assert first.metadata == {"lang": "en", "year": 2021, "about": {"tags": ["x", "y"]}}
    assert store.get(["7"])[0].text == "Brot backen"
    assert store.count() == 3

    found = run("search", "store.json", "bbb", "--json", "--top-k", "3", *EMBEDDER).json
    expected = SimpleVectorStore(lambda texts: [[t.count("a") + 1, t.count("b")] for t in texts])
    expected.load(tmp_path / "store.json")
    wanted = expected.search("bbb", top_k=3)
    assert [(hit["id"], hit["score"]) for hit in found] == [(one.id, one.score) for one in wanted]
    assert found[0]["metadata"] == wanted[0].metadata
    assert found[0]["text"] == wanted[0].text


def test_search_filters(run: Run, docs: Path, tmp_path: Path) -> None:
    run("index", "docs.jsonl", "-o", "store.json", *EMBEDDER)

    def ids(*arguments: str, stdin: str | None = None) -> list[str]:
        outcome = run("search", "store.json", "bread", "--json", *arguments, *EMBEDDER, stdin=stdin)
        return [hit["id"] for hit in outcome.json]

    (tmp_path / "filter.txt").write_text("about.tags IS NULL AND lang != 'en'", "utf-8")
    assert ids("--filter", "year >= 2020") == ["a"]
    assert ids("--filter", "-", stdin="about.tags == 'y'") == ["a"]
    assert ids("--file", "filter.txt") == ["7"]
    assert ids("--threshold", "2") == []
    assert len(ids("--top-k", "1")) == 1
    paged = [*ids("--top-k", "2"), *ids("--top-k", "2", "--offset", "2")]
    assert paged == ids("--top-k", "4")
    assert len(ids()) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("",), "the query is blank"), ((" \n",), "the query is blank"),
     (("b", "--threshold", "nan"), "threshold is NaN")],
)  # fmt: skip
def test_what_cannot_be_looked_for_is_an_error(
    run: Run, docs: Path, arguments: tuple[str, ...], said: str
) -> None:
    run("index", "docs.jsonl", "-o", "store.json", *EMBEDDER)
    outcome = run("search", "store.json", *arguments, *EMBEDDER)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err


def test_search_prints_a_table_and_says_when_there_is_nothing(run: Run, docs: Path) -> None:
    run("index", "docs.jsonl", "-o", "store.json", *EMBEDDER)
    outcome = run("search", "store.json", "b", "--filter", "year == 2019", *EMBEDDER)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.split()[:3] == ["score", "id", "text"]
    assert outcome.out.rstrip().endswith("7    Brot backen")
    outcome = run("search", "store.json", "b", "--filter", "year == 1", *EMBEDDER)
    assert outcome == (1, "", "no document was found\n")
    outcome = run("search", "store.json", "b", "--filter", "year == 1", "--json", *EMBEDDER)
    assert (outcome.code, outcome.json) == (1, [])


def test_the_text_of_a_hit_is_its_first_line_without_control_characters(
    run: Run, tmp_path: Path, docs: Path
) -> None:
    row = {"id": "x\x1b[1m", "text": "\n \x1b[31mred\x07 [bold]b[/]\nsecond"}
    docs.write_text(json.dumps(row), "utf-8")
    run("index", "docs.jsonl", "-o", "store.json", *EMBEDDER)
    outcome = run("search", "store.json", "b", *EMBEDDER)
    assert "x [1m    [31mred  [bold]b[/]" in outcome.out
    assert "second" not in outcome.out
    assert "\x1b" not in outcome.out


def test_names_of_fields(run: Run, docs: Path, tmp_path: Path) -> None:
    rows = [{"key": "k1", "body": "ab", "meta": {"in": {"n": 1}}}, {"body": "b", "meta": None}]
    docs.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    outcome = run(
        "index", "docs.jsonl", "-o", "s.json", "--text", "body", "--id", "key", "-k", 'meta."in"',
        "--json", *EMBEDDER,
    )  # fmt: skip
    assert outcome.code == 0
    assert {**outcome.json, "seconds": 0} == {
        "store": "s.json",
        "documents": 2,
        "dimension": 2,
        "repeated": 0,
        "skipped": 0,
        "seconds": 0,
    }
    documents = SimpleVectorStore().load(tmp_path / "s.json").get()
    assert {one.text: one.metadata for one in documents} == {"ab": {"n": 1}, "b": {}}
    assert {one.id for one in documents} > {"k1"}


def test_what_stands_beside_the_metadata_comes_from_files_of_copy_and_is_told(
    run: Run, docs: Path, tmp_path: Path
) -> None:
    extra = {"lines": [{"sku": "A7", "price": 1.0}, {"gift": None}]}
    store = SimpleVectorStore()
    store.add([Document("ab", {"n": 1}, "a", [1, 0], extra=extra), Document("b", {}, "b", [0, 1])])
    copy(store, tmp_path / "copied.jsonl")
    assert run("index", "copied.jsonl", "-o", "s.json", "-k", "metadata", *EMBEDDER).code == 0
    found = run("search", "s.json", "ab", "--json", *EMBEDDER).json
    assert {hit["id"]: hit.get("extra") for hit in found} == {"a": extra, "b": None}
    assert ["extra" in hit for hit in found if hit["id"] == "b"] == [False]
    # Without -k every key is metadata, which are not so free.
    outcome = run("index", "copied.jsonl", "-o", "t.json", *EMBEDDER)
    assert outcome.code == 2
    assert "extra" in outcome.err


REPEATED = [
    {"id": "a", "text": "one", "n": 1},
    {"id": "b", "text": "two", "n": 2},
    {"id": "a", "text": "three", "n": 3},
    {"id": "a", "text": "four", "n": 4},
]


@pytest.mark.parametrize(
    ("arguments", "kept", "said"), [((), 4, "last"), (("--on-conflict", "skip"), 1, "first")]
)
def test_lines_with_one_id_are_told(
    run: Run, docs: Path, tmp_path: Path, arguments: tuple[str, ...], kept: int, said: str
) -> None:
    docs.write_text("".join(json.dumps(row) + "\n" for row in REPEATED), "utf-8")
    outcome = run("index", "docs.jsonl", "-o", "s.json", *arguments, *EMBEDDER)
    assert outcome.code == 0
    assert outcome.err == (
        f"2 of 4 lines brought an id once more; the {said} line of each id was kept "
        "(see --on-conflict)\n"
    )
    assert outcome.out.startswith("2 documents")
    (document,) = SimpleVectorStore().load(tmp_path / "s.json").get(["a"])
    assert document.metadata == {"n": kept}
    shown = run("index", "docs.jsonl", "-o", "s.json", "--force", "--json", *arguments, *EMBEDDER)
    assert (shown.json["documents"], shown.json["repeated"], shown.err) == (2, 2, "")


def test_lines_with_one_id_may_be_an_error(run: Run, docs: Path, tmp_path: Path) -> None:
    docs.write_text("".join(json.dumps(row) + "\n" for row in REPEATED), "utf-8")
    outcome = run("index", "docs.jsonl", "-o", "s.json", "--on-conflict", "error", *EMBEDDER)
    assert outcome.code == 2
    assert "several lines have one id: 'a'; nothing was written" in outcome.err
    assert "--on-conflict replace keeps the last" in outcome.err
    assert not (tmp_path / "s.json").exists()


def test_documents_that_cannot_be_stored_are_all_named_or_skipped(
    run: Run, docs: Path, tmp_path: Path
) -> None:
    rows = [{"id": f"d{n}", "text": "" if n % 3 == 0 else "ab"} for n in range(10)]
    lines = [json.dumps(row) for row in rows]
    docs.write_text("\n".join([*lines, "no json"]), "utf-8")
    (tmp_path / "no_blanks_of_index.py").write_text(
        "def embed(texts):\n    return [[float(len(t)), 0.0] for t in texts]\n", "utf-8"
    )
    embedder = ("-e", "no_blanks_of_index:embed")
    outcome = run("index", "docs.jsonl", "-o", "s.json", *embedder)
    assert outcome.code == 2
    assert "docs.jsonl:11: this is not JSON" in outcome.err
    assert "hint: --on-error skip" in outcome.err
    docs.write_text("\n".join(lines), "utf-8")
    outcome = run("index", "docs.jsonl", "-o", "s.json", *embedder)
    assert outcome.code == 2
    assert "4 of 10 documents" in outcome.err
    assert "'d0', 'd3', 'd6' and 1 more" in outcome.err
    assert "nothing was written\nhint: --on-error skip" in outcome.err
    assert not (tmp_path / "s.json").exists()

    docs.write_text("\n".join([*lines, "no json"]), "utf-8")
    outcome = run("index", "docs.jsonl", "-o", "s.json", "--on-error", "skip", "--json", *embedder)
    assert outcome.code == 0
    assert (outcome.json["documents"], outcome.json["skipped"]) == (6, 5)
    assert "docs.jsonl:11: this is not JSON" in outcome.err
    assert "4 of 10 documents left out" in outcome.err
    assert SimpleVectorStore().load(tmp_path / "s.json").count() == 6


def test_a_store_of_nothing_is_not_written(run: Run, docs: Path, tmp_path: Path) -> None:
    docs.write_text('{"text": ""}', "utf-8")
    (tmp_path / "zeros_of_index.py").write_text(
        "def embed(texts):\n    return [[0.0, 0.0] for t in texts]\n", "utf-8"
    )
    arguments = ("-o", "s.json", "--on-error", "skip", "-e", "zeros_of_index:embed")
    outcome = run("index", "docs.jsonl", *arguments)
    assert outcome.code == 2
    assert "no document could be stored; nothing was written" in outcome.err
    assert not (tmp_path / "s.json").exists()


def test_standard_input_and_several_files(run: Run, docs: Path, tmp_path: Path) -> None:
    outcome = run("index", "docs.jsonl", "-", "-o", "s.json", *EMBEDDER, stdin='{"text": "a"}\n')
    assert outcome.code == 0
    assert SimpleVectorStore().load(tmp_path / "s.json").count() == 4


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "this is not JSON"),
        ("[]", "a JSON object is needed, not a list"),
        ('{"id": "a"}', "it has no 'text'; --text NAME says where the text is"),
        ('{"text": 5}', "what stands under 'text' is no text"),
        ('{"text": "a", "id": true}', "the id of a document is text"),
        ('{"text": "a", "k": [1, "a"]}', "this one mixes number and string"),
        ('{"text": "a", "k": NaN}', "nan is not a finite number"),
        ('{"text": "\\ud800"}', "lone surrogate"),
    ],
)
def test_a_bad_line_leaves_no_store(
    run: Run, docs: Path, tmp_path: Path, line: str, why: str
) -> None:
    docs.write_text('{"text": "good"}\n\n' + line + "\n", "utf-8")
    outcome = run("index", "docs.jsonl", "-o", "store.json", *EMBEDDER)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("vecstore index: docs.jsonl:3: ")
    assert why in outcome.err
    assert outcome.err.endswith(
        "error: 1 line is no document; nothing was written\nhint: --on-error skip leaves them out\n"
    )
    assert not (tmp_path / "store.json").exists()


def test_index_replaces_a_file_only_when_told_to(run: Run, docs: Path, tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text("precious", "utf-8")
    outcome = run("index", "docs.jsonl", "-o", "store.json", *EMBEDDER)
    assert outcome == (
        2,
        "",
        "error: store.json exists already\nhint: --force replaces it\n",
    )
    assert (tmp_path / "store.json").read_text("utf-8") == "precious"
    assert run("index", "docs.jsonl", "-o", "store.json", "--force", *EMBEDDER).code == 0
    assert SimpleVectorStore().load(tmp_path / "store.json").count() == 3


@pytest.mark.parametrize(
    ("embedder", "message"),
    [
        ("nosuch", "there is no embedder 'nosuch'"),
        ("nosuch_module:x", "ModuleNotFoundError: No module named 'nosuch_module'"),
        ("embedders_of_index_search:nosuch", "AttributeError"),
        ("embedders_of_index_search:__doc__", "an embedder has the methods"),
        ("embedders_of_index_search:failing", "the embedder failed on"),
    ],
)
def test_an_embedder_that_does_not_work(
    run: Run, docs: Path, tmp_path: Path, embedder: str, message: str
) -> None:
    outcome = run("index", "docs.jsonl", "-o", "store.json", "-e", embedder)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert not (tmp_path / "store.json").exists()


@pytest.mark.parametrize("name", ["embed", "Counts", "Box.instance"])
def test_an_embedder_is_a_function_an_object_or_a_class(run: Run, docs: Path, name: str) -> None:
    embedder = ("-e", f"embedders_of_index_search:{name}")
    assert run("index", "docs.jsonl", "-o", "store.json", *embedder).code == 0
    assert run("search", "store.json", "a", *embedder).code == 0


def test_wordllama_is_the_default(run: Run, docs: Path) -> None:
    assert run("index", "docs.jsonl", "-o", "store.json").code == 0
    outcome = run("search", "store.json", "sourdough loaf", "--json", "--top-k", "1")
    assert outcome.json[0]["id"] == "a"


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "missing.json", "a"),
        ("search", "docs.jsonl", "a"),
        ("index", "missing.jsonl", "-o", "s.json"),
        ("index", "empty.jsonl", "-o", "s.json"),
        ("index", "docs.jsonl", "-o", "no/such/folder/s.json"),
        ("search", "store.json", "a", "--filter", "year >"),
        ("search", "store.json", "a", "--top-k", "0"),
        ("search", "store.json", "a", "--offset", "-1"),
        ("search", "store.json", "a", "--filter", "a == 1", "--file", "docs.jsonl"),
    ],
)
def test_expected_errors_are_messages(
    run: Run, docs: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    run("index", "docs.jsonl", "-o", "store.json", *EMBEDDER)
    (tmp_path / "empty.jsonl").write_text("\n", "utf-8")
    outcome = run(*arguments, *EMBEDDER)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.strip()
    assert "Traceback" not in outcome.err


def test_a_store_of_another_model_is_told(run: Run, docs: Path) -> None:
    run("index", "docs.jsonl", "-o", "store.json", *EMBEDDER)
    outcome = run("search", "store.json", "a", "--json")
    assert outcome.code == 2
    assert outcome.json["error"]["type"] == "DimensionMismatchError"
    assert "256" in outcome.err
