"""Searches among many documents find all that match, however few they are and wherever they lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vecstore import Document, RedisStore

ROWS = 100_000


@pytest.mark.heavy
def test_filtered_searches_are_whole(tmp_path: Path) -> None:
    dice = np.random.default_rng(7)
    made = dice.normal(size=(ROWS, 384)).astype(np.float32)
    lengths = np.linalg.norm(made, axis=1)
    with RedisStore("docs", path=tmp_path / "data", dimension=384, numbers=["n", "year"]) as store:
        store.add(
            Document(
                f"text {n}", {"n": n, "year": 1990 + n % 40, "tags": [f"t{n % 7}"]}, f"{n}", made[n]
            )
            for n in range(ROWS)
        )
        numbers = np.arange(ROWS)
        chosen: dict[str, Any] = {
            "n >= 0": numbers,
            "year >= 2020": numbers[1990 + numbers % 40 >= 2020],
            "n < 1000": numbers[:1_000],
            f"n IN {list(range(0, ROWS, 1_000))}": numbers[::1_000],
            "n >= 99990 AND tags != 'nothing'": numbers[-10:],
        }
        for filter, matching in chosen.items():
            first = made[matching[0]]
            for probe in (first, -first, dice.normal(size=384).astype(np.float32)):
                likeness = made[matching] @ probe / lengths[matching]
                nearest = matching[np.argsort(-likeness, kind="stable")[:10]]
                found = store.search(vector=probe, top_k=10, filter=filter)
                assert [one.id for one in found] == [f"{n}" for n in nearest], filter
            assert store.count(filter) == len(matching)
