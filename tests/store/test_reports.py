"""Faults that users of other libraries reported, each as a test under the number of its case."""

from __future__ import annotations

import ast
import datetime
import decimal
import enum
import io
import json
import subprocess
import sys
import threading
import time
import uuid
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vecstore
from tests.store.embedders import answering, letters, never
from tests.store.minimal import MinimalStore
from vecstore import (
    DimensionMismatchError,
    Document,
    DocumentError,
    EmbeddingError,
    F,
    FilterBuilder,
    FilterSyntaxError,
    SearchRequest,
    SimpleVectorStore,
    StoreCapabilities,
    StoreFileError,
    TokenBatching,
    parse,
)

b = FilterBuilder()
FIXTURES = Path(__file__).parent.parent / "simple" / "fixtures"


def store(*metadata: dict[str, Any]) -> SimpleVectorStore:
    """A store whose documents are called 0, 1, 2, …"""
    made = SimpleVectorStore(letters)
    made.add([Document("ab", m, id=f"{n}") for n, m in enumerate(metadata)])
    return made


def ids(documents: Any) -> list[str]:
    return [document.id for document in documents]


# --- injection --------------------------------------------------------------------------------


def test_inj_04_a_key_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = store({"a": 1})
    for key in ("__import__('os').system('touch pwned')", "#{T(Runtime).exec('touch pwned')}"):
        assert made.search("q", filter=b.eq(key, 1)) == []
    assert list(tmp_path.iterdir()) == []


def test_inj_07_functions_and_python_text_are_no_filters() -> None:
    made = store({"a": 1})
    with pytest.raises(TypeError):
        made.search("q", filter=lambda document: True)  # type: ignore[arg-type]
    with pytest.raises(FilterSyntaxError):
        made.search("q", filter="().__class__.__mro__")
    for path in Path(vecstore.__file__).parent.rglob("*.py"):
        names = {
            n.id for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Name)
        }
        assert not names & {"eval", "exec"}, path


def test_inj_16_a_quote_in_a_value_does_not_widen_a_delete() -> None:
    made = store({"source": "a.pdf"}, {"source": "b.pdf"}, {"source": "evil.pdf"})
    for value in ("evil.pdf' or '1'=='1", 'evil.pdf" or "1"=="1', "evil.pdf' || true || 'x"):
        assert made.delete(filter=b.eq("source", value)) == 0
    assert made.count() == 3


def test_inj_20_ids_are_only_ids() -> None:
    made = store({}, {})
    assert made.get(["a' OR '1'='1", '0" OR "1"="1']) == []
    assert made.delete(["0' OR '1'='1"]) == 0
    assert made.count() == 2


# --- filters through the store ----------------------------------------------------------------


def test_par_13_an_expression_is_used_as_it_is() -> None:
    made = store({"n": 1}, {"n": 2})
    expression = b.eq("n", 2)
    assert (
        ids(made.search("q", filter=expression)) == ids(made.search("q", filter="n == 2")) == ["1"]
    )
    assert ids(made.search("q", filter=parse(str(expression)))) == ["1"]
    assert len(made.search("q", filter=None)) == 2


def test_drp_01_a_misspelt_keyword_is_an_error() -> None:
    made = store({"n": 1})
    for name in ("filters", "filter_", "filter_expression", "where"):
        for method in (made.search, made.get, made.delete, made.count, made.scan):
            with pytest.raises(TypeError, match=name):
                method(**{name: F.n == 1})  # type: ignore[operator]


def test_drp_04_a_filter_as_text_is_the_same_filter() -> None:
    assert SearchRequest("q", filter="a == 1") == SearchRequest("q", filter=parse("a == 1"))


def test_drp_06_search_and_delete_select_the_same_documents() -> None:
    filters = [
        "n == 1",
        "n != 1",
        "NOT (n > 0)",
        "n IS NULL",
        "n IS NOT NULL",
        "n NOT IN [1]",
        "a.b == 1",
    ]
    for filter in filters:
        made = SimpleVectorStore(letters)
        made.add(
            [
                Document("a", m, id=f"{n}")
                for n, m in enumerate([{}, None, {"n": 1}, {"n": None}, {"n": []}])
            ]
        )
        found = set(ids(made.search("q", filter=filter, top_k=9)))
        before = set(ids(made.scan()))
        assert made.delete(filter=filter) == len(found)
        assert set(ids(made.scan())) == before - found


