"""Declarations of nested_update and nested_partial_update, the aggregate functions of arrays of rows.

They include checks of the options, and a check of values for nulls in the nested key if `nested-key-null-strategy` is
`error`. The definitions are in `nested_tables`.

Source: merge-semantics 4.4, 4.5, and 10 for the first value of a key (2.0.0).
"""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.errors import Problem
from braid.lake.format.arrays import validity
from braid.lake.format.data_types import DataField, DataType, TypeRoot
from braid.lake.merge.aggregate_function import (
    AggregateFunction,
    FunctionDeclaration,
    FunctionOption,
    Reduction,
    UnfitValue,
)
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.compatibility import Compatibility
from braid.lake.merge.functions.nested_tables import (
    COUNT_LIMIT,
    ERROR,
    MERGE,
    NESTED_KEY,
    NESTED_PARTIAL_UPDATE,
    NESTED_UPDATE,
    NULL_STRATEGIES,
    NULL_STRATEGY,
    SEQUENCE_FIELD,
    NestedPartialUpdate,
    NestedUpdate,
)
from braid.lake.merge.functions.reductions.list_reduction import present_elements
from braid.lake.merge.functions.reductions.single_value import NULLS_ONLY
from braid.lake.merge.functions.support.option_values import (
    INT_MAX,
    choice,
    choice_problems,
    count_problems,
    has_option,
    name_problems,
    names,
    option_key,
)


def _accepts(data_type: DataType) -> bool:
    if data_type.root is not TypeRoot.ARRAY:
        return False
    return data_type.element is not None and data_type.element.root is TypeRoot.ROW


def _fields(field: DataField) -> tuple[DataField, ...]:
    return () if field.type.element is None else field.type.element.fields


def _key_problems(field: DataField, function: ColumnFunction) -> Iterator[Problem]:
    yield from name_problems(function, NESTED_KEY, _fields(field))
    yield from choice_problems(function, NULL_STRATEGY, NULL_STRATEGIES)


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
                message="without a nested key this option has no effect",
                hint=f"set `{option_key(function, NESTED_KEY)}`, or leave this one out",
            )


def _partial_problems(field: DataField, function: ColumnFunction) -> Iterator[Problem]:
    if not has_option(function, NESTED_KEY):
        known = ", ".join(part.name for part in _fields(field))
        yield Problem(
            field=option_key(function, NESTED_KEY),
            value=None,
            message=f"`{NESTED_PARTIAL_UPDATE}` needs a nested key, which identifies rows",
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


def _unfit_keys(function: ColumnFunction, column: pa.Array) -> Iterator[UnfitValue]:
    """Yield the arrays that hold a row with a null in its key, where the strategy forbids that."""
    if choice(function, NULL_STRATEGY, MERGE, NULL_STRATEGIES) != ERROR:
        return
    rows = pc.list_flatten(column)
    # Not `list_parent_indices`: it counts what a null hides, and `list_flatten` drops that.
    counts = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    parents = np.repeat(np.arange(len(column)), counts)
    has_null = np.zeros(len(rows), dtype=np.bool_)
    for name in names(function, NESTED_KEY):
        part = pc.struct_field(rows, name)
        has_null |= ~validity(part) & validity(rows)
    for row in np.unique(parents[has_null]).tolist():
        yield UnfitValue(
            row=row,
            value=str(column[row].as_py())[:_SHOWN_MAX],
            message=f"`{function.name}` of the column got a row whose nested key holds a null",
            hint=f"send no null in {', '.join(names(function, NESTED_KEY))}",
        )


_SHOWN_MAX = 60
_NULL_STRATEGY_OPTION = FunctionOption(
    key=NULL_STRATEGY,
    type="merge, ignore or error",
    default=MERGE,
    meaning="The rule for a row whose key holds a null: it is a row like any other, it is left out, "
    "or the merge fails.",
)

_DIFFERENCES = (
    Compatibility(
        subject="a field named twice in an option",
        verdict="stricter",
        why="Refused as a mistake, because the second mention has no effect.",
    ),
    Compatibility(
        subject="order of rows",
        verdict="other",
        why="The order in which the values are combined, with those of a late record first; in "
        "Paimon, the order of a hash map.",
    ),
    Compatibility(
        subject="the first array of a merge",
        verdict="same",
        why="Its rows are merged like those of any other array, as in Paimon 2.0; 1.4 takes it as it is.",
    ),
)

DECLARATIONS: tuple[FunctionDeclaration, ...] = (
    FunctionDeclaration(
        name=NESTED_UPDATE,
        summary="A table in a column: with a nested key the newest row of each key, else all rows.",
        accepts=_accepts,
        accepted="ARRAY of ROW",
        null_rule="A null array adds nothing; null elements are dropped.",
        late_rule="The accumulated rows are merged into the older array, as newer rows.",
        retract_rule="With a nested key, all rows whose key is in the retract are removed, whatever their "
        "sequence; without one, all rows that are equal to a row of the retract. Null takes "
        "nothing back.",
        options=(
            FunctionOption(
                key=NESTED_KEY,
                type="fields of the ROW, separated by commas",
                default="none: rows are appended",
                meaning="The fields that identify a row.",
            ),
            _NULL_STRATEGY_OPTION,
            FunctionOption(
                key=SEQUENCE_FIELD,
                type="fields of the ROW, separated by commas",
                default="none: the later row wins",
                meaning="A row replaces another row of its key only if its values of these fields are "
                "not smaller; null is the smallest value. Requires a nested key.",
            ),
            FunctionOption(
                key=COUNT_LIMIT,
                type="whole number from 1",
                default=str(INT_MAX),
                meaning="Maximum number of rows (with a nested key, of keys); further ones are "
                "dropped.",
            ),
        ),
        anomalies=(
            "A single array keeps its null elements, its repeated keys and all its rows; the next "
            "record of the key drops them. Write arrays as they should be read.",
            "With `nested-key-null-strategy` = `ignore`, a retract or an update also drops "
            "accumulated rows whose key has a null. Fill the fields of the key.",
            "A retract removes a row even when its sequence is smaller than that of the row. Write "
            "-U only before a +U that brings the row back.",
        ),
        differences=(
            *_DIFFERENCES,
            Compatibility(
                subject="`nested-sequence-field`, `nested-key-null-strategy`",
                verdict="same",
                why="As in Paimon 2.0; 1.4 does not have them.",
            ),
        ),
        make=_make_update,
        reduction=_update_reduction,
        unfit=_unfit_keys,
        stores_unfit=True,
        problems=_update_problems,
    ),
    FunctionDeclaration(
        name=NESTED_PARTIAL_UPDATE,
        summary="A table in a column whose rows are merged field by field, null keeping the "
        "existing value.",
        accepts=_accepts,
        accepted="ARRAY of ROW",
        null_rule="A null array adds nothing; null elements are dropped; a null field keeps the "
        "row's value.",
        late_rule="The accumulated rows are merged into the older array, as newer rows.",
        retract_rule=None,
        options=(
            FunctionOption(
                key=NESTED_KEY,
                type="fields of the ROW, separated by commas",
                default=None,
                meaning="The fields that identify a row.",
            ),
            _NULL_STRATEGY_OPTION,
        ),
        anomalies=(
            "A single array keeps its null elements and repeated keys until the next record of the "
            "key. Write arrays as they should be read.",
        ),
        differences=_DIFFERENCES,
        make=_make_partial,
        reduction=_partial_reduction,
        unfit=_unfit_keys,
        stores_unfit=True,
        problems=_partial_problems,
    ),
)
