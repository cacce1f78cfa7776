"""Streams of captured changes, and their records read by the code that reads those of a running stream."""

from collections.abc import Mapping, Sequence
from typing import Any

from braid.formats.schema_registry.schema_source import SchemaSource
from braid.records.record_reader import ReadRecords, RecordReader
from tests.unit.records.given_streams import given_plan, given_records, given_spec, given_table

COLUMNS = {"id": "BIGINT", "pos": "BYTES", "name": "STRING", "total": "DECIMAL(9, 2)"}


def read(
    declared: Mapping[str, Any] | str,
    messages: Sequence[Mapping[str, Any] | bytes | None],
    *,
    columns: Mapping[str, str] = COLUMNS,
    sources: Mapping[str, Mapping[str, Any]] | None = None,
    keys: Sequence[bytes | None] | None = None,
    schemas: SchemaSource | None = None,
    **stream: Any,
) -> ReadRecords:
    """Return the records of a stream, which is ordered by `pos` if there is such a column.

    Args:
        declared: The format.
        messages: The values.
        columns: The columns of the table, the first of which is its key; all but key and order are kept.
        sources: By column what its mapping declares besides.
        keys: The Kafka keys.
        schemas: The schemas that messages name.
        stream: Other fields of the stream.
    """
    ordering = ["pos"] if "pos" in columns else None
    kept = [name for name in list(columns)[1:] if name != "pos"]
    spec = given_spec(columns, ordering=ordering, keep=kept, deletes="clear_columns")
    mappings = {"pos": {"source": "change_position"}, **(sources or {})}
    mapped = [{"column": name, **mappings.get(name, {})} for name in columns]
    plan = given_plan(spec, format=declared, columns=mapped, **stream)
    reader = RecordReader(plan, given_table(spec).schema, schemas=schemas)
    return reader.read(given_records(messages, keys=keys))


def rows_of(found: ReadRecords, *names: str) -> list[tuple[Any, ...]]:
    """Return the values of the accepted rows, each with `-` in front if it is a delete, else `+`."""
    arrays = [found.columns[name].to_pylist() for name in names]
    return [
        ("-" if found.is_delete[row] else "+", *(array[row] for array in arrays))
        for row in range(found.records.num_rows)
        if row not in found.faults
    ]


def faults_of(found: ReadRecords) -> dict[int, str]:
    """Return the faults, by row."""
    return {
        row: f"{found.faults[row].reason}: {found.faults[row].message}" for row in found.faults.rows
    }
