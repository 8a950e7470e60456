"""Mistakes in what a store tells of its keys and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.store.conformance.broken.registry import caught_by
from vecstore import DistinctValues, FieldInfo, SimpleVectorStore

Path = tuple[str, ...]


@caught_by("test_fields_are_those_of_the_documents")
class KnowsNoKeysInObjects(SimpleVectorStore):
    def fields(self, *arguments: Any, **options: Any) -> dict[str, FieldInfo]:
        found = super().fields(*arguments, **options)
        return {key: info for key, info in found.items() if len(info.path) == 1}


@caught_by("test_values_are_those_of_the_documents")
class TakesTrueForOne(SimpleVectorStore):
    def _held_values(self, path: Path, filter: Any) -> Iterator[tuple[Any, int]]:
        for value, count in super()._held_values(path, filter):
            yield (int(value) if value is True else value), count


@caught_by("test_values_are_counted_as_filters_count")
class CountsEachElement(SimpleVectorStore):
    def _held_values(self, path: Path, filter: Any) -> Iterator[tuple[Any, int]]:
        for value, count in super()._held_values(path, filter):
            if isinstance(value, list):
                yield from ((item, count) for item in value)
            else:
                yield value, count


@caught_by("test_bounds_are_those_of_the_documents")
class OrdersNumbersAsTexts(SimpleVectorStore):
    def _extremes(self, path: Path, filter: Any) -> Iterable[Any]:
        values = [*super()._extremes(path, filter)]
        numbers = sorted([one for one in values if type(one) in (int, float)], key=str)
        return [*[one for one in values if type(one) is str], *numbers[:1], *numbers[-1:]]


@caught_by("test_equal_values_of_several_types")
class HasOneKindOfNumber(SimpleVectorStore):
    def _held_values(self, path: Path, filter: Any) -> Iterator[tuple[Any, int]]:
        for value, count in super()._held_values(path, filter):
            whole = type(value) is float and value.is_integer()
            yield (int(value) if whole else value), count


@caught_by("test_integers_past_floats")
class OrdersByFloats(SimpleVectorStore):
    def _extremes(self, path: Path, filter: Any) -> Iterable[Any]:
        for value in super()._extremes(path, filter):
            yield float(value) if type(value) is int else value


@caught_by("test_statistics_inside_a_scope")
class TellsOfEveryTenant(SimpleVectorStore):
    def _held_values(self, path: Path, filter: Any) -> Iterator[tuple[Any, int]]:
        return super()._held_values(path, None)


@caught_by("test_what_is_no_key_is_refused")
class TakesAnythingForAKey(SimpleVectorStore):
    def distinct(self, key: Any, *arguments: Any, **options: Any) -> DistinctValues:
        return super().distinct(str(key) if key else "none", *arguments, **options)


@caught_by("test_more_keys_or_values_than_allowed")
class CountsWithoutEnd(SimpleVectorStore):
    def distinct(self, key: Any, *arguments: Any, **options: Any) -> DistinctValues:
        return super().distinct(key, *arguments, **{**options, "max_values": None})


@caught_by("test_statistics_of_what_is_evaluated")
class TellsOfTheWiderFilter(SimpleVectorStore):
    def _scan_metadata(
        self, filter: Any, *, batch_size: int
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for id, metadata in super()._scan_metadata(filter, batch_size=batch_size):
            yield id, {key: value for key, value in metadata.items() if key != "n"}
