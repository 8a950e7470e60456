"""`vecstore index` and `vecstore search`: from JSON lines to one store file, and asking it."""

from __future__ import annotations

import enum
import os
import re
import sys
import time
import warnings
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from vecstore.cli.keys import KeyEnvOption, server_key
from vecstore.cli.screen import answers, progress_bar, remarks
from vecstore.cli.terminal import (
    NEGATIVE,
    BadLine,
    CommandError,
    JsonOption,
    expected_errors,
    first_line,
    inner_object,
    key_path,
    opened,
    parsed_filter,
    print_json,
    read_row,
    shown_name,
    visible,
)
from vecstore.document import Document
from vecstore.embedders.opening import open_embedder
from vecstore.errors import DocumentError, DuplicateDocumentError, VecstoreError
from vecstore.store.adding import SkippedDocumentsWarning
from vecstore.store.arguments import SearchRequest
from vecstore.store.backend import listed_ids
from vecstore.store.base import VectorStore
from vecstore.store.operations import Progress

EmbedderOption = Annotated[
    str,
    typer.Option(
        "--embedder",
        "-e",
        metavar="NAME",
        help="What turns texts into vectors: [bold]wordllama[/], [bold]openai:MODEL[/], "
        "[bold]sentence-transformers:MODEL[/], or [bold]module:attribute[/], an object with "
        "embed_documents and embed_query, or a function.",
    ),
]


_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""How the address of a store begins; one letter before a colon is a disk of Windows."""


def load_embedder(name: str) -> Any:
    """The embedder of that name.

    Raises:
        CommandError: If there is none of that name, or it cannot be loaded.
    """
    # A command finds its own folder on the path, where `python` finds the current one.
    sys.path.insert(0, os.getcwd())
    try:
        return open_embedder(name)
    except Exception as error:
        if isinstance(error, VecstoreError):
            raise CommandError(str(error)) from None
        raise CommandError(
            f"the embedder {name!r} cannot be made: {type(error).__name__}: {error}"
        ) from None


def load_embed_as(name: str | None) -> Any:
    """What is embedded of a document: None for its text, or a function from it to a text.

    Raises:
        CommandError: If there is none of that name, or it cannot be loaded.
    """
    if name is None:
        return None
    if name == "metadata":
        from vecstore.content import ContentFormatter

        return ContentFormatter().for_embedding
    module, colon, path = name.partition(":")
    if not (module and colon and path):
        raise CommandError(
            f"--embed-as {visible(name)}: write metadata, or module:attribute, a function from a "
            "document to a text, such as my_texts:titled"
        )
    sys.path.insert(0, os.getcwd())
    try:
        return attrgetter(path)(import_module(module))
    except Exception as error:
        raise CommandError(
            f"--embed-as {visible(name)} cannot be loaded: {type(error).__name__}: {error}; try it "
            f"with: python -c 'import {visible(module)}'"
        ) from None


INDEX_EXAMPLES = """
[bold]Examples[/]

  vecstore index docs.jsonl -o docs.json

  vecstore index -k metadata --text body --embedder my_models:embed posts.jsonl -o posts.json
"""

SEARCH_EXAMPLES = """
[bold]Examples[/]

  vecstore search docs.json "bread without yeast" --filter "lang == 'en' AND year >= 2020"

  vecstore search docs.json "bread" --top-k 20 --threshold 0.4 --json | jq '.[].id'

  vecstore search 'qdrant://localhost/docs' "bread" -e openai:text-embedding-3-small
