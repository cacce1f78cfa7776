"""Actors that add records: runners of streams, and writers of batches outside of streams."""

from dataclasses import dataclass, replace
from functools import partial

from braid.lake import (
    FileIO,
    InvalidRequest,
    LakeError,
    OffsetMismatch,
    Outcome,
    StreamBatch,
    StreamFallback,
    StreamFenced,
    StreamPosition,
)
from braid.lake.commit.committer import TableCommitter
from braid.lake.format.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.support.committing import TOPIC, TOPIC_ID
from tests.support.faulty_file_io import Died
from tests.support.simulation.world import World, Written


@dataclass(kw_only=True)
class StreamRunner:
    """A runner of one stream: claims it, and commits micro-batches until it is fenced, ends or dies.

    Attributes:
        world: Of the run.
        stream: Name.
        batches: The number of batches that it commits in all its processes.
    """

    world: World
    stream: str
    batches: int
    _done: int = 0

    def __call__(self, file_io: FileIO) -> None:
        """Run the stream, with a new claim and committer after each simulated restart."""
        while self._done < self.batches:
            committer = self.world.committer(file_io)
            position = self._claim(committer, file_io)
            if position is None:
                return
            batch_id = 0
            while position is not None and self._done < self.batches:
                self._done += 1
                position = self._batch(committer, file_io, position, batch_id)
                batch_id += 1
                if self.world.random.random() < self.world.restarts:
                    break

    def _claim(self, committer: TableCommitter, file_io: FileIO) -> StreamPosition | None:
        fallback = self.world.noted.get(self.stream)
        while True:
            try:
                return self._claim_at(committer, fallback)
            except InvalidRequest as error:
                if "position is not known" not in str(error):
                    raise
            self.world.count("position by hand")
            latest = SnapshotStore(file_io, self.world.ledger.paths).latest()
            if latest is None:
                return None
            fallback = self._by_hand(latest)

    def _by_hand(self, seen: Snapshot) -> StreamFallback:
        """Return the position that an operator finds in the records of the table.

        Other runners continue meanwhile, so it is given as of that snapshot: it is refused if a later
        one has expired since.
        """
        records = self.world.ledger.records(seen)
        at = sum(1 for name, _ in records if name == self.stream)
        position = StreamPosition(
            stream=self.stream, epoch=0, topic=TOPIC, topic_id=TOPIC_ID, offsets={0: at}
        )
        return StreamFallback(position=position, snapshot_id=seen.id)

    def _claim_at(
        self, committer: TableCommitter, fallback: StreamFallback | None
    ) -> StreamPosition:
        claimed = committer.claim_stream(
            self.stream,
            topic=TOPIC,
            topic_id=TOPIC_ID,
            initial_offsets={0: 0},
            fallback=fallback,
        )
        self.world.ledger.acknowledge_claim(claimed)
        return claimed

    def _batch(
        self, committer: TableCommitter, file_io: FileIO, position: StreamPosition, batch_id: int
    ) -> StreamPosition | None:
        """Commit one micro-batch; return the next position, None when the query has to stop."""
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
        if result.outcome is Outcome.COMMITTED and self.world.random.random() < self.world.notes:
            self.world.noted[self.stream] = StreamFallback(
                position=moved, snapshot_id=result.snapshot_id
            )
        return moved


@dataclass(kw_only=True)
class Writer:
    """A writer of batches outside of streams; it commits a batch again while its outcome is unknown.

    A writer that numbers its batches also does so after its death, with rows that are written again, if
    all snapshots stay: without them the table cannot recognise an earlier commit.

    Attributes:
        world: Of the run.
        user: Name.
        batches: The number of batches that it commits in all its processes.
        is_numbered: Its batches have rising numbers of one user; else each has a user of its own.
    """

    world: World
    user: str
    batches: int
    is_numbered: bool
    _done: int = 0
    _open: int | None = None

    def __call__(self, file_io: FileIO) -> None:
        """Commit batches in one process."""
        committer = self.world.committer(file_io)
        if self._open is not None:
            self._batch(committer, file_io, self._open)
        while self._done < self.batches:
            self._done += 1
            self._batch(committer, file_io, self._done)

    def _batch(self, committer: TableCommitter, file_io: FileIO, number: int) -> None:
        is_offered_again = self.is_numbered and self.world.is_whole
        self._open = number if is_offered_again else None
        written = self.world.write(file_io, self.user, ((f"{self.user}{number}", 0),))
        self._offer(committer, written, number)
        if is_offered_again and self.world.random.random() < self.world.restarts:
            raise Died  # before it has recorded that the batch is committed
        self._open = None

    def _offer(self, committer: TableCommitter, written: Written, number: int) -> None:
        """Commit a batch until its outcome is known, three times at most."""
        for _ in range(3):
            began = self.world.schedule.now
            try:
                result = written.commit(
                    partial(
                        committer.commit,
                        [written.message],
                        commit_user=self.user if self.is_numbered else f"{self.user}{number}",
                        commit_identifier=number if self.is_numbered else BATCH_COMMIT_IDENTIFIER,
                    )
                )
            except LakeError as error:
                if error.committed_nothing:
                    return
            except MemoryError:
                if written.is_discarded:
                    return
            else:
                if result.outcome is Outcome.REPLAYED:
                    self.world.ledger.acknowledge(written.name, began=began)
                return
