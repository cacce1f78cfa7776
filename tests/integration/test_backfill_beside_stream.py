"""A backfill beside a live stream: real Kafka and Spark, the real command line, killed and started again and again.

Both write the same keys. In the end the table is what a model says, every refused row is in the file, and the columns
of another group are as they were. 8,000 rows and two kills as a test, ten million and ten in `make soak`.
"""

import json
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from braid.lake import StreamPosition, SystemClock, backfill_name
from braid.registry.store.backfill_reports import BackfillReports
from braid.schemas import BackfillState
from tests.integration.ingest_bed import IDENTIFIER, IngestBed
from tests.integration.runner_bed import Registry, has_read, running_runner
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.spark]

FILES = 8
VERSIONS = 50
"""Few, so that many records of a key are equal in their order."""
REFUSED_EVERY = 997
NAME = "history"
Ints = npt.NDArray[np.int64]


@dataclass(kw_only=True)
class History:
    """Rows of the files, and records of the live stream, from a seed.

    Attributes:
        rows: Number of rows in the files; every key has two of them on average.
        records: Number of records of the live stream.
        seed: The seed.
    """

    rows: int
    records: int
    seed: int
    _chance: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._chance = np.random.default_rng(self.seed)
        self.keys = max(1, self.rows // 2)
        self.old_ids = self._chance.integers(0, self.keys, self.rows)
        self.old_versions = self._chance.integers(0, VERSIONS, self.rows)
        self.live_ids = self._chance.integers(0, self.keys, self.records)
        self.live_versions = self._chance.integers(0, VERSIONS, self.records)
        self.is_refused: npt.NDArray[np.bool_] = np.arange(self.rows) % REFUSED_EVERY == 0

    @property
    def rows_per_file(self) -> int:
        """Number of rows in each file but the last."""
        return -(-self.rows // FILES)

    def write(self, folder: Path) -> None:
        """Write the files; refused rows have no key."""
        folder.mkdir()
        for number in range(FILES):
            part = slice(number * self.rows_per_file, (number + 1) * self.rows_per_file)
            rows = np.arange(self.rows)[part]
            columns = {
                "id": pa.array(self.old_ids[part], mask=self.is_refused[part]),
                "a": _texts("row", rows),
                "a_version": pa.array(self.old_versions[part], pa.int32()),
            }
            pq.write_table(pa.table(columns), folder / f"{number}.parquet", row_group_size=100_000)

    def messages(self, first: int, count: int) -> list[dict[str, Any]]:
        """Return records of the live stream; those of one key and version have the same text."""
        ids = self.live_ids[first : first + count].tolist()
        versions = self.live_versions[first : first + count].tolist()
        return [
            {"id": key, "a": f"live {version}", "a_version": version}
            for key, version in zip(ids, versions, strict=True)
        ]

    @cached_property
    def expected(self) -> pa.Table:
        """The columns of the stream, by key: the greatest version; of equal ones the live one, then the last row."""
        accepted = np.flatnonzero(~self.is_refused)
        ids = np.concatenate([self.old_ids[accepted], self.live_ids])
        versions = np.concatenate([self.old_versions[accepted], self.live_versions])
        is_live = np.arange(len(ids)) >= len(accepted)
        order = np.lexsort((np.arange(len(ids)), is_live, versions, ids))
        is_last = np.append(ids[order][1:] != ids[order][:-1], True)
        winners = order[is_last]
        rows = np.append(accepted, np.zeros(self.records, np.int64))[winners]
        live = _texts("live", versions[winners])
        return pa.table(
            {
                "id": ids[winners],
                "a": pc.if_else(pa.array(is_live[winners]), live, _texts("row", rows)),
                "a_version": pa.array(versions[winners], pa.int32()),
            }
        )

    @property
    def refused(self) -> set[tuple[str, int]]:
        """Name of the file and row of each refused row."""
        found = (divmod(row, self.rows_per_file) for row in np.flatnonzero(self.is_refused))
        return {(f"{file}.parquet", int(row)) for file, row in found}


@pytest.mark.slow
def test_a_killed_backfill_and_a_live_stream_make_the_same_table(bed: IngestBed) -> None:
    check_backfill(bed, History(rows=8_000, records=1_000, seed=16), kills=2, rows_per_second=2_500)


@pytest.mark.soak
def test_ten_million_rows_are_backfilled_by_a_process_that_is_killed_ten_times(
    bed: IngestBed,
) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    check_backfill(bed, History(rows=10_000_000, records=100_000, seed=seed), kills=10)


def check_backfill(
    bed: IngestBed, history: History, *, kills: int, rows_per_second: int | None = None
) -> None:
    """Backfill beside the stream, and compare table, positions, reports and refused rows with the model.

    Args:
        bed: A table with the groups `left`, which is backfilled, and `right`.
        history: The rows and records.
        kills: How often the process is killed.
        rows_per_second: Bound of the backfill's pace; None: none.
    """
    files = bed.directory / "files"
    history.write(files)
    registry, topics = Registry(bed), {name: bed.topic(name) for name in ("left", "right")}
    registry.register("left", topic=topics["left"], columns=_columns("id", "a", "a_version"))
    registry.register("right", topic=topics["right"], columns=_columns("id", "b"))
    others = [{"id": key, "b": key / 2} for key in range(0, history.keys, 1 + history.keys // 500)]
    command = _command(bed, files, rows=history.rows, rows_per_second=rows_per_second, kills=kills)
    moments = random.Random(history.seed)
    with running_runner(bed):
        bed.produce(topics["right"], others)
        stop = threading.Event()
        live = threading.Thread(target=_produce, args=(bed, topics["left"], history, stop))
        live.start()
        try:
            killed = 0
            for kill in range(kills):
                rows = int(history.rows * (kill + moments.random()) / (kills + 1))
                killed += _killed(bed, command, rows, delay_s=moments.random() / 2)
            print(f"{killed} of {kills} processes killed")
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        finally:
            stop.set()
            live.join()
        registry.wait_for("left", has_read(history.records))
        registry.wait_for("right", has_read(len(others)))

    table = bed.table()
    found = table.scan(columns=["id", "a", "a_version", "b"]).to_arrow().sort_by("id")
    is_ours = found["a_version"].is_valid()
    assert found.filter(is_ours).drop_columns(["b"]).equals(history.expected.cast(_schema(found)))
    of_others = {row["id"]: row["b"] for row in found.filter(found["b"].is_valid()).to_pylist()}
    assert of_others == {row["id"]: row["b"] for row in others}
    positions = table.committer().stream_positions()
    account = positions[backfill_name("left", NAME)].account
    assert (account.records, account.dead_lettered) == (history.rows, len(history.refused))
    assert positions["left"].account.records == history.records
    lines = (bed.directory / "rejects.jsonl").read_text().splitlines()
    refused = [(Path(line["file"]).name, line["row"]) for line in map(json.loads, lines)]
    assert set(refused) == history.refused
    reports = BackfillReports(table.file_io, bed.warehouse, SystemClock())
    report = reports.read(IDENTIFIER, "left", [NAME])[NAME]
    assert (report.state, report.done, report.rows) == (BackfillState.FINISHED, 1.0, history.rows)


def _columns(*names: str) -> list[dict[str, str]]:
    return [{"column": name} for name in names]


def _schema(found: pa.Table) -> pa.Schema:
    return found.schema.remove(found.schema.get_field_index("b"))


def _texts(word: str, numbers: Ints) -> pa.StringArray:
    return pc.binary_join_element_wise(word, pa.array(numbers).cast(pa.string()), " ")


def _command(
    bed: IngestBed, files: Path, *, rows: int, rows_per_second: int | None, kills: int
) -> list[str]:
    options = {
        "warehouse": bed.warehouse,
        "from": files,
        "name": NAME,
        "rejects": bed.directory / "rejects.jsonl",
        "rejects-max": rows,
        # A few commits between two kills.
        "rows-per-commit": max(1, rows // (4 * (kills + 1))),
    }
    if rows_per_second is not None:
        options["rows-per-second"] = rows_per_second
    given = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "braid", "stream", "backfill", IDENTIFIER, "left", *given]


def _killed(bed: IngestBed, command: list[str], rows: int, *, delay_s: float) -> bool:
    """Start a process of the backfill, kill it some time after so many rows are committed, and return whether it was.

    On a busy machine it may have come to its end before.
    """
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    table = bed.table()

    def position() -> StreamPosition | None:
        return table.committer().stream_positions().get(backfill_name("left", NAME))

    def is_there() -> bool:
        found = position()
        return process.poll() is not None or (
            found is not None and found.epoch > epoch and found.account.records >= rows
        )

    found = position()
    epoch = 0 if found is None else found.epoch
    wait_until(is_there, every_s=0.05)
    time.sleep(delay_s)
    process.kill()
    assert process.wait() in (0, -signal.SIGKILL)
    return process.returncode != 0


def _produce(bed: IngestBed, topic: str, history: History, stop: threading.Event) -> None:
    """Send the live records a hundred at a time, and those that are left when the backfill has ended."""
    first = 0
    while first < history.records and not stop.wait(0.5):
        bed.produce(topic, history.messages(first, 100))
        first += 100
    bed.produce(topic, history.messages(first, history.records))
