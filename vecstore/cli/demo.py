"""`vecstore demo`: index, search with filters, save, and ask other engines the same."""

from __future__ import annotations

import json
import platform
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from vecstore.cli import corpus
from vecstore.cli.demo_sync import PACKAGES, Kept, keep_in_step
from vecstore.cli.engines import ENGINES, OWN, chosen_engines, default_engines
from vecstore.cli.screen import (
    answers,
    columns_of,
    progress_bar,
    shortened,
    spinner,
    wrapped,
)
from vecstore.cli.terminal import (
    NEGATIVE,
    CommandError,
    JsonOption,
    expected_errors,
    first_line,
    print_json,
)
from vecstore.dialects.pgvector import Pgvector
from vecstore.document import Document
from vecstore.embedders.wordllama import WordLlamaEmbedder
from vecstore.errors import BackendNotInstalledError
from vecstore.filter.convert import Compiled
from vecstore.grammar.parser import parse
from vecstore.installing import install_line

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from vecstore.simple.store import SimpleVectorStore
    from vecstore.store.base import VectorStore


SCORE_TOLERANCE = 1e-4
"""How far the scores of one document may differ between two engines."""
TIE = 1e-6
"""Documents whose scores are closer than this may change places: both engines add up float32."""
TOP_K = 4


@dataclass(frozen=True, slots=True)
class Search:
    """Words to look for, a filter, and what is new in the filter."""

    words: str
    filter: str
    shows: str


SEARCHES = (
    Search(
        "compress data into an archive",
        "kind == 'function'",
        "one comparison",
    ),
    Search(
        "wait until several tasks have finished, or a timeout",
        "kind IN ['class', 'function', 'method'] AND length >= 200 AND length < 3000",
        "a list and a range",
    ),
    Search(
        "find the files whose names match a pattern",
        "package.name NOT IN ['distutils', 're', 'tkinter'] AND package.depth <= 2 "
        'AND source."first line" <= 200',
        "nested keys, one of them with a space",
    ),
    Search(
        "send an e-mail message through a server",
        "deprecated IS NULL AND NOT (kind == 'module' OR async == true)",
        "what is absent, and a negated OR",
    ),
    Search(
        "open a network connection to a host",
        "parameters IN ['host', 'address', 'timeout'] AND raises IS NOT NULL "
        "AND NOT (raises == 'NotImplementedError' OR parameters == 'loop')",
        "the elements of lists",
    ),
    Search(
        "the average or the middle of some numbers",
        'NOT (NOT ("doc.words" >= 20 AND "words per line" > 0.5) OR deprecated == true '
        'OR NOT ("lines of code" < 100 OR "lines of code" >= 200) AND kind != \'class\') '
        "AND (kind != 'method' OR decorators IN ['classmethod', 'staticmethod'])",
        "NOT inside NOT, and keys with dots and spaces",
    ),
)


@dataclass(slots=True)
class Answer:
    """What one engine said to one search.

    Attributes:
        top: Ids of the best documents, best first.
        scores: The score of every document that the filter selects.
        seconds: How long the search for the best ones took.
    """

    top: list[str]
    scores: dict[str, float]
    seconds: float


@dataclass(slots=True)
class Comparison:
    """Two answers to one search held against each other.

    Attributes:
        only_first: Documents that only the first engine selected.
        only_second: Documents that only the second engine selected.
        largest_difference: Between the scores of one document.
        ranks: For each rank, whether both engines put the same document there.
    """

    only_first: list[str]
    only_second: list[str]
    largest_difference: float
    ranks: list[bool] = field(default_factory=list)

    @property
    def same(self) -> bool:
        """Whether both engines gave the same answer."""
        return (
            not self.only_first
            and not self.only_second
            and self.largest_difference <= SCORE_TOLERANCE
            and all(self.ranks)
        )


def compare(first: Answer, second: Answer) -> Comparison:
    """Hold two answers against each other: every selected document, every score, every rank.

    Example:
        >>> one = Answer(["a"], {"a": 0.5, "b": 0.25}, 0.0)
        >>> compare(one, Answer(["a"], {"a": 0.5, "b": 0.25}, 0.0)).same
        True
        >>> compare(one, Answer(["a"], {"a": 0.5}, 0.0)).only_first
        ['b']
    """
    both = first.scores.keys() & second.scores.keys()
    ranks = [
        one == other or _tied(first.scores, one, other)
        for one, other in zip(first.top, second.top, strict=False)
    ]
    if len(first.top) != len(second.top):
        ranks.append(False)
    return Comparison(
        only_first=sorted(first.scores.keys() - both),
        only_second=sorted(second.scores.keys() - both),
        largest_difference=max(
            (abs(first.scores[id] - second.scores[id]) for id in both), default=0.0
        ),
        ranks=ranks,
    )


