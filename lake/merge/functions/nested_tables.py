"""Definitions of nested_update and nested_partial_update, which treat an array of rows as a table inside a column.

With a nested key, the fields of the key identify a row; without one, nested_update appends rows. The order of rows
has no meaning; here rows are in the order in which the values are combined. Null elements are dropped, also from the
first array. They stay only where the accumulated array is returned as it is, for example at the limit of rows.

Source: merge-semantics 4.4, 4.5, and 10 for the first value of a key (2.0.0).
"""

from collections.abc import Hashable, Iterable, Iterator

import pyarrow as pa

from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.functions.support.function_errors import refused_retract, value_error
from braid.lake.merge.functions.support.option_values import (
    INT_MAX,
    choice,
    field_index,
    integer,
    names,
    option_key,
)
from braid.lake.merge.functions.support.value_equality import identity, ordering

NESTED_UPDATE = "nested_update"
NESTED_PARTIAL_UPDATE = "nested_partial_update"
NESTED_KEY = "nested-key"
NULL_STRATEGY = "nested-key-null-strategy"
SEQUENCE_FIELD = "nested-sequence-field"
COUNT_LIMIT = "count-limit"

MERGE, _IGNORE, ERROR = "merge", "ignore", "error"
NULL_STRATEGIES = (MERGE, _IGNORE, ERROR)

Row = tuple[object, ...]


class NestedKey:
    """The nested key: the fields that identify a row of an array.

    Args:
        function: The column's function, for its name and options.
        row_type: Type of the array's elements.

    Raises:
        SchemaMismatch: The ROW has no field of a name, in a table of another engine.
    """

    def __init__(self, function: ColumnFunction, row_type: pa.DataType) -> None:
        self._function = function
        self._parts = [
            (index, identity(row_type.field(index).type))
            for index in _indices(function, NESTED_KEY, row_type)
        ]
        self._strategy = choice(function, NULL_STRATEGY, MERGE, NULL_STRATEGIES)

    @property
    def is_declared(self) -> bool:
        """Return whether the column has a nested key."""
        return bool(self._parts)

    def keyed(self, rows: Iterable[Row]) -> Iterator[tuple[Hashable, Row]]:
        """Yield every row with its key, except rows that the null strategy drops.

        Raises:
            SchemaMismatch: A key holds a null and the strategy forbids that.
        """
        for row in rows:
            key = tuple(part(row[index]) for index, part in self._parts)
            if self._strategy == MERGE or None not in key:
                yield key, row
            elif self._strategy == ERROR:
                raise self._null_key(row)

    def _null_key(self, row: Row) -> Exception:
        return value_error(
            self._function.column,
            self._function.name,
            "got a row whose nested key holds a null",
            f"send no null in {', '.join(names(self._function, NESTED_KEY))}, or set "
            f"`{option_key(self._function, NULL_STRATEGY)}` to {MERGE} or {_IGNORE}",
            value=str(row),
        )


class NestedUpdate:
    """Rows by key, of each the last one or that of the greatest sequence; or all rows, without a key.

    Args:
        function: The column's function, for its options.
        data_type: The column's type: a list of structs.
    """

    def __init__(self, function: ColumnFunction, data_type: pa.DataType) -> None:
        row_type = data_type.value_type
        self._key = NestedKey(function, row_type)
        self._identity = identity(row_type)
        self._sequence = [
            (index, ordering(row_type.field(index).type))
            for index in _indices(function, SEQUENCE_FIELD, row_type)
        ]
        self._limit = integer(function, COUNT_LIMIT, INT_MAX)

    def reset(self) -> None:
        """Do nothing: there is no state."""

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the accumulated rows and the rows of the value together; null adds nothing.

        The limit counts keys if there is a nested key, else rows. Accumulated rows stay, whatever the
        limit.
        """
        if value is None:
            return accumulated
        if self._key.is_declared:
            return self._put(accumulated, value)
        if accumulated is None:
            return _rows(value)[: max(self._limit, 0)]
        assert isinstance(accumulated, list)
        # Null elements count until they are dropped.
        room = self._limit - len(accumulated)
        return accumulated if room <= 0 else _rows(accumulated) + _rows(value)[:room]

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the older rows, to which the accumulated rows are added as newer ones."""
        return self.aggregate(value, accumulated)

    def retract(self, accumulated: object, value: object) -> object:
        """Return the accumulated rows without the rows of the value.

        With a nested key, every row with an equal key is removed, whatever its sequence; without
        one, every equal row is removed. A null on either side changes nothing.
        """
        if accumulated is None or value is None:
            return accumulated
        if not self._key.is_declared:
            equal = set(map(self._identity, _rows(value)))
            return [row for row in _rows(accumulated) if self._identity(row) not in equal]
        kept = dict(self._key.keyed(_rows(accumulated)))
        for key, _ in self._key.keyed(_rows(value)):
            kept.pop(key, None)
        return list(kept.values())

    def _put(self, accumulated: object, value: object) -> list[Row]:
        kept: dict[Hashable, Row] = {}
        # Accumulated rows are folded too: a single array may have been kept with repeated keys.
        for key, row in self._key.keyed(_rows(accumulated)):
            if key not in kept or self._replaces(row, kept[key]):
                kept[key] = row
        for key, row in self._key.keyed(_rows(value)):
            if key in kept:
                if self._replaces(row, kept[key]):
                    kept[key] = row
            elif len(kept) < self._limit:
                kept[key] = row
        return list(kept.values())

    def _replaces(self, row: Row, existing: Row) -> bool:
        return not self._sequence or self._order(row) >= self._order(existing)

    def _order(self, row: Row) -> tuple[tuple[object, ...], ...]:
        return tuple(part(row[index]) for index, part in self._sequence)


class NestedPartialUpdate:
    """Rows by key, each with the newest non-null value of every field.

    Args:
        function: The column's function, for its name and options.
        data_type: The column's type: a list of structs.
    """

    def __init__(self, function: ColumnFunction, data_type: pa.DataType) -> None:
        self._column = function.column
        self._key = NestedKey(function, data_type.value_type)

    def reset(self) -> None:
        """Do nothing: there is no state."""

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the rows, overwritten with the non-null fields of the value's rows."""
        if value is None:
            return accumulated
        kept: dict[Hashable, Row] = {}
        for key, row in self._key.keyed(_rows(accumulated) + _rows(value)):
            kept[key] = _overlay(kept[key], row) if key in kept else row
        return list(kept.values())

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the older rows, overwritten with the non-null fields of the accumulated rows."""
        return self.aggregate(value, accumulated)

    def retract(self, _accumulated: object, _value: object) -> object:
        """Refuse."""
        raise refused_retract(self._column, NESTED_PARTIAL_UPDATE)


def _overlay(row: Row, newer: Row) -> Row:
    return tuple(old if new is None else new for old, new in zip(row, newer, strict=True))


def _rows(array: object) -> list[Row]:
    """Return the rows of an array without null elements; none for null."""
    assert array is None or isinstance(array, list)
    return [row for row in array or () if row is not None]


def _indices(function: ColumnFunction, key: str, row_type: pa.DataType) -> list[int]:
    return [field_index(function, key, name, row_type) for name in names(function, key)]
