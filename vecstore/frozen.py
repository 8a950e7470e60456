"""Frozen dataclasses for what the first compile of a filter loads, in a tenth of the time.

The standard library's ``dataclasses`` load ``inspect`` and write the text of each class's methods,
which takes as long as all the rest of a first compile. Classes made here do without, and still are
dataclasses to whoever asks: ``fields``, ``replace``, ``asdict`` and ``inspect.signature`` work, as
do dataclasses that extend them. What these look at is made when they look.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, Final, NoReturn, TypeVar, dataclass_transform, overload

Class = TypeVar("Class", bound=type)

_MISSING: Final[Any] = object()


class _Option:
    """One field, as ``dataclasses.field`` describes it."""

    __slots__ = ("compare", "default", "default_factory", "init", "repr")

    def __init__(
        self,
        default: Any = _MISSING,
        default_factory: Callable[[], Any] | None = None,
        init: bool = True,
        repr: bool = True,
        compare: bool = True,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.compare = compare


def field(
    *,
    default: Any = _MISSING,
    default_factory: Callable[[], Any] | None = None,
    init: bool = True,
    repr: bool = True,
    compare: bool = True,
) -> Any:
    """A field of a class made by :func:`frozen`, as ``dataclasses.field`` describes one."""
    return _Option(default, default_factory, init, repr, compare)


class _Params:
    """What ``dataclasses`` looks at in a class that another one extends."""

    init = repr = eq = frozen = slots = match_args = True
    order = unsafe_hash = weakref_slot = kw_only = False


class _OnDemand:
    """An attribute of the class that the dataclass of the same fields has."""

    def __init__(self, made: Callable[[type], Any], options: dict[str, _Option]) -> None:
        self.made = made
        self.options = options

    def __get__(self, instance: object, owner: type) -> Any:
        where = next(
            one for one in owner.__mro__ if any(value is self for value in vars(one).values())
        )
        return self.made(where)


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Class, /) -> Class: ...
@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(*, kw_only: bool = False) -> Callable[[Class], Class]: ...
def frozen(cls: Any = None, /, *, kw_only: bool = False) -> Any:
    """What ``dataclass(frozen=True, slots=True)`` makes of a class without fields in its bases.

    Example:
        >>> @frozen
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(1), Point(1) == Point(x=1, y=0), Point(1) == Point(2)
        (Point(x=1, y=0), True, False)
        >>> import dataclasses
        >>> dataclasses.replace(Point(1), y=2)
        Point(x=1, y=2)
    """
    if cls is None:
        return lambda made: _made(made, kw_only)
    return _made(cls, kw_only)


def field_names(cls: type, *, init: bool = False) -> tuple[str, ...]:
    """The fields of a dataclass, made here or not, or those that it is made with; () of another.

    Example:
        >>> @frozen
        ... class Point:
        ...     x: int
        ...     y: int = field(default=0, init=False)
        >>> field_names(Point), field_names(Point, init=True), field_names(int)
        (('x', 'y'), ('x',), ())
    """
    for one in cls.__mro__:
        found = vars(one).get("__dataclass_fields__")
        if isinstance(found, _OnDemand):
            options: Any = found.options
        elif found is not None:
            from dataclasses import fields

            options = {option.name: option for option in fields(one)}
        else:
            continue
        return tuple([name for name, option in options.items() if option.init or not init])
    return ()


def _made(cls: Any, kw_only: bool) -> Any:
    body = dict(vars(cls))
    options: dict[str, _Option] = {}
    for name, annotation in cls.__annotations__.items():
        if not str(annotation).startswith("ClassVar"):
            given = body.pop(name, _MISSING)
            options[name] = given if isinstance(given, _Option) else _Option(given)
    for name in ("__dict__", "__weakref__"):
        body.pop(name, None)
    taken = [name for name, option in options.items() if option.init]
    setters: list[Callable[[Any, Any], None]] = []
    methods = {
        **_methods(options),
        "__init__": _initializer(cls, options, setters, kw_only),
        "__slots__": tuple(options),
        "__match_args__": () if kw_only else tuple(taken),
        "__dataclass_params__": _Params,
        "__dataclass_fields__": _OnDemand(_fields, options),
        "__signature__": _OnDemand(_signature, options),
    }
    made = type(cls)(cls.__name__, cls.__bases__, {**methods, **body})
    made.__qualname__ = cls.__qualname__
    setters += [vars(made)[name].__set__ for name in options]

    def refuse_to_set(self: Any, name: str, value: object) -> None:
        if type(self) is made or name in options:
            _refuse("assign to", name)
        super(made, self).__setattr__(name, value)

    def refuse_to_delete(self: Any, name: str) -> None:
        if type(self) is made or name in options:
            _refuse("delete", name)
        super(made, self).__delattr__(name)

    made.__setattr__, made.__delattr__ = refuse_to_set, refuse_to_delete
    made.__dataclass_kw_only__ = kw_only
    return made


def _initializer(
    cls: type,
    options: dict[str, _Option],
    setters: list[Callable[[Any, Any], None]],
    kw_only: bool,
) -> Callable[..., None]:
    whole = all(option.init and option.default_factory is None for option in options.values())
    defaults = [option.default for option in options.values()]
    # So many come first that have no default; a field without one stands nowhere else.
    needed = sum(1 for default in defaults if default is _MISSING)
    follows = hasattr(cls, "__post_init__")
    by_place = whole and not kw_only and not follows

    def __init__(self: Any, *args: Any, **given: Any) -> None:
        if by_place and not given and needed <= len(args) <= len(setters):
            for put, value in zip(setters, (*args, *defaults[len(args) :]), strict=True):
                put(self, value)
            return
        values = _bound(cls.__qualname__, options, kw_only, args, given)
        for put, (name, option) in zip(setters, options.items(), strict=True):
            if name in values:
                put(self, values[name])
            elif option.default_factory is not None:
                put(self, option.default_factory())
            elif option.default is not _MISSING:
                put(self, option.default)
        if follows:
            self.__post_init__()

    return __init__


def _bound(
    name: str,
    options: dict[str, _Option],
    kw_only: bool,
    args: tuple[Any, ...],
    given: dict[str, Any],
) -> dict[str, Any]:
    """What a call passes, by field.

    Raises:
        TypeError: As Python words it where a call does not fit.
    """
    taken = [field for field, option in options.items() if option.init]
    places = [] if kw_only else taken
    call = f"{name}.__init__()"
    if len(args) > len(places):
        count = len(places) + 1
        raise TypeError(
            f"{call} takes {count} positional argument{'s' if count > 1 else ''} "
            f"but {len(args) + 1} were given"
        )
    values = dict(zip(places, args, strict=False))
    for field, value in given.items():
        if field not in options or not options[field].init:
            raise TypeError(f"{call} got an unexpected keyword argument {field!r}")
        if field in values:
            raise TypeError(f"{call} got multiple values for argument {field!r}")
        values[field] = value
    missing = [
        repr(field)
        for field in taken
        if field not in values
        and options[field].default is _MISSING
        and options[field].default_factory is None
    ]
    if missing:
        plural = "s" if len(missing) > 1 else ""
        raise TypeError(
            f"{call} missing {len(missing)} required argument{plural}: {', '.join(missing)}"
        )
    return values


def _methods(options: dict[str, _Option]) -> dict[str, Any]:
    shown = [name for name, option in options.items() if option.repr]
    compared = [name for name, option in options.items() if option.compare]
    names = tuple(options)
    read = attrgetter(*compared) if compared else type

    def __repr__(self: Any) -> str:
        listed = ", ".join([f"{name}={getattr(self, name)!r}" for name in shown])
        return f"{type(self).__qualname__}({listed})"

    def __eq__(self: Any, other: object) -> Any:
        return read(self) == read(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:
        return hash((read(self),))

    def __getstate__(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    def __replace__(
        self: Any, /, **changes: Any
    ) -> Any:  # what copy.replace() of Python 3.13 calls
        from dataclasses import replace

        return replace(self, **changes)

    return {
        method.__name__: method
        for method in (__repr__, __eq__, __hash__, __getstate__, __setstate__, __replace__)
    }


def _refuse(what: str, name: str) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot {what} field {name!r}")


def _fields(cls: Any) -> Any:
    return _dataclass_of(cls).__dataclass_fields__


def _signature(cls: Any) -> Any:
    from inspect import signature

    return signature(_dataclass_of(cls))


@cache
def _dataclass_of(cls: Any) -> Any:
    """A dataclass with the fields of a class, for what others read from it."""
    import dataclasses

    options = vars(cls)["__dataclass_fields__"].options
    body: dict[str, Any] = {"__module__": cls.__module__, "__doc__": cls.__doc__}
    body["__annotations__"] = {name: cls.__annotations__[name] for name in options}
    for name, one in options.items():
        given: dict[str, Any] = {} if one.default is _MISSING else {"default": one.default}
        if one.default_factory is not None:
            given["default_factory"] = one.default_factory
        body[name] = dataclasses.field(init=one.init, repr=one.repr, compare=one.compare, **given)
    made = type(cls.__name__, (), body)
    return dataclasses.dataclass(frozen=True, kw_only=cls.__dataclass_kw_only__)(made)
