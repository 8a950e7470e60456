"""The splitter: exact slices, in order, nothing lost, none over its size, whatever counts tokens."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import splitting
from tests.indexing.texts import CHINESE, ENGLISH, TEXTS
from vecstore import BackendNotInstalledError, ConfigurationError, Document, DocumentError
from vecstore.embedding import estimate_tokens
from vecstore.indexing import TokenSplitter, chain, fingerprint_of
from vecstore.indexing.splitting import _joined
from vecstore.indexing.tokens import (
    EstimatedTokens,
    HuggingFaceTokens,
    TiktokenTokens,
    _windows,
    tokens_of,
)

BLANKS = re.compile(r"\s+")


class Bytes:
    """Tokens of one byte each: characters have up to four, more than some slices hold."""

    fingerprint = "bytes"

    def starts(self, text: str) -> list[int]:
        return [place for place, one in enumerate(text) for _ in one.encode()]


@pytest.fixture(scope="module")
def llama_tokens(llama: Any) -> HuggingFaceTokens:
    return HuggingFaceTokens(llama)


@pytest.fixture(scope="module", params=["estimate", "cl100k", "llama", "bytes"])
def tokens(request: pytest.FixtureRequest) -> Any:
    if request.param == "estimate":
        return EstimatedTokens()
    if request.param == "bytes":
        return Bytes()
    if request.param == "llama":
        return request.getfixturevalue("llama_tokens")
    return tokens_of(request.getfixturevalue(request.param))


def check_slices(
    text: str, spans: Sequence[tuple[int, int]], tokens: Any, size: int, overlap: int = 0
) -> None:
    """What holds for every text."""
    previous = (0, 0)
    places = tokens.starts(text) if overlap else ()
    for start, end in spans:
        assert 0 <= start < end <= len(text)
        part = text[start:end]
        assert part == part.strip()
        assert len(tokens.starts(part)) <= size
        # In order, each one with something new, and between them white space alone.
        assert start > previous[0] or previous == (0, 0)
        assert end > previous[1]
        assert not text[previous[1] : start].strip()
        assert sum(start <= place < previous[1] for place in places) <= overlap
        previous = (start, end)
    assert not text[previous[1] :].strip()
    if not overlap:
        slices = "".join(text[start:end] for start, end in spans)
        assert BLANKS.sub("", slices) == BLANKS.sub("", text)
        assert slices.count("\ufffd") == text.count("\ufffd")


pieces = st.one_of(
    st.characters(codec="utf-8"),
    st.sampled_from(
        [*' \n\t.?!。？「」’"\u200d\u0301\ufffd', "word ", "👩‍👧", "🇧🇬", "<|endoftext|>", "aaaa"]
    ),
    st.sampled_from(sorted(TEXTS)).map(lambda name: TEXTS[name][:40]),
)
texts = st.lists(pieces, max_size=60).map("".join)


@settings(max_examples=30)
@given(text=texts, size=st.integers(12, 60), overlap=st.integers(0, 11), data=st.data())
def test_any_text_at_any_size(
    tokens: Any, text: str, size: int, overlap: int, data: st.DataObject
) -> None:
    options: dict[str, Any] = {
        "min_chars": data.draw(st.none() | st.integers(0, 200)),
        "min_length": data.draw(st.integers(0, 20)),
        "ends": data.draw(st.sampled_from([".?!\n", "", re.compile(r"\b")])),
    }
    if data.draw(st.booleans()):
        del options["ends"]
    plain = TokenSplitter(size, tokens=tokens, **options)
    check_slices(text, plain.spans(text), tokens, size)
    overlapping = TokenSplitter(size, overlap=overlap, tokens=tokens, **options)
    check_slices(text, overlapping.spans(text), tokens, size, overlap)


@settings(max_examples=25)
@given(text=texts, size=st.integers(1, 12))
def test_sizes_of_few_tokens_hold_or_are_refused(tokens: Any, text: str, size: int) -> None:
    splitter = TokenSplitter(size, tokens=tokens)
    try:
        spans = splitter.spans(text)
    except DocumentError as error:
        assert "alone has more than" in str(error)  # noqa: PT017
        assert any(len(tokens.starts(one)) > size for one in text)
    else:
        check_slices(text, spans, tokens, size)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("size", [12, 50, 800])
def test_texts_as_people_write_them(tokens: Any, name: str, size: int) -> None:
    text = TEXTS[name]
    check_slices(text, TokenSplitter(size, tokens=tokens).spans(text), tokens, size)
    spans = TokenSplitter(size, overlap=size // 5, tokens=tokens).spans(text)
    check_slices(text, spans, tokens, size, size // 5)


# --- where slices end -------------------------------------------------------------------------


class Characters:
    """A token for each character, so that a size is a width."""

    def starts(self, text: str) -> range:
        return range(len(text))


def cut(text: str, size: int, **settings: Any) -> list[str]:
    splitter = TokenSplitter(size, tokens=Characters(), **settings)
    return [text[start:end] for start, end in splitter.spans(text)]


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("One two. Three four.", 12, ["One two.", "Three four."]),
        # A full stop within a number, an address or a name ends nothing.
        ("It is 3.14159 here", 12, ["It is", "3.14159 here"]),
        ("Go to example.com now", 14, ["Go to", "example.com", "now"]),
        # Quotes and brackets behind a mark belong to the sentence.
        ('He said "no." She left.', 15, ['He said "no."', "She left."]),
        ("(So it was.) It is.", 15, ["(So it was.)", "It is."]),
        ("今天很好。我们去公园。", 8, ["今天很好。", "我们去公园。"]),
        ("「そうですか？」と聞いた。", 10, ["「そうですか？」", "と聞いた。"]),
        ("هل هذا صحيح؟ نعم.", 15, ["هل هذا صحيح؟", "نعم."]),
        ("सब ठीक है। हाँ।", 12, ["सब ठीक है।", "हाँ।"]),
        ("a line\nanother line", 13, ["a line", "another line"]),
        # A mark too early in a slice is passed over for a word that fits.
        ("Hm. This goes on and on", 20, ["Hm. This goes on and", "on"]),
        ("no marks in here at all", 10, ["no marks", "in here at", "all"]),
        ("abcdefghijklmno", 6, ["abcdef", "ghijkl", "mno"]),
        ("Yes.", 10, ["Yes."]),
        ("  \n ", 3, []),
        ("", 3, []),
    ],
)
def test_where_slices_end(text: str, size: int, expected: list[str]) -> None:
    assert cut(text, size) == expected


def test_marks_of_yours() -> None:
    assert cut("a;b;c", 4, ends=";", min_chars=0) == ["a;b;", "c"]
    assert cut("a]b]c", 4, ends="]^-\\", min_chars=0) == ["a]b]", "c"]
    assert cut("one -- two -- three", 14, ends=re.compile(r"-- ")) == ["one -- two --", "three"]
    assert cut("one. two", 7, ends="") == ["one.", "two"]


def test_a_mark_counts_behind_so_many_characters() -> None:
    text = "Four. And then some more"
    assert cut(text, 15, min_chars=3)[0] == "Four."
    assert cut(text, 15, min_chars=4)[0] == "Four. And then"


def test_an_overlap_starts_with_a_word() -> None:
    text = "One two three. Four five six. Seven eight nine."
    repeated = ["three. Four five", "five six.", "six. Seven", "Seven eight", "eight nine."]
    assert cut(text, 16, overlap=6) == ["One two three.", *repeated]
    assert cut(text, 16) == ["One two three.", "Four five six.", "Seven eight", "nine."]


def test_an_overlap_leaves_no_slice_without_anything_new() -> None:
    assert cut("One two three." + " " * 50, 14, overlap=10) == ["One two three."]
    assert cut("One two three." + " " * 50 + "Four", 14, overlap=10) == ["One two three.", "Four"]


def test_a_short_end_joins_what_fits_and_is_never_lost() -> None:
    assert cut("Is it so? Yes.", 20, min_length=6) == ["Is it so? Yes."]
    assert cut("Is it so? Yes.", 12, min_length=6) == ["Is it so?", "Yes."]
    text = "aaaa bbb. cc. d"
    assert cut(text, 16, min_length=3) == [text]
    assert cut(text, 14, min_length=3) == ["aaaa bbb. cc.", "d"]


@pytest.mark.parametrize(
    "text", ["👩‍👩‍👧‍👦" * 12, "👍🏽" * 40, "e\u0301" * 60, "क्षि" * 40, "❤️‍🔥" * 30]
)
def test_what_belongs_together_stays_together_where_it_fits(text: str) -> None:
    for start, end in TokenSplitter(11, tokens=Characters()).spans(text):
        assert not _joined(text, start)
        assert not _joined(text, end)


def test_marks_without_end_are_cut_all_the_same() -> None:
    text = "e" + "\u0301" * 500
    spans = TokenSplitter(40, tokens=Characters()).spans(text)
    assert "".join(text[start:end] for start, end in spans) == text


# --- against the splitter that others publish --------------------------------------------------


def published(text: str, encoding: Any, size: int, least: int) -> list[str]:
    """The loop of Spring AI's ``TokenTextSplitter``, on texts of one byte a character."""
    tokens = encoding.encode_ordinary(text)
    found = []
    while tokens:
        part = encoding.decode(tokens[:size])
        if not part.strip():
            tokens = tokens[size:]
            continue
        mark = max(part.rfind(one) for one in ".?!\n")
        if len(tokens) > size and mark > least:
            part = part[: mark + 1]
        if len(part.strip()) > 5:
            found.append(part.strip())
        tokens = tokens[len(encoding.encode_ordinary(part)) :]
    return found


