"""A table of two groups, and the session that its streams run on."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.pipelines.stream.ingest import SESSION_CONF
from braid.schemas import TableSpec
from tests.integration.ingest_bed import IngestBed

WIDE = TableSpec.model_validate(
    {
        "columns": [
            {"name": "id", "type": "BIGINT"},
            {"name": "a", "type": "STRING"},
            {"name": "a_version", "type": "INT"},
            {"name": "b", "type": "DOUBLE"},
        ],
        "primary_key": ["id"],
        "buckets": 2,
        "sequence_groups": [
            {"name": "left", "ordering": ["a_version"], "columns": ["a"]},
            {"name": "right", "ordering": None, "columns": ["b"]},
        ],
    }
)

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let sockets be closed by the garbage collector in tests of this folder.

    kafka-python does so with a connection that fails, or whose client is closed, before it is made. That happens in any
    test when the machine is slow, and is noticed in that test or in a later one.
    """
    mark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(mark)


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """The shared session, with the settings of a runner's that can be made late."""
    spark.conf.set("spark.sql.caseSensitive", SESSION_CONF["spark.sql.caseSensitive"])
    return spark


@pytest.fixture
def bed(kafka: KafkaBroker, session: SparkSession, tmp_path: Path) -> IngestBed:
    """A table of two groups, one with an ordering of its own and one without."""
    return IngestBed(broker=kafka, session=session, directory=tmp_path, spec=WIDE)
