"""Stores kept in step with sources: what is embedded, what is kept, what is removed, on each engine."""

from __future__ import annotations

import asyncio
import contextvars
import json
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import syncing
from tests.indexing.folders import (
    CORPUS,
    ENGINES,
    SPLIT,
    Crash,
    bring,
    content,
    dying,
    fresh,
    make_store,
    same,
    sources,
)
from vecstore import (
    BackendError,
    BackendNotInstalledError,
    ConfigurationError,
    ContentFormatter,
    CountBatching,
    Document,
    DocumentError,
    EmbeddingError,
    F,
    ScopeError,
    SimpleVectorStore,
    SourceError,
    VectorStore,
)
from vecstore.cli import corpus
from vecstore.indexing import (
    READERS,
    Enricher,
    Readers,
    Source,
    TokenSplitter,
    folder,
    keywords,
    read_text,
    summaries,
    sync,
    text_source,
)
from vecstore.testing.store_suite.embedders import DIMENSION, TextEmbedder

FILES = {
    "bread.md": "# Bread\n\nFlour and water. Salt comes last.\n\n## Rye\n\nRye is sour. It keeps.\n",
    "oats.txt": "Oats go into porridge. Some bake with them.\n\nThey need no steam at all.",
    "汤.txt": "先把水烧开。再放盐。最后放面条，煮八分钟。",
}


@pytest.fixture
def store() -> Iterator[SimpleVectorStore]:
    with SimpleVectorStore(TextEmbedder()) as made:
        yield made


@pytest.fixture(params=ENGINES)
def engine_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    with make_store(
        request.param, tmp_path, lambda: str(request.getfixturevalue("postgres_dsn"))
    ) as made:
        yield made


def embedder_of(store: VectorStore) -> TextEmbedder:
    embedder = store.embedder
    assert isinstance(embedder, TextEmbedder)
    return embedder


def asked(store: VectorStore) -> list[str]:
    """The texts that were embedded since this was called the last time."""
    embedder = embedder_of(store)
    texts = [text for batch in embedder.batches for text in batch]
    embedder.forget()
    return texts


# --- on every engine --------------------------------------------------------------------------


def test_what_is_embedded_of_what_changes(engine_store: VectorStore) -> None:
    store, files = engine_store, dict(FILES)
    first = bring(store, files)
    assert first.added == tuple(sorted(files))
    assert first.embedded == len(asked(store)) == store.count() > len(files)
    same(content(store), fresh(files))

    again = bring(store, files)
    assert (again.unchanged, again.embedded) == (tuple(sorted(files)), 0)
    assert asked(store) == []

    # One sentence changes: the chunks that hold it are embedded.
    files["bread.md"] = files["bread.md"].replace("Salt comes last.", "Salt comes first.")
    edited = bring(store, files)
    assert (edited.changed, edited.removed) == (("bread.md",), ())
    texts = asked(store)
    assert 1 <= len(texts) == edited.embedded <= 2
    assert all("first" in text for text in texts)
    assert edited.reused > 0
    same(content(store), fresh(files))

    # A section moves.
    head, _, tail = files["bread.md"].partition("## Rye")
    files["bread.md"] = f"## Rye{tail}\n{head}"
    moved = bring(store, files)
    assert (moved.changed, moved.embedded, moved.deleted) == (("bread.md",), 0, 0)
    assert asked(store) == []
    same(content(store), fresh(files))

    # A file goes: only where that was asked for.
    del files["oats.txt"]
    kept = bring(store, files, remove="never")
    assert (kept.removed, kept.deleted) == ((), 0)
    would = bring(store, files, dry_run=True)
    gone = bring(store, files)
    assert gone.removed == would.removed == ("oats.txt",)
    assert gone.deleted == would.deleted > 0
    assert store.count(F.source == "oats.txt") == 0
    same(content(store), fresh(files))


def test_chunks_are_slices_of_their_sources(engine_store: VectorStore) -> None:
    bring(engine_store, FILES)
    texts = []
    for one in sorted(engine_store.scan(), key=lambda one: one.metadata["chunk"]["index"]):
        chunk, source = one.metadata["chunk"], one.metadata["source"]
        assert chunk["source"] == source
        start, end = chunk["span"]
        assert FILES[source][start:end] == one.text
        assert "\ufffd" not in one.text
        assert "span" not in one.metadata
        texts += [one.text] * (source == "汤.txt")
    assert "".join(texts) == FILES["汤.txt"]
    rye = engine_store.get(filter=F.headings == "Rye")
    assert any("Rye is sour." in one.text for one in rye)


