"""Documents written into a file, to look at."""

from __future__ import annotations

from pathlib import Path

from vecstore import Document, MetadataMode
from vecstore.indexing import TokenSplitter, chain, read, text_source, write_text


def test_what_steps_made_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    source = text_source("汤", "先把水烧开。再放盐。", metadata={"n": 1})
    assert write_text(path)(chain(TokenSplitter(14))(read(source))) == 2
    assert path.read_bytes().decode() == "=== 汤#0/0\n先把水烧开。\n\n=== 汤#0/1\n再放盐。\n\n"
    assert write_text(path, MetadataMode.EMBED)([Document("Text.", {"n": 1}, id="a")]) == 1
    assert path.read_bytes() == b"=== a\nn: 1\n\nText.\n\n"
    assert write_text(str(path))([]) == 0
    assert path.read_bytes() == b""
