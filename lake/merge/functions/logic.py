"""Aggregate functions: bool_and and bool_or.

Definitions and declarations; their vectorised reductions are in `reductions.order_reductions`.

Source: merge-semantics 4.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from braid.lake.format.data_types import DataType, TypeRoot
from braid.lake.merge.aggregate_function import AggregateFunction, FunctionDeclaration
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.functions.reductions.order_reductions import (
    largest_reduction,
    smallest_reduction,
)
from braid.lake.merge.functions.support.function_errors import refused_retract


@dataclass(frozen=True, slots=True)
class Junction:
    """`bool_and` or `bool_or`: null is ignored, no retract.

    Attributes:
        function: The column's function.
        join: Combines two booleans into one.
    """

    function: ColumnFunction
    join: Callable[[bool, bool], bool]

    def reset(self) -> None:
        """Begin the next key; there is nothing to forget."""

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the two joined."""
        if accumulated is None or value is None:
            return value if accumulated is None else accumulated
        return self.join(bool(accumulated), bool(value))

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the two joined; order does not matter."""
        return self.aggregate(value, accumulated)

    def retract(self, accumulated: object, value: object) -> object:
        """Raise: the number of records with each value is unknown."""
        raise refused_retract(self.function.column, self.function.name)


def _both(left: bool, right: bool) -> bool:
    return left and right


def _either(left: bool, right: bool) -> bool:
    return left or right


def _make_bool_and(function: ColumnFunction, _kind: pa.DataType) -> AggregateFunction:
    return Junction(function, _both)


def _make_bool_or(function: ColumnFunction, _kind: pa.DataType) -> AggregateFunction:
    return Junction(function, _either)


def _is_boolean(data_type: DataType) -> bool:
    return data_type.root is TypeRoot.BOOLEAN


DECLARATIONS: tuple[FunctionDeclaration, ...] = (
    FunctionDeclaration(
        name="bool_and",
        summary="Whether all values are true.",
        accepts=_is_boolean,
        accepted="BOOLEAN",
        null_rule="Null is ignored.",
        late_rule="An older value counts like any other.",
        retract_rule=None,
        make=_make_bool_and,
        reduction=lambda _function, _kind: smallest_reduction(),
        order_free=True,
    ),
    FunctionDeclaration(
        name="bool_or",
        summary="Whether any value is true.",
        accepts=_is_boolean,
        accepted="BOOLEAN",
        null_rule="Null is ignored.",
        late_rule="An older value counts like any other.",
        retract_rule=None,
        make=_make_bool_or,
        reduction=lambda _function, _kind: largest_reduction(),
        order_free=True,
    ),
)