def test_inside_a_scope(engine_store: VectorStore) -> None:
    engine_store.add([Document("not theirs", {"tenant": "b"}, embedding=[1.0] * DIMENSION)])
    view = engine_store.scoped(F.tenant == "a")
    files = dict(FILES)
    bring(view, files)
    del files["oats.txt"]
    report = bring(view, files)
    assert (report.removed, report.embedded) == (("oats.txt",), 0)
    assert bring(view, files).unchanged == tuple(sorted(files))
    assert {one.metadata["tenant"] for one in view.scan()} == {"a"}
    assert engine_store.count() == view.count() + 1
    # Another tenant's chunks of the same name have the same ids: refused, and nothing is lost.
    with pytest.raises(ScopeError):
        bring(engine_store.scoped(F.tenant == "c"), files)
    assert bring(view, files).unchanged == tuple(sorted(files))
    bring(engine_store.scoped(F.tenant == "c"), files, corpus="c")
    assert bring(view, files).unchanged == tuple(sorted(files))


WORDS = ["rye", "oats", "barley", "wheat", "盐水", "water", "flour", "steam", "tin", "oven"]


def paragraph(rng: random.Random) -> str:
    words = [rng.choice(WORDS) for _ in range(rng.randint(1, 12))]
    return " ".join([*words, str(rng.randrange(9))]) + rng.choice([".", "!", "。", ""])


def edit(rng: random.Random, files: dict[str, list[str]]) -> None:
    """One edit to a folder, of the kind that people make."""
    name = rng.choice(sorted(files))
    parts = files[name]
    place = rng.randrange(len(parts) + 1)
    match rng.randrange(8):
        case 0:
            files[f"new{rng.randrange(6)}{rng.choice(['.md', '.txt'])}"] = [
                paragraph(rng) for _ in range(rng.randrange(5))
            ]
        case 1 if len(files) > 1:
            del files[name]
        case 2 if parts:
            parts.insert(place, rng.choice(parts))
        case 3 if parts:
            parts.insert(place, parts.pop(rng.randrange(len(parts))))
        case 4 if parts:
            del parts[rng.randrange(len(parts))]
        case 5:
            parts.insert(place, f"# {rng.choice(WORDS)}")
        case 6:
            files[f"new{rng.randrange(6)}.txt"] = list(parts)
        case _:
            parts.insert(place, paragraph(rng))


def live(store: VectorStore, rounds: int, seed: int) -> dict[str, int]:
    """Random edits; half of the runs die at a random write; what is complete equals a fresh index."""
    rng = random.Random(seed)
    files = {"a.txt": [paragraph(rng)], "b.md": [paragraph(rng), paragraph(rng)]}
    told = {"died": 0, "embedded": 0, "reused": 0}
    for _ in range(rounds):
        for _ in range(rng.randint(1, 3)):
            edit(rng, files)
        group = rng.choice([1, 2, 100])
        texts = {name: "\n\n".join(parts) for name, parts in files.items()}
        if rng.random() < 0.5:
            with dying(store, rng, 6) as died:
                try:
                    bring(store, texts, group=group)
                except Crash:
                    pass
            told["died"] += len(died)
            if rng.random() < 0.5:
                edit(rng, files)
        texts = {name: "\n\n".join(parts) for name, parts in files.items()}
        would = bring(store, texts, group=group, dry_run=True)
        report = bring(store, texts, group=group)
        told["embedded"] += report.embedded
        told["reused"] += report.reused
        assert (would.embedded, would.reused, would.deleted) == (
            report.embedded,
            report.reused,
            report.deleted,
        )
        assert sorted(would.removed) == sorted(report.removed)
        same(content(store), fresh(texts))
        asked(store)
        again = bring(store, texts, group=group)
        blank = tuple([name for name in sorted(texts) if not texts[name].strip()])
        assert again.empty == blank
        assert again.unchanged == tuple([name for name in sorted(texts) if name not in blank])
        assert (again.embedded, again.reused, again.deleted, asked(store)) == (0, 0, 0, [])
    return told


