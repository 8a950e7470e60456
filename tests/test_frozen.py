"""Frozen classes are what dataclasses of the same fields are, and load none before they are asked."""

from __future__ import annotations

import abc
import copy
import dataclasses
import inspect
import pickle
import re
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import vecstore
from vecstore.dialects.pgvector import Pgvector
from vecstore.filter.convert import Capabilities, Refusal
from vecstore.frozen import field, field_names, frozen


@frozen
class Ours:
    """A class."""

    name: ClassVar[str] = "ours"

    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list, compare=False)
    d: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", self.a + 1)


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    """A class."""

    name: ClassVar[str] = "ours"

    a: int
    b: str = "b"
    c: list[int] = dataclasses.field(default_factory=list, compare=False)
    d: int = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", self.a + 1)


@frozen(kw_only=True)
class OursByName:
    a: int
    b: int = 2


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TheirsByName:
    a: int
    b: int = 2


@frozen
class OursPlain:
    a: int
    b: int = 2


@dataclasses.dataclass(frozen=True, slots=True)
class TheirsPlain:
    a: int
    b: int = 2


PAIRS: list[tuple[Any, Any]] = [
    (Ours, Theirs), (OursByName, TheirsByName), (OursPlain, TheirsPlain)
]  # fmt: skip
CALLS: list[Callable[[Any], Any]] = [
    lambda cls: repr(cls(a=1)),
    lambda cls: repr(cls(1)),
    lambda cls: repr(cls(1, 5)),
    lambda cls: repr(cls(1, b=5)),
    lambda cls: repr(cls(*[1] * 9)),
    lambda cls: repr(cls()),
    lambda cls: repr(cls(1, a=2)),
    lambda cls: repr(cls(a=1, e=2)),
    lambda cls: repr(cls(a=1, d=2)),
    lambda cls: cls(a=1) == cls(a=1),
    lambda cls: (cls(a=1) == cls(a=2), cls(a=1) == 1, cls(a=1) != cls(a=1, b=7)),
    lambda cls: hash(cls(a=1)) == hash(cls(a=1)),
    lambda cls: hash(cls(a=[])),
    lambda cls: setattr(cls(a=1), "a", 2),
    lambda cls: delattr(cls(a=1), "a"),
    lambda cls: repr(dataclasses.replace(cls(a=1), a=3)),
    lambda cls: repr(dataclasses.replace(cls(a=1), e=3)),
    lambda cls: repr(copy.replace(cls(a=1), a=3)) if hasattr(copy, "replace") else "",
    lambda cls: dataclasses.asdict(cls(a=1)),
    lambda cls: dataclasses.is_dataclass(cls),
    lambda cls: [
        (one.name, one.type, one.init, one.repr, one.compare) for one in dataclasses.fields(cls)
    ],
    lambda cls: [one.default is dataclasses.MISSING for one in dataclasses.fields(cls(a=1))],
    lambda cls: str(inspect.signature(cls)),
    lambda cls: cls.__match_args__,
    lambda cls: cls.__slots__,
    lambda cls: cls(a=1).__dict__,
    lambda cls: repr(pickle.loads(pickle.dumps(cls(a=1, b="x")))),
    lambda cls: repr(copy.deepcopy(cls(a=1, b="x"))),
    lambda cls: copy.copy(cls(a=1)) == cls(a=1),
    lambda cls: field_names(cls),
    lambda cls: field_names(cls, init=True),
    lambda cls: cls.__doc__ if cls in (Ours, Theirs) else "",
]


def outcome(call: Callable[[Any], Any], cls: Any) -> Any:
    try:
        result = call(cls)
    except Exception as error:
        return type(error), re.findall("'([a-z]+)'", str(error))
    return result.replace("Theirs", "Ours") if isinstance(result, str) else result


@pytest.mark.parametrize("call", range(len(CALLS)))
@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_a_frozen_class_does_what_a_dataclass_does(ours: Any, theirs: Any, call: int) -> None:
    assert outcome(CALLS[call], ours) == outcome(CALLS[call], theirs)


def test_nothing_can_be_added_to_a_frozen_object() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Ours(1).z = 2  # type: ignore[attr-defined]


def test_a_dataclass_extends_a_frozen_class() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Further(Ours):
        e: int = 5

    further = Further(1, e=7)
    assert repr(further).endswith("Further(a=1, b='b', c=[], e=7)")
    assert [one.name for one in dataclasses.fields(further)] == ["a", "b", "c", "d", "e"]
    assert field_names(Further, init=True) == ("a", "b", "c", "e")
    assert (further.d, further == Further(1, e=7), further == Ours(1)) == (2, True, False)
    with pytest.raises(dataclasses.FrozenInstanceError):
        further.a = 5  # type: ignore[misc]


def test_a_class_that_extends_one_has_its_fields() -> None:
    class Further(Ours):
        pass

    assert [one.name for one in dataclasses.fields(Further)] == ["a", "b", "c", "d"]
    assert field_names(Further) == ("a", "b", "c", "d")
    assert Further(1) == Further(1) != Ours(1)
    further = Further(1)
    further.note = "x"  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError):
        further.a = 2  # type: ignore[misc]


def test_what_is_abstract_stays_abstract() -> None:
    @frozen
    class Shape(abc.ABC):
        size: int

        @abc.abstractmethod
        def area(self) -> int: ...

    with pytest.raises(TypeError, match="abstract"):
        Shape(1)  # type: ignore[abstract]


def test_dialects_and_their_capabilities_are_dataclasses() -> None:
    dialect = dataclasses.replace(Pgvector(column="meta"), paramstyle="format")
    assert dialect == Pgvector(column="meta", paramstyle="format")
    assert pickle.loads(pickle.dumps(dialect)) == dialect
    assert "paramstyle" in inspect.signature(Pgvector).parameters
    assert dataclasses.replace(Capabilities(), max_list=3).max_list == 3
    assert dataclasses.asdict(Refusal("so")) == {"reason": "so", "remedy": None}
    compiled = vecstore.compile_filter("a == 1", "qdrant")
    assert pickle.loads(pickle.dumps(compiled)) == compiled
