"""The attempts of one commit, from the first to its outcome.

Each attempt:

1. reads the newest snapshot and schema;
2. searches for an earlier commit of the same identity, if the caller wants that, and derives the
   content of the next snapshot from the intent. If the table already has the commit, the commit is
   a replay;
3. checks for conflicts;
4. writes the manifests and the lists of the delta and of a changelog, unless an earlier attempt has
   written them; a commit that is no append also merges manifests. If another snapshot was published meanwhile,
   steps 1 to 3 are done again. It also writes a base list, merging the manifests that are due for it, and an index
   manifest if the commit changes index files. Once a minute it compares the clock with the time
   that storage has given to the base list;
5. creates the snapshot exclusively and determines whether it is part of the chain;
6. on success writes the hint, and deletes the manifests and lists of earlier attempts that the
   snapshot does not name.

Before an attempt the commit may wait (`pace`), and commits of one process take turns (`commit_queue`). After a lost race the next attempt reuses most files of the earlier attempts (`attempt_files`).
After any other failed publication it writes all files anew: other snapshots may name the old files,
or expiry may have deleted them.

Files are deleted only while it is certain that no snapshot names them. So an error leaves all files
in place if it occurs after the creation of a snapshot has begun, and before it is known that the
race was lost or that the snapshot is deleted again. `braid.lake.commit.discard` has the same rule
for data files.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from braid.lake.commit.attempt_files import CHANGELOG, DELTA, AttemptFiles, WrittenList
from braid.lake.commit.clock_check import ClockCheck
from braid.lake.commit.commit_changes import CommitChanges
from braid.lake.commit.commit_queue import CommitQueue
from braid.lake.commit.commit_result import CommitResult, Outcome
from braid.lake.commit.identity_log import CommitIdentity, IdentityLog
from braid.lake.commit.intent import Intent, PlainCommit, Revision
from braid.lake.commit.next_snapshot import (
    SnapshotFiles,
    next_snapshot,
    next_snapshot_id,
    next_time_ms,
)
from braid.lake.commit.pace import Pace
from braid.lake.commit.publisher import PublishOutcome, SnapshotPublisher
from braid.lake.commit.retry_policy import RetryPolicy
from braid.lake.commit.steps import OnStep
from braid.lake.commit.table_state import TableReader, TableState
from braid.lake.errors import (
    CommitConflict,
    CommitUnknown,
    CorruptData,
    LakeError,
    StorageUnavailable,
)
from braid.lake.files.clock import Clock
from braid.lake.format.snapshot import CommitKind, Snapshot
from braid.lake.snapshots.manifest_store import ManifestGone


@dataclass(kw_only=True)
class CommitRun:
    """The attempts of one commit.

    Attributes:
        intent: The commit that the caller wants.
        reader: Reads the state of the table.
        new_files: Returns a writer of manifests under fresh names.
        publisher: Publishes snapshots of the table.
        identities: Finds earlier commits.
        clock: Gives commit times and the deadline.
        clock_check: Compares `clock` with storage's clock.
        policy: Bounds of the attempts.
        queue: Turns of the attempts that this process makes on the table.
        pace: Decides how long to wait before an attempt.
        sleep_ms: Blocks the thread for a number of milliseconds.
        pause: Waits after the n-th failure of storage (1-based) and returns how long, milliseconds.
        new_uuid: Returns the id of a snapshot.
        on_step: Called with the name of each step (`braid.lake.commit.steps`).
        is_repeat_checked: Whether to search for an earlier commit of the same identity.
        is_doubtful: A snapshot with this commit's files may be in the table, made by an earlier call
            whose outcome stayed unknown, or by an attempt of this call.
        unsettled_above: Id above which the snapshot of an earlier call of unknown outcome would be; None
            without such a call.
        planned_min: The lowest id of a snapshot that an attempt was planned on, 0 for the empty table;
            None before the first attempt.
        revision: Revision of the newest attempt, None before the first.
        attempts: Number of attempts made so far.
        wait_ms: Time spent waiting between attempts so far, milliseconds.
    """

    intent: Intent
    reader: TableReader
    new_files: Callable[[], AttemptFiles]
    publisher: SnapshotPublisher
    identities: IdentityLog
    clock: Clock
    clock_check: ClockCheck
    policy: RetryPolicy
    queue: CommitQueue
    pace: Pace
    sleep_ms: Callable[[float], None]
    pause: Callable[[int], float]
    new_uuid: Callable[[], str]
    on_step: OnStep
    is_repeat_checked: bool
    is_doubtful: bool = False
    unsettled_above: int | None = None
    planned_min: int | None = field(default=None, init=False)
    revision: Revision | None = field(default=None, init=False)
    attempts: int = field(default=0, init=False)
    wait_ms: float = field(default=0.0, init=False)
    _files: AttemptFiles = field(init=False)
    _is_detached: bool = field(default=False, init=False)
    _is_prepared: bool = field(default=False, init=False)
    _lost_to: list[int] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._files = self.new_files()

    def run(self) -> CommitResult:
        """Make attempts until the commit is in the table or cannot be.

        `committed_nothing` of an error is True iff no snapshot has or will have the commit's files.

        Raises:
            CommitConflict: The commit does not fit the newest snapshot, or the race was lost as often
                as the policy allows.
            CommitUnknown: Storage does not answer whether the commit was made.
            StorageUnavailable: Storage failed before anything was published.
            StreamFenced, OffsetMismatch: The batch or claim does not fit the state of its stream.
            InvalidRequest: The intent is refused, the commit contradicts itself, or the clock is ahead.
        """
        deadline_ms = self.clock.now_ms() + self.policy.deadline_ms
        try:
            while True:
                self._await_turn()
                self.attempts += 1
                began_ms = self.clock.now_ms()
                result = self._attempt()
                now_ms = self.clock.now_ms()
                if result is not None:
                    self.pace.win(lost=self.attempts - 1, now_ms=now_ms)
                    return result
                self.pace.lose(took_ms=now_ms - began_ms, now_ms=now_ms)
                is_late = now_ms >= deadline_ms
                if is_late or self.attempts >= self.policy.attempts_max:
                    raise CommitConflict(self._why_lost())
        except CommitUnknown:
            # The snapshot may exist and name the manifests, so they stay.
            raise
        except LakeError as error:
            self._clean()
            error.committed_nothing = not self.is_doubtful
            raise
        except OSError as error:
            self._clean()
            message = f"storage failed before the commit was published: {error}"
            unavailable = StorageUnavailable(message)
            unavailable.committed_nothing = not self.is_doubtful
            raise unavailable from error

    def _await_turn(self) -> None:
        wait_ms = self.pace.wait_before_ms(lost=self.attempts, now_ms=self.clock.now_ms())
        if wait_ms:
            self.sleep_ms(wait_ms)
            self.wait_ms += wait_ms

    def _why_lost(self) -> str:
        if not self._is_detached:
            return f"all {self.attempts} attempts to commit lost the race against other commits"
        return (
            "the newest snapshot follows a snapshot that a rollback has removed, because the newest was being "
            f"committed while the rollback ran; {self.attempts} attempts to commit did not get past it\n"
            "hint: roll the table back once more, to the same snapshot or, if that has expired, "
            "to the snapshot before the newest"
        )

    def _attempt(self) -> CommitResult | None:
        """Return the result, None to make another attempt."""
        if not self._is_prepared:
            return self._attempt_on_newest()
        with self.queue.turn():
            return self._attempt_on_newest()

    def _attempt_on_newest(self) -> CommitResult | None:
        self.on_step("before plan")
        state = self.reader.state()
        latest_id = 0 if state.latest is None else state.latest.id
        planned_min = self.planned_min
        self.planned_min = latest_id if planned_min is None else min(planned_min, latest_id)
        try:
            return self._attempt_on(state)
        except ManifestGone as error:
            # Normally expiry has removed the snapshot that the attempt was planned on. It never removes
            # the newest one.
            latest = state.latest
            if latest is not None and self.reader.snapshots.latest_id() == latest.id:
                message = f"snapshot {latest.id} is the newest, but refers to a manifest that does not exist"
                raise CorruptData(message) from error
            return None

    def _attempt_on(self, state: TableState) -> CommitResult | None:
        repeated = self._find_repeated(state)
        if repeated is not None:
            # A replay publishes nothing, so nothing else would reveal that this state is not the
            # newest (see `confirm_newest`).
            if not self.publisher.confirm_newest(state.latest):
                return None
            # An earlier call has committed this identity, perhaps with these very files, so they
            # must not be deleted as unused.
            self.is_doubtful = True
            self._clean()
            return self._result(repeated, Outcome.REPLAYED)
        now_ms = self.clock.now_ms()
        time_ms = next_time_ms(
            state.latest, now_ms, commit_time_ms=self.reader.snapshots.commit_time_ms
        )
        revision = self.intent.revise(state.streams, time_ms=time_ms)
        if revision is None:
            if not self.publisher.confirm_newest(state.latest):
                return None
            self._clean()
            return self._result(state.latest, Outcome.REPLAYED)
        self.revision = revision
        self.reader.check(self.intent, state)
        self.on_step("after plan")
        changes = self._changes_on(state)
        if self._is_prepared:
            return self._publish(changes, state, revision, now_ms=now_ms, time_ms=time_ms)
        # What does not depend on the state is written first: it takes about as long as everything else, and a
        # snapshot that comes meanwhile does not cost the attempt.
        self._is_prepared = True
        delta, _ = self._write_changes(changes, state)
        # Streams wait for their appends, and the other commits need not be fast.
        if self.intent.kind is not CommitKind.APPEND:
            self._files.merge_ahead(self.reader.manifests_of(state.latest), delta, state.schema)
        with self.queue.turn():
            if self.reader.snapshots.exists(next_snapshot_id(state.latest)):
                return self._attempt_on_newest()
            return self._publish(changes, state, revision, now_ms=now_ms, time_ms=time_ms)

    def _publish(
        self,
        changes: CommitChanges,
        state: TableState,
        revision: Revision,
        *,
        now_ms: int,
        time_ms: int,
    ) -> CommitResult | None:
        """Write the lists and create the snapshot; return the result, None to make another attempt."""
        lists = self._write_lists(changes, state)
        self.clock_check.compare(now_ms, written=lists.base.name)
        snapshot = next_snapshot(
            state.latest,
            intent=self.intent,
            changes=changes,
            revision=revision,
            schema=state.schema,
            files=lists,
            uuid=self.new_uuid(),
            time_ms=time_ms,
            max_sequence_number=self.reader.max_sequence_number(state.latest),
        )
        try:
            return self._settle(snapshot, state.latest, lists)
        except CommitUnknown:
            raise
        except (LakeError, OSError) as error:
            # The snapshot may be in the table, whatever went wrong: `run` would delete its manifests.
            message = (
                f"snapshot {snapshot.id} of `{self.intent.user}` may or may not be published: "
                f"{error}"
            )
            raise CommitUnknown(message) from error

    def _settle(
        self, snapshot: Snapshot, previous: Snapshot | None, lists: SnapshotFiles
    ) -> CommitResult | None:
        """Publish a snapshot; return the result, None to make another attempt.

        `is_doubtful` is True in between, so that an error of any kind leaves the files in place.
        """
        was_doubtful, self.is_doubtful = self.is_doubtful, True
        published = self.publisher.publish(snapshot, previous=previous)
        self._is_detached = published is PublishOutcome.DETACHED
        if published is PublishOutcome.LOST:
            # Another snapshot has the id, so no file of this attempt is referenced.
            self.is_doubtful = was_doubtful
            self._lost_to.append(snapshot.id)
            return None
        is_in_chain = published is PublishOutcome.PUBLISHED
        if published in (PublishOutcome.IN_DOUBT, PublishOutcome.GONE):
            is_in_chain = self._successor_holds_files(snapshot)
        if is_in_chain:
            self.publisher.write_hints(snapshot)
            self._clean(lists)
            return self._result(snapshot, Outcome.COMMITTED)
        if published is not PublishOutcome.GONE:
            # The manifests stay on storage and are not reused: a snapshot without files of its own,
            # which leaves no trace above it, may be part of the chain after all, and its successor
            # may name manifests that this commit merged.
            is_taken_back = self.publisher.take_back(snapshot)
            self._files = self.new_files()
            # No snapshot names the files: this one was deleted here, or was never part of the chain.
            if is_taken_back or published is PublishOutcome.DETACHED:
                self.is_doubtful = was_doubtful
                return None
        assert published in (PublishOutcome.IN_DOUBT, PublishOutcome.GONE), published
        # The snapshot is gone, and none of its files is live: it may have been part of the chain, and its
        # files have been compacted away since. Another attempt is safe for a stream, which compares
        # offsets, and for an empty commit; any other commit would add its rows a second time.
        if isinstance(self.intent, PlainCommit) and not self.intent.changes.is_empty:
            message = (
                f"snapshot {snapshot.id} of `{self.intent.user}` may or may not have been published: none "
                "of its files is live, and if it was published, it has expired since"
            )
            raise CommitUnknown(message)
        self._files = self.new_files()
        return None

    def _changes_on(self, state: TableState) -> CommitChanges:
        """Return the entries for a snapshot that follows this state."""
        changes = self.intent.changes
        # A compaction adds no new rows, and old rows keep their sequence numbers.
        if self.intent.kind is CommitKind.COMPACT:
            return changes
        if not state.schema.table_options.sequence_snapshot_ordering:
            return changes
        return changes.with_sequence_numbers(next_snapshot_id(state.latest))

    def _write_changes(
        self, changes: CommitChanges, state: TableState
    ) -> tuple[WrittenList, WrittenList | None]:
        delta = self._files.write_changes(DELTA, changes.delta, state.schema)
        if not changes.changelog:
            return delta, None
        return delta, self._files.write_changes(CHANGELOG, changes.changelog, state.schema)

    def _write_lists(self, changes: CommitChanges, state: TableState) -> SnapshotFiles:
        delta, changelog = self._write_changes(changes, state)
        base = self._files.write_base(self.reader.manifests_of(state.latest), state.schema)
        index_manifest = None
        if changes.changes_indexes:
            previous = None if state.latest is None else state.latest.index_manifest
            index_manifest = self._files.write_indexes(previous, changes, state.schema)
        return SnapshotFiles(
            base=base, delta=delta, changelog=changelog, index_manifest=index_manifest
        )

    def _find_repeated(self, state: TableState) -> Snapshot | None:
        """Return the snapshot of an earlier commit with the same identity, None without one."""
        intent = self.intent
        if not isinstance(intent, PlainCommit) or not self.is_repeat_checked:
            return None
        identity = CommitIdentity(user=intent.user, identifier=intent.identifier, kind=intent.kind)
        return self.identities.find(identity, state.latest, unsettled_above=self.unsettled_above)

    def _successor_holds_files(self, snapshot: Snapshot) -> bool:
        """Return whether the chain above an unsettled snapshot holds its files."""
        for attempt in range(self.policy.lookups_max):
            try:
                return self.reader.is_in_successor(snapshot.id, self.intent.changes.delta)
            except (OSError, LakeError):
                self.wait_ms += self.pause(attempt + 1)
        message = (
            f"snapshot {snapshot.id} of `{self.intent.user}` may or may not be published: the "
            "newest snapshot cannot be read"
        )
        raise CommitUnknown(message)

    def _clean(self, lists: SnapshotFiles | None = None) -> None:
        kept = [] if lists is None else [lists.base, lists.delta]
        if lists is not None and lists.changelog is not None:
            kept.append(lists.changelog)
        index_manifest = None if lists is None else lists.index_manifest
        self._files.clean(keep=kept, keep_index_manifest=index_manifest)

    def _result(self, snapshot: Snapshot | None, outcome: Outcome) -> CommitResult:
        assert outcome is not Outcome.COMMITTED or snapshot is not None, "a commit has a snapshot"
        return CommitResult(
            snapshot_id=0 if snapshot is None else snapshot.id,
            attempts=self.attempts,
            wait_ms=round(self.wait_ms),
            outcome=outcome,
            time_ms=0 if snapshot is None else snapshot.time_millis,
            lost_to=tuple(self._lost_to),
            are_files_unused=outcome is Outcome.REPLAYED and not self.is_doubtful,
        )