@pytest.mark.parametrize("size", [200, 400, 800])
def test_spring_cuts_prose_as_spring_ai_does(cl100k: Any, size: int) -> None:
    alike = 0
    for name in "argparse calendar decimal fractions heapq logging random statistics".split():
        members = inspect.getmembers(import_module(name))
        prose = "\n\n".join(text for _, one in members if (text := inspect.getdoc(one)))
        prose = prose.encode("ascii", "ignore").decode()
        theirs = published(prose, cl100k, size, 350)
        if BLANKS.sub("", "".join(theirs)) != BLANKS.sub("", prose):
            continue  # what it has cut has other tokens alone: from there on it loses characters
        splitter = TokenSplitter.spring(tokens=cl100k, size=size)
        assert [prose[start:end] for start, end in splitter.spans(prose)] == theirs
        alike += len(theirs)
    assert alike > 20


def test_spring_takes_the_encoding_by_name(cl100k: Any) -> None:
    splitter = TokenSplitter.spring(max_chunks=5)
    assert repr(splitter) == (
        "TokenSplitter(800, tokens=TiktokenTokens('cl100k_base'), min_chars=350, "
        "ends='[\\\\.\\\\?!\\\\\\n]', min_length=6, max_chunks=5)"
    )
    assert splitter.fingerprint == TokenSplitter.spring(tokens=cl100k, max_chunks=5).fingerprint
    # Where theirs cuts characters and leaves replacements in their place.
    text = CHINESE * 20
    small = TokenSplitter.spring(size=50, min_chars=5)
    assert "\ufffd" in "".join(published(text, cl100k, 50, 5))
    check_slices(text, small.spans(text), small.tokens, 50)


