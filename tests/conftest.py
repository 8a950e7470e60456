"""What every test module shares: hypothesis profiles and one real PostgreSQL.

Hypothesis profiles (pick another with ``HYPOTHESIS_PROFILE`` or ``--hypothesis-profile``):

- ``local``: new examples on every run, 50 a test, remembered failures first. The default.
- ``ci``: the same examples on every run. The default where ``CI`` is set.
- ``heavy``: a thousand a test. ``make test-heavy`` uses it.

A class of tests may say what of it ``make test`` runs: ``chosen`` are the only tests, ``repeats``
those to leave out, each a list of names or of parts of a suite. What is left out repeats, on another
engine, metric or option, what ``make test`` runs elsewhere; it is marked ``wide`` and ``heavy``, and
``make test-wide`` runs it. Where the class has ``whole = "heavy"``, ``make test-heavy`` alone does. Of
tests on servers, ``make test-servers`` leaves out what is heavy and what repeats; both are marked
``long``, and ``make test-heavy`` runs them.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("vecstore.testing")

# How long an example takes says more about the machine's other guests than about the code.
settings.register_profile(
    "local",
    max_examples=50,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "ci", settings.get_profile("local"), derandomize=True, database=None, print_blob=True
)
settings.register_profile("heavy", settings.get_profile("local"), max_examples=1000)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if "CI" in os.environ else "local")
)


@pytest.hookimpl(tryfirst=True)  # before pytest looks at -m
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _is_repetition(item):
            item.add_marker(getattr(item.cls, "whole", "wide"))  # type: ignore[attr-defined]
        heavy = item.get_closest_marker("heavy") or item.get_closest_marker("wide")
        if heavy and item.get_closest_marker("servers"):
            item.add_marker("long")
        if any(item.get_closest_marker(name) for name in ("wide", "servers", "browser")):
            item.add_marker("heavy")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep what pytest makes of 15,000 tests out of garbage collection, which would walk it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        # Beside what is frozen the rest is small, and would be walked all the more often.
        gc.set_threshold(700, 10, 100)
        gc.enable()


def _is_repetition(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function) or item.cls is None:
        return False
    chosen, repeats = getattr(item.cls, "chosen", None), getattr(item.cls, "repeats", None)
    if (chosen is None and repeats is None) or item.get_closest_marker("heavy") is not None:
        return False  # what is long is no repetition
    name = item.originalname
    out = chosen is not None and name not in _names(item.cls, tuple(chosen))
    return out or (repeats is not None and name in _names(item.cls, tuple(repeats)))


@cache
def _names(cls: type, told: tuple[str | type, ...]) -> frozenset[str]:
    """Tests by name; of a part of a suite, all of them."""
    names: set[str] = set()
    for one in told:
        names |= {one} if isinstance(one, str) else {n for n in dir(one) if n.startswith("test_")}
        if isinstance(one, str) and not hasattr(cls, one):
            raise pytest.UsageError(f"{cls.__name__} has no test {one}")
    return frozenset(names)


@pytest.fixture(scope="session")
def postgres_dsn() -> Iterator[str]:
    """The address of a real PostgreSQL with the extension ``vector``; the tests own it.

    ``VECSTORE_PG_DSN`` names any server; without it an embedded PostgreSQL runs for the session
    (one for each pytest worker). Tests keep to tables of their own and drop them.
    """
    from tests.engines.postgres import running_postgres

    with running_postgres() as dsn:
        yield dsn
