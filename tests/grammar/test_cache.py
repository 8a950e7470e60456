from __future__ import annotations

import os
import signal
import sys
import threading
import tracemalloc

import pytest

from tests.clock import cpu_seconds
from vecstore import Expression, F, FilterSyntaxError, Key, Limits, Op, parse
from vecstore.grammar import parser
from vecstore.grammar.parser import MAX_BYTES, MAX_ENTRIES, TreeCache, tree_bytes

TREE = F.a == 1


def test_a_text_is_parsed_once() -> None:
    text = "only_here == 1 AND again == 2"
    assert parse(text) is parse("only_here == 1 " + "AND again == 2")
    assert parse(text).span.source == text


def test_other_texts_and_other_limits_are_other_entries() -> None:
    assert parse("k == 1") is not parse("k ==  1")
    assert parse("k == 1").value.value == 1
    assert parse("k == 1.0").value.value == 1.0
    assert type(parse("k == 1.0").value.value) is float
    assert parse("k == true").value.value is True
    wide = "k IN [1, 2, 3]"
    assert parse(wide, limits=None) is parse(wide, limits=None)
    for _ in range(2):
        with pytest.raises(Exception, match="in_values"):
            parse(wide, limits=Limits(in_values=2))
    assert parse(wide, limits=Limits(in_values=5)) is parse(wide, limits=Limits(in_values=5))


def test_errors_are_not_remembered() -> None:
    with pytest.raises(FilterSyntaxError) as first:
        parse("a == oops")
    with pytest.raises(FilterSyntaxError) as second:
        parse("a == oops")
    assert first.value is not second.value


def test_entries_are_bounded_and_the_oldest_goes_first() -> None:
    trees = TreeCache(max_entries=3)
    for name in "abcd":
        trees.put(name, name, TREE)
    assert len(trees) == 3
    assert trees.get("a") is None
    assert trees.get("b") is TREE
    trees.put("b", "b", F.other == 2)
    assert trees.get("b") is TREE
    trees.clear()
    assert len(trees) == 0
    assert trees.get("b") is None


def test_bytes_are_bounded() -> None:
    size = sys.getsizeof("x" * 9_000) + tree_bytes(TREE)
    trees = TreeCache(max_bytes=5 * size)
    for number in range(20):
        trees.put(number, "x" * 9_000, TREE)
    assert [number for number in range(20) if trees.get(number) is TREE] == [15, 16, 17, 18, 19]
    trees.put("wide", "\N{GRINNING FACE}" * 2_300, TREE)
    assert trees.get("wide") is TREE
    assert sum(trees.get(number) is TREE for number in range(20)) == 3
    trees.put("large", "x" * 15_000, TREE)
    assert trees.get("large") is None


def test_a_tree_counts_with_what_it_holds() -> None:
    chain = Expression(Op.OR, *[F[f"key{number}"] == number for number in range(1_000)])
    listed = F.a.in_(range(1_000))
    trees = TreeCache(max_bytes=4 * tree_bytes(chain))
    trees.put("chain", "", chain)
    assert trees.get("chain") is None
    for number in range(200):
        trees.put(number, "", listed)
    assert sum(trees.get(number) is listed for number in range(200)) < 120
    deep = Expression(Op.ISNULL, Key(*["a"] * 100_000))
    trees.put("deep", "", deep)
    assert trees.get("deep") is None


def test_large_filters_are_not_hoarded() -> None:
    """Different texts of the greatest length leave no more behind than the cache may hold."""
    parser._trees.clear()
    tracemalloc.start()
    try:
        for number in range(12):
            comparisons = [f"key{number}x{index} == 1" for index in range(700)]
            parse(" OR ".join(comparisons)).evaluate({})
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        parser._trees.clear()
    assert held < 1.5 * MAX_BYTES


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_a_lock_of_its_own() -> None:
    with parser._trees._lock:  # as if another thread were inside at the moment of the fork
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                parse("forked == 1")
                os._exit(0 if len(parser._trees) == 1 else 2)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_the_parsers_own_cache_stays_within_its_bounds() -> None:
    parser._trees.clear()
    for number in range(MAX_ENTRIES + 50):
        parse(f"bounded == {number}")
    assert len(parser._trees) == MAX_ENTRIES
    for number in range(300):
        parse(f"k == '{'x' * 60_000}{number}'")
    assert len(parser._trees) <= MAX_BYTES // 60_000
    parse(f"k == '{'x' * MAX_BYTES}'", limits=None)
    assert parser._trees.get((f"k == '{'x' * MAX_BYTES}'", None)) is None
    parser._trees.clear()


def test_many_threads() -> None:
    parser._trees.clear()
    texts = [f"shared.k{number} == {number} AND NOT (x > {number})" for number in range(1_200)]
    wrong: list[str] = []
    start = threading.Barrier(4)

    def work(offset: int) -> None:
        start.wait()
        wrong.extend(
            text
            for text in texts[offset:] + texts[:offset]
            if parse(text).to_text() != text.replace("(", "").replace(")", "")
        )

    threads = [threading.Thread(target=work, args=(300 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(parser._trees) == MAX_ENTRIES
    parser._trees.clear()


def test_a_hit_is_fast() -> None:
    text = " AND ".join(f"k{number} == 'some text'" for number in range(60))
    parse(text)
    others = [f"{text} AND n == {number}" for number in range(20)]
    reading = cpu_seconds(lambda: [parse(other) for other in others])
    hits = min(cpu_seconds(lambda: [parse(text) for _ in range(200)]) for _ in range(20))
    assert hits / 200 < reading / 20 / 50
