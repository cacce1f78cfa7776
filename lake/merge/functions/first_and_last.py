"""Aggregate functions: last_value, last_non_null_value, first_value and first_non_null_value.

Definitions and declarations; their vectorised reductions are in `reductions.position_reductions`.

Source: merge-semantics 4.
"""

from dataclasses import dataclass, field

import pyarrow as pa

from braid.lake.format.data_types import DataType
from braid.lake.merge.aggregate_function import AggregateFunction, FunctionDeclaration
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.functions.reductions.position_reductions import (
    first_non_null_value_reduction,
    first_value_reduction,
    last_non_null_value_reduction,
    last_value_reduction,
)
from braid.lake.merge.functions.support.function_errors import refused_retract


@dataclass(frozen=True, slots=True)
class LastValue:
    """`last_value`: the newest value, null or not."""

    def reset(self) -> None:
        """Begin the next key; there is nothing to forget."""

    def aggregate(self, _accumulated: object, value: object) -> object:
        """Return the value."""
        return value

    def aggregate_late(self, accumulated: object, _value: object) -> object:
        """Return the accumulated value."""
        return accumulated

    def retract(self, _accumulated: object, _value: object) -> object:
        """Return null, whatever is retracted."""
        return None


@dataclass(frozen=True, slots=True)
class LastNonNullValue:
    """`last_non_null_value`: the newest value that is not null."""

    def reset(self) -> None:
        """Begin the next key; there is nothing to forget."""

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the value unless it is null."""
        return accumulated if value is None else value

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the accumulated value; an older value only replaces null."""
        return value if accumulated is None else accumulated

    def retract(self, accumulated: object, value: object) -> object:
        """Return null when any value is retracted; retracting null has no effect."""
        return accumulated if value is None else None


@dataclass(slots=True)
class FirstValue:
    """`first_value`: the value of the key's first record, null or not.

    The function remembers whether it was called, not whether a value is accumulated: a seed, which
    is accumulated without a call, does not count.
    """

    function: ColumnFunction
    _initialised: bool = field(default=False, init=False)

    def reset(self) -> None:
        """Begin the next key."""
        self._initialised = False

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the value in the first call, the accumulated value in later ones."""
        if self._initialised:
            return accumulated
        self._initialised = True
        return value

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the older value; only the first call returns the accumulated value."""
        return self.aggregate(value, accumulated)

    def retract(self, accumulated: object, value: object) -> object:
        """Raise: the second value, which would be the first now, is not known."""
        raise refused_retract(self.function.column, self.function.name)


@dataclass(slots=True)
class FirstNonNullValue:
    """`first_non_null_value`: the first value that is not null."""

    function: ColumnFunction
    _initialised: bool = field(default=False, init=False)

    def reset(self) -> None:
        """Begin the next key."""
        self._initialised = False

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the value if it is the first that is not null, else the accumulated value."""
        if self._initialised or value is None:
            return accumulated
        self._initialised = True
        return value

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the older value, even null.

        Until the function has found a first value, a call returns the accumulated value if that is
        not null.
        """
        return self.aggregate(value, accumulated)

    def retract(self, accumulated: object, value: object) -> object:
        """Raise: the second value, which would be the first now, is not known."""
        raise refused_retract(self.function.column, self.function.name)


def _make_last_value(_function: ColumnFunction, _kind: pa.DataType) -> AggregateFunction:
    return LastValue()


def _make_last_non_null_value(_function: ColumnFunction, _kind: pa.DataType) -> AggregateFunction:
    return LastNonNullValue()


def _make_first_value(function: ColumnFunction, _kind: pa.DataType) -> AggregateFunction:
    return FirstValue(function)


def _make_first_non_null_value(function: ColumnFunction, _kind: pa.DataType) -> AggregateFunction:
    return FirstNonNullValue(function)


def _is_any(_data_type: DataType) -> bool:
    return True


DECLARATIONS: tuple[FunctionDeclaration, ...] = (
    FunctionDeclaration(
        name="last_value",
        summary="The value of the newest record.",
        accepts=_is_any,
        accepted="every type",
        null_rule="Null replaces a value.",
        late_rule="An older value is dropped.",
        retract_rule="The value becomes null, whatever is taken back.",
        make=_make_last_value,
        reduction=lambda _function, _kind: last_value_reduction(),
    ),
    FunctionDeclaration(
        name="last_non_null_value",
        summary="The newest value that is not null.",
        accepts=_is_any,
        accepted="every type",
        null_rule="Null changes nothing.",
        late_rule="An older value only replaces null.",
        retract_rule="The value becomes null when the retract has any value; a retract with "
        "null changes nothing.",
        make=_make_last_non_null_value,
        reduction=lambda _function, _kind: last_non_null_value_reduction(),
    ),
    FunctionDeclaration(
        name="first_value",
        summary="The value of the oldest record.",
        accepts=_is_any,
        accepted="every type",
        null_rule="Null stays if it came first.",
        late_rule="An older value replaces the value.",
        retract_rule=None,
        make=_make_first_value,
        reduction=lambda _function, _kind: first_value_reduction(),
    ),
    FunctionDeclaration(
        name="first_non_null_value",
        aliases=("first_not_null_value",),
        summary="The oldest value that is not null.",
        accepts=_is_any,
        accepted="every type",
        null_rule="Null changes nothing, unless it comes late.",
        late_rule="An older value replaces the value.",
        retract_rule=None,
        make=_make_first_non_null_value,
        reduction=lambda _function, _kind: first_non_null_value_reduction(),
    ),
)
