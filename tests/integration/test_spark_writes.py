"""Rows that Spark programs write into registered streams: whole batches, once, in an order that no repetition changes."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from braid.demo.s3_server import S3Server
from braid.lake import BATCHES, ROWS, json_of_variants, split_offset
from braid.pipelines.batch_source.source import register
from braid.registry.stream_entries import Verb
from tests.support.doc_examples import ROOT, run_python
from tests.support.s3_storage import s3_file_io
from tests.support.spark_fed_table import SparkFedTable

pytestmark = [pytest.mark.integration, pytest.mark.spark]

ORDERS: dict[str, Any] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "paid", "type": "DECIMAL(10, 2)"},
        {"name": "version", "type": "INT"},
        {"name": "city", "type": "STRING"},
    ],
    "primary_key": ["id"],
    "buckets": 2,
    "sequence_groups": [
        {"name": "payments", "ordering": ["version"], "columns": ["paid"]},
        {"name": "places", "ordering": None, "columns": ["city"]},
    ],
    "deletes": "clear_columns",
}
PAID = "id bigint, paid decimal(10, 2), version int"
CITY = "id bigint, city string"


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """The shared session, which knows the format."""
    register(spark)
    return spark


@pytest.fixture
def s3_session(session: SparkSession, s3_server: S3Server) -> Iterator[SparkSession]:
    """The shared session, whose Python processes have the server's settings, as by `spark.executorEnv.…`."""
    environment = session.sparkContext.environment
    before = dict(environment)
    environment.update(s3_server.environment)
    register(session)
    yield session
    environment.clear()
    environment.update(before)
    register(session)


@pytest.fixture
def orders(tmp_path: Path) -> SparkFedTable:
    """A table of two streams: one with an order of its own, one in the order of arrival."""
    streams = {"payments": {"on_delete": "clear_columns"}, "places": {}}
    return SparkFedTable(directory=tmp_path, name="shop.orders", spec=ORDERS, streams=streams)


def cities(session: SparkSession, *rows: tuple[int, str | None]) -> DataFrame:
    """Return rows of the stream `places`, in one task."""
    return session.createDataFrame(list(rows), CITY).coalesce(1)


def test_streams_write_their_own_columns_once(session: SparkSession, orders: SparkFedTable) -> None:
    paid = session.sql(
        "select id, cast(id as decimal(10, 2)) paid, 2 version from range(0, 100, 1, 4)"
    )
    late = session.sql("select 7L id, 0.5 paid, 1 version").selectExpr(
        "version", "id", "cast(paid as decimal(10, 2)) paid"
    )

    orders.write(paid, "payments", write__id="first")
    files = orders.files()
    orders.write(paid, "payments", write__id="first")
    assert orders.files() == files
    orders.write(late, "payments")
    orders.write(cities(session, (7, "Ulm")), "places")
    orders.write(cities(session, (7, "Bonn"), (8, "Kiel"), (7, "Köln")), "places")

    rows = orders.rows("id", "paid", "version", "city")
    assert [row[0] for row in rows] == list(range(100))
    assert rows[7] == (7, 7, 2, "Köln")
    assert rows[8] == (8, 8, 2, "Kiel")
    payments, places = orders.position("payments"), orders.position("places")
    assert (payments.account.accepted, payments.offsets[BATCHES], payments.epoch) == (101, 2, 1)
    assert (places.account.records, places.account.folded, places.offsets[ROWS]) == (4, 1, 4)
    assert len(payments.writes) == 2


def test_a_warehouse_on_s3_is_written_in_the_order_of_tasks_and_rows(
    s3_session: SparkSession, s3_server: S3Server, tmp_path: Path
) -> None:
    orders = SparkFedTable(
        directory=tmp_path,
        name="shop.orders",
        spec=ORDERS,
        streams={"places": {}},
        warehouse=f"{s3_server.warehouse}/spark-writes",
        file_io=s3_file_io(s3_server),
    )
    frame = s3_session.sql("select 1L id, cast(id as string) city from range(0, 40, 1, 4)")

    orders.write(frame, "places")

    ((city, place, row),) = orders.rows("city", "places__offset", "places__partition")
    assert (city, split_offset(place), row) == ("39", (0, 3), 9)
    assert orders.load(s3_session, columns="id, city").collect() == [(1, "39")]


