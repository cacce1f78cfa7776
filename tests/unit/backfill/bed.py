"""A warehouse with one registered stream, files to backfill from, and the live stream beside."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from braid.backfill.backfill import Backfill, BackfillRequest, Target
from braid.backfill.backfill_commits import CommitRequest
from braid.backfill.files.csv_file import CsvOptions
from braid.backfill.files.file_source import FileSource
from braid.backfill.files.source_files import FileFormat, find_files
from braid.backfill.pace import Pace, PaceSettings
from braid.backfill.progress import Progress
from braid.backfill.read_chunk import PartBound, ReadChunk, Source
from braid.backfill.rejects import RejectFile
from braid.lake import (
    BatchAccount,
    Catalog,
    GroupClaim,
    LocalFileIO,
    ManualClock,
    StreamBatch,
    StreamPosition,
    Table,
)
from braid.records.record_reader import RecordReader
from braid.records.stream_plan import StreamPlan, plan_stream
from braid.records.table_columns import table_columns
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.registry.stream_entries import Verb
from braid.schemas import BackfillReport, StreamDefinition, TableSpec
from tests.unit.records.given_streams import given_records

PARCELS: dict[str, Any] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "version", "type": "INT"},
        {"name": "city", "type": "STRING"},
        {"name": "weight", "type": "DECIMAL(10, 2)"},
    ],
    "primary_key": ["id"],
    "buckets": 2,
    "sequence_groups": [{"name": "s", "ordering": ["version"], "columns": ["city", "weight"]}],
}
TABLE = "shop.parcels"


@dataclass
class BackfillBed:
    """A warehouse on disk with the table `shop.parcels` and the stream `s`."""

    folder: Path
    spec: Mapping[str, Any] = field(default_factory=lambda: PARCELS)
    stream: Mapping[str, Any] = field(default_factory=dict)
    clock: ManualClock = field(default_factory=ManualClock)
    reports: list[BackfillReport] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.warehouse = str(self.folder / "warehouse")
        self.files = self.folder / "files"
        self.files.mkdir(parents=True)
        self.rejects = self.folder / "rejects.jsonl"
        self.file_io = LocalFileIO()
        self.catalog = Catalog(self.warehouse, file_io=self.file_io, clock=self.clock)
        self.registry = RegistryStore(self.file_io, self.warehouse, self.clock)
        registrar = Registrar(self.registry, self.catalog, self.clock)
        registrar.put_table("shop", "parcels", TableSpec.model_validate(self.spec))
        definition = {"topic": "parcels", **self.stream}
        registrar.put_stream(TABLE, "s", StreamDefinition.model_validate(definition))

    @property
    def table(self) -> Table:
        """The table, opened anew."""
        return self.catalog.table(TABLE)

    def write_json(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a file of JSON lines."""
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self.files / name).write_text(text)

    def backfill(self, name: str = "history", **options: Any) -> Backfill:
        """Return one process of a backfill."""
        clock = self.clock
        progress = Progress(
            stream="s", name=name, clock=clock, report=self.reports.append, show=self.lines.append
        )
        return Backfill(
            request=BackfillRequest(
                identifier=TABLE,
                stream="s",
                name=name,
                source_of=options.get("source_of") or self.source_of(**options.get("files", {})),
                is_own_topic=lambda _: options.get("own_topic", False),
                commits=CommitRequest(
                    rejects=RejectFile(self.rejects),
                    rejects_max=options.get("rejects_max", 1_000),
                    rows=options.get("rows", 1_000_000),
                    is_bulk=options.get("is_bulk", False),
                    part=options.get("part", PartBound()),
                ),
            ),
            catalog=Catalog(self.warehouse, file_io=self.file_io, clock=clock),
            registry=self.registry,
            clock=clock,
            pace=options.get("pace")
            or Pace(settings=PaceSettings(), clock=clock, sleep_ms=lambda ms: clock.advance(ms=ms)),
            progress=progress,
            new_pool=options.get("new_pool"),
        )

    def source_of(
        self,
        address: str = "",
        declared: FileFormat | None = None,
        fields: Mapping[str, str] | None = None,
        csv: CsvOptions | None = None,
    ) -> Callable[[Target], Source]:
        """Return what opens the files."""

        def opened(target: Target) -> FileSource:
            return FileSource(
                find_files(address or str(self.files), declared=declared),
                table=TABLE,
                spec=target.document.table,
                stream=target.entry.spec,
                schema=target.table.schema,
                fields=fields or {},
                csv=csv or CsvOptions(),
                tell=self.notices.append,
            )

        return opened

    def through(
        self, change: Callable[[Iterator[ReadChunk]], Iterator[ReadChunk]]
    ) -> Callable[[Target], Source]:
        """Return what opens the files, with their chunks passing through a function."""
        opened = self.source_of()
        return lambda target: _ChangedSource(opened(target), change)

    def delete_stream(self) -> None:
        """Stop and delete the live stream."""
        registrar = Registrar(self.registry, self.catalog, self.clock)
        registrar.apply_verb(TABLE, "s", Verb.STOP)
        registrar.delete_stream(TABLE, "s")

    def claim(self) -> StreamPosition:
        """Start the live stream."""
        group = self._plan().order_group
        return self.table.committer().claim_stream(
            "s",
            topic="parcels",
            topic_id="t",
            initial_offsets={0: 0},
            group=None if group is None else GroupClaim(group=group, cluster="c", partitions=1),
        )

    def live(
        self, *messages: Mapping[str, Any], position: StreamPosition | None = None
    ) -> StreamPosition:
        """Let the live stream read some more messages of its topic, in one micro-batch.

        Args:
            messages: The messages.
            position: The stream's position, where it runs; None: it is started for them.
        """
        position = position or self.claim()
        table, plan = self.table, self._plan()
        committer = table.committer()
        start = position.offsets[0]
        records = given_records(list(messages))
        offsets = pa.array(range(start, start + len(messages)), pa.int64())
        records = records.set_column(records.schema.get_field_index("offset"), "offset", offsets)
        found = RecordReader(plan, table.schema).read(records)
        assert not found.faults.rows
        rows = table_columns(
            records,
            found.columns,
            plan,
            generation=position.generation,
            is_delete=found.is_delete,
            missing=found.missing,
        )
        writer = table.writer()
        writer.write(rows)
        result = writer.prepare_commit()
        committer.commit_stream_batch(
            result.messages,
            StreamBatch(
                stream="s",
                epoch=position.epoch,
                batch_id=0,
                topic="parcels",
                topic_id="t",
                start={0: start},
                end={0: start + len(messages)},
                account=BatchAccount(accepted=result.rows_accepted, folded=result.rows_folded),
            ),
            max_sequence_number=result.max_sequence_number,
        )
        return committer.stream_positions()["s"]

    def _plan(self) -> StreamPlan:
        document = self.registry.table(TABLE)
        assert document is not None
        spec, entry = document.value.table, document.value.streams["s"]
        return plan_stream(table=TABLE, spec=spec, stream=entry.spec, schema=self.table.schema)

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """Return columns of the rows, in the order of the key."""
        found = self.table.scan(columns=list(columns)).to_arrow().to_pylist()
        return sorted(tuple(row[name] for name in columns) for row in found)


class _ChangedSource:
    """A source whose chunks pass through a function."""

    def __init__(
        self, source: Source, change: Callable[[Iterator[ReadChunk]], Iterator[ReadChunk]]
    ) -> None:
        self._source = source
        self._change = change
        self.name, self.digest = source.name, source.digest
        self.start, self.end = source.start, source.end
        self.described, self.close = source.described, source.close
        self.parts = source.parts

    def chunks(self, offsets: Mapping[int, int]) -> Iterator[ReadChunk]:
        return self._change(self._source.chunks(offsets))
