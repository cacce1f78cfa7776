"""A process that owns a stream and commits its batches, and what it notes of every commit."""

import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice, pairwise
from threading import Barrier
from typing import Final

import pyarrow as pa

from benchmarks.contention.bed import (
    TABLE,
    Load,
    Newest,
    batches,
    create_table,
    keep_newest,
    stream_name,
)
from benchmarks.resident_memory import peak_resident_bytes
from braid.lake import (
    BatchAccount,
    Catalog,
    FileIO,
    MemoryFileIO,
    Outcome,
    StreamBatch,
    StreamPosition,
    Table,
)
from braid.lake.commit.committer import TableCommitter
from braid.lake.files.paths import TablePaths

_WARM_UP: Final = 3
"""Commits before those that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitNote:
    """One commit.

    Attributes:
        snapshot_id: The snapshot that has it.
        took_ms: Its duration, to the return of the call.
        attempts: The number of attempts.
        wait_ms: Waits between them.
        lost_to: Ids of the snapshots that came before it, one for each attempt that was lost.
        lost_ms: Time that each lost attempt took, with the wait after it.
    """

    snapshot_id: int
    took_ms: float
    attempts: int
    wait_ms: int
    lost_to: tuple[int, ...]
    lost_ms: tuple[float, ...]


@dataclass(kw_only=True)
class WriterNotes:
    """What a writer has done.

    Attributes:
        commits: Its commits.
        newest: What it has written.
        peak_bytes: Peak memory of its process.
        processor_s: Processor time, from the first commit to the last.
    """

    commits: list[CommitNote] = field(default_factory=list)
    newest: Newest = field(default_factory=dict)
    peak_bytes: int = 0
    processor_s: float = 0.0


def write_streams(
    file_io: FileIO, warehouse: str, writers: Sequence[int], load: Load, start: Barrier
) -> list[WriterNotes]:
    """Write several streams from one process, each by a thread, as the driver of a runner does."""
    # A process has a share of a core at most.
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    with ThreadPoolExecutor(len(writers)) as threads:
        return list(
            threads.map(lambda one: write_stream(file_io, warehouse, one, load, start), writers)
        )


def write_stream(
    file_io: FileIO, warehouse: str, writer: int, load: Load, start: Barrier
) -> WriterNotes:
    """Claim a stream, wait for all others, and commit its batches."""
    _warm_up(load, writer)
    table = Catalog(warehouse, file_io=file_io).table(TABLE)
    plans: list[float] = []
    steps: list[str] = []

    def on_step(step: str) -> None:
        # An attempt may plan twice before it tries to create its snapshot.
        if step == "before plan" and steps != ["before plan"]:
            plans.append(time.perf_counter())
        if step in {"before plan", "before create-snapshot"}:
            steps[:] = [step]

    committer = TableCommitter(
        file_io,
        TablePaths(table.path),
        random=random.Random(f"{load.seed}-{writer}"),  # noqa: S311 - waits, no secrets
        on_step=on_step,
    )
    name = stream_name(writer)
    position = committer.claim_stream(name, topic=name, topic_id=name, initial_offsets={0: 0})
    notes = WriterNotes()
    start.wait()
    began = time.monotonic()
    processor_s = time.thread_time()
    phase = 0.0 if load.is_aligned else load.interval_s * writer / load.writers
    for number, rows in enumerate(batches(load, writer)):
        time.sleep(max(0.0, began + phase + number * load.interval_s - time.monotonic()))
        plans.clear()
        notes.commits.append(_commit(table, committer, rows, position, number, plans))
        keep_newest(notes.newest, rows, writer)
    notes.processor_s = time.thread_time() - processor_s
    notes.peak_bytes = peak_resident_bytes()
    return notes


def _warm_up(load: Load, writer: int) -> None:
    """Commit to a table in memory: the first commits of a process take many times as long as all others."""
    table = create_table("/warm", MemoryFileIO(), writers=load.writers)
    committer = table.committer()
    position = committer.claim_stream(
        stream_name(writer), topic="t", topic_id="t", initial_offsets={0: 0}
    )
    for number, rows in enumerate(islice(batches(load, writer), _WARM_UP)):
        _commit(table, committer, rows, position, number, [])


def _commit(
    table: Table,
    committer: TableCommitter,
    rows: pa.Table,
    position: StreamPosition,
    number: int,
    plans: list[float],
) -> CommitNote:
    writing = table.writer(first_sequence_number=committer.max_sequence_number() + 1)
    writing.write(rows)
    written = writing.prepare_commit()
    batch = StreamBatch(
        stream=position.stream,
        epoch=position.epoch,
        batch_id=number,
        topic=position.topic,
        topic_id=position.topic_id,
        start={0: number * rows.num_rows},
        end={0: (number + 1) * rows.num_rows},
        account=BatchAccount(accepted=written.rows_accepted, folded=written.rows_folded),
    )
    began = time.perf_counter()
    result = committer.commit_stream_batch(
        written.messages, batch, max_sequence_number=written.max_sequence_number
    )
    ended = time.perf_counter()
    assert result.outcome is Outcome.COMMITTED, result
    return CommitNote(
        snapshot_id=result.snapshot_id,
        took_ms=(ended - began) * 1_000,
        attempts=result.attempts,
        wait_ms=result.wait_ms,
        lost_to=result.lost_to,
        lost_ms=tuple((after - before) * 1_000 for before, after in pairwise(plans)),
    )
