"""Install the wheel with each extra alone, as a user would, and use what the extra is for.

    python -m tools.try_extras                       every extra, on every CPython from 3.11 on
    python -m tools.try_extras qdrant --python 3.12  this one, on that version

For each version of Python the wheel is first installed without any extra, and every extra's
program has to fail there with the line that installs what is missing. Then each extra gets an
environment of its own, and the same program has to run. pip takes the packages from its index or
its cache. What brings gigabytes is tried only when it is named.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from vecstore.installing import install_line

ROOT = Path(__file__).resolve().parent.parent
HUGE = ("sentence-transformers",)
"""They bring torch."""
SILENT = ("otel", "fast", "int8", "redis", "testing")
"""Without them something is done in another way, or the error is Python's own."""
EXTRAS = [
    *tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
]

_STORE = """
from vecstore import Document, open_store
with open_store({address!r}, embedder=lambda texts: [[1.0, float(len(one))] for one in texts]) as store:
    store.add([Document("one", {{"n": 1}}, id="1"), Document("two", {{"n": 2}}, id="2")])
    found = store.search("two", filter="n >= 2")
    assert [one.id for one in found] == ["2"], found
"""  # noqa: E501
# What stands at the other end of these is nobody: the client has to be there to find out.
_NOBODY = """
from vecstore import BackendError, open_store
try:
    open_store({address!r}, embedder=lambda texts: [[1.0, 2.0] for _ in texts]).count()
except BackendError as error:
    print(error)
else:
    raise AssertionError("somebody answers there")
"""
_READ = """
from vecstore.indexing import Source, {reader}
source = Source(id="a", load=lambda: {content!r}, kind="{kind}", metadata={{}})
found = list({reader}({options})(source))
assert [one.text for one in found if "bread" in one.text], found
"""
_PDF_PARTS = (
    b"%PDF-1.4\n",
    b"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n",
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n",
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources"
    b"<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj\n",
    b"4 0 obj<</Length 34>>stream\nBT /F 9 Tf 9 50 Td (bread) Tj ET\n\nendstream endobj\n",
)
_PDF = (
    b"".join(_PDF_PARTS)
    + b"xref\n0 5\n0000000000 65535 f \n"
    + b"".join(b"%010d 00000 n \n" % len(b"".join(_PDF_PARTS[:end])) for end in range(1, 5))
    + b"trailer<</Root 1 0 R/Size 5>>\nstartxref\n%d\n%%%%EOF\n" % len(b"".join(_PDF_PARTS))
)

