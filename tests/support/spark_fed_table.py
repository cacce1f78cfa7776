"""Tables whose streams Spark programs write, in a warehouse on disk or on a server of the S3 protocol."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from braid.lake import Catalog, FileIO, StreamPosition, SystemClock, Table, file_io_for
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas import StreamDefinition, TableSpec


@dataclass(kw_only=True)
class SparkFedTable:
    """One registered table.

    Attributes:
        directory: Where checkpoints are, and the warehouse by default.
        name: `db.table`.
        spec: The table as declared.
        streams: Definitions of its streams from Spark, without the source, by name.
        warehouse: Its address; empty: a folder of `directory`.
        file_io: Storage of the warehouse; None: as the environment has it.
    """

    directory: Path
    name: str
    spec: Mapping[str, Any]
    streams: Mapping[str, Mapping[str, Any]]
    warehouse: str = ""
    file_io: FileIO | None = None

    def __post_init__(self) -> None:
        if not self.warehouse:
            folder = self.directory / "warehouse"
            folder.mkdir(exist_ok=True)
            self.warehouse = str(folder)
        file_io, clock = self.file_io or file_io_for(self.warehouse), SystemClock()
        self.catalog = Catalog(self.warehouse, file_io=file_io)
        store = RegistryStore(file_io, self.warehouse, clock)
        self.registrar = Registrar(store, self.catalog, clock)
        database, _, name = self.name.partition(".")
        self.registrar.put_table(database, name, TableSpec.model_validate(dict(self.spec)))
        for stream, definition in self.streams.items():
            self.put_stream(stream, **definition)

    def put_stream(self, stream: str, **definition: Any) -> None:
        """Register a stream from Spark, or change it."""
        made = StreamDefinition.model_validate({"source": "spark", **definition})
        self.registrar.put_stream(self.name, stream, made)

    @property
    def table(self) -> Table:
        """The table, opened anew."""
        return self.catalog.table(self.name)

    def options(self, stream: str, **options: str) -> dict[str, str]:
        """Return the options of a write."""
        named = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
        return {"warehouse": self.warehouse, "table": self.name, "stream": stream, **named}

    def write(self, frame: DataFrame, stream: str, **options: str) -> None:
        """Write a DataFrame."""
        named = self.options(stream, **options)
        frame.write.format("braid").mode("append").options(**named).save()

    def start(
        self, frame: DataFrame, stream: str, checkpoint: str, **options: str
    ) -> StreamingQuery:
        """Start a query that writes what there is, and ends."""
        return (
            frame.writeStream.format("braid")
            .options(**self.options(stream, **options))
            .option("checkpointLocation", str(self.directory / checkpoint))
            .trigger(availableNow=True)
            .start()
        )

    def load(self, session: SparkSession, **options: str) -> DataFrame:
        """Return the table as Spark's."""
        named = {key.replace("_", "-"): value for key, value in options.items()}
        return session.read.format("braid").options(**named).load(self.table.path)

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """Return the rows, ascending."""
        found = self.table.scan(columns=list(columns)).to_arrow().to_pylist()
        return sorted(tuple(row[name] for name in columns) for row in found)

    def position(self, stream: str) -> StreamPosition:
        """Return the position of a stream."""
        return self.table.committer().stream_positions()[stream]

    def files(self) -> set[str]:
        """Return the names of all data files on disk."""
        return {path.name for path in Path(self.table.path).glob("bucket-*/*")}
