"""Histories of a warehouse before a power failure, and what has to hold after it.

One table with a stream, its registered document, a lease and the reports of a runner.
"""

import itertools
import random
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from braid.lake import (
    AddColumn,
    Catalog,
    FileIO,
    ManualClock,
    ReadAt,
    StreamBatch,
    Table,
    TableExists,
    parse_type,
)
from braid.lake.commit.streams.position_hold import HOLD_ID
from braid.lake.snapshots.snapshot_store import SnapshotStore
from braid.registry.store.documents import RegistryStore
from braid.registry.store.leases import LeaseStore
from braid.registry.store.progress import ProgressStore
from braid.schemas import ColumnSpec, RunnerProgress, TableDocument, TableSpec
from tests.support.power_sweep import Step
from tests.support.table_files import assert_orphans_found, missing_files

WAREHOUSE: Final = "/wh"
NAME: Final = "db.t"
LATE_MS: Final = 4_000_000_000_000
_SEEDS: Final = itertools.count()


def opened(file_io: FileIO, *, late: bool = False) -> Catalog:
    """Return the warehouse as a process sees it that has just been started."""
    clock = ManualClock(start_ms=LATE_MS) if late else ManualClock()
    return Catalog(WAREHOUSE, file_io=file_io, clock=clock, random=random.Random(next(_SEEDS)))


def observed(file_io: FileIO) -> object:
    """Return all that is declared, stored and reported; fails where something cannot be read."""
    return _observed_table(file_io), _observed_registry(file_io)


def works_on(file_io: FileIO) -> None:
    """Commit, claim, tag, expire, compact, roll back and clean, as after any start."""
    catalog = opened(file_io)
    if not catalog.list_tables():
        _create_again(catalog, file_io)
    table = catalog.table(NAME)
    before = rows_of(table)
    table.committer().claim_stream(
        "s", topic="t", topic_id="id", initial_offsets={0: 0}, fallback=None
    )
    newest = commit(table, 99)
    assert rows_of(table) == {**before, 99: 99}
    late = opened(file_io, late=True).table(NAME)
    with late.lease():
        late.expire(retain_max=2, older_than_ms=LATE_MS)
    table.rollback(snapshot_id=newest - 1)
    assert rows_of(table) == before
    table.compact()
    assert_orphans_found(file_io, opened(file_io, late=True).table(NAME))
    assert rows_of(opened(file_io).table(NAME)) == before
    declare(file_io, 99)
    leases = LeaseStore(file_io, WAREHOUSE, ManualClock(start_ms=LATE_MS))
    # The lease of before may be live still, by the clock of the disk.
    assert leases.holder(NAME, "s") or leases.acquire(NAME, "s", "another", 1_000)
    report(file_io, 99)


def _create_again(catalog: Catalog, file_io: FileIO) -> None:
    try:
        create(file_io)
    except TableExists:  # a drop was broken off, and says so
        catalog.drop_table(NAME)
        create(file_io)


def create(file_io: FileIO) -> None:
    opened(file_io).create_table(
        NAME,
        columns=[("k", "INT"), ("v", "INT")],
        primary_key=["k"],
        options={"bucket": "1", "changelog-producer": "input"},
    )


def commit(table: Table, value: int) -> int:
    """Write one row and return the snapshot's id."""
    rows = pa.table({"k": pa.array([value], pa.int32()), "v": pa.array([value], pa.int32())})
    return table.write_and_commit(rows).snapshot_id


def rows_of(table: Table, *, tag: str | None = None) -> dict[int, int]:
    found = table.scan(columns=["k", "v"], at=ReadAt(tag=tag)).to_arrow().to_pylist()
    return {row["k"]: row["v"] for row in found}


def document(number: int) -> TableDocument:
    spec = TableSpec(
        columns=(ColumnSpec(name="k", type="INT"),), primary_key=("k",), comment=str(number)
    )
    return TableDocument(database="db", name="t", table=spec)


def declare(file_io: FileIO, number: int) -> None:
    registry = RegistryStore(file_io, WAREHOUSE, ManualClock())
    stored = registry.table(NAME)
    version = None if stored is None else stored.version
    registry.put_table(document(number), expected_version=version)


def report(file_io: FileIO, number: int) -> None:
    progress = RunnerProgress(runner="r", started_ms=number, updated_ms=number)
    ProgressStore(file_io, WAREHOUSE, ManualClock()).write(progress)


def stream_batch(table: Table, start: int) -> None:
    """Commit the next batch of the stream, which writes nothing."""
    committer = table.committer()
    position = committer.stream_positions()["s"]
    batch = StreamBatch(
        stream="s",
        epoch=position.epoch,
        batch_id=start,
        topic="t",
        topic_id="id",
        start={0: start},
        end={0: start + 1},
    )
    committer.commit_stream_batch([], batch, max_sequence_number=None)


def on_table(act: Callable[[Table], object]) -> Step:
    """Return a step of a process that opens the table for it."""
    return lambda file_io: act(opened(file_io).table(NAME))


