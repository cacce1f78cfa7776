"""Committer of a table: the one entry through which files and streams are committed.

The attempts of a commit are in `braid.lake.commit.commit_run`, the meaning of each kind of commit in
`braid.lake.commit.intent` and the modules beside it whose names end in `_intent`. This module is long because
every public method carries its contract.
"""

import random as random_module
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence

from braid.lake.commit.attempt_files import AttemptFiles
from braid.lake.commit.backfill_intent import BackfillClaim
from braid.lake.commit.claim_intent import StreamClaim
from braid.lake.commit.clock_check import ClockCheck
from braid.lake.commit.commit_changes import changes_of
from braid.lake.commit.commit_queue import queue_for
from braid.lake.commit.commit_result import CommitResult, Outcome
from braid.lake.commit.commit_run import CommitRun
from braid.lake.commit.identity_log import IdentityLog
from braid.lake.commit.intent import Intent, PlainCommit, StreamCommit, StreamFence
from braid.lake.commit.move_intent import StreamMove
from braid.lake.commit.pace import Pace
from braid.lake.commit.publisher import SnapshotPublisher
from braid.lake.commit.query_intent import QueryClaim
from braid.lake.commit.replay_intent import LetterReplay, ReplayedLetters
from braid.lake.commit.retry_policy import RetryPolicy
from braid.lake.commit.steps import OnStep, ignore_step
from braid.lake.commit.streams.group_order import GroupClaim, GroupOrder
from braid.lake.commit.streams.position_hold import PositionHold
from braid.lake.commit.streams.query_position import QueryBatch, QueryTurn, next_turn
from braid.lake.commit.streams.stream_authority import carries_stream_state
from braid.lake.commit.streams.stream_position import StreamBatch, StreamFallback, StreamPosition
from braid.lake.commit.table_state import TableReader
from braid.lake.errors import InvalidRequest, adds_table_to_errors
from braid.lake.files.clock import Clock, SystemClock
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.snapshot import (
    BATCH_COMMIT_IDENTIFIER,
    MAX_SEQUENCE_NUMBER_PROPERTY,
    CommitKind,
)
from braid.lake.snapshots.consumer_store import ConsumerStore
from braid.lake.snapshots.live_files import LiveFiles
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.removed_history import RemovedHistory
from braid.lake.snapshots.schema_store import SchemaStore
from braid.lake.snapshots.table_identity import TableIdentity

RESERVED_PREFIX = "braid."


def new_random_uuid() -> str:
    """Return a random UUID as text."""
    return str(uuid.uuid4())


def sleep_ms(duration_ms: float) -> None:
    """Block the thread for `duration_ms` milliseconds."""
    time.sleep(duration_ms / 1000)


