"""Which floats Qdrant and Chroma give back as they took them.

Both read the numbers of JSON the quick way: digits as one integer, times or divided by a power of
ten. That rounds twice, and of the floats that need 16 or 17 digits about one
in ten comes out as its neighbour: 0.9999999999999999 as 1.0. What is stored is then compared and
returned, so such a value would be found where it should not be.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from vecstore.errors import DocumentError
from vecstore.filter.text import key_text

DIGITS: Final = 15
REMEDY: Final = "round it to 15 significant digits, such as float(f'{value:.15g}'), or store text"

_POWERS: Final = tuple([float(f"1e{exponent}") for exponent in range(309)])
_WRITTEN_WITHOUT_EXPONENT: Final = 1e16


def keeps_float(value: float) -> bool:
    """Whether a float comes back from the engine as the same float.

    Example:
        >>> keeps_float(0.1), keeps_float(0.9999999999999999)
        (True, False)
    """
    magnitude = abs(value)
    if magnitude < _WRITTEN_WITHOUT_EXPONENT and magnitude.is_integer():
        return _as_read(int(magnitude) * 10, -1) == magnitude  # the engine writes 12.0
    _, digits, exponent = Decimal(repr(magnitude)).normalize().as_tuple()
    assert isinstance(exponent, int)
    return _as_read(int("".join(map(str, digits))), exponent) == magnitude


def rounded_floats(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """A copy in which every float that would not come back is rounded to 15 significant digits.

    Example:
        >>> rounded_floats({"a": 0.9999999999999999, "b": {"c": [0.1]}})
        {'a': 1.0, 'b': {'c': [0.1]}}
    """
    return {key: _rounded(value) for key, value in metadata.items()}


def check_floats(
    metadata: Mapping[str, Any],
    document_id: str | None = None,
    path: tuple[str, ...] = (),
    *,
    engine: str = "Qdrant",
    hint: str = ", or open the store with round_floats=True",
) -> None:
    """Refuse metadata with a float that the engine would change.

    Args:
        metadata: The metadata.
        document_id: Whose it is; None where that is not known yet.
        path: Where it stands.
        engine: What the database is called.
        hint: What else can be done about it, as the end of the sentence.

    Raises:
        DocumentError: Naming the document and the key.
    """
    for name, value in metadata.items():
        if isinstance(value, Mapping):
            check_floats(value, document_id, (*path, name), engine=engine, hint=hint)
            continue
        for item in value if isinstance(value, list) else (value,):
            if type(item) is float and not keeps_float(item):
                key = key_text((*path, name))
                owner = "the metadata" if document_id is None else f"document {document_id!r}"
                raise DocumentError(
                    f"{owner} cannot be stored with the key {key}: {engine} would give {item!r} "
                    f"back as the float next to it; {REMEDY}{hint}",
                    document_id=document_id,
                    key=key,
                )


def _rounded(value: Any) -> Any:
    if type(value) is float:
        return value if keeps_float(value) else float(f"{value:.15g}")
    if isinstance(value, Mapping):
        return rounded_floats(value)
    return [_rounded(item) for item in value] if isinstance(value, list) else value


def _as_read(significand: int, exponent: int) -> float:
    value = float(significand)
    while abs(exponent) >= len(_POWERS):
        if exponent > 0 or value == 0:
            return value
        value /= 1e308
        exponent += 308
    return value * _POWERS[exponent] if exponent >= 0 else value / _POWERS[-exponent]
