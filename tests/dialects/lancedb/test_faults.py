"""What LanceDB does that the dialect and the store work around; each fails when that changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from lancedb.index import IvfPq

from vecstore import Document, Expression, F, LanceDBStore, Schema, parse
from vecstore.dialects.lancedb import LanceDB

VALUES = pa.table(
    {
        "row": ["a", "b", "c"],
        "up": [1, 2, 3],
        "x": pa.array([0.0, -0.0, float("nan")]),
        "many": pa.array([[0.0], [-0.0], [1.0]]),
        "json": pa.array(['{"k":1}', '{"k":"a"}', '{"k":0.5}'], pa.json_()),
    }
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return lancedb.connect(tmp_path_factory.mktemp("faults")).create_table("values", VALUES)


def rows(table: Any, condition: str) -> Sequence[str]:
    return sorted(table.search().where(condition).limit(100).to_arrow()["row"].to_pylist())


def test_a_name_without_quotes_is_any_spelling_of_it(table: Any) -> None:
    """Why names are quoted wherever they stand."""
    assert rows(table, "UP = 1") == ["a"]
    with pytest.raises(ValueError, match='No field named "UP"'):
        rows(table, '"UP" = 1')


def test_an_empty_list_is_no_sql(table: Any) -> None:
    with pytest.raises(ValueError, match="Expected: an expression, found: "):
        rows(table, "row IN ()")


@pytest.mark.parametrize("parameter", ["$1", "?", ":a"])
def test_parameters_are_a_panic(table: Any, parameter: str, capfd: Any) -> None:
    """Why literals are written into the condition."""
    with pytest.raises(BaseException, match="rust future panicked"):
        rows(table, f"row = {parameter}")
    assert "not yet implemented" in capfd.readouterr().err
    assert rows(table, f"row = '{parameter}'") == []  # inside a text it is nothing


def test_zeros_of_both_signs_are_two_values_to_lists(table: Any) -> None:
    """Why the plain layout asks for both."""
    zero = "CAST('0.0' AS DOUBLE)"
    assert rows(table, f"x = {zero}") == ["a", "b"]
    assert rows(table, f"array_has(many, {zero})") == ["a"]
    declared = LanceDB(schema=Schema({"many": list[float]}))
    assert rows(table, declared.compile(F.many == 0).query) == ["a", "b"]


def test_nan_is_more_than_every_number(table: Any) -> None:
    assert rows(table, "x > CAST('1e300' AS DOUBLE)") == ["c"]


def test_json_functions_of_a_type_fail_at_the_first_row_of_another(table: Any) -> None:
    """Why orderings cast what json_extract gives."""
    with pytest.raises(RuntimeError, match="Failed to convert to integer"):
        rows(table, "json_get_int(json, 'k') = 1")
    assert rows(table, "try_cast(json_extract(json, '$.\"k\"') AS DOUBLE) < 1.0") == ["c"]


def test_case_and_is_not_distinct_from_are_refused(table: Any) -> None:
    with pytest.raises(ValueError, match="not supported"):
        rows(table, "row IS NOT DISTINCT FROM 'a'")


def test_conditions_are_nested_up_to_a_depth(table: Any) -> None:
    """Why the dialect declares a greatest depth, which leaves room for ids beside the filter."""

    def nested(levels: int) -> str:
        condition = "row = 'a'"
        for level in range(levels):
            joint = "AND" if level % 2 else "OR"
            condition = f"(row < '{level}' {joint} {condition})"
        return f"({condition} AND row IN ('a', 'b')) AND (NOT row IN ('c'))"

    most = LanceDB(layout="exact").capabilities.max_depth
    assert most is not None
    rows(table, nested(most + 2))
    with pytest.raises(ValueError, match="Error parsing statement"):
        rows(table, nested(most + 6))


@pytest.mark.wide
def test_a_filter_at_every_limit_runs(tmp_path: Path) -> None:
    """As deep, as wide and as long as the dialect allows, among ids: nothing crashes or fails."""
    most = LanceDB(layout="exact").capabilities
    assert most.max_depth is not None
    assert most.max_atoms is not None
    assert most.max_list is not None
    with LanceDBStore("docs", path=tmp_path, dimension=2, max_cost=None) as store:
        store.add([Document("text", {"k0": 1}, "a", [1, 0]), Document("text", {}, "b", [1, 0])])
        deep: Expression = F.k0 > 0
        for level in range(most.max_depth - 1):
            atom = F[f"k{level}"] < "a"
            deep = atom & deep if level % 2 else atom | deep
        wide: Expression = F.k0.in_(range(most.max_list))
        for number in range(1, most.max_atoms - 1):
            wide = wide | (F[f"k{number}"] > number)
        for filter in (deep, wide):
            wanted = {"a"} if filter.matches({"k0": 1}) else set()
            found = store.search(
                vector=[1, 0], filter=filter, ids=["a", "b", *map(str, range(4_000))]
            )
            assert {one.id for one in found} == wanted


def test_a_vector_index_loses_rows_under_a_filter(tmp_path: Path) -> None:
    """Why a search with a filter goes past it; one without may go by it."""
    made = np.random.default_rng(3).normal(size=(4_000, 32)).astype(np.float32)
    with LanceDBStore("docs", path=tmp_path, dimension=32, exact=False) as store:
        store.add([Document("", {"few": n % 100 == 0}, f"{n}", made[n]) for n in range(len(made))])
        native = store.native.open_table("docs")
        index = IvfPq(distance_type="cosine", num_partitions=16, num_sub_vectors=4)
        native.create_index("vector", config=index)
        probe = made[7]
        condition = LanceDB(layout="exact").compile(parse("few == true")).query
        search = native.search(probe, vector_column_name="vector").distance_type("cosine")
        indexed = search.where(condition, prefilter=True).limit(20).to_arrow()["id"].to_pylist()
        likeness = made @ probe / np.linalg.norm(made, axis=1)
        right = [f"{n}" for n in np.argsort(-likeness) if n % 100 == 0][:20]
        assert len(set(indexed) & set(right)) < 20
        assert [
            one.id for one in store.search(vector=probe, top_k=20, filter="few == true")
        ] == right
        assert store.search(vector=probe, top_k=1)[0].id == "7"


def test_products_are_taken_from_one_in_float32(tmp_path: Path) -> None:
    """Why queries are made longer under dot: of small products nothing would be left."""
    with LanceDBStore("docs", path=tmp_path, dimension=2, metric="dot") as store:
        store.add([Document("", {}, "a", [1e-5, 0]), Document("", {}, "b", [2e-5, 0])])
        native = store.native.open_table("docs").search([1e-5, 0.0], vector_column_name="vector")
        assert set(native.distance_type("dot").to_arrow()["_distance"].to_pylist()) == {1.0}
        found = store.search(vector=[1e-5, 0])
        assert [one.id for one in found] == ["b", "a"]
        assert [one.score for one in found] == pytest.approx([2e-10, 1e-10])


def test_a_connection_does_not_look_for_what_others_wrote(tmp_path: Path) -> None:
    """Why ours looks at each call, and others' are told to."""
    one = lancedb.connect(tmp_path).create_table("values", VALUES)
    other = lancedb.connect(tmp_path).open_table("values")
    assert other.count_rows() == 3
    one.add(VALUES)
    assert other.count_rows() == 3
    looking = lancedb.connect(tmp_path, read_consistency_interval=timedelta(0))
    found = looking.open_table("values")
    one.add(VALUES)
    assert found.count_rows() == 9


def test_an_append_takes_an_id_that_is_there(tmp_path: Path) -> None:
    """Why whoever writes looks for ids, and holds the lock from then on."""
    with LanceDBStore("docs", path=tmp_path, dimension=2) as store:
        store.add([Document("", {}, "a", [1, 0])])
        native = store.native.open_table("docs")
        native.add(native.to_arrow())
        assert native.count_rows() == 2
