"""Writing documents as one text, to look at what readers and splitters make."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from vecstore.content import ContentFormatter, MetadataMode
from vecstore.document import Document


def write_text(
    path: str | os.PathLike[str], mode: MetadataMode = MetadataMode.NONE
) -> Callable[[Iterable[Document]], int]:
    r"""An end for steps: writes documents into a file, each below a line with its id.

    What stands beside the metadata is left out; JSON lines and Parquet files, which
    :func:`vecstore.copy` writes, hold documents whole.

    Args:
        path: The file, which is replaced.
        mode: Which metadata is written above each text.

    Returns:
        A function that takes documents, and returns how many there were.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "out.txt")
        ...     write_text(file)([Document("Hello", id="a")])
        ...     file.read_text("utf-8")
        1
        '=== a\nHello\n\n'
    """
    formatter = ContentFormatter()

    def write(documents: Iterable[Document]) -> int:
        count = 0
        with Path(path).open("w", encoding="utf-8", newline="\n") as file:
            for document in documents:
                file.write(f"=== {document.id}\n{formatter.format(document, mode)}\n\n")
                count += 1
        return count

    return write
