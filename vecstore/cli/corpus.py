"""Real documents that every machine with Python has: the docstrings of its standard library.

Nothing is imported or run. The source files are parsed, and what stands in the syntax tree
becomes the metadata: scalars, lists, nested objects, and keys that hold spaces and dots.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from vecstore.document import Document
from vecstore.errors import ConfigurationError
from vecstore.filter.values import clean_metadata

MIN_WORDS = 10
"""Shorter docstrings ("Return the name.") say too little to be found by meaning."""

_NOT_DOCUMENTATION = frozenset(
    {"__pycache__", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "tests", "turtledemo"}
)
_DEPRECATED = re.compile(r"\bdeprecated\b", re.IGNORECASE)

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def library_files(root: Path | None = None) -> list[Path]:
    """The source files of the public modules of the standard library, sorted.

    Args:
        root: Where the library lies; this interpreter's own when left out.

    Raises:
        ConfigurationError: If this Python came without the sources of its library.
    """
    root = root or Path(sysconfig.get_path("stdlib"))
    # The same folder may hold site-packages: only what belongs to the library is walked through.
    files = [
        path
        for top in sorted(root.iterdir())
        if top.name.removesuffix(".py") in sys.stdlib_module_names
        for path in (sorted(top.rglob("*.py")) if top.is_dir() else [top])
        if _is_public(path.relative_to(root))
    ]
    if not files:
        raise ConfigurationError(
            f"there are no source files of the standard library in {root}; run the demo with a "
            "Python that has them, such as one from python.org or from your system's packages"
        )
    return files


def collect(
    files: list[Path], root: Path | None = None, advance: Callable[[], object] = lambda: None
) -> list[Document]:
    """One document for each docstring of the public names in these files.

    Args:
        files: As given by :func:`library_files`.
        root: The folder that module names are counted from.
        advance: Called once a file, for a progress bar.
    """
    root = root or Path(sysconfig.get_path("stdlib"))
    documents: dict[str, Document] = {}
    for path in files:
        for document in documents_in(path.read_bytes(), path.relative_to(root)):
            # A name that is defined twice (once a platform, say) is documented by the first.
            documents.setdefault(document.id, document)
        advance()
    return list(documents.values())


def documents_in(source: bytes, file: Path) -> Iterator[Document]:
    """The documents in one source file.

    Args:
        source: Its content.
        file: Its path, counted from the root of the library.

    Example:
        >>> text = '"This module exists for the sake of one example in a docstring."'
        >>> [document.id for document in documents_in(text.encode(), Path("json/tool.py"))]
        ['json.tool']
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd escapes in a library are none of our business
        tree = ast.parse(source)
    parts = [part for part in file.with_suffix("").parts if part != "__init__"]
    module = ".".join(parts)
    about_module: dict[str, Any] = {
        "module": module,
        "package": {"name": parts[0], "depth": len(parts), "path": parts},
    }
    if _warns_of_deprecation(tree):
        about_module["deprecated"] = True
    lines = source.count(b"\n") + 1
    for node, qualified, kind in _public_definitions(tree):
        text = ast.get_docstring(node) or ""
        words = len(text.split())
        if words < MIN_WORDS:
            continue
        first, last = (
            (1, lines)
            if isinstance(node, ast.Module)
            else (node.lineno, node.end_lineno or node.lineno)
        )
        metadata = {
            **about_module,
            "kind": kind,
            "name": qualified.rpartition(".")[2] or parts[-1],
            "length": len(text),
            "doc.words": words,
            "lines of code": last - first + 1,
            "words per line": round(words / (last - first + 1), 3),
            "source": {"file": file.as_posix(), "first line": first},
        }
        if not isinstance(node, ast.Module):
            metadata.update(_about_definition(node))
        if _DEPRECATED.search(text.partition("\n\n")[0]):
            metadata["deprecated"] = True
        name = f"{module}.{qualified}" if qualified else module
        yield Document(_printable(text), clean_metadata(metadata), id=name)


def _is_public(file: Path) -> bool:
    return not any(
        part in _NOT_DOCUMENTATION or (part.startswith("_") and part != "__init__.py")
        for part in file.parts
    )


def _public_definitions(
    module: ast.Module,
) -> Iterator[tuple[ast.Module | Definition, str, str]]:
    """The module, its public classes and functions, and their methods, in order of the source."""
    yield module, "", "module"
    waiting: list[tuple[ast.stmt, str, bool]] = [
        (statement, "", False) for statement in reversed(module.body)
    ]
    while waiting:
        node, prefix, in_class = waiting.pop()
        if isinstance(node, ast.If | ast.Try):
            handlers = node.handlers if isinstance(node, ast.Try) else []
            inner = [*node.body, *[part for one in handlers for part in one.body], *node.orelse]
            waiting.extend((statement, prefix, in_class) for statement in reversed(inner))
        elif isinstance(node, Definition) and not node.name.startswith("_"):
            qualified = prefix + node.name
            if isinstance(node, ast.ClassDef):
                yield node, qualified, "class"
                waiting.extend(
                    (statement, f"{qualified}.", True) for statement in reversed(node.body)
                )
            else:
                yield node, qualified, "method" if in_class else "function"


def _about_definition(node: Definition) -> dict[str, Any]:
    about: dict[str, Any] = {
        "decorators": [ast.unparse(decorator) for decorator in node.decorator_list]
    }
    if isinstance(node, ast.ClassDef):
        about["bases"] = [ast.unparse(base) for base in node.bases]
        return about
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    about["parameters"] = [one.arg for one in named if one.arg not in ("self", "cls")]
    about["raises"] = sorted(set(_raised_in(node)))
    about["returns"] = ast.unparse(node.returns) if node.returns else None
    if isinstance(node, ast.AsyncFunctionDef):
        about["async"] = True
    if _warns_of_deprecation(node):
        about["deprecated"] = True
    return about


def _raised_in(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Raise) and inner.exc is not None:
            raised = inner.exc.func if isinstance(inner.exc, ast.Call) else inner.exc
            name = ast.unparse(raised)
            # A variable that is raised again says nothing: classes begin with a capital letter.
            if name.rpartition(".")[2][:1].isupper():
                yield name


def _warns_of_deprecation(node: ast.Module | Definition) -> bool:
    """Whether the statements of the definition itself say that the whole of it is deprecated."""
    return any(
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and ast.unparse(statement.value.func) == "warnings._deprecated"
        for statement in node.body
    )


def _printable(text: str) -> str:
    """The text without characters that no store can hold."""
    plain = inspect.cleandoc(text).replace("\0", "�")
    return plain.encode("utf-8", "replace").decode("utf-8")
