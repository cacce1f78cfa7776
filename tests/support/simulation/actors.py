"""The processes of a simulation: what each does, again and again, whatever happens to it.

An actor that dies starts anew as another process, with other storage and nothing in memory. What it was
told goes into the ledger.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import UUID

from lake import (
    CommitConflict,
    CommitKind,
    CommitUnknown,
    FileIO,
    InvalidRequest,
    LakeError,
    ManualClock,
    OffsetMismatch,
    Outcome,
    StorageUnavailable,
    StreamBatch,
    StreamFallback,
    StreamFenced,
    StreamPosition,
    Table,
)
from lake.commit import discard
from lake.commit.commit_result import CommitResult
from lake.commit.committer import TableCommitter
from lake.commit.retry_policy import RetryPolicy
from lake.files.unused_files import delete_unused
from lake.format.commit_message import CommitMessage
from lake.format.snapshot import BATCH_COMMIT_IDENTIFIER
from lake.snapshots.consumer_store import ConsumerStore
from lake.snapshots.live_files import LiveFiles
from lake.snapshots.manifest_store import ManifestGone, ManifestStore
from lake.snapshots.snapshot_store import SnapshotStore
from tests.support.committing import TOPIC, TOPIC_ID, appended, compacted, data_file
from tests.support.faulty_file_io import Died
from tests.support.foreign_engine import commit_foreign
from tests.support.simulation.ledger import Ledger, Record
from tests.support.simulation.schedule import Schedule
from tests.support.simulation.storage import Hazards, process_storage

POLICY = RetryPolicy(lookups_max=2, attempts_max=8)
LIVES = 4
_STOPS = (
    StorageUnavailable,
    CommitConflict,
    CommitUnknown,
    StreamFenced,
    OffsetMismatch,
    MemoryError,
)
"""What ends a process that is started anew."""


@dataclass(kw_only=True)
class World:
    """What all actors share.

    Attributes:
        ledger: What they were told.
        schedule: Draws their turns.
        hazards: Of their storage.
        clock: Of all of them.
        noted: Progress documents of streams, by stream; they lag behind.
        did: How often what was done, for people.
    """

    ledger: Ledger
    schedule: Schedule
    hazards: Hazards
    clock: ManualClock
    noted: dict[str, StreamFallback] = field(default_factory=dict)
    did: dict[str, int] = field(default_factory=dict)
    _names: int = 0

    @property
    def random(self) -> random.Random:
        """Draws for the actor whose turn it is."""
        return self.schedule.random

    def count(self, what: str) -> None:
        """Count what was done."""
        self.did[what] = self.did.get(what, 0) + 1

    def new_name(self, prefix: str) -> str:
        """Return a name for a file."""
        self._names += 1
        return f"data-{prefix}-{self._names}.parquet"

    def storage(self, name: str, hazards: Hazards | None = None) -> FileIO:
        """Return what a new process of an actor sees of storage."""
        return process_storage(
            self.ledger.file_io, self.schedule, name, self.hazards if hazards is None else hazards
        )

    def committer(self, file_io: FileIO) -> TableCommitter:
        """Return a committer of a process."""
        return TableCommitter(
            file_io,
            self.ledger.paths,
            clock=self.clock,
            random=self.random,
            new_uuid=lambda: str(UUID(int=self.random.getrandbits(128), version=4)),
            sleep_ms=lambda _: None,
            policy=POLICY,
        )

    def table(self, file_io: FileIO) -> Table:
        """Open the table in a process."""
        return Table.open(
            self.ledger.paths.root, file_io=file_io, clock=self.clock, random=self.random
        )

    def write(self, file_io: FileIO, prefix: str, records: tuple[Record, ...]) -> "Written":
        """Write a file of rows."""
        name = self.new_name(prefix)
        self.ledger.contents[name] = records
        written = Written(world=self, file_io=file_io, name=name, bucket=self.random.randrange(2))
        file_io.write_new(written.path, b"rows")
        return written


@dataclass(frozen=True, kw_only=True)
class Written:
    """A file that was written and is to be committed."""

    world: World
    file_io: FileIO
    name: str
    bucket: int

    @property
    def path(self) -> str:
        return f"{self.world.ledger.paths.root}/bucket-{self.bucket}/{self.name}"

    @property
    def message(self) -> CommitMessage:
        return appended(data_file(self.name), bucket=self.bucket)

    def discard(self) -> None:
        """Delete the file, which is said to be in no snapshot."""
        self.world.ledger.refused.add(self.name)
        delete_unused(self.file_io, [self.path])

    def commit(self, commit: Callable[[], CommitResult]) -> CommitResult:
        """Commit, or discard the file by the rule; tell the ledger."""
        result = discard.commit_or_discard(commit, discard=self.discard)
        if result.outcome is Outcome.COMMITTED:
            self.world.ledger.acknowledge(self.name)
        self.world.count(f"{self.name.split('-')[1]} {result.outcome}")
        return result


Act = Callable[[FileIO], None]


def again(
    world: World, name: str, act: Act, *, hazards: Hazards | None = None
) -> Callable[[], None]:
    """Return an actor that does something until it succeeds, in a few processes at most."""

    def actor() -> None:
        for _ in range(LIVES):
            file_io = world.storage(name, hazards)
            try:
                act(file_io)
            except Died:
                world.count(f"{name} died")
                continue
            except _STOPS as error:
                world.count(f"{name} {type(error).__name__}")
                continue
            return

    return actor


@dataclass(kw_only=True)
class StreamRunner:
    """A runner of one stream: claims it, and commits micro-batches until it is fenced or dies.

    Attributes:
        world: Where it acts.
        stream: Name.
        batches: How many it commits in its life.
    """

    world: World
    stream: str
    batches: int
    _done: int = 0

    def __call__(self, file_io: FileIO) -> None:
        """Run the stream in one process."""
        committer = self.world.committer(file_io)
        position = self._claim(committer, file_io)
        batch_id = 0
        while position is not None and self._done < self.batches:
            self._done += 1
            position = self._batch(committer, file_io, position, batch_id)
            batch_id += 1
            if self.world.random.random() < 0.1:
                return

    def _claim(self, committer: TableCommitter, file_io: FileIO) -> StreamPosition | None:
        try:
            return self._claim_at(committer, 0, is_new_assumed=False)
        except InvalidRequest as error:
            if "position is not known" not in str(error):
                raise
        self.world.count("position by hand")
        # A person looks at what the table has.
        latest = SnapshotStore(file_io, self.world.ledger.paths).latest()
        if latest is None:
            return None
        records = self.world.ledger.records(latest)
        at = sum(1 for name, _ in records if name == self.stream)
        return self._claim_at(committer, at, is_new_assumed=True)

    def _claim_at(
        self, committer: TableCommitter, at: int, *, is_new_assumed: bool
    ) -> StreamPosition:
        return committer.claim_stream(
            self.stream,
            topic=TOPIC,
            topic_id=TOPIC_ID,
            initial_offsets={0: at},
            fallback=self.world.noted.get(self.stream),
            is_new_assumed=is_new_assumed,
        )

    def _batch(
        self, committer: TableCommitter, file_io: FileIO, position: StreamPosition, batch_id: int
    ) -> StreamPosition | None:
        """Commit one micro-batch; return where it goes on, None when the query has to stop."""
        start = position.offsets[0]
        end = start + self.world.random.randint(1, 3)
        records = tuple((self.stream, offset) for offset in range(start, end))
        written = self.world.write(file_io, self.stream, records)
        batch = StreamBatch(
            stream=self.stream,
            epoch=position.epoch,
            batch_id=batch_id,
            topic=TOPIC,
            topic_id=TOPIC_ID,
            start={0: start},
            end={0: end},
        )
        for _ in range(2):
            try:
                result = written.commit(
                    lambda: committer.commit_stream_batch([written.message], batch)
                )
                break
            except LakeError as error:
                if error.committed_nothing or isinstance(error, StreamFenced | OffsetMismatch):
                    raise
        else:
            return None
        moved = replace(position, offsets={0: end})
        if result.outcome is Outcome.COMMITTED and self.world.random.random() < 0.5:
            self.world.noted[self.stream] = StreamFallback(
                position=moved, snapshot_id=result.snapshot_id
            )
        return moved


@dataclass(kw_only=True)
class Writer:
    """A writer of batches that are no stream's; it offers one again when it knows nothing of it."""

    world: World
    user: str
    batches: int
    is_numbered: bool
    _done: int = 0

    def __call__(self, file_io: FileIO) -> None:
        """Commit batches in one process."""
        committer = self.world.committer(file_io)
        while self._done < self.batches:
            self._done += 1
            user = self.user if self.is_numbered else f"{self.user}{self._done}"
            identifier = self._done if self.is_numbered else BATCH_COMMIT_IDENTIFIER
            name = f"{self.user}{self._done}"
            written = self.world.write(file_io, self.user, ((name, 0),))
            for _ in range(3):
                try:
                    result = written.commit(
                        partial(
                            committer.commit,
                            [written.message],
                            commit_user=user,
                            commit_identifier=identifier,
                        )
                    )
                    if result.outcome is Outcome.REPLAYED:
                        self.world.ledger.acknowledge(written.name)
                    break
                except LakeError as error:
                    if error.committed_nothing:
                        break
                except MemoryError:
                    continue