def test_emp_01_an_empty_filter_text_is_an_error_and_none_is_no_filter() -> None:
    made = store({})
    with pytest.raises(FilterSyntaxError):
        made.search("q", filter="")
    assert len(made.search("q", filter=None)) == len(made.search("q")) == 1


def test_typ_08_falsy_values_are_values() -> None:
    values: list[Any] = [0, 0.0, False, "", [], None, 1]
    made = store(*[{"n": value} for value in values])
    assert ids(made.get(filter=b.eq("n", 0))) == ["0", "1"]
    assert ids(made.get(filter=b.eq("n", False))) == ["2"]
    assert ids(made.get(filter=b.eq("n", ""))) == ["3"]
    assert made.get(filter=b.in_("n", [])) == []


def test_rec_02_a_further_condition_never_returns_more() -> None:
    made = store(*[{"n": n, "m": n % 3} for n in range(60)])
    for further in (F.m == 1, F.m != 1, F.n > 50, F.x.is_null()):
        wide = set(ids(made.search("q", top_k=60, filter=F.n > 20)))
        narrow = set(ids(made.search("q", top_k=60, filter=(F.n > 20) & further)))
        assert narrow <= wide


def test_fea_04_a_list_matches_by_element_not_by_part() -> None:
    made = store({"roles": ["hr", "it"]}, {"roles": ["audit"]}, {"roles": []})
    assert ids(made.search("q", filter=F.roles == "it")) == ["0"]
    assert made.get(["0"])[0].metadata == {"roles": ["hr", "it"]}


def test_key_04_no_key_is_taken() -> None:
    names = [
        "id",
        "content",
        "text",
        "embedding",
        "vector",
        "score",
        "distance",
        "document_id",
        "metadata",
        "_id",
        "$id",
    ]
    metadata = {name: n for n, name in enumerate(names)}
    made = store(metadata)
    (found,) = made.search("q", filter=F["score"] == names.index("score"))
    assert (found.id, found.text, found.metadata) == ("0", "ab", metadata)
    with pytest.raises(DocumentError, match="reserved"):
        Document("x", {"__vecstore_id": 1})


# --- delete -----------------------------------------------------------------------------------


def test_del_01_and_del_02_nothing_given_deletes_nothing() -> None:
    made = store({}, {}, {})
    assert made.delete([]) == 0
    for arguments in ({}, {"ids": None}, {"ids": None, "filter": None}):
        with pytest.raises(ValueError, match=r"clear\(\)"):
            made.delete(**arguments)
    assert made.count() == 3


def test_del_04_and_del_08_an_engine_without_filtered_delete() -> None:
    made = MinimalStore(letters, capabilities=StoreCapabilities(max_batch=100))
    made.add(Document("ab", {"n": n}, id=f"{n}") for n in range(2_600))
    assert made.delete(filter=F.n >= 100) == 2_500
    assert sorted(map(int, ids(made.scan()))) == list(range(100))


def test_del_05_ids_are_sent_in_parts() -> None:
    made = MinimalStore(letters, capabilities=StoreCapabilities(max_batch=1_000))
    made.add(Document("ab", id=f"{n}") for n in range(3_001))
    made.calls.clear()
    assert made.delete([f"{n}" for n in range(3_001)]) == 3_001
    assert made.calls == [("delete", 1_000)] * 3 + [("delete", 1)]


def test_del_07_files_of_every_version_are_read() -> None:
    made = SimpleVectorStore().load(FIXTURES / "version-1.json")
    assert made.get() == [
        Document(
            "The Danube at Ruse",
            {"country": "BG", "year": 2021, "tags": ["river", "town"], "author": {"name": "Вазов"}},
            id="danube",
        ),
        Document(
            "",
            {"none": None, "empty": [], "big": 2**70, "pi": 3.141592653589793, "ok": True},
            id="猫 'quoted\" id",
        ),
        Document("No metadata", id="plain"),
    ]
    assert made.to_json().encode() == (FIXTURES / "version-1.json").read_bytes()
    sparse = SimpleVectorStore().load(FIXTURES / "without-metadata.json")
    assert sparse.search(vector=[1, 0], filter=F.n.is_null()) == [
        Document("written by other hands", id="a", score=1.0)
    ]
    assert sparse.delete(["a"]) == 1
    assert sparse.count() == 1


