"""Aggregate functions: max and min.

Definitions and declarations; their vectorised reductions are in `reductions.order_reductions`.

Source: merge-semantics 4; the order of values is that of table-format 13.1.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from braid.lake.format.data_types import DataType
from braid.lake.merge.aggregate_function import AggregateFunction, FunctionDeclaration, Reduction
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.compatibility import Compatibility
from braid.lake.merge.functions.reductions.order_reductions import (
    largest_reduction,
    smallest_reduction,
)
from braid.lake.merge.functions.support.function_errors import refused_retract


@dataclass(frozen=True, slots=True)
class Extreme:
    """`max` or `min`: null is ignored, no retract.

    Attributes:
        function: The column's function.
        comparable: Returns for a value one that compares in the order of the type.
        stays: Returns whether the accumulated value stays, given the comparable forms of the
            accumulated and the new value.
    """

    function: ColumnFunction
    comparable: Callable[[Any], Any]
    stays: Callable[[Any, Any], bool]

    def reset(self) -> None:
        """Begin the next key; there is nothing to forget."""

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the extreme of the two."""
        if accumulated is None or value is None:
            return value if accumulated is None else accumulated
        stays = self.stays(self.comparable(accumulated), self.comparable(value))
        return accumulated if stays else value

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the extreme of the two; order does not matter."""
        return self.aggregate(value, accumulated)

    def retract(self, accumulated: object, value: object) -> object:
        """Raise: without the retracted value, the next extreme is unknown."""
        raise refused_retract(self.function.column, self.function.name)


def _comparable(kind: pa.DataType) -> Callable[[Any], Any]:
    if pa.types.is_floating(kind):
        return _in_total_order
    return str.encode if pa.types.is_string(kind) else _itself


def _in_total_order(value: float) -> tuple[bool, float, float]:
    # All NaNs are equal and the largest; the zeros differ by their sign.
    if math.isnan(value):
        return (True, 0.0, 0.0)
    return (False, value, math.copysign(1.0, value))


def _itself(value: object) -> object:
    return value


def _make_max(function: ColumnFunction, kind: pa.DataType) -> AggregateFunction:
    # Of equal values max keeps the accumulated one and min takes the new one.
    return Extreme(function, _comparable(kind), operator.ge)


def _make_min(function: ColumnFunction, kind: pa.DataType) -> AggregateFunction:
    return Extreme(function, _comparable(kind), operator.lt)


def _is_comparable(data_type: DataType) -> bool:
    return data_type.is_plain


def _declaration(
    name: str,
    summary: str,
    make: Callable[[ColumnFunction, pa.DataType], AggregateFunction],
    reduction: Reduction,
) -> FunctionDeclaration:
    return FunctionDeclaration(
        name=name,
        summary=summary,
        accepts=_is_comparable,
        accepted="every type but ARRAY, MAP, MULTISET, ROW and VARIANT",
        null_rule="Null is ignored.",
        late_rule="An older value is compared like any other.",
        retract_rule=None,
        make=make,
        reduction=lambda _function, _kind: reduction,
        order_free=True,
        anomalies=(
            "FLOAT and DOUBLE compare as in Java: -0.0 is less than 0.0, and NaN is largest. Write "
            "null instead of NaN.",
        ),
        differences=(
            Compatibility(
                subject="BOOLEAN",
                verdict="other",
                why="Paimon 2.0 accepts the first value of a key and fails at the second. In Braid, as in "
                "later versions of Paimon, false is less than true. Every version of Paimon can read "
                "`bool_or` and `bool_and`.",
            ),
        ),
    )


DECLARATIONS: tuple[FunctionDeclaration, ...] = (
    _declaration("max", "The largest value.", _make_max, largest_reduction()),
    _declaration("min", "The smallest value.", _make_min, smallest_reduction()),
)
