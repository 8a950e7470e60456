"""``fields``, ``distinct`` and ``minmax``: the same on every store, and as filters have it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from vecstore.document import Document
from vecstore.errors import FilterLimitError
from vecstore.filter.builder import F
from vecstore.filter.text import key_text
from vecstore.filter.tree import Expression, Key, Op, Value
from vecstore.store.base import VectorStore
from vecstore.testing.rows import oracle
from vecstore.testing.samples import KEYS, ODD_KEYS, ODD_PATHS, PATHS
from vecstore.testing.store_suite.base import Library, StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of
from vecstore.testing.store_suite.equality import with_types

_PATHS: tuple[tuple[str, ...], ...] = (
    *[(key,) for key in KEYS],
    ("n",),
    *PATHS,
    *[(key,) for key in ODD_KEYS[::7]],
    *ODD_PATHS[::4],
    ("nowhere",),
)
_FEW = 3
"""Of so many values a key, the count is compared with that of a filter."""


class Statistics(StoreSuiteBase):
    """Tests of what a store tells of its keys and values."""

    def test_fields_are_those_of_the_documents(self, library: Library) -> None:
        """Metadata comes from ``_scan_metadata`` otherwise than from ``_scan``."""
        store = library.store
        for filter in self._filters(library, 41, 6):
            rows = self._rows(library, filter)
            wanted = _fields(rows)
            found = store.fields(filter, max_fields=None)
            assert {one.path: dict(one.kinds) for one in found.values()} == wanted
            assert list(found) == [key_text(path) for path in sorted(wanted)]
            assert [one.key for one in found.values()] == list(found)
        for path in _PATHS[:8]:
            held = Expression(Op.ISNOTNULL, Key(*path))
            info = store.fields(max_fields=None).get(key_text(path))
            if self.answers(held):
                assert store.count(held) == (0 if info is None else info.documents), path

    def test_values_are_those_of_the_documents(self, library: Library) -> None:
        """``_held_values`` gives bent values, wrong numbers, or documents of another filter.

        Usually: True is taken for 1, or 1 for 1.0; a list comes as a text; keys are not quoted.
        """
        for number, filter in enumerate(self._filters(library, 42, 5)):
            rows = self._rows(library, filter)
            for path in _paths_of(number):
                self._check_values(library.store, path, filter, rows)

    def test_values_are_counted_as_filters_count(self, library: Library) -> None:
        """``_held_values`` and ``_compile_filter`` differ in what a document holds.

        A list counts once for each of its elements, however often they stand in it.
        """
        store, compared = library.store, 0
        for path in _PATHS:
            found = store.distinct(path)
            assert found.key == key_text(path)
            for one in [*found][:_FEW]:
                filter = Expression(Op.EQ, Key(*path), Value(one.value))
                if self.answers(filter):
                    compared += 1
                    assert store.count(filter) == one.count, filter.to_text()
        assert compared, "the store's dialect answers none of these filters"

    def test_bounds_are_those_of_the_documents(self, library: Library) -> None:
        """``_extremes`` orders by text, rounds, or mixes kinds; bools and lists have no part in it.

        Texts are ordered by code point, whatever the collation; large integers exactly.
        """
        for number, filter in enumerate(self._filters(library, 43, 5)):
            rows = self._rows(library, filter)
            for path in _paths_of(number):
                found = library.store.minmax(path, filter)
                numbers, strings = _bounds(rows, path)
                shown = f"{path}: {filter}"
                assert with_types(list(found.numbers or ())) == with_types(numbers), shown
                assert list(found.strings or ()) == strings, shown
                assert found.key == key_text(path)

    def test_equal_values_of_several_types(self, store: VectorStore) -> None:
        """What is equal to Python is not to the language, and the other way round.

        Usually: values are the keys of one dict, where True is 1, or JSON came back with 1 for 1.0.
        """
        nested = self.held_domain.fit({"v": {"a": 1}})
        held: list[Any] = [1, "1", 1.0, True, 1, [1.0, 1], ["1", "1"], -0.0, [0], None, []]
        rows = [{"v": value} for value in held]
        if any(self.held_domain.fit(row) != row for row in rows[:-2]):
            pytest.skip("the engine does not hold lists of all kinds")
        self._fill(store, [*map(self.held_domain.fit, rows), nested])
        values = {
            (type(one.value), one.value): (one.count, with_types(list(one.forms)))
            for one in store.distinct("v")
        }
        assert values == {
            (int, 1): (4, with_types([1, 1.0])),
            (int, 0): (2, with_types([0, 0.0])),
            (str, "1"): (2, with_types(["1"])),
            (bool, True): (1, with_types([True])),
        }
        assert [one.value for one in store.distinct("v", limit=2)] == [1, 0]
        assert [store.distinct("v", limit=limit).total for limit in (0, 3, 9)] == [4, 4, 4]
        bounds = store.minmax("v")
        assert with_types(list(bounds.numbers or ())) == with_types([0.0, 1])
        assert bounds.strings == ("1", "1")
        with pytest.raises(ValueError, match=r"read \.numbers or \.strings"):
            _ = bounds.min
        info = store.fields()["v"]
        assert info.kinds == {
            "bool": 1,
            "float": 2,
            "int": 2,
            "list[float]": 1,
            "list[int]": 1,
            "list[str]": 1,
            **({"object": 1} if nested else {}),
            "str": 1,
        }
        assert store.distinct("v.a").total == len(nested)
        assert store.minmax("v.a").min == (1 if nested else None)
        assert store.minmax("v.b").max is None

    def test_integers_past_floats(self, store: VectorStore) -> None:
        """Neighbours that float64 takes for one: ``_held_values`` and ``_extremes`` go through it.

        Dates are texts, and in the order of time.
        """
        low, high = self.held_domain.integers or (-(10**30), 10**30)
        low, high = max(low, -(10**30)), min(high, 10**30)
        self._fill(store, [{"v": value} for value in (high, high - 1, low, low + 1, 0, 0.5)])
        assert store.minmax("v").numbers == (low, high)
        assert (store.minmax("v").min, store.minmax("v").max) == (low, high)
        assert {one.value for one in store.distinct("v")} == {high, high - 1, low, low + 1, 0, 0.5}
        days = [f"{year}-0{month}-01" for year in (2019, 2024) for month in (3, 9)]
        self._fill(store, [{"day": day} for day in days])
        assert store.minmax("day").strings == (days[0], days[-1])
        assert [one.value for one in store.distinct("day")] == days

    def test_statistics_inside_a_scope(self, store: VectorStore) -> None:
        """A hook leaves its filter aside: another tenant's keys and values are told."""
        documents = [
            self.document(f"{who}-{n}", {"who": who, "n": n, f"of_{who}": "x"})
            for who in ("ours", "theirs")
            for n in range(3 if who == "ours" else 9)
        ]
        store.add(documents)
        view = store.scoped(F.who == "ours")
        assert [one.value for one in view.distinct("n")] == [0, 1, 2]
        assert view.minmax("n").numbers == (0, 2)
        assert {"who", "n", "of_ours"} == {key for key in view.fields() if not _is_suites(key)}
        assert view.distinct("of_theirs").total == 0
        assert [(one.value, one.count) for one in view.distinct("who")] == [("ours", 3)]
        assert view.distinct("n", "n > 0").total == 2
        assert store.distinct("n").total == 9

    def test_what_is_no_key_is_refused(self, store: VectorStore) -> None:
        """A method of the store's own reads keys by itself."""
        anything: Any = store
        for ask in (anything.distinct, anything.minmax):
            assert ask(F.a.b).key == ask("a.b").key == ask(["a", "b"]).key == ask(Key("a", "b")).key
            assert ask('"a.b"').key == ask(["a.b"]).key == '"a.b"'
        with self.no_call(store):
            for ask in (anything.distinct, anything.minmax):
                for wrong in (None, 1, b"a", {"a": 1}, F.a == 1, True):
                    with pytest.raises(TypeError):
                        ask(wrong)
                for unusable in ("", "a..b", "__vecstore_x", "\0", [], ["a", ""]):
                    with pytest.raises(ValueError, match=r"key|text|name"):
                        ask(unusable)
            with pytest.raises(ValueError, match="limit"):
                anything.distinct("a", limit=-1)
            with pytest.raises(ValueError, match="max_values"):
                anything.distinct("a", max_values=0)
            with pytest.raises(TypeError):
                anything.fields(limit=3)

    def test_more_keys_or_values_than_allowed(self, store: VectorStore) -> None:
        """A method of the store's own holds whatever there is: hostile data fills memory."""
        self._fill(store, [{"n": number, f"key_{number}": 1} for number in range(30)])
        assert store.distinct("n", max_values=30).total == 30
        with pytest.raises(FilterLimitError, match="max_values=290"):
            store.distinct("n", max_values=29)
        with pytest.raises(FilterLimitError, match="max_fields"):
            store.fields(max_fields=30)
        assert store.distinct("n", "n < 5", max_values=5).total == 5

    # --- comparing --------------------------------------------------------------------------

    def _check_values(
        self,
        store: VectorStore,
        path: tuple[str, ...],
        filter: Expression | None,
        rows: Iterable[Mapping[str, Any]],
    ) -> None:
        __tracebackhide__ = True
        wanted = _distinct(rows, path)
        shown = f"{path}: {filter}"
        found = store.distinct(path, filter)
        told = [(one.count, with_types(one.value), with_types([*one.forms])) for one in found]
        assert told == wanted, shown
        assert found.total == len(wanted)
        for limit in (1, 3) if path in (_PATHS[0], _PATHS[-1]) else ():
            few = store.distinct(path, filter, limit=limit)
            assert (few.values, few.total) == (found.values[:limit], found.total), shown

    def _filters(self, library: Library, seed: int, count: int) -> Iterable[Expression | None]:
        yield None
        source = self.random_cases(seed)
        for number in range(count):
            yield source.filter(number % 3)

    def _rows(self, library: Library, filter: Expression | None) -> list[Mapping[str, Any]]:
        matching = library.rows.keys() if filter is None else oracle(filter, library.rows)
        return [self.stored(library.rows[id]) for id in matching]

    def _fill(self, store: VectorStore, rows: list[dict[str, Any]]) -> None:
        store.clear()
        vector = vector_of("any")
        store.add(
            [Document("text", row, self.id(f"row-{n}"), vector) for n, row in enumerate(rows)]
        )


