"""The definition and declaration shared by the functions of serialised sets: null adds nothing, two values are united.

The function (`bitmaps`, `sketches`) computes the union of two values. Values that the function cannot read, or that
do not have the declared size or type, are unfit.

Source: merge-semantics 4 (`rbm32`, `rbm64`, `hll_sketch`, `theta_sketch`).
"""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from braid.lake.errors import Problem, SchemaMismatch
from braid.lake.format.data_types import DataField, DataType, TypeRoot
from braid.lake.merge.aggregate_function import (
    AggregateFunction,
    FunctionDeclaration,
    FunctionOption,
    UnfitValue,
)
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.compatibility import Compatibility
from braid.lake.merge.functions.reductions.single_value import SINGLE_VALUES
from braid.lake.merge.functions.support.function_errors import refused_retract, value_error

Unite = Callable[[bytes, bytes], bytes]
"""Returns the union of the accumulated value and a new one; raises ValueError if one is
malformed."""

CheckSize = Callable[[ColumnFunction, bytes], str | None]
"""Returns why well-formed bytes do not have the declared size; None if they have it."""

_SHOWN_BYTES = 16
_MALFORMED = Compatibility(
    subject="malformed bytes",
    verdict="stricter",
    why="Refused when they are written, by an error that names the column and shows the bytes; Paimon "
    "fails when it merges them with another value, if it notices them.",
)


def bytes_union(
    name: str,
    *,
    unite: Unite,
    expected: str,
    summary: str,
    late_rule: str,
    unequal: str,
    differences: tuple[Compatibility, ...] = (),
    anomalies: tuple[str, ...] = (),
    check_size: CheckSize | None = None,
    options: tuple[FunctionOption, ...] = (),
    problems: Callable[[DataField, ColumnFunction], Iterable[Problem]] = lambda _field, _f: (),
) -> FunctionDeclaration:
    """Return the declaration of a function that unites serialised sets.

    Args:
        name: Name of the function.
        unite: Computes the union of two values.
        expected: The expected content of the bytes, as text.
        summary: One sentence.
        late_rule: One sentence.
        unequal: Possible differences between bytes of equal sets; one or two sentences.
        differences: Differences from the reference, besides that of malformed bytes.
        anomalies: Anomalies besides `unequal`.
        check_size: Checks values where the column declares a size; None: the sets have no size.
        options: The options that the function reads.
        problems: Checks the options.
    """

    def make(function: ColumnFunction, _kind: pa.DataType) -> AggregateFunction:
        return BytesUnion(function, unite=unite, expected=expected)

    return FunctionDeclaration(
        name=name,
        summary=summary,
        accepts=_accepts,
        accepted="VARBINARY, BYTES",
        null_rule="Null adds nothing.",
        late_rule=late_rule,
        retract_rule=None,
        order_free=True,
        anomalies=(
            unequal,
            *anomalies,
        ),
        differences=(*differences, _MALFORMED),
        unfit=lambda function, column: _unfit(
            function, column, unite=unite, expected=expected, check_size=check_size
        ),
        options=options,
        problems=problems,
        make=make,
        reduction=lambda _function, _kind: SINGLE_VALUES,
    )


def _unfit(
    function: ColumnFunction,
    column: pa.Array,
    *,
    unite: Unite,
    expected: str,
    check_size: CheckSize | None,
) -> Iterator[UnfitValue]:
    for row, value in enumerate(column.to_pylist()):
        if value is None:
            continue
        message = None
        try:
            unite(value, value)
        except ValueError as error:
            message = f"`{function.name}` of the column cannot read these bytes: {error}"
        if message is None and check_size is not None:
            message = check_size(function, value)
        if message is not None:
            yield UnfitValue(
                row=row, value=_shown(value), message=message, hint=f"expected {expected}"
            )


def _shown(value: bytes) -> str:
    return value[:_SHOWN_BYTES].hex(" ") + (" …" if len(value) > _SHOWN_BYTES else "")


def _accepts(data_type: DataType) -> bool:
    """Return whether the type is VARBINARY, of any length; BINARY is not accepted."""
    return data_type.root is TypeRoot.VARBINARY


class BytesUnion:
    """Unites serialised sets.

    Args:
        function: The column's function, for its name.
        unite: Computes the union of two values.
        expected: The expected content of the bytes, as text.
    """

    def __init__(self, function: ColumnFunction, *, unite: Unite, expected: str) -> None:
        self._function = function
        self._unite = unite
        self._expected = expected

    def reset(self) -> None:
        """Do nothing: there is no state."""

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the union of both values; if one is null, the other.

        Raises:
            SchemaMismatch: The bytes of either are malformed.
        """
        if accumulated is None or value is None:
            return value if accumulated is None else accumulated
        assert isinstance(accumulated, bytes)
        assert isinstance(value, bytes)
        try:
            return self._unite(accumulated, value)
        except ValueError as error:
            raise self._unreadable(accumulated, value, error) from error

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the union, with the arguments swapped.

        Raises:
            SchemaMismatch: The bytes of either are malformed.
        """
        return self.aggregate(value, accumulated)

    def retract(self, _accumulated: object, _value: object) -> object:
        """Refuse."""
        raise refused_retract(self._function.column, self._function.name)

    def _unreadable(self, accumulated: bytes, value: bytes, error: ValueError) -> SchemaMismatch:
        wrong = value if self._is_readable(accumulated) else accumulated
        return value_error(
            self._function.column,
            self._function.name,
            f"got bytes that it cannot read: {error}",
            f"expected {self._expected}",
            value=_shown(wrong),
        )

    def _is_readable(self, value: bytes) -> bool:
        try:
            self._unite(value, value)
        except ValueError:
            return False
        return True
