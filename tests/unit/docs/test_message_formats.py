"""Every example of the guides to message formats and mapping becomes the rows and dead letters that it shows."""

import datetime as dt
import json
import re
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest

from braid.formats.json_values import json_row
from braid.records.record_columns import RECORD_COLUMNS
from braid.records.record_reader import RecordReader
from tests.unit.docs.record_examples import check_example
from tests.unit.records.given_streams import HEADERS_TYPE, given_plan, given_spec, given_table

GUIDES = [
    Path(f"docs/guides/{name}.md").read_text(encoding="utf-8")
    for name in ("message-formats", "mapping")
]
EXAMPLE = re.compile(
    r"```json registration\n(.*?)```\n\n```(text|hex) messages\n(.*?)```\n\n"
    r"\| message \| becomes \|\n\|---\|---\|\n((?:\|[^\n]*\n)+)",
    re.DOTALL,
)
TYPES = {"id": "BIGINT", "price": "DECIMAL(9, 2)", "at": "TIMESTAMP(3)"}
TYPES |= {"cents": "BIGINT", "label": "STRING", "cheap": "BOOLEAN", "stock": "MAP<STRING, INT>"}
TYPES |= {
    "items": "ARRAY<ROW<sku STRING, qty INT>>",
    "visits": "ARRAY<ROW<page STRING, day DATE>>",
}
TYPES |= {"opened": "TIMESTAMP_LTZ(3)", "day": "DATE"}
EXAMPLES = [example for guide in GUIDES for example in EXAMPLE.findall(guide)]


def test_every_registration_is_an_example_that_is_run() -> None:
    for guide in GUIDES:
        parts = guide.count("```json registration of parts")
        assert len(EXAMPLE.findall(guide)) + parts == guide.count("```json registration") > parts


@pytest.mark.parametrize(
    ("registration", "coding", "messages", "table"), EXAMPLES, ids=[e[0][:30] for e in EXAMPLES]
)
def test_messages_become_what_the_guide_shows(
    registration: str, coding: str, messages: str, table: str
) -> None:
    definition: dict[str, Any] = orjson.loads(registration)
    names = [column["column"] for column in definition["columns"]]
    spec = given_spec({name: TYPES[name] for name in names}, ordering=None)
    plan = given_plan(spec, **definition)
    lines = [
        bytes.fromhex(line) if coding == "hex" else line.encode() for line in messages.splitlines()
    ]

    found = RecordReader(plan, given_table(spec).schema).read(_records(lines))

    fields = [given_table(spec).schema.field(name) for name in names]
    rows = [
        {name: array[row].as_py() for name, array in found.columns.items()}
        for row in range(len(lines))
    ]
    shown = [
        f"{found.faults[row].reason}: {found.faults[row].message}"
        if row in found.faults
        else json.dumps(json_row(rows[row], fields))
        for row in range(len(lines))
    ]
    assert shown == [line.split(" | `")[1].removesuffix("` |") for line in table.splitlines()]


PARTS = re.compile(
    r"```json table\n(.*?)```\n\n```json registration of parts\n(.*?)```\n\n"
    r"```text records with time, key, headers and value\n(.*?)```\n\n"
    r"\| record \| counts as \|\n\|---\|---\|\n((?:\|[^\n]*\n)+)\n```json rows\n(.*?)```",
    re.DOTALL,
)


def test_parts_of_records_become_what_the_guide_shows() -> None:
    ((table, registration, lines, counted, rows),) = PARTS.findall(GUIDES[0])
    times, records, headers = [], [], []
    for line in lines.splitlines():
        time, key, parts, *value = line.split(" ", 3)
        times.append(dt.datetime.fromisoformat(time))
        records.append(" ".join([key, *value]))
        pairs = [] if parts == "-" else [part.split("=") for part in parts.split(",")]
        headers.append([{"key": name, "value": text.encode()} for name, text in pairs])

    check_example(
        table,
        registration,
        "\n".join(records),
        counted,
        rows,
        parts={"timestamp": times, "headers": headers},
    )


def _records(values: list[bytes]) -> pa.RecordBatch:
    count = len(values)
    arrays = {
        "key": pa.array([str(number).encode() for number in range(1, count + 1)], pa.binary()),
        "value": pa.array(values, pa.binary()),
        "headers": pa.nulls(count, HEADERS_TYPE),
        "partition": pa.array([0] * count, pa.int32()),
        "offset": pa.array(range(count), pa.int64()),
        "timestamp": pa.array([0] * count, pa.timestamp("us", tz="UTC")),
    }
    return pa.RecordBatch.from_pydict({name: arrays[name] for name in RECORD_COLUMNS})
