"""Aggregate functions of arrays of rows: nested_update and nested_partial_update.

Such an array is a small table inside a column. With a nested key its rows are told apart by the
fields of the key; without one, rows are only ever appended. The order of rows has no meaning; here it
is that of first arrival. Null elements are dropped by every merge.

Source: merge-semantics 4.4, 4.5, and 10 for the first value of a key (2.0.0).
"""

from collections.abc import Callable, Hashable, Iterable, Iterator

import pyarrow as pa

from lake.errors import Problem
from lake.format.data_types import DataField, DataType, TypeRoot
from lake.merge.aggregate_function import (
    AggregateFunction,
    FunctionDeclaration,
    FunctionOption,
    Reduction,
)
from lake.merge.column_function import ColumnFunction
from lake.merge.compatibility import Compatibility
from lake.merge.function_errors import refused_retract, value_error
from lake.merge.functions.list_reduction import present_elements
from lake.merge.functions.lone_values import NULLS_ONLY
from lake.merge.functions.option_values import (
    INT_MAX,
    count_problems,
    has_option,
    integer,
    name_problems,
    names,
    option_key,
    word,
    word_problems,
)
from lake.merge.functions.value_equality import identity, ordering

NESTED_UPDATE = "nested_update"
NESTED_PARTIAL_UPDATE = "nested_partial_update"
NESTED_KEY = "nested-key"
NULL_STRATEGY = "nested-key-null-strategy"
SEQUENCE_FIELD = "nested-sequence-field"
COUNT_LIMIT = "count-limit"

_MERGE, _IGNORE, _ERROR = "merge", "ignore", "error"
_STRATEGIES = (_MERGE, _IGNORE, _ERROR)

Row = tuple[object, ...]


class NestedKey:
    """What tells the rows of one array apart.

    Args:
        function: The column's function, for its name and options.
        row_type: Of the array's elements.
    """

    def __init__(self, function: ColumnFunction, row_type: pa.DataType) -> None:
        self._function = function
        self._parts = [
            (index, identity(row_type.field(index).type))
            for index in _indices(row_type, names(function, NESTED_KEY))
        ]
        self._strategy = word(function, NULL_STRATEGY, _MERGE, _STRATEGIES)

    @property
    def is_declared(self) -> bool:
        """Return whether the column has a nested key."""
        return bool(self._parts)

    def keyed(self, rows: Iterable[Row]) -> Iterator[tuple[Hashable, Row]]:
        """Yield every row with its key, without rows that the null strategy leaves out.

        Raises:
            SchemaMismatch: A key holds a null and the strategy forbids that.
        """
        for row in rows:
            key = tuple(part(row[index]) for index, part in self._parts)
            if self._strategy == _MERGE or None not in key:
                yield key, row
            elif self._strategy == _ERROR:
                raise self._null_key(row)

    def _null_key(self, row: Row) -> Exception:
        return value_error(
            self._function.column,
            self._function.name,
            "got a row whose nested key holds a null",
            f"send no null in {', '.join(names(self._function, NESTED_KEY))}, or set "
            f"`{option_key(self._function, NULL_STRATEGY)}` to {_MERGE} or {_IGNORE}",
            value=str(row),
        )


class NestedUpdate:
    """Rows by key, the newest of each; or all rows, without a key.

    Args:
        function: The column's function, for its options.
        data_type: Of the column: a list of structs.
    """

    def __init__(self, function: ColumnFunction, data_type: pa.DataType) -> None:
        row_type = data_type.value_type
        self._key = NestedKey(function, row_type)
        self._identity = identity(row_type)
        self._sequence = [
            (index, ordering(row_type.field(index).type))
            for index in _indices(row_type, names(function, SEQUENCE_FIELD))
        ]
        self._limit = integer(function, COUNT_LIMIT, INT_MAX)

    def reset(self) -> None:
        """Do nothing: there is no state."""

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the accumulated rows with those of the value; null adds nothing.

        The limit counts rows without a key, and keys with one; what is accumulated stays whatever
        the limit.
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
        """Return the older rows with the accumulated ones put on top."""
        return self.aggregate(value, accumulated)

    def retract(self, accumulated: object, value: object) -> object:
        """Return the accumulated rows without those of the value.

        With a key every row of an equal key goes, whatever its sequence; without one every equal
        row. A null on either side changes nothing.
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
        data_type: Of the column: a list of structs.
    """

    def __init__(self, function: ColumnFunction, data_type: pa.DataType) -> None:
        self._column = function.column
        self._key = NestedKey(function, data_type.value_type)

    def reset(self) -> None:
        """Do nothing: there is no state."""

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the rows with the non-null fields of the value's put over them."""
        if value is None:
            return accumulated
        kept: dict[Hashable, Row] = {}
        for key, row in self._key.keyed(_rows(accumulated) + _rows(value)):
            kept[key] = _overlay(kept[key], row) if key in kept else row
        return list(kept.values())

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the older rows with the accumulated ones' non-null fields put over them."""
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


def _indices(row_type: pa.DataType, field_names: Iterable[str]) -> list[int]:
    return [row_type.get_field_index(name) for name in field_names]


def _accepts(data_type: DataType) -> bool:
    if data_type.root is not TypeRoot.ARRAY:
        return False
    return data_type.element is not None and data_type.element.root is TypeRoot.ROW


def _fields(field: DataField) -> tuple[DataField, ...]:
    return () if field.type.element is None else field.type.element.fields


def _key_problems(field: DataField, function: ColumnFunction) -> Iterator[Problem]:
    yield from name_problems(function, NESTED_KEY, _fields(field))
    yield from word_problems(function, NULL_STRATEGY, _STRATEGIES)


