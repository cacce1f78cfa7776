"""Streams that feed one table, in any interleaving of their steps, and what has to come of it.

The model knows nothing of generations and offsets. Per key and group the newest record is the one with
the largest declared value, and of equal ones the one that was produced last; where the group declares
no ordering it is the one that was produced last. A kept column has the value of the newest of those records that
have its field, and of those that clear the group.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from braid.lake import (
    Catalog,
    GroupClaim,
    Machine,
    ManualClock,
    MemoryFileIO,
    Outcome,
    RowKind,
    StreamBatch,
    Table,
)
from braid.records.record_columns import OFFSET, PARTITION, TIMESTAMP
from braid.records.stream_plan import StreamPlan, plan_stream
from braid.records.table_columns import table_columns
from braid.registry.layout.physical_table import physical_table
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import OnNullOrdering, StreamDefinition, TableSpec

SPEC: Final = TableSpec.model_validate(
    {
        "columns": [
            {"name": "id", "type": "INT"},
            {"name": "version", "type": "INT"},
            {"name": "total", "type": "INT"},
            {"name": "carrier", "type": "INT"},
            {"name": "paid_at", "type": "INT"},
            {"name": "paid", "type": "INT"},
            {"name": "note", "type": "INT"},
            {"name": "seal", "type": "INT"},
        ],
        "primary_key": ["id"],
        "buckets": 1,
        "deletes": "clear_columns",
        "sequence_groups": [
            {
                "name": "sales",
                "ordering": ["version"],
                "columns": ["total", "note"],
                "keep": ["note"],
            },
            {"name": "shipping", "columns": ["carrier", "seal"], "keep": ["seal"]},
            {"name": "payments", "ordering": ["paid_at"], "columns": ["paid"]},
        ],
    }
)
VALUE_OF: Final = {"sales": "total", "shipping": "carrier", "payments": "paid"}
KEPT_OF: Final = {"sales": "note", "shipping": "seal"}
KEYS: Final = 3
DECLARED: Final = (None, 1, 2)


class Field(Enum):
    """What a record has for the kept column of its group."""

    MISSING = "missing"
    NULL = "null"
    SET = "set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record of a topic.

    Attributes:
        number: In the order in which records are produced.
        key: Of the row.
        declared: The value of the group's ordering column; None where it has none, or is null.
        is_delete: Whether it clears the group.
        kept: What it has for the kept column.
    """

    number: int
    key: int
    declared: int | None
    is_delete: bool
    kept: Field

    @property
    def kept_value(self) -> int | None:
        """The value for the kept column."""
        return self.number if self.kept is Field.SET and not self.is_delete else None


@dataclass
class Source:
    """A topic that feeds a group, and how far its stream has come."""

    stream: str
    topic: str
    partitions: list[list[Record]]
    position: dict[int, int]
    epoch: int = 0
    generation: int = 0
    batches: int = 0

    @property
    def has_more(self) -> bool:
        return any(len(part) > self.position[n] for n, part in enumerate(self.partitions))


