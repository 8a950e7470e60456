"""Saving and loading: exact, whole, and never at the expense of what was there."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.store.test_document import METADATA
from vecstore import Document, SimpleVectorStore, StoreClosedError, StoreFileError
from vecstore.simple import persistence
from vecstore.simple import store as store_module

DOCUMENTS = [
    Document("Hello", {"n": 1, "tags": ["a", "b"], "none": None, "empty": []}, id="a", embedding=[3, 4]),
    Document("猫 \u2028 🙂 \"quoted\" \\ \x07", {"ключ": {"x.y": 2**200}}, id='b"\n', embedding=[0.1, -5]),
    Document("", id="c", embedding=[1e-40, 3e38]),
]  # fmt: skip


@pytest.fixture
def store() -> SimpleVectorStore:
    filled = SimpleVectorStore()
    filled.add(DOCUMENTS)
    return filled


@pytest.fixture
def content(store: SimpleVectorStore) -> dict[str, Any]:
    """What the file holds, for tests to spoil."""
    loaded: dict[str, Any] = json.loads(store.to_json())
    return loaded


def everything(store: SimpleVectorStore) -> list[tuple[Any, ...]]:
    return [
        (d.id, d.text, repr(d.metadata), d.embedding.tobytes())  # type: ignore[union-attr]
        for d in store.scan(include_embedding=True)
    ]


# --- the round trip ---------------------------------------------------------------------------


def test_the_format(content: dict[str, Any]) -> None:
    assert list(content) == [
        "format",
        "version",
        "metric",
        "dimension",
        "count",
        "documents",
        "vectors",
    ]
    vectors = content.pop("vectors")
    assert content == {
        "format": "vecstore-simple",
        "version": 1,
        "metric": "cosine",
        "dimension": 2,
        "count": 3,
        "documents": [{"id": d.id, "text": d.text, "metadata": d.metadata} for d in DOCUMENTS],
    }
    assert (
        np.frombuffer(base64.b64decode(vectors), "<f4").tolist()
        == np.array([3, 4, 0.1, -5, 1e-40, 3e38], np.float32).tolist()
    )


def test_a_round_trip_is_exact(store: SimpleVectorStore, tmp_path: Path) -> None:
    store.save(tmp_path / "kb.json")
    loaded = SimpleVectorStore().load(tmp_path / "kb.json")
    assert everything(loaded) == everything(store)
    assert (loaded.metric, loaded.dimension, loaded.count()) == ("cosine", 2, 3)
    assert loaded.search(vector=[1, 2]) == store.search(vector=[1, 2])
    assert loaded.to_json() == store.to_json() == (tmp_path / "kb.json").read_text("utf-8")
    loaded.add([Document("more", id="d", embedding=[1, 1])])  # a loaded store grows like any other
    loaded.delete(["a"])
    assert loaded.count() == 3


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), METADATA
        ),
        max_size=5,
    )
)
def test_any_document_survives(items: list[tuple[str, dict[str, Any]]]) -> None:
    store = SimpleVectorStore(metric="dot")
    store.add([Document(text, metadata, embedding=[1, 2]) for text, metadata in items])
    assert everything(SimpleVectorStore.from_json(store.to_json())) == everything(store)


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=9))
@example([3e38] * 9)
def test_any_vector_survives_bit_by_bit(numbers: list[float]) -> None:
    store = SimpleVectorStore(metric="euclidean")
    store.add([Document("", id="x", embedding=numbers), Document("", id="y", embedding=numbers)])
    assert everything(SimpleVectorStore.from_json(store.to_json())) == everything(store)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 999, 1_000, 1_001, 2_500])
@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_sizes_around_the_pieces(
    count: int, dimension: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(persistence, "_BYTES_A_PIECE", 36)
    store = SimpleVectorStore(metric="dot", dimension=dimension)
    matrix = np.random.default_rng(0).normal(size=(count, dimension))
    store.add(Document(f"{n}", {"n": n}, id=f"{n}", embedding=row) for n, row in enumerate(matrix))
    loaded = SimpleVectorStore.from_json(store.to_json())
    assert everything(loaded) == everything(store)
    assert loaded.dimension == dimension


def test_only_documents_that_are_there_are_saved(store: SimpleVectorStore) -> None:
    store.delete(["a"])
    store.add([DOCUMENTS[2].replace(text="newer")])
    loaded = SimpleVectorStore.from_json(store.to_json())
    assert everything(loaded) == everything(store)
    assert json.loads(store.to_json())["count"] == 2


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_the_metric_is_kept(metric: Any) -> None:
    store = SimpleVectorStore(metric=metric)
    store.add(DOCUMENTS)
    text = store.to_json()
    assert SimpleVectorStore.from_json(text).metric == metric
    assert SimpleVectorStore.from_json(text).search(vector=[1, 2]) == store.search(vector=[1, 2])
    other = "dot" if metric == "cosine" else "cosine"
    with pytest.raises(StoreFileError, match=f"metric {metric}.*{other}"):
        SimpleVectorStore.from_json(text, metric=other)  # type: ignore[arg-type]


def test_files_in_every_form(store: SimpleVectorStore, tmp_path: Path) -> None:
    text = store.to_json()
    path = tmp_path / "kb.json"
    for target in (path, str(path)):
        store.save(target)
        assert path.read_text("utf-8") == text
        path.unlink()
    for opened in (io.BytesIO(), io.StringIO()):
        store.save(opened)
        opened.seek(0)
        assert everything(SimpleVectorStore().load(opened)) == everything(store)
    with path.open("w", encoding="utf-8") as as_text:
        store.save(as_text)
    with path.open("rb") as as_bytes:
        assert everything(SimpleVectorStore().load(as_bytes)) == everything(store)
    assert everything(SimpleVectorStore.from_json(text.encode())) == everything(store)
    for bad in (5, None, [path]):
        with pytest.raises(TypeError, match="a path or an open file"):
            store.save(bad)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="a path or an open file"):
            store.load(bad)  # type: ignore[arg-type]


def test_the_layout_of_the_json_does_not_matter(
    content: dict[str, Any], store: SimpleVectorStore
) -> None:
    for text in (
        json.dumps(content, indent=2),
        json.dumps(content, ensure_ascii=True),
        json.dumps(dict(reversed(content.items()))),
        "\ufeff" + json.dumps(content),
        json.dumps(content) + "\n\n",
        json.dumps(content).replace('"vectors": ', '"vectors"\n:\t'),
    ):
        assert everything(SimpleVectorStore.from_json(text)) == everything(store)


def test_a_text_that_looks_like_the_last_field() -> None:
    store = SimpleVectorStore()
    hostile = ['","vectors":"AAAA"}', '"vectors":"', '\\"vectors\\":\\"', "vectors", '"}', "\\"]
    for n, text in enumerate(hostile):
        store.add([Document(text, {text: text}, id=f"{n}{text}", embedding=[1, n + 1])])
    text = store.to_json()
    assert everything(SimpleVectorStore.from_json(text)) == everything(store)
    mixed = json.loads(text)
    mixed["documents"] = mixed.pop("documents")  # now vectors stand before the documents
    assert everything(SimpleVectorStore.from_json(json.dumps(mixed))) == everything(store)


def test_a_file_is_utf8_under_any_locale(store: SimpleVectorStore, tmp_path: Path) -> None:
    store.save(tmp_path / "kb.json")
    code = (
        "import sys; from vecstore import SimpleVectorStore\n"
        f"store = SimpleVectorStore().load({str(tmp_path / 'kb.json')!r})\n"
        f"store.save({str(tmp_path / 'again.json')!r})\n"
        "print(sys.flags.utf8_mode, sys.getfilesystemencoding())"
    )
    environment = {**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    run = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split()[0] == "0"
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "kb.json").read_bytes()


# --- what is wrong with a file ----------------------------------------------------------------


def drop(field: str) -> Callable[[dict[str, Any]], Any]:
    return lambda content: {k: v for k, v in content.items() if k != field}


def put(field: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda content: {**content, field: value}


def first(**changes: Any) -> Callable[[dict[str, Any]], Any]:
    def change(content: dict[str, Any]) -> Any:
        content["documents"][0] = {**content["documents"][0], **changes}
        return content

    return change


def vectors(numbers: list[float]) -> Callable[[dict[str, Any]], Any]:
    return put("vectors", base64.b64encode(np.array(numbers, "<f4").tobytes()).decode())


FAULTS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "another format": (put("format", "chroma"), "format 'chroma'"),
    "no format": (drop("format"), 'no field "format"'),
    "a later version": (put("version", 5), "later vecstore.*version 5.*install a later"),
    "version 0": (put("version", 0), "says no version"),
    "version as text": (put("version", "1"), "says no version"),
    "version true": (put("version", True), "says no version"),
    "no version": (drop("version"), "says no version"),
    "no metric": (drop("metric"), "'metric' is missing"),
    "no vectors": (drop("vectors"), "'vectors' is missing"),
    "no documents": (drop("documents"), "'documents' is missing"),
    "no count": (drop("count"), "'count' is missing"),
    "an unknown metric": (put("metric", "hamming"), "'hamming'"),
    "a further field": (put("extra", 1), "'extra'"),
    "a smaller count": (put("count", 2), "says that it holds 2 documents, but it holds 3"),
    "a larger count": (put("count", 4), "says that it holds 4 documents, but it holds 3"),
    "count as text": (put("count", "3"), "says that it holds '3'"),
    "another dimension": (put("dimension", 3), "3 vectors of 3 dimensions are 36 bytes, but 24"),
    "dimension 0": (put("dimension", 0), "dimension 0"),
    "no dimension": (put("dimension", None), "dimension None"),
    "dimension as float": (put("dimension", 2.0), "dimension 2.0"),
    "documents as object": (put("documents", {}), "in place of the list of documents"),
    "a document as text": (put("documents", ["a", "b", "c"]), "document 0 is not an object"),
    "a document too few fields": (
        put("documents", [{"id": "a"}] * 3),
        "document 0 is not an object",
    ),
    "a document with more": (first(more=1), "document 0 is not an object"),
    "an id twice": (first(id="c"), "the id 'c' twice"),
    "an empty id": (first(id=""), "document 0.*empty"),
    "an id as number": (first(id=5), "document 0.*int"),
    "no id": (first(id=None), "document 0.*NoneType"),
    "no text": (first(text=None), "document 0.*'a' has no text"),
    "metadata as list": (first(metadata=[]), "document 0.*'a'.*mapping"),
    "a mixed list": (first(metadata={"x": [1, "a"]}), "document 0.*'a'.*key x.*one type"),
    "a list of lists": (first(metadata={"x": [[1]]}), "key x"),
    "a lone surrogate": (first(text="\ud800"), "surrogate"),
    "a NUL": (first(text="\0"), "NUL"),
    "vectors as list": (put("vectors", [1, 2]), "a list in place of the vectors"),
    "no base64": (put("vectors", "!" * 32), "not base64"),
    "base64 with a hole": (put("vectors", "AAAA\nAAAA"), "not base64"),
    "half a vector": (vectors([1, 2, 3, 4, 5]), "24 bytes, but 20"),
    "too many vectors": (vectors([1] * 8), "24 bytes, but 32"),
    "no vector bytes": (vectors([]), "24 bytes, but 0"),
    "NaN": (vectors([1, 2, 3, float("nan"), 5, 6]), "vector of document 'b.*NaN"),
    "infinity": (vectors([1, 2, 3, 4, float("inf"), 6]), "vector of document 'c'.*infinity"),
    "zeros": (vectors([1, 2, 0, 0, 5, 6]), "document 'b.*zeros.*dot or euclidean"),
    "a list": (lambda content: [content], "holds a list, not an object"),
    "a text": (lambda content: "text", "holds a text, not an object"),
    "a number": (lambda content: 5, "holds 5, not an object"),
    "null": (lambda content: None, "holds nothing, not an object"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_file_is_told_and_changes_nothing(
    fault: str, store: SimpleVectorStore, content: dict[str, Any], tmp_path: Path
) -> None:
    change, words = FAULTS[fault]
    path = tmp_path / "faulty.json"
    path.write_text(json.dumps(change(content)), "utf-8")
    before = everything(store)
    with pytest.raises(StoreFileError) as caught:
        store.load(path)
    assert re.search(words, str(caught.value)), str(caught.value)
    assert "faulty.json" in str(caught.value)
    assert everything(store) == before
    assert store.search(vector=[3, 4], top_k=1)[0].id == "a"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b" \n\t ", "is empty"),
        (b"hello", r"not JSON.*line 1, column 1"),
        (b'{"format":"vecstore-simple",}', "not JSON"),
        (b"{" * 100_000, "cut off|nested"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
        (b'{"format": "vecstore-simple", "version": NaN}', "holds NaN"),
        (b'{"format": "vecstore-simple", "version": Infinity}', "holds Infinity"),
        (b'{"a": "\xff"}', "not UTF-8.*byte 7"),
        ('{"format": "vecstore-simple"}'.encode("utf-16"), "not UTF-8"),
        (b'{"n": ' + b"1" * 5_000 + b"}", "cannot be read"),
        (b"\x80\x04\x95", "not UTF-8"),
    ],
)
def test_what_is_not_even_json(
    data: bytes, words: str, store: SimpleVectorStore, tmp_path: Path
) -> None:
    path = tmp_path / "faulty.json"
    path.write_bytes(data)
    before = everything(store)
    with pytest.raises(StoreFileError, match=words):
        store.load(path)
    with pytest.raises(StoreFileError, match=words):
        SimpleVectorStore.from_json(data)
    assert everything(store) == before


def test_a_file_cut_off_anywhere_is_refused(store: SimpleVectorStore, tmp_path: Path) -> None:
    whole = store.to_json().encode()
    path = tmp_path / "cut.json"
    for length in range(len(whole) - 1):  # the very last byte is a line break
        path.write_bytes(whole[:length])
        with pytest.raises(StoreFileError, match=r"cut off|is empty|not UTF-8"):
            SimpleVectorStore().load(path)


def test_bytes_changed_anywhere_never_break_anything_else(store: SimpleVectorStore) -> None:
    whole = store.to_json().encode()
    chance = np.random.default_rng(0)
    target = SimpleVectorStore()
    for _ in range(3_000):
        spoilt = bytearray(whole)
        for _ in range(chance.integers(1, 4)):
            spoilt[chance.integers(len(spoilt))] = chance.integers(256)
        try:
            target.load(io.BytesIO(bytes(spoilt)))
        except StoreFileError:
            continue
        assert target.count() == 3
        target.search(vector=[1, 2])


def test_a_float_that_is_nan_in_metadata(store: SimpleVectorStore) -> None:
    text = store.to_json().replace('"n":1', '"n":NaN')
    with pytest.raises(StoreFileError, match="NaN"):
        store.load(io.StringIO(text))


def test_the_dimension_a_store_was_made_for(store: SimpleVectorStore) -> None:
    text = store.to_json()
    assert SimpleVectorStore.from_json(text, dimension=2).count() == 3
    narrow = SimpleVectorStore(dimension=3)
    narrow.add([Document("", id="x", embedding=[1, 2, 3])])
    with pytest.raises(StoreFileError, match=r"2 dimensions.*for 3"):
        narrow.load(io.StringIO(text))
    assert [d.id for d in narrow.scan()] == ["x"]


def test_files_that_cannot_be_opened(store: SimpleVectorStore, tmp_path: Path) -> None:
    with pytest.raises(StoreFileError, match="there is no") as caught:
        store.load(tmp_path / "nowhere.json")
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    with pytest.raises(StoreFileError, match="it is a folder"):
        store.load(tmp_path)
    with pytest.raises(StoreFileError, match="is a folder"):
        store.save(tmp_path)
    with pytest.raises(StoreFileError, match="there is no"):
        store.save(tmp_path / "nowhere" / "kb.json")
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreFileError, match="cannot be written"):
        store.save(tmp_path / "file" / "kb.json")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]


def test_a_device_is_not_replaced(store: SimpleVectorStore) -> None:
    with pytest.raises(StoreFileError, match="no regular file"):
        store.save("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


WITHOUT_RIGHTS = """
import os, sys
from vecstore import Document, SimpleVectorStore, StoreFileError
store = SimpleVectorStore()
store.add([Document("", id="x", embedding=[1, 2])])
store.save(sys.argv[1] + "/fine.json")
store.load(sys.argv[1] + "/fine.json")
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
for call in (
    lambda: store.load(sys.argv[1] + "/unreadable.json"),
    lambda: store.save(sys.argv[1] + "/locked/kb.json"),
    lambda: store.save(sys.argv[1] + "/locked/old.json"),
    lambda: store.save(sys.argv[1] + "/protected.json"),
):
    try:
        call()
    except StoreFileError as error:
        print(error)
