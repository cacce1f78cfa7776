"""One run of expiry on a branch of a table: stale consumers, then snapshots, then changelogs that outlived snapshots.

The table's options declare how many snapshots stay and for how long; the caller of a run may replace these bounds
(`snapshot_retention`). Together with stale consumers, a run removes the marks of expiries that died, and the old
marker of a rollback if the chain has no gap. It also moves the hold that keeps other engines from expiring the newest
snapshot with the positions of streams. While the newest snapshot belongs to history that a rollback removes, no
snapshot or changelog expires. Before snapshots expire, their Iceberg snapshots leave the Iceberg metadata, if the
table has any.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from braid.lake.commit.streams.position_hold import HOLD_ID, PositionHold
from braid.lake.declaration.retention_rules import snapshot_retention_problems
from braid.lake.errors import InvalidRequest, StorageUnavailable
from braid.lake.format.schema import TableSchema
from braid.lake.iceberg.publication import publish
from braid.lake.maintenance.expiry.changelog_expiry import ChangelogExpiry
from braid.lake.maintenance.expiry.expiry_holds import (
    changelog_holds,
    consumer_holds,
    newest_with_positions,
    stream_hold,
)
from braid.lake.maintenance.expiry.expiry_plan import (
    ExpiryPlan,
    Retention,
    check_retention,
    plan_changelog_expiry,
    plan_expiry,
)
from braid.lake.maintenance.expiry.expiry_result import ExpiryResult
from braid.lake.maintenance.expiry.file_removal import FileRemoval
from braid.lake.maintenance.expiry.snapshot_expiry import SnapshotExpiry
from braid.lake.options.table_options import TableOptions
from braid.lake.snapshots.removed_history import RemovedHistory
from braid.lake.snapshots.rollback_marker import RollbackMarker
from braid.lake.snapshots.table_store import TableStore

# A run of expiry whose mark is older than this has died.
_LONGEST_RUN_MS = 86_400_000


def snapshot_retention(
    schema: TableSchema,
    *,
    now_ms: int,
    retain_min: int | None = None,
    retain_max: int | None = None,
    older_than_ms: int | None = None,
    max_deletes: int | None = None,
) -> Retention:
    """Return the retention of a table's snapshots, from the arguments or else the table's options.

    Args:
        schema: Schema of the table, with its options.
        now_ms: Milliseconds since 1970 UTC.
        retain_min: Replaces `snapshot.num-retained.min`; None: the option counts, lowered to `retain_max`
            if that is smaller.
        retain_max: Replaces `snapshot.num-retained.max`; None: the option counts.
        older_than_ms: Replaces now less `snapshot.time-retained`, milliseconds since 1970 UTC; None: the
            option counts.
        max_deletes: Replaces `snapshot.expire.limit`; None: the option counts.

    Raises:
        InvalidRequest: The bounds contradict each other.
    """
    options = schema.table_options
    if retain_min is None and retain_max is None:
        _check_options(schema.options, options)
    count_max = options.snapshot_num_retained_max if retain_max is None else retain_max
    count_min = options.snapshot_num_retained_min if retain_min is None else retain_min
    if retain_min is None and retain_max is not None:
        count_min = max(min(count_min, retain_max), 1)
    age_ms = options.snapshot_time_retained_ms
    retention = Retention(
        count_min=count_min,
        count_max=count_max,
        older_than_ms=now_ms - age_ms if older_than_ms is None else older_than_ms,
        limit=options.snapshot_expire_limit if max_deletes is None else max_deletes,
    )
    check_retention(retention)
    return retention


def _check_options(declared: Mapping[str, str], options: TableOptions) -> None:
    """Refuse contradicting options, which a table of another engine or an older version may have."""
    problems = tuple(snapshot_retention_problems(declared, options))
    if problems:
        message = "snapshots cannot expire, because the options of the table contradict each other"
        raise InvalidRequest(message, problems=problems)


def changelogs_outlive_snapshots(options: TableOptions) -> bool:
    """Return whether a changelog may be kept longer than its snapshot."""
    return (
        options.changelog_num_retained_max > options.snapshot_num_retained_max
        or options.changelog_num_retained_min > options.snapshot_num_retained_min
        or options.changelog_time_retained_ms > options.snapshot_time_retained_ms
    )


@dataclass(kw_only=True)
class TableExpiry:
    """Expires snapshots, changelogs and consumers of one branch of a table.

    Attributes:
        store: Store of the branch.
    """

    store: TableStore

    def __post_init__(self) -> None:
        self._options = self.store.schema.table_options
        self._snapshots = self.store.snapshots
        self._changelogs = self.store.changelogs
        self._consumers = self.store.consumers

    def plan(self, retention: Retention) -> ExpiryPlan | None:
        """Return which snapshots would expire now.

        The result is None in a table without snapshots, and while the newest snapshot belongs to a history
        that a rollback removes.

        Raises:
            CorruptData: A snapshot cannot be read.
        """
        latest = self._snapshots.latest()
        earliest_id = self._snapshots.earliest_id()
        if latest is None or earliest_id is None:
            return None
        if RemovedHistory(self.store.file_io, self.store.paths).holds(latest):
            # A rollback removes the newest snapshot. Counted from that one, the target could expire.
            return None
        holds = consumer_holds(self._consumers, self._options, now_ms=self.store.clock.now_ms())
        return plan_expiry(
            earliest_id,
            latest.id,
            retention,
            holds=(*holds, *stream_hold(latest, earliest_id, self._snapshots)),
            time_ms_of=partial(self._snapshot_time_ms, older_than_ms=retention.older_than_ms),
        )

    def run(self, retention: Retention) -> ExpiryResult:
        """Expire snapshots and changelogs.

        Raises:
            CorruptData: A remaining snapshot cannot be read, so that it is unknown which files may be
                deleted.
            StorageUnavailable: Storage failed; completed steps stay, and unreferenced files may be
                left.
        """
        forgotten = self._delete_stale_consumers()
        removal = FileRemoval(store=self.store)
        kept = self._changelogs.list_ids()
        self._move_hold()
        plan = self.plan(retention)
        if plan is None:
            return ExpiryResult(consumers=forgotten)
        # First, and whatever expires: so the metadata never name a file that goes, and are caught up.
        publish(self.store, expiring_below=plan.end)
        snapshots: tuple[int, ...] = ()
        if plan.end > plan.begin:
            # Changelogs that are kept already may need files of these snapshots, so the files expire
            # later, with the changelogs, whatever the options are by now.
            keeps_changelogs = bool(kept) or changelogs_outlive_snapshots(self._options)
            snapshots = SnapshotExpiry(
                store=self.store,
                removal=removal,
                keeps_changelogs=keeps_changelogs,
                name=str(self.store.new_uuid()),
            ).run(plan.begin, plan.end)
        changelogs = self._expire_changelogs(removal)
        earliest = self._snapshots.earliest_id()
        is_stopped = earliest is not None and earliest < plan.end
        self._write_missing_hint(earliest)
        return ExpiryResult(
            snapshots=snapshots,
            earliest=earliest,
            held_by="a consumer or lease has begun to hold it meanwhile"
            if is_stopped
            else plan.held_by,
            changelogs=changelogs,
            consumers=forgotten,
            data_files=removal.data_files,
            data_bytes=removal.data_bytes,
            metadata_files=removal.metadata_files,
        )

    def _write_missing_hint(self, earliest: int | None) -> None:
        """Write `EARLIEST` if it does not exist, which saves readers a listing."""
        with suppress(OSError, StorageUnavailable):
            if earliest is not None and not self.store.file_io.exists(
                self.store.paths.earliest_hint
            ):
                self._snapshots.write_earliest_hint(earliest)

    def _delete_stale_consumers(self) -> tuple[str, ...]:
        """Delete expired consumers and stale marks of expiries and rollbacks; return the names of the consumers."""
        now_ms = self.store.clock.now_ms()
        expiration_ms = self._options.consumer_expiration_time_ms
        self._consumers.delete_stale_marks(before_ms=now_ms - _LONGEST_RUN_MS)
        self._remove_stale_rollback_marker(now_ms)
        expired = [
            file.id
            for file in self._consumers.list()
            if file.is_expired(now_ms=now_ms, expiration_ms=expiration_ms)
        ]
        return tuple(name for name in expired if self._consumers.delete(name))

    def _move_hold(self) -> None:
        """Move the hold that keeps other engines from expiring the snapshot with stream positions."""
        held = self._consumers.find(HOLD_ID)
        latest, earliest_id = self._snapshots.latest(), self._snapshots.earliest_id()
        if latest is None or earliest_id is None:
            return
        snapshot_id = newest_with_positions(latest, earliest_id, self._snapshots)
        if snapshot_id != (None if held is None else held.next_snapshot):
            PositionHold(self._consumers).move(snapshot_id)

    def _remove_stale_rollback_marker(self, now_ms: int) -> None:
        marker = RollbackMarker(self.store.file_io, self.store.paths)
        if marker.exists():
            marker.remove_if_stale(self._snapshots.list_ids(), now_ms=now_ms)

    def _expire_changelogs(self, removal: FileRemoval) -> tuple[int, ...]:
        kept = self._changelogs.list_ids()
        latest_id = self._snapshots.latest_id()
        if not kept or latest_id is None:
            return ()
        now_ms = self.store.clock.now_ms()
        plan = plan_changelog_expiry(
            kept,
            latest_id,
            self._changelog_retention(now_ms),
            holds=changelog_holds(self._consumers, self._options, now_ms=now_ms),
            time_ms_of=self._changelog_time_ms,
        )
        return ChangelogExpiry(store=self.store, removal=removal).run(kept, plan.end)

    def _changelog_retention(self, now_ms: int) -> Retention:
        options = self._options
        return Retention(
            count_min=options.changelog_num_retained_min,
            count_max=max(options.changelog_num_retained_max, options.changelog_num_retained_min),
            older_than_ms=now_ms - options.changelog_time_retained_ms,
            limit=options.snapshot_expire_limit,
        )

    def _snapshot_time_ms(self, snapshot_id: int, *, older_than_ms: int) -> int | None:
        snapshot = self._snapshots.find(snapshot_id)
        if snapshot is None or snapshot.time_millis < older_than_ms:
            return None if snapshot is None else snapshot.time_millis
        # The snapshot seems young, but its writer's clock may have been ahead: this reads the file's time.
        return self._snapshots.commit_time_ms(snapshot)

    def _changelog_time_ms(self, snapshot_id: int) -> int | None:
        changelog = self._changelogs.find(snapshot_id)
        return None if changelog is None else changelog.time_millis
