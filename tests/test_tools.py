"""The scripts of ``tools/`` that build the site and try the package."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools import try_extras
from vecstore.installing import REQUIREMENTS

ROOT = Path(__file__).resolve().parent.parent


# --- the wheel with each extra ----------------------------------------------------------------


def test_every_extra_has_a_program() -> None:
    assert {*try_extras.SMOKES} == {*try_extras.EXTRAS} == {*REQUIREMENTS, "all"}
    for program in try_extras.SMOKES.values():
        compile(program, "smoke", "exec")


@pytest.mark.wide
def test_programs_of_extras_do_what_they_are_for(tmp_path: Path) -> None:
    """Those that need no engine, in one process."""
    names = ("pdf", "html", "html-main", "markdown", "detect", "sql", "parquet", "fast", "openai")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(try_extras.SMOKES[name] for name in names)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_interpreters_are_found_once_each() -> None:
    found = dict(try_extras.pythons())
    assert found
    assert all(int(version.split(".")[1]) >= 11 for version in found)


@pytest.mark.heavy
@pytest.mark.parametrize(("version", "python"), [*try_extras.pythons()])
def test_the_wheel_works_with_each_extra_alone(version: str, python: str, tmp_path: Path) -> None:
    built = try_extras.wheel(tmp_path)
    wanted = [one for one in try_extras.EXTRAS if one not in try_extras.HUGE]
    told = dict(try_extras.tried(python, built, wanted))
    assert {name: wrong for name, wrong in told.items() if wrong} == {}
    assert [*told] == ["(none)", *wanted]


# --- the wheel of the playground --------------------------------------------------------------


def test_the_playground_runs_on_the_part_of_the_wheel_that_the_site_has(tmp_path: Path) -> None:
    build = (
        "import sys; sys.path.insert(0, 'tools'); import playground_site as site; "
        "sys.stdout.buffer.write(site._wheel())"
    )
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", build], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with zipfile.ZipFile(io.BytesIO(made)) as wheel:
        wheel.extractall(tmp_path)
        rooms = {name.split("/")[1] for name in wheel.namelist() if name.startswith("vecstore/")}
    assert "playground" in rooms
    assert not rooms & {"store", "simple", "cli", "testing", "indexing", "adapters"}
    # What each page asks for, errors of every kind and both halves of a refusal among it.
    filters = [
        "lang == 'en' AND year >= 2020 AND NOT (status == 'draft')",
        "title >= 'B' OR created > DATE '2024-01-01'",
        "country == BG",
        "a.b IN [1, 2, 'x'] AND \"c d\" IS NULL",
        "x == 9007199254740993 AND y < -1.5e300",
        "((((",
        "",
    ]
    program = (
        "import json, sys\n"
        "import vecstore\n"
        "assert vecstore.__file__.startswith(sys.argv[1]), vecstore.__file__\n"
        "from vecstore.playground.answer import answer\n"
        'documents = [\'{"year": 2021, "a": {"b": 1}}\', \'{}\', \'[\', \'{"x": [1, "y"]}\']\n'
        "told = [answer({'filter': one, 'documents': documents, 'data': data})\n"
        "        for one in json.loads(sys.argv[2]) for data in ('ours', 'others', 'declared')]\n"
        "print(json.dumps(told))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path), json.dumps(filters)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    from vecstore.playground.answer import answer

    documents = ['{"year": 2021, "a": {"b": 1}}', "{}", "[", '{"x": [1, "y"]}']
    wanted = [
        answer({"filter": one, "documents": documents, "data": data})
        for one in filters
        for data in ("ours", "others", "declared")
    ]
    assert json.loads(done.stdout) == json.loads(json.dumps(wanted))
    assert {one["state"] for told in wanted for one in told["dialects"]} >= {"exact", "refused"}