@dataclass(kw_only=True)
class Compactor:
    """Replaces all files of a bucket by one."""

    world: World
    rounds: int

    def __call__(self, file_io: FileIO) -> None:
        """Compact a few times in one process."""
        paths = self.world.ledger.paths
        committer = self.world.committer(file_io)
        live = LiveFiles(ManifestStore(file_io, paths))
        while self.rounds > 0:
            self.rounds -= 1
            latest = SnapshotStore(file_io, paths).latest()
            if latest is None:
                continue
            bucket = self.world.random.randrange(2)
            try:
                entries = [e for e in live.by_identity(latest).values() if e.bucket == bucket]
            except ManifestGone:
                continue
            if len(entries) < 2:
                continue
            before = tuple(entry.file for entry in entries)
            contents = self.world.ledger.contents
            records = tuple(record for file in before for record in contents[file.file_name])
            name = self.world.new_name("compacted")
            contents[name] = records
            written = Written(world=self.world, file_io=file_io, name=name, bucket=bucket)
            file_io.write_new(written.path, b"rows")
            message = compacted(before, (data_file(name, level=5),), bucket=bucket)
            try:
                discard.commit_or_discard(
                    partial(
                        committer.commit,
                        [message],
                        commit_user="compactor",
                        kind=CommitKind.COMPACT,
                    ),
                    discard=written.discard,
                )
                self.world.count("compacted")
            except CommitConflict:
                self.world.count("compacted in vain")


