"""The door to a table for everything that commits."""

import random as random_module
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence

from lake.commit.attempt_files import AttemptFiles
from lake.commit.changes import changes_of
from lake.commit.clock_check import ClockCheck
from lake.commit.commit_result import CommitResult, Outcome
from lake.commit.commit_run import CommitRun
from lake.commit.identity_log import IdentityLog
from lake.commit.intent import Intent, PlainCommit, StreamClaim, StreamCommit, StreamFence
from lake.commit.publisher import SnapshotPublisher
from lake.commit.retry_policy import RetryPolicy
from lake.commit.steps import OnStep, ignore_step
from lake.commit.streams.group_order import GroupClaim, GroupOrder
from lake.commit.streams.position_hold import PositionHold
from lake.commit.streams.stream_authority import carries_stream_state
from lake.commit.streams.stream_position import StreamBatch, StreamFallback, StreamPosition
from lake.commit.table_state import TableReader
from lake.errors import InvalidRequest, adds_table_to_errors
from lake.files.clock import Clock, SystemClock
from lake.files.paths import TablePaths
from lake.files.storage.file_io import FileIO
from lake.format.commit_message import CommitMessage
from lake.format.snapshot import (
    BATCH_COMMIT_IDENTIFIER,
    MAX_SEQUENCE_NUMBER_PROPERTY,
    CommitKind,
)
from lake.snapshots.consumer_store import ConsumerStore
from lake.snapshots.live_files import LiveFiles
from lake.snapshots.manifest_store import ManifestStore
from lake.snapshots.removed_history import RemovedHistory
from lake.snapshots.schema_store import SchemaStore
from lake.snapshots.table_identity import TableIdentity

RESERVED_PREFIX = "braid."


def new_random_uuid() -> str:
    """Return a random UUID as text."""
    return str(uuid.uuid4())


def sleep_ms(duration_ms: float) -> None:
    """Wait for real."""
    time.sleep(duration_ms / 1000)


