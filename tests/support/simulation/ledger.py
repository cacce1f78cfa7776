"""Ledger of a simulation: the answers that its actors got, and the checks of the table against them.

The records of each file are recorded here by file name: of a stream, a range of offsets; of other writers,
the name of the commit; of a compacted file, the records of its inputs. So the content of a snapshot is
known without reading rows. It is checked against

1. itself: no record is in it twice, and of each stream it has exactly those below the offset it carries;
2. acknowledged commits: their records are in the newest snapshot at that moment and at the end, except
   for those that a rollback removed;
3. refused commits: their files are in no snapshot.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from braid.lake.commit.streams.stream_authority import carries_stream_state, find_authority
from braid.lake.commit.streams.stream_position import StreamPosition, batch_of, positions_of
from braid.lake.errors import CorruptData
from braid.lake.files.paths import SNAPSHOT_PREFIX, TablePaths
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.snapshot import Snapshot, parse_snapshot
from braid.lake.snapshots.lineage import follows, is_built_on
from braid.lake.snapshots.live_files import LiveFiles
from braid.lake.snapshots.manifest_store import ManifestGone, ManifestStore
from braid.lake.snapshots.snapshot_store import SnapshotStore

Record = tuple[str, int]
"""A stream and an offset of it, or the name of a plain commit and 0."""


@dataclass(kw_only=True)
class Ledger:
    """Records the answers of one run and checks the table.

    Attributes:
        file_io: The storage itself.
        paths: Of the table.
        now: Returns the number of turns so far.
        removes_snapshots: Returns whether the current actor is an expiry or a rollback.
        contents: Records of files, by file name.
        acknowledged: Records that the table must have: acknowledged, and not removed by a rollback.
        refused: Files of commits that certainly left nothing in the table.
        rolled_back: The turn in which a rollback last removed the newest snapshot, -1 for never.
        broken_off: The number of rollbacks that died.
        is_blurred: A claim may have been lost beside another engine (see `_is_blurred_by`).
        behind: Delta lists of snapshots that were published below the newest. They are no part of the
            chain; one stays if its writer dies before it deletes it.
        wrong: Violations found, as text.
    """

    file_io: MemoryFileIO
    paths: TablePaths
    now: Callable[[], int]
    removes_snapshots: Callable[[], bool]
    contents: dict[str, tuple[Record, ...]] = field(default_factory=dict)
    acknowledged: set[Record] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    rolled_back: int = -1
    broken_off: int = 0
    is_blurred: bool = False
    behind: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._is_taking_back = False
        self._manifests = ManifestStore(self.file_io, self.paths)
        self._live = LiveFiles(self._manifests)
        self._snapshots = SnapshotStore(self.file_io, self.paths)
        create = self.file_io.create_exclusive

        def create_and_judge(path: str, data: bytes) -> bool:
            is_created = create(path, data)
            if is_created and path.startswith(f"{self.paths.snapshot_dir}/{SNAPSHOT_PREFIX}"):
                snapshot = parse_snapshot(data)
                if snapshot.id < max(self._snapshots.list_ids()):
                    self.behind.add(snapshot.delta_manifest_list)
                    self.is_blurred |= self._is_blurred_by(snapshot)
                self.judge_published(snapshot)
            return is_created

        delete = self.file_io.delete

        def judge_and_delete(path: str) -> bool:
            if path.startswith(f"{self.paths.snapshot_dir}/{SNAPSHOT_PREFIX}"):
                self._judge_taken_back(path)
                ids = self._snapshots.list_ids()
                if self._is_taking_back and ids and path == self.paths.snapshot(ids[-1]):
                    # Also by a writer whose snapshot was built on removed history.
                    is_deleted = delete(path)
                    self.take_back(is_newest=True)
                    return is_deleted
            return delete(path)

        self.file_io.delete = judge_and_delete  # type: ignore[method-assign]
        # A snapshot is checked at the moment of its publication, because it may be removed later.
        self.file_io.create_exclusive = create_and_judge  # type: ignore[method-assign]

    def acknowledge(self, file_name: str, *, began: int) -> None:
        """Record that a file was acknowledged as committed.

        Args:
            file_name: Of the file.
            began: Turn in which the commit began; a rollback since then may have removed it.
        """
        if began <= self.rolled_back:
            return
        self.acknowledged.update(self.contents[file_name])
        if self.rolled_back < 0:
            self._judge_acknowledged("at once")

    def acknowledge_claim(self, claimed: StreamPosition) -> None:
        """Record that a claim was acknowledged; the newest snapshot must have it."""
        ids = self._snapshots.list_ids()
        if self.rolled_back >= 0 or not ids:
            return
        newest = self._snapshots.get(ids[-1])
        authority = find_authority(newest, self._snapshots, self._manifests)
        if not authority.is_complete or not carries_stream_state(newest):
            return  # of another engine, or after its expiry, which loses positions
        if self.is_blurred:
            return
        position = positions_of(newest).get(claimed.stream)
        if position is None or position.epoch < claimed.epoch:
            self.wrong.append(
                f"{claimed.stream} is claimed, and snapshot {newest.id} does not have epoch "
                f"{claimed.epoch}"
            )

    def take_back(self, *, is_newest: bool) -> None:
        """Record that a rollback has removed a snapshot; the records that are left must stay.

        Args:
            is_newest: It was the newest, so the content of the table has changed.
        """
        self._is_taking_back = True
        if is_newest:
            self.rolled_back = self.now()
        ids = self._snapshots.list_ids()
        if ids:
            self.acknowledged.intersection_update(self.records(self._snapshots.get(ids[-1])))

    def live_names(self, snapshot: Snapshot) -> list[str]:
        """Return the names of the live files of a snapshot."""
        return [entry.file.file_name for entry in self._live.by_identity(snapshot).values()]

    def records(self, snapshot: Snapshot) -> Counter[Record]:
        """Return the records of a snapshot, with their number of occurrences."""
        names = self.live_names(snapshot)
        return Counter(record for name in names for record in self.contents[name])

    def _is_blurred_by(self, snapshot: Snapshot) -> bool:
        """Return whether a snapshot lies in a hole that cannot be recognised.

        It adds no rows, and the one above it, of another engine, has the same files. Then claims that
        expired there are lost, and no records with them.
        """
        above = self._snapshots.find(snapshot.id + 1)
        return above is not None and is_built_on(above, snapshot, self._manifests)

    def judge_published(self, snapshot: Snapshot) -> None:
        """Check a snapshot against itself, at the moment of its publication."""
        try:
            records = self.records(snapshot)
        except ManifestGone:
            return  # built on expired files; no reader will find it as the newest
        place = f"snapshot {snapshot.id}, {snapshot.commit_kind} of {snapshot.commit_user}"
        twice = sorted(record for record, count in records.items() if count > 1)
        if twice:
            self.wrong.append(f"{place}: twice {twice[:5]}")
        for stream, position in positions_of(snapshot).items():
            found = sorted(offset for name, offset in records if name == stream)
            if found != list(range(position.offsets[0])):
                self.wrong.append(f"{place}: {stream} is at {position.offsets[0]}, has {found}")
        batch = batch_of(snapshot)
        if batch is not None and positions_of(snapshot)[batch.stream].epoch != batch.epoch:
            self.wrong.append(f"{place}: a batch of epoch {batch.epoch} passed a newer claim")

    def judge_chain(self) -> None:
        """Check the snapshots that are left when all actors have ended."""
        ids = [n for n in self._snapshots.list_ids() if not self._is_behind(n)]
        if not self.broken_off and ids and len(ids) != ids[-1] - ids[0] + 1:
            self.wrong.append(f"the chain has a gap: {ids}")
        latest = self._snapshots.latest()
        if (latest.id if latest else None) != (ids[-1] if ids else None):
            self.wrong.append(f"the hint leads to {latest and latest.id}, snapshots are {ids}")
        if latest is None:
            if self.acknowledged:
                self.wrong.append("there is no snapshot any more")
            return
        for number in ids:
            self._judge_files(self._snapshots.get(number))
        self._judge_acknowledged("at the end")

    def _is_behind(self, number: int) -> bool:
        """Return whether a snapshot was published below others and is still no part of the chain."""
        snapshot, above = self._snapshots.get(number), self._snapshots.find(number + 1)
        is_link = above is not None and follows(above, snapshot)
        return snapshot.delta_manifest_list in self.behind and not is_link

    def judge_tag(self, snapshot: Snapshot) -> None:
        """Check a snapshot that a tag keeps."""
        self._judge_files(snapshot)

    def _judge_acknowledged(self, when: str) -> None:
        ids = self._snapshots.list_ids()
        if not ids:
            return
        try:
            there = self.records(self._snapshots.get(ids[-1]))
        except ManifestGone:
            return  # built on expired files, and about to be deleted by its writer
        lost = sorted(self.acknowledged - there.keys())
        if lost:
            self.wrong.append(f"acknowledged and not in snapshot {ids[-1]} {when}: {lost[:5]}")

    def _judge_taken_back(self, path: str) -> None:
        """Check that a writer deletes only a snapshot of its own on which nothing was built.

        After a rollback something may have been: it was planned on removed history and goes as well.
        """
        if self.removes_snapshots() or self._is_taking_back or self.broken_off:
            return
        number = int(path.rpartition("-")[2])
        snapshot, successor = self._snapshots.find(number), self._snapshots.find(number + 1)
        if snapshot and successor and follows(successor, snapshot):
            self.wrong.append(f"snapshot {number} is taken back, and {number + 1} is built on it")

    def _judge_files(self, snapshot: Snapshot) -> None:
        try:
            names = self.live_names(snapshot)
        except (ManifestGone, CorruptData) as error:
            self.wrong.append(f"snapshot {snapshot.id} cannot be read: {error}")
            return
        for entry in self._live.by_identity(snapshot).values():
            path = f"{self.paths.root}/bucket-{entry.bucket}/{entry.file.file_name}"
            if not self.file_io.exists(path):
                self.wrong.append(f"snapshot {snapshot.id} names {path}, which is gone")
        refused = sorted(self.refused.intersection(names))
        if refused:
            self.wrong.append(f"snapshot {snapshot.id} has what was not committed: {refused[:5]}")