# --- documents --------------------------------------------------------------------------------


def test_slices_carry_what_the_whole_does_and_where_they_lie() -> None:
    whole = Document("One. Two. Three.", {"source": "a", "span": [100, 116]}, id="a#0", score=0.5)
    split = TokenSplitter(8, tokens=Characters())
    found = [*split([whole, Document(" "), Document("Four", id="b")])]
    assert [one.text for one in found] == ["One.", "Two.", "Three.", "Four"]
    assert found[1] == Document(
        "Two.",
        {
            "source": "a",
            "span": [105, 109],
            "chunk": {"index": 1, "count": 3, "start": 5, "end": 9},
        },
        id="a#0/1",
        score=0.5,
    )
    for one in found[:3]:
        place = one.metadata["chunk"]
        assert whole.text[place["start"] : place["end"]] == one.text
    assert whole.metadata == {"source": "a", "span": [100, 116]}


def test_slices_carry_the_extra_of_the_whole_and_share_its_text() -> None:
    extra = {"rows": [{"n": 2**53 + 1}, None], "zeta": 1.0, "alpha": []}
    whole = Document("One. Two. Three.", {"n": 1}, "a", extra=extra)
    first, second, third = TokenSplitter(8, tokens=Characters()).split(whole)
    assert first._extra is second._extra  # one of 16 MiB is not there a thousand times
    first.extra["rows"].clear()
    assert json.dumps(second.extra) == json.dumps(third.extra) == json.dumps(extra)
    assert json.dumps(whole.extra) == json.dumps(extra)
    assert [one.extra for one in TokenSplitter().split(Document("One."))] == [None]


def test_a_vector_of_the_whole_is_not_that_of_its_slices() -> None:
    (one,) = TokenSplitter()([Document("a", embedding=[1, 2])])
    assert one.embedding is None


