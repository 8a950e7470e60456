"""A schema proposed from documents, with what was seen under each key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from vecstore.errors import ConfigurationError
from vecstore.filter.text import key_text
from vecstore.filter.values import UnusableValue, shown, to_metadata
from vecstore.schema.kinds import KeyType, Misfit, Others

_EXAMPLES = 3
_KEYS_AT_MOST = 10_000
_LAST_EXACT = 2**53
_TEXT_KINDS = ("datetime", "date", "time", "uuid")


class _Scannable(Protocol):
    def scan(self) -> Iterable[Any]: ...


@dataclass(slots=True)
class KeyReport:
    """What documents hold under one key.

    Attributes:
        path: The key.
        kinds: How many values there are of each kind, of those in lists each element.
        present: How many documents have it; a null and an empty list are absent.
        lists: How many of them have a list.
        objects: How many have an object, whose keys have reports of their own.
        past_floats: Whether an integer is among them that no float holds exactly.
        examples: The first few different values.
        type: What the schema declares it as; None where it cannot be declared.
        misfit: Why it is declared so loosely; None where every value fits.
    """

    path: tuple[str, ...]
    kinds: dict[str, int] = field(default_factory=dict)
    present: int = 0
    lists: int = 0
    objects: int = 0
    past_floats: bool = False
    examples: list[Any] = field(default_factory=list)
    type: KeyType | None = None
    misfit: str | None = None

    def _take(self, value: Any) -> None:
        self.present += 1
        if type(value) is dict:
            self.objects += 1
            return
        if type(value) is list:
            self.lists += 1
        if len(self.examples) < _EXAMPLES and value not in self.examples:
            self.examples.append(value)
        for item in value if type(value) is list else (value,):
            kind = _kind(item)
            self.past_floats |= kind == "int" and abs(item) > _LAST_EXACT
            self.kinds[kind] = self.kinds.get(kind, 0) + 1

    def _settle(self) -> None:
        """Choose a type that every value has; never one that most of them have."""
        if self.objects:
            if self.objects < self.present:
                self.misfit = (
                    f"an object in {self.objects:,} documents, a value in "
                    f"{self.present - self.objects:,}"
                )
            return
        kinds = set(self.kinds)
        if not kinds:
            self.type, self.misfit = KeyType("any"), "null in every document"
            return
        if kinds <= {"int", "float"}:
            kind = "int" if kinds == {"int"} else "decimal" if self.past_floats else "float"
        elif len(kinds) == 1:
            [kind] = kinds
        elif kinds <= {"str", *_TEXT_KINDS}:
            kind = "str"
        else:
            kind = "any"
            self.misfit = "values of " + ", ".join(
                f"{name} ({count:,})" for name, count in sorted(self.kinds.items())
            )
        if 0 < self.lists < self.present:
            kind = "any"
            self.misfit = f"a list in {self.lists:,} documents, one value in " + (
                f"{self.present - self.lists:,}"
            )
        self.type = KeyType(kind, many=kind != "any" and self.lists > 0)


@dataclass(slots=True)
class Inference:
    """What documents hold, key by key, and the schema that all of them fit.

    Attributes:
        documents: How many were looked at.
        keys: A report for each key, in the order in which they came.
        left_out: Documents whose metadata no store could hold, and why the first of them.

    Example:
        >>> found = Inference.of([{"year": 2020, "tags": ["a"]}, {"year": 2021.5}, {"year": None}])
        >>> print(found.report())
        3 documents
        year  float      in 67 %   such as 2020, 2021.5
        tags  list[str]  in 33 %   such as ['a']
    """

    documents: int = 0
    keys: dict[tuple[str, ...], KeyReport] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, source: _Scannable | Iterable[Any]) -> Inference:
        """Look at documents.

        Args:
            source: A store, whose documents are scanned; or documents, or their metadata.

        Raises:
            ConfigurationError: If it is none of these, or has more than 10,000 different keys.
        """
        scan = getattr(source, "scan", None)
        documents = scan() if callable(scan) else source
        if isinstance(documents, str | bytes | Mapping) or not isinstance(documents, Iterable):
            raise ConfigurationError(
                "a schema is inferred from a store, or from a list of documents or of their "
                f"metadata, not from a {type(documents).__name__}"
            )
        found = cls()
        for document in documents:
            found._look_at(getattr(document, "metadata", document))
        for report in found.keys.values():
            report._settle()
        found._leave_out_mixed()
        return found

    def _look_at(self, metadata: Any) -> None:
        self.documents += 1
        try:
            if not isinstance(metadata, Mapping):
                raise UnusableValue(f"metadata is an object, not {shown(metadata)}", "")
            metadata = to_metadata(metadata)
        except UnusableValue as error:
            place = f"{key_text(error.path)}: " if error.path else ""
            self.left_out.append(f"{place}{error.reason}" if not self.left_out else "")
            return
        waiting: list[tuple[tuple[str, ...], dict[str, Any]]] = [((), metadata)]
        while waiting:
            outer, mapping = waiting.pop()
            for name, value in mapping.items():
                path = (*outer, name)
                report = self.keys.get(path)
                if report is None:
                    report = self.keys[path] = KeyReport(path)
                    if len(self.keys) > _KEYS_AT_MOST:
                        raise ConfigurationError(
                            f"these documents have more than {_KEYS_AT_MOST:,} different keys: "
                            "their keys are data, and no schema says what they hold"
                        )
                if value is not None and value != []:
                    report._take(value)
                if type(value) is dict:
                    waiting.append((path, value))

    def _leave_out_mixed(self) -> None:
        """Keys that are an object here and a value there stay undeclared, with all inside them."""
        mixed = [path for path, report in self.keys.items() if report.objects and report.misfit]
        for path in mixed:
            for inner, report in self.keys.items():
                if inner[: len(path)] == path:
                    report.type = None

    @property
    def declared(self) -> dict[tuple[str, ...], KeyType]:
        """What a schema that every document fits declares.

        Keys whose values are of several kinds may hold anything. One that is an object in some
        documents only cannot be declared.
        """
        return {path: report.type for path, report in self.keys.items() if report.type}

    @property
    def others(self) -> Others:
        """Whether that schema has to allow keys that it does not declare."""
        declared = self.declared
        known = {path[:length] for path in declared for length in range(1, len(path) + 1)}
        return "refuse" if self.keys.keys() <= known else "allow"

    def report(self) -> str:
        """What was seen, a line for each key."""
        rows = [
            (
                key_text(report.path),
                "object" if report.type is None else str(report.type),
                f"in {100 * report.present / max(self.documents, 1):.0f} %",
                "such as " + ", ".join(shown(one, 40) for one in report.examples)
                if report.examples
                else "",
                "" if report.misfit is None else f"mixed: {report.misfit}",
            )
            for report in self.keys.values()
        ]
        widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
        lines = [f"{self.documents:,} documents"]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True)]
            lines.append("  ".join([*cells, *(one for one in row[3:] if one)]).rstrip())
        if self.left_out:
            lines.append(
                f"{len(self.left_out):,} left out, whose metadata cannot be stored; the first: "
                f"{self.left_out[0]}"
            )
        return "\n".join(lines)


def _kind(value: Any) -> str:
    if type(value) is not str:
        return type(value).__name__
    for name in _TEXT_KINDS:
        try:
            KeyType(name).settled(value)
        except Misfit:
            continue
        return name
    return "str"