def _paths_of(number: int) -> Sequence[tuple[str, ...]]:
    """Without a filter every key, inside of a filter a few: some engines are asked for each."""
    return _PATHS if number == 0 else _PATHS[(number - 1) % 3 : 12 : 3]


def _is_suites(key: str) -> bool:
    """Whether a variant of the suite has put a key into every document."""
    return key in ("suite_tenant", "stamp")


# What a store has to say, in plain Python. It shares nothing with what is tested.


def _at(row: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = row
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _distinct(rows: Iterable[Mapping[str, Any]], path: tuple[str, ...]) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, int, list[Any]]] = []
    for row in rows:
        value = _at(row, path)
        elements = value if isinstance(value, list) else [value]
        counted: set[int] = set()
        for one in elements:
            if one is None or isinstance(one, Mapping):
                continue
            same = [place for place, (known, *_) in enumerate(found) if _is_same(known, one)]
            place = same[0] if same else len(found)
            if not same:
                found.append((one, 0, []))
            known, count, forms = found[place]
            if not any(type(form) is type(one) for form in forms):
                forms.append(one)
            if place not in counted:
                counted.add(place)
                found[place] = known, count + 1, forms
    told = []
    for _, count, forms in found:
        forms.sort(key=lambda form: type(form) is float)
        told.append((forms[0], count, forms))
    told.sort(key=lambda item: (-item[1], _kind_of(item[0]), item[0]))
    return [(count, with_types(value), with_types(forms)) for value, count, forms in told]


