"""`vecstore demo`: index, search with filters, save, and ask other engines the same."""

from __future__ import annotations

import platform
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecstore.cli.demo import corpus
from vecstore.cli.demo.engines import ENGINES
from vecstore.cli.demo.searches import SEARCHES, Answer, Comparison, answer_of, compare
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
from vecstore.installing import install_line

if TYPE_CHECKING:
    from vecstore.simple.store import SimpleVectorStore

_SHOWN = "asyncio.tasks.wait_for"
_SQL_OF = 3  # the search whose SQL is short enough to be read, and shows nested keys

EXAMPLES = """
[bold]Examples[/]

  vecstore demo

  vecstore demo --engines none --output stdlib.json

  vecstore demo --engines postgres

  vecstore search stdlib.json "sort a list" --filter "kind == 'function'"
"""


def demo(
    engines: Annotated[
        str,
        typer.Option(
            "--engines",
            metavar="NAMES",
            help=f"Which engines to ask beside memory: any of {', '.join(ENGINES)}, or none.",
        ),
    ] = ",".join(ENGINES),
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="STORE", help="Keep the store file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Search Python's standard library by meaning, in memory and in other engines.

    Embeds the docstrings of the library, runs six searches with filters of growing difficulty,
    saves and reloads the store, and runs the same searches in real engines started for it. Exits
    with 1 when two of them differ. Nothing is downloaded, and nothing stays behind.
    """
    with expected_errors(as_json):
        chosen = _chosen(engines)
        _check_extras(chosen)
        if output is not None and output.exists():
            raise CommandError(f"{output} exists already\nhint: remove it, or name another file")
        report = _run(chosen, output, as_json)
    if as_json:
        print_json(report)
    if not report["same"]:
        raise typer.Exit(NEGATIVE)


def _run(chosen: Sequence[str], output: Path | None, as_json: bool) -> dict[str, Any]:
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
    vectors = [embedder.embed_query(search.words) for search in SEARCHES]
    in_memory = []
    for number, (search, vector) in enumerate(zip(SEARCHES, vectors, strict=True), 1):
        answer, found = answer_of(store, search, vector)
        in_memory.append(answer)
        stage.search(number, search, answer, found, len(documents))
    report["searches"] = [
        {"words": search.words, "filter": search.filter, "memory": _answer_object(answer)}
        for search, answer in zip(SEARCHES, in_memory, strict=True)
    ]

    report["reloaded"] = _save_and_reload(stage, store, vectors, in_memory, output)
    report["same"] = report["reloaded"]["same"]
    report["engines"] = _ask_engines(stage, store, vectors, in_memory, chosen) if chosen else {}
    report["same"] = report["same"] and all(one["same"] for one in report["engines"].values())
    report["seconds"] = round(clock() - began, 1)
    stage.end(_verdict(report, chosen), good=report["same"])
    if output is not None:
        stage.remark(f"try: vecstore search {output} 'sort a list' --filter \"kind == 'function'\"")
    return report


def _save_and_reload(
    stage: Stage,
    store: SimpleVectorStore,
    vectors: list[Any],
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
        reloaded = SimpleVectorStore()
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
        answer_of(reloaded, search, vector)[0].scores == answer.scores
        for search, vector, answer in zip(SEARCHES, vectors, in_memory, strict=True)
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


def _ask_engines(
    stage: Stage,
    store: SimpleVectorStore,
    vectors: list[Any],
    in_memory: list[Answer],
    chosen: Sequence[str],
) -> dict[str, Any]:
    """Load the same documents into each engine, and run the same searches there."""
    documents = list(store.scan(include_embedding=True))
    answers: dict[str, list[Answer]] = {}
    report: dict[str, Any] = {}
    for name in chosen:
        engine = ENGINES[name]
        started = time.perf_counter()
        with ExitStack() as stack:
            with spinner(f"Starting {engine.title}"):
                other = stack.enter_context(engine.opened(store.dimension))
            with progress_bar(f"Loading {engine.title}", len(documents)) as bar:
                other.add(documents, progress=bar.reach)
            version = engine.version(other)
            stage.step(
                f"The same documents in {version}, started for this demo",
                time.perf_counter() - started,
            )
            if name == "postgres":
                stage.sql(_SQL_OF, Pgvector().compile(SEARCHES[_SQL_OF - 1].filter))
            answers[engine.title] = [
                answer_of(other, search, vector)[0]
                for search, vector in zip(SEARCHES, vectors, strict=True)
            ]
        comparisons = list(map(compare, in_memory, answers[engine.title]))
        report[name] = {
            "same": all(comparison.same for comparison in comparisons),
            "version": version,
            "searches": [
                {**_answer_object(answer), **_comparison_object(comparison)}
                for answer, comparison in zip(answers[engine.title], comparisons, strict=True)
            ],
        }
    stage.step("The same six searches, side by side")
    stage.comparison(in_memory, answers)
    return report


def _verdict(report: dict[str, Any], chosen: Sequence[str]) -> str:
    seconds = f"({report['seconds']} s in all)"
    if not report["same"]:
        return f"The answers differ: see above. {seconds}"
    if not chosen:
        return f"The reloaded store gives the same answers. {seconds}"
    titles = ", ".join([ENGINES[name].title for name in chosen])
    return (
        f"{titles} and the store in memory selected the same documents, with the same scores, for "
        f"every search. {seconds}"
    )


def _chosen(names: str) -> list[str]:
    """The engines that were asked for, in the order of the table."""
    asked = {name.strip() for name in names.split(",") if name.strip()}
    unknown = sorted(asked - {*ENGINES, "none"})
    if unknown:
        raise CommandError(
            f"there is no engine {unknown[0]!r}\nhint: --engines takes any of "
            f"{', '.join(ENGINES)}, or none"
        )
    return [] if asked == {"none"} else [name for name in ENGINES if name in asked]


def _check_extras(chosen: Sequence[str]) -> None:
    """Say what is missing before anything is begun.

    Raises:
        BackendNotInstalledError: With the pip line.
    """
    needed = {"wordllama": "wordllama"}
    for name in chosen:
        needed |= ENGINES[name].modules
    missing = sorted({extra for module, extra in needed.items() if find_spec(module) is None})
    if missing:
        raise BackendNotInstalledError(
            f"the demo needs what is not installed: {', '.join(missing)}\n"
            f"hint: {install_line(*missing)}"
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
        "only_there": comparison.only_second,
    }