@dataclass(kw_only=True)
class ArrivalBed:
    """One table and the sources of its groups; `chance` decides everything that is left open."""

    chance: random.Random
    warehouse: Path | None = None
    machine: Machine = Machine.COLUMN
    produced: int = 0
    sources: dict[str, Source] = field(default_factory=dict)
    committed: dict[str, list[Record]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        definition = physical_table(SPEC)
        catalog = Catalog("/w", file_io=MemoryFileIO(), clock=ManualClock())
        if self.warehouse is not None:
            catalog = Catalog(str(self.warehouse))
        self.table: Table = catalog.create_table(
            "db.t",
            columns=definition.columns,
            primary_key=definition.primary_key,
            options=definition.options,
        )
        self._order: dict[tuple[str, int], tuple[int, int, int]] = {}
        for group in VALUE_OF:
            self.committed[group] = []
            self.take_over(group, partitions=1 if group == "payments" else 2)

    def live(self, steps: int) -> None:
        """Let so many things happen to the table, one after the other."""
        chance = self.chance
        running: dict[str, Iterator[None]] = {}
        for _ in range(steps):
            group = chance.choice(list(VALUE_OF))
            match chance.randrange(12):
                case 0 | 1 | 2 | 3:
                    self.produce(group)
                case 4 if group not in running:
                    self.take_over(group, partitions=chance.randint(1, 3))
                case 5 if group not in running:
                    self.add_partitions(group)
                case 6:
                    self.table.compact(full=chance.random() < 0.5, machine=self.machine)
                case 7 if group not in running:
                    self.claim(group)
                case _:
                    step = running.setdefault(group, self.micro_batch(group))
                    if next(step, "over") == "over":
                        del running[group]
        for step in running.values():
            list(step)

    def take_over(self, group: str, *, partitions: int) -> None:
        """Feed a group from another topic by another stream, which is claimed."""
        name = f"{group}{self.produced}"
        self.sources[group] = Source(
            stream=name,
            topic=f"topic-{name}",
            partitions=[[] for _ in range(partitions)],
            position=dict.fromkeys(range(partitions), 0),
        )
        self.claim(group)

    def claim(self, group: str) -> None:
        """Claim the stream of a group, as each start of it does."""
        source = self.sources[group]
        position = self.table.committer().claim_stream(
            source.stream,
            topic=source.topic,
            topic_id=source.topic,
            initial_offsets=source.position,
            added_offsets=source.position,
            group=GroupClaim(group=group, cluster="c", partitions=len(source.partitions)),
        )
        source.epoch, source.generation, source.batches = position.epoch, position.generation, 0

    def produce(self, group: str, **given: Any) -> None:
        """Append a record to the partition of its key."""
        source, chance = self.sources[group], self.chance
        is_declared = SPEC.sequence_group(group).ordering is not None  # type: ignore[union-attr]  # of the spec
        record = Record(
            number=self.produced,
            key=given.get("key", chance.randrange(KEYS)),
            declared=given.get("declared", chance.choice(DECLARED)) if is_declared else None,
            is_delete=given.get("is_delete", chance.random() < 0.2),
            kept=chance.choice([Field.MISSING, Field.MISSING, Field.NULL, Field.SET]),
        )
        self.produced += 1
        source.partitions[record.key % len(source.partitions)].append(record)

    def add_partitions(self, group: str) -> None:
        """Read what there is, then double the partitions: keys move to new ones alone."""
        while self.sources[group].has_more:
            for _ in self.micro_batch(group):
                pass
        source = self.sources[group]
        count = len(source.partitions)
        source.partitions += [[] for _ in range(count)]
        source.position |= dict.fromkeys(range(count, 2 * count), 0)
        self.claim(group)

    def micro_batch(self, group: str) -> Iterator[None]:
        """Read, write and commit some records of a group; anything may happen at each `yield`."""
        source = self.sources[group]
        end = {
            number: self.chance.randint(source.position[number], len(part))
            for number, part in enumerate(source.partitions)
        }
        taken = [
            (number, offset, source.partitions[number][offset])
            for number, last in end.items()
            for offset in range(source.position[number], last)
        ]
        batch = StreamBatch(
            stream=source.stream,
            epoch=source.epoch,
            batch_id=source.batches,
            topic=source.topic,
            topic_id=source.topic,
            start=dict(source.position),
            end=end,
        )
        writer = self.table.writer(machine=self.machine)
        yield
        if taken:
            kinds = [RowKind.DELETE if one.is_delete else RowKind.INSERT for _, _, one in taken]
            writer.write(self._rows(group, taken), kinds=pa.array(kinds, pa.int8()))
        result = writer.prepare_commit()
        yield
        committer = self.table.committer()
        for expected in (Outcome.COMMITTED, Outcome.REPLAYED):
            done = committer.commit_stream_batch(
                result.messages, batch, max_sequence_number=result.max_sequence_number
            )
            assert done.outcome is expected or not taken
        source.position, source.batches = end, source.batches + 1
        for number, offset, one in taken:
            self.committed[group].append(one)
            self._order[group, one.number] = (source.generation, number, offset)

    def expected(self) -> dict[int, dict[str, Any]]:
        """Return by key what the model says of value, mark and arrival of each group."""
        rows: dict[int, dict[str, Any]] = {}
        for group, records in self.committed.items():
            is_declared = group != "shipping"
            for record in sorted(records, key=lambda one: (one.declared or 0, one.number)):
                has_order = not is_declared or record.declared is not None
                if record.is_delete and not has_order:
                    continue  # a delete without a place in the order does not even make the row
                row = rows.setdefault(record.key, {})
                if not has_order:
                    continue
                row[group] = (
                    None if record.is_delete else record.number,
                    "clear" if record.is_delete else "upsert",
                    self._order[group, record.number],
                )
                if group in KEPT_OF and (record.is_delete or record.kept is not Field.MISSING):
                    row[f"{group}, kept"] = record.kept_value
        return rows

    def found(self) -> dict[int, dict[str, Any]]:
        """Return the same of the table."""
        rows = {}
        for row in self.table.scan(machine=self.machine).to_arrow().to_pylist():
            rows[row["id"]] = {
                group: (
                    row[value],
                    row[f"{group}__op"],
                    (
                        row[f"{group}__offset"] >> 48,
                        row[f"{group}__partition"],
                        row[f"{group}__offset"] & (1 << 48) - 1,
                    ),
                )
                for group, value in VALUE_OF.items()
                if row[f"{group}__offset"] is not None
            }
            rows[row["id"]] |= {
                f"{group}, kept": row[column]
                for group, column in KEPT_OF.items()
                if row[f"{column}__order"] is not None
            }
        return rows

    def _rows(self, group: str, taken: list[tuple[int, int, Record]]) -> pa.Table:
        plan = self._plan(group)
        source = self.sources[group]
        records = {
            PARTITION: pa.array([number for number, _, _ in taken], pa.int32()),
            OFFSET: pa.array([offset for _, offset, _ in taken], pa.int64()),
            TIMESTAMP: pa.array([0] * len(taken), pa.timestamp("us", tz="UTC")),
        }
        values = {
            "id": [one.key for _, _, one in taken],
            VALUE_OF[group]: [one.number for _, _, one in taken],
            **{name: [one.declared for _, _, one in taken] for name in plan.ordering},
        }
        missing = {}
        if group in KEPT_OF:
            values[KEPT_OF[group]] = [one.kept_value for _, _, one in taken]
            absent = [one.kept is Field.MISSING and not one.is_delete for _, _, one in taken]
            missing[KEPT_OF[group]] = pa.array(absent)
        batch = table_columns(
            pa.RecordBatch.from_pydict(records),
            {column.name: pa.array(values[column.name], pa.int32()) for column in plan.columns},
            plan,
            generation=source.generation,
            missing=missing,
        )
        return pa.Table.from_batches([batch])

    def _plan(self, group: str) -> StreamPlan:
        definition = StreamDefinition(
            topic="t",
            sequence_group=group,
            on_null_ordering=OnNullOrdering.CLEAR,
            partitioned_by_key=True,
        )
        return plan_stream(
            table="db.t",
            spec=SPEC,
            stream=complete_stream(SPEC, definition, name=group),
            schema=self.table.schema,
        )
