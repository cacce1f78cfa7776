"""The columns of a data file of any format.

| column | field id | nullable |
|---|---|---|
| `_KEY_<k>`, of each trimmed key column; none with `data-file.thin-mode` | 1073741823 + id of k | no |
| `_SEQUENCE_NUMBER` BIGINT | 2147483646 | no |
| `_VALUE_KIND` TINYINT | 2147483645 | no |
| table columns, in schema order; a file may lack some nullable ones | the schema's | as declared |

Source: table-format 12.1.
"""

from collections.abc import Collection

from braid.lake.format.data_types import DataField, DataType, TypeRoot
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import (
    KEY_FIELD_ID_START,
    KEY_PREFIX,
    SEQUENCE_NUMBER,
    SEQUENCE_NUMBER_FIELD_ID,
    VALUE_KIND,
    VALUE_KIND_FIELD_ID,
)

_SYSTEM_COLUMNS = (
    DataField(
        id=SEQUENCE_NUMBER_FIELD_ID,
        name=SEQUENCE_NUMBER,
        type=DataType(root=TypeRoot.BIGINT, nullable=False),
    ),
    DataField(
        id=VALUE_KIND_FIELD_ID,
        name=VALUE_KIND,
        type=DataType(root=TypeRoot.TINYINT, nullable=False),
    ),
)


def data_file_columns(schema: TableSchema, *, without: Collection[str] = ()) -> list[DataField]:
    """Return the columns of a data file, in order.

    Args:
        schema: Schema of the table; `data-file.thin-mode` leaves the `_KEY_` columns out.
        without: Table columns that the file does not have.
    """
    keys = [] if schema.table_options.thin_mode else list(map(_key_column, schema.key_fields))
    values = [field for field in schema.fields if field.name not in without]
    return [*keys, *_SYSTEM_COLUMNS, *values]


def _key_column(field: DataField) -> DataField:
    return DataField(
        id=KEY_FIELD_ID_START + field.id,
        name=KEY_PREFIX + field.name,
        type=field.type.with_nullable(False),
    )