def test_variants_are_written_and_read_as_they_are(session: SparkSession, tmp_path: Path) -> None:
    spec = {
        "columns": [{"name": "id", "type": "BIGINT"}, {"name": "payload", "type": "VARIANT"}],
        "primary_key": ["id"],
        "sequence_groups": [{"name": "events", "columns": ["payload"]}],
    }
    events = SparkFedTable(
        directory=tmp_path, name="shop.events", spec=spec, streams={"events": {}}
    )
    texts = "(1L, '{\"a\":[1,null],\"b\":2.5}'), (2L, 'null'), (3L, null)"

    events.write(
        session.sql(f"select id, parse_json(text) payload from values {texts} t(id, text)"),
        "events",
    )

    found = events.table.scan().to_arrow().sort_by("id")
    expected = ['{"a":[1,null],"b":2.5}', "null", None]
    assert json_of_variants(found["payload"]).to_pylist() == expected
    read = events.load(session).selectExpr("id", "to_json(payload)", "payload:b::double b")
    assert sorted(read.collect()) == [(1, expected[0], 2.5), (2, "null", None), (3, None, None)]
    with pytest.raises(PySparkException, match=r'"payload", parse_json\(col\("payload"\)\)'):
        events.write(session.sql("select 1L id, '{}' payload"), "events")


def test_kinds_of_rows_come_from_a_column(session: SparkSession, orders: SparkFedTable) -> None:
    changes = (
        "select id, cast(1 as decimal(10, 2)) paid, v version, kind from values {} t(id, v, kind)"
    )
    first = session.sql(changes.format("(1L, 1, '+I'), (2L, 1, '+I')"))
    second = session.sql(changes.format("(1L, 2, '-U'), (1L, 2, '+U'), (2L, 2, '-D')"))

    orders.write(first, "payments", row_kind__column="kind")
    orders.write(second, "payments", row_kind__column="kind")

    assert orders.rows("id", "version", "payments__op") == [(1, 2, "upsert"), (2, 2, "clear")]
    assert orders.rows("id", "paid") == [(1, 1), (2, None)]
    assert orders.position("payments").account.ignored == 1
    kinds = session.sql("select 1L id, 'x' city, '-D' kind")
    with pytest.raises(PySparkException, match="declares no effect of deletes"):
        orders.write(kinds, "places", row_kind__column="kind")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select 1 id, 'x' city", "id: expected bigint, found int"),
        ("select 1L id", "(?s)city: missing.*as nulls where it has no values"),
        ("select 'x' city", "(?s)id: missing.*each row needs its whole key"),
        ("select 1L ID, 'x' city", "(?s)id: missing.*names are case-sensitive: rename ID"),
        ("select 1L id, 'x' city, 1 version", "version: the stream does not write the column"),
        ("select 1L id, 'x' city, 1 ort", "ort: the table has no such column"),
        ("select 1L id, 'x' city, 'y' city", "city: 2 columns have this name"),
        (
            "select cast(null as bigint) id, 'x' city",
            "task 0, row 0: key column id is missing or null",
        ),
    ],
)
def test_rows_that_do_not_fit_fail_the_write(
    session: SparkSession, orders: SparkFedTable, query: str, message: str
) -> None:
    with pytest.raises(PySparkException, match=message):
        orders.write(session.sql(query), "places")

    assert orders.files() == set()
    assert orders.table.latest_snapshot() is None


def test_a_row_that_is_refused_leaves_nothing_of_other_tasks(
    session: SparkSession, orders: SparkFedTable
) -> None:
    frame = session.sql("select if(id = 39, null, id) id, 'x' city from range(0, 40, 1, 4)")

    with pytest.raises(PySparkException, match="task 3, row 9: key column id"):
        orders.write(frame, "places")

    assert orders.rows("id") == []
    assert orders.table.latest_snapshot() is None


def test_what_cannot_be_written_is_refused_with_the_reason(
    session: SparkSession, orders: SparkFedTable
) -> None:
    rows = cities(session, (1, "Ulm"))
    orders.registrar.apply_verb(orders.name, "places", Verb.STOP)
    with pytest.raises(PySparkException, match="the stream is STOPPED"):
        orders.write(rows, "places")
    orders.registrar.apply_verb(orders.name, "payments", Verb.PAUSE)
    with pytest.raises(PySparkException, match="hint: resume it"):
        orders.write(session.sql("select 1L id, 0.5 paid, 1 version"), "payments")
    with pytest.raises(PySparkException, match="no stream other"):
        orders.write(rows, "other")
    with pytest.raises(PySparkException, match="name: no such option"):
        orders.write(rows, "places", write__name="x")
    whole = rows.write.format("braid").mode("overwrite").options(**orders.options("places"))
    with pytest.raises(PySparkException, match="rows of other streams would be lost"):
        whole.save()


