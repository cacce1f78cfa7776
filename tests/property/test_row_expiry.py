"""Rows expire at the same moment before, during and after compactions, in scans and in lookups.

The model folds every record of a key in order of arrival and hides the row once the merged time has expired. It
knows no compactions. It holds for histories in which no record arrives for a row that has expired already: such
a record makes a new row if a compaction has removed the expired one before (see `docs/guides/row-ttl.md`).
"""

from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow as pa
from hypothesis import given, settings, strategies as st

from braid.lake import Catalog, Condition, ManualClock, MemoryFileIO, Table

Row = dict[str, int | None]
Apply = Callable[[Row, Row], Row]

TTL_S = 3_600
_MINUTE_MS = 60_000
_TYPES: dict[str, Callable[[int], object]] = {
    "INT": lambda seconds: seconds,
    "BIGINT": lambda seconds: seconds * 1_000 + 999,
    "TIMESTAMP(3)": lambda seconds: datetime.fromtimestamp(seconds, tz=UTC).replace(tzinfo=None),
}
_ARROW = {"INT": pa.int32(), "BIGINT": pa.int64(), "TIMESTAMP(3)": pa.timestamp("ms")}


def _replace(_old: Row, new: Row) -> Row:
    return new


def _fill(old: Row, new: Row) -> Row:
    return {name: old[name] if value is None else value for name, value in new.items()}


def _max_time(old: Row, new: Row) -> Row:
    times = [row["t"] for row in (old, new) if row["t"] is not None]
    return _fill(old, new) | {"t": max(times) if times else None}


ENGINES: dict[str, tuple[dict[str, str], Apply]] = {
    "deduplicate": ({}, _replace),
    "deletion vectors": ({"deletion-vectors.enabled": "true"}, _replace),
    "partial-update": ({"merge-engine": "partial-update"}, _fill),
    "forced lookup": ({"merge-engine": "partial-update", "force-lookup": "true"}, _fill),
    "aggregation": (
        {"merge-engine": "aggregation", "fields.t.aggregate-function": "max"},
        _max_time,
    ),
    "first-row": ({"merge-engine": "first-row"}, lambda old, _new: old),
}
HIDING = ("deletion vectors", "first-row")
"""Tables whose scans show a commit after its compaction only."""


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_reads_give_the_rows_that_are_not_expired(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(ENGINES)), label="engine")
    time_type = data.draw(st.sampled_from(sorted(_TYPES)), label="type")
    options, apply = ENGINES[name]
    sizes = {
        "target-file-size": data.draw(st.sampled_from(["128 mb", "400 b"]), label="target size"),
        "compaction.small-file-ratio": data.draw(st.sampled_from(["0.01", "0.7"])),
        "num-sorted-run.compaction-trigger": data.draw(st.sampled_from(["2", "5"])),
    }
    clock = ManualClock()
    table = given_table(time_type, options | sizes, clock)
    rows: dict[int, Row] = {}

    for _ in range(data.draw(st.integers(1, 5), label="commits")):
        now_s = clock.now_ms() // 1_000
        records = [
            record
            for record in data.draw(st.lists(_records(now_s), min_size=1, max_size=5))
            if is_live(rows.get(_key(record)), now_s)
        ]
        distinct = {_key(record): record for record in records}
        write(table, time_type, list(distinct.values()))
        for key, record in distinct.items():
            rows[key] = apply(rows[key], record) if key in rows else record
        clock.advance(ms=data.draw(st.sampled_from([0, 20, 61])) * _MINUTE_MS)
        compacts = data.draw(st.sampled_from(["no", "due", "full"]))
        if compacts != "no" or name in HIDING:
            table.compact(full=compacts == "full" or name in HIDING)
        check_reads(table, rows, clock)

    clock.advance(ms=data.draw(st.integers(0, 70)) * _MINUTE_MS)
    check_reads(table, rows, clock)
    table.compact(full=True)
    check_reads(table, rows, clock)


def given_table(time_type: str, options: dict[str, str], clock: ManualClock) -> Table:
    """Return a table in memory whose rows live for an hour."""
    ttl = {"record-level.expire-time": f"{TTL_S} s", "record-level.time-field": "t"}
    catalog = Catalog("/wh", file_io=MemoryFileIO(), clock=clock)
    return catalog.create_table(
        "db.t",
        columns=[("k", "INT"), ("t", time_type), ("v", "INT")],
        primary_key=["k"],
        options={"bucket": "1"} | options | ttl,
    )


def write(table: Table, time_type: str, records: list[Row]) -> None:
    """Commit records."""
    if not records:
        return
    to_value = _TYPES[time_type]
    times = [None if row["t"] is None else to_value(row["t"]) for row in records]
    columns = {
        "k": pa.array([row["k"] for row in records], pa.int32()),
        "t": pa.array(times, _ARROW[time_type]),
        "v": pa.array([row["v"] for row in records], pa.int32()),
    }
    table.write_and_commit(pa.table(columns))


def check_reads(table: Table, rows: dict[int, Row], clock: ManualClock) -> None:
    """Check scans, projections, conditions, counts and lookups against the model."""
    now_s = clock.now_ms() // 1_000
    expected = {key: row["v"] for key, row in rows.items() if is_live(row, now_s)}

    found = table.scan(columns=["v", "k"]).to_arrow().to_pylist()
    assert {row["k"]: row["v"] for row in found} == expected
    assert len(found) == len(expected) == table.scan().count()
    large = table.scan(columns=["k"], where=[Condition(column="v", op=">=", value=2)]).to_arrow()
    assert sorted(large["k"].to_pylist()) == sorted(
        key for key, value in expected.items() if value is not None and value >= 2
    )
    keys = pa.table({"k": pa.array(range(5), pa.int32())})
    looked_up = table.lookup(keys, columns=["k", "v"]).to_pylist()
    assert {row["k"]: row["v"] for row in looked_up} == expected


def is_live(row: Row | None, now_s: int) -> bool:
    """Return whether a row, if there is one, is not expired."""
    return row is None or row["t"] is None or now_s <= row["t"] + TTL_S


def _key(record: Row) -> int:
    key = record["k"]
    assert key is not None, "keys are not null"
    return key


def _records(now_s: int) -> st.SearchStrategy[Row]:
    ages = st.sampled_from([0, 600, TTL_S - 1, TTL_S, TTL_S + 1, 9_000])
    return st.fixed_dictionaries(
        {
            "k": st.integers(0, 4),
            "t": st.none() | ages.map(lambda age: now_s - age),
            "v": st.none() | st.integers(0, 3),
        }
    )
