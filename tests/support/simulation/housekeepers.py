"""Actors that add no records: compactions, expiries, tags, rollbacks that often die, another engine."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from braid.lake import (
    CommitConflict,
    CommitKind,
    CommitUnknown,
    FileIO,
    InvalidRequest,
    StorageUnavailable,
)
from braid.lake.commit import discard
from braid.lake.format.data_file import DataFileMeta
from braid.lake.snapshots.consumer_store import ConsumerStore
from braid.lake.snapshots.live_files import LiveFiles
from braid.lake.snapshots.manifest_store import ManifestGone, ManifestStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.support.committing import compacted, data_file
from tests.support.faulty_file_io import Died
from tests.support.foreign_engine import commit_foreign
from tests.support.simulation.storage import Hazards
from tests.support.simulation.world import Act, World, Written

TOP_LEVEL = 5


@dataclass(kw_only=True)
class Compactor:
    """Replaces files of a bucket by one file: all by one of the top level, or some small ones by another."""

    world: World
    rounds: int
    name: str = "compactor"

    def __call__(self, file_io: FileIO) -> None:
        """Compact a few times in one process."""
        paths = self.world.ledger.paths
        committer = self.world.committer(file_io)
        live = LiveFiles(ManifestStore(file_io, paths))
        while self.rounds > 0:
            self.rounds -= 1
            self.world.rest(self.name)
            latest = SnapshotStore(file_io, paths).latest()
            if latest is None:
                continue
            bucket = self.world.random.randrange(self.world.buckets)
            try:
                entries = [e for e in live.by_identity(latest).values() if e.bucket == bucket]
            except ManifestGone:
                continue
            before, level = self._choose([entry.file for entry in entries])
            if len(before) < 2:
                continue
            contents = self.world.ledger.contents
            records = tuple(record for file in before for record in contents[file.file_name])
            name = self.world.new_name("compacted")
            contents[name] = records
            written = Written(world=self.world, file_io=file_io, name=name, bucket=bucket)
            file_io.write_new(written.path, b"rows")
            if self.world.random.random() < 0.5:
                self.world.rest(self.name)
            message = compacted(tuple(before), (data_file(name, level=level),), bucket=bucket)
            kind = self.world.random.choice([CommitKind.COMPACT, CommitKind.OVERWRITE])
            try:
                discard.commit_or_discard(
                    partial(committer.commit, [message], commit_user=self.name, kind=kind),
                    discard=written.discard,
                )
                self.world.count("compacted")
            except CommitConflict:
                self.world.count("compacted in vain")

    def _choose(self, files: Sequence[DataFileMeta]) -> tuple[Sequence[DataFileMeta], int]:
        """Return the files to merge, and their new level."""
        if self.world.random.random() < 0.5:
            return files, TOP_LEVEL
        small = [file for file in files if file.level == 0]
        return self.world.random.sample(small, min(len(small), 3)), 0


def expire(world: World, name: str, rounds: int) -> Act:
    """Return an actor that expires snapshots."""

    def act(file_io: FileIO) -> None:
        for _ in range(rounds):
            world.rest(name)
            retain_max = world.random.choice([1, 1, 2, 4])
            result = world.table(file_io).expire(
                retain_min=1, retain_max=retain_max, older_than_ms=1 << 60
            )
            world.count(f"expired {min(len(result.snapshots), 1)}")

    return act


def tag(world: World, name: str, rounds: int) -> Act:
    """Return an actor that creates and deletes tags."""

    def act(file_io: FileIO) -> None:
        for _ in range(rounds):
            world.rest(name)
            tag_name = f"tag{world.random.randrange(2)}"
            table = world.table(file_io)
            try:
                table.create_tag(tag_name)
            except InvalidRequest:
                try:
                    table.delete_tag(tag_name)
                except InvalidRequest:
                    continue

    return act


def roll_back(world: World, name: str, rounds: int) -> Callable[[], None]:
    """Return an actor that rolls the table back, and often dies while it removes snapshots."""
    dies = 0.0
    hazards = world.random.choice([Hazards(), Hazards(), Hazards(), world.hazards])

    def removing_storage() -> FileIO:
        """Return storage under which a rollback may die when it has removed a snapshot."""
        file_io = world.storage(name, hazards)
        inner = world.ledger.file_io
        paths = world.ledger.paths
        snapshots = SnapshotStore(inner, paths)
        delete = file_io.delete

        def noting(path: str) -> bool:
            ids = snapshots.list_ids()
            is_newest = bool(ids) and path == paths.snapshot(ids[-1])
            try:
                is_deleted = delete(path)
                if path in map(paths.snapshot, ids[:-1]) and world.random.random() < dies:
                    raise Died
                return is_deleted
            finally:
                if path in map(paths.snapshot, ids) and not inner.exists(path):
                    world.ledger.take_back(is_newest=is_newest)

        file_io.delete = noting  # type: ignore[method-assign]
        return file_io

    def actor() -> None:
        nonlocal dies
        paths = world.ledger.paths
        for _ in range(rounds):
            file_io = removing_storage()
            dies = world.random.choice([0, 0.3, 0.8, 0.8])
            try:
                target = _choose_target(world, name, SnapshotStore(file_io, paths))
                if target is None:
                    continue
                world.table(file_io).rollback(snapshot_id=target)
                world.count("rolled back")
            except (
                InvalidRequest,
                CommitConflict,
                Died,
                StorageUnavailable,
                CommitUnknown,
                MemoryError,
            ) as error:
                world.count(f"rollback {type(error).__name__}")
                world.ledger.broken_off += 1

    return actor


def _choose_target(world: World, name: str, snapshots: SnapshotStore) -> int | None:
    """Return one of the newest snapshots, preferably one that a sleeping actor is planned on."""
    ids: list[int] = []
    for _ in range(world.random.choice([1, 20, 20])):
        world.rest(name)
        ids = snapshots.list_ids()
        asleep = set(world.sleepers.values())
        planned_on = [n for n in ids[:-2] if world.ledger.paths.snapshot(n + 1) in asleep]
        if planned_on:
            world.count("rollback to where somebody sleeps")
            return planned_on[-1]
    return world.random.choice(ids[-5:]) if ids else None


def other_engine(world: World, name: str, rounds: int, *, holds: float = 0.3) -> Act:
    """Return an actor that is another engine: it commits without records, and expires.

    Args:
        world: Of the run.
        name: Of the actor.
        rounds: Of commits and expiries.
        holds: Probability that an expiry respects consumers.
    """
    kept = world.random.choice([1, 1, 1, 3]) if holds else 1

    def act(file_io: FileIO) -> None:
        paths = world.ledger.paths
        snapshots = SnapshotStore(file_io, paths)
        for _ in range(rounds):
            world.rest(name)
            for _ in range(world.random.randint(1, 3)):
                file_io.exists(paths.root)  # others may act
                # In one step, as if under a lock: otherwise its snapshot could land in a hole, and it has
                # no check that would delete it.
                with suppress(ManifestGone):
                    commit_foreign(world.ledger.file_io, paths)
                    world.count("committed elsewhere")
            ids = snapshots.list_ids()
            keep_from = max(ids, default=0) + 1 - kept
            if world.random.random() < holds:
                consumers = ConsumerStore(file_io, paths).list()
                held = [one.consumer.next_snapshot for one in consumers if one.consumer]
                keep_from = min([keep_from, *held])
            for number in ids:
                if number < keep_from:
                    file_io.delete(paths.snapshot(number))

    return act
