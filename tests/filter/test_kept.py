"""What a tree keeps of what was made of it: it is never another tree's, nor a caller's to change."""

from __future__ import annotations

import pickle
import threading
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate
from operator import and_, or_
from typing import Any, ClassVar

import pytest

from vecstore import (
    Compiled,
    Dialect,
    Expression,
    F,
    FilterLimitError,
    Limits,
    Op,
    Schema,
    UnsupportedFilterError,
    compile_filter,
    parse,
)
from vecstore.dialects import base
from vecstore.dialects.milvus import Milvus
from vecstore.dialects.pgvector import Pgvector
from vecstore.dialects.pinecone import Pinecone
from vecstore.dialects.qdrant import Qdrant
from vecstore.dialects.weaviate import Weaviate
from vecstore.filter.convert import Capabilities
from vecstore.filter.cost import check_cost
from vecstore.filter.evaluate import stored_matcher
from vecstore.filter.normalize import simplified, simplify

TEXT = "a IN [1, 'x'] AND (b != 'y' OR NOT c IN ['p', 'q']) AND d IS NULL"
DIALECTS: list[Dialect[Any]] = [
    Pgvector(),
    *[Pgvector(paramstyle=style) for style in ("format", "named", "numeric_dollar")],
    Qdrant(),
    Milvus(tags="vecstore_tags"),
    Pinecone(),
    Weaviate(layout="exact"),
]


