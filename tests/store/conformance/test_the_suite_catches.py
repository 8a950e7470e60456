"""The suite notices stores that break the contract in one point."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.store.conformance.broken import BROKEN
from tests.store.conformance.broken.changing import LocksWhileItScans
from vecstore.testing import PersistentStoreTests, StoreSuite
from vecstore.testing.store_suite.embedders import DIMENSION

pytestmark = pytest.mark.wide

ROOT = Path(__file__).resolve().parents[3]
SUITES = "tests/store/conformance/broken_suites.py"
TESTS = sorted({name.partition("::")[2] for name in BROKEN})


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What became of each test that was to notice: "passed", or the message of its failure."""
    report = tmp_path_factory.mktemp("report") / "junit.xml"
    names = [*BROKEN, *[f"TestSound::{test}" for test in TESTS]]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.store.conformance.only_named",
        f"--junitxml={report}",
    ]
    run = subprocess.run(
        [*command, *[f"{SUITES}::{name}" for name in names]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        assert case.find("error") is None, ElementTree.tostring(case, "unicode")
        assert case.find("skipped") is None
        failure = case.find("failure")
        suite = case.get("classname", "").rpartition(".")[2]
        found[f"{suite}::{case.get('name')}"] = (
            "passed" if failure is None else failure.get("message", "")
        )
    return found


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_store_is_caught(outcomes: dict[str, str], name: str) -> None:
    assert outcomes[name] != "passed"
    assert outcomes[name]


@pytest.mark.parametrize("test", TESTS)
def test_a_sound_store_passes(outcomes: dict[str, str], test: str) -> None:
    assert outcomes[f"TestSound::{test}"] == "passed"


def test_a_scan_of_a_broken_store_ends_in_the_thread_that_began_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a failed test leaves is collected by any thread: a lock may be given back by none."""
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    store = LocksWhileItScans(dimension=DIMENSION)

    class Suite(StoreSuite):
        capabilities = store.capabilities

    with pytest.raises(AssertionError, match="a writer fails") as failure:
        Suite().test_scan_may_be_left_early(store)
    kept = [failure]
    del failure
    for last in (kept.clear, gc.collect):
        collector = threading.Thread(target=last)
        collector.start()
        collector.join()
    assert [one.exc_value for one in told] == []


def test_no_test_of_the_suite_hides_another() -> None:
    """The suite is put together from parts: one name in two of them would run once."""
    names = Counter(
        name
        for part in StoreSuite.__mro__
        for name in vars(part)
        if name.startswith("test_") and part is not StoreSuite
    )
    assert [name for name, count in names.items() if count > 1] == []
    assert len(names) > 90


@pytest.mark.parametrize("suite", [StoreSuite, PersistentStoreTests])
def test_each_test_says_what_usually_breaks_it(suite: type) -> None:
    """pytest shows it above the failure, to someone who has not read the suite."""
    tests = {name: getattr(suite, name) for name in dir(suite) if name.startswith("test_")}
    assert [name for name, test in tests.items() if len(test.__doc__ or "") < 40] == []
