"""A table that is fed by captured changes, through the write tasks and commits of the product.

Each table of the database has a topic, a stream and a sequence group of its own; all streams feed one table. Records
are taken as they have been sent, in random micro-batches; tasks are tried again, commits come late and are repeated,
streams are claimed anew, and compactions run in between.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from braid.lake import (
    BatchAccount,
    CommitMessage,
    GroupClaim,
    Machine,
    Outcome,
    StreamBatch,
    Table,
    parse_messages,
)
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.sink.task_report import TaskReport, parse_report
from braid.pipelines.sink.write_task import WriteTask
from braid.records.record_columns import HEADERS, KEY, OFFSET, PARTITION, TIMESTAMP, VALUE
from braid.records.stream_plan import StreamPlan, plan_stream
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import StreamDefinition, TableSpec
from tests.support.change_capture.newest_rows import NewestRow
from tests.support.change_capture.source_table import SourceTable, Value
from tests.support.change_capture.topic import KafkaRecord
from tests.unit.records.given_streams import given_origin, given_table

_IDENTIFIER: Final = "db.t"
_HEADERS_TYPE: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def captured_table(
    tables: Sequence[SourceTable], *, ordering: str | None = "BYTES", keeps: bool = True
) -> TableSpec:
    """Return the table for some tables of a database: a sequence group for each.

    Args:
        tables: The tables; their columns have different names.
        ordering: The type of the column that orders the changes of a table; None: arrival orders them.
        keeps: Whether a row keeps a text that a change does not have.
    """
    columns = [{"name": "id", "type": "BIGINT"}]
    groups = []
    for table in tables:
        columns += [{"name": name, "type": "INT"} for name in table.numbers]
        columns += [{"name": name, "type": "STRING"} for name in table.texts]
        group: dict[str, Any] = {
            "name": table.name,
            "columns": table.columns,
            "keep": table.texts if keeps else (),
        }
        if ordering is not None:
            columns.append({"name": f"{table.name}_position", "type": ordering})
            group["ordering"] = [f"{table.name}_position"]
        groups.append(group)
    return TableSpec.model_validate(
        {
            "columns": columns,
            "primary_key": ["id"],
            "buckets": 2,
            "deletes": "clear_columns",
            "sequence_groups": groups,
        }
    )


def captured_stream(
    table: SourceTable,
    database: str,
    *,
    position: Mapping[str, Any] | None = None,
    format_: Mapping[str, Any] | None = None,
    **more: Any,
) -> StreamDefinition:
    """Return the stream of a table's changes.

    Args:
        table: The table.
        database: Debezium's name for the database.
        position: What the column that orders the changes is read from; None: there is none.
        format_: Added to the format.
        more: Added to the stream.
    """
    columns: list[dict[str, Any]] = [{"column": "id", "source": "key", "path": "id"}]
    columns += [{"column": name} for name in table.columns]
    if position is not None:
        columns.append({"column": f"{table.name}_position", **position})
    return StreamDefinition.model_validate(
        {
            "topic": table.name,
            "sequence_group": table.name,
            "format": {"type": "debezium", "database": database, **(format_ or {})},
            "columns": columns,
            **more,
        }
    )


@dataclass(slots=True)
class _Stream:
    table: SourceTable
    plan: StreamPlan
    waiting: dict[int, list[KafkaRecord]]
    position: dict[int, int]
    epoch: int = 0
    generation: int = 0
    batches: int = 0
    pending: tuple[list[CommitMessage], StreamBatch] | None = None


@dataclass(kw_only=True)
class CaptureBed:
    """One table and the streams that feed it.

    Attributes:
        spec: The table.
        tables: The tables of the database.
        streams: The stream of each.
        partitions: Of each topic.
        chance: Decides everything that is left open.
        batch_max: The most records of a micro-batch.
        compaction_share: How often a compaction follows a micro-batch.
        counts: What became of the records: how many were read, ignored, and refused by reason, in how many
            micro-batches, with how many compactions.
        examples: Sentences about refused records.
    """

    spec: TableSpec
    tables: Sequence[SourceTable]
    streams: Sequence[StreamDefinition]
    partitions: int
    chance: random.Random
    batch_max: int
    compaction_share: float = 0.1
    counts: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._written = 0
        self.table: Table = given_table(self.spec)
        self._streams = [
            _Stream(
                table=table,
                plan=plan_stream(
                    table=_IDENTIFIER,
                    spec=self.spec,
                    stream=complete_stream(self.spec, stream, name=table.name),
                    schema=self.table.schema,
                ),
                waiting={number: [] for number in range(self.partitions)},
                position=dict.fromkeys(range(self.partitions), 0),
            )
            for table, stream in zip(self.tables, self.streams, strict=True)
        ]
        for one in self._streams:
            self._claim(one)

    def ingest(self, records: Iterable[KafkaRecord]) -> None:
        """Read all records, in the order in which they are sent, in random micro-batches."""
        limit = self.chance.randint(1, self.batch_max)
        sent = 0
        for record in records:
            self._streams[record.table].waiting[record.partition].append(record)
            sent += 1
            if sent >= limit:
                sent, limit = 0, self.chance.randint(1, self.batch_max)
                self._read(self.chance.choice(self._streams), is_all=False)
        for one in self._streams:
            self._read(one, is_all=True)

    def rows(self, table: int, *, machine: Machine = Machine.COLUMN) -> dict[int, NewestRow]:
        """Return what the table has in the columns of a table of the database, by key; None: deleted."""
        source = self.tables[table]
        mark = f"{source.name}__op"
        columns = ["id", *source.columns, mark]
        scan = self.table.scan(columns=columns, machine=machine).to_arrow()
        rows: dict[int, NewestRow] = {}
        for row in scan.to_pylist():
            values: tuple[Value, ...] = tuple(row[name] for name in source.columns)
            match row[mark]:
                case "upsert":
                    rows[row["id"]] = values
                case "clear":
                    assert not any(value is not None for value in values), "a delete leaves nulls"
                    rows[row["id"]] = None
        return rows

    def differences(
        self,
        expected: Sequence[Mapping[int, NewestRow]],
        *,
        machine: Machine = Machine.COLUMN,
    ) -> list[str]:
        """Return in words how the table differs from the newest rows of each table of the database."""
        found: list[str] = []
        for index, source in enumerate(self.tables):
            rows = self.rows(index, machine=machine)
            for key in sorted(rows.keys() | expected[index].keys()):
                row, wanted = (side.get(key, "nothing") for side in (rows, expected[index]))
                if row != wanted:
                    found.append(f"{source.name} {key}: found {row}, expected {wanted}")
        return found

    def _claim(self, one: _Stream) -> None:
        """Claim a stream, as each start of it does."""
        position = self.table.committer().claim_stream(
            one.table.name,
            topic=one.table.name,
            topic_id=one.table.name,
            initial_offsets=one.position,
            group=GroupClaim(group=one.table.name, cluster="c", partitions=self.partitions),
        )
        assert dict(position.offsets) == one.position, "a stream continues where it has stopped"
        one.epoch, one.generation, one.batches = position.epoch, position.generation, 0

    def _read(self, one: _Stream, *, is_all: bool) -> None:
        """Read one micro-batch: all that waits, or a random part of each partition."""
        chance = self.chance
        self._commit(one)
        if chance.random() < 0.05:
            self._claim(one)
        taken: list[KafkaRecord] = []
        end = dict(one.position)
        for partition, waiting in one.waiting.items():
            count = len(waiting) if is_all else chance.randint(0, len(waiting))
            taken += waiting[:count]
            del waiting[:count]
            if count:
                end[partition] = taken[-1].offset + 1
        if chance.random() < 0.03:
            self._write(one, taken)  # a driver that dies here leaves files that nobody knows
        reports = self._write(one, taken)
        one.pending = (
            [message for report in reports for message in parse_messages(report.messages[0])],
            StreamBatch(
                stream=one.table.name,
                epoch=one.epoch,
                batch_id=one.batches,
                topic=one.table.name,
                topic_id=one.table.name,
                start=one.position,
                end=end,
                account=sum((report.account for report in reports), BatchAccount()),
            ),
        )
        self._note(reports, len(taken))
        if is_all or chance.random() < 0.5:
            self._commit(one)
        if chance.random() < self.compaction_share:
            self.table.compact(full=chance.random() < 0.3)
            self.counts["compactions"] += 1

    def _commit(self, one: _Stream) -> None:
        """Commit what is written, now and then twice."""
        if one.pending is None:
            return
        messages, batch = one.pending
        for outcome in (Outcome.COMMITTED, Outcome.REPLAYED)[: self.chance.randint(1, 2)]:
            done = self.table.committer().commit_stream_batch(messages, batch)
            assert done.outcome is outcome or batch.start == batch.end
        one.position, one.batches, one.pending = dict(batch.end), one.batches + 1, None

    def _write(self, one: _Stream, taken: Sequence[KafkaRecord]) -> list[TaskReport]:
        """Write records in one or two tasks, as the partitions of a topic are spread over them."""
        tasks = self.chance.randint(1, 2)
        reports = []
        for number in range(tasks):
            part = [record for record in taken if record.partition % tasks == number]
            task = WriteTask(
                plan=one.plan,
                table=self.table,
                # Nobody listens there: above the bound of dead letters none is sent.
                cluster=KafkaCluster(bootstrap_servers="127.0.0.1:1"),
                first_sequence_number=self._written,
                sequence_numbers=len(taken),
                dead_letters_max=0,
                origin=given_origin(generation=one.generation),
                tries_rows=self.chance.random() < 0.05,
            )
            self._written += len(part)
            middle = self.chance.randint(0, len(part))
            (output,) = task(iter([as_batch(part[:middle]), as_batch(part[middle:])]))
            (row,) = output.to_pylist()
            report = parse_report(row["messages"], row["report"])
            assert report.account.records == len(part), "every record is accounted for once"
            reports.append(report)
        return reports

    def _note(self, reports: Sequence[TaskReport], count: int) -> None:
        self.counts["records"] += count
        self.counts["batches"] += 1
        for report in reports:
            self.counts["ignored"] += report.ignored
            self.counts.update(report.dead_letters)
            self.examples += report.examples


def as_batch(records: Sequence[KafkaRecord]) -> pa.RecordBatch:
    """Return records as Spark passes them to a task."""
    headers = [
        [{"key": name, "value": value} for name, value in record.headers] or None
        for record in records
    ]
    times = pa.array([record.timestamp_ms for record in records], pa.timestamp("ms", tz="UTC"))
    return pa.RecordBatch.from_pydict(
        {
            KEY: pa.array([record.key for record in records], pa.binary()),
            VALUE: pa.array([record.value for record in records], pa.binary()),
            HEADERS: pa.array(headers, _HEADERS_TYPE),
            PARTITION: pa.array([record.partition for record in records], pa.int32()),
            OFFSET: pa.array([record.offset for record in records], pa.int64()),
            TIMESTAMP: times.cast(pa.timestamp("us", tz="UTC")),
        }
    )