@pytest.mark.parametrize("seed", [1, 2])
def test_random_edits_and_deaths(store: SimpleVectorStore, seed: int) -> None:
    store.batching = make_store("memory", Path(), str).batching
    told = live(store, 30, seed)
    assert told["died"] > 3
    assert told["reused"] > 10


def test_random_edits_and_deaths_on_engines(engine_store: VectorStore) -> None:
    told = live(engine_store, 8, 5)
    assert told["died"] > 0


@pytest.mark.heavy
def test_a_thousand_rounds_in_memory(store: SimpleVectorStore) -> None:
    store.batching = make_store("memory", Path(), str).batching
    told = live(store, 1_000, 7)
    print(told)
    assert told["died"] > 200


@pytest.mark.heavy
def test_fifty_rounds_on_engines(engine_store: VectorStore) -> None:
    told = live(engine_store, 50, 11)
    print(type(engine_store).__name__, told)
    assert told["died"] > 5


# --- what is not asked for --------------------------------------------------------------------


class Counted:
    """A reader that counts what it is asked for."""

    fingerprint = "counted"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, source: Source) -> Iterator[Document]:
        self.asked.append(source.id)
        yield from read_text()(source)


def test_unchanged_sources_are_not_parsed(store: SimpleVectorStore) -> None:
    reader = Counted()
    bring(store, FILES, read=reader)
    assert reader.asked == sorted(FILES)
    reader.asked.clear()
    bring(store, {**FILES, "oats.txt": "Oats."}, read=reader)
    assert reader.asked == ["oats.txt"]


def test_a_group_is_proven_whole_by_two_counts(store: SimpleVectorStore) -> None:
    files = {f"{number:03}.txt": f"Text {number}." for number in range(100)}
    bring(store, files)
    calls: list[str] = []

    class Telling:
        def start(self, operation: str, attributes: Any) -> None:
            calls.append(operation)

        def end(self, started: Any, *, duration: float, error: BaseException | None) -> None: ...

    store._set_up(observers=[Telling()])
    bring(store, files, remove="never")
    assert sorted(calls) == ["count", "count", "scan"]


class Failing(TextEmbedder):
    """Fails at its third batch, once."""

    left = 2

    def embed_documents(self, texts: list[str]) -> Any:
        self.left -= 1
        if self.left == -1:
            raise TimeoutError
        return super().embed_documents(texts)


def test_a_failure_of_the_embedder_is_repaired() -> None:
    store = SimpleVectorStore(Failing(), batching=CountBatching(3))
    with pytest.raises(EmbeddingError, match="TimeoutError"):
        bring(store, FILES)
    written = store.count()
    assert written == 6
    report = bring(store, FILES)
    assert report.embedded == store.count() - written
    assert report.reused == 2  # of the source that was written in part
    same(content(store), fresh(FILES))


def test_others_may_have_written_into_a_chunk(store: SimpleVectorStore) -> None:
    bring(store, FILES)
    ids = [one.id for one in store.scan()]
    store.update_metadata(ids[:1], set={"chunk": {"corpus": CORPUS, "index": 0}})
    store.update_metadata(ids[1:2], set={"chunk": {"corpus": CORPUS, "index": "0", "version": 5}})
    store.add([Document("theirs", {"chunk": "a text"}, embedding=[1.0] * DIMENSION)])
    bring(store, FILES)
    report = bring(store, FILES)
    assert report.unchanged == tuple(sorted(FILES))
    assert store.count(F.chunk.corpus == CORPUS) >= len(fresh(FILES))


def test_two_corpora_in_one_store(store: SimpleVectorStore) -> None:
    bring(store, FILES, corpus="one")
    bring(store, FILES, corpus="two")
    assert store.count() == 2 * len(fresh(FILES))
    bring(store, {"oats.txt": "Oats."}, corpus="two")
    assert bring(store, FILES, corpus="one").unchanged == tuple(sorted(FILES))


def test_the_benchmark_counts_what_is_embedded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    library = [path for path in corpus.library_files() if path.parent.name == "json"]
    monkeypatch.setattr(corpus, "library_files", lambda: library)
    monkeypatch.setattr(syncing, "missing", lambda modules, package: "langchain" in package)
    rows = syncing.compare("40 files", "memory:", 40)
    first, again, edited, moved, deleted = [[int(cell) for cell in row[-2:]] for row in rows]
    assert first[0] == first[1] > 40
    assert (again, moved) == ([0, first[1]], [0, first[1]])
    assert 20 <= edited[0] <= 40
    assert deleted[0] == 0
    assert deleted[1] < edited[1]
    assert "again, vecstore" in capsys.readouterr().out