def test_a_query_that_repeats_batches_changes_nothing(
    session: SparkSession, orders: SparkFedTable
) -> None:
    source = orders.directory / "source"

    def given() -> DataFrame:
        return session.readStream.schema(CITY).option("maxFilesPerTrigger", 1).parquet(str(source))

    for name in ("a", "b", "c"):
        cities(session, (1, name), (2, name)).write.mode("append").parquet(str(source))
    orders.start(given(), "places", "one").awaitTermination()
    before = orders.position("places")
    assert (before.offsets, before.account.accepted) == ({ROWS: 6, BATCHES: 3}, 6)

    # As after a crash between the commit and Spark's note of it.
    for noted in (orders.directory / "one" / "commits").glob("*2*"):
        noted.unlink()
    orders.start(given(), "places", "one").awaitTermination()
    assert orders.position("places") == before
    cities(session, (1, "d")).write.mode("append").parquet(str(source))
    orders.start(given(), "places", "one").awaitTermination()
    assert orders.position("places").offsets[BATCHES] == 4
    assert (1, "d") in orders.rows("id", "city")

    owner = orders.position("places").topic_id
    with pytest.raises(StreamingQueryException, match=f"the query {owner} has the stream"):
        orders.start(given(), "places", "two").awaitTermination()
    orders.start(given(), "places", "two", takeover=owner).awaitTermination()
    taken = orders.position("places")
    assert (taken.epoch, taken.generation, taken.offsets[BATCHES]) == (2, 0, 4)

    cities(session, (1, "e")).write.mode("append").parquet(str(source))
    with pytest.raises(StreamingQueryException, match=f"the query {taken.topic_id} has the stream"):
        orders.start(given(), "places", "one").awaitTermination()
    with pytest.raises(PySparkException, match="has the stream, not single writes"):
        orders.write(cities(session, (1, "f")), "places")


def test_threads_write_a_stream_each(session: SparkSession, orders: SparkFedTable) -> None:
    def write(stream: str, columns: str) -> None:
        register(session)
        orders.write(session.sql(f"select id, {columns} from range(0, 9, 1, 1)"), stream)

    with ThreadPoolExecutor(2) as threads:
        paid = threads.submit(write, "payments", "cast(id as decimal(10, 2)) paid, 1 version")
        placed = threads.submit(write, "places", "'Ulm' city")
        paid.result()
        placed.result()

    assert orders.rows("id", "paid", "city") == [(id_, Decimal(id_), "Ulm") for id_ in range(9)]


def test_a_streaming_read_that_is_refused_ends_with_the_reason(
    session: SparkSession, orders: SparkFedTable
) -> None:
    """Spark asks for the columns without saying that it will stream, so the start is missed later."""
    options = {"warehouse": orders.warehouse, "table": orders.name}
    frame = session.readStream.format("braid").options(**options).load()
    writer = frame.writeStream.foreachBatch(lambda *_: None)
    query = writer.option("checkpointLocation", str(orders.directory / "read")).start()

    with pytest.raises(StreamingQueryException, match="a streaming read names its start") as caught:
        query.awaitTermination()

    assert "UnboundLocalError" not in str(caught.value)


def test_the_guide_runs_as_printed(session: SparkSession, tmp_path: Path) -> None:
    guide = ROOT / "docs" / "guides" / "spark-in-and-out.md"
    text = guide.read_text(encoding="utf-8")
    shown = {
        name: json.loads(body)
        for name, body in re.findall(r"```json (\w+)\n(.*?)```", text, re.DOTALL)
    }
    for table, stream in (("orders", "payments"), ("cents", "copies")):
        fed = SparkFedTable(
            directory=tmp_path,
            name=f"shop.{table}",
            spec=shown[table],
            streams={stream: shown[stream]},
        )
    names = {
        "spark": session,
        "warehouse": fed.warehouse,
        "checkpoint": str(tmp_path / "checkpoint"),
    }

    run_python(guide, names, kind="spark")
