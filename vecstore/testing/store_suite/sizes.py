"""Tests that run at two sizes: a usual one, and a heavy one that carries a marker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., Any])

_MARKER = "heavy: a long figure of a conformance suite; leave it out with -m 'not heavy'"


def sized(usual: int, heavy: int) -> Callable[[Test], Test]:
    """Give a test its argument ``size``, twice: the usual one, and one under ``heavy``."""

    def decorate(test: Test) -> Test:
        test.sizes = (usual, heavy)  # type: ignore[attr-defined]
        return test

    return decorate


def parametrize_sizes(metafunc: pytest.Metafunc) -> None:
    """Give a test that is :func:`sized` its sizes; for ``pytest_generate_tests``."""
    sizes = getattr(metafunc.function, "sizes", None)
    if sizes is None:
        return
    # A project that runs the suite may not know the marker, and be strict about it.
    if not any(line.startswith("heavy") for line in metafunc.config.getini("markers")):
        metafunc.config.addinivalue_line("markers", _MARKER)
    usual, heavy = sizes
    metafunc.parametrize(
        "size",
        [
            pytest.param(usual, id="usual"),
            pytest.param(heavy, id="heavy", marks=pytest.mark.heavy),
        ],
    )