# --- what changes a version -------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"split": TokenSplitter(9)},
        {"split": None},
        {"read": Readers({**READERS, "text": read_text("utf-8-sig")})},
    ],
)
def test_other_settings_make_other_chunks(store: SimpleVectorStore, change: Any) -> None:
    bring(store, FILES)
    report = bring(store, FILES, **change)
    assert report.changed
    same(content(store), fresh(FILES, **change))
    assert bring(store, FILES, **change).unchanged == tuple(sorted(FILES))
    if "read" in change:  # only of the kind that it reads
        assert report.unchanged == ("bread.md",)
        assert report.embedded == 0


def test_metadata_of_sources_counts(store: SimpleVectorStore) -> None:
    sync(store, sources(FILES, team="a"), corpus=CORPUS, split=SPLIT)
    asked(store)
    report = sync(store, sources(FILES, team="b"), corpus=CORPUS, split=SPLIT)
    assert (report.changed, report.embedded) == (tuple(sorted(FILES)), 0)
    assert {one.metadata["team"] for one in store.scan()} == {"b"}


class WithExtra:
    """A reader of somebody's, which keeps of each source what no filter asks."""

    def __init__(self, extra: Any, fingerprint: str = "1") -> None:
        self.extra = extra
        self.fingerprint = fingerprint

    def __call__(self, source: Source) -> Iterator[Document]:
        for one in read_text()(source):
            yield one.replace(extra=self.extra)


def test_extras_of_readers_come_with_each_chunk_and_cost_no_embedding(
    store: SimpleVectorStore,
) -> None:
    def brought(*reader: Any) -> Any:
        report = bring(store, FILES, read=WithExtra(*reader), enrich=keywords(long_words))
        return report.embedded, report.reused, len(report.changed)

    def held() -> set[str]:
        return {json.dumps(one.extra) for one in store.scan()}

    first, again = {"rows": [{"n": 1}]}, {"rows": [{"n": 1.0}]}
    brought(first)
    total = store.count()
    assert total > len(FILES)
    assert held() == {json.dumps(first)}
    assert brought(first) == (0, 0, 0)
    # Of another reader: whatever differs is written, if only by a type that Python takes as equal.
    for number, extra in enumerate((again, None, first)):
        assert brought(extra, f"{number + 2}") == (0, total, len(FILES))
        assert held() == {json.dumps(extra)}


def test_a_store_without_a_place_for_extras_refuses_those_of_readers() -> None:
    class KeepsNone(SimpleVectorStore):
        capabilities = replace(SimpleVectorStore.capabilities, keeps_extra=False)

    with KeepsNone(TextEmbedder()) as store:
        with pytest.raises(DocumentError, match="keeps_extra"):
            bring(store, FILES, read=WithExtra([1]))
        assert store.count() == 0


def test_an_embedder_that_says_what_it_is(store: SimpleVectorStore) -> None:
    embedder: Any = embedder_of(store)
    embedder.fingerprint = "model 1"
    bring(store, FILES)
    embedder.fingerprint = "model 2"
    report = bring(store, FILES)
    assert (report.reused, report.embedded) == (0, store.count())


def test_what_is_embedded_can_differ_from_what_is_stored() -> None:
    formatter = ContentFormatter(hide_embed={"secret"})
    files = {"a.md": "# One\n\nText.\n\n# Two\n\nText too.", "b.txt": "Text."}

    def made(**options: Any) -> SimpleVectorStore:
        made_store = SimpleVectorStore(TextEmbedder(), **options)
        sync(made_store, sources(files, secret="hidden"), corpus=CORPUS)
        return made_store

    plain, shown = made(), made(embed_as=formatter.for_embedding)
    texts = asked(shown)
    assert any("headings: One" in text for text in texts)
    assert not any("hidden" in text or "chunk" in text or "span" in text for text in texts)
    held, other = [
        {
            (one.metadata["source"], one.metadata["chunk"]["index"]): one
            for one in made.scan(include_embedding=True)
        }
        for made in (plain, shown)
    ]
    assert held.keys() == other.keys()
    for place, one in held.items():
        assert _without_version(one) == _without_version(other[place])
        assert one.embedding.tolist() != other[place].embedding.tolist()
    # A heading that is embedded changes: its section is embedded again, and no other.
    files["a.md"] = files["a.md"].replace("# Two", "# Zwei")
    report = sync(shown, sources(files, secret="hidden"), corpus=CORPUS)
    assert (report.embedded, report.reused) == (1, 1)


