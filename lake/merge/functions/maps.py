"""Aggregate functions of maps: merge_map and merge_map_with_keytime.

Keys of maps are compared by value. The order of entries has no meaning; here entries are in the order in which the
maps are combined.

Definitions and declarations; the vectorised reduction of merge_map is in `reductions.map_reduction`. For maps with
nested keys, and for merge_map_with_keytime, the reduction decides only primary keys with at most one value
(`reductions.single_value`).

Source: merge-semantics 4 (`merge_map`), 4.3.
"""

from collections.abc import Hashable, Iterator

import pyarrow as pa

from braid.lake.errors import Problem, SchemaMismatch
from braid.lake.format.data_types import TEXT_ROOTS, DataField, DataType, TypeRoot
from braid.lake.merge.aggregate_function import (
    AggregateFunction,
    FunctionDeclaration,
    FunctionOption,
    Reduction,
)
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.compatibility import Compatibility
from braid.lake.merge.functions.reductions.map_reduction import merged_maps
from braid.lake.merge.functions.reductions.single_value import SINGLE_VALUES
from braid.lake.merge.functions.support.elements import is_codable
from braid.lake.merge.functions.support.function_errors import refused_retract, value_error
from braid.lake.merge.functions.support.option_values import field_index, has_option, option_key
from braid.lake.merge.functions.support.value_equality import identity
from braid.lake.merge.steps import Step

MERGE_MAP = "merge_map"
MERGE_MAP_WITH_KEYTIME = "merge_map_with_keytime"
TS_FIELD = "ts-field"
_FIELDS_MIN = 2

Entry = tuple[object, object]


class MergeMap:
    """The union of maps; of equal keys the newer value stays.

    Args:
        data_type: The column's type: a map.
    """

    def __init__(self, data_type: pa.DataType) -> None:
        self._identity = identity(data_type.key_type)

    def reset(self) -> None:
        """Do nothing: there is no state."""

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the union, in which entries of the value win; null adds nothing."""
        if accumulated is None or value is None:
            return value if accumulated is None else accumulated
        found = self._by_key(_entries(accumulated))
        found.update(self._by_key(_entries(value)))
        return list(found.values())

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the union, in which accumulated entries win."""
        return self.aggregate(value, accumulated)

    def retract(self, accumulated: object, value: object) -> object:
        """Return the map without the keys of the value, whatever their values."""
        if accumulated is None or not value:
            return accumulated
        taken = {self._identity(name) for name, _ in _entries(value)}
        found = self._by_key(_entries(accumulated))
        return [entry for key, entry in found.items() if key not in taken]

    def _by_key(self, entries: list[Entry]) -> dict[Hashable, Entry]:
        return {self._identity(name): (name, item) for name, item in entries}


class MergeMapWithKeyTime:
    """The union of maps in which every value carries the time that decides for its key.

    Args:
        function: The column's function, for its name and options.
        data_type: The column's type: a map to rows.

    Raises:
        SchemaMismatch: The ROW has no field of the name, in a table of another engine.
    """

    def __init__(self, function: ColumnFunction, data_type: pa.DataType) -> None:
        self._function = function
        self._identity = identity(data_type.key_type)
        row = data_type.item_type
        named = function.option(TS_FIELD, row.field(row.num_fields - 1).name)
        self._time_index = field_index(function, TS_FIELD, named, row)

    def reset(self) -> None:
        """Do nothing: there is no state."""

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the map with the entries of the value merged into it; null adds nothing.

        A null row removes its key, and a row without a time is left out. Any other row replaces an
        existing row that has no time or a smaller one; times are compared as text.

        Raises:
            SchemaMismatch: A time is not text, in a table of another engine.
        """
        if accumulated is None or value is None:
            return value if accumulated is None else accumulated
        found = {self._identity(name): (name, row) for name, row in _entries(accumulated)}
        for name, row in _entries(value):
            key = self._identity(name)
            if row is None:
                found.pop(key, None)
            elif self._is_newer(row, found[key][1] if key in found else None):
                found[key] = (name, row)
        return list(found.values())

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the older map with the entries of the accumulated one merged into it.

        Raises:
            SchemaMismatch: As `aggregate`.
        """
        return self.aggregate(value, accumulated)

    def retract(self, _accumulated: object, _value: object) -> object:
        """Refuse."""
        raise refused_retract(self._function.column, MERGE_MAP_WITH_KEYTIME)

    def _is_newer(self, row: object, existing: object) -> bool:
        time, old_time = self._time(row), self._time(existing)
        return time is not None and (old_time is None or time > old_time)

    def _time(self, row: object) -> bytes | None:
        if row is None:
            return None
        assert isinstance(row, tuple)
        time = row[self._time_index]
        if time is None:
            return None
        if not isinstance(time, str):
            raise self._no_text(time)
        # Java compares text by UTF-16 units, so U+FFFF is larger than anything beyond it.
        return time.encode("utf-16-be", "surrogatepass")

    def _no_text(self, time: object) -> SchemaMismatch:
        return value_error(
            self._function.column,
            MERGE_MAP_WITH_KEYTIME,
            "got a time that is not text",
            f"name a STRING field in `{option_key(self._function, TS_FIELD)}`",
            value=str(time),
        )


