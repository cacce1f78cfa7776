"""The demo's definitions: they can be registered, and the table's test passes with its streams."""

from braid.demo.flights_data import STREAMS
from braid.demo.flights_definition import stream_request, table_request
from braid.lake import ManualClock
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import StreamDefinition, StreamEntry, TableDocument, TableSpec
from braid.service.control.table_tests.table_run import requested_tests


def test_the_test_of_the_table_passes_with_its_streams() -> None:
    table = TableSpec.model_validate(table_request())
    entries = {}
    for stream in STREAMS:
        request = stream_request(stream, trigger_ms=1_000, max_records_per_batch=1_000)
        spec = complete_stream(table, StreamDefinition.model_validate(request), name=stream.name)
        entries[stream.name] = StreamEntry(spec=spec)
    document = TableDocument(database="demo", name="flights", table=table, streams=entries)

    assert check_table("demo", "flights", table) == []
    assert requested_tests(document, None, clock=ManualClock()).passed
