"""Schema evolution on read: from the columns of a file's schema to those of another schema of the table.

Columns, and fields of a ROW, are matched by id, whatever their names were. For each wanted column
the mapping has the file's column and the conversion of its values. It has no entry for a column
that the file lacks, which `column_decoder` fills with nulls. A field that a ROW of the file lacks
is null. `is_same_shape` returns whether two schemas need no mapping, and `shape_digest` identifies
the schemas under which every file has the same records.

Source: table-format 2.3; merge-semantics 8.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.arrow_types import as_list, elements, to_arrow_type
from braid.lake.format.casts.cast import column_cast
from braid.lake.format.data_types import DataField, DataType, TypeRoot
from braid.lake.format.schema import TableSchema

T = TypeVar("T")
Conversion: TypeAlias = Callable[[pa.Array], pa.Array]
OlderSchemas: TypeAlias = Mapping[int, TableSchema]
"""Schemas by id, of those files that were written with other columns than the read returns."""
NO_OLDER_SCHEMAS: Final[OlderSchemas] = MappingProxyType({})

_MAPPINGS_KEPT: Final = 256
"""Number of pairs of schemas in the cache: a scan has many files, written under few schemas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumn:
    """The column of a file that has a wanted column's values.

    Attributes:
        name: Name of the column in the file.
        convert: Converts values from the Arrow form of the file's type to that of the wanted type; None
            when the values are the same.
    """

    name: str
    convert: Conversion | None


def map_columns(
    written: Iterable[DataField], wanted: Iterable[DataField]
) -> Mapping[str, FileColumn]:
    """Return the source of each wanted column by name; columns that the file lacks are absent.

    Args:
        written: Columns of the schema that the file was written under.
        wanted: Columns of the schema that the file is read under.
    """
    return _mapping(tuple(written), tuple(wanted))


@lru_cache(maxsize=_MAPPINGS_KEPT)
def _mapping(
    written: tuple[DataField, ...], wanted: tuple[DataField, ...]
) -> Mapping[str, FileColumn]:
    by_id = {field.id: field for field in written}
    return {
        field.name: FileColumn(
            name=by_id[field.id].name, convert=conversion(by_id[field.id].type, field.type)
        )
        for field in wanted
        if field.id in by_id
    }


def renamed(by_name: Mapping[str, T], mapped: Mapping[str, FileColumn]) -> dict[str, T]:
    """Return facts about a file's columns under the names of the wanted columns with the same values.

    Args:
        by_name: Facts (bounds, for example) by the names in the file; may lack some.
        mapped: Result of `map_columns`. Columns that are cast are left out: facts about values do not
            hold for their casts.
    """
    return {
        name: by_name[source.name]
        for name, source in mapped.items()
        if source.convert is None and source.name in by_name
    }


def is_same_shape(one: TableSchema, other: TableSchema) -> bool:
    """Return whether files of one schema can be read under the other without a mapping."""
    shapes = [[(field.id, field.name, field.type) for field in s.fields] for s in (one, other)]
    return shapes[0] == shapes[1]


def shape_digest(schema: TableSchema) -> str:
    """Return a short text, equal for two schemas only if every file has the same records under both."""
    return schema.shape_digest


def conversion(source: DataType, target: DataType) -> Conversion | None:
    """Return the conversion from the type of a file's column to the wanted one; None for the identity.

    Args:
        source: Type of the file's column, whose fields have ids.
        target: The wanted type, which schema changes have made of `source`.
    """
    if source.root is not target.root or not source.is_nested:
        return column_cast(source, target)
    match source.root:
        case TypeRoot.ROW:
            return _row_conversion(source, target)
        case TypeRoot.MAP:
            assert source.value is not None
            assert target.value is not None
            # Keys keep their type: schema changes do not reach them.
            items = conversion(source.value, target.value)
            return items and (lambda column: _map(column, to_arrow_type(target), items=items))
        case root:
            # ARRAY or MULTISET; the counts of a MULTISET have the same type in every schema.
            assert source.element is not None
            assert target.element is not None
            inner = conversion(source.element, target.element)
            if inner is not None and root is TypeRoot.MULTISET:
                return lambda column: _map(column, to_arrow_type(target), keys=inner)
            return inner and (lambda column: _list(column, to_arrow_type(target), inner))


def _row_conversion(source: DataType, target: DataType) -> Conversion | None:
    by_id = {field.id: index for index, field in enumerate(source.fields)}
    indexes = [by_id.get(field.id) for field in target.fields]
    changes = [
        None if index is None else conversion(source.fields[index].type, field.type)
        for index, field in zip(indexes, target.fields, strict=True)
    ]
    names = [field.name for field in source.fields]
    is_same = indexes == list(range(len(source.fields))) and not any(changes)
    if is_same and names == [field.name for field in target.fields]:
        return None
    kind = to_arrow_type(target)

    def convert(column: pa.StructArray) -> pa.StructArray:
        parts = []
        for index, change, field in zip(indexes, changes, kind, strict=True):
            if index is None:
                parts.append(pa.nulls(len(column), field.type))
            else:
                part = column.field(index)
                parts.append(part if change is None else change(part))
        # Inside a null row all fields are null, even NOT NULL ones; the mask hides them.
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=column.is_null())

    return convert


def _list(column: pa.ListArray, kind: pa.ListType, convert: Conversion) -> pa.ListArray:
    return pa.ListArray.from_arrays(_offsets(column), convert(elements(column)), type=kind)


def _map(
    column: pa.MapArray,
    kind: pa.MapType,
    *,
    keys: Conversion | None = None,
    items: Conversion | None = None,
) -> pa.MapArray:
    entries = elements(column)
    key, item = entries.field(0), entries.field(1)
    key = key if keys is None else keys(key)
    item = item if items is None else items(item)
    return pa.MapArray.from_arrays(_offsets(column), key, item, type=kind)


def _offsets(column: pa.Array) -> pa.Array:
    """Return the start of each value among the column's flattened elements; null for a null value.

    They are computed anew, because the column's own offsets count elements under null and before a slice.
    """
    lengths = pc.list_value_length(as_list(column)).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    # The last offset is the end of the last value; from_arrays takes a null offset as a null value.
    is_null = np.append(column.is_null().to_numpy(zero_copy_only=False), False)
    assert len(offsets) == len(is_null) == len(column) + 1, "one offset more than values"
    return pa.array(offsets, pa.int32(), mask=is_null)
