"""What tests/workers.py keeps between the processes changes nothing that a run shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

OF_EVERY_SORT = """
import pytest

@pytest.fixture
def not_made(): raise RuntimeError("not made")

@pytest.fixture
def not_put_away():
    yield
    raise RuntimeError("not put away")

@pytest.mark.parametrize("number", range(20))
def test_passes(number): pass

@pytest.mark.skip(reason="not here")
def test_skipped(): pass

@pytest.mark.xfail(reason="known")
def test_known(): raise RuntimeError

def test_without_its_fixture(not_made): pass
def test_whose_fixture_stays(not_put_away): pass

class TestFails:
    def test_fails(self):
        print("told")
        raise RuntimeError("wrong")
"""

LISTENING = """

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        from xdist.dsession import DSession

        def heard(name, method):
            def hear(self, node, **kwargs):
                rep = kwargs.get("rep")
                with open("heard", "a") as file:
                    told = f":{rep.when}:{rep.outcome}" if rep is not None else ""
                    file.write(f"{name}{told}\\n")
                return method(self, node, **kwargs)
            return hear

        for name in ("testreport", "logstart", "logfinish"):
            method = getattr(DSession, "worker_" + name)
            setattr(DSession, "worker_" + name, heard(name, method))
"""

SHOWN = {
    "SKIPPED [1] test_sorts.py: not here",
    "XFAIL test_sorts.py::test_known - known",
    "ERROR test_sorts.py::test_without_its_fixture - RuntimeError: not made",
    "ERROR test_sorts.py::test_whose_fixture_stays - RuntimeError: not put away",
    "FAILED test_sorts.py::TestFails::test_fails - RuntimeError: wrong",
}


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ((), {"testreport", "logfinish"}),
        pytest.param(("-v",), {"testreport", "logfinish", "logstart"}, marks=pytest.mark.wide),
    ],
)
@pytest.mark.wide
def test_a_run_on_two_workers_shows_all_that_is_news(
    options: tuple[str, ...], sent: set[str], tmp_path: Path
) -> None:
    own = (ROOT / "tests" / "conftest.py").read_text("utf-8")
    (tmp_path / "conftest.py").write_text(own + LISTENING, "utf-8")
    (tmp_path / "pytest.ini").write_bytes(b"[pytest]\n")
    (tmp_path / "test_sorts.py").write_text(OF_EVERY_SORT, "utf-8")
    (tmp_path / "test_second.py").write_text("def test_second(): pass", "utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-ra", "-n", "2", "--dist", "loadfile", *options, "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    shown = re.sub(r"(?m)^(SKIPPED .*py):\d+", r"\1", run.stdout)
    assert set(shown.splitlines()) >= SHOWN, run.stdout
    assert "told" in run.stdout
    assert "1 failed, 22 passed, 1 skipped, 1 xfailed, 2 errors" in run.stdout, run.stdout
    heard = (tmp_path / "heard").read_text("utf-8").split()
    assert {name.partition(":")[0] for name in heard} == sent
    # Of the 25 tests that were put away well, none; told more, all of them.
    assert heard.count("testreport:teardown:passed") == (25 if options else 0)
    assert heard.count("testreport:call:passed") == 22
    assert heard.count("testreport:teardown:failed") == 1