def _tied(scores: dict[str, float], one: str, other: str) -> bool:
    return one in scores and other in scores and abs(scores[one] - scores[other]) <= TIE


def answer_of(
    store: VectorStore, search: Search, vector: ArrayLike
) -> tuple[Answer, list[Document]]:
    """What a store answers, and the best documents; all that match are asked for as well."""
    wanted = parse(search.filter)
    started = time.perf_counter()
    top = store.search(vector=vector, filter=wanted, top_k=TOP_K)
    seconds = time.perf_counter() - started
    matching = store.search(vector=vector, filter=wanted, top_k=max(1, store.count()))
    scores = {document.id: document.score or 0.0 for document in matching}
    return Answer([document.id for document in top], scores, seconds), top


_WIDEST = 110
_INDENT = 4
_ID_WIDTH = 34
_SHORT_ID_WIDTH = 24
_ROOM_FOR_RUNS = 74
_FIRST_LINE_WIDTH = 24
"""Beside an id there stands as much of a text as this, or it has a line of its own."""


class Stage:
    """Prints the steps of the demo one after the other; silent when JSON is wanted."""

    def __init__(self, console: Console, silent: bool) -> None:
        self._console = console
        self._console.width = min(console.width, _WIDEST)
        self._silent = silent
        self._steps = 0

    @property
    def _width(self) -> int:
        """How many columns there are below a step."""
        return self._console.width - _INDENT

    def step(self, text: Text | str, seconds: float | None = None) -> None:
        """A numbered line, with its time at the right."""
        self._steps += 1
        line = Table.grid(expand=True, padding=(0, 1))
        line.add_column(width=_INDENT - 2, justify="right", style="bold cyan")
        line.add_column(ratio=1, style="bold")
        line.add_column(justify="right", style="dim", no_wrap=True)
        line.add_row(str(self._steps), text, "" if seconds is None else f"{seconds:.1f} s")
        self._print("")
        self._print(line)

    def document(self, document: Document) -> None:
        """One document as it is stored."""
        metadata = json.dumps(document.metadata, ensure_ascii=False)
        self._below(
            Text.assemble(("one of them:  ", "dim"), (document.id, "bold")),
            Text(shortened(first_line(document.text), self._width)),
            Text(wrapped(metadata, self._width), "dim"),
        )

    def search(
        self, number: int, search: Search, answer: Answer, found: list[Document], total: int
    ) -> None:
        """A search with its filter and what it found."""
        below = (0, 0, 0, 3)
        width = self._width - 3
        told = f"{len(answer.scores):,} of {total:,} documents · {answer.seconds * 1000:.1f} ms"
        beside = len(search.words) + 5 + len(told) <= self._width
        head = Table.grid(expand=True, padding=(0, 2))
        head.add_column(ratio=1)
        head.add_column(justify="right", style="dim", no_wrap=True)
        head.add_row(
            Text.assemble((f"{number}  ", "dim"), (search.words, "bold")), told if beside else ""
        )
        id_width = min(_ID_WIDTH, width - 8)
        room = width - 8 - id_width - 2
        hits = Text()
        for document in found:
            hits.append("\n" if hits else "")
            hits.append(f"{document.score:.4f}  ", "cyan")
            line = first_line(document.text)
            if room < _FIRST_LINE_WIDTH:
                hits.append(_end_of(document.id, id_width))
                hits.append(f"\n{'':8}{shortened(line, width - 8)}", "dim")
            else:
                hits.append(f"{_end_of(document.id, id_width):{id_width}}  ")
                hits.append(shortened(line, room), "dim")
        self._below(
            head,
            *([] if beside else [Padding(Text(told, "dim"), below)]),
            Padding(Text(f"filters by {search.shows}", "dim"), below),
            Padding(Text(wrapped(search.filter, width), "yellow"), below),
            Padding(hits, below),
        )

    def remark(self, text: str, style: str = "") -> None:
        """A line below a step."""
        self._below(Text(text, style))

    def sql(self, number: int, compiled: Compiled) -> None:
        """The condition that PostgreSQL is asked, and its parameters."""
        parameters = ", ".join(f"{name} = {value!r}" for name, value in compiled.params.items())
        self._below(
            Text(f"it is asked the filter of search {number} as", "dim"),
            Text(wrapped(compiled.query, self._width), "yellow"),
            Text(wrapped(parameters, self._width), "dim"),
        )

    def runs(self, kept: Kept) -> None:
        """What was done to files before each run of sync, and what it did about that."""
        rows = [
            (
                what,
                ", ".join(
                    f"{len(getattr(report, name))} {name}"
                    for name in ("added", "changed", "removed", "unchanged")
                    if getattr(report, name)
                ),
                {
                    "embedded": f"{report.embedded:,}",
                    "kept": f"{report.reused:,}",
                    "deleted": f"{report.deleted:,}",
                },
            )
            for what, report in kept.runs
        ]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("changed before the run", style="bold", min_width=22)
        for name in ("sources", "embedded", "kept", "deleted"):
            table.add_column(
                name,
                justify="right",
                style="cyan" if name == "embedded" else "",
                no_wrap=name != "sources",
                min_width=12 if name == "sources" else None,
            )
        for what, sources, numbers in rows:
            table.add_row(what, sources, *numbers.values())
        if self._width >= _ROOM_FOR_RUNS:
            self._below(table)
            return
        self._below(
            *[
                Group(
                    Text(wrapped(what, self._width), "bold"),
                    Text(
                        wrapped(
                            " · ".join([sources, *[f"{n} {name}" for name, n in numbers.items()]]),
                            self._width - 3,
                        )
                    ),
                )
                for what, sources, numbers in rows
            ]
        )

    def comparison(self, memory: list[Answer], others: dict[str, list[Answer]]) -> None:
        """Every store's scores for memory's best documents, and what was compared."""
        compared = {title: list(map(compare, memory, answers)) for title, answers in others.items()}
        for id_width in (_ID_WIDTH, _SHORT_ID_WIDTH):
            best = _best_documents(memory, others, compared, id_width)
            if columns_of(best, self._console) <= self._width:
                self._below(best)
                break
        else:
            for number, search in enumerate(SEARCHES[: len(memory)]):
                self._below(
                    Text.assemble((f"{number + 1}  ", "dim"), (search.words, "bold")),
                    _scores(number, memory, others, compared),
                )
        step = len(memory)
        while (
            step > 1
            and columns_of(_summary(memory, others, compared, slice(step)), self._console)
            > self._width
        ):
            step = (step + 1) // 2
        for start in range(0, len(memory), step):
            self._below(_summary(memory, others, compared, slice(start, start + step)))
        for title, comparisons in compared.items():
            for number, comparison in enumerate(comparisons, 1):
                for where, ids in (
                    ("in memory", comparison.only_first),
                    (f"in {title}", comparison.only_second),
                ):
                    if ids:
                        shown = ", ".join(ids[:5]) + (", …" if len(ids) > 5 else "")
                        self.remark(f"search {number}, only {where}: {shown}", "red")

    def end(self, text: str, good: bool) -> None:
        """The last line."""
        self._print("")
        self._print(Text(text, "bold green" if good else "bold red"))

    def _below(self, *parts: RenderableType) -> None:
        self._print(Padding(Group(*parts), (1, 0, 0, _INDENT)))

    def _print(self, part: RenderableType) -> None:
        if not self._silent:
            self._console.print(part)