def test_fea_10_clear_is_the_way_to_delete_everything() -> None:
    made = store({}, {})
    made.clear()
    assert made.count() == 0
    made.add([Document("again", id="0")])
    assert ids(made.scan()) == ["0"]


# --- add --------------------------------------------------------------------------------------


def test_add_02_and_add_03_any_text_is_an_id() -> None:
    made = SimpleVectorStore(letters)
    names = ["agent:knowledge:7", "1-0", "7", "a b", "猫", "'", str(uuid.UUID(int=1))]
    assert made.add([Document("ab", id=name) for name in names]) == names
    assert ids(made.get(names)) == names
    assert set(ids(made.search("ab", top_k=9))) == set(names)
    assert made.delete(["agent:knowledge:7"]) == 1


def test_add_05_ids_stay_with_their_documents_across_batches() -> None:
    made = MinimalStore(letters, capabilities=StoreCapabilities(max_batch=5))
    made.add([Document(f"text {n}", id=f"{n}") for n in range(12)])
    assert [d.text for d in made.get([f"{n}" for n in range(12)])] == [
        f"text {n}" for n in range(12)
    ]


@pytest.mark.parametrize(
    "change", [lambda v: v[:-1], lambda v: [*v, v[0]], lambda v: [v[0], v[1][:3], *v[2:]]]
)
def test_add_06_the_wrong_number_of_vectors_stores_nothing(change: Any) -> None:
    made = SimpleVectorStore(answering(change))
    with pytest.raises(EmbeddingError):
        made.add([Document("a"), Document("b"), Document("c")])
    assert made.count() == 0


def test_add_08_work_is_split_and_what_was_written_is_told() -> None:
    made = MinimalStore(letters, capabilities=StoreCapabilities(max_batch=166))
    given = [Document("ab", id=f"{n}", embedding=[1, 2]) for n in range(500)]
    made.fail_at_add = 2
    with pytest.raises(vecstore.BackendError) as caught:
        made.add(given)
    assert [size for _, size in made.calls] == [166, 166, 166]
    assert list(caught.value.stored_ids) == [f"{n}" for n in range(332)]
    assert list(caught.value.failed_ids) == [f"{n}" for n in range(332, 500)]


def test_add_09_no_document_is_lost_between_batches() -> None:
    seen: list[list[str]] = []
    made = SimpleVectorStore(
        lambda texts: (seen.append(list(texts)), letters(texts))[1],
        batching=TokenBatching(10, 0, count_tokens=len),
    )
    texts = ["a" * 4, "b" * 6, "c" * 10, "d", "e" * 9, "f", "g"]
    made.add([Document(text, id=text[0]) for text in texts])
    assert [text for batch in seen for text in batch] == texts
    assert all(sum(map(len, batch)) <= 10 for batch in seen)
    with pytest.raises(DocumentError, match="'big'"):
        made.add([Document("x" * 11, id="big")])


def test_add_11_a_document_without_words() -> None:
    with pytest.raises(DocumentError, match="text=''"):
        Document(None)  # type: ignore[arg-type]
    made = SimpleVectorStore()
    made.add([Document("", {"media": "cat.png"}, id="x", embedding=[1, 2])])
    assert made.search(vector=[1, 2])[0].text == ""


# --- vectors and scores -----------------------------------------------------------------------


def test_vec_01_zero_and_odd_vectors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = SimpleVectorStore()
        with pytest.raises(DocumentError, match="zeros"):
            made.add([Document("", embedding=[0, 0, 0])])
        with pytest.raises(ValueError, match="zeros"):
            made.search(vector=[0, 0, 0])
        for n, vector in enumerate(
            [[1e-40, 0, 0], np.array([1, 0, 0], np.float16), np.array([0, 1, 0]), [0, 0, 3e38]]
        ):
            made.add([Document("", id=f"{n}", embedding=vector)])
        scores = [d.score for d in made.search(vector=[1, 0, 0])]
        assert scores == [1.0, 1.0, 0.0, 0.0]
        line = SimpleVectorStore()
        line.add([Document("", id="x", embedding=[5])])
        assert line.search(vector=[-1])[0].score == -1.0


