"""Aggregate functions: sum and product.

Definitions and declarations; their vectorised reductions are in `reductions.sum_reduction` and
`reductions.product_reduction`.

Source: merge-semantics 4.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from braid.lake.errors import Problem, SchemaMismatch
from braid.lake.format.data_types import DataField, DataType, TypeRoot
from braid.lake.merge.aggregate_function import (
    AggregateFunction,
    FunctionDeclaration,
    FunctionOption,
)
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.compatibility import Compatibility
from braid.lake.merge.functions.reductions.product_reduction import product_reduction
from braid.lake.merge.functions.reductions.sum_reduction import sum_reduction
from braid.lake.merge.functions.support.exact_numbers import arithmetic_of
from braid.lake.merge.functions.support.function_errors import value_error
from braid.lake.merge.functions.support.option_values import choice_problems, has_option, option_key
from braid.lake.merge.functions.support.overflow import ON_OVERFLOW, OVERFLOW_CHOICES, overflow_of

_FLOATING = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE})
_NUMERIC = frozenset(
    {
        TypeRoot.TINYINT,
        TypeRoot.SMALLINT,
        TypeRoot.INT,
        TypeRoot.BIGINT,
        TypeRoot.FLOAT,
        TypeRoot.DOUBLE,
        TypeRoot.DECIMAL,
    }
)


@dataclass(frozen=True, slots=True)
class Combination:
    """`sum` or `product`: null is ignored.

    Attributes:
        function: The column's function.
        combine: Returns the next accumulated value, given the accumulated value and a new one.
        take_back: Returns the next accumulated value, given the accumulated value and a retracted
            one.
        from_nothing: Returns the next accumulated value, given a retracted one, where nothing is
            accumulated.
    """

    function: ColumnFunction
    combine: Callable[[Any, Any], Any]
    take_back: Callable[[Any, Any], Any]
    from_nothing: Callable[[Any], Any]

    def reset(self) -> None:
        """Begin the next key; there is nothing to forget."""

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the two combined.

        Raises:
            SchemaMismatch: A result does not fit its type, and the overflow rule makes that an error.
        """
        if accumulated is None or value is None:
            return value if accumulated is None else accumulated
        return self._computed(self.combine, accumulated, value)

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the two combined; order does not matter.

        Raises:
            SchemaMismatch: A result does not fit its type, and the overflow rule makes that an error.
        """
        return self.aggregate(value, accumulated)

    def retract(self, accumulated: object, value: object) -> object:
        """Return the accumulated value after the value is retracted from it.

        Raises:
            SchemaMismatch: A result does not fit its type, and the overflow rule makes that an error; an
                integer or DECIMAL is divided by zero; or a DECIMAL quotient has infinitely many digits.
        """
        if value is None:
            return accumulated
        if accumulated is None:
            return self._computed(self.from_nothing, value)
        return self._computed(self.take_back, accumulated, value)

    def _computed(self, operation: Callable[..., Any], *values: object) -> object:
        try:
            return operation(*values)
        except ArithmeticError as error:
            raise _cannot_combine(self.function, error) from error


def _cannot_combine(function: ColumnFunction, error: ArithmeticError) -> SchemaMismatch:
    return value_error(
        function.column,
        function.name,
        "cannot be computed",
        "choose a wider type, or correct the values in the source",
        value=str(error),
    )


def _make_sum(function: ColumnFunction, kind: pa.DataType) -> AggregateFunction:
    numbers = arithmetic_of(kind, overflow_of(function))
    return Combination(function, numbers.add, numbers.subtract, numbers.negate)


def _make_product(function: ColumnFunction, kind: pa.DataType) -> AggregateFunction:
    numbers = arithmetic_of(kind, overflow_of(function))
    return Combination(function, numbers.multiply, numbers.divide, _nothing)


def _nothing(_value: object) -> None:
    return None


def _overflow_problems(field: DataField, function: ColumnFunction) -> Iterator[Problem]:
    yield from choice_problems(function, ON_OVERFLOW, OVERFLOW_CHOICES)
    if has_option(function, ON_OVERFLOW) and field.type.root in _FLOATING:
        yield Problem(
            field=option_key(function, ON_OVERFLOW),
            value=function.option(ON_OVERFLOW, ""),
            message=f"a {field.type.root.value} never overflows: it becomes infinite",
            hint="leave it out",
        )


def _is_numeric(data_type: DataType) -> bool:
    return data_type.root in _NUMERIC


_ON_OVERFLOW = FunctionOption(
    key=ON_OVERFLOW,
    type="wrap or fail",
    default="the format's rule: fail for integers; a DECIMAL becomes null, or has more digits",
    meaning="The rule for a value that does not fit the type. `wrap`: it wraps around, an integer of n "
    "bits modulo 2^n, a DECIMAL of p digits modulo 2 x 10^p - 1. `fail`: the merge of the column fails.",
)
_OVERFLOW = Compatibility(
    subject="integers that do not fit their type",
    verdict="same",
    why="An error, as in Paimon 2.0; 1.4 wraps around silently.",
)
_WRAPS = Compatibility(
    subject=f"`{ON_OVERFLOW}`",
    verdict="other",
    why="Only Braid has the option. Paimon 2.0 fails at values that do not fit their integer type, and "
    "shows a DECIMAL of at most 18 digits with more digits, until a compaction of Braid has merged "
    "the records; 1.4 wraps integers as Braid does.",
)
_STORAGE = Compatibility(
    subject="DECIMAL of at most 9 digits, beyond 32 bits",
    verdict="stricter",
    why="An error that names the column, when a commit or a compaction writes the merged row to a "
    "file; Paimon silently stores other digits.",
)

DECLARATIONS: tuple[FunctionDeclaration, ...] = (
    FunctionDeclaration(
        name="sum",
        summary="The sum of the values.",
        accepts=_is_numeric,
        accepted="TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL",
        null_rule="Null is ignored.",
        late_rule="An older value is added like any other.",
        retract_rule="The value is subtracted; from null, the result is its negative.",
        make=_make_sum,
        reduction=sum_reduction,
        order_free=True,
        anomalies=(
            "An integer sum that does not fit its type makes [merging "
            "fail](../../guides/which-row-wins.md#when-merging-fails), and a later value does not "
            "help. Choose a wider type, or let it wrap around.",
            "A sum of a DECIMAL with at most 18 digits may have more digits than declared; it becomes "
            "null only beyond 64 bits. With more than 18 declared digits, a sum beyond them becomes "
            "null, and the next value begins a new sum. Leave room in the type.",
            "A DECIMAL of at most 9 digits is stored in 32 bits. Scans return a sum beyond 32 bits, but "
            "no file can hold it: a commit whose own records add up to such a sum fails. Until records "
            "bring the sum back into range, [every compaction of the "
            "table](../../guides/compaction.md#when-it-fails) fails, too. Declare DECIMAL(18, s).",
        ),
        differences=(_OVERFLOW, _WRAPS, _STORAGE),
        options=(_ON_OVERFLOW,),
        problems=_overflow_problems,
    ),
    FunctionDeclaration(
        name="product",
        summary="The product of the values.",
        accepts=_is_numeric,
        accepted="TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL",
        null_rule="Null is ignored.",
        late_rule="An older value is multiplied like any other.",
        retract_rule="The accumulated value is divided by the value; null stays null.",
        make=_make_product,
        reduction=product_reduction,
        order_free=True,
        anomalies=(
            "An integer product that does not fit its type makes [merging "
            "fail](../../guides/which-row-wins.md#when-merging-fails), and so does a division by "
            "zero; the quotient of a retract loses its fraction. Choose a wider type, and take back only what "
            "was multiplied.",
            "A DECIMAL is rounded half up to its scale after every value, and becomes null beyond "
            "its digits; a retract whose quotient never ends, such as 10 / 3, makes merging "
            "fail. Use DOUBLE where rounding is expected.",
        ),
        differences=(_OVERFLOW, _WRAPS),
        options=(_ON_OVERFLOW,),
        problems=_overflow_problems,
    ),
)