def _is_same(one: Any, other: Any) -> bool:
    return _kind_of(one) == _kind_of(other) and bool(one == other)


def _kind_of(value: Any) -> int:
    return 0 if isinstance(value, bool) else 2 if isinstance(value, str) else 1


def _bounds(
    rows: Iterable[Mapping[str, Any]], path: tuple[str, ...]
) -> tuple[list[Any], list[str]]:
    values = [_at(row, path) for row in rows]
    numbers = [one for one in values if type(one) is int or type(one) is float]
    strings = [one for one in values if type(one) is str]
    outermost = [] if not numbers else [min(numbers), max(numbers)]
    ends = [next((one for one in numbers if one == end and type(one) is int), end)
            for end in outermost]  # fmt: skip
    return ends, [] if not strings else [min(strings), max(strings)]


def _fields(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, ...], dict[str, int]]:
    found: dict[tuple[str, ...], dict[str, int]] = {}

    def look(above: tuple[str, ...], held: Mapping[str, Any]) -> None:
        for name, value in held.items():
            if value is None or value == []:
                continue
            kinds = found.setdefault((*above, name), {})
            if isinstance(value, Mapping):
                kind = "object"
                look((*above, name), value)
            elif isinstance(value, list):
                types = {type(item).__name__ for item in value}
                kind = f"list[{'float' if 'float' in types else types.pop()}]"
            else:
                kind = type(value).__name__
            kinds[kind] = kinds.get(kind, 0) + 1

    for row in rows:
        look((), row)
    return found