"""


class Conflict(enum.Enum):
    """What becomes of lines with one id."""

    REPLACE = "replace"
    SKIP = "skip"
    ERROR = "error"


class Fault(enum.Enum):
    """What becomes of what cannot be stored."""

    RAISE = "raise"
    SKIP = "skip"


def index(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="JSON-lines files, one document a line; [bold]-[/] reads standard input.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="STORE", show_default=False, help="The store file to write."
        ),
    ],
    embedder: EmbedderOption = "wordllama",
    text: Annotated[
        str, typer.Option("--text", metavar="NAME", help="Where a line holds its text.")
    ] = "text",
    id: Annotated[
        str,
        typer.Option("--id", metavar="NAME", help="Where a line holds its id, if it has one."),
    ] = "id",
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            "-k",
            metavar="KEY",
            help="The object that is the metadata; without it, everything but text and id is.",
        ),
    ] = None,
    on_conflict: Annotated[
        Conflict,
        typer.Option(
            "--on-conflict",
            help="Of several lines with one id: keep the last, skip all but the first, or stop.",
        ),
    ] = Conflict.REPLACE,
    on_error: Annotated[
        Fault,
        typer.Option(
            "--on-error",
            help="Lines that are no documents, and documents that cannot be stored: stop, or skip "
            "them and say which.",
        ),
    ] = Fault.RAISE,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the store file when there is one.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Embed the documents of JSON-lines files, and save them as one store file.

    Nothing is written unless every line could be read and stored, or --on-error skip was given.
    """
    with expected_errors(as_json):
        if output.exists() and not force:
            raise CommandError(f"{output} exists already\nhint: --force replaces it")
        skipping = on_error is Fault.SKIP
        documents, unread = _read_documents(files, text, id, key_path(key), skipping)
        from vecstore.simple.store import SimpleVectorStore

        started = time.perf_counter()
        with (
            SimpleVectorStore(load_embedder(embedder)) as store,
            progress_bar("Embedding", len(documents)) as bar,
        ):
            unstored = _add(store, documents, on_conflict, on_error, bar.reach)
            if not store.count():
                raise CommandError("no document could be stored; nothing was written")
            store.save(output)
            count, dimension = store.count(), store.dimension
        seconds = time.perf_counter() - started
    repeated = len(documents) - unstored - count
    if as_json:
        print_json(
            {"store": str(output), "documents": count, "dimension": dimension,
             "repeated": repeated, "skipped": unread + unstored, "seconds": round(seconds, 3)}
        )  # fmt: skip
        return
    if repeated:
        kept = "first" if on_conflict is Conflict.SKIP else "last"
        remarks().print(
            f"{repeated:,} of {len(documents):,} lines brought an id once more; the {kept} line of "
            "each id was kept (see --on-conflict)",
            soft_wrap=True,
        )
    answers().print(f"{count:,} documents, {dimension} dimensions, in {output} ({seconds:.1f} s)")