class Times:
    """How often a method of a class is called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
        self.count = 0
        method = getattr(owner, name)

        def counted(*args: Any) -> Any:
            self.count += 1
            return method(*args)

        monkeypatch.setattr(owner, name, counted)


class TestChains:
    @pytest.mark.parametrize("join", [and_, or_])
    def test_a_chain_takes_memory_that_grows_with_its_length(
        self, join: Callable[[Any, Any], Expression]
    ) -> None:
        def taken(length: int) -> int:
            atoms = [F[f"k{number}"] == number for number in range(length)]
            tracemalloc.start()
            links = list(accumulate(atoms, join))
            size = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
            assert len(links[-1].operands) == length
            return size

        # Copied at every step, the operands would take four times as much for twice the length.
        assert taken(2_000) < 3 * taken(1_000)

    def test_whoever_asks_first_splices_the_chain_once(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        chain = reduce(and_, [F[f"k{number}"] == number for number in range(100)])
        times = Times(monkeypatch, Expression, "_spliced")
        assert len(chain.operands) == len(chain.operands) == 100
        assert times.count == 1

    def test_the_operands_stand_in_the_order_of_the_text(self) -> None:
        a, b, c, d, e = (F[name] == 1 for name in "abcde")
        wanted = Expression(Op.AND, a, b, c, d)
        for chain in (((a & b) & c) & d, a & (b & (c & d)), (a & b) & (c & d)):
            assert chain == wanted
            assert hash(chain) == hash(wanted)
            assert repr(chain) == repr(wanted)
            assert pickle.loads(pickle.dumps(chain)) == wanted
        assert ((a & b) | (c & d) | e).to_text() == (
            "a == 1 AND b == 1 OR c == 1 AND d == 1 OR e == 1"
        )
        inner = b & c
        assert (a & inner).operands == (a, b, c)
        assert inner.operands == (b, c)

    def test_threads_find_the_same_operands(self) -> None:
        for _ in range(20):
            atoms = [F[f"k{number}"] == number for number in range(300)]
            links = list(accumulate(atoms, and_))[1:]
            found: list[list[int]] = []
            start = threading.Barrier(4)

            def look(links: Any = links, start: Any = start, found: Any = found) -> None:
                start.wait()
                found.append([len(link.operands) for link in reversed(links)])

            threads = [threading.Thread(target=look) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert found == [list(range(300, 1, -1))] * 4

    def test_a_long_chain_that_nobody_looked_at_is_freed(self) -> None:
        reduce(and_, [F[f"k{number}"] == number for number in range(100_000)])


def spoiled(value: Any) -> None:
    """Change every dict and list inside."""
    if isinstance(value, dict):
        for item in value.values():
            spoiled(item)
        value["spoiled"] = True
    elif isinstance(value, list):
        for item in value:
            spoiled(item)
        value.append("spoiled")
    elif isinstance(value, tuple):
        for item in value:
            spoiled(item)


@pytest.mark.parametrize("dialect", DIALECTS, ids=repr)
class TestCompiled:
    def test_is_made_twice_and_then_kept(
        self, dialect: Dialect[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tree = Expression.from_dict(parse(TEXT).to_dict())
        times = Times(monkeypatch, type(dialect), "convert")
        results = [dialect.compile(tree) for _ in range(5)]
        assert times.count == 2
        assert all(result == results[0] for result in results)

    def test_no_caller_changes_what_another_gets(self, dialect: Dialect[Any]) -> None:
        tree = Expression.from_dict(parse(TEXT).to_dict())
        wanted = dialect.convert(tree)
        for _ in range(5):
            compiled = dialect.compile(tree)
            assert compiled == wanted
            spoiled(compiled.native)
            spoiled(compiled.params)

    def test_what_is_only_read_is_made_once(
        self, dialect: Dialect[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tree = Expression.from_dict(parse(TEXT).to_dict())
        wanted = dialect.convert(tree)
        times = Times(monkeypatch, type(dialect), "convert")
        read = dialect.compile_to_read(tree)
        for _ in range(3):
            spoiled(dialect.compile(tree).native)
            spoiled(dialect.compile(tree).params)
            assert dialect.compile_to_read(tree) is read
        assert times.count == 1
        assert read == wanted

    def test_what_came_first_for_a_caller_is_not_what_is_read(self, dialect: Dialect[Any]) -> None:
        tree = Expression.from_dict(parse(TEXT).to_dict())
        wanted = dialect.convert(tree)
        compiled = dialect.compile(tree)
        read = dialect.compile_to_read(tree)
        spoiled(compiled.native)
        spoiled(compiled.params)
        assert read == wanted

    def test_another_object_of_the_dialect_makes_its_own(
        self, dialect: Dialect[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tree = Expression.from_dict(parse(TEXT).to_dict())
        for _ in range(3):
            dialect.compile(tree)
        times = Times(monkeypatch, type(dialect), "convert")
        type(dialect)(
            **{name: getattr(dialect, name) for name in base.option_names(type(dialect))}
        ).compile(tree)
        assert times.count == 1


def test_by_name_the_dialect_is_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    times = Times(monkeypatch, Qdrant, "convert")
    tree = F.a == 1
    for _ in range(5):
        compile_filter(tree, "qdrant")
    assert times.count == 2


def test_told_of_a_schema_the_dialect_is_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema({"a": int})
    for dialect in ("qdrant", Qdrant()):
        times = Times(monkeypatch, Qdrant, "convert")
        tree = F.a == 1
        for _ in range(5):
            compile_filter(tree, dialect, schema=schema)
        assert times.count == 2
        monkeypatch.undo()


def test_equal_trees_keep_their_own_literals() -> None:
    for first, second in ((1, 1.0), (1.0, 1), (0, -0.0)):
        trees = [F.a == first, F.a == second]
        assert trees[0] == trees[1]
        for _ in range(4):
            found = [Pinecone().compile(tree).query["a"]["$eq"] for tree in trees]
            assert list(map(repr, found)) == [repr(first), repr(second)]


def test_errors_are_not_kept_and_show_their_own_place() -> None:
    dialect = Pinecone()
    texts = ["a > 'x'", "   a   >   'x'", "a > 'x'"]
    trees = [parse(text) for text in texts]
    assert trees[0] == trees[1]
    for _ in range(3):
        for text, tree in zip(texts, trees, strict=True):
            with pytest.raises(UnsupportedFilterError) as caught:
                dialect.compile(tree)
            assert caught.value.span is not None
            assert caught.value.span.source == text
            assert caught.value.span.start == text.index("a")
    with pytest.raises(UnsupportedFilterError) as built:
        dialect.compile(F.a > "x")
    assert built.value.span is None


def test_the_budget_is_for_filters_from_outside_whoever_asks_first() -> None:
    text = "a == 1 AND b == 1 AND c == 1"
    built = (F.a == 1) & (F.b == 1) & (F.c == 1)
    assert built == parse(text)
    for _ in range(2):
        check_cost(built, 2, "an engine")
        with pytest.raises(FilterLimitError):
            check_cost(parse(text), 2, "an engine")


def test_limits_hold_for_a_tree_that_was_compiled_without() -> None:
    tree = F.a.in_(range(100))
    for _ in range(3):
        Qdrant().compile(tree, limits=None)
        with pytest.raises(FilterLimitError):
            Qdrant().compile(tree, limits=Limits(in_values=10))
        Qdrant().compile(tree)


def test_a_tree_is_simplified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = parse("NOT (once == 1 OR twice == 2)")
    assert simplified(tree) is simplified(tree)
    assert simplified(tree) == simplify(tree)
    plain = (F.a == 1) & (F.b == 2)
    assert simplified(plain) is simplified(plain) is plain


def test_the_test_of_stored_metadata_is_made_once() -> None:
    tree = parse(TEXT)
    assert stored_matcher(tree) is stored_matcher(tree)
    assert stored_matcher(tree) is not stored_matcher(parse(TEXT + " "))


def test_large_results_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    times = Times(monkeypatch, Pgvector, "convert")
    dialect = Pgvector()
    for tree in (F.a == "x" * base.KEPT_SIZE, F.a.in_(range(5_000))):
        for _ in range(3):
            dialect.compile(tree)
    assert times.count == 6


def test_a_tree_keeps_results_of_a_few_dialects() -> None:
    tree = F.a == 1
    dialects = [Pgvector(column=f"m{number}") for number in range(10)]
    for _ in range(3):
        for dialect in dialects:
            assert f'"{dialect.column}"' in dialect.compile(tree).query
    assert len(tree.kept.compiled) == base.KEPT_DIALECTS


class Mutable:
    """An object of another library."""


class Words(Dialect[Any]):
    """Answers with the key and an option."""

    capabilities: ClassVar[Any] = Capabilities()
    suffix: str

    def all_of(self, parts: list[Any]) -> Any:
        return parts

    def any_of(self, parts: list[Any]) -> Any:
        return parts

    def member(self, atom: Expression) -> Any:
        return f"{atom.key}{self.suffix}"

    null = member

    def nothing(self) -> Compiled:
        return Compiled(self.name, "-", matches_nothing=True)


@dataclass
class Loose(Words):
    """Its options may change."""

    name: ClassVar[str] = "loose"
    suffix: str = ""
    schema: Schema | None = None


def test_nothing_is_kept_for_a_dialect_that_may_change() -> None:
    dialect, tree, schema = Loose(), F.a == 1, Schema({"a": int})
    for suffix in ("", "1", "2", "3"):
        dialect.suffix = suffix
        assert dialect.compile(tree).query == f"a{suffix}"
        assert compile_filter(tree, dialect, schema=schema).query == f"a{suffix}"


@dataclass(frozen=True)
class Alike(Words):
    """Any two of these are equal, whatever they are made with."""

    name: ClassVar[str] = "alike"
    suffix: str = field(default="", compare=False)
    schema: Schema | None = None


def test_no_equal_dialect_answers_for_one_that_is_told_of_a_schema() -> None:
    dialects, tree, schema = [Alike("1"), Alike("2")], F.a == 1, Schema({"a": int})
    assert dialects[0] == dialects[1]
    for _ in range(4):
        for dialect in dialects:
            compiled = compile_filter(tree, dialect, schema=schema)
            assert compiled.query == f"a{dialect.suffix}"


@dataclass(frozen=True)
class Holder:
    """Frozen, around something that is not."""

    held: Any


@pytest.mark.parametrize("made", [Mutable(), (Mutable(),), {"a": [Mutable()]}, Holder([1])])
def test_results_that_cannot_be_copied_are_made_anew(
    made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialect = Qdrant()
    monkeypatch.setattr(Qdrant, "member", lambda self, atom: {"must": [made]})
    times = Times(monkeypatch, Qdrant, "convert")
    tree = F.a == 1
    for _ in range(4):
        dialect.compile(tree)
    assert times.count == 4
