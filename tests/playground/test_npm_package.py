"""What is taken out of an npm package, and what is said where it cannot be had."""

from __future__ import annotations

import base64
import hashlib
import io
import sys
import tarfile
from pathlib import Path

import pytest

from tools.npm_package import NotFetched, NpmPackage, fetch


def packed(**files: bytes) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return held.getvalue()


def checksum(content: bytes) -> str:
    return base64.b64encode(hashlib.sha512(content).digest()).decode()


ARCHIVE = packed(wanted=b"1", unwanted=b"2")
PACKAGE = NpmPackage("thing", "1.2.3", checksum(ARCHIVE), ("wanted",))


def npm(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let this script be the only program called npm."""
    folder.mkdir()
    program = folder / "npm"
    program.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.skipif(sys.platform == "win32", reason="programs are found otherwise there")
class TestFetching:
    def test_the_files_are_kept_and_fetched_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "served").write_bytes(ARCHIVE)
        npm(
            tmp_path / "bin",
            monkeypatch,
            "assert sys.argv[1:3] == ['pack', 'thing@1.2.3'] and '--ignore-scripts' in sys.argv\n"
            "target = Path(sys.argv[sys.argv.index('--pack-destination') + 1])\n"
            f"(target / 'thing.tgz').write_bytes(Path({str(tmp_path / 'served')!r}).read_bytes())",
        )
        kept = tmp_path / "kept"
        folder = fetch(PACKAGE, kept)
        assert {one.name: one.read_bytes() for one in folder.iterdir()} == {"wanted": b"1"}
        assert [one.name for one in kept.iterdir()] == ["thing-1.2.3"]
        monkeypatch.setenv("PATH", "")
        assert fetch(PACKAGE, kept) == folder

    def test_what_is_not_what_it_was_is_not_used(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "served").write_bytes(packed(wanted=b"something else"))
        npm(
            tmp_path / "bin",
            monkeypatch,
            "target = Path(sys.argv[sys.argv.index('--pack-destination') + 1])\n"
            f"(target / 'thing.tgz').write_bytes(Path({str(tmp_path / 'served')!r}).read_bytes())",
        )
        with pytest.raises(ValueError, match=r"thing 1\.2\.3 from npm is not what it was"):
            fetch(PACKAGE, tmp_path / "kept")
        assert list((tmp_path / "kept").iterdir()) == []

    def test_what_npm_says_is_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        npm(tmp_path / "bin", monkeypatch, "sys.exit('npm error\\nnpm error: no network')")
        with pytest.raises(NotFetched, match="npm did not fetch thing: npm error: no network"):
            fetch(PACKAGE, tmp_path / "kept")

    def test_no_npm(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(NotFetched, match="there is no npm"):
            fetch(PACKAGE, tmp_path / "kept")