def _best_documents(
    memory: list[Answer],
    others: dict[str, list[Answer]],
    compared: dict[str, list[Comparison]],
    id_width: int,
) -> Table:
    """A row for each document, with the score that each store gave it."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True, style="dim", width=1)
    table.add_column("best documents", no_wrap=True, width=id_width)
    table.add_column("memory", justify="right", no_wrap=True, style="cyan")
    for title in others:
        table.add_column(title, justify="right", no_wrap=True)
    for number, answer in enumerate(memory):
        for rank, id in enumerate(answer.top):
            table.add_row(
                str(number + 1) if rank == 0 else "",
                _end_of(id, id_width),
                f"{answer.scores[id]:.4f}",
                *[
                    _score(theirs[number], compared[title][number], rank, id)
                    for title, theirs in others.items()
                ],
                end_section=rank == len(answer.top) - 1,
            )
    return table


def _scores(
    number: int,
    memory: list[Answer],
    others: dict[str, list[Answer]],
    compared: dict[str, list[Comparison]],
) -> Table:
    """A row for each store, with the scores it gave to the best documents of one search."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("score of the", no_wrap=True)
    answer = memory[number]
    for place in ("best", "second", "third", "fourth")[: len(answer.top)]:
        table.add_column(place, no_wrap=True)
    table.add_row("memory", *[Text(f"{answer.scores[id]:.4f}", "cyan") for id in answer.top])
    for title, theirs in others.items():
        table.add_row(
            title,
            *[
                _score(theirs[number], compared[title][number], rank, id)
                for rank, id in enumerate(answer.top)
            ],
        )
    return table


