"""What `-m` leaves out is not made, and nothing else is missing: what tests/conftest.py does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

MODULE = """
import pytest

from vecstore import F  # which gives a field for every attribute that it is asked for

fields = pytest.mark.parametrize("field", [F.plain, pytest.param(F.wide, marks=pytest.mark.wide)])
sizes = pytest.mark.parametrize("size", [1, pytest.param(2, marks=[pytest.mark.heavy])])


def test_plain(): pass

@pytest.mark.heavy
def test_heavy(): pass

@pytest.mark.wide
def test_wide(): pass

@pytest.mark.browser
def test_browser(): pass

@pytest.mark.servers
@sizes
def test_on_a_server(size): pass

@fields
@sizes
def test_parameters(field, size): pass

class Suite:
    def test_first(self): pass

    def test_second(self): pass

    @pytest.mark.heavy
    def test_long(self): pass

    @sizes
    def test_sizes(self, size): pass

    @fields
    def test_fields(self, field): pass

class TestWhole(Suite): pass

class TestFirst(Suite):
    chosen = ("test_first",)

class TestNone(Suite):
    whole = "heavy"
    chosen = ()

class TestRepeats(Suite):
    repeats = ("test_first", "test_sizes", "test_fields")

@pytest.mark.servers
class TestOnAServer(Suite):
    chosen = (Suite,)
    repeats = ("test_second",)

@fields
class TestOfFields:
    def test_one(self, field): pass
"""

EXPRESSIONS = (
    "not heavy",
    "wide and not servers",
    "servers and not long",
    "servers and long",
    "heavy",
    "browser",
)

COLLECT = """
import json, sys
import pytest

class Seen:
    def pytest_itemcollected(self, item):
        made.append(item.nodeid)

    def pytest_collection_finish(self, session):
        kept.extend(item.nodeid for item in session.items)

found = {}
for expression in sys.argv[2:]:
    # Of what stands in parentheses nothing is known before pytest has made everything.
    for told in (expression, f"({expression})"):
        made, kept = [], []
        pytest.main(["-q", "--co", "-p", "no:cacheprovider", "-m", told, sys.argv[1]], [Seen()])
        found[told] = (made, kept)
print()
print(json.dumps(found))
"""


def collected(folder: Path, *expressions: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_bytes((ROOT / "tests" / "conftest.py").read_bytes())
    (folder / "pytest.ini").write_bytes(b"[pytest]\n")
    return subprocess.run(
        [sys.executable, "-c", COLLECT, str(folder), *expressions],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_left_out_is_not_made_and_nothing_else_is_missing(tmp_path: Path) -> None:
    (tmp_path / "test_all.py").write_text(MODULE, "utf-8")
    run = collected(tmp_path, *EXPRESSIONS)
    assert run.returncode == 0, run.stdout + run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    for expression in EXPRESSIONS:
        made, kept = found[expression]
        made_at_all, wanted = found[f"({expression})"]
        assert kept == wanted, expression
        assert wanted, expression
        assert len(made) < len(made_at_all), expression
    # The same names, as they are to be left out: a rule that marks nothing would pass the above.
    lean = {name.partition("::")[2] for name in found["not heavy"][1]}
    assert "TestFirst::test_first" in lean
    assert "TestFirst::test_second" not in lean
    assert not [name for name in lean if name.startswith(("TestNone", "TestOnAServer"))]
    assert {name for name in lean if name.startswith("TestRepeats")} == {"TestRepeats::test_second"}
    wide = {name.partition("::")[2] for name in found["wide and not servers"][1]}
    assert {"TestFirst::test_sizes[1]", "TestRepeats::test_first", "test_wide"} <= wide
    assert not {"TestFirst::test_sizes[2]", "TestFirst::test_long"} & wide


def test_a_mark_on_a_parameter_of_a_fixture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "test_fixture.py").write_text(
        "import pytest\n"
        "@pytest.fixture(params=[1, pytest.param(2, marks=pytest.mark.wide)])\n"
        "def number(request): return request.param\n"
        "def test_number(number): pass\n",
        "utf-8",
    )
    run = collected(tmp_path, "not heavy")
    assert "mark the test, not a fixture's parameter" in run.stdout + run.stderr