print(store.count())
"""


def test_files_without_permission() -> None:
    # Root may do everything, so the test asks as somebody else, in a folder that all may enter.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "unreadable.json").write_text("{}")
        (folder / "unreadable.json").chmod(0)
        (folder / "protected.json").write_text("old")
        (folder / "protected.json").chmod(0o444)
        (folder / "locked").mkdir()
        (folder / "locked" / "old.json").write_text("old")
        (folder / "locked" / "old.json").chmod(0o666)
        (folder / "locked").chmod(0o555)
        try:
            run = subprocess.run(
                [sys.executable, "-c", WITHOUT_RIGHTS, name],
                capture_output=True,
                text=True,
                check=True,
            )
        finally:
            (folder / "locked").chmod(0o755)
        assert (folder / "locked" / "old.json").read_text() == "old"
        assert (folder / "protected.json").read_text() == "old"
    lines = run.stdout.splitlines()
    assert len(lines) == 5, run.stdout + run.stderr
    assert "unreadable.json' cannot be read: permission denied" in lines[0]
    assert "kb.json' cannot be written: permission denied" in lines[1]
    assert "old.json' cannot be written: permission denied" in lines[2]
    assert "protected.json' is write-protected" in lines[3]
    assert lines[4] == "1"


# --- how a file is replaced -------------------------------------------------------------------


def test_permissions_and_links_are_kept(store: SimpleVectorStore, tmp_path: Path) -> None:
    path = tmp_path / "kb.json"
    store.save(path)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    (tmp_path / "link.json").symlink_to("kb.json")
    store.add([Document("", id="more", embedding=[1, 1])])
    store.save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert SimpleVectorStore().load(path).count() == 4
    (tmp_path / "dangling.json").symlink_to("new.json")
    store.save(tmp_path / "dangling.json")
    assert (tmp_path / "new.json").is_file()
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "dangling.json",
        "kb.json",
        "link.json",
        "new.json",
    ]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_save_that_breaks_off_leaves_the_old_file(
    store: SimpleVectorStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = tmp_path / "kb.json"
    store.save(path)
    before = path.read_bytes()

    def breaking(snapshot: Any) -> Any:
        pieces = persistence.encoded(snapshot)
        yield next(pieces)
        yield next(pieces)
        raise error

    monkeypatch.setattr(store_module, "encoded", breaking)
    store.add([Document("", id="more", embedding=[1, 1])])
    with pytest.raises(StoreFileError if isinstance(error, OSError) else KeyboardInterrupt):
        store.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["kb.json"]


def test_everything_reaches_the_disk_before_the_name_changes(
    store: SimpleVectorStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)

        def note(*arguments: Any, name: str = name, real: Any = real) -> Any:
            if name == "fsync":
                steps.append("folder" if stat.S_ISDIR(os.fstat(arguments[0]).st_mode) else "file")
            else:
                assert os.path.getsize(arguments[0]) == len(store.to_json().encode())
                steps.append("replace")
            return real(*arguments)

        monkeypatch.setattr(os, name, note)
    store.save(tmp_path / "kb.json")
    assert steps == ["file", "replace", "folder"]


def test_a_closed_store_neither_saves_nor_loads(store: SimpleVectorStore, tmp_path: Path) -> None:
    store.close()
    for call in (
        lambda: store.save(tmp_path / "x"),
        lambda: store.load(tmp_path / "x"),
        store.to_json,
    ):
        with pytest.raises(StoreClosedError):
            call()


# --- files of Spring AI -----------------------------------------------------------------------

SPRING = {
    "471a8c78-549a-4b2c-bce5-ef3ae6579be3": {
        "text": "Spring AI rocks!!",
        "embedding": [0.1, -0.25, 1],
        "id": "471a8c78-549a-4b2c-bce5-ef3ae6579be3",
        "metadata": {"meta1": "meta1", "pages": [1, 2], "nested": {"a": None}},
    },
    "format": {"text": None, "embedding": [1.5, 0, 0.5], "id": "format", "metadata": {}},
    "old": {"content": "an older name", "embedding": [3, 2, 1], "id": "old", "metadata": None},
}


def test_files_of_spring_ai_are_read() -> None:
    store = SimpleVectorStore().load(io.StringIO(json.dumps(SPRING, indent=2)))
    assert [(d.id, d.text, d.metadata) for d in store.scan()] == [
        (
            "471a8c78-549a-4b2c-bce5-ef3ae6579be3",
            "Spring AI rocks!!",
            {"meta1": "meta1", "pages": [1, 2], "nested": {"a": None}},
        ),
        ("format", "", {}),
        ("old", "an older name", {}),
    ]
    found = store.search(vector=[3, 2, 1], top_k=1, include_embedding=True)
    assert found[0].id == "old"
    assert found[0].embedding is not None
    assert found[0].embedding.tolist() == [3, 2, 1]
    assert SimpleVectorStore(metric="dot").load(io.StringIO(json.dumps(SPRING))).metric == "dot"
    assert SimpleVectorStore.from_json(store.to_json()).count() == 3
    assert SimpleVectorStore.from_json("{}").count() == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"embedding": [1, 2]}, "'old' has 2 dimensions.*has 3"),
        ({"embedding": []}, "'old' is empty"),
        ({"embedding": None}, "'old'"),
        ({"embedding": ["a", "b", "c"]}, "'old' holds"),
        ({"embedding": [0, 0, 0]}, "'old'.*zeros"),
        ({"id": "other"}, "under 'old' has the id 'other'"),
        ({"metadata": {"x": [1, "a"]}}, "key x"),
        ({"text": 5}, "'old'"),
    ],
)
def test_faulty_files_of_spring_ai(change: dict[str, Any], words: str) -> None:
    content = json.loads(json.dumps(SPRING))
    content["old"].update(change)
    with pytest.raises(StoreFileError, match=words):
        SimpleVectorStore.from_json(json.dumps(content))


def test_other_json_is_no_file_of_spring_ai() -> None:
    for text in ('{"a": 1}', '{"a": {"text": "x"}}', '{"a": []}', '{"format": 5}'):
        with pytest.raises(StoreFileError, match='no field "format"'):
            SimpleVectorStore.from_json(text)
