"""`vecstore sync`: the files of a folder in a store, and kept in step."""

from __future__ import annotations

import enum
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecstore.cli.index_search import EmbedderOption, Fault, load_embed_as, load_embedder
from vecstore.cli.keys import KeyEnvOption, server_key
from vecstore.cli.screen import answers, progress_bar, remarks
from vecstore.cli.terminal import (
    NEGATIVE,
    CommandError,
    JsonOption,
    expected_errors,
    print_json,
    visible,
)

if TYPE_CHECKING:
    from vecstore.indexing.report import SyncReport

SYNC_EXAMPLES = """
[bold]Examples[/]

  vecstore sync docs --store memory:kb.json --corpus docs

  vecstore sync docs --store 'postgresql://localhost/app?table=kb' --corpus docs --remove missing

  vecstore search memory:kb.json "how are tenants kept apart?" --filter "chunk.corpus == 'docs'"
"""

_SHOWN = 20
"""Names and remarks of one kind that are printed; with --json all of them are."""


class Removing(enum.Enum):
    """What becomes of chunks whose file is gone."""

    MISSING = "missing"
    NEVER = "never"


def sync(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", show_default=False, help="Where the files are.")
    ],
    store: Annotated[
        str,
        typer.Option(
            "--store",
            "-s",
            metavar="URL",
            show_default=False,
            help="The address of the store, such as [bold]memory:kb.json[/].",
        ),
    ],
    corpus: Annotated[
        str,
        typer.Option(
            "--corpus",
            metavar="NAME",
            show_default=False,
            help="What these files are called together: always the same. A store can hold several.",
        ),
    ],
    pattern: Annotated[
        list[str] | None,
        typer.Option(
            "--pattern",
            "-p",
            metavar="GLOB",
            show_default="**/*",
            help="Which files, by their path in the folder; can be given again.",
        ),
    ] = None,
    remove: Annotated[
        Removing,
        typer.Option("--remove", help="Whether chunks are deleted whose file is not there."),
    ] = Removing.NEVER,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say only what would be done; nothing is embedded.")
    ] = False,
    size: Annotated[
        int, typer.Option("--size", min=1, metavar="TOKENS", help="Tokens of one chunk at most.")
    ] = 800,
    on_error: Annotated[
        Fault,
        typer.Option("--on-error", help="A file that cannot be read: skip it and say so, or stop."),
    ] = Fault.SKIP,
    embedder: EmbedderOption = "wordllama",
    embed_as: Annotated[
        str | None,
        typer.Option(
            "--embed-as",
            metavar="WHAT",
            show_default="the text",
            help="What is embedded of a chunk: [bold]metadata[/], its title and headings above the "
            "text, or [bold]module:attribute[/], a function from a document to a text. It is "
            "stored as it is.",
        ),
    ] = None,
    key_env: KeyEnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring a store into step with the files of a folder, and embed only what is new.

    Text, Markdown, HTML, JSON, CSV and PDF are read. The store itself knows what is in it: files
    that have not changed are not read again, and what a run that was interrupted has left undone,
    the next one does. Run one at a time for one corpus. Exits with 1 when a file was left out
    because it cannot be read; what is stored of it stays.
    """
    with expected_errors(as_json):
        from vecstore.indexing.sources import folder as files_of
        from vecstore.indexing.splitting import TokenSplitter
        from vecstore.indexing.syncing import sync as bring
        from vecstore.store.url import open_store

        if not folder.is_dir():
            raise CommandError(f"{visible(str(folder))} is no folder")
        left_out: list[Path] = []
        # Listed whole before anything is written, so that a folder that cannot be listed stops it.
        listed = list(files_of(folder, pattern or ("**/*",), skipped=left_out.append))
        if not listed:
            raise CommandError(f"there is no file to be read{_left_out(left_out)}")
        started = time.perf_counter()
        with (
            open_store(
                store,
                embedder=load_embedder(embedder),
                embed_as=load_embed_as(embed_as),
                **server_key(store, key_env),
            ) as opened,
            progress_bar("Comparing" if dry_run else "Indexing", len(listed)) as bar,
        ):
            report = bring(
                opened,
                listed,
                corpus=corpus,
                split=TokenSplitter(size),
                remove=remove.value,
                on_error=on_error.value,
                progress=bar.reach,
                dry_run=dry_run,
            )
        seconds = time.perf_counter() - started
    if as_json:
        print_json({**_plain(report), "left_out": len(left_out), "seconds": round(seconds, 3)})
    else:
        _show(report, left_out, seconds)
    if report.failures:
        raise typer.Exit(NEGATIVE)


def _plain(report: SyncReport) -> dict[str, Any]:
    return {
        "unchanged": len(report.unchanged),
        "added": list(report.added),
        "changed": list(report.changed),
        "empty": list(report.empty),
        "removed": list(report.removed),
        "embedded": report.embedded,
        "reused": report.reused,
        "deleted": report.deleted,
        "failures": [
            {"source": failure.source, "error": str(failure.error)} for failure in report.failures
        ],
        "warnings": list(report.warnings),
        "dry_run": report.dry_run,
    }


def _show(report: SyncReport, left_out: list[Path], seconds: float) -> None:
    said = answers()
    if report.dry_run:
        for mark, names in (("+", report.added), ("~", report.changed), ("-", report.removed)):
            for name in names:
                said.print(f"{mark} {visible(name)}", soft_wrap=True)
    told = [f"left out: {visible(str(one.error))}" for one in report.failures]
    told += [visible(one) for one in report.warnings]
    if left_out:
        told.append(_left_out(left_out).removeprefix("; "))
    for line in told[:_SHOWN]:
        remarks().print(line, soft_wrap=True)
    if len(told) > _SHOWN:
        remarks().print(f"and {len(told) - _SHOWN:,} more remarks, which --json gives all")
    done = "would be done: " if report.dry_run else ""
    said.print(f"{done}{report} ({seconds:.1f} s)", soft_wrap=True)


def _left_out(left_out: list[Path]) -> str:
    """How many files there are that nothing reads, and of which kinds."""
    if not left_out:
        return ""
    ends = sorted({path.suffix or path.name for path in left_out})
    shown = ", ".join([visible(end) for end in ends[:8]]) + (", …" if len(ends) > 8 else "")
    files = "file was" if len(left_out) == 1 else "files were"
    return f"; {len(left_out):,} {files} left out, of a kind that is not read: {shown}"
