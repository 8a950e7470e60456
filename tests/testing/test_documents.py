"""The pages on dialects: their code runs, and what they say of the kit is so."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.dialects.conformance.deviations import DEVIATIONS
from tests.examples import check_examples
from vecstore import Capabilities
from vecstore.testing import DialectSuite

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "write-a-dialect.md").read_text("utf-8")
KIT = (ROOT / "docs" / "conformance.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def run_the_page(folder: Path, only: str = "", **codes: str) -> str:
    """Run the page, in the versions that are given."""
    for name, code in codes.items():
        (folder / f"test_{name}.py").write_text(code, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-W", "error", "-q", "-p", "no:cacheprovider", "-k", only],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.wide  # the next one runs a part of it
def test_the_dialect_of_the_page_passes_its_proof(tmp_path: Path) -> None:
    output = run_the_page(tmp_path, page="".join(BLOCKS))
    assert re.search(r"^17 passed", output, re.MULTILINE), output


def test_the_package_of_the_page_can_be_published() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    project = tomllib.loads(block)["project"]
    assert {"name", "version", "dependencies"} <= set(project)
    ((name, target),) = project["entry-points"]["vecstore.dialects"].items()
    module, _, offered = target.partition(":")
    assert f"src/{module}/__init__.py" in PAGE
    assert f"class {offered}(SqlDialect)" in BLOCKS[0]
    assert f'name: ClassVar[str] = "{name}"' in BLOCKS[0]


SLIPS = {
    "negation": ('negation = "" if wanted else "NOT "', 'negation = ""'),
    "name": ('"name = ", name, " AND value', '"\'\' <> ", name, " AND value'),
    "depth": ("max_depth=16", "max_depth=40"),
}


@pytest.mark.wide
def test_a_slip_in_it_would_be_found(tmp_path: Path) -> None:
    code = "".join(BLOCKS)
    slipped = {}
    for name, (right, wrong) in SLIPS.items():
        assert right in code
        slipped[name] = code.replace(right, wrong)
    output = run_the_page(tmp_path, "grouping or limits", page=code, **slipped)
    failed = set(re.findall(r"^FAILED test_(\w+)\.py", output, re.MULTILINE))
    assert failed == set(SLIPS), output
    assert re.search(r"^\d failed, \d passed", output, re.MULTILINE), output


@pytest.mark.wide
def test_the_report_of_the_other_page_is_what_it_prints(tmp_path: Path) -> None:
    asked = "return self._labelled(atom.op in (Op.EQ, Op.IN), equal)"
    slip = (
        "if atom.op in (Op.NE, Op.NIN): equal[2] = equal[2].replace(' IN', ' NOT IN')\n"
        "        return self._labelled(True, equal)"
    )
    code = "".join(BLOCKS)
    assert asked in code
    output = run_the_page(tmp_path, "grouping", page=code.replace(asked, slip))
    (report,) = re.findall(r"```text\n(labels .*?)```", KIT, re.DOTALL)
    shown = [line.removeprefix("E").strip() for line in output.splitlines()]
    start = next(number for number, line in enumerate(shown) if "ConformanceError: labels" in line)
    lines = [line.strip() for line in report.splitlines()]
    assert shown[start].endswith(lines[0])
    assert shown[start + 1 : start + len(lines)] == lines[1:]


def test_the_examples_of_the_other_page_print_what_they_claim(tmp_path: Path) -> None:
    # As its users have the package. Of code that is not installed, hypothesis reads every literal
    # while it draws the first example, and takes that for a slow strategy.
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "vecstore").symlink_to(ROOT / "vecstore")
    check_examples("docs/conformance.md", tmp_path, installed)


def test_nothing_slow_is_left_for_the_first_draw(tmp_path: Path) -> None:
    """Hypothesis makes its tables of Unicode once a folder, and blames who needs them first."""
    code = """
from hypothesis import HealthCheck, given, settings
from hypothesis.internal import charmap

from vecstore.testing import filters, metadata

strategies = filters(), metadata()


def refuse():
    raise AssertionError("the tables are made while an example is drawn")


charmap.charmap = refuse
charmap._charmap = None


@settings(deadline=None, database=None, max_examples=30, suppress_health_check=list(HealthCheck))
@given(*strategies)
def draw(filter, document):
    pass


draw()
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_page_tells_every_field_of_the_capabilities() -> None:
    for field in Capabilities.__dataclass_fields__:
        assert f"`{field}`" in PAGE, field


def test_the_page_of_the_kit_tells_every_test() -> None:
    for name in dir(DialectSuite):
        if name.startswith("test_"):
            assert f"`{name}`" in KIT, name


def test_the_page_of_the_kit_tells_every_known_deviation() -> None:
    for deviation in DEVIATIONS:
        assert deviation.engine in KIT
        assert f"`{deviation.filter}`" in KIT