def _update_problems(field: DataField, function: ColumnFunction) -> Iterator[Problem]:
    yield from _key_problems(field, function)
    yield from name_problems(function, SEQUENCE_FIELD, _fields(field))
    yield from count_problems(function, COUNT_LIMIT)
    if has_option(function, NESTED_KEY):
        return
    for key in (NULL_STRATEGY, SEQUENCE_FIELD):
        if has_option(function, key):
            yield Problem(
                field=option_key(function, key),
                value=function.option(key, ""),
                message="without a nested key this option has no meaning",
                hint=f"set `{option_key(function, NESTED_KEY)}`, or leave this one out",
            )


def _partial_problems(field: DataField, function: ColumnFunction) -> Iterator[Problem]:
    if not has_option(function, NESTED_KEY):
        known = ", ".join(part.name for part in _fields(field))
        yield Problem(
            field=option_key(function, NESTED_KEY),
            value=None,
            message=f"`{NESTED_PARTIAL_UPDATE}` needs to know what tells rows apart",
            hint=f"name fields of the ROW, for example the first of {known}",
        )
    yield from _key_problems(field, function)


_Make = Callable[[ColumnFunction, pa.DataType], AggregateFunction]
_make_update: _Make = NestedUpdate
_make_partial: _Make = NestedPartialUpdate


def _update_reduction(function: ColumnFunction, _data_type: pa.DataType) -> Reduction:
    if has_option(function, NESTED_KEY) or has_option(function, COUNT_LIMIT):
        return NULLS_ONLY
    return Reduction(reduce=present_elements, keeps_single=False)


def _partial_reduction(_function: ColumnFunction, _data_type: pa.DataType) -> Reduction:
    return NULLS_ONLY


_NULL_STRATEGY_OPTION = FunctionOption(
    key=NULL_STRATEGY,
    type="merge, ignore or error",
    default=_MERGE,
    meaning="What happens to a row whose key holds a null: it is a row like any other, it is left "
    "out, or the merge fails.",
)

_DIFFERENCES = (
    Compatibility(
        subject="a field named twice in an option",
        verdict="stricter",
        why="The second mention changes nothing, so it is a mistake.",
    ),
    Compatibility(
        subject="order of rows",
        verdict="other",
        why="That of first arrival; the reference leaves it to a hash map.",
    ),
    Compatibility(
        subject="the first array of a merge",
        verdict="same",
        why="Its rows are folded like any other's, as in release 2.0; 1.4 takes it as it is.",
    ),
)

DECLARATIONS: tuple[FunctionDeclaration, ...] = (
    FunctionDeclaration(
        name=NESTED_UPDATE,
        summary="A table in a column: with a nested key the newest row of each key, else all rows.",
        accepts=_accepts,
        accepted="ARRAY of ROW",
        null_rule="A null array adds nothing; null elements are dropped.",
        late_rule="Rows that are there already are put over those of the older array.",
        retract_rule="With a nested key, rows with a key of the retract are removed, whatever their "
        "sequence; else every row equal to one of the retract. Null takes nothing back.",
        options=(
            FunctionOption(
                key=NESTED_KEY,
                type="fields of the ROW, separated by commas",
                default="none: rows are appended",
                meaning="What tells rows apart.",
            ),
            _NULL_STRATEGY_OPTION,
            FunctionOption(
                key=SEQUENCE_FIELD,
                type="fields of the ROW, separated by commas",
                default="none: the later row wins",
                meaning="A row replaces another of its key only if it is not smaller in these; null "
                "is smallest. Needs a nested key.",
            ),
            FunctionOption(
                key=COUNT_LIMIT,
                type="whole number from 1",
                default=str(INT_MAX),
                meaning="No further row, or key, is taken in once there are as many.",
            ),
        ),
        anomalies=(
            "A lone array keeps its null elements, its repeated keys and all its rows; the next "
            "record of the key drops what is too much. Write arrays as they shall be seen.",
            "With a null strategy of ignore, a retract or an update also drops accumulated rows "
            "whose key holds a null. Fill the fields of the key.",
            "A retract removes a row even when its sequence is smaller than that of the row. Write "
            "-U only before a +U that brings the row back.",
        ),
        differences=(
            *_DIFFERENCES,
            Compatibility(
                subject="`nested-sequence-field`, `nested-key-null-strategy`",
                verdict="same",
                why="As in release 2.0; 1.4 does not know them.",
            ),
        ),
        make=_make_update,
        reduction=_update_reduction,
        problems=_update_problems,
    ),
    FunctionDeclaration(
        name=NESTED_PARTIAL_UPDATE,
        summary="A table in a column whose rows are merged field by field, null keeping what is "
        "there.",
        accepts=_accepts,
        accepted="ARRAY of ROW",
        null_rule="A null array adds nothing; null elements are dropped; a null field keeps the "
        "row's value.",
        late_rule="Non-null fields that are there already are put over those of the older array.",
        retract_rule=None,
        options=(
            FunctionOption(
                key=NESTED_KEY,
                type="fields of the ROW, separated by commas",
                default=None,
                meaning="What tells rows apart.",
            ),
            _NULL_STRATEGY_OPTION,
        ),
        anomalies=(
            "A lone array keeps its null elements and repeated keys until the next record of the "
            "key. Write arrays as they shall be seen.",
        ),
        differences=_DIFFERENCES,
        make=_make_partial,
        reduction=_partial_reduction,
        problems=_partial_problems,
    ),
)
