"""The wide table of the ingest benchmark, and its messages."""

import json

from benchmarks.ingest.growth import rows
from benchmarks.ingest.shape import (
    STREAMS,
    message,
    stream_columns,
    stream_request,
    table_columns,
    table_request,
    values_of,
)
from braid.schemas import StreamDefinition, TableSpec


def test_requests_are_valid() -> None:
    TableSpec.model_validate(table_request())
    for stream in STREAMS:
        request = stream_request(stream, topic="t", trigger_ms=200, max_records_per_batch=1_000)
        StreamDefinition.model_validate(request)


def test_a_message_has_the_fields_of_its_stream() -> None:
    fields = json.loads(message("b", 7, 5))

    assert list(fields) == list(stream_columns("b"))
    assert fields["b_v"] == 2


def test_each_key_comes_once_in_a_version() -> None:
    keys = [values_of("a", number, 1_000)["id"] for number in range(1_000)]

    assert sorted(keys) == list(range(1_000))


def test_rows_of_the_growth_have_all_columns() -> None:
    table = rows(10, 20)

    assert table.num_rows == 10
    assert table.column_names == list(table_columns())
    assert all(column.null_count == 0 for column in table.columns)