def test_slices_are_not_cut_again() -> None:
    split = TokenSplitter()
    with pytest.raises(DocumentError, match=r"'x/0' has the key chunk already.* cut the whole"):
        [*chain(split, split)([Document("a", id="x")])]


def test_documents_are_cut_when_they_are_asked_for() -> None:
    def endless() -> Any:
        while True:
            yield Document("One. Two.")

    assert next(iter(TokenSplitter()(endless()))).text == "One. Two."


def test_errors_name_the_document() -> None:
    split = TokenSplitter(3, tokens=Bytes())
    with pytest.raises(
        DocumentError,
        match=r"document 'x': character 3 of the text, '😀', alone has more than 3 tokens; raise size",
    ) as caught:
        [*split([Document("ab 😀", id="x")])]
    assert caught.value.document_id == "x"
    with pytest.raises(DocumentError, match="more than 2 slices of 3 tokens; raise size or max_ch"):
        TokenSplitter(3, tokens=Characters(), max_chunks=2).spans("abcdefg")
    assert len(TokenSplitter(3, tokens=Characters(), max_chunks=3).spans("abcdefg")) == 3
    with pytest.raises(DocumentError, match="character 2 of the text is half of a pair"):
        TokenSplitter().spans("ab\ud800")


# --- settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 0}, "size of a splitter is 1 or more, not 0"),
        ({"size": 2.5}, "size of a splitter is a whole number, not 2.5"),
        ({"size": True}, "size of a splitter is a whole number, not True"),
        (
            {"size": 80, "overlap": 80},
            "leaves no room for anything new in 80 tokens; write overlap=10",
        ),
        ({"overlap": -1}, "overlap of a splitter is 0 or more"),
        ({"min_chars": "a"}, "min_chars of a splitter is a whole number"),
        ({"max_chunks": 0}, "max_chunks of a splitter is 1 or more"),
        ({"ends": [".", "!"]}, "ends is a text of the characters that end a sentence"),
        ({"ends": re.compile(b"x")}, "ends is a text of the characters that end a sentence"),
        ({"tokens": 3}, "has a method starts(text) that returns the position"),
        (
            {"tokens": Characters},
            "tokens is the class Characters; pass an instance: Characters(...)",
        ),
    ],
)
def test_settings_are_checked_when_it_is_made(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        TokenSplitter(**settings)


def test_fingerprints_change_with_every_setting(llama: Any, cl100k: Any) -> None:
    splitters = [
        TokenSplitter(),
        TokenSplitter(801),
        TokenSplitter(overlap=1),
        TokenSplitter(min_chars=1),
        TokenSplitter(ends=".?!"),
        TokenSplitter(ends=re.compile(r"[.?!]", re.ASCII)),
        TokenSplitter(min_length=2),
        TokenSplitter(max_chunks=9),
        TokenSplitter(tokens=llama),
        TokenSplitter(tokens=cl100k),
        TokenSplitter(tokens=Bytes()),
    ]
    assert len({fingerprint_of(one) for one in splitters}) == len(splitters)
    assert TokenSplitter(tokens=llama).fingerprint == TokenSplitter(tokens=llama).fingerprint
    # Stored in databases: it stays the same as long as texts are cut the same.
    assert TokenSplitter().fingerprint == "tokens-7f110d19"
    with pytest.raises(ConfigurationError, match="Characters does not say what tells it"):
        _ = TokenSplitter(tokens=Characters()).fingerprint


# --- tokens -----------------------------------------------------------------------------------


@given(texts)
def test_estimates_agree(text: str) -> None:
    starts = EstimatedTokens().starts(text)
    assert len(starts) == estimate_tokens(text) == EstimatedTokens().count(text)
    assert starts == sorted(starts)
    assert all(0 <= start < len(text) for start in starts)


@settings(max_examples=15)
@given(texts)
def test_starts_are_those_that_tokenizers_tell(cl100k: Any, llama_tokens: Any, text: str) -> None:
    counting = TiktokenTokens(cl100k)
    ours = counting.starts(text)
    _, theirs = cl100k.decode_with_offsets(cl100k.encode_ordinary(text))
    assert ours == theirs
    assert counting.count(text) == len(ours)
    tokens = llama_tokens
    starts = tokens.starts(text)
    assert starts == sorted(starts)
    assert len(starts) == tokens.count(text)


def test_a_tokenizer_that_truncates_is_not_asked_to(llama: Any) -> None:
    from tokenizers import Tokenizer

    mine = Tokenizer.from_str(llama.to_str())
    mine.enable_truncation(16)
    mine.enable_padding(length=32)
    assert len(mine.encode(ENGLISH).ids) in (16, 32)
    assert HuggingFaceTokens(mine).starts(ENGLISH) == HuggingFaceTokens(llama).starts(ENGLISH)
    assert HuggingFaceTokens(mine).fingerprint == HuggingFaceTokens(llama).fingerprint
    assert len(mine.encode(ENGLISH).ids) in (16, 32)
    assert mine.truncation is not None

    class OfTransformers:
        backend_tokenizer = mine

    assert isinstance(tokens_of(OfTransformers()), HuggingFaceTokens)


@settings(max_examples=10)
@given(st.lists(st.sampled_from([" " * 70_000, "x" * 70_000, "word " * 20_000, "\n", "é"])))
def test_windows_are_the_text(parts: list[str]) -> None:
    text = "".join(parts)
    assert "".join(_windows(text)) == text


def test_special_tokens_in_a_text_are_text(cl100k: Any) -> None:
    assert len(TiktokenTokens(cl100k).starts("<|endoftext|>")) > 3


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, cl100k: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"no encoding 'cl999'; there are .*cl100k_base"):
        TokenSplitter(tokens="cl999")
    import tiktoken

    def offline(name: str) -> Any:
        raise OSError("https://user:secret@proxy")

    monkeypatch.setattr(tiktoken, "get_encoding", offline)
    with pytest.raises(
        ConfigurationError, match=r"could not load its encoding p50k_base .* leave "
    ):
        TokenSplitter(tokens="p50k_base")
    monkeypatch.setitem(__import__("sys").modules, "tiktoken", None)
    with pytest.raises(BackendNotInstalledError, match=r"pip install 'tiktoken>=.*the extra tikto"):
        TokenSplitter.spring()


