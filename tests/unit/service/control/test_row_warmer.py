"""Large files are made ready beside requests, once they were missed often enough."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from lake import Catalog, MemoryFileIO, Table
from service.control.row_lookup import RowFinder
from service.control.row_warmer import MISSES, RowWarmer

VALUE_BYTES = 1_000


def given_large_table() -> Table:
    table = Catalog("/w", file_io=MemoryFileIO()).create_table(
        "db.t", columns=[("k", "INT"), ("v", "BYTES")], primary_key=["k"], options={"bucket": "1"}
    )
    noise = np.random.default_rng(1).bytes(2_000 * VALUE_BYTES)
    values = [noise[first : first + VALUE_BYTES] for first in range(0, len(noise), VALUE_BYTES)]
    keys = pa.array(range(len(values)), pa.int32())
    table.write_and_commit(pa.table({"k": keys, "v": pa.array(values, pa.binary())}))
    return table


def test_rows_are_scanned_for_until_their_files_are_ready() -> None:
    table = given_large_table()
    jobs: list[Callable[[], None]] = []

    def submit(job: Callable[[], None]) -> None:
        jobs.append(job)

    finder = RowFinder(RowWarmer(submit))
    keys = [{"k": 7}, {"k": 8}, {"k": -1}]

    answers = [finder.find(table, table.lookup_at(), keys, None) for _ in range(MISSES)]

    assert len(jobs) == 1, "one job for a table at a time"
    [job] = jobs
    assert not table.lookup_at().is_at_hand({"k": 7})
    job()
    assert table.lookup_at().is_at_hand({"k": 7})
    table.file_io.delete_tree(f"{table.path}/bucket-0")
    assert finder.find(table, table.lookup_at(), keys, None) == answers[0] == answers[-1]
    assert [row is not None for row in answers[0]] == [True, True, False]
    assert len(jobs) == 1


def test_a_file_that_cannot_be_made_ready_is_tried_again() -> None:
    table = given_large_table()
    at = table.lookup_at()
    jobs = 0

    def submit_now(job: Callable[[], None]) -> None:
        nonlocal jobs
        jobs += 1
        job()

    warmer = RowWarmer(submit_now)
    table.file_io.delete_tree(f"{table.path}/bucket-0")

    for _ in range(MISSES + 1):
        warmer.missed(at, {"k": 7}, None)

    assert jobs == 2


def test_many_rows_are_found_at_once_as_one_by_one() -> None:
    table = given_large_table()
    finder = RowFinder(RowWarmer(lambda _job: None))
    at = table.lookup_at()
    at.load()
    keys = [{"k": key} for key in (7, -1, 1_999, 7, 2_000, 0)]

    rows = finder.find(table, at, keys, ["k"])

    assert rows == [{"k": 7}, None, {"k": 1_999}, {"k": 7}, None, {"k": 0}]
    assert rows == [finder.find(table, at, [key], ["k"])[0] for key in keys]
    assert finder.find(table, at, [], None) == []