def committing(number: int) -> tuple[str, Step]:
    return f"commit {number}", on_table(lambda table: commit(table, number))


def commits() -> list[tuple[str, Step]]:
    """A table is created, written by batch and stream, altered, compacted."""
    claim = on_table(
        lambda table: table.committer().claim_stream(
            "s", topic="t", topic_id="id", initial_offsets={0: 0}, fallback=None
        )
    )
    add_column = AddColumn(path=("w",), type=parse_type("INT"))
    return [
        ("create", create),
        committing(1),
        ("claim", claim),
        ("stream batch", on_table(lambda table: stream_batch(table, 0))),
        ("alter", on_table(lambda table: table.alter(add_column))),
        committing(2),
        ("compact", on_table(lambda table: table.compact())),
    ]


def removals() -> list[tuple[str, Step]]:
    """Snapshots are tagged, expire, are rolled back; a consumer and the table go."""
    return [
        *commits()[:2],
        committing(2),
        ("tag", on_table(lambda table: table.create_tag("a", snapshot_id=1))),
        ("compact", on_table(lambda table: table.compact())),
        ("consumer", on_table(lambda table: table.reset_consumer("c", 2))),
        ("forget consumer", on_table(lambda table: table.delete_consumer("c"))),
        ("expire", on_table(lambda table: table.expire(retain_max=1, older_than_ms=LATE_MS))),
        ("delete tag", on_table(lambda table: table.delete_tag("a"))),
        *[committing(number) for number in (4, 5, 6)],
        ("rollback", on_table(lambda table: table.rollback(snapshot_id=4))),
        ("drop", lambda file_io: opened(file_io).drop_table(NAME)),
    ]


def declarations() -> list[tuple[str, Step]]:
    """A document changes, a stream is leased, a runner reports."""

    def lease(file_io: FileIO) -> None:
        leases = LeaseStore(file_io, WAREHOUSE, ManualClock())
        assert leases.acquire(NAME, "s", "r", 1_000) is not None

    def release(file_io: FileIO) -> None:
        leases = LeaseStore(file_io, WAREHOUSE, ManualClock())
        held = leases.holder(NAME, "s")
        assert held is not None
        leases.release(held)

    return [
        ("register", lambda file_io: declare(file_io, 1)),
        ("lease", lease),
        ("report 1", lambda file_io: report(file_io, 1)),
        ("change", lambda file_io: declare(file_io, 2)),
        ("renew", lease),
        ("report 2", lambda file_io: report(file_io, 2)),
        ("release", release),
    ]


def random_history(seed: int) -> list[tuple[str, Step]]:
    """Return some operations in an order of their own, each of which can be done where it stands."""
    chance = random.Random(seed)
    return [("create", create), *((f"step {n}", _any_step(n, chance)) for n in range(12))]


def _any_step(number: int, chance: random.Random) -> Step:
    kind = chance.choice(["commit", "commit", "compact", "tag", "untag", "expire", "rollback"])
    drawn = chance.random()

    def act(table: Table) -> None:
        ids = SnapshotStore(table.file_io, table.paths).list_ids()
        tags = table.tags()
        tagged = max((tag.snapshot.id for tag in tags), default=0)
        free = [one for one in ids if one > tagged]
        if kind == "tag" and ids:
            table.create_tag(f"t{number}", snapshot_id=ids[int(drawn * len(ids))])
        elif kind == "untag" and tags:
            table.delete_tag(tags[int(drawn * len(tags))].name)
        elif kind == "expire":
            table.expire(retain_max=1 + int(drawn * 3), older_than_ms=LATE_MS)
        elif kind == "rollback" and free:
            table.rollback(snapshot_id=free[int(drawn * len(free))])
        elif kind == "compact" and ids:
            table.compact()
        else:
            commit(table, number)

    return on_table(act)


def _observed_table(file_io: FileIO) -> object:
    catalog = opened(file_io)
    if NAME not in catalog.list_tables():
        return None
    table = catalog.table(NAME)
    assert missing_files(file_io, table) == set()
    assert all(file.error is None for file in table.consumers())
    positions = table.committer().stream_positions()
    tags: Mapping[str, Any] = {tag.name: rows_of(table, tag=tag.name) for tag in table.tags()}
    # What the hold for other engines says may be old: streams move it along.
    consumers = {
        file.id: file.consumer
        for file in table.consumers()
        if not file.is_lease and file.id != HOLD_ID
    }
    offsets = {name: dict(position.offsets) for name, position in positions.items()}
    return rows_of(table), tags, consumers, offsets, table.schema.field_names


def _observed_registry(file_io: FileIO) -> object:
    registry = RegistryStore(file_io, WAREHOUSE, ManualClock())
    tables, reports = registry.tables(), ProgressStore(file_io, WAREHOUSE, ManualClock()).read_all()
    assert not tables.unreadable
    assert not reports.unreadable
    holder = LeaseStore(file_io, WAREHOUSE, ManualClock()).holder(NAME, "s")
    return tables.documents, reports.runners, holder