def _score(theirs: Answer, comparison: Comparison, rank: int, id: str) -> Text:
    """The score of one document, and whether it is in the same place with the same score."""
    score = theirs.scores.get(id)
    same = rank < len(comparison.ranks) and comparison.ranks[rank] and score is not None
    shown = "missing" if score is None else f"{score:.4f}"
    return Text.assemble((shown, "cyan"), (" =", "green") if same else (" ≠", "bold red"))


def _summary(
    memory: list[Answer],
    others: dict[str, list[Answer]],
    compared: dict[str, list[Comparison]],
    part: slice,
) -> Table:
    """A column for each search of a part: it is as narrow with ten engines as with one."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("search", style="dim", no_wrap=True)
    rows: list[list[Text | str]] = [["selected by each"], ["scores differ by"], ["answers"]]
    times: list[list[Text | str]] = [
        [f"ms in {title}", *[_milliseconds(one) for one in answers[part]]]
        for title, answers in {"memory": memory, **others}.items()
    ]
    for number, answer in list(enumerate(memory))[part]:
        table.add_column(str(number + 1), justify="right", no_wrap=True)
        comparisons = [those[number] for those in compared.values()]
        counts = {len(answer.scores), *[len(those[number].scores) for those in others.values()]}
        largest = max(comparison.largest_difference for comparison in comparisons)
        same = all(comparison.same for comparison in comparisons)
        rows[0].append("\n".join([f"{count:,}" for count in sorted(counts)]))
        rows[1].append(f"{largest:.0e}")
        rows[2].append(Text("same", "green") if same else Text("differ", "bold red"))
    for row in (*rows, *times):
        table.add_row(*row)
    return table


def _milliseconds(answer: Answer) -> str:
    took = answer.seconds * 1000
    return f"{took:.1f}" if took < 1000 else f"{took:,.0f}"


def _end_of(name: str, width: int) -> str:
    """A dotted name cut on the left, between two names, where it says least.

    Example:
        >>> _end_of("email.message.EmailMessage.iter_parts", 30)
        '…EmailMessage.iter_parts'
    """
    if len(name) <= width:
        return name
    parts = name.split(".")
    while len(parts) > 1 and sum(map(len, parts)) + len(parts) > width:
        del parts[0]
    kept = ".".join(parts)
    return f"…{kept}" if len(kept) < width else "…" + kept[len(kept) - width + 1 :]


_SHOWN = "asyncio.tasks.wait_for"
_SQL_OF = 3  # the search whose SQL is short enough to be read, and shows nested keys

DEMO_EXAMPLES = """
[bold]Examples[/]

  vecstore demo

  vecstore demo --engines none --output stdlib.json

  vecstore demo --engines chroma,duckdb

  vecstore search stdlib.json "sort a list" --filter "kind == 'function'"
"""


def demo(
    engines: Annotated[
        str | None,
        typer.Option(
            "--engines",
            metavar="NAMES",
            help=f"Which engines to ask beside memory: any of {', '.join(ENGINES)}, or none.",
            show_default=OWN,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="STORE", help="Keep the store file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Search Python's standard library by meaning, in memory and in other engines.

    Embeds the docstrings of the library, runs six searches with filters of growing difficulty,
    saves and reloads the store, keeps another in step with files that change, and runs the same
    searches in real engines started for it. Exits with 1 when two of them differ. Nothing is
    downloaded, and nothing stays behind.
    """
    with expected_errors(as_json):
        chosen = chosen_engines(default_engines() if engines is None else engines)
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
    report["kept_in_step"] = _keep_in_step(stage, embedder, files)
    report["same"] = report["reloaded"]["same"] and report["kept_in_step"]["same"]
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


def _keep_in_step(stage: Stage, embedder: WordLlamaEmbedder, files: list[Path]) -> dict[str, Any]:
    """Index the files of some packages, change some, index again, and tell what that took."""
    started = time.perf_counter()
    with spinner("Keeping files in step"):
        kept = keep_in_step(files, embedder)
    *others, last = PACKAGES
    stage.step(
        f"A store kept in step with the {kept.files} files of {', '.join(others)} and {last}",
        time.perf_counter() - started,
    )
    stage.runs(kept)
    if kept.same:
        stage.remark("The same ids, texts, metadata and vectors as a new index of these files.")
    else:
        stage.remark("It is not what a new index of these files is.", "bold red")
    return kept.plain()


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
                f"The same documents in {version}, {engine.where}",
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
