"""Schemas in a line: columns as `name type`, keys, options."""

from collections.abc import Mapping

from braid.lake.format.data_types import DataField, assign_field_ids, highest_field_id
from braid.lake.format.schema import TableSchema
from braid.lake.format.type_codec import parse_type


def given_schema(
    columns: str,
    *,
    key: str = "k",
    partition: str = "",
    options: Mapping[str, str] | None = None,
) -> TableSchema:
    """Return a schema of columns such as `k INT NOT NULL, v STRING`."""
    pairs = [column.split(maxsplit=1) for column in columns.split(", ")]
    fields = assign_field_ids([DataField(name=name, type=parse_type(text)) for name, text in pairs])
    return TableSchema(
        id=0,
        fields=fields,
        highest_field_id=highest_field_id(fields),
        partition_keys=tuple(partition.split()),
        primary_keys=tuple(key.split()),
        options={"bucket": "1", **(options or {})},
    )
