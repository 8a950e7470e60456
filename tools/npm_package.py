"""Files out of an npm package: fetched once, held against a checksum, kept under ``build/``.

Nothing of the package is run, and nothing it depends on is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class NpmPackage(NamedTuple):
    """One version of a package, and what is taken from it.

    Attributes:
        name: Its name.
        version: Its version.
        sha512: Of its archive, in base64, as npm calls it ``integrity``.
        files: Names in the package.
    """

    name: str
    version: str
    sha512: str
    files: Sequence[str]


PYODIDE = NpmPackage(
    "pyodide",
    "314.0.8",
    "74Wq1kXOC+CCEzAfxuRAO701nAcCMLjf8NrwvWpu8S41dVMXwXmLQ05dYB+F4e46AdnGo0oq7YHSVUpHsoarLQ==",
    (
        "pyodide.mjs",
        "pyodide.asm.mjs",
        "pyodide.asm.wasm",
        "pyodide-lock.json",
        "python_stdlib.zip",
        "package.json",
    ),
)
AXE = NpmPackage(
    "axe-core",
    "4.14.1",
    "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
    ("axe.min.js", "LICENSE"),
)


class NotFetched(Exception):
    """The package is not here; the text says why."""


def fetch(package: NpmPackage, kept: Path = ROOT / "build" / "npm") -> Path:
    """The folder with the files of a package.

    Args:
        package: Which.
        kept: Where packages are kept from one time to the next.

    Raises:
        NotFetched: If there is no npm, or it cannot fetch the package.
        ValueError: If what it fetched is something else than the checksum says.
    """
    folder = kept / f"{package.name}-{package.version}"
    if folder.is_dir():
        return folder
    npm = shutil.which("npm")
    if npm is None:
        raise NotFetched("there is no npm")
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept) as temporary:
        work = Path(temporary)
        archive = work / "archive"
        archive.mkdir()
        try:
            done = subprocess.run(
                [
                    npm, "pack", f"{package.name}@{package.version}", "--silent",
                    "--ignore-scripts", "--fetch-retries=1", "--fetch-timeout=120000",
                    "--pack-destination", str(archive),
                ],
                cwd=work, capture_output=True, text=True, timeout=300, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotFetched(f"npm did not fetch {package.name}: {error}") from None
        found = list(archive.glob("*.tgz"))
        if done.returncode or len(found) != 1:
            told = (done.stderr.strip() or "it says nothing").splitlines()[-1]
            raise NotFetched(f"npm did not fetch {package.name}: {told}")
        content = found[0].read_bytes()
        if base64.b64encode(hashlib.sha512(content).digest()).decode() != package.sha512:
            raise ValueError(f"{package.name} {package.version} from npm is not what it was")
        unpacked = work / "files"
        with tarfile.open(found[0]) as packed:
            for name in package.files:
                source = packed.extractfile(f"package/{name}")
                assert source is not None, name
                target = unpacked / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(source.read())
        try:
            os.replace(unpacked, folder)
        except OSError:  # another process was faster
            if not folder.is_dir():
                raise
    return folder
