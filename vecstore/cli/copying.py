"""`vecstore copy`: documents with their vectors, between stores and files."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from vecstore.cli.keys import server_key
from vecstore.cli.terminal import NEGATIVE, JsonOption, expected_errors, print_json

COPY_EXAMPLES = """
[bold]Examples[/]

  vecstore copy 'qdrant://localhost/docs' 'postgresql://localhost/app?table=docs'

  vecstore copy memory:kb.json backup.parquet --filter "year >= 2020"

  vecstore copy backup.jsonl 'milvus://localhost:19530?collection=docs' --on-conflict replace

  vecstore copy 'qdrant+https://db.example.com/docs' docs.parquet --source-key-env QDRANT_KEY
"""


class Conflict(enum.Enum):
    """What becomes of a document whose id is there already."""

    SKIP = "skip"
    REPLACE = "replace"
    ERROR = "error"


_PLACE = "The address of a store, or a file that ends in .jsonl or .parquet."
_KEY = "The environment variable that holds the key of its server."


def copy(
    source: Annotated[str, typer.Argument(metavar="SOURCE", show_default=False, help=_PLACE)],
    destination: Annotated[
        str, typer.Argument(metavar="DESTINATION", show_default=False, help=_PLACE)
    ],
    filter: Annotated[
        str | None,
        typer.Option("--filter", metavar="FILTER", help="Copy only the documents it selects."),
    ] = None,
    on_conflict: Annotated[
        Conflict,
        typer.Option(
            "--on-conflict",
            help="An id that is there already: skip it, which resumes a copy, replace the "
            "document, or stop.",
        ),
    ] = Conflict.SKIP,
    batch_size: Annotated[
        int, typer.Option("--batch-size", min=1, help="Documents held in memory.")
    ] = 1_000,
    any_metric: Annotated[
        bool, typer.Option("--any-metric", help="Copy also where the metrics differ.")
    ] = False,
    source_key_env: Annotated[
        str | None,
        typer.Option("--source-key-env", metavar="VARIABLE", show_default=False, help=_KEY),
    ] = None,
    destination_key_env: Annotated[
        str | None,
        typer.Option("--destination-key-env", metavar="VARIABLE", show_default=False, help=_KEY),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Copy documents with their ids and vectors from one store or file to another.

    Nothing is embedded. A copy that was interrupted is resumed by the same command. The number of
    documents, and a sample of them, are compared at the end. Exits with 1 when there is nothing to
    copy.
    """
    with expected_errors(as_json):
        from vecstore.cli.screen import answers, progress_bar, remarks
        from vecstore.copying.copier import copy as copy_documents

        with progress_bar("Copying", None) as bar:
            done = copy_documents(
                source,
                destination,
                filter=filter,
                on_conflict=on_conflict.value,
                batch_size=batch_size,
                any_metric=any_metric,
                source_options=server_key(source, source_key_env, option="--source-key-env"),
                destination_options=server_key(
                    destination, destination_key_env, option="--destination-key-env"
                ),
                progress=bar.reach,
            )
    if as_json:
        print_json(
            {
                "documents": done.documents,
                "written": done.written,
                "replaced": done.replaced,
                "skipped": done.skipped,
                "compared": done.compared,
                "differing": list(done.differing),
            }
        )
    else:
        parts = [f"{done.written:,} written"]
        parts += [f"{done.replaced:,} replaced"] * bool(done.replaced)
        parts += [f"{done.skipped:,} were there"] * bool(done.skipped)
        answers().print(
            f"{done.documents:,} documents: {', '.join(parts)}; {done.compared:,} compared"
        )
        if done.differing:
            remarks().print(
                f"{len(done.differing):,} of those compared were there before, and are not as in "
                "the source; --on-conflict replace writes them anew",
                soft_wrap=True,
            )
    if not done.documents:
        raise typer.Exit(NEGATIVE)
