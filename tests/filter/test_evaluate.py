from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.filter import naive
from tests.filter.strategies import documents, trees
from vecstore import Document, DocumentError, Expression, F, Key, Op, Value
from vecstore.filter.evaluate import matcher_of_every_element, stored_matcher
from vecstore.filter.normalize import simplify

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "cases" / "semantics.jsonl")
    .read_text("utf-8")
    .splitlines()
]


def test_every_case_of_the_contract() -> None:
    assert len(CASES) == 4_216
    for case in CASES:
        tree = Expression.from_dict(case["ast"])
        assert tree.evaluate(case["metadata"]) is case["truth"], case
        assert tree.matches(case["metadata"]) is case["match"], case
        assert naive.verdict(case["ast"], case["metadata"]) is case["truth"], case


@given(trees, documents)
def test_agrees_with_the_naive_reading(tree: Expression, document: dict[str, Any]) -> None:
    expected = naive.verdict(tree.to_dict(), document)
    assert tree.evaluate(document) is expected
    assert tree.matches(document) is (expected is True)
    assert tree.matcher()(document) is (expected is True)


@given(trees, documents)
def test_ne_and_nin_are_exact_complements(tree: Expression, document: dict[str, Any]) -> None:
    complements = {Op.EQ: Op.NE, Op.IN: Op.NIN, Op.ISNULL: Op.ISNOTNULL}
    for node in tree.walk():
        opposite = complements.get(node.op)
        if opposite is not None:
            other = Expression(opposite, *node.operands)
            assert node.matches(document) is not other.matches(document)


def test_python_values_are_read_as_a_document_would_hold_them() -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    assert (F.at == moment).matches({"at": moment})
    assert (F.at == moment).matches({"at": "2024-01-01T00:00:00.000000Z"})
    assert (F.tags == "a").matches({"tags": ("a", "b")})
    assert (F.tags == "a").matches({"tags": {"a"}})
    assert F.tags.is_null().matches({"tags": ()})


@pytest.mark.parametrize("value", [float("nan"), b"x", [1, "a"], [None], [[1]], object(), print])
def test_a_value_that_no_document_can_hold_is_named(value: object) -> None:
    with pytest.raises(DocumentError, match=r"k\.x") as caught:
        (F.k.x == 1).matches({"k": {"x": value}})
    assert caught.value.key == "k.x"


def test_values_that_the_filter_does_not_look_at_do_not_matter() -> None:
    assert (F.a == 1).matches({"a": 1, "junk": object()})


def test_hostile_keys_are_looked_up_as_plain_text() -> None:
    key = "__import__('os').system('touch pwned')"
    assert not (F[key] == 1).matches({"a": 1})
    assert (F[key] == 1).matches({key: 1})


def test_large_in_lists_are_looked_up_by_hash() -> None:
    many = Expression(Op.IN, Key("a"), Value(list(range(10_000))))
    matcher = many.matcher()
    assert sum(matcher({"a": number}) for number in range(20_000)) == 10_000


def test_short_circuit_does_not_read_further_than_needed() -> None:
    # The second comparison would meet an unusable value; the first has decided already.
    assert (F.a.is_null() | (F.b == 1)).matches({"b": object()})
    assert not (F.a.is_not_null() & (F.b == 1)).matches({"b": object()})


@pytest.mark.parametrize("metadata", [None, [("a", 1)], '{"a": 1}', 5])
def test_what_is_no_metadata_is_not_taken_for_a_document_without_keys(metadata: Any) -> None:
    for decide in (F.a.is_null().matches, F.a.is_null().matcher(), F.a.b.is_null().evaluate):
        with pytest.raises(TypeError, match="a mapping, not on a"):
            decide(metadata)


def test_a_document_is_no_metadata() -> None:
    with pytest.raises(TypeError, match=r"not on a Document; pass its \.metadata"):
        (F.a != 1).matches(Document("text", {"a": 1}))  # type: ignore[arg-type]


@given(trees, documents)
def test_metadata_of_documents_is_decided_alike(tree: Expression, document: dict[str, Any]) -> None:
    expected = naive.verdict(tree.to_dict(), document) is True
    assert stored_matcher(tree)(document) is expected
    # With one element for each list there is no difference between some and every one.
    if not any(isinstance(value, list) for value in document.values()):
        return
    if matcher_of_every_element(simplify(tree))(document):
        assert expected


@pytest.mark.parametrize("more", [[], [f"more {number}" for number in range(20)]])
@pytest.mark.parametrize("nested", [False, True])
def test_lists_of_others_that_mix_types_are_looked_through(more: list[str], nested: bool) -> None:
    held: list[Any] = [2, True, "a", None, {"x": 1}, 0.5]
    key, metadata = (F.n.k, {"n": {"k": held}}) if nested else (F.k, {"k": held})
    for wanted, there in [
        ([1], False),
        ([False, 1.0], False),
        ([0, "b"], False),
        ([2.0], True),
        (["b", "a"], True),
        ([0, True], True),
        ([0.5, "b"], True),
    ]:
        assert stored_matcher(key.in_([*wanted, *more]))(metadata) is there
        assert stored_matcher(key.not_in([*wanted, *more]))(metadata) is not there
