"""Report of an executor's task to the driver: commit messages, counts, and why the attempt has to be made again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson
import pyarrow as pa

from braid.lake import BatchAccount
from braid.records.new_fields.schema_delta import NO_DELTA, SchemaDelta, merge_deltas

REPORT_SCHEMA = "messages binary, report string"
_ARROW_SCHEMA = pa.schema([("messages", pa.binary()), ("report", pa.string())])


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """The outcome of one task, or of a whole micro-batch as the sum of its tasks.

    Attributes:
        messages: Serialised commit messages, one entry per task.
        accepted: Records that became a row of a file.
        folded: Records merged with another one of the same key.
        ignored: Records that the declaration leaves out.
        dead_letters: Refused records by reason.
        examples: Sentences about the first few dead letters, for the trace when there are too many.
        max_sequence_number: The largest sequence number assigned; -1 without rows.
        newest_ms: Kafka's largest timestamp among the records, milliseconds since the epoch.
        schema_delta: What the table needs before all records can be written. If it is not empty, the
            counts do not cover all records.
        refusal: Why the table refused rows, where it is unknown which rows; the counts do not cover all
            records then. Else None.
        size: Size of the records as they came, bytes: keys, values, headers and numbers.
        seen: Columns that some record had a value for.
        seen_fields: Addresses of the fields of conditions that some record had a value for.
    """

    messages: tuple[bytes, ...] = ()
    accepted: int = 0
    folded: int = 0
    ignored: int = 0
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[str, ...] = ()
    max_sequence_number: int = -1
    newest_ms: int | None = None
    schema_delta: SchemaDelta = NO_DELTA
    refusal: str | None = None
    size: int = 0
    seen: tuple[str, ...] = ()
    seen_fields: tuple[str, ...] = ()

    @property
    def is_incomplete(self) -> bool:
        """Whether the records have to be written again, after the cause that kept some of them out is removed."""
        return bool(self.schema_delta) or self.refusal is not None

    @property
    def account(self) -> BatchAccount:
        """The counts in the form in which the table stores them."""
        return BatchAccount(
            accepted=self.accepted,
            folded=self.folded,
            ignored=self.ignored,
            dead_lettered=sum(self.dead_letters.values()),
        )

    def to_batch(self) -> pa.RecordBatch:
        """Return the report of one task as the single row that the task returns to Spark."""
        (message,) = self.messages
        report = {
            "accepted": self.accepted,
            "folded": self.folded,
            "ignored": self.ignored,
            "dead_letters": dict(self.dead_letters),
            "examples": self.examples,
            "max_sequence_number": self.max_sequence_number,
            "newest_ms": self.newest_ms,
            "schema_delta": self.schema_delta.to_json(),
            "refusal": self.refusal,
            "size": self.size,
            "seen": self.seen,
            "seen_fields": self.seen_fields,
        }
        # Commit messages are binary, so they are a column beside the JSON, not a part of it.
        row = {"messages": [message], "report": [orjson.dumps(report).decode()]}
        return pa.RecordBatch.from_pydict(row, schema=_ARROW_SCHEMA)


def parse_report(messages: bytes, report: str) -> TaskReport:
    """Return the report that `to_batch` was called on."""
    values = orjson.loads(report)
    values["examples"] = tuple(values["examples"])
    values["seen"] = tuple(values["seen"])
    values["seen_fields"] = tuple(values["seen_fields"])
    values["schema_delta"] = SchemaDelta.from_json(values["schema_delta"])
    return TaskReport(messages=(bytes(messages),), **values)


def sum_reports(reports: Sequence[TaskReport], *, examples_max: int = 3) -> TaskReport:
    """Return the report of a micro-batch."""
    dead_letters: dict[str, int] = {}
    for report in reports:
        for reason, count in report.dead_letters.items():
            dead_letters[reason] = dead_letters.get(reason, 0) + count
    # Each task numbers rows in a range of its own, so the largest number of all tasks bounds them all.
    times = [report.newest_ms for report in reports if report.newest_ms is not None]
    return TaskReport(
        messages=tuple(message for report in reports for message in report.messages),
        accepted=sum(report.accepted for report in reports),
        folded=sum(report.folded for report in reports),
        ignored=sum(report.ignored for report in reports),
        dead_letters=dead_letters,
        examples=tuple(text for report in reports for text in report.examples)[:examples_max],
        max_sequence_number=max((r.max_sequence_number for r in reports), default=-1),
        newest_ms=max(times, default=None),
        schema_delta=merge_deltas(report.schema_delta for report in reports),
        refusal=next((report.refusal for report in reports if report.refusal is not None), None),
        size=sum(report.size for report in reports),
        seen=tuple(sorted({name for report in reports for name in report.seen})),
        seen_fields=tuple(sorted({name for report in reports for name in report.seen_fields})),
    )
