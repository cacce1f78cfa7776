"""Tables read by Spark in real tasks: the same rows as a scan, and no more files than it."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import reduce
from operator import and_
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions as fn

from braid.lake import (
    AddColumn,
    Catalog,
    RenameColumn,
    Table,
    UpdateColumnType,
    parse_type,
    variants_of_json,
)
from braid.pipelines.batch_source.load_table import BROADCAST_MAX, load_table
from braid.pipelines.batch_source.source import (
    PUSHES_FILTERS,
    FilteredSource,
    register,
)
from tests.support.doc_examples import ROOT, run_python

pytestmark = [pytest.mark.integration, pytest.mark.spark]

# Of every kind, with a value that a wrong form of it would change.
TYPED = {
    "flag": ("BOOLEAN", True),
    "tiny": ("TINYINT", -128),
    "small": ("SMALLINT", -32_768),
    "whole": ("INT", -1),
    "big": ("BIGINT", 1 << 62),
    "single": ("FLOAT", 0.5),
    "double": ("DOUBLE", -0.1),
    "exact": ("DECIMAL(20, 4)", Decimal("-1.5000")),
    "letters": ("CHAR(3)", "aé "),
    "text": ("STRING", "\U0001f600"),
    "three": ("BINARY(3)", b"\0\xff\0"),
    "raw": ("BYTES", b""),
    "day": ("DATE", date(1969, 12, 31)),
    "of_day": ("TIME(3)", time(23, 59, 59, 999_000)),
    "milli": ("TIMESTAMP(3)", datetime.fromisoformat("1969-12-31T23:59:59.999")),
    "micro": ("TIMESTAMP(6)", datetime.fromisoformat("2026-01-02T03:04:05.678901")),
    "instant": ("TIMESTAMP(3) WITH LOCAL TIME ZONE", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
    "words": ("ARRAY<STRING>", ["a", None]),
    "by_name": ("MAP<STRING, INT>", [("a", 1)]),
    "bag": ("MULTISET<STRING>", [("b", 2)]),
    "part": ("ROW<x INT, y ARRAY<BIGINT NOT NULL>>", {"x": 1, "y": [2]}),
    "shape": ("VARIANT", variants_of_json(pa.array(['{"a":1}'])).to_pylist()[0]),
}
LEFT = ("of_day", "words", "by_name", "bag", "part", "shape")
"""Columns whose comparisons are left to Spark."""


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """The shared session, able to read tables."""
    register(spark)
    return spark


@pytest.fixture
def parcels(tmp_path: Path) -> Table:
    """Two days of parcels in two buckets each: compacted rows, and newer versions on top."""
    table = Catalog(str(tmp_path)).create_table(
        "shop.parcels",
        columns=[("day", "INT"), ("id", "BIGINT"), ("paid", "DOUBLE"), ("state", "STRING")],
        primary_key=["day", "id"],
        partition_keys=["day"],
        options={"bucket": "2"},
    )
    for day in (1, 2):
        table.write_and_commit(given_parcels(day, range(100), state="new"))
    table.compact()
    table.write_and_commit(given_parcels(1, range(10), state="sent"))
    return table


def given_parcels(day: int, ids: range, *, state: str) -> pa.Table:
    """Return parcels of a day; one in ten is not paid."""
    return pa.table(
        {
            "day": pa.array([day] * len(ids), pa.int32()),
            "id": pa.array(ids, pa.int64()),
            "paid": pa.array([None if i % 10 == 0 else i / 4 for i in ids], pa.float64()),
            "state": pa.array([state] * len(ids)),
        }
    )


@pytest.fixture
def pushing(session: SparkSession) -> Iterator[SparkSession]:
    """The session with filters that Spark pushes down to sources which take them."""
    session.conf.set(PUSHES_FILTERS, "true")
    register(session)
    yield session
    session.conf.unset(PUSHES_FILTERS)
    register(session)


@pytest.fixture
def filtering(pushing: SparkSession) -> SparkSession:
    """The session with a source that takes filters, whatever this Spark does with them: load a table for each query."""
    pushing.dataSource.register(FilteredSource)
    return pushing


def load(session: SparkSession, table: Table, **options: object) -> DataFrame:
    """Return the table as Spark's."""
    named = {name.replace("_", "-"): str(value) for name, value in options.items()}
    return session.read.format("braid").options(**named).load(table.path)


def rows_of(frame: DataFrame) -> list[dict[str, object]]:
    """Return rows in the order of their texts."""
    return sorted((row.asDict(recursive=True) for row in frame.collect()), key=str)


