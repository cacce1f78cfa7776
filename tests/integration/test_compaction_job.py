"""Buckets are compacted, orphans found and deleted, and parts of backfills written by Spark's executors."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from braid.backfill.read_chunk import PartBound
from braid.lake import (
    Catalog,
    FileStatus,
    MaintenanceService,
    StorageUnavailable,
    Table,
    compact_buckets,
)
from braid.pipelines.spark.bucket_pool import SparkPool
from braid.pipelines.spark.single_tasks import SingleTasks
from braid.pipelines.spark.spread_paths import SparkSpread
from tests.support.waiting import PATIENCE_S
from tests.unit.backfill.backwards_pool import SentClock
from tests.unit.backfill.bed import BackfillBed

pytestmark = [pytest.mark.integration, pytest.mark.spark]


def given_table(warehouse: Path, *, buckets: int = 3) -> Table:
    return Catalog(str(warehouse)).create_table(
        "shop.orders",
        columns=[("k", "INT"), ("v", "TINYINT")],
        primary_key=["k"],
        options={
            "bucket": str(buckets),
            "num-sorted-run.compaction-trigger": "3",
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "sum",
        },
    )


def write(table: Table, *, commits: int, value: int = 1) -> None:
    for _ in range(commits):
        rows = {"k": pa.array(range(50), pa.int32()), "v": pa.array([value] * 50, pa.int8())}
        table.write_and_commit(pa.table(rows))


def values(table: Table) -> set[int]:
    return set(table.scan(columns=["v"]).to_arrow()["v"].to_pylist())


def test_each_bucket_is_a_task_and_a_commit(spark: SparkSession, tmp_path: Path) -> None:
    table = given_table(tmp_path)
    write(table, commits=2)
    pool = SparkPool(spark.sparkContext, parallel=2)
    try:
        outcomes = list(compact_buckets(pool, table, full=True))
        assert list(compact_buckets(pool, table, full=True)) == []
    finally:
        pool.close()

    assert sorted(outcome.bucket_id[1] for outcome in outcomes) == [0, 1, 2]
    results = [outcome.result for outcome in outcomes if outcome.result is not None]
    assert len({result.snapshot_id for result in results}) == 3
    assert set(table.runs_per_bucket().values()) == {1}
    assert values(table) == {2}


def test_a_failure_on_an_executor_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    table = given_table(tmp_path, buckets=1)
    write(table, commits=2, value=100)
    pool = SparkPool(spark.sparkContext, parallel=1)
    try:
        (outcome,) = compact_buckets(pool, table, full=True)
    finally:
        pool.close()

    assert "shop.orders" in str(outcome.error)
    assert outcome.result is None


def test_the_service_runs_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    table = given_table(tmp_path)
    service = MaintenanceService(
        Catalog(str(tmp_path)),
        lambda: ["shop.orders"],
        workers=2,
        new_pool=lambda: SparkPool(spark.sparkContext, parallel=2),
    )
    with service:
        for _ in range(2):
            write(table, commits=3)
            service.round()

    stats = service.stats["shop.orders"]
    assert (stats.polls, stats.compactions, stats.failures) == (2, 6, 0)
    assert max(table.runs_per_bucket().values()) < 3
    assert values(table) == {6}


def test_orphans_are_listed_and_deleted_by_tasks(spark: SparkSession, tmp_path: Path) -> None:
    table = given_table(tmp_path)
    write(table, commits=1)
    strays = [
        Path(table.path, f"bucket-{number % 3}", f"data-x-{number}.parquet") for number in range(9)
    ]
    for stray in strays:
        stray.write_bytes(b"x")
    spread = SparkSpread(spark.sparkContext, parallel=2)

    report = table.clean_orphans(min_age_ms=0, delete=True, spread=spread)

    assert sorted(file.path for file in report.files) == sorted(map(str, strays))
    assert not any(stray.exists() for stray in strays)
    assert table.clean_orphans(min_age_ms=0, spread=spread).files == ()
    assert values(table) == {1}


def test_a_failure_of_storage_is_reported(spark: SparkSession) -> None:
    spread = SparkSpread(spark.sparkContext, parallel=2)

    with pytest.raises(StorageUnavailable, match="could not work on 1 paths"):
        spread(_fail, ["any"])


def _fail(paths: Sequence[str]) -> list[FileStatus]:
    raise StorageUnavailable(f"no {paths}")


@pytest.mark.slow
def test_the_job_is_a_program(tmp_path: Path) -> None:
    table = given_table(tmp_path, buckets=2)
    write(table, commits=3)
    command = [sys.executable, "-m", "braid.pipelines.compaction_job", "--warehouse", str(tmp_path)]
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    environment["PYSPARK_SUBMIT_ARGS"] = (
        "--master local[2] --conf spark.ui.enabled=false pyspark-shell"
    )

    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=environment
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("compacted table=shop.orders") == 2
    assert set(table.runs_per_bucket().values()) == {1}
    assert values(table) == {3}


def test_parts_of_a_backfill_are_tasks(spark: SparkSession, tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path, clock=SentClock())
    for number in range(3):
        bed.write_json(f"{number}.jsonl", [{"id": 1, "version": 1, "city": f"{number}"}])
    bed.write_json("3.jsonl", [{"id": "x"}])
    tasks = SingleTasks(spark.sparkContext, parallel=2, name="backfill")
    try:
        backfill = bed.backfill(new_pool=lambda: nullcontext(tasks), part=PartBound(bytes=1))
        position = backfill.run()
    finally:
        tasks.close()

    assert bed.rows("id", "city") == [(1, "2")]
    assert (position.account.records, position.account.dead_lettered) == (4, 1)
    assert json.loads(bed.rejects.read_text())["file"] == str(bed.files / "3.jsonl")


def test_work_that_is_lost_is_an_error_of_storage(spark: SparkSession) -> None:
    tasks = SingleTasks(spark.sparkContext, parallel=1, name="lost")
    try:
        future = tasks.submit(Ending(), what="work that ends")
        with pytest.raises(StorageUnavailable, match="the task of the work that ends was lost"):
            future.result()
    finally:
        tasks.close()


class Ending:
    """Work whose process ends."""

    def run(self) -> None:
        os._exit(1)
