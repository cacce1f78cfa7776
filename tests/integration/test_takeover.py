"""Streams that are deleted and registered again count each record that is wanted once."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import Catalog, OffsetMismatch, SystemClock, file_io_for
from braid.pipelines.stream.ingest import Ingest, IngestContext
from braid.pipelines.stream.ingest_starter import IngestStarter
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.registry.store.progress import ProgressStore
from braid.registry.stream_entries import Verb
from braid.schemas import StreamDefinition, TableSpec
from tests.integration.ingest_bed import IDENTIFIER, IngestBed

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SUMS = TableSpec.model_validate(
    {
        "columns": [
            {"name": "id", "type": "INT"},
            {"name": "n", "type": "BIGINT", "aggregate": {"function": "sum"}},
        ],
        "primary_key": ["id"],
        "sequence_groups": [{"name": "g", "columns": ["n"]}],
    }
)
TEN = [{"id": 1, "n": 1}] * 10


class Warehouse:
    """A table of a sum, its registry, and runs of single streams as a runner starts them."""

    def __init__(self, bed: IngestBed) -> None:
        clock, file_io = SystemClock(), file_io_for(bed.warehouse)
        catalog = Catalog(bed.warehouse, file_io=file_io)
        self.registrar = Registrar(RegistryStore(file_io, bed.warehouse, clock), catalog, clock)
        database, name = IDENTIFIER.split(".")
        self.registrar.put_table(database, name, bed.spec)
        self._starter = IngestStarter(
            IngestContext(
                session=bed.session, cores=2, work_dir=bed.directory / "work", clock=clock
            ),
            warehouse=bed.warehouse,
            file_io=file_io,
            progress=ProgressStore(file_io, bed.warehouse, SystemClock()),
            clusters=KafkaClusters().with_default(bed.broker.bootstrap_servers),
        )

    def register(self, name: str, topic: str, **stream: Any) -> None:
        definition = StreamDefinition(topic=topic, sequence_group="g", trigger_ms=100, **stream)
        self.registrar.put_stream(IDENTIFIER, name, definition)

    def delete(self, name: str) -> None:
        self.registrar.apply_verb(IDENTIFIER, name, Verb.STOP)
        self.registrar.delete_stream(IDENTIFIER, name)

    def start(self, name: str) -> Ingest:
        entry = self.registrar.entry(IDENTIFIER, name)
        return self._starter.start(self.registrar.document(IDENTIFIER), entry)

    def read(self, name: str) -> None:
        ingest = self.start(name)
        try:
            ingest.process_available()
        finally:
            ingest.stop()


def test_a_stream_that_returns_to_its_group_or_to_a_recreated_topic_counts_as_declared(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path
) -> None:
    bed = IngestBed(broker=kafka, session=session, directory=tmp_path, spec=SUMS)
    warehouse = Warehouse(bed)
    ours, theirs = bed.topic("a", partitions=1), bed.topic("b", partitions=1)
    bed.produce(ours, TEN)
    bed.produce(theirs, TEN)
    warehouse.register("a", ours)
    warehouse.read("a")
    warehouse.delete("a")
    warehouse.register("b", theirs, starting_offsets="latest")
    warehouse.start("b").stop()
    bed.produce(ours, TEN)
    bed.produce(theirs, TEN)
    warehouse.read("b")
    warehouse.delete("b")
    assert bed.rows("n") == [{"id": 1, "n": 20}]

    # The other stream has counted what came to the own topic meanwhile.
    warehouse.register("a", ours, starting_offsets="latest")
    warehouse.read("a")
    assert bed.rows("n") == [{"id": 1, "n": 20}]
    bed.produce(ours, TEN)
    warehouse.read("a")
    assert bed.rows("n") == [{"id": 1, "n": 30}]

    warehouse.delete("a")
    admin = kafka.admin()
    admin.delete_topics([ours])
    admin.close()
    bed.topic("a", partitions=1)
    bed.produce(ours, TEN[:5])
    warehouse.register("a", ours)
    with pytest.raises(OffsetMismatch, match="register it anew with `starting_offsets`"):
        warehouse.start("a")
    warehouse.delete("a")
    warehouse.register("a", ours, starting_offsets="earliest")
    for _ in range(2):
        warehouse.read("a")
    assert bed.rows("n") == [{"id": 1, "n": 35}]