def test_the_benchmark_counts_what_slices_lack(
    cl100k: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def tokens(text: str, size: int, encoding: Any) -> dict[str, Any]:
        ids = encoding.encode_ordinary(text)
        parts = range(0, len(ids), size)
        return {"a peer": lambda: [encoding.decode(ids[at : at + size]) for at in parts]}

    monkeypatch.setattr(splitting, "_peers", tokens)
    monkeypatch.setattr(splitting, "_ROUNDS", 1)
    splitting._compare("Chinese", CHINESE * 4, 50, cl100k)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[-3:]]
    assert [row[-3:] for row in rows[:2]] == [["0"] * 3] * 2
    assert rows[2][:2] == ["a", "peer"]
    assert int(rows[2][-2]) > int(rows[2][-1]) > 0


# --- cost -------------------------------------------------------------------------------------


class Shrinking:
    """Counts ten times as many tokens alone as in their place, beyond the first ten characters."""

    asked = 0

    def starts(self, text: str) -> range:
        self.asked += len(text)
        return range(len(text))

    def count(self, text: str) -> int:
        self.asked += len(text)
        return len(text) if len(text) < 10 else len(text) * 10


def test_tokens_that_count_otherwise_alone_cost_no_more_than_a_few_looks() -> None:
    tokens = Shrinking()
    text = "word " * 4_000
    spans = TokenSplitter(1_000, tokens=tokens).spans(text)
    assert max(end - start for start, end in spans) <= 100
    assert BLANKS.sub("", "".join(text[a:b] for a, b in spans)) == BLANKS.sub("", text)
    assert tokens.asked < 200 * len(text)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        " " * 1_000_000,
        "\n" * 1_000_000,
        "." * 1_000_000,
        "好" * 350_000,
        "\u0301" * 500_000,
    ],
    ids=["letters", "blanks", "lines", "dots", "Chinese", "accents"],
)
def test_a_million_of_one_character(text: str) -> None:
    tokens = EstimatedTokens()
    splitter = TokenSplitter(800, tokens=tokens)
    spans = splitter.spans(text)
    assert bool(spans) == bool(text.strip())
    assert "".join(text[start:end] for start, end in spans) == text.strip()


@pytest.mark.parametrize("text", ["a" * 200_000, " " * 200_000, "." * 200_000, "ab" * 50_000])
def test_real_tokenizers_get_through_texts_without_a_space(
    cl100k: Any, llama: Any, text: str
) -> None:
    for tokens in (cl100k, llama):
        spans = TokenSplitter(800, tokens=tokens).spans(text)
        assert "".join(text[start:end] for start, end in spans) == text.strip()