SMOKES: dict[str, str] = {
    "pgvector": _NOBODY.format(address="postgresql://127.0.0.1:9/nobody?table=docs"),
    "pgvector-embedded": _STORE.format(address="pgvector+embedded:data?table=docs"),
    "qdrant": _STORE.format(address="qdrant:data?collection=docs"),
    "chroma": _STORE.format(address="chroma:data?collection=docs"),
    "lancedb": _STORE.format(address="lancedb:data?table=docs"),
    "milvus": _NOBODY.format(address="milvus://127.0.0.1:9/nobody?timeout=3"),
    "milvus-embedded": _STORE.format(address="milvus:docs.db?collection=docs"),
    "duckdb": _STORE.format(address="duckdb:docs.db?table=docs"),
    "redis": """
import redis
from vecstore import compile_filter
try:
    redis.Redis(port=9).ft("docs").search(compile_filter("year == 2020", "redis").query)
except redis.ConnectionError as error:
    print(error)
""",
    "redis-embedded": """
from vecstore.dialects.redis.embedded import EmbeddedServer
EmbeddedServer("data").close()
""",
    "pinecone": _NOBODY.format(address="pinecone://docs/kb?host=http://127.0.0.1:9"),
    "weaviate": _NOBODY.format(address="weaviate://127.0.0.1:9/Docs"),
    "otel": """
from opentelemetry import trace
from vecstore import Document, SimpleVectorStore
SimpleVectorStore().add([Document("one", {}, "1", [1.0])])
""",
    "sql": """
from vecstore import parse
from vecstore.interop import from_sql
assert from_sql("year > 2020") == parse("year > 2020")
""",
    "parquet": """
from vecstore import Document, SimpleVectorStore, copy
source, back = SimpleVectorStore(), SimpleVectorStore()
source.add([Document("one", {"n": 1}, "1", [1.0, 2.0])])
copy(source, "docs.parquet")
copy("docs.parquet", back)
assert back.get() == source.get()
""",
    "langchain": """
from vecstore import SimpleVectorStore
from vecstore.adapters.langchain import VecstoreVectorStore
VecstoreVectorStore(SimpleVectorStore(lambda texts: [[1.0] for _ in texts])).add_texts(["one"])
""",
    "haystack": """
from vecstore import SimpleVectorStore
from vecstore.adapters.haystack import VecstoreDocumentStore
assert VecstoreDocumentStore(SimpleVectorStore()).count_documents() == 0
""",
    "llama-index": """
from vecstore import SimpleVectorStore
from vecstore.adapters.llama_index import VecstoreVectorStore
VecstoreVectorStore(store=SimpleVectorStore())
""",
    "cli": """
import subprocess, sys
done = subprocess.run([sys.executable, "-m", "vecstore", "compile", "year > 2020", "-d", "qdrant"],
                      capture_output=True, text=True)
print(done.stderr)
assert done.returncode == 0, done.stderr
assert "2020" in done.stdout
""",
    "wordllama": """
from vecstore.embedders import open_embedder
assert len(open_embedder("wordllama").embed_query("bread")) == 256
""",
    "openai": """
from vecstore.embedders import open_embedder
print(open_embedder("openai:some-model", api_key="none", base_url="http://127.0.0.1:9/v1"))
""",
    "sentence-transformers": """
from vecstore.embedders import SentenceTransformersEmbedder
try:
    SentenceTransformersEmbedder("/nowhere/model")
except Exception as error:
    if type(error).__name__ == "BackendNotInstalledError":
        raise
""",
    "fast": """
import orjson
from vecstore import Document, SimpleVectorStore
store, back = SimpleVectorStore(), SimpleVectorStore()
store.add([Document("one", {"n": 1}, "1", [1.0, 2.0])])
store.save("kb.json")
back.load("kb.json")
assert back.get() == store.get()
""",
    "int8": """
import simsimd
from vecstore import Document, SimpleVectorStore
store = SimpleVectorStore(quantize="int8")
store.add([Document("one", {}, "1", [1.0, 2.0]), Document("two", {}, "2", [2.0, 1.0])])
assert store.search(vector=[1.0, 2.0], top_k=1)[0].id == "1"
""",
    "markdown": _READ.format(
        reader="read_markdown", content=b"# Food\n\nbread\n", kind="markdown", options=""
    ),
    "html": _READ.format(
        reader="read_html", content=b"<h1>Food</h1><p>bread</p>", kind="html", options=""
    ),
    "html-main": _READ.format(
        reader="read_html",
        content=b"<article><h1>Food</h1>" + b"<p>Of bread there is much to say.</p>" * 9,
        kind="html",
        options="main=True",
    ),
    "pdf": _READ.format(reader="read_pdf", content=_PDF, kind="pdf", options=""),
    "tiktoken": """
from vecstore import BackendNotInstalledError
from vecstore.indexing import TokenSplitter
try:
    TokenSplitter(size=20, tokens="cl100k_base")
except BackendNotInstalledError:
    raise
except Exception as error:  # its vocabulary is downloaded, where a network is
    print(error)
""",
    "detect": _READ.format(
        reader="read_text",
        content="gr\u00fcn und blau, dazu bread und Käse für alle".encode("cp1252"),
        kind="text",
        options='encoding="detect"',
    ),
    "testing": "import vecstore.testing",
    "all": "from vecstore.embedders import open_embedder; open_embedder('wordllama')",
}
"""By extra, a program that does what the extra is for, in an empty folder."""


