"""A class from outside cannot take, without knowing, a name that its base goes by inside."""

from __future__ import annotations

from typing import Any

import pytest

from tests.store.minimal import MinimalStore
from tests.testing.test_documents import BLOCKS
from vecstore import Dialect


@pytest.mark.parametrize("name", ["_run", "_compiled", "_ask", "_check_open", "_settle", "_closed"])
def test_a_store_that_would_stand_in_the_way_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=f"Mine.{name} stands in the way"):
        type("Mine", (MinimalStore,), {name: lambda self: None})


def test_hooks_and_names_of_ones_own_are_free() -> None:
    free = {name: lambda self: None for name in ("_count", "_place", "_close", "_rows", "_open")}
    type("Mine", (MinimalStore,), free)


@pytest.mark.parametrize("name", ["_build", "_atom", "_check_atom", "_check_list"])
def test_a_dialect_that_would_leave_out_a_check_is_refused(name: str) -> None:
    shown: dict[str, Any] = {}
    exec(BLOCKS[0], shown)
    assert issubclass(shown["Labels"], Dialect)
    with pytest.raises(TypeError, match=f"Mine.{name} stands in the way"):
        type("Mine", (shown["Labels"],), {name: lambda self, atom: atom})
