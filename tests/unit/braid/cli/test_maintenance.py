"""`braid maintain`, run as the program that it is."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from braid.lake import Catalog, Table
from tests.support.program import run_braid
from tests.support.waiting import PATIENCE_S, wait_until

PROGRAM = [sys.executable, "-m", "braid", "maintain"]


def given_table(warehouse: Path, identifier: str = "shop.orders") -> Table:
    return Catalog(str(warehouse)).create_table(
        identifier,
        columns=[("k", "INT")],
        primary_key=["k"],
        options={"bucket": "1", "num-sorted-run.compaction-trigger": "3"},
    )


def write(table: Table, *, commits: int) -> None:
    for _ in range(commits):
        table.write_and_commit(pa.table({"k": pa.array([1, 2], pa.int32())}))


def once(warehouse: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_braid("maintain", *arguments, "--once", "--warehouse", str(warehouse))


def children_of(process: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == process:
            found.append(int(status.parent.name))
    return found


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_all_tables_are_maintained_once(tmp_path: Path) -> None:
    for name in ("a.t", "b.t"):
        write(given_table(tmp_path, name), commits=3)

    done = once(tmp_path)

    line = "1 compacted, 0 dropped, 0 snapshots expired, 0 failed"
    assert done.stdout == f"a.t: {line}\nb.t: {line}\n"
    assert "INFO compacted table=a.t bucket=bucket-0 snapshot=4 files=3>1 rows=6>2" in done.stderr
    assert done.returncode == 0


def test_a_missing_warehouse_is_refused(tmp_path: Path) -> None:
    done = once(tmp_path / "misspelt")

    assert done.returncode == 2
    assert "--warehouse" in done.stderr
    assert "no such folder" in done.stderr


def test_a_round_that_cannot_list_the_tables_has_failed(tmp_path: Path) -> None:
    given_table(tmp_path)
    # A link to itself: listing it fails for every user, root included.
    (tmp_path / "b.db").symlink_to("b.db")

    done = once(tmp_path)

    assert "WARNING maintenance waits: the list of tables cannot be read" in done.stderr
    assert done.returncode == 1


def test_only_the_named_tables_are_maintained(tmp_path: Path) -> None:
    for name in ("a.t", "b.t"):
        write(given_table(tmp_path, name), commits=3)

    done = once(tmp_path, "b.t")

    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["b.t"]


def test_a_failure_is_the_exit_status_of_a_single_round(tmp_path: Path) -> None:
    table = given_table(tmp_path)
    write(table, commits=3)
    for file in tmp_path.rglob("bucket-0/*.parquet"):
        file.write_bytes(b"damaged")

    done = once(tmp_path)

    assert "maintenance failed table=shop.orders what=bucket-0 error=" in done.stderr
    assert "1 failed" in done.stdout
    assert done.returncode == 1


def test_a_missing_table_is_refused_in_one_line(tmp_path: Path) -> None:
    done = once(tmp_path, "shop.orders")

    assert done.stderr.startswith("error: no table at")
    assert done.returncode == 3


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_service_ends_with_a_signal_and_prints_its_counts(
    tmp_path: Path, number: signal.Signals
) -> None:
    table = given_table(tmp_path)
    write(table, commits=1)
    command = [*PROGRAM, "--every", "0.1", "--warehouse", str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as service:
        try:
            for _ in range(3):
                write(table, commits=2)
                wait_until(lambda: max(table.runs_per_bucket().values()) < 3)
            # To the whole group, as a terminal and a service manager do.
            os.killpg(service.pid, number)
            output, _ = service.communicate(timeout=PATIENCE_S)
        finally:
            service.kill()  # it runs on if it was waited for in vain

    assert service.returncode == 0
    assert output.startswith("shop.orders: ")
    assert output.endswith("0 failed\n")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_no_process_outlives_a_killed_service(tmp_path: Path) -> None:
    table = given_table(tmp_path)
    write(table, commits=3)
    command = [*PROGRAM, "--every", "0.1", "--warehouse", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as service:
        wait_until(lambda: max(table.runs_per_bucket().values()) < 3)
        workers = children_of(service.pid)
        service.kill()
    assert workers
    wait_until(lambda: not any(is_alive(worker) for worker in workers))
