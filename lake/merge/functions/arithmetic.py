"""Aggregate functions: sum and product.

Source: merge-semantics 4.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Generic, cast

import pyarrow as pa

from lake.errors import SchemaMismatch
from lake.format.data_types import DataType, TypeRoot
from lake.merge.aggregate_function import AggregateFunction, FunctionDeclaration
from lake.merge.column_function import ColumnFunction
from lake.merge.compatibility import Compatibility
from lake.merge.function_errors import value_error
from lake.merge.functions.exact_numbers import Arithmetic, NumberT, arithmetic_of
from lake.merge.functions.product_reduction import product_reduction
from lake.merge.functions.sum_reduction import sum_reduction

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
class Sum(Generic[NumberT]):
    """`sum`: null counts as nothing; a retracted value is subtracted."""

    function: ColumnFunction
    arithmetic: Arithmetic[NumberT]

    def reset(self) -> None:
        """Begin the next key; there is nothing to forget."""

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the sum.

        Raises:
            SchemaMismatch: An integer does not fit its type.
        """
        if accumulated is None or value is None:
            return value if accumulated is None else accumulated
        try:
            return self.arithmetic.add(cast(NumberT, accumulated), cast(NumberT, value))
        except ArithmeticError as error:
            raise _cannot_combine(self.function, error) from error

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the sum; order does not matter.

        Raises:
            SchemaMismatch: An integer does not fit its type.
        """
        return self.aggregate(value, accumulated)

    def retract(self, accumulated: object, value: object) -> object:
        """Return the difference; taken from nothing, the negative.

        Raises:
            SchemaMismatch: An integer does not fit its type.
        """
        if value is None:
            return accumulated
        try:
            if accumulated is None:
                return self.arithmetic.negate(cast(NumberT, value))
            return self.arithmetic.subtract(cast(NumberT, accumulated), cast(NumberT, value))
        except ArithmeticError as error:
            raise _cannot_combine(self.function, error) from error


@dataclass(frozen=True, slots=True)
class Product(Generic[NumberT]):
    """`product`: null counts as nothing; by a retracted value is divided."""

    function: ColumnFunction
    arithmetic: Arithmetic[NumberT]

    def reset(self) -> None:
        """Begin the next key; there is nothing to forget."""

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the product.

        Raises:
            SchemaMismatch: An integer does not fit its type.
        """
        if accumulated is None or value is None:
            return value if accumulated is None else accumulated
        try:
            return self.arithmetic.multiply(cast(NumberT, accumulated), cast(NumberT, value))
        except ArithmeticError as error:
            raise _cannot_combine(self.function, error) from error

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the product; order does not matter.

        Raises:
            SchemaMismatch: An integer does not fit its type.
        """
        return self.aggregate(value, accumulated)

    def retract(self, accumulated: object, value: object) -> object:
        """Return the quotient; nothing stays nothing.

        Raises:
            SchemaMismatch: A division by zero, a quotient that does not fit, or of DECIMAL without
                a last digit.
        """
        if accumulated is None or value is None:
            return accumulated
        try:
            return self.arithmetic.divide(cast(NumberT, accumulated), cast(NumberT, value))
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
    return Sum(function, cast(Arithmetic[Decimal], arithmetic_of(kind)))


def _make_product(function: ColumnFunction, kind: pa.DataType) -> AggregateFunction:
    return Product(function, cast(Arithmetic[Decimal], arithmetic_of(kind)))


def _is_numeric(data_type: DataType) -> bool:
    return data_type.root in _NUMERIC


_OVERFLOW = Compatibility(
    subject="integers that do not fit their type",
    verdict="same",
    why="An error, as in release 2.0; 1.4 wraps around without a word.",
)
_STORAGE = Compatibility(
    subject="DECIMAL of at most 9 digits, beyond 32 bits",
    verdict="stricter",
    why="An error that names the column when the merged row is written to a file, by a commit or a "
    "compaction; the reference stores other digits without a word.",
)

DECLARATIONS: tuple[FunctionDeclaration, ...] = (
    FunctionDeclaration(
        name="sum",
        summary="The sum of the values.",
        accepts=_is_numeric,
        accepted="TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL",
        null_rule="Null counts as nothing.",
        late_rule="An older value is added like any other.",
        retract_rule="The value is subtracted; taken from nothing, its negative remains.",
        make=_make_sum,
        reduction=sum_reduction,
        order_free=True,
        anomalies=(
            "An integer sum that does not fit its type makes [merging "
            "fail](../../guides/which-row-wins.md#when-merging-fails), and a later value does not "
            "help. Choose a wider type.",
            "A DECIMAL of at most 18 digits may grow beyond its digits; it becomes null only "
            "beyond 64 bits. With more than 18 digits it becomes null beyond its digits, and the "
            "next value starts anew. Leave room in the type.",
            "A DECIMAL of at most 9 digits is stored in 32 bits. A sum beyond them is given by scans, "
            "but no file can hold it: a commit whose own records add up to it fails, and so does, "
            "until records bring the sum back into range, [every compaction of the "
            "table](../../guides/compaction.md#when-it-fails). Declare DECIMAL(18, s).",
        ),
        differences=(_OVERFLOW, _STORAGE),
    ),
    FunctionDeclaration(
        name="product",
        summary="The product of the values.",
        accepts=_is_numeric,
        accepted="TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL",
        null_rule="Null counts as nothing.",
        late_rule="An older value is multiplied like any other.",
        retract_rule="The accumulated value is divided by the value; nothing stays nothing.",
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
        differences=(_OVERFLOW,),
    ),
)
