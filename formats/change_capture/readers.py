"""Readers of all formats of captured changes: the reader of a stream's events, chosen by the declared format."""

from collections.abc import Sequence
from typing import assert_never

from braid.formats.change_capture.canal import CanalReader
from braid.formats.change_capture.changes import ChangeReader
from braid.formats.change_capture.debezium_avro import DebeziumAvroReader
from braid.formats.change_capture.debezium_json import DebeziumJsonReader
from braid.formats.change_capture.maxwell import MaxwellReader
from braid.formats.mapped_column import MappedColumn
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.schemas import CanalFormat, ChangeFormat, DebeziumFormat, MaxwellFormat


def change_reader(
    declared: ChangeFormat,
    columns: Sequence[MappedColumn],
    *,
    has_position: bool = False,
    key_fields: frozenset[str] = frozenset(),
    schemas: SchemaSource | None = None,
    tells_types: bool = False,
) -> ChangeReader:
    """Return the reader of a stream's events.

    Args:
        declared: The format.
        columns: The columns that are read from the events.
        has_position: Whether the positions of the changes are read.
        key_fields: Fields of rows that the key is read from: a change of one is a change of the key.
        schemas: The registry that the format names; None if it names none.
        tells_types: Whether the types of the rows are asked for (`ChangeReader.row_types`).
    """
    match declared:
        case DebeziumFormat(messages="json"):
            return DebeziumJsonReader(declared, columns, has_position=has_position)
        case DebeziumFormat():
            return DebeziumAvroReader(declared, columns, has_position=has_position, schemas=schemas)
        case MaxwellFormat():
            return MaxwellReader(columns, has_position=has_position, key_fields=key_fields)
        case CanalFormat():
            return CanalReader(columns, key_fields=key_fields, tells_types=tells_types)
        case _:
            assert_never(declared)
