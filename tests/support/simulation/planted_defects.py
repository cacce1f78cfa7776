"""Planted defects, which the simulation has to find: each replaces the body of one method by a wrong one.

The first ones were in the engine once; the others are mistakes that are easily made there.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final
from unittest.mock import patch

from braid.lake.commit import discard, intent, table_state
from braid.lake.commit.attempt_files import AttemptFiles
from braid.lake.commit.commit_result import CommitResult, Outcome
from braid.lake.commit.commit_run import CommitRun
from braid.lake.commit.conflict import Live, check_files
from braid.lake.commit.identity_log import IdentityLog
from braid.lake.commit.publisher import PublishOutcome, SnapshotPublisher
from braid.lake.commit.streams import exactly_once
from braid.lake.commit.streams.exactly_once import BatchDecision
from braid.lake.commit.streams.stream_authority import StreamAuthority
from braid.lake.errors import CommitUnknown
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.snapshot import Snapshot
from braid.lake.maintenance.expiry.retained_snapshots import RetainedSnapshots


@dataclass(frozen=True, kw_only=True)
class PlantedDefect:
    """One defect.

    Attributes:
        name: For the table in the docs.
        owner: Class or module.
        attribute: Of the method or function that is replaced.
        body: That replaces it.
        seed: One that finds it; None for a defect that few seeds find, which only the long run
            searches for, because every change of the engine changes what a seed does.
    """

    name: str
    owner: Any
    attribute: str
    body: Callable[..., Any]
    seed: int | None = None


@contextmanager
def planted(defect: PlantedDefect) -> Iterator[None]:
    """Replace the method while the context is open."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(defect.owner, defect.attribute, defect.body))
        yield


def _discard_after_anything(
    commit: Callable[[], CommitResult], *, discard: Callable[[], object]
) -> CommitResult:
    is_referenced = False
    try:
        result = commit()
        is_referenced = result.outcome is not Outcome.REPLAYED
    except CommitUnknown:
        is_referenced = True
        raise
    finally:
        if not is_referenced:
            discard()
    return result


def _previous_is_proof(
    self: SnapshotPublisher, snapshot: Snapshot, previous: Snapshot | None
) -> PublishOutcome:
    """The check as it was before rollbacks left a marker: the previous snapshot is proof."""
    if previous is not None and self._snapshots.find(previous.id) == previous:
        return PublishOutcome.PUBLISHED
    return _classify(self, snapshot, previous)


_classify = SnapshotPublisher._classify


def _files_are_the_only_trace(
    self: SnapshotPublisher, snapshot: Snapshot, previous: Snapshot | None
) -> PublishOutcome:
    """The check as it was before snapshots named the one that they were built on."""
    if previous is not None and self._snapshots.find(previous.id) == previous:
        return _classify(self, snapshot, previous)
    ids = self._snapshots.list_ids()
    is_rolled_back = any(number < snapshot.id for number in ids)
    if max(ids, default=0) <= snapshot.id and not is_rolled_back:
        return PublishOutcome.PUBLISHED
    return PublishOutcome.IN_DOUBT


def _everything_is_newest(self: StreamAuthority, fallback: object) -> bool:
    del self, fallback
    return True


def _never_look(
    self: SnapshotPublisher, snapshot: Snapshot, previous: Snapshot | None
) -> PublishOutcome:
    del self, snapshot, previous
    return PublishOutcome.PUBLISHED


def _any_file_is_ours(self: SnapshotPublisher, snapshot: Snapshot) -> bool | None:
    return True if self._snapshots.exists(snapshot.id) else None


def _settle_and_clean(self: CommitRun, *args: Any, **given: Any) -> CommitResult | None:
    try:
        return _settle(self, *args, **given)
    except BaseException:
        self._clean()
        raise


_settle = CommitRun._settle


def _keep_nothing(self: AttemptFiles, **given: object) -> None:
    del given
    _clean(self)


_clean = AttemptFiles.clean


def _any_epoch(position: Any, batch: Any) -> BatchDecision:
    if position is not None and batch.epoch < position.epoch:
        expected = [position.offsets.get(part, at) for part, at in batch.start.items()]
        if expected == list(batch.start.values()):
            return BatchDecision.COMMIT
    return exactly_once.decide_batch(position, batch)


def _no_retained_snapshots(self: RetainedSnapshots, snapshot_id: int) -> list[Any]:
    del self, snapshot_id
    return []


def _never_repeated(self: IdentityLog, *args: object, **given: object) -> None:
    del self, args, given


def _any_input(delta: Sequence[ManifestEntry], live: Live) -> None:
    check_files([entry for entry in delta if entry.kind is FileKind.ADD], live)


def _no_trace(self: CommitRun, snapshot: Snapshot) -> bool:
    del self, snapshot
    return False


def _always_a_trace(self: CommitRun, snapshot: Snapshot) -> bool:
    del self, snapshot
    return True


DEFECTS: Final = (
    PlantedDefect(
        name="data files are deleted after every exception except `CommitUnknown`",
        owner=discard,
        attribute="commit_or_discard",
        body=_discard_after_anything,
        seed=5_006,
    ),
    PlantedDefect(
        name="a commit is acknowledged although it lies in the gap that an interrupted rollback left",
        owner=SnapshotPublisher,
        attribute="_classify",
        body=_previous_is_proof,
    ),
    PlantedDefect(
        name="an empty snapshot is taken back although others were built on it",
        owner=SnapshotPublisher,
        attribute="_classify",
        body=_files_are_the_only_trace,
        seed=5_008,
    ),
    PlantedDefect(
        name="a stream starts from a position older than its last commit",
        owner=StreamAuthority,
        attribute="is_newest_position",
        body=_everything_is_newest,
        seed=5_003,
    ),
    PlantedDefect(
        name="a created snapshot counts as published without a check of the chain",
        owner=SnapshotPublisher,
        attribute="_verify",
        body=_never_look,
        seed=5_011,
    ),
    PlantedDefect(
        name="any snapshot file with the expected id counts as the committer's own",
        owner=SnapshotPublisher,
        attribute="_is_ours",
        body=_any_file_is_ours,
        seed=5_000,
    ),
    PlantedDefect(
        name="manifests are deleted after an unknown outcome",
        owner=CommitRun,
        attribute="_settle",
        body=_settle_and_clean,
        seed=5_001,
    ),
    PlantedDefect(
        name="a commit cleans up the manifests that its snapshot names",
        owner=AttemptFiles,
        attribute="clean",
        body=_keep_nothing,
        seed=5_000,
    ),
    PlantedDefect(
        name="a batch of an older epoch is committed",
        owner=intent,
        attribute="decide_batch",
        body=_any_epoch,
        seed=5_002,
    ),
    PlantedDefect(
        name="an expiry does not look for tags",
        owner=RetainedSnapshots,
        attribute="needing_files_of",
        body=_no_retained_snapshots,
        seed=5_006,
    ),
    PlantedDefect(
        name="a repeated commit is not recognised",
        owner=IdentityLog,
        attribute="find",
        body=_never_repeated,
        seed=5_006,
    ),
    PlantedDefect(
        name="a compaction does not check that its inputs are still there",
        owner=table_state,
        attribute="check_files",
        body=_any_input,
        seed=5_011,
    ),
    PlantedDefect(
        name="a snapshot in doubt is never found in the chain",
        owner=CommitRun,
        attribute="_successor_holds_files",
        body=_no_trace,
    ),
    PlantedDefect(
        name="a snapshot in doubt is believed to be in the chain",
        owner=CommitRun,
        attribute="_successor_holds_files",
        body=_always_a_trace,
        seed=5_100,
    ),
)
