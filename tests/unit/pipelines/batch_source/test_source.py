"""Sources and readers as Spark calls them, without Spark: queries are planned by their filters, on one state."""

import pickle
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    In,
    InputPartition,
    IsNotNull,
    StringContains,
)
from pyspark.sql.types import StructType

from braid.lake import AddColumn, Catalog, InvalidRequest, Table, parse_type
from braid.pipelines.batch_source.source import BraidSource, FilteredSource
from braid.pipelines.batch_source.table_reader import FilteringReader, TableReader

DAY_2 = EqualTo(("day",), 2)
ID_7 = EqualTo(("id",), 7)


@pytest.fixture
def parcels(tmp_path: Path) -> Table:
    """Two days of parcels in two buckets each; each tenth is not paid."""
    table = Catalog(str(tmp_path)).create_table(
        "shop.parcels",
        columns=[("day", "INT"), ("id", "BIGINT"), ("paid", "DOUBLE"), ("state", "STRING")],
        primary_key=["day", "id"],
        partition_keys=["day"],
        options={"bucket": "2"},
    )
    for day in (1, 2):
        table.write_and_commit(given_parcels(day, "new"))
    return table


def given_parcels(day: int, state: str) -> pa.Table:
    """Return 20 parcels of a day."""
    return pa.table(
        {
            "day": pa.array([day] * 20, pa.int32()),
            "id": range(20),
            "paid": [None if i % 10 == 0 else i / 4 for i in range(20)],
            "state": [state] * 20,
        }
    )


def loaded(table: Table, **options: str) -> tuple[bytes, StructType]:
    """Return a source that Spark has asked for the columns, as it is sent to the queries; and the columns."""
    source = FilteredSource({"path": table.path, **options})
    schema = source.schema()
    return pickle.dumps(source), schema


def planned(
    source: tuple[bytes, StructType], *filters: Filter
) -> tuple[Sequence[InputPartition], list[dict[str, object]], Sequence[Filter]]:
    """Return the parts of a query, its rows, and the filters that are left; in the order of Spark's calls."""
    serialized, schema = source
    reader = pickle.loads(serialized).reader(schema)
    assert isinstance(reader, FilteringReader)
    left = reader.pushFilters(list(filters))
    in_task = pickle.dumps(reader)
    parts = reader.partitions()
    rows = [
        row
        for part in parts
        for batch in pickle.loads(in_task).read(pickle.loads(pickle.dumps(part)))
        for row in batch.to_pylist()
    ]
    return parts, rows, left


def test_filters_choose_the_buckets_and_the_rows(parcels: Table) -> None:
    source = loaded(parcels)

    parts, rows, left = planned(source, IsNotNull(("day",)), DAY_2, ID_7)
    assert len(parts) == 1
    assert rows == [{"day": 2, "id": 7, "paid": 1.75, "state": "new"}]
    assert left == ()
    parts, rows, _ = planned(source, In(("id",), (3, 4, 99)))
    assert len(parts) <= 4
    assert sorted((row["day"], row["id"]) for row in rows) == [(1, 3), (1, 4), (2, 3), (2, 4)]
    parts, rows, _ = planned(source, EqualTo(("day",), 3))
    assert (parts, rows) == ([], [])
    parts, rows, left = planned(source)
    assert (len(parts), len(rows), left) == (4, 40, ())


def test_filters_that_are_left_do_not_choose(parcels: Table) -> None:
    contains = StringContains(("state",), "x")

    parts, rows, left = planned(loaded(parcels), contains, DAY_2)

    assert (len(parts), len(rows)) == (2, 20)
    assert left == (contains,)


def test_filters_are_added_to_the_conditions_of_the_load(parcels: Table) -> None:
    source = loaded(parcels, where="paid IS NULL", columns="id, day")

    _, rows, _ = planned(source, DAY_2, GreaterThan(("id",), 0))

    assert rows == [{"id": 10, "day": 2}]


def test_queries_read_the_state_at_load(parcels: Table) -> None:
    parcels.create_tag("kept", snapshot_id=2)
    newest, tagged = loaded(parcels), loaded(parcels, tag="kept")
    parcels.write_and_commit(given_parcels(2, "sent"))
    parcels.alter(AddColumn(path=("more",), type=parse_type("STRING")))
    parcels.write_and_commit(given_parcels(1, "late"))

    for source in (newest, tagged):
        _, rows, _ = planned(source, ID_7)
        assert sorted((row["day"], row["state"]) for row in rows) == [(1, "new"), (2, "new")]
    _, rows, _ = planned(loaded(parcels), ID_7)
    assert sorted((row["day"], row["state"]) for row in rows) == [(1, "late"), (2, "sent")]


def test_a_table_that_was_empty_at_load_stays_empty(tmp_path: Path) -> None:
    table = Catalog(str(tmp_path)).create_table(
        "db.t", columns=[("k", "INT")], primary_key=["k"], options={"bucket": "1"}
    )
    source = loaded(table)
    table.write_and_commit(pa.table({"k": pa.array([1], pa.int32())}))

    assert planned(source)[1] == []
    assert planned(loaded(table))[1] == [{"k": 1}]


def test_columns_that_were_altered_before_the_load_are_read(parcels: Table) -> None:
    """The newest snapshot has the schema before; the table was loaded with the one after."""
    parcels.alter(AddColumn(path=("more",), type=parse_type("STRING")))
    source = loaded(parcels)
    parcels.write_and_commit(given_parcels(1, "late"))

    _, rows, _ = planned(source, EqualTo(("day",), 1), ID_7)

    assert rows == [{"day": 1, "id": 7, "paid": 1.75, "state": "new", "more": None}]


def test_a_state_that_is_gone_is_refused(parcels: Table) -> None:
    parcels.create_tag("moved", snapshot_id=2)
    rolled_back, tagged = loaded(parcels), loaded(parcels, tag="moved")
    parcels.delete_tag("moved")
    parcels.create_tag("moved", snapshot_id=1)
    parcels.rollback(snapshot_id=1)
    parcels.write_and_commit(given_parcels(1, "late"))

    for source in (rolled_back, tagged):
        with pytest.raises(InvalidRequest, match="another state than when the table was loaded"):
            planned(source, ID_7)

    expired = loaded(parcels)
    parcels.write_and_commit(given_parcels(1, "later"))
    parcels.expire(retain_max=1, retain_min=1)
    with pytest.raises(InvalidRequest, match="no snapshot 2"):
        planned(expired, ID_7)


def test_a_source_that_was_not_asked_for_columns_takes_no_filters(parcels: Table) -> None:
    schema = BraidSource({"path": parcels.path}).schema()

    for source in (FilteredSource({"path": parcels.path}), BraidSource({"path": parcels.path})):
        reader = source.reader(schema)
        assert type(reader) is TableReader
        assert len(reader.partitions()) == 4
