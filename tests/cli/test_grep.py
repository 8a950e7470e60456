"""grep: lines in, the same lines out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

import pytest

import vecstore
from tests.cli.conftest import Run
from tests.simple.random_filters import metadata, tree
from vecstore.cli.grep import Scan

LINES = [
    b'{"id": 1, "year": 2021, "lang": "en", "meta": {"tags": ["a", "b"], "in ner": {"x": 1.0}}}\n',
    b'{ "id":2,"year":2019 , "lang":"de", "year":2018}\r\n',
    b'{"id": 3, "lang": null, "price": 1e400, "big": 12345678901234567890, "pi": 3.1400}\n',
    '{"id": 4, "year": 2023, "lang": "bg", "text": "Хляб и \\u0445"}\n'.encode(),
    b'{"id": 5, "year": 2022, "lang": ["en", "de"], "meta": null}',
]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    path = tmp_path / "docs.jsonl"
    path.write_bytes(b"".join(LINES))
    return path


def test_matching_lines_come_out_byte_for_byte(run: Run, docs: Path) -> None:
    everything = run("grep", "id IS NOT NULL", "docs.jsonl")
    # Only the line feed that the end of the file lacked is added.
    assert (everything.code, everything.out.encode(), everything.err) == (
        0,
        b"".join(LINES) + b"\n",
        "",
    )
    assert run("grep", "year < 2019", "docs.jsonl").out.encode() == LINES[1]
    assert run("grep", "price IS NULL AND lang == 'bg'", "docs.jsonl").out.encode() == LINES[3]


@pytest.mark.parametrize(
    "filter",
    ["year >= 2021", "lang != 'de'", "lang IN ['en']", "NOT (year > 2020)", "lang IS NULL"],
)
def test_it_selects_what_matches_selects(run: Run, docs: Path, filter: str) -> None:
    expected = [
        line.rstrip(b"\r\n")
        for line in LINES
        if vecstore.parse(filter).matches({**json.loads(line), "price": None})
    ]
    outcome = run("grep", filter, "docs.jsonl")
    assert [line.rstrip("\r\n").encode() for line in outcome.out.splitlines()] == expected
    inverted = run("grep", "-v", filter, "docs.jsonl")
    assert len(inverted.out.splitlines()) == len(LINES) - len(expected)
    assert run("grep", "-c", filter, "docs.jsonl").out == f"{len(expected)}\n"
    assert run("grep", "--count", "--invert", filter, "docs.jsonl").out == (
        f"{len(LINES) - len(expected)}\n"
    )


def test_exit_codes_are_those_of_grep(run: Run, docs: Path) -> None:
    assert run("grep", "year > 2020", "docs.jsonl").code == 0
    assert run("grep", "year > 3000", "docs.jsonl") == (1, "", "")
    assert run("grep", "-c", "year > 3000", "docs.jsonl") == (1, "0\n", "")
    assert run("grep", "year >", "docs.jsonl").code == 2
    assert run("grep", "year > 2020", "missing.jsonl").code == 2
    assert run("grep").code == 2


def test_standard_input(run: Run, docs: Path) -> None:
    content = docs.read_bytes()
    expected = LINES[1].decode()
    assert run("grep", "year < 2019", stdin=content).out == expected
    assert run("grep", "year < 2019", "-", stdin=content).out == expected
    assert run("grep", "-", "docs.jsonl", stdin="year < 2019").out == expected
    outcome = run("grep", "-", stdin="year < 2019")
    assert outcome.code == 2
    assert "cannot both come from standard input" in outcome.err
    assert run("grep", "-", "docs.jsonl", "-", stdin="year < 2019").code == 2


def test_the_filter_from_a_file_leaves_all_arguments_to_files(
    run: Run, docs: Path, tmp_path: Path
) -> None:
    (tmp_path / "filter.txt").write_text("year < 2019", "utf-8")
    assert run("grep", "-f", "filter.txt", "docs.jsonl").out == LINES[1].decode()
    assert run("grep", "-f", "filter.txt", "-c", "docs.jsonl", "docs.jsonl").out == (
        "docs.jsonl:1\ndocs.jsonl:1\n"
    )
    assert run("grep", "-f", "filter.txt", stdin=docs.read_bytes()).out == LINES[1].decode()


def test_line_numbers_and_names(run: Run, docs: Path, tmp_path: Path) -> None:
    assert run("grep", "-n", "year < 2019", "docs.jsonl").out == "2:" + LINES[1].decode()
    (tmp_path / "more.jsonl").write_bytes(b"\n\n" + LINES[1])
    outcome = run("grep", "-n", "year < 2019", "docs.jsonl", "more.jsonl", "-", stdin=LINES[1])
    assert outcome.out.splitlines() == [
        "docs.jsonl:2:" + LINES[1].decode().rstrip(),
        "more.jsonl:3:" + LINES[1].decode().rstrip(),
        "(standard input):1:" + LINES[1].decode().rstrip(),
    ]


@pytest.mark.parametrize(
    ("key", "filter", "ids"),
    [
        ("meta", "tags == 'b'", [1]),
        ('meta."in ner"', "x == 1", [1]),
        ("meta", "tags IS NULL", [2, 3, 4, 5]),
    ],
)
def test_the_filter_may_look_at_an_inner_object(
    run: Run, docs: Path, key: str, filter: str, ids: list[int]
) -> None:
    outcome = run("grep", "-k", key, filter, "docs.jsonl", "--json")
    found = [json.loads(line)["line"] for line in outcome.out.splitlines()]
    assert (outcome.code, found, outcome.err) == (0, ids, "")


def test_an_inner_object_must_be_one(run: Run, docs: Path) -> None:
    outcome = run("grep", "-k", "lang", "x IS NULL", "docs.jsonl", "-c")
    assert (outcome.code, outcome.out) == (2, "1\n")
    assert "docs.jsonl:1: the value under 'lang' is a string, not an object\n" in outcome.err
    assert "docs.jsonl:5: the value under 'lang' is a list, not an object\n" in outcome.err
    outcome = run("grep", "-k", "two words", "x IS NULL", "docs.jsonl")
    assert outcome.code == 2
    assert "'two words' is no key" in outcome.err


def test_json_holds_the_line_as_it_was(run: Run, docs: Path) -> None:
    outcome = run("grep", "id == 3 OR id == 4", "docs.jsonl", "--json")
    third, fourth = outcome.out.splitlines()
    assert '"document": ' + LINES[2].decode().strip() + "}" in third
    assert json.loads(fourth) == {
        "file": "docs.jsonl",
        "line": 4,
        "document": json.loads(LINES[3]),
    }


def test_json_of_a_count(run: Run, docs: Path) -> None:
    outcome = run("grep", "-c", "--json", "year > 2020", "docs.jsonl", "missing.jsonl")
    assert outcome.code == 2
    assert outcome.json == {
        "count": 3,
        "files": [{"file": "docs.jsonl", "count": 3}, {"file": "missing.jsonl", "count": 0}],
        "failures": 1,
    }


GOOD = b'{"k": 1}\n'


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"{]\n", "this is not JSON: Expecting property name enclosed in double quotes (column 2)"),
        (b'{"k": 1} x\n', "this is not JSON: Extra data (column 10)"),
        (b"[1, 2]\n", "a JSON object is needed, not a list"),
        (b"null\n", "a JSON object is needed, not null"),
        (b"5\n", "a JSON object is needed, not a number"),
        (b'{"k": "\xe9"}\n', "this is not UTF-8 (byte 0xe9)"),
        (b'{"k": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "the JSON is nested too deep"),
        (b'{"k": ' + b"9" * 5_000 + b"}\n", "it holds an integer that is too long"),
        (b'{"k": [1, "a"]}\n', "this one mixes number and string"),
        (b'{"k": [null]}\n', "a list cannot hold null"),
        (b'{"k": [[1]]}\n', "a list cannot hold lists"),
        (b'{"k": NaN}\n', "nan is not a finite number"),
        (b'{"k": "\\ud800"}\n', "the text holds a lone surrogate"),
        (b'{"k": "a\\u0000"}\n', "the text holds a NUL character"),
    ],
)
def test_a_bad_line_is_reported_with_its_place_and_the_rest_goes_on(
    run: Run, tmp_path: Path, bad: bytes, why: str
) -> None:
    (tmp_path / "docs.jsonl").write_bytes(GOOD + b"\n  \n" + bad + GOOD)
    outcome = run("grep", "k == 1", "docs.jsonl")
    assert outcome.code == 2
    assert outcome.out.encode() == GOOD + GOOD
    assert len(outcome.err.splitlines()) == 1
    assert outcome.err.startswith("vecstore grep: docs.jsonl:4: ")
    assert why in outcome.err
    assert run("grep", "-v", "k == 1", "docs.jsonl").out == ""


def test_what_the_filter_does_not_look_at_may_be_anything(run: Run, tmp_path: Path) -> None:
    line = b'{"k": 1, "vectors": [[0.1], [0.2]], "n": NaN, "s": "\\ud800", "o": [{"a": null}]}\n'
    (tmp_path / "docs.jsonl").write_bytes(line)
    assert run("grep", "k == 1", "docs.jsonl") == (0, line.decode(), "")


def test_a_byte_order_mark_and_odd_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bom.jsonl").write_bytes(b"\xef\xbb\xbf" + GOOD)
    assert run("grep", "k == 1", "bom.jsonl").out.encode() == b"\xef\xbb\xbf" + GOOD
    assert json.loads(run("grep", "--json", "k == 1", "bom.jsonl").out)["document"] == {"k": 1}
    (tmp_path / "empty.jsonl").write_bytes(b"")
    assert run("grep", "k == 1", "empty.jsonl") == (1, "", "")
    (tmp_path / "folder").mkdir()
    outcome = run("grep", "k == 1", "folder", "bom.jsonl")
    assert outcome.code == 2
    assert outcome.err == "vecstore grep: folder: Is a directory\n"
    assert outcome.out.encode() == b"\xef\xbb\xbf" + GOOD


def test_large_files_are_decided_many_lines_at_once_and_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    random = Random(1)
    odd = [
        '{"a": [1, "x"]}',
        '{"a": NaN}',
        "no JSON",
        "",
        "[]",
        '{"a": "\\ud800"}',
        '{"b": {"a": 1}}',
    ]
    lines = [
        random.choice(odd) if random.random() < 0.02 else json.dumps(metadata(random))
        for _ in range(3_000)
    ]
    path = tmp_path / "docs.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    grep_module = sys.modules[Scan.__module__]  # the name in the package is the function's
    monkeypatch.setattr(grep_module, "_BYTES_AT_ONCE", 20_000)
    monkeypatch.setattr(grep_module, "_MANY_COMPARISONS", 0)
    different = 0
    for _ in range(25):
        found = []
        filter, invert = tree(random), random.random() < 0.3
        under = random.choice([(), (), ("b",)])
        for large in (0, 1 << 40):
            monkeypatch.setattr(grep_module, "_LARGE_FILE", large)
            scan = Scan(filter, under, invert)
            selected = list(scan.selected(str(path)))
            found.append((selected, scan.failures, capsys.readouterr().err))
        assert found[0] == found[1]
        different += 0 < len(found[0][0]) < 2_000
    assert different > 10
