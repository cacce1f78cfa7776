"""One table: its schema, snapshots, scans, lookups, writers and commits."""

import random as random_module
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa

from lake.commit.committer import CommitResult, TableCommitter
from lake.files.clock import Clock
from lake.files.file_io import FileIO
from lake.files.paths import TablePaths
from lake.format.schema import TableSchema
from lake.format.snapshot import Snapshot
from lake.merge.fold import Machine
from lake.read.predicate import Condition
from lake.read.reader import BATCH_ROWS
from lake.table.scan import Scan
from lake.write.table_writer import BUFFER_BYTES, TableWriter

Row: TypeAlias = dict[str, object]


class Table:
    """One table of the format, at the newest schema that `refresh` saw."""

    @classmethod
    def open(
        cls,
        path: str,
        *,
        file_io: FileIO | None = None,
        clock: Clock | None = None,
        random: random_module.Random | None = None,
        identifier: str | None = None,
    ) -> "Table":
        """Open the table at a path; TableNotFound when there is none."""
        raise NotImplementedError

    @property
    def identifier(self) -> str:
        """`db.table`."""
        raise NotImplementedError

    @property
    def path(self) -> str:
        """The table's directory."""
        raise NotImplementedError

    @property
    def schema(self) -> TableSchema:
        """The newest schema that was seen."""
        raise NotImplementedError

    @property
    def paths(self) -> TablePaths:
        """Names of the table's files."""
        raise NotImplementedError

    @property
    def file_io(self) -> FileIO:
        """The storage the table lives on."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Look for a newer schema."""
        raise NotImplementedError

    def latest_snapshot(self) -> Snapshot | None:
        """Return the newest snapshot, read from storage; None before the first commit."""
        raise NotImplementedError

    def snapshot(self, snapshot_id: int) -> Snapshot:
        """Return a snapshot; InvalidRequest naming the retained range when it is gone."""
        raise NotImplementedError

    def scan(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: Sequence[Condition] = (),
        snapshot_id: int | None = None,
        batch_rows: int = BATCH_ROWS,
        machine: Machine = Machine.COLUMN,
    ) -> Scan:
        """Return a scan of the newest snapshot, or of the one named."""
        raise NotImplementedError

    def get(
        self,
        key: Mapping[str, object],
        *,
        columns: Sequence[str] | None = None,
        snapshot_id: int | None = None,
    ) -> Row | None:
        """Return the row of a primary key; None when there is none."""
        raise NotImplementedError

    def writer(
        self,
        *,
        first_sequence_number: int | None = None,
        buffer_bytes: int = BUFFER_BYTES,
        machine: Machine = Machine.COLUMN,
    ) -> TableWriter:
        """Return a writer; numbers start above the table's maximum unless given."""
        raise NotImplementedError

    def committer(self) -> TableCommitter:
        """Return a committer of this table."""
        raise NotImplementedError

    def write_and_commit(
        self,
        rows: pa.Table | pa.RecordBatch,
        *,
        kinds: pa.Array | None = None,
        commit_user: str | None = None,
        machine: Machine = Machine.COLUMN,
    ) -> CommitResult:
        """Write rows and commit them as one snapshot, for batch use."""
        raise NotImplementedError
