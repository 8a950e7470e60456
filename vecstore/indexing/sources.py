"""Where documents come from: a name, the bytes behind it, and what kind of bytes they are."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from vecstore.errors import ConfigurationError, SourceError

KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        ".adoc": "text",
        ".csv": "csv",
        ".htm": "html",
        ".html": "html",
        ".json": "json",
        ".jsonl": "jsonl",
        ".log": "text",
        ".markdown": "markdown",
        ".md": "markdown",
        ".ndjson": "jsonl",
        ".pdf": "pdf",
        ".py": "text",
        ".rst": "text",
        ".text": "text",
        ".txt": "text",
        ".xhtml": "html",
    }
)
"""What kind of source a file is, by the end of its name in small letters."""

MAX_FILE_BYTES: Final = 100_000_000
"""What :func:`folder` reads of one file unless told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Something that documents are read from: a file, a page, a row of yours.

    Args:
        id: What names it for good, such as a path relative to a folder, an address, or a key.
            Documents carry it under ``source``.
        load: Returns its bytes. Called each time that they are needed.
        kind: Which reader takes it: ``"text"``, ``"markdown"``, ``"html"``, ``"json"``,
            ``"jsonl"``, ``"csv"``, ``"pdf"``, or one that you have added to ``READERS``.
        metadata: What every document read from it carries. What the bytes themselves say never
            replaces it.
        note: Called by readers with what they leave out without an error, such as pages that have
            no text.

    Example:
        >>> source = Source(id="greeting", load=lambda: b"Hello", kind="text", metadata={"n": 1})
        >>> source
        Source(id='greeting', kind='text')
        >>> source.read_bytes()
        b'Hello'
    """

    id: str
    load: Callable[[], bytes] = field(repr=False)
    kind: str
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    note: Callable[[str], object] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("id", "kind"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value:
                raise ConfigurationError(f"the {name} of a source is a text, not {value!r}")
        if not callable(self.load):
            raise ConfigurationError(
                f"load of the source {self.id!r} is a function that returns its bytes, not "
                f"{type(self.load).__name__}; write load=lambda: data"
            )
        if not isinstance(self.metadata, Mapping):
            raise ConfigurationError(
                f"metadata of the source {self.id!r} is a mapping, not a "
                f"{type(self.metadata).__name__}"
            )

    def read_bytes(self) -> bytes:
        """The bytes, from ``load``.

        Raises:
            SourceError: If they cannot be had; whatever ``load`` raised is the cause.
        """
        try:
            data: Any = self.load()
        except SourceError:
            raise
        except Exception as error:
            reason = f": {error.strerror}" if isinstance(error, OSError) and error.strerror else ""
            raise SourceError(
                f"{self.id} cannot be loaded ({type(error).__name__}{reason})", source=self.id
            ) from error
        if isinstance(data, bytearray | memoryview):
            data = bytes(data)
        if not isinstance(data, bytes):
            remedy = "; encode it: .encode()" if isinstance(data, str) else ""
            raise SourceError(
                f"load of {self.id} returned {type(data).__name__}, not bytes{remedy}",
                source=self.id,
            )
        return data


def text_source(
    id: str, text: str, kind: str = "text", metadata: Mapping[str, Any] | None = None
) -> Source:
    """A source of a text that is at hand.

    Example:
        >>> text_source("note", "# Hello", "markdown")
        Source(id='note', kind='markdown')
    """
    return Source(id=id, load=text.encode, kind=kind, metadata=metadata or {})


def file_source(
    path: str | os.PathLike[str],
    id: str | None = None,
    kind: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    *,
    max_bytes: int | None = MAX_FILE_BYTES,
) -> Source:
    """A source of one file.

    Args:
        path: The file.
        id: What names it; its path, with slashes, when left out.
        kind: By the end of its name when left out.
        metadata: What every document read from it carries.
        max_bytes: A larger file is an error when it is read; None reads any.

    Raises:
        ConfigurationError: If no kind is known for the end of its name.

    Example:
        >>> file_source("guides/start.md", metadata={"team": "docs"})
        Source(id='guides/start.md', kind='markdown')
    """
    file = Path(path)
    kind = kind or KINDS.get(file.suffix.lower())
    if kind is None:
        raise ConfigurationError(
            f"what kind of source {file} is, is not known from its name; write kind='text', or "
            f"another of {_listed(KINDS.values())}"
        )
    name = file.as_posix() if id is None else id
    return Source(id=name, load=_loader(file, name, max_bytes), kind=kind, metadata=metadata or {})


def folder(
    root: str | os.PathLike[str],
    patterns: Sequence[str] = ("**/*",),
    *,
    kinds: Mapping[str, str] = KINDS,
    metadata: Mapping[str, Any] | None = None,
    hidden: bool = False,
    max_bytes: int | None = MAX_FILE_BYTES,
    skipped: Callable[[Path], object] | None = None,
) -> Iterator[Source]:
    """The files of a folder and of those in it, as sources, in the order of their names.

    The id of each is its path relative to ``root``, with slashes on every system. Listing reads no
    file. A folder that cannot be listed is an error, never a folder without files: whoever
    removes what is no longer there can rely on a listing that came to its end.

    Args:
        root: The folder.
        patterns: Which files, by their relative path: ``*`` and ``?`` stay within one name, ``**``
            stands for any folders, none included.
        kinds: Which kind a file is, by the end of its name. Others are left out: add to
            ``KINDS`` what you have besides, ``{**KINDS, ".tex": "text"}``.
        metadata: What every document carries.
        hidden: Whether files and folders whose names start with a dot are looked at.
        max_bytes: A larger file is an error when it is read; None reads any.
        skipped: Called with each file that fits a pattern and is left out: its kind is not known,
            or it is a link out of the folder or to nothing. Links to folders are not followed.

    Raises:
        SourceError: If ``root`` or a folder in it cannot be listed, or a name is no text.
        ConfigurationError: If a pattern names an ending that ``kinds`` does not know.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     _ = pathlib.Path(root, "b.txt").write_text("B")
        ...     pathlib.Path(root, "a").mkdir()
        ...     _ = pathlib.Path(root, "a", "x.txt").write_text("X")
        ...     [source.id for source in folder(root)], [s.id for s in folder(root, ["*.txt"])]
        (['a/x.txt', 'b.txt'], ['b.txt'])
    """
    if isinstance(patterns, str):
        patterns = (patterns,)
    for pattern in patterns:
        ending = re.search(r"\.\w+\Z", pattern)
        if ending and ending[0].lower() not in kinds:
            raise ConfigurationError(
                f"the pattern {pattern!r} names files whose kind is not known; write "
                f"kinds={{**KINDS, {ending[0].lower()!r}: 'text'}}, or another of "
                f"{_listed(kinds.values())}"
            )
        try:
            re.compile(_translated(pattern))
        except re.error as error:
            raise ConfigurationError(f"the pattern {pattern!r} cannot be read: {error}") from None
    expression = re.compile("|".join(_translated(pattern) for pattern in patterns) or r"(?!)")
    return _files(Path(root), expression, kinds, metadata or {}, hidden, max_bytes, skipped)


def _files(
    root: Path,
    expression: re.Pattern[str],
    kinds: Mapping[str, str],
    metadata: Mapping[str, Any],
    hidden: bool,
    max_bytes: int | None,
    skipped: Callable[[Path], object] | None,
) -> Iterator[Source]:
    real_root = os.path.realpath(root)
    waiting = [""]  # folders and files by relative path, the next one last
    while waiting:
        relative = waiting.pop()
        path = root / relative
        if relative and not relative.endswith("/"):
            if not expression.fullmatch(relative):
                continue
            kind = kinds.get(path.suffix.lower())
            if kind is None or not _lies_in(real_root, path):
                if skipped is not None:
                    skipped(path)
                continue
            yield Source(
                id=_checked_name(relative, root),
                load=_loader(path, relative, max_bytes),
                kind=kind,
                metadata=metadata,
            )
            continue
        try:
            with os.scandir(path) as entries:
                found = [
                    relative + entry.name + ("/" if entry.is_dir(follow_symlinks=False) else "")
                    for entry in entries
                    if (hidden or not entry.name.startswith("."))
                    and not (entry.is_symlink() and entry.is_dir())
                ]
        except OSError as error:
            shown = os.fspath(path).encode("utf-8", "backslashreplace").decode()
            raise SourceError(
                f"the folder {shown} cannot be listed: {error.strerror or type(error).__name__}",
                source=shown,
            ) from error
        waiting += sorted(found, reverse=True)


def _lies_in(real_root: str, path: Path) -> bool:
    """Whether a path leads to a file, and not out of the folder by a link."""
    if not path.is_file():
        return False
    return not path.is_symlink() or os.path.realpath(path).startswith(real_root + os.sep)


def _checked_name(relative: str, root: Path) -> str:
    try:
        relative.encode()
    except UnicodeEncodeError:
        shown = relative.encode("utf-8", "backslashreplace").decode()
        raise SourceError(
            f"the name of the file {shown} in {root} is no text; rename it, or leave it out by "
            "patterns",
            source=shown,
        ) from None
    return relative


def _loader(path: Path, name: str, max_bytes: int | None) -> Callable[[], bytes]:
    def load() -> bytes:
        with path.open("rb") as file:
            if max_bytes is None:
                return file.read()
            # Not by its size: that of a device or a pipe is 0.
            data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise SourceError(
                f"{name} is larger than {max_bytes:,} bytes; raise max_bytes, or leave it out by "
                "patterns",
                source=name,
            )
        return data

    return load


def _translated(pattern: str) -> str:
    """A pattern over paths as a regular expression."""
    parts = []
    for piece in re.split(r"(\*\*/|\*\*|\*|\?|\[!?[^/\]]+\])", pattern):
        if piece == "**/":
            parts.append("(?:.*/)?")
        elif piece == "**":
            parts.append(".*")
        elif piece == "*":
            parts.append("[^/]*")
        elif piece == "?":
            parts.append("[^/]")
        elif piece.startswith("[") and piece.endswith("]") and len(piece) > 2:
            inner = re.sub(r"([^\w-])", r"\\\1", piece[1:-1].removeprefix("!"))
            parts.append(f"[^/{inner}]" if piece.startswith("[!") else f"[{inner}]")
        else:
            parts.append(re.escape(piece))
    return "(?s:" + "".join(parts) + ")"


def _listed(kinds: Any) -> str:
    return ", ".join(repr(kind) for kind in sorted(set(kinds)))
