"""The example plug-in: found by its entry point, and proven by the tests it brings along."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.dialects.corpus import answered, corpus
from tests.engines.sqlite import SqliteRows
from vecstore import (
    ConfigurationError,
    Dialect,
    DialectNotFoundError,
    F,
    UnsupportedFilterError,
    compile_filter,
    dialect_names,
    get_dialect,
    open_store,
)

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "vecstore-lite"
PROJECT = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]


def install(folder: Path, name: str = PROJECT["name"], target: str | None = None) -> Path:
    """What an installer leaves behind of a package: its metadata, and a way to its modules."""
    points = PROJECT["entry-points"]["vecstore.dialects"]
    lines = [f"{key} = {target or value}" for key, value in points.items()]
    metadata = folder / f"{name.replace('-', '_')}-{PROJECT['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {PROJECT['version']}\n", "utf-8"
    )
    (metadata / "entry_points.txt").write_text("\n".join(["[vecstore.dialects]", *lines]), "utf-8")
    return folder


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Dialect[Any]]]:
    monkeypatch.syspath_prepend(EXAMPLE / "src")
    monkeypatch.syspath_prepend(install(tmp_path))
    yield get_dialect("lite")
    for module in [name for name in sys.modules if name.startswith("vecstore_lite")]:
        del sys.modules[module]


def test_it_is_not_there_before_it_is_installed() -> None:
    assert "lite" not in dialect_names()
    with pytest.raises(DialectNotFoundError):
        get_dialect("lite")


def test_it_is_found_by_name_with_its_options(installed: type[Dialect[Any]]) -> None:
    assert "lite" in dialect_names()
    assert installed.__module__ == "vecstore_lite.dialect"
    compiled = compile_filter("year > 2020", "lite", column="docs.meta")
    assert compiled.dialect == "lite"
    assert compiled.params == ("year", 2020)
    assert "docs.meta" in compiled.query
    with pytest.raises(TypeError, match="its options are: column"):
        compile_filter("year > 2020", "lite", table="docs")


def test_two_packages_for_one_name_are_an_error(
    installed: type[Dialect[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.syspath_prepend(install(other, name="lite-for-vecstore"))
    with pytest.raises(ConfigurationError, match=r"vecstore-lite.*lite-for-vecstore|lite-for-vecstore.*vecstore-lite"):  # fmt: skip
        get_dialect("lite")


def test_one_that_took_a_name_of_ours_is_to_be_uninstalled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vecstore_sqlite-0.1.0.dist-info").mkdir()
    for name, text in (
        ("METADATA", "Metadata-Version: 2.1\nName: vecstore-sqlite\nVersion: 0.1.0\n"),
        ("entry_points.txt", "[vecstore.dialects]\nsqlite = vecstore_sqlite:Sqlite\n"
         "[vecstore.stores]\nsqlite = vecstore_sqlite.store:SqliteStore\n"),
    ):  # fmt: skip
        (tmp_path / "vecstore_sqlite-0.1.0.dist-info" / name).write_text(text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for call in (dialect_names, lambda: get_dialect("lite"), lambda: open_store("lite:")):
        with pytest.raises(ConfigurationError, match="pip uninstall vecstore-sqlite"):
            call()


@pytest.mark.parametrize(
    ("target", "error"), [("no_such_module:Lite", ImportError), ("json:dumps", ConfigurationError)]
)  # fmt: skip
def test_a_package_that_does_not_work_says_so(
    target: str, error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(install(tmp_path, target=target))
    with pytest.raises(error) as caught:
        get_dialect("lite")
    told = [str(caught.value), *getattr(caught.value, "__notes__", ())]
    assert target in "\n".join(told)
    if error is ImportError:
        assert "vecstore-lite" in "\n".join(told)


def test_it_selects_what_the_rules_say(installed: type[Dialect[Any]]) -> None:
    rows = corpus()[1]
    with SqliteRows() as engine:
        engine.load(rows)
        assert answered(installed(), rows, engine.select) == 831


def test_every_key_and_value_is_bound(installed: type[Dialect[Any]]) -> None:
    hostile = [
        "a' OR 1=1 --",
        'a"] == 1 or m["b',
        "x'); DROP TABLE documents; --",
        "?",
        "$.a",
        "\\",
    ]
    with SqliteRows() as engine:
        engine.load({f"d{number}": {key: key} for number, key in enumerate(hostile)})
        for number, key in enumerate(hostile):
            for filter, harmless in (
                (F[key] == key, F.k == "k"),
                (F[key].in_([key, 1]), F.k.in_(["k", 1])),
                ((F[key] >= key) & (F[key] <= key), (F.k >= "k") & (F.k <= "k")),
            ):
                compiled = installed().compile(filter)
                assert compiled.query == installed().compile(harmless).query
                assert compiled.query.count("?") == len(compiled.params)
                assert engine.select(compiled) == {f"d{number}"}


def test_integers_beyond_64_bits_are_refused_as_literals_and_harmless_in_documents(
    installed: type[Dialect[Any]],
) -> None:
    rows = {
        "beyond": {"k": 2**63},
        "far": {"k": 10**400},
        "last": {"k": 2**63 - 1},
        "low": {"k": -(10**400)},
        "double": {"k": float(2**63)},
    }
    with SqliteRows() as engine:
        engine.load(rows)
        for literal in (2**63 - 1, -(2**63) + 1, float(2**62), 0):
            for filter in (F.k == literal, F.k != literal, F.k > literal, F.k <= literal):
                expected = {name for name, metadata in rows.items() if filter.matches(metadata)}
                assert engine.select(installed().compile(filter)) == expected
        for beyond in (2**63, -(2**63), 1e19):
            with pytest.raises(UnsupportedFilterError, match="max_number"):
                installed().compile(F.k == beyond)


def test_sizes_are_within_what_the_engine_takes_or_refused(installed: type[Dialect[Any]]) -> None:
    with SqliteRows() as engine:
        engine.load({"hit": {"k": 7}, "miss": {}})
        many = list(range(10_000))
        assert engine.select(installed().compile(F.k.in_(many))) == {"hit"}
        deep: Any = F.a.b.c.not_in([1, "x", True])
        for level in range(15):
            deep = (deep & (F.k == 7)) if level % 2 else (F.a.b.c.in_([level, "x"]) | deep)
        assert engine.select(installed().compile(deep)) == {"hit"}
        path = F
        for _ in range(60):
            path = path["k"]
        assert engine.select(installed().compile(path.is_null())) == {"hit", "miss"}  # type: ignore[attr-defined]
        with pytest.raises(UnsupportedFilterError, match="at most 60"):
            installed().compile(path["k"] == 1)  # type: ignore[arg-type]
        with pytest.raises(UnsupportedFilterError, match="max_depth"):
            installed().compile(((deep & (F.k == 1)) | (F.k == 2)) & (F.k == 3))
        flat: Any = F.k == 7
        for number in range(799):
            flat = flat & (F[f"k{number}"] != 7)  # comparisons of one key would be merged
        assert engine.select(installed().compile(flat)) == {"hit"}
        with pytest.raises(UnsupportedFilterError, match="max_atoms"):
            installed().compile(flat & (F.one_more != 7))


@pytest.mark.parametrize(
    ("only", "count"),
    [
        # tests/dialects/conformance and tests/store/conformance run both suites whole.
        ("column or grouping or constants or outlive", 11),
        pytest.param("", 20, marks=pytest.mark.wide),
    ],
)
@pytest.mark.wide
def test_its_own_tests_pass(only: str, count: int, tmp_path: Path) -> None:
    """The conformance kit, run as someone outside would: in the package's folder, by pytest."""
    places = [str(EXAMPLE / "src"), str(EXAMPLE.parents[1])]
    run = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "not heavy",
            "-k",
            only,
            "--deselect",  # tests/store/conformance runs it
            f"{EXAMPLE}/tests/test_store.py::TestLiteStore",
            str(EXAMPLE),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    passed = re.search(r"(\d+) passed", run.stdout)
    assert passed is not None
    assert int(passed.group(1)) >= count


def test_its_readme_prints_what_it_claims(installed: type[Dialect[Any]], tmp_path: Path) -> None:
    text = (EXAMPLE / "README.md").read_text("utf-8")
    found = re.search(r"```python\n(.*?)```\s*```text\n(.*?)```", text, re.DOTALL)
    assert found is not None
    script = tmp_path / "example.py"
    script.write_text(found.group(1), "utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == found.group(2)


def test_the_readme_names_files_that_exist() -> None:
    text = (EXAMPLE / "README.md").read_text("utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (EXAMPLE / target).exists(), target