class TableCommitter:
    """Turns files into snapshots of one table, against any number of others doing the same.

    For one thread at a time; make one per thread. Keeps manifests and live files in memory, so a
    committer that lives on plans faster than a fresh one.
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
            paths: Of the table.
            clock: Commit times and the deadline of retries; the machine's unless given.
            random: Draws the waits between attempts.
            new_uuid: Names snapshots and manifests; must never repeat itself anywhere.
            sleep_ms: Waits.
            policy: Bounds of the attempts.
            manifests: A cache to share with readers of the table.
            live: Likewise; over the same store.
            identity: The table that is meant, should another take its place; None means the one
                that the first commit finds.
            schemas: Those read already, to share with readers of the table.
            clock_check: When storage's clock was asked last, to share with other committers.
            on_step: Told before and after each effect on storage (see `lake.commit.steps`).
        """
        self._file_io = file_io
        self._paths = paths
        self._clock = clock or SystemClock()
        self._random = random or random_module.SystemRandom()
        self._new_uuid = new_uuid
        self._sleep_ms = sleep_ms
        self._policy = policy or RetryPolicy()
        self._manifests = manifests or ManifestStore(file_io, paths)
        self._live = live or LiveFiles(self._manifests)
        self._on_step = on_step
        self._reader = TableReader(
            file_io, paths, self._manifests, self._live, identity=identity, schemas=schemas
        )
        self._identities = IdentityLog(self._reader.snapshots, self._manifests)
        self._unknown_users: dict[str, int] = {}  # and above which snapshot theirs would be
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
        snapshots since the first call are kept; the number of a batch (`BATCH_COMMIT_IDENTIFIER`,
        with a fresh random user) counts as repeated only after this committer left it open whether
        one of that user was made. Where it did, and the snapshots that would tell have expired, the
        outcome stays unknown.

        Args:
            messages: From the writers; their files are durable.
            commit_user: Who commits; stable over restarts when the identifier is a number.
            commit_identifier: Rising per user.
            kind: What the files are: appended, compacted, or replacing others.
            properties: Of this snapshot alone; not beginning with `braid.`.
            allow_empty: Make a snapshot even without files.
            next_sequence_number: The first number that the writers did not hand out; None takes
                the highest in the files.

        Raises:
            CommitConflict: The commit does not fit the table any more; plan it anew.
            CommitUnknown: Storage does not tell the outcome; commit again with the same identity.
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
            message = f"snapshot properties are reserved: {', '.join(sorted(reserved))}"
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
    ) -> CommitResult:
        """Commit one micro-batch of a stream, exactly once.

        A batch without files (all dead letters, or all ignored) makes an empty snapshot, because
        its offsets and its account must be in the table.

        Args:
            messages: From the writers; their files are durable.
            batch: The offsets covered and what became of the records.
            max_sequence_number: The highest number that the writers handed out; None for none.

        Returns:
            Outcome `COMMITTED`, or `REPLAYED` when the table's offsets are at or past the batch's
            end; the result says whether the files of a replay can be deleted.

        Raises:
            StreamFenced: The stream was claimed anew; stop.
            OffsetMismatch: The batch does not continue at the table's offsets; stop.
            CommitConflict, CommitUnknown, StorageUnavailable: As for `commit`; the same call may
                be repeated.
        """
        intent = StreamCommit(
            batch=batch,
            messages=tuple(messages),
            changes=changes_of(messages, CommitKind.APPEND),
            max_sequence_number=-1 if max_sequence_number is None else max_sequence_number,
        )
        result = self._run(intent)
        if result.outcome is Outcome.COMMITTED:
            self._hold.follow(result.snapshot_id, now_ms=self._clock.now_ms())
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
    ) -> StreamPosition:
        """Become the owner of a stream: commit an empty snapshot with the next epoch.

        Every earlier owner is fenced from then on.

        Args:
            stream: Name, unique within the table.
            topic: Kafka topic.
            topic_id: Kafka's id of the topic, "" when unknown.
            initial_offsets: Where a new stream starts, per partition.
            fallback: From the progress document; used only when the snapshots that knew the
                stream have expired, and it is certain that none of them knew better.
            is_new_assumed: Start at `initial_offsets` where the table does not know the position,
                even if it may have known one; somebody has to vouch for them.
            group: The sequence group that the stream writes, and where its records come from; None:
                arrival orders none of what it writes.
            expected_epoch: What the caller has seen of the stream, 0 for nothing; None: claim
                whatever is there.
            former_epoch: Of the table's position when the stream was registered with a start of its
                own: where the position leads elsewhere, it starts at `initial_offsets`
                (`lake.commit.streams.former_position`). None: it goes on at the position.
            added_offsets: Where partitions start that the stream's position does not know and that
                are read from now on.

        Returns:
            Where to start reading, the epoch to commit under, and the generation to write in.

        Raises:
            OffsetMismatch: The table's offsets are of another topic.
            StreamFenced: The stream has another epoch than the expected one.
            InvalidRequest: Nobody knows whether the stream is new, or where it continues.
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
        )
        run = self._new_run(intent)
        claimed = run.run()
        self._hold.follow(claimed.snapshot_id, now_ms=self._clock.now_ms())
        assert run.revision is not None, "a claim is never a replay"
        return run.revision.streams.positions[stream]

    @adds_table_to_errors
    def fence_streams(
        self,
        *,
        commit_user: str,
        known_epochs: Mapping[str, int] | None = None,
        only: Iterable[str] | None = None,
    ) -> CommitResult:
        """Take streams from their owners: commit an empty snapshot with the next epoch of each.

        Whoever commits for a stream without a new claim is fenced from then on. Offsets stay.

        Args:
            commit_user: Who does it.
            known_epochs: By stream, epochs that were in use and that the newest snapshot does not
                know; the new ones are above them.
            only: The streams that are meant; None: all that the table knows.

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
        """Carry the positions of streams on, where the newest snapshot does not.

        Another engine committed it; until a commit of ours the snapshot that has the positions must
        not expire. An empty commit carries them, and other engines' expiry is told.

        Args:
            commit_user: Who does it.

        Returns:
            None where there is nothing to carry.

        Raises:
            CommitConflict, CommitUnknown, StorageUnavailable: Carry again; nothing is lost.
            CorruptData: A property of ours cannot be read.
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
        """Return where each stream of the table continues, by name.

        From the newest snapshot that knows of streams, walking back past other engines' ones.

        Raises:
            CorruptData: A property of ours cannot be read, or a manifest.
            TableNotFound: The table is gone, or another one is in its place.
        """
        return dict(self._reader.newest()[1].positions)

    @adds_table_to_errors
    def group_orders(self) -> dict[str, GroupOrder]:
        """Return where the newest records of each claimed group come from, by group.

        From the newest snapshot that knows of streams, walking back past other engines' ones.

        Raises:
            CorruptData: A property of ours cannot be read, or a manifest.
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
        """Commit files, and remember whose may be in the table without our knowing."""
        run = self._new_run(intent, is_repeat_checked=is_repeat_checked)
        try:
            return run.run()
        except BaseException:
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
            wait=self._wait,
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
