"""Work of a backfill on one part of its source, as a value that can be sent to another process.

The process opens the part, writes its rows and returns what a commit needs. It commits nothing.
"""

from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from braid.backfill.backfill_commits import BUFFER_BYTES
from braid.backfill.read_chunk import Source, SourcePart
from braid.backfill.record_writer import RecordWriter
from braid.backfill.rejects import HeldRejects, TooManyRejects
from braid.formats.fault import Fault
from braid.lake import (
    BatchAccount,
    CommitMessage,
    LakeError,
    Table,
    parse_messages,
    serialize_messages,
)
from braid.records.trial_writes import is_refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOutcome:
    """The outcome of the work on one part.

    Attributes:
        messages: The commit messages, serialised; empty after an error.
        records: Number of the records that were read.
        account: Their account.
        max_sequence_number: The largest one that was assigned; None without rows.
        rejects: Lines of refused records. With more of them than are allowed, the work has ended early.
        last_fault: Why the last one is refused; None without one.
        notices: Notices for people.
        error: Why the part is not written; None where it is, or where too many records are refused.
    """

    messages: bytes = b""
    records: int = 0
    account: BatchAccount = field(default_factory=BatchAccount)
    max_sequence_number: int | None = None
    rejects: tuple[bytes, ...] = ()
    last_fault: Fault | None = None
    notices: tuple[str, ...] = ()
    error: Exception | None = None

    def commit_messages(self) -> tuple[CommitMessage, ...]:
        """Return the commit messages."""
        return parse_messages(self.messages) if self.messages else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartWork:
    """The work on one part; can be pickled to another process.

    Attributes:
        part: The part.
        table: The table, on storage that the other process can reach.
        generation: The generation in which rows are written.
        first_sequence_number: That of the first row.
        rejects: The file of refused records, for messages.
        rejects_max: The largest number of refused records of the whole backfill.
        rejected: The number that the table's account has already.
        tries_rows: Whether rows go through a trial write.
    """

    part: SourcePart
    table: Table
    generation: int
    first_sequence_number: int
    rejects: Path
    rejects_max: int
    rejected: int
    tries_rows: bool

    def run(self) -> PartOutcome:
        """Write the part; an error that the backfill reacts to is in the outcome.

        Raises:
            Exception: A defect, or the end of this process.
        """
        rejects = HeldRejects(self.rejects)
        notices: list[str] = []
        outcome = PartOutcome()
        try:
            source = self.part.open(tell=notices.append)
            try:
                outcome = self._write(source, rejects)
            finally:
                source.close()
        except TooManyRejects:
            pass
        except Exception as error:
            if not isinstance(error, LakeError | OSError) and not is_refusal(error):
                raise
            # As a value: an exception would lose its attributes between processes.
            outcome = PartOutcome(error=error)
        return replace(
            outcome,
            rejects=tuple(rejects.lines),
            last_fault=rejects.last_fault,
            notices=tuple(notices),
        )

    def _write(self, source: Source, rejects: HeldRejects) -> PartOutcome:
        writer = self.table.writer(
            first_sequence_number=self.first_sequence_number, buffer_bytes=BUFFER_BYTES
        )
        written = RecordWriter(
            table=self.table,
            source=source,
            generation=self.generation,
            rejects=rejects,
            rejects_max=self.rejects_max,
            rejected=self.rejected,
            tries_rows=self.tries_rows,
            write_rows=lambda rows, kinds: writer.write(rows, kinds=kinds),
        )
        try:
            records = 0
            position = dict(self.part.start)
            for chunk in source.chunks(self.part.start):
                written.write(chunk)
                records += chunk.records
                position |= chunk.end
            assert position == dict(self.part.end), "parts end at their end"
            result = writer.prepare_commit()
        except BaseException:
            # Nobody else learns of files of a part that failed: they are deleted here or never.
            writer.abort()
            raise
        return PartOutcome(
            messages=serialize_messages(result.messages),
            records=records,
            account=BatchAccount(
                accepted=result.rows_accepted,
                folded=result.rows_folded,
                ignored=result.rows_ignored + written.ignored,
                dead_lettered=written.reasons.total(),
            ),
            max_sequence_number=result.max_sequence_number,
        )


class PartPool(Protocol):
    """Processes that write parts, on this machine or others."""

    @property
    def parallel(self) -> int:
        """How many parts they write at once."""
        ...

    def submit(self, work: PartWork, *, what: str) -> Future[PartOutcome]:
        """Queue a part; the future raises `StorageUnavailable` if its process is lost too often.

        Args:
            work: The part.
            what: What it is, for the pages of the cluster.
        """
        ...