def _without_version(document: Document) -> tuple[str, dict[str, Any]]:
    document.metadata["chunk"].pop("version")
    return document.text, document.metadata


# --- enrichers --------------------------------------------------------------------------------


def long_words(text: str) -> list[str]:
    CALLS.append(text)
    return [word.strip(".") for word in text.split() if len(word) > 5]


def first_word(text: str) -> str:
    CALLS.append(text)
    return text.split()[0]


CALLS: list[str] = []


def test_enrichers_see_new_chunks_alone(store: SimpleVectorStore) -> None:
    steps = [keywords(long_words), summaries(first_word)]
    CALLS.clear()
    bring(store, FILES, enrich=steps)
    assert len(CALLS) == 2 * store.count()
    assert store.count(F.keywords == "porridge") == 1
    CALLS.clear()
    changed = {**FILES, "oats.txt": f"A new start here.\n\n{FILES['oats.txt']}"}
    report = bring(store, changed, enrich=steps)
    assert len(CALLS) == 2 * report.embedded
    same(content(store), fresh(changed, enrich=steps))
    # Other enrichers, other chunks.
    assert bring(store, changed, enrich=steps[:1]).embedded == store.count()


@pytest.mark.parametrize("shown", [False, True])
def test_summaries_of_neighbours_follow_them(shown: bool) -> None:
    embed_as = ContentFormatter().for_embedding if shown else None
    store = SimpleVectorStore(TextEmbedder(), embed_as=embed_as)
    step = summaries(first_word, ["previous", "current", "next"])
    files = {"a.txt": "One two.\n\nThree four.\n\nFive six.", "b.txt": "Seven."}
    split = TokenSplitter(5)
    options: dict[str, Any] = {"enrich": step, "split": split}
    bring(store, files, **options)
    seven = store.get(filter=F.source == "b.txt")[0].metadata
    assert "prev_section_summary" not in seven
    assert "next_section_summary" not in seven
    files["a.txt"] = "One two.\n\nFive six.\n\nThree four."
    report = bring(store, files, **options)
    assert report.embedded == (3 if shown else 0)
    same(content(store), fresh(files, embed_as=embed_as, **options))
    asked(store)
    assert bring(store, files, **options).embedded == len(asked(store)) == 0


def test_a_key_that_a_reader_writes_too_is_the_enricher_s(store: SimpleVectorStore) -> None:
    def reader(source: Source) -> list[Document]:
        return [Document(source.read_bytes().decode(), {"topic": "of the page"}, id="a.txt#0")]

    def topic(documents: list[Document]) -> list[Document]:
        for one in documents:
            one.metadata.pop("topic")
            if "rye" in one.text:
                one.metadata["topic"] = "rye"
        return documents

    step = Enricher(topic, ("topic",), "topic 1")
    for text in ("Oats.", "Oats.\n\nSome rye.", "Some rye.\n\nOats."):
        options: dict[str, Any] = {"read": reader, "enrich": step, "split": TokenSplitter(4)}
        bring(store, {"a.txt": text}, **options)
        same(content(store), fresh({"a.txt": text}, **options))
    assert store.count(F.topic == "rye") == 1 == store.count(F.topic.is_null())


def test_summaries_leave_the_documents_they_get_alone() -> None:
    documents = [Document("One.", {"a": 1}), Document("Two.")]
    step = summaries(lambda text: text[:1], ["current", "next"])
    assert [one.metadata for one in step(documents)] == [
        {"a": 1, "section_summary": "O", "next_section_summary": "T"},
        {"section_summary": "T"},
    ]
    assert [one.metadata for one in documents] == [{"a": 1}, {}]