def search(
    store: Annotated[
        str,
        typer.Argument(
            metavar="STORE",
            show_default=False,
            help="A file written by index, or the address of a store.",
        ),
    ],
    query: Annotated[
        str, typer.Argument(metavar="QUERY", show_default=False, help="What to look for, in words.")
    ],
    filter: Annotated[
        str | None,
        typer.Option(
            "--filter",
            metavar="FILTER",
            help="Look only among the documents it selects; [bold]-[/] reads standard input.",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", metavar="FILE", help="Read the filter from a file."),
    ] = None,
    top_k: Annotated[int, typer.Option("--top-k", min=1, help="How many to find at most.")] = 4,
    offset: Annotated[
        int, typer.Option("--offset", min=0, help="How many of the best to pass over.")
    ] = 0,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Leave out what scores less.")
    ] = None,
    embedder: EmbedderOption = "wordllama",
    key_env: KeyEnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the documents of a store that are nearest to a text.

    Of what sync has read, the file, the headings and the page are shown. The embedder must be the
    one that the store was made with. Exits with 1 when nothing is found.
    """
    with expected_errors(as_json):
        wanted = None if filter is None and file is None else parsed_filter(filter, file)
        try:
            request = SearchRequest(
                query, top_k=top_k, offset=offset, threshold=threshold, filter=wanted
            )
        except ValueError as error:  # a blank query, or a threshold that is no number
            raise CommandError(str(error)) from None
        with _opened(store, embedder, key_env) as opened_store:
            found = opened_store.search(request)
    if as_json:
        print_json([hit_object(document) for document in found])
    elif found:
        answers().print(hits_table(found))
    else:
        remarks().print("no document was found")
    if not found:
        raise typer.Exit(NEGATIVE)


def _opened(store: str, embedder: str, key_env: str | None) -> VectorStore:
    if _ADDRESS.match(store):
        from vecstore.store.url import open_store

        key = server_key(store, key_env)
        return open_store(store, embedder=load_embedder(embedder), **key)
    from vecstore.simple.store import SimpleVectorStore

    return SimpleVectorStore(load_embedder(embedder)).load(Path(store))


def hits_table(found: list[Document]) -> Table:
    """Documents with their scores, best first; those that sync has read with where they stand."""
    places = [_place(document) for document in found]
    names = [
        first_line(place[0] if place else document.id)
        for document, place in zip(found, places, strict=True)
    ]
    # A text takes what the others leave, or a long one would leave them nothing.
    table = Table(box=box.SIMPLE_HEAD, expand=True)
    table.add_column("score", justify="right", style="cyan", no_wrap=True)
    title = "source" if any(places) else "id"
    widest = max(map(cell_len, [title, *names]))
    table.add_column(title, style="bold", overflow="fold", width=min(40, widest))
    table.add_column("text", overflow="ellipsis", no_wrap=True, ratio=1)
    for document, place, name in zip(found, places, names, strict=True):
        text = Text(first_line(_without_heading(document) if place else document.text))
        if place and place[1]:
            text.append(f"\n{first_line(place[1])}", "dim")
        table.add_row(f"{document.score:.4f}", name, text)
    return table


def _place(document: Document) -> tuple[str, str] | None:
    """The source of a document that sync has read, and its headings and page."""
    chunk = document.metadata.get("chunk")
    source = chunk.get("source") if isinstance(chunk, dict) else None
    if not isinstance(source, str):
        return None
    headings, page = document.metadata.get("headings"), document.metadata.get("page")
    parts = [" › ".join([str(one) for one in headings])] if isinstance(headings, list) else []
    if isinstance(page, int):
        parts.append(f"page {page:,}")
    return source, ", ".join(parts)


def _without_heading(document: Document) -> str:
    """The text from where it says more than the last of its headings, if it does."""
    first, _, rest = document.text.partition("\n")
    headings = document.metadata.get("headings")
    is_heading = isinstance(headings, list) and first.strip("#= ") == (headings or [""])[-1]
    return rest if is_heading and rest.strip() else document.text


def hit_object(document: Document) -> dict[str, Any]:
    """A document that was found, for a program to read."""
    return {
        "id": document.id,
        "score": document.score,
        "text": document.text,
        "metadata": document.metadata,
        **({} if document.extra is None else {"extra": document.extra}),
    }


def _read_documents(
    files: list[str], text: str, id: str, under: tuple[str, ...], skipping: bool
) -> tuple[list[Document], int]:
    """All documents of all files, and how many lines were none; each of them is reported.

    Raises:
        CommandError: If there was such a line and they are not skipped, a file cannot be read, or
            there is no document at all.
    """
    documents: list[Document] = []
    failures = 0
    for name in files:
        with opened(name) as stream:
            for number, line in enumerate(stream, 1):
                try:
                    row = read_row(line)
                    if row is not None:
                        documents.append(_document(row, text, id, under))
                except (BadLine, DocumentError) as fault:
                    failures += 1
                    sys.stderr.write(f"vecstore index: {shown_name(name)}:{number}: {fault}\n")
    if failures and not skipping:
        lines = "line is no document" if failures == 1 else "lines are no documents"
        raise CommandError(
            f"{failures:,} {lines}; nothing was written\nhint: --on-error skip leaves them out"
        )
    if not documents:
        raise CommandError("there is no document to index")
    return documents, failures


def _add(
    store: VectorStore,
    documents: list[Document],
    on_conflict: Conflict,
    on_error: Fault,
    progress: Progress,
) -> int:
    """Store the documents; how many had to be left out, which is reported.

    Raises:
        VecstoreError: If there was one, and they are not skipped.
    """
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", SkippedDocumentsWarning)
            store.add(
                documents,
                on_conflict=on_conflict.value,
                on_error=on_error.value,
                progress=progress,
            )
    except DuplicateDocumentError as error:
        error.args = (
            f"several lines have one id: {listed_ids(error.ids)}; nothing was written\n"
            "hint: --on-conflict replace keeps the last of each, --on-conflict skip the first",
        )
        raise
    except VecstoreError as error:
        if error.faulty_ids:
            message = str(error).partition("; to store the others")[0]
            error.args = (
                f"{message}; nothing was written\nhint: --on-error skip leaves such documents out",
            )
        raise
    left_out = 0
    for one in told:
        if isinstance(one.message, SkippedDocumentsWarning):
            left_out += len(one.message.ids)
            remarks().print(str(one.message), markup=False, highlight=False, soft_wrap=True)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return left_out


def _document(row: dict[str, Any], text: str, id: str, under: tuple[str, ...]) -> Document:
    if text not in row:
        raise BadLine(f"it has no {text!r}; --text NAME says where the text is")
    if not isinstance(row[text], str):
        raise BadLine(f"what stands under {text!r} is no text")
    given: Any = row.get(id)
    if isinstance(given, int) and not isinstance(given, bool):
        given = str(given)
    if under:  # beside it may stand an extra, as in files of vecstore copy
        return Document(row[text], inner_object(row, under), given, extra=row.get("extra"))
    metadata = {name: value for name, value in row.items() if name not in (text, id)}
    return Document(row[text], metadata, id=given)