def pythons() -> Iterator[tuple[str, str]]:
    """The version and the path of each CPython from 3.11 on that is found here."""
    seen = set()
    kept = sorted(Path.home().glob(".pyenv/versions/*/bin/python3"))
    for candidate in [*[f"python3.{minor}" for minor in range(11, 20)], *map(str, kept), "python3"]:
        path = shutil.which(candidate)
        if path is None:
            continue
        told = subprocess.run(
            [path, "-c", "import ensurepip, sys, venv; print(sys.implementation.name, "
             "*sys.version_info[:2], sep='.')"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        found = re.fullmatch(r"cpython\.(3\.(\d+))\n", told.stdout)
        if found and int(found[2]) >= 11 and found[1] not in seen:
            seen.add(found[1])
            yield found[1], path


def wheel(folder: Path) -> Path:
    """The wheel, built into a folder by this Python."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


class Environment:
    """A new virtual environment with the wheel in it, and some extras.

    Args:
        python: Which interpreter it is of.
        folder: Where it is made.
        built: The wheel.
        extras: What is installed with it.

    Raises:
        subprocess.CalledProcessError: If pip cannot install them; its output is in the error.
    """

    def __init__(self, python: str, folder: Path, built: Path, *extras: str) -> None:
        self.folder = folder
        subprocess.run([python, "-m", "venv", str(folder)], check=True, capture_output=True)
        wanted = f"{built}[{','.join(extras)}]" if extras else str(built)
        self._call("-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted)

    def _call(self, *arguments: str, cwd: Path | None = None) -> None:
        names = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
        clean = {name: value for name, value in os.environ.items() if name not in names}
        clean |= {"HAYSTACK_TELEMETRY_ENABLED": "false", "PINECONE_API_KEY": "none"}
        subprocess.run(
            [str(self.folder / "bin" / "python"), *arguments],
            cwd=cwd or self.folder,
            env=clean,
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=1_800,
        )

    def fault(self, program: str) -> str:
        """What a program prints when it fails in an empty folder; nothing when it runs."""
        with tempfile.TemporaryDirectory() as empty:
            script = Path(empty) / "smoke.py"
            script.write_text(program, "utf-8")
            try:
                self._call(str(script), cwd=Path(empty))
            except subprocess.CalledProcessError as error:
                return str(error.output)
        return ""


def hint_is_wrong(bare: Environment, extra: str) -> str:
    """What an extra's program says without it, unless that is the line that installs it."""
    said = bare.fault(SMOKES[extra])
    if extra in SILENT:
        return ""
    return "" if _line(extra) in said else said or "it runs without the extra"


def _line(extra: str) -> str:
    """An extra that adds to another is named once the other is there, and that one before."""
    first = {"html-main": "html", "all": "wordllama"}.get(extra, extra)
    return install_line(first)


def tried(python: str, built: Path, extras: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each extra, and what is wrong with it on an interpreter; nothing when all is well."""
    with tempfile.TemporaryDirectory(prefix="vecstore-extras-") as folder:
        bare = Environment(python, Path(folder) / "bare", built)
        yield "(none)", bare.fault("from vecstore import parse, open_store; open_store('memory:')")
        for extra in extras:
            if wrong := hint_is_wrong(bare, extra):
                yield extra, f"without it: {wrong}"
                continue
            own = Path(folder) / extra
            try:
                yield extra, Environment(python, own, built, extra).fault(SMOKES[extra])
            except subprocess.CalledProcessError as error:
                yield extra, f"pip: {error.output}"
            shutil.rmtree(own, ignore_errors=True)


def main(arguments: Sequence[str]) -> int:
    """Try what was asked for, and tell.

    Returns:
        0; 1 where something does not work.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.try_extras")
    parser.add_argument(
        "extras", nargs="*", metavar="EXTRA", help="all but the huge ones without any"
    )
    parser.add_argument("--python", action="append", metavar="3.x", help="only this version")
    options = parser.parse_args(arguments)
    unknown = {*options.extras} - {*SMOKES}
    if unknown:
        parser.error(f"no extra is called {', '.join(sorted(unknown))}")
    extras = options.extras or [one for one in EXTRAS if one not in HUGE]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        built = wheel(Path(folder))
        for version, python in pythons():
            if options.python and version not in options.python:
                continue
            started = time.monotonic()
            for extra, wrong in tried(python, built, extras):
                took, started = time.monotonic() - started, time.monotonic()
                print(
                    f"{version}  {extra:22} {took:5.0f} s  {'FAILED' if wrong else 'works'}",
                    flush=True,
                )
                if wrong:
                    failed += 1
                    print("    " + wrong.strip().replace("\n", "\n    "))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
