"""Sources: what a folder lists, what is left out, and what a listing may never hide."""

from __future__ import annotations

import fnmatch
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecstore import ConfigurationError, SourceError
from vecstore.indexing import KINDS, Source, file_source, folder, text_source
from vecstore.indexing import sources as module


def ids(*args: object, **options: object) -> list[str]:
    return [source.id for source in folder(*args, **options)]  # type: ignore[arg-type]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.txt", "a/x.md", "a/deep/y.TXT", ".hidden/z.txt", "a/.env.txt", "a/p.png"):
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, "utf-8")
    return tmp_path / "root"


def test_a_folder_is_listed_in_order_with_relative_names(tree: Path) -> None:
    found = [*folder(tree, metadata={"team": "x"}, kinds=KINDS)]
    assert [source.id for source in found] == ["a/deep/y.TXT", "a/x.md", "b.txt"]
    assert [source.kind for source in found] == ["text", "markdown", "text"]
    assert [source.read_bytes().decode() for source in found] == [source.id for source in found]
    assert found[0].metadata == {"team": "x"}
    assert ids(str(tree)) == [source.id for source in found]


def test_what_is_left_out_is_told(tree: Path) -> None:
    skipped: list[Path] = []
    assert ids(tree, skipped=skipped.append) == ["a/deep/y.TXT", "a/x.md", "b.txt"]
    assert skipped == [tree / "a/p.png"]
    assert ids(tree, hidden=True) == [
        *(".hidden/z.txt", "a/.env.txt", "a/deep/y.TXT", "a/x.md", "b.txt")
    ]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*", ["b.txt"]),
        ("*.txt", ["b.txt"]),
        ("**/*.txt", ["b.txt"]),  # y.TXT ends otherwise
        ("**/*.[tT][xX][tT]", ["a/deep/y.TXT", "b.txt"]),
        ("a/*", ["a/x.md"]),
        ("a/**", ["a/deep/y.TXT", "a/x.md"]),
        ("a/**/?.*", ["a/deep/y.TXT", "a/x.md"]),
        ("[!a].txt", ["b.txt"]),
        ("(b|a).txt", []),
        ("a/x", []),
    ],
)
def test_patterns(tree: Path, pattern: str, expected: list[str]) -> None:
    assert ids(tree, [pattern]) == expected
    assert ids(tree, pattern) == expected


def test_patterns_together_give_each_file_once(tree: Path) -> None:
    assert ids(tree, ["*.txt", "**/*"]) == ["a/deep/y.TXT", "a/x.md", "b.txt"]
    assert ids(tree, []) == []


@given(st.text(st.sampled_from("ab/*?.[]!^-\\("), max_size=8))
def test_any_pattern_is_a_pattern(pattern: str) -> None:
    # A stray bracket stands for itself; none of them is a way into regular expressions.
    try:
        folder(".", pattern)
    except ConfigurationError as error:
        assert re.search("bad character range|kind is not known", str(error))  # noqa: PT017


@given(st.text(st.sampled_from("ab*?"), max_size=6), st.text("ab", max_size=6))
def test_patterns_of_one_name_are_those_of_the_shell(pattern: str, name: str) -> None:
    pattern = pattern.replace("**", "*")
    matched = re.fullmatch(module._translated(pattern), name) is not None
    assert matched == fnmatch.fnmatchcase(name, pattern)


def test_a_pattern_of_an_unknown_kind_is_an_error_and_not_an_empty_folder(tree: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"kinds=\{\*\*KINDS, '\.png': 'text'\}"):
        folder(tree, ["**/*.png"])
    found = [*folder(tree, ["**/*.png"], kinds={**KINDS, ".png": "picture"})]
    assert [(source.id, source.kind) for source in found] == [("a/p.png", "picture")]


def test_a_folder_that_cannot_be_listed_is_an_error(tree: Path) -> None:
    with pytest.raises(SourceError, match="nowhere cannot be listed: No such file"):
        ids(tree / "nowhere")
    with pytest.raises(SourceError, match=r"b\.txt cannot be listed: Not a directory"):
        ids(tree / "b.txt")