def test_functions_of_enrichers_that_answer_otherwise() -> None:
    documents = [Document("One.")]
    for wrong, told in (
        (keywords(lambda text: text), "not one text"),
        (keywords(lambda text: 5), "not int"),  # type: ignore[arg-type, return-value]
        (summaries(lambda text: None), "not NoneType"),  # type: ignore[arg-type, return-value]
    ):
        with pytest.raises(ConfigurationError, match=told):
            list(wrong(documents))
    with pytest.raises(ConfigurationError, match="keys are those"):
        Enricher(summaries(str), ("chunk",), "x")
    with pytest.raises(ConfigurationError, match="kinds are"):
        summaries(str, ["all"])  # type: ignore[list-item]


def test_enrichers_do_nothing_else(store: SimpleVectorStore) -> None:
    def step(change: Callable[[Document], Document]) -> Enricher:
        return Enricher(lambda documents: [change(one) for one in documents], ("topic",), "step")

    def with_topic(one: Document, **more: Any) -> Document:
        return one.replace(metadata={**one.metadata, "topic": "x", **more})

    bring(store, FILES, enrich=step(with_topic))
    assert store.count(F.topic == "x") == store.count()
    for wrong in (
        lambda one: one.replace(text="other"),
        lambda one: with_topic(one, more=1),
        lambda one: with_topic(one, source="other"),
        lambda one: one.replace(id="other"),
        lambda one: with_topic(one).replace(extra=[1]),
        lambda one: one.metadata.update(source="other") or one,
    ):
        with pytest.raises(ConfigurationError, match="a step of enrich="):
            bring(SimpleVectorStore(TextEmbedder()), FILES, enrich=step(wrong))
    with pytest.raises(ConfigurationError, match="a step of enrich="):
        bring(store, {"new": "x"}, enrich=Enricher(lambda documents: [], ("topic",), "step"))
    with pytest.raises(ConfigurationError, match="says which keys it writes"):
        bring(store, FILES, enrich=lambda documents: documents)


# --- what goes wrong --------------------------------------------------------------------------


def broken(id: str = "broken") -> Source:
    return Source(id=id, load=lambda: b"\xff", kind="text")


def test_a_source_that_cannot_be_read(store: SimpleVectorStore) -> None:
    bring(store, {"broken": "It was right once.", **FILES})
    held = content(store)
    listed = [broken(), *sources(FILES)]
    with pytest.raises(SourceError, match="broken is not UTF-8 at byte 0"):
        sync(store, listed, corpus=CORPUS, split=SPLIT, remove="missing")
    report = sync(
        store, listed, corpus=CORPUS, split=SPLIT, remove="missing", on_error="skip", group=2
    )
    assert [failure.source for failure in report.failures] == ["broken"]
    assert "1 failed" in str(report)
    assert report.removed == ()
    same(content(store), held)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (Source(id="a", load=lambda: 1 / 0, kind="text"), "a cannot be loaded"),  # type: ignore[arg-type, return-value]
        (
            Source(id="a", load=lambda: b"x", kind="text", metadata={"chunk": 1}),
            "has the key 'chunk'",
        ),
        (Source(id="a", load=lambda: b"x", kind="tex"), "no reader reads"),
        (Source(id="a", load=lambda: b"x", kind="text", metadata={"b": object()}), "'a'"),
    ],
)
def test_faults_name_their_source(store: SimpleVectorStore, source: Source, told: str) -> None:
    with pytest.raises((SourceError, DocumentError), match=told):
        sync(store, [source], corpus=CORPUS)
    report = sync(store, [source], corpus=CORPUS, on_error="skip")
    assert told in str(report.failures[0].error)
    assert store.count() == 0


def test_a_reader_that_fails(store: SimpleVectorStore) -> None:
    def reader(source: Source) -> Iterator[Document]:
        yield Document("first")
        raise KeyError("secret")

    with pytest.raises(SourceError, match=r"oats.txt cannot be read \(KeyError\)") as caught:
        bring(store, {"oats.txt": "Oats."}, read=reader)
    assert isinstance(caught.value.__cause__, KeyError)
    assert store.count() == 0