def test_vec_03_a_changed_embedding_model_is_noticed() -> None:
    made = store({}, {})
    for call in (
        lambda: made.add([Document("", embedding=[1, 2, 3])]),
        lambda: made.search(vector=[1, 2, 3]),
        lambda: SimpleVectorStore.from_json(
            made.to_json(), embedder=answering(lambda v: [x[:3] for x in v])
        ).search("q"),
    ):
        with pytest.raises(DimensionMismatchError, match="another embedding model") as caught:
            call()
        assert (caught.value.expected, caught.value.actual) == (4, 3)
    with pytest.raises(StoreFileError, match=r"4 dimensions.*for 3"):
        SimpleVectorStore.from_json(made.to_json(), dimension=3)
    assert made.count() == 2


def test_vec_04_nothing_to_find_is_an_empty_list() -> None:
    made = SimpleVectorStore(letters)
    assert made.search("q") == []
    made.add([Document("ab", id="x")])
    assert made.search("q", filter=F.n == 1) == []
    assert made.search("q", top_k=0) == []
    assert len(made.search("q", top_k=1_000_000)) == 1
    made.delete(["x"])
    assert made.search("q") == []


def test_sco_02_higher_is_better_with_every_metric() -> None:
    vectors = {"same": [2, 0], "orthogonal": [0, 3], "opposite": [-2, 0], "longer": [4, 0]}
    expected = {
        "cosine": {"same": 1, "orthogonal": 0, "opposite": -1, "longer": 1},
        "dot": {"same": 4, "orthogonal": 0, "opposite": -4, "longer": 8},
        "euclidean": {"same": 0, "orthogonal": -(13**0.5), "opposite": -4, "longer": -2},
    }
    for metric, scores in expected.items():
        made = SimpleVectorStore(metric=metric)  # type: ignore[arg-type]
        made.add([Document("", id=id, embedding=vector) for id, vector in vectors.items()])
        found = {d.id: d.score for d in made.search(vector=[2, 0])}
        assert found == pytest.approx(scores, abs=1e-6)


def test_sco_03_no_threshold_hides_nothing_and_a_threshold_is_inclusive() -> None:
    made = SimpleVectorStore()
    made.add(
        [Document("", id=f"{n}", embedding=v) for n, v in enumerate([[1, 0], [0, 1], [-1, 0]])]
    )
    assert [d.score for d in made.search(vector=[1, 0])] == [1, 0, -1]
    assert len(made.search(vector=[1, 0], threshold=0)) == 2
    assert len(made.search(vector=[1, 0], threshold=1)) == 1


# --- persistence ------------------------------------------------------------------------------


