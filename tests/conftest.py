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

More than half of all tests are left out of any run. What ``-m`` leaves out for certain is not even
made: pytest would take longer to make these 18,000 and to throw them away than to run many a folder.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Set
from functools import cache
from inspect import isfunction

import pytest
from hypothesis import HealthCheck, settings

from tests.engines.qdrant import remember_paths
from tests.workers import send_news_only

pytest.register_assert_rewrite("vecstore.testing")

_PARAM = type(pytest.param())
_FOLDER = pytest.StashKey[str]()

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


@pytest.hookimpl(tryfirst=True)  # before pytest reads the option
def pytest_configure(config: pytest.Config) -> None:
    """A folder of this run's own for what tests write.

    pytest closes its usual one to all others each time that somebody starts it, and as root the
    embedded PostgreSQL is another user, whose way into its data that would be.
    """
    if config.option.basetemp is None and not hasattr(config, "workerinput"):
        config.option.basetemp = config.stash[_FOLDER] = tempfile.mkdtemp(prefix="vecstore-tests-")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    folder = session.config.stash.get(_FOLDER, None)
    if folder is not None and exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(tryfirst=True)  # before pytest looks at -m
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        _check_marks_of_parameters(item)
        own = {mark.name for mark in item.iter_markers()}
        marks = own
        if isinstance(item, pytest.Function) and item.cls is not None and "heavy" not in own:
            # What is long is no repetition.
            if _repeats(item.cls, item.originalname):
                marks = own | {getattr(item.cls, "whole", "wide")}
        for name in sorted(_with_implied(marks) - own):
            item.add_marker(name)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Collector, name: str, obj: object
) -> list[pytest.Item] | None:
    asked = _asked(collector.config)
    if asked is None or not name.startswith("test_") or not isfunction(obj):
        return None
    return [] if _is_left_out(collector, name, obj, *asked) else None


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


def pytest_runtest_setup() -> None:
    remember_paths()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After each module, keep out of garbage collection what stays: modules, caches, reports.

    It would be walked again and again, a second and more each time: a sixth of the whole run.
    """
    if nextitem is not None and item.path != nextitem.path:
        gc.collect()
        gc.freeze()


def pytest_sessionstart(session: pytest.Session) -> None:
    send_news_only(session.config)


def _with_implied(marks: Set[str]) -> Set[str]:
    """The marks, and those that follow from them."""
    if "servers" in marks and marks & {"heavy", "wide"}:
        marks = marks | {"long"}
    return marks | {"heavy"} if marks & {"wide", "servers", "browser"} else marks


def _repeats(cls: type, name: str) -> bool:
    """Whether a class says of one of its tests that it repeats what others show."""
    chosen, repeats = getattr(cls, "chosen", None), getattr(cls, "repeats", None)
    out = chosen is not None and name not in _names(cls, tuple(chosen))
    return out or (repeats is not None and name in _names(cls, tuple(repeats)))


@cache
def _asked(config: pytest.Config) -> tuple[Set[str], Set[str]] | None:
    """The marks that each test must have by ``-m``, and those that none may have.

    None where the expression says more than "this and not that", and where a test is asked for by
    its name, which pytest then has to find.
    """
    told = [one.split() for one in config.option.markexpr.split(" and ")]
    plain = {words[0] for words in told if len(words) == 1}
    negated = {words[1] for words in told if len(words) == 2 and words[0] == "not"}
    names = plain | negated
    if not names or len(names) < len(told) or not all(map(str.isidentifier, names)):
        return None
    return None if any("::" in one for one in config.args) else (plain, negated)


def _is_left_out(
    collector: pytest.Collector,
    name: str,
    test: object,
    wanted: Set[str],
    unwanted: Set[str],
) -> bool:
    """Whether all that pytest would make of a test, for any parameters, has the wrong marks."""
    marks = [*_marks_of(collector), *getattr(test, "pytestmark", ())]
    own = {mark.name for mark in marks}
    of_parameters = _marks_of_parameters(test, marks)
    certain, possible = own, own | of_parameters
    cls = getattr(collector, "cls", None)
    if cls is not None and "heavy" not in own and _repeats(cls, name):
        whole = getattr(cls, "whole", "wide")
        certain = own | {"heavy" if "heavy" in of_parameters else whole}
        possible = possible | {whole}
    return bool(unwanted & _with_implied(certain) or wanted - _with_implied(possible))


@cache
def _marks_of(collector: pytest.Collector) -> tuple[pytest.Mark, ...]:
    """The marks of a class and of its module."""
    return tuple(collector.iter_markers())


def _marks_of_parameters(test: object, marks: Iterable[pytest.Mark]) -> set[str]:
    """Names of the marks that single parameters of a test have."""
    tables = (mark.args[1] for mark in marks if mark.name == "parametrize")
    names = {
        one.mark.name if isinstance(one, pytest.MarkDecorator) else one.name
        for table in tables
        for row in table
        if isinstance(row, _PARAM)
        for one in row.marks
    }
    return names | {"heavy"} if hasattr(test, "sizes") else names  # one of the sizes is heavy


def _check_marks_of_parameters(item: pytest.Item) -> None:
    """No parameter of a fixture has marks: where a test is left out, they were not looked at."""
    marks = getattr(getattr(item, "callspec", None), "marks", ())
    if isinstance(item, pytest.Function) and marks:
        told = _marks_of_parameters(item.obj, item.iter_markers("parametrize"))
        if not {mark.name for mark in marks} <= told:
            raise pytest.UsageError(f"{item.nodeid}: mark the test, not a fixture's parameter")


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