def scanned(table: Table, matches: Callable[[dict[str, object]], bool]) -> list[dict[str, object]]:
    """Return the rows of a scan that fulfil a condition of Python's."""
    return sorted((row for row in table.scan().to_arrow().to_pylist() if matches(row)), key=str)


def test_every_type_arrives_as_sparks(
    filtering: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Catalog(str(tmp_path)).create_table(
        "db.typed",
        columns=[("k", "INT"), *((name, kind) for name, (kind, _) in TYPED.items())],
        primary_key=["k"],
        options={"bucket": "1"},
    )
    schema = table.schema.arrow_schema
    row = {"k": 1} | {name: value for name, (_, value) in TYPED.items()}
    table.write_and_commit(pa.Table.from_pylist([row, {"k": 2}], schema=schema))

    frame = load(filtering, table).orderBy("k")

    first, second = frame.collect()
    found = first.asDict(recursive=True)
    expected = row | {"by_name": {"a": 1}, "bag": {"b": 2}, "shape": {"a": 1}}
    found["instant"] = found["instant"].astimezone(UTC)
    found["shape"] = found["shape"].toPython()
    assert found == expected
    assert second.asDict() == {"k": 2} | dict.fromkeys(TYPED)
    assert dict(frame.dtypes) | {"k": "int"} == {
        "k": "int", "flag": "boolean", "tiny": "tinyint", "small": "smallint", "whole": "int",
        "big": "bigint", "single": "float", "double": "double", "exact": "decimal(20,4)",
        "letters": "string", "text": "string", "three": "binary", "raw": "binary", "day": "date",
        "of_day": "time(3)", "milli": "timestamp_ntz", "micro": "timestamp_ntz",
        "instant": "timestamp", "words": "array<string>", "by_name": "map<string,int>",
        "bag": "map<string,int>", "part": "struct<x:int,y:array<bigint>>", "shape": "variant",
    }  # fmt: skip
    compared = [name for name in TYPED if name not in LEFT]
    equal = reduce(and_, (fn.col(name) == fn.lit(TYPED[name][1]) for name in compared))
    query = load(filtering, table).where(equal & fn.col("shape").isNotNull()).select("k")
    assert query.collect() == [(1,)]
    query.explain("formatted")
    pushed = capsys.readouterr().out.partition("PushedFilters: [")[2].partition("\n")[0]
    assert [name for name in compared if f"EqualTo({name}," not in pushed] == []
    assert "IsNotNull(shape)" in pushed


def test_one_loaded_table_serves_queries_with_different_filters(
    pushing: SparkSession, parcels: Table
) -> None:
    """Where Spark keeps one plan for them all, what one query leaves out would be missing from the other."""
    frame = load(pushing, parcels)

    sent = rows_of(frame.where("state = 'sent'"))
    both = frame.where("day = 1 AND id < 5").union(frame.where("day = 2 AND id > 97"))

    assert sent == scanned(parcels, lambda row: row["state"] == "sent")
    assert sorted((row["day"], row["id"]) for row in both.collect()) == [
        *((1, number) for number in range(5)),
        (2, 98),
        (2, 99),
    ]
    assert frame.groupBy("state").count().orderBy("state").collect() == [("new", 190), ("sent", 10)]


def test_conditions_find_the_rows_of_a_full_read(session: SparkSession, parcels: Table) -> None:
    cases: list[tuple[str, Callable[[dict[str, object]], bool]]] = [
        ("day = 2 AND id IN (3, 4, 200)", lambda row: row["day"] == 2 and row["id"] in (3, 4)),
        (
            "state = 'sent' AND paid IS NULL",
            lambda row: row["state"] == "sent" and row["paid"] is None,
        ),
    ]
    for text, matches in cases:
        assert rows_of(load(session, parcels, where=text)) == scanned(parcels, matches), text


def test_filters_of_a_query_choose_its_tasks_and_rows(
    filtering: SparkSession, parcels: Table
) -> None:
    cases: list[tuple[str, int, Callable[[dict[str, object]], bool]]] = [
        ("day = 2 and id = 7", 1, lambda row: (row["day"], row["id"]) == (2, 7)),
        ("day <=> 2 and paid is null", 2, lambda row: row["day"] == 2 and row["paid"] is None),
        ("id in (3, 4) or day > 2", 4, lambda row: row["id"] in (3, 4)),
        ("day < 2 and state like 's%'", 2, lambda row: row["state"] == "sent"),
    ]
    for text, tasks, matches in cases:
        frame = load(filtering, parcels, split_size="1 b").where(text)
        assert rows_of(frame) == scanned(parcels, matches), text
        assert frame.rdd.getNumPartitions() == tasks, text


def test_files_that_conditions_rule_out_are_no_tasks(session: SparkSession, parcels: Table) -> None:
    def tasks(**options: object) -> int:
        return load(session, parcels, split_size="1 b", **options).rdd.getNumPartitions()

    assert tasks() == 4
    assert tasks(where="day = 2") == 2
    assert tasks(where="day = 2 AND id = 7") == 1
    assert load(session, parcels, where="day = 3").count() == 0


def test_small_tables_are_sent_to_the_tasks_of_a_join(
    session: SparkSession, parcels: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    def strategy(other: DataFrame) -> str:
        load(session, parcels, columns="id, state").join(other, "id").explain()
        return "broadcast" if "BroadcastHashJoin" in capsys.readouterr().out else "shuffle"

    options = {"path": parcels.path, "columns": "id"}
    assert strategy(load(session, parcels, columns="id")) == "shuffle"
    assert (
        strategy(load_table(session, options).where("id > 1").groupBy("id").count()) == "broadcast"
    )
    session.conf.set(BROADCAST_MAX, "1b")
    large, none = load_table(session, options), load_table(session, {**options, "where": "day = 3"})
    session.conf.unset(BROADCAST_MAX)
    assert (strategy(large), strategy(none)) == ("shuffle", "broadcast")


def test_a_state_is_named_by_snapshot_tag_or_time(session: SparkSession, parcels: Table) -> None:
    newest = parcels.latest_snapshot()
    assert newest is not None
    parcels.create_tag("first", snapshot_id=1)

    assert load(session, parcels, snapshot_id=1).count() == 100
    assert load(session, parcels, tag="first").count() == 100
    assert (
        load(session, parcels, timestamp=newest.time_millis).where("state = 'sent'").count() == 10
    )


def test_chosen_columns_of_a_table_whose_schema_changed(
    session: SparkSession, tmp_path: Path
) -> None:
    table = Catalog(str(tmp_path)).create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "INT"), ("gone", "STRING")],
        primary_key=["k"],
        options={"bucket": "1", "deletion-vectors.enabled": "true"},
    )
    old = {"k": pa.array([1, 2], pa.int32()), "v": pa.array([1, 2], pa.int32())}
    table.write_and_commit(pa.table(old))
    table.alter(
        UpdateColumnType(path=("v",), type=parse_type("BIGINT")),
        RenameColumn(path=("v",), name="w"),
        AddColumn(path=("more",), type=parse_type("STRING")),
    )
    new = {"k": pa.array([2], pa.int32()), "w": pa.array([1 << 40]), "more": pa.array(["x"])}
    table.write_and_commit(pa.table(new))
    table.compact()

    expected = [{"w": 1, "more": None}, {"w": 1 << 40, "more": "x"}]
    assert rows_of(load(session, table, columns="w, more")) == sorted(expected, key=str)
    asked = session.read.format("braid").schema("more STRING, w BIGINT").load(table.path)
    assert rows_of(asked.select("w", "more")) == sorted(expected, key=str)
    with pytest.raises(AnalysisException, match="the column is bigint"):
        session.read.format("braid").schema("w INT").load(table.path).collect()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "db.t"}, "warehouse: missing"),
        ({"warehouse": "/nowhere", "table": "db.t"}, "no table at /nowhere/db.db/t"),
        ({"path": "/nowhere", "snapshotid": "1"}, "snapshotid: no such option"),
        ({"path": "/nowhere", "tag": "a", "split-size": "much"}, "split-size: expected a size"),
    ],
)
def test_errors_of_options_are_raised_at_load(
    session: SparkSession, options: dict[str, str], message: str
) -> None:
    with pytest.raises(AnalysisException, match=message):
        session.read.format("braid").options(**options).load()


def test_one_query_reads_one_state_while_the_table_moves_on(
    session: SparkSession, parcels: Table
) -> None:
    frame = load(session, parcels)
    planned = frame.groupBy("state").agg(fn.count("*").alias("rows"))
    before = rows_of(planned)
    parcels.write_and_commit(given_parcels(1, range(100), state="late"))
    parcels.compact()

    assert rows_of(planned) == before
    assert rows_of(frame.groupBy("state").agg(fn.count("*").alias("rows"))) == before
    assert load(session, parcels).where("state = 'late'").count() == 100


def test_the_guide_runs_as_printed(session: SparkSession) -> None:
    run_python(ROOT / "docs" / "guides" / "spark.md", {"spark": session}, kind="spark")
