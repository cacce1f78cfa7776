"""`braid compact`, run as the program that it is."""

import re
from pathlib import Path
from subprocess import CompletedProcess

import pyarrow as pa
import pytest

from braid.cli.compaction import exit_status
from braid.cli.exits import EXIT_TRY_AGAIN
from braid.lake import Catalog, Table
from tests.support.program import run_braid

COLUMNS = [("k", "INT"), ("v", "INT")]


def compact(warehouse: Path, table: str = "shop.orders") -> CompletedProcess[str]:
    return run_braid("compact", table, "--warehouse", str(warehouse))


def given_table(warehouse: Path, **options: str) -> Table:
    return Catalog(str(warehouse)).create_table(
        "shop.orders",
        columns=COLUMNS,
        primary_key=["k"],
        options={"bucket": "1", **{key.replace("_", "-"): text for key, text in options.items()}},
    )


def write(table: Table, *rows: tuple[int, int]) -> None:
    keys, values = zip(*rows, strict=True)
    table.write_and_commit(pa.table({"k": list(keys), "v": list(values)}))


def test_files_become_one_and_the_result_is_printed(tmp_path: Path) -> None:
    table = given_table(tmp_path)
    write(table, (1, 10), (2, 20))
    write(table, (1, 11))

    done = compact(tmp_path)

    assert done.stdout == (
        "shop.orders: snapshot 3, 1 bucket: 2 files with 3 rows in, 1 file with 2 rows out "
        "(0 only moved)\n"
    )
    assert done.stderr == "compacting bucket 0 (1 of 1), files: 2, rows: 3\n"
    assert done.returncode == 0
    assert table.scan().to_arrow()["v"].to_pylist() == [11, 20]


def test_rows_of_first_row_appear(tmp_path: Path) -> None:
    table = given_table(tmp_path, merge_engine="first-row")
    write(table, (1, 10))
    write(table, (1, 11), (2, 20))
    assert table.scan().to_arrow().num_rows == 0

    assert compact(tmp_path).returncode == 0

    assert table.scan().to_arrow()["v"].to_pylist() == [10, 20]


def test_nothing_to_compact_is_no_error(tmp_path: Path) -> None:
    given_table(tmp_path)

    done = compact(tmp_path)

    assert (done.stdout, done.stderr) == ("shop.orders: nothing to compact\n", "")
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compact", "orders"], "TABLE 'orders': expected database.table"),
        (["compact", "shop.absent"], "shop.db/absent: it has no schema"),
    ],
)
def test_a_wrong_table_is_refused_in_one_line(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = run_braid(*arguments, "--warehouse", str(tmp_path))

    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert done.returncode == (3 if "has no schema" in message else 2)


def test_a_table_that_cannot_be_compacted_is_refused_by_the_option(tmp_path: Path) -> None:
    write(given_table(tmp_path, **{"chain-table.enabled": "true"}), (1, 10))

    done = compact(tmp_path)

    assert "chain-table.enabled: this version cannot compact such a table" in done.stderr
    assert done.returncode == 2


def test_records_that_cannot_be_merged_are_named_by_table_column_and_key(tmp_path: Path) -> None:
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
    table = given_table(tmp_path, **options)
    write(table, (1, 2**31 - 1), (2, 1))
    write(table, (1, 1))

    done = compact(tmp_path)

    line = done.stderr.splitlines()[-1]
    assert re.match("error: .*shop.orders.*k = 1 .*v: ", line)
    assert done.returncode == 4
    assert table.latest_snapshot() is not None


def test_a_damaged_table_is_status_1(tmp_path: Path) -> None:
    table = given_table(tmp_path)
    write(table, (1, 10))
    write(table, (1, 11))
    for file in tmp_path.rglob("bucket-0/*.parquet"):
        file.write_bytes(b"damaged")

    done = compact(tmp_path)

    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert done.returncode == 1


def test_several_tables_are_compacted_though_one_of_them_fails(tmp_path: Path) -> None:
    table = given_table(tmp_path)
    write(table, (1, 10))
    write(table, (1, 11))

    done = run_braid("compact", "shop.absent", "shop.orders", "--warehouse", str(tmp_path))

    assert "error: no table at" in done.stderr
    assert "shop.orders: snapshot 3, 1 bucket: 2 files" in done.stdout
    assert done.returncode == 3


def test_only_due_buckets_are_compacted_with_the_option(tmp_path: Path) -> None:
    table = given_table(tmp_path, **{"num-sorted-run.compaction-trigger": "3"})
    for value in (10, 11):
        write(table, (1, value))

    early = run_braid("compact", "shop.orders", "--due", "--warehouse", str(tmp_path))
    write(table, (1, 12))
    late = run_braid("compact", "shop.orders", "--due", "--warehouse", str(tmp_path))

    assert early.stdout == "shop.orders: nothing to compact\n"
    assert late.stdout.startswith("shop.orders: snapshot 4, 1 bucket: 3 files with 3 rows in")


def test_workers_commit_each_bucket_by_itself(tmp_path: Path) -> None:
    table = given_table(tmp_path, bucket="2")
    for value in (10, 11):
        write(table, *((key, value) for key in range(20)))

    done = run_braid("compact", "shop.orders", "--workers", "2", "--warehouse", str(tmp_path))

    assert done.stdout == (
        "shop.orders: snapshot 4, 2 buckets: 4 files with 40 rows in, 2 files with 20 rows out "
        "(0 only moved)\n"
    )
    assert sorted(line.split(":")[0] for line in done.stderr.splitlines()) == [
        "bucket 0",
        "bucket 1",
    ]
    assert done.returncode == 0
    assert set(table.runs_per_bucket().values()) == {1}


def test_an_error_in_a_worker_is_printed_in_one_line(tmp_path: Path) -> None:
    table = given_table(tmp_path)
    write(table, (1, 10))
    write(table, (1, 11))
    for file in tmp_path.rglob("bucket-0/*.parquet"):
        file.write_bytes(b"damaged")

    done = run_braid("compact", "shop.orders", "--workers", "1", "--warehouse", str(tmp_path))

    (line,) = done.stderr.splitlines()
    assert line.startswith("error: table shop.orders")
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        ([], 0),
        ([0, 0], 0),
        ([0, EXIT_TRY_AGAIN], EXIT_TRY_AGAIN),
        ([EXIT_TRY_AGAIN, 1, 2], 1),
    ],
)
def test_dropped_work_of_one_table_does_not_hide_the_failure_of_another(
    statuses: list[int], status: int
) -> None:
    assert exit_status(statuses) == status
