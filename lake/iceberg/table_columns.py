"""A schema of the table as Iceberg's schema and partition specification, in JSON."""

from collections.abc import Mapping
from typing import Any, Final

from braid.lake.format.schema import TableSchema
from braid.lake.iceberg.field_types import iceberg_field, type_gap

SPEC_ID: Final = 0
PARTITION_FIELD_ID: Final = 1000
"""Id of the first partition field; Iceberg numbers them from here."""

Json = Mapping[str, Any]


def has_counterpart(schema: TableSchema) -> bool:
    """Return whether every column has a type of Iceberg."""
    return all(type_gap(field.type) is None for field in schema.fields)


def iceberg_schema(schema: TableSchema) -> Json:
    """Return Iceberg's schema of the table's columns.

    Requires:
        Every column has a counterpart.
    """
    return {
        "type": "struct",
        "schema-id": schema.id,
        "fields": [iceberg_field(field) for field in schema.fields],
    }


def partition_spec(schema: TableSchema) -> Json:
    """Return the partition specification: the identity of each partition column."""
    return {"spec-id": SPEC_ID, "fields": partition_fields(schema)}


def partition_fields(schema: TableSchema) -> list[Json]:
    """Return the fields of the partition specification, in the order of the partition columns."""
    return [
        {
            "name": field.name,
            "transform": "identity",
            "source-id": field.id,
            "field-id": PARTITION_FIELD_ID + number,
        }
        for number, field in enumerate(schema.partition_fields)
    ]


def last_partition_id(schema: TableSchema) -> int:
    """Return the highest id of a partition field; 999 without any, as Iceberg has it."""
    return PARTITION_FIELD_ID - 1 + len(schema.partition_keys)


def highest_column_id(schema: TableSchema) -> int:
    """Return the highest id of a column; ids of nested parts are not counted, as by Paimon."""
    return max(field.id for field in schema.fields)
