"""Examples of guides: a table, a stream, its records, and the rows that they become."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from braid.formats.json_values import json_row
from braid.records.record_columns import OFFSET
from braid.records.record_reader import ReadRecords, RecordReader
from braid.records.table_columns import table_columns
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import StreamDefinition, TableSpec
from tests.unit.records.given_streams import given_plan, given_records, given_table

_EXAMPLE = re.compile(
    r"```json table\n(.*?)```\n\n```json registration\n(.*?)```\n\n```text records\n(.*?)```\n\n"
    r"\| record \| counts as \|\n\|---\|---\|\n((?:\|[^\n]*\n)+)\n```json rows\n(.*?)```",
    re.DOTALL,
)


def examples_of(guide: Path) -> list[tuple[str, ...]]:
    """Return the examples of a guide, and check that they are all of its registrations."""
    text = guide.read_text(encoding="utf-8")
    found = _EXAMPLE.findall(text)
    assert len(found) == text.count("```json registration") > 0
    return found


def check_example(
    declared: str,
    registration: str,
    records: str,
    counted: str,
    rows: str,
    *,
    parts: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """Check that table and stream are admitted, and that the records become what the example shows.

    Args:
        declared: The table.
        registration: The stream.
        records: A line for each record: its key, and its value behind a blank.
        counted: A line of a table for each record, with what it counts as.
        rows: The rows of the table, as lines.
        parts: Other columns of the Kafka records by name, with a value for each record.
    """
    spec = TableSpec.model_validate_json(declared)
    definition: dict[str, Any] = orjson.loads(registration)
    stream = complete_stream(spec, StreamDefinition.model_validate(definition), name="s")
    assert [*check_table("db", "t", spec), *check_stream(spec, {}, stream)] == []
    plan, table = given_plan(spec, **definition), given_table(spec)
    lines = [line.partition(" ") for line in records.splitlines()]
    batch = given_records(
        [value.encode() if blank else None for _, blank, value in lines],
        keys=[key.encode() for key, _, _ in lines],
    )
    for name, values in (parts or {}).items():
        field = batch.schema.field(name)
        index = batch.schema.get_field_index(name)
        batch = batch.set_column(index, field, pa.array(values, field.type))

    found = RecordReader(plan, table.schema).read(batch)

    assert _counted(found, len(lines)) == [
        line.split(" | ")[1].removesuffix(" |").strip("`") for line in counted.splitlines()
    ]
    accepted = ~found.faults.is_faulty
    columns = {name: array.filter(accepted) for name, array in found.columns.items()}
    missing = {name: array.filter(accepted) for name, array in found.missing.items()}
    is_delete = found.is_delete[accepted]
    written = table_columns(
        found.records.filter(accepted), columns, plan, is_delete=is_delete, missing=missing
    )
    table.write_and_commit(written, kinds=pa.array(np.where(is_delete, 3, 0), pa.int8()))
    shown = [orjson.loads(line) for line in rows.splitlines()]
    fields = [table.schema.field(name) for name in shown[0]]
    read = table.scan().to_arrow().sort_by("id").to_pylist()
    assert [json.loads(json.dumps(json_row(row, fields))) for row in read] == shown


def _counted(found: ReadRecords, count: int) -> list[str]:
    told = ["ignored"] * count
    for row, offset in enumerate(found.records.column(OFFSET).to_pylist()):
        told[offset] = "a delete" if found.is_delete[row] else "accepted"
        if row in found.faults:
            told[offset] = f"{found.faults[row].reason}: {found.faults[row].message}"
    return told