def test_a_package_that_is_missing_is_no_fault_of_a_source(
    store: SimpleVectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    scan = Source(id="a.pdf", load=lambda: b"%PDF-1.7", kind="pdf")
    with pytest.raises(BackendNotInstalledError, match="needs the package pypdf"):
        sync(store, [scan, *sources(FILES)], corpus=CORPUS, on_error="skip")


def test_a_text_that_cannot_be_cut(store: SimpleVectorStore) -> None:
    with pytest.raises(DocumentError, match=r"oats.txt, part 0: .*max_chunks"):
        bring(
            store,
            {"oats.txt": FILES["oats.txt"]},
            split=TokenSplitter(4, max_chunks=1),
            read=read_text(),
        )


def test_two_sources_of_one_name(store: SimpleVectorStore) -> None:
    twice = [text_source("a", "One."), text_source("b", "Two."), text_source("a", "Three.")]
    for group in (1, 100):
        with pytest.raises(SourceError, match="two sources of the corpus"):
            sync(store, twice, corpus=CORPUS, group=group)
    report = sync(store, twice, corpus=CORPUS, on_error="skip", remove="missing")
    assert [failure.source for failure in report.failures] == ["a"]
    assert {one.text for one in store.scan()} == {"One.", "Two."}


def test_what_a_crash_left_of_a_source_that_is_gone(store: SimpleVectorStore) -> None:
    long = {"long.txt": FILES["oats.txt"], "kept.txt": "Kept."}
    bring(store, long)
    # Its first chunk is gone already, as after half a removal: no head tells of the others.
    store.delete(filter=(F.source == "long.txt") & (F.chunk["index"] == 0))
    left = store.count(F.source == "long.txt")
    assert left > 0
    twice = [*sources({"kept.txt": "Kept."}), *sources({"kept.txt": "Other."})]
    would, report = [
        sync(
            store,
            twice,
            corpus=CORPUS,
            split=SPLIT,
            remove="missing",
            on_error="skip",
            dry_run=dry_run,
        )
        for dry_run in (True, False)
    ]
    assert would.removed == report.removed == ("long.txt",)
    assert would.deleted == report.deleted == left
    same(content(store), fresh({"kept.txt": "Kept."}))


def test_sources_that_are_broken_among_many_are_found(store: SimpleVectorStore) -> None:
    files = {f"{number:03}.txt": f"Text {number}. And more of it." for number in range(40)}
    bring(store, files, split=TokenSplitter(5))
    wanted = content(store)
    lost, stray = [
        store.get(filter=(F.source == name) & (F.chunk["index"] == 1))[0]
        for name in ("007.txt", "030.txt")
    ]
    store.delete([lost.id])
    # As an interrupted run leaves it, and as a reader does that is another one under its old name.
    for version in ("old", stray.metadata["chunk"]["version"]):
        chunk = {**stray.metadata["chunk"], "version": version}
        store.add([stray.replace(id=version, metadata={**stray.metadata, "chunk": chunk})])
    report = bring(store, files, split=TokenSplitter(5))
    assert (report.changed, report.embedded) == (("007.txt", "030.txt"), 1)
    assert (report.deleted, len(report.unchanged)) == (2, 38)
    same(content(store), wanted)


def test_a_listing_that_breaks_off_removes_nothing(store: SimpleVectorStore) -> None:
    bring(store, FILES)

    def listing() -> Iterator[Source]:
        yield sources(FILES)[0]
        raise SourceError("the folder cannot be listed")

    for on_error in ("raise", "skip"):
        with pytest.raises(SourceError, match="cannot be listed"):
            sync(
                store,
                listing(),
                corpus=CORPUS,
                split=SPLIT,
                group=1,
                remove="missing",
                on_error=on_error,  # type: ignore[arg-type]
            )
    same(content(store), fresh(FILES))


def test_an_empty_listing_does_not_empty_a_store(store: SimpleVectorStore, tmp_path: Path) -> None:
    bring(store, FILES)
    with pytest.raises(SourceError, match="no source came"):
        sync(store, folder(tmp_path), corpus=CORPUS, remove="missing")
    assert sync(store, folder(tmp_path), corpus=CORPUS).deleted == 0
    sync(store, folder(tmp_path), corpus="empty", remove="missing")
    same(content(store), fresh(FILES))


def test_sources_without_text_are_told(store: SimpleVectorStore) -> None:
    def nothing(source: Source) -> list[Document]:
        return []

    remarks: list[str] = []

    def pictures(source: Source) -> list[Document]:
        assert source.note is not None
        source.note("no text layer on page 2")
        return [Document("Page one.", {"page": 1})]

    scan = Source(id="scan", load=lambda: b"%", kind="pdf", note=remarks.append)
    report = sync(store, [scan], corpus="pictures", read=pictures)
    assert report.warnings == ("scan: no text layer on page 2",)
    assert remarks == ["no text layer on page 2"]
    files = {"scan.txt": "bytes", "blank.txt": " \n"}
    for _ in range(2):
        report = bring(store, files, read=nothing)
        assert (report.unchanged, report.empty) == ((), ("blank.txt", "scan.txt"))
        assert "0 removed, 2 empty; chunks" in str(report)
        assert report.warnings == ("scan.txt: no text in it could be indexed",)
    bring(store, {"scan.txt": "bytes", "blank.txt": "a"})
    emptied = bring(store, {"scan.txt": "bytes", "blank.txt": " "})
    assert (emptied.changed, emptied.deleted) == (("blank.txt",), 1)


def test_files_that_change_while_they_are_read(
    store: SimpleVectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vecstore.indexing.syncing._KEPT_BYTES", 4)
    texts = iter(["An old text.", "A new text.", "A new text."])
    source = Source(id="a", load=lambda: next(texts).encode(), kind="text")
    sync(store, [source], corpus=CORPUS)
    assert sync(store, [source], corpus=CORPUS).unchanged == ("a",)
    assert [one.text for one in store.scan()] == ["A new text."]


def test_wrong_arguments(store: SimpleVectorStore) -> None:
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        ("docs", {}, "write folder"),
        (broken(), {}, "write folder"),
        (["a.md"], {}, "takes sources, not str"),
        ([], {"corpus": ""}, "corpus names"),
        ([], {"remove": "all"}, "remove is"),
        ([], {"on_error": "ignore"}, "on_error is"),
        ([], {"group": 0}, "group is"),
        ([], {"group": 5_000}, "group is"),
        ([], {"split": len}, "spans"),
    ]
    for given, options, told in wrong:
        with pytest.raises((TypeError, ValueError, ConfigurationError), match=told):
            sync(store, given, **{"corpus": "c", **options})
    with pytest.raises(TypeError, match="open_store"):
        sync("memory:", [], corpus="c")  # type: ignore[arg-type]


def test_a_store_without_an_embedder_says_so() -> None:
    with pytest.raises(ConfigurationError, match="embedder"):
        bring(SimpleVectorStore(dimension=DIMENSION), FILES)


def test_an_engine_that_fails_is_told_as_such(store: SimpleVectorStore) -> None:
    def fails(batch: Any) -> Any:
        raise OSError("gone")

    store._add = fails  # type: ignore[method-assign]
    with pytest.raises(BackendError):
        sync(store, sources(FILES), corpus=CORPUS, on_error="skip")


# --- progress, ids, awaiting ------------------------------------------------------------------


def test_progress(store: SimpleVectorStore) -> None:
    told: list[tuple[int, int | None]] = []
    bring(store, FILES, group=2, progress=lambda done, total: told.append((done, total)))
    assert told == [(2, 3), (3, 3)]
    told.clear()
    files = {**FILES, "oats.txt": "New."}
    bring(store, files, progress=lambda done, total: told.append((done, total)))
    assert told == [(2, 3), (3, 3)]  # what has not changed is done at once
    told.clear()
    listing = iter(sources(FILES))
    other = "listed"
    sync(store, listing, corpus=other, progress=lambda done, total: told.append((done, total)))
    assert told == [(3, None)]


def test_records_keep_their_ids(store: SimpleVectorStore) -> None:
    rows = text_source(
        "rows.jsonl", '{"id": "7", "body": "Rye."}\n{"id": "8", "body": "Oats."}', "jsonl"
    )
    from vecstore.indexing import read_jsonl

    sync(store, [rows], corpus=CORPUS, read=read_jsonl("body", id="id"))
    assert {one.metadata["chunk"]["id"]: one.text for one in store.scan()} == {
        "7": "Rye.",
        "8": "Oats.",
    }


def test_awaited_with_a_scope_that_is_a_function(store: SimpleVectorStore) -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")
    view = store.scoped(lambda: F.tenant == tenant.get())

    async def main() -> None:
        tenant.set("a")
        await asyncio.to_thread(bring, view, FILES)

    asyncio.run(main())
    assert store.count(F.tenant == "a") == store.count() > 0