def test_per_01_a_broken_save_or_a_broken_file_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kb.json"
    made = store({"n": 1})
    made.save(path)
    path.chmod(0o600)
    before = path.read_bytes()
    from vecstore.simple import files

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", full)
        with pytest.raises(StoreFileError, match="No space left"):
            made.save(path)
    assert path.read_bytes() == before
    made.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(before[: len(before) // 2])
    with pytest.raises(StoreFileError):
        made.load(path)
    assert made.count() == 1


def test_per_03_text_is_utf8_and_lone_surrogates_never_get_in(tmp_path: Path) -> None:
    made = SimpleVectorStore(letters)
    made.add([Document("🙂 Ж 猫", {"ключ": "値"}, id="é")])
    made.save(tmp_path / "kb.json")
    assert "🙂 Ж 猫" in (tmp_path / "kb.json").read_bytes().decode("utf-8")
    assert SimpleVectorStore().load(tmp_path / "kb.json").get() == made.get()
    for bad in (
        lambda: Document("\ud800"),
        lambda: Document("x", {"k": "\ud800"}),
        lambda: Document("x", id="\ud800"),
    ):
        with pytest.raises(DocumentError, match="surrogate"):
            bad()


class Colour(enum.Enum):
    RED = "red"


def test_per_04_and_typ_18_types_are_settled_when_a_document_is_made() -> None:
    metadata = {
        "i": np.int64(5),
        "b": np.bool_(True),
        "f": np.float32(1.5),
        "d": datetime.date(2024, 5, 6),
        "t": datetime.datetime(2024, 5, 6, 7, tzinfo=datetime.UTC),
        "u": uuid.UUID(int=7),
        "dec": decimal.Decimal("2"),
        "e": Colour.RED,
        "p": Path("notes/a.md"),
        "s": {"b", "a"},
        "none": None,
        "one": "1",
    }
    made = SimpleVectorStore()
    made.add([Document("", metadata, id="x", embedding=[np.float32(1), np.float32(0.1)])])
    expected = {
        "i": 5,
        "b": True,
        "f": 1.5,
        "d": "2024-05-06",
        "t": "2024-05-06T07:00:00.000000Z",
        "u": str(uuid.UUID(int=7)),
        "dec": 2,
        "e": "red",
        "p": str(Path("notes/a.md")),
        "s": ["a", "b"],
        "none": None,
        "one": "1",
    }
    for read in (made.get()[0], SimpleVectorStore.from_json(made.to_json()).get()[0]):
        assert read.metadata == expected
        assert {k: type(v) for k, v in read.metadata.items()} == {
            k: type(v) for k, v in expected.items()
        }
    for bad in (b"x", float("nan"), float("inf"), object(), [1, "a"], [None]):
        with pytest.raises(DocumentError):
            Document("", {"bad": bad})


def test_per_06_a_store_as_text_and_in_open_files() -> None:
    made = store({"n": 1}, {"n": 2})
    text = made.to_json()
    assert json.loads(text)["format"] == "vecstore-simple"
    again = SimpleVectorStore.from_json(text, letters)
    assert again.search("ab", filter=F.n > 1) == made.search("ab", filter=F.n > 1)
    opened = io.BytesIO()
    made.save(opened)
    opened.seek(0)
    assert SimpleVectorStore(letters).load(opened).search("ab") == made.search("ab")


# --- concurrency and life ---------------------------------------------------------------------


def test_con_01_adding_and_searching_at_once() -> None:
    made = SimpleVectorStore(letters)
    failures: list[BaseException] = []
    end = time.monotonic() + 1

    def write(name: str) -> None:
        while time.monotonic() < end:
            made.add(
                [Document(name * (n % 5 + 1), {"w": name}, id=f"{name}{n}") for n in range(20)]
            )
            made.delete([f"{name}{n}" for n in range(10)])

    def read() -> None:
        while time.monotonic() < end:
            for found in made.search("ab", top_k=30, filter=F.w == "a", include_embedding=True):
                assert found.id[0] == found.metadata["w"] == found.text[0] == "a"
                assert found.embedding is not None
                assert found.embedding[0] == len(found.text)
            SimpleVectorStore.from_json(made.to_json())

    def guarded(work: Any, *arguments: Any) -> None:
        try:
            work(*arguments)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(write, name)) for name in "abcd"]
    threads += [threading.Thread(target=guarded, args=(read,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_poo_01_a_store_is_closed_whatever_happens_inside() -> None:
    closed: list[bool] = []

    class Pooled(MinimalStore):
        def _close(self) -> None:
            closed.append(True)

    with pytest.raises(ZeroDivisionError), Pooled(letters) as made:
        made.search("q", filter=F.n == 1 / 0)
    assert closed == [True]


def test_imp_01_the_base_of_stores_loads_no_numpy() -> None:
    code = (
        "import sys, vecstore\n"
        "vecstore.Document('x', {'n': 1}); vecstore.VectorStore; vecstore.open_store\n"
        "vecstore.SearchRequest('q', filter=vecstore.F.n == 1); vecstore.TokenBatching()\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(run.stdout.split()) & {
        "numpy",
        "lark",
        "opentelemetry",
        "psycopg",
        "pymilvus",
        "qdrant_client",
    }


# --- api --------------------------------------------------------------------------------------


def test_fea_01_reading_by_metadata_alone() -> None:
    made = SimpleVectorStore(never)
    made.add([Document("", {"n": n}, id=f"{n}", embedding=[1, n]) for n in range(5)])
    found = made.get(filter=F.n > 1, limit=2)
    assert len(found) == 2
    assert all(d.metadata["n"] > 1 and d.score is None for d in found)


def test_fea_07_documents_carry_their_ids() -> None:
    made = SimpleVectorStore(letters)
    names = made.add([Document("a"), Document("b"), Document("c")])
    assert ids(made.get(names)) == names
    assert ids(made.get([names[2], "unknown", names[0], names[2]])) == [
        names[2],
        names[0],
        names[2],
    ]
    assert set(ids(made.search("a"))) == set(ids(made.scan())) == set(names)
