"""Batches of queries and single writes: each is in the table once, whoever repeats it, and only its owner's."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from braid.lake import (
    BATCHES,
    ONE_WRITES,
    ROWS,
    CommitConflict,
    InvalidRequest,
    OffsetMismatch,
    StreamFenced,
)
from braid.pipelines.table_sink.commit import commit_rows
from braid.pipelines.table_sink.stream_target import open_target
from braid.pipelines.table_sink.write_options import write_options
from braid.pipelines.table_sink.write_task import WrittenRows, write_task
from braid.registry.stream_entries import Verb
from tests.support.spark_fed_table import SparkFedTable

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string())])
SPEC = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "paid", "type": "INT"},
        {"name": "city", "type": "STRING"},
    ],
    "primary_key": ["id"],
    "sequence_groups": [
        {"name": "payments", "columns": ["paid"]},
        {"name": "places", "columns": ["city"]},
    ],
}


@pytest.fixture
def orders(tmp_path: Path) -> SparkFedTable:
    """A table of two streams in the order of arrival."""
    streams: dict[str, dict[str, str]] = {"payments": {}, "places": {}}
    return SparkFedTable(directory=tmp_path, name="shop.orders", spec=SPEC, streams=streams)


def written(
    orders: SparkFedTable,
    city: str,
    *,
    query: str = ONE_WRITES,
    batch: int | None = None,
    write: str | None = None,
    takeover: str | None = None,
) -> WrittenRows:
    """Write a city of row 1; commit nothing."""
    options = write_options(orders.options("places"), is_streaming=False)
    options = replace(options, takeover=takeover)
    target = open_target(options)
    name = write or city if query == ONE_WRITES else None
    part = target.batch(options, query=query, batch_id=batch, write=name)
    rows = pa.RecordBatch.from_pylist([{"id": 1, "city": city}], schema=SCHEMA)
    return write_task(target, options, part, iter([rows]))


def commit(orders: SparkFedTable, part: WrittenRows) -> bool:
    """Commit the rows of one task."""
    options = write_options(orders.options("places"), is_streaming=False)
    return commit_rows(open_target(options), [part])


def city(orders: SparkFedTable) -> str:
    """Return the city of row 1."""
    ((found,),) = orders.rows("city")
    assert isinstance(found, str)
    return found


def test_a_single_write_of_a_known_name_does_nothing(orders: SparkFedTable) -> None:
    assert commit(orders, written(orders, "Ulm", write="first"))
    files = orders.files()

    again = written(orders, "Bonn", write="first")
    assert not commit(orders, again)
    assert again.turn is None
    assert orders.files() == files
    # Both have written before either is committed: the second one must not come into the table.
    one, two = written(orders, "Köln", write="next"), written(orders, "Köln", write="next")
    assert commit(orders, one)
    assert not commit(orders, two)
    assert (city(orders), orders.position("places").account.accepted) == ("Köln", 2)


def test_of_two_single_writes_at_once_the_second_is_written_again(orders: SparkFedTable) -> None:
    commit(orders, written(orders, "Ulm"))
    one, two = written(orders, "Bonn"), written(orders, "Köln")
    commit(orders, one)
    files = orders.files()

    with pytest.raises(CommitConflict, match="write again"):
        commit(orders, two)

    assert (city(orders), files - orders.files()) == (
        "Bonn",
        {f for f in files if f not in orders.files()},
    )
    assert commit(orders, written(orders, "Köln"))
    assert city(orders) == "Köln"


def test_batches_of_a_query_come_once_and_in_their_order(orders: SparkFedTable) -> None:
    for number, name in enumerate(("a", "b", "c")):
        assert commit(orders, written(orders, name, query="q", batch=number))
        assert not commit(orders, written(orders, "other", query="q", batch=number))

    position = orders.position("places")
    assert (city(orders), position.offsets, position.epoch) == ("c", {ROWS: 3, BATCHES: 3}, 1)
    with pytest.raises(OffsetMismatch, match="next batch of the query q is 3, found 4"):
        written(orders, "d", query="q", batch=4)


def test_a_claim_that_was_not_followed_by_its_batch_is_continued(orders: SparkFedTable) -> None:
    part = written(orders, "a", query="q", batch=0)
    assert part.turn is not None
    orders.table.committer().claim_query(part.batch, part.turn)

    with pytest.raises(CommitConflict):
        commit(orders, part)  # of the process that was killed
    assert commit(orders, written(orders, "a", query="q", batch=0))
    assert orders.position("places").epoch == 1


def test_a_stream_is_taken_over_only_on_request(orders: SparkFedTable) -> None:
    commit(orders, written(orders, "Ulm"))
    commit(orders, written(orders, "a", query="q", batch=0))  # nothing else is written by then
    late = written(orders, "b", query="q", batch=1)
    with pytest.raises(StreamFenced, match="the query q has the stream, not r"):
        written(orders, "c", query="r", batch=0)
    with pytest.raises(StreamFenced, match="not r, and not the one of `takeover`, other"):
        written(orders, "c", query="r", batch=0, takeover="other")

    commit(orders, written(orders, "c", query="r", batch=0, takeover="q"))

    with pytest.raises(StreamFenced, match="the query r has the stream, not q"):
        commit(orders, late)
    with pytest.raises(StreamFenced, match="not single writes"):
        written(orders, "d")
    commit(orders, written(orders, "d", takeover="r"))
    assert city(orders) == "d"
    assert orders.position("places").generation == 0
    other = write_options(orders.options("payments"), is_streaming=True)
    target = open_target(other)
    part = target.batch(other, query="q", batch_id=7, write=None)
    with pytest.raises(OffsetMismatch, match="has come to batch 7"):
        write_task(target, other, part, iter(()))


def test_a_stream_that_was_stopped_or_deleted_meanwhile_gets_no_rows(orders: SparkFedTable) -> None:
    part = written(orders, "a", query="q", batch=0)
    orders.registrar.apply_verb(orders.name, "places", Verb.STOP)

    with pytest.raises(InvalidRequest, match="the stream is STOPPED"):
        commit(orders, part)
    orders.registrar.delete_stream(orders.name, "places")
    orders.put_stream("places")
    with pytest.raises((CommitConflict, StreamFenced)):
        commit(orders, part)
    assert orders.rows("id") == []
    assert commit(orders, written(orders, "a", query="q", batch=0))