def test_a_folder_in_it_that_cannot_be_listed_is_an_error(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Files below would seem to be gone, and their documents would be removed.
    listing = os.scandir

    def refused(path: Path) -> object:
        if Path(path).name == "deep":
            raise PermissionError(13, "Permission denied")
        return listing(path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(SourceError, match="deep cannot be listed: Permission denied") as caught:
        ids(tree)
    assert isinstance(caught.value.__cause__, PermissionError)


def test_links_lead_no_listing_out_of_the_folder_or_in_a_circle(tree: Path) -> None:
    secret = tree.parent / "secret.txt"
    secret.write_text("secret", "utf-8")
    (tree / "out.txt").symlink_to(secret)
    beside = tree.parent / f"{tree.name}-of-others"
    beside.mkdir()
    (beside / "secret.txt").write_text("secret", "utf-8")
    (tree / "sibling.txt").symlink_to(beside / "secret.txt")
    (tree / "gone.txt").symlink_to(tree / "nothing.txt")
    (tree / "within.txt").symlink_to(tree / "b.txt")
    (tree / "circle").symlink_to(tree)
    skipped: list[Path] = []
    found = ids(tree, skipped=skipped.append)
    assert found == ["a/deep/y.TXT", "a/x.md", "b.txt", "within.txt"]
    assert [path.name for path in skipped] == ["p.png", "gone.txt", "out.txt", "sibling.txt"]
    # The folder itself may be behind a link.
    (tree.parent / "other").symlink_to(tree)
    assert ids(tree.parent / "other") == found


def test_a_pipe_is_no_file(tree: Path) -> None:
    os.mkfifo(tree / "pipe.txt")
    assert "pipe.txt" not in ids(tree)


def test_a_name_that_is_no_text_is_an_error(tree: Path) -> None:
    (tree / os.fsdecode(b"\xff.txt")).write_text("x", "utf-8")
    with pytest.raises(SourceError, match=r"\\udcff\.txt in .* is no text; rename it"):
        ids(tree)


def test_files_are_read_up_to_a_bound(tree: Path) -> None:
    (tree / "b.txt").write_bytes(b"12345")
    (source,) = folder(tree, "b.txt", max_bytes=5)
    assert source.read_bytes() == b"12345"
    (source,) = folder(tree, "b.txt", max_bytes=4)
    with pytest.raises(SourceError, match=r"b\.txt is larger than 4 bytes; raise max_bytes"):
        source.read_bytes()
    assert file_source(tree / "b.txt", "five", max_bytes=None).read_bytes() == b"12345"


def test_a_file_that_vanishes_after_the_listing_is_told(tree: Path) -> None:
    (source,) = folder(tree, "b.txt")
    (tree / "b.txt").unlink()
    with pytest.raises(SourceError, match=r"b\.txt cannot be loaded \(FileNotFoundError: No such"):
        source.read_bytes()


def test_errors_of_a_loader_keep_their_own_words_to_themselves() -> None:
    def load() -> bytes:
        raise RuntimeError("https://user:password@host")

    with pytest.raises(SourceError, match=r"^page cannot be loaded \(RuntimeError\)$") as caught:
        Source(id="page", load=load, kind="text").read_bytes()
    assert caught.value.source == "page"
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("data", [bytearray(b"ab"), memoryview(b"ab"), b"ab"])
def test_bytes_of_any_kind(data: object) -> None:
    assert Source(id="a", load=lambda: data, kind="text").read_bytes() == b"ab"  # type: ignore[arg-type, return-value]


def test_a_loader_that_returns_text_is_told_to_encode_it() -> None:
    with pytest.raises(SourceError, match=r"load of a returned str, not bytes; encode it"):
        Source(id="a", load=lambda: "ab", kind="text").read_bytes()  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"id": ""}, "the id of a source is a text, not ''"),
        ({"id": 3}, "the id of a source is a text, not 3"),
        ({"kind": None}, "the kind of a source is a text, not None"),
        ({"load": b"x"}, "is a function that returns its bytes, not bytes; write load=lambda"),
        ({"metadata": ["a"]}, "metadata of the source 'a' is a mapping, not a list"),
    ],
)
def test_a_source_is_checked_when_it_is_made(parts: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        Source(**{"id": "a", "load": lambda: b"", "kind": "text", **parts})  # type: ignore[arg-type]


def test_one_file_by_its_name() -> None:
    assert file_source("a/b.MD").kind == "markdown"
    assert file_source("a/b", kind="text").id == "a/b"
    with pytest.raises(ConfigurationError, match=r"a\.bin is, is not known .*kind='text'"):
        file_source("a.bin")
    assert text_source("n", "é", metadata={"a": 1}).read_bytes() == "é".encode()