def expire(world: World, rounds: int) -> Act:
    """Return what expires snapshots."""

    def act(file_io: FileIO) -> None:
        for _ in range(rounds):
            sleep(world, file_io)
            retain_max = world.random.choice([1, 1, 2, 4])
            result = world.table(file_io).expire(
                retain_min=1, retain_max=retain_max, older_than_ms=1 << 60
            )
            world.count(f"expired {min(len(result.snapshots), 1)}")

    return act


def tag(world: World, rounds: int) -> Act:
    """Return what creates and deletes tags, and reads them."""

    def act(file_io: FileIO) -> None:
        for _ in range(rounds):
            sleep(world, file_io)
            name = f"tag{world.random.randrange(2)}"
            table = world.table(file_io)
            try:
                table.create_tag(name)
            except InvalidRequest:
                try:
                    table.delete_tag(name)
                except InvalidRequest:
                    continue

    return act


def roll_back(world: World, name: str) -> Callable[[], None]:
    """Return an actor that takes the table back, and often dies while it removes snapshots."""
    dies = world.random.choice([0, 0.3, 0.6])

    def actor() -> None:
        file_io = world.storage(name)
        inner = world.ledger.file_io
        paths = world.ledger.paths
        delete = file_io.delete

        def noting(path: str) -> bool:
            ids = SnapshotStore(inner, paths).list_ids()
            is_newest = bool(ids) and path == paths.snapshot(ids[-1])
            try:
                is_deleted = delete(path)
                if path in map(paths.snapshot, ids[:-1]) and world.random.random() < dies:
                    raise Died
                return is_deleted
            finally:
                if is_newest and not inner.exists(path):
                    world.ledger.rolled_back.append(world.schedule.now)

        file_io.delete = noting  # type: ignore[method-assign]
        try:
            sleep(world, file_io)
            ids = SnapshotStore(file_io, paths).list_ids()
            if not ids:
                return
            target = world.random.choice(ids[-4:])
            world.table(file_io).rollback(snapshot_id=target)
            world.count("rolled back")
        except (InvalidRequest, CommitConflict) as error:
            world.count(f"rollback {type(error).__name__}")
            world.ledger.broken_off += 1
        except (Died, StorageUnavailable, CommitUnknown, MemoryError) as error:
            world.count(f"rollback {type(error).__name__}")
            world.ledger.broken_off += 1

    return actor


def other_engine(world: World, rounds: int) -> Act:
    """Return an engine that knows nothing of us: commits nothing new, and expires."""

    def act(file_io: FileIO) -> None:
        paths = world.ledger.paths
        snapshots = SnapshotStore(file_io, paths)
        for _ in range(rounds):
            sleep(world, file_io)
            for _ in range(world.random.randint(1, 3)):
                try:
                    commit_foreign(file_io, paths)
                except (AssertionError, ManifestGone):
                    continue  # somebody was faster
                world.count("committed elsewhere")
            ids = snapshots.list_ids()
            keep_from = max(ids, default=0)
            if world.random.random() < 0.3:
                consumers = ConsumerStore(file_io, paths).list()
                held = [one.consumer.next_snapshot for one in consumers if one.consumer]
                keep_from = min([keep_from, *held])
            for number in ids:
                if number < keep_from:
                    file_io.delete(paths.snapshot(number))

    return act


def sleep(world: World, file_io: FileIO) -> None:
    """Let others act for a while."""
    for _ in range(world.random.choice([0, 5, 20, 60])):
        file_io.exists(world.ledger.paths.root)
