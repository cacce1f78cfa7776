"""Time travel: every reader reads the named snapshot, tag or time with the schema of then."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import (
    AddColumn,
    Catalog,
    InvalidRequest,
    ManualClock,
    MemoryFileIO,
    ReadAt,
    RenameColumn,
    Table,
    parse_type,
)

START = ManualClock().now_ms()
OLD = {"k": 1, "v": "first"}

Rows = list[dict[str, Any]]
State = int | ReadAt | None
Reader = Callable[..., Rows]


def scanned(table: Table, at: State = None) -> Rows:
    rows: Rows = table.scan(at=at).to_arrow().to_pylist()
    return rows


def streamed(table: Table, at: State = None) -> Rows:
    rows: Rows = table.to_arrow_reader(at=at).read_all().to_pylist()
    return rows


def got(table: Table, at: State = None) -> Rows:
    row = table.get({"k": 1}, at=at)
    return [] if row is None else [row]


def looked_up(table: Table, at: State = None) -> Rows:
    rows: Rows = table.lookup(pa.table({"k": pa.array([1], pa.int32())}), at=at).to_pylist()
    return rows


READERS = [scanned, streamed, got, looked_up]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def table(clock: ManualClock) -> Table:
    """Return a table (k, v) with a row that changes each second, and a column more since the third."""
    table = Catalog("/wh", file_io=MemoryFileIO(), clock=clock).create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "STRING")],
        primary_key=["k"],
        options={"bucket": "1"},
    )
    write(table, v="first")
    table.create_tag("one")
    clock.advance(ms=1_000)
    write(table, v="second")
    clock.advance(ms=1_000)
    table.alter(
        RenameColumn(path=("v",), name="text"), AddColumn(path=("n",), type=parse_type("INT"))
    )
    write(table, text="third", n=pa.scalar(3, pa.int32()))
    return table


def write(table: Table, **values: Any) -> None:
    columns = {"k": pa.scalar(1, pa.int32()), **values}
    table.write_and_commit(pa.table({name: pa.array([value]) for name, value in columns.items()}))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("at", "row"),
    [
        (None, {"k": 1, "text": "third", "n": 3}),
        (ReadAt(snapshot_id=3), {"k": 1, "text": "third", "n": 3}),
        (2, {"k": 1, "v": "second"}),
        (ReadAt(tag="one"), OLD),
        (ReadAt(timestamp=START), OLD),
        (ReadAt(timestamp=str(START + 999)), OLD),
        (ReadAt(timestamp=START + 1_000), {"k": 1, "v": "second"}),
        (ReadAt(timestamp="2023-11-14T23:13:21.999+01:00"), {"k": 1, "v": "second"}),
        (ReadAt(timestamp=START + 86_400_000), {"k": 1, "text": "third", "n": 3}),
    ],
    ids=str,
)
def test_a_state_is_read_with_its_own_schema(
    reader: Reader, table: Table, at: State, row: dict[str, Any]
) -> None:
    assert reader(table, at) == [row]


@pytest.mark.parametrize("reader", READERS)
def test_a_tag_is_read_when_its_snapshot_has_expired(reader: Reader, table: Table) -> None:
    table.expire(retain_min=1, retain_max=1, older_than_ms=START + 86_400_000)

    assert reader(table, ReadAt(tag="one")) == [OLD]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (9, "no snapshot 9; snapshots 3 to 3 are kept.*it was not made yet"),
        (ReadAt(snapshot_id=2), "no snapshot 2; snapshots 3 to 3 are kept.*it has expired"),
        (
            ReadAt(timestamp=START + 1_500),
            "no snapshot of 2023-11-14T22:13:21.500Z or before: the oldest that has not expired, "
            "snapshot 3, was committed at 2023-11-14T22:13:22.000Z",
        ),
        (ReadAt(tag="two"), "expected one of one"),
    ],
    ids=str,
)
def test_an_absent_state_is_refused_with_the_states_that_exist(
    reader: Reader, table: Table, at: State, expected: str
) -> None:
    table.expire(retain_min=1, retain_max=1, older_than_ms=START + 86_400_000)

    with pytest.raises(InvalidRequest, match=f"(?s){expected}") as refused:
        reader(table, at)

    assert refused.value.table == "db.t"
    if ReadAt.of(at).tag is None:
        assert refused.value.problems[0].hint == "tags can be read: one (snapshot 1)"


def test_a_time_before_the_first_snapshot_is_not_called_expired(table: Table) -> None:
    with pytest.raises(InvalidRequest, match="or before: the first one, snapshot 1, was committed"):
        table.scan(at=ReadAt(timestamp=START - 1))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("at", [ReadAt(timestamp=START), 1], ids=str)
def test_a_table_without_snapshots_has_only_the_newest_state(reader: Reader, at: State) -> None:
    empty = Catalog("/wh", file_io=MemoryFileIO()).create_table(
        "db.t", columns=[("k", "INT")], primary_key=["k"], options={"bucket": "1"}
    )

    assert reader(empty) == []
    with pytest.raises(InvalidRequest, match=r"there are none|it has none yet"):
        reader(empty, at)


@pytest.mark.parametrize("view", ["files", "buckets", "levels", "partitions"])
def test_the_views_of_one_snapshot_are_of_any_state(view: str, table: Table) -> None:
    table.compact()
    first = table.inspect.view(view, at=1)

    assert table.inspect.view(view, at=ReadAt(tag="one")) == first
    assert table.inspect.view(view, at=ReadAt(timestamp=START)) == first
    assert getattr(table.inspect, view)(ReadAt(tag="one")) == first
    assert table.inspect.view(view) != first
    table.expire(retain_min=1, retain_max=1, older_than_ms=START + 86_400_000)
    assert table.inspect.view(view, at=ReadAt(tag="one")).num_rows == first.num_rows


@pytest.mark.parametrize(
    ("at", "field"),
    [(1, "snapshot_id"), (ReadAt(tag="one"), "tag"), (ReadAt(timestamp=START), "timestamp")],
)
def test_the_views_of_the_history_are_of_no_state(at: State, field: str, table: Table) -> None:
    with pytest.raises(InvalidRequest, match="does not show one snapshot") as refused:
        table.inspect.view("snapshots", at=at)

    assert refused.value.problems[0].field == field
