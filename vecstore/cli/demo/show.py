"""How the demo looks in a terminal."""

from __future__ import annotations

import json

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from vecstore.cli.demo.searches import Answer, Comparison, Search, compare
from vecstore.cli.output import first_line
from vecstore.document import Document
from vecstore.filter.convert import Compiled

_WIDEST = 110
_INDENT = 4
_ID_WIDTH = 34


class Stage:
    """Prints the steps of the demo one after the other; silent when JSON is wanted."""

    def __init__(self, console: Console, silent: bool) -> None:
        self._console = console
        self._console.width = min(console.width, _WIDEST)
        self._silent = silent
        self._steps = 0

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
            Text(first_line(document.text), no_wrap=True, overflow="ellipsis"),
            Text(metadata, "dim"),
        )

    def search(
        self, number: int, search: Search, answer: Answer, found: list[Document], total: int
    ) -> None:
        """A search with its filter and what it found."""
        head = Table.grid(expand=True, padding=(0, 2))
        head.add_column(ratio=1)
        head.add_column(justify="right", style="dim", no_wrap=True)
        head.add_row(
            Text.assemble((f"{number}  ", "dim"), (search.words, "bold")),
            f"{len(answer.scores):,} of {total:,} documents · {answer.seconds * 1000:.1f} ms",
        )
        hits = Table.grid(expand=True, padding=(0, 2))
        hits.add_column(style="cyan", width=6, no_wrap=True)
        hits.add_column(width=_ID_WIDTH, no_wrap=True)
        hits.add_column(ratio=1, no_wrap=True, overflow="ellipsis", style="dim")
        for document in found:
            hits.add_row(
                f"{document.score:.4f}",
                _end_of(document.id, _ID_WIDTH),
                Text(first_line(document.text)),
            )
        below = (0, 0, 0, 3)
        self._below(
            head,
            Padding(Text(f"filters by {search.shows}", "dim"), below),
            Padding(Text(search.filter, "yellow"), below),
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
            Text(compiled.query, "yellow"),
            Text(parameters, "dim"),
        )

    def comparison(self, memory: list[Answer], others: dict[str, list[Answer]]) -> None:
        """Every store's scores for memory's best documents, and what was compared."""
        compared = {title: list(map(compare, memory, answers)) for title, answers in others.items()}
        self._below(_best_documents(memory, others, compared), _summary(memory, others, compared))
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
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True, style="dim", width=1)
    id_width = _ID_WIDTH - 10 * max(0, len(others) - 2)  # 80 columns hold three engines, too
    table.add_column("best documents", no_wrap=True, width=id_width)
    table.add_column("memory", justify="right", no_wrap=True, style="cyan")
    for title in others:
        table.add_column(title, justify="right", no_wrap=True)
    for number, answer in enumerate(memory):
        for rank, id in enumerate(answer.top):
            cells = []
            for title, answers in others.items():
                score = answers[number].scores.get(id)
                ranks = compared[title][number].ranks
                same = rank < len(ranks) and ranks[rank] and score is not None
                shown = "missing" if score is None else f"{score:.4f}"
                cells.append(
                    Text.assemble((shown, "cyan"), (" =", "green") if same else (" ≠", "bold red"))
                )
            table.add_row(
                str(number + 1) if rank == 0 else "",
                _end_of(id, id_width),
                f"{answer.scores[id]:.4f}",
                *cells,
                end_section=rank == len(answer.top) - 1,
            )
    return table


def _summary(
    memory: list[Answer],
    others: dict[str, list[Answer]],
    compared: dict[str, list[Comparison]],
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", style="dim")
    table.add_column("selected by each", justify="right", max_width=10)
    table.add_column("scores differ by", justify="right", max_width=10)
    for title in ("memory", *others):
        table.add_column(f"ms in {title}", justify="right", max_width=10)
    table.add_column("")
    for number, answer in enumerate(memory):
        comparisons = [those[number] for those in compared.values()]
        counts = {len(answer.scores), *[len(those[number].scores) for those in others.values()]}
        table.add_row(
            str(number + 1),
            " / ".join([f"{count:,}" for count in sorted(counts)]),
            f"{max(comparison.largest_difference for comparison in comparisons):.0e}",
            f"{answer.seconds * 1000:.1f}",
            *[f"{those[number].seconds * 1000:.1f}" for those in others.values()],
            Text("same", "green")
            if all(comparison.same for comparison in comparisons)
            else Text("different", "bold red"),
        )
    return table


def _end_of(name: str, width: int) -> str:
    """A dotted name cut on the left, where it says least."""
    return name if len(name) <= width else "…" + name[len(name) - width + 1 :]