def _entries(value: object) -> list[Entry]:
    assert isinstance(value, list)
    return value


def _accepts_map(data_type: DataType) -> bool:
    return data_type.root is TypeRoot.MAP


def _accepts_map_of_rows(data_type: DataType) -> bool:
    row = data_type.value
    return row is not None and row.root is TypeRoot.ROW and len(row.fields) >= _FIELDS_MIN


def _make_merge_map(_function: ColumnFunction, data_type: pa.DataType) -> AggregateFunction:
    return MergeMap(data_type)


def _make_with_keytime(function: ColumnFunction, data_type: pa.DataType) -> AggregateFunction:
    return MergeMapWithKeyTime(function, data_type)


def _merge_map_reduction(_function: ColumnFunction, data_type: pa.DataType) -> Reduction:
    if not is_codable(data_type.key_type):
        return SINGLE_VALUES
    return Reduction(reduce=merged_maps, handles=frozenset({Step.ADD, Step.LATE, Step.SEED}))


def _single_reduction(_function: ColumnFunction, _data_type: pa.DataType) -> Reduction:
    return SINGLE_VALUES


def _keytime_problems(field: DataField, function: ColumnFunction) -> Iterator[Problem]:
    row = field.type.value
    if row is None or not row.fields:
        return
    found = {part.name: part.type for part in row.fields}
    name = function.option(TS_FIELD, row.fields[-1].name)
    key = option_key(function, TS_FIELD)
    if name not in found:
        hint = f"fields: {', '.join(found)}"
        yield Problem(field=key, value=name, message="the ROW has no such field", hint=hint)
    elif found[name].root not in TEXT_ROOTS:
        yield Problem(
            field=key if has_option(function, TS_FIELD) else field.name,
            value=f"{name} {found[name]}",
            message="the times of keys are compared as text, and this field is not text",
            hint=f"make the field a STRING, or name another in `{key}`",
        )


_BYTES_KEYS = Compatibility(
    subject="bytes as keys of the map",
    verdict="other",
    why="They are equal by value, as in later versions of Paimon; Paimon 2.0 compares their addresses "
    "in memory.",
)
_ENTRY_ORDER = Compatibility(
    subject="order of entries",
    verdict="other",
    why="The order in which the values are combined, with those of a late record first; in Paimon, "
    "the order of a hash map.",
)

DECLARATIONS: tuple[FunctionDeclaration, ...] = (
    FunctionDeclaration(
        name=MERGE_MAP,
        summary="The union of the maps; for each key the newest value stays.",
        accepts=_accepts_map,
        accepted="MAP",
        null_rule="A null map adds nothing; a null value of a key is a value.",
        late_rule="Keys of the accumulated map win over those of an older map.",
        retract_rule="Keys of the retract are removed, whatever their values are.",
        differences=(_BYTES_KEYS, _ENTRY_ORDER),
        make=_make_merge_map,
        reduction=_merge_map_reduction,
    ),
    FunctionDeclaration(
        name=MERGE_MAP_WITH_KEYTIME,
        summary="The union of the maps; for each key the row with the greatest time stays.",
        accepts=_accepts_map_of_rows,
        accepted="MAP whose values are a ROW of at least two fields, one of which is the time, a text",
        null_rule="A null map adds nothing; a null row removes its key; a row without a time adds "
        "nothing.",
        late_rule="The accumulated entries are merged into the older map, by the same rule.",
        retract_rule=None,
        options=(
            FunctionOption(
                key=TS_FIELD,
                type="field of the ROW",
                default="its last field",
                meaning="Holds the time of the key, compared as text.",
            ),
        ),
        anomalies=(
            "The first map is kept as it is, with null rows and rows without a time. Write a time "
            "in every row.",
            "A removed key is forgotten, so a record with an older time brings it back. Mark the row "
            "as removed in a field of its own instead.",
        ),
        differences=(
            Compatibility(
                subject="time fields of other types than text",
                verdict="stricter",
                why="Refused when the table is created; Paimon reads their bytes as text.",
            ),
            _BYTES_KEYS,
            _ENTRY_ORDER,
        ),
        make=_make_with_keytime,
        reduction=_single_reduction,
        problems=_keytime_problems,
    ),
)
