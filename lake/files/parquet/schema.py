"""The Arrow schema from which Arrow's Parquet writer makes the format's columns.

Columns have the ids of `data_file_columns`. Inside them, fields of a ROW have their own ids; a list element
or map value has 536870911 + 1024 · id + depth, a map key 536870911 - 1024 · id - depth, where id is that of
the enclosing field and depth counts from 1. The two parts of a VARIANT have the ids 0 and 1. The columns of the other formats are cast to this schema too,
before their writers give them the form of the format.

Source: table-format 12.1, 12.2.
"""

from collections.abc import Collection

import pyarrow as pa

from braid.lake.files.data_file_columns import data_file_columns
from braid.lake.format.arrow_types import VARIANT_TYPE, to_arrow_type
from braid.lake.format.data_types import DataField, DataType, TypeRoot
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import KEY_FIELD_ID_START, KEY_PREFIX

_NESTED_ID_START = 536_870_911
_NESTED_ID_STEP = 1_024


def data_file_schema(schema: TableSchema, *, without: Collection[str] = ()) -> pa.Schema:
    """Return the Arrow schema of a data file, field ids in the fields' metadata.

    Args:
        schema: Schema of the table; `data-file.thin-mode` leaves the `_KEY_` columns out.
        without: Table columns that the file does not have.
    """
    return pa.schema(
        [
            _field(column.name, column.type, column.id, enclosing_id=_own_id(column), depth=0)
            for column in data_file_columns(schema, without=without)
        ]
    )


def nested_field_id(enclosing_id: int, depth: int) -> int:
    """Return the id of a list element or map value (see the module)."""
    return _NESTED_ID_START + _NESTED_ID_STEP * enclosing_id + depth


def map_key_field_id(enclosing_id: int, depth: int) -> int:
    """Return the id of a map key (see the module)."""
    return _NESTED_ID_START - _NESTED_ID_STEP * enclosing_id - depth


def _own_id(column: DataField) -> int:
    """Return the id from which the ids of nested parts are derived: that of the table's column."""
    is_key = column.name.startswith(KEY_PREFIX) and column.id >= KEY_FIELD_ID_START
    return column.id - KEY_FIELD_ID_START if is_key else column.id


def _field(
    name: str, data_type: DataType, field_id: int, *, enclosing_id: int, depth: int
) -> pa.Field:
    arrow_type = _arrow_type(data_type, enclosing_id, depth)
    return _with_id(name, arrow_type, data_type.nullable, field_id)


def _arrow_type(data_type: DataType, enclosing_id: int, depth: int) -> pa.DataType:
    depth += 1
    match data_type.root:
        case TypeRoot.ARRAY:
            assert data_type.element is not None
            return pa.list_(
                _field(
                    "element",
                    data_type.element,
                    nested_field_id(enclosing_id, depth),
                    enclosing_id=enclosing_id,
                    depth=depth,
                )
            )
        case TypeRoot.MAP:
            assert data_type.key is not None
            assert data_type.value is not None
            return _map_type(data_type.key, data_type.value, enclosing_id, depth)
        case TypeRoot.MULTISET:
            assert data_type.element is not None
            count = DataType(root=TypeRoot.INT, nullable=False)
            return _map_type(data_type.element, count, enclosing_id, depth)
        case TypeRoot.ROW:
            return pa.struct(
                [
                    _field(inner.name, inner.type, inner.id, enclosing_id=inner.id, depth=0)
                    for inner in data_type.fields
                ]
            )
        case TypeRoot.VARIANT:
            return pa.struct(
                [
                    _with_id(part.name, part.type, part.nullable, number)
                    for number, part in enumerate(VARIANT_TYPE)
                ]
            )
        case _:
            return to_arrow_type(data_type)


def _map_type(key: DataType, value: DataType, enclosing_id: int, depth: int) -> pa.DataType:
    key_field = _field(
        "key",
        key.with_nullable(False),
        map_key_field_id(enclosing_id, depth),
        enclosing_id=enclosing_id,
        depth=depth,
    )
    value_field = _field(
        "value",
        value,
        nested_field_id(enclosing_id, depth),
        enclosing_id=enclosing_id,
        depth=depth,
    )
    return pa.map_(key_field, value_field)


def _with_id(name: str, arrow_type: pa.DataType, nullable: bool, field_id: int) -> pa.Field:
    metadata = {"PARQUET:field_id": str(field_id)}
    return pa.field(name, arrow_type, nullable=nullable, metadata=metadata)
