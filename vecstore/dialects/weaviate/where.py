"""The tree that a filter becomes; a store makes its client's objects of it."""

from __future__ import annotations

import json
from typing import Any, Literal

from vecstore.dialects.weaviate.layout import BaseType
from vecstore.filter.values import Scalar
from vecstore.frozen import frozen

Joint = Literal["And", "Or"]


@frozen
class Condition:
    """One operator on one property.

    Attributes:
        path: Name of the property.
        operator: As Weaviate spells it: ``"Equal"``, ``"ContainsAny"`` ...
        value_type: ``"text"``, ``"int"``, ``"number"`` or ``"boolean"``.
        value: The value, a float for ``"number"``; a tuple of values for ``"ContainsAny"``.
    """

    path: str
    operator: str
    value_type: BaseType
    value: Scalar | tuple[Scalar, ...]

    def to_where(self) -> dict[str, Any]:
        """The condition as the REST interface takes it."""
        field = f"value{self.value_type.capitalize()}"
        value: Any = self.value
        if isinstance(value, tuple):
            field, value = f"{field}Array", list(value)
        return {"path": [self.path], "operator": self.operator, field: value}

    def __str__(self) -> str:
        return json.dumps(self.to_where(), ensure_ascii=False, indent=2)


@frozen
class Compound:
    """``"And"`` or ``"Or"`` of two or more operands."""

    operator: Joint
    operands: tuple[Condition | Compound, ...]

    def to_where(self) -> dict[str, Any]:
        """The tree as the REST interface takes it."""
        operands = [operand.to_where() for operand in self.operands]
        return {"operator": self.operator, "operands": operands}

    def __str__(self) -> str:
        return json.dumps(self.to_where(), ensure_ascii=False, indent=2)


Operand = Condition | Compound
