"""The guide's example of a stream with a schema registry becomes the rows and dead letters that it shows."""

import json
import re
from pathlib import Path

import orjson
import pyarrow as pa

from braid.formats.json_values import json_row
from braid.formats.schema_registry.schema_source import SchemaKind
from braid.records.record_reader import RecordReader
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.schemas import StreamDefinition
from tests.support.given_schemas import GivenSchemas
from tests.unit.records.given_streams import given_plan, given_records, given_spec, given_table

GUIDE = Path("docs/guides/message-formats.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(
    r"```json declaration\n(.*?)```.*?```text messages behind headers\n(.*?)```\n\n"
    r"\| message \| becomes \|\n\|---\|---\|\n((?:\|[^\n]*\n)+)",
    re.DOTALL,
)


def message(line: str) -> bytes:
    """Return the bytes of a line: a header in hexadecimal digits, or none, and a text."""
    header = re.match(r"00 ([0-9a-f]{8}) ", line)
    return (
        line.encode()
        if header is None
        else b"\0" + bytes.fromhex(header[1]) + line[header.end() :].encode()
    )


def test_messages_become_what_the_guide_shows() -> None:
    ((declaration, lines, table),) = EXAMPLE.findall(GUIDE)
    spec = given_spec({"id": "BIGINT", "price": "DECIMAL(9, 2)"}, ordering=None)
    plan = given_plan(spec, **orjson.loads(declaration))
    schema = given_table(spec).schema
    records = given_records([message(line) for line in lines.splitlines()])

    found = RecordReader(
        plan, schema, schemas=GivenSchemas({7: SchemaKind.JSON, 8: SchemaKind.AVRO})
    ).read(records)

    rows = pa.table(dict(found.columns)).to_pylist()
    shown = [
        f"{found.faults[row].reason}: {found.faults[row].message}"
        if row in found.faults
        else json.dumps(json_row(values, [schema.field("id"), schema.field("price")]))
        for row, values in enumerate(rows)
    ]
    assert shown == [line.split(" | `")[1].removesuffix("` |") for line in table.splitlines()]


def test_keys_that_name_a_schema_are_declared_as_the_guide_shows() -> None:
    (declaration,) = re.findall(r"```json declaration of keys\n(.*?)```", GUIDE, re.DOTALL)
    spec = given_spec({"id": "BIGINT", "price": "DECIMAL(9, 2)"}, ordering=None)
    definition = StreamDefinition.model_validate_json(declaration)
    stream = complete_stream(spec, definition, name="s")

    assert check_stream(spec, {}, stream) == []
    plan = given_plan(spec, **orjson.loads(declaration))
    assert [column.name for column in plan.key_columns] == ["id"]