class TableCommitter:
    """Commits files to one table, beside any number of other committers, of any process.

    Not thread-safe; make one per thread. It caches manifests and live files, so a long-lived committer
    plans faster than a new one.
    """

    def __init__(
        self,
        file_io: FileIO,
        paths: TablePaths,
        *,
        clock: Clock | None = None,
        random: random_module.Random | None = None,
        new_uuid: Callable[[], str] = new_random_uuid,
        sleep_ms: Callable[[float], None] = sleep_ms,
        policy: RetryPolicy | None = None,
        manifests: ManifestStore | None = None,
        live: LiveFiles | None = None,
        identity: TableIdentity | None = None,
        schemas: SchemaStore | None = None,
        clock_check: ClockCheck | None = None,
        on_step: OnStep = ignore_step,
    ) -> None:
        """Make a committer.

        Args:
            file_io: Storage that passes `probe_exclusive_create`.
            paths: Paths of the table.
            clock: Gives commit times and the deadline of retries; the machine's clock by default.
            random: Draws the waits between attempts.
            new_uuid: Returns the names of snapshots and manifests; no name is ever returned twice.
            sleep_ms: Blocks the thread for a number of milliseconds.
            policy: Bounds of the attempts.
            manifests: Cache of manifests to share with readers of the table.
            live: Cache of live files to share with readers of the table; reads through `manifests`.
            identity: Identity of the intended table, which detects another table under its path; None:
                that of the table that the first commit finds.
            schemas: Cache of schemas to share with readers of the table.
            clock_check: Comparison of the clock, to share with other committers of the table.
            on_step: Called before and after each step (see `braid.lake.commit.steps`).
        """
        self._file_io = file_io
        self._paths = paths
        self._clock = clock or SystemClock()
        self._random = random or random_module.SystemRandom()
        self._new_uuid = new_uuid
        self._sleep_ms = sleep_ms
        self._policy = policy or RetryPolicy()
        self._queue = queue_for(file_io, paths.root)
        self._pace = Pace(self._random)
        self._manifests = manifests or ManifestStore(file_io, paths)
        self._live = live or LiveFiles(self._manifests)
        self._on_step = on_step
        self._reader = TableReader(
            file_io, paths, self._manifests, self._live, identity=identity, schemas=schemas
        )
        self._identities = IdentityLog(self._reader.snapshots, self._manifests)
        # By user with a commit of unknown outcome: the id above which the snapshot of it would be.
        self._unknown_users: dict[str, int] = {}
        self._clock_check = clock_check or ClockCheck(file_io, paths)
        self._removed = RemovedHistory(file_io, paths)
        self._hold = PositionHold(ConsumerStore(file_io, paths))

    @property
    def identifier(self) -> str:
        """`db.table`."""
        return self._paths.identifier

    @adds_table_to_errors
    def commit(
        self,
        messages: Sequence[CommitMessage],
        *,
        commit_user: str,
        commit_identifier: int = BATCH_COMMIT_IDENTIFIER,
        kind: CommitKind = CommitKind.APPEND,
        properties: Mapping[str, str] | None = None,
        allow_empty: bool = False,
        next_sequence_number: int | None = None,
    ) -> CommitResult:
        """Commit files of a writer that is not a stream.

        Repeating a call with the same user, identifier and kind changes nothing, as long as the
        snapshots since the first call are kept. Every batch writer commits with
        `BATCH_COMMIT_IDENTIFIER` under a random user of its own. For this identifier an earlier commit
        is searched for only if a commit of the same user ended in `CommitUnknown` in this committer.
        Once the snapshots that would show the earlier commit have expired, its outcome stays unknown.

        Args:
            messages: Messages of the writers; the files that they name are durable.
            commit_user: Name of the writer; stable over restarts if it numbers its commits.
            commit_identifier: Number of the commit; rises per user.
            kind: Whether the files are appended, compacted, or replace others.
            properties: Properties of this snapshot alone; their names do not begin with `braid.`.
            allow_empty: Make a snapshot even without files.
            next_sequence_number: The first sequence number that the writers did not hand out; None: the
                number after the highest in the files.

        Raises:
            CommitConflict: The commit does not fit the table any more; plan it again.
            CommitUnknown: The outcome is unknown; commit again with the same identity.
            StorageUnavailable: Nothing was published.
            InvalidRequest: Messages, kind or properties contradict each other.
        """
        given = dict(properties or {})
        reserved = [
            key
            for key in given
            if key.startswith(RESERVED_PREFIX) or key == MAX_SEQUENCE_NUMBER_PROPERTY
        ]
        if reserved:
            message = f"these snapshot properties are reserved: {', '.join(sorted(reserved))}"
            raise InvalidRequest(message)
        intent = PlainCommit(
            user=commit_user,
            identifier=commit_identifier,
            kind=kind,
            messages=tuple(messages),
            changes=changes_of(messages, kind),
            max_sequence_number=-1 if next_sequence_number is None else next_sequence_number - 1,
            properties=given,
        )
        if intent.changes.is_empty and not allow_empty:
            return CommitResult(snapshot_id=0, attempts=0, wait_ms=0, outcome=Outcome.EMPTY)
        is_numbered = commit_identifier != BATCH_COMMIT_IDENTIFIER
        is_repeat_checked = is_numbered or commit_user in self._unknown_users
        return self._run(intent, is_repeat_checked=is_repeat_checked)

    @adds_table_to_errors
    def commit_stream_batch(
        self,
        messages: Sequence[CommitMessage],
        batch: StreamBatch,
        *,
        max_sequence_number: int | None = None,
        idle_epochs: Mapping[str, int] | None = None,
    ) -> CommitResult:
        """Commit one micro-batch of a stream, exactly once.

        A batch without files (all dead letters, or all ignored) makes an empty snapshot, because
        its offsets and its account must be in the table.

        Args:
            messages: Messages of the writers; the files that they name are durable.
            batch: Offsets of the batch, and the account of its records.
            max_sequence_number: The highest sequence number that the writers handed out; None for none.
            idle_epochs: By stream, the epoch that it must still have, 0 for a stream without a position; none of
                them may have read a record.

        Returns:
            Outcome `COMMITTED`, or `REPLAYED` when the table's offsets are at or past the batch's
            end; `are_files_unused` is True if the files of a replay can be deleted.

        Raises:
            StreamFenced: The stream was claimed again; stop.
            OffsetMismatch: The batch does not continue at the table's offsets; stop.
            InvalidRequest: A stream of `idle_epochs` was claimed, or has read a record; stop.
            CommitConflict, CommitUnknown, StorageUnavailable: The meaning is that of `commit`; the same
                call may be repeated.
        """
        intent = StreamCommit(
            batch=batch,
            messages=tuple(messages),
            changes=changes_of(messages, CommitKind.APPEND),
            max_sequence_number=-1 if max_sequence_number is None else max_sequence_number,
            idle_epochs=dict(idle_epochs or {}),
        )
        result = self._run(intent)
        if result.outcome is Outcome.COMMITTED:
            self._hold.advance(result.snapshot_id, now_ms=self._clock.now_ms())
        return result

    @adds_table_to_errors
    def claim_stream(
        self,
        stream: str,
        *,
        topic: str,
        topic_id: str = "",
        initial_offsets: Mapping[int, int],
        fallback: StreamFallback | None = None,
        is_new_assumed: bool = False,
        group: GroupClaim | None = None,
        expected_epoch: int | None = None,
        former_epoch: int | None = None,
        added_offsets: Mapping[int, int] | None = None,
        skipped_to: Mapping[int, int] | None = None,
        shows_older_rows: bool = False,
    ) -> StreamPosition:
        """Claim a stream: commit an empty snapshot with its next epoch.

        The caller owns the stream from then on, and every earlier owner is fenced.

        Args:
            stream: Name, unique within the table.
            topic: Kafka topic.
            topic_id: Kafka's id of the topic, "" when unknown.
            initial_offsets: The start of a new stream, per partition.
            fallback: Position from the progress document; used only when the snapshots with the
                stream's position have expired, and certainly none of them had a later position.
            is_new_assumed: Start at `initial_offsets` where the table has no position, even if it may
                have had one; the caller vouches for the offsets.
            group: The sequence group that the stream writes, and the source of its records; None:
                nothing that it writes is ordered by arrival.
            expected_epoch: The stream's epoch as the caller has read it, 0 for no position; None:
                claim the stream whatever its epoch.
            former_epoch: Epoch of the table's position when the stream was registered with a start of
                its own: if that position no longer fits, the stream starts at `initial_offsets` instead
                (`braid.lake.commit.streams.former_position`). None: the stream continues at the position.
            added_offsets: Start offsets of partitions that the stream's position lacks and that are read
                from now on.
            skipped_to: First offsets that the topic still has, by partition: a position below skips to them, and
                remembers the move. None: the position stays.
            shows_older_rows: Whether rows are older than they were while the stream reads records again: a
                claim that would leave such records out is refused.

        Returns:
            The offsets to start reading at, the epoch to commit under, and the generation to write in.

        Raises:
            OffsetMismatch: The table's offsets are of another topic.
            StreamFenced: The stream has another epoch than the expected one.
            InvalidRequest: It is unknown whether the stream is new, or where it continues; or the position
                would move over records that the stream has begun to read again.
            LimitExceeded: The group has had as many generations as it can.
            CommitConflict, CommitUnknown, StorageUnavailable: Claim again.
        """
        intent = StreamClaim(
            stream=stream,
            topic=topic,
            topic_id=topic_id,
            initial_offsets=dict(initial_offsets),
            fallback=fallback,
            is_new_assumed=is_new_assumed,
            group=group,
            expected_epoch=expected_epoch,
            former_epoch=former_epoch,
            added_offsets=dict(added_offsets or {}),
            skipped_to=dict(skipped_to or {}),
            shows_older_rows=shows_older_rows,
        )
        run = self._new_run(intent)
        claimed = run.run()
        self._hold.advance(claimed.snapshot_id, now_ms=self._clock.now_ms())
        assert run.revision is not None, "a claim is never a replay"
        return run.revision.streams.positions[stream]

    @adds_table_to_errors
    def claim_backfill(
        self, name: str, *, source: str, source_id: str, start: Mapping[int, int]
    ) -> StreamPosition:
        """Claim a backfill: commit an empty snapshot with its next epoch, which fences earlier owners.

        Its batches are committed by `commit_stream_batch`, as those of a stream of this name.

        Args:
            name: `backfill_name` of the stream and the backfill.
            source: Where its records come from, in words.
            source_id: What tells this source from every other one; not empty.
            start: The offsets that a new backfill starts at.

        Returns:
            Where the backfill continues, its epoch, and the generation to write in, which is below every
            generation of a stream, and of its own.

        Raises:
            InvalidRequest: The backfill was begun with another source, or it is unknown whether it was begun.
            LimitExceeded: The table has had as many backfills as it can.
            CommitConflict, CommitUnknown, StorageUnavailable: Claim again.
        """
        run = self._new_run(
            BackfillClaim(name=name, source=source, source_id=source_id, start=dict(start))
        )
        claimed = run.run()
        self._hold.advance(claimed.snapshot_id, now_ms=self._clock.now_ms())
        assert run.revision is not None, "a claim is never a replay"
        return run.revision.streams.positions[name]

    @adds_table_to_errors
    def query_turn(self, batch: QueryBatch) -> QueryTurn | None:
        """Return what the next batch of a query is written with; None: the table has the batch already.

        Raises:
            StreamFenced: Another query has the stream.
            OffsetMismatch: Batches before this one are not in the table.
            InvalidRequest: It is unknown whether the stream is new.
            LimitExceeded: The group has had as many generations as it can.
            CorruptData: A property of this engine, or a manifest, cannot be read.
        """
        return next_turn(self._reader.newest()[1], batch)

    @adds_table_to_errors
    def claim_query(self, batch: QueryBatch, turn: QueryTurn) -> StreamPosition:
        """Claim a stream for a query: commit an empty snapshot with its next epoch, which fences the query before.

        Args:
            batch: The batch that is committed next, by `commit_stream_batch`.
            turn: What the batch was written with; it needs a claim.

        Returns:
            The position at which the batch begins.

        Raises:
            StreamFenced: Another query has the stream.
            CommitConflict: The batch has to be written again.
            CommitUnknown, StorageUnavailable: Claim again.
            OffsetMismatch, InvalidRequest, LimitExceeded: The meaning is that of `query_turn`.
        """
        assert turn.needs_claim, "a query claims a stream once"
        run = self._new_run(QueryClaim(batch=batch, turn=turn))
        claimed = run.run()
        self._hold.advance(claimed.snapshot_id, now_ms=self._clock.now_ms())
        assert run.revision is not None, "a claim is never a replay"
        return run.revision.streams.positions[batch.stream]

    @adds_table_to_errors
    def move_stream(
        self, expected: StreamPosition, *, offsets: Mapping[int, int], commit_user: str
    ) -> StreamPosition:
        """Move a stream to other offsets of its topic: commit an empty snapshot with its next epoch.

        Every query that was started before is fenced. The account stays; the position remembers the move.

        Args:
            expected: The position that the caller has read and decided on.
            offsets: Next offset to read, for partitions of that position; one at least differs from it.
            commit_user: Name of the caller.

        Returns:
            The position after the move.

        Raises:
            StreamFenced: The stream was claimed, deleted or moved meanwhile.
            OffsetMismatch: It has committed meanwhile, or it has no position.
            CommitConflict, CommitUnknown, StorageUnavailable: Read the position again, then decide again.
        """
        run = self._new_run(StreamMove(user=commit_user, expected=expected, offsets=dict(offsets)))
        committed = run.run()
        self._hold.advance(committed.snapshot_id, now_ms=self._clock.now_ms())
        assert run.revision is not None, "a move is never a replay"
        return run.revision.streams.positions[expected.stream]

    @adds_table_to_errors
    def replay_letters(
        self,
        messages: Sequence[CommitMessage],
        letters: ReplayedLetters,
        *,
        expected: StreamPosition,
        max_sequence_number: int | None = None,
    ) -> CommitResult:
        """Commit records of a stream's dead letters, once, beside the stream's own batches.

        Args:
            messages: Messages of the writer; the files that they name are durable.
            letters: The letters, and all replayed offsets after them.
            expected: The position that the letters were chosen by.
            max_sequence_number: The highest sequence number that the writer handed out; None for none.

        Returns:
            Outcome `COMMITTED`, or `REPLAYED` when the table has exactly these replayed offsets already.

        Raises:
            StreamFenced: The stream was claimed, deleted or moved meanwhile; choose the letters again.
            OffsetMismatch: The stream has no position.
            LimitExceeded: The replayed offsets make more ranges than a position remembers.
            CommitConflict: Other letters were replayed meanwhile, or what `commit` means; choose again.
            CommitUnknown, StorageUnavailable: The meaning is that of `commit`; choose again.
        """
        intent = LetterReplay(
            expected=expected,
            letters=letters,
            messages=tuple(messages),
            changes=changes_of(messages, CommitKind.APPEND),
            max_sequence_number=-1 if max_sequence_number is None else max_sequence_number,
        )
        result = self._run(intent)
        if result.outcome is Outcome.COMMITTED:
            self._hold.advance(result.snapshot_id, now_ms=self._clock.now_ms())
        return result

    @adds_table_to_errors
    def fence_streams(
        self,
        *,
        commit_user: str,
        known_epochs: Mapping[str, int] | None = None,
        only: Iterable[str] | None = None,
    ) -> CommitResult:
        """Fence streams: commit an empty snapshot with the next epoch of each.

        From then on commits of a fenced stream are refused until the stream is claimed again. Its offsets
        stay.

        Args:
            commit_user: Name of the caller.
            known_epochs: By stream, epochs that were in use and that the newest snapshot does not
                have; the new epochs are above them.
            only: Names of the streams to fence, each with its backfills; None: all streams that the table
                knows.

        Raises:
            CommitConflict, CommitUnknown, StorageUnavailable: Fence again.
        """
        intent = StreamFence(
            user=commit_user,
            known_epochs=dict(known_epochs or {}),
            only=None if only is None else frozenset(only),
        )
        return self._new_run(intent).run()

    @adds_table_to_errors
    def carry_positions(self, *, commit_user: str) -> CommitResult | None:
        """Carry the positions of streams forward where the newest snapshot has none.

        A newest snapshot without positions is of another engine, and the snapshot with the positions
        must not expire before the next commit of this engine. An empty commit carries the positions, and
        the hold that other engines' expiry respects moves to the snapshot of that commit.

        Args:
            commit_user: Name of the caller.

        Returns:
            The result of the empty commit; None where there is nothing to carry.

        Raises:
            CommitConflict, CommitUnknown, StorageUnavailable: Carry again; nothing is lost.
            CorruptData: A property of this engine, or a manifest, cannot be read.
        """
        latest, authority = self._reader.newest()
        if latest is None or carries_stream_state(latest):
            return None
        if not authority.positions and not authority.orders:
            return None
        result = self.commit([], commit_user=commit_user, allow_empty=True)
        self._hold.move(result.snapshot_id)
        return result

    @adds_table_to_errors
    def stream_positions(self) -> dict[str, StreamPosition]:
        """Return the position of each stream of the table, by name.

        The positions are those of the newest snapshot that has any, also below snapshots of other engines.

        Raises:
            CorruptData: A property of this engine, or a manifest, cannot be read.
            TableNotFound: The table is gone, or another one is in its place.
        """
        return dict(self._reader.newest()[1].positions)

    @adds_table_to_errors
    def group_orders(self) -> dict[str, GroupOrder]:
        """Return generation and source of each claimed sequence group, by group.

        They are those of the newest snapshot with the state of streams, also below snapshots of other
        engines.

        Raises:
            CorruptData: A property of this engine, or a manifest, cannot be read.
            TableNotFound: The table is gone, or another one is in its place.
        """
        return dict(self._reader.newest()[1].orders)

    @adds_table_to_errors
    def max_sequence_number(self) -> int:
        """Return the highest sequence number in the table, -1 when it is empty.

        Raises:
            ManifestGone: The newest snapshot expired while it was read.
            CorruptData: A snapshot or manifest cannot be read.
            TableNotFound: The table is gone, or another one is in its place.
        """
        return self._reader.max_sequence_number(self._reader.latest_snapshot())

    def _run(self, intent: Intent, *, is_repeat_checked: bool = False) -> CommitResult:
        """Commit files; if the outcome is unknown, remember the user and where the snapshot may be."""
        run = self._new_run(intent, is_repeat_checked=is_repeat_checked)
        try:
            return run.run()
        except BaseException:
            # Any attempt may have made the snapshot, so it is above the lowest one planned on.
            if run.is_doubtful:
                planned_on = run.planned_min or 0
                known = self._unknown_users.get(intent.user, planned_on)
                self._unknown_users[intent.user] = min(known, planned_on)
            raise

    def _new_run(self, intent: Intent, *, is_repeat_checked: bool = False) -> CommitRun:
        return CommitRun(
            intent=intent,
            reader=self._reader,
            new_files=lambda: AttemptFiles(
                self._manifests, self._live, on_step=self._on_step, uuid=self._new_uuid()
            ),
            publisher=SnapshotPublisher(
                self._file_io,
                self._paths,
                on_step=self._on_step,
                pause=self._wait,
                lookups_max=self._policy.lookups_max,
                removed=self._removed,
            ),
            identities=self._identities,
            clock=self._clock,
            clock_check=self._clock_check,
            policy=self._policy,
            queue=self._queue,
            pace=self._pace,
            sleep_ms=self._sleep_ms,
            pause=self._wait,
            new_uuid=self._new_uuid,
            on_step=self._on_step,
            is_repeat_checked=is_repeat_checked,
            is_doubtful=intent.user in self._unknown_users,
            unsettled_above=self._unknown_users.get(intent.user),
        )

    def _wait(self, attempt: int) -> float:
        duration_ms = self._policy.wait_ms(attempt, self._random)
        self._sleep_ms(duration_ms)
        return duration_ms
