"""Backfill: older records of a source into the columns of one stream, beside the live stream, commit by commit.

1. The table, the stream and the source are opened, and `admission` decides whether the backfill may run now. Then the
   process claims the backfill: a commit increases the epoch of the backfill's position, which fences every other
   process of the same backfill. The process continues at this position.
2. Chunks of records are read and their rows are written until a commit is due, or with `--bulk` until the end of the
   source. `backfill_commits` does steps 2 and 3.
3. Refused records are written to the reject file. Then one snapshot adds the rows, and stores the new position and
   account.

With a pool, others read and write in step 2: parts of the source, several at once (`part_commits`).

A process may end at any time: the next process repeats what was not committed, and only that. If the position is at the
end of the source, the process commits nothing but its claim.

After a commit conflict, such as after a change of the table's schema or a rescale, steps 1 to 3 are repeated, ten times
at most. They are also repeated once, with a trial write of the rows, if the table refuses rows in which reading has
found no fault.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Final

from braid.backfill.admission import TableNow, check_admission, needs_idle_stream
from braid.backfill.backfill_commits import BackfillCommits, CommitRequest
from braid.backfill.pace import Pace
from braid.backfill.part_commits import PartCommits
from braid.backfill.part_work import PartPool
from braid.backfill.position_commits import PositionCommits
from braid.backfill.progress import Progress
from braid.backfill.read_chunk import Source
from braid.lake import (
    Catalog,
    Clock,
    CommitConflict,
    StreamPosition,
    Table,
    backfill_name,
    split_backfill_name,
)
from braid.records.trial_writes import is_refusal
from braid.registry.declared_table import read_declared_table
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.registry.store.stored_documents import check_features
from braid.registry.stream_entries import entry_of
from braid.schemas import Actor, StreamEntry, TableDocument

_CONFLICTS_MAX: Final = 10
"""Each one means that the table has changed while rows were written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The table of a backfill, opened.

    Attributes:
        document: Its declaration.
        entry: The stream.
        table: The table, at the schema of the same moment.
    """

    document: TableDocument
    entry: StreamEntry
    table: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillRequest:
    """What is backfilled.

    Attributes:
        identifier: `<database>.<table>`.
        stream: The stream's name.
        name: The backfill's name, unique among those of the stream.
        source_of: Returns the source for the table as it is now.
        is_own_topic: Returns whether the records come from the stream's own topic.
        commits: How its commits are made.
    """

    identifier: str
    stream: str
    name: str
    source_of: Callable[[Target], Source]
    commits: CommitRequest
    is_own_topic: Callable[[Target], bool] = lambda _: False


@dataclass(kw_only=True)
class Backfill:
    """One process of a backfill.

    Attributes:
        request: What is backfilled.
        catalog: The warehouse's tables.
        registry: The warehouse's documents.
        clock: The clock.
        pace: Holds it back.
        progress: Is told how far it is.
        new_pool: Starts what writes parts of the source, which this process then commits; None: this process writes.
    """

    request: BackfillRequest
    catalog: Catalog
    registry: RegistryStore
    clock: Clock
    pace: Pace
    progress: Progress
    new_pool: Callable[[], AbstractContextManager[PartPool]] | None = None
    _tries_rows: bool = field(default=False, init=False)
    _pool: PartPool | None = field(default=None, init=False)
    _stack: ExitStack = field(default_factory=ExitStack, init=False)

    def run(self) -> StreamPosition:
        """Continue the backfill to its end, and return its position there.

        Raises:
            InvalidRequest: The backfill cannot be made, or its source is damaged.
            StreamNotFound: There is no such stream, or it was deleted before the backfill was claimed.
            StreamFenced: Another process continues the same backfill, or the stream was deleted.
            LimitExceeded: More records are refused than are allowed, or the table has had as many backfills as it can.
            RegistryError: The table lacks columns of the order of arrival, and they cannot be added.
            LakeError, OSError: Storage, or the source, does not answer; started again, it continues.
        """
        with self._stack:
            return self._run()

    def _run(self) -> StreamPosition:
        conflicts = 0
        while True:
            try:
                return self._attempt()
            except CommitConflict:
                conflicts += 1
                if conflicts > _CONFLICTS_MAX:
                    raise
            except Exception as error:
                # Rows that passed the trial are accepted: a refusal then is a defect.
                if self._tries_rows or not is_refusal(error):
                    raise
                self._tries_rows = True
            self.request.commits.rejects.forget()

    def _attempt(self) -> StreamPosition:
        request = self.request
        target = open_target(
            self.catalog, self.registry, self.clock, request.identifier, request.stream
        )
        target.table.follow_schema()
        source = request.source_of(target)
        try:
            committer = target.table.committer()
            idle = self._admit(target, source)
            position = committer.claim_backfill(
                backfill_name(request.stream, request.name),
                source=source.name,
                source_id=source.digest,
                start=source.start,
            )
            # Deleting a stream fences the backfills that the table has then. One that is claimed afterwards,
            # by a process that has found the stream before, ends here.
            registrar = Registrar(self.registry, self.catalog, self.clock)
            registrar.entry(request.identifier, request.stream)
            self.progress.begin(source.name, position.account)
            commits = PositionCommits(
                table=target.table,
                position=position,
                idle_epochs=idle,
                rejects=request.commits.rejects,
                pace=self.pace,
                progress=self.progress,
            )
            return self._write(source, commits)
        finally:
            source.close()

    def _write(self, source: Source, commits: PositionCommits) -> StreamPosition:
        request = self.request.commits
        if dict(commits.position.offsets) == dict(source.end):
            return commits.position
        if self.new_pool is not None:
            assert not request.is_bulk, "a bulk load is sorted on this machine"
            if self._pool is None:
                self._pool = self._stack.enter_context(self.new_pool())
            return PartCommits(
                commits=commits,
                source=source,
                request=request,
                tries_rows=self._tries_rows,
                pool=self._pool,
            ).to_end()
        return BackfillCommits(
            commits=commits,
            source=source,
            request=request,
            tries_rows=self._tries_rows,
            clock=self.clock,
        ).to_end()

    def _admit(self, target: Target, source: Source) -> Mapping[str, int]:
        """Refuse what cannot be backfilled; return the epochs of streams that must stay without a record."""
        request, spec = self.request, target.entry.spec
        positions = target.table.committer().stream_positions()
        live = positions.get(request.stream)
        newest = target.table.latest_snapshot()
        own = backfill_name(request.stream, request.name)
        same = [
            names[1]
            for key, position in positions.items()
            if key != own
            and (names := split_backfill_name(key)) is not None
            and names[0] == request.stream
            and position.topic_id == source.digest
        ]
        now = TableNow(
            position=live,
            has_rows=newest is not None and newest.total_record_count > 0,
            is_begun=own in positions,
            same_source=same[0] if same else None,
        )
        declared = target.document.table
        is_done = own in positions and dict(positions[own].offsets) == dict(source.end)
        check_admission(
            declared,
            spec,
            now,
            own_topic=request.is_own_topic(target),
            is_bulk=request.commits.is_bulk and not is_done,
        )
        if not needs_idle_stream(declared, spec):
            return {}
        return {request.stream: 0 if live is None else live.epoch}


def open_target(
    catalog: Catalog, registry: RegistryStore, clock: Clock, identifier: str, stream: str
) -> Target:
    """Return a registered stream and its table, to which columns of the order of arrival are added if it lacks them.

    Raises:
        TableNotFound, StreamNotFound: There is no such table or stream.
        FeaturesMissing: A newer version has registered the stream.
        RegistryError: The columns cannot be added.
        LakeError: Registry or table cannot be read.
    """
    actor = Actor(name=f"backfill of {stream}")
    Registrar(registry, catalog, clock, actor=actor).add_arrival_columns(identifier)
    state = read_declared_table(registry, catalog, identifier)
    entry = entry_of(state.document, stream)
    check_features(state.document, entry)
    return Target(document=state.document, entry=entry, table=state.table)
